//! Which places of edges belong together: the nearest ones, or those at the same share of two stretches.

use std::collections::{BTreeMap, BTreeSet};

use geometry::Vec3;

/// A place on a sheet: points with weights that add up to one.
pub(super) type Place = Vec<(u32, f64)>;

/// Nearer to the end of an edge than this share of it, a place is the end.
const SNAP: f64 = 1e-3;
/// What is nearer along an edge than so many times the way across is no place to be sewn to, but the neighbourhood.
const AROUND: f64 = 2.0;

/// The edge of a sheet: sides of one triangle.
pub(super) struct Border {
    /// Every side once, ascending.
    pub(super) sides: Vec<[u32; 2]>,
    beside: BTreeMap<u32, Vec<u32>>,
}

impl Border {
    /// The sides of a sheet that have one triangle, between chosen points.
    pub(super) fn new(triangles: &[[u32; 3]], is_chosen: impl Fn(u32) -> bool) -> Self {
        let mut count = BTreeMap::<[u32; 2], usize>::new();
        for [a, b, c] in triangles {
            for (p, q) in [(a, b), (b, c), (c, a)] {
                *count.entry([*p.min(q), *p.max(q)]).or_default() += 1;
            }
        }
        let is_border = |([p, q], count): &([u32; 2], usize)| *count == 1 && is_chosen(*p) && is_chosen(*q);
        Self::of(count.into_iter().filter(is_border).map(|(side, _)| side).collect())
    }

    fn of(sides: Vec<[u32; 2]>) -> Self {
        let mut beside = BTreeMap::<u32, Vec<u32>>::new();
        for &[p, q] in &sides {
            beside.entry(p).or_default().push(q);
            beside.entry(q).or_default().push(p);
        }
        Self { sides, beside }
    }

    /// Its points, ascending.
    pub(super) fn points(&self) -> impl Iterator<Item = u32> + '_ {
        self.beside.keys().copied()
    }

    /// The mean length of its sides at a point.
    pub(super) fn spacing(&self, point: u32, rest: &[Vec3]) -> f64 {
        let beside = self.beside.get(&point).map_or(&[][..], Vec::as_slice);
        let sum: f64 = beside.iter().map(|&q| rest[q as usize].distance(rest[point as usize])).sum();
        sum / beside.len().max(1) as f64
    }

    /// Its points from one end to the other, where it is one open stretch.
    fn stretch(&self) -> Option<Vec<u32>> {
        let mut ends = self.beside.iter().filter(|(_, beside)| beside.len() == 1).map(|(p, _)| *p);
        let first = ends.next().filter(|_| ends.next().is_some() && ends.next().is_none())?;
        let (mut points, mut before) = (vec![first], None);
        while let Some(&here) = points.last() {
            let beside = &self.beside[&here];
            let Some(&next) = beside.iter().find(|&&q| Some(q) != before) else { break };
            if beside.len() > 2 || points.len() > self.beside.len() {
                return None;
            }
            before = Some(here);
            points.push(next);
        }
        (points.len() == self.beside.len()).then_some(points)
    }

    /// How far points are along the edge from one of them, as far as `most`.
    fn along(&self, from: u32, most: f64, rest: &[Vec3]) -> BTreeMap<u32, f64> {
        let mut ways = BTreeMap::from([(from, 0.0)]);
        let mut front = vec![from];
        while let Some(here) = front.pop() {
            for &next in self.beside.get(&here).into_iter().flatten() {
                let way = ways[&here] + rest[here as usize].distance(rest[next as usize]);
                if way <= most && ways.get(&next).is_none_or(|known| way < *known) {
                    ways.insert(next, way);
                    front.push(next);
                }
            }
        }
        ways
    }
}

/// A place on a side, at share `s` from its first end.
fn on_side([p, q]: [u32; 2], s: f64) -> Place {
    match s {
        s if s < SNAP => vec![(p, 1.0)],
        s if s > 1.0 - SNAP => vec![(q, 1.0)],
        s => vec![(p, 1.0 - s), (q, s)],
    }
}

