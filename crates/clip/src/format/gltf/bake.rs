//! A deforming mesh as morph targets: one target per distinct frame, its displacement from the rest shape.
//!
//! At each frame's time one target has weight one, and weights are linear between frames: playback between frames
//! moves points on straight lines. A frame that repeats the one before or the rest shape costs nothing; a frame in
//! which few points move is stored sparsely. 25,000 points and 120 frames take 36.9 MB, 73.1 MB with normals: three.js
//! does not compute normals of morphed meshes, so a flag without them is lit as if it hung still. Weights are bytes:
//! 14 kB for 120 frames, and 0.2 MB for 1,000 frames in runs of 200, where floats in one run would take 4 MB.

use std::ops::Range;

use serde_json::{Value, json};

use super::sink::Sink;
use super::tangents::Tangents;
use crate::{Mesh, Result};

/// The targets of one mesh, growing frame by frame.
pub(super) struct MeshBake<'a> {
    mesh: &'a Mesh,
    /// The distinct runs of vertices that parts use.
    pub(super) runs: Vec<Range<usize>>,
    base: Vec<[f32; 3]>,
    base_normals: Vec<[f32; 3]>,
    normals: Option<Normals>,
    /// Per run, where it has tangents.
    tangents: Vec<Option<Tangents>>,
    /// Per run, the accessors of its undeformed shape.
    pub(super) base_accessors: Vec<Columns>,
    /// For each target, per run: accessors of displacements.
    pub(super) targets: Vec<Vec<Columns>>,
    /// For each frame, the target it shows; `None` at rest.
    pub(super) frames: Vec<Option<usize>>,
    previous: Vec<[f32; 3]>,
    /// All zeros, per run; made when first needed. They take no bytes.
    zeros: Vec<Option<usize>>,
}

/// Accessors of what a run of vertices has, or of how far a target moves it.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) positions: usize,
    pub(super) normals: Option<usize>,
    pub(super) tangents: Option<usize>,
}

impl Columns {
    /// As a primitive or a target has them.
    pub(super) fn json(self) -> Value {
        let mut attributes = json!({ "POSITION": self.positions });
        if let Some(normals) = self.normals {
            attributes["NORMAL"] = json!(normals);
        }
        if let Some(tangents) = self.tangents {
            attributes["TANGENT"] = json!(tangents);
        }
        attributes
    }
}

impl<'a> MeshBake<'a> {
    /// Writes the undeformed shape. `tangents` are those of each run's vertices in that shape, where it has any.
    pub(super) fn new(
        mesh: &'a Mesh,
        base: &[[f32; 3]],
        runs: Vec<Range<usize>>,
        with_normals: bool,
        tangents: Vec<Option<Vec<[f32; 4]>>>,
        sink: &mut Sink,
    ) -> Result<Self> {
        let normals = with_normals.then(|| Normals::new(mesh));
        let base_normals = normals.as_ref().map_or_else(Vec::new, |normals| normals.at(base));
        let per_vertex = mesh.per_vertex(base);
        let mut base_accessors = Vec::with_capacity(runs.len());
        let mut of_runs = Vec::with_capacity(runs.len());
        for (run, tangents) in runs.iter().zip(tangents.into_iter().chain(std::iter::repeat(None))) {
            let mut columns = Columns {
                positions: sink.column(&per_vertex[run.clone()], true)?,
                normals: None,
                tangents: None,
            };
            let mut transported = None;
            if let Some(normals) = &normals {
                let of_run = normals.per_vertex(&base_normals, run.clone());
                columns.normals = Some(sink.column(&of_run, false)?);
                if let Some(tangents) = tangents {
                    columns.tangents = Some(sink.column(&tangents, false)?);
                    transported = Some(Tangents::new(mesh, run.clone(), base, &of_run, tangents));
                }
            }
            of_runs.push(transported);
            base_accessors.push(columns);
        }
        Ok(Self {
            zeros: vec![None; runs.len()],
            previous: base.to_vec(),
            base: base.to_vec(),
            mesh,
            runs,
            base_normals,
            normals,
            tangents: of_runs,
            base_accessors,
            targets: Vec::new(),
            frames: Vec::new(),
        })
    }

    /// Writes the next frame, unless it repeats the one before or the rest shape.
    pub(super) fn push(&mut self, points: Vec<[f32; 3]>, sink: &mut Sink) -> Result<()> {
        let last = self.frames.last().copied().flatten();
        if points == self.previous {
            self.frames.push(last);
            return Ok(());
        }
        if points == self.base {
            self.frames.push(None);
        } else {
            self.push_target(&points, sink)?;
            self.frames.push(Some(self.targets.len() - 1));
        }
        self.previous = points;
        Ok(())
    }

    /// A target that moves nothing, for a mesh that must have one.
    pub(super) fn push_still_target(&mut self, sink: &mut Sink) {
        let target = (0..self.runs.len())
            .map(|run| {
                let zero = self.zero(run, sink);
                let Columns { normals, tangents, .. } = self.base_accessors[run];
                Columns { positions: zero, normals: normals.map(|_| zero), tangents: tangents.map(|_| zero) }
            })
            .collect();
        self.targets.push(target);
    }

