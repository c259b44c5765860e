//! Crates and dependencies: the lists in the book against Cargo's own.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::page::{Page, root};
use crate::tables::table;

/// The crates with the first sentence of their documentation and what they stand on, as a table.
pub(crate) fn crates() -> String {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let names: Vec<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let mut rows: Vec<Vec<String>> = packages
        .iter()
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            let folder = manifest.parent().unwrap();
            let below: Vec<&str> = package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|dependency| dependency["kind"].is_null())
                .map(|dependency| dependency["name"].as_str().unwrap())
                .filter(|name| names.contains(name))
                .map(|name| name.strip_prefix("followthrough-").unwrap_or(name))
                .collect();
            let workspace = Path::new(metadata["workspace_root"].as_str().unwrap());
            let place = folder.strip_prefix(workspace).unwrap().to_string_lossy().replace('\\', "/");
            let stands_on = if below.is_empty() { "–".into() } else { below.join(", ") };
            vec![format!("`{place}`"), first_sentence(folder), stands_on]
        })
        .collect();
    rows.sort();
    table(&["folder", "what it is", "stands on"], rows)
}

/// The first sentence of a crate's own documentation.
fn first_sentence(folder: &Path) -> String {
    let source =
        ["src/lib.rs", "src/main.rs"].iter().find_map(|file| std::fs::read_to_string(folder.join(file)).ok());
    let source = source.unwrap_or_else(|| panic!("{} has no source", folder.display()));
    let lines = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let end = paragraph.find(". ").map_or(paragraph.len(), |at| at + 1);
    assert!(end > 0, "{} does not say what it is", folder.display());
    paragraph[..end].to_owned()
}

pub(crate) fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Dependencies of others in the root manifest.
fn declared() -> BTreeSet<String> {
    let manifest: toml::Table =
        toml::from_str(&std::fs::read_to_string(root().join("Cargo.toml")).unwrap()).unwrap();
    let dependencies = manifest["workspace"]["dependencies"].as_table().unwrap();
    let ours = |value: &toml::Value| value.get("path").is_some();
    dependencies.iter().filter(|(_, value)| !ours(value)).map(|(name, _)| name.clone()).collect()
}

/// Names of the items `- **name**: reason` below a heading.
fn listed(page: &Page, heading: &str) -> BTreeSet<String> {
    let below = page.prose().map(|(_, line)| line).skip_while(|line| *line != heading).skip(1);
    let items =
        below.take_while(|line| !line.starts_with("## ")).filter_map(|line| line.strip_prefix("- **"));
    items
        .map(|item| {
            let (name, reason) =
                item.split_once("**: ").unwrap_or_else(|| panic!("`{item}` gives no reason"));
            assert!(reason.len() > 10, "a reason for {name}");
            name.to_owned()
        })
        .collect()
}

#[test]
fn every_dependency_has_its_reason_and_every_reason_its_dependency() {
    let page = Page::read("docs/dependencies.md");
    let reasons = listed(&page, "## Taken");
    assert_eq!(reasons, declared(), "left: docs/dependencies.md, right: Cargo.toml");
    let left_out = listed(&page, "## Considered and left out");
    assert!(left_out.is_disjoint(&reasons), "left out, and yet there");
}

#[test]
fn every_declared_dependency_is_used() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap().iter();
    // the book's own tests are no reason to depend on anything
    let used: BTreeSet<&str> = packages
        .filter(|package| package["name"] != "handbook")
        .flat_map(|package| package["dependencies"].as_array().unwrap())
        .map(|dependency| dependency["name"].as_str().unwrap())
        .collect();
    let unused: Vec<String> = declared().into_iter().filter(|name| !used.contains(name.as_str())).collect();
    assert!(unused.is_empty(), "no crate uses {unused:?}");
}

/// Crates, with their version and features, as Cargo builds them for a package.
fn built_for(package: &str) -> BTreeSet<String> {
    let arguments = ["tree", "--offline", "--edges", "normal,build", "--prefix", "none", "--no-dedupe"];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--format", "{p} [{f}]", "--package", package])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    tree.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// What the demo builds is built for the benchmarks with the same features: a benchmark after the demo builds only itself.
#[test]
fn a_benchmark_builds_nothing_of_the_program_again() {
    let (program, benchmarks) = (built_for("followthrough"), built_for("benches"));
    let again: Vec<&String> = program.difference(&benchmarks).collect();
    assert!(again.is_empty(), "built again with other features: {again:?}");
}
