//! How far a cloth is from its rest shape: figures for reports, scalars for pictures.

use dynamics::ActorReport;
use geometry::Vec3;

use crate::{Membrane, StrainLimits};

impl Membrane {
    /// Largest and smallest factor by which a length in the triangle has grown: the singular values of F.
    pub fn principal_stretches(&self, x: &[Vec3; 3]) -> [f64; 2] {
        let [fu, fv] = self.threads(x);
        let (uu, vv, uv) = (fu.length_squared(), fv.length_squared(), fu.dot(fv));
        let mean = 0.5 * (uu + vv);
        let radius = (0.25 * (uu - vv).powi(2) + uv * uv).sqrt();
        let largest = (mean + radius).sqrt();
        // The product of both is ‖F_u × F_v‖; mean − radius would cancel where the triangle is nearly crushed.
        let smallest = if largest > 0.0 { fu.cross(fv).length() / largest } else { 0.0 };
        [largest, smallest]
    }
}

/// The strain of a whole cloth at one moment. Strains are relative changes of length: 0.01 is one percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Strain {
    /// Largest stretch of any triangle in any direction.
    pub max_stretch: f64,
    /// Largest compression, as a positive number; 1 is crushed.
    pub max_compression: f64,
    /// Mean over the area of the larger of both.
    pub mean: f64,
    /// The triangle (its place in the list) that is stretched most.
    pub worst: Option<usize>,
}

impl Strain {
    /// Measures triangles whose points stand at `points`.
    pub fn measure(membranes: &[([u32; 3], Membrane)], points: &[Vec3]) -> Self {
        let mut strain = Self::default();
        let mut total_area = 0.0;
        for (i, (corners, membrane)) in membranes.iter().enumerate() {
            let [largest, smallest] =
                membrane.principal_stretches(&corners.map(|point| points[point as usize]));
            let (stretch, compression) = ((largest - 1.0).max(0.0), (1.0 - smallest).max(0.0));
            if strain.worst.is_none() || stretch > strain.max_stretch {
                strain.worst = Some(i);
            }
            strain.max_stretch = strain.max_stretch.max(stretch);
            strain.max_compression = strain.max_compression.max(compression);
            strain.mean += membrane.rest_area() * stretch.max(compression);
            total_area += membrane.rest_area();
        }
        if total_area > 0.0 {
            strain.mean /= total_area;
        }
        strain
    }
}

/// How far warp and weft are stretched at most, and how far they are from a right angle: what limits are about. Triangles whose
/// points all follow exactly are passed over: no cloth decides about them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FabricStrain {
    /// The largest stretch along the warp: 0.01 is one percent.
    pub warp: f64,
    /// The largest stretch along the weft.
    pub weft: f64,
    /// The largest cosine between warp and weft, F_u·F_v.
    pub shear: f64,
    /// Triangles beyond a limit.
    pub beyond: usize,
}

impl FabricStrain {
    /// Measures triangles whose points stand at `points`; where there are no `limits`, none is exceeded.
    pub fn measure(
        membranes: &[([u32; 3], Membrane)],
        limits: &[StrainLimits],
        known: &[bool],
        points: &[Vec3],
    ) -> Self {
        let mut strain = Self::default();
        for (index, (corners, membrane)) in membranes.iter().enumerate() {
            let limits = limits.get(index).copied().unwrap_or_default();
            if corners.iter().all(|&point| known[point as usize]) {
                continue;
            }
            let [fu, fv] = membrane.threads(&corners.map(|point| points[point as usize]));
            let now = [fu.length() - 1.0, fv.length() - 1.0, fu.dot(fv).abs()];
            let beyond = |(now, limit): (&f64, Option<f64>)| limit.is_some_and(|limit| *now > limit + 1e-6);
            let is_beyond = now.iter().zip([limits.warp, limits.weft, limits.shear]).any(beyond);
            strain.warp = strain.warp.max(now[0]);
            strain.weft = strain.weft.max(now[1]);
            strain.shear = strain.shear.max(now[2]);
            strain.beyond += usize::from(is_beyond);
        }
        strain
    }

    /// The shear as an angle, in degrees.
    pub fn shear_degrees(&self) -> f64 {
        self.shear.min(1.0).asin().to_degrees()
    }

    /// A sentence for the first frame of several with triangles beyond their limits; `before` has their number in the frame before.
    pub(crate) fn warning(&self, before: &mut usize) -> Option<String> {
        let is_first = std::mem::replace(before, self.beyond) == 0 && self.beyond > 0;
        let Self { warp, weft, beyond, .. } = *self;
        is_first.then(|| {
            format!(
                "from here on {beyond} triangles are beyond the limits of the fabric (warp {:.1} %, weft {:.1} %, shear {:.0}°), by the first \
                 frame or by points that follow and are too far apart; they are led back as fast as that allows",
                100.0 * warp,
                100.0 * weft,
                self.shear_degrees()
            )
        })
    }

    /// Adds the figures to a report.
    pub(crate) fn report(&self, report: &mut ActorReport) {
        report.add("strain/warp", "%", 100.0 * self.warp);
        report.add("strain/weft", "%", 100.0 * self.weft);
        report.add("shear/largest", "°", self.shear_degrees());
        report.add("strain/beyond limits", "triangles", self.beyond as f64);
    }
}

