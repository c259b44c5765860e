//! All that meets in a simulation: skins and obstacles as one contact model, sent on its way frame by frame, and the audit of what is delivered.

use std::collections::{BTreeMap, BTreeSet};

use clip::LeadIn;
use contact::{Attachment, AuditedSurface, BarrierContact, CollisionSurface, Crossing, audit};
use dynamics::{DeliveredSurface, Span};
use geometry::Vec3;

use shot::{FrameResult, LayerError, Target};

use super::obstacle::ObstacleMotion;
use super::{Contact, Obstacle, Skin};

/// The piece of every point of a surface.
fn piece_of_points(pieces: &[CollisionSurface], order: &[u32]) -> Vec<u32> {
    let numbers = pieces.iter().zip(0..).flat_map(|(piece, number)| vec![number; piece.rest_positions.len()]);
    let count = order.iter().map(|&p| p as usize + 1).max().unwrap_or(0);
    let mut found = vec![u32::MAX; count];
    order.iter().zip(numbers).for_each(|(&p, number)| found[p as usize] = number);
    found
}

/// What the members of a scene meet beside each other, with its number among what one of them names: each thing once, and each mesh by its own name.
fn obstacles_of<'a>(skins: &'a [(Skin, Target)], simulated: &[usize]) -> Vec<(usize, &'a Contact, Obstacle)> {
    let mut found: Vec<(usize, &Contact, Obstacle)> = Vec::new();
    // what is named has its own friction and thickness; what only fits a pattern comes after it
    for is_pattern in [false, true] {
        for (skin, input) in skins {
            for (number, obstacle) in skin.contact.named_obstacles().into_iter().enumerate() {
                let is_named =
                    obstacle.mesh.as_ref().is_none_or(|name| input.clip.mesh_index(name).is_some());
                if is_named == is_pattern {
                    continue;
                }
                let meshes = obstacle.meshes(&input.clip);
                let own = meshes.iter().filter(|mesh| !simulated.contains(mesh)).map(|&mesh| Obstacle {
                    mesh: Some(input.clip.meshes[mesh].name.clone()),
                    ..obstacle.clone()
                });
                let own: Vec<Obstacle> = if obstacle.mesh.is_some() { own.collect() } else { vec![obstacle] };
                for one in own {
                    let is_there = |(_, _, other): &(usize, &Contact, Obstacle)| match is_pattern {
                        true => other.mesh == one.mesh,
                        false => *other == one,
                    };
                    if !found.iter().any(is_there) {
                        found.push((number, &skin.contact, one));
                    }
                }
            }
        }
    }
    found
}

/// Surfaces among each other and among obstacles, frame by frame.
pub struct Collider {
    /// To be handed to [`dynamics::Stepper::advance_with_contact`].
    pub collision: BarrierContact,
    sources: Vec<ObstacleMotion>,
    /// Of the pieces, then of the obstacles.
    names: Vec<String>,
    pieces: usize,
    /// Names and corners of the surfaces as they are delivered.
    surfaces: Vec<(String, Vec<[u32; 3]>)>,
    /// Of each surface whose pieces may cross themselves, as the artist has it, the piece of every point.
    free_pieces: Vec<Option<Vec<u32>>>,
    /// Which surface, and which of its points, each attached point is.
    order: Vec<(usize, usize)>,
    /// Which point of the body each attached point is, where it is one.
    attached: Vec<Option<u32>>,
    /// Points of delivered surfaces that are sewn to each other.
    sewn: BTreeSet<[(usize, usize); 2]>,
    triangles: Vec<Vec<[u32; 3]>>,
    rate: f64,
    /// How many frames come before the first one.
    lead_in: usize,
    /// The fastest point of an obstacle between the last two frames, in m/s.
    fastest: f64,
}

