//! Materials: what of a UsdPreviewSurface we understand is colour, opacity and the colour's picture.

use std::collections::BTreeMap;

use super::Pictures;
use super::stage::{Prim, Stage};
use crate::{Error, Image, Material, Mesh, Part, Result};

/// The materials that the meshes of a layer use, in the order of the layer.
#[derive(Default)]
pub(super) struct Looks {
    pub(super) materials: Vec<Material>,
    pub(super) images: Vec<Image>,
    /// What was left out.
    pub(super) warnings: Vec<String>,
    /// By the number of the prim.
    numbers: BTreeMap<usize, usize>,
    image_numbers: BTreeMap<String, Option<usize>>,
}

impl Looks {
    pub(super) fn read(stage: &Stage, pictures: &Pictures) -> Result<Self> {
        let mut looks = Self::default();
        for (index, prim) in stage.prims.iter().enumerate() {
            if prim.type_name == "Material" {
                let material = looks.material(stage, prim, pictures)?;
                looks.numbers.insert(index, looks.materials.len());
                looks.materials.push(material);
            }
        }
        Ok(looks)
    }

    fn material(&mut self, stage: &Stage, prim: &Prim, pictures: &Pictures) -> Result<Material> {
        let mut material = Material::plain(prim.title(), [0.18, 0.18, 0.18, 1.0]);
        material.double_sided = false;
        let Some(surface) = connected(stage, prim, "outputs:surface") else { return Ok(material) };
        let numbers =
            |prim: &Prim, name: &str| Ok(stage.value(prim, name)?.and_then(|value| value.into_floats()));
        if let Some(opacity) = numbers(surface, "inputs:opacity")?.and_then(|value| value.first().copied()) {
            material.base_color[3] = opacity;
        }
        let mut color = numbers(surface, "inputs:diffuseColor")?;
        if let Some(picture) = connected(stage, surface, "inputs:diffuseColor") {
            color = Some(numbers(picture, "inputs:scale")?.unwrap_or_else(|| vec![1.0; 3]));
            if let Some(file) = stage.words(picture, "inputs:file")?.and_then(|mut words| words.pop()) {
                material.base_color_image = match self.image_numbers.get(&file) {
                    Some(known) => *known,
                    None => {
                        let image = match pictures.fetch(&file) {
                            Err(error @ Error::Outside { .. }) => {
                                self.warnings.push(format!("{error}, and was left out"));
                                None
                            }
                            found => found?,
                        };
                        let number = image.map(|image| {
                            self.images.push(image);
                            self.images.len() - 1
                        });
                        self.image_numbers.insert(file, number);
                        number
                    }
                };
            }
        }
        if let Some([r, g, b]) = color.as_deref().and_then(|color| color.first_chunk::<3>()) {
            material.base_color[..3].copy_from_slice(&[*r, *g, *b]);
        }
        material.base_color = material.base_color.map(|c| if c.is_finite() { c } else { 1.0 });
        Ok(material)
    }

    /// Cuts a mesh into parts by what is bound to it and to its subsets.
    pub(super) fn assign(&mut self, stage: &Stage, prim: usize, mesh: &mut Mesh) -> Result<()> {
        let bound = |prim: usize| {
            let targets = stage.prims[prim].relationships.get("material:binding")?;
            self.numbers.get(&stage.prim_at(&stage.prims[prim], targets.first()?)?).copied()
        };
        let whole = stage.ancestors(prim).find_map(bound);
        let mut of_face = vec![(whole, 0_usize); mesh.faces.len()];
        for (index, subset) in stage.prims.iter().enumerate() {
            if subset.parent != Some(prim) || subset.type_name != "GeomSubset" {
                continue;
            }
            let word = |name: &str| Ok(stage.words(subset, name)?.and_then(|words| words.into_iter().next()));
            let family: Option<String> = word("familyName")?;
            let element: Option<String> = word("elementType")?;
            if family.as_deref() != Some("materialBind") || element.is_some_and(|element| element != "face") {
                continue;
            }
            for face in stage.ints(subset, "indices")?.unwrap_or_default() {
                let slot = usize::try_from(face).ok().and_then(|face| of_face.get_mut(face));
                let count = mesh.faces.len();
                *slot.ok_or_else(|| {
                    stage.malformed(&subset.path, format!("it names face {face} of {count}"))
                })? = (bound(index).or(whole), index);
            }
        }
        let mut parts = Vec::new();
        let mut start = 0;
        for run in of_face.chunk_by(|a, b| a == b) {
            let faces = start..start + run.len();
            start = faces.end;
            parts.push(Part { faces, vertices: 0..mesh.vertex_count(), material: run[0].0 });
        }
        if !parts.is_empty() {
            mesh.parts = parts;
        }
        if stage.value(&stage.prims[prim], "doubleSided")?.and_then(|value| value.number()) == Some(1.0) {
            for material in mesh.parts.iter().filter_map(|part| part.material) {
                self.materials[material].double_sided = true;
            }
        }
        Ok(())
    }
}

/// The prim whose output an attribute is connected to.
fn connected<'a>(stage: &'a Stage, prim: &Prim, name: &str) -> Option<&'a Prim> {
    let path = prim.attributes.get(name)?.connections.first()?;
    let path = path.split('.').next().unwrap_or(path);
    stage.prim_at(prim, path).map(|index| &stage.prims[index])
}
