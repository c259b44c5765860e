//! What is true of the shown surface: normals, and points that stay out of capsules.

use alloc::vec;
use alloc::vec::Vec;

use crate::collision::Capsule;
use crate::file::Operator;
use crate::kernel::Loop;
use crate::vector::{add, along, cross, sub};
use crate::{Kernel, Plane, Point};

/// Normals of points, weighted by area, of length one; zero where there is no surface.
pub fn vertex_normals(kernel: Kernel, points: &[Point], triangles: &[[u32; 3]], normals: &mut [Point]) {
    kernel.run(Normals { points, triangles, normals });
}

struct Normals<'a> {
    points: &'a [Point],
    triangles: &'a [[u32; 3]],
    normals: &'a mut [Point],
}

impl Loop for Normals<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { points, triangles, normals } = self;
        normals.fill([0.0; 3]);
        for t in triangles {
            let [a, b, c] = t.map(|v| v as usize);
            let (Some(&p), Some(&q), Some(&r)) = (points.get(a), points.get(b), points.get(c)) else {
                continue;
            };
            let normal = cross(sub(q, p), sub(r, p));
            for corner in [a, b, c] {
                if let Some(sum) = normals.get_mut(corner) {
                    *sum = add(*sum, normal);
                }
            }
        }
        // in the units of the cloth's own size, squares stay far from the smallest number
        for n in normals.iter_mut() {
            let squared = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
            let inverse = if squared > 1e-30 { 1.0 / crate::vector::sqrt(squared) } else { 0.0 };
            *n = n.map(|x| inverse * x);
        }
    }
}

/// Tangents of points for normal maps, as glTF has them: x, y, z of ∂p/∂u, of length one and square to the normal, and in w the side, so that
/// ∂p/∂v points along w · normal × tangent. Zero where texture coordinates or the surface say nothing. Triangles count by their area in
/// the texture.
pub fn vertex_tangents(
    kernel: Kernel,
    points: &[Point],
    triangles: &[[u32; 3]],
    texture: &[[f32; 2]],
    normals: &[Point],
    tangents: &mut [[f32; 4]],
) {
    kernel.run(Tangents { points, triangles, texture, normals, tangents });
}

struct Tangents<'a> {
    points: &'a [Point],
    triangles: &'a [[u32; 3]],
    texture: &'a [[f32; 2]],
    normals: &'a [Point],
    tangents: &'a mut [[f32; 4]],
}

impl Loop for Tangents<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { points, triangles, texture, normals, tangents } = self;
        tangents.fill([0.0; 4]);
        for t in triangles {
            let corners = t.map(|v| points.get(v as usize).zip(texture.get(v as usize)));
            let [Some((&p, &a)), Some((&q, &b)), Some((&r, &c))] = corners else { continue };
            let (along_b, along_c) = ([b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]]);
            let area = along_b[0] * along_c[1] - along_c[0] * along_b[1];
            let side = if area < 0.0 { -1.0 } else { 1.0 };
            let (e, f) = (sub(q, p), sub(r, p));
            for corner in t {
                let Some(sum) = tangents.get_mut(*corner as usize) else { continue };
                for axis in 0..3 {
                    sum[axis] += side * (e[axis] * along_c[1] - f[axis] * along_b[1]);
                }
                sum[3] += area;
            }
        }
        for (tangent, n) in tangents.iter_mut().zip(normals) {
            let [x, y, z, area] = *tangent;
            let t = along([x, y, z], -crate::vector::dot([x, y, z], *n), *n);
            let squared = crate::vector::dot(t, t);
            let inverse = if squared > 1e-30 { 1.0 / crate::vector::sqrt(squared) } else { 0.0 };
            let side = if area < 0.0 { -1.0 } else { 1.0 };
            *tangent = [inverse * t[0], inverse * t[1], inverse * t[2], side];
        }
    }
}

/// Fine points in groups that lie together, so that a capsule looks only at groups near it.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    starts: Vec<u32>,
    points: Vec<u32>,
}

impl Groups {
    /// The points that hang most on the same coarse point, or that are nearest to it where nothing says so.
    pub(crate) fn new<B: AsRef<[u8]>>(operator: &Operator<B>) -> Self {
        let coarse: Vec<Point> = operator.coarse_rest().collect();
        let nearest = |p: Point| {
            let distance = |q: &Point| crate::vector::dot(sub(p, *q), sub(p, *q));
            (0..coarse.len())
                .min_by(|&i, &j| distance(&coarse[i]).total_cmp(&distance(&coarse[j])))
                .unwrap_or(0)
        };
        let group: Vec<usize> = operator.fine_rest().map(nearest).collect();
        let mut starts = vec![0_u32; coarse.len() + 1];
        group.iter().for_each(|&g| starts[g + 1] += 1);
        (0..coarse.len()).for_each(|g| starts[g + 1] += starts[g]);
        let mut next = starts.clone();
        let mut points = vec![0; group.len()];
        for (point, &g) in group.iter().enumerate() {
            points[next[g] as usize] = point as u32;
            next[g] += 1;
        }
        Self { starts, points }
    }

    /// Moves the points that are inside a capsule or a plane to its surface.
    pub(crate) fn push_out(&self, capsules: &[Capsule], planes: &[Plane], margin: f32, fine: &mut [Point]) {
        for group in self.starts.windows(2) {
            let members = &self.points[group[0] as usize..group[1] as usize];
            let count = fine.len();
            let members = members.iter().map(|point| *point as usize).filter(move |point| *point < count);
            let mut low = [f32::INFINITY; 3];
            let mut high = [f32::NEG_INFINITY; 3];
            for point in members.clone() {
                for axis in 0..3 {
                    low[axis] = low[axis].min(fine[point][axis]);
                    high[axis] = high[axis].max(fine[point][axis]);
                }
            }
            for capsule in capsules {
                let [bottom, top] = capsule.bounds(margin);
                if (0..3).any(|axis| low[axis] > top[axis] || high[axis] < bottom[axis]) {
                    continue;
                }
                for point in members.clone() {
                    if let Some((depth, way, _)) = capsule.depth(fine[point], margin) {
                        fine[point] = along(fine[point], depth, way);
                    }
                }
            }
            for plane in planes {
                let n = plane.normal;
                let lowest: f32 = (0..3).map(|i| (n[i] * low[i]).min(n[i] * high[i])).sum();
                if lowest >= plane.offset + margin {
                    continue;
                }
                for point in members.clone() {
                    let below = plane.offset + margin - crate::vector::dot(n, fine[point]);
                    if below > 0.0 {
                        fine[point] = along(fine[point], below, n);
                    }
                }
            }
        }
    }
}