impl Collider {
    /// Contact of what is simulated together, each with its skin, its input and the number of its first point in the body, and with the
    /// obstacles that any of them names. The frames of the inputs begin with the lead-in, where there is one.
    pub(crate) fn new(
        skins: Vec<(Skin, Target)>,
        first_point: impl Fn(usize) -> usize,
        lead_in: Option<&LeadIn>,
    ) -> Result<Self, LayerError> {
        let rate = skins.first().map_or(24.0, |(_, input)| input.clip.frame_rate_hz);
        let own = |(skin, input): &(Skin, Target)| std::iter::once(input.mesh).chain(skin.carried.clone());
        let simulated: Vec<usize> = skins.iter().flat_map(own).collect();
        let (mut sources, mut obstacles) = (Vec::new(), Vec::new());
        let (mut pieces, mut surfaces, mut attached) = (Vec::new(), Vec::new(), Vec::new());
        let (mut order, mut free_pieces) = (Vec::new(), Vec::new());
        for (number, contact, obstacle) in obstacles_of(&skins, &simulated) {
            for (source, surface) in obstacle.open(number, &skins[0].1, contact, lead_in)? {
                sources.push(source);
                obstacles.push(surface);
            }
        }
        for (number, (skin, input)) in skins.into_iter().enumerate() {
            surfaces.push((input.mesh().name.clone(), skin.triangles));
            order.extend(skin.order.iter().map(|&p| (number, p as usize)));
            free_pieces.push((!skin.contact.with_itself).then(|| piece_of_points(&skin.pieces, &skin.order)));
            pieces.extend(skin.pieces);
            let first = first_point(number) as u32;
            let of = |p: usize| skin.attachment.parts(p).iter().map(|&(q, w)| (q + first, w)).collect();
            attached.extend((0..skin.attachment.len()).map(of).collect::<Vec<Vec<(u32, f64)>>>());
        }
        let mut collider = Self {
            names: pieces.iter().chain(&obstacles).map(|surface| surface.name.clone()).collect(),
            pieces: pieces.len(),
            triangles: obstacles.iter().map(|surface| surface.triangles.clone()).collect(),
            surfaces,
            free_pieces,
            order,
            attached: attached.iter().map(|parts| (parts.len() == 1).then(|| parts[0].0)).collect(),
            sewn: BTreeSet::new(),
            collision: BarrierContact::new(pieces, Attachment::embedded(attached), obstacles)
                .map_err(LayerError::new)?,
            sources,
            rate,
            lead_in: lead_in.map_or(0, LeadIn::count),
            fastest: 0.0,
        };
        collider.place(0.0, Vec3::ZERO)?;
        collider.hold(0.0, 1.0, Vec3::ZERO)?;
        Ok(collider)
    }

    /// Obstacles go from frame `index − 1` to frame `index`, while what is simulated moves along at `drift`, in m/s.
    pub fn go_to(&mut self, index: usize, drift: Vec3) -> Result<(), LayerError> {
        let (mut positions, mut velocities) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let mut cuts = Vec::new();
        for source in &mut self.sources {
            let way = source.way(index, self.rate)?;
            cuts.push(way.is_cut);
            let span = Span::through(0.0, self.rate, way.frames);
            for (all, own) in [(&mut positions, span.positions), (&mut velocities, span.velocities)] {
                all.iter_mut().zip(own).for_each(|(all, own)| all.extend(own));
            }
        }
        let (start, duration) = ((index as f64 - 1.0 - self.lead_in as f64) / self.rate, 1.0 / self.rate);
        let ways =
            positions[0].iter().zip(&positions[1]).map(|(a, b): (&Vec3, &Vec3)| a.distance_squared(*b));
        self.fastest = self.rate * ways.fold(0.0, f64::max).sqrt();
        let span = Span { start, duration, positions, velocities };
        self.collision.follow(span, &cuts).map_err(LayerError::new)?;
        self.collision.drift_along(drift);
        Ok(())
    }

    /// The fastest point of an obstacle on the way to the frame gone to, in m/s.
    pub(crate) fn fastest_obstacle(&self) -> f64 {
        self.fastest
    }

    /// Before the first frame: obstacles stay as they are there from `start` on, and move along at this velocity, in m/s.
    pub fn hold(&mut self, start: f64, duration: f64, drift: Vec3) -> Result<(), LayerError> {
        let places = self.places(0)?;
        let at = |time: f64| places.iter().map(|p| *p + time * drift).collect::<Vec<_>>();
        let positions = [at(start), at(start + duration)];
        let velocities = [0, 1].map(|_| vec![drift; places.len()]);
        let span = Span { start, duration, positions, velocities };
        self.collision.follow(span, &[]).map_err(LayerError::new)?;
        self.collision.drift_along(drift);
        Ok(())
    }

    /// Before the first frame: obstacles are at once where they are at `time`.
    pub fn place(&mut self, time: f64, drift: Vec3) -> Result<(), LayerError> {
        let places: Vec<Vec3> = self.places(0)?.iter().map(|p| *p + time * drift).collect();
        self.collision.place_obstacles(&places).map_err(LayerError::new)
    }

    /// Lets points that follow exactly and are inside an obstacle in these frames pass through it. Each frame with where the body's
    /// points are.
    pub(crate) fn exempt_pinned(&mut self, frames: &[(usize, Vec<Vec3>)]) -> Result<(), LayerError> {
        for (frame, x) in frames {
            let places = self.places(*frame)?;
            self.collision.exempt_pinned(x, &places).map_err(LayerError::new)?;
        }
        Ok(())
    }

