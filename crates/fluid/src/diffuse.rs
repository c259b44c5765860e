//! Constant diffusion: ν∇²u, κ∇²θ′, κₛ∇²s, along one row of the grid.
//!
//! Fourth order, (−f₊₂ + 16f₊₁ − 30f + 16f₋₁ − f₋₂)/12h². Diffusion needs a condition at walls where advection needs none: nothing
//! flows through, so the field is mirrored there; the velocity into the wall is mirrored with its sign turned. The base state does
//! not diffuse, or no stratified air would ever be at rest.

use crate::base::GHOSTS;
use crate::fluid::Fluid;
use crate::{Domain, Side};

impl Fluid {
    /// Diffusivity of a variable, m²/s.
    fn diffusivity(&self, variable: usize) -> f64 {
        let names = &self.variables;
        if variable < names.dimensions {
            self.settings.viscosity
        } else if variable == names.temperature {
            self.settings.heat_diffusivity
        } else if variable >= names.scalar(0) {
            self.settings.scalar_diffusivity
        } else {
            // pressure is no substance, and texture coordinates must not blur
            0.0
        }
    }

    /// The greatest diffusivity, m²/s.
    pub(crate) fn greatest_diffusivity(&self) -> f64 {
        (0..self.variables.count()).fold(0.0, |m: f64, v| m.max(self.diffusivity(v)))
    }

    /// Adds diffusion to the rates of change along the grid row (y, z).
    #[inline(always)]
    pub(crate) fn add_diffusion(&self, values: &[f32], (y, z): (usize, usize), k: &mut [f32]) {
        let layout = &self.layout;
        let [nx, ny, nz] = layout.points;
        let h = self.domain.spacings();
        for variable in 0..layout.variables {
            let kappa = self.diffusivity(variable);
            if kappa == 0.0 {
                continue;
            }
            let k = &mut k[variable * nx..][..nx];
            let scale = h.map(|h| (kappa / (12.0 * h * h)) as f32);
            // a mirrored neighbour changes sign if this is the velocity into the mirror
            let mirror = |d: usize| if variable == d { -1.0_f32 } else { 1.0 };

            let line = layout.inner(values, layout.row(y, z), variable);
            let full = layout.line(values, layout.row(y, z), variable);
            let interior = &full[GHOSTS - 2..GHOSTS + nx + 2];
            for i in 0..nx {
                let f = &interior[i..i + 5];
                k[i] += scale[0] * (16.0 * (f[1] + f[3]) - (f[0] + f[4]) - 30.0 * f[2]);
            }
            if layout.sides[0] == Side::Wall {
                for i in [0, 1, nx - 2, nx - 1] {
                    let near = |o: isize| {
                        let (at, sign) = reflect(i as isize + o, nx, mirror(0));
                        sign * line[at]
                    };
                    let by_ghosts = 16.0 * (full[i + 2] + full[i + 4]) - (full[i + 1] + full[i + 5]);
                    let by_mirror = 16.0 * (near(-1) + near(1)) - (near(-2) + near(2));
                    k[i] += scale[0] * (by_mirror - by_ghosts);
                }
            }

            let mut add_across = |d: usize, at: usize, n: usize, row: &dyn Fn(usize) -> usize| {
                let neighbour = |o: isize| {
                    let (to, sign) = match layout.sides[d] {
                        Side::Wall => reflect(at as isize + o, n, mirror(d)),
                        Side::Periodic => ((at as isize + o).rem_euclid(n as isize) as usize, 1.0),
                    };
                    (layout.inner(values, row(to), variable), sign)
                };
                let [(a, sa), (b, sb), (d1, sd), (e, se)] = [-2, -1, 1, 2].map(neighbour);
                for i in 0..nx {
                    k[i] += scale[d]
                        * (16.0 * (sb * b[i] + sd * d1[i]) - (sa * a[i] + se * e[i]) - 30.0 * line[i]);
                }
            };
            add_across(1, y, ny, &|to| layout.row(to, z));
            if self.variables.dimensions == 3 {
                add_across(2, z, nz, &|to| layout.row(y, to));
            }
        }
    }
}

/// The point that stands for point `i` of an axis mirrored at its first and last points, and the sign it comes with.
fn reflect(i: isize, n: usize, sign: f32) -> (usize, f32) {
    let last = n as isize - 1;
    if i < 0 {
        (-i as usize, sign)
    } else if i > last {
        ((2 * last - i) as usize, sign)
    } else {
        (i as usize, 1.0)
    }
}

impl Domain {
    /// The largest stable step of explicit diffusion, s: RK4 holds down to −2.78, the fourth-order Laplacian reaches −16/3 κ/h² per axis.
    pub fn diffusion_limit(&self, diffusivity: f64) -> f64 {
        let inverse: f64 = self.spacings().iter().take(self.dimensions()).map(|h| 1.0 / (h * h)).sum();
        2.5 / (16.0 / 3.0 * diffusivity * inverse)
    }
}

impl Fluid {
    pub(crate) fn diffusion_limit(&self) -> f64 {
        self.domain.diffusion_limit(self.greatest_diffusivity())
    }
}
