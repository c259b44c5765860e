//! The answer: all that changes while a fluid moves. Plain data; a checkpoint is just this.

use crate::domain::Domain;
use crate::{Error, Field, Fluid, Side};

/// The state of a fluid at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Seconds since the start.
    pub time: f64,
    /// Steps since the start.
    pub steps: u64,
    /// The sound speed in m/s; grows with the flow when automatic.
    pub sound_speed: f64,
    /// When each texture set was last at rest, in seconds.
    pub(crate) texture_start: [f64; 2],
    /// The texture set that is shown, or being blended in.
    pub(crate) texture_shown: usize,
    /// Greatest |u| along each axis, m/s.
    pub(crate) peaks: [f32; 3],
    pub(crate) values: Vec<f32>,
}

impl State {
    /// A state at time zero from the numbers inside the grid; ghosts are filled here.
    pub(crate) fn new(fluid: &Fluid, mut values: Vec<f32>) -> Self {
        fluid.layout.fill_all(&mut values);
        let mut state = Self {
            time: 0.0,
            steps: 0,
            sound_speed: 0.0,
            texture_start: [0.0; 2],
            texture_shown: 0,
            peaks: [0.0; 3],
            values,
        };
        state.measure_peaks(fluid);
        state
    }

    /// Velocity along an axis, m/s.
    pub fn velocity(&self, fluid: &Fluid, axis: usize) -> Field {
        if axis < fluid.variables.dimensions {
            self.extract(fluid, axis)
        } else {
            Field::constant(fluid.layout.points, 0.0)
        }
    }

    /// Exner pressure above the base state.
    pub fn pressure(&self, fluid: &Fluid) -> Field {
        self.extract(fluid, fluid.variables.pressure)
    }

    /// Potential temperature above the settings' temperature, K.
    pub fn temperature(&self, fluid: &Fluid) -> Field {
        let mut field = self.extract(fluid, fluid.variables.temperature);
        let [nx, ny, _] = field.points;
        for (row, line) in field.values.chunks_exact_mut(nx).enumerate() {
            let base = (fluid.base.theta[row % ny] - fluid.settings.temperature) as f32;
            line.iter_mut().for_each(|t| *t += base);
        }
        field
    }

    /// Potential temperature above the base state, K.
    pub fn warmth(&self, fluid: &Fluid) -> Field {
        self.extract(fluid, fluid.variables.temperature)
    }

    /// A passive scalar; zero where there is none of that number.
    pub fn scalar(&self, fluid: &Fluid, index: usize) -> Field {
        if index < fluid.variables.scalars {
            self.extract(fluid, fluid.variables.scalar(index))
        } else {
            Field::constant(fluid.layout.points, 0.0)
        }
    }

    /// The fastest flow, m/s: an upper bound from the greatest components.
    pub fn peak_speed(&self) -> f64 {
        self.peaks.iter().map(|&u| f64::from(u) * f64::from(u)).sum::<f64>().sqrt()
    }

    pub(crate) fn extract(&self, fluid: &Fluid, variable: usize) -> Field {
        let layout = &fluid.layout;
        let [nx, ny, nz] = layout.points;
        let mut values = Vec::with_capacity(nx * ny * nz);
        for z in 0..nz {
            for y in 0..ny {
                values.extend_from_slice(layout.inner(&self.values, layout.row(y, z), variable));
            }
        }
        Field { points: layout.points, values }
    }

    /// Writes one variable and fills its ghosts.
    pub(crate) fn insert(&mut self, fluid: &Fluid, variable: usize, value: impl Fn(usize) -> f32) {
        let layout = &fluid.layout;
        let [nx, ny, nz] = layout.points;
        for z in 0..nz {
            for y in 0..ny {
                let line = layout.inner_mut(&mut self.values, layout.row(y, z), variable);
                (0..nx).for_each(|x| line[x] = value(x + nx * (y + ny * z)));
            }
        }
        layout.fill_all(&mut self.values);
    }

    fn measure_peaks(&mut self, fluid: &Fluid) {
        for axis in 0..fluid.variables.dimensions {
            self.peaks[axis] = self.extract(fluid, axis).peak();
        }
    }

    /// The state as bytes, exact to the last bit.
    pub fn to_bytes(&self, fluid: &Fluid) -> Vec<u8> {
        let layout = &fluid.layout;
        let count = layout.points.iter().product::<usize>() * layout.variables;
        let mut bytes = Vec::with_capacity(HEADER + 4 * count);
        bytes.extend_from_slice(MAGIC);
        for number in layout.points.into_iter().chain([layout.variables, self.texture_shown]) {
            bytes.extend_from_slice(&(number as u64).to_le_bytes());
        }
        bytes.extend_from_slice(&self.steps.to_le_bytes());
        for number in [self.time, self.sound_speed, self.texture_start[0], self.texture_start[1]] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for z in 0..layout.points[2] {
            for y in 0..layout.points[1] {
                for variable in 0..layout.variables {
                    for value in layout.inner(&self.values, layout.row(y, z), variable) {
                        bytes.extend_from_slice(&value.to_le_bytes());
                    }
                }
            }
        }
        bytes
    }

