//! What an artist means by an animation: meshes, a skeleton, frames; and the files that hold it.
//!
//! A [`Clip`] is read from a file, goes through layers, and is written to a file. Its static part (topology, rest
//! shape, uv, groups, materials) is in memory; its frames come one at a time from a [`Frames`] source, so that long
//! clips never have to be held whole.
//!
//! ```
//! use clip::{Clip, Mesh, ReadOptions, Selector, WriteOptions};
//!
//! let mut flag = Mesh::new("flag", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]);
//! flag.set_group("hoist", vec![1.0, 0.0, 1.0]);
//! let still = Clip::still(flag, 24.0, 10);
//!
//! # let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("flag.glb");
//! clip::write(&path, &still, &WriteOptions::default())?;
//! let back = clip::read(&path, &ReadOptions::default())?;
//! assert_eq!(back.frame_count(), 10);
//! assert_eq!(back.frame(9)?.points[0][1], [1.0, 0.0, 0.0]);
//! assert_eq!(Selector::Group("hoist".into()).weights(&back, 0, folder.path())?, [1.0, 0.0, 1.0]);
//! assert!(clip::diagnose(&back).is_empty());
//! # Ok::<(), clip::Error>(())
//! ```

mod clip;
mod compare;
mod diagnostic;
mod error;
mod extent;
mod faces;
mod files;
mod format;
mod frames;
mod grid;
mod lead_in;
mod material;
mod mesh;
mod recording;
mod refine;
mod resample;
mod scene;
mod select;
mod skeleton;
mod skinning;
mod tets;

pub use clip::Clip;
pub use compare::{
    FrameDistance, FrameStrain, StrainMeter, distances, frame_distance, point_distances, strains,
    topology_differences,
};
pub use diagnostic::{Diagnostic, Severity, diagnose};
pub use error::Error;
pub use faces::Faces;
pub use files::{FileHash, FilePath, Files, SourceFile, named_files};
pub use format::{
    Animation, BvhChannel, BvhLayout, DEFAULT_FRAME_RATE_HZ, Description, Format, GltfSource, JointsDelivery,
    Numbered, Plate, ReadOptions, SkinDelivery, Table, UsdLayout, UsdPrim, WriteOptions, Written, describe,
    read, source_files, write, write_clips, write_whole,
};
pub use frames::{Frame, Frames, MemoryFrames, first_not_finite};
pub use grid::Grid;
pub use lead_in::LeadIn;
pub use material::{Image, Material};
pub use mesh::{Group, Mesh, MorphTarget, Part};
pub use recording::Recording;
pub use scene::Placement;
pub use select::{
    Adjusted, Adjustment, BoxRegion, HeightRegion, JointRegion, LevelsRegion, Names, Selector, SphereRegion,
};
pub use skeleton::{Joint, Skeleton, Skin, Transform};
pub use tets::{
    LATTICE_ENDINGS, TET_ENDINGS, TetGroup, TetMaterial, Tets, cut_away, read_lattice, read_tets,
    write_lattice, write_tets,
};

/// The result of anything that reads, checks or writes clips.
pub type Result<T> = std::result::Result<T, Error>;
