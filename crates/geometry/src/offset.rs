//! The field whose zero set a tet mesh is stuffed into: distance to a surface, less an offset, with a sign.
//!
//! ```text
//! outside  φ(q) =  minₛ (d(q, s) − oₛ)
//! inside   φ(q) = −(d(q, s) + oₛ),  s the same
//! ```
//!
//! over *sites* s with offsets oₛ of their own: triangles, and points where the offset has to grow. Outside it is a minimum of
//! functions with slope one, so it has slope one itself; the proof that growing ends rests on that. Across holes the
//! winding number w passes ½ away from the surface; there |φ| is held below |w − ½| times the surface's size, so that the
//! sign does not jump.

use crate::tree::Tree;
use crate::{Bounds, SurfaceQuery, Vec3, triangle_distance_squared};

pub(crate) struct Offset<'a> {
    surface: &'a SurfaceQuery,
    /// Corners of each site: a triangle's, or three times a point.
    sites: Vec<[Vec3; 3]>,
    offsets: Vec<f64>,
    tree: Tree,
    /// The largest offset below each node.
    reach: Vec<f64>,
    size: f64,
}

impl<'a> Offset<'a> {
    /// Triangles of `surface` with their offsets, and points with theirs.
    pub(crate) fn new(surface: &'a SurfaceQuery, triangle_offsets: &[f64], points: &[(Vec3, f64)]) -> Self {
        let mut sites: Vec<[Vec3; 3]> =
            (0..surface.triangles().len()).map(|t| surface.corners(t as u32)).collect();
        sites.extend(points.iter().map(|&(p, _)| [p; 3]));
        let offsets: Vec<f64> =
            triangle_offsets.iter().copied().chain(points.iter().map(|&(_, offset)| offset)).collect();
        let boxes: Vec<Bounds> = sites.iter().map(|&corners| Bounds::of(corners)).collect();
        let tree = Tree::new(&boxes);
        let nodes = tree.nodes().len();
        let mut reach = vec![0.0_f64; nodes];
        for node in (0..nodes).rev() {
            reach[node] = match tree.leaf_of(node) {
                Some(leaf) => tree.things(leaf).iter().fold(0.0, |most, &s| most.max(offsets[s as usize])),
                None => reach[2 * node + 1].max(reach[2 * node + 2]),
            };
        }
        let size = surface.bounds().diagonal();
        Self { surface, sites, offsets, tree, reach, size }
    }

    /// The largest offset of all.
    pub(crate) fn largest(&self) -> f64 {
        self.reach[0]
    }

    /// φ(q), in metres.
    pub(crate) fn value(&self, q: Vec3) -> f64 {
        let bound = |node: usize| self.tree.nodes()[node].distance_squared(q).sqrt() - self.reach[node];
        let value =
            |s: u32| triangle_distance_squared(q, self.sites[s as usize]).sqrt() - self.offsets[s as usize];
        // a surface has a site
        let (site, outside) = self.tree.least(f64::INFINITY, bound, value).unwrap_or((0, f64::INFINITY));
        // within the offset it is inside whatever the side
        let wound = self.surface.winding_number(q).abs() - 0.5;
        if wound > 0.0 {
            let inside = outside + 2.0 * self.offsets[site as usize];
            outside.min(-inside.min(wound * self.size))
        } else {
            outside.min(-wound * self.size)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::testing::sphere;

    #[test]
    fn a_ball_grows_by_the_offset_and_a_point_by_its_own() {
        let (points, triangles) = sphere(24);
        let surface = SurfaceQuery::new(points, triangles).unwrap();
        let offsets = vec![0.1; surface.triangles().len()];
        let field = Offset::new(&surface, &offsets, &[(Vec3::X, 0.5)]);
        assert_eq!(field.largest(), 0.5);
        let mut random = Random::new(4);
        for _ in 0..200 {
            let q = 1.8 * random.vec3();
            // inside, the offset that counts is that of the nearest site, which may be the point with its own
            if q.length() > 1.0 {
                let expected = (q.length() - 1.1).min(q.distance(Vec3::X) - 0.5);
                assert!((field.value(q) - expected).abs() < 0.011, "{q} {} {expected}", field.value(q));
            } else if q.x < -0.3 {
                assert!((field.value(q) - (q.length() - 1.1)).abs() < 0.011, "{q} {}", field.value(q));
            }
        }
        assert!((field.value(1.7 * Vec3::X) - 0.2).abs() < 1e-12);
    }
}
