//! From tets and materials to what the engine steps: masses and elements.

use dynamics::Elements;
use geometry::{TetMesh, Vec3};

use crate::{Error, Law, Material, Tet};

/// A solid, ready for the engine.
///
/// ```
/// use geometry::{TetMesh, Vec3};
/// use solid::{Law, Material, Solid};
///
/// let bar = TetMesh::box_grid([4, 1, 1], Vec3::new(0.4, 0.1, 0.1))?;
/// let solid = Solid::new(&bar, Law::Stvk, &Material::preset("jelly")?)?;
/// assert!((solid.masses.iter().sum::<f64>() - 4.0).abs() < 1e-12);
/// # Ok::<(), solid::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Solid {
    /// Mass of every point, in kg: a quarter of the tets around it.
    pub masses: Vec<f64>,
    /// Each tet with its corners, in the order of the mesh.
    pub tets: Vec<([u32; 4], Tet)>,
}

impl Solid {
    /// Tets at rest, made of one material.
    pub fn new(mesh: &TetMesh, law: Law, material: &Material) -> Result<Self, Error> {
        Self::with_materials(mesh, law, |_| *material)
    }

    /// Tets at rest, each of its own material.
    pub fn with_materials(
        mesh: &TetMesh,
        law: Law,
        material_of: impl Fn(usize) -> Material,
    ) -> Result<Self, Error> {
        let mut masses = vec![0.0; mesh.points().len()];
        let mut tets = Vec::with_capacity(mesh.tets().len());
        for (index, &corners) in mesh.tets().iter().enumerate() {
            let material = material_of(index);
            material.validate()?;
            let Material { young, poisson, density, .. } = material;
            let tet = Tet::from_young_poisson(&mesh.corners(index), law, young, poisson);
            let tet = tet.ok_or(Error::Flat { tet: index })?.with_friction(material.friction());
            for &p in &corners {
                masses[p as usize] += 0.25 * density * tet.volume();
            }
            tets.push((corners, tet));
        }
        Ok(Self { masses, tets })
    }

    /// The elements that move at least one unknown point. The rest only carry a picture of the animation: they need no
    /// forces, and most of a character costs nothing.
    pub fn elements(&self, known: &[bool]) -> Elements<Tet, 4> {
        let moves = |corners: &[u32; 4]| corners.iter().any(|&p| !known[p as usize]);
        Elements::new(self.tets.iter().filter(|(corners, _)| moves(corners)).copied()).damped(1.0)
    }

    /// The largest strain of any tet, and the mean by volume.
    pub fn strain(&self, x: &[Vec3]) -> (f64, f64) {
        let (mut largest, mut sum, mut volume) = (0.0_f64, 0.0, 0.0);
        for (corners, tet) in &self.tets {
            let strain = tet.strain(&corners.map(|p| x[p as usize]));
            largest = largest.max(strain);
            sum += strain * tet.volume();
            volume += tet.volume();
        }
        (largest, sum / volume.max(f64::MIN_POSITIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All stretched alike, the mean is the largest; with one end drawn out, it is what the volumes make of it.
    #[test]
    fn mean_strain_is_by_volume() {
        let mesh = TetMesh::box_grid([2, 1, 1], Vec3::new(0.3, 0.1, 0.2)).unwrap();
        let solid = Solid::new(&mesh, Law::Stvk, &Material::preset("jelly").unwrap()).unwrap();
        let stretched: Vec<Vec3> = mesh.points().iter().map(|p| p.with_x(1.25 * p.x)).collect();
        let (largest, mean) = solid.strain(&stretched);
        assert!((largest - 0.25).abs() < 1e-12 && (mean - 0.25).abs() < 1e-12, "{largest} {mean}");
        let end: Vec<Vec3> = mesh.points().iter().map(|p| p.with_x(p.x + (p.x - 0.15).max(0.0))).collect();
        let (largest, mean) = solid.strain(&end);
        assert!((largest - 1.0).abs() < 1e-12 && (mean - 0.5).abs() < 1e-12, "{largest} {mean}");
    }
}
