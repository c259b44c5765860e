//! What acts on a fluid from outside while it moves: sources painted as images, and solid bodies.

use crate::{Error, Field, Fluid};

/// What a source changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Velocity along an axis, m/s.
    Velocity(usize),
    /// Potential temperature, K, as a difference from the initial profile.
    Temperature,
    /// A passive scalar.
    Scalar(usize),
}

/// Something that the flow is given at every instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// What is changed.
    pub quantity: Quantity,
    /// Without `toward`: change per second. With it: how eagerly the quantity follows, per second.
    pub rate: Field,
    /// The value that the quantity is drawn to.
    pub toward: Option<Field>,
}

/// A solid body as a mask, and how it moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// 1 inside, 0 outside, smooth over a point or two.
    pub mask: Field,
    /// Velocity along x, y, z in m/s; only what lies in the mask matters. Missing: at rest.
    pub velocity: [Option<Field>; 3],
}

/// Everything that acts from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drive {
    /// The sources, applied in this order.
    pub sources: Vec<Source>,
    /// The solid body.
    pub obstacle: Option<Obstacle>,
}

impl Drive {
    pub(crate) fn check(&self, fluid: &Fluid) -> Result<(), Error> {
        let points = fluid.layout.points;
        for source in &self.sources {
            source.rate.check("source", points)?;
            if let Some(toward) = &source.toward {
                toward.check("source", points)?;
            }
            if fluid.source_variable(source.quantity).is_none() {
                let (dial, value) = match source.quantity {
                    Quantity::Velocity(axis) => ("source velocity axis", axis),
                    Quantity::Temperature => ("source", 0),
                    Quantity::Scalar(index) => ("source scalar", index),
                };
                return Err(Error::Dial { dial, value: value as f64, allowed: "one that the fluid has" });
            }
        }
        if let Some(obstacle) = &self.obstacle {
            obstacle.mask.check("obstacle mask", points)?;
            for velocity in obstacle.velocity.iter().flatten() {
                velocity.check("obstacle velocity", points)?;
            }
        }
        Ok(())
    }

    /// The speed that this may bring the fluid to, m/s: what falls with the heat that is held, what is heated while it rises,
    /// what is pushed across the domain, what bodies push.
    pub(crate) fn speed(&self, fluid: &Fluid) -> f64 {
        let height = fluid.domain.axes[1].length;
        let mut speed = 0.0_f64;
        for source in &self.sources {
            let rate = f64::from(source.rate.peak());
            let toward = source.toward.as_ref().map(|f| f64::from(f.peak()));
            speed = speed.max(match (source.quantity, toward) {
                (Quantity::Velocity(_), Some(target)) => target,
                (Quantity::Velocity(axis), None) => {
                    // pushed along a quarter of the domain
                    (0.5 * rate * fluid.domain.axes[axis.min(2)].length).sqrt()
                }
                (Quantity::Temperature, Some(target)) => fluid.free_fall(target),
                (Quantity::Temperature, None) => {
                    let buoyancy = fluid.settings.gravity.abs() * rate / fluid.settings.temperature;
                    (buoyancy * height * height).cbrt()
                }
                (Quantity::Scalar(_), _) => 0.0,
            });
        }
        if let Some(obstacle) = &self.obstacle {
            let square: f64 = obstacle.velocity.iter().flatten().map(|u| f64::from(u.peak()).powi(2)).sum();
            speed = speed.max(square.sqrt());
        }
        speed
    }

    /// The speed that this may bring a fluid at rest to within `seconds`, m/s: [`Drive::speed`], or what pushing and heating without an end
    /// add up to.
    pub(crate) fn speed_within(&self, fluid: &Fluid, seconds: f64) -> f64 {
        let of = |source: &Source| match (source.quantity, &source.toward) {
            (Quantity::Velocity(_), None) => f64::from(source.rate.peak()) * seconds,
            (Quantity::Temperature, None) => fluid.free_fall(f64::from(source.rate.peak()) * seconds),
            _ => 0.0,
        };
        self.sources.iter().map(of).fold(self.speed(fluid), f64::max)
    }

