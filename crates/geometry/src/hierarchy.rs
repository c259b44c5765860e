//! The hierarchical basis of a lattice: coarse functions, and finer ones added where detail is wanted.
//!
//! With K₀ the lattice and K₁, K₂ … its subdivisions, level 0 has a function for every point of K₀: 1 there, 0 at the other
//! points. Level j adds one for every *new* point of K_j: 1 there, 0 at all other points of K_j ("lazy wavelets"; skeleton
//! §3.1). So a value at a new point is the mean of its parents' values plus a coefficient of its own,
//!
//! ```text
//! f_p = mean(f_parents) + c_p,
//! ```
//!
//! and at rest, where f is the position, all coefficients above level 0 are zero. Any subset of the functions is linearly
//! independent: the matrix of their values at their own points, levels ascending, is triangular with ones on the diagonal.
//!
//! Functions of new points *on bones* are left out, so that a bone is moved by level 0 alone and held exactly by known
//! coefficients. Functions that vanish on the object can be left out by the caller ([`Hierarchy::retain`]).
//!
//! Between points of the finest level functions are linear on the tets that its cells are cut into, as the paper's integrals
//! take them.

use crate::{Embedding, Error, Lattice, Prolongation, TetMesh, Vec3};

/// One function of a [`Hierarchy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// 0 for the lattice itself.
    pub level: u32,
    /// The point where it is 1: in every lattice from its level on.
    pub point: u32,
}

/// A cell of some level but the finest: where deformation is judged, to say whether functions of the next level are wanted in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The level of the functions in it, one above that of the cell.
    pub level: u32,
    /// Corners of the cell; they are points of the finest level, too.
    pub corners: Vec<u32>,
    /// Functions of that level whose points lie in the cell, on its faces or on its edges, ascending.
    pub functions: Vec<u32>,
}

/// Functions over a lattice, by levels, and their values at the points of the finest level.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    functions: Vec<Function>,
    values: Prolongation,
    rest: Vec<Vec3>,
    mesh: TetMesh,
    /// Cell of the coarsest lattice that each tet lies in.
    cells: Vec<u32>,
    patches: Vec<Patch>,
}

impl Hierarchy {
    /// Levels 0 to `levels` of functions. `bones` are edges of the lattice on which finer functions must vanish.
    pub fn new(lattice: &Lattice, levels: u32, bones: &[[u32; 2]]) -> Result<Self, Error> {
        let coarse = lattice.points().len();
        let mut functions: Vec<Function> =
            (0..coarse as u32).map(|point| Function { level: 0, point }).collect();
        let mut rows: Vec<Vec<(u32, f64)>> = (0..coarse as u32).map(|point| vec![(point, 1.0)]).collect();
        let mut on_bone: Vec<[u32; 2]> = bones.iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect();
        let mut fine = lattice.clone();
        let mut cells: Vec<u32> = (0..lattice.cells().len() as u32).collect();
        let mut patches = Vec::new();
        for level in 1..=levels {
            on_bone.sort_unstable();
            let refined = fine.subdivided();
            let first = fine.points().len() as u32;
            let mut halves = Vec::new();
            let mut function_of = vec![None; refined.parents.len()];
            for (k, parents) in refined.parents.iter().enumerate() {
                let point = first + k as u32;
                let share = 1.0 / parents.len() as f64;
                let of_parents = parents.iter().flat_map(|&p| rows[p as usize].iter());
                let mut row: Vec<(u32, f64)> = of_parents.map(|&(f, value)| (f, share * value)).collect();
                match parents[..] {
                    [a, b] if on_bone.binary_search(&[a.min(b), a.max(b)]).is_ok() => {
                        halves.extend([[a, point], [b, point]]);
                    }
                    _ => {
                        function_of[k] = Some(functions.len() as u32);
                        row.push((functions.len() as u32, 1.0));
                        functions.push(Function { level, point });
                    }
                }
                rows.push(merged(row));
            }
            on_bone = halves;
            patches.extend(patches_of(level, &fine, &refined.lattice, &function_of));
            // one hexahedron for each corner, in the order of cells
            let split = fine.cells().iter().zip(&cells);
            cells = split.flat_map(|(cell, &of)| std::iter::repeat_n(of, cell.corners().len())).collect();
            fine = refined.lattice;
        }
        let (mesh, cell_of_tet) = fine.tets()?;
        let cells = cell_of_tet.iter().map(|&cell| cells[cell as usize]).collect();
        let mut rest = lattice.points().to_vec();
        rest.resize(functions.len(), Vec3::ZERO);
        let values = Prolongation::new(functions.len(), rows);
        Ok(Self { functions, values, rest, mesh, cells, patches })
    }

