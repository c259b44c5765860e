//! How many triangles cross? The judge of every bake, and of any clip: exact, and independent of the detection code.
//!
//! Positions are taken as they are written in files (single precision widens without rounding), every pair whose boxes
//! touch is decided by exact predicates, and nothing here is shared with what keeps surfaces apart during a bake.

mod crossing;

use crate::Error;
use crossing::{Point, Triangle, cross};

/// A surface as the audit sees it.
#[derive(Clone, Copy, Debug)]
pub struct AuditedSurface<'a, T> {
    /// For errors.
    pub name: &'a str,
    /// Positions, single or double precision.
    pub points: &'a [[T; 3]],
    /// Corners of each triangle.
    pub triangles: &'a [[u32; 3]],
    /// Obstacles may cross themselves and each other: that is the animation's affair and is not counted.
    pub is_obstacle: bool,
}

/// Two triangles that cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Crossing {
    /// Surface and triangle, both from zero; the smaller of the two.
    pub first: (u32, u32),
    /// Surface and triangle.
    pub second: (u32, u32),
}

/// Every pair of triangles that cross, ascending.
///
/// Touching counts as crossing. Triangles of one surface that share a corner or an edge (by number, or by exact
/// position, as along the seams of a textured mesh) do not count for that, but do when they also meet elsewhere. A
/// triangle listed twice does not cross its copy.
///
/// Exact for single precision always, and for double precision unless triple products of coordinates leave its range
/// (beyond 1e100 or below 1e-100).
///
/// ```
/// use contact::{AuditedSurface, audit};
///
/// let floor = [[-1.0_f32, 0.0, -1.0], [3.0, 0.0, -1.0], [-1.0, 0.0, 3.0]];
/// let dart = [[0.0_f32, 0.5, 0.0], [0.1, 0.5, 0.0], [0.0, -0.1, 0.0]];
/// let surface = |name, points, is_obstacle| AuditedSurface { name, points, triangles: &[[0, 1, 2]], is_obstacle };
/// let crossings = audit(&[surface("dart", &dart, false), surface("floor", &floor, true)])?;
/// assert_eq!((crossings[0].first, crossings[0].second), ((0, 0), (1, 0)));
/// # Ok::<(), contact::Error>(())
/// ```
pub fn audit<T: Copy + Into<f64>>(surfaces: &[AuditedSurface<T>]) -> Result<Vec<Crossing>, Error> {
    let faces = faces(surfaces)?;
    let mut order: Vec<u32> = (0..faces.len() as u32).collect();
    let mut nodes = Vec::with_capacity(faces.len());
    if !faces.is_empty() {
        build(&faces, &mut order, 0, &mut nodes);
    }
    let mut crossings = Vec::new();
    // Pairs of nodes still to compare; a node with itself means all pairs within.
    let mut open = if nodes.is_empty() { Vec::new() } else { vec![(0, 0)] };
    while let Some((a, b)) = open.pop() {
        let (node, other): (&Node, &Node) = (&nodes[a], &nodes[b]);
        if !node.bounds.touches(&other.bounds) || (node.obstacles_only && other.obstacles_only) {
            continue;
        }
        match (node.children, other.children) {
            (None, None) => compare(&faces, &order, node, other, a == b, &mut crossings),
            (Some([l, r]), _) if a == b => open.extend([(l, l), (r, r), (l, r)]),
            (Some([l, r]), None) => open.extend([(l, b), (r, b)]),
            (None, Some([l, r])) => open.extend([(a, l), (a, r)]),
            (Some([l, r]), Some(_)) if node.count >= other.count => open.extend([(l, b), (r, b)]),
            (_, Some([l, r])) => open.extend([(a, l), (a, r)]),
        }
    }
    crossings.sort_unstable();
    Ok(crossings)
}

/// A triangle with all that its tests ask for.
struct Face {
    triangle: Triangle,
    vertices: [u32; 3],
    name: (u32, u32),
    is_obstacle: bool,
    bounds: Extent,
}

fn faces<T: Copy + Into<f64>>(surfaces: &[AuditedSurface<T>]) -> Result<Vec<Face>, Error> {
    let mut faces = Vec::new();
    for (s, surface) in surfaces.iter().enumerate() {
        for (t, &vertices) in surface.triangles.iter().enumerate() {
            let mut corners = [[0.0; 3]; 3];
            for (corner, &v) in corners.iter_mut().zip(&vertices) {
                let point = surface.points.get(v as usize).ok_or_else(|| Error::NoSuchPoint {
                    surface: surface.name.into(),
                    triangle: t,
                    point: v,
                    count: surface.points.len(),
                })?;
                *corner = point.map(Into::into);
                if !corner.iter().all(|x| x.is_finite()) {
                    return Err(Error::NotFinite { surface: surface.name.into(), point: v as usize });
                }
            }
            let bounds = corners.iter().fold(Extent::EMPTY, |b, p| b.union(&Extent { min: *p, max: *p }));
            faces.push(Face {
                triangle: Triangle::new(corners),
                vertices,
                name: (s as u32, t as u32),
                is_obstacle: surface.is_obstacle,
                bounds,
            });
        }
    }
    if faces.len() > u32::MAX as usize {
        return Err(Error::TooMany { what: "triangles", count: faces.len() });
    }
    Ok(faces)
}

