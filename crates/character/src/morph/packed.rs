//! A kit as bytes: what a game loads. Nothing in them is trusted, as with [`crate::Kit`].

use geometry::{Mat3, Vec3};
use glam::DAffine3;

use crate::Error;
use crate::bytes::{Reader, Writer};

use super::inertia::ReducedMass;
use super::interpolation::Interpolation;
use super::kit::{MorphKit, MorphNames, MorphReport};
use super::polynomial::Degrees;
use super::surface::Surface;
use super::{Plasticity, PoseSpace};

const MAGIC: &[u8; 8] = b"morph\0\0\x01";

impl MorphKit {
    /// The most coordinates there can be; forces that are polynomials of third order have ever more terms.
    pub const MOST_MODES: usize = 1000;
    /// The same of StVK forces: two million terms to every target.
    pub const MOST_STVK_MODES: usize = 80;

    /// Whether bytes begin as those of a morph do.
    pub fn is_begun_by(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC[..5])
    }

    /// All of it as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::new(MAGIC);
        out.numbers([self.step].into_iter().chain(self.gravity.to_array()));
        out.list(&self.joint_from_rest, |out, joint| {
            out.numbers(joint.matrix3.to_cols_array().into_iter().chain(joint.translation.to_array()));
        });
        self.space.write(&mut out);
        self.interpolation.write(&mut out);
        out.count(self.degrees.unknowns);
        out.count(usize::from(self.degrees.is_nonlinear()));
        for part in 0..self.rests.len() {
            for numbers in [&self.coefficients[part], &self.stiffness[part], &self.rests[part]] {
                out.numbers(numbers.iter().copied());
            }
        }
        out.list(&self.masses, |out, (mass, who)| {
            mass.write(out);
            out.list(who, |out, part| out.count(*part));
        });
        out.numbers(self.fractions.iter().copied());
        out.list(&self.plasticity, |out, (own, measure)| {
            out.numbers([own.yield_strain, own.creep, *measure]);
        });
        out.list(&self.detailed, |out, part| out.count(*part));
        self.surface.write(&mut out);
        let MorphReport { tets, unknowns, sculpt_errors, frequencies, mass, .. } = &self.report;
        out.count(*tets);
        out.count(*unknowns);
        out.numbers([*mass]);
        out.list(sculpt_errors, |out, (name, error)| {
            out.text(name);
            out.numbers([*error]);
        });
        out.numbers(frequencies.iter().copied());
        out.text(&self.names.mesh);
        for names in [&self.names.joints, &self.names.channels] {
            out.list(names, |out, name| out.text(name));
        }
        out.finished()
    }

    /// The reverse of [`MorphKit::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Reader::whole(bytes, MAGIC, read)
    }
}

