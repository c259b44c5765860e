use super::*;
use crate::testing::Random;

/// Two functions of three inputs, the third of no influence, with noise.
fn samples(count: usize, seed: u64) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mut random = Random(seed);
    let pair = |random: &mut Random| {
        let y: Vec<f64> = random.vector(3).iter().map(|x| 2.0 * x).collect();
        let z = vec![
            (1.5 * y[0]).sin() + 0.3 * y[1] + 0.05 * random.next(),
            (y[0] * y[1]).cos() - 0.5 + 0.2 * random.next(),
        ];
        (y, z)
    };
    (0..count).map(|_| pair(&mut random)).unzip()
}

/// A Gaussian process by the text-book (Rasmussen and Williams, algorithm 2.1): Cholesky of K + σ²/σ_f² 1, written out.
struct TextBook {
    inputs: Vec<Vec<f64>>,
    lengths: Vec<f64>,
    factor: Vec<Vec<f64>>,
    weights: Vec<f64>,
    signal: f64,
    noise: f64,
}

impl TextBook {
    fn kernel(&self, a: &[f64], b: &[f64]) -> f64 {
        let square: f64 = a.iter().zip(b).zip(&self.lengths).map(|((a, b), l)| ((a - b) / l).powi(2)).sum();
        self.signal * (-0.5 * square).exp()
    }

    fn new(inputs: &[Vec<f64>], z: &[f64], lengths: &[f64], signal: f64, noise: f64) -> Self {
        let mut book = Self {
            inputs: inputs.to_vec(),
            lengths: lengths.to_vec(),
            factor: Vec::new(),
            weights: Vec::new(),
            signal,
            noise,
        };
        for (i, a) in inputs.iter().enumerate() {
            let mut row = vec![0.0; i + 1];
            for j in 0..=i {
                let mut sum = book.kernel(a, &inputs[j]) + if i == j { noise } else { 0.0 };
                let other = if i == j { row.clone() } else { book.factor[j].clone() };
                sum -= (0..j).map(|k| row[k] * other[k]).sum::<f64>();
                row[j] = if i == j { sum.sqrt() } else { sum / book.factor[j][j] };
            }
            book.factor.push(row);
        }
        let mut weights = book.forward(z);
        for i in (0..weights.len()).rev() {
            weights[i] /= book.factor[i][i];
            let here = weights[i];
            (0..i).for_each(|j| weights[j] -= here * book.factor[i][j]);
        }
        book.weights = weights;
        book
    }

    fn forward(&self, z: &[f64]) -> Vec<f64> {
        let mut y: Vec<f64> = Vec::with_capacity(z.len());
        for (i, z) in z.iter().enumerate() {
            let sum: f64 = (0..i).map(|k| self.factor[i][k] * y[k]).sum();
            y.push((z - sum) / self.factor[i][i]);
        }
        y
    }

    fn predict(&self, y: &[f64]) -> (f64, f64) {
        let k: Vec<f64> = self.inputs.iter().map(|x| self.kernel(x, y)).collect();
        let v = self.forward(&k);
        let mean = k.iter().zip(&self.weights).map(|(k, w)| k * w).sum();
        (mean, self.signal - v.iter().map(|v| v * v).sum::<f64>() + self.noise)
    }

    fn likelihood(&self, z: &[f64]) -> f64 {
        let logs: f64 = self.factor.iter().enumerate().map(|(i, row)| row[i].ln()).sum();
        let fit: f64 = z.iter().zip(&self.weights).map(|(z, w)| z * w).sum();
        -0.5 * fit - logs - 0.5 * z.len() as f64 * std::f64::consts::TAU.ln()
    }
}

fn tuning() -> Tuning {
    Tuning { lengths: vec![0.9, 1.3, 6.0], signal: vec![1.1, 0.8], noise: vec![0.01, 0.05] }
}

fn book(inputs: &[Vec<f64>], outputs: &[Vec<f64>], tuning: &Tuning, k: usize) -> TextBook {
    let z: Vec<f64> = outputs.iter().map(|z| z[k]).collect();
    TextBook::new(inputs, &z, &tuning.lengths, tuning.signal[k], tuning.noise[k])
}

