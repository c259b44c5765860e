//! Help, completions, man pages, and readers that go away.

use std::process::Stdio;

use crate::program::Place;

#[test]
fn help_and_man_document_every_exit_code() {
    let place = Place::new();
    let (help, man) = (place.expect(0, &["--help"]).stdout, place.expect(0, &["man"]).stdout);
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "130 "] {
        for text in [&help, &man] {
            assert!(text.lines().any(|line| line.trim_start().starts_with(code)), "{code}: {text}");
        }
    }
    for command in [
        "demo",
        "new",
        "check",
        "bake",
        "info",
        "convert",
        "render",
        "compare",
        "schema",
        "completions",
        "man",
    ] {
        assert!(help.contains(&format!("  {command} ")), "{command}");
        place.expect(0, &[command, "--help"]);
    }
    place.expect(0, &["man", "--out", "pages"]);
    assert!(
        place.path("pages/followthrough.1").is_file() && place.path("pages/followthrough-bake.1").is_file()
    );
    place.expect(2, &[]);
    place.expect(2, &["bkae"]);
    place.expect(2, &["bake", "shot.toml", "--threads", "0"]);
    assert!(place.expect(0, &["--version"]).stdout.starts_with("followthrough "));
}

#[test]
fn shells_get_completions() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.expect(0, &["completions", shell]).stdout;
        assert!(script.contains("followthrough") && script.contains("threads"), "{shell}");
    }
    place.expect(2, &["completions", "cobol"]);
}

#[test]
fn a_reader_that_goes_away_is_no_catastrophe() {
    let place = Place::new();
    for arguments in
        [&["schema"][..], &["completions", "zsh"], &["man"], &["--help"], &["info", "sample:flag"]]
    {
        let mut command = place.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
        assert!(output.status.code().is_some_and(|code| code == 0), "{arguments:?}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let place = Place::new();
    let mut command = place.command(&["schema"]);
    command.stdout(std::fs::File::options().write(true).open("/dev/full").expect("a full device"));
    let output = command.output().expect("runs");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_readme_tells_the_truth() {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).expect("a README");
    let block = |language: &str| {
        let (_, after) = readme.split_once(&format!("```{language}\n")).expect("a block");
        after.split_once("```").expect("an end").0.to_owned()
    };
    followthrough::parse(&block("toml")).unwrap_or_else(|error| panic!("{error:?}"));

    let place = Place::new();
    let help = place.expect(0, &["--help"]).stdout;
    let commands = block("text");
    assert!(commands.lines().count() >= 8);
    for line in commands.lines() {
        let command = line.split(' ').nth(1).expect("a command");
        assert!(help.contains(&format!("\n  {command} ")), "{line}");
    }
}
