//! Weights of a point on a few bones: the nearest point of a simplex, by active sets.
//!
//! With r_k(t) = B_k(t) x − p(t) and Σ w = 1, what a point is off by is Σ w_k r_k; so w minimises wᵀ G w over the simplex, G_kl = Σ_t r_k·r_l.
//! Where a set of bones is free to weigh, w ∝ G⁻¹ 1. A bone enters where the gradient (G w)_k lies below the mean λ = wᵀ G w, and leaves where its weight
//! would fall below zero (Lawson and Hanson's scheme, on the simplex).

use geometry::Vec3;
use glam::DAffine3;

use super::{Decomposition, Motion};

/// Joints a point hangs on at most: what graphics hardware and every engine take.
pub(super) const MOST: usize = 4;

/// Below this part of the whole a weight is none.
const NEGLIGIBLE: f64 = 1e-6;

impl Motion {
    /// Finds the weights of every point anew among the bones that `candidates` gives for it and for what it hangs on now.
    pub(super) fn fit_weights(
        &self,
        found: &mut Decomposition,
        candidates: impl Fn(&[Vec<DAffine3>], usize, &[u32]) -> Vec<u32>,
    ) {
        let mut influences = std::mem::take(&mut found.influences);
        for (point, of_point) in influences.iter_mut().enumerate() {
            let own: Vec<u32> = of_point.iter().map(|&(bone, _)| bone).collect();
            let bones = candidates(&found.bones, point, &own);
            // what hangs on bones that stay, and can be written, stays as it is unless others are to be tried
            let stays = own.iter().all(|&bone| (bone as usize) < self.given.len());
            if bones == own && own.len() <= MOST && stays {
                continue;
            }
            let gram = self.gram(&found.bones, point, &bones);
            let weights = at_most_four(&gram);
            let kept = bones.iter().copied().zip(weights).filter(|&(_, weight)| weight > 0.0);
            *of_point = kept.collect();
        }
        found.influences = influences;
    }

    /// The four bones that alone would carry a point best.
    pub(super) fn nearest_bones(&self, bones: &[Vec<DAffine3>], point: usize) -> Vec<u32> {
        let mut ranked: Vec<(f64, u32)> =
            (0_u32..).zip(bones).map(|(bone, motion)| (self.alone(motion, point), bone)).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        ranked.into_iter().take(MOST).map(|(_, bone)| bone).collect()
    }

    /// G of a point and some bones.
    fn gram(&self, bones: &[Vec<DAffine3>], point: usize, candidates: &[u32]) -> Vec<Vec<f64>> {
        let count = candidates.len();
        let mut gram = vec![vec![0.0; count]; count];
        let mut off = vec![Vec3::ZERO; count];
        for frame in 0..self.frame_count() {
            let (before, shown) = (self.before(frame, point), self.shown(frame, point));
            for (off, &bone) in off.iter_mut().zip(candidates) {
                *off = bones[bone as usize][frame].transform_point3(before) - shown;
            }
            for (k, row) in gram.iter_mut().enumerate() {
                for (l, entry) in row.iter_mut().enumerate().take(k + 1) {
                    *entry += off[k].dot(off[l]);
                }
            }
        }
        for k in 0..count {
            for l in k + 1..count {
                gram[k][l] = gram[l][k];
            }
        }
        gram
    }
}

