//! Where feet meet the ground: points of the soles, and the times and places at which they rest, found from a take.

use std::ops::Range;

use geometry::{Mat3, Vec3};

use crate::anthropometry::{Segment, segments};
use crate::body::Body;
use crate::error::Error;
use crate::ground::Ground;
use crate::recursion::Data;
use crate::take::Take;

/// A point of a body that can bear weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Sole {
    /// "LeftFoot heel".
    pub name: String,
    /// The joint that carries it.
    pub joint: usize,
    /// In the joint's frame.
    pub point: Vec3,
    /// Which foot.
    pub foot: usize,
    /// Its place on flat ground, in the foot's own frame.
    flat: Vec3,
}

/// A point that rests from one frame on to before another.
#[derive(Clone, Debug, PartialEq)]
pub struct Contact {
    /// Index of the sole point.
    pub sole: usize,
    /// Frames.
    pub frames: Range<usize>,
    /// Where it rests, in the world.
    pub anchor: Vec3,
    /// The ground's normal there.
    pub normal: Vec3,
    /// The footstep that it is part of, counted over all feet.
    pub step: usize,
}

/// How contacts are told from flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// Metres above the ground below which a point may touch.
    pub height: f64,
    /// Metres a second below which a point may rest.
    pub speed: f64,
    /// Seconds over which noise is averaged before anything is measured.
    pub smoothing: f64,
    /// Seconds below which contacts and gaps are not believed.
    pub shortest: f64,
}

impl Default for Detection {
    fn default() -> Self {
        Self { height: 0.03, speed: 0.22, smoothing: 0.02, shortest: 0.06 }
    }
}

/// Half of a foot's width at the ball, in metres, for a foot of 0.25.
const HALF_WIDTH: f64 = 0.04;

/// Joints of a foot: ankle, and where there are, ball and the toes' end.
struct Foot {
    ankle: usize,
    ball: Option<usize>,
    tip: Option<(usize, Vec3)>,
}

fn feet(take: &Take) -> Vec<Foot> {
    let segments = segments(&take.bones);
    let is_foot = |joint: usize| segments[joint] == Segment::Foot;
    let roots =
        (0..take.bones.len()).filter(|&j| is_foot(j) && take.bones[j].parent.is_none_or(|p| !is_foot(p)));
    let child = |joint: usize| {
        let children = (0..take.bones.len()).filter(|&c| take.bones[c].parent == Some(joint) && is_foot(c));
        children.max_by(|&a, &b| take.bones[a].offset.length().total_cmp(&take.bones[b].offset.length()))
    };
    let foot = |ankle: usize| {
        let ball = child(ankle);
        let end = ball.unwrap_or(ankle);
        let beyond = child(end).map(|joint| take.bones[joint].offset).or(take.bones[end].tip);
        Foot { ankle, ball, tip: beyond.filter(|tip| tip.length() > 0.01).map(|tip| (end, tip)) }
    };
    roots.map(foot).collect()
}

/// The lowest height that feet keep returning to, less a sole: where level ground must be if nobody says so.
pub fn ground_height(take: &Take, body: &Body, coordinates: &[Vec<f64>]) -> Result<f64, Error> {
    let mut data = Data::new(body);
    let feet = feet(take);
    if feet.is_empty() {
        return Err(no_feet(take));
    }
    let mut heights = Vec::new();
    for q in coordinates {
        data.kinematics(body, q);
        for foot in &feet {
            let ends = [(Some(foot.ankle), Vec3::ZERO), (foot.ball, Vec3::ZERO)];
            let tip = foot.tip.map(|(joint, tip)| (Some(joint), tip));
            let lowest =
                ends.into_iter().chain(tip).filter_map(|(joint, at)| Some(data.point(body, joint?, at).y));
            heights.push(lowest.fold(f64::INFINITY, f64::min));
        }
    }
    heights.sort_by(f64::total_cmp);
    Ok(heights[heights.len() / 10] - 0.02)
}

fn no_feet(take: &Take) -> Error {
    let names: Vec<&str> = take.bones.iter().map(|bone| bone.name.as_str()).take(12).collect();
    Error::NoFeet { joints: names.join(", ") }
}

