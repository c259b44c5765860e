//! One file per command: its arguments, and what it asks of the libraries.

pub(crate) mod bake;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod info;
pub(crate) mod lattice;
pub(crate) mod new;
pub(crate) mod pack;
pub(crate) mod render;
pub(crate) mod shell;
pub(crate) mod tetmesh;
pub(crate) mod train;
pub(crate) mod wedge;