/// The best weights of which no more than four are above zero: those of all, then of the four heaviest.
pub(super) fn at_most_four(gram: &[Vec<f64>]) -> Vec<f64> {
    let all: Vec<usize> = (0..gram.len()).collect();
    let mut weights = on_simplex(gram, &all);
    let mut kept: Vec<usize> = (0..gram.len()).filter(|&k| weights[k] > 0.0).collect();
    if kept.len() > MOST {
        kept.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        kept.truncate(MOST);
        weights = on_simplex(gram, &kept);
    }
    for weight in &mut weights {
        if *weight < NEGLIGIBLE {
            *weight = 0.0;
        }
    }
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

/// min wᵀ G w over w ≥ 0, Σ w = 1, of which only `allowed` are above zero.
fn on_simplex(gram: &[Vec<f64>], allowed: &[usize]) -> Vec<f64> {
    let mut weights = vec![0.0; gram.len()];
    let alone = |a: &&usize, b: &&usize| gram[**a][**a].total_cmp(&gram[**b][**b]).then(a.cmp(b));
    let Some(&first) = allowed.iter().min_by(alone) else { return weights };
    weights[first] = 1.0;
    let mut free = vec![first];
    // each set of bones is met at most once but for rounding
    for _ in 0..4 * allowed.len() {
        let gradient: Vec<f64> =
            gram.iter().map(|row| free.iter().map(|&l| row[l] * weights[l]).sum()).collect();
        let mean: f64 = free.iter().map(|&k| weights[k] * gradient[k]).sum();
        let waiting = allowed.iter().copied().filter(|k| !free.contains(k));
        let steepest = waiting.min_by(|&a, &b| gradient[a].total_cmp(&gradient[b]).then(a.cmp(&b)));
        let Some(enters) = steepest.filter(|&k| gradient[k] < mean - 1e-9 * (mean + gram[k][k])) else {
            break;
        };
        free.push(enters);
        while !step(gram, &mut free, &mut weights) {}
    }
    weights
}

/// Goes to the best weights of the free bones, or as far as none falls below zero; then that bone is free no more, and it is not done.
fn step(gram: &[Vec<f64>], free: &mut Vec<usize>, weights: &mut [f64]) -> bool {
    let Some(best) = unconstrained(gram, free) else {
        // bones that move alike: the one that came last is not needed
        let last = free.pop();
        last.into_iter().for_each(|last| weights[last] = 0.0);
        return true;
    };
    if best.iter().all(|&weight| weight > 0.0) {
        free.iter().zip(best).for_each(|(&k, weight)| weights[k] = weight);
        return true;
    }
    let reach =
        |(&k, &to): (&usize, &f64)| if to <= 0.0 { weights[k] / (weights[k] - to).max(1e-300) } else { 1.0 };
    let far = free.iter().zip(&best).map(reach).fold(1.0, f64::min);
    for (&k, &to) in free.iter().zip(&best) {
        weights[k] += far * (to - weights[k]);
    }
    let leaves = |&(&k, &to): &(&usize, &f64)| to <= 0.0 && weights[k] <= 1e-12;
    let gone: Vec<usize> = free.iter().zip(&best).filter(leaves).map(|(&k, _)| k).collect();
    gone.iter().for_each(|&k| weights[k] = 0.0);
    free.retain(|k| !gone.contains(k));
    gone.is_empty() || free.len() == 1
}

/// G⁻¹ 1 of the free bones, scaled to sum one, by Cholesky with a trace of damping; `None` where that fails.
fn unconstrained(gram: &[Vec<f64>], free: &[usize]) -> Option<Vec<f64>> {
    let count = free.len();
    let trace: f64 = free.iter().map(|&k| gram[k][k]).sum();
    let mut lower = vec![vec![0.0; count]; count];
    for i in 0..count {
        for j in 0..=i {
            let damping = if i == j { 1e-13 * trace + 1e-300 } else { 0.0 };
            let sum: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = gram[free[i]][free[j]] + damping - sum;
            lower[i][j] = if i == j { (rest > 0.0).then(|| rest.sqrt())? } else { rest / lower[j][j] };
        }
    }
    let mut x = vec![1.0; count];
    for i in 0..count {
        let sum: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
        x[i] = (x[i] - sum) / lower[i][i];
    }
    for i in (0..count).rev() {
        let sum: f64 = (i + 1..count).map(|k| lower[k][i] * x[k]).sum();
        x[i] = (x[i] - sum) / lower[i][i];
    }
    let sum: f64 = x.iter().sum();
    (sum.is_finite() && sum > 0.0).then(|| x.iter().map(|value| value / sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Random;

    /// wᵀ G w.
    fn value(gram: &[Vec<f64>], weights: &[f64]) -> f64 {
        let entry = |(k, row): (usize, &Vec<f64>)| {
            weights[k] * row.iter().zip(weights).map(|(g, w)| g * w).sum::<f64>()
        };
        gram.iter().enumerate().map(entry).sum()
    }

    /// No weights on the simplex are better: compared with many others, and on a grid where there are two bones.
    #[test]
    fn nothing_on_the_simplex_is_better() {
        let mut random = Random::new(7);
        for case in 0..200 {
            let count = 2 + case % 4;
            let rows: Vec<Vec<f64>> = (0..count)
                .map(|_| (0..6).map(|_| random.unit() - 0.5 + 0.3 * (case % 3) as f64).collect())
                .collect();
            let dot = |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let gram: Vec<Vec<f64>> = rows.iter().map(|a| rows.iter().map(|b| dot(a, b)).collect()).collect();
            let all: Vec<usize> = (0..count).collect();
            let found = on_simplex(&gram, &all);
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9 && found.iter().all(|w| *w >= 0.0));
            for _ in 0..500 {
                let mut other: Vec<f64> = (0..count).map(|_| -random.unit().max(1e-12).ln()).collect();
                let sum: f64 = other.iter().sum();
                other.iter_mut().for_each(|w| *w /= sum);
                assert!(value(&gram, &found) <= value(&gram, &other) + 1e-9, "{case}: {found:?} {other:?}");
            }
        }
    }

    #[test]
    fn five_bones_become_four() {
        // r_k = e_k: equal weights are best, and the first four of equals are kept
        let gram: Vec<Vec<f64>> =
            (0..5).map(|k| (0..5).map(|l| f64::from(u8::from(k == l))).collect()).collect();
        let found = at_most_four(&gram);
        assert_eq!(found.iter().filter(|w| **w > 0.0).count(), 4);
        assert!(found.iter().filter(|w| **w > 0.0).all(|w| (w - 0.25).abs() < 1e-9), "{found:?}");
    }
}