/// Heel, ball (inner and outer) and toe of every foot. Their distance from the joints is what it is in the frame in which the foot
/// stands flattest and stillest: there, all of them touch the ground.
pub fn soles(
    take: &Take,
    body: &Body,
    coordinates: &[Vec<f64>],
    ground: &Ground,
) -> Result<Vec<Sole>, Error> {
    let mut soles = Vec::new();
    let mut data = Data::new(body);
    for (index, foot) in feet(take).iter().enumerate() {
        let marks: Vec<(usize, Vec3)> =
            [Some((foot.ankle, Vec3::ZERO)), foot.ball.map(|ball| (ball, Vec3::ZERO)), foot.tip]
                .into_iter()
                .flatten()
                .collect();
        let tracks = tracks(body, coordinates, &marks);
        let frame = flattest(&on_belt(&tracks, ground, take.frame_rate_hz), ground, take.frame_rate_hz);
        data.kinematics(body, &coordinates[frame]);
        let at: Vec<Vec3> = tracks.iter().map(|track| ground.project(track[frame])).collect();
        let ahead = at.last().map_or(Vec3::ZERO, |&end| end - at[0]);
        let name = &take.bones[foot.ankle].name;
        let forward = ahead.normalize_or_zero();
        let mut add = |what: &str, joint: usize, place: Vec3| {
            let placed = data.point(body, joint, Vec3::ZERO);
            let point = data.orientation(body, joint).transpose() * (place - placed);
            let flat = turned(forward, ground).transpose() * (place - at[0]);
            soles.push(Sole { name: format!("{name} {what}"), joint, point, foot: index, flat });
        };
        if forward == Vec3::ZERO {
            add("sole", foot.ankle, at[0]);
            continue;
        }
        let length = ahead.length();
        add("heel", foot.ankle, at[0] - forward * (0.25 * length));
        let side = forward.cross(ground.normal) * HALF_WIDTH.min(0.25 * length);
        // without a joint there, the ball is two thirds of the way to the tip
        let ball = foot.ball.map_or(at[0] + ahead * 0.65, |_| at[1]);
        // they belong to the toes, which stay flat while the heel rises
        let carrier = foot.ball.unwrap_or(foot.ankle);
        add("ball inner", carrier, ball + side);
        add("ball outer", carrier, ball - side);
        if let Some((joint, _)) = foot.tip {
            add("toe", joint, at[at.len() - 1]);
        }
    }
    if soles.is_empty() { Err(no_feet(take)) } else { Ok(soles) }
}

/// World-from-foot of a foot that points ahead on the ground.
fn turned(forward: Vec3, ground: &Ground) -> Mat3 {
    let forward = if forward == Vec3::ZERO { ground.frame().col(0) } else { forward };
    Mat3::from_cols(forward, ground.normal.cross(forward), ground.normal)
}

/// Places of points of joints at every frame.
pub(crate) fn tracks(body: &Body, coordinates: &[Vec<f64>], points: &[(usize, Vec3)]) -> Vec<Vec<Vec3>> {
    let mut data = Data::new(body);
    let mut tracks = vec![Vec::with_capacity(coordinates.len()); points.len()];
    for q in coordinates {
        data.kinematics(body, q);
        for (track, &(joint, point)) in tracks.iter_mut().zip(points) {
            track.push(data.point(body, joint, point));
        }
    }
    tracks
}

/// Places as the ground sees them that moves: on a belt, where they would be on it at the first frame.
fn on_belt(tracks: &[Vec<Vec3>], ground: &Ground, rate: f64) -> Vec<Vec<Vec3>> {
    let shifted = |track: &Vec<Vec3>| {
        let frames = track.iter().enumerate();
        frames.map(|(frame, &x)| x - ground.velocity * (frame as f64 / rate)).collect()
    };
    tracks.iter().map(shifted).collect()
}

