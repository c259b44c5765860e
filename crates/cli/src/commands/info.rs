//! `info`: what a file holds, and what is wrong with it.

pub(crate) mod flesh;
mod operator;
mod tets;

use std::path::{Path, PathBuf};

use clap::Args;
use clip::{Animation, Clip, Diagnostic, Frame, Mesh, Severity};
use layers::PhysicsSummary;
use serde_json::{Value, json};

use crate::console::Console;
use crate::error::CliError;
use crate::interrupt;
use crate::source::{self, Reading};

/// Tell what a file holds: meshes, joints, clips, frames, groups, and problems found
#[derive(Args)]
pub(crate) struct Arguments {
    /// The file (.glb, .gltf, .obj, .pc2, .mdd, .bvh, .usd, .abc, .stl, .ply, .off; of tets .veg, .msh, .node, .ele, .mesh; operators .ftop, packed
    /// .flesh), a
    /// numbered sequence as in flag.####.obj, sample:NAME, or a shot file: what is baked of it so far
    file: PathBuf,
    /// What physics says of the figure: contacts, skating, force that nothing gives, friction needed
    #[arg(long)]
    physics: bool,
    #[command(flatten)]
    reading: Reading,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        if source::has_tets(&self.file) {
            let info = tets::TetInfo::read(&self.file, &self.reading.options())?;
            return if self.json { console.answer_json(&info.json()) } else { console.answer(info.text()) };
        }
        if flesh::is_one(&self.file) {
            let info = flesh::FleshInfo::read(&self.file)?;
            return if self.json { console.answer_json(&info.json()) } else { console.answer(info.text()) };
        }
        if operator::is_one(&self.file) {
            let info = operator::OperatorInfo::read(&self.file)?;
            return if self.json { console.answer_json(&info.json()) } else { console.answer(info.text()) };
        }
        let clip = self.reading.open(&self.file)?;
        let (is_sample, is_shot) = (source::sample_name(&self.file).is_some(), source::is_shot(&self.file));
        let description = match is_sample || is_shot {
            true => None,
            false => Some(clip::describe(&self.file, &self.reading.options())?),
        };
        let listener = console.progress();
        let diagnostics = clip::diagnose(&source::watched(&clip, "look at frames", &listener));
        listener.clear();
        if interrupt::pressed() {
            return Err(CliError::stopped("stopped"));
        }
        let made = if is_shot { "shot" } else { "sample" };
        let format = description.as_ref().map_or(made.into(), |d| format!("{:?}", d.format).to_lowercase());
        let animations = description.map(|description| description.animations).unwrap_or_default();
        let physics = match self.physics {
            true => Some(layers::Physics::of(&clip)?.summary()),
            false => None,
        };
        let info = Info { file: &self.file, format, clip, animations, diagnostics, physics };
        if self.json { console.answer_json(&info.json()) } else { console.answer(info.text()) }
    }
}

/// Everything that is known about a file.
struct Info<'a> {
    file: &'a Path,
    format: String,
    clip: Clip,
    animations: Vec<Animation>,
    diagnostics: Vec<Diagnostic>,
    physics: Option<PhysicsSummary>,
}

