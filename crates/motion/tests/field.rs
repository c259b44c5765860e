//! A prior's force field in the plane of two eigenvectors, and motions that it runs forward (the paper's figure 3).
//!
//! `BOOK_WRITE=1 cargo test -p followthrough-motion --test field` draws both for the book.

#![allow(clippy::print_stderr)] // what was measured is said aloud

#[allow(dead_code)] // it serves other tests, too
mod common;
#[path = "common/panels.rs"]
mod panels;

use common::take_of;
use geometry::Vec3;
use motion::{Learning, Prior, Take};
use panels::{Line, Panel};
use samples::Style;

const GRAVITY: Vec3 = Vec3::new(0.0, -9.81, 0.0);

/// Root mean square distance of places in the plane from the nearest learnt one, in deviations.
fn astray(learnt: &[[f64; 2]], path: &[[f64; 2]]) -> f64 {
    let near = |p: &[f64; 2]| {
        learnt.iter().map(|l| (l[0] - p[0]).powi(2) + (l[1] - p[1]).powi(2)).fold(f64::MAX, f64::min)
    };
    (path.iter().map(near).sum::<f64>() / path.len() as f64).sqrt()
}

#[test]
fn the_field_carries_a_walk_on_for_a_while_and_knows_where_it_is_not_known() {
    let takes: Vec<Take> = [Style::NORMAL, Style::PROUD]
        .iter()
        .map(|style| take_of(&style.clip(2.0, 0.0, 30.0), 0, 1))
        .collect();
    let prior = Prior::learn(&takes, &Learning::default()).unwrap();
    let learnt = prior.learnt_states();
    let field = prior.field(3.0, 17);
    let strange = |inside: bool| {
        let list: Vec<f64> = (field.iter())
            .filter(|arrow| (astray(&learnt, &[arrow.state]) < 0.1) == inside)
            .map(|arrow| arrow.strangeness)
            .collect();
        list.iter().sum::<f64>() / list.len() as f64
    };
    let (inside, outside) = (strange(true), strange(false));
    let body = takes[0].body(&prior.built(&Learning::default().build)).unwrap();
    let run = |seed: u64| prior.run_forward(&body, GRAVITY, seed, 0.3).unwrap();
    let runs: Vec<Vec<[f64; 2]>> = (0..5).map(|seed| prior.states_of(&body, &run(seed))).collect();
    let off: Vec<f64> = runs.iter().map(|run| astray(&learnt, run)).collect();
    eprintln!(
        "strangeness {inside:.2} where it was learnt, {outside:.2} elsewhere; runs of 0.3 s astray by {off:.2?} deviations"
    );
    assert!(inside < 0.1 && outside > 4.0 * inside, "{inside} {outside}");
    // strides are circles of one and a half deviations; a quarter of one, begun at a likely state that nobody was seen in, stays nearer than two thirds of that
    assert!(off.iter().all(|off| *off < 1.0), "{off:?}");
    let far = |run: &Vec<[f64; 2]>| {
        let way = run.windows(2).map(|w| (w[1][0] - w[0][0]).hypot(w[1][1] - w[0][1])).sum::<f64>();
        way > 1.0
    };
    assert!(runs.iter().all(far), "they go on: {runs:.2?}");
    assert_eq!(runs[1], prior.states_of(&body, &run(1)));
    let arrows = field.iter().map(|arrow| {
        let [x, y] = arrow.state;
        let reach = 0.12;
        Line {
            name: "",
            color: if arrow.strangeness < 0.5 { "#0072b2" } else { "#bbb" },
            width: 1.0,
            dashes: "",
            points: vec![(x, y), (x + reach * arrow.force[0], y + reach * arrow.force[1])],
        }
    });
    let dots = Line {
        name: "learnt states",
        color: "#555",
        width: 0.0,
        dashes: "",
        points: learnt.iter().map(|p| (p[0], p[1])).collect(),
    };
    let paths = runs.iter().enumerate().map(|(k, run)| Line {
        name: if k == 0 { "run forward" } else { "" },
        color: "#d55e00",
        width: 1.8,
        dashes: "",
        points: run.iter().map(|p| (p[0], p[1])).collect(),
    });
    let lines = arrows.chain([dots]).chain(paths).collect();
    let title = "Forces over two eigenvectors of states".to_owned();
    panels::write("motion-field.svg", &panels::svg(&[Panel { title, height: 460.0, lines }], "deviations"));
}