/// The frame in which all marks are lowest and slowest.
fn flattest(tracks: &[Vec<Vec3>], ground: &Ground, rate: f64) -> usize {
    let smooth: Vec<Vec<Vec3>> = tracks.iter().map(|track| averaged(track, 0.04 * rate)).collect();
    let cost = |frame: usize| -> f64 {
        let each = smooth.iter().map(|track| {
            let speed = speed(track, frame, rate);
            ground.height(track[frame]) + 0.1 * speed
        });
        each.sum()
    };
    let frames = tracks.first().map_or(0, Vec::len);
    (1..frames.saturating_sub(1)).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(0)
}

fn speed(track: &[Vec3], frame: usize, rate: f64) -> f64 {
    let (before, after) = (frame.saturating_sub(1), (frame + 1).min(track.len() - 1));
    (track[after] - track[before]).length() * rate / (after - before).max(1) as f64
}

/// A Gaussian mean, its deviation in frames; narrower at the ends.
pub(crate) fn averaged(track: &[Vec3], deviation: f64) -> Vec<Vec3> {
    let reach = (3.0 * deviation).ceil() as usize;
    let mean = |frame: usize| {
        let half = reach.min(frame).min(track.len() - 1 - frame);
        let (mut sum, mut total) = (Vec3::ZERO, 0.0);
        for other in frame - half..=frame + half {
            let weight = (-0.5 * ((other as f64 - frame as f64) / deviation.max(1e-9)).powi(2)).exp();
            sum += track[other] * weight;
            total += weight;
        }
        sum / total
    };
    (0..track.len()).map(mean).collect()
}

/// Contacts of a take: when points are low and slow, and the place of every footstep.
pub fn contacts(
    take: &Take,
    body: &Body,
    coordinates: &[Vec<f64>],
    soles: &[Sole],
    ground: &Ground,
    detection: &Detection,
) -> Vec<Contact> {
    let rate = take.frame_rate_hz;
    let points: Vec<(usize, Vec3)> = soles.iter().map(|sole| (sole.joint, sole.point)).collect();
    let tracks: Vec<Vec<Vec3>> = tracks(body, coordinates, &points)
        .iter()
        .map(|track| averaged(track, detection.smoothing * rate))
        .collect();
    let tracks = on_belt(&tracks, ground, rate);
    let mut resting: Vec<Vec<bool>> =
        tracks.iter().map(|track| rests(track, ground, rate, detection)).collect();
    support(body, coordinates, &tracks, ground, rate, &mut resting);
    let shortest = (detection.shortest * rate).round().max(2.0) as usize;
    resting.iter_mut().for_each(|flags| tidy(flags, shortest));
    placed(soles, &tracks, &resting, &vec![1.0; coordinates.len()], ground)
}

/// Contacts of points that rest when flags say so, and the place of every footstep; frames count by their weights.
pub(crate) fn placed(
    soles: &[Sole],
    tracks: &[Vec<Vec3>],
    resting: &[Vec<bool>],
    weights: &[f64],
    ground: &Ground,
) -> Vec<Contact> {
    let (mut contacts, mut count) = (Vec::new(), 0);
    let feet = soles.iter().map(|sole| sole.foot + 1).max().unwrap_or(0);
    for foot in 0..feet {
        let members: Vec<usize> = (0..soles.len()).filter(|&s| soles[s].foot == foot).collect();
        let any: Vec<bool> = (0..weights.len()).map(|i| members.iter().any(|&s| resting[s][i])).collect();
        for step in runs(&any) {
            let weight = |s: usize, i: usize| weights[i] * if resting[s][i] { 1.0 } else { ALOFT };
            let place = footstep(&members, soles, tracks, &weight, step.clone(), ground);
            for &sole in &members {
                for frames in runs(&resting[sole][step.clone()]) {
                    let frames = frames.start + step.start..frames.end + step.start;
                    let anchor = place(soles[sole].flat);
                    contacts.push(Contact { sole, frames, anchor, normal: ground.normal, step: count });
                }
            }
            count += 1;
        }
    }
    contacts
}

