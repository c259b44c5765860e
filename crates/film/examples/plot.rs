//! A plot of a report as a picture of its own:
//! `cargo run -p followthrough-film --example plot -- REPORT.json PICTURE.svg TITLE [LINE…]`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [report, picture, title, lines @ ..] = &words[..] else {
        return Err("say REPORT.json PICTURE.svg TITLE [LINE…]".into());
    };
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report)?)?;
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let layers = report["layers"].as_array().into_iter().flatten();
    let drawn = layers.filter_map(|layer| film::plot_picture(layer, title, &lines)).next();
    Ok(std::fs::write(picture, drawn.ok_or("no layer has such a figure")?)?)
}
