//! Values of crate files, read when they are asked for.

use super::crate_read::{CrateFile, chunk};
use super::crate_write::{ARRAY, COMPRESSED, INLINED, types};
use super::lz4::{LEAST_COMPRESSED, load_integers};
use super::stage::Handle;
use super::value::{Arity, Scalar, Value, ValueType, half_value};
use crate::{Error, Result};

const PAYLOAD: u64 = (1 << 48) - 1;

impl CrateFile {
    pub(super) fn take_u64(&self, at: &mut u64) -> Result<u64> {
        let bytes = self.source.bytes(*at, 8)?;
        *at += 8;
        Ok(u64::from_le_bytes(chunk(&bytes, 0)))
    }

    /// A count and how many bytes that many things have: never more than the file.
    fn counted(&self, at: &mut u64, wide: bool, size: u64) -> Result<u64> {
        let count = if wide {
            self.take_u64(at)?
        } else {
            let bytes = self.source.bytes(*at, 4)?;
            *at += 4;
            u64::from(u32::from_le_bytes(chunk(&bytes, 0)))
        };
        if count.checked_mul(size).is_none_or(|bytes| bytes > self.source.length()) {
            let problem = format!("{count} items cannot be in a file of {} bytes", self.source.length());
            return Err(self.malformed(format!("byte {at}"), problem));
        }
        Ok(count)
    }

    /// Where an array's elements begin, and how many there are.
    fn array_head(&self, rep: u64, size: u64) -> Result<(u64, u64)> {
        let mut at = rep & PAYLOAD;
        if self.version < [0, 5, 0] {
            // the number of dimensions, always one
            at += 4;
        }
        let count = self.counted(&mut at, self.version >= [0, 7, 0], size)?;
        Ok((at, count))
    }

    /// Points that lie in the file as they are; `None` when they are something else.
    pub(super) fn points(&self, rep: u64, place: &str) -> Result<Option<Vec<[f32; 3]>>> {
        let kind = ValueType::from_crate_type((rep >> 48) as u8, true);
        let plain = kind.is_some_and(|kind| kind.scalar == Scalar::Float && kind.shape == Arity::Vector(3));
        if !plain || rep & ARRAY == 0 || rep & (INLINED | COMPRESSED) != 0 || rep & PAYLOAD == 0 {
            return Ok(None);
        }
        let (at, count) = self.array_head(rep, 12).map_err(|error| at_place(error, place))?;
        self.source.points(at, count).map(Some).map_err(|error| at_place(error, place))
    }

    /// Any plain value.
    pub(super) fn value(&self, rep: u64, place: &str) -> Result<Value> {
        let number = (rep >> 48) as u8;
        if number == 51 {
            return Ok(Value::Blocked);
        }
        let kind = ValueType::from_crate_type(number, rep & ARRAY != 0)
            .ok_or_else(|| self.malformed(place, format!("values of crate type {number} are not read")))?;
        if rep & INLINED != 0 {
            return Ok(self.inlined(kind, rep & PAYLOAD));
        }
        let size = (kind.width() * kind.scalar.bytes()) as u64;
        let value = if !kind.array {
            self.source.bytes(rep & PAYLOAD, size).map(|bytes| self.decode(kind, &bytes))
        } else if rep & PAYLOAD == 0 {
            Ok(self.decode(kind, &[]))
        } else if rep & COMPRESSED != 0 {
            self.compressed(kind, rep)
        } else {
            let head = self.array_head(rep, size);
            head.and_then(|(at, count)| self.source.bytes(at, count * size))
                .map(|bytes| self.decode(kind, &bytes))
        };
        value.map_err(|error| at_place(error, place))
    }

    /// A value in the 48 bits that other values have their place in.
    fn inlined(&self, kind: ValueType, payload: u64) -> Value {
        let bits = payload as u32;
        let bytes = payload.to_le_bytes().map(|byte| byte as i8);
        let small: Vec<i64> = match kind.shape {
            Arity::One => match kind.scalar {
                Scalar::Bool | Scalar::UChar => vec![i64::from(bits as u8)],
                Scalar::UInt | Scalar::UInt64 => vec![i64::from(bits)],
                Scalar::Int | Scalar::Int64 => vec![i64::from(bits as i32)],
                Scalar::Half => return Value::Floats(vec![half_value(bits as u16)]),
                Scalar::Float => return Value::Floats(vec![f32::from_bits(bits)]),
                Scalar::Double => return Value::Doubles(vec![f64::from(f32::from_bits(bits))]),
                Scalar::Token | Scalar::Asset => return Value::text(self.token(bits)),
                Scalar::String => return Value::text(self.string(bits)),
            },
            Arity::Matrix(rows) => {
                let diagonal =
                    |i: usize| if i.is_multiple_of(rows + 1) { i64::from(bytes[i / (rows + 1)]) } else { 0 };
                (0..rows * rows).map(diagonal).collect()
            }
            _ => bytes.iter().take(kind.width()).map(|&byte| i64::from(byte)).collect(),
        };
        match kind.scalar {
            Scalar::Double => Value::Doubles(small.iter().map(|&x| x as f64).collect()),
            Scalar::Float | Scalar::Half => Value::Floats(small.iter().map(|&x| x as f32).collect()),
            _ => Value::Ints(small),
        }
    }

