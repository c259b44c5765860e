//! Secondary motion for an animated surface: fit, simulate, carry the detail over.
//!
//! A frame goes through four hands: the fit gives tets that follow the animation; the engine moves the tets that are not held, and lets the
//! blending force draw them back; the surface follows its tets; and what the tets cannot represent, the difference between the
//! animation and its fit, is turned with each tet and added. Where the artist says *follow*, nothing of this is used: the output is
//! the input's own numbers.

mod averages;
mod detail;
mod drive;
mod gravity;
mod pose;
mod settings;

use dynamics::{
    Body, ContactModel, Effort, Filter, Guide, GuideSample, MaxDistance, State, StaticGuide, Stepper,
};
use geometry::{Bounds, Embedding, Mat3, TetMesh, Vec3};
use linear::ConstraintRows;

use crate::blend::{Blend, check_keys, known_points, weight_at};
use crate::fit::Pieces;
use detail::tet_rotations;
use drive::{Drive, StaticDrive, continued, span};

use crate::{Error, Fit, Fitted, Solid, WeightKey, from_surface, rigid_motion};
use gravity::PointGravity;

pub use averages::{complementary_rows, surface_rows};
pub use pose::Pose;
pub use settings::EnrichSettings;

/// A surface in its tets.
#[derive(Clone, Debug)]
pub struct EmbeddedSurface<'a> {
    /// The tets at rest.
    pub mesh: &'a TetMesh,
    /// Where the surface is in them.
    pub embedding: &'a Embedding,
    /// What each vertex weighs in the fit, usually its area; zero where there is no animation.
    pub areas: &'a [f64],
}

/// Weighted averages that follow the animation; see [`crate::complementary_rows`] and [`crate::surface_rows`].
#[derive(Clone, Debug)]
pub struct AverageRows {
    /// Over the tets' points.
    pub rows: ConstraintRows,
    /// Over the surface's vertices, where the averages are those of the animation itself and not of its fit.
    pub surface_rows: Option<ConstraintRows>,
}

/// A surface that is enriched frame by frame.
pub struct Enrich {
    embedding: Embedding,
    solid: Solid,
    pieces: Pieces,
    fit: Fit,
    body: Body,
    stepper: Stepper,
    max_distance: Option<MaxDistance>,
    averages: Option<AverageRows>,
    /// Weights of the surface's vertices.
    weights: Vec<WeightKey>,
    animated: Vec<bool>,
    settings: EnrichSettings,
    /// Metres.
    size: f64,
    pose: Pose,
}

/// What a frame took and how it went.
#[derive(Clone, Debug, Default)]
pub struct Enriched {
    /// Every vertex of the surface.
    pub positions: Vec<Vec3>,
    /// Which of them follow the animation exactly: there the caller should use its own numbers, to the bit.
    pub exact: Vec<bool>,
    /// The fit that was made in this frame: of the frame after.
    pub fitted: Fitted,
    /// What the simulation took.
    pub effort: Effort,
    /// True where no step could be solved and the tets were put back on the animation.
    pub reset: bool,
}

