//! What `check` passes bakes its first frame: every demo, and every shot of the book.

use std::path::{Path, PathBuf};

use shot::{BakeOptions, Context};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The same shot, small enough to be baked in passing: few tets, coarse grids, no time to settle.
fn small(text: &str) -> String {
    let shrink = |line: &str| {
        let Some((key, value)) = line.split_once('=') else { return line.to_owned() };
        let (value, comment) = value.split_once('#').unwrap_or((value, ""));
        let number = value.trim().parse::<f64>().ok();
        let smaller = match (key.trim(), number) {
            ("tets", Some(count)) => format!("{}", count.min(600.0)),
            ("cells", Some(count)) => format!("{}", count.min(150.0)),
            ("subdivide", Some(times)) => format!("{}", times.min(1.0)),
            ("pre_roll", Some(seconds)) => format!("{:?}", seconds.min(0.05)),
            ("seconds", Some(seconds)) => format!("{:?}", seconds.min(0.1)),
            ("grid", None) => {
                let sides = value.trim().trim_matches(['[', ']']).split(',');
                let sides: Option<Vec<u32>> = sides.map(|side| side.trim().parse().ok()).collect();
                match sides {
                    Some(sides) => {
                        format!("{:?}", sides.iter().map(|side| (side / 6).max(12)).collect::<Vec<_>>())
                    }
                    None => return line.to_owned(),
                }
            }
            _ => return line.to_owned(),
        };
        format!("{key}= {smaller} # {comment}")
    };
    text.lines().map(shrink).collect::<Vec<_>>().join("\n")
}

/// Blocks of TOML in a page.
fn blocks(page: &str) -> Vec<String> {
    page.split("```toml\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder of the repository");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
}

/// Bakes the first frame of a shot without mistakes; false where it has some, such as files that are not there.
fn bakes(name: &str, text: &str) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Ok(shot) = followthrough::reader().parse(name, &small(text), folder.path()) else { return false };
    if !shot.check().is_empty() {
        return false;
    }
    let frames = Some("0-0".parse().expect("a range"));
    let options = BakeOptions { out: Some(folder.path().join("out")), frames, ..BakeOptions::default() };
    let baked = shot.bake(&options, &Context::SILENT).map(|bake| bake.clip.frame_count());
    assert_eq!(baked.unwrap_or_else(|error| panic!("{name}: {error}")), 1, "{name}");
    true
}

#[test]
fn every_demo_bakes_its_first_frame() {
    let mut demos = Vec::new();
    files(&root().join("crates/cli/demos"), "toml", &mut demos);
    // those that learn first have a training beside them, and nothing to bake before it was run
    let learns = |path: &PathBuf| path.with_extension("training.toml").exists();
    demos.retain(|path| !learns(path) && !path.display().to_string().ends_with(".training.toml"));
    assert!(demos.len() > 20);
    for path in demos {
        let text = std::fs::read_to_string(&path).expect("a demo");
        assert!(bakes(&path.display().to_string(), &text), "{} has mistakes", path.display());
    }
}

#[test]
fn every_shot_of_the_book_that_passes_check_bakes_its_first_frame() {
    let mut pages = vec![root().join("README.md")];
    files(&root().join("docs"), "md", &mut pages);
    let mut baked = 0;
    for path in pages {
        let page = std::fs::read_to_string(&path).expect("a page");
        for (number, text) in blocks(&page).iter().enumerate().filter(|(_, text)| text.contains("[[layer]]"))
        {
            // examples show a layer or two; where they name no sample, there is nothing to bake
            baked += usize::from(bakes(&format!("{}, block {number}", path.display()), text));
        }
    }
    assert!(baked > 0);
}
