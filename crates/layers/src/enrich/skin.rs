//! What touches: the embedded surface, in the pieces that its tets fall into.
//!
//! Pieces are soft bodies of their own. They always keep out of each other; whether a piece keeps out of itself is the artist's choice.

use contact::Attachment;
use geometry::{Filled, Vec3};

use shot::Target;

use crate::shared::Contact;
use crate::shared::contact::Skin;

/// The skin of a surface in its tets, of which the `known` points follow the animation.
pub(super) fn of(contact: Contact, input: &Target, filled: &Filled, known: &[bool]) -> Skin {
    let mesh = input.mesh();
    let (rest, triangles) = (mesh.rest(), mesh.point_triangles());
    let embedding = &filled.embedding;
    let held = |v: usize| embedding.corners()[v].iter().all(|&p| known[p as usize]);
    let tets = filled.mesh.components();
    let count = tets.iter().map(|&piece| piece as usize + 1).max().unwrap_or(0);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    // of every vertex: its piece, and its number there
    let places: Vec<(usize, u32)> = (0..rest.len())
        .map(|v| {
            let piece = tets[embedding.tets()[v] as usize] as usize;
            members[piece].push(v);
            (piece, members[piece].len() as u32 - 1)
        })
        .collect();
    let mut faces: Vec<Vec<[u32; 3]>> = vec![Vec::new(); count];
    for corners in triangles.iter().map(|triangle| triangle.map(|v| places[v as usize])) {
        let piece = corners[0].0;
        if corners.iter().all(|corner| corner.0 == piece) {
            faces[piece].push(corners.map(|corner| corner.1));
        }
    }
    let surfaces = members.iter().zip(faces).map(|(members, faces)| {
        let points: Vec<Vec3> = members.iter().map(|&v| rest[v]).collect();
        let known = members.iter().map(|&v| held(v)).collect();
        contact.surface(&mesh.name, points, faces, known)
    });
    let pieces = surfaces.collect();
    let carried = members.iter().flatten().map(|&v| {
        let (corners, shares) = (embedding.corners()[v], embedding.weights()[v]);
        corners.into_iter().zip(shares)
    });
    let attachment = Attachment::embedded(carried);
    let order = members.iter().flatten().map(|&v| v as u32).collect();
    Skin { pieces, attachment, triangles, contact, order, carried: Vec::new() }
}
