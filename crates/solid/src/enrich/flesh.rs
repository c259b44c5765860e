//! Flesh as an actor: tets that follow the fit where they are held, and move by their own weight elsewhere.

use dynamics::{
    Actor, ActorReport, Body, BodyBuilder, DeliveredSurface, Filter, Guide, GuideSample, MaxDistance, Motion,
    Part, State, StaticGuide, Window,
};
use geometry::{Bounds, Embedding, Mat3, Vec3};

use super::detail::tet_rotations;
use super::drive::{Drive, StaticDrive, continued};
use super::gravity::PointGravity;
use super::{AverageRows, EmbeddedSurface, EnrichSettings, Pose};
use crate::blend::{Blend, check_keys, known_points, weight_at};
use crate::fit::Pieces;
use crate::{Error, Fit, Fitted, Solid, WeightKey, from_surface, rigid_motion};

/// A body that goes further than this many times its own size from one frame to the next has not moved: the shot has cut.
const CUT: f64 = 2.0;

/// An animated surface full of flesh.
pub struct FleshActor {
    part: Part,
    embedding: Embedding,
    solid: Solid,
    pieces: Pieces,
    fit: Fit,
    fitted: Fitted,
    known: Vec<bool>,
    max_distance: Option<MaxDistance>,
    averages: Option<AverageRows>,
    /// Weights of the surface's vertices.
    weights: Vec<WeightKey>,
    animated: Vec<bool>,
    /// Vertices of pieces that move rigidly, and where the surface is at rest.
    rigid: Vec<Vec<usize>>,
    rest_surface: Vec<Vec3>,
    settings: EnrichSettings,
    /// Metres.
    size: f64,
    pose: Pose,
    drive: Drive,
}

impl FleshActor {
    /// Prepares a surface, and the body it brings along. `keys` are weights in [0, 1] of its vertices over time, 1 exactly the animation, 0
    /// pure physics; `points` the same for the tets' points where they were painted there, else they come from the surface's.
    pub fn new(
        surface: &EmbeddedSurface,
        solid: Solid,
        keys: Vec<WeightKey>,
        points: Option<Vec<WeightKey>>,
        averages: Option<AverageRows>,
        settings: EnrichSettings,
    ) -> Result<(Self, BodyBuilder), Error> {
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
        let body = body.known(known.clone());
        let count = mesh.points().len();
        let animated: Vec<bool> = areas.iter().map(|&area| area > 0.0).collect();
        let actor = Self {
            part: body.part(),
            embedding: (*embedding).clone(),
            pieces: Pieces::new(mesh, embedding, &animated),
            fit,
            fitted: Fitted::default(),
            known,
            max_distance: settings.max_distance.map(|distance| MaxDistance::new(vec![distance; count])),
            weights: keys,
            animated,
            rigid: Vec::new(),
            rest_surface: Vec::new(),
            size: Bounds::of(mesh.points().iter().copied()).diagonal(),
            pose: Pose::new(mesh.points().to_vec(), gamma),
            drive: Drive::default(),
            averages,
            solid,
            settings,
        };
        Ok((actor, body))
    }

    /// Pieces of the surface, each a list of vertices, that stay in the shape they have in `rest`.
    #[must_use]
    pub fn with_rigid_pieces(self, pieces: Vec<Vec<usize>>, rest: Vec<Vec3>) -> Self {
        Self { rigid: pieces, rest_surface: rest, ..self }
    }

    /// The fits that the next frame depends on.
    pub fn pose(&self) -> &Pose {
        &self.pose
    }

    /// The fit that was made last: of the frame after.
    pub fn fitted(&self) -> &Fitted {
        &self.fitted
    }

    /// Tets and masses.
    pub fn solid(&self) -> &Solid {
        &self.solid
    }

    /// The solver of the fit.
    pub fn fit_solver_info(&self) -> linear::Info {
        self.fit.solver_info()
    }

    /// Points of its own that follow exactly.
    pub fn known(&self) -> &[bool] {
        &self.known
    }

