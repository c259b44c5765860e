//! A fluid: what never changes while it moves.

use crate::base::{Base, HEAT_CAPACITY, integral};
use crate::domain::Domain;
use crate::layout::Layout;
use crate::{Error, Field, Settings, Side, SoundSpeed, State};

/// What a fluid starts from. Everything left out is at rest, at the temperature of the settings, and empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Initial {
    /// Potential temperature over height in K, one entry per grid row from the ground up.
    pub profile: Option<Vec<f32>>,
    /// What is added to the profile, in K.
    pub temperature: Option<Field>,
    /// Horizontal wind (along x) over height in m/s, one entry per grid row from the ground up.
    pub wind: Option<Vec<f32>>,
    /// Velocities along x, y and z in m/s; x is added to the wind.
    pub velocity: [Option<Field>; 3],
    /// The passive scalars; missing ones are zero.
    pub scalars: Vec<Field>,
    /// The pressure.
    pub pressure: InitialPressure,
}

/// The pressure that a fluid starts with.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum InitialPressure {
    /// Hydrostatic balance in every column.
    #[default]
    Hydrostatic,
    /// That of the base state.
    Base,
    /// This Exner pressure above the base state.
    Exner(Field),
}

/// Which number of a point is what: velocity first, then pressure, temperature, texture sets, scalars.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variables {
    pub(crate) dimensions: usize,
    pub(crate) pressure: usize,
    pub(crate) temperature: usize,
    pub(crate) texture_sets: usize,
    pub(crate) scalars: usize,
}

