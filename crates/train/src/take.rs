//! A clip that training looks at: where it is, and which part of it.

use clip::FilePath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{FrameRange, Input};

/// A clip of a skeleton.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TakeSource {
    /// What you call it. Default: the clip's, the sample's or the file's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file that holds it, relative to the training file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePath>,
    /// A sample that comes with followthrough, instead of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
    /// The animation to take from a file that holds several. Default: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<String>,
    /// The frames to use, first and last counted from 0: `"0-100"`. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub frames: Option<FrameRange>,
    /// How long one unit of the file is, in metres. Default: what the file says or shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub unit: Option<f64>,
}

impl TakeSource {
    /// All of it, as a shot's input.
    pub(crate) fn input(&self) -> Input {
        Input {
            file: self.file.clone(),
            sample: self.sample.clone(),
            clip: self.clip.clone(),
            unit: self.unit,
            ..Input::default()
        }
    }

    /// What it is called.
    pub fn title(&self) -> String {
        let stem = |file: &FilePath| file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let named = self.name.clone().or_else(|| self.clip.clone()).or_else(|| self.sample.clone());
        named.or_else(|| self.file.as_ref().and_then(stem)).unwrap_or_else(|| "take".into())
    }
}
