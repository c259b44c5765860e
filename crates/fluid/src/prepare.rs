//! From images to the grid: resample, smooth, make periodic, read a profile over height.

use crate::domain::{Axis, Domain};
use crate::{Error, Field, Side};

/// A field of any size on the points of a grid, with the kernel of cubic convolution; stretched where the grid is coarser than the
/// field, so that nothing is skipped.
pub fn resample(field: &Field, domain: &Domain) -> Result<Field, Error> {
    if field.values.is_empty() || field.values.len() != field.points.iter().product::<usize>() {
        return Err(Error::Length { what: "image", found: field.values.len(), expected: 1 });
    }
    let mut result = field.clone();
    for (d, axis) in domain.axes.iter().enumerate() {
        let pixels = result.points[d];
        // walls have a point on the outer edge of the first pixel, so pixels are asked for beyond it; they repeat
        let places: Vec<f64> = (0..axis.points).map(|i| axis.place(i as f64) * pixels as f64 - 0.5).collect();
        if axis.points == 1 && pixels == 1 {
            continue;
        }
        let scale = (pixels as f64 / axis.points as f64).max(1.0);
        result = along(&result, d, &places, scale, axis.side == Side::Periodic);
    }
    Ok(result)
}

/// Gaussian blur with a standard deviation of `radius` points, around periodic sides and against walls.
pub fn smooth(field: &Field, domain: &Domain, radius: f64) -> Field {
    let mut result = field.clone();
    if !(radius > 0.0) {
        return result;
    }
    for (d, axis) in domain.axes.iter().enumerate() {
        let n = result.points[d];
        if n < 2 {
            continue;
        }
        // around the axis twice, all is one grey already
        let reach = (3.0 * radius).ceil().min(2.0 * n as f64) as isize;
        let bell: Vec<f64> = (-reach..=reach).map(|k| (-0.5 * (k as f64 / radius).powi(2)).exp()).collect();
        let sum: f64 = bell.iter().sum();
        let wraps = axis.side == Side::Periodic;
        result = lines(&result, d, n, |line, i| {
            let at = |k: isize| line[neighbour(i as isize + k, n, wraps)];
            (-reach..=reach).zip(&bell).map(|(k, b)| b * f64::from(at(k))).sum::<f64>() / sum
        });
    }
    result
}

/// Bends the two ends of an image along each periodic axis towards each other, over a `margin` (a fraction of the axis, up to half),
/// so that it wraps without a seam. The middle is untouched.
pub fn make_periodic(field: &Field, domain: &Domain, margin: f64) -> Field {
    let mut result = field.clone();
    for (d, axis) in domain.axes.iter().enumerate() {
        let n = result.points[d];
        if axis.side != Side::Periodic || n < 4 {
            continue;
        }
        let reach = (margin.clamp(0.0, 0.5) * n as f64).max(1.0);
        result = lines(&result, d, n, |line, i| {
            // the jump across the seam, as the ends would continue half a pixel beyond themselves
            let first = 1.5 * f64::from(line[0]) - 0.5 * f64::from(line[1]);
            let last = 1.5 * f64::from(line[n - 1]) - 0.5 * f64::from(line[n - 2]);
            let half = 0.5 * (last - first);
            let fade = |distance: f64| {
                let s = (1.0 - distance / reach).clamp(0.0, 1.0);
                s * s * (3.0 - 2.0 * s)
            };
            f64::from(line[i]) + half * (fade(i as f64 + 0.5) - fade((n - i) as f64 - 0.5))
        });
    }
    result
}

/// A profile over height from an image: the mean of each row, on the grid's rows from the ground up.
pub fn profile(field: &Field, domain: &Domain) -> Result<Vec<f32>, Error> {
    let [nx, ny, nz] = field.points;
    if field.values.is_empty() || field.values.len() != nx * ny * nz {
        return Err(Error::Length { what: "image", found: field.values.len(), expected: 1 });
    }
    let mean = |y: usize| {
        (0..nz)
            .flat_map(|z| (0..nx).map(move |x| (x, z)))
            .map(|(x, z)| f64::from(field.at(x, y, z)))
            .sum::<f64>()
    };
    let column = Field::from_fn([1, ny, 1], |[_, y, _]| (mean(y) / (nx * nz) as f64) as f32);
    let one = Axis { points: 1, length: 1.0, side: Side::Periodic };
    Ok(resample(&column, &Domain { axes: [one, domain.axes[1], one] })?.values)
}

