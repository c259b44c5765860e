//! Plain shapes: grids, spheres, boxes, cylinders, tori. Everything else in this crate is put together from them.
//!
//! Builders accept any resolution and raise it to the smallest one that still makes the shape. Faces are
//! counter-clockwise seen from outside (grids: from the side of `u × v`), and uv runs as glTF wants it, v down.

use clip::{Faces, Mesh, Part};
use geometry::Vec3;
use std::f64::consts::{PI, TAU};

/// Points and polygons without a name yet: what builders return and samples bend into place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Positions in metres.
    pub points: Vec<Vec3>,
    /// The point under each vertex; a uv seam has two vertices on one point.
    pub vertex_points: Vec<u32>,
    /// Polygons over vertices.
    pub faces: Faces,
    /// Texture coordinates, one per vertex.
    pub uvs: Vec<[f32; 2]>,
}

impl Shape {
    /// A shape whose vertices are its points.
    pub fn new(points: Vec<Vec3>, faces: Faces, uvs: Vec<[f32; 2]>) -> Self {
        Self { vertex_points: (0..points.len() as u32).collect(), points, faces, uvs }
    }

    /// The same shape with every point moved.
    #[must_use]
    pub fn map(mut self, place: impl Fn(Vec3) -> Vec3) -> Self {
        self.points.iter_mut().for_each(|p| *p = place(*p));
        self
    }

    /// The same shape moved as a whole.
    #[must_use]
    pub fn moved(self, by: Vec3) -> Self {
        self.map(|p| p + by)
    }

    /// The same shape turned inside out.
    #[must_use]
    pub fn flipped(mut self) -> Self {
        let mut faces = Faces::default();
        for face in self.faces.iter() {
            faces.push(&face.iter().rev().copied().collect::<Vec<_>>());
        }
        self.faces = faces;
        self
    }

    /// The same shape without the faces whose corners `gone` says so of, and without what only they used.
    #[must_use]
    pub fn without_faces(self, gone: impl Fn(&[Vec3]) -> bool) -> Self {
        let mut kept = Self::default();
        let mut points = vec![None; self.points.len()];
        let mut vertices = vec![None; self.vertex_points.len()];
        for face in self.faces.iter() {
            let point = |v: u32| self.vertex_points[v as usize] as usize;
            let corners: Vec<Vec3> = face.iter().map(|&v| self.points[point(v)]).collect();
            if gone(&corners) {
                continue;
            }
            let face: Vec<u32> = face
                .iter()
                .map(|&v| {
                    *vertices[v as usize].get_or_insert_with(|| {
                        let point = *points[point(v)].get_or_insert_with(|| {
                            kept.points.push(self.points[point(v)]);
                            kept.points.len() as u32 - 1
                        });
                        kept.vertex_points.push(point);
                        kept.uvs.push(self.uvs[v as usize]);
                        kept.vertex_points.len() as u32 - 1
                    })
                })
                .collect();
            kept.faces.push(&face);
        }
        kept
    }

    /// Triangles over points.
    pub fn triangles(&self) -> Vec<[u32; 3]> {
        self.faces.triangles().map(|t| t.map(|v| self.vertex_points[v as usize])).collect()
    }

    /// One mesh with one part.
    pub fn mesh(&self, name: &str, material: Option<usize>) -> Mesh {
        assemble(name, &[(self, material)])
    }
}

/// Several shapes as one mesh, a part for each, with points and vertices in the order given.
pub fn assemble(name: &str, shapes: &[(&Shape, Option<usize>)]) -> Mesh {
    let mut mesh = Mesh::from_faces(name, Vec::new(), Faces::default());
    mesh.parts.clear();
    shapes.iter().for_each(|(shape, material)| append(&mut mesh, shape, *material));
    mesh
}

