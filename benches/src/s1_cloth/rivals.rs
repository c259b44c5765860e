//! The same sheet in other people's cloth: time per frame, stretch and the lowest point after 2 s. Ours falls to about −2 m.

use serde_json::{Map, Value, json};

use crate::peers;

/// A program from PyPI that can move a sheet.
struct Rival {
    name: &'static str,
    package: &'static str,
    module: &'static str,
    script: &'static str,
    /// Cells per side beyond which it takes minutes.
    most: usize,
}

const RIVALS: [Rival; 4] = [
    Rival { name: "Blender", package: "bpy", module: "bpy", script: "blender_cloth.py", most: 100 },
    Rival { name: "MuJoCo", package: "mujoco", module: "mujoco", script: "mujoco_cloth.py", most: 50 },
    Rival { name: "Newton", package: "newton", module: "newton, warp", script: "newton_cloth.py", most: 50 },
    Rival { name: "pyPBD", package: "pyPBD", module: "pypbd", script: "pbd_cloth.py", most: 50 },
];

/// Runs every rival that can be installed, prints a line per run, and returns the runs by name.
pub(crate) fn run(resolutions: &[usize]) -> Value {
    println!(
        "\n{:<8} {:<14} {:>5} {:>9} {:>9} {:>9}",
        "peer", "setting", "N", "ms/frame", "stretch", "lowest"
    );
    let mut all = Map::new();
    for rival in &RIVALS {
        all.insert(rival.name.to_owned(), rival.run(resolutions));
    }
    all.into()
}

impl Rival {
    fn run(&self, resolutions: &[usize]) -> Value {
        let cells = resolutions.iter().filter(|&&n| n <= self.most).map(ToString::to_string);
        let runs = match peers::measured(self.package, self.module, self.script, cells) {
            Ok(runs) => runs,
            Err(reason) => {
                println!("{} is skipped: {reason}", self.name);
                return json!({ "skipped": reason });
            }
        };
        for run in &runs {
            let number = |key: &str| run[key].as_f64().unwrap_or(f64::NAN);
            println!(
                "{:<8} {:<14} {:>5} {:>9.1} {:>8.2}% {:>+8.3}m",
                self.name,
                run["setting"].as_str().unwrap_or_default(),
                number("cells"),
                number("ms_per_frame"),
                100.0 * number("stretch_at_the_end"),
                number("lowest_point")
            );
        }
        runs.into()
    }
}
