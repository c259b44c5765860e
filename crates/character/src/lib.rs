//! Living flesh around the bones of an animated character, in a bake and in real time.
//!
//! A skin and its joints are all it needs: bones, a lattice with bones along its edges, and the regions around them are made of these
//! (Capell 2002, "Interactive skeleton-driven dynamic deformations"). No files, no clocks.
//!
//! ```
//! use character::{Flesh, Joint, Kit, Method, Player, Settings, Skin};
//! use geometry::{TetMesh, Vec3};
//! use glam::{DAffine3, Mat4};
//!
//! // a bar along x that hangs on one bone at its end
//! let bar = TetMesh::box_grid([8, 2, 2], Vec3::new(0.4, 0.1, 0.1))?;
//! let (points, triangles) = (bar.points().to_vec(), bar.boundary_faces());
//! let influences = vec![vec![(0, 1.0)]; points.len()];
//! let joints = [Joint { parent: None, rest_from_joint: DAffine3::from_translation(Vec3::new(0.02, 0.05, 0.05)) }];
//! let flesh = Flesh::new(&joints, Skin { points, triangles, influences }, Settings::default())?;
//!
//! let kit = Kit::new(&flesh, Method::BlendedLinear, 1.0 / 240.0)?;
//! let mut player = Player::read(&kit.to_bytes())?;
//! let pose = |x: f32| [Mat4::from_translation(glam::Vec3::new(x, 0.05, 0.05))];
//! player.step(&pose(0.02), 0.0)?;
//! player.step(&pose(0.12), 1.0 / 60.0)?;
//! let mut surface = vec![[0.0; 3]; player.kit().point_count()];
//! player.surface(&mut surface);
//! # Ok::<(), character::Error>(())
//! ```

mod active;
mod adaptation;
mod bones;
mod bytes;
mod corotated;
mod error;
mod flesh;
mod frames;
mod kit;
mod limits;
mod morph;
mod nonlinear;
mod player;
mod region;
mod regions;
mod ride;
mod smooth_skin;
mod stretches;
mod swing;
mod unfold;
mod webs;

pub use adaptation::Adaptation;
pub use bones::{Bone, End, Joint, Skin};
pub use error::Error;
pub use flesh::{Flesh, Report, Settings};
pub use kit::{Kit, Method};
pub use morph::{
    FullMorph, Kernel, Limit, Morph, MorphKit, MorphLaw, MorphNames, MorphPlayer, MorphReport, MorphSettings,
    Plasticity, PoseSpace, PoseWeights, Press, Target,
};
pub use nonlinear::Nonlinear;
pub use player::Player;
pub use smooth_skin::SmoothSkin;
pub use stretches::{Stretch, dual_quaternions};
