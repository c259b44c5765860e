//! A figure that follows markers: trajectories of points on the body, as cameras measure them.
//!
//! Given is a person, roughly: joints of a standing figure and where on it the markers sit, within a few centimetres. Unknown are the
//! pose q_i at every frame and, the same at all of them, the true offsets o of the joints and the true places p of the markers:
//!
//! ```text
//! minimise  Σ_i ( Σ_m ‖x_m(q_i, o, p) − x̂_mi‖²/σ_m² + ‖q_i ⊖ q_{i−1}‖²/σ_v² + ‖q_i ⊖ q_rest‖²/σ_r² )
//!         + Σ ‖o − ō‖²/σ_o² + Σ ‖p − p̄‖²/σ_p²
//! ```
//!
//! by turns: poses by Gauss–Newton, frame after frame; then o and p, in which x_m is linear once the joints' rotations and the root's
//! places are given. Where thighs swing about hips and shanks about knees, their centres come out of the data.

use geometry::{Quat, Vec3, rigid_motion};
use linear::BlockBandMatrix;

use crate::{Body, Bone, Data, Error, Inertia, Joint, JointKind, Take};

/// σ_m, in m.
const MEASURED: f64 = 0.005;
/// σ_v, in rad (and m) a frame: next to nothing for joints that markers tell of.
const STEADY: f64 = 0.3;
/// σ_r, in rad: joints that no marker tells of stay as they are at rest.
const REST: f64 = 1.0;
/// σ_o, in m.
const OFFSET: f64 = 0.03;
/// σ_p, in m.
const POINT: f64 = 0.04;
/// How often poses and sizes take turns.
const ROUNDS: usize = 12;
/// Frames, spread evenly, that sizes are found from.
const SAMPLED: usize = 60;

/// A marker on a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// What it is called.
    pub name: String,
    /// The joint whose part it sits on.
    pub joint: usize,
    /// Where, in the joint's frame.
    pub point: Vec3,
}

/// A figure that followed markers.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Its motion, with bones as long as the markers say.
    pub take: Take,
    /// Where the markers turned out to sit.
    pub markers: Vec<Marker>,
    /// Root mean square distance of markers from where they were measured, in m.
    pub error: f64,
    /// The marker that is farthest off, root mean square over frames, in m.
    pub worst: (usize, f64),
}

/// Follows markers. `bones` stand with all axes along the world's; `places` are given by frame and marker, where they were seen.
pub fn follow(
    bones: &[Bone],
    markers: &[Marker],
    places: &[Vec<Option<Vec3>>],
    frame_rate_hz: f64,
) -> Result<Followed, Error> {
    check(bones, markers, places)?;
    let mut fit = Fit { bones: bones.to_vec(), markers: markers.to_vec(), places };
    let (first_bones, first_markers) = (bones, markers);
    let stride = places.len().div_ceil(SAMPLED);
    let sampled: Vec<usize> = (0..places.len()).step_by(stride).collect();
    let mut poses = vec![fit.begin()?; sampled.len()];
    for round in 0..ROUNDS {
        poses = fit.poses(&sampled, &poses, if round == 0 { 30 } else { 6 })?;
        fit.sizes(&sampled, &poses, first_bones, first_markers)?;
    }
    let near: Vec<Vec<f64>> = (0..places.len()).map(|frame| poses[frame / stride].clone()).collect();
    let all: Vec<usize> = (0..places.len()).collect();
    let poses = fit.poses(&all, &near, 12)?;
    fit.followed(&poses, frame_rate_hz)
}

fn check(bones: &[Bone], markers: &[Marker], places: &[Vec<Option<Vec3>>]) -> Result<(), Error> {
    if places.len() < 5 {
        return Err(Error::TooShort { frames: places.len(), needed: 5 });
    }
    for (frame, here) in places.iter().enumerate() {
        if here.len() != markers.len() {
            let what = "markers of a frame";
            return Err(Error::Sizes { what, expected: markers.len(), found: here.len() });
        }
        if here.iter().flatten().any(|place| !place.is_finite()) {
            return Err(Error::NotFinite { what: "the markers", frame });
        }
    }
    if markers.iter().any(|marker| marker.joint >= bones.len() || !marker.point.is_finite()) {
        return Err(Error::Sizes { what: "joints that markers sit on", expected: bones.len(), found: 0 });
    }
    Ok(())
}

