//! Why threads cannot keep their lengths: points held further apart than the threads between them are long.

use geometry::{Vec3, shortest_ways};

use super::Threads;

/// Two held points that the threads between them cannot reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overstretched {
    /// The points.
    pub points: [u32; 2],
    /// How far apart they are held, in metres.
    pub distance: f64,
    /// The shortest way between them along threads, in metres.
    pub thread_length: f64,
}

/// The pair of known points that asks for the most stretch, if any asks for it. Costs a shortest-path search from every known
/// point with a free neighbour: for telling an artist, not for every step.
pub fn overstretched(threads: &Threads, known: &[bool], x: &[Vec3]) -> Option<Overstretched> {
    let mut around: Vec<Vec<(u32, f64)>> = vec![Vec::new(); threads.point_count()];
    for (&[a, b], &length) in threads.edges().iter().zip(threads.lengths()) {
        around[a as usize].push((b, length));
        around[b as usize].push((a, length));
    }
    let at_rim = |p: &usize| known[*p] && around[*p].iter().any(|(q, _)| !known[*q as usize]);
    let sources: Vec<usize> = (0..threads.point_count()).filter(at_rim).collect();
    let mut worst: Option<(f64, Overstretched)> = None;
    for &from in &sources {
        let lengths = shortest_ways(&around, &[from as u32]);
        for &to in sources.iter().filter(|&&to| to > from && lengths[to].is_finite()) {
            let found = Overstretched {
                points: [from as u32, to as u32],
                distance: x[from].distance(x[to]),
                thread_length: lengths[to],
            };
            let stretch = found.distance / found.thread_length - 1.0;
            if stretch > 1e-9 && worst.is_none_or(|(most, _)| stretch > most) {
                worst = Some((stretch, found));
            }
        }
    }
    worst.map(|(_, found)| found)
}

#[cfg(test)]
mod tests {
    use super::super::testing::grid_threads;
    use super::*;

    #[test]
    fn the_most_overstretched_pair_is_named_and_slack_ones_are_not() {
        let (rest, threads) = grid_threads(4, 3);
        let mut known = vec![false; rest.len()];
        [0, 4, 15].iter().for_each(|&p: &usize| known[p] = true);
        assert_eq!(overstretched(&threads, &known, &rest), None);
        let mut x = rest.clone();
        x[4].x += 0.02;
        let found = overstretched(&threads, &known, &x).unwrap();
        assert_eq!(found.points, [0, 4]);
        assert!((found.distance / found.thread_length - 1.05).abs() < 1e-9);
        // the diagonal is longer along threads than through the air
        x[4] = rest[4];
        x[15] += Vec3::new(0.0, 0.05, 0.02);
        let found = overstretched(&threads, &known, &x).unwrap();
        assert_eq!(found.points, [0, 15]);
    }
}
