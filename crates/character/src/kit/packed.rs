//! A kit as bytes. Nothing in them is trusted: indices are checked against what they point into.

use geometry::{Mat3, Prolongation, Vec3};
use glam::DAffine3;

use crate::Error;
use crate::adaptation::{Adaptation, Sensor};
use crate::bones::End;
use crate::bytes::{Reader, Writer};
use crate::corotated::Corotated;
use crate::flesh::Driver;
use crate::limits::Limit;
use crate::region::Region;
use crate::unfold::Guarded;

use super::{Kit, LEAST_STEP};

const MAGIC: &[u8; 8] = b"flesh\0\0\x07";

impl Kit {
    /// All of it as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::new(MAGIC);
        out.numbers([self.step, self.beta].into_iter().chain(self.gravity.to_array()));
        out.list(&self.joint_from_rest, |out, joint| {
            out.numbers(joint.matrix3.to_cols_array().into_iter().chain(joint.translation.to_array()));
        });
        out.list(&self.joint_names, |out, name| out.text(name));
        out.list(&self.meshes, |out, (name, points)| {
            out.text(name);
            out.count(*points);
        });
        out.count(self.level_zero);
        out.list(&self.rest, |out, p| out.numbers(p.to_array()));
        out.list(&self.drivers, |out, driver| {
            out.count(driver.coefficient as usize);
            driver.ends.iter().for_each(|end| {
                out.count(end.joint);
                out.numbers(end.rest.to_array());
            });
            out.numbers([driver.along]);
        });
        let pairs = |out: &mut Writer, row: &Vec<(u32, f64)>| {
            out.list(row, |out, &(k, value)| {
                out.count(k as usize);
                out.numbers([value]);
            });
        };
        out.list(&self.shares, pairs);
        let adaptation =
            self.adaptation.iter().flat_map(|adaptation| [&adaptation.refine, &adaptation.coarsen]);
        out.list(&adaptation.collect::<Vec<_>>(), |out, list| out.list(list, |out, &x| out.numbers([x])));
        out.count(usize::from(self.adaptation.as_ref().is_some_and(|adaptation| adaptation.contact)));
        out.list(&self.sensors, |out, sensor| {
            out.count(sensor.level as usize);
            out.list(&sensor.gradient, |out, &(f, g)| {
                out.count(f as usize);
                out.numbers(g.to_array());
            });
            out.list(&sensor.functions, |out, &f| out.count(f as usize));
            out.count(usize::from(sensor.always));
        });
        out.list(self.corotated.as_slice(), |out, corotated| corotated.write(out));
        out.list(self.joints.as_slice(), |out, joints| joints.write(out));
        let rows: Vec<Vec<(u32, f64)>> =
            (0..self.surface.fine_count()).map(|p| self.surface.row(p).collect()).collect();
        out.list(&rows, pairs);
        out.list(&self.regions, |out, region| region.write(out));
        out.list(&self.limits, |out, limit| {
            out.count(limit.joint as usize);
            out.numbers(limit.axis.to_array().into_iter().chain([limit.sine, limit.cosine]));
            pairs(out, &limit.row);
        });
        out.list(&self.reach, |out, &reach| out.numbers([reach]));
        out.list(&self.guarded, |out, cell| {
            cell.corners.iter().for_each(|&v| out.count(v as usize));
            out.numbers([cell.volume]);
        });
        out.finished()
    }

    /// The reverse of [`Kit::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Reader::whole(bytes, MAGIC, read)
    }
}

