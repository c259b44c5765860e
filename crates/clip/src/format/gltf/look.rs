//! Materials and pictures, carried through untouched.
//!
//! In [`Material::gltf`] a texture's `index` is the number of the clip's image, and what else the texture said (its
//! sampler, the extension that names its source) stands beside the index under `sampler` and `source_extension`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::container::{Container, Resource, resolve};
use crate::{Image, Material, Result};

/// Reads all materials.
pub(super) fn read_materials(container: &Container, pictures: &Pictures) -> Result<Vec<Material>> {
    let read = |(index, value): (usize, &Value)| {
        let mut gltf = value.clone();
        each_texture(&mut gltf, &mut |texture| inline_texture(container, pictures, index, texture))?;
        let pbr = &gltf["pbrMetallicRoughness"];
        let mut base_color = [1.0; 4];
        for (channel, value) in
            base_color.iter_mut().zip(pbr["baseColorFactor"].as_array().into_iter().flatten())
        {
            *channel = value.as_f64().unwrap_or(1.0) as f32;
        }
        Ok(Material {
            name: gltf["name"].as_str().map_or_else(|| format!("material {index}"), String::from),
            base_color,
            base_color_image: pbr["baseColorTexture"]["index"].as_u64().map(|image| image as usize),
            double_sided: gltf["doubleSided"].as_bool().unwrap_or(false),
            gltf: Some(gltf),
        })
    };
    container.document.materials.iter().enumerate().map(read).collect()
}

/// The pictures of a file, still encoded.
pub(super) struct Pictures {
    pub(super) images: Vec<Image>,
    pub(super) warnings: Vec<String>,
    /// For each of the document's images, which of ours it became; `None` for what is no picture.
    image_of: Vec<Option<usize>>,
}

/// Where a picture's bytes lie: images that say the same share them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    File(PathBuf),
    View(usize),
}

impl Pictures {
    /// Reads all pictures. Bytes that do not begin as a picture does are left out, with a warning: whatever a stranger's
    /// file names, what goes on into other files is nothing but pictures.
    pub(super) fn read(container: &Container) -> Result<Self> {
        let mut pictures = Self { images: Vec::new(), warnings: Vec::new(), image_of: Vec::new() };
        let mut known: BTreeMap<Place, Option<usize>> = BTreeMap::new();
        let mut in_views = 0_usize;
        for (index, image) in container.document.images.iter().enumerate() {
            let at = format!("images[{index}]");
            let (place, bytes) = match (&image.uri, image.buffer_view) {
                (Some(uri), _) => match resolve(&container.files, &container.path, uri, &at)? {
                    Resource::Data(bytes) => (None, Some(bytes)),
                    Resource::File(file) => (Some(Place::File(file)), None),
                },
                (None, Some(view)) => (Some(Place::View(view)), None),
                (None, None) => return Err(container.malformed(at, "it has neither a URI nor a buffer view")),
            };
            if let Some(&shared) = place.as_ref().and_then(|place| known.get(place)) {
                pictures.image_of.push(shared);
                continue;
            }
            let bytes = match (&place, bytes) {
                (Some(Place::File(file)), _) => container.files.read(file)?,
                (Some(Place::View(view)), _) => {
                    let view = container.view(*view)?.0;
                    in_views = in_views.saturating_add(view.len());
                    if in_views > container.total_length {
                        return Err(container
                            .malformed(at, "the pictures overlap: together they are longer than the file"));
                    }
                    view.read()?.into_owned()
                }
                (None, bytes) => bytes.unwrap_or_default(),
            };
            let uri = image.uri.clone().filter(|uri| !uri.starts_with("data:"));
            let name = image.name.clone().or(uri).unwrap_or_else(|| format!("image {index}"));
            let number = pictures.add(&at, name, bytes);
            pictures.image_of.push(number);
            known.extend(place.map(|place| (place, number)));
        }
        Ok(pictures)
    }

    fn add(&mut self, at: &str, name: String, bytes: Vec<u8>) -> Option<usize> {
        let Some(mime_type) = Image::mime_type_of(&bytes) else {
            let words = "does not begin as a PNG, JPEG, WebP or KTX2 does, and was left out";
            self.warnings.push(format!("{at}: `{name}` {words}"));
            return None;
        };
        self.images.push(Image { name, mime_type: mime_type.into(), bytes });
        Some(self.images.len() - 1)
    }
}

/// Calls `act` on every object that refers to a texture: those under a key that ends in "Texture", at any depth. Those
/// for which it says `false` are taken out.
pub(super) fn each_texture(
    value: &mut Value,
    act: &mut dyn FnMut(&mut Map<String, Value>) -> Result<bool>,
) -> Result<()> {
    match value {
        Value::Object(map) => {
            let mut gone = Vec::new();
            for (key, child) in map.iter_mut() {
                if let Value::Object(texture) = child
                    && (key.ends_with("Texture") || key == "texture")
                    && texture.get("index").is_some_and(Value::is_u64)
                    && !act(texture)?
                {
                    gone.push(key.clone());
                }
                if key != "extras" {
                    each_texture(child, act)?;
                }
            }
            gone.iter().for_each(|key| drop(map.remove(key)));
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| each_texture(item, act)),
        _ => Ok(()),
    }
}

/// A material whose pictures stand so much further down the list.
pub(crate) fn move_images(material: &mut Value, by: usize) {
    let moved = each_texture(material, &mut |info| {
        let index = info["index"].as_u64().map_or(0, |index| index as usize);
        info.insert("index".into(), json!(index + by));
        Ok(true)
    });
    // it never fails
    let _ = moved;
}

/// Replaces a texture's number by its image's, and keeps its sampler beside it; `false` when its image was left out.
fn inline_texture(
    container: &Container,
    pictures: &Pictures,
    material: usize,
    info: &mut Map<String, Value>,
) -> Result<bool> {
    let document = &container.document;
    let index = info["index"].as_u64().map_or(usize::MAX, |index| index as usize);
    let texture = container.item(&document.textures, index, "textures")?;
    let mut source = texture.source;
    let extensions = texture.extensions.as_ref().and_then(Value::as_object);
    for (name, extension) in extensions.into_iter().flatten() {
        if let (None, Some(image)) = (source, extension["source"].as_u64()) {
            source = Some(image as usize);
            info.insert("source_extension".into(), json!(name));
        }
    }
    let Some(source) = source else {
        return Err(container.malformed(
            format!("textures[{index}]"),
            format!("material {material} uses it, but it has no image"),
        ));
    };
    let Some(image) = *container.item(&pictures.image_of, source, "images")? else { return Ok(false) };
    info.insert("index".into(), json!(image));
    if let Some(sampler) = texture.sampler {
        info.insert("sampler".into(), container.item(&document.samplers, sampler, "samplers")?.clone());
    }
    Ok(true)
}
