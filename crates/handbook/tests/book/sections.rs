//! What stands between `<!-- NAME -->` and `<!-- end -->`.

use std::collections::BTreeMap;

use serde_json::Value;
use shell::Material;

use crate::{lists, tables};

/// Which keys of which table the pages have named, to find those that they forgot.
#[derive(Default)]
pub(crate) struct Seen(BTreeMap<String, Vec<String>>);

/// The text of a section.
pub(crate) fn section(name: &str, seen: &mut Seen) -> String {
    let schema = followthrough::schema();
    let definitions = &schema["definitions"];
    let (what, rest) = name.split_once(' ').unwrap_or((name, ""));
    match what {
        // <!-- keys TABLE: key key … -->
        "keys" => {
            let (table, names) = rest.split_once(": ").unwrap_or_else(|| panic!("`{name}` names no keys"));
            let names: Vec<&str> = names.split(' ').collect();
            seen.0.entry(table.to_owned()).or_default().extend(names.iter().map(|name| (*name).to_owned()));
            let keys = tables::keys(&properties(&schema, table), &names);
            // the one table with selectors that stands on their own page
            if table == "levels" { keys.replace("../shot-file.md#", "#") } else { keys }
        }
        "choices" => tables::choices(&definitions[rest]),
        "selectors" => tables::selectors(&definitions["Selector"]),
        "layers" => {
            let registry = followthrough::registry();
            let link = |kind: &shot::LayerKind| format!("[`{0}`](layers/{0}.md)", kind.name);
            let rows = registry.kinds().iter().map(|kind| vec![link(kind), kind.summary.to_owned()]);
            tables::table(&["kind", "what it does"], rows)
        }
        "samples" => {
            let rows = samples::all().iter().map(|sample| {
                let clip = (sample.make)();
                let groups = clip.meshes.iter().flat_map(|mesh| mesh.groups.iter().map(|group| &group.name));
                let groups: Vec<String> = groups.map(|name| format!("`{name}`")).collect();
                let groups = groups.join(", ");
                vec![
                    format!("`{}`", sample.name),
                    sample.summary.to_owned(),
                    clip.frame_count().to_string(),
                    groups,
                ]
            });
            tables::table(&["sample", "what it is", "frames", "groups"], rows)
        }
        "materials" => materials(),
        "crates" => lists::crates(),
        _ => panic!("there is no section `{name}`"),
    }
}

impl Seen {
    /// Every key of every table is on some page, once.
    pub(crate) fn check(self) {
        let schema = followthrough::schema();
        let kinds: Vec<&str> = followthrough::registry().kinds().iter().map(|kind| kind.name).collect();
        let tables = [
            "input",
            "input.add",
            "output",
            "output.film",
            "output.skin.joints",
            "layer",
            "wind",
            "start",
            "box",
            "sphere",
            "height",
            "levels",
            "sew",
            "elastic",
            "pins",
            "adjust",
            "near",
        ];
        let of_tracks =
            ["fabric", "tests", "tests.regions", "then", "fade", "loosen", "relief", "relief.shape"];
        let of_smoke = OF_SMOKE.iter().map(|(table, _)| *table);
        for table in tables.into_iter().chain(of_tracks).chain(of_smoke).chain(kinds) {
            let properties = properties(&schema, table);
            let mut expected: Vec<&String> = properties.as_object().unwrap().keys().collect();
            let mut found: Vec<&String> = self.0.get(table).into_iter().flatten().collect();
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "keys of `{table}` in the book, and in the code");
        }
    }
}

/// Tables of smoke and its film, and what the schema calls them.
const OF_SMOKE: [(&str, &str); 15] = [
    ("scalar", "Scalar"),
    ("source", "SmokeSource"),
    ("image", "Image"),
    ("text", "Text"),
    ("disc", "Disc"),
    ("bar", "Bar"),
    ("stroke", "Stroke"),
    ("noise", "Noise"),
    ("path", "PathKey"),
    ("silhouette", "Silhouette"),
    ("window", "Window"),
    ("pass", "Pass"),
    ("ring", "RingLook"),
    ("smear", "SmearLook"),
    ("volume", "VolumeView"),
];