impl Enrich {
    /// Prepares a surface. `keys` are weights in [0, 1] of its vertices over time, 1 exactly the animation, 0 pure physics; `points` the same
    /// for the tets' points where they were painted there, else they come from the surface's.
    pub fn new(
        surface: &EmbeddedSurface,
        solid: Solid,
        keys: Vec<WeightKey>,
        points: Option<Vec<WeightKey>>,
        averages: Option<AverageRows>,
        settings: EnrichSettings,
    ) -> Result<Self, Error> {
        let EmbeddedSurface { mesh, embedding, areas } = surface;
        check_keys(&keys, embedding.len())?;
        let (fit, gamma) = Fit::new(mesh, embedding, areas, settings.fit_tolerance, settings.gamma)?;
        let points = match points {
            Some(points) => points,
            None => {
                let of = |key: &WeightKey| {
                    let weights = from_surface(mesh, embedding, &key.weights)?;
                    Ok(WeightKey { time: key.time, weights })
                };
                keys.iter().map(of).collect::<Result<_, Error>>()?
            }
        };
        check_keys(&points, mesh.points().len())?;
        let known = known_points(embedding, &keys, &points, &solid.masses);
        let averages = averages.map(|averages| averages.without_held(&known)).filter(|a| !a.rows.is_empty());
        let blend = Blend::new(&solid.masses, &known, points, settings.follow_frequency_hz);
        let mut body =
            Body::builder(solid.masses.clone()).energy(solid.elements(&known)).gravity(settings.gravity);
        if !settings.extra_gravity.is_empty() {
            let (expected, got) = (solid.masses.len(), settings.extra_gravity.len());
            if got != expected {
                return Err(Error::Sizes { what: "extra gravity", expected, got });
            }
            body = body.energy(PointGravity::new(&solid.masses, &known, &settings.extra_gravity));
        }
        if !blend.is_empty() {
            body = body.force(blend.damping(settings.follow_damping)).energy(blend);
        }
        if let Some(averages) = &averages {
            body = body.averages(averages.rows.clone());
        }
        let body = body.known(known).build()?;
        let stepper = Stepper::new(&body, mesh.points(), settings.stepping.clone())?;
        let count = mesh.points().len();
        let animated: Vec<bool> = areas.iter().map(|&area| area > 0.0).collect();
        Ok(Self {
            embedding: (*embedding).clone(),
            pieces: Pieces::new(mesh, embedding, &animated),
            fit,
            stepper,
            max_distance: settings.max_distance.map(|distance| MaxDistance::new(vec![distance; count])),
            weights: keys,
            animated,
            size: Bounds::of(mesh.points().iter().copied()).diagonal(),
            pose: Pose::new(mesh.points().to_vec(), gamma),
            averages,
            body,
            solid,
            settings,
        })
    }

    /// The first frame: fits it and the second, and lets the tets settle if asked to.
    pub fn begin(&mut self, first: &[Vec3], second: Option<&[Vec3]>) -> Result<Enriched, Error> {
        self.begin_with_contact(first, second, None)
    }

    /// [`Enrich::begin`] where there is something that the flesh may not pass through while it settles.
    pub fn begin_with_contact(
        &mut self,
        first: &[Vec3],
        second: Option<&[Vec3]>,
        contact: Option<&mut dyn ContactModel>,
    ) -> Result<Enriched, Error> {
        let mut x = self.pose.fits[1].clone();
        self.pieces.move_rigidly(&self.embedding, first, &mut x);
        let fitted = self.fit.solve(first, &mut self.pose.gamma, &mut x, &self.embedding)?;
        let values = self.row_values(first, &x);
        self.pose.fits = [x.clone(), x.clone(), x];
        self.pose.averages = [values.clone(), values.clone(), values];
        let next = self.fit_next(second)?;
        // before its first frame the animation went on as it begins, unless it is held there
        if self.settings.pre_roll <= 0.0 {
            let back =
                |here: &[Vec3], next: &[Vec3]| here.iter().zip(next).map(|(a, b)| 2.0 * *a - *b).collect();
            self.pose.fits[0] = back(&self.pose.fits[1], &self.pose.fits[2]);
            self.pose.averages[0] = back(&self.pose.averages[1], &self.pose.averages[2]);
        }
        self.pose.state = State::at_rest(self.pose.fits[1].clone());
        let rate = self.settings.frame_rate_hz;
        let mut reset = false;
        if self.settings.pre_roll > 0.0 && self.settings.simulate {
            reset = self.settle(contact)?;
        } else {
            let ends = self.pose.fits[1].iter().zip(&self.pose.fits[0]);
            self.pose.state.velocities = ends.map(|(here, before)| rate * (*here - *before)).collect();
        }
        let fitted = Fitted { error: fitted.error, iterations: fitted.iterations + next.iterations, ..next };
        Ok(self.finish(first, fitted, Effort::default(), reset))
    }

    /// Frame `index` from the one before; `surface` is the animation there, `next` the frame after it, if there is one.
    pub fn frame(
        &mut self,
        index: usize,
        surface: &[Vec3],
        next: Option<&[Vec3]>,
    ) -> Result<Enriched, Error> {
        self.frame_with_contact(index, surface, next, None)
    }

