//! What several layers use: the driver, contact, selectors, materials, stepping.

pub(crate) mod contact;
pub(crate) mod driver;
pub(crate) mod idle;
mod material;
pub(crate) mod middles;
pub(crate) mod points;
mod scenery;
pub(crate) mod selectors;
pub(crate) mod sewing;
pub(crate) mod start;
pub(crate) mod stepping;
pub(crate) mod watch;

pub use contact::{Collider, Contact, Faces, Form, Obstacle};
pub use material::{FabricDials, MaterialDials, SheetDials};
pub use sewing::{Elastic, Pins, Seam};
pub use start::Start;
