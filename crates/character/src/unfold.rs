//! Unfolding: cells that linear strain has turned inside out are shown as flat as they may be, and no further.
//!
//! A cell with corners x₀ … x₃ has the volume V = (x₁−x₀)·((x₂−x₀)×(x₃−x₀))/6. Where V falls below a part ε of its volume V̄ at rest, its
//! free corners are moved along the gradient until it does not,
//!
//! ```text
//! xᵢ ← xᵢ + gᵢ (εV̄ − V)/Σⱼ‖gⱼ‖²,   gᵢ = ∂V/∂xᵢ, zero where a bone or a pin holds the corner,
//! ```
//!
//! one cell after the other, a few times over. This is done to what is shown; the simulation goes on from what it found. Cells whose
//! corners are all held are the animation's own, and stay as it has them.
//!
//! Beyond the paper, whose linear strain lets cells invert.

use geometry::Vec3;

use crate::flesh::Flesh;

/// ε. Small, so that little is moved; and above zero, so that single precision sees it.
const LEAST_VOLUME: f64 = 0.02;
/// Where one is moved, it goes this much beyond, so that its neighbours have room.
const GOAL: f64 = 0.04;
/// Times over all cells at most.
const SWEEPS: usize = 40;
/// A corner goes no further at a time than this part of the cell's size: the volume is no linear function of it.
const STRIDE: f64 = 0.25;
/// Cells with less of themselves inside of the skin do not show.
pub(crate) const SHOWN_PART: f64 = 0.1;

/// A cell that is kept from turning inside out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Guarded {
    pub(crate) corners: [u32; 4],
    /// V̄, in m³.
    pub(crate) volume: f64,
}

/// The cells that show, where coefficients are their corners: without finer levels.
pub(crate) fn guarded(flesh: &Flesh) -> Vec<Guarded> {
    if flesh.settings.levels > 0 {
        return Vec::new();
    }
    let (mesh, values) = (flesh.hierarchy.mesh(), flesh.hierarchy.values());
    let corner = |point: u32| {
        let mut row = values.row(point as usize);
        row.next().filter(|entry| entry.1 == 1.0 && row.next().is_none()).map(|(function, _)| function)
    };
    let of = |piece: &crate::flesh::Piece| {
        let [a, b, c, d] = mesh.tets()[piece.tet as usize].map(corner);
        let volume = geometry::tet_volume(mesh.corners(piece.tet as usize));
        (piece.part >= SHOWN_PART && volume > 0.0).then_some(Guarded { corners: [a?, b?, c?, d?], volume })
    };
    flesh.pieces.iter().filter_map(of).collect()
}

/// Moves corners that are not `held` so that no cell is inside out, as far as that can be done.
pub(crate) fn unfold(cells: &[Guarded], held: &[bool], x: &mut [Vec3]) {
    for _ in 0..SWEEPS {
        let mut moved = false;
        for cell in cells {
            moved |= unfold_cell(cell, held, x);
        }
        if !moved {
            break;
        }
    }
}

/// Whether the cell had to be moved.
fn unfold_cell(cell: &Guarded, held: &[bool], x: &mut [Vec3]) -> bool {
    let [a, b, c, d] = cell.corners.map(|v| x[v as usize]);
    let (ab, ac, ad) = (b - a, c - a, d - a);
    let volume = ab.dot(ac.cross(ad)) / 6.0;
    if volume >= LEAST_VOLUME * cell.volume {
        return false;
    }
    let (gb, gc, gd) = (ac.cross(ad) / 6.0, ad.cross(ab) / 6.0, ab.cross(ac) / 6.0);
    let mut gradient = [-(gb + gc + gd), gb, gc, gd];
    for (g, &v) in gradient.iter_mut().zip(&cell.corners) {
        if held[v as usize] {
            *g = Vec3::ZERO;
        }
    }
    let squares: f64 = gradient.iter().map(|g| g.length_squared()).sum();
    let length = cell.volume.cbrt();
    // collapsed to a line, or held everywhere
    if squares <= 1e-12 * length.powi(4) {
        return false;
    }
    let by = (GOAL * cell.volume - volume) / squares;
    let farthest = gradient.iter().map(|g| g.length()).fold(0.0, f64::max) * by;
    let by = by * (STRIDE * length / farthest).min(1.0);
    for (g, &v) in gradient.iter().zip(&cell.corners) {
        x[v as usize] += by * *g;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::{Random, TetMesh};

    fn grid() -> (Vec<Guarded>, Vec<Vec3>) {
        let mesh = TetMesh::box_grid([4, 3, 3], Vec3::new(0.4, 0.3, 0.3)).unwrap();
        let cell =
            |t: usize| Guarded { corners: mesh.tets()[t], volume: geometry::tet_volume(mesh.corners(t)) };
        ((0..mesh.tets().len()).map(cell).collect(), mesh.points().to_vec())
    }

    fn inverted(cells: &[Guarded], x: &[Vec3]) -> usize {
        cells.iter().filter(|cell| geometry::tet_volume(cell.corners.map(|v| x[v as usize])) <= 0.0).count()
    }

    #[test]
    fn what_is_turned_inside_out_is_unfolded_and_little_else_moves() {
        let (cells, rest) = grid();
        let mut held = vec![false; rest.len()];
        for (h, p) in held.iter_mut().zip(&rest) {
            *h = p.x == 0.0;
        }
        let mut still = rest.clone();
        unfold(&cells, &held, &mut still);
        assert_eq!(still, rest);
        let mut random = Random::new(5);
        for _ in 0..20 {
            // one point inside thrown through the cells around it
            let mut x = rest.clone();
            let inner: Vec<usize> =
                (0..x.len()).filter(|&p| rest[p].distance(Vec3::new(0.2, 0.1, 0.15)) < 0.06).collect();
            let thrown = inner[random.below(inner.len())];
            x[thrown] += 0.15 * random.vec3().normalize();
            let before = inverted(&cells, &x);
            unfold(&cells, &held, &mut x);
            assert_eq!(inverted(&cells, &x), 0, "{before} before");
            assert!(rest.iter().zip(&x).zip(&held).all(|((p, q), held)| !held || p == q));
            let far = rest.iter().zip(&x).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max);
            assert!(far < 0.16, "{far}");
        }
    }

    #[test]
    fn what_is_held_everywhere_stays() {
        let (cells, mut x) = grid();
        x.iter_mut().for_each(|p| p.x = -p.x);
        let before = x.clone();
        unfold(&cells, &vec![true; x.len()], &mut x);
        assert_eq!(x, before);
    }
}
