//! A figure for a skeleton that has none: capsules and round boxes in human proportions, each rigid on one joint.
//!
//! Limbs are as thick as the tables' masses make them at their lengths (a cylinder of 1,050 kg/m³); trunk, head, hands and feet are
//! shares of height (Drillis and Contini, *Body segment parameters*, 1966: breadth of hips 0.191, of shoulders 0.259, length of a foot 0.152,
//! of a hand 0.108, height of a head 0.130). A skeleton without legs gets a capsule for every bone.

use geometry::{Mat3, Quat, Vec3};

use crate::anthropometry::{Bone, Segment, Table, ends, height, segments};

/// Mean density of a person, in kg/m³.
const DENSITY: f64 = 1050.0;
/// Body mass index of a slender person, in kg/m².
const BODY_MASS_INDEX: f64 = 22.5;
/// Of whom the mass index is that, in metres.
const HEIGHT: f64 = 1.75;

/// A box with round edges, in the frame of a joint; a capsule where it is round all over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solid {
    /// The joint that carries it.
    pub joint: usize,
    /// Its middle in the joint's frame, in metres.
    pub center: Vec3,
    /// Joint-from-solid: z along the bone, x to the side.
    pub rotation: Quat,
    /// Half its lengths along x, y and z, in metres.
    pub half: Vec3,
    /// The radius of its edges, in metres.
    pub round: f64,
    /// How many times as wide and as deep it is at the end of the bone as at the beginning.
    pub taper: f64,
    /// Whether the side towards −y stays flat: a sole.
    pub flat: bool,
}

impl Solid {
    /// A closed surface: points in the joint's frame, and quads seen from outside, of edges no longer than `cell` where it is flat.
    pub fn surface(&self, cell: f64) -> (Vec<Vec3>, Vec<[u32; 4]>) {
        let round = self.round.min(self.half.min_element());
        let core = self.half - Vec3::splat(round);
        let lines: [Vec<f64>; 3] = [0, 1, 2].map(|axis| lines(core[axis], round, cell));
        let counts = [0, 1, 2].map(|axis| lines[axis].len());
        let (mut points, mut quads) = (Vec::new(), Vec::new());
        let mut known = vec![u32::MAX; counts.iter().product()];
        let mut index = |at: [usize; 3], points: &mut Vec<Vec3>| {
            let slot = (at[0] * counts[1] + at[1]) * counts[2] + at[2];
            if known[slot] == u32::MAX {
                known[slot] = points.len() as u32;
                let outer = Vec3::new(lines[0][at[0]], lines[1][at[1]], lines[2][at[2]]);
                let inner = outer.clamp(-core, core);
                points.push(self.placed(inner + (outer - inner).normalize_or_zero() * round));
            }
            known[slot]
        };
        for axis in 0..3 {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            for (side, last) in [(0, false), (counts[axis] - 1, true)] {
                for i in 0..counts[u] - 1 {
                    for j in 0..counts[v] - 1 {
                        let corner = |di: usize, dj: usize| {
                            let mut at = [side; 3];
                            (at[u], at[v]) = (i + di, j + dj);
                            at
                        };
                        let mut quad =
                            [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(a, b)| index(corner(a, b), &mut points));
                        if !last {
                            quad.reverse();
                        }
                        quads.push(quad);
                    }
                }
            }
        }
        (points, quads)
    }

    /// A point of the straight box, tapered and put into the joint's frame.
    fn placed(&self, point: Vec3) -> Vec3 {
        let along = (0.5 + 0.5 * point.z / self.half.z).clamp(0.0, 1.0);
        let narrow = 1.0 + (self.taper - 1.0) * along;
        let y = if self.flat { (point.y + self.half.y) * narrow - self.half.y } else { point.y * narrow };
        self.center + self.rotation * Vec3::new(point.x * narrow, y, point.z)
    }
}

/// Where the grid lines of a side are: dense on the edges, at angles of 22.5°.
fn lines(core: f64, round: f64, cell: f64) -> Vec<f64> {
    let edge = [0.414 * round, round];
    let mut lines: Vec<f64> = edge.iter().rev().map(|e| -core - e).collect();
    if core > 1e-3 * round {
        let pieces = (2.0 * core / cell).ceil().max(1.0);
        lines.extend((0..=pieces as usize).map(|k| core * (2.0 * k as f64 / pieces - 1.0)));
    } else {
        lines.push(0.0);
    }
    lines.extend(edge.iter().map(|e| core + e));
    lines
}