    /// The fastest rate at which a quantity is drawn, 1/s.
    pub(crate) fn stiffness(&self) -> f64 {
        let drawn = self.sources.iter().filter(|s| s.toward.is_some());
        drawn.fold(0.0, |m, s| m.max(f64::from(s.rate.peak())))
    }
}

impl Fluid {
    pub(crate) fn source_variable(&self, quantity: Quantity) -> Option<usize> {
        let names = &self.variables;
        match quantity {
            Quantity::Velocity(axis) => (axis < names.dimensions).then_some(axis),
            Quantity::Temperature => Some(names.temperature),
            Quantity::Scalar(index) => (index < names.scalars).then(|| names.scalar(index)),
        }
    }

    /// Adds the sources to the rates of change along the grid row (y, z).
    #[inline(always)]
    pub(crate) fn add_sources(&self, drive: &Drive, values: &[f32], (y, z): (usize, usize), k: &mut [f32]) {
        let [nx, ny, _] = self.layout.points;
        let at = nx * (y + ny * z);
        for source in &drive.sources {
            let Some(variable) = self.source_variable(source.quantity) else { continue };
            let k = &mut k[variable * nx..][..nx];
            let rate = &source.rate.values[at..][..nx];
            match &source.toward {
                None => k.iter_mut().zip(rate).for_each(|(k, r)| *k += r),
                Some(toward) => {
                    // the solver's temperature is relative to the base state, the artist's to the profile
                    let heat = source.quantity == Quantity::Temperature;
                    let offset = if heat { self.base.profile_offset[y] as f32 } else { 0.0 };
                    let toward = &toward.values[at..][..nx];
                    let now = self.layout.inner(values, self.layout.row(y, z), variable);
                    for i in 0..nx {
                        k[i] += rate[i] * (toward[i] + offset - now[i]);
                    }
                }
            }
        }
    }

    /// Holds the velocity in solid bodies after a step of `dt` along the grid row (y, z).
    ///
    /// Volume penalisation, du/dt = −χ(u − u_s)/η, integrated exactly over the step; η is half the time that sound takes to the next
    /// point. The pressure equation is untouched, so no mass appears or vanishes.
    #[inline(always)]
    pub(crate) fn hold(
        &self,
        obstacle: &Obstacle,
        steps_per_eta: f32,
        (y, z): (usize, usize),
        row: &mut [f32],
    ) {
        let [nx, ny, _] = self.layout.points;
        let at = nx * (y + ny * z);
        let mask = &obstacle.mask.values[at..][..nx];
        if mask.iter().all(|&m| m <= 0.0) {
            return;
        }
        for d in 0..self.variables.dimensions {
            let line = &mut row[d * self.layout.width + crate::base::GHOSTS..][..nx];
            let solid = obstacle.velocity[d].as_ref().map(|f| &f.values[at..][..nx]);
            for i in 0..nx {
                let share = 1.0 - (-mask[i].clamp(0.0, 1.0) * steps_per_eta).exp();
                line[i] += share * (solid.map_or(0.0, |s| s[i]) - line[i]);
            }
        }
        self.close_walls((y, z), row, crate::base::GHOSTS, self.layout.width);
    }

    /// Nothing passes a wall: the velocity into it is zero along the grid row (y, z). `row` holds a line per variable, `width` apart,
    /// whose first grid point is at `start`.
    #[inline(always)]
    pub(crate) fn close_walls(&self, (y, z): (usize, usize), row: &mut [f32], start: usize, width: usize) {
        let [nx, ny, nz] = self.layout.points;
        let wall = self.layout.sides.map(|s| s == crate::Side::Wall);
        if wall[0] {
            row[start] = 0.0;
            row[start + nx - 1] = 0.0;
        }
        if wall[1] && (y == 0 || y + 1 == ny) {
            row[width + start..][..nx].fill(0.0);
        }
        if self.variables.dimensions == 3 && wall[2] && (z == 0 || z + 1 == nz) {
            row[2 * width + start..][..nx].fill(0.0);
        }
    }
}
