//! Where an input comes from: one source each, and nothing said that does not concern it.

use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::shot::Input;

/// Where something that [`check_source`] has to say belongs, and what it is: path, message, help.
type Say<'a> = dyn FnMut(&str, &str, &str) + 'a;

/// Exactly one source must be named, and what is said about it must concern it.
pub(super) fn check_source(
    document: &Document,
    input: &Input,
    later: bool,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut say = |path: &str, message: &str, help: &str| {
        let span = document.nearest(path).span.clone();
        diagnostics.push(Diagnostic::at(&document.source, span, message).with_help(help));
    };
    check_added(input, &mut say);
    check_motion(input, &mut say);
    let about_files = [
        ("clip", input.clip.is_some()),
        ("clips", input.clips.is_some()),
        ("unit", input.unit.is_some()),
        ("mesh", input.mesh.is_some()),
        ("cache", input.cache.is_some()),
    ];
    match (&input.file, &input.sample) {
        (None, None) if input.duration.is_some() => {
            refuse(&mut say, "input", &about_files, "the input is an empty scene");
        }
        (None, None) if later => {}
        (None, None) => {
            say(
                "input",
                "the input needs a `file`, a `sample` or a `duration`",
                "write `file = \"….glb\"`, `sample = \"flag\"`, or `duration = 5.0` for an empty scene",
            );
        }
        (Some(_), Some(_)) => {
            say("input.sample", "the input has both a `file` and a `sample`", "keep one of the two");
        }
        (None, Some(_)) => refuse(&mut say, "input", &about_files, "the input is a sample"),
        (Some(_), None) => {}
    }
}

/// What is added to the scene has one source, too.
fn check_added(input: &Input, say: &mut Say) {
    for (index, added) in input.add.iter().enumerate() {
        let table = format!("input.add[{index}]");
        if added.bind && added.parent.is_some() {
            say(
                &format!("{table}.bind"),
                "what is bound to the skeleton has no `parent`",
                "keep one of the two",
            );
        }
        let about_files = [
            ("clip", added.clip.is_some()),
            ("unit", added.unit.is_some()),
            ("mesh", added.mesh.is_some()),
            ("cache", added.cache.is_some()),
        ];
        match (&added.file, &added.sample) {
            (None, None) => {
                say(
                    &format!("{table}.file"),
                    "what is added needs a `file` or a `sample`",
                    "name one of them",
                );
            }
            (Some(_), Some(_)) => {
                let message = "what is added has both a `file` and a `sample`";
                say(&format!("{table}.sample"), message, "keep one of the two");
            }
            (None, Some(_)) => refuse(say, &table, &about_files, "this is a sample"),
            (Some(_), None) => {}
        }
    }
}

/// And so does the motion that is put onto a character.
fn check_motion(input: &Input, say: &mut Say) {
    let Some(motion) = &input.motion else { return };
    let about_files = [("clip", motion.clip.is_some()), ("unit", motion.unit.is_some())];
    match (&motion.file, &motion.sample) {
        (None, None) => say("input.motion", "a motion needs a `file` or a `sample`", "name one of them"),
        (Some(_), Some(_)) => {
            say("input.motion.sample", "a motion has both a `file` and a `sample`", "keep one of the two");
        }
        (None, Some(_)) => refuse(say, "input.motion", &about_files, "this is a sample"),
        (Some(_), None) => {}
    }
}

/// Keys that concern files, where there is none.
fn refuse(say: &mut Say, table: &str, about_files: &[(&str, bool)], instead: &str) {
    for (key, _) in about_files.iter().filter(|(_, given)| *given) {
        say(&format!("{table}.{key}"), &format!("`{key}` is about files, but {instead}"), "remove it");
    }
}
