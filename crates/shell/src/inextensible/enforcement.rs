//! What keeps warp and weft of a cloth at their lengths: a projection after the step, or threads that harden inside it.

use dynamics::{ActorReport, Body, BodyBuilder, Error, Filter, GuideSample, Part, State};
use geometry::Vec3;

use super::{FastProjection, Hardening, Impulse, Overstretched, Threads, Weave, overstretched};
use crate::Material;

/// What has the last word where threads and contact disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// Contact: threads are projected to their lengths after each step, as far as nothing is in the way.
    #[default]
    Projection,
    /// Neither: threads harden inside the step until they keep their lengths and nothing crosses.
    Hardening,
}

/// The threads of a weave, and what keeps them at their lengths.
pub struct InextensibleThreads {
    weave: Weave,
    warp: Threads,
    weft: Threads,
    method: Method,
    max_strain: f64,
}

enum Method {
    /// None before there is a body.
    Projection(Option<Box<FastProjection>>),
    Hardening(Box<Hardening>),
}

impl InextensibleThreads {
    /// Threads of `material` that keep their lengths at `rest` to within `max_strain`, a fraction.
    pub fn new(
        weave: Weave,
        enforcement: Enforcement,
        max_strain: f64,
        rest: &[Vec3],
        material: &Material,
    ) -> Result<Self, crate::Error> {
        let warp = Threads::new(rest, weave.warp.clone())?;
        let weft = Threads::new(rest, weave.weft.clone())?;
        let method = match enforcement {
            Enforcement::Projection => Method::Projection(None),
            Enforcement::Hardening => {
                // a hundredth of the cloth's own stiffness on the width of a thread
                let all = warp.and(&weft);
                let width = all.lengths().iter().sum::<f64>() / all.len().max(1) as f64;
                let least = 0.01 * material.stretch_warp.max(material.stretch_weft) * width;
                Method::Hardening(Box::new(Hardening::new(&all, max_strain, least)))
            }
        };
        Ok(Self { weave, warp, weft, method, max_strain })
    }

    /// The weave.
    pub fn weave(&self) -> &Weave {
        &self.weave
    }

    /// Pieces of warp and of weft.
    pub fn len(&self) -> [usize; 2] {
        [self.warp.len(), self.weft.len()]
    }

    /// Whether there are no threads.
    pub fn is_empty(&self) -> bool {
        self.len() == [0, 0]
    }

    /// Adds what is solved for inside the step.
    pub(crate) fn add_to(&self, body: BodyBuilder) -> BodyBuilder {
        match &self.method {
            Method::Projection(_) => body,
            Method::Hardening(hardening) => body.energy(hardening.energy()),
        }
    }

    /// Gets ready for the body's masses and known points.
    pub(crate) fn bind(&mut self, body: &Body, part: &Part) -> Result<(), Error> {
        match &mut self.method {
            Method::Projection(projection) => {
                let threads = self.warp.and(&self.weft).within(part.points.start, body.point_count());
                let made = FastProjection::new(body, &threads, self.max_strain, Impulse::SecondOrder)?;
                *projection = Some(Box::new(made));
            }
            Method::Hardening(hardening) => hardening.start_at(part.points.start),
        }
        Ok(())
    }

    /// Corrects a step, or refuses it.
    pub(crate) fn correct(
        &mut self,
        body: &Body,
        sample: &GuideSample,
        before: &State,
        after: &mut State,
        seconds: f64,
    ) -> bool {
        match &mut self.method {
            Method::Projection(None) => true,
            Method::Projection(Some(projection)) => projection.apply(body, sample, before, after, seconds),
            Method::Hardening(hardening) => {
                hardening.apply(body, sample, before, after, seconds)
                    // what no stiffness can reach is no step, however stiff threads became
                    && (!self.is_beyond(&after.positions)
                        || self.overstretched(body.known(), sample.guide_positions).is_none())
            }
        }
    }

    /// Whether threads at `x` are off their lengths by clearly more than they may.
    fn is_beyond(&self, x: &[Vec3]) -> bool {
        let largest = self.warp.strain(x).largest().max(self.weft.strain(x).largest());
        largest > 1.1 * self.max_strain + 1e-4
    }

    /// What one frame leaves to the next.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match &self.method {
            Method::Projection(_) => Vec::new(),
            Method::Hardening(hardening) => {
                hardening.stiffness().into_iter().flat_map(f64::to_le_bytes).collect()
            }
        }
    }

    /// The reverse; false when the bytes are not its own.
    pub(crate) fn restore(&mut self, bytes: &[u8]) -> bool {
        let Method::Hardening(hardening) = &mut self.method else { return bytes.is_empty() };
        let (words, []) = bytes.as_chunks::<8>() else { return false };
        hardening.restore(words.iter().map(|word| f64::from_le_bytes(*word)).collect())
    }

    /// Strains, and what it took.
    pub(crate) fn report(&mut self, x: &[Vec3], report: &mut ActorReport) {
        // the strain of the frame itself, contact included; the other is what the projection left before it
        let mut largest = 0.0_f64;
        for (name, threads) in [("strain/warp", &self.warp), ("strain/weft", &self.weft)] {
            let strain = threads.strain(x).largest();
            largest = largest.max(strain);
            report.add(name, "%", 100.0 * strain);
        }
        if self.is_beyond(x) {
            let (strain, limit) = (100.0 * largest, 100.0 * self.max_strain);
            report.warnings.push(format!(
                "threads are {strain:.2} % off their length, where `max_strain` allows {limit:.2} %: they are held too far apart, or pressed"
            ));
        }
        match &mut self.method {
            Method::Projection(projection) => {
                let left = projection.as_deref_mut().map(FastProjection::take_report).unwrap_or_default();
                report.add("strain/before contact", "%", 100.0 * left.strain);
                report.add("effort/projections", "", left.solves as f64);
            }
            Method::Hardening(hardening) => {
                report.add("effort/hardenings", "", hardening.take_refused() as f64);
            }
        }
    }

    /// Why threads cannot keep their lengths, if that is what went wrong: a sentence and a remedy.
    pub(crate) fn explain(&self, error: &Error, known: &[bool], guide: &[Vec3]) -> Option<[String; 2]> {
        let when = match error {
            Error::Refused { time, .. } => format!("at {time:.3} s "),
            // threads that cannot be reached harden until nothing can be solved any more
            Error::Linear(_) | Error::Diverged { .. } | Error::NotFinite { .. } => String::new(),
            _ => return None,
        };
        match self.overstretched(known, guide) {
            Some(found) => {
                let Overstretched { points: [a, b], distance, thread_length } = found;
                Some([
                    format!(
                        "{when}points {a} and {b} are held {distance:.3} m apart, but the threads between them are {thread_length:.3} m long"
                    ),
                    "let go of one of them, bring them closer in the animation, or raise `max_strain`".into(),
                ])
            }
            None if when.is_empty() => None,
            None => Some([
                format!("{when}the threads could not be brought to their lengths"),
                "raise `substeps` or `max_strain`, or look for a jump in the animation".into(),
            ]),
        }
    }

    /// Two `known` points at `x` that the threads between them cannot reach, stretched as far as they may: the worst of such.
    pub fn overstretched(&self, known: &[bool], x: &[Vec3]) -> Option<Overstretched> {
        let found = overstretched(&self.warp.and(&self.weft), known, x)?;
        (found.distance > (1.0 + self.max_strain) * found.thread_length).then_some(found)
    }
}