/// One number per point for colouring: the stretch of the triangles around it, averaged by area; negative where they are
/// compressed more than stretched. Zero at points without triangles.
pub fn point_strain(membranes: &[([u32; 3], Membrane)], points: &[Vec3]) -> Vec<f64> {
    let mut sums = vec![0.0; points.len()];
    let mut areas = vec![0.0; points.len()];
    for (corners, membrane) in membranes {
        let [largest, smallest] = membrane.principal_stretches(&corners.map(|point| points[point as usize]));
        let (stretch, compression) = ((largest - 1.0).max(0.0), (1.0 - smallest).max(0.0));
        let signed = if compression > stretch { -compression } else { stretch };
        let area = membrane.rest_area();
        for &corner in corners {
            sums[corner as usize] += area * signed;
            areas[corner as usize] += area;
        }
    }
    sums.iter().zip(&areas).map(|(&sum, &area)| if area > 0.0 { sum / area } else { 0.0 }).collect()
}

/// The largest relative growth of any side of the triangles, never below zero; what other tools call stretch. Sides
/// without rest length are passed over.
pub fn max_edge_strain(rest: &[Vec3], points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    let mut strain = 0.0_f64;
    for &[a, b, c] in triangles {
        for (e0, e1) in [(a, b), (b, c), (c, a)] {
            let (e0, e1) = (e0 as usize, e1 as usize);
            let rest_length = rest[e0].distance(rest[e1]);
            if rest_length > 0.0 {
                strain = strain.max(points[e0].distance(points[e1]) / rest_length - 1.0);
            }
        }
    }
    strain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MembraneStiffness, axes_from_direction};

    fn triangle(rest: &[Vec3; 3]) -> Membrane {
        let axes = axes_from_direction(rest, Vec3::new(1.0, 0.3, 0.0)).unwrap();
        Membrane::new(rest, axes, MembraneStiffness::isotropic(1000.0, 0.3)).unwrap()
    }

    #[test]
    fn principal_stretches_of_a_known_deformation() {
        let rest = [Vec3::ZERO, Vec3::new(1.0, 0.2, 0.0), Vec3::new(0.3, 0.8, 0.0)];
        // 10 % along x, −20 % along y, then turned: the axes of the cloth do not matter
        let turn = dynamics::random_rotation(5);
        let x = rest.map(|p| turn * Vec3::new(1.1 * p.x, 0.8 * p.y, 0.0));
        let [largest, smallest] = triangle(&rest).principal_stretches(&x);
        assert!((largest - 1.1).abs() < 1e-12 && (smallest - 0.8).abs() < 1e-12);
        let crushed = rest.map(|p| Vec3::new(p.x, 0.0, 0.0));
        assert!(triangle(&rest).principal_stretches(&crushed)[1] < 1e-12);
        assert_eq!(triangle(&rest).principal_stretches(&[Vec3::ZERO; 3]), [0.0, 0.0]);
    }

    #[test]
    fn the_worst_triangle_is_found_and_points_share_their_triangles() {
        let rest = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X + Vec3::Y, Vec3::Z];
        let triangles = [[0, 1, 2], [1, 3, 2]];
        let membranes: Vec<_> =
            triangles.iter().map(|t: &[u32; 3]| (*t, triangle(&t.map(|v| rest[v as usize])))).collect();
        assert!(Strain::measure(&membranes, &rest).max_stretch < 1e-12);

        let mut points = rest;
        points[3] += 0.1 * Vec3::X; // stretches the second triangle along x at its top
        let strain = Strain::measure(&membranes, &points);
        assert_eq!(strain.worst, Some(1));
        assert!(strain.max_stretch >= max_edge_strain(&rest, &points, &triangles) - 1e-12);
        assert!((max_edge_strain(&rest, &points, &triangles) - 0.1).abs() < 1e-12);
        let scalars = point_strain(&membranes, &points);
        assert!(scalars[0].abs() < 1e-12 && scalars[4] == 0.0);
        assert!((scalars[3] - strain.max_stretch).abs() < 1e-12);
        assert!(
            (scalars[1] - 0.5 * strain.max_stretch).abs() < 1e-12,
            "half of its triangles' area is strained"
        );
        assert!((strain.mean - 0.5 * strain.max_stretch).abs() < 1e-12);
    }

    #[test]
    fn warp_weft_and_shear_are_told_apart_and_what_follows_is_passed_over() {
        let rest = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X + Vec3::Y];
        let made = |t: [u32; 3]| {
            let axes = axes_from_direction(&t.map(|v| rest[v as usize]), Vec3::X).unwrap();
            let stiffness = MembraneStiffness::isotropic(1000.0, 0.3);
            (t, Membrane::new(&t.map(|v| rest[v as usize]), axes, stiffness).unwrap())
        };
        let membranes = [made([0, 1, 2]), made([1, 3, 2])];
        let limits = [StrainLimits { warp: Some(0.03), ..StrainLimits::default() }; 2];
        let pulled = rest.map(|p| Vec3::new(1.04 * p.x + 0.1 * p.y, 1.02 * p.y, 0.0));
        let strain = FabricStrain::measure(&membranes, &limits, &[true, true, true, false], &pulled);
        assert!((strain.warp - 0.04).abs() < 1e-12 && (strain.shear - 0.104).abs() < 1e-12);
        assert!((strain.weft - ((1.02_f64.powi(2) + 0.01).sqrt() - 1.0)).abs() < 1e-12);
        assert_eq!(strain.beyond, 1);
        let none = FabricStrain::measure(&membranes, &limits, &[true; 4], &pulled);
        assert_eq!(none, FabricStrain::default());
    }

    #[test]
    fn no_triangles_no_strain() {
        assert_eq!(Strain::measure(&[], &[]), Strain::default());
        assert_eq!(max_edge_strain(&[Vec3::ZERO], &[Vec3::ZERO], &[[0, 0, 0]]), 0.0);
    }
}
