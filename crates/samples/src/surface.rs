//! Smooth closed surfaces from balls and limbs: a soft union of simple pieces, polygonised into even quads.
//!
//! A [`Body`] is a signed distance (negative inside, near enough in metres) blended from [`Piece`]s. [`polygonise`] takes
//! the zero set of any such function: one point per patch of surface in a grid cell, quads across the cell edges
//! (dual contouring without sharp features; patches separated as in dual marching cubes), then [`relax`] slides the
//! points along the surface until the quads are even, each with its
//! better diagonal first.

use clip::Faces;
use geometry::{Bounds, Mat3, Topology, Vec3, vertex_normals};

use crate::shapes::Shape;

/// A simple solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Solid {
    /// Two balls and their common tangent cone: a limb.
    Limb {
        /// Centres of the balls.
        ends: [Vec3; 2],
        /// Radii of the balls.
        radii: [f64; 2],
    },
    /// An ellipsoid.
    Ball {
        /// Its centre.
        centre: Vec3,
        /// Half axes.
        radii: Vec3,
        /// Directions of the half axes, `world_from_axes`.
        axes: Mat3,
    },
    /// An elliptic disc with a round rim: an ear, a fin.
    Plate {
        /// Its centre.
        centre: Vec3,
        /// Half axes, the rim included.
        radii: [f64; 2],
        /// Half its thickness, which is also the radius of the rim.
        half_thickness: f64,
        /// `world_from_axes`; the third axis is the disc's normal.
        axes: Mat3,
    },
}

impl Solid {
    /// An ellipsoid along the coordinate axes.
    pub fn ball(centre: Vec3, radii: Vec3) -> Self {
        Self::Ball { centre, radii, axes: Mat3::IDENTITY }
    }

    /// A limb.
    pub fn limb(from: Vec3, to: Vec3, radii: [f64; 2]) -> Self {
        Self::Limb { ends: [from, to], radii }
    }

    /// Signed distance: exact to limbs of equal radii, of first order near the surface of the others.
    pub fn distance(&self, p: Vec3) -> f64 {
        match *self {
            Self::Limb { ends: [a, b], radii: [ra, rb] } => {
                let along = b - a;
                let t = ((p - a).dot(along) / along.length_squared().max(1e-12)).clamp(0.0, 1.0);
                (p - a - t * along).length() - (ra + t * (rb - ra))
            }
            Self::Ball { centre, radii, axes } => ellipsoid_distance(axes.transpose() * (p - centre), radii),
            Self::Plate { centre, radii, half_thickness, axes } => {
                let q = axes.transpose() * (p - centre);
                let inner = Vec3::new(radii[0] - half_thickness, radii[1] - half_thickness, 1.0)
                    .max(Vec3::splat(1e-3));
                let aside = ellipsoid_distance(q.with_z(0.0), inner).max(0.0);
                aside.hypot(q.z) - half_thickness
            }
        }
    }

    fn bounds(&self) -> Bounds {
        let around = |centre: Vec3, radius: f64| Bounds { min: centre - radius, max: centre + radius };
        match *self {
            Self::Limb { ends: [a, b], radii: [ra, rb] } => around(a, ra).union(around(b, rb)),
            Self::Ball { centre, radii, .. } => around(centre, radii.max_element()),
            Self::Plate { centre, radii: [a, b], .. } => around(centre, a.max(b)),
        }
    }
}

/// Distance to an ellipsoid about the origin, exact on its surface and of first order near it.
fn ellipsoid_distance(q: Vec3, radii: Vec3) -> f64 {
    let (scaled, steep) = ((q / radii).length(), (q / (radii * radii)).length());
    if steep < 1e-9 { -radii.min_element() } else { scaled * (scaled - 1.0) / steep }
}

/// A solid of a body, with the width of the fillet where it meets those before it and the bone that moves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Its shape.
    pub solid: Solid,
    /// Width of the fillet in metres; zero for a crease.
    pub fillet: f64,
    /// Index of the joint that carries this piece.
    pub joint: usize,
}

/// A soft union of pieces, cut flat at the ground.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// The pieces; each is blended into the union of those before it.
    pub pieces: Vec<Piece>,
    /// Height of a horizontal cut that feet stand on, when there is one.
    pub floor: Option<f64>,
}

impl Body {
    /// Signed distance, negative inside.
    pub fn distance(&self, p: Vec3) -> f64 {
        let mut distance = f64::INFINITY;
        for piece in &self.pieces {
            distance = soft_min(distance, piece.solid.distance(p), piece.fillet);
        }
        // the sole is rounded by a small fillet
        self.floor.map_or(distance, |floor| -soft_min(-distance, p.y - floor, 0.03))
    }

