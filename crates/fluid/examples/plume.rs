//! A heated floor: writes pictures of the temperature of a plume as it grows. `cargo run --release -p followthrough-fluid --example plume -- FOLDER`

use fluid::{
    ColorMap, Domain, Drive, Fluid, Initial, Picture, Quantity, Ramp, Settings, Side, Source, Stepper,
    picture_of, smear,
};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let domain = Domain::plane([480, 321], [1.5, 1.0], [Side::Periodic, Side::Wall])?;
    // a thin hot layer at the floor, roughened by a fixed pattern of waves
    let rough =
        |x: f64| (1..24).map(|k| ((k * k) as f64 * 1.7 + k as f64 * x * 4.19).sin()).sum::<f64>() / 8.0;
    let warm = domain.field(|p| 20.0 * (-(p[1] / (0.05 + 0.012 * rough(p[0]))).powi(2)).exp());
    let rate = domain.field(|p| 4.0 * (-(p[1] / 0.03).powi(2)).exp());
    let initial = Initial { temperature: Some(warm.clone()), ..Initial::default() };
    let (fluid, mut state) =
        Fluid::new(domain, Settings { texture_sets: 1, ..Settings::default() }, &initial)?;
    let heat = Source { quantity: Quantity::Temperature, rate, toward: Some(warm) };
    let drive = Drive { sources: vec![heat], obstacle: None };
    let mut stepper = Stepper::new(&fluid);
    let ramp = Ramp { clear: 0.5, solid: 18.0 };
    for frame in 0..8 {
        let report = stepper.advance(&fluid, &mut state, &drive, 0.75)?;
        let temperature = state.temperature(&fluid);
        let night = Picture::new(1, 1, vec![[0.005, 0.004, 0.02, 1.0]])?;
        let plume = picture_of(&temperature, &domain, [960, 640], ramp, &ColorMap::magic())?.over(&night);
        save(&plume, &format!("{folder}/plume{frame}.png"))?;
        // grain drawn out along the flow shows the eddies
        let grain = |i: usize| ((i as u32).wrapping_mul(2_654_435_761) >> 20) as f32 / 4096.0;
        let pixels = (0..480 * 320)
            .map(|i| [grain(i * i + 7 * i), grain(i * i + 7 * i), grain(i * i + 7 * i), 1.0])
            .collect();
        let (u, v) = (state.velocity(&fluid, 0), state.velocity(&fluid, 1));
        let flow = smear(&Picture::new(480, 320, pixels)?, &domain, [&u, &v], 0.06, 0.06)?;
        save(&flow, &format!("{folder}/flow{frame}.png"))?;
        let (speed, range) = (report.peak_speed, temperature.range());
        writeln!(std::io::stdout(), "{frame}: {} steps, {speed:.2} m/s, {range:?} K", report.steps)?;
    }
    Ok(())
}

fn save(picture: &Picture, path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (width, height) = (picture.width as u32, picture.height as u32);
    image::RgbaImage::from_raw(width, height, picture.to_srgb()).ok_or("size")?.save(path)?;
    Ok(())
}
