//! `new` and `check`: from the template to every mistake underlined.

use crate::program::{Place, has_keys};

#[test]
fn new_writes_files_that_check_finds_right() {
    let place = Place::new();
    place.expect(0, &["new"]);
    place.expect(0, &["check", "shot.toml"]);
    for demo in ["flag", "curtain", "sheet"] {
        let file = format!("{demo}.toml");
        place.expect(0, &["new", &file, "--from", demo]);
        place.expect(0, &["check", &file]);
    }
    place.write("shot.toml", "mine");
    let run = place.expect(3, &["new"]);
    assert!(run.stderr.contains("there already") && run.stderr.contains("--force"), "{}", run.stderr);
    assert_eq!(place.read("shot.toml"), b"mine");
    place.expect(0, &["new", "--force"]);
    assert_eq!(place.expect(0, &["new", "-"]).stdout.as_bytes(), place.read("shot.toml"));
}

#[test]
fn every_mistake_is_told_with_its_line_and_what_may_be_meant() {
    let place = Place::new();
    let text =
        "[input]\nsample = \"flag\"\n\n[[layer]]\nkind = \"cloth\"\nmaterail = \"silk\"\npre_roll = -1.0\n";
    place.write("shot.toml", text);
    let run = place.expect(2, &["check", "shot.toml"]);
    assert!(run.stderr.contains("did you mean `material`?"), "{}", run.stderr);
    assert!(run.stderr.contains("pre_roll = -1.0"), "{}", run.stderr);
    // baking it says the same
    place.expect(2, &["bake", "shot.toml"]);

    let answer = place.expect(2, &["check", "shot.toml", "--json"]).json();
    has_keys(&answer, &["ok", "error", "mistakes", "exit_code"]);
    let mistakes = answer["mistakes"].as_array().expect("a list");
    assert_eq!(mistakes.len(), 2, "{answer:#}");
    has_keys(&mistakes[0], &["file", "line", "column", "text", "message", "help"]);
    assert_eq!((&mistakes[0]["line"], &mistakes[0]["column"]), (&6.into(), &1.into()));
}

#[test]
fn a_group_that_does_not_exist_is_a_mistake() {
    let place = Place::new();
    place.write(
        "shot.toml",
        "[input]\nsample = \"flag\"\n[[layer]]\nkind = \"cloth\"\nfollow = { group = \"hoits\" }\n",
    );
    let run = place.expect(2, &["check", "shot.toml"]);
    assert!(run.stderr.contains("hoits") && run.stderr.contains("hoist"), "{}", run.stderr);
}

/// A setting that may be left out is told as well as one that may not.
#[test]
fn a_selector_with_a_wrong_value_says_what_is_wrong_in_it() {
    let place = Place::new();
    let text = "[input]\nsample = \"flag\"\n[[layer]]\nkind = \"cloth\"\nfollow = { height = 0.9 }\n";
    place.write("shot.toml", text);
    let run = place.expect(2, &["check", "shot.toml"]);
    assert!(run.stderr.contains("`layer[0].follow.height` must be a table"), "{}", run.stderr);
}

#[test]
fn a_skeleton_alone_is_smoothed_and_comes_out_as_one() {
    let place = Place::new();
    place.expect(0, &["convert", "sample:walker", "walk.bvh"]);
    place.write("shot.toml", "input = { file = 'walk.bvh' }\nlayer = [{ kind = 'smooth' }]\noutput = { files = ['calm.bvh'], report = false }");
    place.expect(0, &["bake", "shot.toml"]);
    assert_ne!(place.read("shot/calm.bvh"), place.read("walk.bvh"));
    // what needs a mesh says so
    place.write("shot.toml", "input = { file = 'walk.bvh' }\nlayer = [{ kind = 'cloth' }]");
    place.expect(2, &["check", "shot.toml"]);
}

