//! What keeps warp and weft of a cloth at their lengths: limits inside the step, or a projection after it.

use dynamics::{ActorReport, Body, BodyBuilder, Error, Filter, GuideSample, Part, State};
use geometry::Vec3;

use super::{FastProjection, Impulse, Overstretched, Threads, Weave, overstretched};
use crate::{Material, ThreadLimits};

/// How threads are kept at their lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// By limits inside the step, solved for together with contact: neither gives way to the other.
    #[default]
    Limit,
    /// By fast projection after each step, as far as nothing is in the way.
    Projection,
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
    Limit(ThreadLimits),
    /// None before there is a body.
    Projection(Option<Box<FastProjection>>),
}

impl InextensibleThreads {
    /// Threads of `material` that keep their lengths at `rest`, times a factor at every point where there is one, to within `max_strain`, a
    /// fraction.
    pub fn new(
        weave: Weave,
        enforcement: Enforcement,
        max_strain: f64,
        rest: &[Vec3],
        shrink: Option<&[f64]>,
        material: &Material,
    ) -> Result<Self, crate::Error> {
        let threads = |edges: &[[u32; 2]]| -> Result<Threads, crate::Error> {
            let threads = Threads::new(rest, edges.to_vec())?;
            Ok(match shrink {
                Some(shrink) => threads.shrunk(shrink),
                None => threads,
            })
        };
        let (warp, weft) = (threads(&weave.warp)?, threads(&weave.weft)?);
        let method = match enforcement {
            Enforcement::Limit => {
                let stiffness = material.stretch_warp.max(material.stretch_weft);
                Method::Limit(ThreadLimits::new(&warp.and(&weft), max_strain, stiffness))
            }
            Enforcement::Projection => Method::Projection(None),
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
            Method::Limit(limits) => body.limit(limits.clone()),
            Method::Projection(_) => body,
        }
    }

    /// Gets ready for the body's masses and known points.
    pub(crate) fn bind(&mut self, body: &Body, part: &Part) -> Result<(), Error> {
        if let Method::Projection(projection) = &mut self.method {
            let threads = self.warp.and(&self.weft).within(part.points.start, body.point_count());
            let made = FastProjection::new(body, &threads, self.max_strain, Impulse::SecondOrder)?;
            *projection = Some(Box::new(made));
        }
        Ok(())
    }

    /// Corrects a step, or refuses it. `part` are the points that are its own.
    pub(crate) fn correct(
        &mut self,
        body: &Body,
        part: &Part,
        sample: &GuideSample,
        before: &State,
        after: &mut State,
        seconds: f64,
    ) -> bool {
        match &mut self.method {
            Method::Projection(None) => true,
            Method::Projection(Some(projection)) => projection.apply(body, sample, before, after, seconds),
            Method::Limit(_) => {
                // what no pull can reach is no step; what is pressed is one, beyond its limit, and reported
                let own = part.points.clone();
                self.beyond(&after.positions[own.clone()]) == 0
                    || self.overstretched(&body.known()[own.clone()], &sample.guide_positions[own]).is_none()
            }
        }
    }

    /// Pieces at `x` that are off their lengths by more than they may, and it is not rounding.
    fn beyond(&self, x: &[Vec3]) -> usize {
        let allowed = 1.01 * self.max_strain + 1e-6;
        let of = |threads: &Threads| {
            let is_off = |&piece: &usize| {
                let change = threads.line(piece, x).length() / threads.lengths()[piece] - 1.0;
                change.is_nan() || change.abs() > allowed
            };
            (0..threads.len()).filter(is_off).count()
        };
        of(&self.warp) + of(&self.weft)
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
        let beyond = self.beyond(x);
        report.add("strain/beyond limits", "pieces", beyond as f64);
        if beyond > 0 {
            let (strain, limit) = (100.0 * largest, 100.0 * self.max_strain);
            report.warnings.push(format!(
                "threads are {strain:.2} % off their length, where `max_strain` allows {limit:.2} %: they are held too far apart, or pressed"
            ));
        }
        if let Method::Projection(projection) = &mut self.method {
            let left = projection.as_deref_mut().map(FastProjection::take_report).unwrap_or_default();
            report.add("strain/before contact", "%", 100.0 * left.strain);
            report.add("effort/projections", "", left.solves as f64);
        }
    }

    /// Why threads cannot keep their lengths, if that is what went wrong: a sentence and a remedy.
    pub(crate) fn explain(&self, error: &Error, known: &[bool], guide: &[Vec3]) -> Option<[String; 2]> {
        let when = match error {
            Error::Refused { time, .. } => format!("at {time:.3} s "),
            // towards points that cannot be reached nothing may be solvable at all
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
