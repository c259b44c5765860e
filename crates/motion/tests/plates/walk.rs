//! Forces found from markers alone, and what plates under the feet say: for the tests and for the benchmark. Nothing here looks at the plates but the
//! comparison; but the speed at which a point is said to rest, and how far it may then travel (`Repair::measuring`), were chosen with these two
//! walks in view.

use std::path::{Path, PathBuf};

use clip::{Plate, ReadOptions, Table};
use geometry::Vec3;
use motion::{
    Body, Bone, Build, Data, Followed, Ground, Marker, Moment, Repair, Repaired, Side, Spline, Take, follow,
    side,
};

/// Hz: what is faster is filtered out of plates and of our forces alike.
const CUT_OFF: f64 = 6.0;
/// N, in which a foot is said to stand.
const STANDS: f64 = 20.0;

/// A file of the test assets; says so aloud where they are not there.
fn asset(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("FOLLOWTHROUGH_ASSETS").map(PathBuf::from);
    let above =
        || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/assets"));
    let folder = folder.or_else(|| above().find(|folder| folder.is_dir())).unwrap_or_default();
    let path = folder.join("mocap/gait_grf").join(name);
    if !path.is_file() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// What a table of the file says.
#[derive(Default)]
struct Entry {
    is_marker: bool,
    name: String,
    /// The parent of a joint, the joint of a marker.
    on: Option<String>,
    at: Vec3,
    tip: Option<Vec3>,
}

/// The tables of a file: of TOML what is needed here, a key on each line.
fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with("[[") {
            entries.push(Entry { is_marker: line == "[[marker]]", ..Entry::default() });
            continue;
        }
        let (key, value) = line.split_once(" = ").unwrap();
        let word = || value.trim_matches('"').to_owned();
        let vector = || {
            let numbers = value.trim_matches(['[', ']']).split(", ").map(|x| x.parse::<f64>().unwrap());
            Vec3::from_slice(&numbers.collect::<Vec<_>>())
        };
        let entry = entries.last_mut().unwrap();
        match key {
            "name" => entry.name = word(),
            "parent" | "joint" => entry.on = Some(word()),
            "at" => entry.at = vector(),
            "tip" => entry.tip = Some(vector()),
            _ => panic!("{line}"),
        }
    }
    entries
}

/// A person, standing, and where markers sit on it.
fn person(text: &str) -> (Vec<Bone>, Vec<Marker>) {
    let (markers, joints): (Vec<Entry>, Vec<Entry>) = entries(text).into_iter().partition(|e| e.is_marker);
    let index = |name: &String| joints.iter().position(|joint| joint.name == *name).unwrap();
    let bones = joints.iter().map(|joint| {
        let parent = joint.on.as_ref().map(index);
        let offset = parent.map_or(joint.at, |parent| joint.at - joints[parent].at);
        Bone { name: joint.name.clone(), parent, offset, tip: joint.tip.map(|tip| tip - joint.at) }
    });
    let markers = markers.iter().map(|marker| {
        let joint = marker.on.as_ref().map(index).unwrap();
        Marker { name: marker.name.clone(), joint, point: marker.at - joints[joint].at }
    });
    (bones.collect(), markers.collect())
}

/// The person in the motion of the markers.
fn followed(file: &str, text: &str) -> Option<Followed> {
    let clip = clip::read(asset(file)?, &ReadOptions::default()).unwrap();
    let (bones, markers) = person(text);
    let skeleton = clip.skeleton.as_ref().unwrap();
    let places: Vec<Vec<Option<Vec3>>> = (0..clip.frame_count())
        .map(|frame| {
            let pose = clip.frame(frame).unwrap().pose;
            let place = |marker: &Marker| {
                let transform = pose[skeleton.joint_index(&marker.name).unwrap()];
                (transform.scale.x > 0.99).then(|| transform.translation.as_dvec3())
            };
            markers.iter().map(place).collect()
        })
        .collect();
    Some(follow(&bones, &markers, &places, clip.frame_rate_hz).unwrap())
}