impl Info<'_> {
    fn json(&self) -> Value {
        let clip = &self.clip;
        let bounds = bounds(clip);
        let meshes: Vec<Value> =
            clip.meshes.iter().zip(&bounds).map(|(mesh, bounds)| mesh_json(clip, mesh, bounds)).collect();
        let total = |count: fn(&Mesh) -> usize| clip.meshes.iter().map(count).sum::<usize>();
        let groups = clip.meshes.iter().flat_map(|mesh| {
            mesh.groups.iter().map(|group| json!({ "mesh": mesh.name, "name": group.name }))
        });
        let clips = self.animations.iter().map(
            |animation| json!({ "name": animation.name, "seconds": animation.seconds, "channels": animation.channels }),
        );
        let joints = clip.skeleton.as_ref().map(|skeleton| skeleton.joints.as_slice()).unwrap_or_default();
        let mut answer = json!({
            "ok": true,
            "file": self.file,
            "format": self.format,
            "name": clip.name,
            "frames": clip.frame_count(),
            "frame_rate_hz": clip.frame_rate_hz,
            "seconds": clip.duration(),
            "meshes": meshes,
            "points": total(Mesh::point_count),
            "vertices": total(Mesh::vertex_count),
            "triangles": total(|mesh| mesh.faces.triangles().count()),
            "joints": joints.len(),
            "joint_names": joints.iter().map(|joint| joint.name.as_str()).collect::<Vec<_>>(),
            "clips": clips.collect::<Vec<_>>(),
            "groups": groups.collect::<Vec<_>>(),
            "materials": clip.materials.iter().map(|material| material.name.as_str()).collect::<Vec<_>>(),
            "problems": self.diagnostics,
        });
        if let Some(physics) = &self.physics {
            answer["physics"] = json!(physics);
        }
        answer
    }

    fn text(&self) -> String {
        let clip = &self.clip;
        let frames = clip.frame_count();
        let mut lines = vec![format!(
            "{} ({}): {frames} {} at {} per second, {:.2} s",
            self.file.display(),
            self.format,
            if frames == 1 { "frame" } else { "frames" },
            clip.frame_rate_hz,
            clip.duration(),
        )];
        for (mesh, bounds) in clip.meshes.iter().zip(bounds(clip)) {
            let [x, y, z] = size(mesh);
            lines.push(format!(
                "mesh {}: {} points, {} vertices, {} triangles, {x:.2} × {y:.2} × {z:.2} m",
                mesh.name,
                mesh.point_count(),
                mesh.vertex_count(),
                mesh.faces.triangles().count(),
            ));
            if let Some([low, high]) = bounds {
                lines.push(format!(
                    "  first frame: from ({}) to ({}) m; {:.3} m high, from {:.3} to {:.3}",
                    place(low),
                    place(high),
                    high[1] - low[1],
                    low[1],
                    high[1]
                ));
            }
            lines.push(format!("  hangs on: {}", hangs_on(clip, mesh)));
            if !mesh.groups.is_empty() {
                let names: Vec<&str> = mesh.groups.iter().map(|group| group.name.as_str()).collect();
                lines.push(format!("  groups: {}", names.join(", ")));
            }
            if !mesh.morph_targets.is_empty() {
                lines.push(format!("  morph targets: {}", target_names(mesh).join(", ")));
            }
        }
        if let Some(skeleton) = &clip.skeleton {
            let roots = skeleton.joints.iter().filter(|joint| joint.parent.is_none());
            let roots: Vec<&str> = roots.map(|joint| joint.name.as_str()).collect();
            let pose = clip.frame(0).map(|frame| frame.pose).unwrap_or_default();
            let reach =
                clip.extent(&Frame { points: Vec::new(), pose }).map_or_else(String::new, |[low, high]| {
                    format!(
                        ", {:.3} m high in the first frame, from {:.3} to {:.3}",
                        high[1] - low[1],
                        low[1],
                        high[1]
                    )
                });
            lines.push(format!(
                "skeleton: {} joints under {}{reach}",
                skeleton.joints.len(),
                roots.join(", ")
            ));
        }
        lines.extend(self.animations.iter().map(|a| format!("clip {}: {:.2} s", a.name, a.seconds)));
        lines.extend(self.physics.iter().flat_map(physics_lines));
        lines.extend(self.diagnostics.iter().map(|problem| match problem.severity {
            Severity::Error => format!("error: {problem}"),
            Severity::Warning => format!("warning: {problem}"),
        }));
        lines.extend(clip.unlikely_size().map(|words| format!("note: {words}")));
        if self.diagnostics.is_empty() {
            lines.push("no problems found".into());
        }
        lines.join("\n")
    }
}

