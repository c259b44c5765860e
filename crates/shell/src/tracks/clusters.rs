//! Animation-aware clusters: triangles that move alike form regions.
//!
//! Lloyd's algorithm on triangles: regions grow from seeds over neighbouring triangles, nearest first (so they are
//! connected), then each proxy becomes the mean of its region, frame by frame. Regions tend to end where rigid parts meet.
//! tracks §4.1; Cohen-Steiner et al. 2004 §3.3. Differs: the first seeds are spread by distance (k-means++), which saves
//! iterations; a painted density draws more, smaller regions to where it is high.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use geometry::Vec3;
use rayon::prelude::*;

use super::functions::triangle_neighbours;
use crate::Error;
use geometry::Random;

/// What to divide, and how.
#[derive(Clone, Copy, Debug)]
pub struct Clusters<'a> {
    /// Triangles over points.
    pub triangles: &'a [[u32; 3]],
    /// Points in the sampled frames; all of the same length.
    pub frames: &'a [Vec<Vec3>],
    /// How many regions.
    pub count: usize,
    /// μ in [0, 1]: 1 makes regions compact, 0 flat.
    pub compactness: f64,
    /// How many regions per area, relative, at each point; even when `None`.
    pub density: Option<&'a [f64]>,
    /// Where the random choice of first seeds begins.
    pub seed: u64,
    /// Rounds at most.
    pub iterations: usize,
}

/// Divides the triangles into exactly `count` connected regions; the region of each triangle.
///
/// The error of triangle j against proxy k is the largest over the frames of
/// Aⱼ ( μ/A ‖xⱼ − xₖ‖² + (1−μ) ‖nⱼ − nₖ‖² ), with areas A, centroids x, normals n.
pub fn cluster(what: &Clusters<'_>) -> Result<Vec<u32>, Error> {
    let point_count = what.frames.first().map_or(0, Vec::len);
    let neighbours = triangle_neighbours(point_count, what.triangles);
    let pieces = pieces(&neighbours);
    let piece_count = pieces.iter().max().map_or(0, |most| *most as usize + 1);
    if what.count < piece_count || what.count > what.triangles.len() || what.frames.is_empty() {
        let (count, triangles) = (what.count, what.triangles.len());
        return Err(Error::Clusters { count, pieces: piece_count, triangles });
    }
    let motion = Motion::new(what);
    let mut seeds = first_seeds(what, &motion, &pieces, piece_count);
    let mut proxies: Vec<Proxy> = seeds.iter().map(|&t| motion.proxy_of(&[t])).collect();
    let mut regions = Vec::new();
    for _ in 0..what.iterations.max(1) {
        let grown = grow(&motion, &neighbours, &seeds, &proxies);
        if grown == regions {
            break;
        }
        regions = grown;
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); what.count];
        (0_u32..).zip(&regions).for_each(|(t, &region)| members[region as usize].push(t));
        proxies = members.par_iter().map(|members| motion.proxy_of(members)).collect();
        let nearest = |(members, proxy): (&Vec<u32>, &Proxy)| {
            let error = |t: &u32| motion.error(*t, proxy, f64::INFINITY);
            members.iter().copied().min_by(|a, b| error(a).total_cmp(&error(b)).then(a.cmp(b)))
        };
        let centres: Vec<Option<u32>> = members.par_iter().zip(&proxies).map(nearest).collect();
        // a region holds its seed at least, so there always is one
        seeds = centres.into_iter().flatten().collect();
    }
    Ok(regions)
}

/// Regions from seeds, the triangle with the smallest error first.
fn grow(motion: &Motion, neighbours: &[Vec<u32>], seeds: &[u32], proxies: &[Proxy]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut regions = vec![NONE; neighbours.len()];
    // errors are positive: their bits sort as they do
    let mut queue: BinaryHeap<Reverse<(u64, u32, u32)>> = BinaryHeap::new();
    (0_u32..).zip(seeds).for_each(|(region, &seed)| regions[seed as usize] = region);
    let offer = |t: u32, region: u32, regions: &[u32], queue: &mut BinaryHeap<_>| {
        for &next in &neighbours[t as usize] {
            if regions[next as usize] == NONE {
                let error = motion.error(next, &proxies[region as usize], f64::INFINITY);
                queue.push(Reverse((error.to_bits(), next, region)));
            }
        }
    };
    for (region, &seed) in (0_u32..).zip(seeds) {
        offer(seed, region, &regions, &mut queue);
    }
    while let Some(Reverse((_, t, region))) = queue.pop() {
        if regions[t as usize] == NONE {
            regions[t as usize] = region;
            offer(t, region, &regions, &mut queue);
        }
    }
    regions
}

