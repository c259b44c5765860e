//! The file of a prior, `.prior`: little-endian, a word and a version in front, a checksum behind. Nothing in it is trusted: lengths
//! are checked against what is left, and against each other.

use geometry::{Quat, Vec3};

use super::articulation::Articulation;
use super::experts::Experts;
use super::process::Process;
use super::subspace::Subspace;
use super::{Library, Prior};
use crate::error::Error;

const WORD: &[u8; 8] = b"ftprior\0";
const VERSION: u32 = 2;

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Prior {
    /// The bytes of its file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = [&WORD[..], &VERSION.to_le_bytes()].concat();
        let a = &self.articulation;
        count(&mut out, a.names.len());
        for (index, name) in a.names.iter().enumerate() {
            count(&mut out, name.len());
            out.extend_from_slice(name.as_bytes());
            count(&mut out, a.parents[index].map_or(0, |parent| parent + 1));
            count(&mut out, usize::from(a.balls[index]));
            list(&mut out, &a.offsets[index].to_array());
        }
        list(&mut out, &self.means.iter().flat_map(|mean| mean.to_array()).collect::<Vec<_>>());
        for subspace in [&self.states, &self.forces] {
            let Subspace { mean, scale, basis, spread, noise } = subspace;
            [mean, scale, basis, spread].iter().for_each(|x| list(&mut out, x));
            list(&mut out, &[*noise]);
        }
        let Experts { experts, centers, spread, shares, .. } = &self.process;
        count(&mut out, experts.len());
        for Process { lengths, centers, signal, noise, weights, features, known } in experts {
            let lists = [lengths, centers, signal, noise, weights, features, known];
            lists.iter().for_each(|x| list(&mut out, x));
        }
        [centers, spread, shares].iter().for_each(|x| list(&mut out, x));
        let Library { frame_rate_hz, starts, states, resting } = &self.library;
        list(&mut out, &[*frame_rate_hz]);
        count(&mut out, usize::from(self.apart));
        count(&mut out, starts.len());
        starts.iter().for_each(|&start| count(&mut out, start));
        list(&mut out, states);
        count(&mut out, resting.len());
        resting.iter().for_each(|flags| out.extend_from_slice(&flags.to_le_bytes()));
        let sum = checksum(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Reads a file's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let broken = |problem: &'static str| Error::PriorFile { problem };
        if !bytes.starts_with(WORD) {
            return Err(broken("it is not a prior"));
        }
        let Some((body, sum)) = bytes.split_last_chunk::<8>() else {
            return Err(broken("it was cut short or changed"));
        };
        let mut input = Input { bytes: &body[WORD.len().min(body.len())..] };
        if input.word() != Some(VERSION) {
            return Err(broken("it is of another version; train again"));
        }
        if checksum(body) != u64::from_le_bytes(*sum) {
            return Err(broken("it was cut short or changed"));
        }
        let prior = input.prior().ok_or(broken("a length or a number in it is wrong"))?;
        if input.bytes.is_empty() {
            Ok(prior)
        } else {
            Err(broken("there is more in it than it should hold"))
        }
    }
}

fn count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

fn list(out: &mut Vec<u8>, numbers: &[f64]) {
    count(out, numbers.len());
    numbers.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
}

