//! Travelling waves that the coarse cloth cannot explain: *upsample* §5.
//!
//! What is left along normals, d (points × frames), is approximated by E Ω(θ), Ω's columns (sin jθ, cos jθ): phase and amplitude of every
//! point, one frequency. θ is the strongest period of the autocorrelation of d's frames, E follows by regression; both are
//! repeated on what then remains.

use faer::Mat;
use geometry::{Vec3, vertex_normals};
use linear::{product, transposed_product};

use crate::moments::point;
use crate::{Error, Pairs};

/// A pair of oscillatory modes.
#[derive(Clone, Debug, PartialEq)]
pub struct Wave {
    /// Angle per frame, rad.
    pub theta: f64,
    /// (e₁, e₂) of each fine point, m: e₁ sin jθ + e₂ cos jθ.
    pub amplitudes: Vec<[f64; 2]>,
    /// The part of the remaining energy that it explains.
    pub explains: f64,
}

/// Waves slower than this many periods in the whole motion are not waves.
const FEWEST_PERIODS: f64 = 4.0;

/// Waves in what `shown` (fine points of each frame, without waves) leaves of the pairs; until one explains less than `threshold`, at
/// most `most`.
pub fn travelling_waves(
    shown: &[Vec<[f32; 3]>],
    pairs: &Pairs,
    triangles: &[[u32; 3]],
    threshold: f64,
    most: usize,
) -> Result<Vec<Wave>, Error> {
    let frames = shown.len();
    let fine = shown.first().ok_or(Error::NoFrames)?.len();
    pairs.check(pairs.coarse[0].len(), fine)?;
    let mut d = Mat::<f64>::zeros(fine, frames);
    for (j, (shown, truth)) in shown.iter().zip(&pairs.fine).enumerate() {
        let points: Vec<Vec3> = shown.iter().map(|p| point(*p)).collect();
        let normals = vertex_normals(&points, triangles);
        (0..fine).for_each(|i| d[(i, j)] = (point(truth[i]) - points[i]).dot(normals[i]));
    }
    // what never changes is no wave
    for i in 0..fine {
        let mean = (0..frames).map(|j| d[(i, j)]).sum::<f64>() / frames as f64;
        (0..frames).for_each(|j| d[(i, j)] -= mean);
    }
    let mut waves = Vec::new();
    while waves.len() < most {
        let gram = transposed_product(d.as_ref(), d.as_ref());
        let energy: f64 = (0..frames).map(|j| gram[(j, j)]).sum();
        let Some(theta) = strongest(&gram).filter(|_| energy > 0.0) else { break };
        let explains = explained(&gram, theta) / energy;
        if explains < threshold {
            break;
        }
        let omega = Mat::from_fn(2, frames, |k, j| {
            let angle = (j + 1) as f64 * theta;
            if k == 0 { angle.sin() } else { angle.cos() }
        });
        let e = regress(&d, &omega);
        d -= product(e.as_ref(), omega.as_ref());
        let amplitudes = (0..fine).map(|i| [e[(i, 0)], e[(i, 1)]]).collect();
        waves.push(Wave { theta, amplitudes, explains });
    }
    Ok(waves)
}

impl Wave {
    /// For the run time: learnt in a wind of `wind_speed` m/s at `frame_rate_hz`.
    pub fn mode(&self, frame_rate_hz: f64, wind_speed: f64) -> live::Mode {
        live::Mode {
            frequency_hz: (self.theta * frame_rate_hz / std::f64::consts::TAU) as f32,
            wind_speed: wind_speed as f32,
            amplitudes: self.amplitudes.iter().map(|e| e.map(|x| x as f32)).collect(),
        }
    }
}

/// The angle per frame of the strongest periodic part: the spectrum of the autocorrelation of frames finds it, and regression
/// makes it exact.
fn strongest(gram: &Mat<f64>) -> Option<f64> {
    let frames = gram.nrows();
    let lowest = FEWEST_PERIODS * std::f64::consts::TAU / frames as f64;
    if lowest >= std::f64::consts::PI {
        return None;
    }
    let autocorrelation: Vec<f64> =
        (0..frames).map(|lag| (0..frames - lag).map(|j| gram[(j, j + lag)]).sum()).collect();
    let power = |theta: f64| -> f64 {
        // a triangular window keeps side lobes from being taken for periods
        let lag = |k: usize| {
            let window = 1.0 - k as f64 / frames as f64;
            window * autocorrelation[k] * (k as f64 * theta).cos()
        };
        autocorrelation[0] + 2.0 * (1..frames).map(lag).sum::<f64>()
    };
    let steps = 4 * frames;
    let width = (std::f64::consts::PI - lowest) / steps as f64;
    let at = |k: usize| lowest + (k as f64 + 0.5) * width;
    let best = (0..steps).max_by(|&a, &b| power(at(a)).total_cmp(&power(at(b))))?;
    // golden section on what regression explains
    let ratio = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = ((at(best) - 2.0 * width).max(lowest), at(best) + 2.0 * width);
    for _ in 0..60 {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        if explained(gram, a) > explained(gram, b) {
            high = b;
        } else {
            low = a;
        }
    }
    Some(0.5 * (low + high))
}

/// ‖E Ω‖² of the best E: tr(Ω G Ωᵀ (Ω Ωᵀ)⁻¹), G = dᵀd.
fn explained(gram: &Mat<f64>, theta: f64) -> f64 {
    let frames = gram.nrows();
    let omega: Vec<[f64; 2]> = (1..=frames).map(|j| (j as f64 * theta).sin_cos().into()).collect();
    let mut around = [[0.0; 2]; 2];
    let mut inner = [[0.0; 2]; 2];
    for j in 0..frames {
        let mut image = [0.0; 2];
        for (l, o) in omega.iter().enumerate() {
            (0..2).for_each(|k| image[k] += gram[(l, j)] * o[k]);
        }
        for a in 0..2 {
            for b in 0..2 {
                around[a][b] += omega[j][a] * image[b];
                inner[a][b] += omega[j][a] * omega[j][b];
            }
        }
    }
    let determinant = inner[0][0] * inner[1][1] - inner[0][1] * inner[1][0];
    if determinant <= 1e-12 * inner[0][0] * inner[1][1] {
        return 0.0;
    }
    (around[0][0] * inner[1][1] + around[1][1] * inner[0][0]
        - around[0][1] * inner[1][0]
        - around[1][0] * inner[0][1])
        / determinant
}

/// E = d Ωᵀ (Ω Ωᵀ)⁻¹.
fn regress(d: &Mat<f64>, omega: &Mat<f64>) -> Mat<f64> {
    let right = product(d.as_ref(), omega.transpose());
    let inner = product(omega.as_ref(), omega.transpose());
    let (a, b, c) = (inner[(0, 0)], inner[(0, 1)], inner[(1, 1)]);
    let determinant = a * c - b * b;
    Mat::from_fn(d.nrows(), 2, |i, k| {
        let (x, y) = (right[(i, 0)], right[(i, 1)]);
        if k == 0 { (x * c - y * b) / determinant } else { (y * a - x * b) / determinant }
    })
}