/// The number at a fractional point index, by cubic convolution along every axis; beyond a wall the last point repeats.
pub fn sample(field: &Field, domain: &Domain, index: [f64; 3]) -> f32 {
    let taps = [0, 1, 2].map(|d| {
        let wraps = domain.axes[d].side == Side::Periodic;
        let n = field.points[d];
        let base = index[d].floor();
        let t = index[d] - base;
        let flat = n == 1;
        [-1, 0, 1, 2].map(|k: isize| {
            let weight = if flat { if k == 0 { 1.0 } else { 0.0 } } else { cubic(t - k as f64) };
            (neighbour(base as isize + k, n, wraps), weight)
        })
    });
    let mut total = 0.0;
    for (z, wz) in taps[2].into_iter().filter(|t| t.1 != 0.0) {
        for (y, wy) in taps[1].into_iter().filter(|t| t.1 != 0.0) {
            for (x, wx) in taps[0] {
                total += wx * wy * wz * f64::from(field.at(x, y, z));
            }
        }
    }
    total as f32
}

/// Keys 1981: the cubic convolution kernel that reproduces parabolas.
pub(crate) fn cubic(t: f64) -> f64 {
    let t = t.abs();
    if t < 1.0 {
        (1.5 * t - 2.5) * t * t + 1.0
    } else if t < 2.0 {
        ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
    } else {
        0.0
    }
}

/// The point that stands for `i` on an axis of n points.
pub(crate) fn neighbour(i: isize, n: usize, wraps: bool) -> usize {
    if wraps { i.rem_euclid(n as isize) as usize } else { i.clamp(0, n as isize - 1) as usize }
}

/// Samples along one axis at fractional indices, with the cubic kernel stretched by `scale`.
fn along(field: &Field, d: usize, places: &[f64], scale: f64, wraps: bool) -> Field {
    let n = field.points[d];
    let reach = (2.0 * scale).ceil() as isize;
    let taps: Vec<Vec<(usize, f64)>> = places
        .iter()
        .map(|&place| {
            let base = place.floor() as isize;
            let taps: Vec<(usize, f64)> = (base - reach..=base + reach + 1)
                .map(|i| (neighbour(i, n, wraps), cubic((place - i as f64) / scale)))
                .filter(|tap| tap.1 != 0.0)
                .collect();
            let sum: f64 = taps.iter().map(|tap| tap.1).sum();
            taps.into_iter().map(|(i, w)| (i, w / sum)).collect()
        })
        .collect();
    lines(field, d, places.len(), |line, i| taps[i].iter().map(|&(j, w)| w * f64::from(line[j])).sum())
}