/// Adds a shape to a mesh, as a part of its own. It is in none of the mesh's groups.
pub fn append(mesh: &mut Mesh, shape: &Shape, material: Option<usize>) {
    let (first_point, first_vertex) = (mesh.rest_points.len() as u32, mesh.vertex_points.len());
    let first_face = mesh.faces.len();
    mesh.rest_points.extend(shape.points.iter().map(|p| p.as_vec3().to_array()));
    mesh.vertex_points.extend(shape.vertex_points.iter().map(|p| p + first_point));
    mesh.uvs.extend(&shape.uvs);
    for face in shape.faces.iter() {
        mesh.faces.push(&face.iter().map(|v| v + first_vertex as u32).collect::<Vec<_>>());
    }
    mesh.parts.push(Part {
        faces: first_face..mesh.faces.len(),
        vertices: first_vertex..mesh.vertex_points.len(),
        material,
    });
    for group in &mut mesh.groups {
        group.weights.resize(mesh.rest_points.len(), 0.0);
    }
}

/// `columns × rows` quads spanned by `u` and `v` from `origin`; point (i, j) has index `j·(columns+1) + i`.
///
/// uv is (i/columns, j/rows): with v pointing down, a picture stands upright on it.
pub fn grid(columns: usize, rows: usize, origin: Vec3, u: Vec3, v: Vec3) -> Shape {
    let (columns, rows) = (columns.max(1), rows.max(1));
    let (points, uvs) = grid_points(columns, rows, |s, t| origin + s * u + t * v);
    let mut faces = Faces::default();
    for j in 0..rows {
        for i in 0..columns {
            faces.push(&grid_quad(columns, i, j));
        }
    }
    Shape::new(points, faces, uvs)
}

/// The same grid with every quad cut into two triangles, the diagonals alternating like a chequerboard, so that the
/// mesh itself prefers neither direction of shear.
pub fn triangle_grid(columns: usize, rows: usize, origin: Vec3, u: Vec3, v: Vec3) -> Shape {
    let (columns, rows) = (columns.max(1), rows.max(1));
    let (points, uvs) = grid_points(columns, rows, |s, t| origin + s * u + t * v);
    let mut faces = Faces::default();
    for j in 0..rows {
        for i in 0..columns {
            let [a, b, c, d] = grid_quad(columns, i, j);
            let halves = if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
            halves.iter().for_each(|t| faces.push(t));
        }
    }
    Shape::new(points, faces, uvs)
}

/// A flat square cloth in the plane y = 0, of quads: the patch that tests reach for first.
pub fn cloth_patch(cells: usize, size: f64) -> Shape {
    let corner = Vec3::new(-0.5 * size, 0.0, -0.5 * size);
    grid(cells, cells, corner, size * Vec3::Z, size * Vec3::X)
}

/// A strip that points along +x from the origin in the plane y = 0: a cantilever once its first row is held.
pub fn cantilever_strip(length: f64, width: f64, cells_along: usize, cells_across: usize) -> Shape {
    let corner = Vec3::new(0.0, 0.0, 0.5 * width);
    triangle_grid(cells_along, cells_across, corner, length * Vec3::X, -width * Vec3::Z)
}

/// A sphere about the origin with `segments` meridians and `rings` bands; triangles at the poles, quads elsewhere.
pub fn sphere(radius: f64, segments: usize, rings: usize) -> Shape {
    let rings = rings.max(2);
    let latitude = |ring: usize| -0.5 * PI + PI * ring as f64 / rings as f64;
    let profile: Vec<[f64; 2]> =
        (0..=rings).map(|i| [radius * latitude(i).cos(), radius * latitude(i).sin()]).collect();
    revolve(&profile, segments)
}

/// A closed cylinder of this height, standing on the origin.
pub fn cylinder(radius: f64, height: f64, segments: usize, rings: usize) -> Shape {
    let rings = rings.max(1);
    let mut profile = vec![[0.0, 0.0]];
    profile.extend((0..=rings).map(|i| [radius, height * i as f64 / rings as f64]));
    profile.push([0.0, height]);
    revolve(&profile, segments)
}

