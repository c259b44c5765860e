//! Is the result worse than its input? What nobody would want is told once, with the frame to look at and what to turn.

use clip::{Clip, Frame, StrainMeter};
use geometry::{SurfaceQuery, Vec3};

use super::LayerBake;
use crate::CountCrossings;

/// More than so many times the input's crossing pairs, …
const CROSSINGS: usize = 2;
/// … and so many besides, are worth a word.
const FEW_CROSSINGS: usize = 20;
/// What is further from its input than so many times the mesh's size has left it.
const FAR: f64 = 3.0;
/// What is stretched to so many times its length is torn, in per cent of strain.
const TORN: f64 = 900.0;
/// A frame that takes so many times the usual frame jams, …
const JAMS: f64 = 10.0;
/// … if it takes so long at all, in seconds.
const JAM_SECONDS: f64 = 5.0;

impl LayerBake {
    /// Adds to the warnings what makes the result, `after`, worse than its input, `below`.
    pub(super) fn judge(&mut self, below: &Clip, after: &Clip, count: Option<CountCrossings>) {
        let mut told = Vec::new();
        told.extend(count.and_then(|count| self.more_crossings(below, after, count)));
        told.extend(self.left(below, after));
        told.extend(self.torn(after));
        told.extend(self.jammed(below));
        self.warnings.extend(told);
    }

    /// The frame with the most of a figure, and how much that is.
    fn most(&self, is_it: impl Fn(&str) -> bool) -> Option<(usize, f64)> {
        let figures = self.figures.iter().enumerate();
        let all = figures.flat_map(|(frame, figures)| figures.0.iter().map(move |figure| (frame, figure)));
        let named =
            all.filter(|(_, figure)| is_it(&figure.name)).map(|(frame, figure)| (frame, figure.value));
        named.reduce(|most, next| if next.1 > most.1 { next } else { most })
    }

    fn more_crossings(&self, below: &Clip, after: &Clip, count: CountCrossings) -> Option<(usize, String)> {
        let [mesh] = self.meshes[..] else { return None };
        let (frame, ours) = self.most(|name| name == "intersections/itself")?;
        let points = below.frame(frame).ok()?.points.into_iter().nth(mesh)?;
        let triangles = below.meshes.get(mesh)?.point_triangles();
        let theirs = count(&points, &triangles)?;
        if ours as usize <= CROSSINGS * theirs + FEW_CROSSINGS {
            return None;
        }
        let result = after.frame(frame).ok().and_then(|frame| frame.points.into_iter().nth(mesh));
        let place = result.and_then(|result| newly_crossed(&points, &result, &triangles, count));
        let text = format!(
            "{ours} pairs of triangles cross each other, and {theirs} in the input: look {}; `contact` keeps surfaces apart, and for flesh that is torn where parts \
             touch at rest `separated` names a pose in which they do not",
            place.map_or_else(|| "there".into(), near)
        );
        Some((frame, text))
    }

    fn left(&self, below: &Clip, after: &Clip) -> Option<(usize, String)> {
        let (frame, metres) = self.most(|name| name.split(',').next() == Some("distance/max"))?;
        let size = self
            .meshes
            .iter()
            .filter_map(|&mesh| below.meshes.get(mesh))
            .map(|mesh| diagonal(&mesh.rest_points));
        let size = size.fold(0.0, f64::max);
        if size <= 0.0 || metres <= FAR * size {
            return None;
        }
        let text = format!(
            "a point is {metres:.2} m from where it was animated, and the mesh is {size:.2} m large: has it left? Look {}; more of it can be held with `follow`, or kept \
             near with `max_distance`",
            self.farthest(below, after, frame).map_or_else(|| "there".into(), near)
        );
        Some((frame, text))
    }

    /// The place of the point that is farthest from where it was animated.
    fn farthest(&self, below: &Clip, after: &Clip, frame: usize) -> Option<Vec3> {
        let (before, after) = (below.frame(frame).ok()?, after.frame(frame).ok()?);
        let pairs = self.meshes.iter().flat_map(|&mesh| {
            let of = |frame: &Frame| frame.points.get(mesh).cloned().unwrap_or_default();
            of(&before).into_iter().zip(of(&after))
        });
        let ways = pairs.map(|(a, b)| (vector(&a).distance(vector(&b)), vector(&b)));
        ways.reduce(|most, next| if next.0 > most.0 { next } else { most }).map(|(_, place)| place)
    }

    fn torn(&self, after: &Clip) -> Option<(usize, String)> {
        // how many triangles are beyond their limits is no strain
        let is_strain = |name: &str| name.starts_with("strain/") && !name.starts_with("strain/beyond limits");
        let (frame, strain) = self.most(is_strain)?;
        if strain <= TORN {
            return None;
        }
        let text = format!(
            "something is stretched to {:.0} times its length: look {}; more `substeps` or a stiffer material may hold it",
            1.0 + strain / 100.0,
            self.most_stretched(after, frame).map_or_else(|| "there".into(), near)
        );
        Some((frame, text))
    }

