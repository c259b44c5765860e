//! Learning to show fine cloth over coarse: pairs of frames in, an operator for [`live`] out.
//!
//! p_f = S p_c + D p_c. S is a smooth subdivision, D is fitted to frames of a coarse simulation and a fine one that tracks it,
//! in the harmonics of the fine mesh, where a penalty on high ones keeps what generalises. *upsample* 2011. Beyond it: the
//! penalty is on D and not on the whole, its strength is chosen by leaving out stretches of the training motion, and D is
//! stored as a product of two thin matrices.
//!
//! ```
//! use geometry::{Scheme, Vec3, subdivide_times};
//! use upsample::{Harmonics, Learning, Pairs, learn, smooth_subdivision};
//!
//! // a square of four triangles, cut finer; folds that grow with the bend of the coarse square
//! let coarse = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]].map(|[x, y]| Vec3::new(x, y, 0.0));
//! let triangles = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]];
//! let cut = subdivide_times(5, &triangles, Scheme::Linear, 3);
//! let fine = cut.prolongation.vectors(&coarse);
//! let subdivision = smooth_subdivision(&coarse, &triangles, &fine)?;
//! let mut pairs = Pairs::default();
//! for frame in 0..40 {
//!     let lift = (0.4 * f64::from(frame)).sin();
//!     let mut bent = coarse;
//!     bent[4].z = 0.2 * lift;
//!     bent[0].z = 0.1 * (0.9 * f64::from(frame)).cos();
//!     let folds = |p: &Vec3| 0.05 * lift * (9.0 * p.x).sin();
//!     let smooth = subdivision.vectors(&bent);
//!     let wrinkled = smooth.iter().zip(&fine).map(|(s, p)| *s + folds(p) * Vec3::Z).collect();
//!     pairs.push(&bent, wrinkled);
//! }
//! let harmonics = Harmonics::new(&fine, &cut.triangles, 60)?;
//! let learnt = learn(&pairs, &subdivision, &harmonics, None, &Learning::default())?;
//! assert!(learnt.report.training_rms < 0.2 * learnt.report.smooth_rms);
//! # Ok::<(), upsample::Error>(())
//! ```

mod compress;
mod error;
mod evaluate;
mod harmonics;
mod learn;
mod lone;
mod moments;
mod penalty;
mod regression;
mod split;
mod subdivision;
mod track;
mod waves;

pub use compress::{LowRank, compress};
pub use error::Error;
pub use evaluate::{Comparison, Shown, band_energy, compare, compare_all, normal_error_deg, rms_distance};
pub use harmonics::{Basis, Harmonics};
pub use learn::{Aligned, HeldOut, Learning, Learnt, Report, learn};
pub use lone::one_norm;
pub use moments::{Base, Moments, Pairs};
pub use penalty::Penalty;
pub use regression::Regression;
pub use subdivision::{barycentric, bicubic_subdivision, smooth_subdivision, weights};
pub use track::{Motion, Tracker, Tracking, simulate_coarse, track};
pub use waves::{Wave, travelling_waves};
