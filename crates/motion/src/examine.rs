//! What a take would need to be true: contacts, skating, the force that nothing gives, the friction its feet ask for. Nothing is moved.
//!
//! At every frame the motion's six root rows are a wrench w that contacts must give. The forces nearest to it, inside their cones:
//!
//! ```text
//! minimise  ‖w − Σ J_cᵀ f_c‖² + ε ‖f‖² − μ Σ log ψ(f_c),   μ → 0
//! ```
//!
//! What is left of w is the root residual. (OpenSim calls it that; it adds such forces to a model's pelvis.)

use geometry::Vec3;
use linear::{BlockBandMatrix, add_gram};
use rayon::prelude::*;

use crate::body::Body;
use crate::cone::Cone;
use crate::contacts::{Contact, Detection, Sole, contacts, ground_height, soles, tracks};
use crate::error::Error;
use crate::ground::Ground;
use crate::recursion::Data;
use crate::solve::first_spline;
use crate::spline::{Moment, Spline};
use crate::take::{Build, Take};

/// Frames at either end of which accelerations are not known.
const ENDS: usize = 2;
/// ε: forces are shared between points of a foot, rather than all at one.
const SHARED: f64 = 1e-4;

/// What is found out about a take.
#[derive(Clone, Debug)]
pub struct Examination {
    /// Who moves.
    pub body: Body,
    /// On what.
    pub ground: Ground,
    /// Points that can bear weight.
    pub soles: Vec<Sole>,
    /// When and where they do.
    pub contacts: Vec<Contact>,
    /// The largest way of a point while it should rest, in m, and in which contact.
    pub skate: (f64, usize),
    /// The deepest point below the ground, in m, and its frame.
    pub penetration: (f64, usize),
    /// By frame: what no contact gives, force and moment (about the root, over 1 m), in body weights.
    pub residual: Vec<[f64; 2]>,
    /// The largest friction that the whole ground force asks for, tangential over normal, and its frame.
    pub friction: (f64, usize),
    /// By frame: sole points and the forces on them that explain the motion best, in N.
    pub forces: Vec<Vec<(usize, Vec3)>>,
    /// By frame: the centre of mass.
    pub centers: Vec<Vec3>,
    /// By frame: the centre of pressure, where anything bears.
    pub pressures: Vec<Option<Vec3>>,
}

/// A frame's share.
struct Moments {
    residual: [f64; 2],
    friction: f64,
    forces: Vec<(usize, Vec3)>,
    center: Vec3,
    pressure: Option<Vec3>,
}

impl Examination {
    /// Examines a take under gravity in m/s²; forces lie within cones of this friction.
    pub fn of(take: &Take, build: &Build, gravity: Vec3, friction: f64) -> Result<Self, Error> {
        let body = take.body(build)?;
        let target = take.coordinates(&body);
        let ground = Ground::level(ground_height(take, &body, &target)?);
        let soles = soles(take, &body, &target, &ground)?;
        let contacts = contacts(take, &body, &target, &soles, &ground, &Detection::default());
        let spline = first_spline(&body, &target, take.frame_rate_hz)?;
        let fit = Fit {
            body: &body,
            ground,
            soles: &soles,
            contacts: &contacts,
            gravity,
            friction,
            spline: &spline,
        };
        let all: Vec<Moments> = (0..target.len())
            .into_par_iter()
            .with_min_len(8)
            .map_init(|| Data::new(&body), |data, frame| fit.frame(frame, data))
            .collect::<Result<_, _>>()?;

        let points: Vec<(usize, Vec3)> = soles.iter().map(|sole| (sole.joint, sole.point)).collect();
        let places = tracks(&body, &target, &points);
        let mut skate = (0.0, 0);
        for (index, contact) in contacts.iter().enumerate() {
            let here = &places[contact.sole][contact.frames.clone()];
            let travel = here.iter().map(|x| ground.project(*x).distance(ground.project(here[0])));
            skate = travel.fold(skate, |most, way| if way > most.0 { (way, index) } else { most });
        }
        let mut penetration = (0.0, 0);
        for (frame, &x) in places.iter().flat_map(|track| track.iter().enumerate()) {
            if -ground.height(x) > penetration.0 {
                penetration = (-ground.height(x), frame);
            }
        }
        let inner = ENDS..all.len().saturating_sub(ENDS);
        let mut needed = (0.0, 0);
        for frame in inner {
            if all[frame].friction > needed.0 {
                needed = (all[frame].friction, frame);
            }
        }
        Ok(Self {
            residual: all.iter().map(|moments| moments.residual).collect(),
            centers: all.iter().map(|moments| moments.center).collect(),
            pressures: all.iter().map(|moments| moments.pressure).collect(),
            forces: all.into_iter().map(|moments| moments.forces).collect(),
            friction: needed,
            body,
            ground,
            soles,
            contacts,
            skate,
            penetration,
        })
    }

    /// The largest residual (force or moment), away from the ends, in body weights, and its frame.
    pub fn worst_residual(&self) -> (f64, usize) {
        let mut worst = (0.0, 0);
        for frame in ENDS..self.residual.len().saturating_sub(ENDS) {
            let here = self.residual[frame][0].max(self.residual[frame][1]);
            if here > worst.0 {
                worst = (here, frame);
            }
        }
        worst
    }
}

