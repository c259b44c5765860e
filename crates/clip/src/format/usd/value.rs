//! Values of USD's attributes: what kind they are, and the numbers or words themselves.

/// What one number or word of a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Bool,
    UChar,
    Int,
    UInt,
    Int64,
    UInt64,
    Half,
    Float,
    Double,
    String,
    Token,
    Asset,
}

/// How many of them one element has, and how they hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    One,
    Vector(usize),
    Quaternion,
    /// Rows of a square matrix; USD multiplies row vectors, so its rows are the columns of ours.
    Matrix(usize),
}

/// The type of a value, as `point3f[]` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueType {
    pub(super) scalar: Scalar,
    pub(super) shape: Arity,
    pub(super) array: bool,
}

impl ValueType {
    pub(super) const TOKEN: Self = Self { scalar: Scalar::Token, shape: Arity::One, array: false };
    pub(super) const STRING: Self = Self { scalar: Scalar::String, shape: Arity::One, array: false };
    pub(super) const DOUBLE: Self = Self { scalar: Scalar::Double, shape: Arity::One, array: false };
    pub(super) const BOOL: Self = Self { scalar: Scalar::Bool, shape: Arity::One, array: false };

    /// The kind that a type's name means; `None` for types that hold no data we read.
    pub(super) fn parse(type_name: &str) -> Option<Self> {
        let (name, array) = match type_name.strip_suffix("[]") {
            Some(name) => (name, true),
            None => (type_name, false),
        };
        let kind = |scalar, shape| Some(Self { scalar, shape, array });
        match name {
            "bool" => kind(Scalar::Bool, Arity::One),
            "uchar" => kind(Scalar::UChar, Arity::One),
            "int" => kind(Scalar::Int, Arity::One),
            "uint" => kind(Scalar::UInt, Arity::One),
            "int64" => kind(Scalar::Int64, Arity::One),
            "uint64" => kind(Scalar::UInt64, Arity::One),
            "half" => kind(Scalar::Half, Arity::One),
            "float" => kind(Scalar::Float, Arity::One),
            "double" | "timecode" => kind(Scalar::Double, Arity::One),
            "string" => kind(Scalar::String, Arity::One),
            "token" => kind(Scalar::Token, Arity::One),
            "asset" => kind(Scalar::Asset, Arity::One),
            "matrix2d" => kind(Scalar::Double, Arity::Matrix(2)),
            "matrix3d" => kind(Scalar::Double, Arity::Matrix(3)),
            "matrix4d" | "frame4d" => kind(Scalar::Double, Arity::Matrix(4)),
            _ => Self::parse_vector(name).map(|(scalar, shape)| Self { scalar, shape, array }),
        }
    }

    /// `float3`, `point3f`, `texCoord2h`, `quatd`: a stem, a width, a letter for the precision.
    fn parse_vector(name: &str) -> Option<(Scalar, Arity)> {
        let precision = |letter: &str| match letter {
            "h" => Some(Scalar::Half),
            "f" => Some(Scalar::Float),
            "d" => Some(Scalar::Double),
            _ => None,
        };
        if let Some(letter) = name.strip_prefix("quat") {
            return precision(letter).map(|scalar| (scalar, Arity::Quaternion));
        }
        for (stem, scalar) in [
            ("int", Scalar::Int),
            ("half", Scalar::Half),
            ("float", Scalar::Float),
            ("double", Scalar::Double),
        ] {
            if let Some(width @ ("2" | "3" | "4")) = name.strip_prefix(stem) {
                return Some((scalar, Arity::Vector(width.parse().ok()?)));
            }
        }
        for stem in ["point", "normal", "vector", "color", "texCoord"] {
            if let Some(rest) = name.strip_prefix(stem)
                && let Some((width @ ("2" | "3" | "4"), letter)) = rest.split_at_checked(1)
            {
                return Some((precision(letter)?, Arity::Vector(width.parse().ok()?)));
            }
        }
        None
    }

    /// Numbers or words in one element.
    pub(super) fn width(self) -> usize {
        match self.shape {
            Arity::One => 1,
            Arity::Vector(width) => width,
            Arity::Quaternion => 4,
            Arity::Matrix(rows) => rows * rows,
        }
    }

    /// The number of the type in a crate file.
    pub(super) fn crate_type(self) -> u8 {
        let precision = |half: u8| match self.scalar {
            Scalar::Half => half,
            Scalar::Float => half - 1,
            _ => half - 2,
        };
        match self.shape {
            Arity::Matrix(rows) => 11 + rows as u8,
            Arity::Quaternion => precision(18),
            Arity::Vector(width) if self.scalar == Scalar::Int => 14 + 4 * width as u8,
            Arity::Vector(width) => precision(13 + 4 * width as u8),
            Arity::One => match self.scalar {
                Scalar::Bool => 1,
                Scalar::UChar => 2,
                Scalar::Int => 3,
                Scalar::UInt => 4,
                Scalar::Int64 => 5,
                Scalar::UInt64 => 6,
                Scalar::Half => 7,
                Scalar::Float => 8,
                Scalar::Double => 9,
                Scalar::String => 10,
                Scalar::Token => 11,
                Scalar::Asset => 12,
            },
        }
    }

