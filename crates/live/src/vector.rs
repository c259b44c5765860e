//! Three numbers and what is done with them. Products are never fused with sums: every processor gives the same bits.

use crate::Point;

#[inline(always)]
pub(crate) fn add(a: Point, b: Point) -> Point {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
pub(crate) fn sub(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
pub(crate) fn scale(a: f32, b: Point) -> Point {
    [a * b[0], a * b[1], a * b[2]]
}

/// a + s b
#[inline(always)]
pub(crate) fn along(a: Point, s: f32, b: Point) -> Point {
    [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]]
}

/// a at 0, b at 1
#[inline(always)]
pub(crate) fn lerp(a: Point, b: Point, t: f32) -> Point {
    along(a, t, sub(b, a))
}

#[inline(always)]
pub(crate) fn dot(a: Point, b: Point) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(crate) fn cross(a: Point, b: Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Correctly rounded, with or without the standard library.
#[inline(always)]
pub(crate) fn sqrt(a: f32) -> f32 {
    #[cfg(feature = "std")]
    return a.sqrt();
    #[cfg(not(feature = "std"))]
    return libm::sqrtf(a);
}

#[inline(always)]
pub(crate) fn length(a: Point) -> f32 {
    sqrt(dot(a, a))
}

#[inline(always)]
pub(crate) fn is_finite(a: Point) -> bool {
    a.iter().all(|x| x.is_finite())
}