/// One seed in each connected piece, the rest far from those there are: k-means++ over the first frame.
fn first_seeds(what: &Clusters<'_>, motion: &Motion, pieces: &[u32], piece_count: usize) -> Vec<u32> {
    let mut random = Random::new(what.seed);
    let mut chance = vec![f64::INFINITY; what.triangles.len()];
    let mut seeds = Vec::with_capacity(what.count);
    let take = |t: u32, chance: &mut [f64], seeds: &mut Vec<u32>| {
        let proxy = motion.proxy_of(&[t]);
        chance.par_iter_mut().enumerate().for_each(|(other, chance)| {
            *chance = chance.min(motion.weight[other] * motion.error(other as u32, &proxy, *chance));
        });
        chance[t as usize] = 0.0;
        seeds.push(t);
    };
    for piece in 0..piece_count as u32 {
        let inside = |t: &u32| pieces[*t as usize] == piece;
        let weight = |t: u32| motion.weight[t as usize];
        if let Some(t) = choose(&mut random, (0..pieces.len() as u32).filter(inside), weight) {
            take(t, &mut chance, &mut seeds);
        }
    }
    while seeds.len() < what.count {
        let free = |t: &u32| !seeds.contains(t);
        let all = 0..pieces.len() as u32;
        // where everything left coincides with a seed, any triangle will do
        let next = choose(&mut random, all.clone(), |t| chance[t as usize]).filter(free);
        let Some(t) = next.or_else(|| all.clone().find(free)) else { break };
        take(t, &mut chance, &mut seeds);
    }
    seeds
}

/// One of the candidates, with a chance proportional to its weight; the first where all weights vanish.
fn choose(
    random: &mut Random,
    candidates: impl Iterator<Item = u32> + Clone,
    weight: impl Fn(u32) -> f64,
) -> Option<u32> {
    let total: f64 = candidates.clone().map(&weight).sum();
    let mut left = random.unit() * total;
    for t in candidates.clone() {
        left -= weight(t);
        if left < 0.0 {
            return Some(t);
        }
    }
    candidates.into_iter().next()
}

/// The connected piece of every triangle.
fn pieces(neighbours: &[Vec<u32>]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut piece = vec![NONE; neighbours.len()];
    let mut count = 0;
    for start in 0..neighbours.len() {
        if piece[start] != NONE {
            continue;
        }
        piece[start] = count;
        let mut stack = vec![start as u32];
        while let Some(t) = stack.pop() {
            for &next in &neighbours[t as usize] {
                if piece[next as usize] == NONE {
                    piece[next as usize] = count;
                    stack.push(next);
                }
            }
        }
        count += 1;
    }
    piece
}

/// Where triangles are in every frame.
struct Motion {
    frames: usize,
    /// Frame after frame of triangle after triangle: centroid, normal, area, and μ over the frame's total area.
    moments: Vec<Moment>,
    compactness: f64,
    /// Painted weight of each triangle in proxies.
    weight: Vec<f64>,
}

#[derive(Clone, Copy, Default)]
struct Moment {
    centroid: Vec3,
    normal: Vec3,
    area: f64,
    /// μ/A(t).
    nearness: f64,
}

/// Mean centroid and normal of a region in every frame.
struct Proxy(Vec<(Vec3, Vec3)>);