fn read(input: &mut Reader) -> Option<MorphKit> {
    let [step, x, y, z] = input.numbers()?;
    let joint_from_rest = input.list(|input| {
        let matrix3 = Mat3::from_cols_array(&input.numbers()?);
        Some(DAffine3 { matrix3, translation: Vec3::from_array(input.numbers()?) })
    })?;
    let joints = joint_from_rest.len();
    let space = PoseSpace::read(input, joints)?;
    let interpolation = Interpolation::read(input, joints, space.raw_len())?;
    let (parts, regions) = (interpolation.len(), interpolation.region_count());
    let r = input.count()?;
    let is_nonlinear = input.below(2)? == 1;
    let most = if is_nonlinear { MorphKit::MOST_STVK_MODES } else { MorphKit::MOST_MODES };
    let degrees = (1..=most).contains(&r).then(|| Degrees::new(r, is_nonlinear))?;
    let (mut coefficients, mut stiffness, mut rests) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..parts {
        coefficients.push(input.many(degrees.len() + r * r)?);
        stiffness.push(input.many(r * r)?);
        rests.push(input.many(r)?);
    }
    let masses = input.list(|input| {
        let mass = ReducedMass::read(input, r, joints)?;
        Some((mass, input.list(|input| input.below(parts))?))
    })?;
    let fractions = input.many(regions)?;
    let plasticity = input.list(|input| {
        let [yield_strain, creep, measure] = input.numbers()?;
        let sound = yield_strain >= 0.0 && creep >= 0.0 && measure >= 0.0;
        sound.then_some((Plasticity { yield_strain, creep }, measure))
    })?;
    let detailed = input.list(|input| input.below(parts))?;
    let surface = Surface::read(input, r + detailed.len(), joints)?;
    let (tets, unknowns) = (input.count()?, input.count()?);
    let [mass] = input.numbers()?;
    let sculpt_errors = input.list(|input| {
        let name = input.text()?;
        let [error] = input.numbers()?;
        Some((name, error))
    })?;
    let frequencies = input.many(sculpt_errors.len())?;
    let mesh = input.text()?;
    let mut texts = || input.list(Reader::text);
    let names = MorphNames { mesh, joints: texts()?, channels: texts()? };
    let named = names.joints.is_empty() || names.joints.len() == joints;
    let sound = (1e-5..=1.0).contains(&step) && named && plasticity.len() * regions == parts;
    let pose_components = interpolation.components();
    let report =
        MorphReport { tets, unknowns, modes: r, pose_components, regions, sculpt_errors, frequencies, mass };
    sound.then_some(MorphKit {
        joint_from_rest,
        space,
        interpolation,
        degrees,
        coefficients,
        stiffness,
        masses,
        rests,
        fractions,
        plasticity,
        surface,
        detailed,
        step,
        gravity: Vec3::new(x, y, z),
        report,
        names,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::damaged;
    use crate::{Joint, Morph, MorphLaw, MorphPlayer, MorphSettings, Skin, Target};
    use geometry::TetMesh;
    use glam::Mat4;
    use solid::Material;

    fn bytes() -> Vec<u8> {
        let bar = TetMesh::box_grid([4, 2, 2], Vec3::new(0.4, 0.1, 0.1)).unwrap();
        let (points, triangles) = (bar.points().to_vec(), bar.boundary_faces());
        let influences = points.iter().map(|p| vec![(u32::from(p.x > 0.2), 1.0)]).collect();
        let joint = |parent, x: f64| {
            let rest_from_joint = DAffine3::from_translation(Vec3::new(x, 0.05, 0.05));
            Joint { parent, rest_from_joint }
        };
        let joints = [joint(None, 0.02), joint(Some(0), 0.2)];
        let settings = MorphSettings {
            law: MorphLaw::Stvk,
            channels: 1,
            pose_reach: Some(1),
            ..MorphSettings::default()
        };
        let skin = Skin { points: points.clone(), triangles, influences };
        let mut morph = Morph::in_tets(&joints, skin, bar, settings).unwrap();
        for (k, name) in ["slack", "thick"].into_iter().enumerate() {
            let by = 0.2 * k as f64;
            let at = |x: f32| Mat4::from_translation(glam::Vec3::new(x, 0.05, 0.05));
            morph
                .add(&Target {
                    name: name.into(),
                    sculpt: points.iter().map(|p| *p + by * Vec3::new(0.0, p.y - 0.05, p.z - 0.05)).collect(),
                    world_from_joints: vec![at(0.02), at(0.2) * Mat4::from_rotation_z(by as f32)],
                    channels: vec![by],
                    material: Material::preset("fat").unwrap(),
                    regions: Vec::new(),
                    plasticity: Plasticity { yield_strain: 0.01, creep: 1.0 },
                })
                .unwrap();
        }
        morph.kit(5, 1.0 / 120.0).unwrap().to_bytes()
    }

    /// Bytes that somebody changed on purpose, so that the checksum fits: a sentence, or a player that can be stepped.
    #[test]
    fn changed_bytes_with_a_checksum_that_fits_do_not_break_a_player() {
        let sound = bytes();
        let (mut refused, mut played) = (0, 0);
        for changed in damaged(&sound, MAGIC, 600) {
            match MorphPlayer::read(&changed) {
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
                Ok(mut player) => {
                    let pose = vec![Mat4::IDENTITY; player.kit().joint_count()];
                    let mut shown = vec![[0.0; 3]; player.kit().point_count()];
                    for _ in 0..2 {
                        let _ = player.step(&pose, &[0.3], 1.0 / 60.0);
                        player.surface(&mut shown);
                    }
                    played += 1;
                }
            }
        }
        assert!(refused > 20 && played > 20, "{refused} {played}");
    }
}
