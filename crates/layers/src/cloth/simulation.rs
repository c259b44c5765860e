//! A cloth from frame to frame: frames become a guide, states become frames.

use std::sync::Arc;

use contact::Attachment;
use dynamics::{
    Body, ContactModel, Effort, Elements, Follow, FollowDamping, Forces, Guide, GuideSample, MaxDistance,
    Span, State, StaticGuide, Stepper, follow_stiffness,
};
use geometry::Vec3;
use shell::{ClothBuilder, ClothReport, Membrane, Strain, Uvs};
use shot::{FrameResult, LayerError, Simulation, Target};

use super::Cloth;
use crate::shared::Collider;
use crate::shared::points::{corner_uvs, to_vectors};
use crate::shared::selectors::weights;
use crate::shared::stepping::explain;
use crate::shared::threads::Hold;

/// A cloth in motion.
pub(crate) struct ClothSimulation {
    input: Target,
    body: Body,
    stepper: Stepper,
    /// What keeps threads at their lengths.
    hold: Option<Hold>,
    leash: Option<MaxDistance>,
    collider: Option<Collider>,
    state: State,
    membranes: Vec<([u32; 3], Membrane)>,
    pre_roll: f64,
    notes: Vec<(String, String)>,
    warnings: Vec<String>,
}

impl ClothSimulation {
    /// Makes a cloth that stretches as its membranes let it or, with something to hold them, one whose threads do not.
    pub(crate) fn new(settings: &Cloth, input: &Target, hold: Option<Hold>) -> Result<Self, LayerError> {
        let mesh = input.mesh();
        let rest = mesh.rest();
        let triangles = mesh.point_triangles();
        let uvs = corner_uvs(mesh);
        let material = settings.fabric().map_err(LayerError::new)?;
        let wind = settings.wind.field().map_err(LayerError::new)?;
        let cloth = ClothBuilder::new(&rest, &triangles, &material)
            .uvs(uvs.as_ref().map_or(Uvs::None, |uvs| Uvs::PerCorner(uvs)))
            .wind(Arc::new(wind))
            .bending(settings.bending)
            .build()
            .map_err(LayerError::new)?;

        let count = mesh.point_count();
        let follow = Following::new(settings, input, &cloth.masses)?;
        let friction = material.damping_time();
        let mut body = Body::builder(cloth.masses.clone())
            .energy(Elements::new(cloth.membranes.iter().copied()).damped(friction))
            .energy(Elements::new(cloth.hinges).damped(friction))
            .energy(Elements::new(cloth.plates).damped(friction))
            .force(Forces(Elements::new(cloth.air)))
            .known(follow.known)
            .gravity(Vec3::from(settings.gravity));
        if !follow.springs.is_empty() {
            body = body.energy(Follow::new(follow.springs)).force(FollowDamping::new(follow.dampers));
        }
        if let Some(hold) = &hold {
            body = hold.add_to(body);
        }
        let body = body.build().map_err(LayerError::new)?;
        let hold = hold.map(|hold| hold.bound_to(&body)).transpose()?;
        let collider = settings.contact.as_ref().map(|contact| {
            let surface = contact.surface(&mesh.name, rest.clone(), triangles.clone(), body.known().to_vec());
            contact.collider(input, surface, Attachment::identity(count))
        });
        let collider = collider.transpose()?;
        let start = to_vectors(&input.points(0)?);
        let stepper = Stepper::new(&body, &rest, settings.stepping()).map_err(LayerError::new)?;

        let exact = body.known().iter().filter(|known| **known).count();
        let (mut notes, mut warnings) = (notes(&cloth.report, exact, count), Vec::new());
        if let Some(hold) = &hold {
            hold.describe(&mut notes, &mut warnings);
        }
        warn(&cloth.report, &mut warnings);
        Ok(Self {
            input: input.clone(),
            collider,
            leash: settings.max_distance.map(|distance| MaxDistance::new(vec![distance; count])),
            state: State::at_rest(start),
            body,
            stepper,
            hold,
            membranes: cloth.membranes,
            pre_roll: settings.pre_roll,
            notes,
            warnings,
        })
    }

