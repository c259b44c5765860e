//! Tables of keys from the JSON Schema of shot files.

use serde_json::Value;

/// A table in Markdown.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rule: Vec<String> = head.iter().map(|_| "---".to_owned()).collect();
    let body: String = rows.into_iter().map(|row| line(&row)).collect();
    format!("{}{}{body}", line(&head), line(&rule))
}

/// The keys of a table of the shot file, in the order in which the page names them.
pub(crate) fn keys(properties: &Value, names: &[&str]) -> String {
    let row = |name: &&str| {
        let property = &properties[*name];
        assert!(property.is_object(), "there is no key `{name}`");
        vec![format!("`{name}`"), kind(property), default(property), about(property)]
    };
    table(&["key", "value", "default", "meaning"], names.iter().map(row))
}

/// The words that a key may have.
pub(crate) fn choices(definition: &Value) -> String {
    let row = |branch: &Value| vec![format!("`{}`", written(branch)), about(branch)];
    table(&["value", "meaning"], definition["oneOf"].as_array().unwrap().iter().map(row))
}

/// One of several values, as one writes it: a word, or a table with the one key that it must have.
fn written(branch: &Value) -> String {
    match branch["required"][0].as_str() {
        None => branch["const"].to_string(),
        Some(key) => format!("{{ {key} = {} }}", example(key, &branch["properties"][key])),
    }
}

/// The selectors, each as one writes it.
pub(crate) fn selectors(definition: &Value) -> String {
    let row = |branch: &Value| vec![format!("`{}`", written(branch)), about(branch)];
    table(&["selector", "chooses"], definition["oneOf"].as_array().unwrap().iter().map(row))
}

fn example(key: &str, value: &Value) -> &'static str {
    match (key, value["type"].as_str()) {
        ("group", _) => "\"hoist\"",
        ("joint", _) => "\"Spine\"",
        ("file", _) => "\"weights.csv\"",
        ("any" | "sum" | "difference", _) => "[…]",
        (_, Some("integer")) => "0",
        _ => "{ … }",
    }
}

fn about(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    // rustdoc's links are only words here
    first.replace('\n', " ").replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}

/// Definitions that are tables of their own.
const TABLES: [&str; 14] = [
    "Wind",
    "LiveWind",
    "FilmLook",
    "Window",
    "Text",
    "Disc",
    "Bar",
    "Stroke",
    "Noise",
    "Silhouette",
    "RingLook",
    "SmearLook",
    "VolumeView",
    "Pass",
];

/// What may stand behind the `=`.
fn kind(schema: &Value) -> String {
    let reference = [schema, &schema["allOf"][0], &schema["anyOf"][0]]
        .iter()
        .find_map(|schema| schema["$ref"].as_str()?.strip_prefix("#/definitions/").map(str::to_owned));
    if let Some(name) = reference {
        return match name.as_str() {
            "Selector" => "a [selector](../shot-file.md#selectors)".into(),
            "Image" => "an [image](#images)".into(),
            "Dial" => "a number or keys `[seconds, value]`".into(),
            "Colors" => "a palette or colours, below".into(),
            "Artwork" => "a file or a pattern, below".into(),
            "FleshTets" => "a whole number, 1 to 2000000, or a file".into(),
            "Separated" => "a frame, a file or `false`".into(),
            "SkinDelivery" => "a word or a table, below".into(),
            "Footing" => "a height, a slope or a mesh, below".into(),
            "FilePath" => "a file".into(),
            "ClipNames" => "`\"all\"`, a name with `*`, or a list of names".into(),
            "Names" => "a name, or a list of names".into(),
            "MeshNames" => "a name, a list of names, or `\"*\"`".into(),
            // words are lists of constants, everything else has keys
            name if TABLES.contains(&name) => "a table, below".into(),
            _ => "a word, below".into(),
        };
    }
    let number = |value: &Value| value.as_f64().map(|value| value.to_string());
    let (least, most) = (number(&schema["minimum"]), number(&schema["maximum"]));
    let range = match (number(&schema["exclusiveMinimum"]), least, most) {
        (Some(above), _, Some(most)) => format!(", above {above}, at most {most}"),
        (Some(above), _, None) => format!(", above {above}"),
        (None, Some(least), Some(most)) => format!(", {least} to {most}"),
        (None, Some(least), None) => format!(", {least} or more"),
        _ => String::new(),
    };
    let plain = match &schema["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("").into()
        }
        _ => String::new(),
    };
    let word = match plain.as_str() {
        "string" if schema["const"].is_null() => "text",
        "array" if schema["items"]["$ref"] == "#/definitions/Image" => "a list of [images](#images)",
        "array" if schema["items"]["$ref"] == "#/definitions/Ends" => "two or three words, below",
        "array" if schema["items"]["$ref"].is_string() => "a list of tables, below",
        "array" if schema["items"]["type"] == "array" => "a list of pairs of numbers",
        "array" if schema["maxItems"] == 3 && schema["minItems"] == 2 => "two or three numbers",
        "array" if schema["maxItems"] == 3 => "three numbers",
        "array" if schema["maxItems"] == 2 => "two numbers",
        "array" if schema["items"]["type"] == "number" => "a list of numbers",
        "array" => "a list of texts",
        "object" if schema["additionalProperties"]["maxItems"] == 3 => "a table of three numbers each",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "`true` or `false`",
        "" => "text",
        other => panic!("what is a {other}?"),
    };
    format!("{word}{range}")
}

fn default(schema: &Value) -> String {
    match &schema["default"] {
        Value::Null | Value::Object(_) => "–".into(),
        value => format!("`{value}`"),
    }
}
