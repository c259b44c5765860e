//! Text layers: the tree at once, values as runs of the text that are read when they are asked for.

use std::collections::HashSet;

use super::crate_value::check_times;
use super::layer::Specifier;
use super::stage::{Attribute, DEEPEST, Handle, Prim, Stage, Values};
use super::text_value::{end_of_line, parse_value, skip_quoted, words};
use super::value::{Value, ValueType};
use crate::format::{Source, malformed};
use crate::{Error, Result};

/// Fields whose presence means that the prim must be composed.
const ARCS: [&str; 10] = [
    "references",
    "payload",
    "payloads",
    "variants",
    "variantSets",
    "inherits",
    "specializes",
    "clips",
    "clipSets",
    "instanceable",
];

/// Reads the tree of a layer.
pub(super) fn read(source: Source) -> Result<Stage> {
    let text = source.bytes(0, source.length())?;
    let mut parser = Parser { source: &source, text: &text, at: 0, prims: Vec::new(), paths: HashSet::new() };
    if !text.starts_with(b"#usda ") {
        return Err(parser.wrong("does not begin with #usda 1.0"));
    }
    if !text.starts_with(b"#usda 1.") {
        return Err(parser.wrong("only version 1 of text layers is known"));
    }
    let mut metadata = std::collections::BTreeMap::new();
    parser.space();
    for (name, range) in parser.metadata()? {
        let bytes = &text[range];
        let kind = match bytes.first() {
            Some(b'[' | b'@') if name == "subLayers" => ValueType { array: true, ..ValueType::STRING },
            Some(b'"' | b'\'') => ValueType::STRING,
            _ => ValueType::DOUBLE,
        };
        if let Ok(value) = parse_value(kind, bytes) {
            metadata.insert(name, value);
        } else if name == "subLayers" {
            metadata.insert(name, Value::text(String::from_utf8_lossy(bytes).into_owned()));
        }
    }
    while !parser.ended() {
        parser.prim(None, 1)?;
    }
    let prims = parser.prims;
    Ok(Stage { values: Values::Text { source, text }, metadata, prims })
}

struct Parser<'a> {
    source: &'a Source,
    text: &'a [u8],
    at: usize,
    prims: Vec<Prim>,
    paths: HashSet<String>,
}

