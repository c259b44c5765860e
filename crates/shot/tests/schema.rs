//! The JSON Schema for editors.

mod common;

use serde_json::Value;

/// Every table is closed, every property explained: that is what an editor shows.
#[test]
fn every_key_is_explained_and_every_table_closed() {
    fn walk(schema: &Value, path: &str) {
        let odd = ["properties", "items", "additionalProperties"]
            .iter()
            .find(|key| schema.get(**key) == Some(&Value::Null));
        assert_eq!(odd, None, "{path} is not a schema");
        if let Some(properties) = schema["properties"].as_object() {
            assert_eq!(schema["additionalProperties"], false, "{path} is open");
            for (key, property) in properties {
                let described = property["description"].is_string() || path.is_empty();
                assert!(described, "{path}.{key} has no description");
                walk(property, &format!("{path}.{key}"));
            }
        }
        for key in ["oneOf", "anyOf", "allOf"] {
            for (i, branch) in schema[key].as_array().into_iter().flatten().enumerate() {
                walk(branch, &format!("{path}/{key}{i}"));
            }
        }
        walk_object(&schema["definitions"], path);
        if schema["items"].is_object() {
            walk(&schema["items"], &format!("{path}[]"));
        }
    }
    fn walk_object(value: &Value, path: &str) {
        for (key, schema) in value.as_object().into_iter().flatten() {
            walk(schema, &format!("{path}#{key}"));
        }
    }
    walk(&shot::schema_of(&common::registry()), "");
}

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
