//! `--set key=value`: values from outside, written into the shot's text before it is read.
//!
//! Because the text itself is changed (its comments and order kept), every check and every underlined line works for
//! such values as for written ones, and the report shows the shot as it was baked.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

use crate::Error;
use crate::diagnostic::suggest;

/// The text with every `path=value` applied, in order.
///
/// A path is dotted; layers are found by name or by number: `layer.flag.material=silk`, `layer[0].wind.speed=5`.
/// The value is TOML; what is not valid TOML is taken as text, so that quotes are not needed.
pub(crate) fn apply(text: &str, settings: &[String]) -> Result<String, Error> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| Error::Override {
        setting: settings.join(" "),
        problem: format!("the shot cannot be read: {}", error.message()),
        help: None,
    })?;
    headed(&mut document);
    for setting in settings {
        set(&mut document, setting).map_err(|(problem, help)| Error::Override {
            setting: setting.clone(),
            problem,
            help,
        })?;
    }
    Ok(document.to_string())
}

/// Layers written inline, `layer = [{ … }]`, become tables with headers: one way to find them.
fn headed(document: &mut DocumentMut) {
    if let Some(layers) = document.get_mut("layer").filter(|layers| layers.is_array()) {
        *layers = match std::mem::take(layers).into_array_of_tables() {
            Ok(tables) => Item::ArrayOfTables(tables),
            Err(other) => other,
        };
    }
}

type Refusal = (String, Option<String>);

fn set(document: &mut DocumentMut, setting: &str) -> Result<(), Refusal> {
    let example = || Some(String::from("write it as path=value: layer.flag.material=silk"));
    let (path, text) = setting.split_once('=').ok_or_else(|| ("there is no `=`".to_owned(), example()))?;
    let steps: Vec<&str> = crate::document::steps(path.trim()).map(str::trim).collect();
    let Some((last, above)) = steps.split_last() else {
        return Err(("there is no path before the `=`".to_owned(), example()));
    };
    let mut item = document.as_item_mut();
    for (depth, step) in above.iter().enumerate() {
        let place = above[..depth].join(".");
        if let Item::Value(inline) = item {
            return set_within(inline, &steps[depth..], &place, value(text));
        }
        item = descend(item, step, &place)?;
    }
    let place = above.join(".");
    if let Item::Value(inline) = item {
        return set_within(inline, &[*last], &place, value(text));
    }
    let what = item.type_name();
    if let Item::ArrayOfTables(_) = item {
        let help = "name one of its tables and a key in it, as in layer[0].strength=0.5".to_owned();
        return Err((format!("`{place}` is a list of tables"), Some(help)));
    }
    let table =
        item.as_table_like_mut().ok_or_else(|| (format!("`{place}` is a {what}, not a table"), None))?;
    match table.get_mut(last) {
        Some(Item::Value(old)) => write(old, value(text)),
        Some(Item::None) | None => {
            table.insert(last, Item::Value(value(text)));
            Ok(())
        }
        Some(_) => Err((format!("`{}` is a table", path.trim()), Some("name a key in it".to_owned()))),
    }
}

/// The same in what stands on one line: `obstacles = [{ shape = "sphere", radius = 0.2 }]`. What a table leaves to its defaults begins to exist.
fn set_within(at: &mut Value, steps: &[&str], place: &str, new: Value) -> Result<(), Refusal> {
    let Some((step, rest)) = steps.split_first() else { return write(at, new) };
    let what = at.type_name();
    let inner = match at {
        Value::Array(list) => {
            let count = list.len();
            let missing = || (format!("`{place}` has {count} items, counted from 0, and no `{step}`"), None);
            step.parse::<usize>().ok().and_then(|index| list.get_mut(index)).ok_or_else(missing)?
        }
        Value::InlineTable(table) => {
            if rest.is_empty() && !table.contains_key(step) {
                table.insert(*step, new);
                return Ok(());
            }
            table.get_or_insert(*step, Value::InlineTable(InlineTable::new()))
        }
        _ => return Err((format!("`{place}` is a {what}, not a table; there is no `{step}` in it"), None)),
    };
    set_within(inner, rest, &format!("{place}.{step}"), new)
}

/// Replaces a value, keeping the spaces and the comment around it.
fn write(old: &mut Value, mut new: Value) -> Result<(), Refusal> {
    *new.decor_mut() = old.decor().clone();
    *old = new;
    Ok(())
}

fn descend<'a>(item: &'a mut Item, step: &str, place: &str) -> Result<&'a mut Item, Refusal> {
    if item.is_array_of_tables() {
        return layer(item, step, place);
    }
    let what = item.type_name();
    if item.as_table_like().is_none() {
        return Err((format!("`{place}` is a {what}, not a table; there is no `{step}` in it"), None));
    }
    let known = |table: &dyn TableLike| table.iter().map(|(key, _)| key.to_owned()).collect::<Vec<_>>();
    let keys = item.as_table_like().map(known).unwrap_or_default();
    if !keys.iter().any(|key| key == step) {
        // below a layer, a table of settings that the file leaves to its defaults begins to exist; the schema says later
        // whether the layer has it. At the top there are only a few tables, and a typing error is told at once.
        let top = ["input", "layer", "output"];
        if place.is_empty() && !top.contains(&step) {
            return Err((format!("a shot has no `{step}`"), Some(suggest(step, top))));
        }
        if step == "layer" && place.is_empty() {
            return Err(("the shot has no layers".to_owned(), None));
        }
        if let Some(table) = item.as_table_like_mut() {
            let new = match place {
                "" => Item::Table(Table::new()),
                _ => Item::Value(Value::InlineTable(InlineTable::new())),
            };
            table.insert(step, new);
        }
    }
    item.get_mut(step).ok_or_else(|| (format!("`{place}` has no `{step}`"), None))
}

/// A table of a list, by number or by its name (or, for a layer without a name, its kind).
fn layer<'a>(item: &'a mut Item, step: &str, place: &str) -> Result<&'a mut Item, Refusal> {
    let Item::ArrayOfTables(tables) = item else { return Err((format!("`{place}` is not a list"), None)) };
    let names: Vec<String> = tables
        .iter()
        .map(|table| {
            let text = |key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
            text("name").or(text("kind")).unwrap_or_default()
        })
        .collect();
    let index = match step.parse::<usize>() {
        Ok(index) => Some(index).filter(|&index| index < names.len()),
        Err(_) => names.iter().position(|name| name == step),
    };
    let Some(index) = index else {
        let help = match step.parse::<usize>() {
            Ok(_) => format!("there are {}, counted from 0", names.len()),
            Err(_) => suggest(step, names.iter().map(String::as_str)),
        };
        return Err((format!("there is no {place} `{step}`"), Some(help)));
    };
    Item::get_mut(item, index).ok_or_else(|| (format!("there is no {place} `{step}`"), None))
}

/// TOML where it is TOML, text otherwise.
fn value(text: &str) -> Value {
    let text = text.trim();
    text.parse().unwrap_or_else(|_| Value::from(text))
}