    /// Fits the frame after and keeps it as `fits[2]`.
    fn fit_next(&mut self, next: Option<&[Vec3]>) -> Result<Fitted, Error> {
        // a broken frame is reported when it is its turn
        let next = next.filter(|next| next.iter().all(|p| p.is_finite()));
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

    /// The rigid motion between two frames that are too far apart to be one motion.
    fn cut(&self, from: &[Vec3], to: &[Vec3]) -> Option<(Mat3, Vec3)> {
        let middle = |x: &[Vec3]| x.iter().sum::<Vec3>() / x.len().max(1) as f64;
        (middle(from).distance(middle(to)) > CUT * self.size).then(|| rigid_motion(from, to))
    }

    /// Fits the first frame and the second.
    fn fit_first(&mut self, window: &Window, is_held: bool) -> Result<(), Error> {
        let first = window.here();
        let mut x = self.pose.fits[1].clone();
        self.pieces.move_rigidly(&self.embedding, first, &mut x);
        let fitted = self.fit.solve(first, &mut self.pose.gamma, &mut x, &self.embedding)?;
        let values = self.row_values(first, &x);
        self.pose.fits = [x.clone(), x.clone(), x];
        self.pose.averages = [values.clone(), values.clone(), values];
        let next = self.fit_next(window.at(1))?;
        // before its first frame the animation went on as it begins, unless it is held there
        if !is_held {
            let back =
                |here: &[Vec3], next: &[Vec3]| here.iter().zip(next).map(|(a, b)| 2.0 * *a - *b).collect();
            self.pose.fits[0] = back(&self.pose.fits[1], &self.pose.fits[2]);
            self.pose.averages[0] = back(&self.pose.averages[1], &self.pose.averages[2]);
        }
        let iterations = fitted.iterations + next.iterations;
        self.fitted = Fitted { error: fitted.error, iterations, ..next };
        Ok(())
    }

    /// The flesh comes along with a cut as it is.
    fn carry(&self, state: &mut State, rotation: Mat3, shift: Vec3) {
        let (points, to) = (self.part.points.clone(), &self.pose.fits[1]);
        state.positions[points.clone()].iter_mut().for_each(|x| *x = rotation * *x + shift);
        state.velocities[points.clone()].iter_mut().for_each(|v| *v = rotation * *v);
        for p in (0..to.len()).filter(|&p| self.known[p]) {
            state.positions[points.start + p] = to[p];
        }
        state.accelerations.clear();
    }

    fn check_finite(&self, window: &Window) -> Result<(), dynamics::Error> {
        let broken = |v: &usize| self.animated[*v] && !window.here()[*v].is_finite();
        match (0..window.here().len().min(self.animated.len())).find(broken) {
            Some(vertex) => Err(dynamics::Error::Explained {
                sentence: Error::NotFinite { vertex }.to_string(),
                remedy: "repair the input, or leave the frame out with `frames`".into(),
            }),
            None => Ok(()),
        }
    }
}

impl Actor for FleshActor {
    fn bind(&mut self, _: &Body, part: &Part) -> Result<(), dynamics::Error> {
        self.part = part.clone();
        self.max_distance = self.max_distance.take().map(|limit| limit.from_point(part.points.start));
        Ok(())
    }

    fn begin(
        &mut self,
        _: &Body,
        window: &Window,
        is_held: bool,
        state: &mut State,
    ) -> Result<(), dynamics::Error> {
        self.check_finite(window)?;
        self.fit_first(window, is_held).map_err(into_engine)?;
        let [before, here, _] = &self.pose.fits;
        let (rate, points) = (self.settings.frame_rate_hz, self.part.points.clone());
        state.positions[points.clone()].copy_from_slice(here);
        let velocities = here.iter().zip(before).map(|(here, before)| rate * (*here - *before));
        state.velocities[points].iter_mut().zip(velocities).for_each(|(to, from)| *to = from);
        Ok(())
    }

    fn still_guide(&self) -> Box<dyn Guide> {
        Box::new(StaticDrive {
            points: StaticGuide::new(self.pose.fits[1].clone()),
            averages: self.pose.averages[1].clone(),
        })
    }

    fn begin_frame(
        &mut self,
        _: &Body,
        window: &Window,
        state: &mut State,
    ) -> Result<Motion, dynamics::Error> {
        self.check_finite(window)?;
        self.pose.fits.rotate_left(1);
        self.pose.averages.rotate_left(1);
        // now [index − 1, index, index − 2]: the last is overwritten by the fit of the frame after
        let (mut before, mut row_before) = (self.pose.fits[2].clone(), self.pose.averages[2].clone());
        self.fitted = self.fit_next(window.at(1)).map_err(into_engine)?;
        let [here, to, next] = &self.pose.fits;
        let [row_here, row_to, row_next] = &self.pose.averages;
        if !self.settings.simulate {
            state.positions[self.part.points.clone()].copy_from_slice(to);
            let (points, rows) = ([to; 4].map(Vec::clone), [row_to; 4].map(Vec::clone));
            self.drive = Drive::through(window.start(), self.settings.frame_rate_hz, points, rows);
            return Ok(Motion::Carried);
        }
        let (mut next, mut row_next) = (next.clone(), row_next.clone());
        // velocities do not look across a cut
        if self.cut(&before, here).is_some() {
            (before, row_before) = (continued(to, here), continued(row_to, row_here));
        }
        if self.cut(to, &next).is_some() {
            (next, row_next) = (continued(here, to), continued(row_here, row_to));
        }
        let (points, rows) = if let Some((rotation, shift)) = self.cut(here, to) {
            self.carry(state, rotation, shift);
            ([to; 4].map(Vec::clone), [row_to; 4].map(Vec::clone))
        } else {
            (
                [before, here.clone(), to.clone(), next],
                [row_before, row_here.clone(), row_to.clone(), row_next],
            )
        };
        let is_cut = self.cut(here, to).is_some();
        self.drive = Drive::through(window.start(), self.settings.frame_rate_hz, points, rows);
        Ok(if is_cut { Motion::Carried } else { Motion::Simulated })
    }

