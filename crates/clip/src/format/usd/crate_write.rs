//! Layers as crate files, version 0.8.0: samples as they come, then the structure, then a table of contents.
//!
//! A value is eight bytes: what it is, and either the value itself or where it lies. So frames go to disk as they are
//! pulled, and all that is kept of them is eight bytes each. A sample equal to the one before it is stored once.

use std::collections::HashMap;

use super::layer::{Data, Layer, Prim, Property, Track};
use super::lz4::{store, store_integers};
use super::value::{Arity, Scalar, Value, ValueType, half_bits};
use crate::Result;
use crate::format::atomic::AtomicFile;

pub(super) const MAGIC: &[u8; 8] = b"PXR-USDC";
pub(super) const HEADER_LENGTH: u64 = 88;
const VERSION: [u8; 8] = [0, 8, 0, 0, 0, 0, 0, 0];

pub(super) const ARRAY: u64 = 1 << 63;
pub(super) const INLINED: u64 = 1 << 62;
pub(super) const COMPRESSED: u64 = 1 << 61;

/// Types beyond plain data.
pub(super) mod types {
    pub(in super::super) const TOKEN_LIST: u8 = 32;
    pub(in super::super) const PATH_LIST: u8 = 34;
    pub(in super::super) const TOKEN_VECTOR: u8 = 41;
    pub(in super::super) const SPECIFIER: u8 = 42;
    pub(in super::super) const VARIABILITY: u8 = 44;
    pub(in super::super) const TIME_SAMPLES: u8 = 46;
    pub(in super::super) const DOUBLE_VECTOR: u8 = 48;
}

/// Kinds of specs.
pub(super) mod specs {
    pub(in super::super) const ATTRIBUTE: u32 = 1;
    pub(in super::super) const PRIM: u32 = 6;
    pub(in super::super) const PSEUDO_ROOT: u32 = 7;
    pub(in super::super) const RELATIONSHIP: u32 = 8;
}

fn rep(kind: u8, flags: u64, payload: u64) -> u64 {
    flags | (u64::from(kind) << 48) | payload
}

/// A crate file on its way out.
pub(super) struct CrateWriter {
    file: AtomicFile,
    /// Where the layer begins in the file: not at 0 in an archive.
    base: u64,
    tokens: Vec<String>,
    token_numbers: HashMap<String, u32>,
    /// Numbers of the tokens that strings are.
    strings: Vec<u32>,
    fields: Vec<(u32, u64)>,
    field_numbers: HashMap<(u32, u64), u32>,
    field_sets: Vec<u32>,
    samples: HashMap<Track, Samples>,
}

/// The samples of one track so far.
#[derive(Default)]
struct Samples {
    reps: Vec<u64>,
    last: Vec<u8>,
}

impl CrateWriter {
    /// Begins a layer at the end of a file.
    pub(super) fn new(mut file: AtomicFile) -> Result<Self> {
        let base = file.length();
        file.leave(HEADER_LENGTH)?;
        let mut writer = Self {
            file,
            base,
            tokens: Vec::new(),
            token_numbers: HashMap::new(),
            strings: Vec::new(),
            fields: Vec::new(),
            field_numbers: HashMap::new(),
            field_sets: Vec::new(),
            samples: HashMap::new(),
        };
        // properties are told from prims by a minus sign, which 0 cannot have: this one is never a name
        writer.token(";-)");
        Ok(writer)
    }

