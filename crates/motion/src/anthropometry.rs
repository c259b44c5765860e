//! How much the parts of a person weigh, by weight and height: published tables laid onto any skeleton.
//!
//! Zatsiorsky and Seluyanov's measurements as adjusted by de Leva, *Adjustments to Zatsiorsky–Seluyanov's segment inertia
//! parameters*, J. Biomechanics 29 (1996), Table 4. Differs: a segment that a skeleton divides into several bones (spine, neck, foot
//! and toes) is shared out by their lengths, so that the figure's mass is exactly the one given.

use geometry::{Mat3, Vec3};

use crate::error::Error;
use crate::spatial::{Inertia, outer};

/// A part of the body that the tables know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// Head and neck.
    Head,
    /// Chest and shoulders.
    UpperTrunk,
    /// Belly.
    MiddleTrunk,
    /// Pelvis.
    LowerTrunk,
    /// Shoulder to elbow.
    UpperArm,
    /// Elbow to wrist.
    Forearm,
    /// Hand and fingers.
    Hand,
    /// Hip to knee.
    Thigh,
    /// Knee to ankle.
    Shank,
    /// Foot and toes.
    Foot,
}

/// Whose measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Table {
    /// The mean of the two others.
    #[default]
    Mean,
    /// 15 women, 19 years, 61.9 kg, 1.735 m.
    Female,
    /// 100 men, 24 years, 73.0 kg, 1.741 m.
    Male,
}

/// One line: share of mass; centre of mass from the upper end, share of length; radii of gyration about the sagittal, transverse and
/// long axis, shares of length; length, share of height.
struct Line {
    mass: f64,
    center: f64,
    radii: [f64; 3],
    length: f64,
}

const fn line(mass: f64, center: f64, radii: [f64; 3], length: f64) -> Line {
    Line { mass: 0.01 * mass, center: 0.01 * center, radii, length }
}

/// By [`Segment`]'s order. Lengths in m over 1.735 m.
#[allow(clippy::approx_constant)] // a measured radius that happens to be near 1/π
const FEMALE: [Line; 10] = [
    line(6.68, 58.94, [0.330, 0.359, 0.318], 0.2002 / 1.735),
    line(15.45, 20.77, [0.746, 0.502, 0.718], 0.1425 / 1.735),
    line(14.65, 45.12, [0.433, 0.354, 0.415], 0.2053 / 1.735),
    line(12.47, 49.20, [0.433, 0.402, 0.444], 0.1815 / 1.735),
    line(2.55, 57.54, [0.278, 0.260, 0.148], 0.2751 / 1.735),
    line(1.38, 45.59, [0.261, 0.257, 0.094], 0.2643 / 1.735),
    line(0.56, 74.74, [0.531, 0.454, 0.335], 0.0780 / 1.735),
    line(14.78, 36.12, [0.369, 0.364, 0.162], 0.3685 / 1.735),
    line(4.81, 44.16, [0.271, 0.267, 0.093], 0.4323 / 1.735),
    line(1.29, 40.14, [0.299, 0.279, 0.139], 0.2283 / 1.735),
];

/// By [`Segment`]'s order. Lengths in m over 1.741 m.
const MALE: [Line; 10] = [
    line(6.94, 59.76, [0.362, 0.376, 0.312], 0.2033 / 1.741),
    line(15.96, 29.99, [0.716, 0.454, 0.659], 0.1707 / 1.741),
    line(16.33, 45.02, [0.482, 0.383, 0.468], 0.2155 / 1.741),
    line(11.17, 61.15, [0.615, 0.551, 0.587], 0.1457 / 1.741),
    line(2.71, 57.72, [0.285, 0.269, 0.158], 0.2817 / 1.741),
    line(1.62, 45.74, [0.276, 0.265, 0.121], 0.2689 / 1.741),
    line(0.61, 79.00, [0.628, 0.513, 0.401], 0.0862 / 1.741),
    line(14.16, 40.95, [0.329, 0.329, 0.149], 0.4222 / 1.741),
    line(4.33, 44.59, [0.255, 0.249, 0.103], 0.4340 / 1.741),
    line(1.37, 44.15, [0.257, 0.245, 0.124], 0.2581 / 1.741),
];

