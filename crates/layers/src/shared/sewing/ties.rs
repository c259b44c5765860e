//! From what is to be sewn to springs on the body that all members share.

use std::collections::BTreeMap;
use std::sync::Arc;

use clip::Selector;
use dynamics::{DeliveredSurface, Energy};
use geometry::{Vec3, closest_on_triangle};
use shell::{HeldUp, Ramp, SEAM_STRAIN, Tie, Ties};
use shot::{FrameResult, LayerError, Target};

use super::pairing::{Border, Place, distinct, end_to_end, nearest};
use super::{CHOSEN, Elastic, Pins, Seam, Sewn};
use crate::shared::driver::Member;
use crate::shared::selectors::weights;
use crate::shared::start::SEWING;

/// Edges nearer than this at rest are sewn where no distance is given, in metres.
const DISTANCE: f64 = 5e-3;
/// A seam is closed when it gapes by no more than this, in metres.
const CLOSED: f64 = 1e-3;
/// Points sewn to each other that are as near are delivered as one, in metres.
const WELDED: f64 = 5e-4;
/// Shares of the start: until then ties are drawn in, while what is sewn is weightless, and until then it gets its weight back. The rest of it is for
/// cloth to come to rest. Ties are drawn in while the scene stands still: panels that are not joined yet would be left behind.
const DRAWN_IN: f64 = SEWING / (1.0 + SEWING);
const HEAVY: f64 = 0.5;
/// How long it takes where nothing comes before the first frame, in seconds.
const WITHOUT_START: f64 = 0.5;

/// A place on a mesh that is not simulated, and beside it: where something is pinned.
#[derive(Clone, Debug)]
pub(crate) struct Anchor {
    pub(crate) mesh: usize,
    corners: [u32; 3],
    weights: [f64; 3],
    /// How far out from the triangle, in metres.
    offset: f64,
}

impl Anchor {
    /// Where it is, given the points of its mesh.
    pub(crate) fn place(&self, points: &[Vec3]) -> Vec3 {
        let [a, b, c] = self.corners.map(|p| points[p as usize]);
        let [u, v, w] = self.weights;
        u * a + v * b + w * c + self.offset * (b - a).cross(c - a).normalize_or_zero()
    }
}

/// What a tie is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Seam,
    Elastic,
    Pin,
}

/// All that is sewn in a scene.
#[derive(Default)]
pub(crate) struct Sewing {
    ties: Arc<[Tie]>,
    kinds: Vec<Kind>,
    ramp: Option<Ramp>,
    /// Weights of what is sewn, in newtons, and when it gets them.
    weights: Arc<[(u32, Vec3)]>,
    heavy: Option<Ramp>,
    /// Points of the scene that touch each other for good.
    sewn: Vec<(u32, u32)>,
    /// Points that are one when they are delivered: the member, and its point.
    welds: Vec<Vec<(usize, usize)>>,
    /// Of every member: places on other meshes that its points are pinned to.
    pub(crate) anchors: Vec<Vec<Anchor>>,
    /// How many frames went by, and how many until all were closed.
    frames: usize,
    gaping: usize,
}

/// Members side by side, as they are at rest.
struct Costume {
    rest: Vec<Vec3>,
    /// Where the points of each begin.
    first: Vec<u32>,
    triangles: Vec<Vec<[u32; 3]>>,
    /// What gravity pulls points with, in newtons.
    weights: Vec<Vec3>,
    names: Vec<String>,
    inputs: Vec<Target>,
    known: Vec<bool>,
    /// Whether each is a sheet whose points are its mesh's.
    is_sheet: Vec<bool>,
    finer: Vec<Option<geometry::Prolongation>>,
    anchors: Vec<Vec<Anchor>>,
    ties: Vec<Loose>,
}

/// A tie whose ends, each with its share, are not yet points of the scene.
type Loose = (Kind, Vec<(End, f64)>, Tie);

#[derive(Clone, Copy)]
enum End {
    Point(u32),
    /// Of a member, one of its anchors.
    Anchor(usize, usize),
}

