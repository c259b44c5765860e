//! How selectors stand in files: a word, or a table of one key, with adjustments beside it.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::adjust::Adjustment;
use super::{Adjusted, BoxRegion, HeightRegion, JointRegion, LevelsRegion, Names, Selector, SphereRegion};
use crate::FilePath;

/// The selectors of one key, as serde writes and reads them.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Selector", rename_all = "snake_case")]
enum Plain {
    All,
    Group(Names),
    Joint(Names),
    Box(BoxRegion),
    Sphere(SphereRegion),
    Height(HeightRegion),
    Component(usize),
    File(FilePath),
    Any(Vec<Selector>),
    Not(Box<Selector>),
    Sum(Vec<Selector>),
    Difference(Vec<Selector>),
    Levels(LevelsRegion),
    #[serde(skip)]
    #[allow(dead_code, reason = "it stands for a variant of the other enum")]
    NearJoint(JointRegion),
    #[serde(skip)]
    #[allow(dead_code, reason = "it stands for a variant of the other enum")]
    Adjusted(Adjusted),
}

/// The keys of [`Adjustment`].
const ADJUSTMENTS: [&str; 4] = ["gain", "at_least", "blur", "invert"];
/// The keys of [`JointRegion`] beside `joint`.
const NEARNESS: [&str; 3] = ["within", "offset", "falloff"];

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        let mut adjustment = Map::new();
        let mut is_near = false;
        if let Value::Object(keys) = &mut value {
            for key in ADJUSTMENTS {
                adjustment.extend(keys.remove_entry(key));
            }
            is_near = keys.contains_key("joint") && NEARNESS.iter().any(|key| keys.contains_key(*key));
        }
        let of = match is_near {
            true => JointRegion::deserialize(value).map(Self::NearJoint),
            false => Plain::deserialize(value),
        };
        let of = of.map_err(D::Error::custom)?;
        if adjustment.is_empty() {
            return Ok(of);
        }
        let by = Adjustment::deserialize(Value::Object(adjustment)).map_err(D::Error::custom)?;
        Ok(Self::Adjusted(Adjusted { of: Box::new(of), by }))
    }
}

impl Serialize for Selector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::NearJoint(region) => region.serialize(serializer),
            Self::Adjusted(adjusted) => {
                let mut map = serializer.serialize_map(None)?;
                adjusted.of.write_into(&mut map)?;
                let Adjustment { gain, at_least, blur, invert } = adjusted.by;
                if let Some(gain) = gain {
                    map.serialize_entry("gain", &gain)?;
                }
                if let Some(level) = at_least {
                    map.serialize_entry("at_least", &level)?;
                }
                if blur > 0 {
                    map.serialize_entry("blur", &blur)?;
                }
                if invert {
                    map.serialize_entry("invert", &true)?;
                }
                map.end()
            }
            plain => Plain::serialize(plain, serializer),
        }
    }
}

impl Selector {
    /// Its own keys as entries of a table that has more. What has no table of one key (`"all"`, what is adjusted already) is the one of a list.
    fn write_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Group(names) => map.serialize_entry("group", names),
            Self::Joint(names) => map.serialize_entry("joint", names),
            Self::Box(region) => map.serialize_entry("box", region),
            Self::Sphere(region) => map.serialize_entry("sphere", region),
            Self::Height(region) => map.serialize_entry("height", region),
            Self::Component(number) => map.serialize_entry("component", number),
            Self::File(path) => map.serialize_entry("file", path),
            Self::Any(selectors) => map.serialize_entry("any", selectors),
            Self::Not(selector) => map.serialize_entry("not", selector),
            Self::Sum(selectors) => map.serialize_entry("sum", selectors),
            Self::Difference(selectors) => map.serialize_entry("difference", selectors),
            Self::Levels(levels) => map.serialize_entry("levels", levels),
            Self::NearJoint(region) => {
                map.serialize_entry("joint", &region.joint)?;
                map.serialize_entry("within", &region.within)?;
                map.serialize_entry("offset", &region.offset)?;
                map.serialize_entry("falloff", &region.falloff)
            }
            Self::All | Self::Adjusted(_) => map.serialize_entry("any", std::slice::from_ref(self)),
        }
    }
}

/// Adds to the tables of a selector's schema the keys that may stand beside their own.
#[cfg(feature = "schemars")]
pub(super) fn with_adjustments(schema: &mut schemars::Schema) {
    use schemars::JsonSchema;
    let mut generator = schemars::SchemaGenerator::default();
    let adjustments = Value::from(Adjustment::json_schema(&mut generator));
    let nearness = Value::from(JointRegion::json_schema(&mut generator));
    let Some(Value::Array(branches)) = schema.get_mut("oneOf") else { return };
    for branch in branches {
        let about = branch["description"].clone();
        let Some(Value::Object(properties)) = branch.get_mut("properties") else { continue };
        // editors look at the key, not at its table
        for own in properties.values_mut().filter_map(Value::as_object_mut) {
            own.entry("description").or_insert_with(|| about.clone());
        }
        let is_joint = properties.contains_key("joint");
        let more = ADJUSTMENTS.iter().map(|key| (key, &adjustments));
        let near = NEARNESS.iter().map(|key| (key, &nearness)).filter(|_| is_joint);
        for (key, of) in more.chain(near) {
            properties.insert((*key).to_owned(), of["properties"][key].clone());
        }
    }
}