/// Zero-phase: second order, forwards and back.
fn low_pass(values: &[Vec3], rate: f64) -> Vec<Vec3> {
    let run = |values: &[Vec3]| -> Vec<Vec3> {
        // two passes of a Butterworth filter cut lower than one
        let corner = (std::f64::consts::PI * CUT_OFF / rate).tan() / (2f64.sqrt() - 1.0).powf(0.25);
        let scale = 1.0 + 2f64.sqrt() * corner + corner * corner;
        let b = corner * corner / scale;
        let a =
            [2.0 * (corner * corner - 1.0) / scale, (1.0 - 2f64.sqrt() * corner + corner * corner) / scale];
        let (mut x, mut y) = ([values[0]; 2], [values[0]; 2]);
        let next = |&value: &Vec3| {
            let out = (value + x[0] * 2.0 + x[1]) * b - y[0] * a[0] - y[1] * a[1];
            (x, y) = ([value, x[0]], [out, y[0]]);
            out
        };
        values.iter().map(next).collect()
    };
    let mut there = run(values);
    there.reverse();
    let mut back = run(&there);
    back.reverse();
    back
}

/// Forces under the right and the left foot over a take's frames, in body weights.
pub(crate) struct Feet {
    pub(crate) right: Vec<Vec3>,
    pub(crate) left: Vec<Vec3>,
}

impl Feet {
    pub(crate) fn total(&self) -> Vec<Vec3> {
        self.right.iter().zip(&self.left).map(|(a, b)| *a + *b).collect()
    }

    fn filtered(&self, rate: f64) -> Self {
        Self { right: low_pass(&self.right, rate), left: low_pass(&self.left, rate) }
    }
}

/// What the solve says each foot bears.
fn found(repaired: &Repaired) -> Feet {
    let weight = repaired.body.mass() * 9.81;
    let of = |wanted: Side| -> Vec<Vec3> {
        let own = |sole: usize| side(&repaired.soles[sole].name) == Some(wanted);
        let frame = |forces: &Vec<(usize, Vec3)>| {
            forces.iter().filter(|force| own(force.0)).map(|force| force.1).sum::<Vec3>() / weight
        };
        repaired.solution.forces.iter().map(frame).collect()
    };
    Feet { right: of(Side::Right), left: of(Side::Left) }
}

/// What plates say, filtered at their own rate, at a take's frames; and when feet strike and lift, in s.
fn measured(table: &Table, plates: [&Plate; 2], weight: f64, frames: usize, rate: f64) -> (Feet, Vec<Event>) {
    let fine = (table.times.len() - 1) as f64 / (table.times[table.times.len() - 1] - table.times[0]);
    let at = |list: &[Vec3], frame: usize| {
        let t = ((frame as f64 / rate - table.times[0]) * fine).clamp(0.0, (list.len() - 1) as f64);
        let k = (t.floor() as usize).min(list.len() - 2);
        list[k].lerp(list[k + 1], t - k as f64) / weight
    };
    let of = |plate: &Plate| -> Vec<Vec3> {
        let smooth = low_pass(&plate.forces, fine);
        (0..frames).map(|frame| at(&smooth, frame)).collect()
    };
    let mut events = Vec::new();
    for (foot, plate) in plates.iter().enumerate() {
        let stands: Vec<bool> = plate.forces.iter().map(|force| force.y > STANDS).collect();
        for k in 1..stands.len() {
            if stands[k] != stands[k - 1] {
                events.push(Event { foot, strikes: stands[k], time: table.times[k] });
            }
        }
    }
    (Feet { right: of(plates[0]), left: of(plates[1]) }, events)
}

/// A foot strikes the ground or leaves it.
#[derive(Clone, Copy, Debug)]
struct Event {
    foot: usize,
    strikes: bool,
    time: f64,
}

/// When our feet strike and lift: between the frames at which nothing of them rests, and something does.
fn events(repaired: &Repaired) -> Vec<Event> {
    let frames = repaired.take.frame_count();
    let mut events = Vec::new();
    for (foot, wanted) in [Side::Right, Side::Left].into_iter().enumerate() {
        let own = |sole: usize| side(&repaired.soles[sole].name) == Some(wanted);
        let stands = |frame: usize| {
            repaired.contacts.iter().any(|contact| own(contact.sole) && contact.frames.contains(&frame))
        };
        for frame in 1..frames {
            if stands(frame) != stands(frame - 1) {
                let time = (frame as f64 - 0.5) / repaired.take.frame_rate_hz;
                events.push(Event { foot, strikes: stands(frame), time });
            }
        }
    }
    events
}

