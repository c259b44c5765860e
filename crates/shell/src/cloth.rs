//! From a mesh and a material to what the engine steps: masses, membranes, hinges, air.

use std::sync::Arc;

use geometry::{Topology, Vec2, Vec3};

use crate::bending::{Bending, Sheet};
use crate::cell::{OWN_SHARE, Stretching, cells};
use crate::{
    Air, AirCoefficients, CellMembrane, ClothLimits, Error, Hinge, Material, Membrane, Plate, Ramp, Resizing,
    StrainLimits, WindField, axes_from_direction, axes_from_uv,
};

/// A piece of cloth, ready for the engine. Each list is a stencil with its element.
#[derive(Clone, Debug)]
pub struct Cloth {
    /// Mass of every point, in kg: a third of the triangles around it. Zero at the points that
    /// [`ClothReport::massless`] lists.
    pub masses: Vec<f64>,
    /// Stretching and shearing, one per triangle with area.
    pub membranes: Vec<([u32; 3], Membrane)>,
    /// Pairs of those triangles that are stretched and sheared as one; empty unless [`Stretching::Cells`] was asked for.
    pub cells: Vec<([u32; 4], CellMembrane)>,
    /// Which triangles are half of a cell: of their own stiffness little is left. Empty where there are no cells.
    pub is_half: Vec<bool>,
    /// How far those triangles stretch and shear at most.
    pub limits: Vec<StrainLimits>,
    /// Bending, one per pair of such triangles about an edge; none where the material does not resist it. With
    /// [`Bending::Plates`] only at edges with three triangles or more.
    pub hinges: Vec<([u32; 4], Hinge)>,
    /// Bending, one per triangle; empty unless [`Bending::Plates`] was asked for.
    pub plates: Vec<([u32; 6], Plate)>,
    /// Air, one per triangle; none in vacuum.
    pub air: Vec<([u32; 3], Air)>,
    /// How it gets the size that all of these have; none where it has it from the beginning.
    pub resizing: Option<Resizing>,
    /// What was found on the way.
    pub report: ClothReport,
}

impl Cloth {
    /// What resists stretching and shearing beside its cells: its triangles, those that are half of a cell with a small part of their
    /// stiffness.
    pub fn own_membranes(&self) -> impl Iterator<Item = ([u32; 3], Membrane)> {
        let is_half = |t: usize| self.is_half.get(t) == Some(&true);
        self.membranes.iter().enumerate().map(move |(t, (corners, membrane))| {
            (*corners, if is_half(t) { membrane.scaled(OWN_SHARE) } else { *membrane })
        })
    }

    /// The limits of its triangles, for the body.
    pub fn strain_limits(&self) -> ClothLimits {
        let triangles = self.membranes.iter().zip(&self.limits);
        let limits =
            ClothLimits::new(triangles.map(|((corners, membrane), limits)| (*corners, *membrane, *limits)));
        self.resizing.iter().fold(limits, ClothLimits::resizing)
    }
}

/// Facts about a mesh that became a cloth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClothReport {
    /// Triangles without area, left out: their places in the mesh.
    pub degenerate_triangles: Vec<usize>,
    /// Edges too thin to bend about, left out.
    pub degenerate_hinges: usize,
    /// Triangles whose uv has no area: warp and weft came from the direction instead. Zero when the mesh has no uv.
    pub triangles_without_axes: usize,
    /// Points that no triangle with area touches, or whose density is painted zero: nothing moves them by itself.
    pub massless: Vec<u32>,
    /// Area at rest, in m².
    pub area: f64,
    /// Sum of all masses, in kg.
    pub mass: f64,
}