    /// The middle of the edge of its meshes that is stretched most.
    fn most_stretched(&self, after: &Clip, frame: usize) -> Option<Vec3> {
        let mut shown = after.frame(frame).ok()?;
        // others stand still
        for (mesh, points) in
            shown.points.iter_mut().enumerate().filter(|(mesh, _)| !self.meshes.contains(mesh))
        {
            points.clone_from(&after.meshes.get(mesh)?.rest_points);
        }
        let (mesh, ends) = StrainMeter::new(after).measure(frame, &shown).worst?;
        let [a, b] = ends.map(|end| vector(&shown.points[mesh][end as usize]));
        Some(0.5 * (a + b))
    }

    /// The first frame is not asked: whatever comes before it is in its time.
    fn jammed(&self, below: &Clip) -> Option<(usize, String)> {
        let mut seconds: Vec<f64> = self.seconds.iter().flatten().copied().collect();
        seconds.sort_by(f64::total_cmp);
        let usual = *seconds.get(seconds.len() / 2)?;
        let known = self.seconds.iter().enumerate().filter_map(|(frame, seconds)| Some((frame, (*seconds)?)));
        let (frame, longest) =
            known.skip(1).reduce(|most, next| if next.1 > most.1 { next } else { most })?;
        if longest <= JAM_SECONDS || longest <= JAMS * usual {
            return None;
        }
        let place = self.pressed(below, frame).unwrap_or_else(|| {
            String::from("look whether animated parts press the cloth or flesh against each other")
        });
        Some((
            frame,
            format!(
                "the frame took {longest:.1} s, and a usual one {usual:.2} s: something jams there; {place}"
            ),
        ))
    }

    /// Where the animation presses the layer's meshes hardest: the point of theirs that is furthest inside another mesh, or that moved furthest since the frame
    /// before.
    fn pressed(&self, below: &Clip, frame: usize) -> Option<String> {
        let points = |index: usize, mesh: usize| -> Option<Vec<Vec3>> {
            let points = below.frame(index).ok()?.points.into_iter().nth(mesh)?;
            Some(points.iter().map(|p| Vec3::from(p.map(f64::from))).collect())
        };
        let name = |mesh: usize| below.meshes.get(mesh).map_or("", |mesh| mesh.name.as_str());
        let mut deepest: Option<(f64, usize, usize, usize, Vec3)> = None;
        for other in (0..below.meshes.len()).filter(|mesh| !self.meshes.contains(mesh)) {
            let Ok(surface) = SurfaceQuery::new(points(frame, other)?, below.meshes[other].point_triangles())
            else {
                continue;
            };
            for &mesh in &self.meshes {
                for (point, p) in points(frame, mesh)?.into_iter().enumerate() {
                    // far away nothing is inside
                    let depth = if surface.bounds().contains(p) { -surface.signed_distance(p) } else { 0.0 };
                    if depth > deepest.map_or(0.0, |known| known.0) {
                        deepest = Some((depth, point, mesh, other, p));
                    }
                }
            }
        }
        if let Some((depth, point, mesh, other, p)) = deepest {
            return Some(format!(
                "look {}: point {point} of `{}` is animated {:.1} cm inside `{}`",
                near(p),
                name(mesh),
                100.0 * depth,
                name(other)
            ));
        }
        let mut fastest: Option<(f64, usize, usize, Vec3)> = None;
        for &mesh in &self.meshes {
            let before = points(frame.checked_sub(1)?, mesh)?;
            for (point, (p, q)) in points(frame, mesh)?.into_iter().zip(before).enumerate() {
                if p.distance(q) > fastest.map_or(0.0, |known| known.0) {
                    fastest = Some((p.distance(q), point, mesh, p));
                }
            }
        }
        let (way, point, mesh, p) = fastest?;
        Some(format!(
            "look {}, where point {point} of `{}` is animated {:.1} cm further than in the frame before, \
             and whether parts press against each other there",
            near(p),
            name(mesh),
            100.0 * way
        ))
    }
}

/// A place as sentences name it: [`Warning::place`](crate::Warning::place) reads it again.
fn near(place: Vec3) -> String {
    format!("near ({:.3}, {:.3}, {:.3})", place.x, place.y, place.z)
}

fn vector(p: &[f32; 3]) -> Vec3 {
    Vec3::from(p.map(f64::from))
}

/// The middle of a triangle that crosses one before it where it did not in the input: the first `k` triangles cross more often than in the input, and
/// the first `k − 1` do not.
fn newly_crossed(
    before: &[[f32; 3]],
    after: &[[f32; 3]],
    triangles: &[[u32; 3]],
    count: CountCrossings,
) -> Option<Vec3> {
    let is_worse = |k: usize| Some(count(after, &triangles[..k])? > count(before, &triangles[..k])?);
    let (mut fine, mut worse) = (0, triangles.len());
    if !is_worse(worse)? {
        return None;
    }
    while worse - fine > 1 {
        let middle = (fine + worse) / 2;
        if is_worse(middle)? {
            worse = middle;
        } else {
            fine = middle;
        }
    }
    let corners = triangles[worse - 1].map(|p| vector(&after[p as usize]));
    Some(corners.into_iter().sum::<Vec3>() / 3.0)
}

