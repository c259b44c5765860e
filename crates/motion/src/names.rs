//! What joints' names say of sides.

/// A side of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its left.
    Left,
    /// Its right.
    Right,
}

/// The side that a joint's name tells of: "LeftArm", "r_hand", "thigh.L", "lfemur", "Bip01 R Foot"; none for a spine.
pub fn side(name: &str) -> Option<Side> {
    let own = name.rsplit([':', '|']).next().unwrap_or(name);
    let lower = own.to_ascii_lowercase();
    for (word, side) in [("left", Side::Left), ("right", Side::Right)] {
        if lower.contains(word) {
            return Some(side);
        }
    }
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    for (word, side) in [("l", Side::Left), ("r", Side::Right)] {
        if words.contains(&word) {
            return Some(side);
        }
    }
    // "lfemur", "LHipJoint", "RightArm" shortened to "RArm": one letter before the name of a part
    let part = own.get(1..).unwrap_or_default();
    let begins = own.chars().nth(1).is_some_and(char::is_uppercase) || begins_with_a_part(part);
    match lower.chars().next() {
        Some('l') if begins => Some(Side::Left),
        Some('r') if begins => Some(Side::Right),
        _ => None,
    }
}

/// Whether a name goes on with a part of the body.
fn begins_with_a_part(rest: &str) -> bool {
    const PARTS: [&str; 24] = [
        "hip", "leg", "foot", "toe", "arm", "hand", "shoulder", "clavicle", "collar", "femur", "tibia",
        "humerus", "radius", "wrist", "thumb", "finger", "knee", "ankle", "thigh", "shin", "calf", "elbow",
        "up", "low",
    ];
    let lower = rest.trim_start_matches(['_', '.', ' ', '-']).to_ascii_lowercase();
    PARTS.iter().any(|part| lower.starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_read_from_names_of_several_rigs() {
        for (name, expected) in [
            ("mixamorig:LeftForeArm", Some(Side::Left)),
            ("lowerarm_r", Some(Side::Right)),
            ("lfemur", Some(Side::Left)),
            ("RHipJoint", Some(Side::Right)),
            ("thigh.L", Some(Side::Left)),
            ("Bip01 R Foot", Some(Side::Right)),
            ("rtoes", Some(Side::Right)),
            ("root", None),
            ("lowerback", None),
            ("LowerBack", None),
            ("Spine1", None),
            ("lowerneck", None),
            ("Head", None),
        ] {
            assert_eq!(side(name), expected, "{name}");
        }
    }
}