fn read(input: &mut Reader) -> Option<Kit> {
    let [step, beta, x, y, z] = input.numbers()?;
    let joint_from_rest = input.list(|input| {
        let matrix3 = Mat3::from_cols_array(&input.numbers()?);
        Some(DAffine3 { matrix3, translation: Vec3::from_array(input.numbers()?) })
    })?;
    let joint_names = input.list(Reader::text)?;
    let meshes = input.list(|input| Some((input.text()?, input.count()?)))?;
    let level_zero = input.count()?;
    let rest = input.list(|input| Some(Vec3::from_array(input.numbers()?)))?;
    let (joints, functions) = (joint_from_rest.len(), rest.len());
    let drivers = input.list(|input| {
        let coefficient = input.below(functions)? as u32;
        let mut end = || Some(End { joint: input.below(joints)?, rest: Vec3::from_array(input.numbers()?) });
        let ends = [end()?, end()?];
        let [along] = input.numbers()?;
        Some(Driver { coefficient, ends, along })
    })?;
    let shares = input.list(|input| input.pairs(joints))?;
    let mut thresholds = input.list(|input| input.list(|input| input.numbers().map(|[x]| x)))?.into_iter();
    let contact = input.below(2)? == 1;
    let thresholds = thresholds.next().zip(thresholds.next());
    let sensors = input.list(|input| {
        let level = input.count()? as u32;
        let gradient =
            input.list(|input| Some((input.below(functions)? as u32, Vec3::from_array(input.numbers()?))))?;
        let switched = input.list(|input| Some(input.below(functions)? as u32))?;
        let always = input.below(2)? == 1;
        Some(Sensor { level, gradient, functions: switched, always })
    })?;
    // what is always there is said by the sensors
    let joints_too = sensors.iter().any(|sensor| sensor.always);
    let adaptation =
        thresholds.map(|(refine, coarsen)| Adaptation { refine, coarsen, contact, joints: joints_too });
    let corotated = input.list(|input| Corotated::read(input, joints, functions))?.pop();
    let joint_cells = input.list(|input| Corotated::read(input, joints, functions))?.pop();
    let rows = input.list(|input| input.pairs(functions))?;
    let surface = Prolongation::new(functions, rows);
    let regions = input.list(|input| Region::read(input, joints, functions))?;
    let limits = input.list(|input| {
        let joint = input.below(joints)? as u32;
        let [x, y, z, sine, cosine] = input.numbers()?;
        let row = input.pairs(functions)?;
        Some(Limit { joint, axis: Vec3::new(x, y, z), sine, cosine, row })
    })?;
    let reach = input.list(|input| input.numbers().map(|[reach]| reach))?;
    let guarded = input.list(|input| {
        let mut corners = [0; 4];
        for corner in &mut corners {
            *corner = input.below(functions)? as u32;
        }
        let [volume] = input.numbers()?;
        (volume > 0.0).then_some(Guarded { corners, volume })
    })?;
    let sound = level_zero <= functions
        && shares.len() == functions
        && (LEAST_STEP..=1.0).contains(&step)
        && beta >= 0.0;
    let sound = sound
        && adaptation.as_ref().is_none_or(Adaptation::is_sound)
        && (reach.is_empty() || reach.len() == level_zero)
        && reach.iter().all(|reach| *reach >= 0.0)
        && sensors.iter().all(|sensor| sensor.level > 0)
        && corotated.as_ref().is_none_or(|flesh| flesh.region.functions.len() == functions);
    sound.then_some(Kit {
        adaptation,
        sensors,
        corotated,
        joints: joint_cells,
        joint_from_rest,
        rest,
        level_zero,
        drivers,
        shares,
        regions,
        surface,
        limits,
        reach,
        guarded,
        step,
        beta,
        gravity: Vec3::new(x, y, z),
        joint_names,
        meshes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::damaged;
    use crate::flesh::Flesh;
    use crate::{Joint, Method, Player, Settings, Skin};
    use geometry::TetMesh;
    use glam::Mat4;

    fn bytes() -> Vec<u8> {
        let bar = TetMesh::box_grid([4, 1, 1], Vec3::new(0.4, 0.1, 0.1)).unwrap();
        let (points, triangles) = (bar.points().to_vec(), bar.boundary_faces());
        let influences = points.iter().map(|p| vec![(u32::from(p.x > 0.2), 1.0)]).collect();
        let joint = |parent, x: f64| {
            let rest_from_joint = DAffine3::from_translation(Vec3::new(x, 0.05, 0.05));
            Joint { parent, rest_from_joint }
        };
        let joints = [joint(None, 0.02), joint(Some(0), 0.2)];
        let settings = Settings {
            cells: 20,
            levels: 1,
            adaptation: Some(Adaptation::default()),
            free: vec![1],
            limits: vec![(1, 0.3)],
            ..Settings::default()
        };
        let flesh = Flesh::new(&joints, Skin { points, triangles, influences }, settings).unwrap();
        assert_eq!(flesh.limits.len(), 1);
        Kit::new(&flesh, Method::BlendedLinear, 1.0 / 120.0).unwrap().to_bytes()
    }

    /// Bytes that somebody changed on purpose, so that the checksum fits: a sentence, or a player that can be stepped.
    #[test]
    fn changed_bytes_with_a_checksum_that_fits_do_not_break_a_player() {
        let sound = bytes();
        let (mut refused, mut played) = (0, 0);
        for changed in damaged(&sound, MAGIC, 400) {
            match Player::read(&changed) {
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
                Ok(mut player) => {
                    let pose = vec![Mat4::IDENTITY; player.kit().joint_count()];
                    for _ in 0..2 {
                        let _ = player.step(&pose, 1.0 / 60.0);
                    }
                    played += 1;
                }
            }
        }
        assert!(refused > 20 && played > 20, "{refused} {played}");
    }
}
