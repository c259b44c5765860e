//! Alembic (`.abc`), in its Ogawa container.
//!
//! Written: a transform and a PolyMesh under it for each mesh; points, bounds, texture coordinates, groups, the rest shape
//! as `Pref`, velocities when asked for; uniform sampling from the start frame on; equal samples stored once.
//!
//! Read: PolyMesh and SubD of fixed topology under stacks of transforms, any sampling. The older container, HDF5, gets a
//! sentence.

mod digest;
mod frames;
mod header;
mod ogawa;
mod read;
mod write;

pub(super) use read::read;
pub(super) use write::write;

/// Numbers of Alembic's plain types.
mod pod {
    pub(super) const BOOL: u8 = 0;
    pub(super) const UINT8: u8 = 1;
    pub(super) const UINT32: u8 = 5;
    pub(super) const INT32: u8 = 6;
    pub(super) const FLOAT32: u8 = 10;
    pub(super) const FLOAT64: u8 = 11;
}
