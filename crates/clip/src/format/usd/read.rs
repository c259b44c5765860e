//! From a layer to a clip: which prims are shown, how many frames there are.

use std::path::Path;
use std::sync::Arc;

use glam::{DMat3, DMat4, DVec3, DVec4, Mat4};

use super::binding::Binding;
use super::blend::{BlendShape, OWN_TARGETS, own_targets};
use super::frames::{Body, UsdFrames};
use super::layer::Specifier;
use super::look::Looks;
use super::over::{UsdLayout, UsdPrim};
use super::placement::Placement;
use super::rig::Rig;
use super::shape::read_mesh;
use super::stage::{Prim, Stage};
use super::zip::Stored;
use super::{crate_read, crate_write, text_read, zip};
use crate::format::moments::transform_points;
use crate::format::{DEFAULT_FRAME_RATE_HZ, ReadOptions, Source, UniqueNames, malformed, name_of};
use crate::{Clip, Files, Image, Mesh, MorphTarget, Result, Skeleton, Skin, first_not_finite};

/// More frames than anyone means: eleven hours at 24 per second.
const MOST_FRAMES: f64 = 1e6;

/// Reads a clip.
pub(in crate::format) fn read(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let (stage, pictures) = open(Source::open(path, &options.files)?, &options.files)?;
    stage.check_flat()?;
    let number =
        |name: &str| stage.metadata.get(name).and_then(|value| value.number()).filter(|x| x.is_finite());
    // what USD takes for granted of a layer that does not say: centimetres
    let unit = options.unit_in_metres.or(number("metersPerUnit")).filter(|unit| *unit > 0.0).unwrap_or(0.01);
    let z_up = stage.metadata.get("upAxis").and_then(|value| value.word()) == Some("Z");
    let world_from_stage = world_from_stage(unit, z_up);

    let shown: Vec<usize> = (0..stage.prims.len()).filter(|&prim| is_shown(&stage, prim)).collect();
    let mut rigs: Vec<Rig> = Vec::new();
    for &prim in shown.iter().filter(|&&prim| stage.prims[prim].type_name == "Skeleton") {
        let first_joint = rigs.iter().map(|rig| rig.joints.len()).sum();
        rigs.push(Rig::read(&stage, prim, world_from_stage, first_joint)?);
    }
    let mut taken = UniqueNames::default();
    let mut skeleton = Skeleton::default();
    for rig in &rigs {
        skeleton.joints.extend(rig.clip_joints(&stage, unit, &mut taken)?);
    }
    let mut looks = Looks::read(&stage, &pictures)?;
    let timing = Timing::new(&stage, options, &shown)?;
    let (mut meshes, mut bodies) = (Vec::new(), Vec::new());
    let (mut names, mut prims) = (UniqueNames::default(), Vec::new());
    let mut room = Room::new(&stage);
    for &prim in shown.iter().filter(|&&prim| stage.prims[prim].type_name == "Mesh") {
        let placement = Placement::new(&stage, prim, world_from_stage)?;
        let points = rest_points(&stage, &stage.prims[prim])?;
        let binding = Binding::read(&stage, prim, points.len(), &rigs)?;
        let mut mesh = read_mesh(&stage, &stage.prims[prim], points)?;
        looks.assign(&stage, prim, &mut mesh)?;
        let rest_from_mesh =
            place_rest(&stage, &mut mesh, &placement, binding.as_ref(), &rigs, unit, timing.time(0))?;
        room.take_targets(&stage, prim, binding.as_ref(), mesh.point_count())?;
        mesh.morph_targets =
            read_targets(&stage, prim, binding.as_ref(), mesh.point_count(), &rest_from_mesh)?;
        if mesh.skin.is_none() {
            mesh.skin =
                own_skin(&stage, &stage.prims[prim], mesh.point_count(), skeleton.joints.len(), unit)?;
        }
        add_joint_groups(&mut mesh, &skeleton);
        mesh.name = names.take(&mesh.name);
        let moved = binding.as_ref().is_some_and(Binding::moves);
        let placed = if moved { None } else { placement.still() };
        let path = stage.prims[prim].path.clone();
        prims.push(UsdPrim {
            mesh: mesh.name.clone(),
            path,
            point_count: mesh.point_count(),
            world_from_mesh: placed,
        });
        bodies.push(Body {
            prim,
            name: mesh.name.clone(),
            point_count: mesh.point_count(),
            placement,
            binding,
            target_count: mesh.morph_targets.len(),
        });
        meshes.push(mesh);
    }
    let name = root_of(&stage).map_or_else(|| name_of(path), |prim| prim.title().to_string());
    let rate = timing.frame_rate_hz;
    let skeleton = (!skeleton.joints.is_empty()).then_some(skeleton);
    let layout = UsdLayout {
        prims,
        unit_in_metres: unit,
        z_up,
        first_time_code: timing.first,
        time_codes_per_frame: timing.step,
        time_codes_per_second: rate * timing.step,
    };
    let frames =
        UsdFrames { stage, bodies, rigs, unit, first: timing.first, step: timing.step, count: timing.count };
    let mut clip = Clip::new(name, rate, meshes, skeleton, Arc::new(frames));
    (clip.materials, clip.images, clip.usd) = (looks.materials, looks.images, Some(layout));
    clip.warnings = looks.warnings;
    Ok(clip)
}