impl Table {
    /// A segment's share of a figure's mass, and of its height.
    pub(crate) fn mass_and_length(self, segment: Segment) -> (f64, f64) {
        let line = self.line(segment);
        (line.mass, line.length)
    }

    fn line(self, segment: Segment) -> Line {
        let (f, m) = (&FEMALE[segment as usize], &MALE[segment as usize]);
        let share = match self {
            Table::Female => 0.0,
            Table::Male => 1.0,
            Table::Mean => 0.5,
        };
        let mix = |f: f64, m: f64| f + share * (m - f);
        Line {
            mass: mix(f.mass, m.mass),
            center: mix(f.center, m.center),
            radii: std::array::from_fn(|k| mix(f.radii[k], m.radii[k])),
            length: mix(f.length, m.length),
        }
    }
}

impl Segment {
    /// What a joint's name says: the part that hangs on the joint. Common spellings of motion capture, game rigs and ASF.
    pub fn from_name(name: &str) -> Option<Self> {
        let own = name.rsplit([':', '|']).next().unwrap_or(name);
        let lower: String =
            own.chars().filter(|c| c.is_ascii_alphanumeric()).collect::<String>().to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        Some(if has(&["finger", "thumb", "index", "middle", "ring", "pinky", "hand", "wrist", "palm"]) {
            Segment::Hand
        } else if has(&["toe", "foot", "ankle", "ball"]) {
            Segment::Foot
        } else if has(&["forearm", "lowerarm", "elbow", "radius", "ulna", "lowarm"]) {
            Segment::Forearm
        } else if has(&[
            "clavicle",
            "collar",
            "shoulder",
            "chest",
            "thorax",
            "spine2",
            "spine3",
            "upperback",
            "torso",
        ]) {
            Segment::UpperTrunk
        } else if has(&["upperarm", "uparm", "humerus", "arm"]) {
            Segment::UpperArm
        } else if has(&["upleg", "upperleg", "thigh", "femur"]) {
            Segment::Thigh
        } else if has(&["shin", "lowerleg", "lowleg", "knee", "tibia", "calf", "leg"]) {
            Segment::Shank
        } else if has(&["head", "neck", "jaw", "eye", "skull"]) {
            Segment::Head
        } else if has(&["spine", "lowerback", "belly", "abdomen", "waist", "lumbar"]) {
            Segment::MiddleTrunk
        } else if has(&["hip", "pelvis", "root"]) {
            Segment::LowerTrunk
        } else {
            return None;
        })
    }
}

/// A joint as the tables see it.
#[derive(Clone, Debug)]
pub struct Bone {
    /// Its name.
    pub name: String,
    /// Its parent.
    pub parent: Option<usize>,
    /// Its centre in the parent's frame, in metres.
    pub offset: Vec3,
    /// Where the bone ends in the joint's frame, if no child says so.
    pub tip: Option<Vec3>,
}

/// The segment of every joint: by its name, or what its parent belongs to. A figure without names is all trunk.
pub fn segments(bones: &[Bone]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::with_capacity(bones.len());
    for bone in bones {
        let above = bone.parent.map(|parent| segments[parent]);
        let own = Segment::from_name(&bone.name);
        segments.push(match (above, own) {
            // "LHipJoint" leads to the leg and is pelvis; "LeftShoulder" of some rigs is the upper arm's joint
            (_, Some(own)) => own,
            (Some(above), None) => above,
            (None, None) => Segment::LowerTrunk,
        });
    }
    segments
}

/// Where every bone ends, in its joint's frame: the mean of its children, its tip, or on as its parent went.
pub(crate) fn ends(bones: &[Bone], segments: &[Segment], table: Table, height: f64) -> Vec<Vec3> {
    let mut ends = vec![Vec3::ZERO; bones.len()];
    for (index, bone) in bones.iter().enumerate() {
        let children = || bones.iter().enumerate().filter(move |(_, child)| child.parent == Some(index));
        // the bone goes on in its own segment, if it does; a foot's heel or a hand's thumb does not bend it
        let same = children()
            .filter(|&(child, _)| segments[child] == segments[index])
            .map(|(_, child)| child.offset);
        let longest = same.max_by(|a, b| a.length().total_cmp(&b.length()));
        let count = children().count();
        ends[index] = if let Some(longest) = longest.filter(|offset| offset.length() > 1e-4) {
            longest
        } else if count > 0 {
            children().map(|(_, child)| child.offset).sum::<Vec3>() / count as f64
        } else if let Some(tip) = bone.tip {
            tip
        } else {
            let share = if segments[index] == Segment::Foot { 0.25 } else { 1.0 };
            bone.offset.normalize_or_zero() * (share * table.line(segments[index]).length * height)
        };
    }
    ends
}

