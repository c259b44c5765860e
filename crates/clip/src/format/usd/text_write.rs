//! Layers as text. Numbers are the shortest that read back to the same bits.
//!
//! In text all samples of an attribute stand together, while frames come with everything that moves in them. So the
//! frames are pulled once for every mesh; text is for small things.

use std::fmt::Write as _;

use super::layer::{Data, Layer, Prim, Property, Specifier, Track};
use super::value::{Arity, Scalar, Value, ValueType, half_bits, half_value};
use crate::Result;
use crate::format::atomic::AtomicFile;

/// Where a track's samples come from: calls back with each, in order.
pub(super) type Sampler<'a> = dyn FnMut(Track, &mut dyn FnMut(&[f32]) -> Result<()>) -> Result<()> + 'a;

/// Writes a whole layer.
pub(super) fn write(file: AtomicFile, layer: &Layer, sampler: &mut Sampler) -> Result<AtomicFile> {
    let mut writer = TextWriter { file, text: String::new(), times: &layer.times, sampler };
    writer.text.push_str("#usda 1.0\n(\n");
    for (name, kind, value) in &layer.metadata {
        let _ = writeln!(writer.text, "    {name} = {}", format(*kind, value));
    }
    writer.text.push_str(")\n");
    for prim in &layer.prims {
        writer.prim(prim, 0)?;
    }
    writer.flush()?;
    Ok(writer.file)
}

struct TextWriter<'a, 's> {
    file: AtomicFile,
    /// What is not in the file yet.
    text: String,
    times: &'a [f64],
    sampler: &'a mut Sampler<'s>,
}

