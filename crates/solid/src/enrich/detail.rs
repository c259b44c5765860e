//! Detail: what tets cannot represent is turned with them and added.

use geometry::{Embedding, Mat3, Vec3};

use crate::fit::relative_rotation;

/// How each tet that carries vertices has turned from the fit to the simulation.
pub(crate) fn tet_rotations(embedding: &Embedding, fit: &[Vec3], now: &[Vec3]) -> Vec<Mat3> {
    let count = embedding.tets().iter().map(|&tet| tet as usize + 1).max().unwrap_or(0);
    let mut turns: Vec<Option<Mat3>> = vec![None; count];
    for (&tet, &corners) in embedding.tets().iter().zip(embedding.corners()) {
        let turn = &mut turns[tet as usize];
        if turn.is_some() || corners.iter().all(|&p| fit[p as usize] == now[p as usize]) {
            continue;
        }
        let edges = |x: &[Vec3]| {
            let [a, b, c, d] = corners.map(|p| x[p as usize]);
            Mat3::from_cols(b - a, c - a, d - a)
        };
        *turn = Some(relative_rotation(&edges(fit), &edges(now)));
    }
    turns.into_iter().map(|turn| turn.unwrap_or(Mat3::IDENTITY)).collect()
}