/// Root mean square of each axis, in % of body weight.
fn rms(a: &[Vec3], b: &[Vec3], frames: &[usize]) -> Vec3 {
    let sum: Vec3 = frames.iter().map(|&k| (a[k] - b[k]) * (a[k] - b[k])).sum();
    let mean = sum / frames.len() as f64;
    Vec3::new(mean.x.sqrt(), mean.y.sqrt(), mean.z.sqrt()) * 100.0
}

/// Mass times acceleration of the curve through a take's frames, in body weights.
fn differences(take: &Take, body: &Body) -> Vec<Vec3> {
    let spline = Spline::through(body, &take.coordinates(body), 1.0 / take.frame_rate_hz).unwrap();
    let (mut moment, mut data) = (Moment::new(body), Data::new(body));
    let mut u = vec![0.0; body.dof_count()];
    (0..take.frame_count())
        .map(|frame| {
            spline.frame(body, frame, &mut moment);
            let Moment { q, v, a } = &moment;
            data.inverse_dynamics(body, q, v, a, Vec3::Y * -9.81, &mut u);
            Vec3::from_slice(&u) / (body.mass() * 9.81)
        })
        .collect()
}

/// When feet strike and lift too late, in ms, at most, one way or the other.
fn late(ours: &[Event], theirs: &[Event], seconds: f64) -> [f64; 2] {
    let mut worst = [0.0_f64; 2];
    // what is near the ends may have happened before them
    for event in theirs.iter().filter(|event| event.time > 0.1 && event.time < seconds - 0.1) {
        let same = ours.iter().filter(|own| own.foot == event.foot && own.strikes == event.strikes);
        let off = same.map(|own| (own.time - event.time).abs()).fold(f64::MAX, f64::min);
        let worst = &mut worst[usize::from(!event.strikes)];
        *worst = worst.max(1e3 * off);
    }
    worst
}

/// Plates as they are, at a take's frames: both together.
fn unfiltered(table: &Table, plates: [&Plate; 2], weight: f64, frames: usize, rate: f64) -> Vec<Vec3> {
    let at = |frame: usize| {
        let t = frame as f64 / rate;
        let k = table.times.partition_point(|&time| time < t).min(table.times.len() - 1);
        (plates[0].forces[k] + plates[1].forces[k]) / weight
    };
    (0..frames).map(at).collect()
}

/// A measured walk.
pub(crate) struct Walk {
    markers: &'static str,
    plates: &'static str,
    person: &'static str,
    /// In kg: what plates are divided by.
    mass: f64,
    /// Of the treadmill, m/s.
    belt: f64,
}

/// On a treadmill.
pub(crate) const SUBJECT01: Walk = Walk {
    markers: "subject01_walk1.trc",
    plates: "subject01_walk1_grf.mot",
    person: include_str!("subject01.toml"),
    mass: 72.6,
    belt: -1.13,
};
/// Over plates in the floor. Of this person the mass is not written anywhere: it is the mean of the plates over the step from 0.84 s to
/// 1.41 s; what is compared are body weights.
pub(crate) const OTHER: Walk = Walk {
    markers: "motion_capture_walk.trc",
    plates: "grf_walk.mot",
    person: include_str!("walk.toml"),
    mass: 85.8,
    belt: 0.0,
};

/// What was compared, over a take's frames, in body weights.
pub(crate) struct Curves {
    pub(crate) rate: f64,
    /// Frames at which all that is under the feet is plates.
    pub(crate) frames: Vec<usize>,
    /// By differences.
    pub(crate) raw: Vec<Vec3>,
    pub(crate) ours: Feet,
    pub(crate) plates: Feet,
}

/// How far forces found from markers are from those of plates.
#[derive(Debug)]
pub(crate) struct Compared {
    /// Of the whole force, ahead, up, aside, in % of body weight.
    pub(crate) whole: Vec3,
    /// The larger of both feet.
    pub(crate) foot: Vec3,
    /// Strikes and lifts, in ms.
    pub(crate) late: [f64; 2],
    /// Of the whole force, nothing filtered: by raw differences and by the solve.
    pub(crate) raw: Vec3,
    pub(crate) unfiltered: Vec3,
}

