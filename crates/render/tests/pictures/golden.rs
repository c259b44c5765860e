//! A few small pictures that must keep looking the same. They catch drift; the other tests prove truth.
//!
//! Compared as eyes do, not by bytes: colours averaged over 2 × 2 pixels may differ by a few levels. A failure leaves
//! `NAME.new.png` and `NAME.difference.png` beside the golden picture; move the new one over it when it is better.

use std::path::Path;

use crate::shapes::{ball, chain, still, waving};
use render::{Look, Picture, Scalars, Shading, Stage, View, picture};

const SIZE: [u32; 2] = [120, 90];

/// Means over 2 × 2 pixels, for each channel.
fn softened(picture: &Picture) -> Vec<[f32; 3]> {
    let level = |x: u32, y: u32, channel: usize| f32::from(picture.pixel(x, y).unwrap_or_default()[channel]);
    let mean = |x: u32, y: u32| {
        [0, 1, 2].map(|c| {
            0.25 * (level(x, y, c) + level(x + 1, y, c) + level(x, y + 1, c) + level(x + 1, y + 1, c))
        })
    };
    let places = (0..picture.height - 1).flat_map(|y| (0..picture.width - 1).map(move |x| (x, y)));
    places.map(|(x, y)| mean(x, y)).collect()
}

fn check(name: &str, seen: &Picture) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let read = |path: &Path| {
        let golden = image::open(path).ok()?.into_rgb8();
        let pixels = golden.pixels().map(|p| p.0).collect();
        Some(Picture { width: golden.width(), height: golden.height(), pixels })
    };
    let golden = read(&folder.join(format!("{name}.png")));
    let Some(golden) = golden.filter(|golden| (golden.width, golden.height) == (seen.width, seen.height))
    else {
        seen.save_png(folder.join(format!("{name}.new.png"))).expect("writes");
        panic!("tests/golden/{name}.png is missing or of another size; see {name}.new.png");
    };
    let differences: Vec<f32> = softened(seen)
        .iter()
        .zip(softened(&golden))
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max))
        .collect();
    let mean = differences.iter().sum::<f32>() / differences.len() as f32;
    let largest = differences.iter().copied().fold(0.0, f32::max);
    if mean > 0.5 || largest > 12.0 {
        let amplified =
            |(a, b): (&[u8; 3], &[u8; 3])| [0, 1, 2].map(|c| a[c].abs_diff(b[c]).saturating_mul(8));
        let pixels = seen.pixels.iter().zip(&golden.pixels).map(amplified).collect();
        let difference = Picture { pixels, ..*seen };
        seen.save_png(folder.join(format!("{name}.new.png"))).expect("writes");
        difference.save_png(folder.join(format!("{name}.difference.png"))).expect("writes");
        panic!(
            "{name} has changed: {mean:.2} levels on average, {largest:.1} at most; see tests/golden/{name}.new.png"
        );
    }
}

#[test]
fn ball_on_the_ground() {
    let clip = still(ball(glam::Vec3::new(0.0, 1.0, 0.0), 1.0, 24));
    let stage = Stage::new(&[("", &clip)], View::ThreeQuarter, Look::default(), SIZE).expect("a stage");
    check("ball", &stage.picture(0).expect("a picture"));
}

#[test]
fn facets_and_wires() {
    let clip = waving(8, 4);
    let look = Look { shading: Shading::Flat, wireframe: true, ..Look::default() };
    let stage = Stage::new(&[("wires", &clip)], View::ThreeQuarter, look, SIZE).expect("a stage");
    check("wires", &stage.picture(1).expect("a picture"));
}

#[test]
fn numbers_on_a_wave() {
    let clip = waving(16, 4);
    let frame = clip.frame(1).expect("a frame");
    let values = vec![frame.points[0].iter().map(|p| 100.0 * p[2]).collect()];
    let stage = Stage::new(&[("", &clip)], View::ThreeQuarter, Look::default(), SIZE).expect("a stage");
    let scalars = Scalars::new("depth", "cm", values);
    check(
        "numbers",
        &picture(&clip, &frame, stage.camera(), &Look::default(), SIZE, Some(&scalars)).expect("a picture"),
    );
}

#[test]
fn bones() {
    let clip = chain();
    let stage = Stage::new(&[("", &clip)], View::ThreeQuarter, Look::default(), SIZE).expect("a stage");
    check("bones", &stage.picture(0).expect("a picture"));
}
