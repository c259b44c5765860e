//! Frames in, frames out: the tracked shell from frame to frame.

use std::sync::Arc;

use contact::Attachment;
use dynamics::ContactModel;
use geometry::{Bounds, Mat3, Vec2, Vec3};
use shell::tracks::{Averages, ConstraintStrength, ForceLimit, Reshaping, Tracked, TrackedSetup};
use shell::{Bending, Cloth, ClothBuilder, Material, Plasticity, Strain, Uvs, WindField};

use super::Tracks;
use shot::{FrameResult, LayerError, Simulation, Target};

use crate::shared::Collider;
use crate::shared::points::{corner_uvs, to_vectors};
use crate::shared::stepping::{explain, stepping};

/// A prepared `tracks` layer.
pub(super) struct Following {
    input: Target,
    tracked: Tracked,
    collider: Option<Collider>,
    pre_roll: f64,
    jump: f64,
    size: f64,
    same_mesh: bool,
    is_bounded: bool,
    /// How many averages slipped in the frame before.
    slipping: usize,
    warnings: Vec<String>,
    notes: Vec<(String, String)>,
}

/// What a cloth is made from, kept so that it can be made again from another rest shape.
struct Recipe {
    triangles: Vec<[u32; 3]>,
    uvs: Option<Vec<[Vec2; 3]>>,
    material: Material,
    bending: Bending,
    wind: Arc<WindField>,
}

impl Recipe {
    fn make(&self, rest: &[Vec3]) -> Result<Cloth, shell::Error> {
        let uvs = self.uvs.as_deref().map_or(Uvs::None, Uvs::PerCorner);
        let builder = ClothBuilder::new(rest, &self.triangles, &self.material);
        builder.uvs(uvs).bending(self.bending).wind(self.wind.clone()).build()
    }
}

impl Following {
    pub(super) fn new(settings: &Tracks, input: &Target) -> Result<Self, LayerError> {
        let parts = settings.pieces(input)?;
        let material = settings.fabric.of(&settings.material).map_err(LayerError::new)?;
        let recipe = Recipe {
            uvs: corner_uvs(&parts.mesh),
            triangles: parts.triangles.clone(),
            material: material.clone(),
            bending: settings.bending,
            wind: Arc::new(settings.wind.clone().field().map_err(LayerError::new)?),
        };
        let cloth = recipe.make(&parts.rest).map_err(LayerError::new)?;
        let mut known = parts.known;
        cloth.report.massless.iter().for_each(|&point| known[point as usize] = true);
        let (first, second) = (parts.first.len(), parts.second.as_ref().map_or(0, Averages::len));
        let averages = match &parts.second {
            Some(second) => parts.first.and(second),
            None => parts.first,
        };
        let strength = strengths(settings, input, &averages, first, &cloth.masses)?;
        let force_limit =
            settings.max_pull.map(|pull| ForceLimit::new(pull, &averages.tracked, &cloth.masses));
        let mut warnings = Vec::new();
        if !cloth.report.degenerate_triangles.is_empty() {
            let count = cloth.report.degenerate_triangles.len();
            warnings.push(format!("{count} triangles without area were left out"));
        }
        warnings.extend(coarse_reliefs(settings, &parts.rest, &parts.triangles));
        let mut notes = vec![
            ("mass".into(), format!("{:.3} kg on {:.3} m²", cloth.report.mass, cloth.report.area)),
            (
                "guide and tracked points".into(),
                format!("{} and {}", input.mesh().point_count(), parts.rest.len()),
            ),
            ("averages".into(), format!("{first}")),
        ];
        if second > 0 {
            notes.push(("averages afterwards".into(), format!("{second}")));
        }
        for relief in &settings.relief {
            recipe.make(&relief.shape.pressed(&parts.rest, &parts.triangles)).map_err(LayerError::new)?;
        }
        let reshaping = (!settings.relief.is_empty()).then(|| Reshaping {
            shapes: settings.relief.iter().map(|r| r.shape.pressed(&parts.rest, &parts.triangles)).collect(),
            keys: settings.relief.iter().map(|relief| relief.keys.clone()).collect(),
            rebuild: Box::new(move |rest: &[Vec3]| recipe.make(rest).ok()),
        });
        let tracked = Tracked::new(TrackedSetup {
            rest: &parts.rest,
            cloth,
            friction: material.damping_time(),
            averages: Some(averages),
            strength,
            force_limit,
            correspondence: parts.correspondence,
            known,
            gravity: Vec3::from(settings.gravity),
            stepping: stepping(settings.integrator, settings.substeps, settings.tolerance),
            plasticity: Plasticity::of(&material),
            reshaping,
        })
        .map_err(explain)?;
        let collider = settings.contact.as_ref().map(|contact| {
            let (name, known) = (&input.mesh().name, tracked.body().known().to_vec());
            let surface = contact.surface(name, parts.rest.clone(), parts.triangles.clone(), known);
            contact.collider(input, surface, Attachment::identity(parts.rest.len()))
        });
        let size = Bounds::of(input.mesh().rest()).diagonal();
        Ok(Self {
            input: input.clone(),
            tracked,
            collider: collider.transpose()?,
            pre_roll: settings.pre_roll,
            jump: settings.jump,
            size,
            same_mesh: settings.is_same_mesh(),
            is_bounded: settings.max_pull.is_some(),
            slipping: 0,
            warnings,
            notes,
        })
    }

