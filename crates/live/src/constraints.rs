//! What holds the coarse cloth together: edges, hinges and tethers, made from its mesh.

use alloc::vec;
use alloc::vec::Vec;

use crate::vector::{along, cross, dot, length, sub};
use crate::{Point, Settings};

/// Keeps two points at a distance: C = ‖x₁ − x₀‖ − l.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) points: [u32; 2],
    pub(crate) length: f32,
    /// α: m/N.
    pub(crate) compliance: f32,
    /// α against being pushed together; infinite is free.
    pub(crate) slack_compliance: f32,
}

/// Keeps two triangles as bent as they were: C = ‖Σ wᵢ xᵢ‖ − c̄, energy ½ C²/α.
///
/// The quadratic bending of Bergou 2006: w from cotangents, α = (A₀ + A₁)/B, B the cloth's stiffness in J. Differs: his
/// 3B is right where hinges have all directions alike; on quads cut in two, B is right for cylinders about a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hinge {
    pub(crate) points: [u32; 4],
    pub(crate) weights: [f32; 4],
    pub(crate) rest: f32,
    pub(crate) compliance: f32,
}

/// No point gets farther from where it hangs than along the cloth: x₁ within `length` of the attached x₀.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tether {
    pub(crate) points: [u32; 2],
    pub(crate) length: f32,
}

/// All of them, in the order in which they are solved: from where the cloth hangs outwards, neighbours in a row
/// without points in common, so that the processor need not wait.
#[derive(Clone, Debug)]
pub(crate) struct Constraints {
    pub(crate) edges: Vec<Edge>,
    pub(crate) hinges: Vec<Hinge>,
    pub(crate) tethers: Vec<Tether>,
    /// kg
    pub(crate) masses: Vec<f32>,
}

/// Tethers give by this part before they hold.
const TETHER_SLACK: f32 = 1.01;
/// A diagonal is an edge across from two angles of at least this cosine's: what looks like a quad.
const DIAGONAL_COSINE: f32 = 0.25;

impl Constraints {
    /// `held` says which points stay where skinning has them.
    pub(crate) fn new(rest: &[Point], triangles: &[[u32; 3]], held: &[bool], settings: &Settings) -> Self {
        let at = |v: u32| rest[v as usize];
        let area = |t: &[u32; 3]| 0.5 * length(cross(sub(at(t[1]), at(t[0])), sub(at(t[2]), at(t[0]))));
        let mut masses = vec![0.0; rest.len()];
        for t in triangles {
            t.iter().for_each(|v| masses[*v as usize] += settings.density * area(t) / 3.0);
        }
        let sides = sides(triangles);
        let mut edges: Vec<Edge> = Vec::new();
        let mut hinges = Vec::new();
        for shared in sides.chunk_by(|a, b| a.0 == b.0) {
            let ends = shared[0].0;
            let size = length(sub(at(ends[1]), at(ends[0])));
            if size <= 0.0 {
                continue;
            }
            let areas: f32 = shared.iter().map(|side| area(&triangles[side.1 as usize])).sum();
            let opposite = |side: &Side| side.2;
            let is_diagonal = shared.len() == 2
                && shared.iter().all(|side| {
                    let p = at(opposite(side));
                    let (u, v) = (sub(at(ends[0]), p), sub(at(ends[1]), p));
                    dot(u, v) <= DIAGONAL_COSINE * length(u) * length(v)
                });
            let stiffness = if is_diagonal { settings.shear } else { settings.stretch };
            edges.push(edge(ends, size, stiffness, areas, settings));
            let &[a, b] = shared else { continue };
            let (c, d) = (opposite(&a), opposite(&b));
            if is_diagonal {
                let across = length(sub(at(d), at(c)));
                edges.push(edge([c.min(d), c.max(d)], across, settings.shear, areas, settings));
            }
            hinges.extend(hinge([ends[0], ends[1], c, d], rest, areas, settings.bend));
        }
        edges.retain(|edge| edge.compliance.is_finite());
        let layers = layers(rest.len(), &edges, held);
        sort(&mut edges, &layers, |edge| edge.points);
        sort(&mut hinges, &layers, |hinge| hinge.points);
        let tethers = tethers(rest, &edges, held);
        Self { edges, hinges, tethers, masses }
    }
}

