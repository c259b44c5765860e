//! Wedges: one shot, many values. What a studio does at night to choose in the morning.
//!
//! A [`Plan`] is a folder: `plan.json` and a shot file for every try, all of them checked before anything runs. What the tries have in common,
//! the layers below the first that varies, is baked once and shared. Who runs the tries is somebody else's business: this process, one
//! after the other, an array of Slurm, a cluster of Dask. Each of them only counts: try `n` is baked by [`Plan::bake_try`], and a try that is killed,
//! preempted or moved to another host goes on from its last frame, because bakes do. There is no queue and no daemon here.
//!
//! ```
//! use wedge::{Choice, Plan, Vary};
//!
//! let registry = layers::registry().with_film::<film::FilmLook>().with_sample("curtain", samples::curtain);
//! let reader = shot::Reader::new(registry);
//! let text = "input = { sample = 'curtain', frames = '0-2' }
//! layer = [{ kind = 'smooth', window = 0.2 }]
//! output = { files = ['c.webp'], film = { width = 64, height = 48 } }";
//!
//! let out = tempfile::tempdir().unwrap();
//! let windows: Vary = "layer.smooth.window=0.1..0.3:3".parse()?;
//! let plan = Plan::new(&reader, "c.toml", text, "".as_ref(), &[windows], Choice::Product)?;
//! assert_eq!(plan.tries.len(), 3);
//!
//! plan.save(out.path())?;
//! for index in 0..plan.tries.len() {
//!     let state = plan.bake_try(&reader, out.path(), index, None, &shot::Context::SILENT)?;
//!     assert_eq!(state.name(), "done");
//! }
//! let page = wedge::write_page(&plan, out.path())?;
//! assert!(std::fs::read_to_string(page).unwrap().contains("0.3"));
//! # Ok::<(), wedge::Error>(())
//! ```

mod error;
mod page;
mod plan;
mod run;
mod settings;
mod slurm;
mod state;
mod values;

pub use error::Error;
pub use page::{summary, write as write_page};
pub use plan::{Choice, PLAN, Plan, Try};
pub use slurm::{Jobs, Slurm};
pub use state::{Figure, State};
pub use values::{Values, Vary};
