//! Where the tets come from: made to fill the surface, made in a pose where its parts are apart, or read.

use std::path::Path;

use clip::{FilePath, Mesh};
use geometry::{Embedding, Filled, TetMesh, TetMeshing, TetSize, Vec3};

use super::{Enrich, FleshTets, Separated, apart};
use shot::{Diagnostic, LayerError, Target};

/// The surface in its tets at rest.
pub(super) struct Filling {
    pub(super) filled: Filled,
    /// Where that is, unless where the surface is.
    pub(super) remark: Option<String>,
    /// That parts were found together which are apart elsewhere, and what was done about it.
    pub(super) warning: Option<String>,
}

/// Fills the surface with tets.
pub(super) fn fill(settings: &Enrich, input: &Target) -> Result<Filling, LayerError> {
    let mesh = input.mesh();
    let (rest, triangles) = (mesh.rest(), mesh.point_triangles());
    let size = match (settings.edge, &settings.tets) {
        (None, FleshTets::File(file)) => {
            return Ok(Filling { filled: read(file, input, &rest)?, remark: None, warning: None });
        }
        (None, FleshTets::Count(count)) => TetSize::Count(*count),
        (Some(edge), _) => TetSize::Edge(edge),
    };
    let meshing = TetMeshing { size, ..TetMeshing::default() };
    let at_rest = || meshing.fill(&rest, &triangles).map_err(LayerError::new);
    match &settings.separated {
        Some(Separated::Sought(false)) => Ok(Filling { filled: at_rest()?, remark: None, warning: None }),
        None | Some(Separated::Sought(true)) => {
            let filled = at_rest()?;
            let poses = apart::poses(input);
            let webs = apart::webs(&filled, &rest, &triangles, &poses);
            if !webs.tear() {
                return Ok(Filling { filled, remark: None, warning: None });
            }
            let joined = joined(&webs, input);
            match apart::best(&webs, &rest, &triangles, &poses, |pose| meshing.fill(pose, &triangles).ok()) {
                Some((frame, apart, left)) => {
                    let (filled, remark) = brought_to_rest(apart, &rest, &triangles)?;
                    let rest_of_it = match left.tear() {
                        true => format!(", all but {} of {} places", left.count, webs.count),
                        false => String::new(),
                    };
                    let warning = format!(
                        "{joined}: they are made in frame {frame} instead, where that is apart{rest_of_it}; `separated` names another pose, \
                         `separated = false` makes them at rest"
                    );
                    Ok(Filling { filled, remark, warning: Some(warning) })
                }
                None => {
                    let warning = format!(
                        "{joined}, and no frame was found that parts it: the surface tears there; `separated` names a file with a pose that does, more \
                         `tets` come between what is near"
                    );
                    Ok(Filling { filled, remark: None, warning: Some(warning) })
                }
            }
        }
        Some(separated) => {
            let pose = pose(separated, input).map_err(LayerError::new)?;
            let filled = meshing.fill(&pose, &triangles).map_err(LayerError::new)?;
            let (filled, remark) = brought_to_rest(filled, &rest, &triangles)?;
            Ok(Filling { filled, remark, warning: None })
        }
    }
}

/// What the tets would join, where, and when that is apart.
fn joined(webs: &apart::Webs, input: &Target) -> String {
    let Some((frame, point, times)) = webs.worst else { return String::from("tets join what is apart") };
    format!(
        "tets made at rest join parts of `{}` that are {times:.0} times as far apart in frame {frame} (at point {point}, {} places)",
        input.mesh().name,
        webs.count
    )
}

/// Tets that were made in a pose, brought to the rest shape; or as they are, and why.
fn brought_to_rest(
    filled: Filled,
    rest: &[Vec3],
    triangles: &[[u32; 3]],
) -> Result<(Filled, Option<String>), LayerError> {
    match solid::unweld(&filled.mesh, &filled.embedding, &areas(rest, triangles), rest) {
        Ok((mesh, embedding)) => Ok((Filled { mesh, embedding, ..filled }, None)),
        Err(error @ (solid::Error::Squeezed { .. } | solid::Error::LeftBehind { .. })) => {
            Ok((filled, Some(format!("in the separated pose: {error}"))))
        }
        Err(error) => Err(LayerError::new(error)),
    }
}

