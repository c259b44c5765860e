//! Accessors: typed, possibly sparse, possibly quantised views of a buffer. Checked once against the buffer's length,
//! and read from disk when their values are asked for.

use std::borrow::Cow;

use super::container::{Bytes, Container};
use crate::Result;

/// The number in each component of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn from_code(code: u32) -> Option<Self> {
        Some(match code {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    /// The number at the start of `bytes`; normalised integers become fractions.
    fn float(self, bytes: &[u8], normalized: bool) -> f32 {
        let scaled = |value: f32, largest: f32| if normalized { (value / largest).max(-1.0) } else { value };
        match self {
            Self::I8 => scaled(f32::from(bytes[0] as i8), 127.0),
            Self::U8 => scaled(f32::from(bytes[0]), 255.0),
            Self::I16 => scaled(f32::from(i16::from_le_bytes([bytes[0], bytes[1]])), 32767.0),
            Self::U16 => scaled(f32::from(u16::from_le_bytes([bytes[0], bytes[1]])), 65535.0),
            Self::U32 => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as f32,
            Self::F32 => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        }
    }

    fn index(self, bytes: &[u8]) -> u32 {
        match self {
            Self::U8 => u32::from(bytes[0]),
            Self::U16 => u32::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            // what is neither was refused by `Accessor::indices`
            _ => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        }
    }
}

/// Elements at a stride.
#[derive(Clone)]
struct Run {
    bytes: Bytes,
    stride: usize,
}

impl Run {
    /// `None` when the elements do not fit into the bytes.
    fn new(view: &Bytes, offset: usize, stride: usize, count: usize, element: usize) -> Option<Self> {
        let length = match count {
            0 => 0,
            _ => stride.checked_mul(count - 1)?.checked_add(element)?,
        };
        Some(Self { bytes: view.slice(offset, length)?, stride })
    }

    fn load(&self) -> Result<Loaded<'_>> {
        Ok(Loaded { bytes: self.bytes.read()?, stride: self.stride })
    }
}

/// The same in memory.
struct Loaded<'a> {
    bytes: Cow<'a, [u8]>,
    stride: usize,
}

impl Loaded<'_> {
    fn at(&self, index: usize) -> &[u8] {
        &self.bytes[index * self.stride..]
    }
}

/// Indices in rising order, and what stands there instead.
#[derive(Clone)]
struct Sparse {
    count: usize,
    index: Component,
    indices: Run,
    values: Run,
}

impl Sparse {
    fn load_indices(&self) -> Result<Vec<u32>> {
        let indices = self.indices.load()?;
        Ok((0..self.count).map(|i| self.index.index(indices.at(i))).collect())
    }
}

/// A checked accessor with `N` numbers in each element.
#[derive(Clone)]
pub(super) struct Accessor<const N: usize> {
    count: usize,
    component: Component,
    normalized: bool,
    /// `None`: all zeros.
    run: Option<Run>,
    sparse: Option<Sparse>,
}

/// The elements of an accessor, in memory.
pub(super) struct Values<'a, const N: usize> {
    count: usize,
    component: Component,
    normalized: bool,
    run: Option<Loaded<'a>>,
    sparse: Option<(Vec<u32>, Loaded<'a>)>,
}

impl<const N: usize> Accessor<N> {
    /// Checks an accessor of the document.
    pub(super) fn new(container: &Container, index: usize) -> Result<Self> {
        let accessor = container.item(&container.document.accessors, index, "accessors")?;
        let bad = |problem: String| container.malformed(format!("accessors[{index}]"), problem);
        let width = match accessor.kind.as_str() {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            other => return Err(bad(format!("the type `{other}` is not used for this"))),
        };
        if width != N {
            return Err(bad(format!("its elements have {width} numbers, but {N} are needed here")));
        }
        let component = |code: u32| {
            Component::from_code(code).ok_or_else(|| bad(format!("component type {code} does not exist")))
        };
        let kind = component(accessor.component_type)?;
        let element = N * kind.size();
        if accessor.count > container.total_length.max(1) {
            return Err(bad(format!("{} elements are more than the file has bytes", accessor.count)));
        }
        let outside = |what: &str| bad(format!("{what} reach beyond their buffer view: the file is damaged"));
        let run = match accessor.buffer_view {
            None => None,
            Some(view) => {
                let (bytes, stride) = container.view(view)?;
                let stride = stride.filter(|&stride| stride != 0).unwrap_or(element);
                let run = Run::new(&bytes, accessor.byte_offset, stride, accessor.count, element);
                Some(run.ok_or_else(|| outside("its elements"))?)
            }
        };
        let sparse = match &accessor.sparse {
            None => None,
            Some(sparse) => {
                let (bytes, _) = container.view(sparse.indices.buffer_view)?;
                let index_kind = component(sparse.indices.component_type)?;
                if !matches!(index_kind, Component::U8 | Component::U16 | Component::U32) {
                    return Err(bad("sparse indices must be unsigned integers".into()));
                }
                let size = index_kind.size();
                let indices = Run::new(&bytes, sparse.indices.byte_offset, size, sparse.count, size)
                    .ok_or_else(|| outside("its sparse indices"))?;
                let (bytes, _) = container.view(sparse.values.buffer_view)?;
                let values = Run::new(&bytes, sparse.values.byte_offset, element, sparse.count, element)
                    .ok_or_else(|| outside("its sparse values"))?;
                let found = Sparse { count: sparse.count, index: index_kind, indices, values };
                let indices = found.load_indices()?;
                if !indices.is_sorted_by(|a, b| a < b) {
                    return Err(bad("sparse indices must rise".into()));
                }
                if indices.last().is_some_and(|&last| last as usize >= accessor.count) {
                    return Err(bad(format!("a sparse index is beyond its {} elements", accessor.count)));
                }
                Some(found)
            }
        };
        Ok(Self { count: accessor.count, component: kind, normalized: accessor.normalized, run, sparse })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// All elements of an accessor of the document.
    pub(super) fn read(container: &Container, index: usize) -> Result<Vec<[f32; N]>> {
        Self::new(container, index)?.to_vec()
    }

    /// All elements.
    pub(super) fn to_vec(&self) -> Result<Vec<[f32; N]>> {
        Ok(self.load()?.to_vec())
    }

    /// Takes the elements into memory.
    pub(super) fn load(&self) -> Result<Values<'_, N>> {
        let run = self.run.as_ref().map(Run::load).transpose()?;
        let sparse = match &self.sparse {
            Some(sparse) => Some((sparse.load_indices()?, sparse.values.load()?)),
            None => None,
        };
        Ok(Values { count: self.count, component: self.component, normalized: self.normalized, run, sparse })
    }
}

