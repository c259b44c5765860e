//! Texture coordinates: where the fluid at a point came from.
//!
//! A set stores the displacement ξ = origin − place, in units of the domain, so that it is smooth across periodic sides. Flow stretches it
//! for ever; so when a set's displacement gradient grows past a limit it is restarted at zero, and with two sets the fresh one is
//! blended in while the old one fades.

use crate::{Field, Fluid, State};

/// How often the stretch is measured, in steps: often enough to act within a fraction of an eddy's turn.
const STEPS_BETWEEN_LOOKS: u64 = 8;

/// One set of texture coordinates as a renderer needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// Displacement along x, y, z in units of the domain's length along that axis: origin = place + displacement.
    pub displacement: Vec<Field>,
    /// When the displacement was zero, s.
    pub since: f64,
    /// How much this set counts, 0 to 1; all sets together 1.
    pub weight: f64,
}

impl State {
    /// The texture sets, the one shown first.
    pub fn textures(&self, fluid: &Fluid) -> Vec<Texture> {
        let names = &fluid.variables;
        let sets = names.texture_sets;
        let shown = self.texture_weight(fluid);
        (0..sets)
            .map(|i| {
                let set = (self.texture_shown + i) % sets;
                let displacement =
                    (0..names.dimensions).map(|d| self.extract(fluid, names.texture(set, d))).collect();
                let weight = if i == 0 { shown } else { 1.0 - shown };
                Texture { displacement, since: self.texture_start[set], weight }
            })
            .collect()
    }

    /// Root mean square of the displacement gradient of a set: 0 when fresh, 1 when lengths have changed by about themselves.
    pub fn texture_stretch(&self, fluid: &Fluid, set: usize) -> f64 {
        let layout = &fluid.layout;
        let names = &fluid.variables;
        let [nx, ny, nz] = layout.points;
        let h = fluid.domain.spacings();
        let strides = [0, 1, layout.rows];
        let mut total = 0.0;
        for z in 0..nz {
            for y in 0..ny {
                let row = layout.row(y, z);
                for axis in 0..names.dimensions {
                    let length = fluid.domain.axes[axis].length;
                    for d in 0..names.dimensions {
                        let scale = (length / (2.0 * h[d])) as f32;
                        let variable = names.texture(set, axis);
                        let sum: f32 = if d == 0 {
                            let line = layout.line(&self.values, row, variable);
                            line[2..]
                                .iter()
                                .zip(&line[4..])
                                .take(nx)
                                .map(|(a, b)| (scale * (b - a)).powi(2))
                                .sum()
                        } else {
                            let low = layout.inner(&self.values, row - strides[d], variable);
                            let high = layout.inner(&self.values, row + strides[d], variable);
                            low.iter().zip(high).map(|(a, b)| (scale * (b - a)).powi(2)).sum()
                        };
                        total += f64::from(sum);
                    }
                }
            }
        }
        (total / (nx * ny * nz) as f64).sqrt()
    }

    /// Weight of the set that is shown: grows to 1 over the blend after its restart.
    fn texture_weight(&self, fluid: &Fluid) -> f64 {
        let start = self.texture_start[self.texture_shown];
        let blend = fluid.settings.texture_blend;
        if fluid.variables.texture_sets < 2 || start == 0.0 || blend == 0.0 {
            return 1.0;
        }
        let s = ((self.time - start) / blend).clamp(0.0, 1.0);
        s * s * (3.0 - 2.0 * s)
    }

    /// Restarts a set if the one shown is stretched too far, and says so.
    pub(crate) fn refresh_textures(&mut self, fluid: &Fluid) -> bool {
        let sets = fluid.variables.texture_sets;
        let limit = fluid.settings.texture_stretch;
        if sets == 0 || limit.is_infinite() || !self.steps.is_multiple_of(STEPS_BETWEEN_LOOKS) {
            return false;
        }
        // never cut a blend short: the old set would jump
        if self.texture_weight(fluid) < 1.0 || self.texture_stretch(fluid, self.texture_shown) <= limit {
            return false;
        }
        self.texture_shown = (self.texture_shown + 1) % sets;
        self.texture_start[self.texture_shown] = self.time;
        for d in 0..fluid.variables.dimensions {
            self.insert(fluid, fluid.variables.texture(self.texture_shown, d), |_| 0.0);
        }
        true
    }
}
