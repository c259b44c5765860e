//! How a surface looks. Kept so that what goes out looks as what came in; no solver reads it.

/// A surface's look. We understand a few fields; everything else a glTF file says passes through untouched.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Its name in the file.
    pub name: String,
    /// Linear red, green, blue, alpha.
    pub base_color: [f32; 4],
    /// Index into the clip's images.
    pub base_color_image: Option<usize>,
    /// Whether both sides are seen.
    pub double_sided: bool,
    /// The glTF material as written in the file, texture indices replaced by image indices; `None` when the material
    /// was made in code.
    pub gltf: Option<serde_json::Value>,
}

impl Material {
    /// A plain double-sided colour.
    pub fn plain(name: impl Into<String>, base_color: [f32; 4]) -> Self {
        Self { name: name.into(), base_color, base_color_image: None, double_sided: true, gltf: None }
    }
}

/// An encoded picture, as in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its name in the file.
    pub name: String,
    /// `image/png` or `image/jpeg`.
    pub mime_type: String,
    /// The encoded bytes.
    pub bytes: Vec<u8>,
}
