//! A setting that has no effect is told: every setting of every layer is turned, one after the other, in a small shot in which it
//! should matter, and a frame, a figure, a note or a warning must change.

mod common;

use common::reader;
use serde_json::Value;
use shot::{Shot, Target};

const FRAMES: usize = 3;

/// A layer's settings by which everything has something to do, what to set besides where a setting has no value of its own, and
/// what need not change anything, with the reason.
struct Case {
    input: &'static str,
    layer: &'static str,
    /// Values for settings that are empty by default, or whose words have no neighbour: a path and TOML for it.
    turned: &'static [(&'static str, &'static str)],
    without_effect: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        input: "sample = \"flag\"\nframes = \"0-5\"",
        layer: "kind = \"cloth\"\nmesh = \"flag\"\npre_roll = 0.04\n\
            follow = { any = [{ group = \"hoist\" }, { height = { from = -5.0, to = 9.0 } }] }\n\
            wind = { speed = 4.0, gust = 0.3, keys = [[0.0, 1.0], [1.0, 0.5]] }\n",
        turned: &[
            ("material", "\"denim\""),
            ("bending", "\"plates\""),
            ("integrator", "\"backward_euler\""),
            ("area_density", "0.5"),
            ("stretch_warp", "300.0"),
            ("stretch_weft", "300.0"),
            ("shear", "30.0"),
            ("compression", "0.5"),
            ("poisson", "0.2"),
            ("bend_warp", "1e-3"),
            ("bend_weft", "1e-3"),
            ("damping", "0.4"),
            ("air_drag", "0.5"),
            ("max_distance", "1e-3"),
            ("substeps", "2"),
            ("contact", "{ thickness = 0.05 }"),
            ("follow", "{ group = \"hoist\" }"),
        ],
        without_effect: &[],
    },
    Case {
        input: "sample = \"flag\"\nframes = \"0-5\"",
        layer: "kind = \"inextensible\"\nmesh = \"flag\"\npre_roll = 0.04\nsubsteps = 2\n\
            follow = { any = [{ group = \"hoist\" }, { height = { from = -5.0, to = 9.0 } }] }\n\
            wind = { speed = 4.0, gust = 0.3, keys = [[0.0, 1.0], [1.0, 0.5]] }\n",
        turned: &[
            ("material", "\"denim\""),
            ("hold", "\"together\""),
            ("bending", "\"plates\""),
            ("integrator", "\"backward_euler\""),
            ("warp", "{ group = \"hoist\" }"),
            ("area_density", "0.5"),
            ("stretch_warp", "50.0"),
            ("stretch_weft", "50.0"),
            ("compression", "0.9"),
            ("poisson", "0.4"),
            ("max_distance", "1e-3"),
            ("shear", "30.0"),
            ("bend_warp", "1e-3"),
            ("bend_weft", "1e-3"),
            ("damping", "0.4"),
            ("air_drag", "0.5"),
            ("contact", "{ thickness = 0.05 }"),
            ("follow", "{ group = \"hoist\" }"),
        ],
        without_effect: &[],
    },
];

fn shot(case: &Case, layer: &str) -> Result<Shot, String> {
    let text = format!("[input]\n{}\n[[layer]]\n{layer}\n[output]\nfiles = []\nreport = false\n", case.input);
    let shot = reader().parse("shot", &text, "".as_ref()).map_err(|error| format!("{error:?}"))?;
    let mistakes = shot.check();
    if mistakes.is_empty() { Ok(shot) } else { Err(format!("{mistakes:?}")) }
}