#[test]
fn with_every_sample_inducing_it_is_the_text_book_process() {
    let (inputs, outputs) = samples(120, 5);
    let tuning = tuning();
    let process = Process::with(Samples { inputs: &inputs, outputs: &outputs }, &tuning, 120).unwrap();
    assert!(process.center_count() > 100);
    let z = Mat::from_fn(120, 2, |i, k| outputs[i][k]);
    let all: Vec<usize> = (0..120).collect();
    let (value, _) = bound(&tuning, &inputs, z.as_ref(), &all).unwrap();
    let books = [0, 1].map(|k| book(&inputs, &outputs, &tuning, k));
    let exact: f64 =
        (0..2).map(|k| books[k].likelihood(&outputs.iter().map(|z| z[k]).collect::<Vec<_>>())).sum();
    // the jitter on the diagonal is 1e-6 of the signal, against a noise of 1e-2: 120 samples × 1e-6/1e-2 at most
    assert!((value + exact).abs() < 0.02, "{value} {exact}");
    for y in samples(30, 6).0 {
        let ours = process.predict(&y, false);
        for k in 0..2 {
            let (mean, variance) = books[k].predict(&y);
            assert!((ours.mean[k] - mean).abs() < 1e-3, "{} {mean}", ours.mean[k]);
            assert!(
                (ours.variance[k] - variance).abs() < 2e-3 * variance.max(0.05),
                "{} {variance}",
                ours.variance[k]
            );
        }
    }
}

#[test]
fn slopes_of_the_bound_agree_with_differences() {
    let (inputs, outputs) = samples(60, 8);
    let z = Mat::from_fn(60, 2, |i, k| outputs[i][k]);
    let chosen: Vec<usize> = (0..60).step_by(4).collect();
    let logs = tuning().logs();
    let at = |logs: &[f64]| bound(&Tuning::from_logs(logs, 3, 2), &inputs, z.as_ref(), &chosen).unwrap();
    let (_, slopes) = at(&logs);
    for k in 0..logs.len() {
        let ends = [1e-5, -1e-5].map(|h| {
            let mut moved = logs.clone();
            moved[k] += h;
            at(&moved).0
        });
        let difference = (ends[0] - ends[1]) / 2e-5;
        assert!(
            (difference - slopes[k]).abs() < 1e-4 * difference.abs().max(1.0),
            "{k}: {difference} {}",
            slopes[k]
        );
    }
}

#[test]
fn slopes_of_predictions_agree_with_differences() {
    let (inputs, outputs) = samples(90, 9);
    let process = Process::with(Samples { inputs: &inputs, outputs: &outputs }, &tuning(), 40).unwrap();
    for y in samples(5, 10).0 {
        let here = process.predict(&y, true);
        for d in 0..3 {
            let [plus, minus] = [1e-5, -1e-5].map(|h| {
                let mut moved = y.clone();
                moved[d] += h;
                process.predict(&moved, false)
            });
            for k in 0..2 {
                let mean = (plus.mean[k] - minus.mean[k]) / 2e-5;
                let variance = (plus.variance[k] - minus.variance[k]) / 2e-5;
                assert!((mean - here.mean_slope[3 * k + d]).abs() < 1e-6, "{mean}");
                assert!((variance - here.variance_slope[3 * k + d]).abs() < 1e-6, "{variance}");
            }
        }
    }
}

/// Learns lengths and noise; an input of no influence gets a long length; few inducing samples err little more than all.
#[test]
fn what_matters_is_learnt_and_a_fifth_of_the_samples_is_enough() {
    let (inputs, outputs) = samples(500, 11);
    let effort = Effort { inducing: 100, tuning: 500, tuning_inducing: 60, iterations: 40 };
    let process = Process::learn(Samples { inputs: &inputs, outputs: &outputs }, &effort).unwrap();
    assert!(process.lengths[2] > 3.0 * process.lengths[0], "{:?}", process.lengths);
    // uniform noise of ±0.05 and ±0.2 has variances of 0.05²/3 and 0.2²/3
    for (noise, truth) in process.noise.iter().zip([0.05_f64, 0.2]) {
        let truth = (truth * truth / 3.0).max(LEAST_NOISE);
        assert!((0.6..1.8).contains(&(noise / truth)), "{noise} {truth}");
    }
    let tuning = Tuning {
        lengths: process.lengths.clone(),
        signal: process.signal.clone(),
        noise: process.noise.clone(),
    };
    let (unseen, truth) = samples(200, 12);
    for k in 0..2 {
        let exact = book(&inputs, &outputs, &tuning, k);
        let (mut ours, mut book) = (0.0, 0.0);
        for (y, z) in unseen.iter().zip(&truth) {
            ours += (process.predict(y, false).mean[k] - z[k]).powi(2);
            book += (exact.predict(y).0 - z[k]).powi(2);
        }
        assert!(ours.sqrt() < 1.05 * book.sqrt(), "output {k}: {} {}", ours.sqrt(), book.sqrt());
    }
}