    /// The inverse of [`State::to_bytes`], for a fluid of the same grid and variables.
    pub fn from_bytes(fluid: &Fluid, bytes: &[u8]) -> Result<Self, Error> {
        let layout = &fluid.layout;
        let [nx, ny, nz] = layout.points;
        if bytes.len() < HEADER || &bytes[..MAGIC.len()] != MAGIC {
            return Err(Error::Checkpoint("this is not the state of a fluid"));
        }
        let (header, numbers) = bytes.split_at(HEADER);
        let word = |i: usize| -> [u8; 8] {
            let mut word = [0; 8];
            word.copy_from_slice(&header[MAGIC.len() + 8 * i..][..8]);
            word
        };
        let integer = |i: usize| u64::from_le_bytes(word(i));
        let real = |i: usize| f64::from_le_bytes(word(i));
        let expected = [nx, ny, nz, layout.variables].map(|n| n as u64);
        if [0, 1, 2, 3].map(integer) != expected {
            return Err(Error::Checkpoint("the grid or the variables differ from this fluid's"));
        }
        if numbers.len() != 4 * nx * ny * nz * layout.variables {
            return Err(Error::Checkpoint("it is cut short or too long"));
        }
        let reals = [6, 7, 8, 9].map(real);
        if integer(4) > 1 || !reals.iter().all(|r| r.is_finite()) || !(reals[1] > 0.0) {
            return Err(Error::Checkpoint("its clock or its sound speed is broken"));
        }
        let mut values = vec![0.0; layout.len()];
        let mut numbers = numbers.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        for z in 0..nz {
            for y in 0..ny {
                for variable in 0..layout.variables {
                    let line = layout.inner_mut(&mut values, layout.row(y, z), variable);
                    line.iter_mut().zip(&mut numbers).for_each(|(to, from)| *to = from);
                }
            }
        }
        if !values.iter().all(|v| v.is_finite()) {
            return Err(Error::Checkpoint("it holds numbers that are not finite"));
        }
        let mut state = Self::new(fluid, values);
        state.steps = integer(5);
        [state.time, state.sound_speed, state.texture_start[0], state.texture_start[1]] = reals;
        state.texture_shown = integer(4) as usize;
        Ok(state)
    }

    /// ∫ π ρ̄θ̄/K dV, what the pressure equation conserves, in units of the ground's ρ̄θ̄ times m³; and the same of the base state.
    pub fn mass(&self, fluid: &Fluid) -> (f64, f64) {
        let sound_speed = fluid.sound_speed_of(self);
        let rho = |y: usize| fluid.base.density_theta(y as isize);
        let k = |y: usize| fluid.base.compressibility(y as isize, sound_speed);
        let pressure = self.pressure(fluid);
        let excess = integrate(&fluid.domain, |i, y| f64::from(pressure.values[i]) * rho(y) / k(y));
        (excess, integrate(&fluid.domain, |_, y| rho(y)))
    }

    /// ∫ ½ρ̄|u|² dV, with ρ̄ relative to the ground's.
    pub fn kinetic_energy(&self, fluid: &Fluid) -> f64 {
        let velocities: Vec<Field> =
            (0..fluid.variables.dimensions).map(|d| self.velocity(fluid, d)).collect();
        integrate(&fluid.domain, |i, y| {
            let square: f64 = velocities.iter().map(|u| f64::from(u.values[i]).powi(2)).sum();
            0.5 * fluid.base.density(y) * square
        })
    }
}

const MAGIC: &[u8; 8] = b"ftfluid1";
const HEADER: usize = 8 + 10 * 8;

impl Fluid {
    /// The sound speed that the kernels need: None for that of air.
    pub(crate) fn sound_speed_of(&self, state: &State) -> Option<f64> {
        (self.settings.sound_speed != crate::SoundSpeed::Air).then_some(state.sound_speed)
    }
}

/// The integral over the domain of a function of (point, row): the trapezoidal rule, with ends corrected to fourth order at walls.
pub fn integrate(domain: &Domain, mut value: impl FnMut(usize, usize) -> f64) -> f64 {
    let weights = domain.axes.map(|axis| {
        let n = axis.points;
        let mut weights = vec![axis.spacing(); n];
        if axis.side == Side::Wall {
            for (k, w) in [17.0 / 48.0, 59.0 / 48.0, 43.0 / 48.0, 49.0 / 48.0].into_iter().enumerate() {
                weights[k] *= w;
                weights[n - 1 - k] *= w;
            }
        }
        weights
    });
    let [nx, ny, nz] = domain.points();
    let mut total = 0.0;
    for z in 0..nz {
        for y in 0..ny {
            let first = nx * (y + ny * z);
            let line: f64 = (0..nx).map(|x| weights[0][x] * value(first + x, y)).sum();
            total += weights[1][y] * weights[2][z] * line;
        }
    }
    total
}