/// All that a shot gives: frames, figures, warnings, notes, what is idle.
fn result(case: &Case, layer: &str) -> Result<String, String> {
    let shot = shot(case, layer)?;
    let clip = shot.open_input().map_err(|error| error.to_string())?;
    let entry = &shot.layers[0];
    let mesh = match &entry.mesh {
        Some(shot::MeshNames::One(name)) => clip.mesh_index(name).unwrap_or(0),
        _ => 0,
    };
    let input = Target { clip, mesh, files: clip::Files::default() };
    let mut simulation = entry.layer.prepare(&input).map_err(|error| error.to_string())?;
    let mut all = String::new();
    for index in 0..FRAMES {
        let frame = simulation.frame(index).map_err(|error| error.to_string())?;
        all += &format!("{frame:?}\n");
    }
    let idle: Vec<String> = entry.layer.idle(&input).iter().map(|idle| idle.path().to_owned()).collect();
    Ok(format!("{all}{:?}{idle:?}", simulation.notes()))
}

/// Numbers, flags and lists of numbers in a table of settings, by their path, each with another value.
fn neighbours(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            let is_whole = number.fract() == 0.0 && !value.to_string().contains('.');
            let other = if number == 0.0 { 0.1 } else { 1.3 * number };
            let other = if is_whole { format!("{}", number as i64 + 1) } else { format!("{other:?}") };
            found.push((path.to_owned(), other));
        }
        Value::Bool(flag) => found.push((path.to_owned(), (!flag).to_string())),
        Value::Array(list) if list.len() == 3 && list.iter().all(Value::is_number) => {
            let turned: Vec<f64> = list.iter().map(|x| x.as_f64().unwrap_or_default()).collect();
            // another direction and another length
            let other = [turned[0] + 0.7, 1.3 * turned[1], turned[2] - 0.4];
            found.push((path.to_owned(), format!("{other:?}")));
        }
        Value::Object(table) => {
            for (key, value) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                neighbours(value, &path, found);
            }
        }
        _ => {}
    }
}

/// The layer's TOML with a value set over it.
fn with(case: &Case, path: &str, value: &str) -> String {
    let mut table: toml::Table = toml::from_str(case.layer).expect("TOML");
    let value: toml::Table = toml::from_str(&format!("value = {value}")).expect("TOML");
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().expect("a key");
    let mut place = &mut table;
    for key in keys {
        let inner = place.entry(key).or_insert_with(|| toml::Table::new().into());
        place = inner.as_table_mut().expect("a table");
    }
    place.insert(last.to_owned(), value["value"].clone());
    toml::to_string(&table).expect("TOML")
}

#[test]
fn every_setting_has_an_effect_or_says_that_it_has_none() {
    let mut idle = Vec::new();
    for case in CASES {
        let base = result(case, case.layer).unwrap_or_else(|error| panic!("{}: {error}", case.layer));
        let shot = shot(case, case.layer).expect("it was baked");
        let mut turned = Vec::new();
        neighbours(&shot.layers[0].settings, "", &mut turned);
        turned.extend(case.turned.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())));
        // whatever the schema knows is turned in one way or another
        for key in settings_of(shot.layers[0].kind) {
            let is_turned = turned.iter().any(|(path, _)| path.split('.').next() == Some(&key));
            assert!(
                is_turned,
                "{}: `{key}` is not turned by this test: name a value for it",
                shot.layers[0].kind
            );
        }
        for (path, value) in turned {
            if case.without_effect.contains(&path.as_str()) || path.starts_with("follow.") {
                continue;
            }
            // what is refused with a sentence is told, too
            if result(case, &with(case, &path, &value)).is_ok_and(|other| other == base) {
                idle.push(format!("{}: {path} = {value}", shot.layers[0].kind));
            }
        }
    }
    assert!(idle.is_empty(), "settings without effect, and nobody says so:\n{}", idle.join("\n"));
}

/// The settings of a kind of layer, apart from what all layers have.
fn settings_of(kind: &str) -> Vec<String> {
    let schema = shot::schema_of(&layers::registry());
    let kinds = schema["properties"]["layer"]["items"]["oneOf"].as_array().expect("kinds of layers");
    let own = kinds.iter().find(|layer| layer["title"] == kind).expect("this kind");
    let common = ["kind", "name", "mesh", "together", "enabled", "strength"];
    let keys = own["properties"].as_object().expect("settings").keys();
    keys.filter(|key| !common.contains(&key.as_str())).cloned().collect()
}