/// A take's forces, frame by frame.
struct Fit<'a> {
    body: &'a Body,
    ground: Ground,
    soles: &'a [Sole],
    contacts: &'a [Contact],
    gravity: Vec3,
    friction: f64,
    spline: &'a Spline,
}

impl Fit<'_> {
    fn frame(&self, frame: usize, data: &mut Data) -> Result<Moments, Error> {
        let body = self.body;
        let mut moment = Moment::new(body);
        self.spline.frame(body, frame, &mut moment);
        let mut u = vec![0.0; body.dof_count()];
        data.inverse_dynamics(body, &moment.q, &moment.v, &moment.a, self.gravity, &mut u);
        let weight = body.mass() * self.gravity.length().max(1.0);
        let wrench: [f64; 6] = std::array::from_fn(|k| u[k] / weight);
        let active: Vec<usize> =
            self.contacts.iter().filter(|c| c.frames.contains(&frame)).map(|c| c.sole).collect();
        let places: Vec<Vec3> =
            active.iter().map(|&s| data.point(body, self.soles[s].joint, self.soles[s].point)).collect();
        let mut rows = vec![0.0; 6 * 3 * active.len()];
        for (index, (&sole, &x)) in active.iter().zip(&places).enumerate() {
            data.point_jacobian(body, self.soles[sole].joint, x, |k, j| {
                if k < 6 {
                    let at = k * 3 * active.len() + 3 * index;
                    j.write_to_slice(&mut rows[at..at + 3]);
                }
            });
        }
        let forces = self.forces(&rows, &wrench, active.len())?;
        let mut left = wrench;
        for (row, left) in rows.chunks_exact((3 * active.len()).max(1)).zip(&mut left) {
            let given: f64 = row.chunks_exact(3).zip(&forces).map(|(j, f)| Vec3::from_slice(j).dot(*f)).sum();
            *left -= given;
        }
        let total: Vec3 = forces.iter().sum();
        let along = total.dot(self.ground.normal);
        let pressed: f64 = forces.iter().map(|f| f.dot(self.ground.normal)).sum();
        let middle = places.iter().zip(&forces).map(|(&x, f)| x * f.dot(self.ground.normal)).sum::<Vec3>();
        let asked = Vec3::from_slice(&wrench);
        let normal = asked.dot(self.ground.normal);
        let friction =
            if normal > 0.1 { (asked - self.ground.normal * normal).length() / normal } else { 0.0 };
        Ok(Moments {
            residual: [Vec3::from_slice(&left[..3]).length(), Vec3::from_slice(&left[3..]).length()],
            friction,
            forces: active.iter().copied().zip(forces.iter().map(|&f| f * weight)).collect(),
            center: data.momentum().0,
            pressure: (along > 0.02).then(|| self.ground.project(middle / pressed)),
        })
    }

    /// Newton's method on the barrier problem above.
    fn forces(&self, rows: &[f64], wrench: &[f64; 6], count: usize) -> Result<Vec<Vec3>, Error> {
        let cone = Cone { normal: self.ground.normal, friction: self.friction };
        let mut forces = vec![cone.normal * (1.0 / count.max(1) as f64); count];
        let n = 3 * count;
        if n == 0 {
            return Ok(forces);
        }
        let mut gram = vec![0.0; n * n];
        add_gram(rows, n, &mut gram);
        let all: Vec<usize> = (0..n).collect();
        let mut band = BlockBandMatrix::new(&[(n, 0)], 0);
        let mut barrier = 1e-1;
        for iteration in 0..36 {
            let mut step = vec![0.0; n];
            for (row, w) in rows.chunks_exact(n).zip(wrench) {
                let given: f64 =
                    row.chunks_exact(3).zip(&forces).map(|(j, f)| Vec3::from_slice(j).dot(*f)).sum();
                step.iter_mut().zip(row).for_each(|(s, r)| *s += r * (w - given));
            }
            band.set_zero();
            band.add_matrix(&all, &gram);
            for (index, &force) in forces.iter().enumerate() {
                let (_, slope, curvature) = cone.barrier(force);
                for k in 0..3 {
                    step[3 * index + k] -= SHARED * force[k] + 0.5 * barrier * slope[k];
                    band.add(3 * index + k, 3 * index + k, SHARED);
                    for l in k..3 {
                        band.add(3 * index + l, 3 * index + k, 0.5 * barrier * curvature.col(k)[l]);
                    }
                }
            }
            band.factorize()?;
            band.solve(&mut step);
            let steps = || step.chunks_exact(3).map(Vec3::from_slice);
            let share = forces.iter().zip(steps()).map(|(&f, s)| cone.step(f, s)).fold(1.0, f64::min);
            forces.iter_mut().zip(steps()).for_each(|(f, s)| *f += s * share);
            if iteration % 6 == 5 {
                barrier *= 0.1;
            }
        }
        Ok(forces)
    }
}
