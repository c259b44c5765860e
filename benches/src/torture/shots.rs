//! Random shots: the demos, made small, with dials turned anywhere that the JSON Schema allows.
//!
//! What may be turned is read from the schema and from the settings that a shot has, so that a new dial is turned from its first day. A random shot
//! is a list of `--set`s, which can be typed after `followthrough bake`.

use geometry::Random;
use serde_json::Value as Json;
use shot::{Reader, Shot};

/// A small shot to start from: a demo, and what makes it small.
pub(super) struct Base {
    /// The demo.
    pub(super) name: &'static str,
    text: &'static str,
    small: &'static [&'static str],
}

macro_rules! demo {
    ($name:literal, $($small:literal),*) => {
        Base { name: $name, text: include_str!(concat!("../../../crates/cli/demos/", $name, ".toml")), small: &[$($small),*] }
    };
}

/// Every demo that simulates.
pub(super) const BASES: &[Base] = &[
    demo!("sheet",),
    demo!("flag",),
    demo!("cape", "layer[0].pre_roll=0.0"),
    demo!("curtain", "layer[0].pre_roll=0.0"),
    demo!("drape",),
    demo!("box",),
    demo!("branch", "layer[0].subdivide=1"),
    demo!("bag", "layer[0].subdivide=1"),
    demo!("puppet", "layer[0].tests.count=30"),
    demo!("plant", "layer[0].tets=150"),
    demo!("quadruped", "layer[0].tets=200"),
    demo!("balance", "layer[0].tets=200", "layer[1].tets=100"),
    demo!("ball", "layer[0].tets=200"),
    demo!("completion", "layer[0].tets=300"),
    demo!("belly", "layer[0].tets=200", "layer[1].pre_roll=0.0"),
    demo!("letters", "layer[0].grid=[48, 27]"),
    demo!("magic-smoke", "layer[0].grid=[48, 32]", "layer[0].pre_roll=0.1"),
    demo!("bowl", "layer[0].grid=[64, 22]"),
    demo!("obstacle", "layer[0].grid=[48, 32]"),
    demo!("warp", "layer[0].grid=[48, 32]"),
    demo!("fog", "layer[0].grid=[36, 12]"),
    demo!("pudding", "layer[0].tets=150", "layer[1].tets=80"),
    demo!("cow", "layer[0].cells=200"),
    demo!("tail", "layer[0].cells=150"),
    demo!("elbow", "layer[0].cells=150"),
    demo!("bulge", "layer[0].tets=300", "layer[0].modes=8"),
    demo!("diver", "layer[0].tets=400", "layer[0].modes=8"),
    demo!("push", "input.frames=0-9"),
    demo!("repair", "input.frames=0-9"),
    demo!("slope", "input.frames=0-9"),
];

/// Dials by which a shot asks for more work: how far they are turned at most, in terms of what the base has, and in any case. A random
/// shot should be strange, not large.
const COSTLY: &[(&str, f64, f64)] = &[
    ("pre_roll", 1.0, 0.2),
    ("seconds", 1.0, 0.2),
    ("substeps", 2.0, 12.0),
    ("tets", 2.0, 200.0),
    ("modes", 2.0, 12.0),
    ("subdivide", 1.0, 1.0),
    ("grid", 1.5, 32.0),
    ("cells", 1.0, 400.0),
    ("levels", 1.0, 1.0),
    ("count", 2.0, 40.0),
    ("patches", 1.0, 30.0),
    ("steps_per_second", 2.0, 240.0),
    ("speed", 4.0, 4.0),
    ("max_steps", 0.0, 3000.0),
];
/// What is not turned: names, files, places on the mesh, and edges that would ask for millions of tets.
const LEFT_ALONE: &[&str] =
    &["kind", "name", "mesh", "together", "enabled", "strength", "follow", "at", "edge", "frames", "regions"];

/// Something that can be turned: where it is, what the schema says of it, and what it is now.
struct Dial {
    path: String,
    schema: Json,
    now: Json,
}

impl Base {
    /// The shot as it is, or with settings of its own.
    pub(super) fn shot(&self, settings: &[String]) -> Result<Shot, shot::Error> {
        let quiet = ["output.files=[]", "output.report=false"];
        let reader = Reader::new(followthrough::registry());
        let reader = self.small.iter().chain(&quiet).fold(reader, |reader, set| reader.set(*set));
        let reader = settings.iter().fold(reader, |reader, set| reader.set(set.as_str()));
        reader.parse(self.name, self.text, "".as_ref())
    }

    /// Settings of a random shot.
    pub(super) fn settings(&self, schema: &Json, seed: u64) -> Result<Vec<String>, shot::Error> {
        let shot = self.shot(&[])?;
        let mut random = Random::new(seed);
        let mut settings = Vec::new();
        let layer = random.below(shot.layers.len());
        let entry = &shot.layers[layer];
        let mut dials = Vec::new();
        let kinds = schema["properties"]["layer"]["items"]["oneOf"].as_array();
        if let Some(own) = kinds.into_iter().flatten().find(|own| own["title"] == entry.kind) {
            collect(schema, own, &entry.settings, &format!("layer[{layer}]"), &mut dials);
        }
        if random.unit() < 0.15 && entry.settings.get("contact").is_none() {
            let can_touch = ["cloth", "tracks", "inextensible", "enrich"].contains(&entry.kind);
            settings.extend(can_touch.then(|| format!("layer[{layer}].contact={{}}")));
        }
        for _ in 0..1 + random.below(4) {
            let Some(dial) = dials.get(random.below(dials.len())) else { continue };
            settings.extend(turned(dial, &mut random).map(|value| format!("{}={value}", dial.path)));
        }
        Ok(settings)
    }
}