impl Sewing {
    /// Finds what belongs together. To be called while the inputs of the members are as the artist has them: selectors speak of their first frames.
    pub(crate) fn new(members: &[Member]) -> Result<Self, LayerError> {
        if members.iter().all(|member| member.sewn.is_empty()) {
            return Ok(Self { anchors: vec![Vec::new(); members.len()], ..Self::default() });
        }
        let mut costume = Costume::new(members);
        // the meshes of a layer are one garment
        let mut garments = BTreeMap::<usize, Vec<usize>>::new();
        for (number, member) in members.iter().enumerate().filter(|(_, member)| !member.sewn.is_empty()) {
            garments.entry(member.layer).or_default().push(number);
        }
        for garment in garments.values() {
            let Sewn { seams, elastics, pins, stiffness, .. } = &members[garment[0]].sewn;
            for (k, seam) in seams.iter().enumerate() {
                costume.sew(garment, seam, *stiffness).map_err(named(format!("sew[{k}]")))?;
            }
            for (k, elastic) in elastics.iter().enumerate() {
                costume.gather(garment, elastic).map_err(named(format!("elastic[{k}]")))?;
            }
            for (k, pins) in pins.iter().enumerate() {
                costume.pin(garment, pins).map_err(named(format!("pins[{k}]")))?;
            }
        }
        Ok(costume.finished())
    }

    /// Whether panels are apart that are to be drawn together.
    pub(crate) fn draws_together(&self) -> bool {
        !self.weights.is_empty()
    }

    /// When it is drawn in: during a start, or a pre-roll without one, of so many seconds; they begin `before` the first frame.
    pub(crate) fn begin(&mut self, before: f64, seconds: f64) {
        let ramp = match before > 0.0 {
            true => Ramp { start: -before, end: -before + DRAWN_IN * seconds },
            false => Ramp { start: 0.0, end: WITHOUT_START },
        };
        self.ramp = Some(ramp).filter(|_| !self.ties.is_empty());
        let heavy = Ramp { start: ramp.end, end: -before + HEAVY * seconds };
        self.heavy = Some(heavy).filter(|_| before > 0.0 && !self.weights.is_empty());
    }

    /// What pulls.
    pub(crate) fn energies(&self) -> Vec<Box<dyn Energy>> {
        let ties = self.ramp.map(|ramp| Box::new(Ties::new(self.ties.clone(), ramp)) as Box<dyn Energy>);
        let held =
            self.heavy.map(|heavy| Box::new(HeldUp::new(self.weights.clone(), heavy)) as Box<dyn Energy>);
        ties.into_iter().chain(held).collect()
    }

    /// Points of the scene that are sewn to each other.
    pub(crate) fn pairs(&self) -> &[(u32, u32)] {
        &self.sewn
    }

    fn of(&self, kind: Kind) -> impl Iterator<Item = &Tie> {
        self.ties.iter().zip(&self.kinds).filter(move |(_, own)| **own == kind).map(|(tie, _)| tie)
    }

    fn widest(&self, kind: Kind, x: &[Vec3]) -> f64 {
        self.of(kind).map(|tie| tie.gap(x).length()).fold(0.0, f64::max)
    }

    /// Takes note of how a frame before the first one went.
    pub(crate) fn note(&mut self, x: &[Vec3]) {
        self.frames += 1;
        if self.widest(Kind::Seam, x) > CLOSED {
            self.gaping = self.frames;
        }
    }

    /// A sentence, where something is sewn: when it closed.
    pub(crate) fn sentence(&self, x: &[Vec3], rate: f64) -> Option<String> {
        let count = self.of(Kind::Seam).count();
        if count == 0 {
            return None;
        }
        let began = 1e3 * self.of(Kind::Seam).map(|tie| tie.lengths[0]).fold(0.0, f64::max);
        let gap = self.widest(Kind::Seam, x);
        let begin = format!("{count} places are sewn, up to {began:.0} mm apart");
        Some(match (self.frames, gap <= CLOSED) {
            (0, true) => format!("{begin}: closed from the first frame on"),
            (0, false) => format!(
                "{begin}: they are drawn together while the film runs; give it a `start`, and they are closed before"
            ),
            (frames, true) => {
                format!(
                    "{begin}: closed {:.2} s before the first frame",
                    (frames - self.gaping) as f64 / rate
                )
            }
            (_, false) => format!(
                "{begin}: {:.1} mm are left when the first frame comes; give it more time, by `start.seconds` or `pre_roll`, or see what is in the way",
                1e3 * gap
            ),
        })
    }

    /// How far things gape.
    pub(crate) fn report(&self, x: &[Vec3], result: &mut FrameResult) {
        for (kind, name) in [(Kind::Seam, "seams/widest gap"), (Kind::Pin, "pins/farthest")] {
            if self.of(kind).next().is_some() {
                result.figures.add(name, "mm", 1e3 * self.widest(kind, x));
            }
        }
        let lengths = self.of(Kind::Elastic).map(|tie| [tie.gap(x).length(), tie.lengths[1]]);
        let [length, own] = lengths.fold([0.0, 0.0], |[a, b], [c, d]| [a + c, b + d]);
        if own > 0.0 {
            result.figures.add("elastic/drawn out", "%", 100.0 * (length / own - 1.0));
        }
    }