impl Variables {
    fn new(dimensions: usize, settings: &Settings) -> Self {
        Self {
            dimensions,
            pressure: dimensions,
            temperature: dimensions + 1,
            texture_sets: settings.texture_sets,
            scalars: settings.scalars,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.scalar(self.scalars)
    }

    pub(crate) fn texture(&self, set: usize, axis: usize) -> usize {
        self.temperature + 1 + set * self.dimensions + axis
    }

    pub(crate) fn scalar(&self, index: usize) -> usize {
        self.texture(self.texture_sets, 0) + index
    }

    /// The axis whose texture coordinate this variable is, if it is one.
    #[inline(always)]
    pub(crate) fn texture_axis(&self, variable: usize) -> Option<usize> {
        let first = self.texture(0, 0);
        (variable >= first && variable < self.scalar(0)).then(|| (variable - first) % self.dimensions)
    }
}

/// Grid, dials and base state of a fluid.
#[derive(Clone, Debug)]
pub struct Fluid {
    pub(crate) domain: Domain,
    pub(crate) settings: Settings,
    pub(crate) base: Base,
    pub(crate) variables: Variables,
    pub(crate) layout: Layout,
}

impl Fluid {
    /// A fluid and its first state.
    ///
    /// The horizontal mean of the initial temperature becomes the base state. So whatever is the same along every horizontal line is
    /// at rest, and stays at rest to the last bit.
    pub fn new(domain: Domain, settings: Settings, initial: &Initial) -> Result<(Self, State), Error> {
        settings.check()?;
        let points = domain.points();
        let [nx, ny, nz] = points;
        let profile: Vec<f64> = match &initial.profile {
            Some(profile) => profile.iter().map(|&t| t.into()).collect(),
            None => vec![settings.temperature; ny],
        };
        for (what, found) in
            [("profile", profile.len()), ("wind", initial.wind.as_ref().map_or(ny, Vec::len))]
        {
            if found != ny {
                return Err(Error::Length { what, found, expected: ny });
            }
        }
        if let Some(y) = initial.wind.iter().flatten().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "wind", place: [0, y, 0] });
        }
        let fields = initial.temperature.iter().map(|f| ("temperature", f));
        let fields = fields.chain(initial.velocity.iter().flatten().map(|f| ("velocity", f)));
        for (what, field) in fields.chain(initial.scalars.iter().map(|f| ("scalar", f))) {
            field.check(what, points)?;
        }
        if let InitialPressure::Exner(field) = &initial.pressure {
            field.check("pressure", points)?;
        }
        if initial.scalars.len() > settings.scalars {
            let (found, expected) = (initial.scalars.len(), settings.scalars);
            return Err(Error::Length { what: "scalars", found, expected });
        }

        let mut theta = profile.clone();
        if let Some(field) = &initial.temperature {
            for (y, theta) in theta.iter_mut().enumerate() {
                let row = |z: usize| &field.values[nx * (y + ny * z)..][..nx];
                let sum: f64 = (0..nz).flat_map(row).map(|&t| f64::from(t)).sum();
                *theta += sum / (nx * nz) as f64;
            }
        }
        let base = Base::new(&domain, &settings, theta, &profile)?;
        let variables = Variables::new(domain.dimensions(), &settings);
        let layout = Layout::new(&domain, variables.count(), variables.pressure);
        let fluid = Self { domain, settings, base, variables, layout };
        let state = fluid.first_state(initial)?;
        Ok((fluid, state))
    }

    /// The grid.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The dials.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Potential temperature of the base state by grid row, K.
    pub fn base_temperature(&self) -> &[f64] {
        &self.base.theta
    }

    /// Bytes that one time step must move between memory and processor per grid point, if caches hold a few rows but not the grid:
    /// four stages that read 1 + 2 + 2 + 4 states and write one each.
    pub fn bytes_per_point(&self) -> usize {
        13 * size_of::<f32>() * self.variables.count()
    }

    fn first_state(&self, initial: &Initial) -> Result<State, Error> {
        let layout = &self.layout;
        let names = &self.variables;
        let [nx, ny, nz] = layout.points;
        let mut values = vec![0.0; layout.len()];
        for z in 0..nz {
            for y in 0..ny {
                let row = layout.row(y, z);
                let at = nx * (y + ny * z);
                let wind = initial.wind.as_ref().map_or(0.0, |w| w[y]);
                for d in 0..names.dimensions {
                    let line = layout.inner_mut(&mut values, row, d);
                    if let Some(field) = &initial.velocity[d] {
                        line.copy_from_slice(&field.values[at..at + nx]);
                    }
                    if d == 0 {
                        line.iter_mut().for_each(|u| *u += wind);
                    }
                    // nothing passes a wall
                    let ends = [y, z].map(|i| i == 0).into_iter().zip([y + 1 == ny, z + 1 == nz]);
                    if layout.sides[d] == Side::Wall {
                        match d {
                            0 => [line[0], line[nx - 1]] = [0.0; 2],
                            _ if ends.into_iter().nth(d - 1).is_some_and(|(low, high)| low || high) => {
                                line.fill(0.0)
                            }
                            _ => {}
                        }
                    }
                }
                let offset = self.base.profile_offset[y];
                let line = layout.inner_mut(&mut values, row, names.temperature);
                for x in 0..nx {
                    let added = initial.temperature.as_ref().map_or(0.0, |f| f.values[at + x]);
                    line[x] = (offset + f64::from(added)) as f32;
                    let kelvin = self.base.theta[y] + f64::from(line[x]);
                    if !(kelvin > 0.0) {
                        let remedy = "move the black and white levels of the initial temperature";
                        return Err(Error::BelowZero { time: 0.0, place: [x, y, z], kelvin, remedy });
                    }
                }
                if let InitialPressure::Exner(field) = &initial.pressure {
                    let line = layout.inner_mut(&mut values, row, names.pressure);
                    line.copy_from_slice(&field.values[at..at + nx]);
                }
                for (s, field) in initial.scalars.iter().enumerate() {
                    let line = layout.inner_mut(&mut values, row, names.scalar(s));
                    line.copy_from_slice(&field.values[at..at + nx]);
                }
            }
        }
        if initial.pressure == InitialPressure::Hydrostatic && layout.sides[1] == Side::Wall {
            self.balance(&mut values);
        }
        let mut state = State::new(self, values);
        state.sound_speed = self.first_sound_speed(&state);
        Ok(state)
    }

    /// Hydrostatic pressure column by column: c_p θ ∂π/∂y = g θ′/θ̄, each column holding as much mass as the base state.
    fn balance(&self, values: &mut [f32]) {
        let layout = &self.layout;
        let [nx, ny, nz] = layout.points;
        let h = self.domain.axes[1].spacing();
        let sound_speed = if self.settings.sound_speed == SoundSpeed::Air { None } else { Some(1.0) };
        let m: Vec<f64> = (0..ny as isize)
            .map(|j| self.base.density_theta(j) / self.base.compressibility(j, sound_speed))
            .collect();
        let mass = integral(&m, h)[ny - 1];
        for z in 0..nz {
            for x in 0..nx {
                let slope: Vec<f64> = (0..ny)
                    .map(|y| {
                        let change =
                            f64::from(layout.inner(values, layout.row(y, z), self.variables.temperature)[x]);
                        let theta = self.base.theta[y];
                        self.settings.gravity * change / (theta * HEAT_CAPACITY * (theta + change))
                    })
                    .collect();
                if slope.iter().all(|&s| s == 0.0) {
                    continue;
                }
                let mut column = integral(&slope, h);
                let weighted: Vec<f64> = column.iter().zip(&m).map(|(p, m)| p * m).collect();
                let excess = integral(&weighted, h)[ny - 1] / mass;
                column.iter_mut().for_each(|p| *p -= excess);
                for (y, p) in column.iter().enumerate() {
                    layout.inner_mut(values, layout.row(y, z), self.variables.pressure)[x] = *p as f32;
                }
            }
        }
    }

    /// Three times the speed of a parcel that falls freely, with the greatest difference of temperature, through the domain; or of the
    /// wind, if that is faster.
    fn first_sound_speed(&self, state: &State) -> f64 {
        match self.settings.sound_speed {
            SoundSpeed::Fixed(speed) => speed,
            SoundSpeed::Air => self.base.air_speed(),
            SoundSpeed::Automatic => self.sound_speed_for(self.expected_speed(state)),
        }
    }

    /// The speed that a state may come to by itself, in m/s: that of the flow as it is, or of a parcel that falls freely with the greatest
    /// difference of temperature.
    pub(crate) fn expected_speed(&self, state: &State) -> f64 {
        let (low, high) = state.temperature(self).range();
        self.free_fall(f64::from(high) - f64::from(low))
            .max(state.peak_speed())
            .max(self.least_sound_speed() / 3.0)
    }

    /// The speed of a parcel after falling through the domain with a difference of temperature.
    pub(crate) fn free_fall(&self, kelvin: f64) -> f64 {
        let height = self.domain.axes[1].length;
        (self.settings.gravity.abs() * height * kelvin.abs() / self.settings.temperature).sqrt()
    }

    pub(crate) fn sound_speed_for(&self, speed: f64) -> f64 {
        3.0 * speed
    }

    /// A still fluid has no scale of its own: sound that crosses the domain in ten seconds will do until something moves.
    fn least_sound_speed(&self) -> f64 {
        0.1 * self.domain.axes.iter().take(self.variables.dimensions).fold(0.0, |m: f64, a| m.max(a.length))
    }
}
