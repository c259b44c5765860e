//! A stout diver in bathing trunks: off the board, into a ball, out of it, head first into the water.

use clip::Clip;
use geometry::Vec3;

use crate::arm::sculpt;
use crate::motion::{self, Key, Track};
use crate::paint::{self, step};
use crate::rig::{Pose, Rig};
use crate::surface::{Body, Piece, Solid};

/// Forty-six bones. Mesh `body`, morph targets `balled` and `leaning`; group `belly`. Mesh `board` stands still.
pub fn diver() -> Clip {
    let diver = Diver::new();
    let shape = diver.body.surface(0.03);
    let weights = diver.rig.weights(&shape, &diver.body, |_| false, 14);
    let mut body = shape.mesh("body", Some(0));
    body.skin = Some(diver.rig.skin(&weights));
    let hill = |p: Vec3, c: Vec3, r: Vec3| (1.0 - ((p - c) / r).length().min(1.0).powi(2)).powi(2);
    let belly =
        |p: Vec3| hill(p, Vec3::new(0.0, 1.0, 0.12), Vec3::new(0.24, 0.24, 0.2)) * step(-0.03, 0.06, p.z);
    let chest = |p: Vec3| {
        let side = Vec3::new(0.08 * p.x.signum(), 1.3, 0.1);
        hill(p, side, Vec3::new(0.11, 0.1, 0.1)) * step(0.0, 0.05, p.z)
    };
    body.set_group("belly", shape.points.iter().map(|p| belly(*p).clamp(0.0, 1.0) as f32).collect());
    body.morph_targets = vec![
        sculpt("balled", &shape, |p| {
            0.085 * belly(p) * Vec3::new(2.2 * p.x, -0.1, 1.0) + 0.03 * chest(p) * Vec3::new(0.0, -0.4, 1.0)
        }),
        sculpt("leaning", &shape, |p| {
            0.035 * belly(p) * Vec3::new(1.0 * p.x, -0.6, 1.0) - 0.015 * chest(p) * Vec3::Z
        }),
    ];
    let board =
        crate::shapes::box_shell(Vec3::new(0.5, 0.04, 1.6), [6, 2, 16]).moved(Vec3::new(0.0, -0.02, -0.62));
    let poses: Vec<Pose> = motion::times(3.0, 24.0).map(|time| diver.pose(time)).collect();
    let mut clip = diver.rig.clip("diver", 24.0, vec![body, board.mesh("board", Some(1))], &poses);
    clip.materials = vec![paint::plain("skin", 0xd7a184), paint::plain("board", 0x7fa7b8)];
    clip
}

struct Diver {
    rig: Rig,
    body: Body,
    hips: usize,
    spine: Vec<usize>,
    neck: Vec<usize>,
    head: usize,
    /// Collar bone, upper arm, forearm, hand.
    arms: [[usize; 4]; 2],
    /// Thigh, shin, foot, toes.
    legs: [[usize; 4]; 2],
}

impl Diver {
    fn new() -> Self {
        let mut rig = Rig::default();
        let mut body = Body { pieces: Vec::new(), floor: None };
        let mut add =
            |joint: usize, fillet: f64, solid: Solid| body.pieces.push(Piece { solid, fillet, joint });
        let at = Vec3::new;
        let root = rig.joint("root", None, Vec3::ZERO);
        let hips = rig.joint("hips", Some(root), at(0.0, 0.9, 0.0));
        let spine = rig.chain(
            "spine",
            hips,
            &[
                at(0.0, 0.98, 0.0),
                at(0.0, 1.07, 0.0),
                at(0.0, 1.16, 0.0),
                at(0.0, 1.25, -0.01),
                at(0.0, 1.34, -0.01),
            ],
        );
        let neck = rig.chain("neck", spine[4], &[at(0.0, 1.44, 0.0), at(0.0, 1.49, 0.01)]);
        let head = rig.joint("head", Some(neck[1]), at(0.0, 1.54, 0.02));
        add(hips, 0.0, Solid::ball(at(0.0, 0.9, -0.01), at(0.17, 0.12, 0.14)));
        add(spine[0], 0.1, Solid::ball(at(0.0, 1.0, 0.045), at(0.175, 0.13, 0.15)));
        add(spine[1], 0.1, Solid::ball(at(0.0, 1.08, 0.035), at(0.17, 0.12, 0.14)));
        add(spine[2], 0.1, Solid::ball(at(0.0, 1.17, 0.02), at(0.165, 0.11, 0.13)));
        add(spine[3], 0.1, Solid::ball(at(0.0, 1.27, 0.015), at(0.17, 0.11, 0.125)));
        add(spine[4], 0.08, Solid::ball(at(0.0, 1.36, 0.0), at(0.16, 0.08, 0.1)));
        add(neck[0], 0.05, Solid::limb(at(0.0, 1.42, 0.0), at(0.0, 1.52, 0.015), [0.06, 0.058]));
        add(head, 0.03, Solid::ball(at(0.0, 1.635, 0.03), at(0.088, 0.118, 0.105)));
        let arms = [1.0, -1.0].map(|side| arm(&mut rig, &mut add, spine[4], side));
        let legs = [1.0, -1.0].map(|side| leg(&mut rig, &mut add, hips, side));
        Self { rig, body, hips, spine, neck, head, arms, legs }
    }