impl Parser<'_> {
    fn wrong(&self, problem: impl Into<String>) -> Error {
        let before = &self.text[..self.at.min(self.text.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        malformed(self.source.path(), format!("line {line}"), problem)
    }

    /// Skips white space, comments and the semicolons that may end a statement.
    fn space(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'#' => self.at = end_of_line(self.text, self.at),
                b';' => self.at += 1,
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
    }

    fn ended(&mut self) -> bool {
        self.space();
        self.at >= self.text.len()
    }

    fn peek(&mut self) -> u8 {
        self.space();
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn accept(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte;
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.accept(byte) {
            return Ok(());
        }
        Err(self.wrong(format!("`{}` was expected", char::from(byte))))
    }

    /// A name or a keyword, with the colons, dots and brackets that types and properties have.
    fn word(&mut self) -> Result<String> {
        self.space();
        let rest = &self.text[self.at..];
        let is_part =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"_:.[]!|+-".contains(byte) || *byte >= 0x80;
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.wrong("a name was expected"));
        }
        self.at += length;
        Ok(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    fn quoted(&mut self) -> Result<String> {
        self.space();
        let start = self.at;
        if !matches!(self.peek(), b'"' | b'\'') {
            return Err(self.wrong("a name in quotes was expected"));
        }
        self.at = skip_quoted(self.text, start).ok_or_else(|| self.wrong("a name in quotes does not end"))?;
        Ok(words(&self.text[start..self.at]).ok().and_then(|mut words| words.pop()).unwrap_or_default())
    }

    /// Skips a value; returns where it lies.
    fn value(&mut self) -> Result<std::ops::Range<usize>> {
        self.space();
        let start = self.at;
        match self.peek() {
            b'[' | b'(' | b'{' => self.brackets()?,
            b'"' | b'\'' | b'@' | b'<' => {
                self.at = skip_quoted(self.text, start).ok_or_else(|| self.wrong("a word does not end"))?;
                if self.text[start] == b'@' && self.text.get(self.at) == Some(&b'<') {
                    self.at =
                        skip_quoted(self.text, self.at).ok_or_else(|| self.wrong("a path does not end"))?;
                }
            }
            _ => drop(self.word()?),
        }
        Ok(start..self.at)
    }

    fn skip_value(&mut self) -> Result<()> {
        self.value().map(|_| ())
    }

    /// Skips everything to the bracket that closes the one here.
    fn brackets(&mut self) -> Result<()> {
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'[' | b'(' | b'{' => depth += 1,
                b']' | b')' | b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Ok(());
                    }
                }
                b'"' | b'\'' | b'@' | b'<' => {
                    self.at =
                        skip_quoted(self.text, self.at).ok_or_else(|| self.wrong("a word does not end"))?;
                    continue;
                }
                b'#' => {
                    self.at = end_of_line(self.text, self.at);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.at = start;
        Err(self.wrong("a bracket is not closed: the file was cut short or is damaged"))
    }

    /// `( name = value … )`, if it is there.
    fn metadata(&mut self) -> Result<Vec<(String, std::ops::Range<usize>)>> {
        let mut entries = Vec::new();
        if !self.accept(b'(') {
            return Ok(entries);
        }
        while !self.accept(b')') {
            if matches!(self.peek(), b'"' | b'\'') {
                // a comment on the whole
                self.value()?;
                continue;
            }
            let mut name = self.word()?;
            let edit = is_edit(&name);
            if edit {
                name = self.word()?;
            }
            self.expect(b'=')?;
            let range = self.value()?;
            // a reference may say more in brackets
            if ARCS.contains(&name.as_str()) && self.peek() == b'(' {
                self.brackets()?;
            }
            entries.push((name, range));
        }
        Ok(entries)
    }

    fn prim(&mut self, parent: Option<usize>, depth: usize) -> Result<()> {
        let keyword = self.word()?;
        let specifier = match keyword.as_str() {
            "def" => Specifier::Def,
            "over" => Specifier::Over,
            "class" => Specifier::Class,
            "reorder" => {
                self.word()?;
                self.expect(b'=')?;
                return self.skip_value();
            }
            other => {
                return Err(
                    self.wrong(format!("`{other}` stands where `def`, `over` or `class` was expected"))
                );
            }
        };
        if depth > DEEPEST {
            return Err(self.wrong(format!("prims are nested more than {DEEPEST} deep")));
        }
        let type_name = if matches!(self.peek(), b'"' | b'\'') { String::new() } else { self.word()? };
        let name = self.quoted()?;
        let above = parent.map(|index| (index, self.prims[index].path.as_str()));
        let mut prim = Prim::new(above, &name);
        if !self.paths.insert(prim.path.clone()) {
            return Err(self.wrong(format!("there are two prims {}", prim.path)));
        }
        (prim.specifier, prim.type_name) = (specifier, type_name);
        for (field, range) in self.metadata()? {
            let bytes = &self.text[range];
            match field.as_str() {
                "displayName" => prim.display_name = words(bytes).ok().and_then(|mut words| words.pop()),
                "active" => prim.active = bytes != b"false" && bytes != b"0",
                "instanceable" if bytes == b"false" || bytes == b"0" => {}
                arc if ARCS.contains(&arc) && bytes != b"None" && bytes != b"[]" => prim.arc = Some(field),
                _ => {}
            }
        }
        let index = self.prims.len();
        self.prims.push(prim);
        self.expect(b'{')?;
        while !self.accept(b'}') {
            if self.ended() {
                return Err(
                    self.wrong(format!("prim `{name}` is not closed: the file was cut short or is damaged"))
                );
            }
            self.statement(index, depth)?;
        }
        Ok(())
    }

    /// A child, a property or a set of variants.
    fn statement(&mut self, prim: usize, depth: usize) -> Result<()> {
        let start = self.at;
        let mut word = self.word()?;
        match word.as_str() {
            "def" | "over" | "class" | "reorder" => {
                self.at = start;
                return self.prim(Some(prim), depth + 1);
            }
            "variantSet" => {
                self.quoted()?;
                self.expect(b'=')?;
                self.prims[prim].arc = Some("variants".into());
                return self.skip_value();
            }
            _ => {}
        }
        let deletes = word == "delete";
        while matches!(word.as_str(), "custom" | "uniform" | "varying" | "config") || is_edit(&word) {
            word = self.word()?;
        }
        if word == "rel" {
            return self.relationship(prim, deletes);
        }
        self.attribute(prim, word, deletes)
    }

    fn relationship(&mut self, prim: usize, deletes: bool) -> Result<()> {
        let name = self.word()?;
        let mut targets = Vec::new();
        if self.accept(b'=') {
            let range = self.value()?;
            if &self.text[range.clone()] != b"None" {
                targets = words(&self.text[range]).map_err(|problem| self.wrong(problem))?;
            }
        }
        self.metadata()?;
        if !deletes && !name.ends_with(".default") {
            self.prims[prim].relationships.entry(name).or_default().extend(targets);
        }
        Ok(())
    }

    fn attribute(&mut self, prim: usize, type_name: String, deletes: bool) -> Result<()> {
        let word = self.word()?;
        let (name, part) = match word.rsplit_once('.') {
            Some((name, part)) => (name.to_string(), part.to_string()),
            None => (word, String::new()),
        };
        let mut attribute = self.prims[prim].attributes.remove(&name).unwrap_or_default();
        attribute.type_name = type_name;
        if self.accept(b'=') {
            match part.as_str() {
                "timeSamples" => {
                    self.time_samples(&mut attribute)?;
                    let times = check_times(&attribute.times, attribute.samples.len());
                    times.map_err(|problem| self.wrong(problem))?;
                }
                "connect" => {
                    let range = self.value()?;
                    if !deletes {
                        attribute.connections = words(&self.text[range]).unwrap_or_default();
                    }
                }
                "" => {
                    let range = self.value()?;
                    attribute.default = (&self.text[range.clone()] != b"None").then_some(Handle::Text(range));
                }
                // splines and what is to come
                _ => self.skip_value()?,
            }
        }
        for (field, range) in self.metadata()? {
            let bytes = &self.text[range];
            let word = || words(bytes).ok().and_then(|mut words| words.pop());
            let number = || std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<f64>().ok());
            match field.as_str() {
                "interpolation" => attribute.interpolation = word(),
                "displayName" => attribute.display_name = word(),
                "elementSize" => attribute.element_size = number().map(|size| size as usize),
                "weight" => attribute.weight = number(),
                _ => {}
            }
        }
        self.prims[prim].attributes.insert(name, attribute);
        Ok(())
    }

    /// `{ time: value, … }`
    fn time_samples(&mut self, attribute: &mut Attribute) -> Result<()> {
        self.expect(b'{')?;
        while !self.accept(b'}') {
            self.space();
            let rest = &self.text[self.at..];
            let length = rest.iter().position(|&byte| byte == b':').unwrap_or(rest.len()).min(64);
            let word = String::from_utf8_lossy(rest[..length].trim_ascii()).into_owned();
            let time =
                word.parse().map_err(|_| self.wrong(format!("`{word}` is not the time of a sample")))?;
            self.at += length;
            self.expect(b':')?;
            let range = self.value()?;
            attribute.times.push(time);
            attribute.samples.push(Handle::Text(range));
            if !self.accept(b',') && self.peek() != b'}' {
                return Err(self.wrong("a comma or `}` was expected behind a sample"));
            }
        }
        Ok(())
    }
}

fn is_edit(word: &str) -> bool {
    matches!(word, "add" | "append" | "prepend" | "delete" | "reorder")
}