/// By frame and foot, first the right one, as its joints come first: force in N, and where it acts.
pub(crate) type Plates = Vec<[(Vec3, Vec3); 2]>;

impl Walk {
    /// Who walks.
    pub(crate) fn build(&self) -> Build {
        Build { mass: Some(self.mass), ..Build::default() }
    }

    /// The walk as if the belt stood still, and what plates measured at its frames.
    pub(crate) fn over_ground(&self) -> Option<(Take, Plates)> {
        let mut take = followed(self.markers, self.person)?.take;
        let table = Table::read(asset(self.plates)?, &clip::Files::default()).unwrap();
        let (list, rate) = (table.plates(), take.frame_rate_hz);
        let carried = |time: f64| Vec3::X * (-self.belt * time);
        take.roots.iter_mut().enumerate().for_each(|(frame, root)| *root += carried(frame as f64 / rate));
        let frame = |frame: usize| {
            let time = frame as f64 / rate;
            let k = table.times.partition_point(|&t| t < time).min(table.times.len() - 1);
            [&list[0], &list[1]].map(|plate| (plate.forces[k], plate.places[k] + carried(time)))
        };
        let plates = (0..take.frame_count()).map(frame).collect();
        Some((take, plates))
    }

    /// Finds the forces, then looks at the plates.
    pub(crate) fn compared(&self) -> Option<(Compared, Curves)> {
        let followed = followed(self.markers, self.person)?;
        let name = &followed.markers[followed.worst.0].name;
        eprintln!(
            "{}: {:.1} mm from its markers, {name} {:.1} mm",
            self.markers,
            1e3 * followed.error,
            1e3 * followed.worst.1
        );
        assert!(followed.error < 0.005);
        let take = followed.take;
        let rate = take.frame_rate_hz;
        let build = Build { mass: Some(self.mass), ..Build::default() };
        let body = take.body(&build).unwrap();
        let level = motion::ground_height(&take, &body, &take.coordinates(&body)).unwrap();
        let ground = Some(Ground { velocity: Vec3::X * self.belt, ..Ground::level(level) });
        let ours = Repair { build, ground, ..Repair::measuring() }.run(&take).unwrap();
        let report = &ours.report;
        assert!(
            ours.solution.converged && report.root_residual < 1e-6 && report.cone_violations == 0,
            "{report:?}"
        );
        let (found, raw) = (found(&ours), differences(&take, &body));

        let table = Table::read(asset(self.plates)?, &clip::Files::default()).unwrap();
        let list = table.plates();
        let (plates, weight) = ([&list[0], &list[1]], 9.81 * self.mass);
        let frames = take.frame_count();
        let (feet, theirs) = measured(&table, plates, weight, frames, rate);
        let plain = unfiltered(&table, plates, weight, frames, rate);
        let smooth = found.filtered(rate);
        let seen = self.seen(&theirs, frames, rate);
        let [right, left] =
            [(&smooth.right, &feet.right), (&smooth.left, &feet.left)].map(|(a, b)| rms(a, b, &seen));
        let compared = Compared {
            whole: rms(&smooth.total(), &feet.total(), &seen),
            foot: right.max(left),
            late: late(&events(&ours), &theirs, frames as f64 / rate),
            raw: rms(&raw, &plain, &seen),
            unfiltered: rms(&found.total(), &plain, &seen),
        };
        eprintln!("{compared:.2?}");
        Some((compared, Curves { rate, frames: seen, raw, ours: smooth, plates: feet }))
    }

    /// Frames at which all that is under the feet is plates: on a treadmill all but the ends, on the floor between the first step and the last.
    fn seen(&self, theirs: &[Event], frames: usize, rate: f64) -> Vec<usize> {
        let times = || theirs.iter().map(|event| event.time);
        let (from, to) = match self.belt == 0.0 {
            true => (times().fold(f64::MAX, f64::min) + 0.2, times().fold(0.0, f64::max) - 0.2),
            false => (0.15, frames as f64 / rate - 0.15),
        };
        ((from * rate) as usize..(to * rate) as usize).collect()
    }
}