/// Each point of `from` with the nearest place on a side of `to` within a distance. Where both are one edge, what is around a point is passed over.
pub(super) fn nearest(from: &Border, to: &Border, rest: &[Vec3], within: f64) -> Vec<(u32, Place)> {
    let mut pairs = Vec::new();
    for point in from.points() {
        let at = rest[point as usize];
        let most = if within.is_finite() { AROUND * within } else { f64::INFINITY };
        let around = to.along(point, most, rest);
        let mut best: Option<(f64, [u32; 2], f64)> = None;
        for &side in to.sides.iter().filter(|side| !side.contains(&point)) {
            let [a, b] = side.map(|p| rest[p as usize]);
            let way = b - a;
            let s = ((at - a).dot(way) / way.length_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            let gap = at.distance(a + s * way);
            if gap > within || best.is_some_and(|(least, ..)| gap >= least) {
                continue;
            }
            let along = side
                .iter()
                .zip([s, 1.0 - s])
                .filter_map(|(end, s)| Some(around.get(end)? + s * way.length()));
            if along.fold(f64::INFINITY, f64::min) >= AROUND * gap && (gap > 0.0 || !touches(side, &around)) {
                best = Some((gap, side, s));
            }
        }
        pairs.extend(best.map(|(_, side, s)| (point, on_side(side, s))));
    }
    pairs
}

/// Whether a side begins at a point that is reached without any way at all.
fn touches(side: [u32; 2], around: &BTreeMap<u32, f64>) -> bool {
    side.iter().any(|end| around.get(end) == Some(&0.0))
}

/// Points of two stretches of edge, each with the place at the same share of the other one; none where either is no single open stretch. Of the two
/// ways to lay them along each other the one that has the ends nearer.
pub(super) fn end_to_end(from: &Border, to: &Border, rest: &[Vec3]) -> Option<Vec<(u32, Place)>> {
    let (a, mut b) = (from.stretch()?, to.stretch()?);
    let place = |p: &u32| rest[*p as usize];
    let ends = |points: &[u32]| Some([place(points.first()?), place(points.last()?)]);
    let ([a0, a1], [b0, b1]) = (ends(&a)?, ends(&b)?);
    if a0.distance(b1) + a1.distance(b0) < a0.distance(b0) + a1.distance(b1) {
        b.reverse();
    }
    let mut pairs = laid_along(&a, &b, rest);
    pairs.extend(laid_along(&b, &a, rest));
    Some(pairs)
}

fn laid_along(from: &[u32], to: &[u32], rest: &[Vec3]) -> Vec<(u32, Place)> {
    let shares = |points: &[u32]| -> Vec<f64> {
        let mut sum = 0.0;
        let mut sums = vec![0.0];
        for ends in points.windows(2) {
            sum += rest[ends[0] as usize].distance(rest[ends[1] as usize]);
            sums.push(sum);
        }
        sums.iter().map(|part| part / sum.max(f64::MIN_POSITIVE)).collect()
    };
    let (own, other) = (shares(from), shares(to));
    let place = |share: f64| {
        let k = other.partition_point(|there| *there < share).clamp(1, to.len() - 1);
        let s = (share - other[k - 1]) / (other[k] - other[k - 1]).max(f64::MIN_POSITIVE);
        on_side([to[k - 1], to[k]], s.clamp(0.0, 1.0))
    };
    from.iter().zip(&own).map(|(point, share)| (*point, place(*share))).collect()
}

/// Every pair of a point and a place once: two points that found each other are one pair.
pub(super) fn distinct(pairs: Vec<(u32, Place)>) -> Vec<(u32, Place)> {
    let mut seen = BTreeSet::new();
    let is_new = |(point, place): &(u32, Place)| {
        if place.iter().any(|(p, _)| p == point) {
            return false;
        }
        match place[..] {
            [(other, _)] => seen.insert([*point.min(&other), *point.max(&other)]),
            _ => true,
        }
    };
    pairs.into_iter().filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of quads from y = 0 up to 1 at this x, `rows` of them, 0.1 wide; points from `first` on: left and right ends of each row.
    fn strip(x: f64, rows: u32, first: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let at = |j: u32| f64::from(j) / f64::from(rows);
        let points =
            (0..=rows).flat_map(|j| [Vec3::new(x, at(j), 0.0), Vec3::new(x + 0.1, at(j), 0.0)]).collect();
        let faces = (0..rows).flat_map(|j| {
            let [a, b, c, d] = [2 * j, 2 * j + 1, 2 * j + 3, 2 * j + 2].map(|p| p + first);
            [[a, b, c], [a, c, d]]
        });
        (points, faces.collect())
    }

    /// Two strips, 1 cm between them: four rows and six.
    fn two() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let ((mut points, mut triangles), (more, others)) = (strip(0.0, 4, 0), strip(0.11, 6, 10));
        points.extend(more);
        triangles.extend(others);
        (points, triangles)
    }

    #[test]
    fn edges_within_a_distance_find_each_other_and_not_themselves() {
        let (rest, triangles) = two();
        let border = Border::new(&triangles, |_| true);
        assert_eq!(border.sides.len(), 2 * 4 + 2 + 2 * 6 + 2);
        let pairs = distinct(nearest(&border, &border, &rest, 0.02));
        // the right side of the first strip and the left one of the second, two ends of each on each other
        assert_eq!(pairs.len(), 5 + 7 - 3, "{pairs:?}");
        for (point, place) in &pairs {
            let at: Vec3 = place.iter().map(|&(p, w)| w * rest[p as usize]).sum();
            assert!((at.distance(rest[*point as usize]) - 0.01).abs() < 1e-12);
            assert!(place.iter().all(|(p, _)| (*p < 10) != (*point < 10)), "of the other strip");
        }
        assert!(nearest(&border, &border, &rest, 0.009).is_empty());
    }

    /// A dart: a slit that opens with the distance from its tip closes from there on, where the way around is far longer than the way across.
    #[test]
    fn a_dart_closes_on_itself() {
        let rest: Vec<Vec3> =
            (-4..=4).map(|k: i32| Vec3::new(f64::from(k.abs()), 0.1 * f64::from(k), 0.0)).collect();
        let border = Border::of((0..8).map(|k| [k, k + 1]).collect());
        let pairs = distinct(nearest(&border, &border, &rest, 1.0));
        for k in 0..4_u32 {
            assert!(
                pairs.iter().any(|(p, place)| *p == k && place.iter().any(|(q, _)| *q > 4)),
                "{k}: {pairs:?}"
            );
        }
        assert!(pairs.iter().all(|(p, _)| *p != 4), "its tip is sewn to nothing");
    }

    #[test]
    fn two_stretches_are_laid_along_each_other() {
        let (mut rest, triangles) = two();
        // the second one is farther away and half as long: the nearest places would all be its ends
        rest[10..].iter_mut().for_each(|p| *p = Vec3::new(p.x + 1.0, 0.5 * p.y + 3.0, 0.0));
        let from = Border::new(&triangles, |p| p < 10 && p % 2 == 1);
        let to = Border::new(&triangles, |p| p >= 10 && p % 2 == 0);
        let pairs = distinct(end_to_end(&from, &to, &rest).unwrap());
        assert_eq!(pairs.len(), 5 + 7 - 3);
        for (point, place) in &pairs {
            let at: Vec3 = place.iter().map(|&(p, w)| w * rest[p as usize]).sum();
            let share = |y: f64| if y > 2.0 { (y - 3.0) / 0.5 } else { y };
            assert!((share(at.y) - share(rest[*point as usize].y)).abs() < 1e-12);
        }
        // a whole border has no ends
        let whole = Border::new(&triangles, |p| p < 10);
        assert!(end_to_end(&whole, &to, &rest).is_none());
        assert!((from.spacing(3, &rest) - 0.25).abs() < 1e-12);
    }
}