/// What each vertex weighs in a fit.
pub(super) fn areas(rest: &[Vec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut areas = geometry::vertex_areas(rest, triangles);
    if areas.iter().sum::<f64>() <= 0.0 {
        // wires and specks: every point counts alike
        let even = 1.0 / areas.len().max(1) as f64;
        areas.fill(even);
    }
    areas
}

/// What does not fit the input.
pub(super) fn check(settings: &Enrich, input: &Target) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut say = |path: &str, message: String, help: Option<&str>| {
        diagnostics.push(Diagnostic::new(path, message).maybe_help(help.map(str::to_owned)));
    };
    if let FleshTets::File(file) = &settings.tets {
        if let Err(error) = input.open_tets(file) {
            say("tets", error.to_string(), None);
        }
        if settings.edge.is_some() {
            let help = "leave `edge` out, or give the number of `tets`";
            say("edge", "the tets come from a file, so their edges are what they are".into(), Some(help));
        }
        if matches!(settings.separated, Some(Separated::Frame(_) | Separated::File(_))) {
            let help =
                "leave `separated` out: tets of a file are not grown together unless they were made so";
            say("separated", "the tets come from a file, so none are made in a pose".into(), Some(help));
        }
    }
    if let Some(separated) = &settings.separated
        && let Err(message) = pose(separated, input)
    {
        say("separated", message, Some("it must be the same mesh, only moved"));
    }
    diagnostics
}

/// Tets of a file around the surface.
fn read(file: &FilePath, input: &Target, rest: &[Vec3]) -> Result<Filled, LayerError> {
    let (mesh, _) = input.open_tets(file)?.mesh.without_loose_points();
    let embedding = Embedding::new(&mesh, rest).map_err(LayerError::new)?;
    // by more than the height of a tet: those are not around it
    let far = embedding.outside(1.0).count();
    if 2 * far > rest.len() {
        let sentence = format!(
            "the tets of {} are not around the mesh: {far} of its {} points are far outside of them",
            file.display(),
            rest.len()
        );
        return Err(LayerError::new(sentence).with_help("are they in metres, and of this mesh at rest?"));
    }
    let outside = embedding.outside(1e-9).count();
    Ok(Filled { edge: mean_edge(&mesh), mesh, embedding, grown: 0, outside })
}

fn mean_edge(mesh: &TetMesh) -> f64 {
    let edges = mesh.edges();
    let length = |[a, b]: &[u32; 2]| mesh.points()[*a as usize].distance(mesh.points()[*b as usize]);
    edges.iter().map(length).sum::<f64>() / edges.len().max(1) as f64
}

/// Where the surface is in the separated pose, or why it is not one.
fn pose(separated: &Separated, input: &Target) -> Result<Vec<Vec3>, String> {
    let own = input.mesh();
    let points = match separated {
        Separated::Sought(_) => return Ok(own.rest()),
        Separated::Frame(index) => {
            if !input.clip.has_frame(*index) {
                let count = input.clip.frame_count();
                return Err(format!("there is no frame {index}; the input has {count}"));
            }
            input.points(*index).map_err(|error| error.to_string())?
        }
        Separated::File(file) => {
            let clip = input.open(file).map_err(|error| error.to_string())?;
            let named = clip.meshes.iter().find(|mesh| mesh.name == own.name);
            let Some(mesh) = named.or(clip.meshes.first()) else {
                return Err(format!("{} has no mesh", file.display()));
            };
            same_topology(own, mesh, file)?;
            mesh.rest_points.clone()
        }
    };
    if let Some(point) = points.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
        return Err(format!("point {point} of the separated pose is not at a finite place"));
    }
    Ok(points.iter().map(|p| Vec3::from(p.map(f64::from))).collect())
}

fn same_topology(own: &Mesh, other: &Mesh, file: &Path) -> Result<(), String> {
    let (points, expected) = (other.point_count(), own.point_count());
    if points != expected {
        return Err(format!(
            "`{}` of {} has {points} points, but `{}` has {expected}",
            other.name,
            file.display(),
            own.name
        ));
    }
    if other.point_triangles() != own.point_triangles() {
        return Err(format!(
            "`{}` of {} has other triangles than `{}`, over as many points",
            other.name,
            file.display(),
            own.name
        ));
    }
    Ok(())
}
