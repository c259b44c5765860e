//! A mesh bound to a skeleton by distance through its inside.
//!
//! Dionne and de Lasa 2013, *Geodesic voxel binding for production character meshes*: the inside of a mesh is cut into voxels, the way from each
//! bone to each voxel is measured through the inside, and a point hangs on the bones nearest to its voxel. A hand beside a hip does not hang
//! on the hip: the way there leads up the arm. Holes, parts that cross and several shells do no harm, where heat would find no way.
//!
//! Differs: weights fall with the fourth power of the distance, w_j = (d_min / d_j)⁴, so that what is within a limb hangs on it nearly alone; four
//! joints at most. Where no way leads to any bone (an eye, a button), distances are those through the air.

use std::sync::Arc;

use geometry::{SurfaceQuery, Vec3, shortest_ways};

use super::Influences;
use crate::{Clip, Frame, Frames, Mesh, Skeleton, Skin};

/// Voxels along the longest side.
const VOXELS: f64 = 56.0;
/// Joints of a point at most, and the share below which one does not count.
const JOINTS: usize = 4;
const NEGLIGIBLE: f64 = 0.02;

impl Clip {
    /// The clip with a mesh bound to the joints of a skeleton, both as they rest; `None` where the mesh has no faces or there are no joints. What
    /// hangs on each joint is a group of its name.
    #[must_use]
    pub fn with_bound(&self, mesh: usize) -> Option<Clip> {
        let skeleton = self.skeleton.as_ref().filter(|skeleton| !skeleton.joints.is_empty())?;
        let skin = bound(self.meshes.get(mesh)?, skeleton)?;
        let mut clip = self.clone();
        for group in skin.groups(skeleton) {
            clip.meshes[mesh].set_group(group.name, group.weights);
        }
        clip.meshes[mesh].skin = Some(skin.clone());
        let rest = self.meshes[mesh].rest_points.clone();
        let skeleton = skeleton.clone();
        Some(clip.with_frames(Arc::new(Bound { frames: self.frames().clone(), mesh, skin, rest, skeleton })))
    }
}

struct Bound {
    frames: Arc<dyn Frames>,
    mesh: usize,
    skin: Skin,
    rest: Vec<[f32; 3]>,
    skeleton: Skeleton,
}

impl Frames for Bound {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn read(&self, index: usize) -> crate::Result<Frame> {
        let mut frame = self.frames.read(index)?;
        let worlds = self.skeleton.world_from_joints(&frame.pose);
        if let Some(points) = frame.points.get_mut(self.mesh).filter(|_| !worlds.is_empty()) {
            *points = self.skin.deform(&self.rest, &worlds);
        }
        Ok(frame)
    }

    fn grids(&self, index: usize) -> crate::Result<Vec<crate::Grid>> {
        self.frames.grids(index)
    }

    fn morph_weights(&self, index: usize) -> crate::Result<Vec<Vec<f32>>> {
        self.frames.morph_weights(index)
    }
}

fn bound(mesh: &Mesh, skeleton: &Skeleton) -> Option<Skin> {
    let worlds = skeleton.world_from_joints(&skeleton.rest_pose());
    let places: Vec<Vec3> = worlds.iter().map(|world| world.w_axis.truncate().as_dvec3()).collect();
    let points: Vec<Vec3> = mesh.rest_points.iter().map(|p| Vec3::from(p.map(f64::from))).collect();
    let corner = |vertex: u32| mesh.vertex_points[vertex as usize];
    let triangles: Vec<[u32; 3]> = mesh.faces.triangles().map(|t| t.map(corner)).collect();
    let inside = Inside::of(points.clone(), triangles)?;
    let bones = bones(skeleton, &places);
    let ways: Vec<Vec<f64>> = bones.iter().map(|bone| inside.ways(bone)).collect();
    let influences = points.iter().map(|&point| {
        let cell = inside.nearest(point);
        let through: Vec<f64> = ways.iter().map(|ways| ways[cell]).collect();
        let distances = match through.iter().any(|way| way.is_finite()) {
            true => through,
            false => bones.iter().map(|bone| straight(bone, point)).collect(),
        };
        weights(&distances, inside.size)
    });
    let influences: Vec<Vec<(u32, f32)>> = influences
        .map(|own: Influences| own.into_iter().map(|(joint, weight)| (joint, weight as f32)).collect())
        .collect();
    let binds = worlds.iter().enumerate().map(|(joint, world)| (joint, world.inverse())).collect();
    Some(Skin { binds, influences })
}

