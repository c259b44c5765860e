//! PLY, ASCII and binary of both byte orders, read: x, y, z of `vertex`, the list of `face`. Everything else is passed over.

use std::path::Path;

use super::{ReadOptions, malformed, still};
use crate::{Clip, Faces, Result};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Encoding {
    Ascii,
    Little,
    Big,
}

/// A number's type.
#[derive(Clone, Copy, Debug)]
enum NumberType {
    Int(usize),
    Uint(usize),
    Float,
    Double,
}

#[derive(Debug)]
struct Property {
    name: String,
    /// The type of the length, for a list.
    length: Option<NumberType>,
    kind: NumberType,
}

#[derive(Debug)]
struct Element {
    name: String,
    count: usize,
    properties: Vec<Property>,
}

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let bytes = options.files.read(path)?;
    let (encoding, elements, body) = header(path, &bytes)?;
    let mut data = Data { path, encoding, bytes: &bytes[body..], at: 0 };
    let mut points = Vec::new();
    let mut faces = Faces::default();
    for element in &elements {
        let axes = ["x", "y", "z"].map(|axis| element.properties.iter().position(|p| p.name == axis));
        let corners = element.properties.iter().position(|p| p.name.starts_with("vertex_ind"));
        // an element without properties takes no bytes, however often
        let count = if element.properties.is_empty() { 0 } else { element.count };
        let mut row: Vec<f64> = vec![0.0; element.properties.len()];
        let mut list: Vec<u32> = Vec::new();
        for index in 0..count {
            let place = || format!("{} {index}", element.name);
            for (i, property) in element.properties.iter().enumerate() {
                let Some(length) = property.length else {
                    row[i] = data.number(property.kind, &place)?;
                    continue;
                };
                let length = data.number(length, &place)?;
                if !(0.0..=255_000.0).contains(&length) {
                    return Err(malformed(path, place(), format!("a list of {length} numbers")));
                }
                list.clear();
                for _ in 0..length as usize {
                    let number = data.number(property.kind, &place)?;
                    if Some(i) == corners {
                        list.push(if number >= 0.0 { number as u32 } else { u32::MAX });
                    }
                }
                if Some(i) == corners && element.name == "face" {
                    faces.push(&list);
                }
            }
            if element.name == "vertex" {
                let [Some(x), Some(y), Some(z)] = axes else {
                    return Err(malformed(path, "header", "vertices have no x, y and z"));
                };
                points.push([row[x], row[y], row[z]].map(|x| x as f32));
            }
        }
    }
    let count = points.len();
    if let Some(&corner) = faces.corners().iter().find(|&&corner| corner as usize >= count) {
        let problem = format!("point {corner} is named, but there are {count}, from 0");
        return Err(malformed(path, "faces", problem));
    }
    still(path, points, faces, options)
}

/// Encoding, elements, and where the data begin.
fn header(path: &Path, bytes: &[u8]) -> Result<(Encoding, Vec<Element>, usize)> {
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    let mut at = 0;
    let mut number = 0;
    while let Some(length) = bytes[at..].iter().position(|&b| b == b'\n') {
        let line = String::from_utf8_lossy(&bytes[at..at + length]);
        at += length + 1;
        number += 1;
        let words: Vec<&str> = line.split_whitespace().collect();
        let error = |problem: String| malformed(path, format!("line {number}"), problem);
        let kind = |word: &str| match word {
            "char" | "int8" => Ok(NumberType::Int(1)),
            "uchar" | "uint8" => Ok(NumberType::Uint(1)),
            "short" | "int16" => Ok(NumberType::Int(2)),
            "ushort" | "uint16" => Ok(NumberType::Uint(2)),
            "int" | "int32" => Ok(NumberType::Int(4)),
            "uint" | "uint32" => Ok(NumberType::Uint(4)),
            "float" | "float32" => Ok(NumberType::Float),
            "double" | "float64" => Ok(NumberType::Double),
            other => Err(error(format!("`{other}` is not a type of number"))),
        };
        match words[..] {
            ["ply"] | ["comment", ..] | ["obj_info", ..] | [] => {}
            ["format", name, ..] => {
                encoding = Some(match name {
                    "ascii" => Encoding::Ascii,
                    "binary_little_endian" => Encoding::Little,
                    "binary_big_endian" => Encoding::Big,
                    other => return Err(error(format!("`{other}` is not an encoding we know"))),
                });
            }
            ["element", name, count] => {
                let count = count.parse().map_err(|_| error(format!("`{count}` is not a count")))?;
                elements.push(Element { name: name.into(), count, properties: Vec::new() });
            }
            ["property", ref rest @ ..] => {
                let Some(element) = elements.last_mut() else {
                    return Err(error("a property before any element".into()));
                };
                element.properties.push(match *rest {
                    ["list", length, item, name] => {
                        Property { name: name.into(), length: Some(kind(length)?), kind: kind(item)? }
                    }
                    [item, name] => Property { name: name.into(), length: None, kind: kind(item)? },
                    _ => return Err(error("a property needs a type and a name".into())),
                });
            }
            ["end_header"] => {
                let Some(encoding) = encoding else { return Err(error("there is no format".into())) };
                return Ok((encoding, elements, at));
            }
            _ => return Err(error(format!("`{}` is not understood", line.trim()))),
        }
    }
    Err(malformed(path, "header", "it has no end; the file is cut short"))
}

struct Data<'a> {
    path: &'a Path,
    encoding: Encoding,
    bytes: &'a [u8],
    at: usize,
}

impl Data<'_> {
    fn number(&mut self, kind: NumberType, place: &impl Fn() -> String) -> Result<f64> {
        let cut_short = || malformed(self.path, place(), "the file is cut short");
        if self.encoding == Encoding::Ascii {
            let rest = &self.bytes[self.at..];
            let start = rest.iter().position(|b| !b.is_ascii_whitespace()).ok_or_else(cut_short)?;
            let end =
                rest[start..].iter().position(u8::is_ascii_whitespace).map_or(rest.len(), |n| start + n);
            let word = String::from_utf8_lossy(&rest[start..end]);
            let number = word.parse();
            self.at += end;
            return number.map_err(|_| malformed(self.path, place(), format!("`{word}` is not a number")));
        }
        let size = match kind {
            NumberType::Int(size) | NumberType::Uint(size) => size,
            NumberType::Float => 4,
            NumberType::Double => 8,
        };
        let mut bytes = [0_u8; 8];
        let found = self.bytes.get(self.at..self.at + size).ok_or_else(cut_short)?;
        bytes[..size].copy_from_slice(found);
        if self.encoding == Encoding::Big {
            bytes[..size].reverse();
        }
        self.at += size;
        let unsigned = u64::from_le_bytes(bytes);
        Ok(match kind {
            NumberType::Uint(_) => unsigned as f64,
            // the sign's bit moved to the top and back
            NumberType::Int(size) => {
                let unused = 64 - 8 * size as u32;
                (((unsigned << unused) as i64) >> unused) as f64
            }
            NumberType::Float => f64::from(f32::from_bits(unsigned as u32)),
            NumberType::Double => f64::from_bits(unsigned),
        })
    }
}
