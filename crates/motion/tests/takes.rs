//! Captured takes, repaired: what must be true of the result, measured anew.

use std::path::PathBuf;

use geometry::{Quat, Vec3};
use motion::{Bone, Repair, Take};

/// A file of the test assets; says so aloud where they are not there.
fn asset(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("FOLLOWTHROUGH_ASSETS").map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/assets"));
    let path = folder.join(name);
    if !path.is_file() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// A captured clip in metres, every `stride`-th frame from `from` on.
fn take(name: &str, from: usize, count: usize, stride: usize) -> Option<Take> {
    let options = clip::ReadOptions { unit_in_metres: Some(0.056444), ..Default::default() };
    let clip = clip::read(asset(&format!("mocap/cmu_bvh/{name}.bvh"))?, &options).unwrap();
    let skeleton = clip.skeleton.as_ref().unwrap();
    let tips = &clip.bvh.as_ref().unwrap().end_sites;
    let wide = |v: glam::Vec3| Vec3::new(v.x.into(), v.y.into(), v.z.into());
    let bones = skeleton.joints.iter().enumerate().map(|(index, joint)| Bone {
        name: joint.name.clone(),
        parent: joint.parent,
        offset: wide(joint.rest.translation),
        tip: tips.iter().find(|tip| tip.0 == index).map(|tip| wide(tip.1)),
    });
    let (mut roots, mut rotations) = (Vec::new(), Vec::new());
    for index in (from..clip.frame_count()).step_by(stride).take(count) {
        let pose = clip.frame(index).unwrap().pose;
        roots.push(wide(pose[0].translation));
        let turn =
            |q: glam::Quat| Quat::from_xyzw(q.x.into(), q.y.into(), q.z.into(), q.w.into()).normalize();
        rotations.push(pose.iter().map(|transform| turn(transform.rotation)).collect());
    }
    Some(Take { bones: bones.collect(), frame_rate_hz: clip.frame_rate_hz / stride as f64, roots, rotations })
}

#[test]
fn a_walk_is_repaired() {
    let Some(take) = take("16_15", 1, 120, 2) else { return };
    let start = std::time::Instant::now();
    let repaired = Repair::default().run(&take).unwrap();
    eprintln!("{:?} dofs {} in {:?}", repaired.report, repaired.body.dof_count(), start.elapsed());
    eprintln!("iterations {} converged {}", repaired.solution.iterations, repaired.solution.converged);
    eprintln!("mass {} ground {:?}", repaired.body.mass(), repaired.ground);
    for contact in &repaired.contacts {
        eprintln!("{} {:?} {:.3}", repaired.soles[contact.sole].name, contact.frames, contact.anchor);
    }
}
