//! The shots that come with the program: what `demo` bakes, what `new --from` writes, and the book's examples.

use crate::error::CliError;

/// A shot that comes with the program.
pub(crate) struct Demo {
    /// What people type.
    pub(crate) name: &'static str,
    /// The shot file.
    pub(crate) text: &'static str,
}

/// All of them, the best to begin with first.
pub(crate) const ALL: &[Demo] = &[
    Demo { name: "flag", text: include_str!("../demos/flag.toml") },
    Demo { name: "curtain", text: include_str!("../demos/curtain.toml") },
    Demo { name: "quadruped", text: include_str!("../demos/quadruped.toml") },
    Demo { name: "balance", text: include_str!("../demos/balance.toml") },
    Demo { name: "biped", text: include_str!("../demos/biped.toml") },
    Demo { name: "plant", text: include_str!("../demos/plant.toml") },
    Demo { name: "ball", text: include_str!("../demos/ball.toml") },
    Demo { name: "completion", text: include_str!("../demos/completion.toml") },
    Demo { name: "cape", text: include_str!("../demos/cape.toml") },
    Demo { name: "belly", text: include_str!("../demos/belly.toml") },
    Demo { name: "pudding", text: include_str!("../demos/pudding.toml") },
    Demo { name: "repair", text: include_str!("../demos/repair.toml") },
    Demo { name: "push", text: include_str!("../demos/push.toml") },
    Demo { name: "drape", text: include_str!("../demos/drape.toml") },
    Demo { name: "sheet", text: include_str!("../demos/sheet.toml") },
    Demo { name: "box", text: include_str!("../demos/box.toml") },
    Demo { name: "bag", text: include_str!("../demos/bag.toml") },
    Demo { name: "puppet", text: include_str!("../demos/puppet.toml") },
    Demo { name: "branch", text: include_str!("../demos/branch.toml") },
    Demo { name: "letters", text: include_str!("../demos/letters.toml") },
    Demo { name: "magic-smoke", text: include_str!("../demos/magic-smoke.toml") },
    Demo { name: "bowl", text: include_str!("../demos/bowl.toml") },
    Demo { name: "obstacle", text: include_str!("../demos/obstacle.toml") },
    Demo { name: "warp", text: include_str!("../demos/warp.toml") },
    Demo { name: "fog", text: include_str!("../demos/fog.toml") },
];

/// What `new` writes when it is told nothing else.
pub(crate) const TEMPLATE: &str = include_str!("../demos/new.toml");

impl Demo {
    /// The first line of the file, without its comment sign.
    pub(crate) fn summary(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']).trim_end_matches('.')
    }
}

/// The demo with this name.
pub(crate) fn by_name(name: &str) -> Result<&'static Demo, CliError> {
    ALL.iter().find(|demo| demo.name == name).ok_or_else(|| {
        let known = ALL.iter().map(|demo| demo.name);
        CliError::usage(format!("there is no demo `{name}`")).with_help(shot::suggest(name, known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demos_and_the_template_have_no_mistakes() {
        for Demo { name, text } in ALL.iter().chain([&Demo { name: "new", text: TEMPLATE }]) {
            let shot = followthrough::parse(text).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let mistakes = shot.check();
            assert!(mistakes.is_empty(), "{name}: {mistakes:?}");
        }
    }

    #[test]
    fn demos_say_what_they_are_and_write_what_newcomers_look_at() {
        for demo in ALL {
            assert!(demo.text.starts_with("# ") && demo.summary().len() > 10, "{}", demo.name);
            let shot =
                followthrough::parse(demo.text).unwrap_or_else(|error| panic!("{}: {error:?}", demo.name));
            let files = shot.output.files.unwrap_or_default();
            // an empty scene has no mesh to write
            let endings: &[&str] = if shot.input.duration.is_some() { &["webp"] } else { &["glb", "webp"] };
            for ending in endings {
                let name = format!("{}.{ending}", demo.name);
                assert!(files.iter().any(|file| file.as_os_str() == name.as_str()), "{}: {name}", demo.name);
            }
            assert!(shot.output.report);
        }
    }
}