/// A cylinder between two half spheres, standing on the origin; `height` is measured from tip to tip.
pub fn capsule(radius: f64, height: f64, segments: usize, rings: usize) -> Shape {
    let rings = rings.max(2);
    let straight = (height - 2.0 * radius).max(0.0);
    let quarter = |i: usize| 0.5 * PI * i as f64 / rings as f64;
    // bands of the same width on the straight part as on the round ones
    let bands = (straight / (0.5 * PI * radius / rings as f64)).ceil().clamp(0.0, 1e4) as usize;
    let lower = (0..=rings).map(|i| [radius * quarter(i).sin(), radius * (1.0 - quarter(i).cos())]);
    let middle = (1..bands).map(|i| [radius, radius + straight * i as f64 / bands as f64]);
    let upper =
        (0..=rings).map(|i| [radius * quarter(i).cos(), radius + straight + radius * quarter(i).sin()]);
    let profile: Vec<[f64; 2]> = lower.chain(middle).chain(upper.skip(usize::from(bands == 0))).collect();
    revolve(&profile, segments)
}

/// A profile of (radius, height) pairs turned about the y axis. A first or last radius of (almost) zero becomes a
/// single point; a profile that begins and ends so is a closed surface. Heights that rise with the index make
/// the outside face outwards.
pub fn revolve(profile: &[[f64; 2]], segments: usize) -> Shape {
    const ON_AXIS: f64 = 1e-9;
    let segments = segments.max(3);
    let mut shape = Shape::default();
    let mut rings: Vec<Vec<u32>> = Vec::with_capacity(profile.len());
    for (row, &[radius, height]) in profile.iter().enumerate() {
        let first = shape.points.len() as u32;
        let pole = radius.abs() < ON_AXIS;
        for i in 0..if pole { 1 } else { segments } {
            let angle = TAU * i as f64 / segments as f64;
            shape.points.push(Vec3::new(radius * angle.cos(), height, -radius * angle.sin()));
        }
        // one vertex more than points: the seam, where u is both 0 and 1
        let v = 1.0 - row as f32 / (profile.len().max(2) - 1) as f32;
        let first_vertex = shape.vertex_points.len() as u32;
        for i in 0..=segments {
            shape.vertex_points.push(if pole { first } else { first + (i % segments) as u32 });
            shape.uvs.push([i as f32 / segments as f32, v]);
        }
        rings.push((first_vertex..=first_vertex + segments as u32).collect());
    }
    for (row, pair) in rings.windows(2).enumerate() {
        let pole = |row: usize| profile[row][0].abs() < ON_AXIS;
        for i in 0..segments {
            let [a, b, c, d] = [pair[0][i], pair[0][i + 1], pair[1][i + 1], pair[1][i]];
            match (pole(row), pole(row + 1)) {
                (true, true) => {}
                (true, false) => shape.faces.push(&[a, c, d]),
                (false, true) => shape.faces.push(&[a, b, d]),
                (false, false) => shape.faces.push(&[a, b, c, d]),
            }
        }
    }
    drop_unused_vertices(shape)
}

/// A torus about the y axis; `segments` around the hole, `sides` around the tube.
pub fn torus(radius: f64, tube_radius: f64, segments: usize, sides: usize) -> Shape {
    let (segments, sides) = (segments.max(3), sides.max(3));
    let mut shape = Shape::default();
    for j in 0..segments {
        for i in 0..sides {
            let (around, across) = (TAU * j as f64 / segments as f64, TAU * i as f64 / sides as f64);
            let out = radius + tube_radius * across.cos();
            shape.points.push(Vec3::new(out * around.cos(), tube_radius * across.sin(), -out * around.sin()));
        }
    }
    for j in 0..=segments {
        for i in 0..=sides {
            shape.vertex_points.push(((j % segments) * sides + i % sides) as u32);
            shape.uvs.push([j as f32 / segments as f32, 1.0 - i as f32 / sides as f32]);
        }
    }
    for j in 0..segments {
        for i in 0..sides {
            let [a, b, c, d] = grid_quad(sides, i, j);
            shape.faces.push(&[a, d, c, b]);
        }
    }
    shape
}

