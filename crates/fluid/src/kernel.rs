//! The right-hand side of the equations of motion along one row of the grid.
//!
//! With D/Dt = ∂t + u·∇, θ = θ̄ + θ′ and K = c²/(c_p θ̄):
//!
//! ```text
//! Du/Dt  = −c_p θ ∇π + g θ′/θ̄ ŷ              momentum; exact for Exner pressure
//! ∂π/∂t  = −(1/m) ∇·( m (K + π) u ),  m = ρ̄θ̄/K   conservation of ρθ = ρ̄θ̄(1 + π/K)
//! Dθ′/Dt = −v dθ̄/dy                            heat
//! Ds/Dt  = 0                                    passive scalars
//! Dξ/Dt  = −u                                   texture displacement ξ = origin − place, in units of the domain
//! ```
//!
//! The pressure equation holds the small advective terms of cloud models in flux form, so that ∫ρθ is conserved to round-off
//! between periodic sides. First differences are fourth order, (−f₊₂ + 8f₊₁ − 8f₋₁ + f₋₂)/12h. Against non-linear instability every
//! variable gets (a|u_d| + b) δ⁶f along each axis d: with a = 1/60h the dissipation of a fifth-order upwind
//! scheme, b the same for sound, both a fifth-order error.
//!
//! fluids-in-traditional-animation §3; Klemp and Wilhelmson 1978. Differs: θ instead of θ̄ before ∇π, flux form of ∂π/∂t, sixth
//! differences where the paper has constant diffusion.

use crate::base::HEAT_CAPACITY;
use crate::fluid::Fluid;
use crate::layout::Layout;

/// Everything that is the same along a row, in the precision of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct RowConstants {
    /// 1/12h per axis.
    first: [f32; 3],
    /// a = upwind/60h per axis.
    upwind: [f32; 3],
    /// b of velocity and pressure per axis.
    sound: [f32; 3],
    /// m₊ₖ K₊ₖ/m and m₊ₖ/m for k = −2, −1, 1, 2, the weights of the vertical flux.
    flux_base: [f32; 4],
    flux_weight: [f32; 4],
    /// K of this row.
    compressibility: f32,
    /// c_p θ̄.
    pressure_force: f32,
    /// g/θ̄.
    buoyancy: f32,
    /// dθ̄/dy.
    theta_slope: f32,
}

impl RowConstants {
    /// The constants of row `y` at a sound speed; None is that of air.
    pub(crate) fn new(fluid: &Fluid, y: usize, sound_speed: Option<f64>) -> Self {
        let base = &fluid.base;
        let fastest = sound_speed.unwrap_or_else(|| base.air_speed());
        let h = fluid.domain.spacings();
        let k = |j: isize| base.compressibility(j, sound_speed);
        let m = |j: isize| base.density_theta(j) / k(j);
        let y = y as isize;
        let near = [y - 2, y - 1, y + 1, y + 2];
        let theta = base.theta[y as usize];
        Self {
            first: h.map(|h| (1.0 / (12.0 * h)) as f32),
            upwind: h.map(|h| (fluid.settings.upwind / (60.0 * h)) as f32),
            sound: h
                .map(|h| (fluid.settings.upwind * fluid.settings.sound_filter * fastest / (60.0 * h)) as f32),
            flux_base: near.map(|j| (m(j) * k(j) / m(y)) as f32),
            flux_weight: near.map(|j| (m(j) / m(y)) as f32),
            compressibility: k(y) as f32,
            pressure_force: (HEAT_CAPACITY * theta) as f32,
            buoyancy: (fluid.settings.gravity / theta) as f32,
            theta_slope: base.theta_slope[y as usize] as f32,
        }
    }
}

/// f at the seven points from three before to three after each point of a line, as seven views of one length.
type Views<'a> = [&'a [f32]; 7];

/// Views along a line: element i of view k is f at i + k − 3.
#[inline(always)]
fn along<'a>(layout: &Layout, values: &'a [f32], row: usize, variable: usize) -> Views<'a> {
    let n = layout.points[0];
    let f = layout.line(values, row, variable);
    [&f[..n], &f[1..n + 1], &f[2..n + 2], &f[3..n + 3], &f[4..n + 4], &f[5..n + 5], &f[6..n + 6]]
}

