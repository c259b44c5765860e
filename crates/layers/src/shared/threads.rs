//! What keeps warp and weft of a cloth at their lengths: a projection after the step, or threads that harden inside it.

use dynamics::{Body, BodyBuilder, Filter};
use geometry::Vec3;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::{FastProjection, Hardening, Impulse, Material, Threads, Weave, overstretched};
use shot::{FrameResult, LayerError};

/// What has the last word where threads and contact disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holding {
    /// Contact: threads are projected to their lengths after each step, as far as nothing is in the way. Fast.
    #[default]
    Projection,
    /// Neither: threads harden inside the step until they keep their lengths and nothing crosses. Slower where cloth is pressed.
    Together,
}

/// What keeps the threads of a cloth at their lengths.
pub(crate) struct Hold {
    weave: Weave,
    warp: Threads,
    weft: Threads,
    way: Way,
    max_strain: f64,
}

enum Way {
    /// None before there is a body.
    Projection(Option<Box<FastProjection>>),
    Together(Hardening),
}

impl Hold {
    pub(crate) fn new(
        weave: Weave,
        holding: Holding,
        max_strain: f64,
        rest: &[Vec3],
        material: &Material,
    ) -> Result<Self, LayerError> {
        let threads = |edges: &[[u32; 2]]| Threads::new(rest, edges.to_vec()).map_err(LayerError::new);
        let (warp, weft) = (threads(&weave.warp)?, threads(&weave.weft)?);
        let way = match holding {
            Holding::Projection => Way::Projection(None),
            Holding::Together => {
                // a hundredth of the cloth's own stiffness on the width of a thread
                let all = warp.and(&weft);
                let width = all.lengths().iter().sum::<f64>() / all.len().max(1) as f64;
                let least = 0.01 * material.stretch_warp.max(material.stretch_weft) * width;
                Way::Together(Hardening::new(&all, max_strain, least))
            }
        };
        Ok(Self { weave, warp, weft, way, max_strain })
    }

    /// What is solved for inside the step.
    pub(crate) fn add_to(&self, body: BodyBuilder) -> BodyBuilder {
        match &self.way {
            Way::Projection(_) => body,
            Way::Together(hardening) => body.energy(hardening.energy()),
        }
    }

    /// Ready for the body's masses and known points.
    pub(crate) fn bound_to(mut self, body: &Body) -> Result<Self, LayerError> {
        if let Way::Projection(projection) = &mut self.way {
            let threads = self.warp.and(&self.weft);
            let made = FastProjection::new(body, &threads, self.max_strain, Impulse::SecondOrder);
            *projection = Some(Box::new(made.map_err(LayerError::new)?));
        }
        Ok(self)
    }

    pub(crate) fn filter(&mut self) -> Option<&mut dyn Filter> {
        match &mut self.way {
            Way::Projection(projection) => {
                projection.as_deref_mut().map(|projection| projection as &mut dyn Filter)
            }
            Way::Together(hardening) => Some(hardening),
        }
    }

    /// What one frame leaves to the next.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match &self.way {
            Way::Projection(_) => Vec::new(),
            Way::Together(hardening) => {
                hardening.stiffness().into_iter().flat_map(f64::to_le_bytes).collect()
            }
        }
    }

    /// Takes up what [`Hold::to_bytes`] gave from the end of a checkpoint, and gives back the rest of it.
    pub(crate) fn restore<'a>(&mut self, checkpoint: &'a [u8]) -> Option<&'a [u8]> {
        let Way::Together(hardening) = &mut self.way else { return Some(checkpoint) };
        let length = 8 * (self.warp.len() + self.weft.len());
        let (rest, bytes) = checkpoint.split_at_checked(checkpoint.len().checked_sub(length)?)?;
        let (words, _) = bytes.as_chunks::<8>();
        hardening.restore(words.iter().map(|word| f64::from_le_bytes(*word)).collect()).then_some(rest)
    }

    pub(crate) fn describe(&self, notes: &mut Vec<(String, String)>, warnings: &mut Vec<String>) {
        let Weave { quads, paired, others, bias, .. } = &self.weave;
        let made =
            if *paired > 0 { format!(", {paired} of them made of two triangles") } else { String::new() };
        notes.push(("quads".into(), format!("{}{made}", quads.len())));
        notes.push((
            "threads".into(),
            format!("{} pieces of warp, {} of weft", self.warp.len(), self.weft.len()),
        ));
        if *others > 0 {
            warnings
                .push(format!("{others} faces are no quads; only their sides along the grain are threads"));
        }
        if !bias.is_empty() {
            warnings.push(format!("{} edges run along neither warp nor weft and may stretch", bias.len()));
        }
    }

    pub(crate) fn report(&mut self, x: &[Vec3], result: &mut FrameResult) {
        // the strain of the frame itself, contact included; the other is what the projection left before it
        for (name, threads) in [("strain/warp", &self.warp), ("strain/weft", &self.weft)] {
            result.figures.add(name, "%", 100.0 * threads.strain(x).largest());
        }
        match &mut self.way {
            Way::Projection(projection) => {
                let report = projection.as_deref_mut().map(FastProjection::take_report).unwrap_or_default();
                result.figures.add("strain/before contact", "%", 100.0 * report.strain);
                result.figures.add("effort/projections", "", report.solves as f64);
            }
            Way::Together(hardening) => {
                result.figures.add("effort/hardenings", "", hardening.take_refused() as f64);
            }
        }
    }

    /// Why threads cannot keep their lengths, if that is what went wrong.
    pub(crate) fn explain(
        &self,
        error: &dynamics::Error,
        known: &[bool],
        guide: &[Vec3],
    ) -> Option<LayerError> {
        let dynamics::Error::Refused { time, .. } = error else { return None };
        let threads = self.warp.and(&self.weft);
        let failure = match overstretched(&threads, known, guide) {
            Some(found) => LayerError::new(format!(
                "at {time:.3} s points {} and {} are held {:.3} m apart, but the threads between them are {:.3} m long",
                found.points[0], found.points[1], found.distance, found.thread_length
            ))
            .with_help("let go of one of them, bring them closer in the animation, or raise `max_strain`"),
            None => LayerError::new(format!("at {time:.3} s the threads could not be brought to their lengths"))
                .with_help("raise `substeps` or `max_strain`, or look for a jump in the animation"),
        };
        Some(failure)
    }
}