impl Motion {
    fn new(what: &Clusters<'_>) -> Self {
        let frames = what.frames.len();
        let mu = what.compactness.clamp(0.0, 1.0);
        let mut moments = vec![Moment::default(); frames * what.triangles.len()];
        for (f, points) in what.frames.iter().enumerate() {
            let mut total = 0.0;
            for (t, corners) in what.triangles.iter().enumerate() {
                let [a, b, c] = corners.map(|v| points[v as usize]);
                let normal = (b - a).cross(c - a);
                let area = 0.5 * normal.length();
                total += area;
                moments[t * frames + f] = Moment {
                    centroid: (a + b + c) / 3.0,
                    normal: normal.normalize_or_zero(),
                    area,
                    nearness: 0.0,
                };
            }
            // a surface shrunk to a point has no say in this frame
            let nearness = if total > 0.0 { mu / total } else { 0.0 };
            (0..what.triangles.len()).for_each(|t| moments[t * frames + f].nearness = nearness);
        }
        // in two dimensions regions settle with areas like one over the root of their weight
        let density = |corners: &[u32; 3]| match what.density {
            Some(map) => (corners.iter().map(|&v| map[v as usize]).sum::<f64>() / 3.0).max(0.0).powi(2),
            None => 1.0,
        };
        let weight = what.triangles.iter().map(density).collect();
        Self { frames, moments, compactness: mu, weight }
    }

    fn of(&self, t: u32) -> &[Moment] {
        &self.moments[t as usize * self.frames..(t as usize + 1) * self.frames]
    }

    /// The error of a triangle against a proxy, or some number above `enough`.
    fn error(&self, t: u32, proxy: &Proxy, enough: f64) -> f64 {
        let flatness = 1.0 - self.compactness;
        let mut worst = 0.0_f64;
        for (m, (centroid, normal)) in self.of(t).iter().zip(&proxy.0) {
            let apart = m.nearness * m.centroid.distance_squared(*centroid);
            worst = worst.max(m.area * (apart + flatness * m.normal.distance_squared(*normal)));
            if worst > enough {
                break;
            }
        }
        worst
    }

