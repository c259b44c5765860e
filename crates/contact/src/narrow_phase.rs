//! Narrow phase: from pairs that may touch to those that do, and to how far a step may go.

use geometry::Vec3;
use rayon::prelude::*;

use crate::ccd::{FirstImpact, first_impact};
use crate::distance::{Closest, closest};
use crate::{CollisionMesh, Pair};

/// An active contact: a pair within its barrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// The two things.
    pub pair: Pair,
    /// Where they are nearest.
    pub nearest: Closest,
    /// Thickness kept between them, in metres.
    pub min_distance: f64,
    /// The gap beyond it at which the barrier begins, in metres.
    pub dhat: f64,
}

impl Contact {
    /// The room left: distance less thickness.
    pub fn gap(&self) -> f64 {
        self.nearest.distance - self.min_distance
    }
}

/// Those of the pairs that are within their barrier at `x`, in the same order. Points behind a plane do not.
pub fn contacts(mesh: &CollisionMesh, pairs: &[Pair], x: &[Vec3], dhat: f64) -> Vec<Contact> {
    let near = |pair: &Pair| {
        let nearest = closest(pair.kind, &pair.gather(x));
        let widest = mesh.thickness(pair) + dhat;
        // the distance at rest costs as much again: asked only where it matters
        if nearest.distance >= widest || mesh.is_behind(pair, x) {
            return None;
        }
        let (min_distance, dhat) = mesh.gap(pair, dhat);
        (nearest.distance < min_distance + dhat).then_some(Contact {
            pair: *pair,
            nearest,
            min_distance,
            dhat,
        })
    };
    pairs.par_iter().filter_map(near).collect()
}

