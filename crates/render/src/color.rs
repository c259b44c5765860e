//! Colour: sRGB, tone, and maps from numbers to colours.
//!
//! Light is added up in linear RGB; pictures and colours chosen by people are sRGB. Colour maps are drawn in OKLab
//! (Ottosson 2020), where equal steps look equal, so a map's lightness is a straight line by construction.

use std::sync::OnceLock;

use glam::Vec3;

/// A colour as people write it: sRGB, eight bits a channel.
pub type Srgb = [u8; 3];

/// Linear light from an sRGB colour.
pub(crate) fn linear_from_srgb(color: Srgb) -> Vec3 {
    // powers are slow, and there are only 256
    static TABLE: OnceLock<[f32; 256]> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        std::array::from_fn(|c| {
            let c = c as f32 / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    });
    Vec3::from(color.map(|c| table[usize::from(c)]))
}

/// The sRGB colour nearest to linear light; values outside [0, 1] are clamped, NaN is black.
pub(crate) fn srgb_from_linear(color: Vec3) -> Srgb {
    let channel = |c: f32| {
        let c = c.clamp(0.0, 1.0);
        let c = if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 };
        (255.0 * c + 0.5) as u8
    };
    color.to_array().map(channel)
}

/// The same by a table, a level off at most: for pictures that must be ready soon.
pub(crate) fn srgb_from_linear_table(color: Vec3) -> Srgb {
    const STEPS: usize = 1 << 14;
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        (0..=STEPS).map(|i| srgb_from_linear(Vec3::splat(i as f32 / STEPS as f32))[0]).collect()
    });
    // not a number becomes 0
    color.to_array().map(|c| table[((c * STEPS as f32 + 0.5) as usize).min(STEPS)])
}

/// A mild filmic shoulder: straight up to 0.6, then bends so that white is approached and never reached.
pub(crate) fn tone(color: Vec3) -> Vec3 {
    const KNEE: f32 = 0.6;
    let channel = |c: f32| {
        if c <= KNEE { c.max(0.0) } else { 1.0 - (1.0 - KNEE) * (-(c - KNEE) / (1.0 - KNEE)).exp() }
    };
    Vec3::from(color.to_array().map(channel))
}

/// Linear RGB from OKLab lightness, chroma and hue (radians); the chroma is lowered until the colour exists on a screen.
fn linear_from_oklch(lightness: f32, chroma: f32, hue: f32) -> Vec3 {
    let at = |chroma: f32| {
        let (a, b) = (chroma * hue.cos(), chroma * hue.sin());
        let l = (lightness + 0.396_337_8 * a + 0.215_803_76 * b).powi(3);
        let m = (lightness - 0.105_561_346 * a - 0.063_854_17 * b).powi(3);
        let s = (lightness - 0.089_484_18 * a - 1.291_485_5 * b).powi(3);
        Vec3::new(
            4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
            -1.268_438 * l + 2.609_757_4 * m - 0.341_319_4 * s,
            -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
        )
    };
    let shown = |c: Vec3| c.min_element() >= -1e-4 && c.max_element() <= 1.0001;
    let (mut low, mut high) = (0.0, chroma);
    if shown(at(high)) {
        return at(high);
    }
    for _ in 0..12 {
        let middle = 0.5 * (low + high);
        if shown(at(middle)) { low = middle } else { high = middle }
    }
    at(low)
}

/// Which colours stand for which numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMap {
    /// Small is dark indigo, large is bright yellow, through rose and orange; lightness rises evenly.
    #[default]
    Dusk,
    /// Blue below the middle of the range, terracotta above it, paper in the middle: for signed values.
    Diverging,
    /// All hues at about one lightness: for things that are to be told apart, not compared.
    Wheel,
}