/// Texture coordinates that say how the threads run.
#[derive(Clone, Copy, Debug, Default)]
pub enum Uvs<'a> {
    /// None: warp follows a direction in space.
    #[default]
    None,
    /// One per point.
    PerPoint(&'a [Vec2]),
    /// One per corner of every triangle; a point may have several, where the layout has a seam.
    PerCorner(&'a [[Vec2; 3]]),
}

/// Painted factors per point on the material's values; a triangle takes the mean of its points. 1 everywhere when `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Maps<'a> {
    /// On `area_density`.
    pub density: Option<&'a [f64]>,
    /// On `stretch_warp`, `stretch_weft` and `shear` together.
    pub stretch: Option<&'a [f64]>,
    /// On `bend_warp` and `bend_weft`.
    pub bend: Option<&'a [f64]>,
    /// On `air_drag`.
    pub air_drag: Option<&'a [f64]>,
    /// On the limits of stretch and shear.
    pub limit: Option<&'a [f64]>,
    /// On lengths at rest: 0.9 is cloth that has shrunk by a tenth. Its mass stays.
    pub shrink: Option<&'a [f64]>,
}

/// Everything a cloth is made of. Only the mesh and the material are needed.
///
/// ```
/// use geometry::Vec3;
/// use shell::{ClothBuilder, Material};
///
/// let rest = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X + Vec3::Y];
/// let cloth = ClothBuilder::new(&rest, &[[0, 1, 2], [2, 1, 3]], &Material::preset("silk")?).build()?;
/// assert_eq!((cloth.membranes.len(), cloth.hinges.len(), cloth.air.len()), (2, 1, 2));
/// assert!((cloth.report.mass - 0.06).abs() < 1e-12);
/// # Ok::<(), shell::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClothBuilder<'a> {
    rest: &'a [Vec3],
    triangles: &'a [[u32; 3]],
    material: &'a Material,
    uvs: Uvs<'a>,
    warp: Vec3,
    maps: Maps<'a>,
    wind: Arc<WindField>,
    bending: Bending,
    stretching: Stretching,
    shrinks: Option<Ramp>,
}

impl<'a> ClothBuilder<'a> {
    /// A mesh in its rest shape, made of one material, in still air.
    pub fn new(rest: &'a [Vec3], triangles: &'a [[u32; 3]], material: &'a Material) -> Self {
        Self {
            rest,
            triangles,
            material,
            uvs: Uvs::None,
            warp: Vec3::Y,
            maps: Maps::default(),
            wind: Arc::new(WindField::STILL),
            bending: Bending::default(),
            stretching: Stretching::default(),
            shrinks: None,
        }
    }

    /// Threads along these texture coordinates.
    #[must_use]
    pub fn uvs(mut self, uvs: Uvs<'a>) -> Self {
        self.uvs = uvs;
        self
    }

    /// Warp along this direction where uv does not say; up unless told, as clothes are cut.
    #[must_use]
    pub fn warp(mut self, direction: Vec3) -> Self {
        self.warp = direction;
        self
    }

    /// Painted factors.
    #[must_use]
    pub fn maps(mut self, maps: Maps<'a>) -> Self {
        self.maps = maps;
        self
    }

    /// Wind that all triangles share.
    #[must_use]
    pub fn wind(mut self, wind: Arc<WindField>) -> Self {
        self.wind = wind;
        self
    }

    /// Which elements resist bending.
    #[must_use]
    pub fn bending(mut self, bending: Bending) -> Self {
        self.bending = bending;
        self
    }

    /// Which elements resist stretching and shearing.
    #[must_use]
    pub fn stretching(mut self, stretching: Stretching) -> Self {
        self.stretching = stretching;
        self
    }

    /// When it shrinks as its map says. It is as small from the beginning unless told.
    #[must_use]
    pub fn shrinking(mut self, ramp: Ramp) -> Self {
        self.shrinks = Some(ramp);
        self
    }