/// A closed tube along a line of centres, with a radius at each and a point at both ends.
///
/// Rings are carried along without twisting. Fewer than two centres give nothing.
pub fn tube(centres: &[Vec3], radii: &[f64], sides: usize) -> Shape {
    let (sides, count) = (sides.max(3), centres.len().min(radii.len()));
    if count < 2 {
        return Shape::default();
    }
    let mut shape = Shape::default();
    let direction =
        |i: usize| (centres[(i + 1).min(count - 1)] - centres[i.saturating_sub(1)]).normalize_or(Vec3::Y);
    let mut across = direction(0).any_orthonormal_vector();
    let push = |shape: &mut Shape, p: Vec3, v: f64| {
        shape.vertex_points.push(shape.points.len() as u32);
        shape.points.push(p);
        shape.uvs.push([0.5, v as f32]);
    };
    push(&mut shape, centres[0] - 0.5 * radii[0] * direction(0), 0.0);
    for i in 0..count {
        let ahead = direction(i);
        across = (across - across.dot(ahead) * ahead).normalize_or(ahead.any_orthonormal_vector());
        let up = ahead.cross(across);
        for k in 0..sides {
            let angle = TAU * k as f64 / sides as f64;
            let out = angle.cos() * across + angle.sin() * up;
            push(&mut shape, centres[i] + radii[i] * out, i as f64 / (count - 1) as f64);
        }
    }
    push(&mut shape, centres[count - 1] + 0.5 * radii[count - 1] * direction(count - 1), 1.0);
    let at = |ring: usize, k: usize| (1 + ring * sides + k % sides) as u32;
    let last = shape.points.len() as u32 - 1;
    for k in 0..sides {
        shape.faces.push(&[0, at(0, k + 1), at(0, k)]);
        for ring in 0..count - 1 {
            shape.faces.push(&[at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)]);
        }
        shape.faces.push(&[at(count - 1, k), at(count - 1, k + 1), last]);
    }
    shape
}

/// The surface of a box centred on the origin, cut into cells: `2(ab + bc + ca) + 2` points, quads, no seams (so uv,
/// a view from the front, is stretched on the sides).
pub fn box_shell(size: Vec3, cells: [usize; 3]) -> Shape {
    let n = cells.map(|count| count.max(1));
    let mut index = vec![u32::MAX; (n[0] + 1) * (n[1] + 1) * (n[2] + 1)];
    let slot = |c: [usize; 3]| (c[2] * (n[1] + 1) + c[1]) * (n[0] + 1) + c[0];
    let (mut points, mut uvs, mut faces) = (Vec::new(), Vec::new(), Faces::default());
    for z in 0..=n[2] {
        for y in 0..=n[1] {
            for x in 0..=n[0] {
                let c = [x, y, z];
                if (0..3).any(|axis| c[axis] == 0 || c[axis] == n[axis]) {
                    index[slot(c)] = points.len() as u32;
                    let [s, t, r] = [0, 1, 2].map(|axis| c[axis] as f64 / n[axis] as f64);
                    points.push(size * (Vec3::new(s, t, r) - 0.5));
                    uvs.push([s as f32, 1.0 - t as f32]);
                }
            }
        }
    }
    for axis in 0..3 {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        for side in [0, n[axis]] {
            for j in 0..n[v] {
                for i in 0..n[u] {
                    let corner = |di: usize, dj: usize| {
                        let mut c = [0; 3];
                        (c[axis], c[u], c[v]) = (side, i + di, j + dj);
                        index[slot(c)]
                    };
                    let quad = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                    if side == 0 {
                        faces.push(&[quad[0], quad[3], quad[2], quad[1]]);
                    } else {
                        faces.push(&quad);
                    }
                }
            }
        }
    }
    Shape::new(points, faces, uvs)
}

