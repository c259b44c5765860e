//! From test functions to constraint rows.

use geometry::{Bounds, Mat3, Prolongation, Vec3, triangle_area};
use linear::{ConstraintRows, Matrix, Pattern, Solver};
use std::sync::Arc;

use super::TestFunctions;
use crate::Error;

/// Points and functions that are carried over agree to single precision, in which meshes are stored.
pub(super) const CARRIED: f64 = 1e-6;

/// A row of a matrix: points and weights.
type Row = Vec<(u32, f64)>;

/// An undeformed surface: what integrals are taken over.
#[derive(Clone, Copy, Debug)]
pub struct RestSurface<'a> {
    /// Undeformed points.
    pub rest: &'a [Vec3],
    /// Triangles over them.
    pub triangles: &'a [[u32; 3]],
}

/// The constraints C̄ q̄ = C q: weighted averages of guide points equal those of tracked points.
///
/// C = S·𝓜 with Sᵢⱼ = φᵢ(xⱼ) and 𝓜 the consistent surface mass matrix (a triangle of area A couples its corners with A/12,
/// and each with itself with A/6); each row of C is rescaled so that it sums to the sum of the same row of C̄, so that a
/// common rigid motion changes nothing. tracks eqs. 5 – 8. Differs: both rows are divided by ∫|φ̄ᵢ|, so that a value is a mean
/// position in metres and a multiplier a force in newtons; and a function that was carried over from a guide on which the
/// tracked mesh lies has both integrals taken over the tracked mesh, C̄ = C P, so that the guide carried over satisfies the
/// constraint whatever the mass matrix. There it is the lumped one: a row rests on its function's own points, not also on
/// the ring around them, and costs the solver less.
#[derive(Clone, Debug)]
pub struct Averages {
    /// C̄, over the guide's points.
    pub guide: ConstraintRows,
    /// C, over the tracked mesh's points.
    pub tracked: ConstraintRows,
    names: Vec<String>,
}

impl Averages {
    /// Integrates the functions over both surfaces and checks that every one of them can be told apart from the others on
    /// the tracked mesh.
    ///
    /// `correspondence` carries what the guide has over to the tracked mesh; `free` says which tracked points may move; the
    /// others carry no constraint.
    pub fn new(
        functions: &TestFunctions,
        guide: RestSurface<'_>,
        tracked: RestSurface<'_>,
        correspondence: &Prolongation,
        free: &[bool],
    ) -> Result<Self, Error> {
        let (mut guide_rows, mut tracked_rows) = (Vec::new(), Vec::new());
        let (coarse, fine) = (Mass::new(guide), Mass::new(tracked));
        let lies_on_guide = lies_on(guide, tracked, correspondence);
        for i in 0..functions.len() {
            let name = || functions.names()[i].clone();
            let mut over_guide = coarse.times(functions.on_guide(i));
            let size = |row: &[(u32, f64)]| row.iter().map(|e| e.1.abs()).sum::<f64>();
            let sum = |row: &[(u32, f64)]| row.iter().map(|e| e.1).sum::<f64>();
            let guide_size = size(&over_guide);
            if guide_size <= 1e-12 * coarse.area || !guide_size.is_finite() {
                return Err(Error::EmptyTest { name: name(), mesh: "guide" });
            }
            if lies_on_guide && functions.is_carried_over(i, correspondence) {
                let row = fine.lumped(functions.on_tracked(i));
                let Some((over_guide, over_tracked)) = fine.means_through(row, correspondence) else {
                    return Err(Error::EmptyTest { name: name(), mesh: "tracked mesh" });
                };
                guide_rows.push(over_guide);
                tracked_rows.push(over_tracked);
                continue;
            }
            let mut over_tracked = fine.times(functions.on_tracked(i));
            let tracked_size = size(&over_tracked);
            if tracked_size <= 1e-12 * fine.area || !tracked_size.is_finite() {
                return Err(Error::EmptyTest { name: name(), mesh: "tracked mesh" });
            }
            let (guide_sum, tracked_sum) = (sum(&over_guide), sum(&over_tracked));
            over_guide.iter_mut().for_each(|entry| entry.1 /= guide_size);
            let wanted = guide_sum / guide_size;
            // functions about zero (harmonics) cannot be scaled to a sum: they are lifted to it
            if wanted.abs() > 1e-3 && tracked_sum.abs() > 1e-3 * tracked_size {
                over_tracked.iter_mut().for_each(|entry| entry.1 *= wanted / tracked_sum);
            } else {
                over_tracked.iter_mut().for_each(|entry| entry.1 /= tracked_size);
                let lift = (wanted - sum(&over_tracked)) / fine.area;
                over_tracked.extend(fine.ones.iter().map(|&(point, area)| (point, lift * area)));
            }
            guide_rows.push(over_guide);
            tracked_rows.push(over_tracked);
        }
        let guide = ConstraintRows::new(guide.rest.len(), guide_rows);
        let tracked_rows = ConstraintRows::new(tracked.rest.len(), tracked_rows);
        let averages = Self { guide, tracked: tracked_rows, names: functions.names().to_vec() };
        averages.check(free)?;
        Ok(averages)
    }

