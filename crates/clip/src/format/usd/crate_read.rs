//! The structure of crate files, read at once; [values](super::crate_value) when they are asked for.
//!
//! Nothing in the file is trusted: every offset and count is held against the file's length before anything is
//! allocated, paths are walked without recursion and each at most once.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::crate_write::{ARRAY, HEADER_LENGTH, MAGIC, specs};
use super::layer::Specifier;
use super::lz4::{load, load_integers};
use super::stage::{Attribute, DEEPEST, Handle, Prim, Stage, Values};
use super::value::{Value, ValueType};
use crate::format::{Source, malformed};
use crate::{Error, Result};

/// The newest version whose structure we know.
const NEWEST: [u8; 3] = [0, 13, 0];
/// The oldest: before it sections were not compressed.
const OLDEST: [u8; 3] = [0, 4, 0];

const PAYLOAD: u64 = (1 << 48) - 1;

/// An open crate file.
pub(super) struct CrateFile {
    pub(super) source: Source,
    pub(super) version: [u8; 3],
    tokens: Vec<String>,
    pub(super) strings: Vec<u32>,
    paths: Vec<PathNode>,
}

/// An element of a path.
#[derive(Clone, Copy, Default)]
struct PathNode {
    known: bool,
    parent: u32,
    token: u32,
    property: bool,
}

/// The structure, before it is made into prims.
struct Structure {
    fields: Vec<(u32, u64)>,
    field_sets: Vec<u32>,
    /// Number of the path, start of the field set, kind.
    specs: Vec<[u32; 3]>,
}

/// Reads the structure of a layer.
pub(super) fn read(source: Source) -> Result<Stage> {
    let (file, structure) = CrateFile::open(source)?;
    let specs_of: HashMap<u32, [u32; 3]> = structure.specs.iter().map(|spec| (spec[0], *spec)).collect();
    if specs_of.len() != structure.specs.len() {
        return Err(file.malformed("SPECS", "two prims or properties have one path"));
    }
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); file.paths.len()];
    for (number, node) in file.paths.iter().enumerate() {
        if node.known && node.parent as usize != number {
            children[node.parent as usize].push(number as u32);
        }
    }
    let root = specs_of.values().find(|spec| spec[2] == specs::PSEUDO_ROOT).copied();
    let root = root.ok_or_else(|| file.malformed("SPECS", "the layer has no root"))?;
    let mut stage = Stage { values: Values::Crate(file), metadata: Default::default(), prims: Vec::new() };
    let reader = Reader { structure: &structure, specs_of: &specs_of, children: &children };
    let order = reader.root(root, &mut stage)?;
    let mut stack: Vec<(u32, Option<usize>, usize)> =
        order.into_iter().rev().map(|path| (path, None, 1)).collect();
    let mut seen = HashSet::new();
    while let Some((path, parent, depth)) = stack.pop() {
        if depth > DEEPEST {
            return Err(stage.malformed("PATHS", format!("prims are nested more than {DEEPEST} deep")));
        }
        let order = reader.prim(path, parent, &mut stage)?;
        let index = stage.prims.len() - 1;
        let path = stage.prims[index].path.clone();
        // two places of the list of paths may spell one name
        if seen.contains(&path) {
            return Err(stage.malformed("PATHS", format!("there are two prims {path}")));
        }
        seen.insert(path);
        stack.extend(order.into_iter().rev().map(|path| (path, Some(index), depth + 1)));
    }
    Ok(stage)
}

/// What making prims needs.
struct Reader<'a> {
    structure: &'a Structure,
    specs_of: &'a HashMap<u32, [u32; 3]>,
    children: &'a [Vec<u32>],
}

