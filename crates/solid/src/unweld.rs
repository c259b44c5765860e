//! Un-welding: tets for a surface whose parts touch, made in a pose where they are apart.

use geometry::{Embedding, TetMesh, Vec3};

use crate::fit::Pieces;
use crate::{Error, Fit};

/// Tets that were made around a surface in a separated pose, brought to where the surface is in `vertices`.
///
/// enrich §8.1: the tets are fitted, and each vertex walks from its tet of the separated pose to the one that holds it now. Tets may
/// overlap then, but parts that only touch have none in common. Differs: the fit is as soft as it can be with every tet still
/// sound, so that the result can serve as a rest shape.
pub fn unweld(
    mesh: &TetMesh,
    embedding: &Embedding,
    areas: &[f64],
    vertices: &[Vec3],
) -> Result<(TetMesh, Embedding), Error> {
    let animated: Vec<bool> = areas.iter().map(|&area| area > 0.0).collect();
    let pieces = Pieces::new(mesh, embedding, &animated);
    let apart = mesh.volumes();
    let size = geometry::Bounds::of(mesh.points().iter().copied()).diagonal();
    let tolerance = TOLERANCE * size;
    let (_, soft) = Fit::new(mesh, embedding, areas, tolerance, None)?;
    // stiffest first: each fit starts where the one before ended, and the last in which all tets are sound is taken
    let mut x = mesh.points().to_vec();
    pieces.move_rigidly(embedding, vertices, &mut x);
    let mut best: Option<TetMesh> = None;
    let mut squeezed = 0;
    for stiffer in STIFFER {
        let (mut fit, mut gamma) = Fit::new(mesh, embedding, areas, tolerance, Some(stiffer * soft.value))?;
        let fitted = fit.solve(vertices, &mut gamma, &mut x, embedding)?;
        let moved = mesh.with_points(x.clone())?;
        let broken = |(now, then): (f64, &f64)| now < SOUND * then;
        let broken = moved.volumes().into_iter().zip(&apart).filter(|pair| broken(*pair)).count();
        if broken > 0 {
            squeezed = broken;
            break;
        }
        best = Some(moved);
        if fitted.error < tolerance {
            break;
        }
    }
    let Some(mesh) = best else { return Err(Error::Squeezed { tets: squeezed }) };
    let embedding = embedding.walked(&mesh, vertices)?;
    let least = |v: usize| embedding.weights()[v].iter().copied().fold(f64::INFINITY, f64::min);
    let left = (0..vertices.len()).filter(|&v| areas[v] > 0.0 && least(v) < -LOOSE).count();
    if left > 0 {
        return Err(Error::LeftBehind { vertices: left });
    }
    Ok((mesh, embedding))
}

/// How stiff the tets are against their usual stiffness in a fit, one after the other.
const STIFFER: [f64; 4] = [100.0, 10.0, 1.0, 0.1];
/// A tet is sound while it has this share of its volume.
const SOUND: f64 = 0.1;
/// How far outside of its tet a vertex may be, in heights of the tet: beyond, it would swing like the end of a lever.
const LOOSE: f64 = 0.5;
/// Nearer than this share of the size need no fit be: the walk finds the exact weights.
const TOLERANCE: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::{TetMeshing, TetSize};

    /// A bar, straight and bent into a ring whose ends touch.
    #[test]
    fn ends_that_touch_share_no_tet_point() {
        let bar = TetMesh::box_grid([40, 4, 4], Vec3::new(4.0, 0.4, 0.4)).unwrap();
        let faces = bar.boundary_faces();
        let straight = bar.points().to_vec();
        let ring: Vec<Vec3> = straight
            .iter()
            .map(|p| {
                let turn = 0.995 * std::f64::consts::TAU * p.x / 4.0;
                let radius = 0.62 + p.y;
                Vec3::new(radius * turn.sin(), radius * turn.cos(), p.z)
            })
            .collect();
        let areas = geometry::vertex_areas(&straight, &faces);
        let meshing = TetMeshing { size: TetSize::Edge(0.2), ..TetMeshing::default() };
        let shared = |embedding: &Embedding| {
            let points = |end: &dyn Fn(f64) -> bool| -> Vec<u32> {
                let vertices = (0..straight.len()).filter(|&v| areas[v] > 0.0 && end(straight[v].x));
                vertices.flat_map(|v| embedding.corners()[v]).collect()
            };
            let (first, last) = (points(&|x| x < 0.05), points(&|x| x > 3.95));
            first.iter().filter(|p| last.contains(p)).count()
        };
        let welded = meshing.fill(&ring, &faces).unwrap();
        assert!(shared(&welded.embedding) > 0, "made where they touch, the ends are one");
        let apart = meshing.fill(&straight, &faces).unwrap();
        let (mesh, embedding) = unweld(&apart.mesh, &apart.embedding, &areas, &ring).unwrap();
        assert_eq!(shared(&embedding), 0);
        assert!(mesh.volumes().iter().all(|volume| *volume > 0.0));
        let placed = embedding.apply(mesh.points());
        for v in (0..ring.len()).filter(|&v| areas[v] > 0.0) {
            assert!(placed[v].distance(ring[v]) < 1e-9);
        }
    }

    /// Pressed flat, tets would be too: they are refused, or none has less than a tenth of its volume.
    #[test]
    fn what_is_pressed_flat_keeps_sound_tets() {
        let mesh = TetMesh::box_grid([3, 2, 2], Vec3::new(0.3, 0.2, 0.2)).unwrap();
        let areas = geometry::vertex_areas(mesh.points(), &mesh.boundary_faces());
        let embedding = Embedding::new(&mesh, mesh.points()).unwrap();
        let flat: Vec<Vec3> = mesh.points().iter().map(|p| p.with_y(0.02 * p.y)).collect();
        match unweld(&mesh, &embedding, &areas, &flat) {
            Ok((moved, _)) => {
                let mut pairs = moved.volumes().into_iter().zip(mesh.volumes());
                assert!(pairs.all(|(now, then)| now >= SOUND * then));
            }
            Err(error) => {
                assert!(matches!(error, Error::Squeezed { .. } | Error::LeftBehind { .. }), "{error}")
            }
        }
        assert!(unweld(&mesh, &embedding, &areas, mesh.points()).is_ok());
    }
}
