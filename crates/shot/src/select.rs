//! Any selector of a shot, by the path of its keys, as weights on the mesh that its layer gets: to be looked at before anything is baked.

use clip::Selector;
use serde::Deserialize;
use serde_json::Value;

use crate::check::Parts;
use crate::diagnostic::{Diagnostics, suggest};
use crate::document::steps;
use crate::shot::{LayerEntry, Shot};
use crate::{Error, layer::Target};

impl Shot {
    /// The weights that a selector gives: `layer.cloth.follow`, `layer[0].test[2].guide`. Layers are found as by `--set`: by name, by kind or by
    /// number. Nothing is baked.
    pub fn select(&self, path: &str) -> Result<Parts, Error> {
        let refuse =
            |problem: String, help: Option<String>| Error::Selection { path: path.to_owned(), problem, help };
        let mut keys = steps(path.trim()).map(str::trim);
        let example = || Some(String::from("write a path of keys, as in layer.cloth.follow"));
        if keys.next() != Some("layer") {
            return Err(refuse("only layers have selectors".into(), example()));
        }
        let Some(wanted) = keys.next() else { return Err(refuse("which layer?".into(), example())) };
        let is_wanted = |index: usize, entry: &LayerEntry| match wanted.parse::<usize>() {
            Ok(number) => number == index,
            Err(_) => entry.name == wanted,
        };
        let by_name = self.layers.iter().enumerate().position(|(index, entry)| is_wanted(index, entry));
        let by_kind = || self.layers.iter().position(|entry| entry.kind == wanted);
        let Some(index) = by_name.or_else(by_kind) else {
            let help = match wanted.parse::<usize>() {
                Ok(_) => format!("there are {}, counted from 0", self.layers.len()),
                Err(_) => suggest(wanted, self.layers.iter().map(|entry| entry.name.as_str())),
            };
            return Err(refuse(format!("there is no layer `{wanted}`"), Some(help)));
        };
        let entry = &self.layers[index];
        let mut value = Some(&entry.settings);
        for key in keys {
            value = value.and_then(|value| match value {
                Value::Array(items) => key.parse::<usize>().ok().and_then(|at| items.get(at)),
                other => other.get(key),
            });
        }
        let selector = match value {
            Some(Value::Null) => Err("it is not set".to_owned()),
            Some(value) => Selector::deserialize(value).map_err(|_| "it is no selector".to_owned()),
            None => Err("there is no such key".to_owned()),
        };
        let selector = selector.map_err(|problem| refuse(problem, Some(known(entry))))?;
        self.weights_for(index, &selector)
    }

    /// A selector's weights on the meshes that a layer gets.
    fn weights_for(&self, index: usize, selector: &Selector) -> Result<Parts, Error> {
        let mut clip =
            self.open_checked(&self.files).map_err(|diagnostics| Error::Invalid(Diagnostics(diagnostics)))?;
        for (at, entry) in self.layers.iter().enumerate().take(index + 1) {
            if at < index && !entry.is_active() {
                continue;
            }
            let targets = entry.targets(&clip, &self.files).unwrap_or_default();
            if at == index {
                let mut values = vec![Vec::new(); clip.meshes.len()];
                for Target { mesh, .. } in targets {
                    values[mesh] = selector.weights(&clip, mesh, &self.files)?;
                }
                return Ok(Parts { clip, values });
            }
            for target in targets {
                let target = Target { clip: clip.clone(), ..target };
                clip = entry.carried(&target).map_err(crate::bake::prepare_error(&entry.name))?;
            }
        }
        Ok(Parts { values: Vec::new(), clip })
    }
}

/// The selectors that a layer has set.
fn known(entry: &LayerEntry) -> String {
    fn find(value: &Value, path: &str, found: &mut Vec<String>) {
        let is_selector = (value.is_object() || value == "all") && Selector::deserialize(value).is_ok();
        match value {
            _ if is_selector => found.push(format!("`{path}`")),
            Value::Object(entries) => {
                entries.iter().for_each(|(key, value)| find(value, &format!("{path}.{key}"), found));
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| find(item, &format!("{path}[{at}]"), found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    find(&entry.settings, &format!("layer.{}", entry.name), &mut found);
    match found.as_slice() {
        [] => format!("layer `{}` has no selectors set; the book lists what it takes", entry.name),
        found => format!("layer `{}` has {}", entry.name, found.join(", ")),
    }
}
