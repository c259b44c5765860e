//! A frame of a clip as triangles ready for shading.
//!
//! What never changes over a clip (fans of faces, edges, colours, decoded textures) is in [`Model`]; what a frame adds
//! (places, normals, numbers as colours) is in [`Scene`]. A scene is scaled to fit the unit ball, so
//! that a ladybird and a mountain are shaded with the same tolerances.

use clip::{Clip, Frame};
use geometry::Bounds;
use glam::{DVec3, Vec2, Vec3};

use crate::bones::{BoneTriangle, bone_triangles};
use crate::color::linear_from_srgb;
use crate::texture::Texture;
use crate::{Look, Scalars, Shading};

/// The static part of a clip, prepared for pictures.
pub(crate) struct Model {
    fans: Vec<Fan>,
    /// For each mesh, how many points it should have.
    point_counts: Vec<usize>,
    pub(crate) slots: Vec<MaterialSlot>,
    /// Indices of images that could not be decoded.
    pub(crate) unread_images: Vec<usize>,
}

/// A triangle of a polygon's fan.
struct Fan {
    mesh: u32,
    /// Polygons are counted through all meshes.
    face: u32,
    points: [u32; 3],
    uvs: [Vec2; 3],
    tints: [Vec3; 3],
    slot: u32,
    /// Bit i: the side from corner i to the next is a side of the polygon.
    sides: u8,
}

/// What a run of faces is painted with.
pub(crate) struct MaterialSlot {
    /// Which mesh, for the palette.
    mesh: usize,
    /// Linear base colour; `None` when no material says.
    base_color: Option<Vec3>,
    /// Whether its vertices have colours; without a material they are its own.
    painted: bool,
    /// Whether thin parts of the texture are holes.
    cut_out: bool,
    texture: Option<usize>,
}

/// A triangle as it is shaded.
pub(crate) struct Facet {
    pub(crate) corners: [Vec3; 3],
    pub(crate) normals: [Vec3; 3],
    pub(crate) normal: Vec3,
    /// Points of all meshes, numbered through; corners of bones after them.
    pub(crate) points: [u32; 3],
    pub(crate) uvs: [Vec2; 3],
    /// Colours of the vertices, by which the surface's own is multiplied.
    pub(crate) tints: [Vec3; 3],
    pub(crate) paint: Paint,
    /// Bit i: the side from corner i to the next is drawn in a wireframe.
    pub(crate) sides: u8,
}

/// Where a facet's colour comes from.
#[derive(Clone, Copy)]
pub(crate) enum Paint {
    /// A material slot of the model.
    Slot(u32),
    /// Places in a colour map at the corners.
    Scalar([f32; 3]),
    /// One linear colour.
    Plain(Vec3),
}

impl Paint {
    /// Whether two neighbours are painted alike.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Slot(a), Self::Slot(b)) => a == b,
            (Self::Scalar(_), Self::Scalar(_)) => true,
            (Self::Plain(a), Self::Plain(b)) => a == b,
            _ => false,
        }
    }
}

/// A frame ready to be shaded.
pub(crate) struct Scene {
    pub(crate) facets: Vec<Facet>,
    /// Middle of the frame, in metres.
    centre: DVec3,
    /// Half the frame's diagonal, in metres.
    pub(crate) radius: f64,
    /// Height of the lowest corner, in the scene's own units.
    pub(crate) lowest: Option<f32>,
}

