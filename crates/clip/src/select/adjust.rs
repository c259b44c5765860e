//! Any selector's weights, made stronger, cut off at a level, softened or turned round.

use serde::{Deserialize, Serialize};

use super::{Selector, blurred};
use crate::Mesh;

/// A selector whose weights are changed: first `gain`, then `at_least`, then `blur`, then `invert`. They stand beside its own key:
/// `{ joint = "foot", at_least = 0.5, blur = 2 }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjusted {
    /// Whose weights.
    pub of: Box<Selector>,
    /// How they are changed.
    pub by: Adjustment,
}

/// What is done to weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Adjustment {
    /// A factor on the weights, which end at 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 1e6, "x-usual" = [0.0, 100.0])))]
    pub gain: Option<f64>,
    /// What weighs at least this is chosen wholly, the rest not at all: what a joint moves by half or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 1.0)))]
    pub at_least: Option<f64>,
    /// How many times each point's weight is averaged with its neighbours'.
    #[serde(skip_serializing_if = "is_nothing")]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0, "maximum" = 1000, "x-usual" = [0, 50])))]
    pub blur: usize,
    /// Whether one minus the weight is taken, after everything else.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub invert: bool,
}

fn is_nothing(number: &usize) -> bool {
    *number == 0
}

impl Adjusted {
    /// The weights of `of`, changed.
    pub(super) fn adjusted(&self, mesh: &Mesh, mut weights: Vec<f32>) -> Vec<f32> {
        let Adjustment { gain, at_least, blur, invert } = self.by;
        if let Some(gain) = gain {
            weights.iter_mut().for_each(|w| *w = (gain * f64::from(*w)).clamp(0.0, 1.0) as f32);
        }
        if let Some(level) = at_least {
            // weights are rounded to single precision, the level as it was written is not
            let level = level as f32;
            weights.iter_mut().for_each(|w| *w = f32::from(u8::from(*w >= level && *w > 0.0)));
        }
        let mut weights = blurred(mesh, weights, blur);
        if invert {
            weights.iter_mut().for_each(|w| *w = 1.0 - *w);
        }
        weights
    }
}
