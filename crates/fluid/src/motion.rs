//! How a drawn mask moves: the velocity field between two frames of an obstacle.
//!
//! First the rigid motion: the shift of the centroid, and the turn about it that best explains the change, from
//! least squares over the boundary, minimising ∫(χ₁ − χ₀ + d·∇χ)². What is left of the change, a body that bends or grows, moves along the
//! boundary's normal: d = −(χ₁ − χ₀)∇χ/|∇χ|², and is carried into the body by blurring.

use rayon::prelude::*;

use crate::prepare::{sample, smooth};
use crate::{Domain, Error, Field, Obstacle, Side};

/// An obstacle on its way between two masks.
#[derive(Clone, Debug, PartialEq)]
pub struct MovingMask {
    from: Field,
    to: Field,
    /// Displacement from the first mask to the second along x and y, in points.
    shift: [Field; 2],
    domain: Domain,
    seconds: f64,
}

impl MovingMask {
    /// The motion between two masks on the grid that lie `seconds` apart. Masks are smoothed by `softness` points.
    pub fn new(
        from: &Field,
        to: &Field,
        domain: &Domain,
        seconds: f64,
        softness: f64,
    ) -> Result<Self, Error> {
        from.check("obstacle mask", domain.points())?;
        to.check("obstacle mask", domain.points())?;
        if !(seconds > 0.0) {
            return Err(Error::Dial {
                dial: "seconds between masks",
                value: seconds,
                allowed: "more than 0",
            });
        }
        let [from, to] = [from, to].map(|mask| {
            let mut mask = smooth(mask, domain, softness);
            mask.values.iter_mut().for_each(|v| *v = v.clamp(0.0, 1.0));
            mask
        });
        let shift = displacement(&from, &to, domain);
        Ok(Self { from, to, shift, domain: *domain, seconds })
    }

    /// The obstacle at a fraction of the way, 0 to 1: both masks moved to where they are then, and blended.
    pub fn at(&self, fraction: f64) -> Obstacle {
        let t = fraction.clamp(0.0, 1.0);
        let h = self.domain.spacings();
        let mask = in_rows(self.from.points, |x, y, z| {
            let i = x + self.from.points[0] * (y + self.from.points[1] * z);
            let d = [0, 1].map(|axis| f64::from(self.shift[axis].values[i]));
            let at = |s: f64| [x as f64 + s * d[0], y as f64 + s * d[1], z as f64];
            let a = f64::from(sample(&self.from, &self.domain, at(-t)));
            let b = f64::from(sample(&self.to, &self.domain, at(1.0 - t)));
            (a + t * (b - a)).clamp(0.0, 1.0) as f32
        });
        let velocity = [0, 1].map(|axis| {
            let scale = (h[axis] / self.seconds) as f32;
            let mut field = self.shift[axis].clone();
            field.values.iter_mut().for_each(|v| *v *= scale);
            Some(field)
        });
        let [u, v] = velocity;
        Obstacle { mask, velocity: [u, v, None] }
    }
}

/// Displacement along x and y in points that brings one mask to the other.
fn displacement(from: &Field, to: &Field, domain: &Domain) -> [Field; 2] {
    let points = from.points;
    let (Some(start), Some(end)) = (centroid(from, domain), centroid(to, domain)) else {
        return [Field::constant(points, 0.0), Field::constant(points, 0.0)];
    };
    let mut rigid = RigidMotion { from, to, domain, start, shift: [0.0; 2], angle: 0.0 };
    rigid.shift = [0, 1].map(|d| rigid.shortest(d, end[d] - start[d]));
    rigid.find_angle();
    let (weight, mut result) = rigid.remainder();
    let (s, c) = rigid.angle.sin_cos();
    each(points, |x, y, z| {
        let i = x + points[0] * (y + points[1] * z);
        let r = rigid.arm(x, y);
        let shift = rigid.shift;
        let rigid = [shift[0] + (c - 1.0) * r[0] - s * r[1], shift[1] + s * r[0] + (c - 1.0) * r[1]];
        for d in 0..2 {
            let own = f64::from(result[d].values[i]) / (f64::from(weight.values[i]) + 1e-4);
            result[d].values[i] = (rigid[d] + own) as f32;
        }
    });
    result
}

/// A shift, and a turn about the centre, that bring one mask to about the other.
struct RigidMotion<'a> {
    from: &'a Field,
    to: &'a Field,
    domain: &'a Domain,
    /// The centre of the first mask, in points.
    start: [f64; 2],
    /// In points.
    shift: [f64; 2],
    /// In radians.
    angle: f64,
}

