//! What a document keeps of its source's binary data: bytes that are still used, each once, wherever they lay.
//!
//! Accessors and buffer views that are no more used leave their places to new ones, so that the numbers of all others stay: extensions that
//! we do not know may refer to them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::container::{Container, Resource, resolve};
use super::sink::{Places, Sink, Use};
use crate::{Image, Result};

/// Bytes that are copied at a time.
const CHUNK: usize = 4 << 20;

/// One white pixel as a PNG: what stands where a file names something that is no picture.
const WHITE: [u8; 67] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00,
    0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8, 0x0f, 0x00, 0x01, 0x01, 0x01, 0x00,
    0x1c, 0xb0, 0x8c, 0x99, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// The accessors that a document uses, as far as can be told: any number inside an extension may be one.
pub(super) fn accessors_used(document: &Value) -> BTreeSet<usize> {
    let mut used = BTreeSet::new();
    for primitive in items(document, "meshes").iter().flat_map(|mesh| items(mesh, "primitives")) {
        add_primitive(primitive, &mut used);
    }
    for skin in items(document, "skins") {
        used.extend(number(skin, "inverseBindMatrices"));
    }
    for sampler in items(document, "animations").iter().flat_map(|animation| items(animation, "samplers")) {
        used.extend(number(sampler, "input").into_iter().chain(number(sampler, "output")));
    }
    extension_numbers(document, false, &mut used);
    used
}

/// The accessors of a primitive.
pub(super) fn add_primitive(primitive: &Value, used: &mut BTreeSet<usize>) {
    let of = |attributes: &Value| -> Vec<usize> {
        let numbers = attributes.as_object().into_iter().flat_map(|map| map.values());
        numbers.filter_map(as_index).collect()
    };
    used.extend(of(&primitive["attributes"]));
    used.extend(number(primitive, "indices"));
    used.extend(items(primitive, "targets").iter().flat_map(of));
}

/// The buffer views that a document uses, without those of some accessors.
fn views_used(document: &Value, without: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut used = BTreeSet::new();
    for (index, accessor) in items(document, "accessors").iter().enumerate() {
        if !without.contains(&index) {
            let sparse = &accessor["sparse"];
            let places = [accessor, &sparse["indices"], &sparse["values"]];
            used.extend(places.into_iter().filter_map(|place| number(place, "bufferView")));
        }
    }
    used.extend(items(document, "images").iter().filter_map(|image| number(image, "bufferView")));
    extension_numbers(document, false, &mut used);
    used
}

/// Every whole number inside an extension.
fn extension_numbers(value: &Value, inside: bool, found: &mut BTreeSet<usize>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, child)| {
            extension_numbers(child, inside || key == "extensions", found);
        }),
        Value::Array(children) => children.iter().for_each(|child| extension_numbers(child, inside, found)),
        _ if inside => found.extend(as_index(value)),
        _ => {}
    }
}

/// Hands the data of a document over to a sink, without accessors that are `free`, and pictures that lie beside the file with it.
pub(super) fn carry(
    container: &Container,
    document: &mut Value,
    free: &BTreeSet<usize>,
    sink: &mut Sink,
) -> Result<()> {
    let used_before = views_used(document, &BTreeSet::new());
    let used = views_used(document, free);
    let free_views: BTreeSet<usize> = used_before.difference(&used).copied().collect();
    let mut views = take_list(document, "bufferViews");
    copy_views(container, &mut views, &free_views, sink)?;
    if let Some(buffers) = document.get_mut("buffers").and_then(Value::as_array_mut) {
        match &mut buffers[..] {
            [one] => drop(one.as_object_mut().map(|one| one.remove("uri"))),
            _ => drop(document.as_object_mut().map(|document| document.remove("buffers"))),
        }
    }
    let in_range = |free: &BTreeSet<usize>, count: usize| {
        free.iter().copied().filter(move |&index| index < count).collect::<Vec<_>>().into_iter()
    };
    let accessors = take_list(document, "accessors");
    let free = in_range(free, accessors.len());
    let free_views = in_range(&free_views, views.len());
    sink.adopt(Places::new(views, free_views), Places::new(accessors, free));
    embed_images(container, document, sink)
}