    /// The joint of the piece whose surface is nearest.
    pub fn nearest_joint(&self, p: Vec3) -> usize {
        let distance = |piece: &Piece| piece.solid.distance(p);
        let nearest = self.pieces.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map_or(0, |piece| piece.joint)
    }

    /// The surface as quads of about `cell` metres.
    pub fn surface(&self, cell: f64) -> Shape {
        let bounds = self.pieces.iter().map(|piece| piece.solid.bounds()).fold(Bounds::EMPTY, Bounds::union);
        let mut shape = polygonise(|p| self.distance(p), bounds, cell);
        relax(&mut shape, |p| self.distance(p), 20);
        choose_diagonals(&mut shape, |p| self.distance(p));
        shape
    }
}

/// The smaller of two distances with a fillet of width `k` where they are nearly equal.
pub fn soft_min(a: f64, b: f64, k: f64) -> f64 {
    let h = (k - (a - b).abs()).max(0.0);
    if h > 0.0 { a.min(b) - h * h / (4.0 * k) } else { a.min(b) }
}

/// The zero set of `distance` inside `bounds`, as quads that face where it grows.
///
/// `distance` must be a signed distance up to a factor of two: blocks of cells that it puts far from the surface are
/// passed over. Points are put in the middle of the surface's crossings of their cell.
pub fn polygonise(distance: impl Fn(Vec3) -> f64, bounds: Bounds, cell: f64) -> Shape {
    if bounds.is_empty() || cell.is_nan() || cell <= 0.0 {
        return Shape::default();
    }
    let grid = Grid::sample(distance, bounds, cell);
    let mut points = Vec::new();
    // the point of the patch that crosses each of a cell's twelve edges
    let mut patches: Vec<Option<[u32; 12]>> = vec![None; grid.values.len()];
    for k in 0..grid.count[2] - 1 {
        for j in 0..grid.count[1] - 1 {
            for i in 0..grid.count[0] - 1 {
                patches[grid.index([i, j, k])] = grid.patches_of_cell([i, j, k], &mut points);
            }
        }
    }
    let mut faces = Faces::default();
    for k in 1..grid.count[2] - 1 {
        for j in 1..grid.count[1] - 1 {
            for i in 1..grid.count[0] - 1 {
                (0..3).for_each(|axis| grid.quad_across_edge([i, j, k], axis, &patches, &mut faces));
            }
        }
    }
    Shape::new(points, faces, Vec::new())
}

/// Slides points along the zero set of `distance` towards the middle of their neighbours.
pub fn relax(shape: &mut Shape, distance: impl Fn(Vec3) -> f64, iterations: usize) {
    let neighbours = neighbours(shape);
    let mut normals = vertex_normals(&shape.points, &shape.triangles());
    for _ in 0..iterations {
        let old = shape.points.clone();
        for (v, around) in neighbours.iter().enumerate().filter(|(_, around)| !around.is_empty()) {
            let middle = around.iter().map(|&w| old[w as usize]).sum::<Vec3>() / around.len() as f64;
            let step = 0.5 * (middle - old[v]);
            let slid = old[v] + step - step.dot(normals[v]) * normals[v];
            (shape.points[v], normals[v]) = project(slid, normals[v], &distance);
        }
    }
}

/// Turns every quad so that a fan from its first corner uses the diagonal whose middle is nearer to the zero set.
fn choose_diagonals(shape: &mut Shape, distance: impl Fn(Vec3) -> f64) {
    let mut faces = Faces::default();
    for face in shape.faces.iter() {
        match *face {
            [a, b, c, d] => {
                let off = |a: u32, b: u32| {
                    distance(0.5 * (shape.points[a as usize] + shape.points[b as usize])).abs()
                };
                faces.push(&if off(a, c) <= off(b, d) { [a, b, c, d] } else { [b, c, d, a] });
            }
            _ => faces.push(face),
        }
    }
    shape.faces = faces;
}

/// The next vertex of every polygon around a vertex: along the edges of a closed quad mesh, not its diagonals.
fn neighbours(shape: &Shape) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); shape.points.len()];
    for face in shape.faces.iter() {
        for i in 0..face.len() {
            neighbours[face[i] as usize].push(face[(i + 1) % face.len()]);
        }
    }
    neighbours
}

/// Moves a point onto the zero set by one Newton step along the gradient, and gives the normal there; where the gradient
/// vanishes, the point stays and so does its normal.
fn project(p: Vec3, normal: Vec3, distance: impl Fn(Vec3) -> f64) -> (Vec3, Vec3) {
    const H: f64 = 1e-4;
    let value = distance(p);
    let slope = |axis: Vec3| (distance(p + H * axis) - value) / H;
    let gradient = Vec3::new(slope(Vec3::X), slope(Vec3::Y), slope(Vec3::Z));
    if gradient.length() < 0.2 {
        return (p, normal);
    }
    (p - value * gradient / gradient.length_squared(), gradient.normalize())
}

