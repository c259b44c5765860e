//! Forces from takes (paper eq. 3): what to ask a repair for where forces are wanted, not a better motion.

use crate::contacts::Detection;
use crate::repair::Repair;
use crate::spacetime::Weights;

impl Repair {
    /// Finds the forces of a take that was measured: as near to it as to any other, but points that rest may roll and slide as they were
    /// measured, within centimetres; so contacts may begin and end when weight does, not when a foot has come to rest.
    ///
    /// The three numbers were chosen with two walks over force plates in view, which are the test of it.
    ///
    /// The root's rows are as hard as ever, so that the whole force is the mass times the acceleration of what was measured.
    pub fn measuring() -> Self {
        let plain = Self::default();
        Self {
            detection: Detection { speed: 0.65, ..plain.detection },
            weights: Weights { anchor: 0.02, ground: 0.01, ..plain.weights },
            ..plain
        }
    }
}
