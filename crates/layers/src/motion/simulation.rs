//! Frames of a motion, as they are asked for: each window is solved for when its first frame is, and what it began with is the checkpoint.

use geometry::Vec3;
use motion::{Formulation, Repair, Report, Seam, Segment, Side, Staged, Terrain, Window};
use shot::{FrameResult, LayerError, Simulation, Target};

use super::explained;
use super::figure::Figure;
use super::held::Held;
use super::loads;
use super::told::Told;

/// Whether a motion that has not settled holds all the same what the layer promises: there is one nearer to the input, that is all.
fn obeys_physics(report: &Report) -> bool {
    report.root_residual <= 1e-6
        && report.slip <= 1e-3
        && report.penetration <= 1e-3
        && report.cone_violations == 0
}

/// A motion on its way.
pub(super) struct MotionSimulation {
    input: Target,
    figure: Figure,
    repair: Repair,
    staged: Staged,
    /// What the window that frames are taken from began with.
    began: Option<Seam>,
    window: Option<Window>,
    /// What is true of the windows before it.
    told: Told,
}

impl MotionSimulation {
    pub(super) fn new(input: Target, figure: Figure, repair: Repair, staged: Staged) -> Self {
        Self { input, figure, repair, staged, began: None, window: None, told: Told::default() }
    }

    /// The window that holds a frame of the take.
    fn reach(&mut self, at: usize) -> Result<(), LayerError> {
        loop {
            match self.window.take() {
                Some(window) if at < window.frames.end => {
                    self.window = Some(window);
                    return Ok(());
                }
                // the last window ends with the take
                Some(window) if window.seam.is_none() => {
                    self.window = Some(window);
                    return Err(LayerError::new(format!("the take has no frame {at}")));
                }
                Some(window) => {
                    self.told.add(&window);
                    self.began.clone_from(&window.seam);
                }
                None => {}
            }
            let window = self.repair.window(&self.staged, self.began.as_ref()).map_err(explained)?;
            self.window = Some(window);
        }
    }

    fn seconds(&self, frame: usize) -> f64 {
        (frame + self.figure.first) as f64 / self.figure.take.frame_rate_hz
    }

    /// What a frame's report has to say: where the input hovers, where nothing near it obeys physics.
    fn remark(&self, window: &Window, at: usize, result: &mut FrameResult) {
        let report = &window.repaired.report;
        let first = window.frames.start;
        if let Some((frames, newtons)) =
            report.unborne.clone().filter(|found| found.0.contains(&(at - first)))
        {
            let [from, to] = [frames.start, frames.end - 1].map(|frame| self.seconds(frame + first));
            let fallen = frames.map(|frame| report.follow[frame]).fold(0.0, f64::max) / self.figure.unit;
            result.warnings.push(format!(
                "the input hovers: from {from:.2} s to {to:.2} s no foot is near the ground, and {newtons:.0} N are missing that would hold it there; it falls, {fallen:.2} m at most. Give the `ground` that it stands on"
            ));
        }
        let solution = &window.repaired.solution;
        let constrained = self.repair.formulation == Formulation::Constrained;
        if constrained && !solution.converged && !obeys_physics(report) {
            let missing = report.root_residual * window.repaired.body.mass() * 9.81;
            let seconds = self.seconds(report.root_frame + first);
            result.fallbacks.push(format!(
                "no motion near the input obeys physics: after {} iterations {missing:.0} N that nothing gives hold the figure at {seconds:.2} s, and the farthest joint is {:.0} cm away at frame {}",
                solution.iterations,
                100.0 * report.follow_max,
                report.worst_frame + first + self.figure.first,
            ));
        }
    }

    /// How fast a treadmill goes on which a take on the spot is a walk, in the clip's metres a second along x and z: as the lowest foot does.
    fn belt(&self) -> Option<[f64; 2]> {
        let take = &self.figure.take;
        let (body, rate) = (self.staged.body(), take.frame_rate_hz);
        let mut data = motion::Data::new(body);
        let places: Vec<Vec<Vec3>> = (take.coordinates(body).iter())
            .map(|q| {
                data.kinematics(body, q);
                let feet = (0..take.bones.len())
                    .filter(|&joint| Segment::from_name(&take.bones[joint].name) == Some(Segment::Foot));
                feet.map(|joint| data.point(body, joint, Vec3::ZERO)).collect()
            })
            .collect();
        let speeds = loads::speeds(&places, rate);
        let [x, z] = loads::standing(&places, rate)?;
        let steady = speeds.iter().filter(|v| (v.x - x).hypot(v.z - z) < 0.3 * x.hypot(z)).count();
        let (from, to) = (take.roots.first()?, take.roots.last()?);
        let stays = (*to - *from).length() < 0.3 * x.hypot(z) * speeds.len() as f64 / rate;
        let goes = x.hypot(z) > 0.2 && 2 * steady > speeds.len();
        (stays && goes).then(|| [x, z].map(|speed| speed / self.figure.unit))
    }

