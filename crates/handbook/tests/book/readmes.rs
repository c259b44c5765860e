//! A README for every crate, from its own documentation: what stands on docs.rs and what stands in the folder cannot differ.

use std::path::Path;

use serde_json::Value;

use crate::lists::metadata;
use crate::page::root;

/// The README of a crate: what `lib.rs` says on top, and where to go from there.
fn readme(package: &Value) -> String {
    let (name, folder) = (package["name"].as_str().unwrap(), folder(package));
    let source = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    let mut text = format!("# {name}\n\n");
    let mut code = false;
    for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.starts_with("```") {
            code = !code;
            text += if code && line == "```" { "```rust" } else { line };
        } else if code && (line == "#" || line.starts_with("# ")) {
            // rustdoc hides these lines
            continue;
        } else if code {
            text += line;
        } else {
            text += &without_links(line);
        }
        text.push('\n');
    }
    let module = package["targets"].as_array().unwrap().iter();
    let module =
        module.filter(|target| target["kind"][0] == "lib").map(|target| target["name"].as_str().unwrap());
    let module: String = module.collect();
    if module != name {
        text += &format!(
            "\nAdd it with `cargo add {name}`, or with all the others as `followthrough`, where it is the module `followthrough::{module}`.\n"
        );
    }
    text += &format!("\n`cargo run --release -p {name} --example {}` shows it at work.\n", example(package));
    text += "\nIts place among the crates: [architecture](../../docs/architecture.md#the-crates). Licence: MIT or Apache 2.0, as you like.\n";
    text
}

/// Links that only rustdoc resolves become words.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find("[`") {
        let Some(end) = rest[start..].find("`]").map(|end| start + end) else { break };
        text += &rest[..start];
        text += &rest[start + 1..=end];
        rest = &rest[end + 2..];
        // a path in parentheses behind it
        if let Some(end) = rest.strip_prefix('(').and_then(|inside| inside.find(')')) {
            rest = &rest[end + 2..];
        }
    }
    text + rest
}

fn folder(package: &Value) -> &Path {
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap()
}

fn example(package: &Value) -> &str {
    let targets = package["targets"].as_array().unwrap().iter();
    let mut examples = targets.filter(|target| target["kind"][0] == "example");
    let first = examples.next().unwrap_or_else(|| panic!("{} has no example", package["name"]));
    first["name"].as_str().unwrap()
}

/// Every crate has an example and a README that says what its documentation says; `BOOK_WRITE=1` writes it.
#[test]
fn every_crate_has_an_example_and_a_readme() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    // what is published
    let crates = packages.iter().filter(|package| package["publish"].is_null());
    let mut count = 0;
    for package in crates {
        let path = folder(package).join("README.md");
        let fresh = readme(package);
        if std::env::var_os("BOOK_WRITE").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        let shown = path.strip_prefix(root().canonicalize().unwrap()).unwrap_or(&path).display();
        assert!(old == fresh, "{shown} is stale; run `BOOK_WRITE=1 cargo test -p handbook --test book`");
        count += 1;
    }
    assert!(count >= 14, "only {count} crates are published");
}