    /// [`Enrich::frame`] where there is something that the flesh may not pass through.
    pub fn frame_with_contact(
        &mut self,
        index: usize,
        surface: &[Vec3],
        next: Option<&[Vec3]>,
        contact: Option<&mut dyn ContactModel>,
    ) -> Result<Enriched, Error> {
        self.pose.fits.rotate_left(1);
        self.pose.averages.rotate_left(1);
        // now [index − 1, index, index − 2]: the last is overwritten by the fit of the frame after
        let before = (self.pose.fits[2].clone(), self.pose.averages[2].clone());
        let fitted = self.fit_next(next)?;
        let (mut effort, mut reset) = (Effort::default(), false);
        if self.settings.simulate {
            (effort, reset) = self.simulate(index, &before, contact)?;
        } else {
            self.pose.state.positions = self.pose.fits[1].clone();
        }
        Ok(self.finish(surface, fitted, effort, reset))
    }

    /// All that the next frame depends on.
    pub fn pose(&self) -> &Pose {
        &self.pose
    }

    /// Goes on from a pose of the same surface; false where it is not one.
    pub fn restore(&mut self, pose: Pose) -> bool {
        let fits = pose.fits.iter().all(|fit| fit.len() == self.body.point_count());
        let rows = self.averages.as_ref().map_or(0, |averages| averages.rows.len());
        let fits = fits && pose.averages.iter().all(|values| values.len() == rows);
        let fits = fits && pose.state.positions.len() == self.body.point_count();
        if fits {
            self.pose = pose;
        }
        fits
    }

    /// What the engine moves.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Tets and masses.
    pub fn solid(&self) -> &Solid {
        &self.solid
    }

    /// Solvers of the simulation and of the fit.
    pub fn solver_info(&self) -> [linear::Info; 2] {
        [self.stepper.solver_info(), self.fit.solver_info()]
    }

    /// Kinetic and elastic energy, in J.
    pub fn energies(&self) -> [f64; 2] {
        let state = &self.pose.state;
        let sample = GuideSample {
            time: state.time,
            guide_positions: &self.pose.fits[1],
            guide_velocities: &state.velocities,
        };
        [self.body.kinetic_energy(&state.velocities), self.body.elastic_energy(&sample, &state.positions)]
    }

    /// Fits the frame after and keeps it as `fits[2]`.
    fn fit_next(&mut self, next: Option<&[Vec3]>) -> Result<Fitted, Error> {
        let mut x = self.pose.fits[1].clone();
        let fitted = match next {
            Some(next) => {
                self.pieces.move_rigidly(&self.embedding, next, &mut x);
                let fitted = self.fit.solve(next, &mut self.pose.gamma, &mut x, &self.embedding)?;
                self.pose.averages[2] = self.row_values(next, &x);
                fitted
            }
            None => {
                // it goes on as it was going
                let [before, here, _] = &self.pose.averages;
                self.pose.averages[2] = continued(before, here);
                x = continued(&self.pose.fits[0], &x);
                Fitted { gamma: self.pose.gamma.value, converged: true, ..Fitted::default() }
            }
        };
        self.pose.fits[2] = x;
        Ok(fitted)
    }

    fn row_values(&self, surface: &[Vec3], fit: &[Vec3]) -> Vec<Vec3> {
        match &self.averages {
            None => Vec::new(),
            Some(AverageRows { surface_rows: Some(rows), .. }) => rows.multiply(surface),
            Some(AverageRows { rows, .. }) => rows.multiply(fit),
        }
    }

    fn simulate(
        &mut self,
        index: usize,
        before: &(Vec<Vec3>, Vec<Vec3>),
        contact: Option<&mut dyn ContactModel>,
    ) -> Result<(Effort, bool), Error> {
        let rate = self.settings.frame_rate_hz;
        let [here, to, next] = &self.pose.fits;
        let [row_here, row_to, row_next] = &self.pose.averages;
        let (mut before, mut row_before) = (before.0.clone(), before.1.clone());
        let (mut next, mut row_next) = (next.clone(), row_next.clone());
        // velocities do not look across a cut
        if self.cut(&before, here).is_some() {
            (before, row_before) = (continued(to, here), continued(row_to, row_here));
        }
        if self.cut(to, &next).is_some() {
            (next, row_next) = (continued(here, to), continued(row_here, row_to));
        }
        if let Some((rotation, shift)) = self.cut(here, to) {
            // the flesh comes along as it is
            let state = &mut self.pose.state;
            state.positions.iter_mut().for_each(|x| *x = rotation * *x + shift);
            state.velocities.iter_mut().for_each(|v| *v = rotation * *v);
            for p in (0..to.len()).filter(|&p| self.body.known()[p]) {
                state.positions[p] = to[p];
            }
            state.accelerations.clear();
            state.time = index as f64 / rate;
            return Ok((Effort::default(), false));
        }
        let start = (index - 1) as f64 / rate;
        let drive = Drive {
            points: span(start, rate, &before, here, to, &next),
            averages: span(start, rate, &row_before, row_here, row_to, &row_next),
        };
        // what rounding left in the sum of steps must not grow over a long shot
        self.pose.state.time = start;
        self.advance(&drive, contact, 1.0 / rate)
    }

