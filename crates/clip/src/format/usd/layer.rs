//! A layer as it is about to be written: prims, their properties, and which of them move. Crate and text are two ways
//! to put this down.

use super::value::{Value, ValueType};

/// A whole layer.
#[derive(Default)]
pub(super) struct Layer {
    /// What the layer says of itself: `upAxis`, `timeCodesPerSecond`…
    pub(super) metadata: Vec<(&'static str, ValueType, Value)>,
    pub(super) prims: Vec<Prim>,
    /// Samples of everything that moves.
    pub(super) tracks: Vec<Track>,
    /// The time code of each frame.
    pub(super) times: Vec<f64>,
}

/// Whether a prim is made here or only spoken about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Specifier {
    Def = 0,
    Over = 1,
    Class = 2,
}

/// One prim.
pub(super) struct Prim {
    pub(super) specifier: Specifier,
    /// Empty for a prim that does not say.
    pub(super) type_name: &'static str,
    pub(super) name: String,
    /// Schemas that are applied to it, to be prepended.
    pub(super) api_schemas: Vec<&'static str>,
    pub(super) metadata: Vec<(&'static str, ValueType, Value)>,
    pub(super) properties: Vec<Property>,
    pub(super) children: Vec<Prim>,
}

/// An attribute or a relationship.
pub(super) struct Property {
    pub(super) name: String,
    pub(super) metadata: Vec<(&'static str, ValueType, Value)>,
    pub(super) data: Data,
}

/// What a property holds.
pub(super) enum Data {
    Attribute {
        type_name: &'static str,
        uniform: bool,
        custom: bool,
        default: Option<Value>,
        samples: Option<Track>,
        /// The attribute that this one takes its value from, by its path.
        connection: Option<String>,
    },
    /// Paths of its targets.
    Relationship(Vec<String>),
}

/// Something that moves, by the clip's own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Track {
    Points(usize),
    Extent(usize),
    Velocities(usize),
    /// Of the morph targets of a mesh.
    Weights(usize),
    Translations,
    Rotations,
    Scales,
}

impl Track {
    /// The type of one sample.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Self::Points(_) => "point3f[]",
            Self::Extent(_) | Self::Translations => "float3[]",
            Self::Velocities(_) => "vector3f[]",
            Self::Weights(_) => "float[]",
            Self::Rotations => "quatf[]",
            Self::Scales => "half3[]",
        }
    }
}

impl Prim {
    pub(super) fn new(type_name: &'static str, name: impl Into<String>) -> Self {
        Self {
            specifier: Specifier::Def,
            type_name,
            name: name.into(),
            api_schemas: Vec::new(),
            metadata: Vec::new(),
            properties: Vec::new(),
            children: Vec::new(),
        }
    }

    /// A prim that says something about one of another layer.
    pub(super) fn over(name: impl Into<String>) -> Self {
        Self { specifier: Specifier::Over, ..Self::new("", name) }
    }

    /// Keeps the name that could not be an identifier.
    pub(super) fn display_name(mut self, name: &str) -> Self {
        if name != self.name {
            self.metadata.push(("displayName", ValueType::STRING, Value::text(name)));
        }
        self
    }

    fn attribute(
        &mut self,
        type_name: &'static str,
        name: &str,
        uniform: bool,
        value: Option<Value>,
    ) -> &mut Property {
        let data = Data::Attribute {
            type_name,
            uniform,
            custom: false,
            default: value,
            samples: None,
            connection: None,
        };
        self.properties.push(Property { name: name.into(), metadata: Vec::new(), data });
        let last = self.properties.len() - 1;
        &mut self.properties[last]
    }

    /// An attribute with a value.
    pub(super) fn set(&mut self, type_name: &'static str, name: &str, value: Value) -> &mut Property {
        self.attribute(type_name, name, false, Some(value))
    }

    /// An attribute that cannot move.
    pub(super) fn set_uniform(&mut self, type_name: &'static str, name: &str, value: Value) -> &mut Property {
        self.attribute(type_name, name, true, Some(value))
    }

    /// An attribute without a value: an output.
    pub(super) fn declare(&mut self, type_name: &'static str, name: &str) {
        self.attribute(type_name, name, false, None);
    }

    /// An attribute that moves, with the value that it has outside time.
    pub(super) fn sample(&mut self, name: &str, track: Track, default: Option<Value>) -> &mut Property {
        let property = self.attribute(track.type_name(), name, false, default);
        if let Data::Attribute { samples, .. } = &mut property.data {
            *samples = Some(track);
        }
        property
    }

    /// An attribute that takes its value from another.
    pub(super) fn connect(&mut self, type_name: &'static str, name: &str, path: String) {
        if let Data::Attribute { connection, .. } = &mut self.attribute(type_name, name, false, None).data {
            *connection = Some(path);
        }
    }

    /// A relationship.
    pub(super) fn relate(&mut self, name: &str, targets: Vec<String>) {
        let data = Data::Relationship(targets);
        self.properties.push(Property { name: name.into(), metadata: Vec::new(), data });
    }
}

impl Property {
    /// How values are spread over a mesh: `constant`, `uniform`, `vertex`, `faceVarying`.
    pub(super) fn interpolation(&mut self, word: &str) -> &mut Self {
        self.metadata.push(("interpolation", ValueType::TOKEN, Value::text(word)));
        self
    }

    /// Keeps the name that could not be an identifier.
    pub(super) fn display_name(&mut self, name: &str) -> &mut Self {
        self.metadata.push(("displayName", ValueType::STRING, Value::text(name)));
        self
    }

    /// Marks an attribute that no schema knows.
    pub(super) fn mark_custom(&mut self) -> &mut Self {
        if let Data::Attribute { custom, .. } = &mut self.data {
            *custom = true;
        }
        self
    }
}