    fn pose(&self, time: f64) -> Pose {
        let ease = Key::ease;
        let crouch = Track::new(&[ease(0.0, 0.0), ease(0.45, 0.9), ease(0.7, -0.1), ease(0.9, 0.0)]);
        let ball = Track::new(&[ease(0.75, 0.0), ease(1.15, 1.0), ease(1.85, 1.0), ease(2.2, 0.0)]);
        let arms = Track::new(&[
            ease(0.0, 0.0),
            ease(0.45, -0.7),
            ease(0.75, 1.0),
            ease(1.1, 0.35),
            ease(1.85, 0.35),
            ease(2.3, 1.0),
        ]);
        // off the board at 0.68 s, head first at the end
        let fly = (time - 0.68).max(0.0);
        let height = fallen(fly);
        let turn = Track::new(&[
            ease(0.68, 0.0),
            Key::slope(1.1, 1.1, 4.6),
            Key::slope(1.9, 6.0, 5.2),
            ease(2.6, 9.2),
        ]);
        let (bent, ball) = (crouch.at(time), ball.at(time));
        let mut pose = Pose::new(&self.rig);
        pose.shift(self.hips, Vec3::new(0.0, height - 0.24 * bent.max(0.0), 0.95 * fly));
        pose.turn(self.hips, turn.at(time) + 0.35 * bent, 0.0, 0.0);
        for &joint in &self.spine {
            pose.turn(joint, 0.24 * ball + 0.05 * bent, 0.0, 0.0);
        }
        for &joint in &self.neck {
            pose.turn(joint, 0.28 * ball - 0.1 * bent, 0.0, 0.0);
        }
        pose.turn(self.head, 0.25 * ball, 0.0, 0.0);
        for (leg, side) in self.legs.iter().zip([1.0, -1.0]) {
            let flex = 1.85 * ball + 1.05 * bent.max(0.0);
            pose.turn(leg[0], -flex - 0.35 * bent, 0.0, 0.04 * side * ball);
            pose.turn(leg[1], 2.1 * ball + 1.55 * bent.max(0.0), 0.0, 0.0);
            pose.turn(
                leg[2],
                0.45 * ball - 0.75 * bent.max(0.0) + 0.5 * step(0.68, 0.8, time) * (1.0 - ball),
                0.0,
                0.0,
            );
        }
        let raise = arms.at(time);
        for (arm, side) in self.arms.iter().zip([1.0, -1.0]) {
            // from hanging at an angle to above the head
            pose.turn(arm[0], 0.0, -0.3 * side * ball, 0.25 * side * raise.max(0.0));
            pose.turn(
                arm[1],
                -0.9 * ball,
                -0.7 * side * ball,
                side * (1.9 * raise.max(0.0) * (1.0 - 0.6 * ball) - 0.5 * ball),
            );
            pose.turn(arm[2], -1.1 * ball, 0.0, 0.25 * side * raise.max(0.0) * (1.0 - ball));
        }
        pose
    }
}

/// How high the hips are above the board so many seconds after leaving it: thrown up, falling, and slowed by the water.
///
/// Before, they fall freely; in it v̇ = −D v², of which a height of y₀ − ln(1 + D v₀ s)/D comes, s since he went in and v₀ his speed then.
fn fallen(seconds: f64) -> f64 {
    /// Until his hands touch the water, s; and the drag of a body that is narrow ahead, 1/m.
    const DRY: f64 = 1.85;
    const DRAG: f64 = 0.14;
    let free = |s: f64| 4.3 * s - 0.5 * 9.81 * s * s * step(0.0, 0.05, s);
    let wet = seconds - DRY;
    if wet <= 0.0 {
        return free(seconds);
    }
    let speed = 9.81 * DRY - 4.3;
    free(DRY) - (DRAG * speed * wet).ln_1p() / DRAG
}