    /// Checks everything and makes the elements.
    pub fn build(&self) -> Result<Cloth, Error> {
        self.check()?;
        let material = self.material;
        let stiffness = material.membrane();
        let mut report = ClothReport::default();
        let mut masses = vec![0.0; self.rest.len()];
        let mut membranes = Vec::with_capacity(self.triangles.len());
        let (mut limits, mut air) = (Vec::with_capacity(self.triangles.len()), Vec::new());
        let mut axes_of_kept = Vec::with_capacity(self.triangles.len());

        for (t, &corners) in self.triangles.iter().enumerate() {
            let points = corners.map(|v| self.rest[v as usize]);
            let factor = |map: Option<&[f64]>| mean_over(map, &corners);
            let shrink = factor(self.maps.shrink);
            let made = self.axes(t, &points, &mut report).and_then(|axes| {
                let stiffness = stiffness.scaled(factor(self.maps.stretch));
                Some((axes, Membrane::new(&shrunk(points, shrink), axes, stiffness)?))
            });
            let Some((axes, membrane)) = made else {
                report.degenerate_triangles.push(t);
                continue;
            };
            // the piece that was cut, of which nothing gets lost
            let area = membrane.rest_area() / (shrink * shrink);
            report.area += membrane.rest_area();
            for &v in &corners {
                let density = material.area_density * self.maps.density.map_or(1.0, |map| map[v as usize]);
                masses[v as usize] += density * area / 3.0;
            }
            let drag = material.air_drag * factor(self.maps.air_drag);
            if drag > 0.0 {
                air.push((corners, Air::new(drag, AirCoefficients::default(), Arc::clone(&self.wind))));
            }
            membranes.push((corners, membrane));
            limits.push(material.limits().scaled(factor(self.maps.limit)));
            axes_of_kept.push(axes);
        }

        report.mass = masses.iter().sum();
        if report.mass <= 0.0 {
            return Err(Error::NoMass {
                degenerate: report.degenerate_triangles.len(),
                triangles: self.triangles.len(),
            });
        }
        report.massless = (0..masses.len()).filter(|&v| masses[v] == 0.0).map(|v| v as u32).collect();
        let (cells, is_half) = match self.stretching {
            Stretching::Triangles => (Vec::new(), Vec::new()),
            Stretching::Cells => cells(self.rest, &membranes, &axes_of_kept),
        };
        let (mut hinges, mut plates) = (Vec::new(), Vec::new());
        if material.bend_warp > 0.0 || material.bend_weft > 0.0 {
            let triangles: Vec<[u32; 3]> = membranes.iter().map(|(corners, _)| *corners).collect();
            let sheet = Sheet {
                rest: self.rest,
                topology: Topology::new(self.rest.len(), &triangles),
                triangles: &triangles,
                axes: &axes_of_kept,
                material,
                map: self.maps.bend,
                shrink: self.maps.shrink,
            };
            (hinges, report.degenerate_hinges) = sheet.hinges(self.bending);
            plates = sheet.plates(self.bending);
        }
        let resizing = self.maps.shrink.zip(self.shrinks);
        let resizing = resizing.map(|(factors, ramp)| Resizing { factors: factors.to_vec(), ramp });
        Ok(Cloth { masses, membranes, cells, is_half, limits, hinges, plates, air, resizing, report })
    }