/// The prim that a layer is about, if it says so.
fn root_of(stage: &Stage) -> Option<&Prim> {
    let name = stage.metadata.get("defaultPrim")?.word()?;
    stage.prims.iter().find(|prim| prim.parent.is_none() && prim.name == name)
}

/// A group for every joint that moves a mesh, unless it has one of that name.
fn add_joint_groups(mesh: &mut Mesh, skeleton: &Skeleton) {
    let groups = mesh.skin.as_ref().map_or_else(Vec::new, |skin| skin.groups(skeleton));
    for group in groups {
        if mesh.group(&group.name).is_none() {
            mesh.groups.push(group);
        }
    }
}

/// Opens a layer of any kind: by its first bytes, whatever its name says.
fn open(source: Source, files: &Files) -> Result<(Stage, Pictures)> {
    let start = source.bytes(0, source.length().min(8))?;
    if start.starts_with(b"PK") {
        let entries = zip::list(&source)?;
        let is_layer = |entry: &&Stored| {
            let name = entry.name.to_ascii_lowercase();
            [".usdc", ".usda", ".usd"].iter().any(|ending| name.ends_with(ending))
        };
        let Some(first) = entries.iter().find(is_layer) else {
            return Err(malformed(source.path(), "archive", "there is no layer in it"));
        };
        let layer = source.part(first.start, first.length);
        let pictures = Pictures::Archive { source, entries };
        return Ok((open_layer(layer)?, pictures));
    }
    let pictures = Pictures::Beside { layer: source.path().to_path_buf(), files: files.clone() };
    Ok((open_layer(source)?, pictures))
}

fn open_layer(source: Source) -> Result<Stage> {
    let start = source.bytes(0, source.length().min(8))?;
    match start.as_slice() {
        start if start.starts_with(crate_write::MAGIC) => crate_read::read(source),
        start if start.starts_with(b"#usda") => text_read::read(source),
        _ => Err(malformed(
            source.path(),
            "header",
            "this is neither a crate file nor text nor an archive of USD",
        )),
    }
}

/// Where pictures are found: beside the layer or with it in its archive, and nowhere else.
pub(super) enum Pictures {
    Beside { layer: std::path::PathBuf, files: Files },
    Archive { source: Source, entries: Vec<Stored> },
}

impl Pictures {
    /// A picture by the name that the layer gives it; `None` for kinds that we do not carry and for files that are not there. A name that
    /// leads out of the layer's folder is an error; in an archive it names nothing but an entry.
    pub(super) fn fetch(&self, name: &str) -> Result<Option<Image>> {
        let bytes = match self {
            Self::Beside { layer, files } => match files.beside(layer, "inputs:file", name)? {
                path if files.is_file(&path) => files.read(&path)?,
                _ => return Ok(None),
            },
            Self::Archive { source, entries } => {
                let name = name.trim_start_matches("./");
                match entries.iter().find(|entry| entry.name == name) {
                    Some(entry) => source.bytes(entry.start, entry.length)?,
                    None => return Ok(None),
                }
            }
        };
        let Some(mime_type @ ("image/png" | "image/jpeg")) = Image::mime_type_of(&bytes) else {
            return Ok(None);
        };
        let name = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some(Image { name, mime_type: mime_type.into(), bytes }))
    }
}

/// Metres and Y up from the layer's unit and axes; zeros and ones are exact.
pub(super) fn world_from_stage(unit: f64, z_up: bool) -> DMat4 {
    let axes = match z_up {
        true => DMat4::from_cols(DVec4::X, DVec4::new(0.0, 0.0, -1.0, 0.0), DVec4::Y, DVec4::W),
        false => DMat4::IDENTITY,
    };
    DMat4::from_scale(DVec3::splat(unit)) * axes
}