/// The solids of a skeleton at rest; `rest` are its parent-from-joint rotations there. It stands upright, along y.
pub fn figure(bones: &[Bone], rest: &[Quat]) -> Vec<Solid> {
    let Some(tall) = height(bones).filter(|tall| tall.is_finite()) else { return sticks(bones, rest) };
    let segments = segments(bones);
    let ends = ends(bones, &segments, Table::Mean, tall);
    let mut figure = Drawing { bones, ends, tall, segments, ..Drawing::at_rest(bones, rest) };
    figure.side = figure.lateral();
    for joint in 0..bones.len() {
        match figure.segments[joint] {
            Segment::UpperArm => figure.limb(joint, 1.1, 0.9),
            Segment::Forearm | Segment::Thigh | Segment::Shank => figure.limb(joint, 1.2, 0.75),
            Segment::Hand => figure.hand(joint),
            Segment::Foot => figure.foot(joint),
            Segment::Head => figure.head(joint),
            Segment::UpperTrunk | Segment::MiddleTrunk | Segment::LowerTrunk => figure.trunk(joint),
        }
    }
    figure.solids
}

/// A capsule for every bone.
fn sticks(bones: &[Bone], rest: &[Quat]) -> Vec<Solid> {
    let mut figure = Drawing::at_rest(bones, rest);
    let size = figure.places.iter().map(|place| place.distance(figure.places[0])).fold(0.0, f64::max);
    for (joint, bone) in bones.iter().enumerate() {
        let children = bones.iter().filter(|child| child.parent == Some(joint)).map(|child| child.offset);
        for end in children.chain(bone.tip).filter(|end| end.length() > 1e-3 * size) {
            let to = figure.places[joint] + figure.turns[joint] * end;
            let thick = (0.15 * end.length()).clamp(0.01 * size, 0.05 * size);
            figure.capsule(joint, figure.places[joint], to, [thick; 2]);
        }
    }
    figure.solids
}

/// What is under a joint.
#[derive(Clone, Copy, Default)]
struct Below {
    arms: usize,
    legs: usize,
    heads: usize,
}

/// A skeleton at rest, and what has been drawn on it.
#[derive(Default)]
struct Drawing<'a> {
    bones: &'a [Bone],
    segments: Vec<Segment>,
    ends: Vec<Vec3>,
    below: Vec<Below>,
    /// World-from-joint at rest.
    turns: Vec<Quat>,
    places: Vec<Vec3>,
    /// In metres.
    tall: f64,
    /// To the figure's left.
    side: Vec3,
    solids: Vec<Solid>,
}

impl<'a> Drawing<'a> {
    fn at_rest(bones: &'a [Bone], rest: &[Quat]) -> Self {
        let (mut turns, mut places): (Vec<Quat>, Vec<Vec3>) = (Vec::new(), Vec::new());
        for (bone, &turn) in bones.iter().zip(rest) {
            let (above, place) =
                bone.parent.map_or((Quat::IDENTITY, Vec3::ZERO), |parent| (turns[parent], places[parent]));
            places.push(place + above * bone.offset);
            turns.push(above * turn);
        }
        let segments = segments(bones);
        let mut below = vec![Below::default(); bones.len()];
        for (joint, bone) in bones.iter().enumerate().rev() {
            let Some(parent) = bone.parent else { continue };
            let begins = segments[parent] != segments[joint];
            let own = below[joint];
            let count = |segment: Segment| usize::from(begins && segments[joint] == segment);
            below[parent].arms += own.arms + count(Segment::UpperArm);
            below[parent].legs += own.legs + count(Segment::Thigh);
            below[parent].heads += own.heads + count(Segment::Head);
        }
        Self { bones, segments, below, turns, places, side: Vec3::X, ..Self::default() }
    }

