//! Levels of detail: a mesh that was cut finer is shown by its first points, and nothing jumps where levels change.

mod common;

use common::{bits, cape, walk};
use live::{Error, Format, Frame, LiveCloth, Mesh, Operator, Parts, Point};

type Rows = Vec<Vec<(u32, f32)>>;

/// Every triangle in four, new points in the middle of edges and after the old ones.
fn cut(mesh: &Mesh, rows: &Rows) -> (Mesh, Rows) {
    let (mut rest, mut finer, mut rows) = (mesh.rest.clone(), Vec::new(), rows.clone());
    let mut ends: Vec<[u32; 2]> = Vec::new();
    let old = rest.len() as u32;
    for &[a, b, c] in &mesh.triangles {
        let [ab, bc, ca] = [[a, b], [b, c], [c, a]].map(|[a, b]| {
            let edge = [a.min(b), a.max(b)];
            let known = ends.iter().position(|known| *known == edge);
            old + known.unwrap_or_else(|| {
                ends.push(edge);
                ends.len() - 1
            }) as u32
        });
        finer.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }
    for [a, b] in ends {
        let [p, q] = [rest[a as usize], rest[b as usize]];
        rest.push([0, 1, 2].map(|i| 0.5 * (p[i] + q[i])));
        let both = [&rows[a as usize][..], &rows[b as usize]].concat();
        let mut row: Vec<(u32, f32)> = Vec::new();
        for (j, w) in both {
            match row.iter_mut().find(|(known, _)| *known == j) {
                Some((_, sum)) => *sum += 0.5 * w,
                None => row.push((j, 0.5 * w)),
            }
        }
        rows.push(row);
    }
    (Mesh { rest, triangles: finer }, rows)
}

/// A cape of 25, 81 and 289 points, with folds.
fn parts() -> Parts {
    let like = cape(4, 16, Format::Eight);
    let mut mesh = like.coarse.clone();
    let mut rows: Rows = (0..mesh.rest.len() as u32).map(|i| vec![(i, 1.0)]).collect();
    for _ in 0..2 {
        (mesh, rows) = cut(&mesh, &rows);
    }
    let held = (0..mesh.rest.len() as u32).filter(|i| mesh.rest[*i as usize][1] == 0.0);
    let fine_skin = held.map(|i| (i, like.fine_skin[0].1)).collect();
    Parts { fine: mesh, subdivision: rows, modes: Vec::new(), fine_skin, ..like }
}

fn cloth(parts: &Parts) -> LiveCloth<Vec<u8>> {
    LiveCloth::new(Operator::read(parts.write().unwrap()).unwrap()).unwrap()
}

#[test]
fn a_coarser_level_is_the_first_points_of_the_finest() {
    let parts = parts();
    let (mut whole, mut changing) = (cloth(&parts), cloth(&parts));
    assert_eq!(changing.level_count(), 3);
    let counts = [(289, 512), (81, 128), (25, 32)];
    for index in 0..60 {
        let skin = [walk(index as f32 / 60.0)];
        let frame = Frame { skin: &skin, ..Frame::new(1.0 / 60.0) };
        let level = [0, 1, 2, 0, 2, 1][index / 10];
        let before = (bits(changing.points()), changing.triangles().len());
        changing.set_level(level).unwrap();
        assert_eq!(before, (bits(changing.points()), changing.triangles().len()), "what was shown stays");
        whole.advance(&frame).unwrap();
        changing.advance(&frame).unwrap();
        let (points, triangles) = (changing.points(), changing.triangles());
        assert_eq!((points.len(), triangles.len()), counts[level]);
        assert_eq!(bits(points), bits(&whole.points()[..points.len()]), "frame {index}");
        assert!(triangles.as_flattened().iter().all(|corner| (*corner as usize) < points.len()));
        let length = |n: &Point| n.iter().map(|x| x * x).sum::<f32>().sqrt();
        assert_eq!(changing.normals().len(), points.len());
        assert!(changing.normals().iter().all(|n| (length(n) - 1.0).abs() < 1e-5));
        let texture = vec![[0.0; 2]; points.len()];
        changing.tangents(&texture, &mut vec![[0.0; 4]; points.len()]).unwrap();
    }
    let moved = whole.points().iter().zip(&parts.fine.rest).map(|(p, q)| (p[2] - q[2]).abs());
    assert!(moved.fold(0.0, f32::max) > 0.1, "the cape has moved");
    assert!(matches!(changing.set_level(3), Err(Error::TooMany { most: 3, .. })));
}

#[test]
fn a_mesh_that_was_not_cut_has_one_level() {
    assert_eq!(cloth(&cape(4, 16, Format::Eight)).level_count(), 1);
    // one triangle turned round: its corners are no longer where cutting puts them
    let mut parts = parts();
    parts.fine.triangles[40].rotate_left(1);
    assert_eq!(cloth(&parts).level_count(), 1);
}