    /// Lets points of the body that are sewn to each other touch.
    pub(crate) fn exempt_sewn(&mut self, pairs: &[(u32, u32)]) {
        if pairs.is_empty() {
            return;
        }
        let attached = self.attached.iter().enumerate();
        let number: BTreeMap<u32, usize> = attached.filter_map(|(i, point)| Some(((*point)?, i))).collect();
        let found = pairs.iter().filter_map(|(a, b)| Some([*number.get(a)?, *number.get(b)?]));
        let found: Vec<[usize; 2]> = found.collect();
        self.collision.exempt_sewn(found.iter().map(|&[a, b]| (a as u32, b as u32)));
        let both = |[a, b]: [usize; 2]| [[self.order[a], self.order[b]], [self.order[b], self.order[a]]];
        self.sewn = found.into_iter().flat_map(both).collect();
    }

    /// Whether a crossing of delivered surfaces is at a seam, where they touch.
    fn is_sewn(&self, crossing: &Crossing) -> bool {
        let corners = |(surface, triangle): (u32, u32)| {
            let surface = surface as usize;
            let triangles = self.surfaces.get(surface).map(|(_, triangles)| triangles[triangle as usize]);
            triangles.into_iter().flatten().map(move |p| (surface, p as usize))
        };
        !self.sewn.is_empty()
            && corners(crossing.first).any(|a| corners(crossing.second).any(|b| self.sewn.contains(&[a, b])))
    }

    /// A sentence for each obstacle that pinned points pass through.
    pub(crate) fn exempted(&self) -> Vec<String> {
        let mut counts = BTreeMap::<(usize, u32), usize>::new();
        let mesh = self.collision.mesh();
        for (point, obstacle) in self.collision.exemptions().iter() {
            *counts.entry((mesh.surface_of(point), obstacle)).or_default() += 1;
        }
        let sentence = |((own, obstacle), count): ((usize, u32), usize)| {
            let (own, obstacle) = (&self.names[own], &self.names[obstacle as usize]);
            format!(
                "{count} points of `{own}` that follow exactly begin inside `{obstacle}`: they may pass through it"
            )
        };
        counts.into_iter().map(sentence).collect()
    }

    /// Whether a crossing of delivered surfaces is one that pinned points are excused for.
    fn is_excused(&self, crossing: &Crossing) -> bool {
        let exemptions = self.collision.exemptions();
        if exemptions.is_empty() {
            return false;
        }
        let exempt = |own: (u32, u32), other: (u32, u32)| {
            let (Some((_, triangles)), Some(obstacle)) =
                (self.surfaces.get(own.0 as usize), (other.0 as usize).checked_sub(self.surfaces.len()))
            else {
                return false;
            };
            let obstacle = (self.pieces + obstacle) as u32;
            let corners = triangles[own.1 as usize];
            exemptions.iter().any(|(point, from)| {
                from == obstacle
                    && self.order.get(point as usize).is_some_and(|&(surface, p)| {
                        surface == own.0 as usize && corners.contains(&(p as u32))
                    })
            })
        };
        exempt(crossing.first, crossing.second) || exempt(crossing.second, crossing.first)
    }

    /// Whether a crossing is of a piece with itself, which the artist lets it have.
    fn may_cross(&self, crossing: &Crossing) -> bool {
        let ((surface, a), (other, b)) = (crossing.first, crossing.second);
        let Some(Some(pieces)) = self.free_pieces.get(surface as usize).filter(|_| surface == other) else {
            return false;
        };
        let piece = |triangle: u32| {
            let corners = self.surfaces[surface as usize].1[triangle as usize];
            pieces.get(corners[0] as usize)
        };
        piece(a) == piece(b)
    }

    fn places(&self, frame: usize) -> Result<Vec<Vec3>, LayerError> {
        let mut all = Vec::new();
        for source in &self.sources {
            all.extend(source.at(frame, self.rate)?);
        }
        Ok(all)
    }

    /// Takes back as much of what was added to the simulated surfaces (detail, rigid pieces) as would cross something. How many points
    /// do not get where they were to be.
    pub(crate) fn limit_delivered(
        &mut self,
        x: &[Vec3],
        delivered: &mut [DeliveredSurface],
    ) -> Result<usize, LayerError> {
        let wanted = self.order.iter().map(|&(surface, p)| delivered[surface].positions[p]);
        let mut wanted: Vec<Vec3> = wanted.collect();
        let exact: Vec<bool> = self.order.iter().map(|&(surface, p)| delivered[surface].exact[p]).collect();
        let held = self.collision.limit_delivered(x, &mut wanted, &exact).map_err(LayerError::new)?;
        for (&(surface, p), place) in self.order.iter().zip(wanted) {
            delivered[surface].positions[p] = place;
        }
        Ok(held)
    }

