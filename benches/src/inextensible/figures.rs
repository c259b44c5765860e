//! Figures 2 and 3 of *inextensible* (2007), computed: four steps that SHAKE cannot take, and what each solve of a projection leaves.

use std::fmt::Write as _;

use dynamics::{Body, Filter, GuideSample, State};
use film::{Curve, Curves};
use geometry::Vec3;
use shell::{FastProjection, Impulse, ThreadSystem, Threads};

use crate::inextensible::scenes::Scene;

/// A thread held at the origin: where its other end was, and where a step without constraints takes it.
struct Question {
    name: &'static str,
    /// What is special about it.
    what: &'static str,
    old: Vec3,
    step: Vec3,
}

/// The thread's length, in metres.
const LENGTH: f64 = 1.0;
/// Permitted strain of the four.
const TOLERANCE: f64 = 1e-6;

/// Barth et al. 1994, as inextensible shows them.
fn questions() -> [Question; 4] {
    let old = Vec3::new(LENGTH, 0.0, 0.0);
    let question = |name, what, old, x: f64, y: f64| Question { name, what, old, step: Vec3::new(x, y, 0.0) };
    [
        question("Q1", "far aside", old, 0.25, -1.3),
        question("Q2", "a right angle to the old", old, 0.0, -0.7),
        question("Q3", "no length now", old, 0.0, 0.0),
        question("Q4", "no length before", Vec3::ZERO, 0.6, -1.1),
    ]
}

/// Where SHAKE's own Newton iteration ends: from `step` along the old direction, to where the thread has its length. None where it does not.
fn shaken(question: &Question) -> Option<Vec3> {
    let (mut x, along) = (question.step, question.old);
    for _ in 0..60 {
        let violation = 0.5 * (x.length_squared() / LENGTH - LENGTH);
        if violation.abs() < TOLERANCE {
            return Some(x);
        }
        let slope = x.dot(along) / LENGTH;
        if slope.abs() < 1e-12 {
            return None;
        }
        x -= violation / slope * along;
    }
    None
}

/// Where fast projection ends, and after how many solves.
fn projected(question: &Question) -> Option<(Vec3, usize)> {
    let rest = vec![Vec3::ZERO, LENGTH * Vec3::X];
    let threads = Threads::new(&rest, vec![[0, 1]]).ok()?;
    let body = Body::builder(vec![0.01; 2]).known(vec![true, false]).build().ok()?;
    let mut projection = FastProjection::new(&body, &threads, TOLERANCE, Impulse::FirstOrder).ok()?;
    let before = State::at_rest(vec![Vec3::ZERO, question.old]);
    let mut after = State::at_rest(vec![Vec3::ZERO, question.step]);
    let still = [Vec3::ZERO; 2];
    let sample = GuideSample { time: 0.0, guide_positions: &rest, guide_velocities: &still };
    let is_done = projection.apply(&body, &sample, &before, &mut after, 0.01);
    is_done.then(|| (after.positions[1], projection.take_report().solves))
}

