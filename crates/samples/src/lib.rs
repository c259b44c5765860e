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

mod arm;
mod backflip;
mod bag;
mod biped;
mod branch;
mod cape;
mod course;
mod cow;
mod creature;
mod curtain;
mod diver;
mod drape;
mod dress;
mod figure;
mod flag;
mod hangings;
mod head;
mod kangaroo;
mod limbs;
mod motion;
mod paint;
mod performance;
mod person;
mod plant;
mod pudding;
mod puppet;
mod quadruped;
mod rig;
mod robe;
mod sample;
pub mod shapes;
mod sheet;
mod styles;
pub mod surface;
mod swing;
mod twisting_box;
mod walker;

#[cfg(test)]
mod check;

pub use arm::{arm, shoulder};
pub use backflip::backflip;
pub use bag::{Bag, bag, bag_fine};
pub use biped::{Biped, biped, biped_cape};
pub use branch::{Branch, branch};
pub use course::Course;
pub use cow::{Cow, cow, cow_head};
pub use curtain::{Curtain, curtain};
pub use diver::diver;
pub use drape::{Drape, drape};
pub use dress::{dress, person_walk};
pub use figure::{Figure, Garment, figure_costume};
pub use flag::{Flag, flag};
pub use hangings::{Banner, Portiere, Visitor};
pub use head::head;
pub use kangaroo::{Kangaroo, kangaroo};
pub use limbs::{Elbow, Tail, elbow, tail};
pub use performance::Performance;
pub use plant::{Plant, plant};
pub use pudding::{cherry, pudding};
pub use puppet::{Puppet, puppet};
pub use quadruped::{Quadruped, quadruped, quadruped_ball};
pub use robe::{Robe, robe};
pub use sample::{Sample, all, by_name};
pub use sheet::{Sheet, sheet};
pub use styles::{Style, hurdle};
pub use swing::{Preview, drawn, preview};
pub use twisting_box::{TwistingBox, box_fine, box_guide};
pub use walker::{Walker, hill, walker};