    /// Functions on the tracked mesh alone: the guide's averages are those of the guide seen on it, C̄ = C P. For functions
    /// that are finer or smoother than the guide. *upsample* §4: T p_f = T B p_c.
    pub fn through(
        names: Vec<String>,
        functions: &[Vec<f64>],
        tracked: RestSurface<'_>,
        correspondence: &Prolongation,
        free: &[bool],
    ) -> Result<Self, Error> {
        let mass = Mass::new(tracked);
        let (mut guide_rows, mut tracked_rows) = (Vec::new(), Vec::new());
        for (values, name) in functions.iter().zip(&names) {
            let entries: Vec<(u32, f64)> = (0_u32..).zip(values.iter().copied()).collect();
            let Some((over_guide, over_tracked)) = mass.means_through(mass.times(&entries), correspondence)
            else {
                return Err(Error::EmptyTest { name: name.clone(), mesh: "tracked mesh" });
            };
            guide_rows.push(over_guide);
            tracked_rows.push(over_tracked);
        }
        let guide = ConstraintRows::new(correspondence.coarse_count(), guide_rows);
        let tracked = ConstraintRows::new(tracked.rest.len(), tracked_rows);
        let averages = Self { guide, tracked, names };
        averages.check(free)?;
        Ok(averages)
    }

    /// How many constraints (of three coordinates each).
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True without constraints.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// What each is called.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How far tracked averages are from the guide's, the largest, in metres.
    pub fn residual(&self, guide: &[Vec3], tracked: &[Vec3]) -> f64 {
        let gaps = self.guide.multiply(guide).into_iter().zip(self.tracked.multiply(tracked));
        gaps.map(|(want, have)| want.distance(have)).fold(0.0, f64::max)
    }

    /// These and then those of another set. Whether they are independent of each other is not asked: rows that are
    /// compliant may say the same thing twice.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let joined = |a: &ConstraintRows, b: &ConstraintRows| {
            let rows = [a, b].into_iter().flat_map(|rows| (0..rows.len()).map(|r| rows.row(r).collect()));
            ConstraintRows::new(a.count(), rows)
        };
        Self {
            guide: joined(&self.guide, &other.guide),
            tracked: joined(&self.tracked, &other.tracked),
            names: self.names.iter().chain(&other.names).cloned().collect(),
        }
    }

    /// Whether the rows are linearly independent on the free points: the saddle-point matrix with unit masses is factorised
    /// and a vanishing pivot names the row.
    fn check(&self, free: &[bool]) -> Result<(), Error> {
        let movable = free.iter().filter(|free| **free).count();
        if self.len() > movable {
            return Err(Error::TooManyTests { tests: self.len(), points: movable });
        }
        for (r, name) in self.names.iter().enumerate() {
            if !self.tracked.row(r).any(|(point, weight)| free[point as usize] && weight != 0.0) {
                return Err(Error::EmptyTest { name: name.clone(), mesh: "free part of the tracked mesh" });
            }
        }
        let count = free.len();
        let pattern = Arc::new(Pattern::from_stencils(count, std::iter::empty::<&[u32]>()));
        let mut units = Matrix::new(pattern.clone());
        for point in 0..count as u32 {
            units.add(point, point, Mat3::IDENTITY);
        }
        let known: Vec<bool> = free.iter().map(|free| !free).collect();
        let settings = linear::Settings { method: linear::Method::Direct };
        let factorized = Solver::new(&pattern, &known, &self.tracked, settings)
            .and_then(|mut solver| solver.factorize(&units, &self.tracked));
        match factorized {
            Ok(()) => Ok(()),
            Err(linear::Error::SingularRow { row }) => Err(self.dependent(row, free)),
            Err(other) => Err(Error::Solver(other)),
        }
    }

    /// The error for a row that says nothing new, with those that overlap it most.
    fn dependent(&self, row: usize, free: &[bool]) -> Error {
        let mut values = vec![0.0; free.len()];
        self.tracked.row(row).for_each(|(point, weight)| values[point as usize] = weight);
        let overlap = |r: usize| -> f64 {
            let (mut both, mut own) = (0.0, 0.0);
            for (point, weight) in self.tracked.row(r) {
                both += values[point as usize] * weight;
                own += weight * weight;
            }
            both.abs() / own.sqrt()
        };
        let mut others: Vec<(usize, f64)> =
            (0..self.len()).filter(|&r| r != row).map(|r| (r, overlap(r))).filter(|o| o.1 > 0.0).collect();
        others.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let with = others.iter().take(3).map(|&(r, _)| self.names[r].clone()).collect();
        Error::DependentTest { name: self.names[row].clone(), with }
    }
}