impl Model {
    pub(crate) fn new(clip: &Clip) -> (Self, Vec<Option<Texture>>) {
        let textures: Vec<_> = clip.images.iter().map(|image| Texture::decode(&image.bytes)).collect();
        let unread_images =
            textures.iter().enumerate().filter(|(_, t)| t.is_none()).map(|(i, _)| i).collect();
        let (mut fans, mut slots, mut face_count) = (Vec::new(), Vec::new(), 0);
        for (mesh_index, mesh) in clip.meshes.iter().enumerate() {
            let first_slot = slots.len();
            let colors = ["color.r", "color.g", "color.b"].map(|name| mesh.group(name));
            let painted = colors.iter().all(Option::is_some);
            let tint = |point: u32| match colors {
                [Some(r), Some(g), Some(b)] => Vec3::from([r, g, b].map(|channel| {
                    channel
                        .weights
                        .get(point as usize)
                        .copied()
                        .filter(|value| value.is_finite())
                        .unwrap_or(1.0)
                })),
                _ => Vec3::ONE,
            };
            let plain =
                MaterialSlot { mesh: mesh_index, base_color: None, painted, cut_out: false, texture: None };
            slots.push(plain);
            let mut slot_of_face = vec![first_slot as u32; mesh.faces.len()];
            for part in &mesh.parts {
                let Some(material) = part.material.and_then(|index| clip.materials.get(index)) else {
                    continue;
                };
                let [r, g, b, _] = material.base_color;
                let alpha_mode =
                    material.gltf.as_ref().and_then(|m| m.get("alphaMode")).and_then(|m| m.as_str());
                let run = part.faces.start..part.faces.end.min(mesh.faces.len());
                if let Some(faces) = slot_of_face.get_mut(run) {
                    faces.fill(slots.len() as u32);
                }
                slots.push(MaterialSlot {
                    mesh: mesh_index,
                    base_color: Some(Vec3::new(r, g, b)),
                    painted,
                    cut_out: matches!(alpha_mode, Some("MASK" | "BLEND")),
                    texture: material
                        .base_color_image
                        .filter(|&image| textures.get(image).is_some_and(Option::is_some)),
                });
            }
            let uv = |vertex: u32| mesh.uvs.get(vertex as usize).map_or(Vec2::ZERO, |&uv| Vec2::from(uv));
            for (face, &slot) in mesh.faces.iter().zip(&slot_of_face) {
                for i in 1..face.len().saturating_sub(1) {
                    let vertices = [face[0], face[i], face[i + 1]];
                    let [Some(a), Some(b), Some(c)] =
                        vertices.map(|v| mesh.vertex_points.get(v as usize).copied())
                    else {
                        continue;
                    };
                    let sides = u8::from(i == 1) | 0b010 | (u8::from(i + 2 == face.len()) << 2);
                    let (mesh, face) = (mesh_index as u32, face_count);
                    let (points, uvs) = ([a, b, c], vertices.map(uv));
                    fans.push(Fan { mesh, face, points, uvs, tints: points.map(tint), slot, sides });
                }
                face_count += 1;
            }
        }
        let point_counts = clip.meshes.iter().map(|mesh| mesh.point_count()).collect();
        (Self { fans, point_counts, slots, unread_images }, textures)
    }
}

impl MaterialSlot {
    /// Linear base colour and whether the surface is there at all (not cut out) at a place on it.
    pub(crate) fn color(
        &self,
        look: &Look,
        textures: &[Option<Texture>],
        uv: Vec2,
        footprint: f32,
    ) -> (Vec3, bool) {
        let clay = || match look.palette.as_slice() {
            [] => Vec3::splat(0.5),
            palette => linear_from_srgb(palette[self.mesh % palette.len()]),
        };
        let base_color = match self.base_color {
            Some(base_color) if look.materials => base_color,
            None if look.materials && self.painted => Vec3::ONE,
            _ => return (clay(), true),
        };
        match self.texture.and_then(|index| textures[index].as_ref()) {
            Some(texture) => {
                let (color, alpha) = texture.sample(uv, footprint);
                (base_color * color, !self.cut_out || alpha >= 0.5)
            }
            None => (base_color, true),
        }
    }

    pub(crate) fn is_of(&self, mesh: usize) -> bool {
        self.mesh == mesh
    }

    pub(crate) fn cut_out(&self) -> bool {
        self.cut_out && self.texture.is_some()
    }
}

impl Scene {
    pub(crate) fn new(
        model: &Model,
        clip: &Clip,
        frame: &Frame,
        look: &Look,
        scalars: Option<&Scalars>,
    ) -> Self {
        let bones = match &clip.skeleton {
            Some(skeleton) if look.bones || model.fans.is_empty() => bone_triangles(skeleton, &frame.pose),
            _ => Vec::new(),
        };
        let mesh_points = frame.points.iter().flatten().copied().map(Vec3::from);
        let bone_points = bones.iter().flat_map(|bone| bone.corners);
        let finite = mesh_points.chain(bone_points).filter(|p| p.is_finite()).map(|p| p.as_dvec3());
        let bounds = Bounds::of(finite);
        let (centre, radius) = if bounds.is_empty() {
            (DVec3::ZERO, 1.0)
        } else {
            (bounds.centre(), (0.5 * bounds.diagonal()).max(1e-12))
        };
        let scaled = |p: Vec3| ((p.as_dvec3() - centre) / radius).as_vec3();

        let points: Vec<Vec<Vec3>> =
            frame.points.iter().map(|points| points.iter().map(|&p| scaled(p.into())).collect()).collect();
        let mut first_points = vec![0];
        for points in &points {
            first_points.push(first_points[first_points.len() - 1] + points.len() as u32);
        }
        let mut facets = Vec::with_capacity(model.fans.len() + bones.len());
        let mut shown: Vec<&Fan> = Vec::with_capacity(model.fans.len());
        for fan in &model.fans {
            let Some(points) = points.get(fan.mesh as usize) else { continue };
            let [Some(a), Some(b), Some(c)] = fan.points.map(|p| points.get(p as usize).copied()) else {
                continue;
            };
            let doubled_area = (b - a).cross(c - a);
            if !doubled_area.is_finite() || doubled_area == Vec3::ZERO {
                continue;
            }
            let normal = doubled_area.normalize_or_zero();
            let paint = match scalars {
                Some(scalars) => {
                    Paint::Scalar(fan.points.map(|p| scalars.place(fan.mesh as usize, p as usize)))
                }
                None => Paint::Slot(fan.slot),
            };
            facets.push(Facet {
                corners: [a, b, c],
                normals: [normal; 3],
                normal,
                points: fan.points.map(|point| first_points[fan.mesh as usize] + point),
                uvs: fan.uvs,
                tints: if look.materials { fan.tints } else { [Vec3::ONE; 3] },
                paint,
                sides: if look.wireframe { fan.sides } else { 0 },
            });
            shown.push(fan);
        }
        match look.shading {
            Shading::Flat => flat_normals(&mut facets, &shown),
            Shading::Smooth => smooth_normals(&mut facets, &shown, &model.point_counts),
        }
        let mesh_points = first_points[first_points.len() - 1];
        facets.extend(bones.iter().enumerate().map(|(index, bone)| {
            let first_point = mesh_points + 3 * index as u32;
            bone_facet(bone, bone.corners.map(scaled), first_point)
        }));
        let lowest = facets.iter().flat_map(|facet| facet.corners).map(|p| p.y).min_by(f32::total_cmp);
        Self { facets, centre, radius, lowest }
    }

