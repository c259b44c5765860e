//! What varies: a setting by its path, and the values that it takes.

use std::str::FromStr;

use crate::Error;

/// A setting and its values, as `--vary` says it: `layer.flag.material=silk,denim`, `layer.flag.wind.speed=2..8:4`.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    /// The path of the setting, as for `--set`.
    pub key: String,
    /// What it takes.
    pub values: Values,
}

/// The values of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// These, each as TOML or as plain text.
    Listed(Vec<String>),
    /// Any number from the first to the second: for random tries.
    Between(f64, f64),
    /// Whatever the schema calls usual, or allows: for random tries.
    Any,
}

const EXAMPLES: &str =
    "write a list, layer.flag.material=silk,denim, or a range with a count, layer.flag.wind.speed=2..8:4";

impl FromStr for Vary {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = |problem: &str| Error::vary(text, problem, EXAMPLES);
        let (key, values) = match text.split_once('=') {
            Some((key, values)) => (key.trim(), Some(values.trim())),
            None => (text.trim(), None),
        };
        if key.is_empty() {
            return Err(refused("there is no setting before the `=`"));
        }
        let values = match values {
            None => Values::Any,
            Some("") => return Err(refused("there are no values after the `=`")),
            Some(values) => match range(values) {
                Some(range) => range.map_err(|problem| refused(&problem))?,
                None => Values::Listed(listed(values).ok_or_else(|| refused("a value is empty"))?),
            },
        };
        Ok(Self { key: key.to_owned(), values })
    }
}

/// `A..B` or `A..B:N`; `None` where it is something else.
fn range(text: &str) -> Option<Result<Values, String>> {
    let (from, rest) = text.split_once("..")?;
    let (to, count) = match rest.split_once(':') {
        Some((to, count)) => (to, Some(count.trim())),
        None => (rest, None),
    };
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let (first, last) = (number(from)?, number(to)?);
    let whole = [from, to].iter().all(|end| end.trim().parse::<i64>().is_ok());
    Some(match count.map(str::parse::<usize>) {
        None => Ok(Values::Between(first, last)),
        Some(Ok(count @ 1..=MOST)) => Ok(Values::Listed(spaced(first, last, count, whole))),
        Some(_) => Err(format!("`{}` is no count from 1 to {MOST}", count.unwrap_or_default())),
    })
}

/// More tries than this are a typing error.
pub(crate) const MOST: usize = 10_000;

/// Evenly spaced, the ends included.
fn spaced(first: f64, last: f64, count: usize, whole: bool) -> Vec<String> {
    let step = (last - first) / (count.max(2) - 1) as f64;
    (0..count).map(|i| written(first + i as f64 * step, whole)).collect()
}

/// A number as TOML; twelve digits, so that 0.1 + 0.2 is 0.3. Whole numbers stay whole where the ends were.
pub(crate) fn written(number: f64, whole: bool) -> String {
    let scale =
        10f64.powi(11 - number.abs().max(f64::MIN_POSITIVE).log10().floor().clamp(-290.0, 290.0) as i32);
    let rounded = (number * scale).round() / scale;
    let rounded = if rounded.is_finite() { rounded } else { number };
    match whole && rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        true => format!("{rounded:.0}"),
        false => format!("{rounded:?}"),
    }
}

/// Split at the commas that stand in no quotes and no brackets; `None` where a part is empty.
fn listed(text: &str) -> Option<Vec<String>> {
    let (mut parts, mut depth, mut quote) = (vec![String::new()], 0i32, None);
    for c in text.chars() {
        match (quote, c) {
            (None, ',') if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            _ => {}
        }
        parts.last_mut()?.push(c);
    }
    let parts: Vec<String> = parts.iter().map(|part| part.trim().to_owned()).collect();
    parts.iter().all(|part| !part.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Values {
        format!("layer.a.b={text}").parse::<Vary>().unwrap().values
    }

    fn list(items: &[&str]) -> Values {
        Values::Listed(items.iter().map(|item| (*item).to_owned()).collect())
    }

    #[test]
    fn lists_and_ranges_are_told_apart() {
        assert_eq!(values("silk, denim"), list(&["silk", "denim"]));
        assert_eq!(values("[0, 1],'a,b',{ x = 1, y = 2 }"), list(&["[0, 1]", "'a,b'", "{ x = 1, y = 2 }"]));
        assert_eq!(values("2..8:4"), list(&["2", "4", "6", "8"]));
        assert_eq!(values("0..1:5"), list(&["0", "0.25", "0.5", "0.75", "1"]));
        assert_eq!(values("0.1..0.3:3"), list(&["0.1", "0.2", "0.3"]));
        assert_eq!(values("1e-5..1e5:2"), list(&["1e-5", "100000.0"]));
        assert_eq!(values("-3..3"), Values::Between(-3.0, 3.0));
        // a file beside the folder above is no range
        assert_eq!(values("../a.obj,../b.obj"), list(&["../a.obj", "../b.obj"]));
        assert_eq!("layer.a.b".parse::<Vary>().unwrap().values, Values::Any);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for bad in ["", "=1", "a=", "a=1,,2", "a=1..2:0", "a=1..2:x", "a=1..2:99999999"] {
            let error = bad.parse::<Vary>().unwrap_err();
            assert!(error.remedy().is_some(), "{bad}: {error}");
        }
    }
}