/// A scalar at the corners of cubic cells.
struct Grid {
    origin: Vec3,
    cell: f64,
    count: [usize; 3],
    values: Vec<f64>,
}

/// The corners of a cell are numbered by their bits, x first; an edge joins two corners that differ in one bit.
const EDGES: [[usize; 2]; 12] =
    [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];

impl Grid {
    fn sample(distance: impl Fn(Vec3) -> f64, bounds: Bounds, cell: f64) -> Self {
        const BLOCK: usize = 6;
        // two cells of air on each side, so that the surface never reaches the border
        let origin = bounds.min - 2.0 * cell;
        let size = bounds.size() + 4.0 * cell;
        let count = [size.x, size.y, size.z].map(|length| (length / cell).ceil().min(1024.0) as usize + 1);
        let mut grid = Self { origin, cell, count, values: vec![0.0; count.iter().product()] };
        let reach = 2.0 * 0.5 * BLOCK as f64 * cell * 3.0_f64.sqrt();
        for k in (0..count[2]).step_by(BLOCK) {
            for j in (0..count[1]).step_by(BLOCK) {
                for i in (0..count[0]).step_by(BLOCK) {
                    let middle = grid.place([i, j, k]) + 0.5 * (BLOCK - 1) as f64 * cell;
                    let there = distance(middle);
                    for c in 0..BLOCK * BLOCK * BLOCK {
                        let at = [i + c % BLOCK, j + c / BLOCK % BLOCK, k + c / (BLOCK * BLOCK)];
                        if (0..3).all(|axis| at[axis] < count[axis]) {
                            let index = grid.index(at);
                            let far = there.abs() > reach;
                            grid.values[index] = if far { there } else { distance(grid.place(at)) };
                        }
                    }
                }
            }
        }
        grid
    }

    fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        (k * self.count[1] + j) * self.count[0] + i
    }

    fn place(&self, [i, j, k]: [usize; 3]) -> Vec3 {
        self.origin + self.cell * Vec3::new(i as f64, j as f64, k as f64)
    }

    /// Groups the crossed edges of a cell into patches of surface, adds a point for each and says which edge has which.
    ///
    /// Two crossed edges belong together when the surface joins them across a face of the cell. A face with four
    /// crossings is ambiguous; there the inside corners are kept apart, from both sides of the face alike.
    fn patches_of_cell(&self, [i, j, k]: [usize; 3], points: &mut Vec<Vec3>) -> Option<[u32; 12]> {
        let corner = |c: usize| [i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)];
        let value: [f64; 8] = std::array::from_fn(|c| self.values[self.index(corner(c))]);
        let inside = value.map(|v| v < 0.0);
        if inside.iter().all(|&x| x) || !inside.iter().any(|&x| x) {
            return None;
        }
        let edge_of = |a: usize, b: usize| EDGES.iter().position(|e| *e == [a.min(b), a.max(b)]).unwrap_or(0);
        let mut patch: [usize; 12] = std::array::from_fn(|e| e);
        let mut join = |a: usize, b: usize| {
            let (from, to) = (patch[a], patch[b]);
            patch.iter_mut().filter(|p| **p == from).for_each(|p| *p = to);
        };
        for axis in 0..3 {
            for side in [0, 1 << axis] {
                let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
                let ring = [side, side | u, side | u | v, side | v];
                let edges: [usize; 4] = std::array::from_fn(|s| edge_of(ring[s], ring[(s + 1) % 4]));
                let crossed: Vec<usize> =
                    (0..4).filter(|&s| inside[ring[s]] != inside[ring[(s + 1) % 4]]).collect();
                match crossed[..] {
                    [a, b] => join(edges[a], edges[b]),
                    // around each inside corner: the edge that arrives and the edge that leaves
                    [_, _, _, _] => {
                        (0..4).filter(|&s| inside[ring[s]]).for_each(|s| join(edges[(s + 3) % 4], edges[s]))
                    }
                    _ => {}
                }
            }
        }
        let mut result = [u32::MAX; 12];
        for root in 0..12 {
            let members: Vec<usize> =
                (0..12).filter(|&e| patch[e] == root && inside[EDGES[e][0]] != inside[EDGES[e][1]]).collect();
            if members.is_empty() {
                continue;
            }
            let crossing = |&e: &usize| {
                let [a, b] = EDGES[e];
                let t = value[a] / (value[a] - value[b]);
                let [from, to] = [a, b].map(|c| self.place(corner(c)));
                from + t * (to - from)
            };
            members.iter().for_each(|&e| result[e] = points.len() as u32);
            points.push(members.iter().map(crossing).sum::<Vec3>() / members.len() as f64);
        }
        Some(result)
    }

    /// The quad across the edge that leaves a grid point along `axis`: one corner from each of the four cells around it.
    fn quad_across_edge(
        &self,
        at: [usize; 3],
        axis: usize,
        patches: &[Option<[u32; 12]>],
        faces: &mut Faces,
    ) {
        let mut next = at;
        next[axis] += 1;
        let [here, there] = [at, next].map(|c| self.values[self.index(c)] < 0.0);
        if here == there {
            return;
        }
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        // around the edge, counter-clockwise seen from the tip of the axis; (du, dv) are steps down to the cell's origin
        let quad = [(1, 1), (0, 1), (0, 0), (1, 0)].map(|(du, dv)| {
            let mut cell = at;
            cell[u] -= du;
            cell[v] -= dv;
            let low = du << u | dv << v;
            let edge = EDGES.iter().position(|e| *e == [low, low | 1 << axis]).unwrap_or(0);
            patches[self.index(cell)].map_or(u32::MAX, |patch| patch[edge])
        });
        if quad.contains(&u32::MAX) {
            return;
        }
        let [a, b, c, d] = quad;
        if here { faces.push(&[a, b, c, d]) } else { faces.push(&[a, d, c, b]) }
    }
}

