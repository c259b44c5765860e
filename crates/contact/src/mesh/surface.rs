//! One surface that can touch: simulated, or an obstacle.

use geometry::Vec3;

use crate::Error;

/// Which sides of an obstacle hold things back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sides {
    /// Nothing passes, from either side.
    #[default]
    Both,
    /// Normals point outwards: what starts inside is led out.
    Front,
}

/// A surface to be kept from crossing others, and perhaps itself.
#[derive(Clone, Debug)]
pub struct CollisionSurface {
    /// For errors and reports.
    pub name: String,
    /// The shape without stress, in metres.
    pub rest_positions: Vec<Vec3>,
    /// Corners of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Points whose motion is given rather than computed. Pairs of nothing but known points are left alone.
    pub known: Vec<bool>,
    /// Obstacles are known altogether and may cross themselves and each other.
    pub is_obstacle: bool,
    /// For obstacles.
    pub sides: Sides,
    /// In metres; two surfaces are kept apart by the mean of theirs.
    pub thickness: f64,
    /// Coulomb's coefficient; of two surfaces the geometric mean counts.
    pub friction: f64,
    /// Whether it touches itself.
    pub self_contact: bool,
    /// Only its triangles count, not their edges and corners: right for a plane, whose rim is beyond the scene.
    pub faces_only: bool,
}

impl CollisionSurface {
    /// A surface that is simulated: touches itself, friction 0.4, no thickness.
    pub fn free(name: impl Into<String>, rest_positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        let known = vec![false; rest_positions.len()];
        Self {
            name: name.into(),
            rest_positions,
            triangles,
            known,
            is_obstacle: false,
            sides: Sides::Both,
            thickness: 0.0,
            friction: 0.4,
            self_contact: true,
            faces_only: false,
        }
    }

    /// A surface whose motion is given.
    pub fn obstacle(name: impl Into<String>, rest_positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        let known = vec![true; rest_positions.len()];
        Self { known, is_obstacle: true, self_contact: false, ..Self::free(name, rest_positions, triangles) }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let (surface, count) = (&self.name, self.rest_positions.len());
        if self.known.len() != count {
            return Err(Error::Sizes { what: "known points", expected: count, got: self.known.len() });
        }
        for (triangle, corners) in self.triangles.iter().enumerate() {
            if let Some(&point) = corners.iter().find(|&&v| v as usize >= count) {
                return Err(Error::NoSuchPoint { surface: surface.clone(), triangle, point, count });
            }
        }
        if let Some(point) = self.rest_positions.iter().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { surface: surface.clone(), point });
        }
        for (dial, value) in [("thickness", self.thickness), ("friction", self.friction)] {
            if !(value >= 0.0 && value.is_finite()) {
                let range = "0 or more";
                return Err(Error::OutOfRange { surface: surface.clone(), dial, value, range });
            }
        }
        Ok(())
    }
}
