//! A function of some tens of numbers, minimised by its gradient: limited-memory BFGS with backtracking (Nocedal 1980).

use super::subspace::dot;
use crate::error::Error;

/// Pairs of steps and changes of gradient that are remembered.
const MEMORY: usize = 10;
/// The longest step of any number.
const LONGEST: f64 = 1.0;

/// From `x` downhill; ends where a step wins less than 1e-6 of the value, or after so many iterations. Gives the value.
pub(crate) fn minimise(
    x: &mut Vec<f64>,
    iterations: usize,
    mut f: impl FnMut(&[f64]) -> Result<(f64, Vec<f64>), Error>,
) -> Result<f64, Error> {
    let (mut value, mut gradient) = f(x)?;
    let mut pairs: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    for _ in 0..iterations {
        let mut direction = direction(&gradient, &pairs);
        if dot(&direction, &gradient) >= 0.0 {
            pairs.clear();
            direction = gradient.iter().map(|g| -g).collect();
        }
        let most = direction.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
        if most == 0.0 {
            break;
        }
        let first = if pairs.is_empty() { 0.3 / most } else { (LONGEST / most).min(1.0) };
        let slope = dot(&direction, &gradient);
        let mut share = first;
        let next = loop {
            let tried: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + share * d).collect();
            let (there, slopes) = f(&tried)?;
            if there.is_finite() && there <= value + 1e-4 * share * slope {
                break Some((tried, there, slopes));
            }
            share *= 0.4;
            if share < 1e-6 * first {
                break None;
            }
        };
        let Some((tried, there, slopes)) = next else { break };
        let step: Vec<f64> = tried.iter().zip(x.iter()).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = slopes.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        if dot(&step, &change) > 1e-12 * dot(&change, &change) {
            pairs.push((step, change));
            if pairs.len() > MEMORY {
                pairs.remove(0);
            }
        }
        let won = value - there;
        (*x, value, gradient) = (tried, there, slopes);
        if won < 1e-6 * value.abs() {
            break;
        }
    }
    Ok(value)
}

/// −H g, H the inverse Hessian that the pairs speak of.
fn direction(gradient: &[f64], pairs: &[(Vec<f64>, Vec<f64>)]) -> Vec<f64> {
    let mut q = gradient.to_vec();
    let mut shares = Vec::with_capacity(pairs.len());
    for (step, change) in pairs.iter().rev() {
        let share = dot(step, &q) / dot(step, change);
        q.iter_mut().zip(change).for_each(|(q, y)| *q -= share * y);
        shares.push(share);
    }
    if let Some((step, change)) = pairs.last() {
        let scale = dot(step, change) / dot(change, change);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((step, change), share) in pairs.iter().zip(shares.iter().rev()) {
        let other = dot(change, &q) / dot(step, change);
        q.iter_mut().zip(step).for_each(|(q, s)| *q += (share - other) * s);
    }
    q.iter_mut().for_each(|q| *q = -*q);
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        // Rosenbrock's function, minimum 1 at (1, 1): the end stops at a millionth of the value
        let mut x = vec![-1.2, 1.0];
        let f = |x: &[f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            Ok((1.0 + a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b]))
        };
        let value = minimise(&mut x, 200, f).unwrap();
        assert!(value < 1.0 + 1e-4 && (x[0] - 1.0).abs() < 0.02, "{value} {x:?}");
    }
}