impl RigidMotion<'_> {
    fn wraps(&self, d: usize) -> bool {
        self.domain.axes[d].side == Side::Periodic
    }

    /// A distance, the shorter way around periodic sides.
    fn shortest(&self, d: usize, distance: f64) -> f64 {
        let n = self.from.points[d] as f64;
        if self.wraps(d) { distance - n * (distance / n).round() } else { distance }
    }

    /// From the centre to a point.
    fn arm(&self, x: usize, y: usize) -> [f64; 2] {
        [self.shortest(0, x as f64 - self.start[0]), self.shortest(1, y as f64 - self.start[1])]
    }

    /// The second mask, brought back by the shift and an angle.
    fn moved(&self, x: usize, y: usize, z: usize, angle: f64) -> f64 {
        let Self { start, shift, .. } = self;
        let r = self.arm(x, y);
        let (s, c) = angle.sin_cos();
        let index =
            [start[0] + shift[0] + c * r[0] - s * r[1], start[1] + shift[1] + s * r[0] + c * r[1], z as f64];
        f64::from(sample(self.to, self.domain, index))
    }

    /// The angle at which the second mask, brought back, differs least from the first: Gauss and Newton.
    fn find_angle(&mut self) {
        let points = self.from.points;
        // one angle needs no more than some ten thousand points
        let stride = (((points[0] * points[1]) as f64 / 1e4).sqrt() as usize).max(1);
        for _ in 0..12 {
            let angle = self.angle;
            let sums = |y: usize| {
                let (mut top, mut bottom) = (0.0, 0.0);
                for z in 0..points[2] {
                    for x in (0..points[0]).step_by(stride) {
                        let delta = 1e-3;
                        let change = self.moved(x, y, z, angle) - f64::from(self.from.at(x, y, z));
                        let slope = (self.moved(x, y, z, angle + delta) - self.moved(x, y, z, angle - delta))
                            / (2.0 * delta);
                        top += change * slope;
                        bottom += slope * slope;
                    }
                }
                (top, bottom)
            };
            let rows: Vec<(f64, f64)> = (0..points[1]).into_par_iter().step_by(stride).map(sums).collect();
            let (top, bottom) = rows.iter().fold((0.0, 0.0), |(a, b), (top, bottom)| (a + top, b + bottom));
            if bottom < 1e-9 {
                break;
            }
            // small bites: the mask is no linear function of the angle
            let bite = (-top / bottom).clamp(-0.3, 0.3);
            self.angle += bite;
            if bite.abs() < 1e-4 {
                break;
            }
        }
    }

    /// What is left, along the normal, spread from the boundary so that the body's inside moves with it: its weight, and the
    /// displacement times that.
    fn remainder(&self) -> (Field, [Field; 2]) {
        let (from, points) = (self.from, self.from.points);
        let mut weight = Field::constant(points, 0.0);
        let mut rest = [Field::constant(points, 0.0), Field::constant(points, 0.0)];
        let changes =
            in_rows(points, |x, y, z| (self.moved(x, y, z, self.angle) - f64::from(from.at(x, y, z))) as f32);
        each(points, |x, y, z| {
            let i = x + points[0] * (y + points[1] * z);
            let near = |dx: isize, dy: isize| {
                let a = crate::prepare::neighbour(x as isize + dx, points[0], self.wraps(0));
                let b = crate::prepare::neighbour(y as isize + dy, points[1], self.wraps(1));
                f64::from(from.at(a, b, z))
            };
            let gradient = [0.5 * (near(1, 0) - near(-1, 0)), 0.5 * (near(0, 1) - near(0, -1))];
            let square = gradient[0] * gradient[0] + gradient[1] * gradient[1];
            let change = f64::from(changes.values[i]);
            weight.values[i] = square as f32;
            for d in 0..2 {
                rest[d].values[i] = (-change * gradient[d]) as f32;
            }
        });
        let spread = |field: &Field| smooth(field, self.domain, 3.0);
        (spread(&weight), rest.map(|field| spread(&field)))
    }
}

