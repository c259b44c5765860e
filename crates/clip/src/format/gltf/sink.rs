//! A GLB being written: binary data as it comes, the JSON that describes it at the end.
//!
//! The container wants its JSON first, but nobody knows its length before the last frame. Small files wait in memory;
//! a file that grows beyond [`IN_MEMORY`] goes to disk behind a gap that is surely large enough, and what the JSON
//! leaves of it is filled with spaces, as the container allows.

use std::path::Path;

use serde_json::{Value, json};

use crate::format::atomic::AtomicFile;
use crate::{Error, Result};

/// Bytes that are kept back before anything goes to disk.
const IN_MEMORY: usize = 16 << 20;

/// Two headers: of the file and of the JSON chunk.
const JSON_START: u64 = 20;

/// What a buffer view is for.
#[derive(Clone, Copy)]
pub(super) enum Use {
    Vertices,
    Indices,
    Other,
}

/// A GLB being written.
pub(super) struct Sink {
    path: std::path::PathBuf,
    /// Where it goes; `None` when it stays in memory.
    file: Option<AtomicFile>,
    waiting: Vec<u8>,
    /// Length of the JSON's gap; zero while everything is in memory.
    gap: u64,
    /// The gap to leave when the time comes.
    wanted_gap: u64,
    length: u64,
    views: Places,
    accessors: Places,
}

/// A list of the document that grows. What is added takes free places first, so that the numbers of all others stay.
#[derive(Default)]
pub(super) struct Places {
    items: Vec<Value>,
    /// From the last to the first.
    free: Vec<usize>,
}

impl Places {
    /// Goes on with a list of which some places, in rising order, are free.
    pub(super) fn new(items: Vec<Value>, free: impl DoubleEndedIterator<Item = usize>) -> Self {
        Self { items, free: free.rev().collect() }
    }

    fn push(&mut self, item: Value) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.items[place] = item;
                place
            }
            None => {
                self.items.push(item);
                self.items.len() - 1
            }
        }
    }

    /// The list; in places that are still free stands a filler, or nothing at the end.
    fn take(&mut self, filler: &Value) -> Vec<Value> {
        for place in std::mem::take(&mut self.free) {
            match place + 1 == self.items.len() {
                true => drop(self.items.pop()),
                false => self.items[place] = filler.clone(),
            }
        }
        std::mem::take(&mut self.items)
    }
}

impl Sink {
    /// Opens the file. `json_bound` is a length that the JSON will not exceed.
    pub(super) fn create(path: &Path, json_bound: u64) -> Result<Self> {
        Ok(Self { file: Some(AtomicFile::create(path)?), ..Self::in_memory(path, json_bound) })
    }

    /// The same, but no file is written: what it is comes from [`finish_in_memory`](Self::finish_in_memory).
    pub(super) fn in_memory(path: &Path, json_bound: u64) -> Self {
        Self {
            path: path.to_path_buf(),
            file: None,
            waiting: Vec::new(),
            gap: 0,
            wanted_gap: json_bound.next_multiple_of(4),
            length: 0,
            views: Places::default(),
            accessors: Places::default(),
        }
    }

    /// Goes on with the buffer views and accessors of another document, whose bytes were [carried](Self::carry) over.
    pub(super) fn adopt(&mut self, views: Places, accessors: Places) {
        (self.views, self.accessors) = (views, accessors);
    }

    /// Appends bytes that views will be told about later; returns where they begin, at a multiple of four.
    pub(super) fn carry(&mut self, bytes: &[u8]) -> Result<u64> {
        let padding = [0; 3];
        let rest = self.length.next_multiple_of(4) - self.length;
        self.append(&padding[..rest as usize])?;
        let start = self.length;
        self.append(bytes)?;
        Ok(start)
    }

    /// Appends bytes as a buffer view; returns its number.
    pub(super) fn view(&mut self, bytes: &[u8], stride: Option<usize>, purpose: Use) -> Result<usize> {
        let start = self.carry(bytes)?;
        let mut view = json!({ "buffer": 0, "byteOffset": start, "byteLength": bytes.len() });
        if let Some(stride) = stride {
            view["byteStride"] = json!(stride);
        }
        match purpose {
            Use::Vertices => view["target"] = json!(34962),
            Use::Indices => view["target"] = json!(34963),
            Use::Other => {}
        }
        Ok(self.views.push(view))
    }

