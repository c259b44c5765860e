//! What the report says of a motion: what was found of every window, added up, and what is kept of it in a checkpoint.

use motion::{Chain, Formulation, Key, Seam, Window};

/// Share of its energy by which another minimum is a better one.
const BETTER: f64 = 0.01;

/// What is true of some windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// Root residual, slip, penetration, friction, the farthest joint, the farthest from a trajectory: the largest of each.
    most: [f64; 6],
    /// Iterations, frames, frames with a known strangeness, windows that did not settle.
    counts: [f64; 4],
    /// Distances of joints from the input, and strangeness, over frames.
    sums: [f64; 2],
    /// The largest strangeness and its frame.
    strangest: [f64; 2],
    /// Of key poses: their number, how far they were moved at most, how well they were kept, in m and rad.
    keys: [f64; 4],
    /// Of the chains that drew a variation: steps, those that it went to, its energy at the beginning, at least, and of the draw; by which share of it the
    /// likeliest motion was not the best one.
    chain: [f64; 6],
}

impl Told {
    pub(super) fn add(&mut self, window: &Window) {
        let (repaired, report) = (&window.repaired, &window.repaired.report);
        let found = [
            report.root_residual,
            report.slip,
            report.penetration,
            report.friction,
            report.follow_max,
            report.trajectory,
        ];
        self.most.iter_mut().zip(found).for_each(|(most, found)| *most = most.max(found));
        let solution = &repaired.solution;
        let frames = window.frames.len() as f64;
        let counts = [
            solution.iterations as f64,
            frames,
            repaired.strangeness.len() as f64,
            f64::from(u8::from(!solution.converged)),
        ];
        self.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        self.sums[0] += report.follow_mean * frames;
        for (frame, &strange) in repaired.strangeness.iter().enumerate() {
            self.sums[1] += strange;
            if strange > self.strangest[0] {
                self.strangest = [strange, (frame + window.frames.start) as f64];
            }
        }
        self.keys[0] += repaired.keys.len() as f64;
        for Key { projected, off, turned, .. } in &repaired.keys {
            let most = self.keys[1..].iter_mut();
            most.zip([projected, off, turned]).for_each(|(most, found)| *most = most.max(*found));
        }
        if let Some(Chain { steps, accepted, start, least, drawn, lower, .. }) = solution.chain {
            let found = [steps as f64, accepted as f64, start, least, drawn, 0.0];
            self.chain.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
            self.chain[5] = self.chain[5].max(lower);
        }
    }

    /// For the report; frames are counted from the clip's `first`.
    pub(super) fn notes(&self, first: usize, formulation: Formulation) -> Vec<(String, String)> {
        let [residual, slip, penetration, friction, farthest, path] = self.most;
        let [iterations, frames, known, unsettled] = self.counts;
        let iterations = match unsettled > 0.0 {
            false => format!("{iterations}"),
            true => format!("{iterations}, not settled: one nearer to the input is possible"),
        };
        let mut notes = vec![
            ("iterations".into(), iterations),
            ("root residual".into(), format!("{residual:.1e} body weights")),
            ("slip, penetration".into(), format!("{:.2} mm, {:.2} mm", 1e3 * slip, 1e3 * penetration)),
            ("friction used".into(), format!("{friction:.2}")),
            (
                "joints from the input".into(),
                format!(
                    "{:.1} mm in the mean, {:.1} mm at most",
                    1e3 * self.sums[0] / frames.max(1.0),
                    1e3 * farthest
                ),
            ),
        ];
        let [keys, projected, off, turned] = self.keys;
        if keys > 0.0 {
            let words = format!(
                "{keys}; moved by {:.1} mm at most to stand on the ground, then kept to {:.2} mm and {:.3}°",
                1e3 * projected,
                1e3 * off,
                turned.to_degrees(),
            );
            notes.push(("key poses".into(), words));
        }
        let [steps, accepted, start, least, drawn, lower] = self.chain;
        if steps > 0.0 {
            let mut words = format!(
                "a chain went {accepted} of {steps} steps, {:.0} %; its energy {start:.1} at the likeliest motion, {least:.1} at least, {drawn:.1} here",
                100.0 * accepted / steps
            );
            if lower > BETTER {
                words += &format!(
                    "; a solve that begins here ends {:.0} % lower than the likeliest: that is not the best motion",
                    100.0 * lower
                );
            }
            notes.push(("variation".into(), words));
        }
        if path > 0.0 {
            let words = format!("{:.1} mm from what was drawn at most", 1e3 * path);
            notes.push(("trajectories".into(), words));
        }
        if formulation != Formulation::Constrained {
            let words = format!("the paper's: {:.1} % of the weight is given by nothing", 100.0 * residual);
            notes.push(("method".into(), words));
        }
        if known > 0.0 {
            let ([most, frame], mean) = (self.strangest, self.sums[1] / known);
            let frame = frame + first as f64;
            let words =
                format!("{mean:.2} in the mean, {most:.2} at frame {frame}; 0 is as taught, 1 unknown");
            notes.push(("unlike what was learnt".into(), words));
        }
        notes
    }

    /// The same as bytes, and what the next window begins with.
    pub(super) fn with_seam(&self, seam: Option<&Seam>) -> Vec<u8> {
        let lists: [&[f64]; 6] =
            [&self.most, &self.counts, &self.sums, &self.strangest, &self.keys, &self.chain];
        let mut numbers = lists.concat();
        if let Some(Seam { frame, controls }) = seam {
            numbers.extend([*frame as f64, controls.len() as f64]);
            controls.iter().for_each(|control| numbers.extend_from_slice(control));
        }
        numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    /// Reads what [`Self::with_seam`] wrote.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, Option<Seam>)> {
        let (chunks, rest) = bytes.as_chunks::<8>();
        let numbers: Vec<f64> = chunks.iter().map(|x| f64::from_le_bytes(*x)).collect();
        let (front, seam) = numbers.split_at_checked(24)?;
        let part = |from: usize, count: usize| &front[from..from + count];
        let told = Self {
            most: part(0, 6).try_into().ok()?,
            counts: part(6, 4).try_into().ok()?,
            sums: part(10, 2).try_into().ok()?,
            strangest: part(12, 2).try_into().ok()?,
            keys: part(14, 4).try_into().ok()?,
            chain: part(18, 6).try_into().ok()?,
        };
        let seam = match seam {
            [] => None,
            [frame, count, controls @ ..] => {
                let count = *count as usize;
                let size = controls.len().checked_div(count)?;
                let sound = size > 0 && size * count == controls.len();
                let controls = controls.chunks_exact(size.max(1)).map(<[f64]>::to_vec).collect();
                Some(sound.then_some(Seam { frame: *frame as usize, controls })?)
            }
            _ => return None,
        };
        rest.is_empty().then_some((told, seam))
    }
}