    /// The guide from frame `index − 1` to frame `index`, with velocities by central differences.
    fn span(&self, index: usize) -> Result<Span, LayerError> {
        let rate = self.input.clip.frame_rate_hz;
        let last = self.input.clip.frame_count() - 1;
        let at = |frame: usize| Ok::<_, LayerError>(to_vectors(&self.input.points(frame)?));
        let (from, to) = (index - 1, index);
        let (here, next) = (at(from)?, at(to)?);
        let before = if from > 0 { at(from - 1)? } else { here.clone() };
        let after = if to < last { at(to + 1)? } else { next.clone() };
        let velocity = |a: &[Vec3], b: &[Vec3], frames: f64| -> Vec<Vec3> {
            a.iter().zip(b).map(|(a, b)| (*b - *a) * (rate / frames)).collect()
        };
        // before the first frame the animation stands still, as it does in the pre-roll
        let velocities = [velocity(&before, &next, 2.0), velocity(&here, &after, 2.0)];
        Ok(Span { start: from as f64 / rate, duration: 1.0 / rate, positions: [here, next], velocities })
    }

    fn advance(&mut self, guide: &dyn Guide, seconds: f64) -> Result<Effort, LayerError> {
        let end = self.state.time + seconds;
        let mut filters = filters(&mut self.hold, &mut self.leash);
        let obstruction =
            self.collider.as_mut().map(|collider| &mut collider.collision as &mut dyn ContactModel);
        self.stepper
            .advance_with_contact(&self.body, &mut self.state, guide, obstruction, seconds, &mut filters)
            .map_err(|error| {
                let mut held = vec![Vec3::ZERO; self.body.point_count()];
                guide.sample(end, &mut held, &mut vec![Vec3::ZERO; self.body.point_count()]);
                let told = self.hold.as_ref().and_then(|hold| hold.explain(&error, self.body.known(), &held));
                told.unwrap_or_else(|| explain(error))
            })
    }

    fn settle(&mut self) -> Result<(), LayerError> {
        let guide = StaticGuide::new(self.state.positions.clone());
        let frame = 1.0 / self.input.clip.frame_rate_hz;
        let frames = (self.pre_roll / frame).ceil();
        self.state.time = -frames * frame;
        for _ in 0..frames as usize {
            if let Some(collider) = &mut self.collider {
                collider.hold(0, self.state.time, frame)?;
            }
            self.advance(&guide, frame)?;
        }
        self.state.time = 0.0;
        Ok(())
    }
}

/// Which points follow the animation, and how.
struct Following {
    /// Exactly.
    known: Vec<bool>,
    /// Points that follow softly, with stiffness in N/m and damping in N·s/m.
    springs: Vec<(u32, f64)>,
    dampers: Vec<(u32, f64)>,
}

impl Following {
    fn new(settings: &Cloth, input: &Target, masses: &[f64]) -> Result<Self, LayerError> {
        let count = masses.len();
        let follow = match &settings.follow {
            Some(selector) => weights(selector, input)?,
            None => vec![0.0; count],
        };
        // Nothing moves a point without mass, so it goes with the animation.
        let known: Vec<bool> = (0..count).map(|p| follow[p] >= 1.0 || masses[p] <= 0.0).collect();
        let soft = || (0..count).filter(|&p| !known[p] && follow[p] > 0.0);
        let stiffness =
            |p: usize| follow_stiffness(masses[p], f64::from(follow[p]), settings.follow_stiffness);
        let critical = |p: usize| 2.0 * (stiffness(p) * masses[p]).sqrt();
        let springs = soft().map(|p| (p as u32, stiffness(p))).collect();
        let dampers = soft().map(|p| (p as u32, settings.follow_damping * critical(p))).collect();
        Ok(Self { known, springs, dampers })
    }
}

/// What the report tells of a cloth, `exact` of whose `count` points follow exactly.
fn notes(report: &ClothReport, exact: usize, count: usize) -> Vec<(String, String)> {
    vec![
        ("mass".into(), format!("{:.3} kg on {:.3} m²", report.mass, report.area)),
        ("followed exactly".into(), format!("{exact} of {count} points")),
    ]
}

