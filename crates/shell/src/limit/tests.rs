use super::*;
use crate::axes_from_direction;
use dynamics::check_derivatives;

const REST: [Vec3; 3] = [Vec3::ZERO, Vec3::new(1.0, 0.1, 0.0), Vec3::new(0.3, 0.9, 0.2)];

fn limited(limits: StrainLimits, shift: [f64; 3]) -> LimitedTriangle {
    let axes = axes_from_direction(&REST, Vec3::new(0.3, 1.0, -0.2)).unwrap();
    let membrane = Membrane::new(&REST, axes, MembraneStiffness::isotropic(1000.0, 0.3)).unwrap();
    let stiffness = membrane.stiffness_times_area();
    let channels = Channels { threshold: limits.green(FELT_FROM), stiffness, shift };
    LimitedTriangle { membrane, limits, lengths: None, channels }
}

const COTTON: StrainLimits = StrainLimits { warp: Some(0.03), weft: Some(0.02), shear: Some(0.1) };

#[test]
fn derivatives_hold_below_and_beyond_the_limits() {
    let turn = dynamics::random_rotation(3);
    let sheared = |p: Vec3| turn * Vec3::new(1.2 * p.x + 0.4 * p.y, 1.1 * p.y, p.z - 0.3 * p.x);
    for shift in [[0.0; 3], [0.02, 0.0, 0.05]] {
        let element = limited(COTTON, shift);
        check_derivatives(&element, &REST.map(sheared));
        check_derivatives(&element, &REST.map(|p| 1.3 * p));
        check_derivatives(&element, &REST.map(|p| 0.7 * p));
        assert!(element.is_felt(&REST.map(sheared)));
        assert!(element.projected_hessian(&REST.map(sheared)).min_eigenvalue() > -1e-6);
    }
}

#[test]
fn nothing_is_felt_below_nine_tenths() {
    let element = limited(COTTON, [0.0; 3]);
    let stretched = |by: f64| REST.map(|p| (1.0 + by) * p);
    assert!(!element.is_felt(&stretched(0.0179)) && element.is_felt(&stretched(0.0181)));
    assert_eq!(element.value(&stretched(0.0179)), 0.0);
    assert!(!limited(StrainLimits::default(), [0.0; 3]).is_felt(&stretched(5.0)));
}