/// A field whose lines along axis `d` are made from the old ones, point by point.
fn lines(field: &Field, d: usize, n: usize, value: impl Fn(&[f32], usize) -> f64) -> Field {
    let mut points = field.points;
    points[d] = n;
    let mut result = Field::constant(points, 0.0);
    let strides = |p: [usize; 3]| [1, p[0], p[0] * p[1]];
    let (from, to) = (strides(field.points), strides(points));
    let others = [(d + 1) % 3, (d + 2) % 3];
    let mut line = vec![0.0; field.points[d]];
    for a in 0..points[others[0]] {
        for b in 0..points[others[1]] {
            let start = a * from[others[0]] + b * from[others[1]];
            line.iter_mut().enumerate().for_each(|(i, v)| *v = field.values[start + i * from[d]]);
            let start = a * to[others[0]] + b * to[others[1]];
            (0..n).for_each(|i| result.values[start + i * to[d]] = value(&line, i) as f32);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(points: [usize; 2], side: Side) -> Domain {
        Domain::plane(points, [1.0, 1.0], [side, Side::Wall]).unwrap()
    }

    #[test]
    fn an_image_of_the_grids_size_stays_itself_along_a_periodic_axis() {
        let image = Field::from_fn([16, 1, 1], |[x, _, _]| (x as f32 * 1.7).sin());
        let grid = resample(&image, &domain([16, 8], Side::Periodic)).unwrap();
        for x in 0..16 {
            assert!((grid.at(x, 5, 0) - image.at(x, 0, 0)).abs() < 1e-6);
        }
    }

    #[test]
    fn resampling_keeps_the_mean_and_the_shape() {
        let image =
            Field::from_fn([200, 200, 1], |[x, y, _]| ((x as f32 * 0.0314).sin() + y as f32 / 200.0) * 0.5);
        let grid = resample(&image, &domain([40, 21], Side::Periodic)).unwrap();
        assert!((grid.at(10, 10, 0) - (0.5 * (51.5_f32 * 0.0314).sin() + 0.25)).abs() < 0.01);
        let larger = resample(&image, &domain([400, 401], Side::Wall)).unwrap();
        assert!((larger.at(200, 200, 0) - image.at(100, 100, 0)).abs() < 0.01);
    }

    /// A blur wider than the box leaves one grey, the mean, and takes no longer than one as wide as the box.
    #[test]
    fn a_blur_without_end_is_the_mean() {
        let image = Field::from_fn([400, 300, 1], |[x, _, _]| if x < 100 { 1.0 } else { 0.0 });
        let begun = std::time::Instant::now();
        let grey = smooth(&image, &domain([400, 300], Side::Periodic), 1e9);
        let (low, high) = grey.range();
        assert!((low - 0.25).abs() < 2e-3 && (high - 0.25).abs() < 2e-3, "{low} {high}");
        assert!(begun.elapsed().as_secs_f64() < 10.0, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_seam_is_closed_and_the_middle_kept() {
        let ramp = Field::from_fn([40, 8, 1], |[x, _, _]| x as f32);
        let closed = make_periodic(&ramp, &domain([40, 8], Side::Periodic), 0.2);
        assert!((closed.at(0, 3, 0) - closed.at(39, 3, 0)).abs() < 2.0, "the jump was 39");
        assert_eq!(closed.at(20, 3, 0), 20.0);
        assert_eq!(make_periodic(&ramp, &domain([40, 8], Side::Wall), 0.2), ramp, "walls need no closing");
    }

    #[test]
    fn blur_keeps_constants_and_spreads_points() {
        let mut field = Field::constant([20, 20, 1], 2.0);
        let domain = domain([20, 20], Side::Periodic);
        assert!(smooth(&field, &domain, 1.5).values.iter().all(|v| (v - 2.0).abs() < 1e-6));
        field.values[210] = 3.0;
        let (_, high) = smooth(&field, &domain, 1.0).range();
        assert!((high - 2.0 - 0.159).abs() < 0.005, "1/2πσ² of a point is left in place: {high}");
    }

    #[test]
    fn a_profile_is_the_mean_of_rows_from_the_ground_up() {
        let image = Field::from_image(2, 4, &[4.0, 4.0, 3.0, 3.0, 2.0, 2.0, 0.0, 2.0]).unwrap();
        let profile = profile(&image, &domain([8, 9], Side::Wall)).unwrap();
        assert!((profile[0] - 1.0).abs() < 0.2 && (profile[8] - 4.0).abs() < 0.2, "{profile:?}");
        assert!(profile.windows(2).all(|p| p[0] < p[1] + 0.1));
    }

    #[test]
    fn sampling_at_points_gives_their_values() {
        let domain = domain([12, 9], Side::Periodic);
        let field = domain.field(|p| (std::f64::consts::TAU * p[0]).sin() + p[1]);
        assert!((sample(&field, &domain, [3.0, 4.0, 0.0]) - field.at(3, 4, 0)).abs() < 1e-6);
        let around = sample(&field, &domain, [11.5, 4.0, 0.0]);
        assert!((around - 0.5).abs() < 0.02, "half way between the last point and the first: {around}");
    }
}