/// Bytes that are read from the front.
struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, back) = self.bytes.split_at_checked(count)?;
        self.bytes = back;
        Some(front)
    }

    fn word(&mut self) -> Option<u32> {
        let (front, back) = self.bytes.split_first_chunk::<4>()?;
        self.bytes = back;
        Some(u32::from_le_bytes(*front))
    }

    fn count(&mut self) -> Option<usize> {
        self.word().map(|word| word as usize)
    }

    fn list(&mut self) -> Option<Vec<f64>> {
        let count = self.count()?;
        let bytes = self.take(count.checked_mul(8)?)?;
        let numbers: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|x| f64::from_le_bytes(*x)).collect();
        numbers.iter().all(|x| x.is_finite()).then_some(numbers)
    }

    fn articulation(&mut self) -> Option<Articulation> {
        let joints = self.count()?;
        let mut found =
            Articulation { names: Vec::new(), parents: Vec::new(), offsets: Vec::new(), balls: Vec::new() };
        for index in 0..joints {
            let length = self.count()?;
            found.names.push(std::str::from_utf8(self.take(length)?).ok()?.to_owned());
            let parent = self.count()?.checked_sub(1);
            found.parents.push(parent);
            found.balls.push(self.count()? != 0);
            let offset: [f64; 3] = self.list()?.try_into().ok()?;
            found.offsets.push(Vec3::from_array(offset));
            if parent.is_some_and(|parent| parent >= index) || parent.is_none() != (index == 0) {
                return None;
            }
        }
        (joints > 0 && !found.balls[0]).then_some(found)
    }

    fn subspace(&mut self, size: usize) -> Option<Subspace> {
        let [mean, scale, basis, spread] = [self.list()?, self.list()?, self.list()?, self.list()?];
        let [noise]: [f64; 1] = self.list()?.try_into().ok()?;
        let sizes = mean.len() == size && scale.len() == size && basis.len() == size * spread.len();
        let positive = |list: &[f64]| list.iter().all(|x| *x > 0.0);
        let sound = sizes && noise > 0.0 && positive(&scale) && positive(&spread) && !spread.is_empty();
        sound.then_some(Subspace { mean, scale, basis, spread, noise })
    }

    fn process(&mut self, inputs: usize, outputs: usize) -> Option<Process> {
        let [lengths, centers, signal, noise] = [self.list()?, self.list()?, self.list()?, self.list()?];
        let [weights, features, known] = [self.list()?, self.list()?, self.list()?];
        let process = Process { lengths, centers, signal, noise, weights, features, known };
        let m = process.center_count();
        let sizes = process.sizes() == (inputs, outputs)
            && process.noise.len() == outputs
            && process.centers.len() == m * inputs
            && process.weights.len() == m * outputs
            && process.features.len() * outputs == m * process.known.len();
        let positive = |list: &[f64]| list.iter().all(|x| *x > 0.0);
        let sound =
            m > 0 && positive(&process.lengths) && positive(&process.signal) && positive(&process.noise);
        (sizes && sound).then_some(process)
    }

    fn experts(&mut self, inputs: usize, outputs: usize) -> Option<Experts> {
        let count = self.count()?;
        let experts = (0..count).map(|_| self.process(inputs, outputs)).collect::<Option<Vec<Process>>>()?;
        let [centers, spread, shares] = [self.list()?, self.list()?, self.list()?];
        let sizes = centers.len() == count * inputs && spread.len() == inputs && shares.len() == count;
        let sound = count > 0 && sizes && spread.iter().all(|s| *s > 0.0);
        let sound = sound && shares.iter().all(|s| *s >= 0.0) && shares.iter().sum::<f64>() > 0.5;
        sound.then(|| Experts::new(experts, centers, spread, shares))
    }

    fn prior(&mut self) -> Option<Prior> {
        let articulation = self.articulation()?;
        let balls = articulation.joints().len();
        let means = self.list()?;
        if means.len() != 4 * balls {
            return None;
        }
        let means: Vec<Quat> = means.chunks_exact(4).map(Quat::from_slice).collect();
        if means.iter().any(|mean| (mean.length() - 1.0).abs() > 1e-6) {
            return None;
        }
        let states = self.subspace(10 + 6 * balls)?;
        let forces = self.subspace(6 + 3 * balls)?;
        let process = self.experts(states.dimension(), forces.dimension())?;
        let [frame_rate_hz]: [f64; 1] = self.list()?.try_into().ok()?;
        let apart = match self.count()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let starts = (0..self.count()?).map(|_| self.count()).collect::<Option<Vec<usize>>>()?;
        let list = self.list()?;
        let frames = self.count()?;
        let bytes = self.take(frames.checked_mul(4)?)?;
        let resting: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|x| u32::from_le_bytes(*x)).collect();
        let rising = starts.windows(2).all(|pair| pair[0] < pair[1]) && starts.first() == Some(&0);
        let sound = frame_rate_hz > 0.0
            && frames > 0
            && list.len() == frames * states.dimension()
            && rising
            && starts.last().is_some_and(|&last| last < frames);
        let library = Library { frame_rate_hz, starts, states: list, resting };
        sound.then_some(Prior { articulation, means, states, forces, process, library, apart })
    }
}