/// The consistent mass matrix of a surface, triangle by triangle around each point.
struct Mass {
    /// Triangles around each point: corners and area.
    around: Vec<Vec<([u32; 3], f64)>>,
    area: f64,
    /// 𝓜 1: a third of the area around each point.
    ones: Vec<(u32, f64)>,
}

impl Mass {
    fn new(surface: RestSurface<'_>) -> Self {
        let mut around = vec![Vec::new(); surface.rest.len()];
        let mut lumped = vec![0.0; surface.rest.len()];
        let mut total = 0.0;
        for t in surface.triangles {
            let [a, b, c] = t.map(|v| surface.rest[v as usize]);
            let area = triangle_area(a, b, c);
            total += area;
            for &v in t {
                around[v as usize].push((*t, area));
                lumped[v as usize] += area / 3.0;
            }
        }
        let ones = (0_u32..).zip(lumped).filter(|(_, area)| *area > 0.0).collect();
        // a surface without area has no test functions; any positive number lets the checks say so
        Self { around, area: if total > 0.0 { total } else { f64::MIN_POSITIVE }, ones }
    }

    /// The lumped mass matrix times φ.
    fn lumped(&self, function: &[(u32, f64)]) -> Row {
        let around = |point: u32| self.around[point as usize].iter().map(|(_, area)| area).sum::<f64>();
        let weighted = |&(point, value): &(u32, f64)| (point, value * around(point) / 3.0);
        function.iter().map(weighted).filter(|entry| entry.1 != 0.0).collect()
    }

    /// A row made a mean, with what it is on the guide when that is carried over to this mesh. None if it is empty.
    fn means_through(&self, mut row: Row, correspondence: &Prolongation) -> Option<(Row, Row)> {
        let size = row.iter().map(|entry| entry.1.abs()).sum::<f64>();
        if size <= 1e-12 * self.area || !size.is_finite() {
            return None;
        }
        row.iter_mut().for_each(|entry| entry.1 /= size);
        let seen = |&(fine, weight): &(u32, f64)| {
            correspondence.row(fine as usize).map(move |(coarse, w)| (coarse, weight * w))
        };
        Some((row.iter().flat_map(seen).collect(), row))
    }

    /// 𝓜 φ.
    fn times(&self, function: &[(u32, f64)]) -> Row {
        let mut row = Vec::new();
        for &(point, value) in function {
            for (corners, area) in &self.around[point as usize] {
                for &corner in corners {
                    let share = if corner == point { 6.0 } else { 12.0 };
                    row.push((corner, value * area / share));
                }
            }
        }
        row.sort_by_key(|entry| entry.0);
        row.chunk_by(|a, b| a.0 == b.0).map(|run| (run[0].0, run.iter().map(|e| e.1).sum())).collect()
    }
}