    fn guide(&self) -> Box<dyn Guide> {
        Box::new(self.drive.clone())
    }

    fn correct(
        &mut self,
        body: &Body,
        sample: &GuideSample,
        before: &State,
        after: &mut State,
        seconds: f64,
    ) -> bool {
        let limit = self.max_distance.as_mut();
        limit.is_none_or(|limit| limit.apply(body, sample, before, after, seconds))
    }

    fn recovers_from(&self, error: &dynamics::Error) -> bool {
        use dynamics::Error::{Diverged, Linear, NotFinite};
        matches!(error, Diverged { .. } | NotFinite { .. } | Linear(_))
    }

    /// From tets to the surface: C u + R(q̄ − C ū). enrich eq. 10.
    fn deliver(&self, state: &State, window: &Window) -> DeliveredSurface {
        let (fit, now) = (&self.pose.fits[1], &state.positions[self.part.points.clone()]);
        let (surface, time) = (window.here(), state.time);
        let mut positions = self.embedding.apply(now);
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
        move_rigidly(&self.rigid, &self.rest_surface, &mut positions, &exact);
        DeliveredSurface { positions, exact }
    }

    fn report(&mut self, state: &State, _: &Window) -> ActorReport {
        let mut report = ActorReport::default();
        let (Fitted { error, iterations, .. }, limit) = (self.fitted, self.settings.fit_tolerance);
        // otherwise what is missing is carried over
        if !self.settings.detail && error > 1.5 * limit {
            report.warnings.push(format!(
                "the tets stay {error:.1e} m from the animation, where {limit:.1e} m were asked for: more `tets` come closer"
            ));
        }
        report.add("fit/error", "m", error);
        report.add("effort/fit iterations", "", iterations as f64);
        let (largest, mean) = self.solid.strain(&state.positions[self.part.points.clone()]);
        report.add("strain/tets, largest", "%", 100.0 * largest);
        report.add("strain/tets, mean", "%", 100.0 * mean);
        report
    }

    fn notes(&self) -> Vec<(String, String)> {
        let fit = self.fit.solver_info();
        vec![
            ("gamma of the fit".into(), format!("{:.1e}", self.pose.gamma.value)),
            ("unknowns of the fit".into(), fit.unknowns.to_string()),
            ("factor of the fit".into(), format!("{:.1} MB", fit.factor_bytes as f64 / 1e6)),
        ]
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.pose.to_bytes()
    }

    fn restore(&mut self, bytes: &[u8]) -> bool {
        let Some(pose) = Pose::from_bytes(bytes) else { return false };
        let rows = self.averages.as_ref().map_or(0, |averages| averages.rows.len());
        let fits = pose.fits.iter().all(|fit| fit.len() == self.known.len())
            && pose.averages.iter().all(|values| values.len() == rows);
        if fits {
            self.pose = pose;
        }
        fits
    }
}

fn into_engine(error: Error) -> dynamics::Error {
    dynamics::Error::Actor(Box::new(error))
}

/// Each piece in its rest shape, where it lies nearest to what the flesh made of it.
fn move_rigidly(pieces: &[Vec<usize>], rest: &[Vec3], positions: &mut [Vec3], exact: &[bool]) {
    for piece in pieces {
        let from: Vec<Vec3> = piece.iter().map(|&p| rest[p]).collect();
        let to: Vec<Vec3> = piece.iter().map(|&p| positions[p]).collect();
        let (rotation, shift) = rigid_motion(&from, &to);
        for &p in piece.iter().filter(|&&p| !exact[p]) {
            positions[p] = rotation * rest[p] + shift;
        }
    }
}