    /// Appends a sample of a track.
    pub(super) fn sample(&mut self, track: Track, values: &[f32]) -> Result<()> {
        let kind = ValueType::parse(track.type_name()).unwrap_or(ValueType::TOKEN);
        let halves: Vec<u16>;
        let bytes: &[u8] = if kind.scalar == Scalar::Half {
            halves = values.iter().map(|&value| half_bits(value).to_le()).collect();
            bytemuck::cast_slice(&halves)
        } else {
            bytemuck::cast_slice(values)
        };
        let known = self.samples.get(&track).filter(|known| known.last == bytes);
        let rep = match known.and_then(|known| known.reps.last()) {
            Some(&rep) => rep,
            None => self.array(kind, values.len() / kind.width(), bytes)?,
        };
        let samples = self.samples.entry(track).or_default();
        samples.reps.push(rep);
        samples.last.clear();
        samples.last.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes everything else; returns the file, the layer complete in it.
    pub(super) fn finish(mut self, layer: &Layer) -> Result<AtomicFile> {
        let mut tree = PathTree::default();
        tree.add_prims(0, &layer.prims, &mut self);
        tree.number();
        let mut specs = Vec::new();
        let fields = self.root_fields(layer)?;
        specs.push([0, fields, specs::PSEUDO_ROOT]);
        for prim in &layer.prims {
            self.add_prim(prim, "", layer, &tree, &mut specs)?;
        }
        let mut sections = Vec::new();
        for (name, bytes) in [
            ("TOKENS", self.tokens_section()),
            ("STRINGS", self.strings_section()),
            ("FIELDS", self.fields_section()),
            ("FIELDSETS", counted_integers(&self.field_sets)),
            ("PATHS", tree.section()),
            ("SPECS", specs_section(&specs)),
        ] {
            sections.push((name, self.here(), bytes.len() as u64));
            self.file.append(&bytes)?;
        }
        let contents = self.here();
        self.file.append(&(sections.len() as u64).to_le_bytes())?;
        for (name, start, length) in sections {
            let mut padded = [0_u8; 16];
            padded[..name.len()].copy_from_slice(name.as_bytes());
            self.file.append(&padded)?;
            self.file.append(&start.to_le_bytes())?;
            self.file.append(&length.to_le_bytes())?;
        }
        let header = [&MAGIC[..], &VERSION, &contents.to_le_bytes()].concat();
        self.file.fill(self.base, &header)?;
        Ok(self.file)
    }

    /// Where the next byte goes, counted from the layer's beginning.
    fn here(&self) -> u64 {
        self.file.length() - self.base
    }

    fn align(&mut self) -> Result<u64> {
        let gap = self.here().next_multiple_of(8) - self.here();
        self.file.append(&[0; 8][..gap as usize])?;
        Ok(self.here())
    }

    fn array(&mut self, kind: ValueType, count: usize, bytes: &[u8]) -> Result<u64> {
        let flags = if kind.array { ARRAY } else { 0 };
        if kind.array && count == 0 {
            return Ok(rep(kind.crate_type(), flags, 0));
        }
        let at = self.align()?;
        if kind.array {
            self.file.append(&(count as u64).to_le_bytes())?;
        }
        self.file.append(bytes)?;
        Ok(rep(kind.crate_type(), flags, at))
    }

    fn token(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.token_numbers.get(text) {
            return number;
        }
        let number = self.tokens.len() as u32;
        // names end with a zero byte in the file
        self.tokens.push(text.replace('\0', ""));
        self.token_numbers.insert(text.into(), number);
        number
    }

    /// The number of a string, which is a token with a number of its own.
    fn string(&mut self, text: &str) -> u32 {
        let token = self.token(text);
        let known = self.strings.iter().position(|&other| other == token);
        known.unwrap_or_else(|| {
            self.strings.push(token);
            self.strings.len() - 1
        }) as u32
    }

    /// A value of plain data.
    fn value(&mut self, kind: ValueType, value: &Value) -> Result<u64> {
        if let Value::Texts(texts) = value {
            let numbers: Vec<u32> = texts
                .iter()
                .map(|text| if kind.scalar == Scalar::String { self.string(text) } else { self.token(text) })
                .collect();
            if !kind.array {
                return Ok(rep(kind.crate_type(), INLINED, numbers.first().copied().unwrap_or(0).into()));
            }
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            return self.array(kind, numbers.len(), &bytes);
        }
        let bytes = encode(kind.scalar, value);
        if !kind.array && kind.shape == Arity::One {
            if let Some(&bits) = bytes.first_chunk::<4>().filter(|_| bytes.len() == 4) {
                return Ok(rep(kind.crate_type(), INLINED, u32::from_le_bytes(bits).into()));
            }
            if let [byte] = bytes[..] {
                return Ok(rep(kind.crate_type(), INLINED, byte.into()));
            }
        }
        self.array(kind, value.len() / kind.width(), &bytes)
    }

    /// A list of numbers of tokens or paths.
    fn numbers(&mut self, kind: u8, head: &[u8], numbers: &[u32]) -> Result<u64> {
        let at = self.align()?;
        self.file.append(head)?;
        self.file.append(&(numbers.len() as u64).to_le_bytes())?;
        for number in numbers {
            self.file.append(&number.to_le_bytes())?;
        }
        Ok(rep(kind, 0, at))
    }

    fn token_vector(&mut self, names: Vec<&str>) -> Result<u64> {
        let numbers: Vec<u32> = names.iter().map(|name| self.token(name)).collect();
        self.numbers(types::TOKEN_VECTOR, &[], &numbers)
    }

    fn time_samples(&mut self, times: &[f64], reps: &[u64]) -> Result<u64> {
        let times_at = self.align()?;
        self.file.append(&(times.len() as u64).to_le_bytes())?;
        self.file.append(bytemuck::cast_slice(times))?;
        let at = self.here();
        // what is nested stands elsewhere, so both jumps lead right behind themselves
        self.file.append(&8_i64.to_le_bytes())?;
        self.file.append(&rep(types::DOUBLE_VECTOR, 0, times_at).to_le_bytes())?;
        self.file.append(&8_i64.to_le_bytes())?;
        self.file.append(&(reps.len() as u64).to_le_bytes())?;
        self.file.append(bytemuck::cast_slice(reps))?;
        Ok(rep(types::TIME_SAMPLES, 0, at))
    }

    fn field(&mut self, name: &str, rep: u64) -> u32 {
        let field = (self.token(name), rep);
        let next = self.fields.len() as u32;
        let number = *self.field_numbers.entry(field).or_insert(next);
        if number == next {
            self.fields.push(field);
        }
        number
    }

    /// Ends a set of fields; returns its number, which is where it begins.
    fn field_set(&mut self, fields: &[u32]) -> u32 {
        let start = self.field_sets.len() as u32;
        self.field_sets.extend_from_slice(fields);
        self.field_sets.push(u32::MAX);
        start
    }

    fn metadata(&mut self, metadata: &[(&str, ValueType, Value)], fields: &mut Vec<u32>) -> Result<()> {
        for (name, kind, value) in metadata {
            let rep = self.value(*kind, value)?;
            fields.push(self.field(name, rep));
        }
        Ok(())
    }

    fn children(&mut self, prims: &[Prim], fields: &mut Vec<u32>) -> Result<()> {
        if !prims.is_empty() {
            let names = self.token_vector(prims.iter().map(|prim| prim.name.as_str()).collect())?;
            fields.push(self.field("primChildren", names));
        }
        Ok(())
    }

    fn root_fields(&mut self, layer: &Layer) -> Result<u32> {
        let mut fields = Vec::new();
        self.metadata(&layer.metadata, &mut fields)?;
        self.children(&layer.prims, &mut fields)?;
        Ok(self.field_set(&fields))
    }

    fn add_prim(
        &mut self,
        prim: &Prim,
        parent: &str,
        layer: &Layer,
        tree: &PathTree,
        specs: &mut Vec<[u32; 3]>,
    ) -> Result<()> {
        let path = format!("{parent}/{}", prim.name);
        let mut fields = vec![self.field("specifier", rep(types::SPECIFIER, INLINED, prim.specifier as u64))];
        if !prim.type_name.is_empty() {
            let name = self.token(prim.type_name);
            fields.push(self.field("typeName", rep(ValueType::TOKEN.crate_type(), INLINED, name.into())));
        }
        if !prim.api_schemas.is_empty() {
            let numbers: Vec<u32> = prim.api_schemas.iter().map(|name| self.token(name)).collect();
            // only prepended items
            let list = self.numbers(types::TOKEN_LIST, &[32], &numbers)?;
            fields.push(self.field("apiSchemas", list));
        }
        self.metadata(&prim.metadata, &mut fields)?;
        if !prim.properties.is_empty() {
            let names = prim.properties.iter().map(|property| property.name.as_str()).collect();
            let names = self.token_vector(names)?;
            fields.push(self.field("properties", names));
        }
        self.children(&prim.children, &mut fields)?;
        let fields = self.field_set(&fields);
        specs.push([tree.number_of(&path), fields, specs::PRIM]);
        for property in &prim.properties {
            let spec = self.property(property, &path, layer, tree)?;
            specs.push(spec);
        }
        for child in &prim.children {
            self.add_prim(child, &path, layer, tree, specs)?;
        }
        Ok(())
    }

    fn property(
        &mut self,
        property: &Property,
        prim: &str,
        layer: &Layer,
        tree: &PathTree,
    ) -> Result<[u32; 3]> {
        let mut fields = Vec::new();
        let spec = match &property.data {
            Data::Attribute { type_name, uniform, custom, default, samples, connection } => {
                let name = self.token(type_name);
                fields.push(self.field("typeName", rep(ValueType::TOKEN.crate_type(), INLINED, name.into())));
                if *uniform {
                    fields.push(self.field("variability", rep(types::VARIABILITY, INLINED, 1)));
                }
                if *custom {
                    fields.push(self.field("custom", rep(ValueType::BOOL.crate_type(), INLINED, 1)));
                }
                if let (Some(value), Some(kind)) = (default, ValueType::parse(type_name)) {
                    let value = self.value(kind, value)?;
                    fields.push(self.field("default", value));
                }
                if let Some(samples) = samples.and_then(|track| self.samples.remove(&track)) {
                    let samples = self.time_samples(&layer.times, &samples.reps)?;
                    fields.push(self.field("timeSamples", samples));
                }
                if let Some(path) = connection {
                    let list = self.numbers(types::PATH_LIST, &[3], &[tree.number_of(path)])?;
                    fields.push(self.field("connectionPaths", list));
                }
                specs::ATTRIBUTE
            }
            Data::Relationship(targets) => {
                fields.push(self.field("variability", rep(types::VARIABILITY, INLINED, 1)));
                let numbers: Vec<u32> = targets.iter().map(|path| tree.number_of(path)).collect();
                // an explicit list
                let list = self.numbers(types::PATH_LIST, &[3], &numbers)?;
                fields.push(self.field("targetPaths", list));
                specs::RELATIONSHIP
            }
        };
        self.metadata(&property.metadata, &mut fields)?;
        let path = tree.number_of(&format!("{prim}.{}", property.name));
        Ok([path, self.field_set(&fields), spec])
    }

    fn tokens_section(&self) -> Vec<u8> {
        let text: Vec<u8> = self.tokens.iter().flat_map(|token| token.bytes().chain([0])).collect();
        let stored = store(&text);
        let head = [self.tokens.len() as u64, text.len() as u64, stored.len() as u64];
        [bytemuck::cast_slice(&head), &stored[..]].concat()
    }

    fn strings_section(&self) -> Vec<u8> {
        [&(self.strings.len() as u64).to_le_bytes()[..], bytemuck::cast_slice(&self.strings)].concat()
    }

    fn fields_section(&self) -> Vec<u8> {
        let names: Vec<u32> = self.fields.iter().map(|&(name, _)| name).collect();
        let reps: Vec<u64> = self.fields.iter().map(|&(_, rep)| rep).collect();
        let stored = store(bytemuck::cast_slice(&reps));
        [counted_integers(&names), (stored.len() as u64).to_le_bytes().to_vec(), stored].concat()
    }
}

/// Little-endian bytes of numbers.
fn encode(scalar: Scalar, value: &Value) -> Vec<u8> {
    match value {
        Value::Ints(items) => {
            let bytes = scalar.bytes();
            items.iter().flat_map(|item| item.to_le_bytes().into_iter().take(bytes)).collect()
        }
        Value::Floats(items) if scalar == Scalar::Half => {
            items.iter().flat_map(|&item| half_bits(item).to_le_bytes()).collect()
        }
        Value::Floats(items) => items.iter().flat_map(|item| item.to_le_bytes()).collect(),
        Value::Doubles(items) => items.iter().flat_map(|item| item.to_le_bytes()).collect(),
        Value::Texts(_) | Value::Blocked => Vec::new(),
    }
}

fn sized_integers(numbers: &[u32]) -> Vec<u8> {
    let stored = store_integers(numbers);
    [&(stored.len() as u64).to_le_bytes()[..], &stored].concat()
}

fn counted_integers(numbers: &[u32]) -> Vec<u8> {
    [&(numbers.len() as u64).to_le_bytes()[..], &sized_integers(numbers)].concat()
}

fn specs_section(specs: &[[u32; 3]]) -> Vec<u8> {
    let column = |i: usize| sized_integers(&specs.iter().map(|spec| spec[i]).collect::<Vec<_>>());
    [(specs.len() as u64).to_le_bytes().to_vec(), column(0), column(1), column(2)].concat()
}

/// All paths of a layer. A path's number is its place depth first.
#[derive(Default)]
struct PathTree {
    nodes: Vec<Node>,
    numbers: HashMap<String, u32>,
}

#[derive(Default)]
struct Node {
    path: String,
    /// Number of the token; negative for a property.
    element: i32,
    children: Vec<usize>,
}

impl PathTree {
    fn add_prims(&mut self, parent: usize, prims: &[Prim], writer: &mut CrateWriter) {
        if self.nodes.is_empty() {
            self.nodes.push(Node { path: String::new(), ..Node::default() });
        }
        for prim in prims {
            let path = format!("{}/{}", self.nodes[parent].path, prim.name);
            let element = writer.token(&prim.name) as i32;
            let node = self.add(parent, Node { path, element, children: Vec::new() });
            for property in &prim.properties {
                let path = format!("{}.{}", self.nodes[node].path, property.name);
                let element = -(writer.token(&property.name) as i32);
                self.add(node, Node { path, element, children: Vec::new() });
            }
            self.add_prims(node, &prim.children, writer);
        }
    }