/// Collar bone, upper arm, forearm and hand, with five fingers, on the chest.
fn arm(rig: &mut Rig, add: &mut impl FnMut(usize, f64, Solid), chest: usize, side: f64) -> [usize; 4] {
    let at = Vec3::new;
    let name = if side > 0.0 { "left" } else { "right" };
    let collar = rig.joint(&format!("collar_{name}"), Some(chest), at(0.06 * side, 1.39, 0.01));
    let upper = rig.joint(&format!("upper_arm_{name}"), Some(collar), at(0.175 * side, 1.38, 0.0));
    let fore = rig.joint(&format!("forearm_{name}"), Some(upper), at(0.355 * side, 1.2, 0.0));
    let hand = rig.joint(&format!("hand_{name}"), Some(fore), at(0.52 * side, 1.035, 0.02));
    add(collar, 0.06, Solid::limb(at(0.08 * side, 1.385, 0.0), at(0.16 * side, 1.38, 0.0), [0.065, 0.068]));
    add(upper, 0.04, Solid::limb(at(0.175 * side, 1.38, 0.0), at(0.35 * side, 1.205, 0.0), [0.066, 0.05]));
    add(fore, 0.02, Solid::limb(at(0.355 * side, 1.2, 0.0), at(0.515 * side, 1.04, 0.02), [0.05, 0.036]));
    add(hand, 0.02, Solid::ball(at(0.55 * side, 1.0, 0.025), at(0.045, 0.05, 0.034)));
    for finger in 0..5 {
        let z = -0.03 + 0.018 * f64::from(finger);
        let (from, to) = (at(0.575 * side, 0.975, 0.02 + z), at(0.61 * side, 0.935, 0.02 + 1.2 * z));
        let chain = rig.chain(&format!("finger_{name}_{}", finger + 1), hand, &[from, from.lerp(to, 0.5)]);
        add(chain[0], 0.012, Solid::limb(from, to, [0.017, 0.015]));
    }
    [collar, upper, fore, hand]
}

/// Thigh, shin, foot and toes.
fn leg(rig: &mut Rig, add: &mut impl FnMut(usize, f64, Solid), hips: usize, side: f64) -> [usize; 4] {
    let at = Vec3::new;
    let name = if side > 0.0 { "left" } else { "right" };
    let thigh = rig.joint(&format!("thigh_{name}"), Some(hips), at(0.092 * side, 0.86, 0.0));
    let shin = rig.joint(&format!("shin_{name}"), Some(thigh), at(0.1 * side, 0.47, 0.01));
    let foot = rig.joint(&format!("foot_{name}"), Some(shin), at(0.1 * side, 0.09, -0.02));
    let toes = rig.joint(&format!("toes_{name}"), Some(foot), at(0.1 * side, 0.03, 0.1));
    add(thigh, 0.06, Solid::limb(at(0.092 * side, 0.85, 0.0), at(0.1 * side, 0.47, 0.01), [0.098, 0.065]));
    add(shin, 0.02, Solid::limb(at(0.1 * side, 0.47, 0.01), at(0.1 * side, 0.1, -0.02), [0.065, 0.043]));
    add(foot, 0.03, Solid::limb(at(0.1 * side, 0.045, -0.035), at(0.1 * side, 0.035, 0.09), [0.043, 0.034]));
    add(toes, 0.02, Solid::ball(at(0.1 * side, 0.03, 0.13), at(0.04, 0.027, 0.04)));
    [thigh, shin, foot, toes]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn the_diver_is_sound_and_has_forty_six_bones() {
        let clip = diver();
        assert_sound(&clip);
        assert_eq!(clip.skeleton.as_ref().map_or(0, |skeleton| skeleton.joints.len()), 46);
        // nothing stops him dead: no frame takes more than 40 m/s², four times his weight, from his hips' speed
        let heights: Vec<f64> = (0..clip.frame_count())
            .map(|index| f64::from(clip.frame(index).unwrap().pose[1].translation.y))
            .collect();
        let rates = heights.windows(3).map(|h| 576.0 * (h[0] - 2.0 * h[1] + h[2]));
        let hardest = rates.skip(24).fold(0.0, |hardest: f64, rate| hardest.max(rate.abs()));
        assert!(hardest < 40.0, "{hardest} m/s²");
        let targets = &clip.meshes[0].morph_targets;
        assert_eq!(targets.len(), 2);
        // the belly bulges in a ball; the chest collapses as he leans
        assert!(targets[0].offsets.iter().any(|offset| offset[2] > 0.05));
        assert!(targets[1].offsets.iter().any(|offset| offset[2] < -0.01));
    }
}