/// The segments of each joint's bone: to its children, or on as it came where it has none.
fn bones(skeleton: &Skeleton, places: &[Vec3]) -> Vec<Vec<[Vec3; 2]>> {
    let mut bones = vec![Vec::new(); places.len()];
    for (child, joint) in skeleton.joints.iter().enumerate() {
        if let Some(parent) = joint.parent {
            bones[parent].push([places[parent], places[child]]);
        }
    }
    for (joint, bone) in bones.iter_mut().enumerate() {
        if bone.is_empty() {
            let from = skeleton.joints[joint].parent.map_or(places[joint], |parent| places[parent]);
            bone.push([places[joint], places[joint] + 0.5 * (places[joint] - from)]);
        }
    }
    bones
}

fn straight(bone: &[[Vec3; 2]], point: Vec3) -> f64 {
    let to = |[a, b]: &[Vec3; 2]| {
        let along = *b - *a;
        let share = ((point - *a).dot(along) / along.length_squared().max(1e-300)).clamp(0.0, 1.0);
        point.distance(*a + along * share)
    };
    bone.iter().map(to).fold(f64::INFINITY, f64::min)
}

/// The nearest joints, weights that sum to one.
fn weights(distances: &[f64], size: f64) -> Influences {
    let mut order: Vec<usize> = (0..distances.len()).filter(|&joint| distances[joint].is_finite()).collect();
    order.sort_by(|&a, &b| distances[a].total_cmp(&distances[b]).then(a.cmp(&b)));
    order.truncate(JOINTS);
    let softened = |joint: usize| distances[joint] + 1e-3 * size;
    let least = order.first().map_or(1.0, |&joint| softened(joint));
    let mut all: Influences =
        order.iter().map(|&joint| (joint as u32, (least / softened(joint)).powi(4))).collect();
    all.retain(|&(_, weight)| weight > NEGLIGIBLE);
    let sum: f64 = all.iter().map(|(_, weight)| weight).sum();
    all.iter_mut().for_each(|(_, weight)| *weight /= sum);
    all
}

/// The voxels in a surface or touched by it, and the ways between them.
struct Inside {
    /// Longest side of the surface.
    size: f64,
    cell: f64,
    low: Vec3,
    counts: [usize; 3],
    /// By voxel of the box: its number among those inside.
    numbers: Vec<u32>,
    middles: Vec<Vec3>,
    around: Vec<Vec<(u32, f64)>>,
}

