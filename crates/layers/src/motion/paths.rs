//! What is drawn over a motion: joints that are dragged, and the paths that joints go along.

use geometry::Vec3;
use motion::{Data, Drag, Sight, Take, Trajectory};
use shot::{Diagnostic, LayerError};

use super::explained;
use super::figure::Figure;
use super::settings::{Motion, Tracing};

/// From where something was drawn over a picture, if it was.
pub(super) fn sight(seen_from: Option<[f64; 3]>, unit: f64) -> Sight {
    seen_from.map_or(Sight::Space, |eye| Sight::From(Vec3::from_array(eye) * unit))
}

impl Motion {
    /// Times that are not in the clip, and paths that end before they begin.
    pub(super) fn mistaken_paths(&self, clip: &clip::Clip) -> Vec<Diagnostic> {
        let (seconds, frame) = (clip.duration(), 1.0 / clip.frame_rate_hz);
        let outside = |path: String, time: f64| {
            let there = (0.0..=seconds + 0.5 * frame).contains(&time);
            let said = || {
                let help = format!("it has {seconds:.3} s");
                Diagnostic::new(path, format!("{time} s is not in the clip")).with_help(help)
            };
            (!there).then(said)
        };
        let keys = self.keys.iter().enumerate().filter_map(|(k, &key)| outside(format!("keys.{k}"), key));
        let drags =
            self.drags.iter().enumerate().filter_map(|(k, drag)| outside(format!("drags.{k}.at"), drag.at));
        let mut found: Vec<Diagnostic> = keys.chain(drags).collect();
        for (k, path) in self.trajectories.iter().enumerate() {
            found.extend(outside(format!("trajectories.{k}.from"), path.from));
            found.extend(outside(format!("trajectories.{k}.to"), path.to));
            if path.from >= path.to {
                let said = Diagnostic::new(format!("trajectories.{k}"), "it ends before it begins");
                found.push(said.with_help("`to` is later than `from`"));
            }
        }
        found
    }

    /// Joints that are dragged, by frames of the take.
    pub(super) fn dragged(
        &self,
        figure: &Figure,
        joint: &dyn Fn(&str) -> Result<usize, LayerError>,
        frame: &dyn Fn(f64) -> usize,
    ) -> Result<Vec<Drag>, LayerError> {
        let drag = |drag: &super::Dragging| {
            Ok(Drag {
                frame: frame(drag.at),
                joint: joint(&drag.joint)?,
                point: Vec3::ZERO,
                to: Vec3::from_array(drag.to) * figure.unit,
            })
        };
        self.drags.iter().map(drag).collect()
    }

    /// Paths of joints, frame by frame.
    pub(super) fn traced(
        &self,
        figure: &Figure,
        joint: &dyn Fn(&str) -> Result<usize, LayerError>,
        frame: &dyn Fn(f64) -> usize,
    ) -> Result<Vec<Trajectory>, LayerError> {
        let trace = |path: &Tracing| {
            let index = joint(&path.joint)?;
            let (from, to) = (frame(path.from), frame(path.to));
            let drawn = match path.places.is_empty() {
                true => track(&figure.take, index)?,
                false => Vec::new(),
            };
            let mut places = vec![None; figure.take.frame_count()];
            for at in from..=to.min(places.len() - 1) {
                let share = (at - from) as f64 / (to - from).max(1) as f64;
                let straight = || between(&path.places, share) * figure.unit;
                places[at] = Some(drawn.get(at).copied().unwrap_or_else(straight));
            }
            Ok(Trajectory {
                joint: index,
                point: Vec3::ZERO,
                sight: sight(path.seen_from, figure.unit),
                unit: path.within * figure.unit,
                places,
            })
        };
        self.trajectories.iter().map(trace).collect()
    }
}

/// A place on the way from the first to the last.
fn between(places: &[[f64; 3]], share: f64) -> Vec3 {
    let at = share * (places.len() - 1) as f64;
    let first = (at.floor() as usize).min(places.len() - 1);
    let next = (first + 1).min(places.len() - 1);
    Vec3::from_array(places[first]).lerp(Vec3::from_array(places[next]), at - first as f64)
}

/// Where a joint of the input is.
fn track(take: &Take, joint: usize) -> Result<Vec<Vec3>, LayerError> {
    let body = take.body(&motion::Build::default()).map_err(explained)?;
    let mut data = Data::new(&body);
    let place = |q: &Vec<f64>| {
        data.kinematics(&body, q);
        data.point(&body, joint, Vec3::ZERO)
    };
    Ok(take.coordinates(&body).iter().map(place).collect())
}
