//! The inside: tets that fill the skin at rest, which of their points bones hold, and whose they are.

use std::sync::Arc;

use geometry::{Embedding, Mat3, TetMesh, TetMeshing, TetSize, Vec3, tet_volume, vertex_areas};
use linear::{ConstraintRows, Matrix, Pattern, Solver};

use crate::Error;
use crate::bones::{Bone, Skin};

/// Tets around a skin at rest.
pub(crate) struct Volume {
    pub(crate) mesh: TetMesh,
    /// The points of the skin in their tets.
    pub(crate) embedding: Embedding,
    /// Areas of the skin's points, which weigh them.
    pub(crate) areas: Vec<f64>,
    /// Points that skinning alone moves.
    pub(crate) known: Vec<bool>,
    pub(crate) pattern: Arc<Pattern>,
    /// Joints of every point, with weights that sum to one.
    pub(crate) joints: Vec<Vec<(u32, f64)>>,
    /// The length of an edge, in metres.
    pub(crate) edge: f64,
    laplacian: Matrix,
}

/// How much firmer the skin's own numbers are than the smoothness of what is carried inside.
const HOLD: f64 = 1e3;
/// Weights below this are nobody's.
const LEAST: f64 = 1e-3;
/// Samples of a bone to the length of an edge.
const SAMPLES: f64 = 6.0;

impl Volume {
    pub(crate) fn new(skin: &Skin, bones: &[Bone], tets: usize) -> Result<Self, Error> {
        let meshing = TetMeshing { size: TetSize::Count(tets), ..TetMeshing::default() };
        let filled = meshing.fill(&skin.points, &skin.triangles)?;
        Self::in_tets(skin, bones, filled.mesh, filled.embedding, filled.edge)
    }

    /// The same in tets that are there.
    pub(crate) fn in_tets(
        skin: &Skin,
        bones: &[Bone],
        mesh: TetMesh,
        embedding: Embedding,
        edge: f64,
    ) -> Result<Self, Error> {
        let count = mesh.points().len();
        let pattern = Arc::new(Pattern::from_stencils(count, mesh.tets().iter().map(<[u32; 4]>::as_slice)));
        let mut areas = vertex_areas(&skin.points, &skin.triangles);
        if areas.iter().sum::<f64>() <= 0.0 {
            let even = 1.0 / areas.len().max(1) as f64;
            areas.fill(even);
        }
        let known = held(&mesh, bones, edge)?;
        let laplacian = laplacian(&mesh, &pattern);
        let mut this = Self { mesh, embedding, areas, known, pattern, joints: Vec::new(), edge, laplacian };
        this.joints = this.joint_weights(skin)?;
        Ok(this)
    }

    /// Numbers of the skin's points carried inside: Δw = 0 with w as given on the skin (morph §5), three at a time.
    ///
    /// Differs: points of the skin are no points of the tets, so their numbers are held by springs through the embedding.
    pub(crate) fn carried_inside(&self, columns: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, Error> {
        let count = self.mesh.points().len();
        let mut matrix = self.laplacian.clone();
        let firm = HOLD / self.edge;
        let whole: f64 = self.areas.iter().sum();
        for (p, (corners, weights)) in self.rows() {
            for i in 0..4 {
                for j in 0..=i {
                    let value = firm * self.areas[p] * weights[i] * weights[j];
                    matrix.add(corners[i], corners[j], Mat3::IDENTITY * value);
                }
            }
        }
        for i in 0..count as u32 {
            // pieces that carry no skin still have one answer
            matrix.add(i, i, Mat3::IDENTITY * (1e-9 * firm * whole / count as f64));
        }
        let rows = ConstraintRows::none(count);
        let mut solver = Solver::new(&self.pattern, &vec![false; count], &rows, linear::Settings::default())?;
        let mut carried = vec![vec![0.0; count]; columns.len()];
        for (triple, columns) in columns.chunks(3).enumerate() {
            let value =
                |p: usize| Vec3::from_array(std::array::from_fn(|k| columns.get(k).map_or(0.0, |c| c[p])));
            let mut right = vec![Vec3::ZERO; count];
            for (p, (corners, weights)) in self.rows() {
                for i in 0..4 {
                    right[corners[i] as usize] += firm * self.areas[p] * weights[i] * value(p);
                }
            }
            let mut x = vec![Vec3::ZERO; count];
            solver.solve(&matrix, &right, &rows, &[], &mut x, &mut [], 1e-9)?;
            for (k, column) in carried[3 * triple..].iter_mut().take(3).enumerate() {
                column.iter_mut().zip(&x).for_each(|(to, x)| *to = x[k]);
            }
        }
        Ok(carried)
    }

    fn rows(&self) -> impl Iterator<Item = (usize, ([u32; 4], [f64; 4]))> + '_ {
        self.embedding.corners().iter().copied().zip(self.embedding.weights().iter().copied()).enumerate()
    }

