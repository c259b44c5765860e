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
    /// `image/png`, `image/jpeg`, `image/webp` or `image/ktx2`.
    pub mime_type: String,
    /// The encoded bytes.
    pub bytes: Vec<u8>,
}

impl Image {
    /// The kind of picture by its first bytes; `None` for everything that is no PNG, JPEG, WebP or KTX2.
    pub fn mime_type_of(bytes: &[u8]) -> Option<&'static str> {
        match bytes {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
            [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
            [0xab, b'K', b'T', b'X', b' ', b'2', b'0', 0xbb, 0x0d, 0x0a, 0x1a, 0x0a, ..] => {
                Some("image/ktx2")
            }
            _ => None,
        }
    }
}