    /// The rigid motion between two frames that are too far apart to be one motion.
    fn cut(&self, from: &[Vec3], to: &[Vec3]) -> Option<(Mat3, Vec3)> {
        let middle = |x: &[Vec3]| x.iter().sum::<Vec3>() / x.len().max(1) as f64;
        (middle(from).distance(middle(to)) > CUT * self.size).then(|| rigid_motion(from, to))
    }

    fn settle(&mut self, mut contact: Option<&mut dyn ContactModel>) -> Result<bool, Error> {
        let guide = StaticDrive {
            points: StaticGuide::new(self.pose.fits[1].clone()),
            averages: self.pose.averages[1].clone(),
        };
        let frame = 1.0 / self.settings.frame_rate_hz;
        let frames = (self.settings.pre_roll / frame).ceil();
        self.pose.state.time = -frames * frame;
        let mut reset = false;
        for _ in 0..frames as usize {
            // reborrowed for every step
            let contact = contact.as_mut().map(|contact| &mut **contact as &mut dyn ContactModel);
            reset |= self.advance(&guide, contact, frame)?.1;
        }
        self.pose.state.time = 0.0;
        Ok(reset)
    }

    fn advance(
        &mut self,
        guide: &dyn Guide,
        contact: Option<&mut dyn ContactModel>,
        seconds: f64,
    ) -> Result<(Effort, bool), Error> {
        let mut filters: Vec<&mut dyn Filter> = Vec::new();
        filters.extend(self.max_distance.as_mut().map(|limit| limit as &mut dyn Filter));
        let end = self.pose.state.time + seconds;
        let state = &mut self.pose.state;
        match self.stepper.advance_with_contact(&self.body, state, guide, contact, seconds, &mut filters) {
            Ok(effort) => Ok((effort, false)),
            // an animation that no simulation can follow: begin again from where it is
            Err(
                dynamics::Error::Diverged { .. }
                | dynamics::Error::NotFinite { .. }
                | dynamics::Error::Linear(_),
            ) => {
                let mut x = self.pose.state.positions.clone();
                let mut v = x.clone();
                guide.sample(end, &mut x, &mut v);
                self.pose.state = State { time: end, velocities: v, ..State::at_rest(x) };
                Ok((Effort::default(), true))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// From tets to the surface: C u + R(q̄ − C ū). enrich eq. 10.
    fn finish(&self, surface: &[Vec3], fitted: Fitted, effort: Effort, reset: bool) -> Enriched {
        let (fit, now) = (&self.pose.fits[1], &self.pose.state.positions);
        let mut positions = self.embedding.apply(now);
        let time = self.pose.state.time;
        let exact: Vec<bool> = (0..positions.len())
            .map(|v| self.animated[v] && weight_at(&self.weights, v, time) >= 1.0)
            .collect();
        if self.settings.detail {
            let placed = self.embedding.apply(fit);
            let turns = tet_rotations(&self.embedding, fit, now);
            for (v, position) in positions.iter_mut().enumerate() {
                if self.animated[v] {
                    let tet = self.embedding.tets()[v] as usize;
                    *position += turns[tet] * (surface[v] - placed[v]);
                }
            }
        }
        for (v, position) in positions.iter_mut().enumerate() {
            if exact[v] {
                *position = surface[v];
            }
        }
        Enriched { positions, exact, fitted, effort, reset }
    }
}

/// A body that goes further than this many times its own size from one frame to the next has not moved: the shot has cut.
const CUT: f64 = 2.0;
