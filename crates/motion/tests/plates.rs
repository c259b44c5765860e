//! Forces found from markers alone, beside those that plates under the feet measured.
//!
//! `BOOK_WRITE=1 cargo test -p followthrough-motion --test plates` draws them for the book.

#![allow(clippy::print_stderr)] // what is skipped, and what was measured, is said aloud

#[path = "common/panels.rs"]
mod panels;
#[path = "plates/walk.rs"]
mod walk;

use geometry::Vec3;
use motion::{Example, Learning, Prior};
use panels::{Line, Panel};
use walk::{Compared, Curves, OTHER, SUBJECT01};

/// What the book shows: the whole force by raw differences, by the solve and by the plates; and each foot's.
fn draw(Curves { rate, frames, raw, ours, plates }: &Curves) {
    let line = |name, color, width, dashes, list: &[Vec3], axis: usize| Line {
        name,
        color,
        width,
        dashes,
        points: frames.iter().map(|&k| (k as f64 / *rate, list[k][axis])).collect(),
    };
    let (sum, both) = (ours.total(), plates.total());
    let mut list = vec![Panel {
        title: "Up, both feet, in body weights".into(),
        height: 220.0,
        lines: vec![
            line("raw differences", "#bbbbbb", 1.0, "", raw, 1),
            line("plates", "#0072b2", 2.5, "", &both, 1),
            line("found", "#d55e00", 1.5, "5 3", &sum, 1),
        ],
    }];
    for (title, axis) in [("Up, each foot", 1), ("Ahead, each foot", 0), ("To the right, each foot", 2)] {
        list.push(Panel {
            title: title.into(),
            height: 170.0,
            lines: vec![
                line("right foot, plate", "#0072b2", 2.5, "", &plates.right, axis),
                line("left foot, plate", "#009e73", 2.5, "", &plates.left, axis),
                line("found", "#d55e00", 1.5, "5 3", &ours.right, axis),
                line("", "#d55e00", 1.5, "5 3", &ours.left, axis),
            ],
        });
    }
    panels::write("motion-plates.svg", &panels::svg(&list, "seconds"));
}

#[test]
fn forces_of_a_walk_are_those_that_plates_measured() {
    let Some((compared, curves)) = SUBJECT01.compared() else { return };
    draw(&curves);
    let Compared { whole, foot, late, raw, unfiltered } = compared;
    assert!(whole.y < 4.0 && whole.x < 2.5 && whole.z < 2.5, "{whole}");
    assert!(foot.length() < 8.0, "{foot}");
    assert!(late[0] < 25.0 && late[1] < 25.0, "{late:?}");
    // the paper's figure 2: differences of what was measured are noise
    assert!(raw.length() > 4.0 * unfiltered.length(), "{raw} {unfiltered}");
}

#[test]
fn forces_of_another_walk_are_those_that_plates_measured() {
    let Some((Compared { whole, foot, late, .. }, _)) = OTHER.compared() else { return };
    assert!(whole.max_element() < 6.0, "{whole}");
    assert!(foot.length() < 8.0, "{foot}");
    assert!(late[0] < 25.0 && late[1] < 25.0, "{late:?}");
}

/// Where plates were measured, forces under the feet and torques are learnt apart: those of strides that were left out are foretold, each foot's own.
#[test]
fn forces_under_each_foot_are_learnt_from_plates() {
    let Some((take, plates)) = SUBJECT01.over_ground() else { return };
    let cut = take.frame_count() * 7 / 10;
    let parts = [0..cut, cut..take.frame_count()];
    let takes = parts.clone().map(|frames| take.part(frames));
    let learning = Learning { build: SUBJECT01.build(), apart: true, ..Learning::default() };
    let build = Prior::build(&takes, &learning.build).unwrap();
    let examples: Vec<Example> = (takes.iter().zip(parts))
        .map(|(take, frames)| Example::of(take, &build).unwrap().with_plates(&plates[frames]))
        .collect();
    let prior = Prior::from_examples(&takes[..1], &examples[..1], &learning).unwrap();
    let (learnt, unseen) = (prior.error(&examples[0]), prior.error(&examples[1]));
    eprintln!(
        "{} frames of plates: error {learnt:.2}, of those left out {unseen:.2}",
        examples[0].frame_count()
    );
    assert!(learnt < 0.5 && unseen < 0.9, "{learnt} {unseen}");
}
