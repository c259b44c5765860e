//! The bytes of a glTF file: the GLB container, buffers beside it, data URIs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::document::Document;
use crate::files::PlainFile;
use crate::format::malformed;
use crate::{Error, Files, Result};

/// A file opened: its JSON understood, its buffers where they are, on disk or, when they stand in the JSON, in memory.
pub(super) struct Container {
    pub(super) path: PathBuf,
    pub(super) files: Files,
    pub(super) document: Document,
    /// The JSON as it stands in the file.
    json: Bytes,
    buffers: Vec<Bytes>,
    /// Bytes of all buffers together: no honest accessor has more elements.
    pub(super) total_length: usize,
}

/// A run of bytes that are shared, read when they are asked for.
#[derive(Clone)]
pub(super) struct Bytes {
    source: Source,
    range: Range<usize>,
}

#[derive(Clone)]
enum Source {
    Memory(Arc<Vec<u8>>),
    File(Arc<PlainFile>),
}

impl Bytes {
    fn whole(bytes: Vec<u8>) -> Self {
        Self { range: 0..bytes.len(), source: Source::Memory(Arc::new(bytes)) }
    }

    fn of_file(file: PlainFile) -> Self {
        let length = usize::try_from(file.length()).unwrap_or(usize::MAX);
        Self { range: 0..length, source: Source::File(Arc::new(file)) }
    }

    /// A part of the run; `None` when it does not lie inside.
    pub(super) fn slice(&self, offset: usize, length: usize) -> Option<Self> {
        let start = self.range.start.checked_add(offset)?;
        let end = start.checked_add(length)?;
        (end <= self.range.end).then(|| Self { source: self.source.clone(), range: start..end })
    }

    /// The bytes themselves.
    pub(super) fn read(&self) -> Result<Cow<'_, [u8]>> {
        match &self.source {
            Source::Memory(all) => Ok(Cow::Borrowed(&all[self.range.clone()])),
            Source::File(file) => {
                let mut bytes = vec![0; self.range.len()];
                file.read_at(self.range.start as u64, &mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.range.len()
    }
}

/// Extensions that hide the geometry from us.
const COMPRESSION: [&str; 4] = [
    "KHR_draco_mesh_compression",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
    "EXT_mesh_gpu_instancing",
];

impl Container {
    /// Reads the file and everything that its buffers name.
    pub(super) fn open(path: &Path, files: &Files) -> Result<Self> {
        let file = files.open(path)?;
        let is_binary = file.start(4)? == b"glTF";
        Self::of(path, files, &Bytes::of_file(file), is_binary)
    }

    /// A GLB that is nowhere but in memory and is to be called `path`.
    pub(super) fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        Self::of(path, &Files::default(), &Bytes::whole(bytes), true)
    }

    fn of(path: &Path, files: &Files, bytes: &Bytes, is_binary: bool) -> Result<Self> {
        let (document, json, binary) = read_document(path, bytes, is_binary)?;
        if let Some(name) =
            document.extensions_required.iter().find(|name| COMPRESSION.contains(&name.as_str()))
        {
            let problem = format!("it needs {name}, which we do not read; export it again without that");
            return Err(Error::Unsupported { path: path.to_path_buf(), problem });
        }
        // however many buffers name a file, it is open once
        let mut beside: BTreeMap<PathBuf, Bytes> = BTreeMap::new();
        let mut buffers = Vec::with_capacity(document.buffers.len());
        for (index, buffer) in document.buffers.iter().enumerate() {
            let place = || format!("buffers[{index}]");
            let bytes = match (&buffer.uri, &binary) {
                (Some(uri), _) => match resolve(files, path, uri, &place())? {
                    Resource::Data(bytes) => Bytes::whole(bytes),
                    Resource::File(file) => match beside.get(&file) {
                        Some(bytes) => bytes.clone(),
                        None => {
                            let bytes = Bytes::of_file(files.open(&file)?);
                            beside.insert(file, bytes.clone());
                            bytes
                        }
                    },
                },
                (None, Some(binary)) if index == 0 => binary.clone(),
                (None, _) => return Err(malformed(path, place(), "it has neither a URI nor a binary chunk")),
            };
            let Some(bytes) = bytes.slice(0, buffer.byte_length) else {
                let problem = format!(
                    "{} bytes are promised, but only {} are there: the file was cut short",
                    buffer.byte_length,
                    bytes.len()
                );
                return Err(malformed(path, place(), problem));
            };
            buffers.push(bytes);
        }
        let total_length = buffers.iter().map(Bytes::len).sum();
        Ok(Self { path: path.to_path_buf(), files: files.clone(), document, json, buffers, total_length })
    }

    /// The whole JSON, with all that we have no use for.
    pub(super) fn whole_document(&self) -> Result<Value> {
        parse(&self.path, &self.json)
    }

    /// A part of a buffer.
    pub(super) fn part(&self, buffer: usize, offset: usize, length: usize, place: &str) -> Result<Bytes> {
        let bytes = self.item(&self.buffers, buffer, "buffers")?;
        bytes.slice(offset, length).ok_or_else(|| {
            let end = offset.saturating_add(length);
            let problem =
                format!("bytes {offset} to {end} are asked for, but its buffer has {}", bytes.len());
            self.malformed(place, problem)
        })
    }

    /// The bytes of a buffer view, and its stride.
    pub(super) fn view(&self, index: usize) -> Result<(Bytes, Option<usize>)> {
        let view = self.item(&self.document.buffer_views, index, "bufferViews")?;
        let place = format!("bufferViews[{index}]");
        let bytes = self.part(view.buffer, view.byte_offset, view.byte_length, &place)?;
        Ok((bytes, view.byte_stride))
    }

    /// An element of one of the document's lists.
    pub(super) fn item<'a, T>(&self, list: &'a [T], index: usize, name: &str) -> Result<&'a T> {
        list.get(index).ok_or_else(|| {
            self.malformed(
                format!("{name}[{index}]"),
                format!("it is referred to, but there are only {}", list.len()),
            )
        })
    }

    pub(super) fn malformed(&self, place: impl Into<String>, problem: impl Into<String>) -> Error {
        malformed(&self.path, place, problem)
    }
}