    /// Closes seams to the last bit: points that are sewn to each other become one; where one of them follows exactly, `own` says its place.
    pub(crate) fn weld(&self, surfaces: &mut [DeliveredSurface], own: &dyn Fn(usize, usize) -> Vec3) {
        for weld in &self.welds {
            let place = |&(member, p): &(usize, usize)| surfaces[member].positions[p];
            let middle = weld.iter().map(place).sum::<Vec3>() / weld.len() as f64;
            if weld.iter().any(|point| place(point).distance(middle) > WELDED) {
                continue;
            }
            let fixed = weld.iter().find(|&&(member, p)| surfaces[member].exact[p]);
            let at = fixed.map_or(middle, |&(member, p)| own(member, p));
            weld.iter().for_each(|&(member, p)| surfaces[member].positions[p] = at);
        }
    }
}

fn named(what: String) -> impl Fn(LayerError) -> LayerError {
    move |error| {
        let help = error.remedy().map(str::to_owned);
        let error = LayerError::new(format!("{what}: {error}"));
        help.into_iter().fold(error, LayerError::with_help)
    }
}

impl Costume {
    fn new(members: &[Member]) -> Self {
        let (mut rest, mut first, mut known) = (Vec::new(), Vec::new(), Vec::new());
        for member in members {
            first.push(rest.len() as u32);
            rest.extend_from_slice(&member.rest);
            known.extend_from_slice(member.body.known_points());
        }
        let is_sheet = |member: &Member| member.is_same_mesh && member.skin.order.len() == member.rest.len();
        let shifted = |(member, first): (&Member, &u32)| {
            let triangles = member.skin.triangles.iter();
            triangles.map(|corners| corners.map(|p| p + first)).collect()
        };
        Self {
            triangles: members.iter().zip(&first).map(shifted).collect(),
            weights: members.iter().flat_map(|member| member.body.weights()).collect(),
            names: members.iter().map(|member| member.input.mesh().name.clone()).collect(),
            inputs: members.iter().map(|member| member.input.clone()).collect(),
            is_sheet: members.iter().map(is_sheet).collect(),
            finer: members.iter().map(|member| member.sewn.finer.clone()).collect(),
            anchors: vec![Vec::new(); members.len()],
            ties: Vec::new(),
            rest,
            first,
            known,
        }
    }

    /// Which member a mesh is that is sewn to a garment.
    fn member(&self, garment: &[usize], name: &String) -> Result<usize, LayerError> {
        let found = self.names.iter().position(|other| other == name);
        if let Some(other) = found.filter(|&other| self.is_sheet[other]) {
            return Ok(other);
        }
        let own = &self.names[garment[0]];
        let (said, help) = match found {
            Some(_) => (
                format!("`{name}` is no cloth, although it is simulated with `{own}`"),
                "leave out `together` in this layer: it stands on what the one below has baked, and `pins` hold it there",
            ),
            None => (
                format!("`{name}` is no cloth that is simulated with `{own}`"),
                "name both under `mesh` of one layer, or say `together` in theirs",
            ),
        };
        Err(LayerError::new(said).with_help(help))
    }

    /// What a mesh that is named stands for, and what is sewn to it: all of a garment but that mesh. Without a name all of it, to itself.
    fn sides(&self, garment: &[usize], name: Option<&String>) -> Result<[Vec<usize>; 2], LayerError> {
        let Some(name) = name else { return Ok([garment.to_vec(), garment.to_vec()]) };
        let other = self.member(garment, name)?;
        let others: Vec<usize> = garment.iter().copied().filter(|own| *own != other).collect();
        Ok([if others.is_empty() { garment.to_vec() } else { others }, vec![other]])
    }