/// The centre of a mask in points, around periodic sides by angles; none of an empty mask.
fn centroid(mask: &Field, domain: &Domain) -> Option<[f64; 2]> {
    let mut total = 0.0;
    let mut plain = [0.0; 2];
    let mut around = [[0.0; 2]; 2];
    each(mask.points, |x, y, z| {
        let m = f64::from(mask.at(x, y, z));
        total += m;
        for (d, i) in [x, y].into_iter().enumerate() {
            plain[d] += m * i as f64;
            let (s, c) = (std::f64::consts::TAU * i as f64 / mask.points[d] as f64).sin_cos();
            around[d][0] += m * c;
            around[d][1] += m * s;
        }
    });
    (total > 1e-6).then(|| {
        [0, 1].map(|d| match domain.axes[d].side {
            Side::Wall => plain[d] / total,
            Side::Periodic => {
                around[d][1].atan2(around[d][0]) / std::f64::consts::TAU * mask.points[d] as f64
            }
        })
    })
}

/// A field from a function of the point, rows in parallel.
fn in_rows(points: [usize; 3], value: impl Fn(usize, usize, usize) -> f32 + Sync) -> Field {
    let mut field = Field::constant(points, 0.0);
    field.values.par_chunks_mut(points[0].max(1)).enumerate().for_each(|(row, line)| {
        let (y, z) = (row % points[1], row / points[1]);
        line.iter_mut().enumerate().for_each(|(x, v)| *v = value(x, y, z));
    });
    field
}

fn each(points: [usize; 3], mut visit: impl FnMut(usize, usize, usize)) {
    for z in 0..points[2] {
        for y in 0..points[1] {
            for x in 0..points[0] {
                visit(x, y, z);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain() -> Domain {
        Domain::plane([64, 65], [6.4, 6.4], [Side::Periodic, Side::Wall]).unwrap()
    }

    fn bar(center: [f64; 2], angle: f64, size: [f64; 2]) -> Field {
        Field::from_fn([64, 65, 1], |[x, y, _]| {
            let dx = (x as f64 - center[0] + 32.0).rem_euclid(64.0) - 32.0;
            let dy = y as f64 - center[1];
            let (s, c) = angle.sin_cos();
            let (a, b) = ((c * dx + s * dy).abs() / size[0], (c * dy - s * dx).abs() / size[1]);
            if a < 1.0 && b < 1.0 { 1.0 } else { 0.0 }
        })
    }

    fn velocity_at(mask: &MovingMask, x: usize, y: usize) -> [f32; 2] {
        let obstacle = mask.at(0.5);
        [0, 1].map(|d| obstacle.velocity[d].as_ref().unwrap().at(x, y, 0))
    }

    #[test]
    fn a_shift_larger_than_the_body_is_found_across_a_periodic_side() {
        let (from, to) = (bar([60.0, 30.0], 0.0, [5.0, 4.0]), bar([8.0, 33.0], 0.0, [5.0, 4.0]));
        let mask = MovingMask::new(&from, &to, &domain(), 0.5, 1.0).unwrap();
        let [u, v] = velocity_at(&mask, 2, 31);
        assert!((u - 12.0 * 0.1 / 0.5).abs() < 0.1 && (v - 3.0 * 0.1 / 0.5).abs() < 0.1, "{u} {v}");
        let half = mask.at(0.5).mask;
        assert!(half.at(2, 31, 0) > 0.9 && half.at(60, 30, 0) < 0.1, "half way, the body is half way");
    }

    #[test]
    fn a_turn_is_found() {
        let (from, to) = (bar([32.0, 32.0], 0.0, [20.0, 4.0]), bar([32.0, 32.0], 0.25, [20.0, 4.0]));
        let mask = MovingMask::new(&from, &to, &domain(), 1.0, 1.0).unwrap();
        let [_, v] = velocity_at(&mask, 48, 32);
        let expected = 16.0 * 0.1 * 0.25_f32.sin();
        assert!((v - expected).abs() < 0.06, "{v} {expected}");
    }

    #[test]
    fn growth_pushes_outwards() {
        let (from, to) = (bar([32.0, 32.0], 0.0, [10.0, 10.0]), bar([32.0, 32.0], 0.0, [11.0, 11.0]));
        let mask = MovingMask::new(&from, &to, &domain(), 1.0, 1.5).unwrap();
        assert!(velocity_at(&mask, 42, 32)[0] > 0.03 && velocity_at(&mask, 22, 32)[0] < -0.03);
    }

    #[test]
    fn empty_masks_stay_still() {
        let empty = Field::constant([64, 65, 1], 0.0);
        let mask = MovingMask::new(&empty, &bar([9.0, 9.0], 0.0, [3.0, 3.0]), &domain(), 1.0, 1.0).unwrap();
        assert_eq!(velocity_at(&mask, 9, 9), [0.0; 2]);
    }
}
