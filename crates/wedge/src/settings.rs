//! What the schema says about one setting, by its path: for values drawn at random.

use serde_json::Value as Json;

use shot::Shot;

/// What a setting may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Allowed {
    /// A number; whether it is a whole one.
    Number {
        /// The least that is usual, or allowed.
        least: f64,
        /// The most.
        most: f64,
        /// Whether it has no fraction.
        whole: bool,
    },
    /// One of these words.
    Word(Vec<String>),
}

/// What the setting at a path of a shot may be; `None` where the schema bounds it by nothing.
pub(crate) fn allowed(shot: &Shot, schema: &Json, path: &str) -> Option<Allowed> {
    let mut steps = path.split(['.', '[', ']']).map(str::trim).filter(|step| !step.is_empty());
    let mut places = match steps.next()? {
        "layer" => {
            let name = steps.next()?;
            let by_number = name.parse().ok().and_then(|index: usize| shot.layers.get(index));
            let entry = by_number.or_else(|| shot.layers.iter().find(|entry| entry.name == name))?;
            let kinds = schema.pointer("/properties/layer/items/oneOf")?.as_array()?;
            vec![kinds.iter().find(|kind| kind["title"] == entry.kind)?]
        }
        top => vec![schema["properties"].get(top)?],
    };
    for step in steps {
        let branches = places.iter().flat_map(|place| alternatives(schema, place));
        places = branches.filter_map(|branch| branch["properties"].get(step)).collect();
    }
    let leaves: Vec<&Json> = places.iter().flat_map(|place| alternatives(schema, place)).collect();
    let number = leaves.iter().find_map(|leaf| number(leaf));
    number.or_else(|| {
        let words: Vec<String> = leaves.iter().flat_map(|leaf| words(leaf)).collect();
        (!words.is_empty()).then_some(Allowed::Word(words))
    })
}

/// A schema and everything that it may be instead, references followed.
fn alternatives<'a>(root: &'a Json, schema: &'a Json) -> Vec<&'a Json> {
    let (mut found, mut open) = (Vec::new(), vec![schema]);
    // a schema that refers to itself has no end
    while let Some(schema) = open.pop().filter(|_| found.len() < 256) {
        found.push(schema);
        let target = schema["$ref"].as_str().and_then(|to| root.pointer(to.trim_start_matches('#')));
        let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
        let next: Vec<&Json> = target.into_iter().chain(branches).collect();
        // the first branch is the usual one: it is looked at first
        open.extend(next.into_iter().rev());
    }
    found
}

fn number(schema: &Json) -> Option<Allowed> {
    let has = |name: &str| {
        schema["type"] == name || schema["type"].as_array().is_some_and(|all| all.iter().any(|t| t == name))
    };
    let whole = has("integer");
    if !whole && !has("number") {
        return None;
    }
    let bound = |keys: [&str; 2], at: usize| {
        let usual = schema["x-usual"].get(at).and_then(Json::as_f64);
        usual.or_else(|| keys.iter().find_map(|key| schema[*key].as_f64()))
    };
    let least = bound(["minimum", "exclusiveMinimum"], 0)?;
    let most = bound(["maximum", "exclusiveMaximum"], 1)?;
    Some(Allowed::Number { least, most, whole })
}

fn words(schema: &Json) -> Vec<String> {
    // materials are examples: what is none of them has a sentence of its own
    let listed = ["enum", "examples"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    let words = listed.chain(std::iter::once(&schema["const"])).filter_map(Json::as_str).map(str::to_owned);
    let flags = if schema["type"] == "boolean" { &["true", "false"][..] } else { &[] };
    words.chain(flags.iter().map(|flag| (*flag).to_owned())).collect()
}