    /// The kind of a crate file's type; `None` for those that are no plain data.
    pub(super) fn from_crate_type(number: u8, array: bool) -> Option<Self> {
        let (scalar, shape) = match number {
            1 => (Scalar::Bool, Arity::One),
            2 => (Scalar::UChar, Arity::One),
            3 => (Scalar::Int, Arity::One),
            4 => (Scalar::UInt, Arity::One),
            5 => (Scalar::Int64, Arity::One),
            6 => (Scalar::UInt64, Arity::One),
            7 => (Scalar::Half, Arity::One),
            8 => (Scalar::Float, Arity::One),
            9 | 56 => (Scalar::Double, Arity::One),
            10 => (Scalar::String, Arity::One),
            11 => (Scalar::Token, Arity::One),
            12 => (Scalar::Asset, Arity::One),
            13..=15 => (Scalar::Double, Arity::Matrix(usize::from(number) - 11)),
            16..=18 => {
                ([Scalar::Double, Scalar::Float, Scalar::Half][usize::from(number) - 16], Arity::Quaternion)
            }
            19..=30 => {
                let width = 2 + (usize::from(number) - 19) / 4;
                let scalars = [Scalar::Double, Scalar::Float, Scalar::Half, Scalar::Int];
                (scalars[(usize::from(number) - 19) % 4], Arity::Vector(width))
            }
            _ => return None,
        };
        Some(Self { scalar, shape, array })
    }
}

impl Scalar {
    /// Its size in a crate file.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::UChar => 1,
            Self::Half => 2,
            Self::Int | Self::UInt | Self::Float | Self::String | Self::Token | Self::Asset => 4,
            Self::Int64 | Self::UInt64 | Self::Double => 8,
        }
    }
}

/// Numbers or words, element after element; a single value is a list of one element. Quaternions are x, y, z, w.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Texts(Vec<String>),
    /// The file says that there is no value here.
    Blocked,
}

impl Value {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Texts(vec![text.into()])
    }

    /// How many numbers or words.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Ints(items) => items.len(),
            Self::Floats(items) => items.len(),
            Self::Doubles(items) => items.len(),
            Self::Texts(items) => items.len(),
            Self::Blocked => 0,
        }
    }

    /// As numbers of double precision; `None` for words.
    pub(super) fn to_doubles(&self) -> Option<Vec<f64>> {
        match self {
            Self::Ints(items) => Some(items.iter().map(|&x| x as f64).collect()),
            Self::Floats(items) => Some(items.iter().map(|&x| f64::from(x)).collect()),
            Self::Doubles(items) => Some(items.clone()),
            Self::Texts(_) | Self::Blocked => None,
        }
    }

    /// As numbers of single precision; `None` for words.
    pub(super) fn into_floats(self) -> Option<Vec<f32>> {
        match self {
            Self::Ints(items) => Some(items.iter().map(|&x| x as f32).collect()),
            Self::Floats(items) => Some(items),
            Self::Doubles(items) => Some(items.iter().map(|&x| x as f32).collect()),
            Self::Texts(_) | Self::Blocked => None,
        }
    }

    /// The first number.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Ints(items) => items.first().map(|&x| x as f64),
            Self::Floats(items) => items.first().map(|&x| f64::from(x)),
            Self::Doubles(items) => items.first().copied(),
            Self::Texts(_) | Self::Blocked => None,
        }
    }

    /// The first word.
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Texts(items) => items.first().map(String::as_str),
            _ => None,
        }
    }
}

/// The nearest number of half precision, ties to even, as its bits.
pub(super) fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = f32::from_bits(bits & 0x7fff_ffff);
    if magnitude.is_nan() {
        return sign | 0x7e00;
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // below 2⁻¹⁴ halves are multiples of 2⁻²⁴; adding 0.5 rounds to that multiple, in the low bits
    if magnitude < 6.103_515_6e-5 {
        return sign | ((magnitude + 0.5).to_bits() - 0.5_f32.to_bits()) as u16;
    }
    let rounded = magnitude.to_bits() + 0x0fff + ((magnitude.to_bits() >> 13) & 1);
    sign | ((rounded - (112 << 23)) >> 13) as u16
}

/// The number that bits of half precision stand for.
pub(super) fn half_value(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (u32::from(bits >> 10) & 31, u32::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction as f32 / 16_777_216.0,
        31 if fraction == 0 => f32::INFINITY,
        31 => f32::NAN,
        _ => f32::from_bits(((exponent + 112) << 23) | (fraction << 13)),
    };
    sign * magnitude
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_crate_numbers_agree() {
        for (name, number, width) in [
            ("int", 3, 1),
            ("token[]", 11, 1),
            ("matrix4d", 15, 16),
            ("quatf[]", 17, 4),
            ("quath", 18, 4),
            ("texCoord2f[]", 20, 2),
            ("int2", 22, 2),
            ("point3f[]", 24, 3),
            ("double3", 23, 3),
            ("half3[]", 25, 3),
            ("color4f", 28, 4),
            ("int4", 30, 4),
        ] {
            let kind = ValueType::parse(name).unwrap();
            assert_eq!((kind.crate_type(), kind.width()), (number, width), "{name}");
            assert_eq!(ValueType::from_crate_type(number, name.ends_with("[]")), Some(kind), "{name}");
        }
        for name in ["rel", "point5f", "opaque", "quat", "float9", "pointé"] {
            assert_eq!(ValueType::parse(name), None, "{name}");
        }
    }

    #[test]
    fn every_half_comes_back() {
        for bits in 0..=u16::MAX {
            let value = half_value(bits);
            if value.is_nan() {
                assert!(half_value(half_bits(value)).is_nan());
            } else {
                assert_eq!(half_bits(value), bits, "{value}");
            }
        }
        assert_eq!(half_value(half_bits(1.0 + 1.0 / 2048.0)), 1.0, "ties go to even");
        assert_eq!(half_value(half_bits(65519.0)), 65504.0);
    }
}
