//! The list of samples, for menus and for tests that go through all of them.

use clip::Clip;

use crate::{Banner, Course, Figure, Garment, Performance, Portiere, Style, Visitor};

/// An entry of the list.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// What people type.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Makes it as it comes.
    pub make: fn() -> Clip,
}

/// Every sample.
pub fn all() -> &'static [Sample] {
    &[
        Sample {
            name: "flag",
            summary: "a flag on a pole, standing still, held by its hoist",
            make: crate::flag,
        },
        Sample {
            name: "curtain",
            summary: "a curtain on rings, drawn open and closed",
            make: crate::curtain,
        },
        Sample { name: "sheet", summary: "the benchmark sheet, two corners pinned", make: crate::sheet },
        Sample { name: "drape", summary: "a tablecloth above a round table", make: crate::drape },
        Sample {
            name: "box_guide",
            summary: "a box of eight points that twists and stops dead",
            make: crate::box_guide,
        },
        Sample { name: "box_fine", summary: "the same box with 1,538 points", make: crate::box_fine },
        Sample { name: "bag", summary: "a bag of 88 points that turns a backflip", make: crate::bag },
        Sample { name: "bag_fine", summary: "the same bag with 1,297 points", make: crate::bag_fine },
        Sample {
            name: "puppet",
            summary: "an X of 3,038 points that walks, struggles, is electrocuted",
            make: crate::puppet,
        },
        Sample {
            name: "branch",
            summary: "a preview of 35 points: a cloth is blown onto a branch",
            make: crate::branch,
        },
        Sample {
            name: "preview",
            summary: "a cloth that two hands swing: coarse, fine, and coarse again",
            make: crate::preview,
        },
        Sample {
            name: "drawn",
            summary: "a guide of 24 points that is drawn out by half its length, twice",
            make: crate::drawn,
        },
        Sample {
            name: "quadruped",
            summary: "a young elephant that walks: belly, ears, trunk, tail",
            make: crate::quadruped,
        },
        Sample {
            name: "quadruped_ball",
            summary: "the elephant again, and a ball that hits its belly",
            make: crate::quadruped_ball,
        },
        Sample {
            name: "cow",
            summary: "a cow that hops once and tosses its head: udder, dewlap, ears, horns",
            make: crate::cow,
        },
        Sample { name: "cow_head", summary: "its head alone, turned by 90°", make: crate::cow_head },
        Sample {
            name: "kangaroo",
            summary: "a kangaroo that hops on the spot: belly, tail, ears",
            make: crate::kangaroo,
        },
        Sample { name: "tail", summary: "a long tail on a rump that wags and stops dead", make: crate::tail },
        Sample { name: "elbow", summary: "a round bar that bends by 90° and 120°", make: crate::elbow },
        Sample {
            name: "walker",
            summary: "a person who strolls, roughly drawn: feet slide, joints tremble",
            make: crate::walker,
        },
        Sample {
            name: "walk_normal",
            summary: "a walk as on any day",
            make: || Style::ALL[0].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "walk_sneaky",
            summary: "a walk on tiptoe by night: low, slow, feet high",
            make: || Style::ALL[1].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "walk_proud",
            summary: "a walk upright, with wide arms",
            make: || Style::ALL[2].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "walk_tired",
            summary: "a walk after a long day",
            make: || Style::ALL[3].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "walk_brisk",
            summary: "a walk of someone who is late",
            make: || Style::ALL[4].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "walk_marching",
            summary: "a walk in step, arms straight",
            make: || Style::ALL[5].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "walk_cautious",
            summary: "a walk in the dark, arms out",
            make: || Style::ALL[6].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "walk_swaggering",
            summary: "a walk with much hip and shoulder",
            make: || Style::ALL[7].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "walk_stooping",
            summary: "a walk bent far ahead",
            make: || Style::ALL[8].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "walk_stiff",
            summary: "a walk without arms",
            make: || Style::ALL[9].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "walk_small",
            summary: "a walk in small quick steps",
            make: || Style::ALL[10].1.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "sneak",
            summary: "a sneaky walk unlike `walk_sneaky`: quicker, with longer steps",
            make: || Style::SNEAK.clip(2.0, 0.0, 30.0),
        },
        Sample {
            name: "hurdle",
            summary: "a walk with long steps, and ground with a hurdle that it knows nothing of",
            make: crate::hurdle,
        },
        Sample {
            name: "run_walk_jump",
            summary: "a person who runs, slows to a walk, stops and jumps",
            make: || Course::default().clip(30.0),
        },
        Sample {
            name: "run_walk_jump_slow",
            summary: "the same, slower and not as high",
            make: || Course { speed: 2.1, flight: 0.34 }.clip(30.0),
        },
        Sample {
            name: "run_walk_jump_fast",
            summary: "the same, faster and higher",
            make: || Course { speed: 2.45, flight: 0.42 }.clip(30.0),
        },
        Sample {
            name: "hill",
            summary: "the same stroll on level ground, and a ramp that it is to go up",
            make: crate::hill,
        },
        Sample {
            name: "head",
            summary: "a head of which only the face was tracked, with teeth",
            make: crate::head,
        },
        Sample {
            name: "biped",
            summary: "a round fellow in a nightcap who bounces along",
            make: crate::biped,
        },
        Sample { name: "biped_cape", summary: "the same fellow in a cape", make: crate::biped_cape },
        Sample {
            name: "figure_costume",
            summary: "a person who turns round in five garments over each other",
            make: crate::figure_costume,
        },
        Sample {
            name: "backflip",
            summary: "a skeleton that turns a backflip, without a mesh",
            make: crate::backflip,
        },
        Sample {
            name: "person_walk",
            summary: "a person who sets out for a walk, to be dressed",
            make: crate::person_walk,
        },
        Sample {
            name: "dress",
            summary: "a dress of 5,000 points for that person at rest, alone",
            make: crate::dress,
        },
        Sample {
            name: "robe",
            summary: "two panels of a robe for that person, 1,568 points, to be sewn",
            make: crate::robe,
        },
        Sample { name: "arm", summary: "a round arm that bends; a sculpted muscle", make: crate::arm },
        Sample {
            name: "shoulder",
            summary: "a shoulder raised, swung ahead and folded; five sculpts",
            make: crate::shoulder,
        },
        Sample {
            name: "diver",
            summary: "a stout diver who rolls into a ball; 46 bones, two sculpts",
            make: crate::diver,
        },
        Sample {
            name: "plant",
            summary: "a potted plant, lifted, jerked aside and put down",
            make: crate::plant,
        },
        Sample {
            name: "pudding",
            summary: "a pudding that stands still, held by its foot",
            make: crate::pudding,
        },
        Sample { name: "cherry", summary: "a ball about the origin that stands still", make: crate::cherry },
        Sample {
            name: "game_cape_coarse",
            summary: "a cape of 98 points, alone: what a game simulates",
            make: || Garment::Cape.alone([6, 13]),
        },
        Sample {
            name: "game_cape_walk",
            summary: "a person in a cape who strolls and hurries",
            make: || Figure::in_cape(Performance::Walk, 6.0).clip(),
        },
        Sample {
            name: "game_cape_run",
            summary: "the same person runs",
            make: || Figure::in_cape(Performance::Run, 2.5).clip(),
        },
        Sample {
            name: "game_cape_boxing",
            summary: "the same person boxes",
            make: || Figure::in_cape(Performance::Boxing, 4.0).clip(),
        },
        Sample {
            name: "game_skirt_coarse",
            summary: "a skirt of 196 points, alone: what a game simulates",
            make: || Garment::Skirt.alone([14, 13]),
        },
        Sample {
            name: "game_skirt_walk",
            summary: "a person in a skirt who strolls and hurries",
            make: || Figure::in_skirt(Performance::Walk, 6.0).clip(),
        },
        Sample {
            name: "game_skirt_dance",
            summary: "the same person dances",
            make: || Figure::in_skirt(Performance::Dance, 5.0).clip(),
        },
        Sample {
            name: "game_skirt_jacks",
            summary: "the same person does jumping jacks",
            make: || Figure::in_skirt(Performance::JumpingJacks, 3.0).clip(),
        },
        Sample {
            name: "game_flag_coarse",
            summary: "a flag of 150 points, alone: what a game simulates",
            make: || Banner::alone([14, 9]),
        },
        Sample {
            name: "game_flag",
            summary: "a flag on a pole that stands",
            make: || Banner::default().clip(),
        },
        Sample {
            name: "game_flag_raised",
            summary: "the same flag raised and waved",
            make: || Banner { raised: true, ..Banner::default() }.clip(),
        },
        Sample {
            name: "game_curtain_coarse",
            summary: "a curtain of 121 points, alone: what a game simulates",
            make: || Portiere::alone([10, 10]),
        },
        Sample {
            name: "game_curtain",
            summary: "a small ball that goes through a curtain",
            make: || Portiere::default().clip(),
        },
        Sample {
            name: "game_curtain_big",
            summary: "a big ball that goes through the same curtain",
            make: || Portiere { visitor: Visitor::Big, ..Portiere::default() }.clip(),
        },
        Sample {
            name: "game_curtain_shot",
            summary: "three balls shot at the same curtain",
            make: || Portiere { visitor: Visitor::Shot, seconds: 3.0, ..Portiere::default() }.clip(),
        },
    ]
}

/// The sample with this name.
pub fn by_name(name: &str) -> Option<&'static Sample> {
    all().iter().find(|sample| sample.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_samples_repeat_bit_for_bit() {
        for (i, sample) in all().iter().enumerate() {
            assert!(all()[..i].iter().all(|other| other.name != sample.name));
            assert!(by_name(sample.name).is_some_and(|found| found.summary == sample.summary));
            let (a, b) = ((sample.make)(), (sample.make)());
            assert_eq!(a.meshes, b.meshes, "{}", sample.name);
            assert_eq!(a.images, b.images, "{}", sample.name);
            let last = a.frame_count() - 1;
            assert_eq!(a.frame(last).unwrap(), b.frame(last).unwrap(), "{}", sample.name);
        }
        assert!(by_name("no such sample").is_none());
    }
}