    /// The functions, level after level.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Values of the functions at every point of the finest level.
    pub fn values(&self) -> &Prolongation {
        &self.values
    }

    /// Coefficients of the identity: the lattice's points on level 0, zero above.
    pub fn rest(&self) -> &[Vec3] {
        &self.rest
    }

    /// The finest level's cells as tets, on which functions are linear.
    pub fn mesh(&self) -> &TetMesh {
        &self.mesh
    }

    /// The lattice's cell that each of those tets lies in.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// Where deformation says which functions above level 0 are wanted, level after level.
    pub fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// Values of the functions at any places; outside of the lattice, of those of the nearest tet.
    pub fn at(&self, places: &[Vec3]) -> Result<Prolongation, Error> {
        let embedding = Embedding::new(&self.mesh, places)?;
        let rows = embedding.corners().iter().zip(embedding.weights());
        let points = self.mesh.points().len();
        let to_places =
            Prolongation::new(points, rows.map(|(&c, &w)| c.into_iter().zip(w).collect::<Vec<_>>()));
        Ok(self.values.then(&to_places))
    }

    /// Only the functions for which `keep` is true; level 0 is always kept whole.
    #[must_use]
    pub fn retain(&self, keep: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<usize> =
            (0..self.functions.len()).filter(|&f| self.functions[f].level == 0 || keep(f)).collect();
        let mut number = vec![u32::MAX; self.functions.len()];
        kept.iter().enumerate().for_each(|(new, &old)| number[old] = new as u32);
        let row = |point: usize| {
            let renamed = self.values.row(point).map(|(f, value)| (number[f as usize], value));
            renamed.filter(|(f, _)| *f != u32::MAX).collect::<Vec<_>>()
        };
        Self {
            functions: kept.iter().map(|&f| self.functions[f]).collect(),
            values: Prolongation::new(kept.len(), (0..self.values.fine_count()).map(row)),
            rest: kept.iter().map(|&f| self.rest[f]).collect(),
            mesh: self.mesh.clone(),
            cells: self.cells.clone(),
            patches: self.patches.iter().map(|patch| patch.renamed(&number)).collect(),
        }
    }
}

impl Patch {
    /// The same with functions under other numbers; those without one go.
    fn renamed(&self, number: &[u32]) -> Self {
        let functions = self.functions.iter().map(|&f| number[f as usize]);
        Self { functions: functions.filter(|&f| f != u32::MAX).collect(), ..self.clone() }
    }
}

/// The cells of a lattice with the functions of its subdivision in them; `function_of` has those of the new points.
fn patches_of(level: u32, coarse: &Lattice, fine: &Lattice, function_of: &[Option<u32>]) -> Vec<Patch> {
    let first = coarse.points().len();
    let mut hexes = fine.cells().iter();
    let patch = |cell: &crate::Cell| {
        let corners = cell.corners().to_vec();
        // one hexahedron for each corner, in the order of cells
        let points = hexes.by_ref().take(corners.len()).flat_map(|hex| hex.corners().iter());
        let new = points.filter_map(|&point| (point as usize).checked_sub(first));
        let mut functions: Vec<u32> = new.filter_map(|point| function_of[point]).collect();
        functions.sort_unstable();
        functions.dedup();
        Patch { level, corners, functions }
    };
    coarse.cells().iter().map(patch).collect()
}

