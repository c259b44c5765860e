//! Values in text layers: numbers in brackets, words in quotes.

use super::value::{Arity, Scalar, Value, ValueType, half_bits, half_value};

/// Reads a value of a known kind. The problem in words when it is none.
pub(super) fn parse_value(kind: ValueType, bytes: &[u8]) -> Result<Value, String> {
    if bytes.trim_ascii() == b"None" {
        return Ok(Value::Blocked);
    }
    let value = match kind.scalar {
        Scalar::String | Scalar::Token | Scalar::Asset => Value::Texts(words(bytes)?),
        Scalar::Bool => Value::Ints(numbers(bytes, |word| match word {
            "true" | "True" | "yes" => Some(1),
            "false" | "False" | "no" => Some(0),
            _ => word.parse::<i64>().ok(),
        })?),
        Scalar::UChar | Scalar::Int | Scalar::UInt | Scalar::Int64 | Scalar::UInt64 => {
            Value::Ints(numbers(bytes, |word| {
                word.parse().ok().or_else(|| word.parse::<u64>().ok().map(|x| x as i64))
            })?)
        }
        Scalar::Half => {
            let round = |value: f32| half_value(half_bits(value));
            Value::Floats(numbers(bytes, |word| word.parse().ok().map(round))?)
        }
        Scalar::Float => Value::Floats(numbers(bytes, |word| word.parse().ok())?),
        Scalar::Double => Value::Doubles(numbers(bytes, |word| word.parse().ok())?),
    };
    let width = kind.width();
    if !value.len().is_multiple_of(width) || (!kind.array && value.len() != width) {
        return Err(format!("{} numbers or words, but each element has {width}", value.len()));
    }
    Ok(if kind.shape == Arity::Quaternion { real_part_last(value) } else { value })
}

/// Text has w, x, y, z; we have x, y, z, w.
fn real_part_last(mut value: Value) -> Value {
    match &mut value {
        Value::Floats(items) => items.chunks_mut(4).for_each(|quat| quat.rotate_left(1)),
        Value::Doubles(items) => items.chunks_mut(4).for_each(|quat| quat.rotate_left(1)),
        _ => {}
    }
    value
}

fn numbers<T>(bytes: &[u8], parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let separates =
        |byte: &u8| matches!(byte, b'[' | b']' | b'(' | b')' | b',') || byte.is_ascii_whitespace();
    let mut items = Vec::new();
    for word in bytes.split(separates).filter(|word| !word.is_empty()) {
        let word = String::from_utf8_lossy(word);
        items.push(parse(&word).ok_or_else(|| format!("`{word}` is not a number of its kind"))?);
    }
    Ok(items)
}

/// All words in quotes, `@`s or `<>`.
pub(super) fn words(bytes: &[u8]) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' | b'\'' | b'@' | b'<' => {
                let end = skip_quoted(bytes, at).ok_or("a word does not end")?;
                words.push(unquote(&bytes[at..end]));
                at = end;
            }
            b'#' => at = end_of_line(bytes, at),
            byte if byte.is_ascii_whitespace() || b"[](),".contains(&byte) => at += 1,
            byte => return Err(format!("`{}` stands where a word in quotes was expected", char::from(byte))),
        }
    }
    Ok(words)
}

/// The place behind a word that begins here with a quote, an `@` or a `<`; `None` when it does not end.
pub(super) fn skip_quoted(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = bytes[at];
    let close = if quote == b'<' { b'>' } else { quote };
    let triple = quote != b'<' && bytes[at..].starts_with(&[quote; 3]);
    let mut i = at + if triple { 3 } else { 1 };
    while i < bytes.len() {
        if bytes[i] == b'\\' && (quote == b'"' || quote == b'\'') {
            i += 2;
        } else if triple && bytes[i..].starts_with(&[quote; 3]) {
            return Some(i + 3);
        } else if !triple && bytes[i] == close {
            return Some(i + 1);
        } else {
            i += 1;
        }
    }
    None
}

fn unquote(bytes: &[u8]) -> String {
    let triple = bytes.len() >= 6 && bytes[0] != b'<' && bytes[..3] == [bytes[0]; 3];
    let cut = if triple { 3 } else { 1 };
    let inner = String::from_utf8_lossy(&bytes[cut..bytes.len() - cut]).into_owned();
    if !matches!(bytes[0], b'"' | b'\'') || !inner.contains('\\') {
        return inner;
    }
    let mut out = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match (c, characters.clone().next()) {
            ('\\', Some(next)) => {
                characters.next();
                out.push(match next {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                });
            }
            _ => out.push(c),
        }
    }
    out
}

/// The place behind the line that `at` is in.
pub(super) fn end_of_line(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |length| at + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Value, String> {
        parse_value(ValueType::parse(name).unwrap(), text.as_bytes())
    }

    #[test]
    fn values_of_all_kinds() {
        assert_eq!(
            parse("point3f[]", "[(1, 2.5, -3e-1), (inf, 0, 0)]").unwrap(),
            Value::Floats(vec![1.0, 2.5, -0.3, f32::INFINITY, 0.0, 0.0])
        );
        assert_eq!(parse("quatf", "(1, 0.5, 0.25, 0)").unwrap(), Value::Floats(vec![0.5, 0.25, 0.0, 1.0]));
        assert_eq!(parse("bool", "true").unwrap(), Value::Ints(vec![1]));
        assert_eq!(parse("half", "0.1").unwrap(), Value::Floats(vec![0.099_975_586]));
        assert_eq!(parse("string", r#""a \"b\"\n""#).unwrap(), Value::text("a \"b\"\n"));
        assert_eq!(
            parse("token[]", "['x', \"\"\"y\n\"\"\"]").unwrap(),
            Value::Texts(vec!["x".into(), "y\n".into()])
        );
        assert_eq!(parse("asset", "@./a b.png@").unwrap(), Value::text("./a b.png"));
        assert_eq!(parse("int[]", "None").unwrap(), Value::Blocked);
        assert_eq!(parse("int[]", "[]").unwrap(), Value::Ints(vec![]));
    }

    #[test]
    fn what_is_no_value_is_said() {
        assert!(parse("float3", "(1, 2)").unwrap_err().contains("2 numbers"));
        assert!(parse("int", "one").unwrap_err().contains("`one`"));
        assert!(parse("token", "\"open").unwrap_err().contains("does not end"));
    }
}