/// Follows references and takes the one branch that is not null.
fn resolved<'a>(root: &'a Json, mut schema: &'a Json) -> &'a Json {
    for _ in 0..16 {
        if let Some(target) = schema["$ref"].as_str().and_then(|r| root.pointer(r.trim_start_matches('#'))) {
            schema = target;
        } else if let Some([part]) = schema["allOf"].as_array().map(Vec::as_slice) {
            schema = part;
        } else if let Some(branches) = schema["anyOf"].as_array() {
            let Some(branch) = branches.iter().find(|branch| branch["type"] != "null") else { break };
            schema = branch;
        } else {
            break;
        }
    }
    schema
}

/// Everything below a schema that can be turned.
fn collect(root: &Json, schema: &Json, now: &Json, path: &str, dials: &mut Vec<Dial>) {
    let schema = resolved(root, schema);
    let key = path.rsplit('.').next().unwrap_or_default();
    if LEFT_ALONE.contains(&key) {
        return;
    }
    if let Some(properties) = schema["properties"].as_object() {
        for (key, property) in properties {
            collect(root, property, &now[key], &format!("{path}.{key}"), dials);
        }
        return;
    }
    if let (Some(items), "object") =
        (now.as_array(), resolved(root, &schema["items"])["type"].as_str().unwrap_or_default())
    {
        for (i, item) in items.iter().enumerate() {
            collect(root, &schema["items"], item, &format!("{path}[{i}]"), dials);
        }
        return;
    }
    dials.push(Dial { path: path.to_owned(), schema: schema.clone(), now: now.clone() });
}

/// Another value, as TOML; none where the dial is no number, word or switch.
fn turned(dial: &Dial, random: &mut Random) -> Option<String> {
    let Dial { path, schema, now } = dial;
    let key = path.rsplit('.').next().unwrap_or_default();
    let is = |name: &str| {
        schema["type"] == name
            || schema["type"].as_array().is_some_and(|names| names.iter().any(|n| n == name))
    };
    if let Some(words) = words(schema) {
        return Some(format!("\"{}\"", words[random.below(words.len())]));
    }
    if key == "material" {
        const FABRICS: [&str; 9] =
            ["cellophane", "tin_foil", "silk", "paper", "cotton", "denim", "vinyl", "leather", "rubber"];
        const FLESH: [&str; 5] = ["jelly", "fat", "muscle", "rubber", "wood"];
        let names: &[&str] = if FLESH[..3].contains(&now.as_str()?) { &FLESH } else { &FABRICS };
        return Some(format!("\"{}\"", names[random.below(names.len())]));
    }
    if is("boolean") {
        return Some((random.unit() < 0.5).to_string());
    }
    if is("integer") {
        return Some(number(key, schema, now, random)?.round().to_string());
    }
    if is("number") {
        return number(key, schema, now, random).map(|value| format!("{value:?}"));
    }
    let (least, most) = (schema["minItems"].as_u64()?, schema["maxItems"].as_u64()?);
    let item = &schema["items"];
    let count = now.as_array().map_or(least, |now| now.len() as u64).clamp(least, most);
    let whole = item["type"] == "integer";
    let value = |i: u64, random: &mut Random| {
        let value = number(key, item, &now[i as usize], random)?;
        Some(if whole { value.round().to_string() } else { format!("{value:?}") })
    };
    let values: Option<Vec<String>> = (0..count).map(|i| value(i, random)).collect();
    Some(format!("[{}]", values?.join(", ")))
}

/// The words that a schema allows.
fn words(schema: &Json) -> Option<Vec<&str>> {
    let branches = || schema["oneOf"].as_array().into_iter().flatten();
    let fixed: Vec<&str> = match schema["enum"].as_array() {
        Some(words) => words.iter().filter_map(Json::as_str).collect(),
        None => branches().filter_map(|branch| branch["const"].as_str()).collect(),
    };
    (!fixed.is_empty()).then_some(fixed)
}

/// A number in its range: mostly among the usual ones, often anywhere, at times at an end, or a few times what it is.
fn number(key: &str, schema: &Json, now: &Json, random: &mut Random) -> Option<f64> {
    let end = |a: &str, b: &str| schema[a].as_f64().or(schema[b].as_f64());
    let hard = [end("minimum", "exclusiveMinimum")?, end("maximum", "exclusiveMaximum")?];
    let usual =
        schema["x-usual"].as_array().and_then(|ends| Some([ends.first()?.as_f64()?, ends.get(1)?.as_f64()?]));
    let now = now.as_f64();
    let value = match random.unit() {
        r if r < 0.5 => spread(usual.unwrap_or(hard), random),
        r if r < 0.8 => spread(hard, random),
        r if r < 0.9 => hard[random.below(2)],
        _ => now.unwrap_or(1.0) * (6.0 * random.unit() - 3.0).exp2(),
    };
    let most = COSTLY.iter().find(|(name, ..)| *name == key);
    let most = most.map_or(f64::INFINITY, |(_, share, least)| (share * now.unwrap_or(0.0)).max(*least));
    Some(value.min(most).clamp(hard[0], hard[1]))
}

/// Over orders of magnitude, of either sign where both are allowed.
fn spread([low, high]: [f64; 2], random: &mut Random) -> f64 {
    let largest = low.abs().max(high.abs());
    if largest == 0.0 {
        return 0.0;
    }
    let least = if low > 0.0 { low } else { 1e-6 * largest };
    let size = least * (largest / least).powf(random.unit());
    let value = if low < 0.0 && random.unit() < 0.5 { -size } else { size };
    value.clamp(low, high)
}
