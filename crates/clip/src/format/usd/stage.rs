//! A layer as it was read: prims with their properties, whose values are fetched when they are asked for.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::crate_read::CrateFile;
use super::layer::Specifier;
use super::text_value::parse_value;
use super::value::{Value, ValueType};
use crate::format::sampling::bracket;
use crate::format::{Source, malformed};
use crate::{Error, Result};

/// Prims deeper than this are nobody's intention.
pub(super) const DEEPEST: usize = 256;

/// What every layer that needs composition is told.
const REMEDY: &str = "flatten the stage first: `usdcat --flatten IN -o OUT.usdc`";

/// A layer.
pub(super) struct Stage {
    pub(super) values: Values,
    /// What the layer says of itself.
    pub(super) metadata: BTreeMap<String, Value>,
    /// Parents before children, siblings in their order.
    pub(super) prims: Vec<Prim>,
}

/// Where values come from.
pub(super) enum Values {
    Crate(CrateFile),
    Text { source: Source, text: Vec<u8> },
}

/// A prim as it was read.
pub(super) struct Prim {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) parent: Option<usize>,
    pub(super) specifier: Specifier,
    pub(super) type_name: String,
    pub(super) display_name: Option<String>,
    pub(super) active: bool,
    /// What makes this prim need composition, by the name of its field.
    pub(super) arc: Option<String>,
    pub(super) attributes: BTreeMap<String, Attribute>,
    pub(super) relationships: BTreeMap<String, Vec<String>>,
}

/// An attribute as it was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Attribute {
    pub(super) type_name: String,
    pub(super) default: Option<Handle>,
    /// Time codes, rising, and the sample at each.
    pub(super) times: Vec<f64>,
    pub(super) samples: Vec<Handle>,
    pub(super) connections: Vec<String>,
    pub(super) interpolation: Option<String>,
    pub(super) display_name: Option<String>,
    /// Values that go together, of primvars that have several for each point.
    pub(super) element_size: Option<usize>,
    /// Where on the way from 0 to 1 an in-between shape stands.
    pub(super) weight: Option<f64>,
}

/// Where a value lies.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Handle {
    /// A crate file's eight bytes.
    Rep(u64),
    /// A run of the text.
    Text(Range<usize>),
}

impl Prim {
    pub(super) fn new(parent: Option<(usize, &str)>, name: &str) -> Self {
        Self {
            path: format!("{}/{name}", parent.map_or("", |(_, path)| path)),
            name: name.into(),
            parent: parent.map(|(index, _)| index),
            specifier: Specifier::Over,
            type_name: String::new(),
            display_name: None,
            active: true,
            arc: None,
            attributes: BTreeMap::new(),
            relationships: BTreeMap::new(),
        }
    }

    /// What people call it.
    pub(super) fn title(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }
}

impl Attribute {
    pub(super) fn moves(&self) -> bool {
        self.samples.len() > 1
    }
}

impl Stage {
    pub(super) fn path(&self) -> &Path {
        match &self.values {
            Values::Crate(file) => file.path(),
            Values::Text { source, .. } => source.path(),
        }
    }

    /// How many bytes the layer has.
    pub(super) fn length(&self) -> u64 {
        match &self.values {
            Values::Crate(file) => file.length(),
            Values::Text { source, .. } => source.length(),
        }
    }

    pub(super) fn malformed(&self, place: impl Into<String>, problem: impl Into<String>) -> Error {
        malformed(self.path(), place, problem)
    }

    /// Refuses what only composition can answer.
    pub(super) fn check_flat(&self) -> Result<()> {
        if let Some(Value::Texts(layers)) = self.metadata.get("subLayers")
            && let Some(layer) = layers.first()
        {
            return Err(self.malformed("layer", format!("it has the sublayer `{layer}`; {REMEDY}")));
        }
        match self.prims.iter().find_map(|prim| Some((prim, prim.arc.as_ref()?))) {
            Some((prim, arc)) => Err(self
                .malformed(&prim.path, format!("it has {}, which need composing; {REMEDY}", arc_words(arc)))),
            None => Ok(()),
        }
    }

    /// A value where it lies.
    pub(super) fn fetch(&self, attribute: &Attribute, handle: &Handle, place: &str) -> Result<Value> {
        match (&self.values, handle) {
            (Values::Crate(file), Handle::Rep(rep)) => file.value(*rep, place),
            (Values::Text { text, .. }, Handle::Text(range)) => {
                let kind = ValueType::parse(&attribute.type_name).ok_or_else(|| {
                    self.malformed(place, format!("values of type `{}` are not read", attribute.type_name))
                })?;
                let bytes = text.get(range.clone()).unwrap_or_default();
                parse_value(kind, bytes).map_err(|problem| self.malformed(place, problem))
            }
            _ => Err(self.malformed(place, "the value is of another layer")),
        }
    }