/// Views across lines: element i of view k is f at i in row r + (k − 3)·stride.
#[inline(always)]
fn across<'a>(layout: &Layout, values: &'a [f32], row: usize, stride: usize, variable: usize) -> Views<'a> {
    let first = row - 3 * stride;
    let line = |k: usize| layout.inner(values, first + k * stride, variable);
    [line(0), line(1), line(2), line(3), line(4), line(5), line(6)]
}

/// a b + c, in one rounding where the machine has an instruction for it.
#[inline(always)]
fn fma<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// 12h ∂f at point i.
#[inline(always)]
fn slope<const FUSED: bool>(f: &Views, i: usize) -> f32 {
    fma::<FUSED>(8.0, f[4][i] - f[2][i], f[1][i] - f[5][i])
}

/// δ⁶f at point i.
#[inline(always)]
fn sixth<const FUSED: bool>(f: &Views, i: usize) -> f32 {
    let far = fma::<FUSED>(-6.0, f[1][i] + f[5][i], f[0][i] + f[6][i]);
    fma::<FUSED>(-20.0, f[3][i], fma::<FUSED>(15.0, f[2][i] + f[4][i], far))
}

/// What carries a field along one axis.
struct Carrier<'a> {
    f: Views<'a>,
    u: &'a [f32],
    first: f32,
    a: f32,
    b: f32,
}

impl Carrier<'_> {
    /// −u ∂f + (a|u| + b) δ⁶f at point i.
    #[inline(always)]
    fn at<const FUSED: bool>(&self, i: usize) -> f32 {
        let u = self.u[i];
        let filter = fma::<FUSED>(self.a, u.abs(), self.b) * sixth::<FUSED>(&self.f, i);
        fma::<FUSED>(-self.first * u, slope::<FUSED>(&self.f, i), filter)
    }

    /// The same for a substance, which must not ring: where the fourth difference is no longer small beside the differences it is made
    /// of, the front is steeper than the grid can carry, and first-order upwind dissipation ½|u|h φ ∂²f is blended in,
    /// φ = (δ⁴f / 1.5 Σ|δf|)² ≤ 1. It is 1 at a jump and of order h⁶ where the field is smooth.
    #[inline(always)]
    fn at_limited<const FUSED: bool>(&self, i: usize) -> f32 {
        let [_, f1, f2, f3, f4, f5, _] = self.f;
        let d = [f2[i] - f1[i], f3[i] - f2[i], f4[i] - f3[i], f5[i] - f4[i]];
        let total = (d[0].abs() + d[1].abs()) + (d[2].abs() + d[3].abs());
        let second = d[2] - d[1];
        let rough = fma::<FUSED>(-3.0, second, d[3] - d[0]) / fma::<FUSED>(1.5, total, f32::MIN_POSITIVE);
        let phi = (rough * rough).min(1.0);
        fma::<FUSED>((6.0 * self.first * self.u[i]).abs() * phi, second, self.at::<FUSED>(i))
    }
}

/// The views cut to n, so that the compiler knows that no index is out of bounds.
#[inline(always)]
fn cut(f: Views, n: usize) -> Views {
    let [f0, f1, f2, f3, f4, f5, f6] = f;
    [&f0[..n], &f1[..n], &f2[..n], &f3[..n], &f4[..n], &f5[..n], &f6[..n]]
}

/// k ← k − c_p (θ̄ + θ′) ∂π along one axis.
#[inline(always)]
fn push<const FUSED: bool>(k: &mut [f32], p: Views, theta: &[f32], first: f32, base: f32) {
    let n = k.len();
    let p = cut(p, n);
    let theta = &theta[..n];
    let (base, per_kelvin) = (-base * first, -HEAT_CAPACITY as f32 * first);
    for i in 0..n {
        k[i] = fma::<FUSED>(fma::<FUSED>(per_kelvin, theta[i], base), slope::<FUSED>(&p, i), k[i]);
    }
}

/// k ← (a|u| + b) δ⁶π − ∂(m(K + π)u)/m along one axis, with the flux weights of k = −2, −1, 1, 2; added when `ADD`.
#[inline(always)]
fn flux<const ADD: bool, const FUSED: bool>(
    k: &mut [f32],
    p: Views,
    u: Views,
    base: [f32; 4],
    weight: [f32; 4],
    first: f32,
    a: f32,
    b: f32,
) {
    let n = k.len();
    let (p, u) = (cut(p, n), cut(u, n));
    let flow = |k: usize, v: usize, i: usize| fma::<FUSED>(weight[k], p[v][i], base[k]) * u[v][i];
    for i in 0..n {
        let (far, near) = (flow(3, 5, i) - flow(0, 1, i), flow(2, 4, i) - flow(1, 2, i));
        let filter = fma::<FUSED>(a, u[3][i].abs(), b) * sixth::<FUSED>(&p, i);
        let change = fma::<FUSED>(-first, fma::<FUSED>(8.0, near, -far), filter);
        k[i] = if ADD { k[i] + change } else { change };
    }
}