    fn guide(&self, frame: usize) -> Result<Vec<Vec3>, LayerError> {
        Ok(to_vectors(&self.input.points(frame)?))
    }

    /// Puts the shell on the first frame and lets it settle.
    fn begin(&mut self) -> Result<(), LayerError> {
        let guide = self.guide(0)?;
        self.tracked.begin(&guide).map_err(explain)?;
        let frame = 1.0 / self.input.clip.frame_rate_hz;
        for _ in 0..(self.pre_roll / frame).ceil() as usize {
            if let Some(collider) = &mut self.collider {
                collider.hold(0, 0.0, frame)?;
            }
            let contact_model = against(&mut self.collider);
            self.tracked.settle(&guide, frame, contact_model, &mut []).map_err(explain)?;
        }
        Ok(())
    }

    /// From the frame before to `index`.
    fn advance(&mut self, index: usize, result: &mut FrameResult) -> Result<(), LayerError> {
        let duration = 1.0 / self.input.clip.frame_rate_hz;
        let last = self.input.clip.frame_count() - 1;
        let (here, next) = (self.guide(index - 1)?, self.guide(index)?);
        // before the first frame the animation stands still, as it does in the pre-roll
        let mut before = if index > 1 { self.guide(index - 2)? } else { here.clone() };
        let mut after = if index < last { self.guide(index + 1)? } else { next.clone() };
        let start = (index - 1) as f64 * duration;
        // what rounding left in the sum of steps must not grow over a long shot
        self.tracked.state.time = start;
        let jumps = |a: &[Vec3], b: &[Vec3]| middle(a).distance(middle(b)) > self.jump * self.size;
        if jumps(&here, &next) {
            let far = middle(&here).distance(middle(&next));
            result.warnings.push(format!("the animation jumps by {far:.2} m; the shell was carried along"));
            let turn = rotation(&here, &next);
            self.tracked.carry(turn, middle(&here), middle(&next));
            let moved = |points: &[Vec3]| -> Vec<Vec3> {
                points.iter().map(|p| turn * (*p - middle(&here)) + middle(&next)).collect()
            };
            let span = self.tracked.span(start, duration, [&moved(&here), &moved(&here), &next, &next]);
            return self.step(&span, duration, result);
        }
        // a jump before or after says nothing about the speed here
        if jumps(&before, &here) {
            before.clone_from(&here);
        }
        if jumps(&next, &after) {
            after.clone_from(&next);
        }
        let span = self.tracked.span(start, duration, [&before, &here, &next, &after]);
        self.step(&span, duration, result)
    }

    fn step(
        &mut self,
        span: &shell::tracks::GuideSpan,
        duration: f64,
        result: &mut FrameResult,
    ) -> Result<(), LayerError> {
        let contact_model = against(&mut self.collider);
        let effort = self.tracked.advance(span, duration, contact_model, &mut []).map_err(explain)?;
        result.figures.add("effort/substeps", "", effort.steps as f64);
        result.figures.add("effort/Newton iterations", "", effort.iterations as f64);
        result.figures.add("effort/factorisations", "", effort.factorizations as f64);
        Ok(())
    }
}