/// The JSON of a glTF or GLB, understood and as it stands there, and the GLB's binary chunk.
fn read_document(path: &Path, bytes: &Bytes, is_binary: bool) -> Result<(Document, Bytes, Option<Bytes>)> {
    let (json, binary) = if is_binary { chunks(path, bytes)? } else { (bytes.clone(), None) };
    let document: Document = parse(path, &json)?;
    if !document.asset.version.starts_with("2.") {
        let problem = format!("it is glTF version `{}`; we read 2.0", document.asset.version);
        return Err(Error::Unsupported { path: path.to_path_buf(), problem });
    }
    Ok((document, json, binary))
}

fn parse<T: DeserializeOwned>(path: &Path, json: &Bytes) -> Result<T> {
    let json = json.read()?;
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&json);
    serde_json::from_slice(json).map_err(|error| {
        let place = format!("JSON line {}, column {}", error.line(), error.column());
        malformed(path, place, error.to_string())
    })
}

/// A GLB has two chunks, and whatever an extension adds.
const MOST_CHUNKS: usize = 1000;

/// Splits a GLB into its JSON and binary chunks.
fn chunks(path: &Path, bytes: &Bytes) -> Result<(Bytes, Option<Bytes>)> {
    let cut =
        |at: usize| malformed(path, format!("byte {at}"), "the file ends inside a header: it was cut short");
    let words = |at: usize| -> Result<[usize; 2]> {
        let eight = bytes.slice(at, 8).ok_or_else(|| cut(at))?;
        let eight = eight.read()?;
        let word = |i: usize| u32::from_le_bytes([eight[i], eight[i + 1], eight[i + 2], eight[i + 3]]);
        Ok([word(0) as usize, word(4) as usize])
    };
    let version = words(4)?[0];
    if version != 2 {
        let problem = format!("it is a GLB of version {version}; we read 2");
        return Err(Error::Unsupported { path: path.to_path_buf(), problem });
    }
    let mut json = None;
    let mut binary = None;
    let mut at = 12;
    for number in 0.. {
        if at >= bytes.len() {
            break;
        }
        if number == MOST_CHUNKS {
            return Err(malformed(path, format!("byte {at}"), format!("it has more than {number} chunks")));
        }
        let [length, kind] = words(at)?;
        let chunk = bytes.slice(at + 8, length).ok_or_else(|| {
            let problem =
                format!("a chunk of {length} bytes begins here, but the file ends before: it was cut short");
            malformed(path, format!("byte {at}"), problem)
        })?;
        match &kind.to_le_bytes()[..4] {
            b"JSON" if json.is_none() => json = Some(chunk),
            b"BIN\0" if binary.is_none() => binary = Some(chunk),
            _ => {}
        }
        at += 8 + length.next_multiple_of(4);
    }
    let json = json.ok_or_else(|| malformed(path, "byte 12", "there is no JSON chunk"))?;
    Ok((json, binary))
}

/// What a URI stands for.
pub(super) enum Resource {
    /// A data URI: its bytes.
    Data(Vec<u8>),
    /// A file beside this one.
    File(PathBuf),
}

/// Finds what a URI at `place` stands for, within the file's own folder.
pub(super) fn resolve(files: &Files, path: &Path, uri: &str, place: &str) -> Result<Resource> {
    if let Some(data) = uri.strip_prefix("data:") {
        let (head, body) = data.split_once(',').unwrap_or((data, ""));
        if !head.ends_with(";base64") {
            return Err(malformed(path, place, "the data URI is not base64"));
        }
        let bytes =
            decode_base64(body).ok_or_else(|| malformed(path, place, "the data URI is not valid base64"))?;
        return Ok(Resource::Data(bytes));
    }
    if uri.contains("://") {
        return Err(malformed(
            path,
            place,
            format!("`{uri}` is not a file beside this one; download it first"),
        ));
    }
    Ok(Resource::File(files.beside(path, place, &decode_percent(uri))?))
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0_u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\r' | b'\n' | b' ' => continue,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

fn decode_percent(uri: &str) -> String {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let hex = (first == b'%').then(|| behind.get(..2)).flatten();
        let decoded = hex
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(decoded.unwrap_or(first));
        rest = if decoded.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        assert_eq!(decode_base64("").unwrap(), b"");
        assert_eq!(decode_base64("Zg==").unwrap(), b"f");
        assert_eq!(decode_base64("Zm8=").unwrap(), b"fo");
        assert_eq!(decode_base64("Zm9v").unwrap(), b"foo");
        assert_eq!(decode_base64("Zm9vYg").unwrap(), b"foob");
        assert_eq!(decode_base64("Zm*v"), None);
    }

    #[test]
    fn names_are_percent_encoded() {
        assert_eq!(decode_percent("my%20cloth%2.bin"), "my cloth%2.bin");
        assert_eq!(decode_percent("caf%C3%A9.bin"), "café.bin");
        assert_eq!(decode_percent("caf\u{e9}%25.bin"), "café%.bin");
        assert_eq!(decode_percent("%2e%2e%2Fa"), "../a");
    }
}