/// Figure 2: SHAKE moves along the thread as it was (dashed), fast projection along the thread as it is.
pub(super) fn four_questions() -> String {
    const SIDE: f64 = 190.0;
    const UNIT: f64 = 55.0;
    const TOP: f64 = 40.0;
    let [width, height] = [4.0 * SIDE, SIDE + TOP + 40.0];
    // writing to a string cannot fail
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="11"><rect width="{width}" height="{height}" fill="white"/>"#
    );
    for (k, question) in questions().iter().enumerate() {
        let middle = [(k as f64 + 0.5) * SIDE, TOP + 0.4 * SIDE];
        let at = |p: Vec3| [middle[0] + UNIT * p.x, middle[1] - UNIT * p.y];
        let Question { name, what, old, step } = question;
        let [cx, cy] = middle;
        let _ = write!(
            svg,
            r##"<text x="{cx}" y="18" text-anchor="middle" font-size="13" font-weight="bold">{name}: {what}</text><circle cx="{cx}" cy="{cy}" r="{UNIT}" fill="none" stroke="#bbb"/>"##
        );
        let mut line = |a: Vec3, b: Vec3, style: &str| {
            let ([x1, y1], [x2, y2]) = (at(a), at(b));
            let _ = write!(svg, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" {style}/>"#);
        };
        line(Vec3::ZERO, *old, r##"stroke="#999" stroke-width="3""##);
        line(Vec3::ZERO, *step, r##"stroke="#d55e00" stroke-width="2""##);
        line(*step - 1.5 * *old, *step + 1.5 * *old, r##"stroke="#0072b2" stroke-dasharray="4 3""##);
        let by_projection = projected(question);
        if let Some((end, _)) = by_projection {
            line(*step, end, r##"stroke="#009e73" stroke-width="2""##);
        }
        let mut dot = |p: Vec3, colour: &str| {
            let [x, y] = at(p);
            let _ = write!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="{colour}"/>"#);
        };
        dot(Vec3::ZERO, "black");
        dot(*step, "#d55e00");
        by_projection.iter().for_each(|(end, _)| dot(*end, "#009e73"));
        let by_shake = if shaken(question).is_some() { "there" } else { "no answer" };
        let by_projection = match by_projection {
            Some((_, solves)) => format!("{solves} solves"),
            None => "a shorter step".into(),
        };
        let _ = write!(
            svg,
            r##"<text x="{cx}" y="{:.1}" text-anchor="middle" fill="#0072b2">SHAKE: {by_shake}</text><text x="{cx}" y="{:.1}" text-anchor="middle" fill="#009e73">fast projection: {by_projection}</text>"##,
            height - 24.0,
            height - 8.0
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Solves of a projection that are looked at, and for how long a chain is: before it cracks as a whip, which takes shorter steps.
const SOLVES: usize = 4;
const SECONDS: f64 = 0.3;

/// ‖C‖ and ‖F‖ before the first solve of a step and after each, in lengths of a piece: the largest of any piece or point, on average over the steps.
struct Left {
    violation: [f64; SOLVES + 1],
    imbalance: [f64; SOLVES + 1],
}

/// A chain of 80 points swings in steps of `h`, each projected in `SOLVES` solves.
///
/// F = δx + M⁻¹∇C(xⱼ)ᵀ Σμ says how far what was done, δx, is from pulls along the threads as they are at the end.
fn swing(h: f64) -> Option<Left> {
    let scene = Scene::chain(80);
    let body = scene.body().build().ok()?;
    let threads = scene.threads.free(body.known());
    let piece = threads.lengths()[0];
    let mut system = ThreadSystem::new(&threads, body.masses(), body.known()).ok()?;
    let (mut x, mut v) = (scene.rest.clone(), vec![Vec3::ZERO; scene.rest.len()]);
    let mut left = Left { violation: [0.0; SOLVES + 1], imbalance: [0.0; SOLVES + 1] };
    let steps = (SECONDS / h).round() as usize;
    for _ in 0..steps {
        let before = x.clone();
        for i in (0..x.len()).filter(|&i| !body.known()[i]) {
            v[i] -= h * 9.81 * Vec3::Y;
            x[i] += h * v[i];
        }
        let (free, mut total) = (x.clone(), vec![0.0; threads.len()]);
        let (mut c, mut mu) = (Vec::new(), Vec::new());
        for solve in 0..=SOLVES {
            threads.violations(&x, &mut c);
            let worst = c.iter().fold(0.0, |worst: f64, c| worst.max(c.abs()));
            left.violation[solve] += worst / piece / steps as f64;
            let mut balance: Vec<Vec3> = x.iter().zip(&free).map(|(x, free)| *x - *free).collect();
            system.add_correction(&threads, &x, &total, 1.0, &mut balance);
            let worst = balance.iter().map(|f| f.length()).fold(0.0, f64::max);
            left.imbalance[solve] += worst / piece / steps as f64;
            if solve < SOLVES {
                let directions = x.clone();
                if !(system.factorize(&threads, &directions) && system.solve(&c, &mut mu)) {
                    return None;
                }
                system.add_correction(&threads, &directions, &mu, -1.0, &mut x);
                total.iter_mut().zip(&mu).for_each(|(total, mu)| *total += mu);
            }
        }
        v.iter_mut().zip(x.iter().zip(&before)).for_each(|(v, (x, before))| *v = (*x - *before) / h);
    }
    Some(left)
}

/// Figure 3: what each solve leaves, at two lengths of step.
pub(super) fn sequence() -> Curves {
    let mut curves = Vec::new();
    for (name, h) in [("2.5 ms", 2.5e-3), ("0.63 ms", 6.25e-4)] {
        let Some(Left { violation, imbalance }) = swing(h) else { continue };
        let points = |values: [f64; SOLVES + 1]| {
            (1..=SOLVES).map(|k| (k as f64, values[k])).filter(|(_, value)| *value > 1e-13).collect()
        };
        curves.push(Curve { name: format!("C, {name}"), points: points(violation) });
        curves.push(Curve { name: format!("F, {name}"), points: points(imbalance) });
    }
    Curves {
        title: "A chain of 80 points, what is left after each solve".into(),
        x_label: "solves".into(),
        y_label: "lengths of a piece of thread".into(),
        curves,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// inextensible §4.1 and appendix A: SHAKE has no answer to any of the four, fast projection to all but the third, which a shorter step avoids.
    #[test]
    fn fast_projection_answers_what_shake_cannot() {
        for (k, question) in questions().iter().enumerate() {
            assert!(shaken(question).is_none(), "{}", question.name);
            let answer = projected(question);
            assert_eq!(answer.is_some(), k != 2, "{}", question.name);
            if let Some((end, solves)) = answer {
                assert!(
                    (end.length() - LENGTH).abs() < 1e-5 && solves < 8,
                    "{}: {end} {solves}",
                    question.name
                );
            }
        }
        let [.., third, _] = questions();
        let shorter = Question { step: 0.5 * (third.old + third.step), ..third };
        assert!(projected(&shorter).is_some());
    }

    /// inextensible §4.3: F ∈ O(h²) after the first solve, and the others, which take C away, leave it so.
    #[test]
    fn the_first_solve_leaves_what_is_of_second_order_and_others_leave_it_so() {
        let [long, short] = [2.5e-3, 6.25e-4].map(|h| swing(h).expect("it swings"));
        assert!(long.violation[SOLVES] < 1e-6 * long.violation[0], "{:?}", long.violation);
        for solve in [1, SOLVES] {
            let ratio = long.imbalance[solve] / short.imbalance[solve];
            assert!(ratio > 8.0, "a quarter of the step: {ratio}");
        }
        assert!(long.imbalance[SOLVES] < 2.0 * long.imbalance[1], "{:?}", long.imbalance);
    }
}