/// A run of bytes of a buffer, and where it went.
struct Run {
    buffer: usize,
    start: usize,
    end: usize,
    went_to: u64,
}

/// Copies what the views show, and tells them where it is now.
fn copy_views(
    container: &Container,
    views: &mut [Value],
    free: &BTreeSet<usize>,
    sink: &mut Sink,
) -> Result<()> {
    let mut runs: Vec<Run> = Vec::new();
    let mut wanted: Vec<[usize; 3]> = Vec::new();
    for (_, view) in views.iter().enumerate().filter(|(index, _)| !free.contains(index)) {
        each_range(&mut view.clone(), &mut |_, range| wanted.push(range));
    }
    wanted.sort_unstable();
    for [buffer, start, end] in wanted {
        // what is aligned stays aligned
        let start = start / 4 * 4;
        match runs.last_mut() {
            Some(run) if run.buffer == buffer && start <= run.end => run.end = run.end.max(end),
            _ => runs.push(Run { buffer, start, end, went_to: 0 }),
        }
    }
    for run in &mut runs {
        let mut at = run.start;
        loop {
            let length = CHUNK.min(run.end.saturating_sub(at));
            let bytes = container.part(run.buffer, at, length, "bufferViews")?;
            let went_to = sink.carry(&bytes.read()?)?;
            if at == run.start {
                run.went_to = went_to;
            }
            at += length;
            if at >= run.end {
                break;
            }
        }
    }
    for (_, view) in views.iter_mut().enumerate().filter(|(index, _)| !free.contains(index)) {
        each_range(view, &mut |place, [buffer, start, _]| {
            // each view is in one of the runs that were made of them
            let behind = runs.partition_point(|run| (run.buffer, run.start) <= (buffer, start));
            let Some(run) = behind.checked_sub(1).map(|at| &runs[at]) else { return };
            place["buffer"] = json!(0);
            place["byteOffset"] = json!(run.went_to + (start - run.start) as u64);
        });
    }
    Ok(())
}

/// Calls `act` with every range of a buffer that a view names: its own, and those of its extensions.
fn each_range(view: &mut Value, act: &mut dyn FnMut(&mut Value, [usize; 3])) {
    if let (Some(buffer), Some(length)) = (number(view, "buffer"), number(view, "byteLength")) {
        let start = number(view, "byteOffset").unwrap_or(0);
        act(view, [buffer, start, start.saturating_add(length)]);
    }
    if let Some(extensions) = view.get_mut("extensions").and_then(Value::as_object_mut) {
        extensions.values_mut().for_each(|extension| each_range(extension, act));
    }
}

/// Takes pictures that lie beside the file or stand in its JSON into the binary data. Whatever a stranger's file names, nothing but pictures is
/// taken: the reader has said so of anything else, and a white one stands in its place.
fn embed_images(container: &Container, document: &mut Value, sink: &mut Sink) -> Result<()> {
    let Some(images) = document.get_mut("images").and_then(Value::as_array_mut) else { return Ok(()) };
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (index, image) in images.iter_mut().enumerate() {
        let Some(uri) = image.get("uri").and_then(Value::as_str).map(str::to_owned) else { continue };
        let bytes = match resolve(&container.files, &container.path, &uri, &format!("images[{index}]"))? {
            Resource::Data(bytes) => bytes,
            Resource::File(file) => container.files.read(file)?,
        };
        let (bytes, kind) = match Image::mime_type_of(&bytes) {
            Some(kind) => (&bytes[..], kind),
            None => (&WHITE[..], "image/png"),
        };
        let view = match known.get(&uri) {
            Some(&view) => view,
            None => sink.view(bytes, None, Use::Other)?,
        };
        image["bufferView"] = json!(view);
        image["mimeType"] = json!(kind);
        image.as_object_mut().map(|image| image.remove("uri"));
        known.insert(uri, view);
    }
    Ok(())
}

/// A list of a document; empty when it has none.
pub(super) fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The same, taken out.
pub(super) fn take_list(document: &mut Value, name: &str) -> Vec<Value> {
    match document.get_mut(name).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// A number by which something is referred to.
pub(super) fn number(value: &Value, name: &str) -> Option<usize> {
    value.get(name).and_then(as_index)
}

fn as_index(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}
