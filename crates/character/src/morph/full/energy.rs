//! The energy of a full morph: tets of every target, weighted by how much of it there is.

use std::sync::Arc;

use dynamics::{Block, Element, Energy, GuideSample, StageHistory};
use geometry::Vec3;
use linear::{Matrix, Pattern};
use solid::{Law, Tet};

use super::super::kit::Places;
use super::super::locality::Shares;
use super::super::{Elastic, Morph, MorphLaw};

/// ω, then forces, then what stays: the internal variables of the energy.
pub(super) fn internal(weights: &[f64], force: &[Vec3], plastic: &[Vec3]) -> Vec<f64> {
    let vectors = force.iter().chain(plastic).flat_map(|v| v.to_array());
    weights.iter().copied().chain(vectors).collect()
}

/// Σ ωᵢ Eᵢ(x − p) − f·x: forces interpolated over poses, and what acts from outside.
#[derive(Clone)]
pub(super) struct PoseEnergy {
    parts: Arc<Vec<Part>>,
    corners: Arc<Vec<[u32; 4]>>,
    slots: Arc<Vec<[[u32; 4]; 4]>>,
    /// Which regions every tet is of.
    shares: Arc<Vec<Shares>>,
    count: usize,
    /// ω of every part.
    weights: Vec<f64>,
    force: Vec<Vec3>,
    plastic: Vec<Vec3>,
    /// 1/h and x at the stage's start, while friction acts.
    friction: Option<(f64, Vec<Vec3>)>,
}

/// A target's tets.
struct Part {
    rest: Vec<Vec3>,
    tets: Vec<Tet>,
    /// K of every tet at rest, and β.
    blocks: Vec<(Block<4>, f64)>,
    linear: bool,
}

impl PoseEnergy {
    pub(super) fn new(morph: &Morph, places: &Places, weights: usize) -> Self {
        let corners = morph.volume.mesh.tets().to_vec();
        let part = |target: &Elastic| {
            let law = if morph.settings.law == MorphLaw::Warped { Law::Corotational } else { Law::Stvk };
            let mut tets = Vec::new();
            let mut blocks = Vec::new();
            for ((corners, tet), material) in corners.iter().zip(&target.tets).zip(&target.materials) {
                let x = corners.map(|v| target.rest[v as usize]);
                blocks.push((tet.hessian(&x), material.friction()));
                let own = Tet::from_young_poisson(&x, law, material.young, material.poisson);
                // so low that it is StVK itself, and a polynomial, for all that is ever met
                tets.push(own.unwrap_or(*tet).with_least_stretch(0.05));
            }
            Part { rest: target.rest.clone(), tets, blocks, linear: morph.settings.law == MorphLaw::Linear }
        };
        let parts: Vec<Part> = morph.targets.iter().map(part).collect();
        let count = morph.volume.known.len();
        let mut weights = vec![0.0; weights];
        weights.iter_mut().step_by(parts.len()).for_each(|weight| *weight = 1.0);
        Self {
            parts: Arc::new(parts),
            corners: Arc::new(corners),
            slots: Arc::default(),
            shares: Arc::new(places.tets.clone()),
            count,
            weights,
            force: vec![Vec3::ZERO; count],
            plastic: vec![Vec3::ZERO; count],
            friction: None,
        }
    }

    fn elastic(&self, e: usize, x: &[Vec3]) -> [Vec3; 4] {
        self.corners[e].map(|v| x[v as usize] - self.plastic[v as usize])
    }

    /// The targets that act on a tet, each with its weight there.
    fn active(&self, e: usize) -> impl Iterator<Item = (f64, &Part)> {
        let weight = move |target: usize| weight(&self.shares[e], &self.weights, self.parts.len(), target);
        let all = self.parts.iter().enumerate().map(move |(target, part)| (weight(target), part));
        all.filter(|(weight, _)| *weight != 0.0)
    }

    /// D of a tet, over the stage's length.
    fn drag(&self, e: usize) -> Option<Block<4>> {
        let (rate, _) = self.friction.as_ref()?;
        let mut sum = Block::ZERO;
        for (weight, part) in self.active(e) {
            let (block, beta) = &part.blocks[e];
            add(&mut sum, block, weight * beta * rate);
        }
        Some(sum)
    }
}

/// The weight of a target at a place that is of these regions.
pub(super) fn weight(shares: &Shares, parts: &[f64], targets: usize, target: usize) -> f64 {
    shares.iter().map(|&(region, share)| share * parts[region as usize * targets + target]).sum()
}

fn add(sum: &mut Block<4>, block: &Block<4>, scale: f64) {
    for (sum, row) in sum.0.iter_mut().zip(&block.0) {
        sum.iter_mut().zip(row).for_each(|(sum, entry)| *sum += *entry * scale);
    }
}