/// Height of a figure by the lengths of its legs, in metres: hip to ankle is 0.49 of a person's height.
pub fn height(bones: &[Bone]) -> Option<f64> {
    let segments = segments(bones);
    let share = Table::Mean.line(Segment::Thigh).length + Table::Mean.line(Segment::Shank).length;
    let mut legs = Vec::new();
    for (index, bone) in bones.iter().enumerate() {
        let foot = segments[index] == Segment::Foot
            && bone.parent.is_some_and(|parent| segments[parent] != Segment::Foot);
        if !foot {
            continue;
        }
        let (mut length, mut at) = (0.0, index);
        while segments[at] >= Segment::Thigh {
            let Some(parent) = bones[at].parent else { break };
            if segments[parent] < Segment::Thigh {
                break;
            }
            length += bones[at].offset.length();
            at = parent;
        }
        legs.push(length);
    }
    let mean = legs.iter().sum::<f64>() / legs.len() as f64;
    (mean > 0.0).then_some(mean / share)
}

/// The inertia of every joint's part, in the joint's frame, for a person of a mass in kg and a height in m. Their masses sum to
/// `mass`, whatever parts the skeleton lacks.
pub fn inertias(bones: &[Bone], table: Table, mass: f64, height: f64) -> Result<Vec<Inertia>, Error> {
    for (what, value) in [("mass", mass), ("height", height)] {
        if !(value.is_finite() && value > 0.0) {
            return Err(Error::Value { what, value, expected: "it must be positive" });
        }
    }
    let segments = segments(bones);
    let ends = ends(bones, &segments, table, height);
    // a segment of one side: joints of one kind that hang together
    let mut group = Vec::with_capacity(bones.len());
    for (index, bone) in bones.iter().enumerate() {
        let with_parent = bone.parent.filter(|&parent| segments[parent] == segments[index]);
        group.push(with_parent.map_or(index, |parent| group[parent]));
    }
    // a trunk in two columns (shoulders left and right) is one segment still
    let trunk = |index: usize| segments[index] <= Segment::LowerTrunk;
    for index in 0..bones.len() {
        if trunk(index) {
            let first = (0..index).find(|&other| segments[other] == segments[index]);
            group[index] = first.map_or(index, |first| group[first]);
        }
    }
    let lengths: Vec<f64> = ends.iter().map(|end| end.length().max(1e-3)).collect();
    let mut inertias = vec![Inertia::ZERO; bones.len()];
    for index in 0..bones.len() {
        let members = || (0..bones.len()).filter(|&other| group[other] == group[index]);
        let whole: f64 = members().map(|other| lengths[other]).sum();
        let alone = members().count() == 1;
        let line = table.line(segments[index]);
        let share = lengths[index] / whole;
        let weight = mass * line.mass * share;
        let direction = ends[index].normalize_or(Vec3::Y);
        let length = if trunk(index) { line.length * height } else { whole };
        // along the bone: its own length if it is one of several; around it: as the table says
        let long = line.radii[2] * length;
        let across = if alone {
            0.5 * (line.radii[0] + line.radii[1]) * length
        } else {
            (lengths[index].powi(2) / 12.0 + long * long).sqrt()
        };
        let center = ends[index] * if alone && !trunk(index) { line.center } else { 0.5 };
        let about = Mat3::from_diagonal(Vec3::splat(across * across))
            + outer(direction, direction) * (long * long - across * across);
        inertias[index] = Inertia::new(weight, center, about * weight);
    }
    let found: f64 = inertias.iter().map(|inertia| inertia.mass).sum();
    for inertia in &mut inertias {
        let scale = mass / found;
        *inertia = Inertia {
            mass: inertia.mass * scale,
            first_moment: inertia.first_moment * scale,
            rotational: inertia.rotational * scale,
        };
    }
    Ok(inertias)
}