    fn children(&self, joint: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.bones.len()).filter(move |&child| self.bones[child].parent == Some(joint))
    }

    /// The first joints of a segment's limbs, left or right.
    fn first(&self, segment: Segment) -> Vec<usize> {
        let begins = |joint: usize| {
            self.bones[joint].parent.is_none_or(|parent| self.segments[parent] != self.segments[joint])
        };
        (0..self.bones.len()).filter(|&joint| self.segments[joint] == segment && begins(joint)).collect()
    }

    fn middle(&self, joints: &[usize]) -> Option<Vec3> {
        let sum: Vec3 = joints.iter().map(|&joint| self.places[joint]).sum();
        (!joints.is_empty()).then(|| sum / joints.len() as f64)
    }

    /// From the right hip to the left one, level.
    fn lateral(&self) -> Vec3 {
        let way = |joints: &[usize]| {
            let [a, b] = *joints.first_chunk::<2>()?;
            let is_right = crate::names::side(&self.bones[a].name) == Some(crate::names::Side::Right);
            let way = (self.places[a] - self.places[b]) * if is_right { -1.0 } else { 1.0 };
            Vec3::new(way.x, 0.0, way.z).try_normalize()
        };
        way(&self.first(Segment::Thigh)).or_else(|| way(&self.first(Segment::UpperArm))).unwrap_or(Vec3::X)
    }

    fn ahead(&self) -> Vec3 {
        self.side.cross(Vec3::Y)
    }

    /// A solid from one place at rest to another, its width along `wide`; it goes on beyond both by `beyond`.
    fn push(&mut self, joint: usize, ends: [Vec3; 2], wide: Vec3, half: [f64; 2], beyond: [f64; 2]) {
        let Some(along) = (ends[1] - ends[0]).try_normalize() else { return };
        let wide = (wide - along * along.dot(wide)).try_normalize();
        let x = wide.unwrap_or_else(|| along.any_orthonormal_vector());
        let (from, to) = (ends[0] - along * beyond[0], ends[1] + along * beyond[1]);
        let joint_from_world = self.turns[joint].inverse();
        let world_from_solid = Quat::from_mat3(&Mat3::from_cols(x, along.cross(x), along));
        self.solids.push(Solid {
            joint,
            center: joint_from_world * (0.5 * (from + to) - self.places[joint]),
            rotation: (joint_from_world * world_from_solid).normalize(),
            half: Vec3::new(half[0], half[1], 0.5 * from.distance(to)),
            round: half[0].min(half[1]),
            taper: 1.0,
            flat: false,
        });
    }

    fn capsule(&mut self, joint: usize, from: Vec3, to: Vec3, [thick, thin]: [f64; 2]) {
        self.push(joint, [from, to], self.side, [thick, thick], [thick, thin]);
        if let Some(last) = self.solids.last_mut() {
            last.taper = thin / thick;
        }
    }

    fn end(&self, joint: usize) -> Vec3 {
        self.places[joint] + self.turns[joint] * self.ends[joint]
    }

    /// As thick as the table's mass makes a cylinder of the table's length, thicker where it begins.
    fn limb(&mut self, joint: usize, begin: f64, end: f64) {
        let (share, length) = Table::Mean.mass_and_length(self.segments[joint]);
        // m = ϱ π r² l, of somebody of this height whatever unit the skeleton is drawn in
        let area =
            share * BODY_MASS_INDEX * HEIGHT * HEIGHT / (DENSITY * std::f64::consts::PI * length * HEIGHT);
        let radius = area.sqrt() / HEIGHT * self.tall;
        // a bone shorter than it is thick is a joint of several at one place
        if self.ends[joint].length() > radius {
            self.capsule(joint, self.places[joint], self.end(joint), [begin * radius, end * radius]);
        }
    }

    /// One box from the wrist on; fingers are in it.
    fn hand(&mut self, joint: usize) {
        let parent = self.bones[joint].parent;
        if parent.is_some_and(|parent| self.segments[parent] == Segment::Hand) {
            return;
        }
        let wrist = self.places[joint];
        let forearm = parent.map_or(Vec3::NEG_Y, |parent| wrist - self.places[parent]);
        let along = forearm.try_normalize().unwrap_or(Vec3::NEG_Y);
        let (length, half) = (0.108 * self.tall, [0.022 * self.tall, 0.01 * self.tall]);
        self.push(joint, [wrist, wrist + along * length], self.ahead(), half, [0.1 * length, -0.1 * length]);
    }

    /// A box from the heel to the ball, one from there to the toes' end.
    fn foot(&mut self, joint: usize) {
        let parent = self.bones[joint].parent.filter(|&parent| self.segments[parent] == Segment::Foot);
        let grandparent = parent.and_then(|parent| self.bones[parent].parent);
        if grandparent.is_some_and(|joint| self.segments[joint] == Segment::Foot) {
            return;
        }
        let ankle = parent.unwrap_or(joint);
        let end = self.places[joint] + self.turns[joint] * self.ends[joint];
        let level = |way: Vec3| Vec3::new(way.x, 0.0, way.z);
        let length = 0.152 * self.tall;
        let way = level(end - self.places[joint]);
        let (along, reach) = match way.try_normalize().filter(|_| way.length() > 0.1 * length) {
            Some(along) => (along, way.length()),
            None => (self.ahead(), if parent.is_some() { 0.25 * length } else { 0.6 * length }),
        };
        let lowest = (0..self.bones.len())
            .filter(|&other| other == ankle || self.bones[other].parent == Some(ankle))
            .map(|other| self.places[other].y)
            .fold(self.places[ankle].y - 0.02 * self.tall, f64::min);
        let sole = lowest - 0.01 * self.tall;
        let from = self.places[joint];
        let (top, beyond) = match parent {
            None => (self.places[ankle].y + 0.012 * self.tall, [0.25 * length, 0.08 * length]),
            Some(_) => (sole + 0.034 * self.tall, [0.08 * length, 0.08 * length]),
        };
        let middle = 0.5 * (top + sole);
        let at = |place: Vec3| Vec3::new(place.x, middle, place.z);
        let half = [0.026 * self.tall, 0.5 * (top - sole)];
        self.push(joint, [at(from), at(from + along * reach)], along.cross(Vec3::Y), half, beyond);
        let Some(last) = self.solids.last_mut() else { return };
        last.round = 0.5 * half[0].min(half[1]);
        last.flat = true;
        last.taper = if parent.is_none() { 0.62 } else { 0.85 };
        // y of the solid is up
        let up = last.rotation.inverse() * (self.turns[joint].inverse() * Vec3::Y);
        if up.y < 0.0 {
            last.rotation *= Quat::from_rotation_z(std::f64::consts::PI);
        }
    }

    /// The neck as capsules, the head as one round box.
    fn head(&mut self, joint: usize) {
        let is_head = |bone: &Bone| bone.name.to_ascii_lowercase().contains("head");
        let named = |at: usize| self.segments[at] == Segment::Head && is_head(&self.bones[at]);
        let mut above = self.bones[joint].parent;
        while let Some(at) = above {
            if named(at) {
                return;
            }
            above = self.bones[at].parent;
        }
        let more = self.children(joint).any(|child| self.segments[child] == Segment::Head);
        let (place, thick) = (self.places[joint], 0.032 * self.tall);
        if !named(joint) && more {
            let next = self.children(joint).find(|&child| self.segments[child] == Segment::Head);
            let to = next.map_or(place, |next| self.places[next]);
            if to.distance(place) > 0.2 * thick {
                self.capsule(joint, place, to, [thick; 2]);
            }
            return;
        }
        let way = self.bones[joint].tip.map(|tip| self.turns[joint] * tip).unwrap_or(Vec3::Y);
        let up = way.try_normalize().filter(|up| up.y > 0.5).unwrap_or(Vec3::Y);
        let top = place + up * (0.12 * self.tall);
        let half = [0.043 * self.tall, 0.054 * self.tall];
        self.push(joint, [place, top], self.side, half, [0.015 * self.tall, 0.0]);
    }

    /// Whether a joint is one of the spine's: more than one limb, or a head, hangs on it.
    fn is_column(&self, joint: usize) -> bool {
        let Below { arms, legs, heads } = self.below[joint];
        let trunk = [Segment::UpperTrunk, Segment::MiddleTrunk, Segment::LowerTrunk];
        trunk.contains(&self.segments[joint]) && (heads > 0 || arms + legs > 1)
    }

    /// Pelvis, belly and chest: as wide at each height as a trunk is there. What leads from them to one limb is a capsule, or nothing.
    fn trunk(&mut self, joint: usize) {
        if !self.is_column(joint) {
            let arm = self.children(joint).find(|&child| self.segments[child] == Segment::UpperArm);
            if let Some(arm) = arm {
                let thick = 0.03 * self.tall;
                if self.places[arm].distance(self.places[joint]) > thick {
                    self.capsule(joint, self.places[joint], self.places[arm], [thick; 2]);
                }
            }
            return;
        }
        let begins = self.bones[joint].parent.is_none_or(|parent| !self.is_column(parent));
        let hips = self.middle(&self.first(Segment::Thigh));
        let arms = self.middle(&self.first(Segment::UpperArm));
        let start = if begins { hips.unwrap_or(self.places[joint]) } else { self.places[joint] };
        let next = self.children(joint).find(|&child| self.is_column(child));
        let end = match next {
            Some(next) => self.places[next],
            None => arms.unwrap_or_else(|| self.end(joint)),
        };
        if start.distance(end) < 0.02 * self.tall {
            return;
        }
        let (low, high) = (hips.map_or(start.y, |hips| hips.y), arms.map_or(end.y, |arms| arms.y));
        let share = |place: Vec3| ((place.y - low) / (high - low).max(1e-6)).clamp(0.0, 1.0);
        let [from, to] = [start, end].map(|place| breadth(share(place)));
        let depth = 0.06 * self.tall;
        let beyond = if next.is_some() { 0.4 * depth } else { 0.2 * depth };
        self.push(joint, [start, end], self.side, [from * self.tall, depth], [0.5 * depth, beyond]);
        if let Some(last) = self.solids.last_mut() {
            last.taper = to / from;
            last.round = 0.85 * depth;
        }
    }
}

/// Half the breadth of a trunk as a share of height: hips, waist, chest under the arms.
fn breadth(share: f64) -> f64 {
    let (hips, waist, chest) = (0.092, 0.08, 0.1);
    if share < 0.4 {
        hips + (waist - hips) * share / 0.4
    } else {
        waist + (chest - waist) * (share - 0.4) / 0.6
    }
}