/// Springs of k A / l² with A the area around an edge resist as a membrane of k, in N/m, does.
fn edge(points: [u32; 2], length: f32, stiffness: f32, area: f32, settings: &Settings) -> Edge {
    let compliance = length * length / (stiffness * area);
    Edge { points, length, compliance, slack_compliance: compliance / settings.compression }
}

/// Ends of an edge, a triangle with it, the corner across.
type Side = ([u32; 2], u32, u32);

fn sides(triangles: &[[u32; 3]]) -> Vec<Side> {
    let mut sides: Vec<Side> = Vec::with_capacity(3 * triangles.len());
    for (index, &[a, b, c]) in triangles.iter().enumerate() {
        if a == b || b == c || c == a {
            continue;
        }
        for (i, j, k) in [(a, b, c), (b, c, a), (c, a, b)] {
            sides.push(([i.min(j), i.max(j)], index as u32, k));
        }
    }
    sides.sort_unstable();
    sides
}

/// Weights of Σ wᵢ xᵢ, which is zero for flat triangles, whatever their motion: cotangents at the shared edge.
fn hinge(points: [u32; 4], rest: &[Point], area: f32, stiffness: f32) -> Option<Hinge> {
    let [x0, x1, x2, x3] = points.map(|v| rest[v as usize]);
    let cotangent = |u: Point, v: Point| dot(u, v) / length(cross(u, v));
    let e = sub(x1, x0);
    let c01 = cotangent(e, sub(x2, x0));
    let c02 = cotangent(e, sub(x3, x0));
    let c03 = cotangent(sub(x0, x1), sub(x2, x1));
    let c04 = cotangent(sub(x0, x1), sub(x3, x1));
    let weights = [c03 + c04, c01 + c02, -c01 - c03, -c02 - c04];
    let sum = [x0, x1, x2, x3].iter().zip(weights).fold([0.0; 3], |sum, (x, w)| along(sum, w, *x));
    let compliance = area / stiffness;
    let good = weights.iter().all(|w| w.is_finite()) && compliance.is_finite();
    // round-off of flat shapes is no fold
    let size = length(e);
    let fold = length(sum);
    let rest = if fold > 1e-3 * size { fold } else { 0.0 };
    good.then_some(Hinge { points, weights, rest, compliance })
}

/// How many edges away from the nearest held point each point is.
fn layers(count: usize, edges: &[Edge], held: &[bool]) -> Vec<u32> {
    let mut layer: Vec<u32> = held.iter().map(|held| if *held { 0 } else { u32::MAX }).collect();
    if !held.contains(&true) {
        layer = vec![0; count];
    }
    loop {
        let mut changed = false;
        for edge in edges {
            let [a, b] = edge.points.map(|v| v as usize);
            for (i, j) in [(a, b), (b, a)] {
                if layer[i] != u32::MAX && layer[i] + 1 < layer[j] {
                    layer[j] = layer[i] + 1;
                    changed = true;
                }
            }
        }
        if !changed {
            return layer;
        }
    }
}

/// By layer, and within it by colour: those of one colour share no point.
fn sort<const N: usize, T: Copy>(list: &mut Vec<T>, layers: &[u32], points: impl Fn(&T) -> [u32; N]) {
    let layer = |item: &T| points(item).iter().map(|v| layers[*v as usize]).min().unwrap_or(0);
    list.sort_by_key(|item| (layer(item), points(item)));
    let mut used: Vec<u64> = vec![0; layers.len()];
    let mut keyed: Vec<(u32, u32, T)> = Vec::with_capacity(list.len());
    let mut last = u32::MAX;
    for item in list.iter() {
        let here = layer(item);
        if here != last {
            used.fill(0);
            last = here;
        }
        let taken = points(item).iter().fold(0, |mask, v| mask | used[*v as usize]);
        let colour = taken.trailing_ones().min(63);
        points(item).iter().for_each(|v| used[*v as usize] |= 1 << colour);
        keyed.push((here, colour, *item));
    }
    keyed.sort_by_key(|(layer, colour, _)| (*layer, *colour));
    *list = keyed.into_iter().map(|(_, _, item)| item).collect();
}

