//! How steps are taken, and what to do when one fails.

use dynamics::{Integrator, Substeps};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::LayerError;

/// How steps are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Second order and strongly stable: motion does not depend on frame rate and substeps.
    #[default]
    TrBdf2,
    /// First order: damps motion the more the longer the steps. As other tools do.
    BackwardEuler,
    /// One linear solve per step: cheapest, for previews.
    LinearlyImplicit,
}

/// The engine's settings.
pub(crate) fn stepping(method: Method, substeps: Option<usize>, tolerance: f64) -> dynamics::Settings {
    dynamics::Settings {
        integrator: match method {
            Method::TrBdf2 => Integrator::TrBdf2,
            Method::BackwardEuler => Integrator::BackwardEuler,
            Method::LinearlyImplicit => Integrator::LinearlyImplicit { delta: 0.0 },
        },
        substeps: substeps.map_or(Substeps::Automatic, Substeps::Fixed),
        tolerance,
        ..dynamics::Settings::default()
    }
}

/// Names the dial to turn.
pub(crate) fn explain(error: dynamics::Error) -> LayerError {
    let help = match &error {
        dynamics::Error::Diverged { .. } => {
            "the animation may jump, or the cloth be pulled apart: look at the input there, raise `substeps`, or lower the stretch stiffness"
        }
        dynamics::Error::Explained { sentence, remedy } => {
            return LayerError::new(sentence.clone()).with_help(remedy.clone());
        }
        dynamics::Error::Stuck { .. } => {
            "something there is pinched, tangled or pulled apart: look at the input there, raise `tolerance`, lower the stiffness or `contact.thickness`, or set `substeps` to a number"
        }
        dynamics::Error::Linear(linear::Error::NotPositiveDefinite { point }) => {
            // numbers of a matrix mean nothing to an artist
            let sentence = format!(
                "no step is stable: around point {point} forces grow faster than any step can follow"
            );
            let help = "something there is pinched between what does not give way, or far out of scale: look at the input there, lower `contact.thickness` or the stiffness, keep pinned points out of obstacles, or set `substeps` to a number";
            return LayerError::new(sentence).with_help(help);
        }
        dynamics::Error::NotFinite { .. } => "raise `substeps`, or look for a jump in the input",
        _ => return LayerError::new(error),
    };
    LayerError::new(error).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_that_is_not_definite_ends_in_words_with_a_remedy() {
        let error = explain(linear::Error::NotPositiveDefinite { point: 688 }.into());
        let sentence = error.to_string();
        assert!(sentence.contains("point 688") && !sentence.contains("definite"), "{sentence}");
        assert!(error.remedy().is_some_and(|help| help.contains("contact.thickness")));
    }
}