/// An icosahedron cut `levels` times and blown up to a sphere: triangles of nearly one size everywhere.
pub fn icosphere(radius: f64, levels: usize) -> Shape {
    // the corners of three golden rectangles
    let g = 0.5 * (1.0 + 5.0_f64.sqrt());
    let rectangle = [[-1.0, g], [1.0, g], [-1.0, -g], [1.0, -g]];
    let points = rectangle
        .iter()
        .map(|&[a, b]| Vec3::new(a, b, 0.0))
        .chain(rectangle.iter().map(|&[a, b]| Vec3::new(0.0, a, b)))
        .chain(rectangle.iter().map(|&[a, b]| Vec3::new(b, 0.0, a)))
        .map(|p| p.normalize() * radius)
        .collect();
    #[rustfmt::skip]
    let triangles = [
        [0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11],
        [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6], [7, 1, 8],
        [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9],
        [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1],
    ];
    let mut shape = Shape::new(points, Faces::from_triangles(&triangles), Vec::new());
    for _ in 0..levels {
        shape = subdivide(&shape).map(|p| p.normalize() * radius);
    }
    shape
}

/// Cuts every triangle in four at its edges' midpoints. The old points come first, unmoved; uv is dropped.
pub fn subdivide(shape: &Shape) -> Shape {
    let triangles = shape.triangles();
    let topology = geometry::Topology::new(shape.points.len(), &triangles);
    let mut points = shape.points.clone();
    points.extend(topology.edges().iter().map(|edge| {
        let [a, b] = edge.vertices.map(|v| shape.points[v as usize]);
        0.5 * (a + b)
    }));
    let midpoint = |a: u32, b: u32| {
        let key = [a.min(b), a.max(b)];
        let edge = topology.edges().partition_point(|edge| edge.vertices < key);
        (shape.points.len() + edge) as u32
    };
    let mut faces = Faces::default();
    for [a, b, c] in triangles {
        let (ab, bc, ca) = (midpoint(a, b), midpoint(b, c), midpoint(c, a));
        for t in [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]] {
            faces.push(&t);
        }
    }
    Shape::new(points, faces, Vec::new())
}

fn grid_points(columns: usize, rows: usize, place: impl Fn(f64, f64) -> Vec3) -> (Vec<Vec3>, Vec<[f32; 2]>) {
    let parameters = (0..=rows).flat_map(|j| (0..=columns).map(move |i| (i, j)));
    parameters
        .map(|(i, j)| (i as f64 / columns as f64, j as f64 / rows as f64))
        .map(|(s, t)| (place(s, t), [s as f32, t as f32]))
        .unzip()
}

fn grid_quad(columns: usize, i: usize, j: usize) -> [u32; 4] {
    let at = |i: usize, j: usize| (j * (columns + 1) + i) as u32;
    [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]
}

