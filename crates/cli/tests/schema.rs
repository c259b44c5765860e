//! The JSON Schema for editors.

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
    walk(&followthrough::schema(), "");
}

/// Every number says where it is refused, on both sides, and defaults are usual.
#[test]
fn every_number_has_a_range() {
    fn walk(schema: &Value, path: &str, bare: &mut Vec<String>) {
        let is = |name: &str| {
            schema["type"] == name
                || schema["type"].as_array().is_some_and(|types| types.iter().any(|t| t == name))
        };
        if is("number") || is("integer") {
            let end = |keys: [&str; 2]| keys.iter().find_map(|key| schema[*key].as_f64());
            let hard = [end(["minimum", "exclusiveMinimum"]), end(["maximum", "exclusiveMaximum"])];
            let [Some(least), Some(most)] = hard else {
                bare.push(format!("{path} has no range"));
                return;
            };
            let usual = &schema["x-usual"];
            let [low, high] = match usual.as_array().map(Vec::as_slice) {
                Some([low, high]) => [low, high].map(|end| end.as_f64().unwrap_or(f64::NAN)),
                _ => [least, most],
            };
            if !(least <= low && low < high && high <= most) {
                bare.push(format!("{path}: {usual} is not within {least} to {most}"));
            }
            if schema["default"].as_f64().is_some_and(|default| !(low..=high).contains(&default)) {
                bare.push(format!("{path}: the default {} is not usual", schema["default"]));
            }
        }
        for key in ["properties", "definitions"] {
            for (name, property) in schema[key].as_object().into_iter().flatten() {
                walk(property, &format!("{path}.{name}"), bare);
            }
        }
        for key in ["oneOf", "anyOf", "allOf", "items"] {
            for (i, branch) in schema[key].as_array().into_iter().flatten().enumerate() {
                walk(branch, &format!("{path}/{key}{i}"), bare);
            }
        }
        for key in ["items", "additionalProperties"] {
            if schema[key].is_object() {
                walk(&schema[key], &format!("{path}[]"), bare);
            }
        }
    }
    let mut bare = Vec::new();
    walk(&followthrough::schema(), "", &mut bare);
    assert!(bare.is_empty(), "{}", bare.join("\n"));
}