impl Reader<'_> {
    /// The layer's own fields; returns its prims.
    fn root(&self, spec: [u32; 3], stage: &mut Stage) -> Result<Vec<u32>> {
        let mut names = None;
        for (name, rep) in self.fields(spec, stage)? {
            let Values::Crate(file) = &stage.values else { continue };
            match name.as_str() {
                "primChildren" => names = Some(file.words(rep, "layer")?),
                "subLayers" => {
                    let value = Value::Texts(file.words(rep, "layer")?);
                    stage.metadata.insert(name, value);
                }
                _ if ValueType::from_crate_type((rep >> 48) as u8, rep & ARRAY != 0).is_some() => {
                    let value = file.value(rep, "layer")?;
                    stage.metadata.insert(name, value);
                }
                _ => {}
            }
        }
        Ok(self.ordered(spec[0], names, stage))
    }

    /// Adds a prim; returns its children.
    fn prim(&self, path: u32, parent: Option<usize>, stage: &mut Stage) -> Result<Vec<u32>> {
        let Values::Crate(file) = &stage.values else { return Ok(Vec::new()) };
        let name = file.element(path).to_string();
        let mut prim = Prim::new(parent.map(|index| (index, stage.prims[index].path.as_str())), &name);
        let spec = self.specs_of.get(&path).copied().unwrap_or([path, u32::MAX, specs::PRIM]);
        let place = prim.path.clone();
        let mut names = None;
        for (field, rep) in self.fields(spec, stage)? {
            match field.as_str() {
                "specifier" => {
                    prim.specifier = match rep & PAYLOAD {
                        0 => Specifier::Def,
                        1 => Specifier::Over,
                        _ => Specifier::Class,
                    };
                }
                "typeName" => prim.type_name = file.word(rep, &place)?,
                "displayName" => prim.display_name = Some(file.word(rep, &place)?),
                "active" => prim.active = file.value(rep, &place)?.number() != Some(0.0),
                "primChildren" => names = Some(file.words(rep, &place)?),
                "instanceable" if file.value(rep, &place)?.number() == Some(0.0) => {}
                "references" | "payload" | "variantSetNames" | "inheritPaths" | "specializes"
                | "instanceable" | "clips" | "clipSets"
                    if file.is_filled(rep)? =>
                {
                    prim.arc = Some(field);
                }
                _ => {}
            }
        }
        for &child in &self.children[path as usize] {
            if file.paths[child as usize].property
                && let Some(&spec) = self.specs_of.get(&child)
            {
                self.property(spec, &mut prim, stage)?;
            }
        }
        stage.prims.push(prim);
        Ok(self.ordered(path, names, stage))
    }

    fn property(&self, spec: [u32; 3], prim: &mut Prim, stage: &Stage) -> Result<()> {
        let Values::Crate(file) = &stage.values else { return Ok(()) };
        let name = file.element(spec[0]).to_string();
        let place = format!("{}.{name}", prim.path);
        let mut attribute = Attribute::default();
        let mut targets = Vec::new();
        for (field, rep) in self.fields(spec, stage)? {
            match field.as_str() {
                "typeName" => attribute.type_name = file.word(rep, &place)?,
                "default" => attribute.default = Some(Handle::Rep(rep)),
                "timeSamples" => (attribute.times, attribute.samples) = file.time_samples(rep, &place)?,
                "connectionPaths" => attribute.connections = file.path_list(rep, &place)?,
                "targetPaths" => targets = file.path_list(rep, &place)?,
                "interpolation" => attribute.interpolation = Some(file.word(rep, &place)?),
                "displayName" => attribute.display_name = Some(file.word(rep, &place)?),
                "elementSize" => {
                    attribute.element_size = file.value(rep, &place)?.number().map(|size| size as usize);
                }
                "weight" => attribute.weight = file.value(rep, &place)?.number(),
                _ => {}
            }
        }
        match spec[2] {
            specs::ATTRIBUTE => drop(prim.attributes.insert(name, attribute)),
            specs::RELATIONSHIP => drop(prim.relationships.insert(name, targets)),
            _ => {}
        }
        Ok(())
    }

    /// The child prims of a path: in the order of `names`, then those that it leaves out.
    fn ordered(&self, path: u32, names: Option<Vec<String>>, stage: &Stage) -> Vec<u32> {
        let Values::Crate(file) = &stage.values else { return Vec::new() };
        let is_prim = |child: &u32| {
            let spec = self.specs_of.get(child);
            !file.paths[*child as usize].property && spec.is_some_and(|spec| spec[2] == specs::PRIM)
        };
        let mut prims: Vec<u32> = self.children[path as usize].iter().copied().filter(is_prim).collect();
        let places: HashMap<String, usize> =
            names.into_iter().flatten().enumerate().map(|(i, name)| (name, i)).collect();
        prims.sort_by_key(|&child| places.get(file.element(child)).copied().unwrap_or(usize::MAX));
        prims
    }

    fn fields(&self, spec: [u32; 3], stage: &Stage) -> Result<Vec<(String, u64)>> {
        let Values::Crate(file) = &stage.values else { return Ok(Vec::new()) };
        let set = self.structure.field_sets.get(spec[1] as usize..).unwrap_or_default();
        let mut fields = Vec::new();
        for &number in set.iter().take_while(|&&number| number != u32::MAX) {
            let field = self.structure.fields.get(number as usize);
            let &(name, rep) =
                field.ok_or_else(|| file.malformed("FIELDSETS", format!("there is no field {number}")))?;
            fields.push((file.token(name).to_string(), rep));
        }
        Ok(fields)
    }
}

