//! Stretching and shearing of cells: two triangles that share one strain, so that cloth bends alike in every direction.
//!
//! A triangle of constant strain has one metric for all of it. Lay a sheet on a cylinder of curvature κ, every point where it belongs:
//! chords are shorter than arcs, each by its own direction's normal curvature, ε(e) = −(e·n)⁴κ²/24‖e‖² for a side e. Where no side runs along the
//! axis, the three of a triangle then say that it is stretched *along the axis*, by κ²h²/16 for a square cut across the bend. A stretch that
//! follows κ² from place to place cannot be flattened: cloth of such triangles bends only along its own edges (membrane
//! locking). At κh = ½ that is 1.6 %, a hundred times the energy of bending cotton.
//!
//! The *mean deformation gradient* of two triangles that make a parallelogram is a central difference. On a cylinder its stretch along the
//! axis vanishes to fourth order, whatever the direction; what is left lies across the axis, is a function of the place across it alone,
//! and is taken up by moving points along the surface. So a [`CellMembrane`] has the energy of that gradient, and little of its triangles'
//! own: what keeps the two from being stretched against each other (hourglass modes), as in shells of one integration point
//! (Belytschko et al. 1984).

use dynamics::{Block, Element, Viscous};
use geometry::{Mat3, Topology, Vec2, Vec3};

use crate::membrane::{Stress, couplings, green, predicted};
use crate::resizing::Resizable;
use crate::{Membrane, MembraneStiffness};

/// Which elements resist stretching and shearing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Stretching {
    /// One [`Membrane`] per triangle: each has its own strain.
    #[default]
    Triangles,
    /// One [`CellMembrane`] per two triangles that make a parallelogram: folds run in any direction, not only along edges.
    Cells,
}

/// What triangles of cells keep of their own stiffness.
pub(crate) const OWN_SHARE: f64 = 0.005;
/// How far a cell may be from a parallelogram: how far its diagonals pass each other's middles, as a share of their mean length.
const MOST_ASKEW: f64 = 0.2;
/// How far its strain at rest may be from none: triangles folded by more than some 20°, or with threads that run elsewhere, are none.
const MOST_BENT: f64 = 0.015;

/// Two triangles about an edge, stretched and sheared as one: orthotropic St. Venant–Kirchhoff with the strain of their mean deformation
/// gradient.
///
/// Points are `[e0, e1, a, b]`. F = Σᵢ xᵢ bᵢᵀ with bᵢ the means over the area of the hat functions' gradients, in thread coordinates; else as
/// [`Membrane`], of which it takes stiffness and thread directions. Strain counts from that at rest, which is none where the two lie in
/// one plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellMembrane {
    /// bᵢ of the last three points, in 1/m; the first point's is minus their sum.
    b: [Vec2; 3],
    /// Stiffness times rest area, in J.
    k: MembraneStiffness,
    /// What warp and weft lose under compression, times rest area, in J.
    lost: Vec2,
    /// E_uu, E_vv, 2E_uv at rest.
    at_rest: Vec3,
    /// What is without stress beyond that; zero but for friction.
    rest_strain: Vec3,
}

impl CellMembrane {
    /// Two triangles with their threads in space, of which the cell takes this share of the stiffness. None where they lie so that one strain
    /// cannot speak for both.
    fn new(points: [u32; 4], halves: [(&[u32; 3], &Membrane, &[Vec3; 2]); 2], share: f64) -> Option<Self> {
        let area: f64 = halves.iter().map(|(_, membrane, _)| membrane.rest_area()).sum();
        let (mut b, mut threads) = ([Vec2::ZERO; 4], [Vec3::ZERO; 2]);
        for (corners, membrane, axes) in halves {
            let part = membrane.rest_area() / area;
            for (corner, gradient) in corners.iter().zip(membrane.gradients()) {
                b[points.iter().position(|point| point == corner)?] += part * gradient;
            }
            threads = [threads[0] + part * axes[0], threads[1] + part * axes[1]];
        }
        let at_rest = green(threads);
        if at_rest.abs().max_element() > MOST_BENT {
            return None;
        }
        let [one, other] = halves.map(|(_, membrane, _)| membrane.stiffness().scaled(share));
        let k = MembraneStiffness {
            warp: one.warp + other.warp,
            weft: one.weft + other.weft,
            cross: one.cross + other.cross,
            shear: one.shear + other.shear,
            compression: one.compression,
        };
        Some(Self { b: [b[1], b[2], b[3]], k, lost: k.lost(), at_rest, rest_strain: Vec3::ZERO })
    }