impl<const N: usize> Values<'_, N> {
    /// The element at `index`, which must be below the count.
    pub(super) fn get(&self, index: usize) -> [f32; N] {
        if let Some((indices, values)) = &self.sparse
            && let Ok(found) = indices.binary_search(&(index as u32))
        {
            return self.element(values, found);
        }
        self.run.as_ref().map_or([0.0; N], |run| self.element(run, index))
    }

    /// All elements.
    pub(super) fn to_vec(&self) -> Vec<[f32; N]> {
        let mut all = vec![[0.0; N]; self.count];
        if let Some(run) = &self.run {
            if self.component == Component::F32 && run.stride == 4 * N && cfg!(target_endian = "little") {
                // bytes as they lie in memory: one copy
                all.as_flattened_mut().iter_mut().zip(run.bytes.chunks_exact(4)).for_each(|(to, from)| {
                    *to = f32::from_le_bytes([from[0], from[1], from[2], from[3]]);
                });
            } else {
                all.iter_mut().enumerate().for_each(|(index, to)| *to = self.element(run, index));
            }
        }
        if let Some((indices, values)) = &self.sparse {
            for (i, &index) in indices.iter().enumerate() {
                all[index as usize] = self.element(values, i);
            }
        }
        all
    }

    /// Calls `add` with `weight` times each element whose index is among `rising` and that may be other than zero;
    /// the first argument is the place in `rising`.
    pub(super) fn for_each_scaled(&self, rising: &[u32], weight: f32, mut add: impl FnMut(usize, [f32; N])) {
        if let Some(run) = &self.run {
            let bytes = &run.bytes;
            if self.component == Component::F32 {
                for (place, &index) in rising.iter().enumerate() {
                    let start = index as usize * run.stride;
                    let element = &bytes[start..start + 4 * N];
                    add(
                        place,
                        std::array::from_fn(|i| {
                            weight
                                * f32::from_le_bytes([
                                    element[4 * i],
                                    element[4 * i + 1],
                                    element[4 * i + 2],
                                    element[4 * i + 3],
                                ])
                        }),
                    );
                }
            } else {
                for (place, &index) in rising.iter().enumerate() {
                    add(place, self.element(run, index as usize).map(|value| weight * value));
                }
            }
        }
        if let Some((indices, values)) = &self.sparse {
            for (i, index) in indices.iter().enumerate() {
                let Ok(place) = rising.binary_search(index) else { continue };
                let value = self.element(values, i);
                let instead_of = self.run.as_ref().map_or([0.0; N], |run| self.element(run, *index as usize));
                add(place, std::array::from_fn(|i| weight * (value[i] - instead_of[i])));
            }
        }
    }

    fn element(&self, run: &Loaded<'_>, index: usize) -> [f32; N] {
        let bytes = run.at(index);
        std::array::from_fn(|i| self.component.float(&bytes[i * self.component.size()..], self.normalized))
    }
}

impl<const N: usize> Accessor<N> {
    /// All elements as unsigned integers: vertex indices, joint numbers.
    pub(super) fn indices(container: &Container, index: usize) -> Result<Vec<[u32; N]>> {
        let accessor = Self::new(container, index)?;
        let accessor = accessor.load()?;
        if !matches!(accessor.component, Component::U8 | Component::U16 | Component::U32) {
            return Err(
                container.malformed(format!("accessors[{index}]"), "indices must be unsigned integers")
            );
        }
        let size = accessor.component.size();
        let element = |run: &Loaded<'_>, index: usize| -> [u32; N] {
            let bytes = run.at(index);
            std::array::from_fn(|i| accessor.component.index(&bytes[i * size..]))
        };
        let mut all = vec![[0; N]; accessor.count];
        if let Some(run) = &accessor.run {
            all.iter_mut().enumerate().for_each(|(index, to)| *to = element(run, index));
        }
        if let Some((indices, values)) = &accessor.sparse {
            for (i, &index) in indices.iter().enumerate() {
                all[index as usize] = element(values, i);
            }
        }
        Ok(all)
    }
}