    fn add(&mut self, parent: usize, node: Node) -> usize {
        let number = self.nodes.len();
        self.nodes.push(node);
        self.nodes[parent].children.push(number);
        number
    }

    /// Nodes were added parents first, properties before child prims: they are in order already.
    fn number(&mut self) {
        self.numbers = self.nodes.iter().enumerate().map(|(i, node)| (node.path.clone(), i as u32)).collect();
    }

    /// The number of a path that the layer has; the root for one that it has not.
    fn number_of(&self, path: &str) -> u32 {
        self.numbers.get(path).copied().unwrap_or(0)
    }

    fn section(&self) -> Vec<u8> {
        let count = self.nodes.len();
        let mut jumps = vec![0_i32; count];
        let mut sizes = vec![1_i32; count];
        for (index, node) in self.nodes.iter().enumerate().rev() {
            sizes[index] += node.children.iter().map(|&child| sizes[child]).sum::<i32>();
        }
        let mut last = vec![true; count];
        for node in &self.nodes {
            node.children.iter().rev().skip(1).for_each(|&child| last[child] = false);
        }
        for (index, node) in self.nodes.iter().enumerate() {
            jumps[index] = match (node.children.is_empty(), last[index]) {
                (true, true) => -2,
                (false, true) => -1,
                (true, false) => 0,
                (false, false) => sizes[index],
            };
        }
        let numbers: Vec<u32> = (0..count as u32).collect();
        let elements: Vec<u32> = self.nodes.iter().map(|node| node.element as u32).collect();
        let jumps: Vec<u32> = jumps.iter().map(|&jump| jump as u32).collect();
        let counts = [count as u64; 2];
        let counts: &[u8] = bytemuck::cast_slice(&counts);
        [counts, &sized_integers(&numbers), &sized_integers(&elements), &sized_integers(&jumps)].concat()
    }
}
