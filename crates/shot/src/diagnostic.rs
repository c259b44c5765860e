//! Something in a shot file that cannot be: what, where, and what to write instead.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{LabeledSpan, SourceCode};

/// A text and what people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceText {
    pub(crate) name: String,
    pub(crate) text: Arc<str>,
}

/// Points at something that is wrong: by a path in the settings when a layer says it, by its line once the shot has
/// placed it; miette draws the line and underlines it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    path: String,
    message: String,
    label: String,
    help: Option<String>,
    place: Option<Box<Place>>,
    /// Whether it is no mistake where another mesh of the layer has none at that path.
    of_all: bool,
}

/// A place in a shot file.
#[derive(Clone, Debug)]
struct Place {
    span: Range<usize>,
    source: SourceText,
    named: miette::NamedSource<Arc<str>>,
}

impl Diagnostic {
    /// About the value at a path of the settings at hand: `follow.group`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        let label = String::from("here");
        Self { path: path.into(), message: message.into(), label, help: None, place: None, of_all: false }
    }

    /// A name that the input does not have: "there is no group `hoits`; did you mean `hoist`?".
    pub fn unknown<'a>(
        path: impl Into<String>,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self::new(path, format!("there is no {what} `{name}`")).with_help(suggest(name, known))
    }

    /// About a part of a text.
    pub(crate) fn at(source: &SourceText, span: Range<usize>, message: impl Into<String>) -> Self {
        Self::new("", message).placed(source, span)
    }

    /// The same, with its place in a text.
    pub(crate) fn placed(self, source: &SourceText, span: Range<usize>) -> Self {
        let end = source.text.len();
        let span = span.start.min(end)..span.end.min(end);
        let named = miette::NamedSource::new(&source.name, source.text.clone()).with_language("toml");
        Self { place: Some(Box::new(Place { span, source: source.clone(), named })), ..self }
    }

    /// What the underlining says.
    pub(crate) fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        self.maybe_help(Some(help.into()))
    }

    /// The same of a layer that may work on several meshes: a mistake only if all of them say it.
    #[must_use]
    pub fn unless_elsewhere(self) -> Self {
        Self { of_all: true, ..self }
    }

    pub(crate) fn is_of_all(&self) -> bool {
        self.of_all
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn maybe_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }

    /// Where in the settings that were checked: `follow.group`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong, in one sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to write instead, where we know it.
    pub fn remedy(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The name of the file or text; empty before it has been placed in one.
    pub fn file(&self) -> &str {
        self.place.as_ref().map_or("", |place| &place.source.name)
    }

    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.before().matches('\n').count() + 1
    }

    /// The column in characters, counted from 1.
    pub fn column(&self) -> usize {
        self.before().chars().rev().take_while(|&c| c != '\n').count() + 1
    }

    /// The underlined text.
    pub fn excerpt(&self) -> &str {
        self.place.as_ref().and_then(|place| place.source.text.get(place.span.clone())).unwrap_or("")
    }

    fn before(&self) -> &str {
        self.place.as_ref().and_then(|place| place.source.text.get(..place.span.start)).unwrap_or("")
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl miette::Diagnostic for Diagnostic {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|place| &place.named as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        let label = LabeledSpan::new_with_span(Some(self.label.clone()), place.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// Everything that was found in one shot file.
#[derive(Clone, Debug)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.0.first().map_or("the shot", Diagnostic::file);
        match self.0.len() {
            1 => write!(f, "there is a mistake in {file}"),
            count => write!(f, "there are {count} mistakes in {file}"),
        }
    }
}

impl std::error::Error for Diagnostics {}

impl miette::Diagnostic for Diagnostics {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.0.iter().map(|diagnostic| diagnostic as &dyn miette::Diagnostic)))
    }
}

/// "did you mean `cotton`? It can be `silk`, `cotton` or `denim`": help for a word that is not in a list.
pub fn suggest<'a>(word: &str, allowed: impl IntoIterator<Item = &'a str>) -> String {
    let allowed: Vec<&str> = allowed.into_iter().collect();
    match (nearest(word, &allowed), allowed.as_slice()) {
        (_, []) => String::from("there are none to choose from"),
        (Some(best), _) if allowed.len() > 1 => {
            format!("did you mean `{best}`? There are {}", list(&allowed))
        }
        (Some(best), _) => format!("did you mean `{best}`?"),
        (None, [only]) => format!("there is only `{only}`"),
        (None, _) => format!("there are {}", list(&allowed)),
    }
}

/// The allowed word that is spelt most alike, if any is alike at all.
pub(crate) fn nearest<'a>(word: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    allowed
        .iter()
        .map(|&candidate| {
            let lower = candidate.to_lowercase();
            let mut likeness = strsim::normalized_damerau_levenshtein(&word, &lower);
            // "cloth" for "flag cloth", "wind" for "wind_speed": one inside the other is alike too
            if word.len() >= 3 && (lower.contains(&word) || word.contains(&lower)) && lower.len() >= 3 {
                likeness = likeness.max(0.6);
            }
            (likeness, candidate)
        })
        .filter(|&(likeness, _)| likeness >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// "`a`, `b` and `c`".
pub(crate) fn list(words: &[&str]) -> String {
    /// More than these help nobody.
    const MOST: usize = 24;
    let quoted: Vec<String> = words.iter().take(MOST).map(|word| format!("`{word}`")).collect();
    match (quoted.as_slice(), words.len() > MOST) {
        ([], _) => String::from("none"),
        ([one], _) => one.clone(),
        (_, true) => format!("{} and {} more", quoted.join(", "), words.len() - MOST),
        ([rest @ .., last], _) => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_know_the_nearest_word() {
        assert_eq!(
            suggest("coton", ["silk", "cotton"]),
            "did you mean `cotton`? There are `silk` and `cotton`"
        );
        assert_eq!(suggest("xyz", ["silk", "cotton"]), "there are `silk` and `cotton`");
        assert_eq!(suggest("Hoist", ["hoist"]), "did you mean `hoist`?");
        assert_eq!(suggest("a", []), "there are none to choose from");
    }

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let source = SourceText { name: "t".into(), text: "a = 1\nß = 2\n".into() };
        let start = source.text.find('2').unwrap();
        let diagnostic = Diagnostic::at(&source, start..start + 1, "no");
        assert_eq!((diagnostic.line(), diagnostic.column(), diagnostic.excerpt()), (2, 5, "2"));
    }
}
