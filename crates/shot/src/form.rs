//! Other TOML files of ours, read with the care that shots are: every mistake at once, each at its line.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::Error;
use crate::conform;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::document::Document;
use crate::schema::{close, explain, spread_bounds};

/// A value read from a TOML text, which remembers where everything stood.
pub struct Form<T> {
    /// What was read.
    pub value: T,
    document: Document,
}

impl<T: JsonSchema + DeserializeOwned> Form<T> {
    /// Reads a text that is called `name`; all mistakes in it come at once.
    pub fn parse(name: &str, text: &str) -> Result<Self, Diagnostics> {
        let document = Document::parse(name, text).map_err(Diagnostics)?;
        let mut schema = Json::from(SchemaSettings::draft07().into_generator().into_root_schema_for::<T>());
        close(&mut schema);
        explain(&mut schema);
        spread_bounds(&mut schema);
        let diagnostics = conform::conform(&document, &schema).mistakes;
        if !diagnostics.is_empty() {
            return Err(Diagnostics(diagnostics));
        }
        match serde_path_to_error::deserialize(document.root.to_json()) {
            Ok(value) => Ok(Self { value, document }),
            Err(error) => {
                let path = error.path().to_string();
                let span = document.nearest(&path).span.clone();
                let message = format!("`{path}`: {}", error.inner());
                Err(Diagnostics(vec![Diagnostic::at(&document.source, span, message)]))
            }
        }
    }

    /// The error of mistakes that were found about the value, each at the line of its path.
    pub fn refused(&self, found: Vec<Diagnostic>) -> Error {
        let placed = |diagnostic: Diagnostic| {
            let span = self.document.nearest(diagnostic.path()).span.clone();
            diagnostic.placed(&self.document.source, span)
        };
        Diagnostics(found.into_iter().map(placed).collect()).into()
    }
}

/// What a TOML text says behind a key at its top, where that is a text: which kind of file it is.
pub fn top_word(name: &str, text: &str, key: &str) -> Result<Option<String>, Diagnostics> {
    let document = Document::parse(name, text).map_err(Diagnostics)?;
    Ok(document.root.child(key).and_then(|node| node.as_str()).map(str::to_owned))
}

/// A mistake in the value behind a key at the top of a text, at its line.
pub fn mistake_at(name: &str, text: &str, diagnostic: Diagnostic) -> Diagnostics {
    match Document::parse(name, text) {
        Ok(document) => {
            let span = document.nearest(diagnostic.path()).span.clone();
            Diagnostics(vec![diagnostic.placed(&document.source, span)])
        }
        Err(syntax) => Diagnostics(syntax),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Recipe {
        cups: f64,
        #[serde(default)]
        steps: Vec<Step>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Step {
        name: String,
    }

    #[test]
    fn forms_tell_every_mistake_at_its_line() {
        let text = "cups = 2\n[[steps]]\nname = \"stir\"\n";
        let form = Form::<Recipe>::parse("cake.toml", text).unwrap();
        assert_eq!((form.value.cups, form.value.steps[0].name.as_str()), (2.0, "stir"));
        let Error::Invalid(Diagnostics(refused)) =
            form.refused(vec![Diagnostic::new("steps[0].name", "do not")])
        else {
            panic!()
        };
        assert_eq!((refused[0].line(), refused[0].excerpt()), (3, "\"stir\""));
        let Err(Diagnostics(found)) =
            Form::<Recipe>::parse("cake.toml", "cups = \"two\"\n[[steps]]\nnam = 1\n")
        else {
            panic!()
        };
        assert!(found.len() >= 2 && found[0].line() == 1, "{found:?}");
        assert_eq!(top_word("t", "kind = \"x\"", "kind").unwrap().as_deref(), Some("x"));
    }
}
