//! What a bake has to tell: sentences of one kind as one line, and first of all where physics was off.

use std::collections::BTreeSet;

use crate::{Bake, LayerBake};

/// A layer whose physics was off in more than this share of its frames says so before everything else.
const PROMINENT: f64 = 0.1;

/// Sentences of one layer that differ in nothing but their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// The layer's name.
    pub layer: String,
    /// The first of the sentences.
    pub text: String,
    /// The frames they were said about, ascending.
    pub frames: Vec<usize>,
    /// Whether it tells that the layer's physics was off too often to be trusted.
    pub is_prominent: bool,
}

impl Warning {
    /// Which frames: `frame 3`, or `12 frames, 3 to 40`.
    pub fn when(&self) -> String {
        match self.frames[..] {
            [] => String::new(),
            [one] => format!("frame {one}"),
            [first, .., last] => format!("{} frames, {first} to {last}", self.frames.len()),
        }
    }

    /// The place in the scene that its sentence names, in metres: sentences say `near (x, y, z)`.
    pub fn place(&self) -> Option<[f64; 3]> {
        let (_, after) = self.text.split_once("near (")?;
        let (numbers, _) = after.split_once(')')?;
        let found: Vec<f64> = numbers.split(',').filter_map(|word| word.trim().parse().ok()).collect();
        found.try_into().ok().filter(|place: &[f64; 3]| place.iter().all(|x| x.is_finite()))
    }
}

impl Bake {
    /// The prominent warnings, as reports and answers in JSON have them.
    pub fn prominent_json(&self) -> Vec<serde_json::Value> {
        let warnings = self.warnings();
        let prominent = warnings.iter().filter(|warning| warning.is_prominent);
        prominent
            .map(|warning| {
                serde_json::json!({ "layer": warning.layer, "frames": warning.frames, "text": warning.text })
            })
            .collect()
    }

    /// Everything that its layers have to tell, prominent warnings first.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut all: Vec<Warning> = self.layers.iter().flat_map(LayerBake::told).collect();
        all.sort_by_key(|warning| !warning.is_prominent);
        all
    }
}

impl LayerBake {
    /// What it has to tell.
    fn told(&self) -> Vec<Warning> {
        let mut told: Vec<Warning> = self.prominent().into_iter().collect();
        let first = told.len();
        for (frame, text) in &self.warnings {
            let alike = |warning: &&mut Warning| kind(&warning.text) == kind(text);
            match told[first..].iter_mut().find(alike) {
                Some(warning) if warning.frames.last() != Some(frame) => warning.frames.push(*frame),
                Some(_) => {}
                None => told.push(Warning {
                    layer: self.name.clone(),
                    text: text.clone(),
                    frames: vec![*frame],
                    is_prominent: false,
                }),
            }
        }
        told
    }

    /// That its physics was off too often, if it was.
    fn prominent(&self) -> Option<Warning> {
        let frames: BTreeSet<usize> = self.fallbacks.iter().map(|(frame, _)| *frame).collect();
        let (off, all) = (frames.len(), self.figures.len());
        if off as f64 <= PROMINENT * all as f64 {
            return None;
        }
        let (_, first) = self.fallbacks.first()?;
        let text = format!("the physics of this layer was off in {off} of {all} frames: {first}");
        let frames = frames.into_iter().collect();
        Some(Warning { layer: self.name.clone(), text, frames, is_prominent: true })
    }
}

/// A sentence without its numbers.
fn kind(text: &str) -> String {
    let mut kind = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        let is_part = c.is_ascii_digit() || (before == '#' && matches!(c, '.' | 'e' | '-' | '+'));
        if !is_part {
            kind.push(c);
        } else if before != '#' {
            kind.push('#');
        }
        before = if is_part { '#' } else { c };
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_may_name_a_place() {
        let of = |text: &str| {
            let (layer, text) = (String::new(), text.to_owned());
            Warning { layer, text, frames: vec![3], is_prominent: false }.place()
        };
        assert_eq!(of("something jams; look near (-0.093, 1.1, 2): point 3"), Some([-0.093, 1.1, 2.0]));
        assert_eq!(
            [of("near the knee"), of("near (1, 2)"), of("near (1, 2, NaN)"), of("(1, 2, 3)")],
            [None; 4]
        );
    }

    #[test]
    fn numbers_do_not_tell_kinds_apart_and_words_do() {
        assert_eq!(kind("12 pairs cross, 3.4e-2 m deep"), kind("7 pairs cross, 1.25 m deep"));
        assert_ne!(kind("12 pairs cross"), kind("12 pairs meet"));
        assert_ne!(kind("`a` waits 2 mm"), kind("`b` waits 2 mm"));
    }
}
