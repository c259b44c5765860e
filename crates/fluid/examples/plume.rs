//! A heated floor: writes pictures of the temperature of a plume as it grows. `cargo run --release -p fluid --example plume -- FOLDER`

use fluid::{Domain, Drive, Field, Fluid, Initial, Quantity, Settings, Side, Source, Stepper};

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
    for frame in 0..6 {
        let report = stepper.advance(&fluid, &mut state, &drive, 1.0)?;
        let temperature = state.temperature(&fluid);
        save(&temperature, -2.0, 20.0, &format!("{folder}/plume{frame}.png"))?;
        let pressure = state.pressure(&fluid);
        let (low, high) = pressure.range();
        save(&pressure, low, high, &format!("{folder}/pressure{frame}.png"))?;
        let range = temperature.range();
        use std::io::Write;
        writeln!(
            std::io::stdout(),
            "{frame}: {report:?} sound {:.2} temperature {range:?}",
            state.sound_speed
        )?;
    }
    Ok(())
}

fn save(field: &Field, black: f32, white: f32, path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let pixels = field
        .to_image()
        .iter()
        .map(|v| ((v - black) / (white - black) * 255.0).clamp(0.0, 255.0) as u8)
        .collect();
    let [width, height, _] = field.points;
    image::GrayImage::from_raw(width as u32, height as u32, pixels).ok_or("size")?.save(path)?;
    Ok(())
}