impl Inside {
    fn of(points: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Option<Self> {
        let surface = SurfaceQuery::new(points, triangles).ok()?;
        let bounds = surface.bounds();
        let extent = bounds.max - bounds.min;
        let size = extent.max_element();
        if !(size > 0.0 && size.is_finite()) {
            return None;
        }
        let cell = size / VOXELS;
        let counts = extent.to_array().map(|length| (length / cell).ceil() as usize + 2);
        let low = bounds.min - Vec3::splat(cell);
        let mut inside = Self {
            size,
            cell,
            low,
            counts,
            numbers: vec![u32::MAX; counts.iter().product()],
            middles: Vec::new(),
            around: Vec::new(),
        };
        for voxel in 0..inside.numbers.len() {
            let middle = inside.middle(voxel);
            let near = surface.closest(middle).distance < 0.87 * cell;
            if near || surface.winding_number(middle) > 0.5 {
                inside.numbers[voxel] = inside.middles.len() as u32;
                inside.middles.push(middle);
            }
        }
        inside.connect();
        (!inside.middles.is_empty()).then_some(inside)
    }

    fn place(&self, voxel: usize) -> [usize; 3] {
        let [x, y, _] = self.counts;
        [voxel % x, voxel / x % y, voxel / (x * y)]
    }

    fn middle(&self, voxel: usize) -> Vec3 {
        self.low + self.cell * (Vec3::from(self.place(voxel).map(|k| k as f64)) + 0.5)
    }

    fn voxel(&self, [i, j, k]: [usize; 3]) -> usize {
        (k * self.counts[1] + j) * self.counts[0] + i
    }

    /// Joins each to its up to 26 neighbours.
    fn connect(&mut self) {
        for voxel in 0..self.numbers.len() {
            if self.numbers[voxel] == u32::MAX {
                continue;
            }
            let at = self.place(voxel);
            let mut near = Vec::new();
            for step in 0..27 {
                let by = [step % 3, step / 3 % 3, step / 9].map(|k: usize| k as isize - 1);
                let to: [Option<usize>; 3] = std::array::from_fn(|axis| {
                    at[axis].checked_add_signed(by[axis]).filter(|&k| k < self.counts[axis])
                });
                let [Some(i), Some(j), Some(k)] = to else { continue };
                let other = self.numbers[self.voxel([i, j, k])];
                if other != u32::MAX && by != [0; 3] {
                    let length = (by.iter().map(|k| k * k).sum::<isize>() as f64).sqrt();
                    near.push((other, self.cell * length));
                }
            }
            self.around.push(near);
        }
    }

    /// The voxel inside that is nearest to a point.
    fn nearest(&self, point: Vec3) -> usize {
        let at = ((point - self.low) / self.cell).floor().to_array();
        let at: [usize; 3] =
            std::array::from_fn(|axis| (at[axis].max(0.0) as usize).min(self.counts[axis] - 1));
        match self.numbers[self.voxel(at)] {
            u32::MAX => {
                let distance = |&a: &usize| self.middles[a].distance_squared(point);
                (0..self.middles.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
            }
            number => number as usize,
        }
    }

    /// How far every voxel is from a bone, through the inside.
    fn ways(&self, bone: &[[Vec3; 2]]) -> Vec<f64> {
        let mut sources = Vec::new();
        for [a, b] in bone {
            let pieces = (2.0 * a.distance(*b) / self.cell).ceil().clamp(1.0, 1e4) as usize;
            for k in 0..=pieces {
                let point = a.lerp(*b, k as f64 / pieces as f64);
                let nearest = self.nearest(point);
                // what is outside does not begin anywhere
                if self.middles[nearest].distance(point) < 0.9 * self.cell {
                    sources.push(nearest as u32);
                }
            }
        }
        if sources.is_empty() {
            sources.extend(bone.first().map(|[a, b]| self.nearest(a.lerp(*b, 0.5)) as u32));
        }
        sources.sort_unstable();
        sources.dedup();
        shortest_ways(&self.around, &sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Joint, Transform};

    /// Two round bars side by side, joined at one end only: what is near through the air is far through the inside.
    #[test]
    fn a_hand_beside_a_hip_hangs_on_its_own_arm() {
        let joint = |name: &str, parent, x: f32, y: f32| Joint {
            name: name.into(),
            parent,
            rest: Transform { translation: glam::Vec3::new(x, y, 0.0), ..Transform::IDENTITY },
        };
        // a U: down the left bar, and down the right one
        let skeleton = Skeleton {
            joints: vec![
                joint("top", None, 0.0, 1.0),
                joint("left", Some(0), -0.1, 0.0),
                joint("left_end", Some(1), 0.0, -0.9),
                joint("right", Some(0), 0.1, 0.0),
                joint("right_end", Some(3), 0.0, -0.9),
            ],
        };
        let mut points = Vec::new();
        let mut faces = crate::Faces::default();
        let mut block = |low: [f32; 3], high: [f32; 3]| {
            let first = points.len() as u32;
            for i in 0..8_usize {
                points.push([0, 1, 2].map(|k| if i >> k & 1 == 1 { high[k] } else { low[k] }));
            }
            let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
            sides.iter().for_each(|side: &[u32; 4]| faces.push(&side.map(|corner| first + corner)));
        };
        block([-0.16, 0.05, -0.06], [-0.04, 1.0, 0.06]);
        block([0.04, 0.05, -0.06], [0.16, 1.0, 0.06]);
        block([-0.16, 0.95, -0.06], [0.16, 1.08, 0.06]);
        let mesh = Mesh::from_faces("u", points, faces);
        let clip = Clip::new(
            "u",
            24.0,
            vec![mesh.clone()],
            Some(skeleton.clone()),
            Arc::new(crate::MemoryFrames::new(vec![Frame {
                points: vec![mesh.rest_points.clone()],
                pose: skeleton.rest_pose(),
            }])),
        );
        let bound = clip.with_bound(0).unwrap();
        let skin = bound.meshes[0].skin.clone().unwrap();
        // the lower inner corners of the left bar are 8 cm from the right one
        for (point, influences) in skin.influences.iter().enumerate().take(8) {
            let place = mesh.rest_points[point];
            let right: f32 = influences.iter().filter(|(j, _)| *j >= 3).map(|(_, w)| w).sum();
            let sum: f32 = influences.iter().map(|(_, w)| w).sum();
            assert!((sum - 1.0).abs() < 1e-5 && influences.len() <= JOINTS);
            if place[1] < 0.5 {
                assert!(right < 1e-6, "{place:?}: {influences:?}");
            }
        }
        // at rest it is where it was, and it goes with its joints
        for (a, b) in bound.frame(0).unwrap().points[0].iter().zip(&mesh.rest_points) {
            assert!(glam::Vec3::from(*a).distance(glam::Vec3::from(*b)) < 1e-5);
        }
        assert!(bound.meshes[0].groups.iter().any(|group| group.name == "left"));
    }
}
