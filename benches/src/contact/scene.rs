//! A scene of cloth and obstacles, stepped frame by frame and judged by the audit.

use std::sync::Arc;
use std::time::Instant;

use clip::{Clip, Frame, MemoryFrames, Mesh};
use contact::{Attachment, AuditedSurface, BarrierContact, CollisionSurface, audit};
use dynamics::{Body, ContactModel, Elements, FnGuide, Forces, Guide, Settings, Span, State, Stepper};
use geometry::Vec3;
use shell::{ClothBuilder, FabricStrain, Material};

/// Frames per second.
pub(crate) const RATE: f64 = 24.0;

/// Where a point is at a time: its number, and where it began.
pub(crate) type Motion = Box<dyn Fn(f64, usize, Vec3) -> Vec3 + Sync>;

/// Cloth, what holds it, and what is in its way.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) frames: usize,
    pub(crate) material: &'static str,
    pub(crate) points: Vec<Vec3>,
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Points that `guide` moves.
    pub(crate) pinned: Vec<usize>,
    pub(crate) guide: Motion,
    pub(crate) obstacles: Vec<(CollisionSurface, Motion)>,
    pub(crate) thickness: f64,
    pub(crate) friction: f64,
    pub(crate) self_contact: bool,
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) frames: usize,
    /// Crossing pairs of triangles, over all frames, as they would be stored.
    pub(crate) intersections: usize,
    pub(crate) ms_per_frame: f64,
    pub(crate) iterations: usize,
    pub(crate) steps: usize,
    /// Active contacts, in the fullest frame.
    pub(crate) contacts: usize,
    pub(crate) max_stretch: f64,
    /// By how much warp or weft of a triangle was beyond its limit at most, as a share of it.
    pub(crate) over_limit: f64,
    /// The furthest that an obstacle was behind its animation, in metres.
    pub(crate) lag: f64,
    pub(crate) clip: Option<Clip>,
}

/// Something that does not move.
pub(crate) fn still() -> Motion {
    Box::new(|_, _, rest| rest)
}