    fn joint_weights(&self, skin: &Skin) -> Result<Vec<Vec<(u32, f64)>>, Error> {
        let mut used: Vec<u32> = skin.influences.iter().flatten().map(|influence| influence.0).collect();
        used.sort_unstable();
        used.dedup();
        let columns: Vec<Vec<f64>> = used
            .iter()
            .map(|joint| {
                let of = |row: &Vec<(u32, f64)>| {
                    row.iter().filter(|(j, _)| j == joint).map(|(_, weight)| weight).sum::<f64>()
                };
                skin.influences.iter().map(of).collect()
            })
            .collect();
        let carried = self.carried_inside(&columns)?;
        let of = |point: usize| {
            let mut row: Vec<(u32, f64)> = used
                .iter()
                .zip(&carried)
                .map(|(&joint, w)| (joint, w[point]))
                .filter(|(_, w)| *w > LEAST)
                .collect();
            let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
            row.iter_mut().for_each(|(_, weight)| *weight /= sum);
            // far from any skin that a joint moves: the first joint's
            if row.is_empty() { vec![(used[0], 1.0)] } else { row }
        };
        Ok((0..self.mesh.points().len()).map(of).collect())
    }
}

/// ∫∇a·∇b over the tets, three times side by side.
fn laplacian(mesh: &TetMesh, pattern: &Arc<Pattern>) -> Matrix {
    let mut matrix = Matrix::new(pattern.clone());
    for (tet, corners) in mesh.tets().iter().enumerate() {
        let x = mesh.corners(tet);
        let volume = tet_volume(x);
        if volume <= 0.0 {
            continue;
        }
        let edges = Mat3::from_cols(x[1] - x[0], x[2] - x[0], x[3] - x[0]);
        let rows = edges.inverse().transpose();
        let own = [rows.x_axis, rows.y_axis, rows.z_axis];
        let slopes = [-(own[0] + own[1] + own[2]), own[0], own[1], own[2]];
        for i in 0..4 {
            for j in 0..=i {
                let value = volume * slopes[i].dot(slopes[j]);
                matrix.add(corners[i], corners[j], Mat3::IDENTITY * value);
            }
        }
    }
    matrix
}

/// Points of tets that a bone crosses, unless on the boundary (morph §5). A piece of the mesh that these hold nowhere, or only along
/// a line about which it could turn, gets all points of such tets, or else those of its tet nearest to a bone: nothing may float.
fn held(mesh: &TetMesh, bones: &[Bone], edge: f64) -> Result<Vec<bool>, Error> {
    let count = mesh.points().len();
    let mut samples = Vec::new();
    for bone in bones {
        let [a, b] = bone.ends.map(|end| end.rest);
        let steps = (SAMPLES * a.distance(b) / edge).ceil().clamp(1.0, 10_000.0) as usize;
        samples.extend((0..=steps).map(|k| a.lerp(b, k as f64 / steps as f64)));
    }
    let place = Embedding::new(mesh, &samples)?;
    let mut crossed = vec![false; mesh.tets().len()];
    for (tet, weights) in place.tets().iter().zip(place.weights()) {
        if weights.iter().all(|w| *w >= -1e-9) {
            crossed[*tet as usize] = true;
        }
    }
    let mut boundary = vec![false; count];
    mesh.boundary_faces().iter().flatten().for_each(|&v| boundary[v as usize] = true);
    let mut known = vec![false; count];
    let crossed_tets = || mesh.tets().iter().zip(&crossed).filter(|(_, crossed)| **crossed);
    crossed_tets().flat_map(|(corners, _)| corners).for_each(|&v| known[v as usize] |= !boundary[v as usize]);
    let pieces = mesh.components();
    let piece_count = pieces.iter().max().map_or(0, |&last| last as usize + 1);
    for piece in 0..piece_count as u32 {
        let of_piece = |v: u32| pieces[v as usize] == piece;
        let points: Vec<Vec3> =
            (0..count).filter(|&v| known[v] && of_piece(v as u32)).map(|v| mesh.points()[v]).collect();
        if spans_a_plane(&points, 0.05 * edge) {
            continue;
        }
        let mut any = false;
        for (corners, _) in crossed_tets().filter(|(corners, _)| of_piece(corners[0])) {
            corners.iter().for_each(|&v| known[v as usize] = true);
            any = true;
        }
        if any {
            continue;
        }
        let away = |corners: &&[u32; 4]| {
            let centre = corners.iter().map(|&v| mesh.points()[v as usize]).sum::<Vec3>() / 4.0;
            samples.iter().map(|s| s.distance_squared(centre)).fold(f64::INFINITY, f64::min)
        };
        let own = mesh.tets().iter().filter(|corners| of_piece(corners[0]));
        if let Some(corners) = own.min_by(|a, b| away(a).total_cmp(&away(b))) {
            corners.iter().for_each(|&v| known[v as usize] = true);
        }
    }
    Ok(known)
}

/// Whether points are farther from every line than `least`.
fn spans_a_plane(points: &[Vec3], least: f64) -> bool {
    let Some(&first) = points.first() else { return false };
    let far = |from: Vec3| {
        move |a: &&Vec3, b: &&Vec3| a.distance_squared(from).total_cmp(&b.distance_squared(from))
    };
    let Some(&other) = points.iter().max_by(far(first)) else { return false };
    let Some(along) = (other - first).try_normalize() else { return false };
    points.iter().any(|p| (*p - first).cross(along).length() > least)
}