fn quadratic(block: &Block<4>, u: &[Vec3; 4]) -> ([Vec3; 4], f64) {
    let image = block.multiply(u);
    let energy = 0.5 * image.iter().zip(u).map(|(a, b)| a.dot(*b)).sum::<f64>();
    (image, energy)
}

impl Energy for PoseEnergy {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.corners.iter().for_each(|corners| visit(corners));
    }

    fn shift(&mut self, first: u32) {
        let corners = self.corners.iter().map(|corners| corners.map(|v| v + first)).collect();
        self.corners = Arc::new(corners);
    }

    fn bind(&mut self, pattern: &Pattern) {
        let slot =
            |a: u32, b: u32| pattern.slot(a, b).expect("the pattern was made from these stencils") as u32;
        let slots = self.corners.iter().map(|c| c.map(|a| c.map(|b| slot(a, b)))).collect();
        self.slots = Arc::new(slots);
    }

    fn value(&self, _: &GuideSample, x: &[Vec3]) -> f64 {
        let mut sum = -self.force.iter().zip(x).map(|(f, x)| f.dot(*x)).sum::<f64>();
        for e in 0..self.corners.len() {
            let at = self.elastic(e, x);
            for (weight, part) in self.active(e) {
                let energy = if part.linear {
                    let u = std::array::from_fn(|k| at[k] - part.rest[self.corners[e][k] as usize]);
                    quadratic(&part.blocks[e].0, &u).1
                } else {
                    part.tets[e].value(&at)
                };
                sum += weight * energy;
            }
            if let (Some(drag), Some((_, past))) = (self.drag(e), &self.friction) {
                sum += quadratic(&drag, &self.corners[e].map(|v| x[v as usize] - past[v as usize])).1;
            }
        }
        sum
    }

    fn add_gradient(&self, _: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        gradient.iter_mut().zip(&self.force).for_each(|(g, f)| *g -= *f);
        for e in 0..self.corners.len() {
            let at = self.elastic(e, x);
            let mut sum = [Vec3::ZERO; 4];
            for (weight, part) in self.active(e) {
                let own = if part.linear {
                    let u = std::array::from_fn(|k| at[k] - part.rest[self.corners[e][k] as usize]);
                    quadratic(&part.blocks[e].0, &u).0
                } else {
                    part.tets[e].gradient(&at)
                };
                sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += weight * own);
            }
            if let (Some(drag), Some((_, past))) = (self.drag(e), &self.friction) {
                let own = quadratic(&drag, &self.corners[e].map(|v| x[v as usize] - past[v as usize])).0;
                sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            self.corners[e].iter().zip(sum).for_each(|(&v, g)| gradient[v as usize] += g);
        }
    }

    fn add_hessian(&self, _: &GuideSample, x: &[Vec3], _: &[Vec3], matrix: &mut Matrix) {
        assert_eq!(self.slots.len(), self.corners.len(), "bound before assembly");
        let mixed = self.weights.iter().any(|weight| *weight < 0.0);
        let values = matrix.values_mut();
        for (e, (corners, slots)) in self.corners.iter().zip(self.slots.iter()).enumerate() {
            let at = self.elastic(e, x);
            let mut sum = Block::ZERO;
            for (weight, part) in self.active(e) {
                let block = match (part.linear, weight > 0.0) {
                    (true, _) => part.blocks[e].0,
                    (false, true) => part.tets[e].projected_hessian(&at),
                    (false, false) => part.tets[e].hessian(&at),
                };
                add(&mut sum, &block, weight);
            }
            if mixed {
                sum = sum.projected();
            }
            if let Some(drag) = self.drag(e) {
                add(&mut sum, &drag, 1.0);
            }
            for i in 0..4 {
                for j in 0..4 {
                    if corners[j] <= corners[i] {
                        values[slots[i][j] as usize] += sum.0[i][j];
                    }
                }
            }
        }
    }

    fn with_viscosity(&self, stage: &StageHistory) -> Option<Box<dyn Energy>> {
        let rate = 1.0 / stage.implicit_dt;
        let mut past = vec![Vec3::ZERO; self.count];
        for (weight, x) in stage.positions {
            past.iter_mut().zip(x).for_each(|(past, x)| *past += weight * *x);
        }
        Some(Box::new(Self { friction: Some((rate, past)), ..self.clone() }))
    }

    fn internal(&self) -> Vec<f64> {
        internal(&self.weights, &self.force, &self.plastic)
    }

    fn with_internal(&self, internal: &[f64]) -> Option<Box<dyn Energy>> {
        let (weights, vectors) = internal.split_at_checked(self.weights.len())?;
        let vectors: Vec<Vec3> = vectors.as_chunks::<3>().0.iter().map(|v| Vec3::from_array(*v)).collect();
        let (force, plastic) = vectors.split_at_checked(self.count)?;
        let (weights, force, plastic) = (weights.to_vec(), force.to_vec(), plastic.to_vec());
        Some(Box::new(Self { weights, force, plastic, ..self.clone() }))
    }
}