#[test]
fn values_are_set_from_outside() {
    let place = Place::new();
    place.expect(0, &["new", "shot.toml"]);
    place.expect(0, &["check", "shot.toml", "--set", "layer.fabric.material=silk"]);
    let run = place.expect(2, &["check", "shot.toml", "--set", "layer.fabric.material=slik"]);
    assert!(run.stderr.contains("did you mean `silk`?"), "{}", run.stderr);
    let run = place.expect(2, &["bake", "shot.toml", "--set", "layer.fabirc.material=silk"]);
    assert!(run.stderr.contains("fabric"), "{}", run.stderr);
    place.expect(2, &["bake", "shot.toml", "--set", "nonsense"]);
    place.expect(2, &["bake", "shot.toml", "--set", "layer.fabric.area_density=-1"]);
}

#[test]
fn a_missing_shot_is_named_with_what_may_be_meant() {
    let place = Place::new();
    let run = place.expect(1, &["bake", "shot.toml"]);
    assert!(run.stderr.contains("there is no file shot.toml") && run.stderr.contains("new shot.toml"));
    place.expect(0, &["new", "shot.toml"]);
    for command in ["bake", "check"] {
        let run = place.expect(1, &[command, "shto.toml"]);
        assert!(run.stderr.contains("did you mean `shot.toml`?"), "{}", run.stderr);
    }
}

#[test]
fn the_schema_is_a_schema() {
    let place = Place::new();
    let schema = place.json(&["schema"]);
    has_keys(&schema, &["$schema", "properties", "definitions"]);
    assert_eq!(schema, place.json(&["check", "--schema"]));
}

#[test]
fn absurd_numbers_are_refused_and_unusual_ones_told() {
    let place = Place::new();
    place.expect(0, &["new", "shot.toml", "--from", "letters"]);
    place.write("flag.toml", "[input]\nsample = \"flag\"\n[[layer]]\nkind = \"cloth\"\n");
    for gravity in ["1e30", "1e9", "-2000.0"] {
        let set = format!("layer[0].gravity=[0.0, {gravity}, 0.0]");
        for command in ["check", "bake"] {
            let run = place.expect(2, &[command, "flag.toml", "--set", &set]);
            assert!(run.stderr.contains("`layer[0].gravity[1]` must be at"), "{}", run.stderr);
            assert!(run.stderr.contains("usual is -50 to 50"), "{}", run.stderr);
        }
        let run = place.expect(2, &["check", "shot.toml", "--set", &format!("layer[0].gravity={gravity}")]);
        assert!(run.stderr.contains("`layer[0].gravity` must be at"), "{}", run.stderr);
    }
    let unusual = "layer[0].gravity=[0.0, -80.0, 0.0]";
    let run = place.expect(0, &["check", "flag.toml", "--set", unusual]);
    assert!(run.stderr.contains("`layer[0].gravity[1]` is -80; usual is -50 to 50"), "{}", run.stderr);
    let answer = place.expect(0, &["check", "flag.toml", "--json", "--set", unusual]).json();
    assert_eq!(answer["unusual"].as_array().map(Vec::len), Some(1), "{answer:#}");
    // of a dial that may change over time, the values count and not the times
    let keys = |value: &str| format!("layer[0].wind.keys=[[50.0, 0.0], [90.0, {value}]]");
    assert!(!place.expect(0, &["check", "flag.toml", "--set", &keys("1.0")]).stderr.contains("usual"));
    let run = place.expect(2, &["check", "flag.toml", "--set", &keys("1e6")]);
    assert!(run.stderr.contains("`layer[0].wind.keys[1][1]` must be at most 100"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn a_shot_file_is_a_plain_file_of_moderate_length() {
    let place = Place::new();
    let pipe = std::process::Command::new("mkfifo").arg(place.path("pipe.toml")).status();
    assert!(pipe.expect("mkfifo").success());
    std::os::unix::fs::symlink("/dev/zero", place.path("zero.toml")).expect("a link");
    for file in ["pipe.toml", "zero.toml"] {
        for command in ["check", "bake"] {
            let run = place.expect(1, &[command, file]);
            assert!(run.stderr.contains(file) && run.stderr.contains("no plain file"), "{}", run.stderr);
        }
    }
    std::fs::File::create(place.path("long.toml")).and_then(|file| file.set_len(1 << 32)).expect("a hole");
    let run = place.expect(1, &["check", "long.toml"]);
    assert!(run.stderr.contains("longer than 16 MB"), "{}", run.stderr);
}