    /// Adds an accessor; returns its number.
    pub(super) fn accessor(&mut self, accessor: Value) -> usize {
        self.accessors.push(accessor)
    }

    /// A column of vertex data; returns its accessor.
    pub(super) fn column<const N: usize>(&mut self, values: &[[f32; N]], bounds: bool) -> Result<usize> {
        let view = self.view(&float_bytes(values.as_flattened()), Some(4 * N), Use::Vertices)?;
        let mut accessor = json!({
            "bufferView": view, "componentType": 5126, "count": values.len(), "type": kind(N),
        });
        if bounds {
            let (min, max) = min_max(values);
            accessor["min"] = json!(min.as_slice());
            accessor["max"] = json!(max.as_slice());
        }
        Ok(self.accessor(accessor))
    }

    /// A column of vertex data of which only what is not zero is stored, where that is smaller.
    pub(super) fn sparse_column<const N: usize>(
        &mut self,
        values: &[[f32; N]],
        bounds: bool,
    ) -> Result<usize> {
        let count = values.iter().filter(|value| **value != [0.0; N]).count();
        let index_size = if values.len() <= usize::from(u16::MAX) { 2 } else { 4 };
        if count == 0 || count * (4 * N + index_size) >= values.len() * 4 * N {
            return self.column(values, bounds);
        }
        let mut indices = Vec::with_capacity(count * index_size);
        let mut stored = Vec::with_capacity(count);
        for (index, value) in values.iter().enumerate().filter(|(_, value)| **value != [0.0; N]) {
            indices.extend_from_slice(&(index as u32).to_le_bytes()[..index_size]);
            stored.push(*value);
        }
        let indices = self.view(&indices, None, Use::Other)?;
        let stored = self.view(&float_bytes(stored.as_flattened()), None, Use::Other)?;
        let mut accessor = json!({
            "componentType": 5126, "count": values.len(), "type": kind(N),
            "sparse": {
                "count": count,
                "indices": { "bufferView": indices, "componentType": if index_size == 2 { 5123 } else { 5125 } },
                "values": { "bufferView": stored },
            },
        });
        if bounds {
            let (min, max) = min_max(values);
            accessor["min"] = json!(min.as_slice());
            accessor["max"] = json!(max.as_slice());
        }
        Ok(self.accessor(accessor))
    }

    /// Displacements that move nothing. They take no bytes.
    pub(super) fn zeros(&mut self, count: usize) -> usize {
        self.accessor(json!({
            "componentType": 5126, "count": count, "type": "VEC3",
            "min": [0.0, 0.0, 0.0], "max": [0.0, 0.0, 0.0],
        }))
    }

    /// Weights that are all or nothing: a normalised byte says that exactly, at a quarter of a float.
    pub(super) fn switches(&mut self, weights: &[[f32; 1]]) -> Result<usize> {
        let bytes: Vec<u8> = weights.iter().map(|[weight]| if *weight > 0.5 { u8::MAX } else { 0 }).collect();
        let view = self.view(&bytes, None, Use::Other)?;
        Ok(self.accessor(json!({
            "bufferView": view, "componentType": 5121, "normalized": true, "count": weights.len(), "type": "SCALAR",
        })))
    }

    /// Weights at the keys of an animation, one after the other; returns the accessor.
    pub(super) fn values(&mut self, values: &[[f32; 1]]) -> Result<usize> {
        let view = self.view(&float_bytes(values.as_flattened()), None, Use::Other)?;
        Ok(self.accessor(json!({
            "bufferView": view, "componentType": 5126, "count": values.len(), "type": "SCALAR",
        })))
    }

    /// Key times or key values of an animation; returns the accessor.
    pub(super) fn keys<const N: usize>(&mut self, values: &[[f32; N]]) -> Result<usize> {
        let view = self.view(&float_bytes(values.as_flattened()), None, Use::Other)?;
        let mut accessor = json!({
            "bufferView": view, "componentType": 5126, "count": values.len(), "type": kind(N),
        });
        if N == 1 {
            let (min, max) = min_max(values);
            accessor["min"] = json!(min.as_slice());
            accessor["max"] = json!(max.as_slice());
        }
        Ok(self.accessor(accessor))
    }

    /// Writes the JSON and gives the file its name; returns its size.
    pub(super) fn finish(mut self, document: Value) -> Result<u64> {
        let head = self.head(document)?;
        let Some(mut file) = self.file.take() else { return Ok((head.len() + self.waiting.len()) as u64) };
        match self.gap {
            0 => {
                file.append(&head)?;
                file.append(&self.waiting)?;
            }
            _ => file.fill(0, &head)?,
        }
        file.finish()
    }

