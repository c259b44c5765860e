//! What flesh touches: its skin, hung on the functions of the lattice, among itself and obstacles.

use contact::Attachment;
use dynamics::ContactModel;
use geometry::Vec3;
use shot::{FrameResult, LayerError, Target};

use super::Anatomy;
use super::anatomy::start_of;
use crate::shared::contact::Skin;
use crate::shared::{Collider, Contact};

/// The skin of the target as others meet it, and what it meets. Meshes that ride along neither touch nor are touched.
pub(super) struct Touch {
    pub(super) collider: Collider,
    /// The target's first point in the skin of all meshes.
    start: usize,
}

impl Touch {
    /// `known` coefficients are held by bones.
    pub(super) fn new(
        contact: &Contact,
        input: &Target,
        anatomy: &Anatomy,
        known: &[bool],
    ) -> Result<Self, LayerError> {
        let mesh = input.mesh();
        let (rest, triangles) = (mesh.rest(), mesh.point_triangles());
        let start = start_of(&anatomy.meshes, input.mesh);
        let rows: Vec<Vec<(u32, f64)>> =
            (0..rest.len()).map(|point| anatomy.flesh.surface_row(start + point).collect()).collect();
        let held = rows.iter().map(|row| row.iter().all(|(f, _)| known[*f as usize])).collect();
        let order = (0..rest.len() as u32).collect();
        let skin = Skin {
            contact: contact.clone(),
            pieces: vec![contact.surface(&mesh.name, rest, triangles.clone(), held)],
            attachment: Attachment::embedded(rows),
            triangles,
            order,
            carried: anatomy.meshes.iter().map(|&(mesh, _)| mesh).collect(),
        };
        Ok(Self { collider: Collider::new(vec![(skin, input.clone())], |_| 0, None)?, start })
    }

    /// Points of the skin of all meshes that touch something now; one as often as it does.
    pub(super) fn touched(&self) -> impl Iterator<Item = usize> + '_ {
        self.collider.collision.touched().map(|point| self.start + point as usize)
    }

    /// Takes obstacles at once to where they are at `time`.
    pub(super) fn catch_up(&mut self, time: f64) {
        self.collider.collision.advance_obstacles(time);
    }

    /// Takes back as much of what was added to flesh, which is at `coefficients`, as would cross something.
    pub(super) fn limit(
        &mut self,
        coefficients: &[Vec3],
        positions: Vec<Vec3>,
        exact: &[bool],
    ) -> Result<Vec<Vec3>, LayerError> {
        self.collider.limit_alone(coefficients, positions, exact)
    }

    /// Judges the frame as it is stored.
    pub(super) fn report(
        &self,
        index: usize,
        points: &[[f32; 3]],
        exact: &[bool],
        result: &mut FrameResult,
    ) -> Result<(), LayerError> {
        self.collider.report(index, &[(points, exact)], result)
    }
}
