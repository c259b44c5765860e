//! A shot of several animations of its file: which they are, and the shot of each.

use clip::{Animation, ReadOptions, Selector, SkinDelivery};

use crate::diagnostic::Diagnostics;
use crate::shot::{ClipNames, Shot};
use crate::{Error, suggest};

impl Shot {
    /// The animations of the file that `clips` under `[input]` asks for, in the order of the list and of the file; none where it asks for none.
    pub fn clip_names(&self) -> Result<Vec<String>, Error> {
        let (Some(wanted), Some(file)) = (&self.input.clips, &self.input.file) else { return Ok(Vec::new()) };
        let refused = |path: &str, message: String, help: &str| -> Error {
            Diagnostics(vec![self.diagnostic(path, message).with_help(help)]).into()
        };
        if matches!(self.output.skin, SkinDelivery::Joints(_)) {
            let message = "joints and weights are found for one clip at a time".to_owned();
            return Err(refused(
                "output.skin",
                message,
                "deliver several clips as \"corrective\" or \"points\"",
            ));
        }
        let options = ReadOptions { files: self.files.clone(), ..ReadOptions::default() };
        let described = clip::describe(self.files.path(file), &options)?;
        let mut there: Vec<String> = Vec::new();
        for Animation { name, .. } in described.animations {
            // of two with one name only the first can be asked for
            if !there.contains(&name) {
                there.push(name);
            }
        }
        if there.is_empty() {
            let message = format!("{} does not hold several clips", file.display());
            return Err(refused("input.clips", message, "remove `clips`: what the file holds is baked"));
        }
        let patterns: Vec<&str> = match wanted {
            ClipNames::One(name) => vec![name],
            ClipNames::Several(names) => names.iter().map(String::as_str).collect(),
        };
        let mut names: Vec<String> = Vec::new();
        for pattern in patterns {
            let is_all = pattern == "all" && matches!(wanted, ClipNames::One(_));
            let exact = there.iter().any(|name| name == pattern);
            let fits = |name: &&String| match exact {
                true => *name == pattern,
                false => is_all || Selector::fits(pattern, name),
            };
            let mut found = there.iter().filter(fits).peekable();
            if found.peek().is_none() {
                let message = format!("there is no clip `{pattern}` in {}", file.display());
                let help = suggest(pattern, there.iter().map(String::as_str));
                return Err(refused("input.clips", message, &help));
            }
            for name in found {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        Ok(names)
    }

    /// The shot of one of them: what it would be if it named no other.
    #[must_use]
    pub fn of_clip(&self, name: &str) -> Self {
        let mut shot = self.clone();
        shot.input.clips = None;
        shot.input.clip = Some(name.to_owned());
        shot
    }
}
