//! The base state: an air column at rest, about which everything moves.
//!
//! Potential temperature θ̄(y); Exner pressure from hydrostatic balance, dΠ̄/dy = −g/(c_p θ̄); and from the gas law
//! ρ̄θ̄ ∝ Π̄^{c_v/R}. With an artificial sound speed c the compressibility enters through one number per height,
//! K = c²/(c_p θ̄): density times potential temperature is taken as ρθ = ρ̄θ̄(1 + π/K), which is the gas law linearised about
//! the base state when c is that of air, c² = (c_p/c_v) R θ̄ Π̄.

use crate::domain::Domain;
use crate::{Error, Settings, Side};

/// Specific heat of dry air at constant pressure, J/(kg K).
pub(crate) const HEAT_CAPACITY: f64 = 1004.0;
/// Gas constant of dry air, J/(kg K).
pub(crate) const GAS_CONSTANT: f64 = 287.0;

/// Ghost rows at either end of a column.
pub(crate) const GHOSTS: usize = 3;

/// The base state, one entry per grid row unless it says otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// θ̄ in K.
    pub(crate) theta: Vec<f64>,
    /// dθ̄/dy in K/m.
    pub(crate) theta_slope: Vec<f64>,
    /// ρ̄θ̄ relative to the ground, with ghost rows.
    density_theta: Vec<f64>,
    /// θ̄ with ghost rows.
    theta_ghosted: Vec<f64>,
    /// Square of the sound speed of air, m²/s², with ghost rows.
    air_squared: Vec<f64>,
    /// The artist's profile less θ̄, K.
    pub(crate) profile_offset: Vec<f64>,
}

impl Base {
    /// The column with the given θ̄; `profile` is what the artist asked for, whose difference the sources need.
    pub(crate) fn new(
        domain: &Domain,
        settings: &Settings,
        theta: Vec<f64>,
        profile: &[f64],
    ) -> Result<Self, Error> {
        let axis = domain.axes[1];
        let h = axis.spacing();
        let n = axis.points;
        // a column that wraps around has no height to be stratified over: its mean is the base
        let theta = match axis.side {
            Side::Wall => theta,
            Side::Periodic => vec![theta.iter().sum::<f64>() / n as f64; n],
        };
        if let Some(y) = theta.iter().position(|&t| !(t > 0.0 && t.is_finite())) {
            let remedy = "raise the temperature profile, or move the black and white levels";
            return Err(Error::BelowZero { time: 0.0, place: [0, y, 0], kelvin: theta[y], remedy });
        }
        let theta_ghosted = ghosted(&theta, axis.side);
        let theta_slope = (0..n)
            .map(|j| {
                let f = &theta_ghosted[j + GHOSTS - 2..];
                (8.0 * (f[3] - f[1]) - (f[4] - f[0])) / (12.0 * h)
            })
            .collect();
        let gradient: Vec<f64> = match axis.side {
            Side::Wall => theta.iter().map(|t| -settings.gravity / (HEAT_CAPACITY * t)).collect(),
            Side::Periodic => vec![0.0; n],
        };
        let mut exner = integral(&gradient, h);
        exner.iter_mut().for_each(|p| *p += 1.0);
        if let Some(j) = exner.iter().position(|&p| !(p > 0.0)) {
            return Err(Error::NoAtmosphere { height: j as f64 * h });
        }
        let cv = HEAT_CAPACITY - GAS_CONSTANT;
        let density_theta: Vec<f64> = exner.iter().map(|p| p.powf(cv / GAS_CONSTANT)).collect();
        let air: Vec<f64> =
            theta.iter().zip(&exner).map(|(t, p)| HEAT_CAPACITY / cv * GAS_CONSTANT * t * p).collect();
        Ok(Self {
            theta_slope,
            profile_offset: profile.iter().zip(&theta).map(|(p, t)| p - t).collect(),
            density_theta: ghosted(&density_theta, axis.side),
            air_squared: ghosted(&air, axis.side),
            theta_ghosted,
            theta,
        })
    }

    /// K = c²/(c_p θ̄) of row `j`, which may be a ghost row; `sound_speed` None is that of air.
    pub(crate) fn compressibility(&self, j: isize, sound_speed: Option<f64>) -> f64 {
        let g = (j + GHOSTS as isize) as usize;
        sound_speed.map_or(self.air_squared[g], |c| c * c) / (HEAT_CAPACITY * self.theta_ghosted[g])
    }

    /// ρ̄θ̄ of row `j`, which may be a ghost row, relative to the ground.
    pub(crate) fn density_theta(&self, j: isize) -> f64 {
        self.density_theta[(j + GHOSTS as isize) as usize]
    }

