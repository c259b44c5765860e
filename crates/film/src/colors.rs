//! Colours as artists write them.

use fluid::ColorMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A palette by name, or colours at places of the ramp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Colors {
    /// One that comes with followthrough.
    Palette(Palette),
    /// Colours at places between 0 and 1, straight lines between them.
    Stops(Vec<ColorStop>),
}

/// Palettes that come with followthrough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Palette {
    /// Clear, a violet veil, rose, a warm white: smoke that glows from within.
    #[default]
    Magic,
    /// Clear to a dark red that is almost black where it is thick.
    Blood,
    /// Clear, deep red, orange, yellow, white.
    Fire,
    /// Clear to a soft, bluish white.
    Fog,
    /// Clear to black.
    Ink,
    /// Black to white, opaque.
    Grey,
}

/// A colour at a place of the ramp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColorStop {
    /// From 0, where the ramp is clear, to 1, where it is solid.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub at: f64,
    /// `"#rrggbb"`, or `"#rrggbbaa"` with alpha.
    pub color: String,
}

impl Colors {
    pub(crate) fn map(&self) -> ColorMap {
        match self {
            Self::Palette(palette) => palette.map(),
            Self::Stops(stops) => {
                let color = |stop: &ColorStop| (stop.at as f32, parse(&stop.color).unwrap_or_default());
                ColorMap { stops: stops.iter().map(color).collect() }
            }
        }
    }

    /// What is wrong with it.
    pub(crate) fn problem(&self) -> Option<String> {
        let Self::Stops(stops) = self else { return None };
        if stops.is_empty() {
            return Some("there are no colours".into());
        }
        if stops.windows(2).any(|pair| pair[1].at < pair[0].at) {
            return Some("the colours are not in the order of their places".into());
        }
        let wrong = stops.iter().find(|stop| parse(&stop.color).is_none())?;
        Some(format!("`{}` is not a colour; write \"#rrggbb\" or \"#rrggbbaa\"", wrong.color))
    }
}

impl Palette {
    fn map(self) -> ColorMap {
        let stops = |list: &[(f32, &str)]| ColorMap {
            stops: list.iter().map(|(at, color)| (*at, parse(color).unwrap_or_default())).collect(),
        };
        match self {
            Self::Magic => ColorMap::magic(),
            Self::Blood => ColorMap::blood(),
            Self::Fire => stops(&[
                (0.0, "#3a040000"),
                (0.25, "#8e1205aa"),
                (0.55, "#ef5a10ee"),
                (0.8, "#ffc14bff"),
                (1.0, "#fff6dcff"),
            ]),
            Self::Fog => stops(&[(0.0, "#a9b8c800"), (0.5, "#c3ced899"), (1.0, "#eef2f5f2")]),
            Self::Ink => ColorMap::ink([0.0; 3]),
            Self::Grey => ColorMap::grey(),
        }
    }
}

/// A dark, bluish background in linear light.
pub(crate) const NIGHT: [f32; 4] = [0.005, 0.004, 0.012, 1.0];

/// `#rrggbb` or `#rrggbbaa` as linear light and alpha, not multiplied.
pub(crate) fn parse(text: &str) -> Option<[f32; 4]> {
    let digits = text.strip_prefix('#')?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) || ![6, 8].contains(&digits.len()) {
        return None;
    }
    let byte = |i: usize| u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok();
    let level = |i: usize| byte(i).map(|b| f32::from(b) / 255.0);
    let alpha = level(3).unwrap_or(1.0);
    Some([linear(level(0)?), linear(level(1)?), linear(level(2)?), alpha])
}

/// From a screen's level to linear light.
pub(crate) fn linear(level: f32) -> f32 {
    if level <= 0.040_45 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) }
}

/// From linear light to a screen's bytes.
pub(crate) fn srgb(color: [f32; 4]) -> [u8; 3] {
    let encode = |v: f32| if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
    [0, 1, 2].map(|k| (encode(color[k].clamp(0.0, 1.0)) * 255.0 + 0.5) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_and_come_back() {
        assert_eq!(parse("#ffffff"), Some([1.0; 4]));
        assert_eq!(srgb(parse("#12a4fe80").unwrap()), [0x12, 0xa4, 0xfe]);
        assert!((parse("#00000080").unwrap()[3] - 0.502).abs() < 1e-3);
        for wrong in ["", "red", "#12345", "#12345g", "#ééé"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_palette_is_clear_or_black_at_its_beginning() {
        for palette in
            [Palette::Magic, Palette::Blood, Palette::Fire, Palette::Fog, Palette::Ink, Palette::Grey]
        {
            let [r, g, b, _] = palette.map().color(0.0);
            assert_eq!([r, g, b], [0.0; 3], "{palette:?}");
            assert!(palette.map().color(1.0)[3] > 0.9, "{palette:?}");
        }
    }
}
