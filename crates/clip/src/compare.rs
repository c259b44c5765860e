//! How far two clips are from each other, and how far a clip is from its rest lengths.

use geometry::{Topology, Vec3};
use serde::Serialize;

use crate::{Clip, Error, Frame, Result};

/// Distances between the points of two clips at one frame, in metres.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameDistance {
    /// The frame, from zero.
    pub frame: usize,
    /// The largest distance.
    pub max: f64,
    /// The root of the mean square.
    pub rms: f64,
    /// The mean.
    pub mean: f64,
    /// Mesh and point of the largest distance.
    pub worst: Option<(usize, usize)>,
}

/// Change of edge lengths at one frame, relative to the rest shape: 0.01 is one per cent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameStrain {
    /// The frame, from zero.
    pub frame: usize,
    /// The largest stretch; zero when nothing is longer than at rest.
    pub max_stretch: f64,
    /// The largest shortening; zero when nothing is shorter.
    pub max_compression: f64,
    /// The root of the mean square over all edges.
    pub rms: f64,
    /// Mesh and ends of the edge with the largest stretch.
    pub worst: Option<(usize, [u32; 2])>,
}

/// What differs between the static parts of two clips; empty when nothing does.
pub fn topology_differences(a: &Clip, b: &Clip) -> Vec<String> {
    let mut differences = Vec::new();
    let mut compare = |what: String, x: usize, y: usize| {
        if x != y {
            differences.push(format!("{what}: {x} and {y}"));
        }
    };
    compare("meshes".into(), a.meshes.len(), b.meshes.len());
    for (x, y) in a.meshes.iter().zip(&b.meshes) {
        compare(format!("points of `{}`", x.name), x.point_count(), y.point_count());
        compare(format!("vertices of `{}`", x.name), x.vertex_count(), y.vertex_count());
        compare(format!("faces of `{}`", x.name), x.faces.len(), y.faces.len());
    }
    for (x, y) in a.meshes.iter().zip(&b.meshes) {
        if x.faces.len() == y.faces.len() && x.faces != y.faces {
            let first = (0..x.faces.len()).find(|&face| x.faces.get(face) != y.faces.get(face)).unwrap_or(0);
            differences.push(format!("corners of `{}`, first at face {first}", x.name));
        }
        if x.vertex_count() == y.vertex_count() && x.vertex_points != y.vertex_points {
            differences.push(format!("points under the vertices of `{}`", x.name));
        }
    }
    differences
}

/// Distances at every frame that both clips have.
///
/// Meshes are compared point by point; where one file welds points that another keeps apart, vertex by vertex. Meshes
/// with neither in common are an error.
pub fn distances(a: &Clip, b: &Clip) -> Result<Vec<FrameDistance>> {
    let frames = a.frame_count().min(b.frame_count());
    (0..frames).map(|frame| frame_distance(a, &a.frame(frame)?, b, &b.frame(frame)?, frame)).collect()
}

/// The same for one frame.
pub fn frame_distance(
    a: &Clip,
    frame_a: &Frame,
    b: &Clip,
    frame_b: &Frame,
    frame: usize,
) -> Result<FrameDistance> {
    let mismatch =
        |what: String, of, found, expected| Err(Error::FrameMismatch { frame, what, of, found, expected });
    if frame_a.points.len() != frame_b.points.len() {
        return mismatch("the other clip".into(), "meshes", frame_b.points.len(), frame_a.points.len());
    }
    let mut result = FrameDistance { frame, max: 0.0, rms: 0.0, mean: 0.0, worst: None };
    let mut count = 0_usize;
    for (mesh, (points_a, points_b)) in frame_a.points.iter().zip(&frame_b.points).enumerate() {
        let mut take = |point: usize, pa: [f32; 3], pb: [f32; 3]| {
            let distance = Vec3::from(pa.map(f64::from)).distance(Vec3::from(pb.map(f64::from)));
            result.mean += distance;
            result.rms += distance * distance;
            if distance > result.max || result.worst.is_none() {
                result.max = distance;
                result.worst = Some((mesh, point));
            }
            count += 1;
        };
        if points_a.len() == points_b.len() {
            (0..points_a.len()).for_each(|point| take(point, points_a[point], points_b[point]));
            continue;
        }
        let (mesh_a, mesh_b) = (&a.meshes[mesh], &b.meshes[mesh]);
        if mesh_a.vertex_count() != mesh_b.vertex_count() {
            return mismatch(
                format!("mesh `{}` of the other clip", mesh_b.name),
                "points",
                points_b.len(),
                points_a.len(),
            );
        }
        for (&pa, &pb) in mesh_a.vertex_points.iter().zip(&mesh_b.vertex_points) {
            take(pa as usize, points_a[pa as usize], points_b[pb as usize]);
        }
    }
    let count = count.max(1) as f64;
    result.mean /= count;
    result.rms = (result.rms / count).sqrt();
    Ok(result)
}