/// Sizes as far as they are known.
struct Fit<'a> {
    bones: Vec<Bone>,
    markers: Vec<Marker>,
    places: &'a [Vec<Option<Vec3>>],
}

impl Fit<'_> {
    /// All joints but the root turn in any way; masses do not matter here.
    fn body(&self) -> Result<Body, Error> {
        let joint = |bone: &Bone| Joint {
            name: bone.name.clone(),
            parent: bone.parent,
            kind: if bone.parent.is_some() { JointKind::Ball } else { JointKind::Free },
            offset: if bone.parent.is_some() { bone.offset } else { Vec3::ZERO },
            rest: Quat::IDENTITY,
            inertia: Inertia::new(1.0, Vec3::ZERO, geometry::Mat3::IDENTITY),
        };
        Body::new(self.bones.iter().map(joint).collect())
    }

    /// A figure at rest, put where the markers of its root are at the first frame that shows three of them.
    fn begin(&self) -> Result<Vec<f64>, Error> {
        let body = self.body()?;
        for here in self.places {
            let seen = self.markers.iter().zip(here).filter(|(marker, _)| marker.joint == 0);
            let (from, to): (Vec<Vec3>, Vec<Vec3>) =
                seen.filter_map(|(marker, place)| Some((marker.point, (*place)?))).unzip();
            if from.len() < 3 {
                continue;
            }
            let (turn, shift) = rigid_motion(&from, &to);
            let rotations: Vec<Quat> = std::iter::once(Quat::from_mat3(&turn))
                .chain(std::iter::repeat_n(Quat::IDENTITY, self.bones.len() - 1))
                .collect();
            return Ok(body.coordinates(shift, &rotations));
        }
        Err(Error::Value {
            what: "the number of markers on the first joint",
            value: self.markers.iter().filter(|marker| marker.joint == 0).count() as f64,
            expected: "three of them must be seen at one frame, to tell how the figure stands",
        })
    }

    /// Poses at some frames, each from the one before and one that is thought to be near.
    fn poses(&self, frames: &[usize], near: &[Vec<f64>], iterations: usize) -> Result<Vec<Vec<f64>>, Error> {
        let body = self.body()?;
        let (mut data, rest) = (Data::new(&body), body.neutral());
        let mut poses: Vec<Vec<f64>> = Vec::with_capacity(frames.len());
        for (k, &frame) in frames.iter().enumerate() {
            let before = poses.last().unwrap_or(&near[k]).clone();
            let start = if iterations > 20 { &before } else { &near[k] };
            poses.push(self.pose(&body, &mut data, frame, start.clone(), [&before, &rest], iterations)?);
        }
        Ok(poses)
    }

    fn pose(
        &self,
        body: &Body,
        data: &mut Data,
        frame: usize,
        mut q: Vec<f64>,
        [before, rest]: [&Vec<f64>; 2],
        iterations: usize,
    ) -> Result<Vec<f64>, Error> {
        let n = body.dof_count();
        let mut system = BlockBandMatrix::new(&[(n, 0)], 0);
        let mut difference = vec![0.0; n];
        for _ in 0..iterations {
            system.set_zero();
            let mut right = vec![0.0; n];
            data.kinematics(body, &q);
            for (marker, place) in self.markers.iter().zip(&self.places[frame]) {
                let Some(place) = place else { continue };
                let x = data.point(body, marker.joint, marker.point);
                let mut columns: Vec<(usize, Vec3)> = Vec::with_capacity(32);
                data.point_jacobian(body, marker.joint, x, |k, j| columns.push((k, j * (1.0 / MEASURED))));
                let off = (*place - x) * (1.0 / MEASURED);
                for &(k, a) in &columns {
                    right[k] += a.dot(off);
                    for &(l, b) in columns.iter().filter(|(l, _)| *l <= k) {
                        system.add(k, l, a.dot(b));
                    }
                }
            }
            for (other, unit, first) in [(before, STEADY, 0), (rest, REST, 6)] {
                body.difference(&q, other, &mut difference);
                for k in first..n {
                    system.add(k, k, unit.powi(-2));
                    right[k] += difference[k] * unit.powi(-2);
                }
            }
            system.factorize()?;
            system.solve(&mut right);
            // far turns by small steps
            let farthest = right.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            let share = (0.5 / farthest.max(1e-12)).min(1.0);
            right.iter_mut().for_each(|x| *x *= share);
            let from = q.clone();
            body.integrate(&from, &right, &mut q);
            if farthest < 1e-7 {
                break;
            }
        }
        Ok(q)
    }

    /// Offsets and places of markers, from poses at some frames: x̂ − x_root = Σ R_parent o + R p along the way from the root.
    fn sizes(
        &mut self,
        frames: &[usize],
        poses: &[Vec<f64>],
        bones: &[Bone],
        markers: &[Marker],
    ) -> Result<(), Error> {
        let body = self.body()?;
        let mut data = Data::new(&body);
        let (joints, count) = (bones.len(), bones.len() + markers.len());
        let mut system = BlockBandMatrix::new(&[(3 * count, 0)], 0);
        let mut right = vec![0.0; 3 * count];
        for (&frame, q) in frames.iter().zip(poses) {
            data.kinematics(&body, q);
            for (index, (marker, place)) in self.markers.iter().zip(&self.places[frame]).enumerate() {
                let Some(place) = place else { continue };
                let mut parts = vec![(joints + index, data.orientation(&body, marker.joint))];
                let mut at = marker.joint;
                while let Some(parent) = self.bones[at].parent {
                    parts.push((at, data.orientation(&body, parent)));
                    at = parent;
                }
                let from_root = *place - data.origin();
                for &(k, a) in &parts {
                    let pull = a.transpose() * from_root * MEASURED.powi(-2);
                    for (row, pull) in pull.to_array().into_iter().enumerate() {
                        right[3 * k + row] += pull;
                    }
                    for &(l, b) in &parts {
                        let block = a.transpose() * b * MEASURED.powi(-2);
                        for row in 0..3 {
                            for column in 0..3 {
                                if 3 * k + row >= 3 * l + column {
                                    system.add(3 * k + row, 3 * l + column, block.col(column)[row]);
                                }
                            }
                        }
                    }
                }
            }
        }
        // as sure of a first guess as of one in ten frames: sizes do not follow from how many frames there are
        let frames = frames.len() as f64;
        let first = bones.iter().map(|bone| (bone.offset, OFFSET));
        let first = first.chain(markers.iter().map(|marker| (marker.point, POINT)));
        for (k, (guess, unit)) in first.enumerate() {
            let weight = frames * (0.1 / unit.powi(2));
            for (row, guess) in guess.to_array().into_iter().enumerate() {
                system.add(3 * k + row, 3 * k + row, weight);
                right[3 * k + row] += weight * guess;
            }
        }
        system.factorize()?;
        system.solve(&mut right);
        for (k, bone) in self.bones.iter_mut().enumerate().filter(|(_, bone)| bone.parent.is_some()) {
            bone.offset = Vec3::from_slice(&right[3 * k..]);
        }
        for (k, marker) in self.markers.iter_mut().enumerate() {
            marker.point = Vec3::from_slice(&right[3 * (joints + k)..]);
        }
        Ok(())
    }

    fn followed(self, poses: &[Vec<f64>], frame_rate_hz: f64) -> Result<Followed, Error> {
        let body = self.body()?;
        let mut data = Data::new(&body);
        let mut squares = vec![(0.0, 0.0); self.markers.len()];
        let (mut roots, mut rotations) = (Vec::new(), Vec::new());
        for (q, here) in poses.iter().zip(self.places) {
            data.kinematics(&body, q);
            for ((marker, place), sum) in self.markers.iter().zip(here).zip(&mut squares) {
                if let Some(place) = place {
                    sum.0 += (data.point(&body, marker.joint, marker.point) - *place).length_squared();
                    sum.1 += 1.0;
                }
            }
            let (root, turns) = body.rotations(q);
            roots.push(root);
            rotations.push(turns);
        }
        let total = squares.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let root = |(sum, count): (f64, f64)| (sum / count.max(1.0)).sqrt();
        let each = squares.iter().map(|&pair| root(pair)).enumerate();
        let worst = each.fold((0, 0.0), |most, one| if one.1 > most.1 { one } else { most });
        let take = Take { bones: self.bones, frame_rate_hz, roots, rotations };
        Ok(Followed { take, markers: self.markers, error: root(total), worst })
    }
}
