//! Materials and pictures, written: textures and samplers take their place again behind numbers.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Value, json};

use super::look::each_texture;
use super::sink::{Sink, Use};
use crate::{Clip, Image, Material, Result};

/// What the JSON says about looks.
pub(super) struct Looks {
    materials: Vec<Value>,
    images: Vec<Value>,
    textures: Vec<Value>,
    samplers: Vec<Value>,
    extensions: BTreeSet<String>,
    required: BTreeSet<String>,
    uv_sets: Vec<usize>,
    /// Images of the clip that are there already.
    first_image: usize,
    /// Images, samplers and textures of the document that these lists come behind.
    counts: [usize; 3],
    /// Names of the clip's joints: groups of these names come from the skin and are not written.
    pub(super) joint_names: HashSet<String>,
}

impl Looks {
    /// Writes the pictures and turns the materials into JSON.
    pub(super) fn write(clip: &Clip, sink: &mut Sink) -> Result<Self> {
        Self::write_behind(clip, 0, 0, [0; 3], sink)
    }

    /// The same without the first materials and images, which a document has already; `counts` are the images, samplers and textures
    /// there.
    pub(super) fn write_behind(
        clip: &Clip,
        first_material: usize,
        first_image: usize,
        counts: [usize; 3],
        sink: &mut Sink,
    ) -> Result<Self> {
        let joints = clip.skeleton.iter().flat_map(|skeleton| &skeleton.joints);
        let mut looks = Self {
            materials: Vec::new(),
            images: Vec::new(),
            textures: Vec::new(),
            samplers: Vec::new(),
            extensions: BTreeSet::new(),
            required: BTreeSet::new(),
            uv_sets: Vec::new(),
            first_image,
            counts,
            joint_names: joints.map(|joint| joint.name.clone()).collect(),
        };
        for Image { name, mime_type, bytes } in clip.images.iter().skip(first_image) {
            let view = sink.view(bytes, None, Use::Other)?;
            looks.images.push(json!({ "name": name, "mimeType": mime_type, "bufferView": view }));
        }
        for (number, material) in clip.materials.iter().enumerate() {
            let mut value = gltf_of(material);
            let mut uv_sets = 0;
            let is_new = number >= first_material;
            each_texture(&mut value, &mut |info| {
                let set =
                    |info: &serde_json::Map<String, Value>| info.get("texCoord").and_then(Value::as_u64);
                let moved =
                    info.get("extensions").and_then(|e| e["KHR_texture_transform"].as_object()).and_then(set);
                uv_sets = uv_sets.max(moved.or(set(info)).unwrap_or(0).min(15) as usize + 1);
                if !is_new {
                    return Ok(true);
                }
                let sampler = info.remove("sampler");
                let extension = info.remove("source_extension");
                let index =
                    looks.texture(&info["index"], sampler, extension.as_ref().and_then(Value::as_str));
                info.insert("index".into(), json!(index));
                Ok(true)
            })?;
            looks.uv_sets.push(uv_sets);
            if is_new {
                collect_extensions(&value, &mut looks.extensions);
                looks.materials.push(value);
            }
        }
        Ok(looks)
    }

    /// How many sets of texture coordinates a material reads.
    pub(super) fn uv_sets(&self, material: usize) -> usize {
        self.uv_sets.get(material).copied().unwrap_or(0)
    }

    /// Hands over the lists of the document.
    pub(super) fn finish(self, list: &mut dyn FnMut(&str, Vec<Value>)) {
        list("materials", self.materials);
        list("textures", self.textures);
        list("images", self.images);
        list("samplers", self.samplers);
        list("extensionsUsed", self.extensions.into_iter().map(Value::String).collect());
        list("extensionsRequired", self.required.into_iter().map(Value::String).collect());
    }

    /// Puts them behind what a document has.
    pub(super) fn append_to(&self, document: &mut Value) {
        let Self { materials, images, textures, samplers, .. } = self;
        let lists =
            [("materials", materials), ("textures", textures), ("images", images), ("samplers", samplers)];
        for (name, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
            match document.get_mut(name).and_then(Value::as_array_mut) {
                Some(list) => list.extend(items.iter().cloned()),
                None => document[name] = Value::Array(items.clone()),
            }
        }
        for (name, names) in [("extensionsUsed", &self.extensions), ("extensionsRequired", &self.required)] {
            for extension in names {
                match document.get_mut(name).and_then(Value::as_array_mut) {
                    Some(list) if list.iter().any(|known| known == extension) => {}
                    Some(list) => list.push(json!(extension)),
                    None => document[name] = json!([extension]),
                }
            }
        }
    }

    fn texture(&mut self, image: &Value, sampler: Option<Value>, extension: Option<&str>) -> usize {
        let image = image.as_u64().map_or(0, |image| image as usize) + self.counts[0];
        let image = image.saturating_sub(self.first_image);
        let mut texture = match extension {
            None => json!({ "source": image }),
            Some(name) => {
                self.extensions.insert(name.into());
                self.required.insert(name.into());
                json!({ "extensions": { name: { "source": image } } })
            }
        };
        if let Some(sampler) = sampler {
            texture["sampler"] = json!(self.counts[1] + place_of(&mut self.samplers, sampler));
        }
        self.counts[2] + place_of(&mut self.textures, texture)
    }
}

/// Where an item stands in a list; it is added when it does not.
fn place_of(list: &mut Vec<Value>, item: Value) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// The material as glTF has it.
fn gltf_of(material: &Material) -> Value {
    if let Some(gltf) = &material.gltf {
        return gltf.clone();
    }
    let color =
        material.base_color.map(|channel| if channel.is_finite() { channel.clamp(0.0, 1.0) } else { 1.0 });
    let mut pbr = json!({ "baseColorFactor": color, "metallicFactor": 0.0, "roughnessFactor": 0.8 });
    if let Some(image) = material.base_color_image {
        pbr["baseColorTexture"] = json!({ "index": image });
    }
    let mut value =
        json!({ "name": material.name, "pbrMetallicRoughness": pbr, "doubleSided": material.double_sided });
    if color[3] < 1.0 {
        value["alphaMode"] = json!("BLEND");
    }
    value
}

fn collect_extensions(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                if key == "extensions" {
                    found.extend(
                        child.as_object().into_iter().flat_map(|extensions| extensions.keys().cloned()),
                    );
                }
                if key != "extras" {
                    collect_extensions(child, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_extensions(item, found)),
        _ => {}
    }
}