/// Mass, centre and moments of a closed, oriented triangle mesh of one density, in kg/m³: sums over the tetrahedra between its
/// triangles and the origin.
pub fn mesh_inertia(points: &[Vec3], triangles: &[[u32; 3]], density: f64) -> Inertia {
    let (mut volume, mut moment, mut second) = (0.0, Vec3::ZERO, Mat3::ZERO);
    for &[a, b, c] in triangles {
        let corners = [a, b, c].map(|index| points[index as usize]);
        let v = corners[0].dot(corners[1].cross(corners[2])) / 6.0;
        let sum: Vec3 = corners.iter().sum();
        volume += v;
        moment += sum * (v / 4.0);
        // ∫ x xᵀ over a tet with a corner at 0: v/20 (Σ xᵢ xᵢᵀ + s sᵀ)
        let squares = corners.iter().fold(outer(sum, sum), |total, &x| total + outer(x, x));
        second += squares * (v / 20.0);
    }
    let trace = second.col(0).x + second.col(1).y + second.col(2).z;
    Inertia {
        mass: density * volume,
        first_moment: moment * density,
        rotational: (Mat3::from_diagonal(Vec3::splat(trace)) - second) * density,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_sum_to_a_person() {
        for table in [&FEMALE, &MALE] {
            let trunk: f64 = table[..4].iter().map(|line| line.mass).sum();
            let limbs: f64 = table[4..].iter().map(|line| line.mass).sum();
            assert!((trunk + 2.0 * limbs - 1.0).abs() < 2e-3, "{}", trunk + 2.0 * limbs);
        }
    }

    #[test]
    fn names_of_several_rigs_are_understood() {
        for (name, segment) in [
            ("mixamorig:LeftForeArm", Segment::Forearm),
            ("LeftArm", Segment::UpperArm),
            ("lowerarm_r", Segment::Forearm),
            ("lfemur", Segment::Thigh),
            ("LeftLeg", Segment::Shank),
            ("UpperLeg_L", Segment::Thigh),
            ("LHipJoint", Segment::LowerTrunk),
            ("rtoes", Segment::Foot),
            ("upperback", Segment::UpperTrunk),
            ("LowerBack", Segment::MiddleTrunk),
            ("lclavicle", Segment::UpperTrunk),
            ("LeftHandIndex1", Segment::Hand),
        ] {
            assert_eq!(Segment::from_name(name), Some(segment), "{name}");
        }
        assert_eq!(Segment::from_name("bone.003"), None);
    }

    #[test]
    fn a_box_has_the_moments_of_a_box() {
        // m/12 (b² + c²), centred at (1, 2, 3)
        let (a, b, c) = (0.4, 0.6, 1.0);
        let corner = |i: u32| {
            Vec3::new(
                1.0 + a * (f64::from(i & 1) - 0.5),
                2.0 + b * (f64::from(i >> 1 & 1) - 0.5),
                3.0 + c * (f64::from(i >> 2 & 1) - 0.5),
            )
        };
        let points: Vec<Vec3> = (0..8).map(corner).collect();
        let triangles = [
            [0, 2, 1],
            [1, 2, 3],
            [4, 5, 6],
            [5, 7, 6],
            [0, 1, 4],
            [1, 5, 4],
            [2, 6, 3],
            [3, 6, 7],
            [0, 4, 2],
            [2, 4, 6],
            [1, 3, 5],
            [3, 7, 5],
        ];
        let inertia = mesh_inertia(&points, &triangles, 1000.0);
        let m = 1000.0 * a * b * c;
        assert!(
            (inertia.mass - m).abs() < 1e-9 && (inertia.center() - Vec3::new(1.0, 2.0, 3.0)).length() < 1e-12
        );
        let expected = Vec3::new(b * b + c * c, a * a + c * c, a * a + b * b) * (m / 12.0);
        assert!(inertia.about_center().abs_diff_eq(Mat3::from_diagonal(expected), 1e-9));
    }
}