    /// What is true of all windows so far.
    fn all_told(&self) -> Told {
        let mut told = self.told.clone();
        self.window.iter().for_each(|window| told.add(window));
        told
    }
}

impl Simulation for MotionSimulation {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let Some(at) = index.checked_sub(self.figure.first) else {
            let mut result = FrameResult::from(self.input.clip.frame(index)?);
            result.warnings.push("a pose of calibration: left as it is".into());
            return Ok(result);
        };
        self.reach(at)?;
        let window = self.window.as_ref().expect("it was reached");
        let (repaired, first) = (&window.repaired, window.frames.start);
        let start = first + self.figure.first;
        let frame = self.figure.frame_from(&self.input.clip, &repaired.take, index, start)?;
        let mut result = FrameResult::from(frame);
        let weight = repaired.body.mass() * 9.81;
        let feet = repaired.soles.iter().map(|sole| sole.foot).max().map_or(0, |most| most + 1);
        for foot in 0..feet {
            let forces = &repaired.solution.forces[at - first];
            let own = forces.iter().filter(|force| repaired.soles[force.0].foot == foot);
            let up: f64 = own.map(|force| force.1.y).sum();
            let sole = repaired.soles.iter().find(|sole| sole.foot == foot);
            let name = match sole.and_then(|sole| motion::side(&sole.name)).filter(|_| feet == 2) {
                Some(Side::Left) => "left".to_owned(),
                Some(Side::Right) => "right".to_owned(),
                None => format!("foot {}", foot + 1),
            };
            result.figures.add(format!("ground force/{name}"), "body weights", up / weight);
        }
        result.figures.add(
            "distance from the input/farthest joint",
            "m",
            repaired.report.follow[at - first] / self.figure.unit,
        );
        if let Some(&strange) = repaired.strangeness.get(at - first) {
            result.figures.add("unlike what was learnt/share", "", strange);
        }
        self.remark(window, at, &mut result);
        if at == 0 {
            result.warnings.extend(self.figure.held.iter().map(Held::words));
            let still = self.repair.ground.is_none_or(|ground| ground.velocity == Vec3::ZERO);
            if let Some([x, z]) = self.belt().filter(|_| still) {
                result.warnings.push(format!(
                    "the input walks on the spot: its feet go {:.2} m/s over the ground; give `ground = {{ belt = [{x:.2}, 0.0, {z:.2}] }}`",
                    x.hypot(z)
                ));
            }
        }
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        self.told.with_seam(self.began.as_ref())
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        let broken = || LayerError::new("the checkpoint of this motion is cut short or changed");
        let (told, began) = Told::read(checkpoint).ok_or_else(broken)?;
        (self.told, self.began, self.window) = (told, began, None);
        Ok(())
    }

    fn notes(&self) -> Vec<(String, String)> {
        let told = self.all_told();
        let bones = &self.figure.take.bones;
        let nameless = bones.iter().filter(|bone| Segment::from_name(&bone.name).is_none()).count();
        let body = self.staged.body();
        let ground = match self.staged.terrain() {
            Terrain::Plane(ground) if ground.normal.y == 1.0 => {
                format!("{:.3} m", ground.point.y / self.figure.unit)
            }
            Terrain::Plane(ground) => format!("{:.1}° steep", ground.normal.y.acos().to_degrees()),
            Terrain::Relief(_) => "a mesh".into(),
        };
        let mut notes = vec![
            ("body".into(), format!("{:.1} kg, {} degrees of freedom", body.mass(), body.dof_count())),
            ("ground".into(), ground),
            ("contacts".into(), format!("{}", self.staged.contact_count())),
        ];
        notes.extend(told.notes(self.figure.first, self.repair.formulation));
        if self.figure.unit != 1.0 {
            notes.push((
                "unit".into(),
                format!("taken to be {:.4} m, for a figure of 1.75 m", self.figure.unit),
            ));
        }
        if let Some(most) = self.figure.held.first() {
            let count = self.figure.held.len();
            let words = match count {
                1 => most.words(),
                _ => format!("{count}; the farthest: {}", most.words()),
            };
            notes.push(("joints held at their mean".into(), words));
        }
        if nameless > 0 {
            notes.push((
                "joints without a known name".into(),
                format!("{nameless}, weighed with their parents"),
            ));
        }
        notes
    }
}