    fn threads(&self, x: &[Vec3; 4]) -> [Vec3; 2] {
        let d = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
        let [a, b, c] = self.b;
        [a.x * d[0] + b.x * d[1] + c.x * d[2], a.y * d[0] + b.y * d[1] + c.y * d[2]]
    }

    fn strain(&self, threads: [Vec3; 2]) -> Vec3 {
        green(threads) - self.at_rest
    }

    fn stress(&self, strain: Vec3) -> Stress {
        self.k.stress(strain, self.rest_strain, self.lost)
    }

    fn assemble(&self, threads: [Vec3; 2], stress: Stress) -> Block<4> {
        let (mut k, strain) = (self.k, self.strain(threads));
        k.warp -= if strain.x < 0.0 { self.lost.x } else { 0.0 };
        k.weft -= if strain.y < 0.0 { self.lost.y } else { 0.0 };
        let between = couplings(self.b, k, threads, stress);
        let mut block = Block([[Mat3::ZERO; 4]; 4]);
        for i in 0..3 {
            for j in i..3 {
                let coupling = between(i, j);
                block.0[i + 1][j + 1] = coupling;
                block.0[j + 1][i + 1] = if i == j { coupling } else { coupling.transpose() };
            }
        }
        // the rows of the first point follow from translation: they sum to zero
        for i in 1..4 {
            let row = -(block.0[i][1] + block.0[i][2] + block.0[i][3]);
            (block.0[i][0], block.0[0][i]) = (row, row.transpose());
        }
        block.0[0][0] = -(block.0[1][0] + block.0[2][0] + block.0[3][0]);
        block
    }
}

impl Element<4> for CellMembrane {
    fn value(&self, x: &[Vec3; 4]) -> f64 {
        let strain = self.strain(self.threads(x));
        let (k, e) = (&self.k, strain - self.rest_strain);
        let pressed = Vec2::new(strain.x, strain.y).min(Vec2::ZERO);
        let full = k.warp * e.x * e.x + k.weft * e.y * e.y + 2.0 * k.cross * e.x * e.y + k.shear * e.z * e.z;
        0.5 * (full - self.lost.dot(pressed * pressed))
    }

    fn gradient(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let threads @ [fu, fv] = self.threads(x);
        let stress = self.stress(self.strain(threads));
        let (pu, pv) = (stress.uu * fu + stress.uv * fv, stress.vv * fv + stress.uv * fu);
        let [g1, g2, g3] = self.b.map(|b| b.x * pu + b.y * pv);
        [-(g1 + g2 + g3), g1, g2, g3]
    }

    fn hessian(&self, x: &[Vec3; 4]) -> Block<4> {
        let threads = self.threads(x);
        self.assemble(threads, self.stress(self.strain(threads)))
    }

    /// As [`Membrane`] has it: tension without compression.
    fn projected_hessian(&self, x: &[Vec3; 4]) -> Block<4> {
        let threads = self.threads(x);
        self.assemble(threads, self.stress(self.strain(threads)).positive_part())
    }

    /// With the stress that the step from `previous` predicted, as [`Membrane`] has it.
    fn newton_hessian(&self, x: &[Vec3; 4], previous: &[Vec3; 4]) -> Block<4> {
        let threads = self.threads(x);
        let strain = predicted(threads, self.threads(previous)) - self.at_rest;
        self.assemble(threads, self.stress(strain).positive_part())
    }
}

impl Resizable for CellMembrane {
    fn resized(&self, ratio: f64) -> Self {
        let area = ratio * ratio;
        Self { b: self.b.map(|b| b / ratio), k: self.k.scaled(area), lost: area * self.lost, ..*self }
    }
}

impl Viscous<4> for CellMembrane {
    fn with_viscosity(&self, eta: f64, past: &[(f64, [Vec3; 4])]) -> Self {
        let past_strain: Vec3 = past.iter().map(|(weight, x)| *weight * self.strain(self.threads(x))).sum();
        Self {
            k: self.k.scaled(1.0 + eta),
            rest_strain: (self.rest_strain + eta * past_strain) / (1.0 + eta),
            ..*self
        }
    }
}

