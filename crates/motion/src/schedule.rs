//! Footsteps that a prior foretells: when feet rest, and where, on the best path through what was learnt from key to key. Of the take
//! between the keys nothing is seen.

use geometry::Vec3;

use crate::contacts::{Contact, Sole, placed, tidy, tracks};
use crate::ground::Ground;
use crate::prior::{Likelihood, Wanted};

/// How much more a foot's place counts at a key, which is given, than between keys, where it is foretold.
const SURE: f64 = 1e3;
/// Seconds below which contacts and gaps are not believed.
const SHORTEST: f64 = 0.06;
/// A foot that is so far from where it was has been lifted, in m.
const MOVED: f64 = 0.05;

/// Contacts; `wanted` says what rests at the keys.
pub(crate) fn schedule(prior: &Likelihood, wanted: &Wanted, soles: &[Sole], ground: &Ground) -> Vec<Contact> {
    let mut poses = wanted.motion.to_vec();
    let flags = prior.start(wanted, &mut poses);
    wanted.keys.iter().for_each(|&key| poses[key].clone_from(&wanted.motion[key]));
    let points: Vec<_> = soles.iter().map(|sole| (sole.joint, sole.point)).collect();
    let tracks = tracks(wanted.body, &poses, &points);
    let shortest = (SHORTEST / wanted.step).round().max(2.0) as usize;
    let mut resting: Vec<Vec<bool>> =
        (0..soles.len()).map(|sole| rests(&flags, wanted, sole, shortest)).collect();
    stride(&mut resting, &tracks, soles, wanted.keys);
    let mut weights = vec![1.0; poses.len()];
    wanted.keys.iter().for_each(|&key| weights[key] = SURE);
    placed(soles, &tracks, &resting, &weights, ground)
}

/// When a sole point rests: as foretold, and at the keys as given; a key that differs takes a few frames with it.
fn rests(flags: &[u32], wanted: &Wanted, sole: usize, shortest: usize) -> Vec<bool> {
    let of = |flags: u32| flags & (1 << sole) != 0;
    let mut own: Vec<bool> = flags.iter().map(|&flags| of(flags)).collect();
    for pass in 0..2 {
        for &key in wanted.keys {
            let Some(given) = wanted.resting[key].map(of) else { continue };
            if own[key] != given {
                let reach = if pass == 0 { shortest } else { 0 };
                let last = own.len() - 1;
                own[key.saturating_sub(reach)..=(key + reach).min(last)].fill(given);
            }
        }
        if pass == 0 {
            tidy(&mut own, shortest);
        }
    }
    own
}

/// A foot that rests from one key to the next, although it is elsewhere there, is lifted on the way.
fn stride(resting: &mut [Vec<bool>], tracks: &[Vec<Vec3>], soles: &[Sole], keys: &[usize]) {
    let feet = soles.iter().map(|sole| sole.foot + 1).max().unwrap_or(0);
    for (foot, pair) in (0..feet).flat_map(|foot| keys.windows(2).map(move |pair| (foot, pair))) {
        let (from, to) = (pair[0], pair[1]);
        let own: Vec<usize> = (0..soles.len()).filter(|&sole| soles[sole].foot == foot).collect();
        let stands = (from..=to).all(|frame| own.iter().any(|&sole| resting[sole][frame]));
        let way = own.iter().map(|&sole| (tracks[sole][to] - tracks[sole][from]).with_y(0.0).length());
        if stands && way.sum::<f64>() > MOVED * own.len() as f64 {
            let third = (to - from) / 3;
            own.iter().for_each(|&sole| resting[sole][from + third.max(1)..to - third].fill(false));
        }
    }
}
