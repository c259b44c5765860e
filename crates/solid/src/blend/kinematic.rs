//! Kinematic blending: between an animation and its simulation by tet, without simulating again.

use std::sync::Arc;

use geometry::{Embedding, Mat3, TetMesh, Vec3, nearest_rotation, rigid_motion};
use glam::DQuat;
use linear::{ConstraintRows, Matrix, Pattern, Settings, Solver};

use crate::fit::relative_rotation;
use crate::{Error, Fit, Pose};

/// Blends two shapes of a surface by weights per vertex: 1 the animation, 0 the simulation. enrich §7.2.
///
/// Both shapes are fitted with tets. Each tet's deformation gradient is taken apart into rotation and symmetric part, these are blended
/// on their own (so halfway between two turns is half a turn, and nothing shrinks), and the positions that come nearest to all blended
/// gradients are solved for. Differs: a weak pull to the straight mix of positions decides what gradients leave open.
pub struct KinematicBlend {
    embedding: Embedding,
    tets: Vec<BlendedTet>,
    fit: Fit,
    solver: Solver,
    matrix: Matrix,
    known: Vec<bool>,
    /// Pull per point.
    anchors: Vec<f64>,
    point_weights: Vec<f64>,
    vertex_weights: Vec<f64>,
    areas: Vec<f64>,
    pose: Pose,
}

struct BlendedTet {
    corners: [u32; 4],
    /// Dₘ⁻¹.
    inverse: Mat3,
    volume: f64,
    weight: f64,
}

/// The pull to the straight mix against the gradients, at the scale of the whole body.
const ANCHOR: f64 = 0.1;

impl KinematicBlend {
    /// Weights in [0, 1] for the surface's vertices and for the tets' points; see [`crate::from_surface`].
    pub fn new(
        mesh: &TetMesh,
        embedding: &Embedding,
        areas: &[f64],
        vertex_weights: Vec<f64>,
        point_weights: Vec<f64>,
        tolerance: f64,
    ) -> Result<Self, Error> {
        let (fit, gamma) = Fit::new(mesh, embedding, areas, tolerance, None)?;
        let size = geometry::Bounds::of(mesh.points().iter().copied()).diagonal();
        let count = mesh.points().len();
        let known: Vec<bool> = point_weights.iter().map(|w| *w >= 1.0).collect();
        let mut tets = Vec::with_capacity(mesh.tets().len());
        for (index, &corners) in mesh.tets().iter().enumerate() {
            let [a, b, c, d] = mesh.corners(index);
            let edges = Mat3::from_cols(b - a, c - a, d - a);
            let volume = edges.determinant() / 6.0;
            if volume <= 0.0 {
                return Err(Error::Flat { tet: index });
            }
            let weight = corners.iter().map(|&p| point_weights[p as usize]).sum::<f64>() / 4.0;
            tets.push(BlendedTet { corners, inverse: edges.inverse(), volume, weight });
        }
        let anchors: Vec<f64> = mesh.point_volumes().iter().map(|v| ANCHOR * v / (size * size)).collect();
        let pattern = Arc::new(Pattern::from_stencils(count, mesh.tets().iter().map(|t| &t[..])));
        let mut matrix = Matrix::new(pattern.clone());
        for tet in &tets {
            let g = tet.gradients();
            for i in 0..4 {
                for j in 0..=i {
                    matrix.add(
                        tet.corners[i],
                        tet.corners[j],
                        Mat3::IDENTITY * (tet.volume * g[i].dot(g[j])),
                    );
                }
            }
        }
        for (p, anchor) in anchors.iter().enumerate() {
            matrix.add(p as u32, p as u32, Mat3::IDENTITY * *anchor);
        }
        let solver = Solver::new(&pattern, &known, &ConstraintRows::none(count), Settings::default())?;
        Ok(Self {
            embedding: embedding.clone(),
            pose: Pose::new(mesh.points().to_vec(), gamma),
            tets,
            fit,
            solver,
            matrix,
            known,
            anchors,
            point_weights,
            vertex_weights,
            areas: areas.to_vec(),
        })
    }

    /// The blend of a frame.
    pub fn frame(&mut self, animation: &[Vec3], simulation: &[Vec3]) -> Result<Vec<Vec3>, Error> {
        let [a, s, _] = std::mem::take(&mut self.pose.fits);
        let (a, s) = (self.fitted(animation, a)?, self.fitted(simulation, s)?);
        let x = self.blend(&a, &s)?;
        let (from_a, from_s) = (self.embedding.apply(&a), self.embedding.apply(&s));
        let mut positions = self.embedding.apply(&x);
        for (v, position) in positions.iter_mut().enumerate() {
            let weight = self.vertex_weights[v];
            // the ends themselves, to the bit
            if weight >= 1.0 || weight <= 0.0 {
                *position = if weight >= 1.0 { animation[v] } else { simulation[v] };
                continue;
            }
            let tet = &self.tets[self.embedding.tets()[v] as usize];
            let [edges_a, edges_s, edges_x] = [&a, &s, &x].map(|x| tet.edges(x));
            let turned = |before: &Mat3, detail: Vec3| relative_rotation(before, &edges_x) * detail;
            let [detail_a, detail_s] =
                [turned(&edges_a, animation[v] - from_a[v]), turned(&edges_s, simulation[v] - from_s[v])];
            *position += detail_s.lerp(detail_a, weight);
        }
        self.pose.fits = [a.clone(), s, a];
        Ok(positions)
    }

    /// All that the next frame depends on: where its fits start.
    pub fn pose(&self) -> &Pose {
        &self.pose
    }