/// The cells of a mesh, the most regular first, and for every triangle whether it has become half of one. `axes` are the triangles' threads.
pub(crate) fn cells(
    rest: &[Vec3],
    membranes: &[([u32; 3], Membrane)],
    axes: &[[Vec3; 2]],
) -> (Vec<([u32; 4], CellMembrane)>, Vec<bool>) {
    let triangles: Vec<[u32; 3]> = membranes.iter().map(|(corners, _)| *corners).collect();
    let topology = Topology::new(rest.len(), &triangles);
    let mut candidates: Vec<_> = topology
        .hinges()
        .iter()
        .filter_map(|hinge| {
            let [e0, e1, a, b] = hinge.vertices.map(|v| rest[v as usize]);
            let diagonals = [e0.distance(e1), a.distance(b)];
            let mean = 0.5 * (diagonals[0] + diagonals[1]);
            let askew = (0.5 * (e0 + e1)).distance(0.5 * (a + b)) / mean;
            // of parallelograms, rectangles: the cells of a grid, and not the slanted quads around its sides
            let slant = (diagonals[0] - diagonals[1]).abs() / mean;
            (askew <= MOST_ASKEW).then_some((askew + 0.2 * slant, hinge.vertices, hinge.triangles))
        })
        .collect();
    // stable, and compared coarsely: what round-off makes different must not decide
    candidates.sort_by_key(|(order, ..)| (order * 1e3) as u32);
    let mut is_half = vec![false; triangles.len()];
    let mut cells = Vec::new();
    for (_, points, halves) in candidates {
        let halves = halves.map(|t| t as usize);
        if halves.iter().any(|&t| is_half[t]) {
            continue;
        }
        let of = halves.map(|t| (&membranes[t].0, &membranes[t].1, &axes[t]));
        if let Some(cell) = CellMembrane::new(points, of, 1.0 - OWN_SHARE) {
            halves.iter().for_each(|&t| is_half[t] = true);
            cells.push((points, cell));
        }
    }
    (cells, is_half)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::rolling::{grid, rolled};
    use crate::{ClothBuilder, Material, axes_from_direction};
    use dynamics::{check_derivatives, check_element};

    /// A sheet of n × n cells of a square metre, its points in space at rest, and where they are rolled to.
    fn sheet(n: u32, random_diagonals: bool) -> (Vec<Vec2>, Vec<Vec3>, Vec<[u32; 3]>) {
        let (flat, triangles) = grid(n, [Vec2::X, Vec2::Y], 0.0, random_diagonals);
        let rest = flat.iter().map(|p| Vec3::new(p.x, p.y, 0.0)).collect();
        (flat, rest, triangles)
    }

    fn one(compression: f64) -> (CellMembrane, [Vec3; 4]) {
        let rest =
            [Vec3::ZERO, Vec3::new(1.0, 0.9, 0.1), Vec3::new(0.1, 1.0, 0.0), Vec3::new(0.95, -0.1, 0.05)];
        let corners = [[0, 1, 2], [1, 0, 3]];
        let stiffness =
            MembraneStiffness { warp: 4000.0, weft: 2500.0, cross: 600.0, shear: 80.0, compression };
        let of = corners.map(|t| {
            let points = t.map(|v: u32| rest[v as usize]);
            let axes = axes_from_direction(&points, Vec3::new(0.3, 1.0, -0.2)).unwrap();
            (t, Membrane::new(&points, axes, stiffness).unwrap(), axes)
        });
        let halves = [0, 1].map(|i: usize| (&of[i].0, &of[i].1, &of[i].2));
        (CellMembrane::new([0, 1, 2, 3], halves, 1.0).unwrap(), rest)
    }

    #[test]
    fn is_an_element() {
        for compression in [1.0, 0.05] {
            let (cell, rest) = one(compression);
            check_element(&cell, &rest);
            let deformed =
                |amount: f64| rest.map(|p| p + amount * Vec3::new(p.y, p.x * p.x, (3.0 * p.x).sin()));
            let viscous = cell.with_viscosity(0.7, &[(1.5, deformed(0.1)), (-0.5, deformed(-0.2))]);
            check_derivatives(&viscous, &deformed(0.3));
        }
    }

    /// One strain everywhere costs the same with cells and without, to the last digits, whatever the share.
    #[test]
    fn a_sheet_that_is_strained_alike_everywhere_has_the_energy_of_its_triangles() {
        let (_, rest, triangles) = sheet(4, true);
        let material = Material::preset("cotton").unwrap();
        let builder = ClothBuilder::new(&rest, &triangles, &material).warp(Vec3::X);
        let (plain, cells) =
            (builder.build().unwrap(), builder.clone().stretching(Stretching::Cells).build().unwrap());
        assert_eq!(cells.cells.len(), 16, "every square is a cell");
        let pulled: Vec<Vec3> =
            rest.iter().map(|p| Vec3::new(1.02 * p.x + 0.01 * p.y, 0.99 * p.y, 0.3 * p.x)).collect();
        let at = |v: &u32| pulled[*v as usize];
        let energy = |membranes: &mut dyn Iterator<Item = ([u32; 3], Membrane)>| -> f64 {
            membranes.map(|(t, e)| e.value(&[at(&t[0]), at(&t[1]), at(&t[2])])).sum()
        };
        let of_cells: f64 =
            cells.cells.iter().map(|(q, e)| e.value(&[at(&q[0]), at(&q[1]), at(&q[2]), at(&q[3])])).sum();
        let (with, without) =
            (energy(&mut cells.own_membranes()) + of_cells, energy(&mut plain.own_membranes()));
        assert!((with / without - 1.0).abs() < 1e-9, "{with} {without}");
    }

    /// Rolled onto a cylinder, points where they belong: triangles say that the sheet is stretched along the axis, cells do not.
    #[test]
    fn a_rolled_sheet_is_not_stretched_along_its_axis() {
        let (flat, rest, triangles) = sheet(8, false);
        // κh = ½
        let radius = 0.25;
        let (mut of_triangles, mut of_cells) = (0.0_f64, 0.0_f64);
        for angle in (0..12).map(|i| PI * f64::from(i) / 12.0) {
            let axis = Vec3::new(-angle.sin(), angle.cos(), 0.0);
            let material = Material::preset("cotton").unwrap();
            let builder = ClothBuilder::new(&rest, &triangles, &material).warp(axis);
            let cloth = builder.stretching(Stretching::Cells).build().unwrap();
            let roll = rolled(radius, angle);
            let x: Vec<Vec3> = flat.iter().map(|p| roll(*p)).collect();
            for (t, membrane) in &cloth.membranes {
                let strain = green(membrane.threads(&t.map(|v| x[v as usize])));
                of_triangles = of_triangles.max(strain.x);
            }
            for (q, cell) in &cloth.cells {
                let strain = cell.strain(cell.threads(&q.map(|v| x[v as usize])));
                of_cells = of_cells.max(strain.x.abs());
            }
        }
        // κ²h²/16 where a square is cut across the bend
        assert!((of_triangles / 0.0156 - 1.0).abs() < 0.05, "{of_triangles}");
        assert!(of_cells < 0.02 * of_triangles, "{of_cells}");
    }

    #[test]
    fn triangles_that_fold_or_have_other_threads_are_no_cell() {
        let rest = [Vec3::ZERO, Vec3::new(1.0, 1.0, 0.0), Vec3::Y, Vec3::X];
        let material = Material::preset("cotton").unwrap();
        let count = |points: &[Vec3], triangles: &[[u32; 3]]| {
            let builder = ClothBuilder::new(points, triangles, &material).warp(Vec3::X);
            builder.stretching(Stretching::Cells).build().unwrap().cells.len()
        };
        assert_eq!(count(&rest, &[[0, 1, 2], [1, 0, 3]]), 1);
        let folded = [rest[0], rest[1], rest[2], rest[3] + 0.8 * Vec3::Z];
        assert_eq!(count(&folded, &[[0, 1, 2], [1, 0, 3]]), 0);
        // mirrored across a leg: a larger triangle, and no parallelogram
        let kite = [Vec3::ZERO, Vec3::Y, -Vec3::X, Vec3::X];
        assert_eq!(count(&kite, &[[0, 1, 2], [1, 0, 3]]), 0);
    }
}
