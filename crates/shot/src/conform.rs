//! Does a TOML document conform to a JSON Schema? Every departure with its place.
//!
//! The same schema that editors use decides here which keys exist, which type a value has and in which range it
//! lies, for the file's own tables and for any layer's settings alike. The part of JSON Schema that schemars writes is
//! understood: `properties`, `required`, `additionalProperties`, `items`, `enum`, `const`, `oneOf`, `anyOf`, `allOf`, `$ref`
//! and bounds. Tables are closed: a key that is not listed is a mistake. Beside the bounds that a number may not leave there is
//! `x-usual`, of our own: a number outside of it is taken, with a warning.

use std::ops::Range;

use serde_json::Value as Json;

use crate::diagnostic::{Diagnostic, SourceText, list, nearest, suggest};
use crate::document::{Document, Node, Value};
use crate::schema::USUAL;

/// What a schema says about a document.
#[derive(Default)]
pub(crate) struct Conformity {
    /// What it does not allow.
    pub(crate) mistakes: Vec<Diagnostic>,
    /// What it allows, but finds unusual.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Everything in a document that a schema does not allow, or finds unusual.
pub(crate) fn conform(document: &Document, schema: &Json) -> Conformity {
    let (diagnostics, warnings) = (Vec::new(), Vec::new());
    let mut conform = Conform { source: &document.source, root: schema, diagnostics, warnings };
    conform.node(&document.root, "", schema);
    Conformity { mistakes: conform.diagnostics, warnings: conform.warnings }
}

struct Conform<'a> {
    source: &'a SourceText,
    /// Holds the definitions that references point to.
    root: &'a Json,
    diagnostics: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl<'a> Conform<'a> {
    fn node(&mut self, node: &Node, path: &str, schema: &'a Json) {
        let schema = self.resolve(schema);
        if let Value::Float(number) = node.value
            && !number.is_finite()
        {
            self.find(&node.span, format!("{} is not a finite number", name(path)), "not finite", None);
            return;
        }
        if let Some(parts) = schema["allOf"].as_array() {
            parts.iter().for_each(|part| self.node(node, path, part));
        }
        if let Some(branches) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
            self.choice(node, path, branches);
        }
        if !allows_type(schema, node) {
            self.wrong_type(node, path, &type_names(schema));
            return;
        }
        if let Some(words) = words(schema) {
            self.word(node, path, &words);
        }
        match &node.value {
            Value::Table(_) => self.table(node, path, schema),
            Value::Array(items) => self.list(node, items, path, schema),
            Value::Integer(number) => self.bounds(node, *number as f64, path, schema),
            Value::Float(number) => self.bounds(node, *number, path, schema),
            _ => {}
        }
    }

    fn table(&mut self, node: &Node, path: &str, schema: &'a Json) {
        let Some(properties) = schema["properties"].as_object() else {
            if schema["additionalProperties"].is_object() {
                for entry in node.entries() {
                    self.node(&entry.node, &join(path, &entry.key), &schema["additionalProperties"]);
                }
            }
            return;
        };
        for entry in node.entries() {
            match properties.get(&entry.key) {
                Some(property) => self.node(&entry.node, &join(path, &entry.key), property),
                None => self.unknown_key(&entry.key, &entry.key_span, path, properties.keys()),
            }
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
        for key in required.filter(|key| node.child(key).is_none()) {
            // a misspelt key already has its own diagnostic
            let keys: Vec<&str> = node.entries().iter().map(|entry| entry.key.as_str()).collect();
            let misspelt = nearest(key, &keys).is_some_and(|key| !properties.contains_key(key));
            if !misspelt {
                let about = properties[key]["description"].as_str().and_then(|text| text.lines().next());
                let help = about.map(|about| format!("`{key}`: {about}"));
                let article = if key.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
                let message = format!("{} needs {article} `{key}`", name(path));
                self.find(&node.span, message, "missing here", help);
            }
        }
    }

    fn list(&mut self, node: &Node, items: &[Node], path: &str, schema: &'a Json) {
        let count = items.len() as u64;
        let (least, most) = (schema["minItems"].as_u64(), schema["maxItems"].as_u64());
        if least.is_some_and(|least| count < least) || most.is_some_and(|most| count > most) {
            let wanted = match (least, most) {
                (Some(least), Some(most)) if least == most => format!("{least} values"),
                (Some(least), None) => format!("at least {least} values"),
                (None, Some(most)) => format!("at most {most} values"),
                (least, most) => format!("{} to {} values", least.unwrap_or(0), most.unwrap_or(0)),
            };
            let message = format!("{} needs {wanted}, but has {count}", name(path));
            self.find(&node.span, message, "these", None);
        }
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            // draft 7 tuples are a list of schemas under `items`
            match &schema["items"] {
                Json::Array(tuple) => {
                    if let Some(schema) = tuple.get(index) {
                        self.node(item, &path, schema);
                    }
                }
                schema @ Json::Object(_) => self.node(item, &path, schema),
                _ => {}
            }
        }
    }

