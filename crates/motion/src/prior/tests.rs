use geometry::{Quat, Vec3};
use samples::Walker;

use super::*;
use crate::anthropometry::Bone;

/// Strolls of different build, as takes at 30 frames a second.
pub(super) fn strolls() -> Vec<Take> {
    [(0.0, 0.0), (0.01, 0.0), (0.0, 0.004)]
        .map(|(slide, tremble)| {
            let walker = Walker { strides: 2, slide, tremble, cell: 0.06, frame_rate_hz: 30.0 };
            let clip = walker.clip();
            let skeleton = clip.skeleton.as_ref().unwrap();
            let wide = |v: glam::Vec3| Vec3::new(v.x.into(), v.y.into(), v.z.into());
            let bones = skeleton.joints.iter().map(|joint| Bone {
                name: joint.name.clone(),
                parent: joint.parent,
                offset: wide(joint.rest.translation),
                tip: None,
            });
            let (mut roots, mut rotations) = (Vec::new(), Vec::new());
            for index in 0..clip.frame_count() {
                let pose = clip.frame(index).unwrap().pose;
                roots.push(wide(pose[0].translation));
                rotations.push(pose.iter().map(|t| t.rotation.as_dquat().normalize()).collect::<Vec<Quat>>());
            }
            Take { bones: bones.collect(), frame_rate_hz: 30.0, roots, rotations }
        })
        .to_vec()
}

#[test]
fn what_is_written_is_read_and_what_is_broken_is_said() {
    let takes = strolls();
    let prior = Prior::learn(&takes[..2], &Learning { inducing: 20, ..Learning::default() }).unwrap();
    let size = prior.size();
    assert_eq!((size.takes, size.inducing), (2, 20));
    assert!(size.states < 12 && size.forces < 15, "{size:?}");
    let bytes = prior.to_bytes();
    assert_eq!(Prior::from_bytes(&bytes).unwrap(), prior);
    let sentence = |bytes: &[u8]| Prior::from_bytes(bytes).unwrap_err().to_string();
    assert!(sentence(b"solid cube").contains("not a prior"));
    assert!(sentence(&bytes[..bytes.len() - 9]).contains("cut short"));
    assert!(sentence(&bytes[..9]).contains("version"));
    let mut other = bytes.clone();
    other[8] = 9;
    assert!(sentence(&other).contains("another version"));
    for at in (0..bytes.len()).step_by(bytes.len() / 97) {
        let mut other = bytes.clone();
        other[at] ^= 0x41;
        assert!(Prior::from_bytes(&other).is_err(), "byte {at}");
    }
    let mut stranger = takes[2].clone();
    stranger.bones[3].name = "Tail".into();
    assert!(prior.check(&stranger).unwrap_err().to_string().contains("`Tail` here"));
    stranger.bones.truncate(5);
    assert!(prior.check(&stranger).unwrap_err().to_string().contains("5 here"));
}

#[test]
fn forces_of_a_walk_that_was_not_seen_are_foretold() {
    let takes = strolls();
    let learning = Learning::default();
    let build = Prior::build(&takes, &learning.build).unwrap();
    let examples: Vec<Example> = takes.iter().map(|take| Example::of(take, &build).unwrap()).collect();
    let prior = Prior::from_examples(&takes[..2], &examples[..2], &learning).unwrap();
    let error = prior.error(&examples[2]);
    assert!(error < 0.35, "{error}");
}