/// How far each point of each mesh is from the same point of another clip, in metres; for pictures.
///
/// Points are paired as in [`frame_distance`]; where vertices are, a point has the largest distance of its vertices.
pub fn point_distances(
    a: &Clip,
    frame_a: &Frame,
    b: &Clip,
    frame_b: &Frame,
    frame: usize,
) -> Result<Vec<Vec<f32>>> {
    // finds every mismatch, so that the indices below are in range
    frame_distance(a, frame_a, b, frame_b, frame)?;
    let mut all = Vec::with_capacity(frame_a.points.len());
    for (mesh, (points_a, points_b)) in frame_a.points.iter().zip(&frame_b.points).enumerate() {
        let between = |pa: [f32; 3], pb: [f32; 3]| {
            Vec3::from(pa.map(f64::from)).distance(Vec3::from(pb.map(f64::from))) as f32
        };
        if points_a.len() == points_b.len() {
            all.push(points_a.iter().zip(points_b).map(|(&pa, &pb)| between(pa, pb)).collect());
            continue;
        }
        let mut distances = vec![0.0_f32; points_a.len()];
        for (&pa, &pb) in a.meshes[mesh].vertex_points.iter().zip(&b.meshes[mesh].vertex_points) {
            let (pa, pb) = (pa as usize, pb as usize);
            distances[pa] = distances[pa].max(between(points_a[pa], points_b[pb]));
        }
        all.push(distances);
    }
    Ok(all)
}

/// Strain at every frame.
pub fn strains(clip: &Clip) -> Result<Vec<FrameStrain>> {
    let meter = StrainMeter::new(clip);
    (0..clip.frame_count()).map(|index| Ok(meter.measure(index, &clip.checked_frame(index)?))).collect()
}

/// The ends of an edge, and its length at rest.
type RestEdge = ([u32; 2], f64);

/// Rest lengths of a clip's edges, computed once.
#[derive(Clone, Debug)]
pub struct StrainMeter {
    /// For each mesh, edges with their length at rest; edges without length are left out.
    edges: Vec<Vec<RestEdge>>,
}

impl StrainMeter {
    /// Takes the lengths from the meshes' rest points.
    pub fn new(clip: &Clip) -> Self {
        let of_mesh = |mesh: &crate::Mesh| {
            let rest = mesh.rest();
            let topology = Topology::new(rest.len(), &mesh.point_triangles());
            let length = |[a, b]: [u32; 2]| rest[a as usize].distance(rest[b as usize]);
            let edges = topology.edges().iter().map(|edge| (edge.vertices, length(edge.vertices)));
            edges.filter(|&(_, length)| length > 0.0).collect()
        };
        Self { edges: clip.meshes.iter().map(of_mesh).collect() }
    }

    /// The strain of a frame that fits the clip.
    pub fn measure(&self, index: usize, frame: &Frame) -> FrameStrain {
        let mut result =
            FrameStrain { frame: index, max_stretch: 0.0, max_compression: 0.0, rms: 0.0, worst: None };
        let mut count = 0_usize;
        for (mesh, (edges, points)) in self.edges.iter().zip(&frame.points).enumerate() {
            let at = |point: u32| Vec3::from(points[point as usize].map(f64::from));
            for &([a, b], rest) in edges {
                let strain = at(a).distance(at(b)) / rest - 1.0;
                if strain > result.max_stretch {
                    result.max_stretch = strain;
                    result.worst = Some((mesh, [a, b]));
                }
                result.max_compression = result.max_compression.max(-strain);
                result.rms += strain * strain;
                count += 1;
            }
        }
        result.rms = (result.rms / count.max(1) as f64).sqrt();
        result
    }

