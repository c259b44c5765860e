//! `bake` and `demo`: the same bytes whatever happens on the way.

use crate::program::{Place, has_keys};

fn place(n: usize, frames: usize) -> Place {
    let place = Place::new();
    place.cloth("cloth.glb", n, frames);
    place.shot("shot.toml");
    place
}

#[test]
fn a_bake_answers_with_files_and_what_it_did() {
    let place = place(6, 8);
    let answer = place.json(&["bake", "shot.toml", "--threads", "2", "--out", "out", "--json"]);
    has_keys(
        &answer,
        &["ok", "shot", "out", "frames", "frame_rate_hz", "layers", "files", "report", "seconds"],
    );
    has_keys(&answer["layers"][0], &["name", "kind", "mesh", "key", "baked", "reused", "warnings"]);
    assert_eq!(answer["layers"][0]["baked"], 8);
    for file in answer["files"].as_array().expect("a list") {
        assert!(place.path(file.as_str().expect("a path")).is_file(), "{file}");
    }

    let again = place.json(&["bake", "shot.toml", "--out", "out", "--json"]);
    assert_eq!((&again["layers"][0]["baked"], &again["layers"][0]["reused"]), (&0.into(), &8.into()));
    let fresh = place.json(&["bake", "shot.toml", "--out", "out", "--json", "--fresh"]);
    assert_eq!(fresh["layers"][0]["baked"], 8);

    let told = place.expect(0, &["bake", "shot.toml", "--out", "out"]).stdout;
    assert!(told.contains("result.glb"), "{told}");
    let quiet = place.expect(0, &["--quiet", "bake", "shot.toml", "--out", "out"]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

/// A shot that says of most of its frames that they are cuts is not simulated there: one prominent line, and a code for farms.
#[test]
fn physics_that_is_off_too_often_is_said_first_and_is_an_exit_code_for_farms() {
    let place = place(6, 12);
    let cuts = ["--set", "input.cuts=[2, 3, 4, 5]"];
    let bake = ["bake", "shot.toml", "--out", "out", "--set", "output.report=true"];
    let run = place.expect(0, &[&bake[..], &cuts].concat());
    let said: Vec<&str> =
        run.stderr.lines().filter(|line| line.to_lowercase().starts_with("warning")).collect();
    assert!(said[0].starts_with("WARNING: layer") && said[0].contains("4 of 12 frames"), "{said:?}");
    // the sentences of all frames are one line
    assert_eq!(said.iter().filter(|line| line.contains("4 frames, 2 to 5")).count(), 1, "{said:?}");
    assert_eq!(said.len(), 2, "{said:?}");
    let strict = place.expect(5, &[&bake[..], &cuts, &["--strict"]].concat());
    assert!(strict.stderr.contains("4 of 12 frames"), "{}", strict.stderr);
    assert!(place.path("out/result.glb").is_file(), "everything was written");
    // seldom is no reason to stop, nor are shots without cuts
    place.expect(0, &[&bake[..], &["--set", "input.cuts=[2]", "--strict"]].concat());
    place.expect(0, &[&bake[..], &["--strict"]].concat());
    let answer = place.json(&[&bake[..], &cuts, &["--json"]].concat());
    assert_eq!(answer["prominent"][0]["frames"], serde_json::json!([2, 3, 4, 5]));
    let page = String::from_utf8(place.read("out/report.html")).expect("text");
    let (warned, headed) = (page.find("4 of 12 frames"), page.find("<header>"));
    assert!(warned.is_some() && warned < headed, "before everything else");
}

#[test]
fn the_number_of_threads_does_not_change_a_byte() {
    let place = place(10, 10);
    for threads in ["1", "2", "3"] {
        place.expect(0, &["bake", "shot.toml", "--threads", threads, "--out", threads]);
    }
    for file in ["result.glb", "result.pc2"] {
        let one = place.read(&format!("1/{file}"));
        assert!(one == place.read(&format!("2/{file}")) && one == place.read(&format!("3/{file}")), "{file}");
    }
}

#[test]
fn frames_of_a_part_are_those_of_the_whole() {
    let place = place(6, 12);
    place.expect(0, &["bake", "shot.toml", "--out", "whole"]);
    place.expect(0, &["bake", "shot.toml", "--out", "part", "--frames", "4-7"]);
    place.expect(0, &["convert", "whole/result.glb", "cut.glb", "--frames", "4-7"]);
    place.expect(0, &["compare", "cut.glb", "part/result.glb", "--within", "1e-7"]);
    let run = place.expect(2, &["bake", "shot.toml", "--out", "part", "--frames", "4-99"]);
    assert!(run.stderr.contains("0-11"), "{}", run.stderr);
}

#[test]
fn another_process_reads_a_bake_that_goes_on() {
    let place = place(24, 40);
    let mut child = place.spawn(&["bake", "shot.toml", "--out", "live"]);
    place.wait_for_frames("live", 3);
    let run = place.expect(0, &["convert", "shot.toml", "so_far.pc2", "--baked", "live"]);
    let info = place.json(&["info", "shot.toml", "--baked", "live", "--json"]);
    place.expect(0, &["render", "shot.toml", "so_far.png", "--frame", "1", "--baked", "live"]);
    let still_baking = child.try_wait().expect("asks").is_none();
    assert!(child.wait().expect("ends").success());
    assert!(still_baking, "it was too fast to be read in the middle");
    assert!(run.stderr.contains("are baked;") && run.stderr.contains("missing"), "{}", run.stderr);
    assert!((3..40).contains(&info["frames"].as_u64().expect("a number")), "{info:#}");

    // what was read is what is there at the end, and a reader did not disturb the bake
    let last = place.json(&["info", "so_far.pc2", "--mesh", "so_far.obj", "--json"])["frames"].clone();
    let frames = format!("0-{}", last.as_u64().expect("a number") - 1);
    place.expect(0, &["convert", "shot.toml", "then.pc2", "--frames", &frames, "--baked", "live"]);
    assert!(place.read("so_far.pc2") == place.read("then.pc2"));
    place.expect(0, &["bake", "shot.toml", "--out", "alone"]);
    assert!(place.read("live/result.pc2") == place.read("alone/result.pc2"));
}

#[test]
fn a_killed_bake_goes_on_with_the_same_bytes() {
    let place = place(24, 40);
    let mut child = place.spawn(&["bake", "shot.toml", "--out", "killed"]);
    place.wait_for_frames("killed", 3);
    child.kill().expect("kill -9");
    child.wait().expect("ends");
    assert!(!place.path("killed/result.glb").exists(), "it was too fast to be killed in the middle");

    let resumed = place.json(&["bake", "shot.toml", "--out", "killed", "--json"]);
    assert!(resumed["layers"][0]["reused"].as_u64() >= Some(1), "{resumed:#}");
    assert!(resumed["layers"][0]["baked"].as_u64() >= Some(1), "{resumed:#}");
    place.expect(0, &["bake", "shot.toml", "--out", "whole"]);
    for file in ["result.glb", "result.pc2"] {
        assert!(place.read(&format!("killed/{file}")) == place.read(&format!("whole/{file}")), "{file}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_cleanly_and_says_how_to_go_on() {
    let place = place(24, 40);
    let child = place.spawn(&["bake", "shot.toml", "--out", "a folder", "--fresh"]);
    place.wait_for_frames("a folder", 3);
    let signal = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(signal.expect("kill").success());
    let output = child.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("bake shot.toml --out 'a folder'"), "{said}");
    assert!(!said.contains("--fresh"), "resuming must not begin anew: {said}");

    let resumed = place.json(&["bake", "shot.toml", "--out", "a folder", "--json"]);
    assert!(resumed["layers"][0]["reused"].as_u64() >= Some(3), "{resumed:#}");
    place.expect(0, &["bake", "shot.toml", "--out", "whole"]);
    assert!(place.read("a folder/result.glb") == place.read("whole/result.glb"));
}

#[test]
fn outputs_that_cannot_be_written_are_exit_code_3() {
    let place = place(4, 2);
    place.write("file", "not a folder");
    let run = place.expect(3, &["bake", "shot.toml", "--out", "file/out"]);
    assert!(run.stderr.contains("file"), "{}", run.stderr);
    let answer = place.expect(3, &["bake", "shot.toml", "--out", "file/out", "--json"]).json();
    has_keys(&answer, &["ok", "error", "help", "exit_code"]);
    assert_eq!((&answer["ok"], &answer["exit_code"]), (&false.into(), &3.into()));
    place.expect(3, &["convert", "cloth.glb", "file/out.glb"]);
    place.expect(3, &["render", "cloth.glb", "file/out.png", "--size", "16x16"]);
    place.expect(3, &["render", "cloth.glb", "file/out", "--size", "16x16"]);
    place.expect(3, &["new", "file/shot.toml"]);
    place.expect(3, &["man", "--out", "file/man"]);
}

#[test]
fn demos_are_listed_and_baked() {
    let place = Place::new();
    let list = place.expect(0, &["demo", "--list"]).stdout;
    assert!(list.starts_with("flag "), "{list}");
    let names = place.json(&["demo", "--list", "--json"])["demos"].clone();
    assert!(names.as_array().is_some_and(|names| names.len() == list.lines().count()));

    let small = ["--frames", "0-1", "--set", "output.film.width=64", "--set", "output.film.height=48"];
    let run = place.expect(0, &[&["demo", "--set", "output.report=false"], small.as_slice()].concat());
    for file in ["flag.glb", "flag.webp"] {
        let path = format!("followthrough-demo/flag/{file}");
        assert!(run.stdout.contains(&path), "{}", run.stdout);
        assert!(!place.read(&path).is_empty());
    }
    let run = place.expect(2, &["demo", "falg"]);
    assert!(run.stderr.contains("did you mean `flag`?"), "{}", run.stderr);
}

#[test]
fn what_was_baked_is_rendered_again_without_baking() {
    let place = Place::new();
    place.write(
        "puff.toml",
        "[input]\nduration = 0.2\n[[layer]]\nkind = \"smoke\"\ngrid = [24, 24]\nsize = [1.0, 1.0]\n\
         temperature = [{ disc = { centre = [0.5, 0.3], radius = 0.2 }, white = 9.0 }]\n\
         [output]\nfiles = [\"puff.####.png\"]\nreport = false\n[output.film]\nwidth = 32\nheight = 32\n",
    );
    let run = place.expect(1, &["render", "puff.toml", "early.png"]);
    assert!(run.stderr.contains("0 of 5 frames") && run.stderr.contains("bake"), "{}", run.stderr);
    let told = place.expect(0, &["bake", "puff.toml"]).stdout;
    assert!(told.contains("puff.0000.png") && told.contains("5 in all"), "{told}");
    for (out, first) in [
        ("one.png", "one.png"),
        ("film.webp", "film.webp"),
        ("light.##.exr", "light.00.exr"),
        ("folder", "folder/0000.png"),
    ] {
        place.expect(0, &["render", "puff.toml", out]);
        assert!(!place.read(first).is_empty(), "{out}");
    }
    place.expect(0, &["render", "puff.toml", "sheet.png", "--sheet", "4", "--set", "output.film.width=20"]);
    place.expect(2, &["render", "puff.toml", "one.png", "--frame", "9"]);
    place.expect(2, &["render", "puff.toml", "one.obj"]);
}

/// Filling, learning and wedges are left as soon as bakes are: by the signal itself, where there is nothing to say, or with a sentence.
#[cfg(unix)]
#[test]
fn ctrl_c_and_sigterm_end_every_long_command_within_a_second() {
    let place = Place::new();
    place.cloth("cloth.glb", 60, 200);
    place.shot("shot.toml");
    let walks =
        ["walk_normal", "walk_proud", "walk_tired"].map(|walk| format!("[[learn]]\nsample = \"{walk}\"\n"));
    place.write("walks.toml", &format!("kind = \"motion\"\nframe_rate = 30.0\n{}", walks.concat()));
    place.write(
        "flag.toml",
        "kind = \"upsample\"\ncoarse = { sample = \"game_flag_coarse\" }\nfine = { sample = \"game_flag\" }\n\
         follow = { group = \"held\" }\n[[learn]]\nsample = \"game_flag\"\n",
    );
    let commands = [
        // by the signal itself; who runs tests in the background has SIGINT ignored, unless it is asked for
        (&["tetmesh", "sample:quadruped", "--tets", "900000"][..], "-TERM"),
        (&["lattice", "sample:cow", "--cells", "20000"], "-TERM"),
        (&["train", "walks.toml", "-o", "walks.prior"], "-INT"),
        (&["train", "flag.toml", "-o", "flag.ftop"], "-TERM"),
        (&["wedge", "shot.toml", "--vary", "layer[0].damping=0.1,0.2", "--out", "tries"], "-INT"),
    ];
    for (arguments, signal) in commands {
        let mut child = place.spawn(arguments);
        std::thread::sleep(std::time::Duration::from_millis(1500));
        assert!(child.try_wait().expect("asked").is_none(), "{arguments:?} takes longer than that");
        let pressed = std::time::Instant::now();
        let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        let output = child.wait_with_output().expect("ends");
        let seconds = pressed.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(output.status.code(), None | Some(130)),
            "{arguments:?}: {:?} {said}",
            output.status
        );
        // as above
        assert!(seconds < 1.0 + 2.0, "{arguments:?}: {seconds} s");
    }
    for made in ["walks.prior", "flag.ftop"] {
        assert!(!place.path(made).exists(), "{made} was not finished");
    }
}

/// Half a million tets take a minute to make; nobody has to wait for them.
#[cfg(unix)]
#[test]
fn ctrl_c_and_sigterm_end_a_preparation_within_a_second() {
    for signal in ["-INT", "-TERM"] {
        let place = Place::new();
        let text = "[input]\nsample = \"quadruped\"\n[[layer]]\nkind = \"enrich\"\ntets = 500000\n";
        place.write("shot.toml", text);
        let child = place.spawn(&["bake", "shot.toml", "--out", "out"]);
        let begun = std::time::Instant::now();
        while !place.path("out/.bake").exists() && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::thread::sleep(std::time::Duration::from_millis(700));
        let pressed = std::time::Instant::now();
        let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        let output = child.wait_with_output().expect("ends");
        let seconds = pressed.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.contains("bake shot.toml --out out"), "{said}");
        // a busy machine may be slow to end a process; it takes some milliseconds otherwise
        assert!(seconds < 1.0 + 2.0, "{seconds} s");
    }
}
