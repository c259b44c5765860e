//! What several layers use: selectors, materials, stepping, threads, contact.

mod contact;
mod material;
pub(crate) mod points;
pub(crate) mod selectors;
pub(crate) mod stepping;
pub(crate) mod threads;

pub use contact::{Collider, Contact, Faces, Form, Obstacle};
pub use material::MaterialDials;