/// Whether the undeformed guide, carried over, is the undeformed tracked mesh.
fn lies_on(guide: RestSurface<'_>, tracked: RestSurface<'_>, correspondence: &Prolongation) -> bool {
    if [correspondence.coarse_count(), correspondence.fine_count()] != [guide.rest.len(), tracked.rest.len()]
    {
        return false;
    }
    let size = Bounds::of(tracked.rest.iter().copied()).diagonal();
    let carried = correspondence.vectors(guide.rest);
    carried.iter().zip(tracked.rest).all(|(a, b)| a.distance(*b) <= CARRIED * size)
}

/// Checks that a tracked mesh lies on its guide: no point farther from it than `share` of the guide's size.
pub fn check_correspondence(distances: &[f64], guide: &[Vec3], share: f64) -> Result<(), Error> {
    let size = Bounds::of(guide.iter().copied()).diagonal();
    match distances.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)) {
        Some((point, &distance)) if distance > share * size => {
            Err(Error::NoCorrespondence { point, distance, size })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::{Scheme, subdivide_times};

    /// A bent strip of two triangles and its subdivision.
    fn strip(levels: usize, scheme: Scheme) -> (Vec<Vec3>, Vec<[u32; 3]>, geometry::Subdivision) {
        let rest = vec![Vec3::ZERO, Vec3::X, Vec3::new(0.0, 1.3, 0.2), Vec3::new(1.1, 1.0, 0.0)];
        let triangles = vec![[0, 1, 2], [2, 1, 3]];
        let fine = subdivide_times(4, &triangles, scheme, levels);
        (rest, triangles, fine)
    }

    /// Hats of the strip, with the integrals over both meshes or over the finer one alone.
    fn averages(scheme: Scheme, both: bool) -> (Averages, Vec<Vec3>, geometry::Subdivision) {
        let (rest, triangles, fine) = strip(3, scheme);
        let fine_rest = fine.prolongation.vectors(&rest);
        let functions = TestFunctions::hats(&fine.prolongation);
        let guide = RestSurface { rest: &rest, triangles: &triangles };
        let tracked = RestSurface { rest: &fine_rest, triangles: &fine.triangles };
        let free = vec![true; fine_rest.len()];
        // by this the tracked mesh does not lie on the guide
        let elsewhere = Prolongation::new(rest.len(), fine_rest.iter().map(|_| vec![(0, 1.0)]));
        let way = if both { &elsewhere } else { &fine.prolongation };
        (Averages::new(&functions, guide, tracked, way, &free).unwrap(), rest, fine)
    }

    #[test]
    fn linear_subdivision_of_any_guide_pose_satisfies_the_constraints_exactly() {
        // with both integrals: that of a product of linear functions is exact on the finer mesh
        for both in [true, false] {
            let (averages, rest, fine) = averages(Scheme::Linear, both);
            let pose: Vec<Vec3> =
                rest.iter().enumerate().map(|(i, p)| *p * 1.7 + Vec3::splat((i * i) as f64)).collect();
            let carried = fine.prolongation.vectors(&pose);
            assert!(averages.residual(&pose, &carried) < 1e-14);
            let moved: Vec<Vec3> = carried.iter().map(|p| *p + Vec3::new(0.0, 3.0, 4.0)).collect();
            assert!((averages.residual(&pose, &moved) - 5.0).abs() < 1e-12, "in metres");
            for r in 0..4 {
                assert!((averages.guide.row(r).map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-14, "a mean");
            }
        }
    }

    #[test]
    fn a_function_carried_over_rests_on_its_own_points() {
        for (scheme, both) in [(Scheme::Linear, false), (Scheme::Loop, false), (Scheme::Linear, true)] {
            let (averages, rest, fine) = averages(scheme, both);
            let functions = TestFunctions::hats(&fine.prolongation);
            for r in 0..4 {
                let points = averages.tracked.row(r).filter(|entry| entry.1 != 0.0).count();
                assert_eq!(points == functions.on_tracked(r).len(), !both, "{points} points");
                // a hat of a corner knows nothing of the triangle that the corner is not in
                let is_corner = r == 0 || r == 3;
                assert!(!is_corner || points < fine.prolongation.fine_count(), "{points} points");
            }
            let pose: Vec<Vec3> = rest.iter().map(|p| Vec3::new(p.y, 1.3 * p.x + p.z, p.z - p.x)).collect();
            assert!(averages.residual(&pose, &fine.prolongation.vectors(&pose)) < 1e-14);
        }
    }

    #[test]
    fn rows_keep_their_sums_so_that_translation_changes_nothing() {
        let (averages, rest, fine) = averages(Scheme::Loop, true);
        let tracked = fine.prolongation.vectors(&rest);
        let shift = Vec3::new(3.0, -7.0, 11.0);
        let gaps = |guide: &[Vec3], tracked: &[Vec3]| -> Vec<Vec3> {
            let pairs = averages.guide.multiply(guide).into_iter().zip(averages.tracked.multiply(tracked));
            pairs.map(|(a, b)| a - b).collect()
        };
        let moved = |points: &[Vec3]| points.iter().map(|p| *p + shift).collect::<Vec<_>>();
        for (here, there) in gaps(&rest, &tracked).into_iter().zip(gaps(&moved(&rest), &moved(&tracked))) {
            assert!((here - there).length() < 1e-13);
        }
    }

    #[test]
    fn empty_dependent_and_too_many_functions_are_named() {
        let (rest, triangles, fine) = strip(1, Scheme::Linear);
        let fine_rest = fine.prolongation.vectors(&rest);
        let count = fine_rest.len();
        let guide = RestSurface { rest: &rest, triangles: &triangles };
        let tracked = RestSurface { rest: &fine_rest, triangles: &fine.triangles };
        let build = |functions: &TestFunctions, free: &[bool]| {
            Averages::new(functions, guide, tracked, &fine.prolongation, free)
        };
        let all = vec![true; count];
        let hats = TestFunctions::hats(&fine.prolongation);

        let mut empty = hats.clone();
        empty.push("sleeve", &[0.0; 4], &vec![1.0; count]);
        let error = build(&empty, &all).unwrap_err();
        assert_eq!(error, Error::EmptyTest { name: "sleeve".into(), mesh: "guide" });

        let mut whole = hats.clone();
        whole.push("whole", &[1.0; 4], &vec![1.0; count]);
        assert!(
            matches!(build(&whole, &all).unwrap_err(), Error::DependentTest { with, .. } if with.len() == 3)
        );

        let mut many = TestFunctions::new();
        (0..count + 1).for_each(|_| many = many.clone().and(hats.clone()));
        assert_eq!(
            build(&many, &all).unwrap_err(),
            Error::TooManyTests { tests: 4 * (count + 1), points: count }
        );

        let mut held = all.clone();
        held[..4].fill(false);
        (4..count).for_each(|v| held[v] = v == 4);
        assert!(matches!(build(&hats, &held).unwrap_err(), Error::TooManyTests { tests: 4, points: 1 }));
    }

    /// What overlaps is told by its direction, not by how large its weights are.
    #[test]
    fn a_dependent_row_is_told_with_what_it_resembles_most() {
        let rows =
            [vec![(0, 1.0), (1, 1.0)], vec![(0, 0.1), (1, 0.1)], vec![(0, 10.0), (2, 10.0)], vec![(2, 1.0)]];
        let averages = Averages {
            guide: ConstraintRows::new(3, rows.clone()),
            tracked: ConstraintRows::new(3, rows),
            names: ["a", "b", "c", "d"].map(String::from).to_vec(),
        };
        let Error::DependentTest { name, with } = averages.dependent(0, &[true; 3]) else {
            panic!("another error")
        };
        assert_eq!((name, with), ("a".into(), vec!["b".into(), "c".into()]));
    }

    #[test]
    fn a_mesh_lies_on_its_guide_or_it_does_not() {
        let (rest, triangles, fine) = strip(2, Scheme::Linear);
        let on = fine.prolongation.vectors(&rest);
        let off: Vec<Vec3> = on.iter().map(|p| *p + 0.01 * Vec3::Z).collect();
        let guide = RestSurface { rest: &rest, triangles: &triangles };
        let lies = |rest: &[Vec3]| {
            lies_on(guide, RestSurface { rest, triangles: &fine.triangles }, &fine.prolongation)
        };
        assert!(lies(&on) && !lies(&off) && !lies(&on[1..]));
    }
}
