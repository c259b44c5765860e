//! Points that may pass through an obstacle for good: collars, cuffs and waistbands that were drawn into the body.
//!
//! Where such points are pinned, nothing can lead them out: their animation has them inside. Untangling would pull at the cloth around them
//! in every step, in vain. So whatever contains one of them has no contact with that obstacle; everything else of the surface has.
//!
//! And points that are sewn to each other: what has one of two such points has no contact with what has the other, as if they were one point of
//! a mesh. Contact would hold the seam open.

use std::collections::BTreeSet;

use geometry::Vec3;

use super::{crossings, is_inside, triangles_of};
use crate::{CollisionMesh, Error, Pair, PairKind};

/// Pinned points, each with an obstacle that it has nothing to do with; and points that are sewn to each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exemptions {
    pinned: BTreeSet<(u32, u32)>,
    /// Both ways round.
    sewn: BTreeSet<(u32, u32)>,
    is_sewn: Vec<bool>,
}

impl Exemptions {
    /// Adds the pinned points that are inside an obstacle when everything is at `x`, and those with a triangle through its surface
    /// two of whose corners are pinned: no motion of the third can free it.
    pub fn add_pinned(&mut self, mesh: &CollisionMesh, x: &[Vec3]) -> Result<(), Error> {
        if x.len() != mesh.point_count() {
            return Err(Error::Sizes { what: "points", expected: mesh.point_count(), got: x.len() });
        }
        let is_pinned = |p: u32| !mesh.is_free(p) && !mesh.surfaces()[mesh.surface_of(p)].is_obstacle;
        let pinned: Vec<u32> = mesh.vertices().iter().copied().filter(|&p| is_pinned(p)).collect();
        if pinned.is_empty() {
            return Ok(());
        }
        for (number, obstacle) in mesh.surfaces().iter().enumerate().filter(|(_, s)| s.is_obstacle) {
            let corners: Vec<[Vec3; 3]> =
                triangles_of(mesh, number as u32).map(|t| t.map(|v| x[v as usize])).collect();
            let bounds = geometry::Bounds::of(corners.iter().flatten().copied());
            let inside = pinned.iter().filter(|&&p| is_inside(obstacle, &corners, &bounds, x[p as usize]));
            self.pinned.extend(inside.map(|&p| (p, number as u32)));
        }
        for crossing in crossings(mesh, x)? {
            let Some((a, b)) = mesh.number(crossing.first).zip(mesh.number(crossing.second)) else {
                continue;
            };
            for (own, other) in [(a, b), (b, a)] {
                let obstacle = mesh.surface_of(mesh.triangles()[other as usize][0]);
                let held: Vec<u32> =
                    mesh.triangles()[own as usize].iter().copied().filter(|&p| is_pinned(p)).collect();
                if mesh.surfaces()[obstacle].is_obstacle && held.len() > 1 && !self.excuses(mesh, a, b) {
                    self.pinned.extend(held.iter().map(|&p| (p, obstacle as u32)));
                }
            }
        }
        Ok(())
    }

    /// Adds two points that are sewn to each other.
    pub fn add_sewn(&mut self, a: u32, b: u32) {
        if a == b {
            return;
        }
        self.sewn.extend([(a, b), (b, a)]);
        for point in [a, b] {
            let count = self.is_sewn.len().max(point as usize + 1);
            self.is_sewn.resize(count, false);
            self.is_sewn[point as usize] = true;
        }
    }

    /// Whether some of these points are sewn to some of the others.
    fn are_sewn(&self, first: &[u32], second: &[u32]) -> bool {
        let is_sewn = |p: &&u32| self.is_sewn.get(**p as usize) == Some(&true);
        let pairs = |a: u32| second.iter().filter(is_sewn).any(move |&b| self.sewn.contains(&(a, b)));
        !self.sewn.is_empty() && first.iter().filter(is_sewn).any(|&a| pairs(a))
    }

    /// Whether no pinned point is exempt.
    pub fn is_empty(&self) -> bool {
        self.pinned.is_empty()
    }

