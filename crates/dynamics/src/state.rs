//! State: where a body is, as plain data. A checkpoint is just this.

use geometry::Vec3;

/// Where a body is: the whole answer, and all that a checkpoint needs.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Seconds since the first frame.
    pub time: f64,
    /// In metres.
    pub positions: Vec<Vec3>,
    /// In metres per second.
    pub velocities: Vec<Vec3>,
    /// What the last step ended with, in m/s²; empty before the first, and wherever positions were set by hand.
    pub accelerations: Vec<Vec3>,
    /// The step that the error estimate last found right, in seconds; 0 before the first.
    pub step: f64,
    /// How much each average gives way so as not to pull harder than it may, in m/N: 0 holds. Empty: none does.
    pub slack: Vec<f64>,
    /// What the materials remember: [internal variables](crate::InternalVariables) of all energies, one energy after the other. Empty:
    /// as the body was made.
    pub internal: Vec<f64>,
}

impl State {
    /// At rest, as the body was made.
    pub fn at_rest(positions: Vec<Vec3>) -> Self {
        let velocities = vec![Vec3::ZERO; positions.len()];
        let (accelerations, slack, internal) = (Vec::new(), Vec::new(), Vec::new());
        Self { time: 0.0, positions, velocities, accelerations, step: 0.0, slack, internal }
    }

    /// The exact bits, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let count = self.positions.len() as f64;
        let vectors = self.positions.iter().chain(&self.velocities).chain(&self.accelerations);
        let numbers =
            vectors.flat_map(|v| v.to_array()).chain(self.slack.iter().chain(&self.internal).copied());
        let head = [self.time, self.step, count, self.slack.len() as f64, self.internal.len() as f64];
        head.into_iter().chain(numbers).flat_map(f64::to_le_bytes).collect()
    }

    /// The reverse of [`State::to_bytes`]; `None` when the bytes are not those of a state.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let numbers: Vec<f64> = words.iter().map(|word| f64::from_le_bytes(*word)).collect();
        let (&[time, step, count, slack, internal], rest) = numbers.split_first_chunk()?;
        let (rest, internal) = rest.split_at_checked(rest.len().checked_sub(internal as usize)?)?;
        let (rest, slack) = rest.split_at_checked(rest.len().checked_sub(slack as usize)?)?;
        let (vectors, []) = rest.as_chunks::<3>() else { return None };
        let mut vectors = vectors.iter().map(|v| Vec3::from_array(*v));
        let mut take = || vectors.by_ref().take(count as usize).collect::<Vec<Vec3>>();
        let (positions, velocities, accelerations) = (take(), take(), take());
        let whole = velocities.len() == positions.len()
            && (accelerations.is_empty() || accelerations.len() == positions.len())
            && positions.len() as f64 == count
            && vectors.next().is_none();
        let (slack, internal) = (slack.to_vec(), internal.to_vec());
        whole.then_some(Self { time, positions, velocities, accelerations, step, slack, internal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_survives_its_bytes() {
        let mut state = State::at_rest(vec![Vec3::new(0.1, f64::MIN_POSITIVE, -3.0), Vec3::ONE]);
        (state.time, state.step, state.velocities[1].y) = (0.3, 1.0 / 48.0, -0.0);
        state.slack = vec![0.0, 1e-7];
        let bytes = state.to_bytes();
        assert_eq!(State::from_bytes(&bytes).unwrap().to_bytes(), bytes);
        state.accelerations = vec![Vec3::Z; 2];
        state.internal = vec![0.5];
        assert_eq!(State::from_bytes(&state.to_bytes()), Some(state));
        assert!(State::from_bytes(&bytes[..bytes.len() - 1]).is_none());
        assert!(State::from_bytes(&bytes[..bytes.len() - 24]).is_none());
        assert!(State::from_bytes(&[]).is_none());
    }
}