/// Tests the pairs between two leaves, or within one.
fn compare(faces: &[Face], order: &[u32], a: &Node, b: &Node, within: bool, crossings: &mut Vec<Crossing>) {
    let range = |node: &Node| node.start..node.start + node.count;
    for i in range(a) {
        let first = &faces[order[i] as usize];
        let others = if within { i + 1..a.start + a.count } else { range(b) };
        for j in others {
            let second = &faces[order[j] as usize];
            if (first.is_obstacle && second.is_obstacle) || !first.bounds.touches(&second.bounds) {
                continue;
            }
            let same_surface = first.name.0 == second.name.0;
            let same_point = |i: usize, j: usize| {
                same_surface
                    && (first.vertices[i] == second.vertices[j]
                        || first.triangle.corners[i] == second.triangle.corners[j])
            };
            if crosses(first, second, same_surface, same_point) {
                let (low, high) = (first.name.min(second.name), first.name.max(second.name));
                crossings.push(Crossing { first: low, second: high });
            }
        }
    }
}

fn crosses(
    first: &Face,
    second: &Face,
    same_surface: bool,
    same_point: impl Fn(usize, usize) -> bool,
) -> bool {
    let coincide = (0..3).all(|i| (0..3).any(|j| same_point(i, j)));
    if coincide {
        // Listed twice is harmless; two different triangles pressed into one another are not.
        return !(same_surface && (0..3).all(|i| second.vertices.contains(&first.vertices[i])));
    }
    cross(&first.triangle, &second.triangle, same_point)
}

/// A closed box.
#[derive(Clone, Copy)]
struct Extent {
    min: Point,
    max: Point,
}

impl Extent {
    const EMPTY: Self = Self { min: [f64::INFINITY; 3], max: [f64::NEG_INFINITY; 3] };

    fn union(&self, other: &Self) -> Self {
        Self {
            min: std::array::from_fn(|i| self.min[i].min(other.min[i])),
            max: std::array::from_fn(|i| self.max[i].max(other.max[i])),
        }
    }

    fn touches(&self, other: &Self) -> bool {
        (0..3).all(|i| self.min[i] <= other.max[i] && other.min[i] <= self.max[i])
    }
}

/// A run of `order`, halved until it is short.
struct Node {
    bounds: Extent,
    start: usize,
    count: usize,
    children: Option<[usize; 2]>,
    obstacles_only: bool,
}

/// Shorter runs cost more nodes than they save tests.
const LEAF: usize = 4;