    fn check(&self) -> Result<(), Error> {
        self.material.validate()?;
        let (points, triangles) = (self.rest.len(), self.triangles.len());
        if triangles == 0 {
            return Err(Error::NoTriangles);
        }
        if let Some(point) = self.rest.iter().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { point });
        }
        for (triangle, corners) in self.triangles.iter().enumerate() {
            if let Some(&index) = corners.iter().find(|&&index| index as usize >= points) {
                return Err(Error::IndexOutOfRange { triangle, index, count: points });
            }
        }
        let same = |what: &'static str, found: usize, expected: usize| {
            if found == expected { Ok(()) } else { Err(Error::WrongLength { what, found, expected }) }
        };
        match self.uvs {
            Uvs::None => {}
            Uvs::PerPoint(uvs) => same("uv per point", uvs.len(), points)?,
            Uvs::PerCorner(uvs) => same("uv per triangle corner", uvs.len(), triangles)?,
        }
        for (what, map) in [
            ("density map", self.maps.density),
            ("stretch map", self.maps.stretch),
            ("bend map", self.maps.bend),
            ("air drag map", self.maps.air_drag),
            ("limit map", self.maps.limit),
            ("shrink map", self.maps.shrink),
        ] {
            let Some(map) = map else { continue };
            same(what, map.len(), points)?;
            // cloth shrunk to nothing has no rest shape
            let least = if what == "shrink map" { LEAST_SHRINK } else { 0.0 };
            if let Some(point) = map.iter().position(|value| !(least..=1e6).contains(value)) {
                return Err(Error::Factor { what, point, value: map[point] });
            }
        }
        Ok(())
    }

    /// Warp and weft of a triangle: from uv, else from the direction. `None` where it has no area.
    fn axes(&self, triangle: usize, points: &[Vec3; 3], report: &mut ClothReport) -> Option<[Vec3; 2]> {
        let uvs = match self.uvs {
            Uvs::None => None,
            Uvs::PerPoint(uvs) => Some(self.triangles[triangle].map(|v| uvs[v as usize])),
            Uvs::PerCorner(uvs) => Some(uvs[triangle]),
        };
        if let Some(axes) = uvs.and_then(|uvs| axes_from_uv(points, &uvs)) {
            return Some(axes);
        }
        let axes = axes_from_direction(points, self.warp).or_else(|| axes_from_direction(points, Vec3::Y))?;
        report.triangles_without_axes += usize::from(uvs.is_some());
        Some(axes)
    }
}

/// The smallest factor on lengths at rest.
const LEAST_SHRINK: f64 = 0.05;

/// A stencil at rest, shrunk as it is: about its middle, so that what was flat stays flat and every angle is kept.
pub(crate) fn shrunk<const N: usize>(points: [Vec3; N], factor: f64) -> [Vec3; N] {
    // the very bits where nothing shrinks
    if factor == 1.0 {
        return points;
    }
    let middle = points.iter().sum::<Vec3>() / N as f64;
    points.map(|p| middle + factor * (p - middle))
}

