//! Dials: what the layer's settings say about flesh, for one character.

use character::Adaptation;
use clip::Selector;
use geometry::{SurfaceQuery, Vec3};
use shot::{LayerError, Target};
use solid::Material;

use super::anatomy::start_of;
use super::{Adapting, JointCells, JointRay, Skeleton, Solution};

/// Materials with a Poisson's ratio from here on are flesh.
const FLESH: f64 = 0.4;
/// Poisson's ratio of flesh in nonlinear strain: an elbow of 1,000 cells keeps all but 1.3 % of its volume at 120°; 0.45 lost 7.6 %.
const INCOMPRESSIBLE: f64 = 0.495;
/// The same where every cell has a frame of its own: a few iterations a step do not get further.
const NEARLY: f64 = 0.48;
/// Flesh that is thicker than this, in metres, is firmer than its material where nobody says how firm it is: a person's is thinner, and a
/// knight with a head of a metre is meant to jiggle like a person, not to slop about.
const THICK: f64 = 0.2;

/// What to do about a ray that misses.
pub(super) const RAY: &str =
    "`from` is a place outside of the mesh at rest, `to` another one on the same line";

impl JointRay {
    /// The middle of what it goes through first; none where it passes by.
    pub(super) fn midway(&self, surface: &SurfaceQuery) -> Option<Vec3> {
        let [from, to] = [self.from, self.to].map(Vec3::from);
        surface.midway_inside(from, to - from)
    }
}

/// Settings, and the character that they are about.
pub(super) struct Dials<'a> {
    pub(super) settings: &'a Skeleton,
    pub(super) input: &'a Target,
    /// Names of the joints.
    pub(super) names: &'a [String],
    pub(super) skin: &'a character::Skin,
    /// Which meshes are in the skin, in order, with the number of their first point.
    pub(super) meshes: &'a [(usize, usize)],
}

impl Dials<'_> {
    /// All of them.
    pub(super) fn flesh(&self) -> Result<character::Settings, LayerError> {
        let Skeleton { cells, levels, twist, twist_radius, gravity, .. } = *self.settings;
        let (mut materials, mut painted_materials) = (Vec::new(), Vec::new());
        for part in &self.settings.parts {
            let material = self.firm(part.base_material().map_err(LayerError::new)?);
            materials.extend(self.named(&part.joints).into_iter().map(|joint| (joint, material)));
            if let Some(at) = &part.at {
                painted_materials.push((self.paint(at)?, material));
            }
        }
        let mut painted_regions = Vec::new();
        for region in &self.settings.regions {
            let paint = self.paint(&region.at)?;
            let joints = (0..self.names.len()).filter(|&joint| self.names[joint] == region.joint);
            painted_regions.extend(joints.map(|joint| (joint, paint.clone())));
        }
        let limits = self.settings.limits.iter().flat_map(|limit| {
            self.named(&limit.joints).into_iter().map(|joint| (joint, limit.degrees.to_radians()))
        });
        let adaptation = self.settings.adaptation.clone();
        Ok(character::Settings {
            cells,
            levels,
            adaptation: adaptation.map(|Adapting { refine, coarsen, contact, joints }| Adaptation {
                refine,
                coarsen,
                contact,
                joints,
            }),
            joints: self.settings.joints == JointCells::Nonlinear,
            material: self.firm(self.settings.base_material().map_err(LayerError::new)?),
            materials,
            firm_beyond: self.settings.young.is_none().then_some(THICK),
            painted_materials,
            painted_regions,
            places: self.places()?,
            free: self.named(&self.settings.free),
            limits: limits.collect(),
            twist,
            twist_radius,
            gravity: Vec3::from(gravity),
        })
    }

    fn named(&self, patterns: &[String]) -> Vec<usize> {
        let fits = |name: &String| patterns.iter().any(|pattern| Selector::fits(pattern, name));
        (0..self.names.len()).filter(|&joint| fits(&self.names[joint])).collect()
    }

    /// Flesh is nearly incompressible; linear methods would stiffen in bending.
    fn firm(&self, material: Material) -> Material {
        match self.settings.method {
            Solution::Nonlinear if material.poisson >= FLESH => {
                Material { poisson: material.poisson.max(INCOMPRESSIBLE), ..material }
            }
            Solution::Corotated if material.poisson >= FLESH => {
                Material { poisson: material.poisson.max(NEARLY), ..material }
            }
            _ => material,
        }
    }

    /// How much of every point of the skin a selector chooses; of the other meshes nothing.
    fn paint(&self, at: &Selector) -> Result<Vec<f64>, LayerError> {
        let weights = at.weights(&self.input.clip, self.input.mesh, &self.input.files)?;
        let mut paint = vec![0.0; self.skin.points.len()];
        let own = paint[start_of(self.meshes, self.input.mesh)..].iter_mut();
        own.zip(weights).for_each(|(paint, weight)| *paint = f64::from(weight));
        Ok(paint)
    }

    /// Where rays put the beginnings of bones.
    fn places(&self) -> Result<Vec<(usize, Vec3)>, LayerError> {
        if self.settings.rays.is_empty() {
            return Ok(Vec::new());
        }
        let surface = SurfaceQuery::new(self.skin.points.clone(), self.skin.triangles.clone())
            .map_err(LayerError::new)?;
        let mut places = Vec::new();
        for ray in &self.settings.rays {
            let place = ray.midway(&surface).ok_or_else(|| {
                LayerError::new(format!("the ray of joint `{}` passes by the mesh", ray.joint)).with_help(RAY)
            })?;
            let joints = (0..self.names.len()).filter(|&index| self.names[index] == ray.joint);
            places.extend(joints.map(|index| (index, place)));
        }
        Ok(places)
    }
}
