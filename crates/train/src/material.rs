//! What a training learns from, handed out: for pictures, and for experiments of one's own.

use std::ops::Range;
use std::path::Path;

use clip::{Clip, Files};
use geometry::Prolongation;
use live::{Capsule, Frame, LiveCloth, Operator, Parts};
use shot::{Bake, Context, LayerError, Registry, Target};
use upsample::{Harmonics, Pairs, Tracking, track};

use crate::pairs::{Handed, Pairing};
use crate::training::Training;
use crate::{Error, Options, store};

/// Meshes, harmonics and motions of a training file.
pub struct Material {
    training: Training,
    /// The harmonics of the fine mesh.
    pub harmonics: Harmonics,
    /// To learn from and to test on, in the order of the file.
    pub motions: Vec<MaterialMotion>,
}

/// A motion that was simulated.
pub struct MaterialMotion {
    /// What it is called.
    pub title: String,
    /// Whether it is learnt from.
    pub learnt: bool,
    /// Both halves.
    pub pairs: Pairs,
    pairing: Pairing,
    bake: Bake,
}

impl MaterialMotion {
    /// The whole animation, its cloth as it came.
    pub fn animation(&self) -> &Clip {
        &self.bake.whole_input
    }

    /// Which of its meshes is the cloth.
    pub fn mesh(&self) -> usize {
        self.bake.layers.first().map_or(0, |layer| layer.mesh)
    }
}

impl Material {
    /// Reads a training file of cloth and simulates what is not there.
    pub fn gather(
        name: &str,
        text: &str,
        folder: &Path,
        registry: &Registry,
        options: &Options,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let training = Training::read(name, text, folder, registry, options.allow_outside)?;
        let bare = training.bare(&options.work)?;
        let mut motions = Vec::new();
        for (list, kind) in [&training.file.learn, &training.file.test].into_iter().enumerate() {
            for motion in kind {
                let (pairing, bake) = training.bake(motion, list, &bare, options, context)?;
                let pairs = training.paired(&pairing, &bake)?;
                let (title, learnt) = (motion.take.title(), list == 0);
                motions.push(MaterialMotion { title, learnt, pairs, pairing, bake });
            }
        }
        let fine = &training.cloth.parts.fine;
        let count = training.file.harmonics.max(training.file.tests).min(fine.rest.len());
        let harmonics = store::harmonics(&options.work, fine, count, None)?;
        Ok(Self { training, harmonics, motions })
    }

    /// Both meshes and the rig, nothing learnt.
    pub fn parts(&self) -> &Parts {
        &self.training.cloth.parts
    }

    /// Loop's surface.
    pub fn subdivision(&self) -> &Prolongation {
        &self.training.cloth.subdivision
    }

    /// The flat triangles of the coarse mesh.
    pub fn barycentric(&self) -> &Prolongation {
        &self.training.cloth.barycentric
    }

    /// How many of the fine cloth's lowest harmonics are those of the coarse one.
    pub fn tests(&self) -> usize {
        self.training.file.tests.min(self.parts().fine.rest.len())
    }

    /// The first frames of a motion simulated again, tracked by so many functions of other kinds, or by none: then only by what both cloths
    /// hang on and must not enter.
    pub fn track(
        &self,
        motion: &MaterialMotion,
        frames: usize,
        functions: &Harmonics,
        tests: usize,
    ) -> Result<Pairs, Error> {
        let mut handed = self.handed(motion)?;
        handed.skin.truncate(frames.max(1));
        let material = motion.pairing.material().map_err(prepare)?;
        let tracking = Tracking { tests, material, substeps: motion.pairing.substeps };
        Ok(handed.with_motion(|motion| track(self.parts(), functions, motion, &tracking))?)
    }

    /// The fine cloth over coarse frames of a motion as a game shows it, but for waves: out of bodies, and where skinning holds it. `parts` are
    /// those of this material with what was learnt.
    pub fn shown(
        &self,
        motion: &MaterialMotion,
        parts: &Parts,
        frames: Range<usize>,
    ) -> Result<Vec<Vec<[f32; 3]>>, Error> {
        let handed = self.handed(motion)?;
        let operator = Operator::read(Parts { modes: Vec::new(), ..parts.clone() }.write()?)?;
        let mut cloth = LiveCloth::new(operator)?;
        let mut shown = Vec::new();
        for index in frames {
            let skin = &handed.skin[index];
            let rig = parts.capsules.iter().map(|rigged| rigged.placed(skin));
            let bodies: Vec<Capsule> = rig.chain(handed.obstacles[index].iter().copied()).collect();
            let frame = Frame { skin, ..Frame::new((1.0 / handed.frame_rate_hz) as f32) };
            cloth.show(&motion.pairs.coarse[index], &frame, &bodies)?;
            shown.push(cloth.points().to_vec());
        }
        Ok(shown)
    }

    fn handed(&self, motion: &MaterialMotion) -> Result<Handed, Error> {
        let MaterialMotion { pairing, bake, .. } = motion;
        let target = Target { clip: bake.whole_input.clone(), mesh: motion.mesh(), files: Files::default() };
        Ok(Handed::new(pairing, self.parts(), &target).map_err(prepare)?)
    }
}

fn prepare(failure: LayerError) -> shot::Error {
    shot::Error::Prepare { layer: "pairing".into(), failure, help: None }
}
