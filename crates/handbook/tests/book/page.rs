//! A page of the book, as far as tests look into it.

use std::path::{Path, PathBuf};

/// A Markdown file.
pub(crate) struct Page {
    /// Relative to the root, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A path from a folder, both relative to the root, with its `..` resolved.
pub(crate) fn join(folder: &Path, path: &str) -> String {
    let mut parts: Vec<String> = folder.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    for part in path.split('/') {
        match part {
            ".." => {
                assert!(parts.pop().is_some(), "{path} leaves the repository");
            }
            "." | "" => {}
            part => parts.push(part.to_owned()),
        }
    }
    parts.join("/")
}

impl Page {
    /// Every page, in order of path.
    pub(crate) fn all() -> Vec<Self> {
        let mut paths = vec!["CONTRIBUTING.md".to_owned(), "benches/README.md".to_owned()];
        for folder in ["docs", "docs/layers"] {
            for entry in std::fs::read_dir(root().join(folder)).unwrap() {
                let name = entry.unwrap().file_name().to_string_lossy().into_owned();
                if name.ends_with(".md") {
                    paths.push(format!("{folder}/{name}"));
                }
            }
        }
        paths.sort();
        paths.into_iter().map(Self::read).collect()
    }

    /// One page.
    pub(crate) fn read(path: impl Into<String>) -> Self {
        let path = path.into();
        let text =
            std::fs::read_to_string(root().join(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path, text }
    }

    pub(crate) fn full_path(&self) -> PathBuf {
        root().join(&self.path)
    }

    /// The text with everything between `<!-- NAME -->` and `<!-- end -->` replaced by what `section` gives for the name.
    pub(crate) fn with_sections(&self, mut section: impl FnMut(&str) -> String) -> String {
        let mut fresh = String::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            fresh.push_str(line);
            fresh.push('\n');
            let Some(name) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) else {
                continue;
            };
            let closed = lines.by_ref().any(|line| line == "<!-- end -->");
            assert!(closed, "{}: `{line}` has no `<!-- end -->`", self.path);
            fresh.push_str(&section(name));
            fresh.push_str("<!-- end -->\n");
        }
        fresh
    }

    /// Fenced blocks of a language, with the number of their first line.
    pub(crate) fn blocks(&self, language: &str) -> Vec<(usize, String)> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            if let Some(found) = line.strip_prefix("```") {
                let body: Vec<&str> = lines
                    .by_ref()
                    .map(|(_, line)| line)
                    .take_while(|line| !line.starts_with("```"))
                    .collect();
                if found == language {
                    blocks.push((number + 1, body.join("\n")));
                }
            }
        }
        blocks
    }

    /// The language behind every opening fence.
    pub(crate) fn languages(&self) -> Vec<(usize, String)> {
        let fences = self.text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("```"));
        fences.step_by(2).map(|(number, line)| (number + 1, line.trim_start()[3..].to_owned())).collect()
    }

    /// Where links and pictures outside of blocks lead to.
    pub(crate) fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (number, line) in self.prose() {
            for after in line.split("](").skip(1) {
                let end =
                    after.find(')').unwrap_or_else(|| panic!("{}:{number}: a link without end", self.path));
                links.push((number, after[..end].to_owned()));
            }
        }
        links
    }

    /// What links to headings are called: lower case, without punctuation, hyphens for spaces.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let headings = self.prose().filter(|(_, line)| line.starts_with('#'));
        let anchor = |heading: &str| -> String {
            let kept = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        };
        headings.map(|(_, line)| anchor(line)).collect()
    }

    /// Lines outside of fenced blocks, counted from 1.
    pub(crate) fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut inside = false;
        self.text.lines().enumerate().filter_map(move |(number, line)| {
            let fence = line.trim_start().starts_with("```");
            inside ^= fence;
            (!inside && !fence).then_some((number + 1, line))
        })
    }
}