impl ColorMap {
    /// The colour at `t` in [0, 1] (clamped) as linear RGB; grey for NaN.
    pub(crate) fn linear(self, t: f32) -> Vec3 {
        if t.is_nan() {
            return Vec3::splat(0.25);
        }
        // making a colour takes a search for the largest chroma that a screen shows: made once, blended after
        const STEPS: usize = 1024;
        static TABLES: [OnceLock<Vec<Vec3>>; 3] = [const { OnceLock::new() }; 3];
        let make = || (0..=STEPS).map(|i| self.exact(i as f32 / STEPS as f32)).collect();
        let table = TABLES[self as usize].get_or_init(make);
        let at = t.clamp(0.0, 1.0) * STEPS as f32;
        let below = (at as usize).min(STEPS - 1);
        table[below].lerp(table[below + 1], at - below as f32)
    }

    /// The colour itself, `t` in [0, 1].
    fn exact(self, t: f32) -> Vec3 {
        match self {
            Self::Dusk => {
                // hue from 282° down past 0° to 98°: indigo, rose, orange, yellow
                let hue = (282.0 + 176.0 * t).to_radians();
                linear_from_oklch(0.30 + 0.60 * t, 0.15, hue)
            }
            Self::Diverging => {
                let away = 2.0 * (t - 0.5).abs();
                let hue: f32 = if t < 0.5 { 250.0 } else { 40.0 };
                linear_from_oklch(0.94 - 0.46 * away, 0.145 * away, hue.to_radians())
            }
            Self::Wheel => {
                // a little light and dark beside the hue, so that neighbours differ in a grey print, too
                linear_from_oklch(0.72 + 0.10 * (31.0 * t).sin(), 0.125, (360.0 * t).to_radians())
            }
        }
    }

    /// The colour at `t` in [0, 1] as it appears in a legend.
    pub fn color(self, t: f32) -> Srgb {
        srgb_from_linear(self.linear(t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srgb_round_trips_every_level() {
        for level in 0..=255 {
            assert_eq!(srgb_from_linear(linear_from_srgb([level; 3])), [level; 3]);
        }
        assert_eq!(srgb_from_linear(Vec3::new(f32::NAN, -1.0, 2.0)), [0, 0, 255]);
    }

    #[test]
    fn the_table_is_a_level_off_at_most() {
        for step in 0..=5000 {
            let color = Vec3::splat(step as f32 / 5000.0);
            assert!(srgb_from_linear(color)[0].abs_diff(srgb_from_linear_table(color)[0]) <= 1);
        }
        assert_eq!(srgb_from_linear_table(Vec3::new(f32::NAN, -1.0, 2.0)), [0, 0, 255]);
    }

    #[test]
    fn tone_is_monotonic_smooth_and_below_white() {
        let at = |x: f32| tone(Vec3::splat(x)).x;
        assert_eq!(at(0.3), 0.3);
        let mut last = 0.0;
        for step in 0..400 {
            let value = at(step as f32 * 0.01);
            assert!(value >= last && value - last < 0.0101 && value <= 1.0);
            last = value;
        }
    }

    /// Lightness as OKLab defines it, from linear RGB.
    fn lightness(c: Vec3) -> f32 {
        let l = (0.412_221_46 * c.x + 0.536_332_55 * c.y + 0.051_445_995 * c.z).max(0.0).cbrt();
        let m = (0.211_903_5 * c.x + 0.680_699_5 * c.y + 0.107_396_96 * c.z).max(0.0).cbrt();
        let s = (0.088_302_46 * c.x + 0.281_718_85 * c.y + 0.629_978_7 * c.z).max(0.0).cbrt();
        0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s
    }

    #[test]
    fn dusk_rises_evenly_in_lightness() {
        for step in 0..=20 {
            let t = step as f32 / 20.0;
            let l = lightness(ColorMap::Dusk.linear(t));
            assert!((l - (0.30 + 0.60 * t)).abs() < 0.01, "lightness {l} at {t}");
        }
    }

    #[test]
    fn diverging_mirrors_about_a_pale_middle() {
        let l = |t: f32| lightness(ColorMap::Diverging.linear(t));
        assert!((l(0.5) - 0.94).abs() < 0.01);
        for away in [0.1, 0.3, 0.5] {
            assert!((l(0.5 - away) - l(0.5 + away)).abs() < 0.01);
        }
        assert_eq!(ColorMap::Dusk.color(f32::NAN), ColorMap::Diverging.color(f32::NAN));
    }
}