impl Scene {
    /// Cloth alone: nothing held, nothing in its way.
    pub(crate) fn of(name: &'static str, frames: usize, points: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        Self {
            name,
            frames,
            material: "cotton",
            points,
            triangles,
            pinned: Vec::new(),
            guide: still(),
            obstacles: Vec::new(),
            thickness: 2e-3,
            friction: 0.4,
            self_contact: true,
        }
    }

    /// Steps it. Without contact cloth passes through everything, and nothing is counted.
    pub(crate) fn run(&self, with_contact: bool) -> Result<Outcome, Box<dyn std::error::Error>> {
        let material = Material::preset(self.material)?;
        let cloth = ClothBuilder::new(&self.points, &self.triangles, &material).build()?;
        let mut known = vec![false; self.points.len()];
        self.pinned.iter().for_each(|&p| known[p] = true);
        let (friction, limits) = (material.damping_time(), cloth.strain_limits());
        let body = Body::builder(cloth.masses.clone())
            .energy(Elements::new(cloth.membranes.iter().copied()).damped(friction))
            .energy(Elements::new(cloth.hinges).damped(friction))
            .force(Forces(Elements::new(cloth.air)))
            .known(known.clone())
            .limit(limits)
            .gravity(-9.81 * Vec3::Y)
            .build()?;
        let surface = CollisionSurface {
            known: known.clone(),
            thickness: self.thickness,
            friction: self.friction,
            self_contact: self.self_contact,
            ..CollisionSurface::free("cloth", self.points.clone(), self.triangles.clone())
        };
        let obstacles: Vec<CollisionSurface> =
            self.obstacles.iter().map(|(surface, _)| surface.clone()).collect();
        let attachment = Attachment::identity(self.points.len());
        let mut collision = BarrierContact::new(vec![surface], attachment, obstacles)?;
        let settings = Settings { tolerance: 1e-3, ..Settings::default() };
        let mut stepper = Stepper::new(&body, &self.points, settings)?;
        let mut state = State::at_rest(self.points.clone());
        let guide = FnGuide(|time: f64, point: usize| (self.guide)(time, point, self.points[point]));
        collision.place_obstacles(&self.obstacles_at(0.0).concat())?;

        let mut outcome = Outcome { frames: self.frames, ..Outcome::default() };
        let mut stored = vec![self.stored(&state, collision.obstacle_positions())];
        let mut spent = 0.0;
        for frame in 1..=self.frames {
            let (from, to) = ((frame - 1) as f64 / RATE, frame as f64 / RATE);
            state.time = from;
            let clock = Instant::now();
            let effort = if with_contact {
                collision.follow(self.span(from, to), &[])?;
                let contact_model: Option<&mut dyn ContactModel> = Some(&mut collision);
                stepper.advance_with_contact(&body, &mut state, &guide, contact_model, 1.0 / RATE, &mut [])?
            } else {
                stepper.advance(&body, &mut state, &guide as &dyn Guide, 1.0 / RATE, &mut [])?
            };
            spent += clock.elapsed().as_secs_f64();
            outcome.iterations += effort.iterations;
            outcome.steps += effort.steps;
            outcome.contacts = outcome.contacts.max(collision.report().contacts);
            outcome.lag = outcome.lag.max(collision.report().lag);
            let strain = shell::Strain::measure(&cloth.membranes, &state.positions);
            outcome.max_stretch = outcome.max_stretch.max(strain.max_stretch);
            let strain = FabricStrain::measure(&cloth.membranes, &cloth.limits, &known, &state.positions);
            let over = |(now, limit): (f64, Option<f64>)| limit.map_or(0.0, |limit| now / limit - 1.0);
            let over = [(strain.warp, material.limit_warp), (strain.weft, material.limit_weft)].map(over);
            outcome.over_limit = over.into_iter().fold(outcome.over_limit, f64::max);
            let written = self.stored(&state, collision.obstacle_positions());
            if with_contact {
                outcome.intersections += self.crossings(&written)?;
            }
            stored.push(written);
        }
        outcome.ms_per_frame = 1e3 * spent / self.frames as f64;
        outcome.clip = Some(self.clip(stored));
        Ok(outcome)
    }

    fn obstacles_at(&self, time: f64) -> Vec<Vec<Vec3>> {
        let at = |(surface, motion): &(CollisionSurface, Motion)| {
            surface.rest_positions.iter().enumerate().map(|(i, p)| motion(time, i, *p)).collect()
        };
        self.obstacles.iter().map(at).collect()
    }

    fn span(&self, from: f64, to: f64) -> Span {
        let step = to - from;
        let at = |time: f64| self.obstacles_at(time.max(0.0)).concat();
        let positions = [at(from), at(to)];
        let mean =
            |a: Vec<Vec3>, b: Vec<Vec3>| a.iter().zip(b).map(|(a, b)| (b - *a) / (2.0 * step)).collect();
        let velocities = [mean(at(from - step), at(to)), mean(at(from), at(to + step))];
        Span { start: from, duration: step, positions, velocities }
    }

    /// The frame in single precision, as files have it: cloth, then obstacles where they were, which is behind their animation when they waited.
    fn stored(&self, state: &State, mut obstacles: &[Vec3]) -> Vec<Vec<[f32; 3]>> {
        let mut all = vec![&state.positions[..]];
        for (surface, _) in &self.obstacles {
            let (own, rest) = obstacles.split_at(surface.rest_positions.len());
            all.push(own);
            obstacles = rest;
        }
        all.iter().map(|points| points.iter().map(|p| p.as_vec3().to_array()).collect()).collect()
    }

    fn crossings(&self, stored: &[Vec<[f32; 3]>]) -> Result<usize, contact::Error> {
        let cloth = AuditedSurface {
            name: "cloth",
            points: &stored[0],
            triangles: &self.triangles,
            is_obstacle: false,
        };
        let obstacle = |((surface, _), points): (&(CollisionSurface, Motion), &'_ Vec<[f32; 3]>)| {
            (surface.triangles.clone(), points.clone())
        };
        let others: Vec<_> = self.obstacles.iter().zip(&stored[1..]).map(obstacle).collect();
        let mut audited = vec![cloth];
        for (triangles, points) in &others {
            audited.push(AuditedSurface { name: "obstacle", points, triangles, is_obstacle: true });
        }
        Ok(audit(&audited)?.len())
    }

    fn clip(&self, stored: Vec<Vec<Vec<[f32; 3]>>>) -> Clip {
        let rest = |points: &[Vec3]| points.iter().map(|p| p.as_vec3().to_array()).collect();
        let mut meshes = vec![Mesh::new("cloth", rest(&self.points), &self.triangles)];
        // a plane reaches beyond every picture
        let shown = |surface: &CollisionSurface| !surface.faces_only;
        for (surface, _) in self.obstacles.iter().filter(|(surface, _)| shown(surface)) {
            meshes.push(Mesh::new(&surface.name, rest(&surface.rest_positions), &surface.triangles));
        }
        let keep: Vec<bool> =
            std::iter::once(true).chain(self.obstacles.iter().map(|(surface, _)| shown(surface))).collect();
        let frames = stored.into_iter().map(|points| {
            let points = points.into_iter().zip(&keep).filter(|(_, keep)| **keep).map(|(points, _)| points);
            Frame { points: points.collect(), pose: Vec::new() }
        });
        Clip::new(self.name, RATE, meshes, None, Arc::new(MemoryFrames::new(frames.collect())))
    }
}