/// The nearest held point along edges, for every point that is not held.
fn tethers(rest: &[Point], edges: &[Edge], held: &[bool]) -> Vec<Tether> {
    let mut distance: Vec<f32> = held.iter().map(|held| if *held { 0.0 } else { f32::INFINITY }).collect();
    let mut root: Vec<u32> = (0..rest.len() as u32).collect();
    for _ in 0..rest.len() {
        let mut changed = false;
        for edge in edges {
            let [a, b] = edge.points.map(|v| v as usize);
            for (i, j) in [(a, b), (b, a)] {
                if distance[i] + edge.length < distance[j] {
                    (distance[j], root[j]) = (distance[i] + edge.length, root[i]);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let free = (0..rest.len()).filter(|&i| !held[i] && distance[i].is_finite());
    free.map(|i| Tether { points: [root[i], i as u32], length: TETHER_SLACK * distance[i] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(n: u32) -> (Vec<Point>, Vec<[u32; 3]>) {
        let at = |i: u32, j: u32| j * (n + 1) + i;
        let rest =
            (0..=n).flat_map(|j| (0..=n).map(move |i| [i as f32 * 0.1, 0.0, j as f32 * 0.1])).collect();
        let cells = (0..n).flat_map(|j| (0..n).map(move |i| (i, j)));
        let triangles = cells.flat_map(|(i, j)| {
            [[at(i, j), at(i, j + 1), at(i + 1, j)], [at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)]]
        });
        (rest, triangles.collect())
    }

    #[test]
    fn quads_have_threads_and_two_diagonals() {
        let (rest, triangles) = grid(4);
        let settings = Settings::default();
        let all = Constraints::new(&rest, &triangles, &[false; 25], &settings);
        let threads = all.edges.iter().filter(|e| (e.length - 0.1).abs() < 1e-6).count();
        let diagonals = all.edges.iter().filter(|e| (e.length - 0.02_f32.sqrt()).abs() < 1e-6).count();
        assert_eq!((threads, diagonals, all.hinges.len()), (40, 32, 40));
        assert!((all.masses.iter().sum::<f32>() - 0.16 * settings.density).abs() < 1e-6);
        assert!(all.tethers.is_empty());
    }

    #[test]
    fn bending_is_that_of_a_cylinder() {
        // a plate rolled to a cylinder of radius R has the energy ½ B/R² per area
        let (rest, triangles) = grid(20);
        let settings = Settings { bend: 1e-3, ..Settings::default() };
        let all = Constraints::new(&rest, &triangles, &vec![false; rest.len()], &settings);
        let radius = 5.0_f32;
        let rolled: Vec<Point> = rest
            .iter()
            .map(|p| [radius * libm::sinf(p[0] / radius), radius - radius * libm::cosf(p[0] / radius), p[2]])
            .collect();
        let energy = |hinge: &Hinge| {
            let sum = hinge.points.iter().zip(hinge.weights);
            let sum = sum.fold([0.0; 3], |sum, (v, w)| along(sum, w, rolled[*v as usize]));
            0.5 * (length(sum) - hinge.rest).powi(2) / hinge.compliance
        };
        let total: f32 = all.hinges.iter().map(energy).sum();
        let expected = 0.5 * 1e-3 / (radius * radius) * 4.0;
        // hinges at the border have no partner: one cell of twenty is missing
        assert!((total / expected - 1.0).abs() < 0.15, "{total} {expected}");
    }

    #[test]
    fn tethers_lead_along_the_cloth_to_the_nearest_held_point() {
        let (rest, triangles) = grid(4);
        let mut held = vec![false; 25];
        (0..5).for_each(|i| held[i] = true);
        let all = Constraints::new(&rest, &triangles, &held, &Settings::default());
        assert_eq!(all.tethers.len(), 20);
        let far = all.tethers.iter().find(|t| t.points[1] == 22).unwrap();
        assert!(far.points[0] == 2 && (far.length - 0.404).abs() < 1e-5);
        // solved from where it hangs outwards
        let height = |e: &Edge| e.points.iter().map(|v| v / 5).min();
        assert!(all.edges.is_sorted_by_key(height));
    }
}
