//! How much of every target there is, in every region of the flesh, at a pose.

use crate::Error;
use crate::bytes::{Reader, Writer};

use super::locality::Locality;
use super::{Kernel, Limit, PoseSpace, PoseWeights};

/// Interpolation over poses, prepared: a weight to every region and target, region after region.
#[derive(Clone, Debug)]
pub(crate) struct Interpolation {
    targets: usize,
    regions: Vec<Region>,
    limit: Limit,
}

#[derive(Clone, Debug)]
struct Region {
    space: PoseSpace,
    weights: PoseWeights,
    /// For every target, which of the poses that this region tells apart is its own, and the part of the pose's weight that it gets.
    pose_of: Vec<(usize, f64)>,
}

/// Poses nearer than this part of the mean distance of whole poses are one to a region.
const SAME: f64 = 1e-6;

impl Interpolation {
    /// Over poses `raws` of all numbers that `space` has. Two targets that are at one pose as a whole are an error that gives their numbers.
    pub(crate) fn new(
        space: &PoseSpace,
        raws: &[Vec<f64>],
        locality: &Locality,
        (kernel, smoothing): (Kernel, f64),
    ) -> Result<Result<Self, [usize; 2]>, Error> {
        let mut whole = space.clone();
        whole.reduce(raws)?;
        let centres = centres(&whole, raws);
        let weights = match PoseWeights::new(&centres, kernel, smoothing) {
            Ok(weights) => weights,
            Err(pair) => return Ok(Err(pair)),
        };
        let targets = raws.len();
        let limit = Limit::none(targets);
        let alone = |(target, _)| (target, 1.0);
        if locality.len() == 1 && locality.heeded[0].iter().all(|heeded| *heeded) {
            let pose_of = raws.iter().enumerate().map(alone).collect();
            return Ok(Ok(Self { targets, regions: vec![Region { space: whole, weights, pose_of }], limit }));
        }
        let same = SAME * weights.scale();
        let mut regions = Vec::new();
        for heeded in &locality.heeded {
            regions.push(Region::new(space, raws, heeded, same, (kernel, smoothing))?);
        }
        Ok(Ok(Self { targets, regions, limit }))
    }

    /// With limits of negative weights.
    #[must_use]
    pub(crate) fn with_limit(self, limit: Limit) -> Self {
        Self { limit, ..self }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.count(self.targets);
        out.list(&self.regions, |out, region| {
            region.space.write(out);
            region.weights.write(out);
            out.list(&region.pose_of, |out, &(pose, part)| {
                out.count(pose);
                out.numbers([part]);
            });
        });
        out.numbers(self.limit.ratios().iter().copied());
    }

    /// The reverse, for a skeleton of so many joints, whose poses have `raw` numbers.
    pub(crate) fn read(input: &mut Reader, joints: usize, raw: usize) -> Option<Self> {
        let targets = input.count().filter(|targets| *targets > 0)?;
        let regions = input.list(|input| {
            let space = PoseSpace::read(input, joints).filter(|space| space.raw_len() == raw)?;
            let weights = PoseWeights::read(input, space.len())?;
            let pose_of = input.list(|input| {
                let pose = input.below(weights.len())?;
                let [part] = input.numbers()?;
                Some((pose, part))
            })?;
            (pose_of.len() == targets && weights.len() <= targets).then_some(Region {
                space,
                weights,
                pose_of,
            })
        })?;
        let limit = Limit::new(targets, input.many(targets.checked_mul(targets)?)?).ok()?;
        (!regions.is_empty()).then_some(Self { targets, regions, limit })
    }

    /// How many weights there are: regions by targets.
    pub(crate) fn len(&self) -> usize {
        self.targets * self.regions.len()
    }

    pub(crate) fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// The most components of pose space that a region has.
    pub(crate) fn components(&self) -> usize {
        self.regions.iter().map(|region| region.space.len()).max().unwrap_or(0)
    }

    /// Numbers of scratch for [`Interpolation::at`].
    pub(crate) fn scratch_len(&self) -> usize {
        self.components() + self.targets
    }

    /// ω of every region, limited, at a pose; the part of negative weights that was kept where least was.
    pub(crate) fn at(&self, raw: &[f64], scratch: &mut [f64], weights: &mut [f64]) -> f64 {
        let (s, distinct) = scratch.split_at_mut(self.components());
        let mut kept = 1.0_f64;
        for (region, weights) in self.regions.iter().zip(weights.chunks_exact_mut(self.targets)) {
            let (s, distinct) = (&mut s[..region.space.len()], &mut distinct[..region.weights.len()]);
            region.space.components(raw, s);
            region.weights.at(s, distinct);
            for (weight, (pose, part)) in weights.iter_mut().zip(&region.pose_of) {
                *weight = part * distinct[*pose];
            }
            kept = kept.min(self.limit.apply(weights));
        }
        kept
    }
}

impl Region {
    fn new(
        space: &PoseSpace,
        raws: &[Vec<f64>],
        heeded: &[bool],
        same: f64,
        (kernel, smoothing): (Kernel, f64),
    ) -> Result<Self, Error> {
        let mut space = space.clone();
        space.reduce_heeding(raws, |joint| heeded[joint])?;
        let all = centres(&space, raws);
        let (mut centres, mut pose_of) = (Vec::<Vec<f64>>::new(), Vec::new());
        for s in &all {
            let distance =
                |other: &Vec<f64>| s.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            let known = centres.iter().position(|other| distance(other) <= same);
            pose_of.push(known.unwrap_or(centres.len()));
            if known.is_none() {
                centres.push(s.clone());
            }
        }
        let sharing = |pose: usize| pose_of.iter().filter(|other| **other == pose).count() as f64;
        let shared = pose_of.iter().map(|&pose| (pose, 1.0 / sharing(pose))).collect();
        let pair = |[a, b]: [usize; 2]| Error::SamePose { names: [a.to_string(), b.to_string()] };
        let weights = PoseWeights::new(&centres, kernel, smoothing).map_err(pair)?;
        Ok(Self { space, weights, pose_of: shared })
    }
}

fn centres(space: &PoseSpace, raws: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let of = |raw: &Vec<f64>| {
        let mut s = vec![0.0; space.len()];
        space.components(raw, &mut s);
        s
    };
    raws.iter().map(of).collect()
}
