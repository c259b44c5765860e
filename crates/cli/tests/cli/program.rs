//! Runs the program in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clip::{Clip, Mesh, WriteOptions};
use serde_json::Value;
use tempfile::TempDir;

/// A folder, and the program run in it.
pub(crate) struct Place {
    folder: TempDir,
}

/// What a run left.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("writes");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_followthrough"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs to the end; whatever happens, it must not panic.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let output = self.command(arguments).output().expect("the program starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let run = Run {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!run.stderr.contains("panicked"), "{arguments:?}: {}", run.stderr);
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains(['\u{1b}', '\r']), "{arguments:?}: control characters in {text:?}");
        }
        run
    }

    /// Runs to the end, expecting this exit code.
    pub(crate) fn expect(&self, code: i32, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, code, "{arguments:?}\nstdout: {}\nstderr: {}", run.stdout, run.stderr);
        run
    }

    /// Runs with success and reads the one JSON object on stdout.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.expect(0, arguments).json()
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    }

    /// Waits until so many frames lie in the bake of a folder.
    pub(crate) fn wait_for_frames(&self, out: &str, count: usize) {
        let begun = Instant::now();
        while frames_in(&self.path(out).join(".bake")) < count {
            assert!(begun.elapsed() < Duration::from_secs(60), "no {count} frames after a minute");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A cloth of `n` × `n` quads held by its left edge (group `hoist`), standing still for so many frames.
    pub(crate) fn cloth(&self, name: &str, n: usize, frames: usize) {
        let at = |k: usize| [(k % (n + 1)) as f32 / n as f32, 1.0 + (k / (n + 1)) as f32 / n as f32, 0.0];
        let points: Vec<[f32; 3]> = (0..(n + 1) * (n + 1)).map(at).collect();
        let mut triangles = Vec::new();
        for (i, j) in (0..n * n).map(|k| (k % n, k / n)) {
            let corner = |di: usize, dj: usize| ((j + dj) * (n + 1) + i + di) as u32;
            triangles.push([corner(0, 0), corner(1, 0), corner(1, 1)]);
            triangles.push([corner(0, 0), corner(1, 1), corner(0, 1)]);
        }
        let mut mesh = Mesh::new("cloth", points.clone(), &triangles);
        mesh.set_group("hoist", points.iter().map(|p| if p[0] == 0.0 { 1.0 } else { 0.0 }).collect());
        let clip = Clip::still(mesh, 24.0, frames);
        clip::write(self.path(name), &clip, &WriteOptions::default()).expect("writes");
    }

    /// A shot over `cloth.glb` in wind, without a report.
    pub(crate) fn shot(&self, name: &str) {
        self.write(
            name,
            r#"
[input]
file = "cloth.glb"

[[layer]]
kind = "cloth"
material = "silk"
follow = { group = "hoist" }
wind = { speed = 4.0, direction = [1.0, 0.0, 0.5] }

[output]
files = ["result.glb", "result.pc2"]
report = false
"#,
        );
    }
}

impl Run {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

fn frames_in(bakes: &Path) -> usize {
    let folders = std::fs::read_dir(bakes).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.filter(|file| file.file_name().to_string_lossy().starts_with("frame-")).count()
}

/// Asserts that an object has these keys.
pub(crate) fn has_keys(object: &Value, keys: &[&str]) {
    for key in keys {
        assert!(object.get(key).is_some(), "no `{key}` in {object:#}");
    }
}
