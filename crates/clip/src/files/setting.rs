//! Settings that name files, found by walking the settings.
//!
//! A list of a layer's files that is kept by hand is complete until somebody adds a setting. So a setting that names a
//! file has a type of its own, and a serializer that writes nothing visits every value and picks them out.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::ser::{self, Serialize, Serializer};

/// A file that a setting names, relative to the shot's folder. What is read for a bake is a setting of this type, or it
/// cannot be opened: see [`named_files`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct FilePath(PathBuf);

/// By what a serializer knows a [`FilePath`].
const NAME: &str = "clip::FilePath";

impl Serialize for FilePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(NAME, &self.0)
    }
}

impl Deref for FilePath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl<T: Into<PathBuf>> From<T> for FilePath {
    fn from(path: T) -> Self {
        Self(path.into())
    }
}

/// Every file that these settings name, in the order in which they stand, each once.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Settings {
///     strength: f64,
///     obstacle: Vec<Option<clip::FilePath>>,
///     follow: clip::Selector,
/// }
///
/// let follow = clip::Selector::Not(Box::new(clip::Selector::File("hem.csv".into())));
/// let settings = Settings { strength: 1.0, obstacle: vec![None, Some("ball.obj".into())], follow };
/// assert_eq!(clip::named_files(&settings), [std::path::Path::new("ball.obj"), std::path::Path::new("hem.csv")]);
/// ```
pub fn named_files(settings: &impl Serialize) -> Vec<PathBuf> {
    let mut collector = Collector { files: Vec::new(), in_path: false };
    // it writes nothing, so nothing can go wrong; a path that is no Unicode cannot have come from a settings file
    let _ = settings.serialize(&mut collector);
    collector.files
}

struct Collector {
    files: Vec<PathBuf>,
    in_path: bool,
}

#[derive(Debug)]
struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

impl ser::Error for Unreadable {
    fn custom<T: fmt::Display>(words: T) -> Self {
        Self(words.to_string())
    }
}

/// Methods that pass over a plain value.
macro_rules! pass_over {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, _: $type) -> Result<(), Unreadable> { Ok(()) })*
    };
}

impl Serializer for &mut Collector {
    type Ok = ();
    type Error = Unreadable;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    pass_over!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_bytes: &[u8], serialize_unit_struct: &'static str
    );

    fn serialize_str(self, text: &str) -> Result<(), Unreadable> {
        if self.in_path && !self.files.iter().any(|known| known == Path::new(text)) {
            self.files.push(text.into());
        }
        Ok(())
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Unreadable> {
        let outside = std::mem::replace(&mut self.in_path, name == NAME);
        let walked = value.serialize(&mut *self);
        self.in_path = outside;
        walked
    }

    fn serialize_none(self) -> Result<(), Unreadable> {
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Unreadable> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unreadable> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Unreadable> {
        Ok(())
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unreadable> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Unreadable> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Unreadable> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Unreadable> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unreadable> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Unreadable> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unreadable> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unreadable> {
        Ok(self)
    }
}

/// The parts of a compound, each visited by one method.
macro_rules! visit {
    ($($trait:ident: $method:ident($($key:ty)?)),*) => {
        $(impl ser::$trait for &mut Collector {
            type Ok = ();
            type Error = Unreadable;

            fn $method<T: ?Sized + Serialize>(&mut self, $(_: $key,)? value: &T) -> Result<(), Unreadable> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Unreadable> {
                Ok(())
            }
        })*
    };
}

visit!(
    SerializeSeq: serialize_element(), SerializeTuple: serialize_element(),
    SerializeTupleStruct: serialize_field(), SerializeTupleVariant: serialize_field(),
    SerializeStruct: serialize_field(&'static str), SerializeStructVariant: serialize_field(&'static str)
);

impl ser::SerializeMap for &mut Collector {
    type Ok = ();
    type Error = Unreadable;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Unreadable> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unreadable> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Unreadable> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::*;

    /// Every shape that settings take.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Unit,
        New(FilePath),
        Pair(u8, FilePath),
        Named { at: FilePath },
    }

    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        One { file: FilePath },
    }

    #[derive(Serialize)]
    struct Inner {
        inner: FilePath,
    }

    #[derive(Serialize)]
    struct Pair(f32, Option<FilePath>);

    #[derive(Serialize)]
    struct All {
        text: &'static str,
        path: PathBuf,
        list: Vec<Shape>,
        map: BTreeMap<String, FilePath>,
        tuple: (FilePath, bool),
        pair: Pair,
        boxed: Box<Option<FilePath>>,
        tagged: Tagged,
        #[serde(flatten)]
        flat: Inner,
        again: FilePath,
    }

    #[test]
    fn files_are_found_in_every_shape_and_nothing_else_is() {
        let all = All {
            text: "no.file",
            path: "plain.path".into(),
            list: vec![
                Shape::Unit,
                Shape::New("1".into()),
                Shape::Pair(0, "2".into()),
                Shape::Named { at: "3".into() },
            ],
            map: BTreeMap::from([("key".into(), "4".into())]),
            tuple: ("5".into(), true),
            pair: Pair(0.5, Some("6".into())),
            boxed: Box::new(Some("7".into())),
            tagged: Tagged::One { file: "8".into() },
            flat: Inner { inner: "9".into() },
            again: "1".into(),
        };
        let found: Vec<String> = named_files(&all).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(found, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    }

    #[test]
    fn in_a_settings_file_it_is_a_text() {
        let path: FilePath = serde_json::from_str("\"a/b.obj\"").unwrap();
        assert_eq!(&*path, Path::new("a/b.obj"));
        assert_eq!(serde_json::to_string(&path).unwrap(), "\"a/b.obj\"");
    }
}