    /// The bytes of a GLB that stayed in memory.
    pub(super) fn finish_in_memory(mut self, document: Value) -> Result<Vec<u8>> {
        let mut bytes = self.head(document)?;
        bytes.append(&mut self.waiting);
        Ok(bytes)
    }

    /// Everything before the binary data.
    fn head(&mut self, mut document: Value) -> Result<Vec<u8>> {
        self.carry(&[])?;
        if self.length > 0 {
            // what a source said of its one buffer stays
            match document.get_mut("buffers").and_then(|buffers| buffers.get_mut(0)) {
                Some(buffer) => buffer["byteLength"] = json!(self.length),
                None => document["buffers"] = json!([{ "byteLength": self.length }]),
            }
        }
        let unused_view = json!({ "buffer": 0, "byteOffset": 0, "byteLength": 4 });
        let unused_accessor = json!({ "componentType": 5126, "count": 1, "type": "SCALAR" });
        let lists = [
            ("bufferViews", self.views.take(&unused_view)),
            ("accessors", self.accessors.take(&unused_accessor)),
        ];
        for (name, items) in lists {
            if !items.is_empty() {
                document[name] = Value::Array(items);
            }
        }
        let mut json = serde_json::to_vec(&document).map_err(|error| self.unsupported(error.to_string()))?;
        drop(document);
        let room = if self.gap > 0 { self.gap as usize } else { json.len().next_multiple_of(4) };
        if json.len() > room {
            let problem = format!(
                "{} bytes of JSON do not fit the {room} that were kept for it; write fewer frames",
                json.len()
            );
            return Err(self.unsupported(problem));
        }
        json.resize(room, b' ');
        let binary_header = if self.length > 0 { 8 } else { 0 };
        let total = JSON_START + room as u64 + binary_header + self.length;
        let total = u32::try_from(total).map_err(|_| self.too_large())?;
        let mut head = Vec::with_capacity(room + 28);
        head.extend_from_slice(b"glTF");
        head.extend_from_slice(&2_u32.to_le_bytes());
        head.extend_from_slice(&total.to_le_bytes());
        head.extend_from_slice(&(room as u32).to_le_bytes());
        head.extend_from_slice(b"JSON");
        head.extend_from_slice(&json);
        if self.length > 0 {
            // below the total, which fits
            head.extend_from_slice(&(self.length as u32).to_le_bytes());
            head.extend_from_slice(b"BIN\0");
        }
        Ok(head)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64;
        if JSON_START + self.wanted_gap + 8 + self.length > u64::from(u32::MAX) {
            return Err(self.too_large());
        }
        let file = match &mut self.file {
            Some(file) if self.gap > 0 || self.waiting.len() + bytes.len() > IN_MEMORY => file,
            _ => {
                self.waiting.extend_from_slice(bytes);
                return Ok(());
            }
        };
        if self.gap == 0 {
            self.gap = self.wanted_gap.max(4);
            file.leave(JSON_START + self.gap + 8)?;
            file.append(&std::mem::take(&mut self.waiting))?;
        }
        file.append(bytes)
    }

    fn too_large(&self) -> Error {
        self.unsupported(
            "a GLB cannot exceed 4 GiB; write fewer frames, leave out normals, or write .pc2".into(),
        )
    }

    fn unsupported(&self, problem: String) -> Error {
        Error::Unsupported { path: self.path.clone(), problem }
    }
}

fn kind(width: usize) -> &'static str {
    match width {
        1 => "SCALAR",
        2 => "VEC2",
        3 => "VEC3",
        4 => "VEC4",
        _ => "MAT4",
    }
}

/// Floats as little-endian bytes; no copy where the machine is little-endian.
fn float_bytes(values: &[f32]) -> std::borrow::Cow<'_, [u8]> {
    match cfg!(target_endian = "little") {
        true => bytemuck::cast_slice(values).into(),
        false => values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>().into(),
    }
}

fn min_max<const N: usize>(values: &[[f32; N]]) -> ([f32; N], [f32; N]) {
    let start = values.first().copied().unwrap_or([0.0; N]);
    values.iter().fold((start, start), |(mut min, mut max), value| {
        for i in 0..N {
            min[i] = min[i].min(value[i]);
            max[i] = max[i].max(value[i]);
        }
        (min, max)
    })
}
