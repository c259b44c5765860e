//! The layers that come with followthrough: physics that a shot file puts on an animation.
//!
//! Each kind is a file or a folder: its settings as a shot file writes them, and a simulation that makes frames of them; the physics is in
//! `shell`, `solid`, `character`, `motion` and `fluid`. What several use is in `shared/`. [`registry`] knows all of them.
//!
//! ```
//! use shot::{BakeOptions, Context, Reader};
//!
//! let reader = Reader::new(layers::registry().with_sample("flag", samples::flag));
//! let text = "input = { sample = 'flag', frames = '0-2' }\nlayer = [{ kind = 'smooth', window = 0.05 }]";
//! let shot = reader.parse("flag.toml", text, "".as_ref())?;
//!
//! let folder = tempfile::tempdir().unwrap();
//! let options = BakeOptions { out: Some(folder.path().into()), ..Default::default() };
//! let bake = shot.bake(&options, &Context::SILENT)?;
//! assert_eq!(bake.layers[0].baked, 3);
//! # Ok::<(), shot::Error>(())
//! ```

mod blend;
mod cloth;
mod enrich;
mod figure;
mod inextensible;
mod morph;
mod motion;
mod shared;
mod skeleton;
mod smoke;
mod smooth;
mod tracks;
mod upsample;

use contact::{AuditedSurface, audit};
use shot::{Characters, GroupMember, LayerError, Registry, Simulation};

use shared::driver::{Driver, Member};

pub use self::motion::{
    Band, Belt, Dragging, FootForce, Footing, Footsteps, HeldJoint, MeshFooting, Motion, MotionMethod,
    Physics, PhysicsSummary, Physique, Pushing, RestingPoint, Slope, Tracing, Worn, retargeted, take,
};
pub use blend::Blend;
pub use cloth::Cloth;
pub use enrich::Enrich;
pub use figure::with_capsules;
pub use inextensible::{Inextensible, ThreadMethod};
pub use morph::{Interpolation, Morph, MorphForces, MorphTarget, TargetRegion};
pub use shared::stepping::Method;
pub use shared::{
    Collider, Contact, Elastic, FabricDials, Faces, Form, MaterialDials, Obstacle, Pins, Seam, SheetDials,
    Start,
};
pub use skeleton::{
    Adapting, Anatomy, JointCells, JointRay, PaintedRegion, Part as FleshPart, Pin as FleshPin, Skeleton,
    Solution, SwingLimit, sketch_of_lattice,
};
pub use smoke::{
    Bar, Channel, Disc, Ends, Image, Noise, PathKey, Repeat, Scalar, Silhouette, Smoke, SmokeSource, Stroke,
    Text, Window,
};
pub use smooth::Smooth;
pub use tracks::{Loosen, Pressed, TestFunctionKind, TestRegion, Tests, Then, Tracks};
pub use upsample::{
    CoarseSource, Joints, LiveWind, OperatorMesh, RiggedCapsule, Upsample, fine_in_place_of, place_capsules,
};

/// All layers, and the judge of whether what they give back crosses itself.
pub fn registry() -> Registry {
    Registry::empty()
        .with::<Blend>()
        .with::<Cloth>()
        .with::<Enrich>()
        .with::<Inextensible>()
        .with::<Morph>()
        .with::<Motion>()
        .with::<Skeleton>()
        .with::<Smooth>()
        .with::<Tracks>()
        .with::<Smoke>()
        .with::<Upsample>()
        .with_crossings(crossings)
        .with_groups(together)
        .with_characters(Characters { embody: with_capsules, retarget: retargeted })
}

/// One simulation of what several layers, or several meshes of one, bring along.
fn together(members: Vec<GroupMember>) -> Result<Box<dyn Simulation>, LayerError> {
    let of_layer = |member: GroupMember| {
        let layer = member.layer();
        Some(Member { layer, ..member.take()? })
    };
    let members: Option<Vec<Member>> = members.into_iter().map(of_layer).collect();
    let members = members.ok_or_else(|| LayerError::new("these layers cannot be simulated together"))?;
    Ok(Box::new(Driver::new(members)?))
}

/// How many pairs of a surface's triangles cross; nothing where a point is not a finite number.
fn crossings(points: &[[f32; 3]], triangles: &[[u32; 3]]) -> Option<usize> {
    let surface = AuditedSurface { name: "", points, triangles, is_obstacle: false };
    audit(&[surface]).ok().map(|crossings| crossings.len())
}