    fn bounds(&mut self, node: &Node, number: f64, path: &str, schema: &'a Json) {
        let bound = |key: &str| schema[key].as_f64();
        let broken = [
            bound("minimum").filter(|&bound| number < bound).map(|bound| ("at least", bound)),
            bound("exclusiveMinimum").filter(|&bound| number <= bound).map(|bound| ("greater than", bound)),
            bound("maximum").filter(|&bound| number > bound).map(|bound| ("at most", bound)),
            bound("exclusiveMaximum").filter(|&bound| number >= bound).map(|bound| ("less than", bound)),
        ];
        let usual =
            schema[USUAL].as_array().and_then(|ends| Some([ends.first()?.as_f64()?, ends.get(1)?.as_f64()?]));
        let is_refused = broken.iter().any(Option::is_some);
        let usual_words = usual.map(|[least, most]| format!("usual is {} to {}", plain(least), plain(most)));
        for (words, bound) in broken.into_iter().flatten() {
            let message = format!("{} must be {words} {}", name(path), plain(bound));
            self.find(&node.span, message, "out of range", usual_words.clone());
        }
        if let (Some([least, most]), Some(words), false) = (usual, usual_words, is_refused)
            && !(least..=most).contains(&number)
        {
            let message = format!("{} is {}; {words}", name(path), plain(number));
            self.warnings.push(Diagnostic::at(self.source, node.span.clone(), message).labelled("unusual"));
        }
    }

    /// A value that may be one of several things: report what is wrong with the one that was most likely meant.
    fn choice(&mut self, node: &Node, path: &str, branches: &'a [Json]) {
        let branches: Vec<&Json> = branches
            .iter()
            .map(|branch| self.resolve(branch))
            .filter(|branch| branch["type"] != "null")
            .collect();
        if let Some(tag) = tag(&branches)
            && matches!(node.value, Value::Table(_))
        {
            return self.tagged(node, path, tag, &branches);
        }
        let mut attempts: Vec<(usize, Vec<Diagnostic>)> = Vec::new();
        let fitting: Vec<&Json> =
            branches.iter().copied().filter(|branch| allows_type(branch, node)).collect();
        for branch in &fitting {
            let (diagnostics, warnings) = (Vec::new(), Vec::new());
            let mut attempt = Conform { source: self.source, root: self.root, diagnostics, warnings };
            attempt.node(node, path, branch);
            if attempt.diagnostics.is_empty() {
                self.warnings.extend(attempt.warnings);
                return;
            }
            let known = node.entries().iter().filter(|entry| branch["properties"][&entry.key].is_object());
            attempts.push((known.count(), attempt.diagnostics));
        }
        let allowed: Vec<&str> = branches.iter().filter_map(|branch| words(branch)).flatten().collect();
        if !allowed.is_empty() && matches!(node.value, Value::String(_)) {
            return self.word(node, path, &allowed);
        }
        // what may only be this, or nothing at all: a selector that may be left out is a choice of its own, and has told it better
        if let [_] = fitting[..] {
            return self.diagnostics.extend(attempts.into_iter().flat_map(|(_, diagnostics)| diagnostics));
        }
        // the branch that knows most of the keys, and of those the one with the fewest complaints
        let best =
            attempts.into_iter().max_by_key(|(known, diagnostics)| (*known, usize::MAX - diagnostics.len()));
        match best {
            None => {
                let names: Vec<String> = branches.iter().flat_map(|branch| type_names(branch)).collect();
                self.wrong_type(node, path, &names);
            }
            Some((0, _)) if !node.entries().is_empty() => {
                let keys: Vec<&String> = fitting
                    .iter()
                    .filter_map(|branch| branch["properties"].as_object())
                    .flat_map(|p| p.keys())
                    .collect();
                let entry = &node.entries()[0];
                self.unknown_key(&entry.key, &entry.key_span, path, keys);
            }
            Some((_, diagnostics)) => self.diagnostics.extend(diagnostics),
        }
    }

