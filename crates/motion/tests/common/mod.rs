//! What tests of takes share.

use clip::Clip;
use geometry::{Quat, Vec3};
use motion::{Bone, Data, Repaired, Take};

/// A clip of one figure as a take: every `stride`-th frame from `from` on.
pub(crate) fn take_of(clip: &Clip, from: usize, stride: usize) -> Take {
    let skeleton = clip.skeleton.as_ref().unwrap();
    let tips = clip.bvh.as_ref().map(|layout| layout.end_sites.as_slice()).unwrap_or_default();
    let bones = skeleton.joints.iter().enumerate().map(|(index, joint)| Bone {
        name: joint.name.clone(),
        parent: joint.parent,
        offset: joint.rest.translation.as_dvec3(),
        tip: tips.iter().find(|tip| tip.0 == index).map(|tip| tip.1.as_dvec3()),
    });
    let (mut roots, mut rotations) = (Vec::new(), Vec::new());
    for index in (from..clip.frame_count()).step_by(stride) {
        let pose = clip.frame(index).unwrap().pose;
        roots.push(pose[0].translation.as_dvec3());
        rotations.push(pose.iter().map(|t| t.rotation.as_dquat().normalize()).collect::<Vec<Quat>>());
    }
    Take { bones: bones.collect(), frame_rate_hz: clip.frame_rate_hz / stride as f64, roots, rotations }
}

/// The mean distance of a result's joints from a take's, in cm.
pub(crate) fn apart(result: &Repaired, truth: &Take) -> f64 {
    let body = &result.body;
    let mut data = Data::new(body);
    let mut places = |take: &Take| -> Vec<Vec3> {
        let joints = 0..body.joints().len();
        let place = |q: &Vec<f64>| {
            data.kinematics(body, q);
            joints.clone().map(|joint| data.point(body, joint, Vec3::ZERO)).collect::<Vec<_>>()
        };
        take.coordinates(body).iter().flat_map(place).collect()
    };
    let (ours, theirs) = (places(&result.take), places(truth));
    100.0 * ours.iter().zip(&theirs).map(|(a, b)| a.distance(*b)).sum::<f64>() / ours.len() as f64
}