    /// The points at a sample, straight from the file where they lie there as they are.
    pub(super) fn fetch_points(
        &self,
        attribute: &Attribute,
        handle: &Handle,
        place: &str,
    ) -> Result<Vec<[f32; 3]>> {
        if let (Values::Crate(file), Handle::Rep(rep)) = (&self.values, handle)
            && let Some(points) = file.points(*rep, place)?
        {
            return Ok(points);
        }
        let value = self.fetch(attribute, handle, place)?;
        if value == Value::Blocked {
            return Err(self.malformed(place, "the sample is missing: it says `None`"));
        }
        let floats = value.into_floats();
        let floats = floats.ok_or_else(|| self.malformed(place, "points were expected, not words"))?;
        let (points, rest) = floats.as_chunks::<3>();
        if !rest.is_empty() {
            return Err(self.malformed(place, "points of three numbers each were expected"));
        }
        Ok(points.to_vec())
    }

    /// The value outside time, or the first sample of an attribute that has only those. `None` when there is none.
    pub(super) fn value(&self, prim: &Prim, name: &str) -> Result<Option<Value>> {
        let Some(attribute) = prim.attributes.get(name) else { return Ok(None) };
        let Some(handle) = attribute.default.as_ref().or(attribute.samples.first()) else { return Ok(None) };
        let value = self.fetch(attribute, handle, &format!("{}.{name}", prim.path))?;
        Ok((value != Value::Blocked).then_some(value))
    }

    /// The value at a time code: samples, linear in between where they are numbers; otherwise the value outside time.
    pub(super) fn value_at(&self, prim: &Prim, name: &str, time: f64) -> Result<Option<Value>> {
        let Some(attribute) = prim.attributes.get(name) else { return Ok(None) };
        let place = || format!("{}.{name} at time {time}", prim.path);
        let Some((before, after, part)) = bracket(attribute.times.len(), |i| attribute.times[i], time) else {
            return self.value(prim, name);
        };
        let first = self.fetch(attribute, &attribute.samples[before], &place())?;
        if part == 0.0 || attribute.samples[before] == attribute.samples[after] {
            return Ok((first != Value::Blocked).then_some(first));
        }
        let second = self.fetch(attribute, &attribute.samples[after], &place())?;
        let quaternions = ValueType::parse(&attribute.type_name)
            .is_some_and(|kind| kind.shape == super::value::Arity::Quaternion);
        Ok(Some(mix(first, second, part, quaternions)))
    }

    /// Words, or none.
    pub(super) fn words(&self, prim: &Prim, name: &str) -> Result<Option<Vec<String>>> {
        Ok(match self.value(prim, name)? {
            Some(Value::Texts(words)) => Some(words),
            _ => None,
        })
    }

    /// Numbers of double precision, or none.
    pub(super) fn doubles_at(&self, prim: &Prim, name: &str, time: f64) -> Result<Option<Vec<f64>>> {
        Ok(self.value_at(prim, name, time)?.and_then(|value| value.to_doubles()))
    }

    /// Whole numbers, or none.
    pub(super) fn ints(&self, prim: &Prim, name: &str) -> Result<Option<Vec<i64>>> {
        Ok(match self.value(prim, name)? {
            Some(Value::Ints(ints)) => Some(ints),
            _ => None,
        })
    }

    /// The prim at a path; paths that do not begin with a slash begin at `from`.
    pub(super) fn prim_at(&self, from: &Prim, path: &str) -> Option<usize> {
        let absolute = if path.starts_with('/') { path.to_string() } else { format!("{}/{path}", from.path) };
        self.prims.iter().position(|prim| prim.path == absolute)
    }

    /// A prim and those above it, from the inside.
    pub(super) fn ancestors(&self, prim: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(prim), |&prim| self.prims[prim].parent)
    }
}

/// Linear interpolation of numbers; of anything else the first value holds. Quaternions take the shorter way round.
fn mix(first: Value, second: Value, part: f64, quaternions: bool) -> Value {
    let (Some(a), Some(mut b)) = (first.to_doubles(), second.to_doubles()) else { return first };
    if a.len() != b.len() || matches!(first, Value::Ints(_)) {
        return first;
    }
    if quaternions {
        for (a, b) in a.chunks(4).zip(b.chunks_mut(4)) {
            if a.iter().zip(&*b).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
                b.iter_mut().for_each(|b| *b = -*b);
            }
        }
    }
    let mixed = a.iter().zip(&b).map(|(a, b)| a + (b - a) * part);
    match first {
        Value::Floats(_) => Value::Floats(mixed.map(|x| x as f32).collect()),
        _ => Value::Doubles(mixed.collect()),
    }
}

/// The name of a composition arc as people say it.
fn arc_words(field: &str) -> &'static str {
    match field {
        "references" => "references",
        "payload" | "payloads" => "payloads",
        "variantSetNames" | "variantSets" | "variantSelection" | "variants" => "variants",
        "inheritPaths" | "inherits" => "inherits",
        "specializes" => "specializes",
        "instanceable" => "instances",
        _ => "value clips",
    }
}
