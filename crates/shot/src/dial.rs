//! A number that may change over the film: one value, or keys with straight lines between.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A number, or a list of keys `[seconds, value]` in the order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Dial {
    /// The same all the time.
    Fixed(f64),
    /// Keys `[seconds, value]`: straight lines between them, the first and last value before and after.
    Keys(Vec<[f64; 2]>),
}

impl Dial {
    /// The value at a time.
    pub fn at(&self, seconds: f64) -> f64 {
        match self {
            Self::Fixed(value) => *value,
            Self::Keys(keys) => {
                let after = keys.partition_point(|key| key[0] <= seconds);
                match (after.checked_sub(1).and_then(|i| keys.get(i)), keys.get(after)) {
                    (Some(a), Some(b)) => a[1] + (b[1] - a[1]) * (seconds - a[0]) / (b[0] - a[0]),
                    (Some(only), None) | (None, Some(only)) => only[1],
                    (None, None) => 0.0,
                }
            }
        }
    }

    /// What is wrong with the keys, if anything.
    pub fn problem(&self) -> Option<&'static str> {
        match self {
            Self::Keys(keys) if keys.is_empty() => Some("there are no keys"),
            Self::Keys(keys) if keys.windows(2).any(|pair| pair[1][0] <= pair[0][0]) => {
                Some("the keys are not in the order of time")
            }
            _ => None,
        }
    }
}

/// Written out where it stands: the bounds that stand beside it hold for its values (see `schema::spread_bounds`).
impl JsonSchema for Dial {
    fn schema_name() -> Cow<'static, str> {
        "Dial".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "description": "The same all the time.", "type": "number" },
                {
                    "description": "Keys `[seconds, value]`: straight lines between them, the first and last value before and after.",
                    "type": "array",
                    "items": { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 },
                    "x-keys": true,
                },
            ],
        })
    }
}

impl From<f64> for Dial {
    fn from(value: f64) -> Self {
        Self::Fixed(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_joined_by_straight_lines_and_held_at_the_ends() {
        let dial = Dial::Keys(vec![[1.0, 10.0], [3.0, 20.0]]);
        assert_eq!([0.0, 1.0, 2.0, 3.0, 9.0].map(|t| dial.at(t)), [10.0, 10.0, 15.0, 20.0, 20.0]);
        assert_eq!(Dial::from(4.0).at(7.0), 4.0);
        assert!(dial.problem().is_none());
        assert!(Dial::Keys(vec![[1.0, 0.0], [1.0, 2.0]]).problem().is_some());
        assert!(Dial::Keys(Vec::new()).problem().is_some());
    }
}
