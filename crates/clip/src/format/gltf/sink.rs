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
    file: AtomicFile,
    waiting: Vec<u8>,
    /// Length of the JSON's gap; zero while everything is in memory.
    gap: u64,
    /// The gap to leave when the time comes.
    wanted_gap: u64,
    length: u64,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Sink {
    /// Opens the file. `json_bound` is a length that the JSON will not exceed.
    pub(super) fn create(path: &Path, json_bound: u64) -> Result<Self> {
        Ok(Self {
            path: path.to_path_buf(),
            file: AtomicFile::create(path)?,
            waiting: Vec::new(),
            gap: 0,
            wanted_gap: json_bound.next_multiple_of(4),
            length: 0,
            views: Vec::new(),
            accessors: Vec::new(),
        })
    }

    /// Appends bytes as a buffer view; returns its number.
    pub(super) fn view(&mut self, bytes: &[u8], stride: Option<usize>, purpose: Use) -> Result<usize> {
        let mut view = json!({ "buffer": 0, "byteOffset": self.length, "byteLength": bytes.len() });
        if let Some(stride) = stride {
            view["byteStride"] = json!(stride);
        }
        match purpose {
            Use::Vertices => view["target"] = json!(34962),
            Use::Indices => view["target"] = json!(34963),
            Use::Other => {}
        }
        let padding = [0; 3];
        let padding = &padding[..bytes.len().next_multiple_of(4) - bytes.len()];
        for bytes in [bytes, padding] {
            self.append(bytes)?;
        }
        self.views.push(view);
        Ok(self.views.len() - 1)
    }

    /// Adds an accessor; returns its number.
    pub(super) fn accessor(&mut self, accessor: Value) -> usize {
        self.accessors.push(accessor);
        self.accessors.len() - 1
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
    pub(super) fn finish(mut self, mut document: Value) -> Result<u64> {
        if self.length > 0 {
            document["buffers"] = json!([{ "byteLength": self.length }]);
            document["bufferViews"] = Value::Array(std::mem::take(&mut self.views));
        }
        if !self.accessors.is_empty() {
            document["accessors"] = Value::Array(std::mem::take(&mut self.accessors));
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
        match self.gap {
            0 => {
                self.file.append(&head)?;
                self.file.append(&self.waiting)?;
            }
            _ => self.file.fill(0, &head)?,
        }
        self.file.finish()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64;
        if JSON_START + self.wanted_gap + 8 + self.length > u64::from(u32::MAX) {
            return Err(self.too_large());
        }
        if self.gap == 0 && self.waiting.len() + bytes.len() <= IN_MEMORY {
            self.waiting.extend_from_slice(bytes);
            return Ok(());
        }
        if self.gap == 0 {
            self.gap = self.wanted_gap.max(4);
            self.file.leave(JSON_START + self.gap + 8)?;
            self.file.append(&std::mem::take(&mut self.waiting))?;
        }
        self.file.append(bytes)
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
