//! Line-integral convolution: every pixel takes the mean colour that its path through one frozen flow visits.

use super::Picture;
use crate::{Domain, Error, Field, Side, sample};

/// Smears a picture along the flow, from `before` seconds back to `after` seconds on. Velocities in m/s along x and y.
pub fn smear(
    picture: &Picture,
    domain: &Domain,
    velocity: [&Field; 2],
    before: f64,
    after: f64,
) -> Result<Picture, Error> {
    for field in velocity {
        field.check("velocity", domain.points())?;
    }
    for (dial, value) in [("before", before), ("after", after)] {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(Error::Dial { dial, value, allowed: "0 s or more" });
        }
    }
    let lengths = [0, 1].map(|d| domain.axes[d].length);
    let wraps = [0, 1].map(|d| domain.axes[d].side == Side::Periodic);
    let fastest = velocity.iter().zip(lengths).fold(0.0, |m: f64, (u, l)| m.max(f64::from(u.peak()) / l));
    // half a pixel at the fastest place, and no more than a long path's worth
    let pixel = 1.0 / picture.width.max(picture.height).max(1) as f64;
    let steps = |seconds: f64| ((fastest * seconds / (0.5 * pixel)).ceil() as usize).min(2000);
    let flow = |p: [f64; 2]| {
        let index = [domain.axes[0].index(p[0]), domain.axes[1].index(p[1]), 0.0];
        [0, 1].map(|d| f64::from(sample(velocity[d], domain, index)) / lengths[d])
    };
    Ok(Picture::paint(picture.width, picture.height, |x, y| {
        let mut sum = picture.sample(x, y, wraps);
        let mut total = 1.0_f32;
        for (seconds, sign) in [(before, -1.0), (after, 1.0)] {
            let count = steps(seconds);
            let dt = sign * seconds / count.max(1) as f64;
            let mut p = [x, y];
            for _ in 0..count {
                let first = flow(p);
                let middle = flow([p[0] + 0.5 * dt * first[0], p[1] + 0.5 * dt * first[1]]);
                for d in 0..2 {
                    p[d] += dt * middle[d];
                    if !wraps[d] {
                        p[d] = p[d].clamp(0.0, 1.0);
                    }
                }
                let color = picture.sample(p[0], p[1], wraps);
                (0..4).for_each(|k| sum[k] += color[k]);
                total += 1.0;
            }
        }
        sum.map(|v| v / total)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke_is_drawn_out_along_the_flow_and_not_across() {
        let domain = Domain::plane([16, 16], [1.0, 1.0], [Side::Periodic; 2]).unwrap();
        let (one, none) = (domain.field(|_| 1.0), domain.field(|_| 0.0));
        let dot = Picture::paint(64, 64, |x, y| {
            if (x - 0.5).abs() < 0.05 && (y - 0.5).abs() < 0.05 { [1.0; 4] } else { [0.0; 4] }
        });
        let drawn = smear(&dot, &domain, [&one, &none], 0.25, 0.0).unwrap();
        let at = |x: usize, y: usize| drawn.pixels[y * 64 + x][0];
        assert!(at(44, 32) > 0.2, "downstream the path behind passes the dot");
        assert!(at(20, 32) < 0.01 && at(32, 45) < 0.01, "not upstream, not across");
        let still = smear(&dot, &domain, [&none, &none], 1.0, 1.0).unwrap();
        assert_eq!(still.pixels, dot.pixels);
    }
}