impl Simulation for Following {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let mut result = FrameResult::default();
        if index == 0 {
            result.warnings = self.warnings.clone();
            self.begin()?;
        } else {
            if let Some(collider) = &mut self.collider {
                collider.go_to(index)?;
            }
            self.advance(index, &mut result)?;
        }
        let input = self.input.points(index)?;
        let guide = to_vectors(&input);
        let [kinetic, elastic] = self.tracked.energies();
        result.figures.add("energy/kinetic", "J", kinetic);
        result.figures.add("energy/elastic", "J", elastic);
        result.figures.add("tracking/residual of hard averages", "of size", self.tracked.residual(&guide));
        let gaps = self.tracked.gaps(&guide);
        let farthest = gaps.iter().map(|(_, gap)| *gap).fold(0.0, f64::max);
        result.figures.add("tracking/farthest average", "m", farthest);
        if self.is_bounded {
            let slipping: Vec<&(&str, f64)> = gaps
                .iter()
                .enumerate()
                .filter(|(row, _)| self.tracked.slips(*row))
                .map(|(_, gap)| gap)
                .collect();
            result.figures.add("tracking/averages that slip", "", slipping.len() as f64);
            let worst = slipping.iter().max_by(|a, b| a.1.total_cmp(&b.1));
            if let (Some((name, gap)), 0) = (worst, self.slipping) {
                let count = slipping.len();
                result.warnings.push(format!(
                    "from here on the animation is not reached everywhere: `max_pull` lets {count} averages slip, `{name}` by {gap:.3} m"
                ));
            }
            self.slipping = slipping.len();
        }
        let strain = Strain::measure(self.tracked.membranes(), &self.tracked.state.positions);
        result.figures.add("strain/max stretch", "%", 100.0 * strain.max_stretch);
        result.figures.add("strain/mean", "%", 100.0 * strain.mean);
        let crease = self.tracked.deepest_crease();
        if crease > 0.0 {
            result.figures.add("crease/deepest", "1/m", crease);
        }
        let known = self.tracked.body().known();
        let place = |(p, x): (usize, &Vec3)| {
            // points that follow exactly are the input's own numbers, never a rounded copy
            if self.same_mesh && known[p] { input[p] } else { x.as_vec3().to_array() }
        };
        let points: Vec<[f32; 3]> = self.tracked.state.positions.iter().enumerate().map(place).collect();
        if let Some(collider) = &self.collider {
            collider.report(index, &points, &mut result)?;
        }
        result.frame = self.input.with_points(index, points)?;
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        let state = self.tracked.to_bytes();
        let length = (state.len() as u64).to_le_bytes();
        let contact =
            self.collider.as_ref().map(|collider| collider.collision.to_bytes()).unwrap_or_default();
        [&length[..], &state, &contact].concat()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        let other = || LayerError::new("the checkpoint is not one of this shell");
        let (length, rest) = checkpoint.split_first_chunk::<8>().ok_or_else(other)?;
        let (state, contact) =
            rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(other)?;
        let touching = self.collider.as_mut().is_none_or(|collider| collider.collision.restore(contact));
        if touching && self.tracked.restore(state) { Ok(()) } else { Err(other()) }
    }

    fn notes(&self) -> Vec<(String, String)> {
        let solver = self.tracked.solver_info();
        let mut notes = self.notes.clone();
        notes.push(("linear solver".into(), solver.method));
        notes.push(("unknowns".into(), solver.unknowns.to_string()));
        notes.push(("factor".into(), format!("{:.1} MB", solver.factor_bytes as f64 / 1e6)));
        notes
    }
}

/// What the shell may not pass through.
fn against(collider: &mut Option<Collider>) -> Option<&mut dyn ContactModel> {
    collider.as_mut().map(|collider| &mut collider.collision as &mut dyn ContactModel)
}