    /// From metres to the scene's own units.
    pub(crate) fn place(&self, point: DVec3) -> Vec3 {
        ((point - self.centre) / self.radius).as_vec3()
    }
}

/// A triangle of a bone, at its place in the scene.
fn bone_facet(bone: &BoneTriangle, corners: [Vec3; 3], first_point: u32) -> Facet {
    let color = linear_from_srgb(if bone.ball { [214, 133, 98] } else { [112, 130, 148] });
    Facet {
        corners,
        normals: bone.normals,
        normal: (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or_zero(),
        points: [0, 1, 2].map(|corner| first_point + corner),
        uvs: [Vec2::ZERO; 3],
        tints: [Vec3::ONE; 3],
        paint: Paint::Plain(color),
        sides: 0,
    }
}

/// One normal for each polygon, bent or not: the mean of its triangles by area.
fn flat_normals(facets: &mut [Facet], fans: &[&Fan]) {
    let mut first = 0;
    for run in fans.chunk_by(|a, b| a.face == b.face) {
        let facets = &mut facets[first..first + run.len()];
        first += run.len();
        let doubled_area = |f: &Facet| (f.corners[1] - f.corners[0]).cross(f.corners[2] - f.corners[0]);
        if let Some(normal) = facets.iter().map(doubled_area).sum::<Vec3>().try_normalize() {
            facets.iter_mut().for_each(|facet| facet.normals = [normal; 3]);
        }
    }
}

/// Blends normals across soft edges: the normal at a corner is the mean of the faces around the point, by area, each
/// counted fully up to 40° from the corner's own face and not at all beyond 75°, so that a box keeps its edges and
/// nothing pops while a fold closes.
fn smooth_normals(facets: &mut [Facet], fans: &[&Fan], point_counts: &[usize]) {
    let (full, none) = (40f32.to_radians().cos(), 75f32.to_radians().cos());
    let mut first_point = vec![0];
    for count in point_counts {
        first_point.push(first_point[first_point.len() - 1] + count);
    }
    // corners around each point, packed: counts, then starts, then filled
    let point = |fan: &Fan, corner: usize| first_point[fan.mesh as usize] + fan.points[corner] as usize;
    let total = first_point[first_point.len() - 1];
    let inside = |fan: &Fan| fan.points.iter().all(|&p| (p as usize) < point_counts[fan.mesh as usize]);
    let mut starts = vec![0u32; total + 1];
    for fan in fans.iter().filter(|fan| inside(fan)) {
        (0..3).for_each(|corner| starts[point(fan, corner) + 1] += 1);
    }
    for i in 0..total {
        starts[i + 1] += starts[i];
    }
    let mut around = vec![0u32; starts[total] as usize];
    let mut next = starts.clone();
    for (index, fan) in fans.iter().enumerate().filter(|(_, fan)| inside(fan)) {
        for corner in 0..3 {
            let slot = &mut next[point(fan, corner)];
            around[*slot as usize] = index as u32;
            *slot += 1;
        }
    }
    let weighted: Vec<Vec3> =
        facets.iter().map(|f| (f.corners[1] - f.corners[0]).cross(f.corners[2] - f.corners[0])).collect();
    let unit: Vec<Vec3> = facets.iter().map(|facet| facet.normal).collect();
    for (index, fan) in fans.iter().enumerate().filter(|(_, fan)| inside(fan)) {
        for corner in 0..3 {
            let p = point(fan, corner);
            let mut sum = Vec3::ZERO;
            for &other in &around[starts[p] as usize..starts[p + 1] as usize] {
                let t = ((unit[index].dot(unit[other as usize]) - none) / (full - none)).clamp(0.0, 1.0);
                sum += weighted[other as usize] * (t * t * (3.0 - 2.0 * t));
            }
            facets[index].normals[corner] = sum.try_normalize().unwrap_or(unit[index]);
        }
    }
}