    fn proxy_of(&self, members: &[u32]) -> Proxy {
        let mut sums = vec![(Vec3::ZERO, Vec3::ZERO, 0.0); self.frames];
        for &t in members {
            for (sum, m) in sums.iter_mut().zip(self.of(t)) {
                // without area there is no weight, but a centroid there must be
                let weight = self.weight[t as usize].max(1e-12) * m.area.max(f64::MIN_POSITIVE);
                sum.0 += weight * m.centroid;
                sum.1 += weight * m.normal;
                sum.2 += weight;
            }
        }
        Proxy(sums.into_iter().map(|(x, n, weight)| (x / weight, n.normalize_or_zero())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// n × n cells over [0, 2] × [0, 1], flat, and folded up at x = 1 by `angle`.
    fn sheet(n: u32, angle: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let at = |i: u32, j: u32| j * (n + 1) + i;
        let mut points = Vec::new();
        for (j, i) in (0..=n).flat_map(|j| (0..=n).map(move |i| (j, i))) {
            let (x, y) = (2.0 * f64::from(i) / f64::from(n), f64::from(j) / f64::from(n));
            let (s, c) = if x > 1.0 { angle.sin_cos() } else { (0.0, 1.0) };
            points.push(Vec3::new(1.0 + (x - 1.0) * c, y, (x - 1.0) * s));
        }
        let cells = (0..n).flat_map(|j| (0..n).map(move |i| (i, j)));
        let triangles = cells
            .flat_map(|(i, j)| {
                [[at(i, j), at(i + 1, j), at(i, j + 1)], [at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]]
            })
            .collect();
        (points, triangles)
    }

    fn connected(point_count: usize, triangles: &[[u32; 3]], regions: &[u32], count: u32) -> bool {
        (0..count).all(|region| {
            let own: Vec<[u32; 3]> =
                triangles.iter().zip(regions).filter(|(_, r)| **r == region).map(|(t, _)| *t).collect();
            let pieces = pieces(&triangle_neighbours(point_count, &own));
            !own.is_empty() && pieces.iter().all(|p| *p == 0)
        })
    }

    #[test]
    fn there_are_exactly_so_many_regions_and_each_is_connected() {
        let (points, triangles) = sheet(12, 0.0);
        let frames = [points.clone(), sheet(12, 1.0).0];
        for count in [1, 2, 7, 40, triangles.len()] {
            for compactness in [0.0, 0.5, 1.0] {
                let what = Clusters {
                    triangles: &triangles,
                    frames: &frames,
                    count,
                    compactness,
                    density: None,
                    seed: 3,
                    iterations: 16,
                };
                let regions = cluster(&what).unwrap();
                assert!(connected(points.len(), &triangles, &regions, count as u32), "{count} {compactness}");
                assert_eq!(regions, cluster(&what).unwrap(), "the same seed gives the same regions");
            }
        }
    }

    #[test]
    fn regions_end_where_rigid_parts_meet_in_motion() {
        // flat in the first frame: only the animation tells where the crease is
        let (points, triangles) = sheet(12, 0.0);
        let moving = [points.clone(), sheet(12, 1.4).0];
        let split = |frames: &[Vec<Vec3>]| {
            let what = Clusters {
                triangles: &triangles,
                frames,
                count: 2,
                compactness: 0.05,
                density: None,
                seed: 1,
                iterations: 32,
            };
            let regions = cluster(&what).unwrap();
            let side = |t: &[u32; 3]| t.iter().map(|&v| points[v as usize].x).sum::<f64>() > 3.0;
            let wrong = triangles
                .iter()
                .zip(&regions)
                .filter(|(t, r)| side(t) != (**r == regions[triangles.len() - 1]))
                .count();
            wrong.min(triangles.len() - wrong)
        };
        assert_eq!(split(&moving), 0, "the seam runs along the crease");
    }

    #[test]
    fn regions_are_smaller_where_the_density_is_high() {
        let (points, triangles) = sheet(24, 0.0);
        let density: Vec<f64> = points.iter().map(|p| if p.x < 1.0 { 4.0 } else { 1.0 }).collect();
        let what = Clusters {
            triangles: &triangles,
            frames: std::slice::from_ref(&points),
            count: 50,
            compactness: 1.0,
            density: Some(&density),
            seed: 5,
            iterations: 64,
        };
        let regions = cluster(&what).unwrap();
        let in_dense = |t: &[u32; 3]| t.iter().all(|&v| points[v as usize].x <= 1.0);
        let mut dense: Vec<u32> =
            triangles.iter().zip(&regions).filter(|(t, _)| in_dense(t)).map(|(_, r)| *r).collect();
        dense.sort_unstable();
        dense.dedup();
        // four to one would be 40 of 50
        assert!((33..=46).contains(&dense.len()), "{}", dense.len());
    }

    #[test]
    fn what_cannot_be_divided_says_so() {
        let points = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::ONE, 2.0 * Vec3::X];
        let what = Clusters {
            triangles: &[[0, 1, 2], [3, 4, 5]],
            frames: &[points],
            count: 1,
            compactness: 0.5,
            density: None,
            seed: 0,
            iterations: 8,
        };
        assert_eq!(cluster(&what), Err(Error::Clusters { count: 1, pieces: 2, triangles: 2 }));
        assert_eq!(cluster(&Clusters { count: 2, ..what }).unwrap().len(), 2);
        assert_eq!(
            cluster(&Clusters { count: 3, ..what }),
            Err(Error::Clusters { count: 3, pieces: 2, triangles: 2 })
        );
        // shrunk to a point: still exactly so many
        let point = [vec![Vec3::ONE; 6]];
        assert_eq!(cluster(&Clusters { count: 2, frames: &point, ..what }).unwrap().len(), 2);
    }

    /// The worst over the frames of A (μ/A(t) ‖c − c̄‖² + (1 − μ) ‖n − n̄‖²).
    #[test]
    fn the_error_of_a_triangle_is_its_distance_and_its_turn_in_the_worst_frame() {
        let moment =
            |x: f64, area: f64| Moment { centroid: x * Vec3::X, normal: Vec3::Y, area, nearness: 0.1 };
        let motion = Motion {
            frames: 2,
            moments: vec![moment(1.0, 3.0), moment(4.0, 2.0)],
            compactness: 0.25,
            weight: vec![1.0],
        };
        let straight = Proxy(vec![(Vec3::ZERO, Vec3::Y); 2]);
        assert!((motion.error(0, &straight, f64::INFINITY) - 2.0 * 0.1 * 16.0).abs() < 1e-12);
        let turned = Proxy(vec![(Vec3::ZERO, Vec3::Z), (4.0 * Vec3::X, Vec3::Y)]);
        assert!((motion.error(0, &turned, f64::INFINITY) - 3.0 * (0.1 + 0.75 * 2.0)).abs() < 1e-12);
        assert!(motion.error(0, &turned, 1.0) > 1.0);
    }
}