    /// Goes on from a pose of the same surface; false where it is not one.
    pub fn restore(&mut self, pose: Pose) -> bool {
        let same = pose.fits.iter().all(|fit| fit.len() == self.known.len());
        if same {
            self.pose = pose;
        }
        same
    }

    fn fitted(&mut self, surface: &[Vec3], mut x: Vec<Vec3>) -> Result<Vec<Vec3>, Error> {
        let placed = self.embedding.apply(&x);
        let used: Vec<usize> =
            (0..surface.len()).filter(|&v| self.areas[v] > 0.0 && surface[v].is_finite()).collect();
        let [from, to] =
            [&placed[..], surface].map(|points| used.iter().map(|&v| points[v]).collect::<Vec<_>>());
        let (rotation, shift) = rigid_motion(&from, &to);
        x.iter_mut().for_each(|x| *x = rotation * *x + shift);
        self.fit.solve(surface, &mut self.pose.gamma, &mut x, &self.embedding)?;
        Ok(x)
    }

    /// argmin Σ V‖F(x) − F*‖² + Σ anchor ‖x − mix‖².
    fn blend(&mut self, a: &[Vec3], s: &[Vec3]) -> Result<Vec<Vec3>, Error> {
        let mut x: Vec<Vec3> = (0..a.len()).map(|p| s[p].lerp(a[p], self.point_weights[p])).collect();
        let mut right: Vec<Vec3> = x.iter().zip(&self.anchors).map(|(x, anchor)| *anchor * *x).collect();
        for tet in &self.tets {
            let f = tet.blended(a, s);
            for (g, &p) in tet.gradients().iter().zip(&tet.corners) {
                right[p as usize] += tet.volume * (f * *g);
            }
        }
        for p in (0..x.len()).filter(|&p| self.known[p]) {
            x[p] = a[p];
        }
        let rows = ConstraintRows::none(x.len());
        self.solver.reset();
        self.solver.solve(&self.matrix, &right, &rows, &[], &mut x, &mut [], 1e-8)?;
        Ok(x)
    }
}

impl BlendedTet {
    /// Gradients of the linear functions of its corners.
    fn gradients(&self) -> [Vec3; 4] {
        let rows = self.inverse.transpose();
        [-(rows.x_axis + rows.y_axis + rows.z_axis), rows.x_axis, rows.y_axis, rows.z_axis]
    }

    fn edges(&self, x: &[Vec3]) -> Mat3 {
        let [a, b, c, d] = self.corners.map(|p| x[p as usize]);
        Mat3::from_cols(b - a, c - a, d - a)
    }

    /// F* = R* S*: rotations along the shorter way, symmetric parts straight.
    fn blended(&self, a: &[Vec3], s: &[Vec3]) -> Mat3 {
        let [fa, fs] = [a, s].map(|x| self.edges(x) * self.inverse);
        let [ra, rs] = [nearest_rotation(&fa), nearest_rotation(&fs)];
        let [qa, qs] = [ra, rs].map(|r| DQuat::from_mat3(&r));
        let symmetric = (rs.transpose() * fs) * (1.0 - self.weight) + (ra.transpose() * fa) * self.weight;
        Mat3::from_quat(qs.slerp(qa, self.weight)) * symmetric
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Halfway between rest and a quarter turn is an eighth, of full length: straight mixing would shrink it to cos 45°.
    #[test]
    fn halfway_between_turns_is_half_a_turn() {
        let mesh = TetMesh::box_grid([6, 2, 2], Vec3::new(0.6, 0.2, 0.2)).unwrap();
        let faces = mesh.boundary_faces();
        let areas = geometry::vertex_areas(mesh.points(), &faces);
        let vertices = mesh.points().to_vec();
        let embedding = Embedding::new(&mesh, &vertices).unwrap();
        let turned: Vec<Vec3> =
            vertices.iter().map(|p| Mat3::from_rotation_z(std::f64::consts::FRAC_PI_2) * *p).collect();
        let half = vec![0.5; vertices.len()];
        let mut blend = KinematicBlend::new(&mesh, &embedding, &areas, half.clone(), half, 1e-4).unwrap();
        let out = blend.frame(&turned, &vertices).unwrap();
        let far = vertices.iter().position(|p| p.distance(Vec3::new(0.6, 0.0, 0.0)) < 1e-9).unwrap();
        let near = vertices.iter().position(|p| p.length() < 1e-9).unwrap();
        let along = out[far] - out[near];
        assert!((along.length() - 0.6).abs() < 0.02, "{}", along.length());
        assert!((along.y.atan2(along.x) - std::f64::consts::FRAC_PI_4).abs() < 0.03, "{along}");
    }

    #[test]
    fn the_ends_are_the_inputs_to_the_bit() {
        let mesh = TetMesh::box_grid([4, 1, 1], Vec3::new(0.4, 0.1, 0.1)).unwrap();
        let areas = geometry::vertex_areas(mesh.points(), &mesh.boundary_faces());
        let embedding = Embedding::new(&mesh, mesh.points()).unwrap();
        let weights: Vec<f64> = mesh.points().iter().map(|p| if p.x < 0.15 { 1.0 } else { 0.0 }).collect();
        let mut blend =
            KinematicBlend::new(&mesh, &embedding, &areas, weights.clone(), weights.clone(), 1e-4).unwrap();
        let animation: Vec<Vec3> = mesh.points().iter().map(|p| *p + Vec3::Y * p.x * p.x).collect();
        let simulation: Vec<Vec3> = mesh.points().iter().map(|p| *p - Vec3::Y * p.x).collect();
        let out = blend.frame(&animation, &simulation).unwrap();
        for v in 0..out.len() {
            assert_eq!(out[v], if weights[v] >= 1.0 { animation[v] } else { simulation[v] });
        }
    }
}
