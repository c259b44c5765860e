//! Which sample points a triangle covers, exactly.
//!
//! Corners are snapped to 1/256 of a sample. With fewer than 2²⁵ such steps across, every edge function is an integer below 2⁵³,
//! so it is exact in double precision: two triangles that share an edge cover each sample along it once, never twice and
//! never not at all (the top-left rule, as an edge sees it: Pineda 1988).

use glam::DVec2;

/// Steps per sample.
const STEPS: f64 = 256.0;
/// Coordinates beyond this, in samples, must be clipped away before.
pub(crate) const LARGEST: f64 = 70_000.0;

/// A triangle over a grid of samples; sample (i, j) lies at (i + ½, j + ½).
#[derive(Clone, Copy)]
pub(crate) struct Spans {
    edges: [Edge; 3],
    /// First and last column and row that may be covered, the last not included.
    pub(crate) left: i32,
    pub(crate) right: i32,
    pub(crate) top: i32,
    pub(crate) bottom: i32,
}

/// E(X, Y) = a X + b Y + c, in steps; a sample counts where E > 0, or E = 0 on one of the two sides of an edge.
#[derive(Clone, Copy, Default)]
struct Edge {
    a: f64,
    b: f64,
    c: f64,
    inverse_a: f64,
}

impl Spans {
    /// `None` for triangles without area and those that cover no sample's column or row. Corners in samples, at most [`LARGEST`] in size.
    pub(crate) fn new(corners: [DVec2; 3]) -> Option<Self> {
        let low = corners[0].min(corners[1]).min(corners[2]);
        let high = corners[0].max(corners[1]).max(corners[2]);
        // columns i with low ≤ i + ½ ≤ high, a step wider for the snapping
        let slack = 1.0 / STEPS;
        // not a number fails here, too
        if !(low.min_element() >= -LARGEST && high.max_element() <= LARGEST) {
            return None;
        }
        let [left, top] = [low.x, low.y].map(|v| floor(v - 0.5 - slack) + 1);
        let [right, bottom] = [high.x, high.y].map(|v| floor(v - 0.5 + slack) + 1);
        if left >= right || top >= bottom {
            return None;
        }
        let [p, mut q, mut r] = corners.map(|corner| (corner * STEPS).round());
        let doubled_area = (q - p).perp_dot(r - p);
        if doubled_area == 0.0 || doubled_area.is_nan() {
            return None;
        }
        if doubled_area < 0.0 {
            std::mem::swap(&mut q, &mut r);
        }
        let edges = [Edge::new(p, q), Edge::new(q, r), Edge::new(r, p)];
        Some(Self { edges, left, right, top, bottom })
    }

    /// The columns covered in a row, from the first to the one after the last, within `from..to`.
    #[inline]
    pub(crate) fn row(&self, row: i32, from: i32, to: i32) -> (i32, i32) {
        let y = STEPS * f64::from(row) + 0.5 * STEPS;
        let (mut from, mut to) = (from.max(self.left), to.min(self.right));
        for edge in &self.edges {
            let c = edge.b * y + edge.c;
            if edge.a > 0.0 {
                // the division may be a column off; the function itself never is
                from = from.max(column(-c * edge.inverse_a));
                while from < to && edge.a * centre(from) + c < 0.0 {
                    from += 1;
                }
            } else if edge.a < 0.0 {
                to = to.min(column(-c * edge.inverse_a).saturating_add(1));
                while from < to && edge.a * centre(to - 1) + c <= 0.0 {
                    to -= 1;
                }
            } else if c < 0.0 || (c == 0.0 && edge.b <= 0.0) {
                return (from, from);
            }
        }
        (from, to.max(from))
    }
}

impl Edge {
    fn new(from: DVec2, to: DVec2) -> Self {
        let (a, b) = (from.y - to.y, to.x - from.x);
        Self { a, b, c: -(a * from.x + b * from.y), inverse_a: 1.0 / a }
    }
}

