//! A TOML document in which every key and value remembers where it stands.
//!
//! serde forgets places. Mistakes must be underlined wherever they are found, also long after reading, when a layer
//! learns that the mesh has no such group. So the text is kept with a tree of its own, and everything else (schema,
//! serde, layers) speaks of places by their dotted path.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, SourceText};

/// A parsed TOML text.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// The text and what it is called.
    pub(crate) source: SourceText,
    /// The whole file as a table.
    pub(crate) root: Node,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Bytes of the value in the text; for a table with a header, of the header.
    pub(crate) span: Range<usize>,
    /// What it is.
    pub(crate) value: Value,
}

/// What TOML knows.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Datetime(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: Node,
}

impl Document {
    /// Parses a text; all syntax errors at once.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let source = SourceText { name: name.to_owned(), text: Arc::from(text) };
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut diagnostics: Vec<Diagnostic> = errors
            .iter()
            .map(|error| {
                Diagnostic::at(
                    &source,
                    error.span().unwrap_or(0..0),
                    format!("not valid TOML: {}", error.message()),
                )
                .labelled("here")
            })
            .collect();
        let span = table.span();
        let root = Node { span, value: table_value(&source, table.into_inner(), &mut diagnostics) };
        diagnostics.sort_by_key(|diagnostic| (diagnostic.line(), diagnostic.column()));
        if diagnostics.is_empty() { Ok(Self { source, root }) } else { Err(diagnostics) }
    }

    /// The value at a path such as `layer[1].follow.group`, or the nearest thing above it that exists.
    pub(crate) fn nearest(&self, path: &str) -> &Node {
        let mut node = &self.root;
        for step in steps(path) {
            match node.child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node
    }
}

/// The steps of a dotted path: `layer[1].wind.speed` gives `layer`, `1`, `wind`, `speed`.
pub(crate) fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split(['.', '[', ']']).filter(|step| !step.is_empty())
}

impl Node {
    /// The child under a key or, in a list, at a number.
    pub(crate) fn child(&self, step: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|entry| entry.key == step).map(|entry| &entry.node),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The text of a string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The entries of a table; empty for anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; empty for anything else.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    /// As JSON, for serde. Numbers that JSON does not have (NaN, infinities) become null; the schema check has
    /// refused them before.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::String(text) | Value::Datetime(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Boolean(truth) => (*truth).into(),
            Value::Array(items) => items.iter().map(Node::to_json).collect(),
            Value::Table(entries) => serde_json::Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect(),
            ),
        }
    }
}

fn table_value(source: &SourceText, table: DeTable<'_>, diagnostics: &mut Vec<Diagnostic>) -> Value {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| Entry {
            key_span: key.span(),
            key: key.into_inner().into_owned(),
            node: node(source, value, diagnostics),
        })
        .collect();
    // in the order of the text, so that mistakes come in the order of the lines
    entries.sort_by_key(|entry| entry.key_span.start);
    Value::Table(entries)
}

fn node(source: &SourceText, value: Spanned<DeValue<'_>>, diagnostics: &mut Vec<Diagnostic>) -> Node {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => {
                diagnostics.push(Diagnostic::at(
                    source,
                    span.clone(),
                    format!("the number {number} is too large"),
                ));
                Value::Integer(0)
            }
        },
        // "1e999" parses to infinity, which the schema check refuses like a written `inf`
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(truth) => Value::Boolean(truth),
        DeValue::Datetime(time) => Value::Datetime(time.to_string()),
        DeValue::Array(items) => {
            Value::Array(items.into_iter().map(|item| node(source, item, diagnostics)).collect())
        }
        DeValue::Table(table) => table_value(source, table, diagnostics),
    };
    Node { span, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_values_and_their_places() {
        let text = "[input]\nfile = \"a.glb\"\n\n[[layer]]\nkind = \"x\"\n\n[[layer]]\nkind = \"y\"\nwind = { speed = 5 }\n";
        let document = Document::parse("t.toml", text).unwrap();
        let at = |path: &str| &text[document.nearest(path).span.clone()];
        assert_eq!(at("layer[1].wind.speed"), "5");
        assert_eq!(at("input.file"), "\"a.glb\"");
        assert_eq!(at("layer[1].wind.nothing"), "{ speed = 5 }");
        assert_eq!(at("layer[0]"), "[[layer]]");
        assert_eq!(document.nearest("layer[1].wind").to_json(), serde_json::json!({ "speed": 5 }));
    }

    #[test]
    fn every_syntax_error_is_found() {
        let diagnostics =
            Document::parse("t.toml", "a = \nb = [1, 2\nc = 99999999999999999999\n").unwrap_err();
        assert!(diagnostics.len() >= 2, "{diagnostics:?}");
        let lines: Vec<usize> = diagnostics.iter().map(Diagnostic::line).collect();
        assert!(lines.is_sorted() && lines[0] <= 2, "{diagnostics:#?}");
    }
}
