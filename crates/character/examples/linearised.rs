//! How long a step may be until one linearised step and Newton's method part (skeleton §4.2), and what blending adds to a bend.
//!
//! A round bar bends by 90° in a quarter of a second and stops. For every length of step, one iteration of Newton's method a step is
//! compared with as many as it takes: the farthest that points are apart at any time, over the length of the bar.

#![allow(clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use character::{Error, Flesh, Kit, Method, Nonlinear, Player, Settings};
use common::{bar, bent, bulge};
use geometry::Vec3;
use solid::Law;

const LENGTH: f64 = 2.0;
const ANGLE: f64 = std::f64::consts::FRAC_PI_2;

fn main() -> Result<(), Error> {
    let bar = bar(16, 32);
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), Settings { cells: 120, ..Settings::default() })?;
    for rate in [24, 36, 48, 60, 72, 84, 96] {
        let step = 1.0 / f64::from(rate);
        let mut full = Nonlinear::new(&flesh, Law::Stvk, Some(1))?;
        let mut once = Nonlinear::linearised(&flesh, Law::Stvk, 1)?;
        let (mut worst, mut iterations) = (0.0_f64, 0);
        for k in 0..=rate / 2 {
            let pose = bent(ANGLE * (4.0 * f64::from(k) * step).min(1.0), 0.0);
            iterations += full.step(&pose, step)?.iterations;
            once.step(&pose, step)?;
            let apart = flesh.surface(full.coefficients());
            let apart = apart.iter().zip(flesh.surface(once.coefficients())).map(|(a, b)| a.distance(b));
            worst = apart.fold(worst, f64::max);
        }
        let mean = f64::from(iterations as u32) / f64::from(rate / 2);
        println!(
            "steps of {:5.1} ms: {:6.2} % apart; {mean:.1} iterations",
            1e3 * step,
            100.0 * worst / LENGTH
        );
    }
    protrusion(&bar, &flesh)
}

/// How far the bend stands out, blended and nonlinear, of the same material.
fn protrusion(bar: &common::Bar, flesh: &Flesh) -> Result<(), Error> {
    for degrees in [45.0_f64, 90.0] {
        let pose = |k: u32| bent(degrees.to_radians() * (f64::from(k) / 20.0).min(1.0), 0.0);
        let mut player = Player::new(Kit::new(flesh, Method::BlendedLinear, 1.0 / 120.0)?)?;
        let mut engine = Nonlinear::new(flesh, Law::Stvk, Some(1))?;
        for k in 0..=50 {
            player.step(&pose(k), 1.0 / 20.0)?;
            engine.step(&pose(k), 1.0 / 20.0)?;
        }
        let out = |points: Vec<Vec3>| bulge(bar, &points, degrees.to_radians())[0];
        let [blended, exact] = [flesh.surface(player.shown()), flesh.surface(engine.coefficients())].map(out);
        println!("bent by {degrees}°: outer side {blended:.3} of the radius blended, {exact:.3} nonlinear");
    }
    Ok(())
}