/// Whether a prim and all above it are there, active and meant to be seen.
fn is_shown(stage: &Stage, prim: usize) -> bool {
    let here = |index: usize| {
        let prim: &Prim = &stage.prims[index];
        let purpose = stage.words(prim, "purpose").ok().flatten();
        let aside = purpose.is_some_and(|words| words.iter().any(|word| word == "guide" || word == "proxy"));
        prim.specifier == Specifier::Def && prim.active && !aside
    };
    stage.ancestors(prim).all(here)
}

/// The points outside time, or the first sample's.
fn rest_points(stage: &Stage, prim: &Prim) -> Result<Vec<[f32; 3]>> {
    let place = format!("{}.points", prim.path);
    let attribute = prim.attributes.get("points");
    let handle = attribute.and_then(|points| points.default.as_ref().or(points.samples.first()));
    let (Some(attribute), Some(handle)) = (attribute, handle) else {
        return Err(stage.malformed(&prim.path, "the mesh has no points; remove it, or give it some"));
    };
    let points = stage.fetch_points(attribute, handle, &place)?;
    if points.is_empty() {
        return Err(stage.malformed(&prim.path, "the mesh is empty; remove it, or give it points"));
    }
    match first_not_finite(&points) {
        Some(point) => Err(stage.malformed(place, format!("point {point} is not finite"))),
        None => Ok(points),
    }
}

/// Brings the rest shape into the world, and the skin with it; what brought it there.
fn place_rest(
    stage: &Stage,
    mesh: &mut Mesh,
    placement: &Placement,
    binding: Option<&Binding>,
    rigs: &[Rig],
    unit: f64,
    time: f64,
) -> Result<DMat4> {
    let Some(binding) = binding.filter(|binding| !binding.influences.is_empty()) else {
        let world_from_mesh = placement.world_from_prim(stage, time)?;
        transform_points(&mut mesh.rest_points, &world_from_mesh);
        return Ok(world_from_mesh);
    };
    let rig = &rigs[binding.rig];
    let world_from_skeleton = rig.placement.world_from_prim(stage, time)?;
    let world_from_mesh = world_from_skeleton * binding.geometry;
    transform_points(&mut mesh.rest_points, &world_from_mesh);
    // world_from_joint · joint_from_rest · rest must be world_from_skeleton · now · bind⁻¹ · geometry · point
    let skeleton_from_rest = world_from_skeleton.inverse();
    let metres = DMat4::from_scale(DVec3::splat(unit));
    let bind = |(joint, bind): (usize, &DMat4)| {
        (rig.first_joint + joint, (metres * bind.inverse() * skeleton_from_rest).as_mat4())
    };
    let binds = rig.binds.iter().enumerate().map(bind).collect();
    mesh.skin = Some(Skin { binds, influences: binding.influences.clone() });
    Ok(world_from_mesh)
}

/// Blend shapes as named targets: those that a skeleton's animation moves, or those that our writer kept.
fn read_targets(
    stage: &Stage,
    prim: usize,
    binding: Option<&Binding>,
    point_count: usize,
    rest_from_mesh: &DMat4,
) -> Result<Vec<MorphTarget>> {
    let turn = DMat3::from_mat4(*rest_from_mesh);
    let Some(binding) = binding else {
        return Ok(own_targets(stage, &stage.prims[prim], point_count, &turn)?.unwrap_or_default());
    };
    let mut taken = UniqueNames::default();
    let targets = |shape: &BlendShape| shape.targets(point_count, &turn, &mut taken);
    Ok(binding.shapes.iter().flat_map(targets).collect())
}

/// How many offsets targets may have in all. A clip has one for every point, a file only for those that a shape moves, so that a short file
/// could ask for more memory than any machine has.
struct Room {
    left: usize,
}

impl Room {
    /// Offsets for each byte of a file, and for the smallest.
    const PER_BYTE: usize = 8;
    const LEAST: usize = 1 << 20;

    fn new(stage: &Stage) -> Self {
        let length = usize::try_from(stage.length()).unwrap_or(usize::MAX);
        Self { left: length.saturating_mul(Self::PER_BYTE).saturating_add(Self::LEAST) }
    }

    fn take_targets(
        &mut self,
        stage: &Stage,
        prim: usize,
        binding: Option<&Binding>,
        point_count: usize,
    ) -> Result<()> {
        let of = &stage.prims[prim];
        let bound = binding.map(|binding| {
            binding
                .shapes
                .iter()
                .fold(0_usize, |sum, shape| sum.saturating_add(shape.offset_count(point_count)))
        });
        let own =
            || of.relationships.get(OWN_TARGETS).map_or(0, |paths| paths.len().saturating_mul(point_count));
        let wanted = bound.unwrap_or_else(own);
        self.left = self.left.checked_sub(wanted).ok_or_else(|| {
            let problem = "its blend shapes move so few of its points that they would take far more memory than the file; leave out those that nobody needs";
            stage.malformed(&of.path, problem)
        })?;
        Ok(())
    }
}

