//! Procedural guides and characters, authored in code: what demos, tests, benchmarks and the book share.
//!
//! They are *input* animations: the primary performance, with parts that profit from what physics adds later. All of
//! them are deterministic and in SI units, Y up.
//!
//! ```
//! let sample = samples::by_name("flag").expect("it is in the list");
//! let clip = (sample.make)();
//! assert_eq!(clip.meshes[0].name, "flag");
//!
//! // the same with other settings
//! let coarse = samples::Flag { columns: 15, rows: 10, ..Default::default() }.clip();
//! assert_eq!(coarse.meshes[0].point_count(), 16 * 11);
//! assert!(coarse.meshes[0].group("hoist").is_some());
//! ```

mod curtain;
mod flag;
#[allow(dead_code)] // characters use the rest of it
mod motion;
#[allow(dead_code)]
mod paint;
mod sample;
pub mod shapes;
mod sheet;

#[cfg(test)]
#[allow(dead_code)]
mod check;

pub use curtain::{Curtain, curtain};
pub use flag::{Flag, flag};
pub use sample::{Sample, all, by_name};
pub use sheet::{Sheet, sheet};
