//! The walk of a frame, and the architecture: every hop has the name that it has in the code.

use std::path::Path;

use crate::page::{Page, root};

/// Names on these pages that stand for what is not there: a plan that was departed from.
const PLANNED: [&str; 1] = ["ImageClip"];

#[test]
fn the_walk_of_a_frame_names_what_is_there() {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    let mut names = 0;
    for path in ["docs/walk-of-a-frame.md", "docs/architecture.md"] {
        let page = Page::read(path);
        // between the fences of blocks, and there between single ticks
        let prose = page.text.split("```").step_by(2);
        for word in prose.flat_map(|prose| prose.split('`').skip(1).step_by(2)) {
            assert!(is_there(word, &files) || PLANNED.contains(&word), "{path}: there is no `{word}`");
            names += 1;
        }
    }
    assert!(names > 150, "{names} names were found");
}

/// Files, and types and functions that are written as such, are looked for; other words are taken on trust.
fn is_there(word: &str, files: &[(String, String)]) -> bool {
    if word.ends_with(".rs") {
        return files.iter().any(|(path, _)| path.ends_with(&format!("/{word}")));
    }
    let is_path = word.split("::").all(|part| part.chars().all(|c| c.is_alphanumeric() || c == '_'));
    if !is_path || !(word.contains("::") || word.starts_with(char::is_uppercase)) {
        return true;
    }
    let name = word.rsplit("::").next().unwrap_or(word);
    let defines = |line: &str| {
        let words: Vec<&str> = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        let kinds = ["fn", "struct", "enum", "trait", "type", "const", "mod"];
        words.windows(2).any(|pair| kinds.contains(&pair[0]) && pair[1] == name)
    };
    files.iter().any(|(_, text)| text.contains(name) && text.lines().any(defines))
}

/// Every Rust file in a folder, with slashes in its path.
fn sources(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            files.push((path.to_string_lossy().replace('\\', "/"), text));
        }
    }
}