/// What is odd about the mesh.
fn warn(report: &ClothReport, warnings: &mut Vec<String>) {
    if !report.degenerate_triangles.is_empty() {
        let count = report.degenerate_triangles.len();
        warnings.push(format!("{count} triangles without area were left out"));
    }
    if !report.massless.is_empty() {
        let count = report.massless.len();
        warnings.push(format!("{count} points without cloth around them follow the animation"));
    }
    if report.triangles_without_axes > 0 {
        let count = report.triangles_without_axes;
        warnings.push(format!("{count} triangles have no area in uv; their threads run along the vertical"));
    }
}

/// What corrects a step, in order.
fn filters<'a>(
    hold: &'a mut Option<Hold>,
    leash: &'a mut Option<MaxDistance>,
) -> Vec<&'a mut dyn dynamics::Filter> {
    let hold = hold.as_mut().and_then(Hold::filter);
    let leash = leash.as_mut().map(|leash| leash as &mut dyn dynamics::Filter);
    hold.into_iter().chain(leash).collect()
}

impl Simulation for ClothSimulation {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let mut result = FrameResult::default();
        if index == 0 {
            result.warnings = self.warnings.clone();
            self.settle()?;
        } else {
            let span = self.span(index)?;
            // what rounding left in the sum of steps must not grow over a long shot
            self.state.time = span.start;
            if let Some(collider) = &mut self.collider {
                collider.go_to(index)?;
            }
            let effort = self.advance(&span, span.duration)?;
            result.figures.add("effort/substeps", "", effort.steps as f64);
            result.figures.add("effort/Newton iterations", "", effort.iterations as f64);
            result.figures.add("effort/factorisations", "", effort.factorizations as f64);
        }

        let (x, v) = (&self.state.positions, &self.state.velocities);
        let input = self.input.points(index)?;
        let guide = to_vectors(&input);
        let moment = GuideSample { time: self.state.time, guide_positions: &guide, guide_velocities: v };
        result.figures.add("energy/kinetic", "J", self.body.kinetic_energy(v));
        result.figures.add("energy/elastic", "J", self.body.elastic_energy(&moment, x));
        match &mut self.hold {
            Some(hold) => hold.report(x, &mut result),
            None => {
                let strain = Strain::measure(&self.membranes, x);
                result.figures.add("strain/max stretch", "%", 100.0 * strain.max_stretch);
                result.figures.add("strain/mean", "%", 100.0 * strain.mean);
            }
        }

        // points that follow exactly are the input's own numbers, never a rounded copy
        let place = |p: usize| if self.body.known()[p] { input[p] } else { x[p].as_vec3().to_array() };
        let points: Vec<[f32; 3]> = (0..x.len()).map(place).collect();
        if let Some(collider) = &self.collider {
            collider.report(index, &points, &mut result)?;
        }
        result.frame = self.input.with_points(index, points)?;
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        let state = self.state.to_bytes();
        let held = self.hold.as_ref().map(Hold::to_bytes).unwrap_or_default();
        let Some(collider) = &self.collider else { return [state, held].concat() };
        let length = (state.len() as u64).to_le_bytes();
        [&length[..], &state, &collider.collision.to_bytes(), &held].concat()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        let other = || LayerError::new("the checkpoint is not one of this cloth");
        let mut checkpoint = checkpoint;
        if let Some(hold) = &mut self.hold {
            checkpoint = hold.restore(checkpoint).ok_or_else(other)?;
        }
        let state = match &mut self.collider {
            None => checkpoint,
            Some(collider) => {
                let (length, rest) = checkpoint.split_first_chunk::<8>().ok_or_else(other)?;
                let length = u64::from_le_bytes(*length) as usize;
                let (state, contact) = rest.split_at_checked(length).ok_or_else(other)?;
                if !collider.collision.restore(contact) {
                    return Err(other());
                }
                state
            }
        };
        let state = State::from_bytes(state).filter(|s| s.positions.len() == self.body.point_count());
        self.state = state.ok_or_else(other)?;
        Ok(())
    }

    fn notes(&self) -> Vec<(String, String)> {
        let solver = self.stepper.solver_info();
        let mut notes = self.notes.clone();
        notes.push(("linear solver".into(), solver.method));
        notes.push(("unknowns".into(), solver.unknowns.to_string()));
        notes.push(("factor".into(), format!("{:.1} MB", solver.factor_bytes as f64 / 1e6)));
        notes
    }
}