/// k ← k + factor · f.
#[inline(always)]
fn add_scaled(k: &mut [f32], f: &[f32], factor: f32) {
    k.iter_mut().zip(f).for_each(|(k, f)| *k += factor * f);
}

/// k ← what one axis carries along the row, or k ← k + that.
#[inline(always)]
fn advect<const LIMITED: bool, const FUSED: bool>(k: &mut [f32], carrier: &Carrier, adds: bool) {
    // plain loops: a closure would not be compiled for the vector unit that this function is compiled for
    if adds {
        for i in 0..k.len() {
            k[i] += if LIMITED { carrier.at_limited::<FUSED>(i) } else { carrier.at::<FUSED>(i) };
        }
    } else {
        for i in 0..k.len() {
            k[i] = if LIMITED { carrier.at_limited::<FUSED>(i) } else { carrier.at::<FUSED>(i) };
        }
    }
}

/// k ← what sound does to the pressure along one row: D fluxes.
#[inline(always)]
fn pressure_rates<'a, const D: usize, const FUSED: bool>(
    k: &mut [f32],
    c: &RowConstants,
    views: &impl Fn(usize, usize) -> Views<'a>,
    p: usize,
) {
    let even = [1.0; 4];
    let level = [c.compressibility; 4];
    flux::<false, FUSED>(k, views(p, 0), views(0, 0), level, even, c.first[0], c.upwind[0], c.sound[0]);
    flux::<true, FUSED>(
        k,
        views(p, 1),
        views(1, 1),
        c.flux_base,
        c.flux_weight,
        c.first[1],
        c.upwind[1],
        c.sound[1],
    );
    if D == 3 {
        flux::<true, FUSED>(k, views(p, 2), views(2, 2), level, even, c.first[2], c.upwind[2], c.sound[2]);
    }
}

/// Rates of change of all variables along one grid row, into `k`: one line of `points[0]` numbers per variable.
#[inline(always)]
pub(crate) fn rates<const D: usize, const FUSED: bool>(
    fluid: &Fluid,
    c: &RowConstants,
    values: &[f32],
    row: usize,
    k: &mut [f32],
) {
    let layout = &fluid.layout;
    let n = layout.points[0];
    let names = &fluid.variables;
    let views = |variable: usize, d: usize| match d {
        0 => along(layout, values, row, variable),
        1 => across(layout, values, row, 1, variable),
        _ => across(layout, values, row, layout.rows, variable),
    };
    let inner = |variable: usize| layout.inner(values, row, variable);

    for (variable, k) in k.chunks_exact_mut(n).enumerate() {
        if variable == names.pressure {
            pressure_rates::<D, FUSED>(k, c, &views, names.pressure);
            continue;
        }
        // sound is longitudinal: along an axis only that axis's velocity rings
        let filter = |d: usize| if variable == d { c.sound[d] } else { 0.0 };
        let carrier = |d: usize| Carrier {
            f: cut(views(variable, d), n),
            u: &inner(d)[..n],
            first: c.first[d],
            a: c.upwind[d],
            b: filter(d),
        };
        let limited = variable == names.temperature || variable >= names.scalar(0);
        for d in 0..D {
            let carrier = carrier(d);
            match limited {
                false => advect::<false, FUSED>(k, &carrier, d > 0),
                true => advect::<true, FUSED>(k, &carrier, d > 0),
            }
        }
        if variable < D {
            push::<FUSED>(
                k,
                views(names.pressure, variable),
                inner(names.temperature),
                c.first[variable],
                c.pressure_force,
            );
            if variable == 1 {
                add_scaled(k, inner(names.temperature), c.buoyancy);
            }
        } else if variable == names.temperature {
            add_scaled(k, inner(1), -c.theta_slope);
        } else if let Some(d) = names.texture_axis(variable) {
            add_scaled(k, inner(d), -(1.0 / fluid.domain.axes[d].length) as f32);
        }
    }
}
