//! Levels of detail: a mesh that was cut finer, every triangle in four, has all that it was cut from among its first points.

use alloc::vec::Vec;

/// A mesh of the first points of a finer one.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) points: usize,
    pub(crate) triangles: Vec<[u32; 3]>,
}

/// All levels of a mesh, the finest first: that of all its points.
pub(crate) fn levels(points: usize, triangles: Vec<[u32; 3]>) -> Vec<Level> {
    let mut found = Vec::new();
    let mut next = Some(Level { points, triangles });
    while let Some(level) = next {
        next = coarser(&level);
        found.push(level);
    }
    found
}

/// What a mesh was cut from, if it was: of every four triangles three lie at the corners of an old one and the fourth between them, and old
/// points come before new ones.
fn coarser(level: &Level) -> Option<Level> {
    let (fours, rest) = level.triangles.as_chunks::<4>();
    if fours.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut triangles = Vec::with_capacity(fours.len());
    let (mut points, mut new) = (0, u32::MAX);
    for &[[a, ab, ca], second, third, middle] in fours {
        let ([_, b, bc], [_, _, c]) = (second, third);
        if second != [ab, b, bc] || third != [ca, bc, c] || middle != [ab, bc, ca] {
            return None;
        }
        points = points.max(a.max(b).max(c) as usize + 1);
        new = new.min(ab.min(bc).min(ca));
        triangles.push([a, b, c]);
    }
    (points <= new as usize && points < level.points).then_some(Level { points, triangles })
}
