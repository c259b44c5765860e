//! What several tests share: numbers without rounding, folded sheets.

use geometry::Vec3;
use num_rational::BigRational;

/// A place without rounding.
pub(crate) type Exact = [BigRational; 3];

/// A number of double precision as what it stands for.
pub(crate) fn rational(x: f64) -> BigRational {
    BigRational::from_float(x).expect("tests use finite numbers")
}

pub(crate) fn exact(p: [f64; 3]) -> Exact {
    p.map(rational)
}

/// a − b.
pub(crate) fn sub(a: &Exact, b: &Exact) -> Exact {
    std::array::from_fn(|i| &a[i] - &b[i])
}

/// a·b.
pub(crate) fn dot(a: &Exact, b: &Exact) -> BigRational {
    &a[0] * &b[0] + &a[1] * &b[1] + &a[2] * &b[2]
}

/// A sheet of n×n quads of one metre, folded into `layers` that lie `gap` apart.
pub(crate) fn folded_sheet(n: u32, layers: u32, gap: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let width = 1.0 / f64::from(layers);
    let points = (0..=n)
        .flat_map(|j| (0..=n).map(move |i| (f64::from(i) / f64::from(n), f64::from(j) / f64::from(n))))
        .map(|(s, z)| {
            let layer = (s / width).floor().min(f64::from(layers - 1));
            let along = s - layer * width;
            let x = if layer % 2.0 == 0.0 { along } else { width - along };
            // rises a little along each layer, so that neighbours are joined without touching
            Vec3::new(x, gap * s / width, z)
        })
        .collect();
    let triangles = (0..n)
        .flat_map(|j| (0..n).map(move |i| j * (n + 1) + i))
        .flat_map(|a| [[a, a + 1, a + n + 1], [a + 1, a + n + 2, a + n + 1]])
        .collect();
    (points, triangles)
}