/// Sorts `order` into a tree by halving along the longest side; returns the node's number.
fn build(faces: &[Face], order: &mut [u32], start: usize, nodes: &mut Vec<Node>) -> usize {
    let bounds = order.iter().fold(Extent::EMPTY, |b, &f| b.union(&faces[f as usize].bounds));
    let obstacles_only = order.iter().all(|&f| faces[f as usize].is_obstacle);
    let number = nodes.len();
    let count = order.len();
    nodes.push(Node { bounds, start, count, children: None, obstacles_only });
    if count > LEAF {
        let size = |i: usize| bounds.max[i] - bounds.min[i];
        let axis = (1..3).fold(0, |best, i| if size(i) > size(best) { i } else { best });
        // Twice the centre would overflow for the largest numbers; half of each does not.
        let middle = |f: u32| {
            let b = &faces[f as usize].bounds;
            0.5 * b.min[axis] + 0.5 * b.max[axis]
        };
        let half = count / 2;
        order.select_nth_unstable_by(half, |&a, &b| middle(a).total_cmp(&middle(b)).then(a.cmp(&b)));
        let (low, high) = order.split_at_mut(half);
        let low = build(faces, low, start, nodes);
        let high = build(faces, high, start + half, nodes);
        nodes[number].children = Some([low, high]);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    type Mesh = (Vec<[f32; 3]>, Vec<[u32; 3]>);

    /// A grid of n×n quads, y from a function.
    fn sheet(n: u32, height: impl Fn(f32, f32) -> f32) -> Mesh {
        let points = (0..=n)
            .flat_map(|j| (0..=n).map(move |i| (i as f32 / n as f32, j as f32 / n as f32)))
            .map(|(x, z)| [x, height(x, z), z])
            .collect();
        let triangles = (0..n)
            .flat_map(|j| (0..n).map(move |i| j * (n + 1) + i))
            .flat_map(|a| [[a, a + 1, a + n + 1], [a + 1, a + n + 2, a + n + 1]])
            .collect();
        (points, triangles)
    }

    fn audited<'a>(mesh: &'a Mesh, name: &'a str) -> AuditedSurface<'a, f32> {
        AuditedSurface { name, points: &mesh.0, triangles: &mesh.1, is_obstacle: false }
    }

    #[test]
    fn a_clean_sheet_is_clean_and_a_flat_one_too() {
        let waves = sheet(30, |x, z| 0.1 * (9.0 * x).sin() * (7.0 * z).cos());
        assert_eq!(audit(&[audited(&waves, "waves")]).unwrap(), []);
        assert_eq!(audit(&[audited(&sheet(30, |_, _| 0.0), "flat")]).unwrap(), []);
    }

    #[test]
    fn finds_what_all_pairs_find() {
        let a = sheet(14, |x, z| 0.2 * (9.0 * x).sin() * (7.0 * z).cos());
        let b = sheet(11, |x, z| 0.2 * (5.0 * x).cos() * (8.0 * z).sin());
        let found = audit(&[audited(&a, "a"), audited(&b, "b")]).unwrap();
        let wide = |mesh: &Mesh, t: usize| mesh.1[t].map(|v| mesh.0[v as usize].map(f64::from));
        let mut expected = Vec::new();
        for i in 0..a.1.len() {
            for j in 0..b.1.len() {
                if cross(&Triangle::new(wide(&a, i)), &Triangle::new(wide(&b, j)), |_, _| false) {
                    expected.push(Crossing { first: (0, i as u32), second: (1, j as u32) });
                }
            }
        }
        assert!(expected.len() > 50);
        assert_eq!(found, expected);
    }

    #[test]
    fn obstacles_may_cross_each_other() {
        let (a, b) = (sheet(4, |x, _| x - 0.5), sheet(4, |x, _| 0.3 - x));
        let obstacle = |mesh, name| AuditedSurface { is_obstacle: true, ..audited(mesh, name) };
        assert_eq!(audit(&[obstacle(&a, "a"), obstacle(&b, "b")]).unwrap(), []);
        assert!(!audit(&[obstacle(&a, "a"), audited(&b, "b")]).unwrap().is_empty());
    }

    #[test]
    fn a_fold_pressed_flat_and_a_sheet_through_itself_are_found() {
        // two triangles about an edge, one laid onto the other
        let flat = (
            vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, 1.0, 0.0], [0.6, 0.8, 0.0]],
            vec![[0, 1, 2], [1, 0, 3]],
        );
        assert_eq!(audit(&[audited(&flat, "flat")]).unwrap().len(), 1);
        // neighbours about a corner, one through the other
        let points =
            vec![[0.0, 0.0, 0.0], [2.0, -1.0, 0.0], [2.0, 1.0, 0.0], [1.0, 0.0, -1.0], [1.0, 0.0, 1.0]];
        let fan = (points, vec![[0, 1, 2], [0, 3, 4]]);
        assert_eq!(audit(&[audited(&fan, "fan")]).unwrap().len(), 1);
    }

    #[test]
    fn seams_copies_and_collapsed_triangles_are_no_crossings() {
        // the quad's diagonal is split in two, as texture seams do; its first triangle is listed twice, flipped; one
        // has no area
        let points = vec![
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [1.0, 1.0, 0.0],
        ];
        let seam = (points, vec![[0, 1, 2], [3, 5, 4], [1, 0, 2], [0, 0, 1], [0, 0, 5]]);
        assert_eq!(audit(&[audited(&seam, "seam")]).unwrap(), []);
        // two triangles of different points in one place
        let pressed =
            ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].repeat(2), vec![[0, 1, 2], [3, 4, 5]]);
        assert_eq!(audit(&[audited(&pressed, "pressed")]).unwrap().len(), 1);
    }

    #[test]
    fn bad_input_is_named() {
        let mut broken = sheet(2, |_, _| 0.0);
        broken.0[4][1] = f32::NAN;
        let error = audit(&[audited(&broken, "cape")]).unwrap_err();
        assert_eq!(error, Error::NotFinite { surface: "cape".into(), point: 4 });
        broken.1 = vec![[0, 1, 99]];
        assert!(matches!(audit(&[audited(&broken, "cape")]), Err(Error::NoSuchPoint { point: 99, .. })));
        assert_eq!(audit::<f32>(&[]).unwrap(), []);
    }
}
