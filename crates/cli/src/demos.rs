//! The shots that come with the program: what `demo` bakes, what `new --from` writes, and the book's examples.

use crate::error::CliError;

/// A shot that comes with the program.
pub(crate) struct Demo {
    /// What people type.
    pub(crate) name: &'static str,
    /// The shot file.
    pub(crate) text: &'static str,
    /// The training file of the operator or the prior that the shot uses, where it uses one.
    pub(crate) training: Option<&'static str>,
}

/// All of them, the best to begin with first.
pub(crate) const ALL: &[Demo] = &[
    Demo { name: "flag", text: include_str!("../demos/flag.toml"), training: None },
    Demo { name: "curtain", text: include_str!("../demos/curtain.toml"), training: None },
    Demo { name: "quadruped", text: include_str!("../demos/quadruped.toml"), training: None },
    Demo { name: "balance", text: include_str!("../demos/balance.toml"), training: None },
    Demo { name: "biped", text: include_str!("../demos/biped.toml"), training: None },
    Demo { name: "plant", text: include_str!("../demos/plant.toml"), training: None },
    Demo { name: "ball", text: include_str!("../demos/ball.toml"), training: None },
    Demo { name: "completion", text: include_str!("../demos/completion.toml"), training: None },
    Demo { name: "cow", text: include_str!("../demos/cow.toml"), training: None },
    Demo { name: "cow-head", text: include_str!("../demos/cow-head.toml"), training: None },
    Demo { name: "kangaroo", text: include_str!("../demos/kangaroo.toml"), training: None },
    Demo { name: "loop", text: include_str!("../demos/loop.toml"), training: None },
    Demo { name: "corrective", text: include_str!("../demos/corrective.toml"), training: None },
    Demo { name: "tail", text: include_str!("../demos/tail.toml"), training: None },
    Demo { name: "elbow", text: include_str!("../demos/elbow.toml"), training: None },
    Demo { name: "cape", text: include_str!("../demos/cape.toml"), training: None },
    Demo { name: "belly", text: include_str!("../demos/belly.toml"), training: None },
    Demo { name: "costume", text: include_str!("../demos/costume.toml"), training: None },
    Demo { name: "dress", text: include_str!("../demos/dress.toml"), training: None },
    Demo { name: "robe", text: include_str!("../demos/robe.toml"), training: None },
    Demo { name: "pudding", text: include_str!("../demos/pudding.toml"), training: None },
    Demo { name: "repair", text: include_str!("../demos/repair.toml"), training: None },
    Demo { name: "push", text: include_str!("../demos/push.toml"), training: None },
    Demo { name: "backflip", text: include_str!("../demos/backflip.toml"), training: None },
    Demo { name: "mocap-cape", text: include_str!("../demos/mocap-cape.toml"), training: None },
    Demo { name: "bulge", text: include_str!("../demos/bulge.toml"), training: None },
    Demo { name: "shoulder", text: include_str!("../demos/shoulder.toml"), training: None },
    Demo { name: "diver", text: include_str!("../demos/diver.toml"), training: None },
    Demo { name: "moon", text: include_str!("../demos/moon.toml"), training: None },
    Demo { name: "moon-cape", text: include_str!("../demos/moon-cape.toml"), training: None },
    Demo { name: "resistance", text: include_str!("../demos/resistance.toml"), training: None },
    Demo { name: "slippery", text: include_str!("../demos/slippery.toml"), training: None },
    Demo { name: "slope", text: include_str!("../demos/slope.toml"), training: None },
    Demo {
        name: "sneaky",
        text: include_str!("../demos/sneaky.toml"),
        training: Some(include_str!("../demos/sneaky.training.toml")),
    },
    Demo {
        name: "heavy-shoe",
        text: include_str!("../demos/heavy-shoe.toml"),
        training: Some(include_str!("../demos/heavy-shoe.training.toml")),
    },
    Demo { name: "hurdle", text: include_str!("../demos/hurdle.toml"), training: None },
    Demo {
        name: "run-walk-jump",
        text: include_str!("../demos/run-walk-jump.toml"),
        training: Some(include_str!("../demos/run-walk-jump.training.toml")),
    },
    Demo { name: "drape", text: include_str!("../demos/drape.toml"), training: None },
    Demo { name: "sheet", text: include_str!("../demos/sheet.toml"), training: None },
    Demo { name: "box", text: include_str!("../demos/box.toml"), training: None },
    Demo { name: "bag", text: include_str!("../demos/bag.toml"), training: None },
    Demo { name: "puppet", text: include_str!("../demos/puppet.toml"), training: None },
    Demo { name: "branch", text: include_str!("../demos/branch.toml"), training: None },
    Demo { name: "preview", text: include_str!("../demos/preview.toml"), training: None },
    Demo { name: "limits", text: include_str!("../demos/limits.toml"), training: None },
    Demo { name: "silhouette", text: include_str!("../demos/silhouette.toml"), training: None },
    Demo { name: "letters", text: include_str!("../demos/letters.toml"), training: None },
    Demo { name: "magic-smoke", text: include_str!("../demos/magic-smoke.toml"), training: None },
    Demo { name: "bowl", text: include_str!("../demos/bowl.toml"), training: None },
    Demo { name: "obstacle", text: include_str!("../demos/obstacle.toml"), training: None },
    Demo { name: "warp", text: include_str!("../demos/warp.toml"), training: None },
    Demo { name: "fog", text: include_str!("../demos/fog.toml"), training: None },
    Demo {
        name: "game-cape",
        text: include_str!("../demos/game-cape.toml"),
        training: Some(include_str!("../demos/game-cape.training.toml")),
    },
    Demo {
        name: "game-skirt",
        text: include_str!("../demos/game-skirt.toml"),
        training: Some(include_str!("../demos/game-skirt.training.toml")),
    },
    Demo {
        name: "game-flag",
        text: include_str!("../demos/game-flag.toml"),
        training: Some(include_str!("../demos/game-flag.training.toml")),
    },
    Demo {
        name: "game-curtain",
        text: include_str!("../demos/game-curtain.toml"),
        training: Some(include_str!("../demos/game-curtain.training.toml")),
    },
];

/// What `new` writes when it is told nothing else.
pub(crate) const TEMPLATE: &str = include_str!("../demos/new.toml");

impl Demo {
    /// What the training file is called.
    pub(crate) fn training_name(&self) -> String {
        format!("{}.training.toml", self.name)
    }

    /// What comes out of the training is called.
    pub(crate) fn trained_name(&self) -> String {
        let kind = self.training.and_then(|training| train::kind(self.name, training).ok());
        format!("{}.{}", self.name, kind.map_or("ftop", train::Kind::extension))
    }

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
        let template = Demo { name: "new", text: TEMPLATE, training: None };
        for Demo { name, text, training } in ALL.iter().chain([&template]) {
            let shot = followthrough::parse(text).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let mut mistakes = shot.check();
            if let Some(training) = training {
                let registry = followthrough::registry();
                let read = train::check(name, training, "".as_ref(), &registry);
                read.unwrap_or_else(|error| panic!("{name}: {error:?}"));
                // what is to be trained is not there yet
                mistakes
                    .retain(|mistake| ![".ftop", ".prior"].iter().any(|end| mistake.excerpt().contains(end)));
            }
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
