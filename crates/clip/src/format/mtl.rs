//! The materials beside an OBJ: what of an MTL we understand is colour, opacity and the colour's picture.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::atomic;
use crate::{Clip, Error, Files, Image, Material, Result};

/// Materials with their pictures.
#[derive(Default)]
pub(super) struct Library {
    pub(super) materials: Vec<Material>,
    pub(super) images: Vec<Image>,
    /// What was left out.
    pub(super) warnings: Vec<String>,
    /// The file that each image came from.
    paths: Vec<PathBuf>,
}

/// Reads the libraries that an OBJ names. One that is not there is passed over, as every program does: an OBJ is
/// often sent without it. One that lies outside the OBJ's folder is passed over with a warning, since exporters like
/// to write the paths of the machine they ran on.
pub(super) fn read(obj: &Path, names: &[String], files: &Files) -> Result<Library> {
    let mut library = Library::default();
    let mut seen = HashSet::new();
    for name in names {
        let Some(path) = library.beside(obj, "mtllib", name, files)? else { continue };
        if seen.insert(path.clone()) && files.is_file(&path) {
            library.add(&path, &String::from_utf8_lossy(&files.read(&path)?), files)?;
        }
    }
    Ok(library)
}

impl Library {
    fn add(&mut self, path: &Path, text: &str, files: &Files) -> Result<()> {
        for line in text.lines() {
            let Some((keyword, rest)) = line.trim().split_once(char::is_whitespace) else { continue };
            let rest = rest.trim();
            let numbers: Vec<f32> = rest.split_whitespace().map_while(|word| word.parse().ok()).collect();
            if keyword == "newmtl" {
                self.materials.push(Material::plain(rest, [0.8, 0.8, 0.8, 1.0]));
                continue;
            }
            let Some(material) = self.materials.last_mut() else { continue };
            match (keyword, numbers.as_slice()) {
                ("Kd", &[r, g, b, ..]) => material.base_color[..3].copy_from_slice(&[r, g, b]),
                ("d", &[opacity, ..]) => material.base_color[3] = opacity,
                ("Tr", &[transparency, ..]) => material.base_color[3] = 1.0 - transparency,
                ("map_Kd", _) => {
                    let image = self.add_image(path, rest, files)?;
                    if let Some(material) = self.materials.last_mut() {
                        material.base_color_image = image;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes a picture in; `None` for kinds that glTF cannot hold and for files that are not there.
    fn add_image(&mut self, library: &Path, words: &str, files: &Files) -> Result<Option<usize>> {
        // options stand before the name; a name may hold spaces
        let name = if words.starts_with('-') {
            words.rsplit(char::is_whitespace).next().unwrap_or(words)
        } else {
            words
        };
        let Some(path) = self.beside(library, "map_Kd", name, files)? else { return Ok(None) };
        if let Some(known) = self.paths.iter().position(|known| *known == path) {
            return Ok(Some(known));
        }
        if !files.is_file(&path) {
            return Ok(None);
        }
        let bytes = files.read(&path)?;
        // the other kinds need extensions of glTF that an MTL cannot ask for
        let Some(mime_type @ ("image/png" | "image/jpeg")) = Image::mime_type_of(&bytes) else {
            let file = library.display();
            self.warn(format!(
                "{file}: map_Kd: `{name}` does not begin as a PNG or JPEG does, and was left out"
            ));
            return Ok(None);
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.images.push(Image { name, mime_type: mime_type.into(), bytes });
        self.paths.push(path);
        Ok(Some(self.images.len() - 1))
    }

    /// The path of what a file names, or a warning.
    fn beside(&mut self, from: &Path, keyword: &str, name: &str, files: &Files) -> Result<Option<PathBuf>> {
        match files.beside(from, keyword, &name.replace('\\', "/")) {
            Err(error @ Error::Outside { .. }) => {
                self.warn(format!("{error}, and was left out"));
                Ok(None)
            }
            path => path.map(Some),
        }
    }

    /// Says a thing once, however many materials it is true of.
    fn warn(&mut self, words: String) {
        if !self.warnings.contains(&words) {
            self.warnings.push(words);
        }
    }
}

/// Writes a clip's materials and their pictures beside an OBJ; returns the files and their size.
pub(super) fn write(path: &Path, clip: &Clip) -> Result<(Vec<PathBuf>, u64)> {
    let mut text = String::new();
    let mut images = Vec::new();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    for (index, material) in clip.materials.iter().enumerate() {
        let [r, g, b, a] = material.base_color;
        // writing into a string cannot fail
        let _ = writeln!(text, "newmtl {}\nKd {r} {g} {b}\nd {a}", material_name(clip, index));
        if let Some(image) = material.base_color_image.filter(|&image| image < clip.images.len()) {
            let name = image_name(&stem, image, &clip.images[image]);
            let _ = writeln!(text, "map_Kd {name}");
            images.push((path.with_file_name(name), &clip.images[image]));
        }
    }
    let mut files = vec![path.to_path_buf()];
    let mut bytes = atomic::write_whole(path, text.as_bytes())?;
    images.sort_by(|a, b| a.0.cmp(&b.0));
    images.dedup_by(|a, b| a.0 == b.0);
    for (path, image) in images {
        bytes += atomic::write_whole(&path, &image.bytes)?;
        files.push(path);
    }
    Ok((files, bytes))
}

/// A material's name in the file: its own without line breaks, or a number when it has none or shares it.
pub(super) fn material_name(clip: &Clip, index: usize) -> String {
    let name: String = clip.materials[index].name.split_whitespace().collect::<Vec<_>>().join(" ");
    let shared = clip.materials[..index].iter().any(|other| other.name == clip.materials[index].name);
    if name.is_empty() || shared { format!("material.{index:03}") } else { name }
}

/// The name of a picture's file beside the file that shows it.
pub(super) fn image_name(stem: &str, index: usize, image: &Image) -> String {
    let extension = if image.mime_type == "image/jpeg" { "jpg" } else { "png" };
    format!("{stem}.image{index}.{extension}")
}

/// The error for a part that names a material the clip does not have.
pub(super) fn check_materials(path: &Path, clip: &Clip) -> Result<()> {
    for mesh in &clip.meshes {
        for material in mesh.parts.iter().filter_map(|part| part.material) {
            if material >= clip.materials.len() {
                let problem = format!(
                    "mesh `{}` uses material {material}, but the clip has {}",
                    mesh.name,
                    clip.materials.len()
                );
                return Err(Error::Unsupported { path: path.to_path_buf(), problem });
            }
        }
    }
    Ok(())
}
