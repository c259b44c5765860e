//! Priors learnt from captured walks: forces foretold, and whole motions made from a few poses, against what was captured.

#![allow(clippy::print_stderr)] // what is skipped, and what was measured, is said aloud

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use common::{apart, take_of};
use motion::{Example, Footsteps, Guide, Learning, Manner, Prior, Repair, Repaired, Take};

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

/// A captured clip in metres at 30 frames a second, without its first pose, which is one of calibration.
fn take(name: &str) -> Option<Take> {
    let options = clip::ReadOptions { unit_in_metres: Some(0.056444), ..Default::default() };
    let clip = clip::read(asset(&format!("mocap/cmu_bvh/{name}.bvh"))?, &options).unwrap();
    Some(take_of(&clip, 5, 4))
}

/// Part of a take.
fn part(take: &Take, frames: std::ops::Range<usize>) -> Take {
    let frames = frames.start..frames.end.min(take.frame_count());
    Take {
        roots: take.roots[frames.clone()].to_vec(),
        rotations: take.rotations[frames].to_vec(),
        ..take.clone()
    }
}

/// Walks to learn from.
fn walks() -> Option<Vec<Take>> {
    ["16_11", "16_13", "16_15", "16_17", "16_31"].into_iter().map(take).collect()
}

#[test]
fn poses_a_second_and_a_half_apart_make_the_walk_that_was_captured() {
    let Some(walks) = walks() else { return };
    let prior = Arc::new(Prior::learn(&walks, &Learning::default()).unwrap());
    eprintln!("{:?}", prior.size());
    let mut sums = [0.0; 3];
    for name in ["16_21", "16_19"] {
        let Some(whole) = take(name) else { return };
        let truth = part(&whole, 3..3 + 91);
        let keys = [0, 45, 90];
        let run = |guide: Option<Guide>| {
            let keys = keys.iter().copied().filter(|&key| key < truth.frame_count()).collect();
            let repair = Repair { follow: f64::INFINITY, keys, prior: guide, ..Repair::default() };
            let begun = std::time::Instant::now();
            let result = repair.run(&truth).unwrap();
            let off = apart(&result, &truth);
            eprintln!(
                "{name}: {off:.2} cm, {} iterations, converged {}, residual {:.1e}, {:.1} s",
                result.solution.iterations,
                result.solution.converged,
                result.report.root_residual,
                begun.elapsed().as_secs_f64()
            );
            off
        };
        let guide = Guide::new(prior.clone());
        sums[0] += run(Some(guide.clone()));
        sums[1] += run(None);
        sums[2] += run(Some(Guide { manner: Manner::Poses, ..guide }));
    }
    let [ours, torque, poses] = sums.map(|sum| 0.5 * sum);
    eprintln!("held out: {ours:.2} cm, minimal torque {torque:.2}, eigen-poses {poses:.2}");
    assert!(ours < 6.0, "{ours}");
    // measured: 0.59 and 0.71; without the likelihood, from the same start, 0.90 and 1.10
    assert!(ours < 0.7 * torque && ours < 0.8 * poses, "{ours} {torque} {poses}");
}

/// The sparse process errs at most 5 % more than one with every frame in it, on a walk that neither has seen.
#[test]
fn few_samples_stand_for_all() {
    let Some(walks) = walks() else { return };
    let Some(unseen) = take("16_21") else { return };
    let learning = Learning::default();
    let build = Prior::build(&walks, &learning.build).unwrap();
    let examples: Vec<Example> = walks[..3].iter().map(|take| Example::of(take, &build).unwrap()).collect();
    let unseen = Example::of(&unseen, &build).unwrap();
    let learnt = |inducing: usize| {
        let learning = Learning { inducing, ..learning.clone() };
        Prior::from_examples(&walks[..3], &examples, &learning).unwrap()
    };
    let all = examples.iter().map(Example::frame_count).sum::<usize>();
    let (sparse, exact) = (learnt(all / 3), learnt(all));
    let (ours, whole) = (sparse.error(&unseen), exact.error(&unseen));
    eprintln!(
        "{all} frames: error of forces {ours:.3} with {}, {whole:.3} with {}",
        sparse.size().inducing,
        exact.size().inducing
    );
    assert!(ours < 1.05 * whole && whole < 0.9, "{ours} {whole}");
}

/// When one foot comes down, in frames: where nothing of it rested before.
fn strikes(result: &Repaired) -> Vec<Vec<usize>> {
    let feet = result.soles.iter().map(|sole| sole.foot + 1).max().unwrap_or(0);
    let of_foot = |foot: usize| {
        let own = || result.contacts.iter().filter(|contact| result.soles[contact.sole].foot == foot);
        let rests = |frame: usize| own().any(|contact| contact.frames.contains(&frame));
        (1..result.take.frame_count()).filter(|&frame| rests(frame) && !rests(frame - 1)).collect()
    };
    (0..feet).map(of_foot).collect()
}

/// From poses a second and a half apart and nothing of the footsteps between them: where joints are, and when feet come down.
#[test]
fn footsteps_that_nobody_gave_are_found() {
    let Some(walks) = walks() else { return };
    let prior = Arc::new(Prior::learn(&walks, &Learning::default()).unwrap());
    let (mut sum, mut late, mut count) = (0.0, 0.0_f64, 0);
    for name in ["16_21", "16_19"] {
        let Some(whole) = take(name) else { return };
        let truth = part(&whole, 3..3 + 91);
        let keys: Vec<usize> = [0, 45, 90].into_iter().filter(|&key| key < truth.frame_count()).collect();
        let free = Repair { follow: f64::INFINITY, keys, ..Repair::default() };
        let begun = std::time::Instant::now();
        let guide = Some(Guide::new(prior.clone()));
        let result = Repair { footsteps: Footsteps::Free, prior: guide, ..free.clone() }.run(&truth).unwrap();
        let report = &result.report;
        let off = apart(&result, &truth);
        let captured = strikes(&Repair::default().run(&truth).unwrap());
        let ours = strikes(&result);
        eprintln!(
            "{name}: {off:.2} cm, strikes {ours:?}, captured {captured:?}, {} iterations, converged {}, {:.1} s\n{report:?}",
            result.solution.iterations,
            result.solution.converged,
            begun.elapsed().as_secs_f64()
        );
        assert!(report.root_residual < 1e-6 && report.cone_violations == 0, "{report:?}");
        assert!(report.slip < 1e-3 && report.penetration < 1e-3, "{report:?}");
        for (ours, captured) in ours.iter().zip(&captured) {
            assert_eq!(ours.len(), captured.len(), "as many footfalls as there were");
            for (a, b) in ours.iter().zip(captured) {
                late += a.abs_diff(*b) as f64 / truth.frame_rate_hz;
                count += 1;
            }
        }
        sum += 0.5 * off;
    }
    let late = late / f64::from(count);
    eprintln!("{sum:.2} cm, footfalls {:.0} ms from where they were in the mean", 1e3 * late);
    // measured: 4.33 cm, and 56 ms; two of the nine footfalls are 100 and 167 ms early or late
    assert!(sum < 9.0 && late < 0.06, "{sum} cm, {late} s");
}
