//! What is wrong with a clip, before anybody simulates it.

use geometry::{Topology, triangle_area};
use serde::Serialize;

use crate::{Clip, Error, Mesh, first_not_finite};

/// Something wrong with a clip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The mesh's name, when it is about one.
    pub mesh: Option<String>,
    /// The frame, from zero, when it is about one.
    pub frame: Option<usize>,
    /// Where: a point, a face, an edge.
    pub place: String,
    /// What is wrong and what follows.
    pub words: String,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The clip can be simulated, but perhaps not as meant.
    Warning,
    /// The clip cannot be simulated.
    Error,
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(mesh) = &self.mesh {
            write!(f, "mesh `{mesh}`, ")?;
        }
        if let Some(frame) = self.frame {
            write!(f, "frame {frame}, ")?;
        }
        write!(f, "{}: {}", self.place, self.words)
    }
}

/// Looks through a whole clip, every frame of it. Of each kind of problem a mesh has, the first place and the number
/// of places are told.
pub fn diagnose(clip: &Clip) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    if clip.frame_count() == 0 {
        diagnostics.push(Diagnostic::of_clip("the clip", "it has no frames"));
    }
    if clip.meshes.is_empty() && clip.skeleton.is_none() {
        diagnostics.push(Diagnostic::of_clip("the clip", "it has neither a mesh nor a skeleton"));
    }
    for words in &clip.warnings {
        diagnostics
            .push(Diagnostic { severity: Severity::Warning, ..Diagnostic::of_clip("the file", words) });
    }
    for mesh in &clip.meshes {
        of_mesh(mesh, &mut diagnostics);
    }
    let known = diagnostics.len();
    for frame in 0..clip.frame_count() {
        let Err(error) = clip.checked_frame(frame) else { continue };
        let (mesh, place) = match &error {
            Error::NotFinite { mesh, point, .. } => (Some(mesh.clone()), format!("point {point}")),
            _ => (None, "the frame".into()),
        };
        let words = match &error {
            Error::NotFinite { .. } => "a coordinate is not a finite number".into(),
            other => other.to_string(),
        };
        // the first bad frame of a mesh tells enough
        if !diagnostics[known..].iter().any(|problem| problem.mesh == mesh) {
            diagnostics.push(Diagnostic {
                severity: Severity::Error,
                mesh,
                frame: Some(frame),
                place,
                words,
            });
        }
    }
    diagnostics
}

impl Diagnostic {
    fn of_clip(place: &str, words: &str) -> Self {
        Self { severity: Severity::Error, mesh: None, frame: None, place: place.into(), words: words.into() }
    }
}

fn of_mesh(mesh: &Mesh, diagnostics: &mut Vec<Diagnostic>) {
    let mut add = |severity, place: String, words: String| {
        diagnostics.push(Diagnostic { severity, mesh: Some(mesh.name.clone()), frame: None, place, words });
    };
    if let Some(vertex) = mesh.vertex_points.iter().position(|&point| point as usize >= mesh.point_count()) {
        let words = format!(
            "it stands on point {}, but there are {}",
            mesh.vertex_points[vertex],
            mesh.point_count()
        );
        return add(Severity::Error, format!("vertex {vertex}"), words);
    }
    let outside = |face: &[u32]| face.iter().any(|&vertex| vertex as usize >= mesh.vertex_count());
    if let Some(face) = mesh.faces.iter().position(outside) {
        let words = format!("it uses a vertex beyond the {} there are", mesh.vertex_count());
        return add(Severity::Error, format!("face {face}"), words);
    }
    if let Some(point) = first_not_finite(&mesh.rest_points) {
        return add(
            Severity::Error,
            format!("point {point}"),
            "its rest position is not a finite number".into(),
        );
    }
    if mesh.faces.triangles().next().is_none() {
        add(Severity::Error, "the mesh".into(), "it has no triangles".into());
    }
    let rest = mesh.rest();
    let size = geometry::Bounds::of(rest.iter().copied()).diagonal();
    let on_points = |t: [u32; 3]| t.map(|vertex| mesh.vertex_points[vertex as usize]);
    let all: Vec<[u32; 3]> = mesh.faces.triangles().map(on_points).collect();
    let flat = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|point| rest[point as usize]);
        // as thin as rounding of the coordinates makes it
        triangle_area(a, b, c) <= 1e-12 * size * size
    };
    many(
        &mut add,
        all.iter().enumerate().filter(|(_, t)| flat(t)).map(|(i, _)| i),
        "triangle",
        "triangles without area",
        "they have no direction and no stiffness",
    );

    let mut used = vec![false; rest.len()];
    all.iter().flatten().for_each(|&point| used[point as usize] = true);
    let loose = used.iter().enumerate().filter(|(_, used)| !**used).map(|(point, _)| point);
    many(&mut add, loose, "point", "points that no face uses", "they will not move with the rest");

    let mut sorted: Vec<([u32; 3], usize)> = all.iter().enumerate().map(|(i, t)| (sort(*t), i)).collect();
    sorted.sort_unstable();
    let mut twice: Vec<usize> =
        sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).collect();
    twice.sort_unstable();
    many(
        &mut add,
        twice.into_iter(),
        "triangle",
        "triangles that are there twice",
        "they are twice as stiff and heavy",
    );

    let topology = Topology::new(rest.len(), &all);
    let edges: Vec<[u32; 2]> = topology.non_manifold_edges().map(|edge| edge.vertices).collect();
    if let Some([a, b]) = edges.first() {
        let words =
            format!("edges with more than two triangles: {}; the surface branches there", edges.len());
        add(Severity::Warning, format!("edge {a}-{b}"), words);
    }
}