/// How much of the step from `start` to `end` all pairs can go and stay `margin` beyond their thickness, and which pair
/// says so. Never too much (see [`crate::time_of_impact`]). Points that start behind a plane, and pairs for which `is_exempt`
/// holds, are passed over.
pub fn collision_free_fraction(
    mesh: &CollisionMesh,
    pairs: &[Pair],
    start: &[Vec3],
    end: &[Vec3],
    margin: f64,
    is_exempt: impl Fn(&Pair) -> bool + Sync,
) -> FirstImpact {
    first_impact(pairs.len(), |k| {
        let pair = &pairs[k];
        if is_exempt(pair) || mesh.is_behind(pair, start) {
            return None;
        }
        let (min_distance, margin) =
            if mesh.thickness(pair) > 0.0 { mesh.gap(pair, margin) } else { (0.0, margin) };
        Some((pair.kind, pair.gather(start), pair.gather(end), min_distance + margin))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::folded_sheet;
    use crate::{BroadPhase, CollisionSurface, plane};
    use geometry::Random;

    fn crossings(mesh: &CollisionMesh, x: &[Vec3]) -> usize {
        crate::untangling::crossings(mesh, x).expect("finite").len()
    }

    /// The promise of the whole chain: wild motions, cut to the safe fraction, never lead to a crossing, step after
    /// step. The judge is the exact audit, which shares no code with what it judges.
    #[test]
    fn no_wild_motion_leads_to_a_crossing() {
        let (points, triangles) = folded_sheet(10, 3, 0.03);
        let cloth = CollisionSurface {
            thickness: 0.002,
            ..CollisionSurface::free("cloth", points.clone(), triangles.clone())
        };
        let below = points.iter().map(|p| Vec3::new(p.z - 0.2, 0.5 * p.x - 0.28, p.y)).collect();
        let mesh = CollisionMesh::new(vec![cloth, CollisionSurface::obstacle("body", below, triangles)])
            .expect("sound");
        let mut x: Vec<Vec3> = mesh.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect();
        assert_eq!(crossings(&mesh, &x), 0);
        let (mut random, mut broad, mut cut) = (Random::new(61), BroadPhase::new(), 0);
        for _ in 0..60 {
            let end: Vec<Vec3> = x.iter().map(|p| *p - 0.02 * Vec3::Y + 0.05 * random.vec3()).collect();
            let pairs = broad.candidates(&mesh, &x, &end, 1e-4).expect("finite");
            let safe = collision_free_fraction(&mesh, &pairs, &x, &end, 1e-4, |_| false);
            cut += usize::from(safe.time < 1.0);
            assert_eq!(safe.pair.is_some(), safe.time < 1.0);
            for (x, end) in x.iter_mut().zip(&end) {
                *x += safe.time * (*end - *x);
            }
            assert_eq!(crossings(&mesh, &x), 0);
        }
        assert!(cut > 50, "{cut} steps were cut");
    }

    #[test]
    fn contacts_are_what_is_near() {
        let (points, triangles) = folded_sheet(10, 3, 0.03);
        let mesh = CollisionMesh::new(vec![CollisionSurface::free("cloth", points.clone(), triangles)])
            .expect("sound");
        let pairs = BroadPhase::new().candidates(&mesh, &points, &points, 0.05).expect("finite");
        // at rest nothing is active, however near the layers are
        assert_eq!(contacts(&mesh, &pairs, &points, 0.05), []);
        let pressed: Vec<Vec3> = points.iter().map(|p| Vec3::new(p.x, 0.3 * p.y, p.z)).collect();
        let active_contacts = contacts(&mesh, &pairs, &pressed, 0.05);
        assert!(active_contacts.len() > 100);
        assert!(active_contacts.iter().all(|c| c.gap() < c.dhat));
        assert!(active_contacts.windows(2).all(|two| two[0].pair < two[1].pair));
    }

    #[test]
    fn a_plane_lets_out_what_is_behind_it() {
        let leaf = vec![Vec3::ZERO, 0.1 * Vec3::Z, 0.1 * Vec3::X];
        let ground = plane("ground", Vec3::ZERO, Vec3::Y, 10.0).expect("sound");
        let mesh =
            CollisionMesh::new(vec![CollisionSurface::free("leaf", leaf.clone(), vec![[0, 1, 2]]), ground])
                .expect("sound");
        let at = |y: f64| -> Vec<Vec3> {
            leaf.iter().map(|p| *p + y * Vec3::Y).chain(mesh.surfaces()[1].rest_positions.clone()).collect()
        };
        let go = |from: f64, to: f64| {
            let pairs = BroadPhase::new().candidates(&mesh, &at(from), &at(to), 1e-3).expect("finite");
            collision_free_fraction(&mesh, &pairs, &at(from), &at(to), 1e-3, |_| false).time
        };
        assert!(go(0.1, -0.1) < 0.5, "held from the front");
        assert_eq!(go(-0.1, 0.1), 1.0, "let out from behind");
    }

    /// Without a thickness the margin is kept whole, however near the two are at rest; with one, both shrink with the rest shape.
    #[test]
    fn margins_shrink_with_the_rest_shape_only_where_there_is_a_thickness() {
        let triangle = [Vec3::ZERO, Vec3::Z, Vec3::X];
        let rest = [triangle, triangle.map(|p| p + 0.4 * Vec3::Y)].concat();
        let at = |y: f64| [triangle, triangle.map(|p| p + y * Vec3::Y)].concat();
        for (thickness, margin, expected) in [(0.0, 0.3, 0.3), (0.2, 0.2, 0.2)] {
            let leaves = CollisionSurface {
                thickness,
                ..CollisionSurface::free("leaves", rest.clone(), vec![[0, 1, 2], [3, 4, 5]])
            };
            let mesh = CollisionMesh::new(vec![leaves]).expect("sound");
            let pairs = [mesh.vertex_triangle(3, 0)];
            let safe = collision_free_fraction(&mesh, &pairs, &at(2.0), &at(0.0), margin, |_| false);
            assert!((safe.time - (1.0 - 0.5 * expected)).abs() < 1e-3, "{thickness}: {}", safe.time);
        }
    }
}
