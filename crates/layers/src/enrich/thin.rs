//! What stays with the animation where nobody has said: limbs, head, tail, and what stands on the floor. Belly and trunk are free.
//!
//! A body of which nothing follows flies off with its first momentum, and one held by its ends alone lets its legs dangle: neither is ever meant. How thick a
//! body is at a point of its surface is the radius of the largest ball inside that touches it there; what is thin beside its thickest part stays.

use geometry::{Bounds, SurfaceQuery, Topology, Vec3, oriented_triangles, triangle_normal};
use rayon::prelude::*;

use shot::{LayerError, Target};

/// What is thinner than this part of the thickest stays, …
const THIN: f64 = 0.5;
/// … what is thicker than this is free.
const THICK: f64 = 0.85;
/// So many times weights are averaged with their neighbours', so that there is no edge between the two.
const SMOOTHINGS: usize = 4;
/// What comes this near to the lowest place of all frames stands on the floor, as a part of the body's height.
const FLOOR: f64 = 0.01;
/// So many frames at most are looked at for that.
const FRAMES: usize = 48;

/// Weights of the surface's points, from 0 to 1.
pub(super) fn weights(input: &Target) -> Result<Vec<f64>, LayerError> {
    let mesh = input.mesh();
    let rest = mesh.rest();
    let triangles = oriented_triangles(&rest, &mesh.point_triangles());
    let radii = inscribed_radii(&rest, &triangles)?;
    let thickest = radii.iter().copied().fold(0.0, f64::max);
    let weight = |radius: &f64| {
        // a sheet has no inside: nothing of it is thin beside the rest
        if thickest <= 0.0 {
            return 0.0;
        }
        let t = ((THICK * thickest - radius) / ((THICK - THIN) * thickest)).clamp(0.0, 1.0);
        t * t * (3.0 - 2.0 * t)
    };
    let mut weights: Vec<f64> = radii.iter().map(weight).collect();
    let around = Topology::new(rest.len(), &triangles).neighbours();
    for _ in 0..SMOOTHINGS {
        let mean = |(own, near): (&f64, &Vec<u32>)| {
            (own + near.iter().map(|&p| weights[p as usize]).sum::<f64>()) / (1 + near.len()) as f64
        };
        weights = weights.iter().zip(&around).map(mean).collect();
    }
    // nearly all of a weight is all of it: exact where it can be
    weights.iter_mut().filter(|weight| **weight > 0.98).for_each(|weight| *weight = 1.0);
    for point in on_the_floor(input)? {
        weights[point] = 1.0;
    }
    Ok(weights)
}

/// The radius of the largest ball inside that touches the surface at each point, to a few per cent: its centre is sought along the normal.
fn inscribed_radii(rest: &[Vec3], triangles: &[[u32; 3]]) -> Result<Vec<f64>, LayerError> {
    let query = SurfaceQuery::new(rest.to_vec(), triangles.to_vec()).map_err(LayerError::new)?;
    let mut normals = vec![Vec3::ZERO; rest.len()];
    for corners in triangles {
        let [a, b, c] = corners.map(|v| rest[v as usize]);
        let area = (b - a).cross(c - a).length();
        corners.iter().for_each(|&v| normals[v as usize] += area * triangle_normal(a, b, c));
    }
    let size = query.bounds().diagonal();
    let radius = |(p, normal): (&Vec3, &Vec3)| {
        let inwards = -normal.normalize_or_zero();
        let (mut best, mut depth) = (0.0_f64, 0.002 * size);
        while depth < 0.5 * size {
            let inside = -query.signed_distance(*p + depth * inwards);
            best = best.max(inside.min(depth));
            // the ball of this depth has left the point behind
            if inside < 0.7 * depth {
                break;
            }
            depth *= 1.25;
        }
        best
    };
    Ok(rest.par_iter().zip(&normals).map(radius).collect())
}

/// Points that are on the floor in some frame.
fn on_the_floor(input: &Target) -> Result<Vec<usize>, LayerError> {
    let count = input.clip.frame_count();
    let step = count.div_ceil(FRAMES).max(1);
    let mut lowest = Vec::new();
    for index in (0..count).step_by(step) {
        let points = input.points(index)?;
        lowest.resize(points.len(), f32::INFINITY);
        lowest.iter_mut().zip(&points).for_each(|(low, p)| *low = low.min(p[1]));
    }
    let floor = lowest.iter().copied().fold(f32::INFINITY, f32::min);
    let bounds = Bounds::of(input.mesh().rest().iter().copied());
    let height = (bounds.max.y - bounds.min.y) as f32;
    Ok((0..lowest.len()).filter(|&p| lowest[p] <= floor + FLOOR as f32 * height).collect())
}