    /// [`Collider::limit_delivered`] of the only surface there is: where it is shown.
    pub(crate) fn limit_alone(
        &mut self,
        x: &[Vec3],
        positions: Vec<Vec3>,
        exact: &[bool],
    ) -> Result<Vec<Vec3>, LayerError> {
        let mut delivered = [DeliveredSurface { positions, exact: exact.to_vec() }];
        self.limit_delivered(x, &mut delivered)?;
        let [DeliveredSurface { positions, .. }] = delivered;
        Ok(positions)
    }

    /// Adds what went on to a frame's result, and judges the frame as it is stored: points of every surface and which of them follow
    /// exactly; obstacles are where the animation has them.
    pub(crate) fn report(
        &self,
        index: usize,
        delivered: &[(&[[f32; 3]], &[bool])],
        result: &mut FrameResult,
    ) -> Result<(), LayerError> {
        let report = self.collision.report();
        let mut obstacles: Vec<Vec<[f32; 3]>> = Vec::new();
        for source in &self.sources {
            obstacles.push(source.at(index, self.rate)?.iter().map(|p| p.as_vec3().to_array()).collect());
        }
        let mut audited = Vec::new();
        for ((name, triangles), (points, _)) in self.surfaces.iter().zip(delivered) {
            audited.push(AuditedSurface { name, points, triangles, is_obstacle: false });
        }
        for (k, points) in obstacles.iter().enumerate() {
            let (name, triangles) = (&self.names[self.pieces + k], &self.triangles[k]);
            audited.push(AuditedSurface { name, points, triangles, is_obstacle: true });
        }
        let crossings = audit(&audited).map_err(LayerError::new)?;
        // what the artist put there himself is no fault of the simulation
        let is_exact = |(surface, triangle): (u32, u32)| {
            let Some((_, exact)) = delivered.get(surface as usize) else { return true };
            let corners = self.surfaces[surface as usize].1[triangle as usize];
            corners.iter().all(|&p| exact.get(p as usize) == Some(&true))
        };
        let (followed, crossings): (Vec<_>, Vec<_>) = crossings
            .into_iter()
            .partition(|c| is_exact(c.first) && is_exact(c.second) || self.is_excused(c));
        let (sewn, crossings): (Vec<_>, Vec<_>) = crossings.into_iter().partition(|c| self.is_sewn(c));
        if !sewn.is_empty() {
            result.figures.add("intersections/at seams", "", sewn.len() as f64);
        }
        let simulated = |surface: u32| (surface as usize) < delivered.len();
        let with_itself = crossings.iter().filter(|c| c.first.0 == c.second.0).count();
        let each_other = crossings
            .iter()
            .filter(|c| c.first.0 != c.second.0 && simulated(c.first.0) && simulated(c.second.0))
            .count();
        let with_obstacles = crossings.len() - with_itself - each_other;
        result.figures.add("intersections/itself", "", with_itself as f64);
        result.figures.add("intersections/obstacles", "", with_obstacles as f64);
        if delivered.len() > 1 {
            result.figures.add("intersections/each other", "", each_other as f64);
        }
        if !followed.is_empty() {
            result.figures.add("intersections/followed exactly", "", followed.len() as f64);
        }
        result.figures.add("contact/pairs", "", report.contacts as f64);
        let prevented: Vec<&Crossing> = crossings.iter().filter(|c| !self.may_cross(c)).collect();
        if let Some(crossing) = prevented.first() {
            let [a, b] = [crossing.first, crossing.second];
            result.warnings.push(format!(
                "{} pairs of triangles cross, the first: {} of `{}` and {} of `{}`",
                prevented.len(),
                a.1,
                audited[a.0 as usize].name,
                b.1,
                audited[b.0 as usize].name,
            ));
        }
        if let Some((obstacle, point)) = report.lagging {
            let [x, y, z] = report.place.to_array();
            result.warnings.push(format!(
                "no room: point {point} of `{}` waits {:.1} mm behind its animation near ({x:.3}, {y:.3}, {z:.3})",
                self.names[obstacle],
                1e3 * report.lag,
            ));
        }
        if report.teleported {
            result.warnings.push("an obstacle jumps here: it was taken to its new place at once".into());
        }
        if report.crossings + report.inside > 0 {
            result.warnings.push(format!(
                "untangling {} crossings, {} points inside obstacles",
                report.crossings, report.inside
            ));
        }
        Ok(())
    }
}