/// One warning for all places of a kind.
fn many(
    add: &mut dyn FnMut(Severity, String, String),
    mut places: impl Iterator<Item = usize>,
    kind: &str,
    what: &str,
    consequence: &str,
) {
    if let Some(first) = places.next() {
        add(
            Severity::Warning,
            format!("{kind} {first}"),
            format!("{what}: {}; {consequence}", 1 + places.count()),
        );
    }
}

fn sort(mut t: [u32; 3]) -> [u32; 3] {
    t.sort_unstable();
    t
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Frame, MemoryFrames};

    fn words(clip: &Clip) -> Vec<String> {
        diagnose(clip).iter().map(ToString::to_string).collect()
    }

    fn quad() -> Mesh {
        Mesh::new(
            "quad",
            vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
            &[[0, 1, 2], [0, 2, 3]],
        )
    }

    #[test]
    fn a_sound_mesh_has_none() {
        assert_eq!(words(&Clip::still(quad(), 24.0, 3)), Vec::<String>::new());
    }

    #[test]
    fn ugly_meshes_are_told_where() {
        let mut points = quad().rest_points;
        points.push([0.5, 0.5, 1.0]);
        points.push([9.0; 3]);
        let faces = [[0, 1, 2], [0, 2, 3], [0, 2, 4], [2, 1, 0], [3, 3, 1]];
        let found = diagnose(&Clip::still(Mesh::new("m", points, &faces), 24.0, 1));
        assert!(found.iter().all(|problem| problem.severity == Severity::Warning));
        let places: Vec<&str> = found.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(places, ["triangle 4", "point 5", "triangle 3", "edge 0-2"]);
    }

    #[test]
    fn what_cannot_be_simulated_is_an_error() {
        let empty = Clip::still(Mesh::new("m", vec![[0.0; 3]], &[]), 24.0, 0);
        let errors = diagnose(&empty).iter().filter(|problem| problem.severity == Severity::Error).count();
        assert_eq!(errors, 2, "no frames, no triangles");
        let outside = Clip::still(Mesh::new("m", vec![[0.0; 3]], &[[0, 1, 2]]), 24.0, 1);
        assert_eq!(words(&outside), ["mesh `m`, face 0: it uses a vertex beyond the 1 there are"]);
    }

    #[test]
    fn the_first_bad_frame_is_named() {
        let good = Frame { points: vec![quad().rest_points], pose: Vec::new() };
        let mut bad = good.clone();
        bad.points[0][2][1] = f32::NAN;
        let frames = MemoryFrames::new(vec![good.clone(), good, bad.clone(), bad]);
        let clip = Clip::still(quad(), 24.0, 1).with_frames(Arc::new(frames));
        assert_eq!(words(&clip), ["mesh `quad`, frame 2, point 2: a coordinate is not a finite number"]);
    }
}