    /// Which points of members are chosen, ascending. It is a mistake only if a selector fits none of them.
    fn chosen(&self, members: &[usize], selector: Option<&Selector>) -> Result<Vec<u32>, LayerError> {
        let (mut points, mut failure, mut fits) = (Vec::new(), None, false);
        for &member in members {
            match self.chosen_of(member, selector) {
                Ok(more) => {
                    points.extend(more);
                    fits = true;
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        match failure {
            Some(error) if !fits => Err(error),
            _ => Ok(points),
        }
    }

    /// Which points of a member are chosen.
    fn chosen_of(&self, member: usize, selector: Option<&Selector>) -> Result<Vec<u32>, LayerError> {
        let first = self.first[member];
        let count = self.rest.len() as u32;
        let end = self.first.get(member + 1).copied().unwrap_or(count);
        let Some(selector) = selector else { return Ok((first..end).collect()) };
        let coarse = weights(selector, &self.inputs[member])?;
        let weights: Vec<f32> = match &self.finer[member] {
            Some(finer) => {
                let coarse: Vec<f64> = coarse.iter().map(|weight| f64::from(*weight)).collect();
                finer.numbers(&coarse).into_iter().map(|weight| weight as f32).collect()
            }
            None => coarse,
        };
        Ok((first..end).zip(weights).filter(|(_, weight)| *weight >= CHOSEN).map(|(p, _)| p).collect())
    }

    fn triangles_of(&self, members: &[usize]) -> Vec<[u32; 3]> {
        members.iter().flat_map(|&member| &self.triangles[member]).copied().collect()
    }

    /// Names as they stand in a sentence.
    fn named(&self, members: &[usize]) -> String {
        let names: Vec<String> = members.iter().map(|&member| format!("`{}`", self.names[member])).collect();
        names.join(", ")
    }

    fn border(&self, members: &[usize], selector: Option<&Selector>) -> Result<Border, LayerError> {
        let chosen = self.chosen(members, selector)?;
        let border = Border::new(&self.triangles_of(members), |p| chosen.binary_search(&p).is_ok());
        match border.sides.is_empty() {
            true => Err(LayerError::new(format!(
                "there is no edge of {} between the points that are chosen",
                self.named(members)
            ))),
            false => Ok(border),
        }
    }

    fn tie(&mut self, kind: Kind, point: u32, place: Place, stiffness: f64, reach: f64) {
        if self.known[point as usize] && place.iter().all(|(p, _)| self.known[*p as usize]) {
            return;
        }
        let at: Vec3 = place.iter().map(|&(p, w)| w * self.rest[p as usize]).sum();
        let gap = at.distance(self.rest[point as usize]);
        let ends = std::iter::once((End::Point(point), 1.0));
        let ends = ends.chain(place.into_iter().map(|(p, w)| (End::Point(p), -w))).collect();
        self.ties.push((kind, ends, Tie { parts: Vec::new(), lengths: [gap, 0.0], stiffness, reach }));
    }

    fn sew(&mut self, garment: &[usize], seam: &Seam, stiffness: f64) -> Result<(), LayerError> {
        let [own, other] = self.sides(garment, seam.mesh.as_ref())?;
        let (from, to) = (self.border(&own, seam.from.as_ref())?, self.border(&other, seam.to.as_ref())?);
        let is_named = seam.from.is_some() && seam.to.is_some();
        let within = seam.distance.unwrap_or(if is_named { f64::INFINITY } else { DISTANCE });
        let laid = if is_named { end_to_end(&from, &to, &self.rest) } else { None };
        let pairs = laid.unwrap_or_else(|| {
            let mut pairs = nearest(&from, &to, &self.rest, within);
            pairs.extend(nearest(&to, &from, &self.rest, within));
            pairs
        });
        let before = self.ties.len();
        for (point, place) in distinct(pairs) {
            let at: Vec3 = place.iter().map(|&(p, w)| w * self.rest[p as usize]).sum();
            if at.distance(self.rest[point as usize]) > within {
                continue;
            }
            let spacing = from.spacing(point, &self.rest).max(to.spacing(point, &self.rest));
            self.tie(Kind::Seam, point, place, stiffness, SEAM_STRAIN * spacing);
        }
        match self.ties.len() > before {
            true => Ok(()),
            false => {
                let (own, other) = (self.named(&own), self.named(&other));
                let said = match within.is_finite() {
                    true => {
                        format!("no edges of {own} and {other} are within {within} m of each other at rest")
                    }
                    false => format!(
                        "what was chosen of {own} and {other} has no edges that can be sewn to each other"
                    ),
                };
                let help = "raise `distance`, or say with `from` and `to` what is sewn to what";
                Err(LayerError::new(said).with_help(help))
            }
        }
    }

    fn gather(&mut self, garment: &[usize], elastic: &Elastic) -> Result<(), LayerError> {
        let chosen = self.chosen(garment, Some(&elastic.along))?;
        let is_chosen = |p: u32| chosen.binary_search(&p).is_ok();
        let triangles = self.triangles_of(garment);
        let mut sides = Border::new(&triangles, is_chosen).sides;
        if sides.is_empty() {
            let all = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
            sides = all.map(|[p, q]| [p.min(q), p.max(q)]).collect();
            sides.retain(|[p, q]| is_chosen(*p) && is_chosen(*q));
            sides.sort_unstable();
            sides.dedup();
        }
        if sides.is_empty() {
            return Err(LayerError::new(
                "it runs along no line of the mesh: choose points that are neighbours",
            ));
        }
        for [p, q] in sides {
            let length = self.rest[p as usize].distance(self.rest[q as usize]);
            let own_length = elastic.length * length;
            if (self.known[p as usize] && self.known[q as usize]) || own_length <= 0.0 {
                continue;
            }
            let ends = vec![(End::Point(p), 1.0), (End::Point(q), -1.0)];
            let (stiffness, reach) = (elastic.stiffness / own_length, f64::INFINITY);
            let tie = Tie { parts: Vec::new(), lengths: [length, own_length], stiffness, reach };
            self.ties.push((Kind::Elastic, ends, tie));
        }
        Ok(())
    }

    fn pin(&mut self, garment: &[usize], pins: &Pins) -> Result<(), LayerError> {
        let held = |name: &String| self.names.iter().any(|other| other == name);
        if let Some(name) = pins.mesh.as_ref().filter(|name| !held(name)) {
            self.chosen(garment, Some(&pins.from))?;
            for &own in garment {
                let points = self.chosen_of(own, Some(&pins.from)).unwrap_or_default();
                self.pin_to_body(own, name, &points, pins)?;
            }
            return Ok(());
        }
        let [own, other] = self.sides(garment, pins.mesh.as_ref())?;
        let points = self.chosen(&own, Some(&pins.from))?;
        let chosen = self.chosen(&other, pins.to.as_ref())?;
        let is_chosen = |p: &u32| chosen.binary_search(p).is_ok();
        let mut triangles = self.triangles_of(&other);
        triangles.retain(|corners| corners.iter().all(is_chosen));
        for point in points {
            let at = self.rest[point as usize];
            let faces = triangles.iter().filter(|corners| !corners.contains(&point));
            let place = match closest(at, faces, &self.rest) {
                Some((corners, weights)) => {
                    corners.into_iter().zip(weights).filter(|(_, w)| *w > 1e-9).collect()
                }
                // single points are no triangle
                None => {
                    let others = chosen.iter().filter(|p| **p != point);
                    let way = |p: &u32| at.distance_squared(self.rest[*p as usize]);
                    others
                        .min_by(|a, b| way(a).total_cmp(&way(b)))
                        .map(|p| vec![(*p, 1.0)])
                        .unwrap_or_default()
                }
            };
            if !place.is_empty() {
                self.tie(Kind::Pin, point, place, pins.stiffness, f64::INFINITY);
            }
        }
        Ok(())
    }

    /// To places beside a mesh that moves by itself.
    fn pin_to_body(&mut self, own: usize, name: &str, points: &[u32], pins: &Pins) -> Result<(), LayerError> {
        let input = &self.inputs[own];
        let Some(mesh) = input.clip.mesh_index(name) else {
            return Err(LayerError::new(format!("there is no mesh `{name}`")));
        };
        let body = &input.clip.meshes[mesh];
        let mut triangles = body.point_triangles();
        if let Some(selector) = &pins.to {
            let weights = weights(selector, &Target { mesh, ..input.clone() })?;
            triangles.retain(|corners| corners.iter().all(|&p| weights[p as usize] >= CHOSEN));
        }
        let rest = body.rest();
        for &point in points.iter().filter(|p| !self.known[**p as usize]) {
            let at = self.rest[point as usize];
            let Some((corners, weights)) = closest(at, triangles.iter(), &rest) else {
                return Err(LayerError::new(format!("there is no triangle of `{name}` to pin it to")));
            };
            let [a, b, c] = corners.map(|p| rest[p as usize]);
            let foot = weights[0] * a + weights[1] * b + weights[2] * c;
            let offset = (at - foot).dot((b - a).cross(c - a).normalize_or_zero());
            let anchor = Anchor { mesh, corners, weights, offset };
            let gap = anchor.place(&rest).distance(at);
            let ends = vec![(End::Point(point), 1.0), (End::Anchor(own, self.anchors[own].len()), -1.0)];
            self.anchors[own].push(anchor);
            let (stiffness, reach) = (pins.stiffness, f64::INFINITY);
            self.ties.push((
                Kind::Pin,
                ends,
                Tie { parts: Vec::new(), lengths: [gap, 0.0], stiffness, reach },
            ));
        }
        Ok(())
    }

    /// Everything in the numbering of the scene, in which the anchors of a member come behind its points.
    fn finished(self) -> Sewing {
        let mut before = 0;
        let shift: Vec<u32> = self
            .anchors
            .iter()
            .map(|anchors| {
                let shift = before;
                before += anchors.len() as u32;
                shift
            })
            .collect();
        let member_of = |p: u32| self.first.partition_point(|first| *first <= p) - 1;
        let end_of = |member: usize| {
            self.first.get(member + 1).copied().unwrap_or(self.rest.len() as u32) + shift[member]
        };
        let number = |end: End| match end {
            End::Point(p) => p + shift[member_of(p)],
            End::Anchor(member, k) => end_of(member) + k as u32,
        };
        let (mut ties, mut kinds, mut sewn, mut joined) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (kind, ends, tie) in &self.ties {
            let parts: Vec<(u32, f64)> = ends.iter().map(|&(end, w)| (number(end), w)).collect();
            if *kind == Kind::Seam {
                sewn.extend(parts[1..].iter().map(|(p, _)| (parts[0].0, *p)));
            }
            if let (Kind::Seam, [(End::Point(a), _), (End::Point(b), _)]) = (*kind, &ends[..]) {
                joined.push([*a, *b]);
            }
            ties.push(Tie { parts, ..tie.clone() });
            kinds.push(*kind);
        }
        let local = |p: u32| {
            let member = member_of(p);
            (member, (p - self.first[member]) as usize)
        };
        // panels that are drawn apart hang on nothing
        let is_apart = |tie: &Tie| tie.lengths[0] > CLOSED;
        let seams = self.ties.iter().filter(|(kind, _, tie)| *kind == Kind::Seam && is_apart(tie));
        let mut sewn_members: Vec<usize> = seams
            .flat_map(|(_, ends, _)| ends)
            .filter_map(|(end, _)| if let End::Point(p) = end { Some(member_of(*p)) } else { None })
            .collect();
        sewn_members.sort_unstable();
        sewn_members.dedup();
        let count = self.rest.len() as u32;
        let points = sewn_members
            .iter()
            .flat_map(|&member| self.first[member]..self.first.get(member + 1).copied().unwrap_or(count));
        let weights = points.map(|p| (number(End::Point(p)), self.weights[p as usize])).collect();
        let welds =
            classes(&joined).into_iter().map(|class| class.into_iter().map(local).collect()).collect();
        let anchors = self.anchors;
        Sewing { ties: ties.into(), kinds, sewn, welds, weights, anchors, ..Sewing::default() }
    }
}

/// Points that hang together by these pairs, ascending.
fn classes(pairs: &[[u32; 2]]) -> Vec<Vec<u32>> {
    let mut root = BTreeMap::<u32, u32>::new();
    fn find(root: &BTreeMap<u32, u32>, mut p: u32) -> u32 {
        while let Some(&up) = root.get(&p).filter(|up| **up != p) {
            p = up;
        }
        p
    }
    for &[a, b] in pairs {
        root.entry(a).or_insert(a);
        root.entry(b).or_insert(b);
        let (a, b) = (find(&root, a), find(&root, b));
        root.insert(a.max(b), a.min(b));
    }
    let mut classes = BTreeMap::<u32, Vec<u32>>::new();
    root.keys().for_each(|&p| classes.entry(find(&root, p)).or_default().push(p));
    classes.into_values().collect()
}

/// The nearest place on triangles: which, and the weights of its corners; of equally near ones the first.
fn closest<'a>(
    at: Vec3,
    triangles: impl Iterator<Item = &'a [u32; 3]>,
    points: &[Vec3],
) -> Option<([u32; 3], [f64; 3])> {
    let mut best: Option<(f64, [u32; 3], [f64; 3])> = None;
    for corners in triangles {
        let places = corners.map(|p| points[p as usize]);
        let weights = closest_on_triangle(at, places);
        let foot: Vec3 = places.iter().zip(weights).map(|(p, w)| w * *p).sum();
        let squared = at.distance_squared(foot);
        if best.is_none_or(|(least, ..)| squared < least) {
            best = Some((squared, *corners, weights));
        }
    }
    best.map(|(_, corners, weights)| (corners, weights))
}
