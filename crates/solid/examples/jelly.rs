//! A bar of jelly that sags and swings: `cargo run --release -p followthrough-solid --example jelly`.
#![allow(clippy::print_stdout)]

use dynamics::{Body, Settings, State, StaticGuide, Stepper};
use geometry::{TetMesh, Vec3};
use solid::{Error, Law, Material, Solid};

fn main() -> Result<(), Error> {
    let bar = TetMesh::box_grid([12, 4, 4], Vec3::new(0.3, 0.1, 0.1))?;
    let solid = Solid::new(&bar, Law::Stvk, &Material::preset("jelly")?)?;
    let known: Vec<bool> = bar.points().iter().map(|p| p.x == 0.0).collect();
    let elements = solid.elements(&known);
    let gravity = Vec3::new(0.0, -9.81, 0.0);
    let body = Body::builder(solid.masses).energy(elements).known(known).gravity(gravity).build()?;
    let mut state = State::at_rest(bar.points().to_vec());
    let guide = StaticGuide::new(bar.points().to_vec());
    let mut stepper = Stepper::new(&body, bar.points(), Settings::default())?;
    for frame in 0..48 {
        let tip =
            bar.points().iter().zip(&state.positions).map(|(rest, now)| now.y - rest.y).fold(0.0, f64::min);
        println!("{frame:>3} {:>6.1} mm {}", 1e3 * tip, "#".repeat((-400.0 * tip) as usize));
        stepper.advance(&body, &mut state, &guide, 1.0 / 24.0, &mut [])?;
    }
    Ok(())
}