/// Values per point averaged with their neighbours', again and again: diffusion along the surface. Points for which
/// `held` is true keep theirs.
pub fn diffuse(shape: &Shape, values: &mut [Vec<f64>], held: impl Fn(usize) -> bool, iterations: usize) {
    let neighbours = Topology::new(shape.points.len(), &shape.triangles()).neighbours();
    for _ in 0..iterations {
        let old = values.to_vec();
        for (v, around) in neighbours.iter().enumerate().filter(|(v, around)| !held(*v) && !around.is_empty())
        {
            for (channel, value) in values[v].iter_mut().enumerate() {
                let mean =
                    around.iter().map(|&w| old[w as usize][channel]).sum::<f64>() / around.len() as f64;
                *value = 0.5 * (*value + mean);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_closed, assert_no_degenerate_triangles, volume};
    use std::f64::consts::PI;

    #[test]
    fn a_ball_has_the_volume_of_a_ball_and_its_points_lie_on_it() {
        let solid = Solid::ball(Vec3::new(0.1, 0.2, 0.3), Vec3::new(0.5, 0.4, 0.3));
        let body = Body { pieces: vec![Piece { solid, fillet: 0.0, joint: 0 }], floor: None };
        let shape = body.surface(0.05);
        let triangles = shape.triangles();
        assert_closed(shape.points.len(), &triangles);
        assert_no_degenerate_triangles(&shape.points, &triangles);
        // chords lie inside: the error is of second order in cell over radius
        let exact = 4.0 / 3.0 * PI * 0.5 * 0.4 * 0.3;
        assert!((volume(&shape.points, &triangles) / exact - 1.0).abs() < 0.02);
        assert!(shape.points.iter().all(|&p| body.distance(p).abs() < 1e-3));
    }

    #[test]
    fn pieces_closer_than_a_cell_stay_manifold() {
        // balls that nearly touch on a diagonal: the ambiguous faces that plain surface nets get wrong
        for shift in 0..12 {
            let offset = Vec3::new(0.013, 0.009, 0.017) * f64::from(shift);
            let pieces = [-1.0, 1.0]
                .map(|side| Solid::ball(offset + side * Vec3::new(0.2, 0.2, 0.0), Vec3::splat(0.275)))
                .map(|solid| Piece { solid, fillet: 0.0, joint: 0 });
            let body = Body { pieces: pieces.to_vec(), floor: None };
            let bounds = pieces.iter().map(|p| p.solid.bounds()).fold(Bounds::EMPTY, Bounds::union);
            let shape = polygonise(|p| body.distance(p), bounds, 0.11);
            assert_closed(shape.points.len(), &shape.triangles());
        }
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert!(Body::default().surface(0.1).points.is_empty());
        let ball = Solid::ball(Vec3::ZERO, Vec3::ONE);
        assert!(polygonise(|p| ball.distance(p), ball.bounds(), 0.0).points.is_empty());
    }

    #[test]
    fn fillets_only_add() {
        for (a, b) in [(0.0, 0.0), (0.1, -0.2), (0.05, 0.06)] {
            assert!(soft_min(a, b, 0.1) <= a.min(b) && soft_min(a, b, 0.1) >= a.min(b) - 0.025 - 1e-12);
            assert_eq!(soft_min(a, b, 0.0), a.min(b));
        }
    }
}