    /// A table whose `tag` key says which of the branches it is: a layer and its `kind`.
    fn tagged(&mut self, node: &Node, path: &str, tag: &str, branches: &[&'a Json]) {
        let known = |branch: &&'a Json| branch["properties"][tag]["const"].as_str();
        let Some(value) = node.child(tag) else {
            let keys: Vec<&str> = node.entries().iter().map(|entry| entry.key.as_str()).collect();
            let listed = list(&branches.iter().filter_map(known).collect::<Vec<_>>());
            let help = match nearest(tag, &keys) {
                Some(key) if branches.iter().all(|b| b["properties"][key].is_null()) => {
                    format!("did you mean `{tag}` where it says `{key}`? It can be {listed}")
                }
                _ => format!("write `{tag} = …`; it can be {listed}"),
            };
            return self.find(
                &node.span,
                format!("{} needs a `{tag}`", name(path)),
                "missing here",
                Some(help),
            );
        };
        let Some(word) = value.as_str() else {
            return self.wrong_type(value, &join(path, tag), &[type_name("string").to_owned()]);
        };
        match branches.iter().find(|branch| known(branch) == Some(word)) {
            Some(branch) => self.node(node, path, branch),
            None => {
                let help = suggest(word, branches.iter().filter_map(known));
                self.find(&value.span, format!("there is no {tag} `{word}`"), "unknown", Some(help));
            }
        }
    }

    fn word(&mut self, node: &Node, path: &str, allowed: &[&str]) {
        if let Some(word) = node.as_str()
            && !allowed.contains(&word)
        {
            let help = Some(suggest(word, allowed.iter().copied()));
            self.find(&node.span, format!("{} cannot be `{word}`", name(path)), "unknown", help);
        }
    }

    fn unknown_key<'k>(
        &mut self,
        key: &str,
        span: &Range<usize>,
        path: &str,
        allowed: impl IntoIterator<Item = &'k String>,
    ) {
        let place = if path.is_empty() { String::from("the shot file") } else { name(path) };
        let allowed: Vec<&str> = allowed.into_iter().map(String::as_str).collect();
        let help = Some(suggest(key, allowed.iter().copied()));
        self.find(span, format!("{place} has no key `{key}`"), "unknown key", help);
    }

    fn wrong_type(&mut self, node: &Node, path: &str, wanted: &[String]) {
        let found = match &node.value {
            Value::String(_) => "text",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Boolean(_) => "true or false",
            Value::Datetime(_) => "a date",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        };
        let mut wanted = wanted.to_vec();
        wanted.dedup();
        let message = format!("{} must be {}, but is {found}", name(path), wanted.join(" or "));
        let number = node.as_str().is_some_and(|text| text.trim().parse::<f64>().is_ok());
        let help =
            (number && wanted.iter().any(|w| w.contains("number"))).then(|| "remove the quotes".to_owned());
        self.find(&node.span, message, "wrong type", help);
    }

    fn find(&mut self, span: &Range<usize>, message: String, label: &str, help: Option<String>) {
        let diagnostic = Diagnostic::at(self.source, span.clone(), message);
        self.diagnostics.push(diagnostic.labelled(label).maybe_help(help));
    }

    /// Follows references; a reference that leads nowhere or around in circles allows everything.
    fn resolve(&self, mut schema: &'a Json) -> &'a Json {
        for _ in 0..16 {
            let Some(reference) = schema["$ref"].as_str() else { break };
            match self.root.pointer(reference.trim_start_matches('#')) {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }
}

/// The key by which branches tell themselves apart: one that every branch fixes to a constant.
fn tag<'a>(branches: &[&'a Json]) -> Option<&'a str> {
    let properties = branches.first()?["properties"].as_object()?;
    let fixed = |key: &str| branches.iter().all(|branch| branch["properties"][key]["const"].is_string());
    properties.keys().map(String::as_str).find(|key| fixed(key))
}

/// The strings that a schema allows, if it is a list of strings.
fn words(schema: &Json) -> Option<Vec<&str>> {
    match (&schema["enum"], &schema["const"]) {
        (Json::Array(values), _) => values.iter().map(Json::as_str).collect(),
        (_, Json::String(value)) => Some(vec![value]),
        _ => None,
    }
}

fn types(schema: &Json) -> Vec<&str> {
    match &schema["type"] {
        Json::String(name) => vec![name],
        Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
        _ if words(schema).is_some() => vec!["string"],
        _ => Vec::new(),
    }
}

fn allows_type(schema: &Json, node: &Node) -> bool {
    let types = types(schema);
    let fits = |name: &&str| match &node.value {
        Value::String(_) | Value::Datetime(_) => *name == "string",
        Value::Integer(_) => *name == "integer" || *name == "number",
        Value::Float(_) => *name == "number",
        Value::Boolean(_) => *name == "boolean",
        Value::Array(_) => *name == "array",
        Value::Table(_) => *name == "object",
    };
    types.is_empty() || types.iter().any(fits)
}

fn type_names(schema: &Json) -> Vec<String> {
    types(schema).into_iter().filter(|&name| name != "null").map(|name| type_name(name).to_owned()).collect()
}

fn type_name(name: &str) -> &str {
    match name {
        "string" => "text in quotes",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "`true` or `false`",
        "array" => "a list in brackets",
        "object" => "a table",
        other => other,
    }
}

/// A number as people write it.
fn plain(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-3..1e6).contains(&size) { number.to_string() } else { format!("{number:e}") }
}

fn name(path: &str) -> String {
    if path.is_empty() { String::from("the shot") } else { format!("`{path}`") }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
