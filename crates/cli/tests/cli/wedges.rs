//! `wedge`: planned, baked, asked about, gone on with.

use crate::program::Place;

const SHOT: &str = "input = { sample = 'flag', frames = '0-2' }
layer = [{ kind = 'smooth', name = 'calm', window = 0.1 }]
output = { files = ['f.webp'], film = { width = 64, height = 48 }, report = false }
";

#[test]
fn tries_are_baked_and_shown_side_by_side() {
    let place = Place::new();
    place.write("f.toml", SHOT);
    let vary = ["wedge", "f.toml", "--vary", "layer.calm.window=0.1,0.2", "--out", "tries"];
    let run = place.expect(0, &vary);
    assert!(run.stdout.contains("window=0.2") && run.stdout.contains("wedge.html"), "{}", run.stdout);
    assert!(!place.read("tries/wedge.html").is_empty());
    // the same again is done already; the folder says so too
    place.expect(0, &vary);
    let answer = place.expect(0, &["wedge", "tries", "--status", "--json"]).json();
    assert_eq!(answer["ok"], true);
    assert_eq!(answer["tries"][1]["state"], "done");
    assert_eq!(answer["tries"][0]["values"]["layer.calm.window"], "0.1");
    // as an engine does it
    place.expect(0, &["wedge", "tries", "--common"]);
    place.expect(0, &["wedge", "tries", "--task", "1"]);
    place.expect(1, &["wedge", "tries", "--task", "2"]);
    place.expect(0, &["wedge", "tries", "--page"]);
    place.expect(0, &["wedge", "tries", "--cancel"]);
}

#[test]
fn mistakes_are_told_before_anything_is_baked() {
    let place = Place::new();
    place.write("f.toml", SHOT);
    for (arguments, said) in [
        (&["wedge", "f.toml"][..], "nothing that varies"),
        (&["wedge", "f.toml", "--vary", "layer.clam.window=1,2"], "calm"),
        (&["wedge", "f.toml", "--vary", "layer.calm.window=0.1,-1"], "window"),
        (&["wedge", "f.toml", "--vary", "layer.calm.window=0.1..0.2"], "--random"),
        (&["wedge", "f.toml", "--vary", "layer.calm.window"], "--random"),
        (&["wedge", "f.toml", "--vary", "layer.calm.window", "--random", "4000000000"], "from 1 to 10000"),
        (&["wedge", "f.toml", "--status"], "not the folder"),
        (&["wedge", ".", "--vary", "layer.calm.window=1"], "--out"),
    ] {
        let run = place.expect(2, arguments);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
    let run = place.expect(1, &["wedge", "."]);
    assert!(run.stderr.contains("no plan"), "{}", run.stderr);
    assert!(!place.path("f-wedge").exists(), "nothing was planned");
}

/// A site without Slurm: what to do is said, and the plan is kept.
#[test]
fn without_slurm_there_is_a_sentence() {
    let place = Place::new();
    place.write("f.toml", SHOT);
    let vary = ["wedge", "f.toml", "--vary", "layer.calm.window=0.1", "--out", "tries", "--on", "slurm"];
    let output =
        place.command(&vary).env("PATH", place.path("nowhere")).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("sbatch") && said.contains("--on local"), "{said}");
    place.expect(0, &["wedge", "tries"]);
}

/// A site whose `sbatch` writes down what reaches it: of values, keys and names nothing does.
#[cfg(unix)]
#[test]
fn no_value_reaches_a_shell_a_script_or_a_job_name() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.write("f.toml", SHOT);
    std::fs::create_dir(place.path("bin")).unwrap();
    place.write("bin/sbatch", "#!/bin/sh\n{ printf '%s\\n' \"$@\"; cat; } >> \"$SEEN\"\necho 17\n");
    std::fs::set_permissions(place.path("bin/sbatch"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let evil = "$(touch evil); `touch evil`";
    let vary = format!("output.files=[\"{evil}.webp\"],[\"b.webp\"]");
    let out = format!("tries {evil}");
    let mut words = vec!["wedge", "f.toml", "--vary", &vary, "--out", &out, "--on", "slurm"];
    words.extend(["--partition", evil]);
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let run = place.command(&words).env("PATH", path).env("SEEN", place.path("seen")).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let seen = String::from_utf8(place.read("seen")).unwrap();
    let with_evil: Vec<&str> = seen.lines().filter(|line| line.contains("evil")).collect();
    let passed = |line: &&str| line.starts_with("--partition=") || line.starts_with("--chdir=");
    assert!(!with_evil.is_empty() && with_evil.iter().all(passed), "{seen}");
    for line in ["--job-name=followthrough-wedge", "--array=0-1", "--dependency=afterany:17"] {
        assert!(seen.lines().any(|other| other == line), "{seen}");
    }
    assert!(
        seen.contains("\nexec \"$FOLLOWTHROUGH_PROGRAM\" --quiet wedge . --task \"$SLURM_ARRAY_TASK_ID\"\n"),
        "{seen}"
    );
    assert!(!place.path("evil").exists() && !place.path(&out).join("evil").exists());
}