    fn push_target(&mut self, points: &[[f32; 3]], sink: &mut Sink) -> Result<()> {
        let deltas: Vec<[f32; 3]> = points.iter().zip(&self.base).map(|(p, base)| minus(*p, *base)).collect();
        let normals_now = self.normals.as_ref().map(|normals| normals.at(points));
        let mut target = Vec::with_capacity(self.runs.len());
        for run in 0..self.runs.len() {
            let vertices = self.runs[run].clone();
            let of_run: Vec<[f32; 3]> =
                self.mesh.vertex_points[vertices.clone()].iter().map(|&p| deltas[p as usize]).collect();
            let positions = self.displacement(&of_run, run, true, sink)?;
            let mut columns = Columns { positions, normals: None, tangents: None };
            if let (Some(normals), Some(now)) = (&self.normals, &normals_now) {
                let now = normals.per_vertex(now, vertices.clone());
                let base = normals.per_vertex(&self.base_normals, vertices);
                let moved = |(n, base): (&[f32; 3], &[f32; 3])| minus(*n, *base);
                let of_run: Vec<[f32; 3]> = now.iter().zip(&base).map(moved).collect();
                let tangents = self.tangents[run].as_ref().map(|tangents| tangents.moved(points, &now));
                columns.normals = Some(self.displacement(&of_run, run, false, sink)?);
                if let Some(of_run) = tangents {
                    columns.tangents = Some(self.displacement(&of_run, run, false, sink)?);
                }
            }
            target.push(columns);
        }
        self.targets.push(target);
        Ok(())
    }

    /// Writes displacements, or nothing when there are none.
    fn displacement(
        &mut self,
        deltas: &[[f32; 3]],
        run: usize,
        bounds: bool,
        sink: &mut Sink,
    ) -> Result<usize> {
        let moved = deltas.iter().filter(|delta| **delta != [0.0; 3]).count();
        if moved == 0 {
            return Ok(self.zero(run, sink));
        }
        sink.sparse_column(deltas, bounds)
    }

    fn zero(&mut self, run: usize, sink: &mut Sink) -> usize {
        let count = self.runs[run].len();
        *self.zeros[run].get_or_insert_with(|| sink.zeros(count))
    }

    /// A primitive's `targets` for a run of targets.
    pub(super) fn targets_json(&self, run: usize, targets: Range<usize>) -> Value {
        let target = |target: &Vec<Columns>| target[run].json();
        Value::Array(self.targets[targets].iter().map(target).collect())
    }
}

/// Smooth normals, hard edges kept: vertices of a point that had different normals in the file get different ones.
pub(super) struct Normals {
    triangles: Vec<[u32; 3]>,
    /// The same triangles over normals; empty when every point has one normal.
    normal_triangles: Vec<[u32; 3]>,
    /// The normal of each vertex.
    of_vertices: Vec<u32>,
    count: usize,
}

impl Normals {
    pub(super) fn new(mesh: &Mesh) -> Self {
        let on = |of: &[u32]| mesh.faces.triangles().map(|t| t.map(|v| of[v as usize])).collect::<Vec<_>>();
        let hard = mesh.smoothing.len() == mesh.vertex_count();
        let of_vertices = if hard { &mesh.smoothing } else { &mesh.vertex_points };
        Self {
            triangles: on(&mesh.vertex_points),
            normal_triangles: if hard { on(of_vertices) } else { Vec::new() },
            count: of_vertices.iter().max().map_or(0, |&last| last as usize + 1).max(mesh.point_count()),
            of_vertices: of_vertices.clone(),
        }
    }

    /// Unit normals weighted by area, of every normal there is.
    pub(super) fn at(&self, points: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let mut sums = vec![[0.0_f32; 3]; self.count];
        let targets = if self.normal_triangles.is_empty() { &self.triangles } else { &self.normal_triangles };
        for (t, to) in self.triangles.iter().zip(targets) {
            let [a, b, c] = t.map(|point| points[point as usize]);
            let (u, v) = (minus(b, a), minus(c, a));
            let doubled = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            for &normal in to {
                let sum = &mut sums[normal as usize];
                *sum = [sum[0] + doubled[0], sum[1] + doubled[1], sum[2] + doubled[2]];
            }
        }
        for sum in &mut sums {
            // in double precision: the square of a tiny triangle's area is beyond a float
            let [x, y, z] = sum.map(f64::from);
            let length = (x * x + y * y + z * z).sqrt();
            // where no triangle has area any direction will do, but it must be one
            *sum = if length > 1e-300 && length.is_finite() {
                [(x / length) as f32, (y / length) as f32, (z / length) as f32]
            } else {
                [0.0, 1.0, 0.0]
            };
        }
        sums
    }

    /// What belongs to each normal, laid out per vertex.
    pub(super) fn per_vertex<T: Copy>(&self, per_normal: &[T], vertices: Range<usize>) -> Vec<T> {
        self.of_vertices[vertices].iter().map(|&normal| per_normal[normal as usize]).collect()
    }
}

fn minus(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}