/// Strengths of all averages over time: loosened regions, and the first set letting go as the second takes hold.
fn strengths(
    settings: &Tracks,
    input: &Target,
    averages: &Averages,
    first: usize,
    masses: &[f64],
) -> Result<ConstraintStrength, LayerError> {
    if settings.loosen.is_empty() && settings.then.is_none() {
        return Ok(ConstraintStrength::hard());
    }
    let mut keys: Vec<Vec<[f64; 2]>> = vec![Vec::new(); averages.len()];
    for loosen in &settings.loosen {
        let weights = loosen.region.weights(&input.clip, input.mesh, &input.folder)?;
        for (r, keys) in keys.iter_mut().enumerate() {
            // a region counts as far as it lies under the test function
            let (mut inside, mut all) = (0.0, 0.0);
            for (point, weight) in averages.guide.row(r) {
                inside += weight.abs() * f64::from(weights[point as usize]);
                all += weight.abs();
            }
            let share = inside / all;
            if share > 0.0 {
                let strength = |&[time, s]: &[f64; 2]| [time, 1.0 + share * (s - 1.0)];
                *keys = multiplied(keys, &loosen.keys.iter().map(strength).collect::<Vec<_>>());
            }
        }
    }
    if let Some(then) = &settings.then {
        for (r, keys) in keys.iter_mut().enumerate() {
            let ends = if r < first { [1.0, 0.0] } else { [0.0, 1.0] };
            // both hold half-way, so that in between nothing falls
            let middle = 0.5 * (then.from + then.to);
            *keys = multiplied(keys, &[[then.from, ends[0]], [middle, 0.9], [then.to, ends[1]]]);
        }
    }
    Ok(ConstraintStrength::new(keys, &averages.tracked, masses, settings.follow_stiffness))
}

/// The product of two curves, at the keys of both.
fn multiplied(a: &[[f64; 2]], b: &[[f64; 2]]) -> Vec<[f64; 2]> {
    if a.is_empty() {
        return b.to_vec();
    }
    let mut times: Vec<f64> = a.iter().chain(b).map(|key| key[0]).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let at = shell::tracks::linear_between;
    times.into_iter().map(|time| [time, at(a, time) * at(b, time)]).collect()
}

/// Patterns that the mesh is too coarse to hold.
fn coarse_reliefs(settings: &Tracks, rest: &[Vec3], triangles: &[[u32; 3]]) -> Vec<String> {
    let sides = triangles.iter().flat_map(|t| {
        let [a, b, c] = t.map(|v| rest[v as usize]);
        [a.distance(b), b.distance(c), c.distance(a)]
    });
    let (sum, count) = sides.fold((0.0, 0), |(sum, count), side| (sum + side, count + 1));
    let side = sum / f64::from(count.max(1));
    let too_fine =
        settings.relief.iter().enumerate().filter(|(_, relief)| relief.shape.wavelength < 3.0 * side);
    too_fine
        .map(|(i, relief)| {
            let wave = relief.shape.wavelength;
            format!("relief {i} repeats every {wave:.3} m, but edges are {side:.3} m long: raise `subdivide`")
        })
        .collect()
}

fn middle(points: &[Vec3]) -> Vec3 {
    points.iter().sum::<Vec3>() / points.len().max(1) as f64
}

/// The rotation that turns one pose nearest to another: polar part of the covariance, by Newton's iteration.
fn rotation(from: &[Vec3], to: &[Vec3]) -> Mat3 {
    let (a, b) = (middle(from), middle(to));
    let mut covariance = Mat3::ZERO;
    for (p, q) in from.iter().zip(to) {
        let (p, q) = (*p - a, *q - b);
        covariance += Mat3::from_cols(q * p.x, q * p.y, q * p.z);
    }
    let mut turn = covariance;
    for _ in 0..40 {
        let determinant = turn.determinant();
        // a flat, folded or shrunken pose has no rotation to speak of
        if determinant.abs() < 1e-12 * covariance.determinant().abs().max(f64::MIN_POSITIVE) {
            return Mat3::IDENTITY;
        }
        turn = 0.5 * (turn + turn.inverse().transpose());
    }
    let right = turn.is_finite() && (turn.determinant() - 1.0).abs() < 1e-6;
    if right { turn } else { Mat3::IDENTITY }
}