/// The skin that our writer keeps beside baked points.
fn own_skin(
    stage: &Stage,
    prim: &Prim,
    point_count: usize,
    joint_count: usize,
    unit: f64,
) -> Result<Option<Skin>> {
    let ints = |name: &str| stage.ints(prim, &format!("followthrough:skin:{name}"));
    let Some(joints) = ints("joints")? else { return Ok(None) };
    let (counts, binds) = (ints("counts")?.unwrap_or_default(), ints("binds")?.unwrap_or_default());
    let numbers = |name: &str| stage.value(prim, &format!("followthrough:skin:{name}"));
    let matrices = numbers("jointFromRest")?.and_then(|value| value.to_doubles()).unwrap_or_default();
    let weights = numbers("weights")?.and_then(|value| value.into_floats()).unwrap_or_default();
    let wrong = |problem: &str| Err(stage.malformed(format!("{}.followthrough:skin", prim.path), problem));
    if counts.len() != point_count || binds.len() != weights.len() || matrices.len() != 16 * joints.len() {
        return wrong("its lists do not fit each other");
    }
    if joints.iter().any(|&joint| joint < 0 || joint as usize >= joint_count) {
        return wrong("it names a joint that is not there");
    }
    if binds.iter().any(|&bind| bind < 0 || bind as usize >= joints.len()) {
        return wrong("a point hangs on a joint that is not there");
    }
    let matrix = |rows: &[f64]| {
        let mut rows: Vec<f64> = rows.to_vec();
        rows[12..15].iter_mut().for_each(|c| *c *= unit);
        Mat4::from_cols_slice(&rows.iter().map(|&x| x as f32).collect::<Vec<_>>())
    };
    let mut pairs = binds.iter().map(|&bind| bind as u32).zip(weights);
    let mut influences = Vec::with_capacity(point_count);
    for &count in &counts {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        influences.push(pairs.by_ref().take(count).collect::<Vec<_>>());
        if influences.last().map_or(0, Vec::len) != count {
            return wrong("it has fewer weights than it says");
        }
    }
    let binds =
        joints.iter().zip(matrices.chunks_exact(16)).map(|(&joint, rows)| (joint as usize, matrix(rows)));
    Ok(Some(Skin { binds: binds.collect(), influences }))
}

/// When the frames are: time codes `first`, `first + step`, …
struct Timing {
    frame_rate_hz: f64,
    first: f64,
    step: f64,
    count: usize,
}

impl Timing {
    fn new(stage: &Stage, options: &ReadOptions, shown: &[usize]) -> Result<Self> {
        let number =
            |name: &str| stage.metadata.get(name).and_then(|value| value.number()).filter(|x| x.is_finite());
        let positive = |name: &str| number(name).filter(|rate| *rate > 0.0);
        let codes_per_second = positive("timeCodesPerSecond").or(positive("framesPerSecond"));
        let codes_per_second = codes_per_second.unwrap_or(DEFAULT_FRAME_RATE_HZ);
        let rate = options.frame_rate_hz.or(positive("framesPerSecond")).unwrap_or(codes_per_second);
        let mut first = f64::INFINITY;
        let mut last = f64::NEG_INFINITY;
        for attribute in shown.iter().flat_map(|&prim| stage.prims[prim].attributes.values()) {
            if let [start, .., end] = attribute.times[..] {
                (first, last) = (first.min(start), last.max(end));
            }
        }
        // a layer that says when it starts and ends means it
        if let (Some(start), Some(end)) = (number("startTimeCode"), number("endTimeCode"))
            && start <= end
        {
            (first, last) = (start, end);
        }
        if first > last {
            return Ok(Self { frame_rate_hz: rate, first: 0.0, step: 1.0, count: 1 });
        }
        let step = codes_per_second / rate;
        let count = ((last - first) / step + 1e-3).floor();
        if count >= MOST_FRAMES {
            return Err(stage.malformed("layer", format!("{count} frames; ask for a lower frame rate")));
        }
        Ok(Self { frame_rate_hz: rate, first, step, count: count as usize + 1 })
    }

    fn time(&self, frame: usize) -> f64 {
        self.first + frame as f64 * self.step
    }
}