    /// ρ̄ of row `j` relative to the ground.
    pub(crate) fn density(&self, j: usize) -> f64 {
        self.density_theta(j as isize) * self.theta[0] / self.theta[j]
    }

    /// The fastest sound of air in the column, m/s.
    pub(crate) fn air_speed(&self) -> f64 {
        self.air_squared[GHOSTS..GHOSTS + self.theta.len()].iter().fold(0.0, |m: f64, &c| m.max(c)).sqrt()
    }
}

/// A column with ghost rows at both ends, by continuation of the quartic through the five last points, or around.
fn ghosted(column: &[f64], side: Side) -> Vec<f64> {
    let n = column.len() as isize;
    let value = |j: isize| -> f64 {
        match side {
            Side::Periodic => column[j.rem_euclid(n) as usize],
            Side::Wall if j < 0 => quartic(-j, |k| column[k as usize]),
            Side::Wall if j >= n => quartic(j - n + 1, |k| column[(n - 1 - k) as usize]),
            Side::Wall => column[j as usize],
        }
    };
    (-(GHOSTS as isize)..n + GHOSTS as isize).map(value).collect()
}

/// The quartic through f(0) … f(4) at −m.
fn quartic(m: isize, f: impl Fn(isize) -> f64) -> f64 {
    QUARTIC[m as usize - 1].iter().zip(0..).map(|(c, k)| c * f(k)).sum()
}

/// Weights of the quartic through points 0 … 4, at −1, −2 and −3.
pub(crate) const QUARTIC: [[f64; 5]; 3] =
    [[5.0, -10.0, 10.0, -5.0, 1.0], [15.0, -40.0, 45.0, -24.0, 5.0], [35.0, -105.0, 126.0, -70.0, 15.0]];

/// Weights of the cubic through points 0 … 3, at −1, −2 and −3; the fifth is zero.
pub(crate) const CUBIC: [[f64; 5]; 3] =
    [[4.0, -6.0, 4.0, -1.0, 0.0], [10.0, -20.0, 15.0, -4.0, 0.0], [20.0, -45.0, 36.0, -10.0, 0.0]];

/// Weights that make (8(f₂ − f₀) − (f₃ − f₋₁))/12h the central difference (f₂ − f₀)/2h; at −2 and −3 the parabola.
pub(crate) const CARRIED: [[f64; 5]; 3] =
    [[2.0, 0.0, -2.0, 1.0, 0.0], [6.0, -8.0, 3.0, 0.0, 0.0], [10.0, -15.0, 6.0, 0.0, 0.0]];

/// The running integral from the first point, fourth order: a cubic through the four points about each gap.
pub(crate) fn integral(f: &[f64], h: f64) -> Vec<f64> {
    let n = f.len();
    let mut total = vec![0.0; n];
    for i in 1..n {
        let gap = if i == 1 {
            9.0 * f[0] + 19.0 * f[1] - 5.0 * f[2] + f[3]
        } else if i == n - 1 {
            9.0 * f[n - 1] + 19.0 * f[n - 2] - 5.0 * f[n - 3] + f[n - 4]
        } else {
            -f[i - 2] + 13.0 * (f[i - 1] + f[i]) - f[i + 1]
        };
        total[i] = total[i - 1] + gap * h / 24.0;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ghost_weights_continue_their_polynomials() {
        let f = |x: f64| 3.0 - x + 2.0 * x * x - 0.5 * x.powi(3);
        let g = |x: f64| f(x) + 0.25 * x.powi(4);
        for m in 1..=3 {
            let cubic: f64 = CUBIC[m - 1].iter().enumerate().map(|(k, c)| c * f(k as f64)).sum();
            let quartic: f64 = QUARTIC[m - 1].iter().enumerate().map(|(k, c)| c * g(k as f64)).sum();
            let parabola = |x: f64| 3.0 - x + 2.0 * x * x;
            let carried: f64 = CARRIED[m - 1].iter().enumerate().map(|(k, c)| c * parabola(k as f64)).sum();
            assert!((carried - parabola(-(m as f64))).abs() < 1e-12);
            assert!((cubic - f(-(m as f64))).abs() < 1e-12 && (quartic - g(-(m as f64))).abs() < 1e-12);
        }
    }

    #[test]
    fn the_running_integral_is_exact_for_cubics() {
        let h = 0.3;
        let f: Vec<f64> = (0..12).map(|i| (i as f64 * h).powi(3)).collect();
        for (i, total) in integral(&f, h).iter().enumerate() {
            assert!((total - (i as f64 * h).powi(4) / 4.0).abs() < 1e-12);
        }
    }
}
