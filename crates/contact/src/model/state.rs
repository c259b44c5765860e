//! What one step leaves to the next: all of contact that a checkpoint keeps.

use geometry::Vec3;

use crate::friction::FrictionContact;
use crate::{Friction, Pair, PairKind};

/// Numbers that a friction contact is stored as.
const PER_PAIR: usize = 19;

/// What one step leaves to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ContactState {
    /// Where the obstacles' proxies are.
    pub(crate) obstacle_positions: Vec<Vec3>,
    /// Friction contacts of the last stage, by pair, ascending.
    pub(crate) friction_contacts: Vec<FrictionContact>,
    /// Surfaces cross, or it is not known that they do not.
    pub(crate) may_intersect: bool,
}

impl ContactState {
    /// Exactly: little-endian numbers of double precision.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Self { obstacle_positions, friction_contacts, may_intersect } = self;
        let mut words: Vec<f64> = vec![
            f64::from(u8::from(*may_intersect)),
            obstacle_positions.len() as f64,
            friction_contacts.len() as f64,
        ];
        words.extend(obstacle_positions.iter().flat_map(|p| p.to_array()));
        for FrictionContact { pair, friction } in friction_contacts {
            words.push(f64::from(u8::from(pair.kind == PairKind::EdgeEdge)));
            words.extend(pair.primitives.map(f64::from));
            words.extend(pair.points.map(f64::from));
            words.extend(friction.weights);
            words.extend(friction.normal.to_array());
            words.extend(friction.anchor.to_array());
            words.extend([friction.limit, friction.stiffness]);
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The inverse; none if the bytes are not those of a scene with so many obstacle points, and points in all.
    pub(crate) fn from_bytes(bytes: &[u8], obstacle_positions: usize, points: usize) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let words: Vec<f64> = words.iter().map(|word| f64::from_le_bytes(*word)).collect();
        let (&[may_intersect, count, friction_contacts], rest) = words.split_first_chunk()?;
        if count != obstacle_positions as f64
            || rest.len() as f64 != 3.0 * count + PER_PAIR as f64 * friction_contacts
        {
            return None;
        }
        let (coordinates, rest) = rest.split_at(3 * obstacle_positions);
        let (pairs, []) = rest.as_chunks::<PER_PAIR>() else { return None };
        let vector = |v: &[f64]| Vec3::new(v[0], v[1], v[2]);
        let contact = |w: &[f64; PER_PAIR]| {
            let kind = if w[0] == 0.0 { PairKind::VertexTriangle } else { PairKind::EdgeEdge };
            let pair = Pair {
                kind,
                primitives: [w[1] as u32, w[2] as u32],
                points: [w[3] as u32, w[4] as u32, w[5] as u32, w[6] as u32],
            };
            let friction = Friction {
                weights: [w[7], w[8], w[9], w[10]],
                normal: vector(&w[11..14]),
                anchor: vector(&w[14..17]),
                limit: w[17],
                stiffness: w[18],
            };
            let sound = pair.points.iter().all(|&p| (p as usize) < points);
            sound.then_some(FrictionContact { pair, friction })
        };
        Some(Self {
            obstacle_positions: coordinates.chunks_exact(3).map(vector).collect(),
            friction_contacts: pairs.iter().map(contact).collect::<Option<_>>()?,
            may_intersect: may_intersect != 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Random;

    #[test]
    fn bytes_keep_every_bit_and_others_are_refused() {
        let mut random = Random::new(71);
        let friction = Friction {
            weights: [1.0, -random.unit(), -random.unit(), -random.unit()],
            normal: random.vec3(),
            anchor: random.vec3(),
            limit: random.unit(),
            stiffness: random.unit(),
        };
        let pair = |kind| Pair { kind, primitives: [3, 1], points: [3, 0, 1, 4] };
        let state = ContactState {
            obstacle_positions: (0..5).map(|_| random.vec3()).collect(),
            friction_contacts: [PairKind::VertexTriangle, PairKind::EdgeEdge]
                .map(|k| FrictionContact { pair: pair(k), friction })
                .to_vec(),
            may_intersect: true,
        };
        let bytes = state.to_bytes();
        assert_eq!(ContactState::from_bytes(&bytes, 5, 9), Some(state));
        assert_eq!(ContactState::from_bytes(&bytes, 4, 9), None, "another scene");
        assert_eq!(ContactState::from_bytes(&bytes, 5, 4), None, "no such point");
        assert_eq!(ContactState::from_bytes(&bytes[8..], 5, 9), None, "cut");
    }
}
