//! Test functions: where averages are taken, on the guide and on the tracked mesh.

use std::collections::VecDeque;

use geometry::{Prolongation, Topology, Vec3, triangle_area};

use super::averages::CARRIED;

/// A set of test functions, each by its values at the points of the guide and of the tracked mesh, linear between them.
///
/// The two meshes correspond through the functions alone: they need not have a point in common, nor the same genus.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestFunctions {
    names: Vec<String>,
    guide: Vec<Vec<(u32, f64)>>,
    tracked: Vec<Vec<(u32, f64)>>,
}

impl TestFunctions {
    /// No functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function by its values at all points of both meshes: painted pairs of regions. Zeros are not kept.
    pub fn push(&mut self, name: impl Into<String>, guide: &[f64], tracked: &[f64]) {
        let sparse = |values: &[f64]| -> Vec<(u32, f64)> {
            let entries = values.iter().enumerate().map(|(point, &value)| (point as u32, value));
            entries.filter(|(_, value)| *value != 0.0).collect()
        };
        self.names.push(name.into());
        self.guide.push(sparse(guide));
        self.tracked.push(sparse(tracked));
    }

    /// One function per point of the guide: 1 there, 0 at all others, prolonged to the tracked mesh. With linear
    /// subdivision these are the guide's hat functions on the finer mesh.
    pub fn hats(correspondence: &Prolongation) -> Self {
        let count = correspondence.coarse_count();
        let mut tracked = vec![Vec::new(); count];
        for fine in 0..correspondence.fine_count() {
            for (coarse, weight) in correspondence.row(fine).filter(|(_, weight)| *weight != 0.0) {
                tracked[coarse as usize].push((fine as u32, weight));
            }
        }
        Self {
            names: (0..count).map(|point| format!("point {point}")).collect(),
            guide: (0..count as u32).map(|point| vec![(point, 1.0)]).collect(),
            tracked,
        }
    }

    /// One function per region of guide triangles: 1 at the points of the region, 0 at all others, prolonged to the
    /// tracked mesh. A point on a seam belongs to the region that has the most area around it, so the functions sum
    /// to one everywhere.
    ///
    /// `regions` holds the region of each triangle, `rest` the guide's undeformed points.
    pub fn regions(
        rest: &[Vec3],
        triangles: &[[u32; 3]],
        regions: &[u32],
        correspondence: &Prolongation,
    ) -> Self {
        let count = regions.iter().max().map_or(0, |most| *most as usize + 1);
        let owner = point_regions(rest, triangles, regions, count);
        let mut functions = Self::new();
        for region in 0..count {
            let guide: Vec<f64> =
                owner.iter().map(|&o| f64::from(u8::from(o == Some(region as u32)))).collect();
            functions.push(format!("region {region}"), &guide, &correspondence.numbers(&guide));
        }
        functions
    }

    /// How many functions.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True without functions.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// What each function is called.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values of function `i` on the guide's points, zeros left out.
    pub fn on_guide(&self, i: usize) -> &[(u32, f64)] {
        &self.guide[i]
    }

    /// Whether function `i` on the tracked mesh is what it is on the guide, carried over.
    pub fn is_carried_over(&self, i: usize, correspondence: &Prolongation) -> bool {
        let dense = |entries: &[(u32, f64)], count: usize| {
            let mut values = vec![0.0; count];
            entries.iter().for_each(|&(point, value)| values[point as usize] += value);
            values
        };
        let carried = correspondence.numbers(&dense(&self.guide[i], correspondence.coarse_count()));
        let here = dense(&self.tracked[i], correspondence.fine_count());
        carried.iter().zip(here).all(|(a, b)| (a - b).abs() <= CARRIED)
    }

    /// The values of function `i` on the tracked mesh's points, zeros left out.
    pub fn on_tracked(&self, i: usize) -> &[(u32, f64)] {
        &self.tracked[i]
    }

    /// These and then those of another set.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.names.extend(other.names);
        self.guide.extend(other.guide);
        self.tracked.extend(other.tracked);
        self
    }
}

/// The region of every point: the one with the most area around it; of equal ones, the smaller number. A region that would
/// come out without points takes one from a region that can spare it. `None` for points without triangles.
fn point_regions(rest: &[Vec3], triangles: &[[u32; 3]], regions: &[u32], count: usize) -> Vec<Option<u32>> {
    let mut shares: Vec<Vec<(u32, f64)>> = vec![Vec::new(); rest.len()];
    for (t, &region) in triangles.iter().zip(regions) {
        let [a, b, c] = t.map(|v| rest[v as usize]);
        let area = triangle_area(a, b, c);
        for &v in t {
            match shares[v as usize].iter_mut().find(|share| share.0 == region) {
                Some(share) => share.1 += area,
                None => shares[v as usize].push((region, area)),
            }
        }
    }
    let largest = |shares: &Vec<(u32, f64)>| {
        shares.iter().min_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))).map(|share| share.0)
    };
    let mut owner: Vec<Option<u32>> = shares.iter().map(largest).collect();
    let mut sizes = vec![0_usize; count];
    owner.iter().flatten().for_each(|&region| sizes[region as usize] += 1);
    let mut points_of: Vec<Vec<(u32, f64)>> = vec![Vec::new(); count];
    for (v, shares) in (0_u32..).zip(&shares) {
        shares.iter().for_each(|&(region, share)| points_of[region as usize].push((v, share)));
    }
    points_of.iter_mut().for_each(|points| points.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))));
    for region in 0..count as u32 {
        if sizes[region as usize] == 0 {
            take_a_point(region, &points_of, &mut owner, &mut sizes);
        }
    }
    owner
}