impl TextWriter<'_, '_> {
    fn flush(&mut self) -> Result<()> {
        self.file.append(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }

    fn prim(&mut self, prim: &Prim, depth: usize) -> Result<()> {
        let indent = "    ".repeat(depth);
        let specifier = match prim.specifier {
            Specifier::Def => "def",
            Specifier::Over => "over",
            Specifier::Class => "class",
        };
        let space = if prim.type_name.is_empty() { "" } else { " " };
        let _ = write!(self.text, "\n{indent}{specifier} {}{space}{}", prim.type_name, quoted(&prim.name));
        if !(prim.metadata.is_empty() && prim.api_schemas.is_empty()) {
            self.text.push_str(" (\n");
            if !prim.api_schemas.is_empty() {
                let names: Vec<String> = prim.api_schemas.iter().map(|name| quoted(name)).collect();
                let _ = writeln!(self.text, "{indent}    prepend apiSchemas = [{}]", names.join(", "));
            }
            for (name, kind, value) in &prim.metadata {
                let _ = writeln!(self.text, "{indent}    {name} = {}", format(*kind, value));
            }
            let _ = write!(self.text, "{indent})");
        }
        let _ = write!(self.text, "\n{indent}{{\n");
        for property in &prim.properties {
            self.property(property, &"    ".repeat(depth + 1))?;
            self.flush()?;
        }
        for child in &prim.children {
            self.prim(child, depth + 1)?;
        }
        let _ = writeln!(self.text, "{indent}}}");
        Ok(())
    }

    fn property(&mut self, property: &Property, indent: &str) -> Result<()> {
        let name = &property.name;
        match &property.data {
            Data::Relationship(targets) => {
                let _ = match targets.as_slice() {
                    [] => writeln!(self.text, "{indent}rel {name} = None"),
                    [target] => writeln!(self.text, "{indent}rel {name} = <{target}>"),
                    targets => writeln!(self.text, "{indent}rel {name} = [<{}>]", targets.join(">, <")),
                };
            }
            Data::Attribute { type_name, uniform, custom, default, samples, connection } => {
                let custom = if *custom { "custom " } else { "" };
                let uniform = if *uniform { "uniform " } else { "" };
                let kind = ValueType::parse(type_name).unwrap_or(ValueType::TOKEN);
                if default.is_some()
                    || (samples.is_none() && connection.is_none())
                    || !property.metadata.is_empty()
                {
                    let _ = write!(self.text, "{indent}{custom}{uniform}{type_name} {name}");
                    if let Some(value) = default {
                        let _ = write!(self.text, " = {}", format(kind, value));
                    }
                    self.metadata(&property.metadata, indent);
                }
                if let Some(path) = connection {
                    let _ =
                        writeln!(self.text, "{indent}{custom}{uniform}{type_name} {name}.connect = <{path}>");
                }
                if let Some(track) = samples {
                    let _ =
                        writeln!(self.text, "{indent}{custom}{uniform}{type_name} {name}.timeSamples = {{");
                    self.samples(*track, kind, indent)?;
                    let _ = writeln!(self.text, "{indent}}}");
                }
            }
        }
        Ok(())
    }

    fn metadata(&mut self, metadata: &[(&str, ValueType, Value)], indent: &str) {
        if metadata.is_empty() {
            self.text.push('\n');
            return;
        }
        self.text.push_str(" (\n");
        for (name, kind, value) in metadata {
            let _ = writeln!(self.text, "{indent}    {name} = {}", format(*kind, value));
        }
        let _ = writeln!(self.text, "{indent})");
    }

    fn samples(&mut self, track: Track, kind: ValueType, indent: &str) -> Result<()> {
        let (file, text, times) = (&mut self.file, &mut self.text, self.times);
        let mut number = 0;
        (self.sampler)(track, &mut |values| {
            let _ = write!(text, "{indent}    {}: [", times.get(number).copied().unwrap_or_default());
            number += 1;
            elements(text, kind, values.len(), |text, i| float(text, kind.scalar, values[i]));
            text.push_str("],\n");
            file.append(text.as_bytes())?;
            text.clear();
            Ok(())
        })
    }
}

/// A value as text.
fn format(kind: ValueType, value: &Value) -> String {
    let mut text = String::new();
    if kind.array {
        text.push('[');
    }
    match value {
        Value::Ints(items) if kind.scalar == Scalar::Bool => {
            elements(&mut text, kind, items.len(), |text, i| {
                text.push_str(if items[i] == 0 { "false" } else { "true" });
            });
        }
        Value::Ints(items) => elements(&mut text, kind, items.len(), |text, i| {
            let _ = write!(text, "{}", items[i]);
        }),
        Value::Floats(items) => {
            elements(&mut text, kind, items.len(), |text, i| float(text, kind.scalar, items[i]));
        }
        Value::Doubles(items) => elements(&mut text, kind, items.len(), |text, i| {
            let _ = write!(text, "{}", items[i]);
        }),
        Value::Texts(items) => elements(&mut text, kind, items.len(), |text, i| {
            if kind.scalar == Scalar::Asset {
                let _ = write!(text, "@{}@", items[i].replace('@', ""));
            } else {
                text.push_str(&quoted(&items[i]));
            }
        }),
        Value::Blocked => text.push_str("None"),
    }
    if kind.array {
        text.push(']');
    }
    text
}

fn float(text: &mut String, scalar: Scalar, value: f32) {
    let value = if scalar == Scalar::Half { half_value(half_bits(value)) } else { value };
    // without an exponent a small number is mostly zeros
    let _ = match value != 0.0 && value.abs() < 1e-5 {
        true => write!(text, "{value:e}"),
        false => write!(text, "{value}"),
    };
}

/// Commas and brackets around `count` numbers or words.
fn elements(text: &mut String, kind: ValueType, count: usize, mut item: impl FnMut(&mut String, usize)) {
    let width = kind.width();
    for element in 0..count / width {
        if element > 0 {
            text.push_str(", ");
        }
        let start = element * width;
        match kind.shape {
            Arity::One => item(text, start),
            Arity::Vector(_) => tuple(text, (start..start + width).collect::<Vec<_>>(), &mut item),
            // text has the real part first
            Arity::Quaternion => tuple(text, vec![start + 3, start, start + 1, start + 2], &mut item),
            Arity::Matrix(rows) => {
                text.push_str("( ");
                for row in 0..rows {
                    if row > 0 {
                        text.push_str(", ");
                    }
                    let first = start + row * rows;
                    tuple(text, (first..first + rows).collect::<Vec<_>>(), &mut item);
                }
                text.push_str(" )");
            }
        }
    }
}

fn tuple(text: &mut String, indices: Vec<usize>, item: &mut impl FnMut(&mut String, usize)) {
    text.push('(');
    for (place, index) in indices.into_iter().enumerate() {
        if place > 0 {
            text.push_str(", ");
        }
        item(text, index);
    }
    text.push(')');
}

/// A word in quotes, with everything escaped that would end it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => {}
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