/// The seam vertices at a pole serve one triangle each; the last of them serves none.
fn drop_unused_vertices(shape: Shape) -> Shape {
    let mut used = vec![false; shape.vertex_points.len()];
    shape.faces.corners().iter().for_each(|&v| used[v as usize] = true);
    let mut new_index = vec![0; used.len()];
    let mut kept = Shape { points: shape.points, ..Shape::default() };
    for v in (0..used.len()).filter(|&v| used[v]) {
        new_index[v] = kept.vertex_points.len() as u32;
        kept.vertex_points.push(shape.vertex_points[v]);
        kept.uvs.push(shape.uvs[v]);
    }
    for face in shape.faces.iter() {
        kept.faces.push(&face.iter().map(|&v| new_index[v as usize]).collect::<Vec<_>>());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_closed, assert_no_degenerate_triangles, volume};

    fn euler(shape: &Shape) -> i64 {
        let triangles = shape.triangles();
        let topology = geometry::Topology::new(shape.points.len(), &triangles);
        shape.points.len() as i64 - topology.edges().len() as i64 + triangles.len() as i64
    }

    #[test]
    fn solids_are_closed_point_outwards_and_have_their_volume() {
        let straight: Vec<Vec3> = (0..=20).map(|i| Vec3::new(0.0, 0.1, 0.1 * f64::from(i))).collect();
        let cases = [
            (sphere(0.5, 64, 48), PI / 6.0, 2),
            (icosphere(0.5, 4), PI / 6.0, 2),
            (cylinder(0.3, 2.0, 96, 3), PI * 0.09 * 2.0, 2),
            (capsule(0.3, 2.0, 96, 16), PI * (0.09 * 1.4 + 4.0 / 3.0 * 0.027), 2),
            (capsule(0.3, 0.6, 96, 16), PI * 4.0 / 3.0 * 0.027, 2),
            (torus(0.5, 0.2, 96, 64), 2.0 * PI * PI * 0.5 * 0.04, 0),
            (tube(&straight, &[0.1; 21], 64), PI * 0.01 * 2.0 + 2.0 * PI * 0.01 * 0.05 / 3.0, 2),
            (box_shell(Vec3::new(1.0, 2.0, 3.0), [2, 3, 4]), 6.0, 2),
        ];
        for (case, (shape, exact, characteristic)) in cases.iter().enumerate() {
            let triangles = shape.triangles();
            assert_closed(shape.points.len(), &triangles);
            assert_no_degenerate_triangles(&shape.points, &triangles);
            let ratio = volume(&shape.points, &triangles) / exact;
            assert!((ratio - 1.0).abs() < 0.01, "case {case}: volume off by {ratio}");
            assert_eq!(euler(shape), *characteristic, "case {case}");
        }
    }

    #[test]
    fn any_resolution_gives_a_shape() {
        for shape in [grid(0, 0, Vec3::ZERO, Vec3::X, Vec3::Y), cantilever_strip(1.0, 0.1, 0, 0)] {
            assert_eq!(shape.points.len(), 4);
        }
        for shape in
            [sphere(1.0, 0, 0), cylinder(1.0, 1.0, 0, 0), capsule(1.0, 1.0, 0, 0), torus(1.0, 0.1, 0, 0)]
        {
            assert_closed(shape.points.len(), &shape.triangles());
        }
        assert_eq!(box_shell(Vec3::ONE, [0; 3]).points.len(), 8);
    }

    #[test]
    fn grids_face_the_way_u_cross_v_points() {
        for shape in [cloth_patch(4, 2.0), cantilever_strip(1.0, 0.2, 8, 2)] {
            for [a, b, c] in shape.triangles().iter().map(|t| t.map(|v| shape.points[v as usize])) {
                assert_eq!(geometry::triangle_normal(a, b, c), Vec3::Y);
            }
        }
    }

    #[test]
    fn subdivision_keeps_old_points_and_multiplies_triangles_by_four() {
        let coarse = icosphere(1.0, 0);
        let fine = subdivide(&coarse);
        assert_eq!(fine.points[..12], coarse.points[..]);
        assert_eq!((fine.points.len(), fine.faces.len()), (42, 80));
    }

    #[test]
    fn assembled_parts_cover_the_mesh_in_order() {
        let (a, b) = (sphere(1.0, 8, 4), box_shell(Vec3::ONE, [1; 3]));
        let mesh = assemble("both", &[(&a, Some(1)), (&b, None)]);
        assert_eq!(mesh.parts[0].faces.end, mesh.parts[1].faces.start);
        assert_eq!(mesh.parts[1].vertices.end, mesh.vertex_count());
        assert_eq!(mesh.uvs.len(), mesh.vertex_count());
        assert_eq!(mesh.point_count(), a.points.len() + 8);
        assert_eq!(mesh.point_triangles().len(), a.triangles().len() + 12);
    }
}
