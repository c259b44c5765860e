//! What the demos' garments keep out of: capsules that hold the whole body beneath them.

use geometry::Vec3;
use layers::{Joints, RiggedCapsule, place_capsules};
use samples::Sample;

/// Shown points stay this far away from capsules, in mm.
const SHOWN: u32 = 5;

fn sample(name: &str) -> clip::Clip {
    let found: Option<&Sample> = samples::all().iter().find(|sample| sample.name == name);
    (found.unwrap().make)()
}

/// How far in mm outside all capsules the farthest of the body's points is over which a garment hangs, in any third frame.
fn farthest_outside(training: &str, motion: &str, covered: fn(Vec3) -> bool) -> (u32, Vec3) {
    let table: toml::Table = toml::from_str(training).unwrap();
    let capsules: Vec<RiggedCapsule> = table["capsule"].clone().try_into().unwrap();
    let clip = sample(motion);
    let body = clip.mesh_index("body").unwrap();
    let names = capsules.iter().flat_map(RiggedCapsule::joint_names);
    let joints = Joints::of(&clip, body, names, "capsule").unwrap();
    let rest = clip.meshes[body].rest();
    let (mut farthest, mut place) = (0, Vec3::ZERO);
    for index in (0..clip.frame_count()).step_by(3) {
        let frame = clip.frame(index).unwrap();
        let placed = place_capsules(&capsules, &joints.transforms(&clip, &frame));
        for (p, at) in frame.points[body].iter().zip(&rest).filter(|(_, rest)| covered(**rest)) {
            while !placed.iter().any(|capsule| capsule.way_out(*p, 1e-3 * farthest as f32).is_some()) {
                (farthest, place) = (farthest + 1, *at);
            }
        }
    }
    (farthest, place)
}

/// A cape hangs behind shoulders, arms and legs; nobody sees it between the legs.
fn under_a_cape(rest: Vec3) -> bool {
    (0.1..1.42).contains(&rest.y) && rest.z < -0.03 && (rest.y > 0.85 || rest.x.abs() > 0.05)
}

/// A skirt hangs all around from the waist down.
fn under_a_skirt(rest: Vec3) -> bool {
    (0.1..1.02).contains(&rest.y) && rest.x.abs() < 0.25 && (rest.y > 0.85 || rest.x.abs() > 0.05)
}

#[test]
fn capsules_of_the_figure_hold_its_body() {
    let cape = include_str!("../../cli/demos/game-cape.training.toml");
    let skirt = include_str!("../../cli/demos/game-skirt.training.toml");
    for motion in ["game_cape_walk", "game_cape_run", "game_cape_boxing"] {
        let (most, place) = farthest_outside(cape, motion, under_a_cape);
        assert!(most <= SHOWN, "{motion}: {most} mm at {place}");
    }
    for motion in ["game_skirt_walk", "game_skirt_dance", "game_skirt_jacks"] {
        let (most, place) = farthest_outside(skirt, motion, under_a_skirt);
        assert!(most <= SHOWN, "{motion}: {most} mm at {place}");
    }
}