fn diagonal(points: &[[f32; 3]]) -> f64 {
    let ends = points.iter().fold([[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]], |[low, high], p| {
        [std::array::from_fn(|i| low[i].min(p[i])), std::array::from_fn(|i| high[i].max(p[i]))]
    });
    let length = (0..3).map(|i| f64::from(ends[1][i] - ends[0][i]).powi(2)).sum::<f64>().sqrt();
    if length.is_finite() { length } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clip::{Frame, MemoryFrames, Mesh};

    use super::*;
    use crate::{BakeKey, Figures};

    fn layer(figures: &[(&str, f64)], seconds: &[f64]) -> LayerBake {
        let mut all = Figures::default();
        figures.iter().for_each(|(name, value)| all.add(*name, "", *value));
        LayerBake {
            name: "layer".into(),
            kind: "test",
            mesh: 0,
            meshes: vec![0],
            key: BakeKey::of(&[b"test"]),
            folder: Default::default(),
            baked: 0,
            reused: 0,
            prepare_seconds: 0.0,
            figures: vec![Figures::default(), all],
            seconds: seconds.iter().map(|s| Some(*s)).collect(),
            warnings: Vec::new(),
            fallbacks: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn told(figures: &[(&str, f64)], seconds: &[f64]) -> Vec<(usize, String)> {
        let mesh = Mesh::new("t", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]);
        let frame = Frame { points: vec![mesh.rest_points.clone()], pose: Vec::new() };
        let clip = |frame| {
            Clip::new("t", 24.0, vec![mesh.clone()], None, Arc::new(MemoryFrames::new(vec![frame; 2])))
        };
        let mut moved = frame.clone();
        moved.points[0][1][0] = 3.0;
        let mut layer = layer(figures, seconds);
        // the input crosses 7 times, the result twice as often, from its first triangle on
        let count: CountCrossings =
            |points, triangles| Some(if points[1][0] > 2.0 { 14 } else { 7 } * triangles.len());
        layer.judge(&clip(frame), &clip(moved), Some(count));
        layer.warnings
    }

    #[test]
    fn what_is_worse_than_its_input_is_told_with_its_frame() {
        for (name, fine, bad, word) in [
            ("intersections/itself", 34.0, 35.0, "and 7 in the input: look near (1.000, 0.333, 0.000)"),
            ("distance/max", 4.2, 4.3, "has it left? Look near (3.000, 0.000, 0.000)"),
            ("distance/max, sleeve", 4.2, 4.3, "has it left?"),
            ("strain/tets, largest", 899.0, 901.0, "10 times its length: look near (1.500, 0.000, 0.000)"),
        ] {
            assert_eq!(told(&[(name, fine)], &[]), [], "{name}");
            let found = told(&[(name, bad)], &[]);
            assert!(found.len() == 1 && found[0].0 == 1 && found[0].1.contains(word), "{name}: {found:?}");
        }
        assert_eq!(told(&[("strain/beyond limits, sleeve", 2048.0)], &[]), [], "these are triangles");
        assert_eq!(told(&[], &[1.0, 1.0, 9.0]), [], "nine times the usual");
        assert_eq!(told(&[], &[0.1, 0.1, 4.0]), [], "seconds are no jam");
        let found = told(&[], &[1.0, 1.0, 11.0]);
        assert!(found[0].0 == 2 && found[0].1.contains("jams"), "{found:?}");
    }

    /// Where a jam is: the point that is furthest inside something else.
    #[test]
    fn a_jam_is_told_with_its_place() {
        let corner =
            |i: u32| [f32::from((i & 1) as u8), f32::from((i >> 1 & 1) as u8), f32::from((i >> 2) as u8)];
        let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles: Vec<[u32; 3]> =
            sides.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        let cube = Mesh::new("body", (0..8).map(corner).collect(), &triangles);
        let sheet = vec![[0.5, 0.9, 0.5], [0.5, 0.75, 0.5], [3.0, 0.5, 0.5]];
        let cloth = Mesh::new("skirt", sheet.clone(), &[[0, 1, 2]]);
        let frame = Frame { points: vec![sheet, cube.rest_points.clone()], pose: Vec::new() };
        let frames = Arc::new(MemoryFrames::new(vec![frame; 3]));
        let mut layer = layer(&[], &[1.0, 1.0, 11.0]);
        let clip = Clip::new("t", 24.0, vec![cloth, cube], None, frames);
        layer.judge(&clip, &clip, None);
        let [(2, text)] = &layer.warnings[..] else { panic!("{:?}", layer.warnings) };
        assert!(
            text.contains("(0.500, 0.750, 0.500): point 1 of `skirt` is animated 25.0 cm inside `body`"),
            "{text}"
        );
    }
}