    fn string(&self, number: u32) -> &str {
        self.strings.get(number as usize).map_or("", |&token| self.token(token))
    }

    fn decode(&self, kind: ValueType, bytes: &[u8]) -> Value {
        let u32s = || bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b));
        match kind.scalar {
            Scalar::Bool | Scalar::UChar => Value::Ints(bytes.iter().map(|&b| i64::from(b)).collect()),
            Scalar::Int => Value::Ints(u32s().map(|x| i64::from(x as i32)).collect()),
            Scalar::UInt => Value::Ints(u32s().map(i64::from).collect()),
            Scalar::Int64 | Scalar::UInt64 => {
                Value::Ints(bytes.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect())
            }
            Scalar::Half => {
                let halves = bytes.as_chunks::<2>().0.iter().map(|b| half_value(u16::from_le_bytes(*b)));
                Value::Floats(halves.collect())
            }
            Scalar::Float => Value::Floats(u32s().map(f32::from_bits).collect()),
            Scalar::Double => {
                Value::Doubles(bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect())
            }
            Scalar::Token | Scalar::Asset => {
                Value::Texts(u32s().map(|x| self.token(x).to_string()).collect())
            }
            Scalar::String => Value::Texts(u32s().map(|x| self.string(x).to_string()).collect()),
        }
    }

    /// Lists of integers, and lists of floats that are integers or few different ones.
    fn compressed(&self, kind: ValueType, rep: u64) -> Result<Value> {
        let (mut at, count) = self.array_head(rep, 0)?;
        if (count as usize) < LEAST_COMPRESSED {
            let size = count * (kind.width() * kind.scalar.bytes()) as u64;
            return Ok(self.decode(kind, &self.source.bytes(at, size)?));
        }
        if kind.shape != Arity::One {
            return Err(self.malformed(format!("byte {at}"), "vectors are never compressed"));
        }
        let integers = |at: &mut u64, wide: bool| {
            let length = self.take_u64(at)?;
            let bytes = self.source.bytes(*at, length)?;
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let numbers = if wide {
                load_integers::<true>(&bytes, count)
            } else {
                load_integers::<false>(&bytes, count)
            };
            numbers.map_err(|problem| self.malformed(format!("byte {at}"), problem))
        };
        match kind.scalar {
            Scalar::Int => Ok(Value::Ints(integers(&mut at, false)?)),
            Scalar::UInt => {
                Ok(Value::Ints(integers(&mut at, false)?.iter().map(|&x| i64::from(x as u32)).collect()))
            }
            Scalar::Int64 | Scalar::UInt64 => Ok(Value::Ints(integers(&mut at, true)?)),
            Scalar::Half | Scalar::Float | Scalar::Double => {
                let code = self.source.bytes(at, 1)?[0];
                at += 1;
                let doubles: Vec<f64> = match code {
                    b'i' => integers(&mut at, false)?.iter().map(|&x| x as f64).collect(),
                    b't' => {
                        let size = kind.scalar.bytes() as u64;
                        let entries = self.counted(&mut at, false, size)?;
                        let table = self.decode(kind, &self.source.bytes(at, entries * size)?);
                        at += entries * size;
                        let table = table.to_doubles().unwrap_or_default();
                        let entry = |&i: &i64| table.get(i as usize).copied();
                        let found: Option<Vec<f64>> = integers(&mut at, false)?.iter().map(entry).collect();
                        found.ok_or_else(|| {
                            self.malformed(format!("byte {at}"), "a number is not in its table")
                        })?
                    }
                    _ => return Err(self.malformed(format!("byte {at}"), "an unknown compression of floats")),
                };
                Ok(match kind.scalar {
                    Scalar::Double => Value::Doubles(doubles),
                    _ => Value::Floats(doubles.iter().map(|&x| x as f32).collect()),
                })
            }
            _ => Err(self.malformed(format!("byte {at}"), "words are never compressed")),
        }
    }

    /// The first word of a value.
    pub(super) fn word(&self, rep: u64, place: &str) -> Result<String> {
        Ok(self.value(rep, place)?.word().unwrap_or_default().to_string())
    }

    /// Words of a value, a vector or a list of edits.
    pub(super) fn words(&self, rep: u64, place: &str) -> Result<Vec<String>> {
        let mut at = rep & PAYLOAD;
        let numbers = match (rep >> 48) as u8 {
            types::TOKEN_VECTOR => self.numbers(&mut at),
            types::TOKEN_LIST => self.list(at),
            50 => {
                let strings = self.numbers(&mut at).map_err(|error| at_place(error, place))?;
                return Ok(strings.iter().map(|&number| self.string(number).to_string()).collect());
            }
            _ => match self.value(rep, place)? {
                Value::Texts(words) => return Ok(words),
                _ => return Ok(Vec::new()),
            },
        };
        let numbers = numbers.map_err(|error| at_place(error, place))?;
        Ok(numbers.iter().map(|&number| self.token(number).to_string()).collect())
    }

    pub(super) fn path_list(&self, rep: u64, place: &str) -> Result<Vec<String>> {
        if (rep >> 48) as u8 != types::PATH_LIST {
            return Ok(Vec::new());
        }
        let numbers = self.list(rep & PAYLOAD).map_err(|error| at_place(error, place))?;
        Ok(numbers.iter().map(|&number| self.path_text(number)).collect())
    }

    fn numbers(&self, at: &mut u64) -> Result<Vec<u32>> {
        let count = self.counted(at, true, 4)?;
        let bytes = self.source.bytes(*at, count * 4)?;
        *at += count * 4;
        Ok(bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect())
    }

    /// A list of edits: what is explicit, added, prepended or appended; what is deleted or reordered is passed over.
    fn list(&self, mut at: u64) -> Result<Vec<u32>> {
        let flags = self.source.bytes(at, 1)?[0];
        at += 1;
        let mut items = Vec::new();
        for (flag, kept) in [(2, true), (4, true), (32, true), (64, true), (8, false), (16, false)] {
            if flags & flag != 0 {
                let numbers = self.numbers(&mut at)?;
                if kept {
                    items.extend(numbers);
                }
            }
        }
        Ok(items)
    }

    /// Whether a field that needs composition says anything: an empty list of edits does not.
    pub(super) fn is_filled(&self, rep: u64) -> Result<bool> {
        match (rep >> 48) as u8 {
            32..=39 | 54 | 55 if rep & INLINED == 0 => {
                let flags = self.source.bytes(rep & PAYLOAD, 1)?[0];
                Ok(flags & (2 | 4 | 32 | 64) != 0)
            }
            _ => Ok(true),
        }
    }

    pub(super) fn time_samples(&self, rep: u64, place: &str) -> Result<(Vec<f64>, Vec<Handle>)> {
        let read = || {
            let mut at = rep & PAYLOAD;
            self.jump(&mut at)?;
            let times_rep = self.take_u64(&mut at)?;
            let times = match (times_rep >> 48) as u8 {
                types::DOUBLE_VECTOR => {
                    let mut at = times_rep & PAYLOAD;
                    let count = self.counted(&mut at, true, 8)?;
                    let bytes = self.source.bytes(at, count * 8)?;
                    bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
                }
                _ => self.value(times_rep, place)?.to_doubles().unwrap_or_default(),
            };
            self.jump(&mut at)?;
            let count = self.counted(&mut at, true, 8)?;
            let bytes = self.source.bytes(at, count * 8)?;
            let samples =
                bytes.as_chunks::<8>().0.iter().map(|b| Handle::Rep(u64::from_le_bytes(*b))).collect();
            Ok::<(Vec<f64>, Vec<Handle>), Error>((times, samples))
        };
        let (times, samples) = read().map_err(|error| at_place(error, place))?;
        check_times(&times, samples.len()).map_err(|problem| self.malformed(place, problem))?;
        Ok((times, samples))
    }

    /// Follows the distance that stands here.
    fn jump(&self, at: &mut u64) -> Result<()> {
        let here = *at;
        let distance = self.take_u64(at)? as i64;
        *at = here.checked_add_signed(distance).unwrap_or(u64::MAX);
        Ok(())
    }
}

/// Times must be finite, rise, and be as many as the samples.
pub(super) fn check_times(times: &[f64], samples: usize) -> std::result::Result<(), String> {
    if times.len() != samples {
        return Err(format!("{} times, but {samples} samples", times.len()));
    }
    if let Some(time) = times.iter().find(|time| !time.is_finite()) {
        return Err(format!("the time {time} of a sample is not a finite number"));
    }
    match times.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(format!("samples are out of order: time {} stands before {}", pair[0], pair[1])),
        None => Ok(()),
    }
}

/// The same problem with the prim's path in front.
fn at_place(error: Error, at: &str) -> Error {
    match error {
        Error::Malformed { path, place, problem } if place.starts_with("byte") => {
            Error::Malformed { path, place: format!("{at} ({place})"), problem }
        }
        other => other,
    }
}
