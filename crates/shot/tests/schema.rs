//! The JSON Schema for editors. That every key is explained, every table closed and every number has a range is tested where all layers are
//! known: `crates/cli/tests/schema.rs`.

mod common;

#[test]
fn layers_are_told_apart_by_their_kind() {
    let schema = shot::schema_of(&common::registry());
    let kinds: Vec<&str> = schema["properties"]["layer"]["items"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|layer| layer["properties"]["kind"]["const"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["smooth", "lag"]);
    let lag = &schema["properties"]["layer"]["items"]["oneOf"][1]["properties"];
    assert_eq!(lag["frequency"]["exclusiveMinimum"], 0.0);
    assert_eq!(lag["strength"]["maximum"], 1.0);
}
