//! An operator that nobody had to train: a flag with one fold.

use clip::Clip;
use geometry::Prolongation;
use live::{Factor, Format, Mesh, Parts, RigCapsule, Skin};
use samples::Banner;

/// Cells of the coarse flag.
pub(crate) const COARSE: [usize; 2] = [6, 4];
/// Cells of the flag that is shown.
pub(crate) const FINE: [usize; 2] = [18, 12];

/// The flag that is shown, its pole raised.
pub(crate) fn raised() -> Clip {
    Banner { cells: FINE, raised: true, seconds: 0.7, ..Banner::default() }.clip()
}

/// An operator of a flag with some folds.
pub(crate) fn operator() -> Vec<u8> {
    let [coarse, fine] = [COARSE, FINE].map(|cells| Banner::alone(cells).meshes.remove(0));
    let (way, _) =
        Prolongation::by_closest_point(&coarse.rest(), &coarse.point_triangles(), &fine.rest()).unwrap();
    let held = |mesh: &clip::Mesh, i: usize| mesh.group("held").unwrap().weights[i];
    let count = coarse.point_count();
    let column = |j: usize| {
        if j == count - 1 {
            1.0
        } else if j == 0 {
            -1.0
        } else {
            0.0
        }
    };
    let fold = |i: usize| 0.05 * (11.0 * fine.rest_points[i][0]).sin();
    let parts = Parts {
        subdivision: (0..fine.point_count())
            .map(|i| way.row(i).map(|(j, w)| (j, w as f32)).collect())
            .collect(),
        detail: Some(Factor {
            rank: 1,
            rows: (0..fine.point_count()).map(fold).collect(),
            columns: Some((0..count).map(column).collect()),
            format: Format::Eight,
        }),
        known: 0.2,
        coarse_skin: (0..count).map(|i| Skin::rigid(0, held(&coarse, i))).collect(),
        fine_skin: (0..fine.point_count())
            .filter(|&i| held(&fine, i) > 0.0)
            .map(|i| (i as u32, Skin::rigid(0, 1.0)))
            .collect(),
        joints: vec!["Pole".into()],
        capsules: vec![RigCapsule {
            joints: [0, 0],
            capsule: live::Capsule { ends: [[0.0, 0.1, 0.0], [0.0, 2.6, 0.0]], radii: [0.022; 2] },
        }],
        ..Parts::new(
            Mesh { rest: coarse.rest_points.clone(), triangles: coarse.point_triangles() },
            Mesh { rest: fine.rest_points.clone(), triangles: fine.point_triangles() },
        )
    };
    parts.write().unwrap()
}
