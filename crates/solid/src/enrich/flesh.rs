//! Flesh as an actor: tets that follow the fit where they are held, and move by their own weight elsewhere.

use dynamics::{
    Actor, ActorReport, Body, BodyBuilder, CUT_SIZES, Carry, DeliveredSurface, Filter, Guide, GuideSample,
    MaxDistance, Motion, Part, State, StaticGuide, Steps, Window, middle,
};
use geometry::{Bounds, Embedding, Vec3, rigid_motion};

use super::detail::tet_rotations;
use super::drive::{Drive, StaticDrive, continued};
use super::gravity::PointGravity;
use super::{AverageRows, EmbeddedSurface, EnrichSettings, Pose};
use crate::blend::{Blend, check_keys, known_points, weight_at};
use crate::fit::Pieces;
use crate::{Error, Fit, Fitted, Solid, WeightKey, from_surface};

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
    /// Averages that say nothing of their own.
    left_out: Vec<String>,
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
    /// Whether the animation cuts on the way to this frame.
    was_cut: bool,
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
        let (averages, left_out) = averages.map(|averages| averages.without_held(&known)).unzip();
        let averages = averages.filter(|averages| !averages.rows.is_empty());
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
            was_cut: false,
            averages,
            left_out: left_out.unwrap_or_default(),
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

    /// A step that departs from others by more than this is a cut, in metres.
    fn cut(&self) -> f64 {
        CUT_SIZES * self.size
    }

    /// How far the fits go from frame to frame, with what else is known of the animation.
    fn steps(&self, window: &Window, before: &[Vec3]) -> Steps {
        let mut steps = window.steps;
        let [here, to, next] = self.pose.fits.each_ref().map(|fit| middle(fit));
        let is_finite = |next: &[Vec3]| next.iter().all(|p| p.is_finite());
        steps.set(-1, (window.index > 1).then(|| here - middle(before)));
        steps.set(0, Some(to - here));
        steps.set(1, window.at(1).is_some_and(is_finite).then_some(next - to));
        steps
    }

    /// Values of rows of points that all move by `shift`.
    fn shifted_rows(&self, values: &[Vec3], shift: Vec3) -> Vec<Vec3> {
        let Some(AverageRows { rows, .. }) = &self.averages else { return Vec::new() };
        let weight = |r: usize| rows.row(r).map(|entry| entry.1).sum::<f64>();
        values.iter().enumerate().map(|(r, value)| *value + weight(r) * shift).collect()
    }

    /// Fits the first frame and the second.
    fn fit_first(&mut self, window: &Window, held: Option<Vec3>) -> Result<(), Error> {
        let first = window.here();
        let mut x = self.pose.fits[1].clone();
        self.pieces.move_rigidly(&self.embedding, first, &mut x);
        let fitted = self.fit.solve(first, &mut self.pose.gamma, &mut x, &self.embedding)?;
        let values = self.row_values(first, &x);
        self.pose.fits = [x.clone(), x.clone(), x];
        self.pose.averages = [values.clone(), values.clone(), values];
        let next = self.fit_next(window.at(1))?;
        // before its first frame the animation went on as it begins, unless it is held in its pose, or cuts
        if held.is_none() && !window.steps.is_cut(1, self.cut()) {
            self.pose.fits[0] = continued(&self.pose.fits[2], &self.pose.fits[1]);
            self.pose.averages[0] = continued(&self.pose.averages[2], &self.pose.averages[1]);
        } else {
            let velocity = held.unwrap_or_else(|| window.first_velocity(self.cut()));
            let back = -velocity / self.settings.frame_rate_hz;
            self.pose.fits[0].iter_mut().for_each(|x| *x += back);
            self.pose.averages[0] = self.shifted_rows(&self.pose.averages[1], back);
        }
        let iterations = fitted.iterations + next.iterations;
        self.fitted = Fitted { error: fitted.error, iterations, ..next };
        Ok(())
    }

    /// The flesh comes along with a cut as it is, to where the motion behind the cut would have come from; in that frame the animation
    /// keeps its pose.
    fn cross(&self, state: &mut State, steps: &Steps) -> [(Vec<Vec3>, Vec<Vec3>); 4] {
        let ([here, to, next], [_, row_to, row_next]) = (&self.pose.fits, &self.pose.averages);
        let (rotation, _) = rigid_motion(here, to);
        let (rate, middles) = (self.settings.frame_rate_hz, [middle(here), middle(to)]);
        let mut carry = Carry::across(steps, self.cut(), rate, rotation, middles);
        let way = carry.velocities[1] / rate;
        carry.middles[1] -= way;
        let points = self.part.points.clone();
        carry.apply(&mut state.positions[points.clone()], &mut state.velocities[points.clone()]);
        for p in (0..to.len()).filter(|&p| self.known[p]) {
            state.positions[points.start + p] = to[p] - way;
        }
        state.accelerations.clear();
        let moved = |times: f64| {
            let points = to.iter().map(|x| *x + times * way).collect();
            (points, self.shifted_rows(row_to, times * way))
        };
        let after = match steps.motion(1, self.cut()) {
            Some(_) => (next.clone(), row_next.clone()),
            None => moved(1.0),
        };
        [moved(-2.0), moved(-1.0), moved(0.0), after]
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
        held: Option<Vec3>,
        state: &mut State,
    ) -> Result<(), dynamics::Error> {
        self.check_finite(window)?;
        self.fit_first(window, held).map_err(into_engine)?;
        let [before, here, _] = &self.pose.fits;
        let (rate, points) = (self.settings.frame_rate_hz, self.part.points.clone());
        state.positions[points.clone()].copy_from_slice(here);
        let velocities = here.iter().zip(before).map(|(here, before)| rate * (*here - *before));
        state.velocities[points].iter_mut().zip(velocities).for_each(|(to, from)| *to = from);
        Ok(())
    }

    fn first_velocity(&self, window: &Window) -> Vec3 {
        window.first_velocity(self.cut())
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
        let (steps, limit) = (self.steps(window, &before), self.cut());
        let was_cut = steps.is_cut(0, limit);
        // velocities do not look across a cut
        if steps.is_cut(-1, limit) {
            (before, row_before) = (continued(to, here), continued(row_to, row_here));
        }
        if steps.is_cut(1, limit) {
            (next, row_next) = (continued(here, to), continued(row_here, row_to));
        }
        let (points, rows) = if was_cut {
            let frames = self.cross(state, &steps);
            (frames.each_ref().map(|frame| frame.0.clone()), frames.map(|frame| frame.1))
        } else {
            (
                [before, here.clone(), to.clone(), next],
                [row_before, row_here.clone(), row_to.clone(), row_next],
            )
        };
        self.drive = Drive::through(window.start(), self.settings.frame_rate_hz, points, rows);
        self.was_cut = was_cut;
        Ok(Motion::Simulated)
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
        let held = self.averages.as_ref().map_or(0, |averages| {
            averages.rows.compliance().iter().filter(|compliance| **compliance == 0.0).count()
        });
        let free = self.known.iter().filter(|known| !**known).count();
        if self.settings.simulate && free > 0 && held >= free {
            report.fallbacks.push(format!(
                "{held} averages hold all of the {free} points that are free, and leave nothing to physics: more `tets` give it room"
            ));
        }
        if std::mem::take(&mut self.was_cut) {
            report.fallbacks.push("the animation cuts here: the flesh was carried along".into());
        }
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
        let mut notes = vec![
            ("gamma of the fit".into(), format!("{:.1e}", self.pose.gamma.value)),
            ("unknowns of the fit".into(), fit.unknowns.to_string()),
            ("factor of the fit".into(), format!("{:.1} MB", fit.factor_bytes as f64 / 1e6)),
        ];
        if !self.left_out.is_empty() {
            let (count, first) = (self.left_out.len(), self.left_out.iter().take(12));
            let more = if count > 12 { ", …" } else { "" };
            let names = first.map(String::as_str).collect::<Vec<_>>().join(", ");
            notes.push((
                "averages left out".into(),
                format!("{count}, which rest on held points or follow from the others: {names}{more}"),
            ));
        }
        notes
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

#[cfg(test)]
mod tests {
    use geometry::{Mat3, TetMesh};

    use super::*;
    use crate::{Law, Material, surface_rows};

    /// A piece that was bent comes out in its rest shape, where it lies nearest; what follows exactly stays, and so does the rest.
    #[test]
    fn rigid_pieces_keep_their_shape() {
        let rest = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::new(3.0, 0.0, 0.0), Vec3::splat(5.0)];
        let (turn, shift) = (Mat3::from_rotation_y(0.7), Vec3::new(1.0, 2.0, -0.5));
        let placed = rest.map(|p| turn * p + shift);
        let mut positions = placed;
        move_rigidly(&[vec![0, 1, 2, 3]], &rest, &mut positions, &[false; 6]);
        for (found, expected) in positions.iter().zip(placed) {
            assert!(found.distance(expected) < 1e-12, "{found}");
        }
        // stretched: the sides are those at rest again, but for the point that follows
        positions[1] += 0.3 * (turn * Vec3::X);
        let (held, other) = (positions[3], positions[4]);
        let exact = [false, false, false, true, false, false];
        move_rigidly(&[vec![0, 1, 2, 3]], &rest, &mut positions, &exact);
        assert!((positions[0].distance(positions[1]) - 1.0).abs() < 1e-12);
        assert!((positions[1].distance(positions[2]) - 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!([positions[3], positions[4]], [held, other]);
    }

    /// What is told: averages that leave nothing free, a cut once, a fit that stays away where detail does not make up for it, and strain.
    #[test]
    fn flesh_tells_where_its_physics_is_off() {
        let mesh = TetMesh::box_grid([1; 3], Vec3::splat(0.1)).expect("tets");
        let count = mesh.points().len();
        let areas = geometry::vertex_areas(mesh.points(), &mesh.boundary_faces());
        let embedding = Embedding::new(&mesh, mesh.points()).expect("an embedding");
        let patch = |v: usize| (0..count).map(|p| f64::from(u8::from(p == v))).collect::<Vec<f64>>();
        let rows = |held: usize| surface_rows(&embedding, &(0..held).map(patch).collect::<Vec<_>>());
        let stretched: Vec<Vec3> = mesh.points().iter().map(|p| *p * Vec3::new(1.1, 1.0, 1.0)).collect();
        let window = Window::new(0, 24.0, [None, None, Some(mesh.points().into()), None]);
        let made = |averages: Option<AverageRows>, simulate: bool, detail: bool| {
            let material = Material::preset("jelly").expect("a preset");
            let solid = Solid::new(&mesh, Law::Stvk, &material).expect("a solid");
            let keys = vec![WeightKey { time: 0.0, weights: vec![0.0; count] }];
            let surface = EmbeddedSurface { mesh: &mesh, embedding: &embedding, areas: &areas };
            let settings = EnrichSettings { simulate, detail, ..EnrichSettings::default() };
            FleshActor::new(&surface, solid, keys, None, averages, settings).expect("flesh").0
        };
        let told = |actor: &mut FleshActor| actor.report(&State::at_rest(stretched.clone()), &window);
        let fallbacks = |averages: Option<AverageRows>, simulate: bool| {
            told(&mut made(averages, simulate, true)).fallbacks
        };
        let all = fallbacks(Some(rows(count)), true);
        assert!(
            all.len() == 1 && all[0].starts_with(&format!("{count} averages hold all of the {count} points"))
        );
        assert_eq!(fallbacks(Some(rows(count - 1)), true), Vec::<String>::new());
        assert_eq!(fallbacks(Some(rows(count).compliant(1e-2)), true), Vec::<String>::new());
        assert_eq!(fallbacks(Some(rows(count)), false), Vec::<String>::new());
        assert_eq!(fallbacks(None, true), Vec::<String>::new());

        let mut cut = made(None, true, true);
        cut.was_cut = true;
        let twice = [told(&mut cut).fallbacks, told(&mut cut).fallbacks];
        assert!(twice[0].len() == 1 && twice[0][0].contains("cuts here") && twice[1].is_empty(), "{twice:?}");

        for (detail, share, is_told) in [(false, 1.6, true), (false, 1.4, false), (true, 1.6, false)] {
            let mut actor = made(None, true, detail);
            let error = share * actor.settings.fit_tolerance;
            actor.fitted = Fitted { error, iterations: 7, ..Fitted::default() };
            let report = told(&mut actor);
            assert_eq!(
                report.warnings.len(),
                usize::from(is_told),
                "{detail} {share}: {:?}",
                report.warnings
            );
            let figure = |name: &str| report.figures.iter().find(|figure| figure.0 == name).map(|f| f.2);
            assert_eq!((figure("fit/error"), figure("effort/fit iterations")), (Some(error), Some(7.0)));
            let (largest, mean) = actor.solid.strain(&stretched);
            assert!(largest > 0.05 && mean > 0.05, "{largest} {mean}");
            assert_eq!(figure("strain/tets, largest"), Some(100.0 * largest));
            assert_eq!(figure("strain/tets, mean"), Some(100.0 * mean));
        }
    }
}
