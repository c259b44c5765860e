//! Rigid motion: of tets, of the connected pieces of a body.

use geometry::{Embedding, Mat3, TetMesh, Vec3, nearest_rotation, rigid_motion};

/// The rotation of `now` · `before`⁻¹. A rotation does not mind being scaled, so the adjugate does for the inverse: nothing is divided by
/// the volume of a flattened tet.
pub(crate) fn relative_rotation(before: &Mat3, now: &Mat3) -> Mat3 {
    let [a, b, c] = [before.x_axis, before.y_axis, before.z_axis];
    let sign = if before.determinant() < 0.0 { -1.0 } else { 1.0 };
    let adjugate = Mat3::from_cols(b.cross(c), c.cross(a), a.cross(b)).transpose() * sign;
    nearest_rotation(&(*now * adjugate))
}

/// Tets in pieces that nothing connects, each with the vertices that say where it is.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    /// The piece of every tet point.
    points: Vec<u32>,
    /// Animated vertices of every piece.
    vertices: Vec<Vec<u32>>,
}

impl Pieces {
    pub(crate) fn new(mesh: &TetMesh, embedding: &Embedding, animated: &[bool]) -> Self {
        let tets = mesh.components();
        let count = tets.iter().map(|&piece| piece as usize + 1).max().unwrap_or(0);
        let mut points = vec![0; mesh.points().len()];
        for (corners, &piece) in mesh.tets().iter().zip(&tets) {
            corners.iter().for_each(|&p| points[p as usize] = piece);
        }
        let mut vertices = vec![Vec::new(); count];
        for (v, &tet) in embedding.tets().iter().enumerate().filter(|(v, _)| animated[*v]) {
            vertices[tets[tet as usize] as usize].push(v as u32);
        }
        Self { points, vertices }
    }

    /// Brings tets rigidly to where a frame is, each piece by itself: rigid motion then needs no fitting, and no fit has to cross
    /// the scene. Pieces without animation go with the whole.
    pub(crate) fn move_rigidly(&self, embedding: &Embedding, surface: &[Vec3], x: &mut [Vec3]) {
        let placed = embedding.apply(x);
        let motion = |vertices: &mut dyn Iterator<Item = u32>| {
            let finite: Vec<usize> =
                vertices.map(|v| v as usize).filter(|&v| surface[v].is_finite()).collect();
            let from: Vec<Vec3> = finite.iter().map(|&v| placed[v]).collect();
            let to: Vec<Vec3> = finite.iter().map(|&v| surface[v]).collect();
            (finite.len() > 2).then(|| rigid_motion(&from, &to))
        };
        let whole =
            motion(&mut self.vertices.iter().flatten().copied()).unwrap_or((Mat3::IDENTITY, Vec3::ZERO));
        let of_piece = |vertices: &Vec<u32>| motion(&mut vertices.iter().copied()).unwrap_or(whole);
        let motions: Vec<(Mat3, Vec3)> = match &self.vertices[..] {
            [_] => vec![whole],
            pieces => pieces.iter().map(of_piece).collect(),
        };
        for (x, &piece) in x.iter_mut().zip(&self.points) {
            let (rotation, shift) = motions[piece as usize];
            *x = rotation * *x + shift;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bar along x, its left end here.
    fn bar(at: Vec3) -> (Vec<Vec3>, Vec<[u32; 4]>) {
        let grid = TetMesh::box_grid([3, 1, 1], Vec3::new(0.6, 0.2, 0.2)).unwrap();
        (grid.points().iter().map(|p| *p + at).collect(), grid.tets().to_vec())
    }

    /// Three bars that nothing connects, and vertices on the first two of them: each goes where its own vertices went, the third as all do on the whole, and
    /// a vertex without a place says nothing.
    #[test]
    fn every_piece_goes_its_own_way() {
        let (mut points, mut tets) = (Vec::new(), Vec::new());
        for k in 0..3 {
            let (more, corners) = bar(2.0 * f64::from(k) * Vec3::Y);
            let first = points.len() as u32;
            points.extend(more);
            tets.extend(corners.iter().map(|tet| tet.map(|p| p + first)));
        }
        let mesh = TetMesh::new(points.clone(), tets).unwrap();
        let count = points.len() / 3;
        let embedding = Embedding::new(&mesh, &points).unwrap();
        let animated: Vec<bool> = (0..points.len()).map(|v| v < 2 * count).collect();
        let pieces = Pieces::new(&mesh, &embedding, &animated);
        let turn = Mat3::from_rotation_z(1.3) * Mat3::from_rotation_x(-0.4);
        let ways = [(turn, Vec3::new(0.3, -0.2, 5.0)), (turn.transpose(), Vec3::new(-1.0, 0.5, 0.0))];
        let mut surface = points.clone();
        for (v, place) in surface.iter_mut().enumerate().take(2 * count) {
            let (rotation, shift) = ways[v / count];
            *place = rotation * *place + shift;
        }
        surface[2] = Vec3::splat(f64::NAN);
        surface[2 * count..].fill(Vec3::splat(1e3));
        let mut x = points.clone();
        pieces.move_rigidly(&embedding, &surface, &mut x);
        for (v, place) in x.iter().enumerate().take(2 * count) {
            let (rotation, shift) = ways[v / count];
            assert!(place.distance(rotation * points[v] + shift) < 1e-9, "{v}: {place}");
        }
        // the third keeps its shape, and goes as the best motion of all that is known goes
        let known: Vec<usize> = (0..2 * count).filter(|v| *v != 2).collect();
        let [from, to] =
            [&points, &surface].map(|places| known.iter().map(|&v| places[v]).collect::<Vec<_>>());
        let (rotation, shift) = rigid_motion(&from, &to);
        for v in 2 * count..3 * count {
            assert!(x[v].distance(rotation * points[v] + shift) < 1e-9, "{v}: {}", x[v]);
        }
    }
}