    /// The pinned points, in the common numbering, each with the number of the obstacle; ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.pinned.iter().copied()
    }

    /// Whether a pair is to be left alone.
    pub fn is_exempt(&self, mesh: &CollisionMesh, pair: &Pair) -> bool {
        let [a, b, c, d] = pair.points;
        let is_sewn = match pair.kind {
            PairKind::VertexTriangle => self.are_sewn(&[a], &[b, c, d]),
            PairKind::EdgeEdge => self.are_sewn(&[a, b], &[c, d]),
        };
        is_sewn || (!self.pinned.is_empty() && self.any(mesh, &pair.points))
    }

    /// Whether two triangles, by their numbers in the mesh, may cross.
    pub fn excuses(&self, mesh: &CollisionMesh, a: u32, b: u32) -> bool {
        let [first, second] = [a, b].map(|t| mesh.triangles()[t as usize]);
        let is_pinned = || self.any(mesh, &[first, second].concat());
        self.are_sewn(&first, &second) || (!self.pinned.is_empty() && is_pinned())
    }

    /// Whether one of these points is exempt from the surface of another of them.
    fn any(&self, mesh: &CollisionMesh, points: &[u32]) -> bool {
        points.iter().any(|&p| {
            let mut obstacles = points.iter().map(|&q| mesh.surface_of(q) as u32);
            obstacles.any(|obstacle| self.pinned.contains(&(p, obstacle)))
        })
    }

    /// Triangles with such a corner: what they join may be on different sides of an obstacle.
    pub(super) fn has_corner(&self, mesh: &CollisionMesh, triangle: u32, obstacle: u32) -> bool {
        let corners = mesh.triangles()[triangle as usize];
        !self.pinned.is_empty() && corners.iter().any(|&p| self.pinned.contains(&(p, obstacle)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::folded_sheet;
    use crate::{BroadPhase, CollisionSurface, Intersections, Shape};

    /// A sheet over a ball, one edge of which is pinned inside it: only what touches the pinned points is exempt, and of the free
    /// points that are inside, those of a sheet that is mostly outside are led out.
    #[test]
    fn pinned_points_inside_are_exempt_and_the_others_are_led_out() {
        let ball = Shape::Sphere { radius: 0.3 }.surface("ball", 0.04).unwrap();
        let (points, triangles) = folded_sheet(24, 1, 0.0);
        // from x = −0.2, inside the ball, to 0.8; pinned within 0.1 of that edge
        let points: Vec<Vec3> = points.iter().map(|p| *p - Vec3::new(0.2, 0.013, 0.5)).collect();
        let known: Vec<bool> = points.iter().map(|p| p.x < -0.1).collect();
        let sheet = CollisionSurface { known, ..CollisionSurface::free("sheet", points, triangles) };
        let mesh = CollisionMesh::new(vec![sheet, ball]).unwrap();
        let x: Vec<Vec3> = mesh.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect();
        let mut exemptions = Exemptions::default();
        exemptions.add_pinned(&mesh, &x).unwrap();
        assert!(!exemptions.is_empty());
        for (p, obstacle) in exemptions.iter() {
            assert!(obstacle == 1 && !mesh.is_free(p), "{p}");
        }
        let deep = mesh.points_of(0).filter(|&p| !mesh.is_free(p as u32) && x[p].length() < 0.28);
        assert!(deep.into_iter().all(|p| exemptions.iter().any(|(q, _)| q as usize == p)));
        let pairs = BroadPhase::new().candidates(&mesh, &x, &x, 0.02).unwrap();
        let has_exempt = |pair: &Pair| pair.points.iter().any(|p| exemptions.iter().any(|(q, _)| q == *p));
        let mixed = |pair: &Pair| mesh.surface_of(pair.points[0]) != mesh.surface_of(pair.points[3]);
        assert!(pairs.iter().any(|pair| mixed(pair) && has_exempt(pair)));
        assert!(pairs.iter().any(|pair| mixed(pair) && !has_exempt(pair)));
        for pair in &pairs {
            assert_eq!(exemptions.is_exempt(&mesh, pair), mixed(pair) && has_exempt(pair));
        }
        let intersections = Intersections::find(&mesh, &x, &exemptions).unwrap();
        let inside = mesh.points_of(0).filter(|&p| mesh.is_free(p as u32) && x[p].length() < 0.28);
        let found = |p: usize| intersections.inside.contains(&(p as u32, 1));
        assert!(inside.clone().count() > 20 && inside.into_iter().all(found));
        assert!(intersections.inside.iter().all(|&(p, _)| x[p as usize].length() < 0.31));
        // what is excused is no crossing any more
        let all = Intersections::find(&mesh, &x, &Exemptions::default()).unwrap();
        assert!(intersections.crossings.len() < all.crossings.len());
    }

    /// A triangle whose corners are all outside and that cuts through a ball: hopeless with two pinned corners, not with one.
    #[test]
    fn a_triangle_through_an_obstacle_is_exempt_if_two_corners_are_pinned() {
        let corners =
            vec![Vec3::new(-1.0, 0.013, -1.0), Vec3::new(1.0, 0.013, -1.0), Vec3::new(0.0, 0.013, 2.0)];
        for (known, expected) in [
            ([true, true, false], vec![(0, 1), (1, 1)]),
            ([false, true, true], vec![(1, 1), (2, 1)]),
            ([true, true, true], vec![(0, 1), (1, 1), (2, 1)]),
            ([true, false, false], vec![]),
        ] {
            let ball = Shape::Sphere { radius: 0.3 }.surface("ball", 0.1).unwrap();
            let known = known.to_vec();
            let leaf = CollisionSurface {
                known,
                ..CollisionSurface::free("leaf", corners.clone(), vec![[0, 1, 2]])
            };
            let mesh = CollisionMesh::new(vec![leaf, ball]).unwrap();
            let x: Vec<Vec3> = mesh.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect();
            let mut exemptions = Exemptions::default();
            exemptions.add_pinned(&mesh, &x).unwrap();
            assert_eq!(exemptions.iter().collect::<Vec<_>>(), expected);
            assert!(exemptions.add_pinned(&mesh, &x[1..]).is_err());
        }
    }
}
