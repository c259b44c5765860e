//! Materials and pictures, carried through untouched.
//!
//! In [`Material::gltf`] a texture's `index` is the number of the clip's image, and what else the texture said (its
//! sampler, the extension that names its source) stands beside the index under `sampler` and `source_extension`.

use serde_json::{Map, Value, json};

use super::container::{Container, fetch};
use crate::{Image, Material, Result};

/// Reads all materials.
pub(super) fn read_materials(container: &Container) -> Result<Vec<Material>> {
    let read = |(index, value): (usize, &Value)| {
        let mut gltf = value.clone();
        each_texture(&mut gltf, &mut |texture| inline_texture(container, index, texture))?;
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

/// Reads all pictures, still encoded.
pub(super) fn read_images(container: &Container) -> Result<Vec<Image>> {
    let read = |(index, image): (usize, &super::document::Image)| {
        let place = format!("images[{index}]");
        let (media_type, bytes) = match (&image.uri, image.buffer_view) {
            (Some(uri), _) => fetch(&container.path, uri, &place)?,
            (None, Some(view)) => (None, container.view(view)?.0.as_slice().to_vec()),
            (None, None) => return Err(container.malformed(place, "it has neither a URI nor a buffer view")),
        };
        let mime_type = image.mime_type.clone().or(media_type).unwrap_or_else(|| sniff(&bytes).into());
        let named = image.name.clone().or_else(|| image.uri.clone().filter(|uri| !uri.starts_with("data:")));
        Ok(Image { name: named.unwrap_or_else(|| format!("image {index}")), mime_type, bytes })
    };
    container.document.images.iter().enumerate().map(read).collect()
}

/// The kind of picture, by its first bytes.
fn sniff(bytes: &[u8]) -> &'static str {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [0xab, b'K', b'T', b'X', ..] => "image/ktx2",
        _ => "image/png",
    }
}

/// Calls `act` on every object that refers to a texture: those under a key that ends in "Texture", at any depth.
pub(super) fn each_texture(
    value: &mut Value,
    act: &mut dyn FnMut(&mut Map<String, Value>) -> Result<()>,
) -> Result<()> {
    match value {
        Value::Object(map) => {
            for (key, child) in map.iter_mut() {
                if let Value::Object(texture) = child
                    && (key.ends_with("Texture") || key == "texture")
                    && texture.get("index").is_some_and(Value::is_u64)
                {
                    act(texture)?;
                }
                if key != "extras" {
                    each_texture(child, act)?;
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| each_texture(item, act)),
        _ => Ok(()),
    }
}

/// Replaces a texture's number by its image's, and keeps its sampler beside it.
fn inline_texture(container: &Container, material: usize, info: &mut Map<String, Value>) -> Result<()> {
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
    container.item(&document.images, source, "images")?;
    info.insert("index".into(), json!(source));
    if let Some(sampler) = texture.sampler {
        info.insert("sampler".into(), container.item(&document.samplers, sampler, "samplers")?.clone());
    }
    Ok(())
}