/// Low and slow, with less asked of what rests already.
fn rests(track: &[Vec3], ground: &Ground, rate: f64, detection: &Detection) -> Vec<bool> {
    let mut resting = false;
    let mut flags: Vec<bool> = Vec::with_capacity(track.len());
    for frame in 0..track.len() {
        let (height, speed) = (ground.height(track[frame]), speed(track, frame, rate));
        let ease = if resting { 1.3 } else { 1.0 };
        resting = height < ease * detection.height && speed < ease * detection.speed;
        flags.push(resting);
    }
    flags
}

/// Where nothing rests although the body does not fall, the lowest point does: a motion that hovers needs something to stand on.
fn support(
    body: &Body,
    coordinates: &[Vec<f64>],
    tracks: &[Vec<Vec3>],
    ground: &Ground,
    rate: f64,
    resting: &mut [Vec<bool>],
) {
    let mut data = Data::new(body);
    let zeros = vec![0.0; body.dof_count()];
    let mut unused = zeros.clone();
    let centers: Vec<Vec3> = coordinates
        .iter()
        .map(|q| {
            data.inverse_dynamics(body, q, &zeros, &zeros, Vec3::ZERO, &mut unused);
            data.momentum().0
        })
        .collect();
    let centers = averaged(&centers, 0.04 * rate);
    for frame in 1..centers.len().saturating_sub(1) {
        if resting.iter().any(|flags| flags[frame]) {
            continue;
        }
        let acceleration = (centers[frame + 1] - centers[frame] * 2.0 + centers[frame - 1]) * rate * rate;
        // half a body weight must come from somewhere
        if acceleration.dot(ground.normal) > -0.5 * 9.81 {
            let lowest = (0..tracks.len())
                .min_by(|&a, &b| ground.height(tracks[a][frame]).total_cmp(&ground.height(tracks[b][frame])));
            if let Some(lowest) = lowest.filter(|&s| ground.height(tracks[s][frame]) < 0.1) {
                resting[lowest][frame] = true;
            }
        }
    }
}

/// Closes short gaps, then forgets short contacts.
pub(crate) fn tidy(flags: &mut [bool], shortest: usize) {
    for value in [false, true] {
        let inverted: Vec<bool> = flags.iter().map(|&flag| flag == value).collect();
        for run in runs(&inverted) {
            let inside = run.start > 0 && run.end < flags.len();
            if inside && run.len() < shortest {
                flags[run].fill(!value);
            }
        }
    }
}

/// Runs of true.
pub(crate) fn runs(flags: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, _) in flags.iter().enumerate().filter(|(_, flag)| **flag) {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

/// How much points in the air count: a little, so that a step on the heel alone has a direction.
const ALOFT: f64 = 0.02;

/// One foot stands in one place: the turn and shift on the ground that bring the flat foot nearest to where its points rest in
/// these frames.
fn footstep<'a>(
    members: &[usize],
    soles: &'a [Sole],
    tracks: &[Vec<Vec3>],
    weight: &dyn Fn(usize, usize) -> f64,
    frames: Range<usize>,
    ground: &'a Ground,
) -> impl Fn(Vec3) -> Vec3 + use<'a> {
    let frame = ground.frame();
    let pairs: Vec<(f64, Vec3, Vec3)> = frames
        .flat_map(|i| members.iter().map(move |&s| (i, s)))
        .map(|(i, s)| {
            (weight(s, i), soles[s].flat, frame.transpose() * (ground.project(tracks[s][i]) - ground.point))
        })
        .collect();
    let total: f64 = pairs.iter().map(|(w, ..)| w).sum();
    let from = pairs.iter().map(|&(w, a, _)| a * w).sum::<Vec3>() / total;
    let to = pairs.iter().map(|&(w, _, b)| b * w).sum::<Vec3>() / total;
    let (mut cosine, mut sine) = (0.0, 0.0);
    for &(w, a, b) in &pairs {
        let (a, b) = (a - from, b - to);
        cosine += w * (a.x * b.x + a.y * b.y);
        sine += w * (a.x * b.y - a.y * b.x);
    }
    let turn = Mat3::from_rotation_z(sine.atan2(cosine));
    let ground = *ground;
    move |flat: Vec3| ground.project(ground.point + frame * (to + turn * (flat - from)))
}
