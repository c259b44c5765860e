//! The JSON Schema of a shot file, for editors and for [`conform`](crate::conform).
//!
//! It is put together from the types that serde reads: the file's own tables and, for every kind of layer, the keys
//! that all layers share and the kind's settings. The doc comments of the fields are what an editor shows.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::Registry;
use crate::shot::{Input, MeshNames, Output};

/// What every layer can say beside its own settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Common {
    /// Which layer this is.
    pub(crate) kind: String,
    /// What you call it; names the layer in reports, in `--set` and in the bake folder. Default: its kind.
    pub(crate) name: Option<String>,
    /// The mesh it works on; or a list of meshes, or, with `*` for anything in a name, all that fit and have what the layer asks for: they are
    /// simulated as one and meet each other. Default: the first one that has what the layer asks for.
    pub(crate) mesh: Option<MeshNames>,
    /// A name that several layers, one after the other, have in common: they are simulated together, each pushes the others, and
    /// nothing crosses. Default: the layer is simulated by itself.
    pub(crate) together: Option<String>,
    /// Whether it takes part at all. A layer that does not passes its input on, bit for bit.
    #[serde(default = "default_enabled")]
    pub(crate) enabled: bool,
    /// How much of the layer's result is used: 0 gives the input, bit for bit, 1 the result. Changing it bakes nothing again
    /// in the layer itself.
    #[serde(default = "default_strength")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) strength: f64,
}

fn default_enabled() -> bool {
    true
}

fn default_strength() -> f64 {
    1.0
}

/// The keys of [`Common`].
pub(crate) const COMMON_KEYS: [&str; 6] = ["kind", "name", "mesh", "together", "enabled", "strength"];

/// Times in keys, in seconds: no film is longer.
const KEY_TIMES: [f64; 2] = [-1e5, 1e5];

/// What bounds a number: refused beyond these.
const HARD_BOUNDS: [&str; 4] = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
/// `[least, most]` of what is usual: beyond them stands a warning.
pub(crate) const USUAL: &str = "x-usual";
/// Marks a list of keys `[seconds, value]`.
const KEYS: &str = "x-keys";

/// The JSON Schema (draft 7) of shot files that name what a registry knows.
///
/// ```
/// let schema = shot::schema_of(&shot::Registry::empty());
/// assert_eq!(schema["properties"]["input"]["type"], "object");
/// ```
pub fn schema_of(registry: &Registry) -> Json {
    let mut generator = SchemaSettings::draft07().into_generator();
    let input = Json::from(Input::json_schema(&mut generator));
    let mut output = Json::from(Output::json_schema(&mut generator));
    if let Some(film) = registry.film() {
        output["properties"]["film"] = (film.schema)(&mut generator);
    }
    let common = Json::from(Common::json_schema(&mut generator));
    let layers: Vec<Json> = registry
        .kinds()
        .iter()
        .map(|kind| {
            let mut layer = Json::from((kind.schema)(&mut generator));
            add_common(&mut layer, &common);
            layer["title"] = kind.name.into();
            layer["properties"]["kind"] =
                json!({ "const": kind.name, "description": format!("{}: {}.", kind.name, kind.summary) });
            layer
        })
        .collect();
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "followthrough shot",
        "description": "An animation, the layers of physics that are put on it, and the files that come out.",
        "type": "object",
        "required": ["input"],
        "properties": {
            "input": input,
            "layer": {
                "description": "The layers, from the lowest to the highest; each works on the result of the one before.",
                "type": "array",
                "items": { "oneOf": layers },
            },
            "output": output,
        },
        "definitions": generator.take_definitions(true),
    });
    close(&mut schema);
    explain(&mut schema);
    spread_bounds(&mut schema);
    schema
}

/// Adds the keys that all layers share to a kind's own; where both have one, the kind's description wins.
fn add_common(layer: &mut Json, common: &Json) {
    if !layer["properties"].is_object() {
        layer["properties"] = json!({});
    }
    layer["type"] = "object".into();
    for key in COMMON_KEYS {
        if layer["properties"][key].is_null() {
            layer["properties"][key] = common["properties"][key].clone();
        }
    }
    let mut required = layer["required"].as_array().cloned().unwrap_or_default();
    required.push("kind".into());
    layer["required"] = required.into();
}

/// schemars explains a variant such as `{ group = "…" }` at its table; editors look at the key in it.
pub(crate) fn explain(schema: &mut Json) {
    if let Some(about) = schema["description"].as_str().map(str::to_owned)
        && let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut)
        && properties.len() == 1
    {
        for property in properties.values_mut().filter_map(Json::as_object_mut) {
            property.entry("description").or_insert_with(|| about.clone().into());
        }
    }
    match schema {
        Json::Object(map) => map.values_mut().for_each(explain),
        Json::Array(items) => items.iter_mut().for_each(explain),
        _ => {}
    }
}

/// A range that stands at a list or at a table of names, or at something that is a number or a list, holds for the numbers in it; in lists of keys, for
/// the values and not for their times. Said at each number, so that editors understand it.
pub(crate) fn spread_bounds(schema: &mut Json) {
    let is_table = schema["additionalProperties"].is_object();
    if schema["items"].is_object() || schema["anyOf"].is_array() || is_table {
        let bounds: Vec<(&str, Json)> = HARD_BOUNDS
            .into_iter()
            .chain([USUAL])
            .filter_map(|key| Some((key, schema.as_object_mut()?.remove(key)?)))
            .collect();
        if let Some(branches) = schema["anyOf"].as_array_mut() {
            branches.iter_mut().for_each(|branch| bound(branch, &bounds));
        } else if is_table {
            bound(&mut schema["additionalProperties"], &bounds);
        } else if schema[KEYS] == true {
            let mut value = json!({ "type": "number" });
            bound(&mut value, &bounds);
            let time = json!({ "type": "number", "minimum": KEY_TIMES[0], "maximum": KEY_TIMES[1] });
            schema["items"]["items"] = json!([time, value]);
        } else {
            bound(&mut schema["items"], &bounds);
        }
    }
    if let Some(map) = schema.as_object_mut() {
        map.remove(KEYS);
    }
    match schema {
        Json::Object(map) => map.values_mut().for_each(spread_bounds),
        Json::Array(items) => items.iter_mut().for_each(spread_bounds),
        _ => {}
    }
}

/// Gives a number, or what holds numbers, bounds where it has none of its own.
fn bound(schema: &mut Json, bounds: &[(&str, Json)]) {
    let can_hold = ["number", "integer", "array"].iter().any(|&name| {
        schema["type"] == name
            || schema["type"].as_array().is_some_and(|names| names.iter().any(|n| n == name))
    });
    if let Some(map) = schema.as_object_mut().filter(|_| can_hold) {
        bounds.iter().for_each(|(key, value)| {
            map.entry(*key).or_insert_with(|| value.clone());
        });
    }
}

/// Tables allow the keys that are listed and no others; said in the schema, so that editors agree with us.
pub(crate) fn close(schema: &mut Json) {
    match schema {
        Json::Object(map) => {
            if map.get("properties").is_some_and(Json::is_object)
                && map.get("type").is_some_and(|t| t == "object")
            {
                map.insert("additionalProperties".into(), false.into());
            }
            map.values_mut().for_each(close);
        }
        Json::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}