impl CrateFile {
    fn open(source: Source) -> Result<(Self, Structure)> {
        let header = source.bytes(0, HEADER_LENGTH)?;
        if !header.starts_with(MAGIC) {
            return Err(malformed(source.path(), "header", "does not begin with PXR-USDC"));
        }
        let version = [header[8], header[9], header[10]];
        let [a, b, c] = version;
        if version > NEWEST || version < OLDEST {
            let problem = format!(
                "crate version {a}.{b}.{c} is not read, 0.4.0 to 0.13.0 are; save it again with \
                 USD_WRITE_NEW_USDC_FILES_AS_VERSION=0.8.0 `usdcat IN -o OUT.usdc`"
            );
            return Err(malformed(source.path(), "header", problem));
        }
        let mut file = Self { source, version, tokens: Vec::new(), strings: Vec::new(), paths: Vec::new() };
        let mut at = u64::from_le_bytes(chunk(&header, 16));
        let count = file.take_u64(&mut at)?;
        let mut sections: HashMap<String, (u64, u64)> = HashMap::new();
        for _ in 0..count {
            let entry = file.source.bytes(at, 32)?;
            at += 32;
            let name: Vec<u8> = entry[..16].iter().copied().take_while(|&byte| byte != 0).collect();
            let place = (u64::from_le_bytes(chunk(&entry, 16)), u64::from_le_bytes(chunk(&entry, 24)));
            sections.insert(String::from_utf8_lossy(&name).into_owned(), place);
        }
        let section = |file: &Self, name: &'static str| {
            let &(start, length) = sections
                .get(name)
                .ok_or_else(|| file.malformed("contents", format!("there is no section {name}")))?;
            Ok::<Cursor, Error>(Cursor {
                bytes: file.source.bytes(start, length)?,
                at: 0,
                name,
                path: file.source.path().into(),
            })
        };
        file.tokens = read_tokens(section(&file, "TOKENS")?)?;
        let mut strings = section(&file, "STRINGS")?;
        let count = strings.count(4)?;
        file.strings = (0..count).map(|_| strings.u32()).collect::<Result<_>>()?;
        let mut fields = section(&file, "FIELDS")?;
        let count = fields.count(0)?;
        let names = fields.integers(count)?;
        let length = fields.u64()?;
        let reps = fields.take(length)?.to_vec();
        let reps = load(&reps, names.len() * 8).map_err(|problem| fields.wrong(problem))?;
        let reps = reps.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let fields = names.into_iter().zip(reps).collect();
        let mut sets = section(&file, "FIELDSETS")?;
        let count = sets.count(0)?;
        let field_sets = sets.integers(count)?;
        file.paths = read_paths(section(&file, "PATHS")?, file.tokens.len())?;
        let mut specs = section(&file, "SPECS")?;
        let count = specs.count(0)?;
        let columns = [specs.integers(count)?, specs.integers(count)?, specs.integers(count)?];
        let specs: Vec<[u32; 3]> =
            (0..columns[0].len()).map(|i| [columns[0][i], columns[1][i], columns[2][i]]).collect();
        if let Some(spec) =
            specs.iter().find(|spec| !file.paths.get(spec[0] as usize).is_some_and(|node| node.known))
        {
            return Err(file.malformed("SPECS", format!("there is no path {}", spec[0])));
        }
        Ok((file, Structure { fields, field_sets, specs }))
    }

    pub(super) fn length(&self) -> u64 {
        self.source.length()
    }

    pub(super) fn path(&self) -> &Path {
        self.source.path()
    }

    pub(super) fn malformed(&self, place: impl Into<String>, problem: impl Into<String>) -> Error {
        malformed(self.source.path(), place, problem)
    }

    /// A name by its number; empty beyond the last.
    pub(super) fn token(&self, number: u32) -> &str {
        self.tokens.get(number as usize).map_or("", String::as_str)
    }

    fn element(&self, path: u32) -> &str {
        self.paths.get(path as usize).map_or("", |node| self.token(node.token))
    }

    /// A path in full.
    pub(super) fn path_text(&self, mut path: u32) -> String {
        let mut parts = Vec::new();
        while let Some(node) = self.paths.get(path as usize).filter(|node| node.known && node.parent != path)
        {
            parts.push(format!("{}{}", if node.property { '.' } else { '/' }, self.token(node.token)));
            path = node.parent;
            if parts.len() > DEEPEST {
                break;
            }
        }
        parts.reverse();
        parts.concat()
    }
}

