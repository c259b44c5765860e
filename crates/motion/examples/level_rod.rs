//! A rod that hangs from a hinge: the torque that holds it level.
#![allow(clippy::print_stdout)]

use geometry::{Mat3, Quat, Vec3};
use motion::{Body, Data, Inertia, Joint, JointKind};

fn main() -> Result<(), motion::Error> {
    // a rod of 2 kg and 1 m that hangs from a hinge, held level: half its weight times its length
    let rod = Inertia::new(2.0, Vec3::new(0.0, -0.5, 0.0), Mat3::from_diagonal(Vec3::splat(2.0 / 12.0)));
    let kind = JointKind::Hinge(Vec3::Z);
    let joint = Joint {
        name: "rod".into(),
        parent: None,
        kind,
        offset: Vec3::ZERO,
        rest: Quat::IDENTITY,
        inertia: rod,
    };
    let body = Body::new(vec![joint])?;
    let mut torque = [0.0];
    let level = [std::f64::consts::FRAC_PI_2];
    Data::new(&body).inverse_dynamics(&body, &level, &[0.0], &[0.0], Vec3::new(0.0, -9.81, 0.0), &mut torque);
    assert!((torque[0] - 9.81).abs() < 1e-12);
    println!("{:.3} N m hold the rod level", torque[0]);
    Ok(())
}
