//! Travelling waves: fine points move along their normals by e₁ sin φ + e₂ cos φ. *upsample* §5, eq. 7.
//!
//! Beyond the paper: φ advances with the wind's speed, the amplitude grows with it, neither jumps when the wind does, and in still air there is none.

use crate::file::Operator;
use crate::{Error, Point, single_from_half};

/// Amplitudes grow up to this multiple of what was learnt, however hard the wind blows.
const MOST_AMPLITUDE: f32 = 1.5;

/// The largest amplitude: what halves are multiplied by.
pub(crate) fn amplitude_scale(amplitudes: &[[f32; 2]]) -> f32 {
    let largest = amplitudes.as_flattened().iter().fold(0.0_f32, |most, e| most.max(e.abs()));
    if largest > 0.0 { largest } else { 1.0 }
}

impl<B: AsRef<[u8]>> Operator<B> {
    /// Phases of all modes after `seconds` more in a wind of `speed`: φ grows by 2πf · speed / learnt speed.
    pub fn advance_waves(&self, phases: &mut [f32], speed: f32, seconds: f32) -> Result<(), Error> {
        if phases.len() != self.counts.modes {
            return Err(Error::Count { what: "phases", found: phases.len(), expected: self.counts.modes });
        }
        for (phase, [head, _]) in phases.iter_mut().zip(&self.places.modes) {
            let mut head = self.singles(head);
            let (frequency, learnt) = (head.next().unwrap_or(0.0), head.next().unwrap_or(0.0));
            let ratio = if learnt > 0.0 { speed / learnt } else { 0.0 };
            let turn = core::f32::consts::TAU;
            let next = *phase + turn * frequency * ratio * seconds;
            *phase = next - turn * libm::floorf(next / turn);
        }
        Ok(())
    }

    /// Moves the first fine points along their normals.
    pub fn add_waves(&self, phases: &[f32], speed: f32, normals: &[Point], fine: &mut [Point]) {
        for (phase, [head, values]) in phases.iter().zip(&self.places.modes) {
            let mut head = self.singles(head).skip(1);
            let (learnt, scale) = (head.next().unwrap_or(0.0), head.next().unwrap_or(0.0));
            let strength = if learnt > 0.0 { (speed / learnt).min(MOST_AMPLITUDE) } else { 0.0 };
            if strength <= 0.0 {
                continue;
            }
            let (sine, cosine) = (libm::sinf(*phase), libm::cosf(*phase));
            let (sine, cosine) = (strength * scale * sine, strength * scale * cosine);
            let (pairs, _) = self.section(values).as_chunks::<4>();
            for ((point, normal), e) in fine.iter_mut().zip(normals).zip(pairs) {
                let e1 = single_from_half(u16::from_le_bytes([e[0], e[1]]));
                let e2 = single_from_half(u16::from_le_bytes([e[2], e[3]]));
                let d = e1 * sine + e2 * cosine;
                (0..3).for_each(|axis| point[axis] += d * normal[axis]);
            }
        }
    }
}

/// Seconds in which waves follow a change of the wind by 63 %: about as long as air takes to go along a flag.
const FOLLOW: f32 = 0.25;

/// The wind's speed as waves have it: it follows the game's, so that their height never jumps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Air {
    speed: Option<f32>,
}

impl Air {
    /// Goes on for so long in a wind of `speed`: the mean over that time, and the speed at its end. Exact for a wind that changes only between
    /// frames, so that 30 and 144 frames a second show one motion. The first wind has always blown.
    pub(crate) fn follow(&mut self, speed: f32, seconds: f32) -> (f32, f32) {
        let before = self.speed.unwrap_or(speed);
        let left = libm::expf(-seconds / FOLLOW);
        let now = speed + left * (before - speed);
        // ∫ of an exponential, over its length
        let mean = match seconds > 1e-6 {
            true => speed + (before - speed) * (FOLLOW / seconds) * (1.0 - left),
            false => before,
        };
        // what nobody sees is still air
        let now = if now < 1e-3 { 0.0 } else { now };
        self.speed = Some(now);
        (mean, now)
    }
}