/// A region without points takes one from a neighbour. One that has no other takes another from a neighbour of its own, and so on to the
/// nearest that can spare one (an augmenting path of bipartite matching). Where none can, all stays as it is.
fn take_a_point(start: u32, points_of: &[Vec<(u32, f64)>], owner: &mut [Option<u32>], sizes: &mut [usize]) {
    // of regions that would lose their only point: the point, and who takes it
    let mut loses: Vec<Option<(u32, u32)>> = vec![None; sizes.len()];
    let mut waiting = VecDeque::from([start]);
    while let Some(taker) = waiting.pop_front() {
        for &(point, _) in &points_of[taker as usize] {
            let Some(other) = owner[point as usize].filter(|other| *other != taker) else { continue };
            if sizes[other as usize] == 1 {
                if other != start && loses[other as usize].is_none() {
                    loses[other as usize] = Some((point, taker));
                    waiting.push_back(other);
                }
                continue;
            }
            sizes[other as usize] -= 1;
            sizes[start as usize] += 1;
            let mut hand_over = Some((point, taker));
            while let Some((point, taker)) = hand_over {
                owner[point as usize] = Some(taker);
                hand_over = loses[taker as usize];
            }
            return;
        }
    }
}

/// For every triangle the triangles across its edges, ascending.
pub(crate) fn triangle_neighbours(point_count: usize, triangles: &[[u32; 3]]) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); triangles.len()];
    for edge in Topology::new(point_count, triangles).edges() {
        for &s in &edge.triangles {
            neighbours[s as usize].extend(edge.triangles.iter().filter(|t| **t != s));
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seams_go_to_the_larger_side_and_no_region_stays_empty() {
        // a fan around point 0: triangle 1 is large, triangle 2 is a sliver whose points all belong to others
        let rest = [
            Vec3::ZERO,
            Vec3::X,
            Vec3::new(0.0, 1.0, 0.0),
            Vec3::new(-3.0, 0.0, 0.0),
            Vec3::new(-3.0, 0.1, 0.0),
        ];
        let triangles = [[0, 1, 2], [0, 2, 3], [0, 3, 4]];
        let functions = TestFunctions::regions(&rest, &triangles, &[0, 1, 2], &Prolongation::identity(5));
        let points = |i: usize| functions.on_guide(i).iter().map(|e| e.0).collect::<Vec<_>>();
        assert_eq!([points(0), points(1), points(2)], [vec![1], vec![0, 2, 3], vec![4]]);
    }

    /// As many regions as a mesh can carry: 64 pairs of triangles over 66 points.
    #[test]
    fn every_region_has_a_point_while_there_are_enough() {
        let ball = geometry::subdivide_times(6, &OCTAHEDRON, geometry::Scheme::Linear, 2);
        let count = ball.prolongation.fine_count();
        let places = [Vec3::X, -Vec3::X, Vec3::Y, -Vec3::Y, Vec3::Z, -Vec3::Z];
        let rest: Vec<Vec3> = ball.prolongation.vectors(&places);
        let regions: Vec<u32> = (0..ball.triangles.len() as u32).map(|t| t / 2).collect();
        assert_eq!((count, regions.len()), (66, 128));
        let functions =
            TestFunctions::regions(&rest, &ball.triangles, &regions, &Prolongation::identity(count));
        assert!((0..functions.len()).all(|i| !functions.on_guide(i).is_empty()));
    }

    const OCTAHEDRON: [[u32; 3]; 8] =
        [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];

    #[test]
    fn hats_sum_to_one_on_the_fine_mesh() {
        let fine = geometry::subdivide_times(3, &[[0, 1, 2]], geometry::Scheme::Linear, 3);
        let hats = TestFunctions::hats(&fine.prolongation);
        let mut sums = vec![0.0; fine.prolongation.fine_count()];
        for i in 0..hats.len() {
            hats.on_tracked(i).iter().for_each(|&(point, value)| sums[point as usize] += value);
        }
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-14));
    }

    #[test]
    fn hats_are_carried_over_by_their_own_prolongation_alone() {
        let fine = geometry::subdivide_times(3, &[[0, 1, 2]], geometry::Scheme::Linear, 2);
        let hats = TestFunctions::hats(&fine.prolongation);
        let elsewhere = Prolongation::new(3, (0..fine.prolongation.fine_count()).map(|_| vec![(0, 1.0)]));
        for i in 0..3 {
            assert!(
                hats.is_carried_over(i, &fine.prolongation) && !hats.is_carried_over(i, &elsewhere),
                "{i}"
            );
        }
    }
}
