//! The engine: unknown points, masses, energies, constraints, and the methods that step them in time.

mod block;
mod check;
mod element;

pub use block::Block;
pub use check::{check_derivatives, check_element, random_rotation};
pub use element::{Element, ForceElement};