/// Keys that may stand beside `joint` in a selector.
fn beside_joint(schema: &Value, names: &[&str]) -> Value {
    let branches = schema["definitions"]["Selector"]["oneOf"].as_array().unwrap();
    let joint = branches.iter().find(|branch| branch["required"][0] == "joint").unwrap();
    let keys = joint["properties"].as_object().unwrap().iter();
    keys.filter(|(key, _)| names.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The keys of a table of the shot file; of a layer only its own.
fn properties(schema: &Value, table: &str) -> Value {
    let common = ["kind", "name", "mesh", "together", "enabled", "strength"];
    let layers = schema["properties"]["layer"]["items"]["oneOf"].as_array().unwrap();
    let definition = |name: &str| schema["definitions"][name]["properties"].clone();
    let only = |layer: &Value, wanted: bool| {
        let keys = layer["properties"].as_object().unwrap().iter();
        keys.filter(|(key, _)| common.contains(&key.as_str()) == wanted)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    match table {
        "input" | "output" => schema["properties"][table]["properties"].clone(),
        "input.add" => definition("AddedInput"),
        "input.motion" => definition("MotionInput"),
        "output.film" => definition("FilmLook"),
        "output.skin.joints" => definition("JointsDelivery"),
        "wind" => definition("Wind"),
        "start" => definition("Start"),
        "contact" => definition("Contact"),
        "obstacle" => definition("Obstacle"),
        "sew" => definition("Seam"),
        "elastic" => definition("Elastic"),
        "pins" => definition("Pins"),
        "box" => definition("BoxRegion"),
        "sphere" => definition("SphereRegion"),
        "levels" => definition("LevelsRegion"),
        "height" => definition("HeightRegion"),
        "adjust" => beside_joint(schema, &["gain", "at_least", "blur", "invert"]),
        "near" => beside_joint(schema, &["within", "offset", "falloff"]),
        "fabric" => definition("MaterialDials"),
        "skeleton.parts" => definition("FleshPart"),
        "skeleton.pins" => definition("FleshPin"),
        "skeleton.regions" => definition("FleshOfJoint"),
        "skeleton.rays" => definition("JointRay"),
        "skeleton.limits" => definition("SwingLimit"),
        "skeleton.adaptation" => definition("Adapting"),
        "morph.targets" => definition("MorphTarget"),
        "morph.targets.regions" => definition("TargetRegion"),
        "tests" => definition("Tests"),
        "tests.regions" => definition("TestRegion"),
        "then" => definition("Then"),
        "fade" => definition("Faded"),
        "loosen" => definition("Loosen"),
        "relief" => definition("Pressed"),
        "relief.shape" => definition("Relief"),
        table if OF_SMOKE.iter().any(|(name, _)| *name == table) => {
            let found = OF_SMOKE.iter().find(|(name, _)| *name == table);
            definition(found.map_or("", |(_, definition)| definition))
        }
        "layer" => {
            let mut keys: Value = only(&layers[0], true);
            keys["kind"]["description"] = "Which layer this is; see the table above.".into();
            keys
        }
        kind => {
            let layer = layers.iter().find(|layer| layer["title"] == kind);
            only(layer.unwrap_or_else(|| panic!("there is no table `{kind}`")), false)
        }
    }
}

/// The presets: what to expect of them, then their values, one column each.
fn materials() -> String {
    let presets = Material::PRESETS.map(|preset| (preset.clone(), preset.material));
    let words =
        presets.iter().map(|(preset, _)| vec![format!("`{}`", preset.name), preset.description.to_owned()]);
    type Dial = (&'static str, &'static str, fn(&Material) -> f64);
    let dials: [Dial; 14] = [
        ("area_density", "kg/m²", |m| m.area_density),
        ("stretch_warp", "N/m", |m| m.stretch_warp),
        ("stretch_weft", "N/m", |m| m.stretch_weft),
        ("shear", "N/m", |m| m.shear),
        ("poisson", "", |m| m.poisson),
        ("bend_warp", "N·m", |m| m.bend_warp),
        ("bend_weft", "N·m", |m| m.bend_weft),
        ("damping", "at 5 Hz", |m| m.damping),
        ("air_drag", "", |m| m.air_drag),
        ("yield_curvature", "1/m", |m| m.yield_curvature.unwrap_or(f64::INFINITY)),
        ("hardening", "m", |m| m.hardening),
        ("limit_warp", "", |m| m.limit_warp.unwrap_or(f64::INFINITY)),
        ("limit_weft", "", |m| m.limit_weft.unwrap_or(f64::INFINITY)),
        ("limit_shear", "", |m| m.limit_shear.unwrap_or(f64::INFINITY)),
    ];
    let number = |value: f64| match value {
        f64::INFINITY => String::from("–"),
        small if small < 1e-2 && small > 0.0 => format!("{small:e}"),
        value => value.to_string(),
    };
    let rows = dials.iter().map(|(name, unit, value)| {
        let values = presets.iter().map(|(_, material)| number(value(material)));
        [format!("`{name}`"), (*unit).to_owned()].into_iter().chain(values).collect()
    });
    let head: Vec<&str> =
        ["dial", "unit"].into_iter().chain(presets.iter().map(|(preset, _)| preset.name)).collect();
    format!("{}\n{}", tables::table(&["material", "what to expect"], words), tables::table(&head, rows))
}
