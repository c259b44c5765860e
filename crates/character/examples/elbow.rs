//! What an elbow keeps of its volume, by method and number of cells: a round bar blended by a smoothstep over 1.5 diameters.
//!
//! Volume is what the blended stretch gains or loses; the outer side is the largest distance of the skin from the bones, over the radius.

#![allow(clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use character::{Error, Flesh, Kit, Method, Nonlinear, Player, Settings, SmoothSkin};
use common::{BLEND, Bar, RADIUS, bar, bent, bulge, skinned, volume};
use geometry::Vec3;
use glam::Mat4;
use solid::{Law, Material};

const RATE: f64 = 30.0;

/// Goes to a pose over a second and stays there for another.
fn settle(
    mut step: impl FnMut(&[Mat4], f64) -> Result<(), Error>,
    angle: f64,
    twist: f64,
) -> Result<(), Error> {
    (0..=60).try_for_each(|k| {
        let s = (f64::from(k) / RATE).min(1.0);
        step(&bent(s * angle, s * twist), 1.0 / RATE)
    })
}

fn tell(name: &str, bar: &Bar, points: &[Vec3], angle: f64, twist: f64, begun: Instant) {
    let rest = volume(&bar.skin.points, &bar.skin.triangles);
    let stretch = std::f64::consts::PI * RADIUS * RADIUS * 2.0 * BLEND;
    let change = (volume(points, &bar.skin.triangles) - rest) / stretch;
    let [outer, inner] = bulge(bar, points, angle);
    println!(
        "{name:32} bent {:4.0}° twisted {:4.0}°: volume {:+6.1} %, outer side {:.3}, inner {:.3}, {:.1} s",
        angle.to_degrees(),
        twist.to_degrees(),
        100.0 * change,
        outer,
        inner,
        begun.elapsed().as_secs_f64()
    );
}

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let cells: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let cells = if cells.is_empty() { vec![300, 1000] } else { cells };
    let bar = bar(32, 80);
    let poses =
        [(90.0_f64, 0.0_f64), (120.0, 0.0), (0.0, 180.0)].map(|(a, t)| (a.to_radians(), t.to_radians()));
    for (angle, twist) in poses {
        tell("skin", &bar, &skinned(&bar, &bent(angle, twist)), angle, twist, Instant::now());
    }
    for cells in cells {
        for (name, way, poisson) in WAYS {
            let material = Material { poisson, damping: 0.5, ..Settings::default().material };
            let joints = name == "blended, joints";
            let settings = Settings { cells, material, joints, ..Settings::default() };
            let flesh = Flesh::new(&bar.joints, bar.skin.clone(), settings)?;
            for (angle, twist) in poses {
                let begun = Instant::now();
                let points = match way {
                    Some(method) => {
                        let mut player = Player::new(Kit::new(&flesh, method, 1.0 / 120.0)?)?;
                        settle(|pose, seconds| player.step(pose, seconds), angle, twist)?;
                        flesh.surface(player.shown())
                    }
                    None => {
                        let mut engine = Nonlinear::new(&flesh, Law::NeoHookean, Some(1))?;
                        settle(|pose, seconds| engine.step(pose, seconds).map(drop), angle, twist)?;
                        let carried = flesh.surface(engine.coefficients());
                        tell(
                            &format!("{name}, {cells} cells, by cells"),
                            &bar,
                            &carried,
                            angle,
                            twist,
                            begun,
                        );
                        let skin = SmoothSkin::new(&flesh, &bar.skin.points);
                        skin.surface(&flesh.points(engine.coefficients()))
                    }
                };
                tell(&format!("{name}, {cells} cells"), &bar, &points, angle, twist, begun);
            }
        }
    }
    Ok(())
}

/// How flesh is solved for, and its Poisson's ratio.
const WAYS: [(&str, Option<Method>, f64); 4] = [
    ("blended", Some(Method::BlendedLinear), 0.4),
    ("blended, joints", Some(Method::BlendedLinear), 0.4),
    ("corotated", Some(Method::Corotated), 0.48),
    ("nonlinear", None, 0.495),
];
