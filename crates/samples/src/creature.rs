//! A creature being made: joints, and the pieces of flesh that they carry.

use clip::Mesh;
use geometry::{Vec3, vertex_normals};

use crate::rig::Rig;
use crate::shapes::{self, Shape};
use crate::surface::{Body, Piece, Solid};

/// Skeleton and body of a creature.
#[derive(Clone, Debug, Default)]
pub(crate) struct Creature {
    pub(crate) rig: Rig,
    pub(crate) body: Body,
}

impl Creature {
    /// Adds a piece, blended into those before it by a fillet of this width.
    pub(crate) fn add(&mut self, joint: usize, fillet: f64, solid: Solid) {
        self.body.pieces.push(Piece { solid, fillet, joint });
    }

    /// A chain of limbs through the places after the first, one for each joint; the last place is the end of the last.
    pub(crate) fn add_chain(&mut self, joints: &[usize], fillet: f64, places: &[Vec3], radii: &[f64]) {
        for (i, &joint) in joints.iter().enumerate() {
            // a chain of limbs is smooth by itself; fillets between them would show as rings
            let fillet = if i == 0 { fillet } else { 0.004 };
            let limb = Solid::limb(places[i], places[i + 1], [radii[i], radii[i + 1]]);
            self.add(joint, fillet, limb);
        }
    }

    /// A leaf that stands out sideways from its joint: an ear.
    pub(crate) fn add_leaf(&mut self, joint: usize, radii: [f64; 2], axes: geometry::Mat3, offset: Vec3) {
        let centre = self.rig.places[joint] + axes * offset;
        self.add(joint, 0.04, Solid::Plate { centre, radii, half_thickness: 0.030, axes });
    }

    /// The skinned surface in quads of about `cell` metres; `paint` gives the place in the creature's picture by point and normal.
    pub(crate) fn mesh(&self, cell: f64, held: f64, paint: impl Fn(Vec3, Vec3) -> [f64; 2]) -> Mesh {
        let mut shape = self.body.surface(cell);
        let iterations = (0.5 * (0.15 / cell).powi(2)) as usize + 4;
        let weights = self.rig.weights(&shape, &self.body, |p| p.y < held, iterations);
        let normals = vertex_normals(&shape.points, &shape.triangles());
        let uv = |(p, n): (&Vec3, &Vec3)| paint(*p, *n).map(|x| x.clamp(0.02, 0.98) as f32);
        shape.uvs = shape.points.iter().zip(&normals).map(uv).collect();
        let mut mesh = shape.mesh("body", Some(0));
        mesh.skin = Some(self.rig.skin(&weights));
        mesh
    }

    /// Small things, each with its material, that one joint each carries.
    pub(crate) fn details(&self, shapes: &[(Shape, usize, usize)]) -> Mesh {
        let parts: Vec<_> = shapes.iter().map(|(shape, material, _)| (shape, Some(*material))).collect();
        let mut mesh = shapes::assemble("details", &parts);
        let joints =
            shapes.iter().flat_map(|(shape, _, joint)| std::iter::repeat_n(*joint, shape.points.len()));
        mesh.skin = Some(self.rig.rigid_skin(joints));
        mesh
    }
}

/// An ellipsoid somewhere.
pub(crate) fn bead(centre: Vec3, radii: Vec3) -> Shape {
    shapes::sphere(1.0, 20, 14).map(|p| centre + p * radii)
}