/// The last column whose centre lies at or left of a place, in steps.
#[inline]
fn column(x: f64) -> i32 {
    floor((x - 0.5 * STEPS) * (1.0 / STEPS))
}

/// The largest integer not above a number, without a call into the mathematics library.
#[inline]
fn floor(x: f64) -> i32 {
    let cut = x as i32;
    cut.saturating_sub(i32::from(f64::from(cut) > x))
}

#[inline]
fn centre(column: i32) -> f64 {
    STEPS * f64::from(column) + 0.5 * STEPS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(corners: [DVec2; 3], grid: &mut [u8], side: i32) {
        let Some(spans) = Spans::new(corners) else { return };
        for row in spans.top.max(0)..spans.bottom.min(side) {
            let (from, to) = spans.row(row, 0, side);
            (from..to).for_each(|column| grid[(row * side + column) as usize] += 1);
        }
    }

    /// The number of samples in a large triangle is its area up to the length of its outline.
    #[test]
    fn coverage_is_the_area() {
        let corners = [DVec2::new(10.3, 7.9), DVec2::new(961.4, 200.2), DVec2::new(300.7, 911.1)];
        let mut grid = vec![0; 1000 * 1000];
        count(corners, &mut grid, 1000);
        let area = 0.5 * (corners[1] - corners[0]).perp_dot(corners[2] - corners[0]).abs();
        let covered = grid.iter().map(|&n| f64::from(n)).sum::<f64>();
        // a sample's square is cut by the outline about once per unit of it, and errs by less than half either way
        assert!((covered - area).abs() < 30.0, "{covered} samples, {area} by area");
        // exactly: the half-open square holds n² samples however it is cut
        let [a, b, c, d] =
            [[2.5, 2.5], [502.5, 2.5], [502.5, 502.5], [2.5, 502.5]].map(|[x, y]| DVec2::new(x, y));
        let mut grid = vec![0; 1000 * 1000];
        count([a, b, c], &mut grid, 1000);
        count([a, c, d], &mut grid, 1000);
        assert_eq!(grid.iter().map(|&n| usize::from(n)).sum::<usize>(), 500 * 500);
    }

    /// Fans around points on and off samples, thin and wide, wound either way: no gaps, no overlaps.
    #[test]
    fn triangles_that_share_edges_cover_each_sample_once() {
        let side = 64;
        let mut state = 5_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1 << 24) as f64
        };
        for turn in 0..200 {
            let middle = match turn % 3 {
                0 => DVec2::new(32.5, 20.5),
                1 => DVec2::new(32.0, 32.0),
                _ => DVec2::new(20.0 + 20.0 * random(), 20.0 + 20.0 * random()),
            };
            let mut rim = vec![DVec2::new(-9.0, -9.0), DVec2::new(80.0, -9.0), DVec2::new(80.0, 80.0)];
            rim.extend((0..1 + turn % 7).map(|i| DVec2::new(70.0 - 9.0 * f64::from(i), 75.0 + random())));
            rim.push(DVec2::new(-9.0, 80.0));
            let mut grid = vec![0; 64 * 64];
            for i in 0..rim.len() {
                let (a, b) = (rim[i], rim[(i + 1) % rim.len()]);
                count(if i % 2 == 0 { [middle, a, b] } else { [b, a, middle] }, &mut grid, side);
            }
            assert!(grid.iter().all(|&n| n == 1), "turn {turn}");
        }
    }

    #[test]
    fn nothing_comes_of_what_is_degenerate() {
        let line = [DVec2::ZERO, DVec2::splat(5.0), DVec2::splat(9.0)];
        assert!(Spans::new(line).is_none());
        assert!(Spans::new([DVec2::NAN, DVec2::X, DVec2::Y]).is_none());
        assert!(Spans::new([DVec2::ZERO, DVec2::new(1e9, 0.0), DVec2::Y]).is_none());
        let between = [DVec2::new(0.6, 0.6), DVec2::new(1.4, 0.6), DVec2::new(0.6, 1.4)];
        assert!(Spans::new(between).is_none(), "no sample's centre is inside");
    }
}