/// The mean of a map over a stencil; 1 without a map.
pub(crate) fn mean_over<const N: usize>(map: Option<&[f64]>, points: &[u32; N]) -> f64 {
    map.map_or(1.0, |map| points.iter().map(|&v| map[v as usize]).sum::<f64>() / N as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit square of 2·n² triangles in the xy plane.
    fn square(n: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let at = |i: u32, j: u32| j * (n + 1) + i;
        let points = (0..=n)
            .flat_map(|j| (0..=n).map(move |i| Vec3::new(f64::from(i), f64::from(j), 0.0) / f64::from(n)))
            .collect();
        let triangles = (0..n)
            .flat_map(|j| (0..n).map(move |i| (i, j)))
            .flat_map(|(i, j)| {
                [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
            })
            .collect();
        (points, triangles)
    }

    #[test]
    fn mass_is_density_times_area_at_every_resolution() {
        for n in [1, 3, 8] {
            let (points, triangles) = square(n);
            let cloth = ClothBuilder::new(&points, &triangles, &Material::default()).build().unwrap();
            assert!((cloth.report.mass - 0.15).abs() < 1e-12);
            assert!((cloth.report.area - 1.0).abs() < 1e-12);
            assert_eq!(cloth.hinges.len() as u32, 3 * n * n - 2 * n);
            assert_eq!(cloth.report.degenerate_triangles, Vec::<usize>::new());
        }
    }

    #[test]
    fn degenerate_triangles_are_left_out_and_counted() {
        let (mut points, mut triangles) = square(2);
        points.push(Vec3::new(0.25, 0.0, 0.0)); // on an edge
        points.push(Vec3::splat(7.0)); // loose
        triangles.push([0, 1, 9]);
        triangles.push([3, 3, 4]);
        let cloth = ClothBuilder::new(&points, &triangles, &Material::default()).build().unwrap();
        assert_eq!(cloth.report.degenerate_triangles, vec![8, 9]);
        assert_eq!(cloth.report.massless, vec![9, 10]);
        assert_eq!(cloth.membranes.len(), 8);
        assert_eq!(cloth.hinges.len(), 8);
    }

    #[test]
    fn what_cannot_be_a_cloth_gets_an_error_with_facts() {
        let material = Material::default();
        let (points, triangles) = square(1);
        let build = |points: &[Vec3], triangles: &[[u32; 3]]| {
            ClothBuilder::new(points, triangles, &material).build().unwrap_err()
        };
        assert_eq!(build(&points, &[]), Error::NoTriangles);
        assert_eq!(
            build(&points, &[[0, 1, 2], [0, 4, 1]]),
            Error::IndexOutOfRange { triangle: 1, index: 4, count: 4 }
        );
        assert_eq!(build(&points, &[[0, 0, 1]]), Error::NoMass { degenerate: 1, triangles: 1 });
        let mut broken = points.clone();
        broken[2].y = f64::NAN;
        assert_eq!(build(&broken, &triangles), Error::NotFinite { point: 2 });

        let builder = ClothBuilder::new(&points, &triangles, &material);
        let short = [1.0; 3];
        let wrong = builder.clone().maps(Maps { bend: Some(&short), ..Maps::default() }).build();
        assert_eq!(wrong.unwrap_err(), Error::WrongLength { what: "bend map", found: 3, expected: 4 });
        let negative = [1.0, 1.0, -0.5, 1.0];
        let wrong = builder.clone().maps(Maps { density: Some(&negative), ..Maps::default() }).build();
        assert_eq!(wrong.unwrap_err(), Error::Factor { what: "density map", point: 2, value: -0.5 });
        let uvs = [Vec2::ZERO; 2];
        assert!(matches!(builder.uvs(Uvs::PerPoint(&uvs)).build(), Err(Error::WrongLength { .. })));
        let massless = Material { area_density: 0.0, ..material.clone() };
        assert!(matches!(
            ClothBuilder::new(&points, &triangles, &massless).build(),
            Err(Error::Material { field: "area_density", .. })
        ));
    }

    #[test]
    fn maps_scale_what_they_say() {
        use dynamics::Element;
        let (points, triangles) = square(1);
        let material = Material::default();
        let twice = [2.0; 4];
        let maps = Maps {
            density: Some(&twice),
            stretch: Some(&twice),
            bend: Some(&twice),
            air_drag: Some(&[0.0; 4]),
            limit: Some(&twice),
            shrink: None,
        };
        let builder = ClothBuilder::new(&points, &triangles, &material);
        let (plain, painted) = (builder.build().unwrap(), builder.clone().maps(maps).build().unwrap());
        assert!((painted.report.mass - 2.0 * plain.report.mass).abs() < 1e-12);
        let x = [Vec3::ZERO, Vec3::new(1.1, 0.0, 0.0), Vec3::new(1.0, 1.0, 0.2)];
        let energy = |cloth: &Cloth| cloth.membranes[0].1.value(&x);
        assert!((energy(&painted) / energy(&plain) - 2.0).abs() < 1e-12);
        let y = [x[0], x[2], x[1], Vec3::new(0.0, 1.0, 0.5)];
        let energy = |cloth: &Cloth| cloth.hinges[0].1.value(&y);
        assert!((energy(&painted) / energy(&plain) - 2.0).abs() < 1e-12);
        assert!(painted.air.is_empty() && plain.air.len() == 2);
        assert_eq!(painted.limits[0], plain.limits[0].scaled(2.0));
    }

    /// Cloth shrunk by a fifth is at rest when it is a fifth smaller, and as heavy as before; limits count from there.
    #[test]
    fn shrunk_cloth_is_at_rest_when_it_is_smaller() {
        use dynamics::Element;
        let (points, triangles) = square(3);
        let material = Material::default();
        for bending in [Bending::Hinges, Bending::Plates] {
            let builder = ClothBuilder::new(&points, &triangles, &material).bending(bending);
            let factor = vec![0.8; points.len()];
            let maps = Maps { shrink: Some(&factor), ..Maps::default() };
            let (plain, small) = (builder.build().unwrap(), builder.clone().maps(maps).build().unwrap());
            assert!((small.report.mass - plain.report.mass).abs() < 1e-12);
            assert!((small.report.area - 0.64 * plain.report.area).abs() < 1e-12);
            let smaller: Vec<Vec3> = points.iter().map(|p| 0.8 * *p).collect();
            let energy = |cloth: &Cloth, x: &[Vec3]| -> f64 {
                let at = |v: &u32| x[*v as usize];
                let stretch =
                    cloth.membranes.iter().map(|(t, e)| e.value(&[at(&t[0]), at(&t[1]), at(&t[2])]));
                stretch.sum::<f64>()
                    + cloth.hinges.iter().map(|(t, e)| e.value(&t.each_ref().map(at))).sum::<f64>()
                    + cloth.plates.iter().map(|(t, e)| e.value(&t.each_ref().map(at))).sum::<f64>()
            };
            assert!(energy(&small, &points) > 1.0 && energy(&small, &smaller) < 1e-12);
            assert!(energy(&plain, &points) < 1e-12);
            // bent alike it resists alike: the stiffness is the fabric's
            let bent = |scale: f64| -> Vec<Vec3> {
                points.iter().map(|p| scale * Vec3::new(p.x, p.y, 0.3 * p.x * p.x)).collect()
            };
            let bend = |cloth: &Cloth, x: &[Vec3]| {
                let at = |v: &u32| x[*v as usize];
                cloth.hinges.iter().map(|(t, e)| e.value(&t.each_ref().map(at))).sum::<f64>()
                    + cloth.plates.iter().map(|(t, e)| e.value(&t.each_ref().map(at))).sum::<f64>()
            };
            let (one, other) = (bend(&plain, &bent(1.0)), bend(&small, &bent(0.8)));
            assert!(one > 0.0 && (one / other - 1.0).abs() < 1e-9, "{one} {other}");
        }
        let nothing = vec![0.01; points.len()];
        let maps = Maps { shrink: Some(&nothing), ..Maps::default() };
        let refused = ClothBuilder::new(&points, &triangles, &material).maps(maps).build().unwrap_err();
        assert!(matches!(refused, Error::Factor { what: "shrink map", point: 0, .. }));
    }

    #[test]
    fn uv_turns_the_threads_and_bad_uv_falls_back_to_the_direction() {
        use dynamics::Element;
        let (points, triangles) = square(1);
        let material = Material { bend_warp: 4e-5, bend_weft: 1e-5, ..Material::default() };
        let builder = ClothBuilder::new(&points, &triangles, &material);
        // u along y is what the direction (up) gives as well
        let uvs: Vec<Vec2> = points.iter().map(|p| Vec2::new(p.y, p.x)).collect();
        let stretched = [0, 1, 3].map(|v: usize| points[v] * Vec3::new(1.0, 1.1, 1.0));
        let energy = |cloth: &Cloth| cloth.membranes[0].1.value(&stretched);
        let by_direction = builder.build().unwrap();
        let by_uv = builder.clone().uvs(Uvs::PerPoint(&uvs)).build().unwrap();
        assert!((energy(&by_uv) / energy(&by_direction) - 1.0).abs() < 1e-12);
        let turned: Vec<[Vec2; 3]> = triangles
            .iter()
            .map(|t| t.map(|v| Vec2::new(points[v as usize].x, points[v as usize].y)))
            .collect();
        let turned = builder.clone().uvs(Uvs::PerCorner(&turned)).build().unwrap();
        let ratio = material.stretch_weft / material.stretch_warp;
        assert!((energy(&turned) / energy(&by_direction) - ratio).abs() < 1e-12);
        let collapsed = builder.clone().uvs(Uvs::PerCorner(&[[Vec2::ZERO; 3]; 2])).build().unwrap();
        assert_eq!(collapsed.report.triangles_without_axes, 2);
        assert_eq!(energy(&collapsed), energy(&by_direction));
    }
}