    /// For each point of each mesh, the strain of the edge at it that is strained most, shortening negative; for
    /// pictures. NaN at points without edges.
    pub fn at_points(&self, frame: &Frame) -> Vec<Vec<f32>> {
        let of_mesh = |(edges, points): (&Vec<RestEdge>, &Vec<[f32; 3]>)| {
            let at = |point: u32| Vec3::from(points[point as usize].map(f64::from));
            let mut strains = vec![f32::NAN; points.len()];
            for &(ends, rest) in edges {
                let strain = (at(ends[0]).distance(at(ends[1])) / rest - 1.0) as f32;
                for end in ends {
                    let known = &mut strains[end as usize];
                    if known.is_nan() || strain.abs() > known.abs() {
                        *known = strain;
                    }
                }
            }
            strains
        };
        self.edges.iter().zip(&frame.points).map(of_mesh).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{MemoryFrames, Mesh};

    fn triangle() -> Clip {
        Clip::still(Mesh::new("t", vec![[0.0; 3], [3.0, 0.0, 0.0], [0.0, 4.0, 0.0]], &[[0, 1, 2]]), 24.0, 2)
    }

    fn moved(clip: &Clip, change: impl Fn(&mut [[f32; 3]])) -> Clip {
        let mut frame = clip.frame(0).unwrap();
        change(&mut frame.points[0]);
        clip.with_frames(Arc::new(MemoryFrames::new(vec![clip.frame(0).unwrap(), frame])))
    }

    #[test]
    fn distances_name_the_worst_point() {
        let a = triangle();
        let b = moved(&a, |points| points[2] = [0.0, 4.0, 3.0]);
        let found = distances(&a, &b).unwrap();
        assert_eq!((found[0].max, found[0].rms), (0.0, 0.0));
        assert_eq!((found[1].max, found[1].mean, found[1].worst), (3.0, 1.0, Some((0, 2))));
        assert!((found[1].rms - 3.0_f64.sqrt()).abs() < 1e-12);
        let per_point = point_distances(&a, &a.frame(1).unwrap(), &b, &b.frame(1).unwrap(), 1).unwrap();
        assert_eq!(per_point, [[0.0, 0.0, 3.0]]);
    }

    #[test]
    fn strain_is_relative_to_rest_lengths() {
        // 3-4-5: moving the corner (3, 0) to (6, 0) doubles that edge; the hypotenuse 5 becomes √52
        let clip = moved(&triangle(), |points| points[1][0] = 6.0);
        let found = strains(&clip).unwrap();
        assert_eq!(found[0].rms, 0.0);
        assert_eq!((found[1].max_stretch, found[1].worst), (1.0, Some((0, [0, 1]))));
        let hypotenuse = 52.0_f64.sqrt() / 5.0 - 1.0;
        assert!((found[1].rms - ((1.0 + hypotenuse * hypotenuse) / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(found[1].max_compression, 0.0);
        let at_points = StrainMeter::new(&clip).at_points(&clip.frame(1).unwrap());
        assert_eq!(at_points, [[1.0, 1.0, hypotenuse as f32]]);
    }

    #[test]
    fn other_faces_are_named() {
        let (a, mut b) = (triangle(), triangle());
        assert!(topology_differences(&a, &b).is_empty());
        b.meshes[0] = Mesh::new("t", b.meshes[0].rest_points.clone(), &[[0, 2, 1]]);
        assert_eq!(topology_differences(&a, &b), ["corners of `t`, first at face 0"]);
        b.meshes.clear();
        assert_eq!(topology_differences(&a, &b), ["meshes: 1 and 0"]);
    }
}
