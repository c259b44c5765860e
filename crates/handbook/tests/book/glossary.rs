//! The glossary has every word of ours: layer kinds, keys that layers share, public types of the engine.

use std::collections::{BTreeMap, BTreeSet};

use crate::page::{Page, root};

/// Files whose `pub use` lines are the engine's public API.
const ENGINE: [&str; 8] = [
    "crates/geometry/src/lib.rs",
    "crates/linear/src/lib.rs",
    "crates/dynamics/src/lib.rs",
    "crates/contact/src/lib.rs",
    "crates/shell/src/lib.rs",
    "crates/shell/src/tracks.rs",
    "crates/solid/src/lib.rs",
    "crates/fluid/src/lib.rs",
];

/// Types that are named as everybody names them.
const PLAIN: &str = "Air AirCoefficients Axis Barrier Bending Block Bounds BroadPhase Cloth ClothBuilder ClothReport Closest \
    ClosestPoint ColorMap Domain Edge Energy Error Face Field Fluid Force Friction Info Integrator Maps Material Matrix Method \
    Obstacle Pair PairKind Picture Preset Quantity Random Report Settings Shape Side Solid Solution Solver SoundSpeed Source Spring Strain \
    Subdivision Substeps Svd Tet TetMesh TetQuality Topology Uvs Wind WindField";

/// What the page has in backticks, in the first column of its tables.
fn terms() -> BTreeSet<String> {
    let page = Page::read("docs/glossary.md");
    let first = page.text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    first.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Types that a file gives to the outside, by its `pub use` lines.
fn exported(path: &str) -> BTreeSet<String> {
    let source = std::fs::read_to_string(root().join(path)).unwrap();
    let uses = source.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    uses.flat_map(|list| list.split(move |c| !is_word(c)))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter(|word| word.contains(|c: char| c.is_ascii_lowercase()))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_public_type_of_the_engine_is_a_plain_word_or_in_the_glossary() {
    let (terms, plain) = (terms(), PLAIN.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>());
    let types: BTreeSet<String> = ENGINE.iter().flat_map(|path| exported(path)).collect();
    assert!(types.len() > 100, "only {} types were found", types.len());
    let missing: Vec<&String> =
        types.iter().filter(|name| !terms.contains(*name) && !plain.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/glossary.md lacks {missing:?}");
    let gone: Vec<&String> = plain.difference(&types).collect();
    assert!(gone.is_empty(), "{gone:?} are not there any more");
    // what looks like a type of ours is one
    let is_type = |term: &&String| term.starts_with(|c: char| c.is_ascii_uppercase());
    let stale: Vec<&String> = terms.iter().filter(is_type).filter(|term| !types.contains(*term)).collect();
    assert!(stale.is_empty(), "docs/glossary.md explains {stale:?}, which is not there any more");
}

#[test]
fn every_kind_of_layer_and_every_shared_key_is_in_the_glossary() {
    let terms = terms();
    let schema = followthrough::schema();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for layer in schema["properties"]["layer"]["items"]["oneOf"].as_array().unwrap() {
        for key in layer["properties"].as_object().unwrap().keys() {
            *kinds.entry(key.clone()).or_default() += 1;
        }
    }
    // what says which layer this is, and nothing about physics
    let plain = ["kind", "name", "mesh", "enabled"];
    let shared = kinds.iter().filter(|(_, count)| **count > 1).map(|(key, _)| key.as_str());
    let layers: Vec<&str> = followthrough::registry().kinds().iter().map(|kind| kind.name).collect();
    let needed = shared.filter(|key| !plain.contains(key)).chain(layers);
    let missing: Vec<&str> = needed.filter(|word| !terms.contains(*word)).collect();
    assert!(missing.is_empty(), "docs/glossary.md lacks {missing:?}");
}