/// Entries of one function summed, functions ascending.
fn merged(mut row: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    row.sort_by_key(|entry| entry.0);
    row.chunk_by(|a, b| a.0 == b.0).map(|run| (run[0].0, run.iter().map(|entry| entry.1).sum())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::{Bounds, Cell, Mat3};

    fn mixed() -> Lattice {
        let mut points = Lattice::box_grid([1, 1, 1], Vec3::new(1.0, 1.2, 0.9)).unwrap().points().to_vec();
        points.extend([Vec3::new(1.8, 0.6, 0.0), Vec3::new(1.9, 0.7, 0.9), Vec3::new(1.4, 0.6, 1.7)]);
        let cells = vec![
            Cell::Hex([0, 1, 3, 2, 4, 5, 7, 6]),
            Cell::Prism([1, 8, 3, 5, 9, 7]),
            Cell::Tet([5, 9, 7, 10]),
        ];
        Lattice::new(points, cells).unwrap()
    }

    #[test]
    fn level_zero_sums_to_one_and_linear_maps_are_reproduced() {
        let hierarchy = Hierarchy::new(&mixed(), 3, &[[1, 5]]).unwrap();
        let bounds = Bounds::of(hierarchy.mesh().points().iter().copied());
        let mut random = Random::new(11);
        let inside: Vec<Vec3> =
            (0..300).map(|_| bounds.centre() + 0.5 * bounds.size() * random.vec3()).collect();
        let at = hierarchy.at(&inside).unwrap();
        let map = Mat3::from_cols(Vec3::new(1.0, 0.3, -2.0), Vec3::Y, Vec3::new(0.1, 0.5, 1.2));
        let level = |f: u32| hierarchy.functions()[f as usize].level;
        // the map's coefficients: values at level 0, nothing above
        let mut coefficients: Vec<Vec3> = hierarchy.rest().iter().map(|&p| map * p).collect();
        for (c, f) in coefficients.iter_mut().zip(hierarchy.functions()).filter(|(_, f)| f.level == 0) {
            *c += Vec3::new(2.0, -1.0, 0.5);
            assert!(f.level == 0);
        }
        for (k, (&p, q)) in inside.iter().zip(at.vectors(&coefficients)).enumerate() {
            let sum: f64 = at.row(k).filter(|(f, _)| level(*f) == 0).map(|(_, value)| value).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
            assert!((map * p + Vec3::new(2.0, -1.0, 0.5)).distance(q) < 1e-12 * 10.0);
        }
        for levels in 1..=3 {
            assert!(hierarchy.functions().iter().any(|f| f.level == levels));
        }
    }

    #[test]
    fn finer_functions_vanish_on_bones() {
        let lattice = mixed();
        let bones = [[1, 5], [5, 9]];
        let hierarchy = Hierarchy::new(&lattice, 3, &bones).unwrap();
        let places: Vec<Vec3> = bones
            .iter()
            .flat_map(|edge| {
                let [a, b] = edge.map(|v| lattice.points()[v as usize]);
                (0..=20).map(move |k| a.lerp(b, f64::from(k) / 20.0))
            })
            .collect();
        let at = hierarchy.at(&places).unwrap();
        for place in 0..places.len() {
            for (f, value) in at.row(place) {
                let Function { level, point } = hierarchy.functions()[f as usize];
                let on_bone = bones.iter().flatten().any(|&v| v == point) && level == 0;
                assert!(on_bone || value.abs() < 1e-12, "level {level} point {point}: {value}");
            }
        }
        // without bones there are more functions: one on each middle of a bone, on each quarter, on each eighth
        let free = Hierarchy::new(&lattice, 3, &[]).unwrap();
        assert_eq!(free.functions().len(), hierarchy.functions().len() + 2 * (1 + 2 + 4));
    }

    #[test]
    fn every_subset_is_independent() {
        // values at the functions' own points, levels ascending, are triangular with ones on the diagonal: no subset of
        // columns can be dependent
        let hierarchy = Hierarchy::new(&mixed(), 3, &[[1, 5]]).unwrap();
        for (f, function) in hierarchy.functions().iter().enumerate() {
            let row: Vec<(u32, f64)> = hierarchy.values().row(function.point as usize).collect();
            for (g, value) in row {
                let other = hierarchy.functions()[g as usize];
                if g as usize == f {
                    assert_eq!(value, 1.0);
                } else {
                    assert!(other.level < function.level, "{function:?} {other:?} {value}");
                }
            }
        }
        // every finer function is in a cell that says whether it is wanted
        for (f, function) in hierarchy.functions().iter().enumerate().filter(|(_, f)| f.level > 0) {
            let mut own = hierarchy.patches().iter().filter(|patch| patch.functions.contains(&(f as u32)));
            assert!(own.clone().count() > 0 && own.all(|patch| patch.level == function.level));
        }
        let half = hierarchy.retain(|f| f % 2 == 0);
        assert!(half.functions().len() < hierarchy.functions().len());
        assert!(half.functions().iter().filter(|f| f.level == 0).count() == 11);
        assert_eq!(half.values().coarse_count(), half.functions().len());
    }
}