fn physics_lines(physics: &PhysicsSummary) -> Vec<String> {
    let mut lines = vec![
        format!(
            "figure: {:.1} kg, on level ground at {:.3} m; {} contacts of soles",
            physics.mass_kg,
            physics.ground_m,
            physics.contacts.len()
        ),
        format!(
            "feet: skate by up to {:.1} mm while they stand, sink in by up to {:.1} mm (frame {})",
            physics.skate_mm, physics.penetration_mm, physics.penetration_frame
        ),
        format!(
            "force that nothing gives: {:.3} body weights at most (frame {}), {:.3} root mean square",
            physics.root_residual_bw, physics.root_residual_frame, physics.root_residual_rms_bw
        ),
        format!("friction needed: {:.2} (frame {})", physics.friction_needed, physics.friction_frame),
    ];
    lines.extend(physics.held.iter().map(|held| {
        format!(
            "held: joint {} moves against its parent by up to {:.0} mm (frame {}); physics sees it at its mean",
            held.joint, held.farthest_mm, held.frame
        )
    }));
    lines
}

/// Where each mesh is in the first frame: its corners with the smallest and the largest coordinates; nothing of a mesh without points.
fn bounds(clip: &Clip) -> Vec<Option<[[f32; 3]; 2]>> {
    let frame = clip.frame(0).unwrap_or_default();
    let of = |mesh: usize| {
        let points = frame.points.get(mesh).into_iter().flatten().filter(|p| p.iter().all(|c| c.is_finite()));
        points.fold(None, |known, p| {
            let [low, high] = known.unwrap_or([*p, *p]);
            Some([[0, 1, 2].map(|k| p[k].min(low[k])), [0, 1, 2].map(|k| p[k].max(high[k]))])
        })
    };
    (0..clip.meshes.len()).map(of).collect()
}

fn place(p: [f32; 3]) -> String {
    p.map(|coordinate| format!("{coordinate:.3}")).join(", ")
}

/// What carries a mesh, in words: the joints of its skin, the joint that it hangs on, nothing.
fn hangs_on(clip: &Clip, mesh: &Mesh) -> String {
    let name = |joint: usize| {
        let joint = clip.skeleton.as_ref().and_then(|skeleton| skeleton.joints.get(joint));
        joint.map_or_else(String::new, |joint| joint.name.clone())
    };
    match (&mesh.skin, mesh.parent) {
        (Some(skin), _) => {
            let first: Vec<String> = skin.binds.iter().take(JOINTS_SHOWN).map(|bind| name(bind.0)).collect();
            let more = skin.binds.len().saturating_sub(JOINTS_SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("a skin of {} joints ({}{more})", skin.binds.len(), first.join(", "))
        }
        (None, Some(joint)) => format!("joint {}", name(joint)),
        (None, None) => "nothing".into(),
    }
}

/// How many joints of a skin are named.
const JOINTS_SHOWN: usize = 6;

fn mesh_json(clip: &Clip, mesh: &Mesh, bounds: &Option<[[f32; 3]; 2]>) -> Value {
    let groups: Vec<Value> = mesh
        .groups
        .iter()
        .map(|group| {
            let points = group.weights.iter().filter(|&&weight| weight != 0.0).count();
            json!({ "name": group.name, "points": points })
        })
        .collect();
    json!({
        "name": mesh.name,
        "points": mesh.point_count(),
        "vertices": mesh.vertex_count(),
        "faces": mesh.faces.len(),
        "triangles": mesh.faces.triangles().count(),
        "parts": mesh.parts.len(),
        "uvs": !mesh.uvs.is_empty(),
        "skin_joints": mesh.skin.as_ref().map_or(0, |skin| skin.binds.len()),
        "groups": groups,
        "morph_targets": target_names(mesh),
        "size_m": size(mesh),
        "bounds_m": bounds,
        "height_m": bounds.map(|[low, high]| high[1] - low[1]),
        "parent_joint": mesh.parent.and_then(|joint| Some(clip.skeleton.as_ref()?.joints.get(joint)?.name.as_str())),
    })
}

fn target_names(mesh: &Mesh) -> Vec<&str> {
    mesh.morph_targets.iter().map(|target| target.name.as_str()).collect()
}

/// Extent at rest along x, y and z, in metres.
fn size(mesh: &Mesh) -> [f32; 3] {
    [0, 1, 2].map(|axis| {
        let coordinates = || mesh.rest_points.iter().map(|p| p[axis]);
        let extent =
            coordinates().fold(f32::NEG_INFINITY, f32::max) - coordinates().fold(f32::INFINITY, f32::min);
        if extent.is_finite() { extent } else { 0.0 }
    })
}