pub(super) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk::<N>()).copied().unwrap_or([0; N])
}

/// A section in memory.
struct Cursor {
    bytes: Vec<u8>,
    at: usize,
    name: &'static str,
    path: std::path::PathBuf,
}

impl Cursor {
    fn wrong(&self, problem: impl Into<String>) -> Error {
        malformed(&self.path, self.name, problem)
    }

    fn take(&mut self, length: u64) -> Result<&[u8]> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        let Some(end) = end.filter(|&end| end <= self.bytes.len()) else {
            return Err(self.wrong("the section was cut short or is damaged"));
        };
        let start = std::mem::replace(&mut self.at, end);
        Ok(&self.bytes[start..end])
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(chunk(self.take(8)?, 0)))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(chunk(self.take(4)?, 0)))
    }

    /// A number of things of `size` bytes each, which must be there.
    fn count(&mut self, size: u64) -> Result<u64> {
        let count = self.u64()?;
        let left = (self.bytes.len() - self.at) as u64;
        if count.checked_mul(size).is_none_or(|bytes| bytes > left) {
            return Err(self.wrong(format!("{count} items cannot be in {left} bytes")));
        }
        Ok(count)
    }

    fn integers(&mut self, count: u64) -> Result<Vec<u32>> {
        if count == 0 && self.at == self.bytes.len() {
            return Ok(Vec::new());
        }
        let length = self.u64()?;
        let numbers =
            load_integers::<false>(self.take(length)?, usize::try_from(count).unwrap_or(usize::MAX));
        Ok(numbers.map_err(|problem| self.wrong(problem))?.iter().map(|&x| x as u32).collect())
    }
}

fn read_tokens(mut section: Cursor) -> Result<Vec<String>> {
    let (count, length, stored) = (section.u64()?, section.u64()?, section.u64()?);
    // LZ4 grows at most 255 times
    if length > stored.saturating_mul(255) {
        return Err(section.wrong(format!("{length} bytes cannot be in {stored}")));
    }
    let bytes = load(section.take(stored)?, length as usize).map_err(|problem| section.wrong(problem))?;
    let mut tokens: Vec<String> =
        bytes.split(|&byte| byte == 0).map(|token| String::from_utf8_lossy(token).into_owned()).collect();
    tokens.pop();
    if tokens.len() as u64 != count {
        return Err(section.wrong(format!("{count} names are promised, {} are there", tokens.len())));
    }
    Ok(tokens)
}

/// Walks the tree of paths. Each entry says whether a child follows, and where the next sibling is.
fn read_paths(mut section: Cursor, token_count: usize) -> Result<Vec<PathNode>> {
    let (count, encoded) = (section.u64()?, section.u64()?);
    let numbers = section.integers(encoded)?;
    let elements = section.integers(encoded)?;
    let jumps = section.integers(encoded)?;
    // every path but the empty one is encoded
    if count > numbers.len() as u64 + 1 {
        return Err(section.wrong(format!("{count} paths are promised, {} are there", numbers.len())));
    }
    let mut paths = vec![PathNode::default(); count as usize];
    let mut visited = vec![false; numbers.len()];
    // where to go on, under which parent; the first entry is the root
    let mut stack: Vec<(usize, Option<u32>)> = vec![(0, None)];
    while let Some((index, parent)) = stack.pop() {
        if index >= numbers.len() || std::mem::replace(&mut visited[index], true) {
            return Err(section.wrong("the tree of paths has a cycle or leads out of the file"));
        }
        let element = elements[index] as i32;
        let token = element.unsigned_abs();
        if token as usize >= token_count {
            return Err(section.wrong(format!("there is no name {token}")));
        }
        let number = numbers[index];
        let Some(node) = paths.get_mut(number as usize).filter(|node| !node.known) else {
            return Err(section.wrong(format!("path {number} occurs twice or does not exist")));
        };
        *node = PathNode { known: true, parent: parent.unwrap_or(number), token, property: element < 0 };
        let jump = jumps[index] as i32;
        if jump >= 0 && parent.is_some() {
            let sibling = if jump == 0 { index + 1 } else { index + jump as usize };
            stack.push((sibling, parent));
        }
        if jump > 0 || jump == -1 {
            stack.push((index + 1, Some(number)));
        }
    }
    Ok(paths)
}
