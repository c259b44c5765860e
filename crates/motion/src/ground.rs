//! What a figure stands on.

use geometry::{Mat3, SurfaceQuery, Vec3};

use crate::error::Error;

/// A plane: level ground, a slope, a treadmill's belt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// A point of it.
    pub point: Vec3,
    /// Away from what lies below; of length 1.
    pub normal: Vec3,
    /// How fast it moves along itself, in m/s: 0 but for treadmills.
    pub velocity: Vec3,
}

impl Ground {
    /// Level ground at a height, in metres.
    pub fn level(height: f64) -> Self {
        Self { point: Vec3::new(0.0, height, 0.0), normal: Vec3::Y, velocity: Vec3::ZERO }
    }

    /// How far a point is above it, in metres; below it, negative.
    pub fn height(&self, x: Vec3) -> f64 {
        (x - self.point).dot(self.normal)
    }

    /// The nearest point of it.
    pub fn project(&self, x: Vec3) -> Vec3 {
        x - self.normal * self.height(x)
    }

    /// World-from-ground: columns are two tangents and the normal.
    pub fn frame(&self) -> Mat3 {
        let along = if self.normal.x.abs() < 0.9 { Vec3::X } else { Vec3::Z };
        let first = (along - self.normal * along.dot(self.normal)).normalize();
        Mat3::from_cols(first, self.normal.cross(first), self.normal)
    }
}

/// What a motion is solved on: a plane, or a surface that rises and falls.
#[derive(Clone, Debug)]
pub enum Terrain {
    /// Level, inclined, or moving.
    Plane(Ground),
    /// Of triangles.
    Relief(Relief),
}

impl Terrain {
    /// How far a point is above it, across it, in metres; below it, negative.
    pub fn height(&self, x: Vec3) -> f64 {
        match self {
            Self::Plane(ground) => ground.height(x),
            Self::Relief(relief) => {
                let (y, normal) = relief.at(x);
                (x.y - y) * normal.y
            }
        }
    }

    /// The normal below a point.
    pub fn normal(&self, x: Vec3) -> Vec3 {
        match self {
            Self::Plane(ground) => ground.normal,
            Self::Relief(relief) => relief.at(x).1,
        }
    }

    /// The point of it straight below or above a point.
    pub fn under(&self, x: Vec3) -> Vec3 {
        let y = match self {
            Self::Plane(Ground { point, normal, .. }) => {
                let way = x - *point;
                point.y - (normal.x * way.x + normal.z * way.z) / normal.y
            }
            Self::Relief(relief) => relief.at(x).0,
        };
        Vec3::new(x.x, y, x.z)
    }

    /// How fast it moves along itself, in m/s.
    pub fn velocity(&self) -> Vec3 {
        match self {
            Self::Plane(ground) => ground.velocity,
            Self::Relief(_) => Vec3::ZERO,
        }
    }
}

/// A surface seen from above: at every place one height. Beyond its rim it goes on as at the nearest point of the rim.
#[derive(Clone, Debug)]
pub struct Relief {
    /// The triangles that can be stood on, pressed flat: what lies below a place is what is nearest there.
    flat: SurfaceQuery,
    heights: Vec<f64>,
    normals: Vec<Vec3>,
}

/// Triangles steeper than this, by the upward part of their normal, are walls, not ground.
const STEEPEST: f64 = 0.2;

impl Relief {
    /// Of a mesh; triangles that look down or to the side are left out. Where surfaces lie above each other the first one counts.
    pub fn new(points: &[Vec3], triangles: &[[u32; 3]]) -> Result<Self, Error> {
        let (mut kept, mut normals) = (Vec::new(), Vec::new());
        for &triangle in triangles {
            let corner = |k: usize| points.get(triangle[k] as usize).copied().unwrap_or(Vec3::NAN);
            let [a, b, c] = [corner(0), corner(1), corner(2)];
            let normal = (b - a).cross(c - a).normalize_or_zero();
            if normal.y > STEEPEST {
                kept.push(triangle);
                normals.push(normal);
            }
        }
        if kept.is_empty() {
            return Err(Error::NoGround);
        }
        let flat = points.iter().map(|p| Vec3::new(p.x, 0.0, p.z)).collect();
        let flat = SurfaceQuery::new(flat, kept).map_err(|_| Error::NoGround)?;
        Ok(Self { flat, heights: points.iter().map(|p| p.y).collect(), normals })
    }

    /// Height and normal at a place; its own height does not matter.
    fn at(&self, x: Vec3) -> (f64, Vec3) {
        let found = self.flat.closest(Vec3::new(x.x, 0.0, x.z));
        let corners = self.flat.triangles()[found.triangle as usize];
        let y = corners.iter().zip(found.weights).map(|(&c, w)| w * self.heights[c as usize]).sum();
        (y, self.normals[found.triangle as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relief_is_the_plane_that_its_triangles_lie_in() {
        let plane = Ground { normal: Vec3::new(-0.1, 1.0, 0.2).normalize(), ..Ground::level(0.3) };
        let place = |x: f64, z: f64| Terrain::Plane(plane).under(Vec3::new(x, 9.0, z));
        let points = [place(-1.0, -1.0), place(-1.0, 1.0), place(1.0, 1.0), place(1.0, -1.0)];
        // and a wall, that nobody stands on
        let relief = Relief::new(&points, &[[0, 1, 2], [0, 2, 3], [0, 1, 0]]).unwrap();
        let (plane, relief) = (Terrain::Plane(plane), Terrain::Relief(relief));
        for x in [Vec3::new(0.2, 1.0, -0.4), Vec3::new(-0.9, -2.0, 0.8)] {
            assert!((plane.height(x) - relief.height(x)).abs() < 1e-12);
            assert!((plane.normal(x) - relief.normal(x)).length() < 1e-12);
            assert!(
                plane.height(plane.under(x)).abs() < 1e-12 && relief.height(relief.under(x)).abs() < 1e-12
            );
        }
        assert!(Relief::new(&points, &[[0, 2, 1]]).is_err());
    }
}
