//! From the dials of enrich to its actor: tets, materials, maps, notes.

use geometry::{Filled, TetQuality, Topology, Vec3};
use solid::{EmbeddedSurface, EnrichSettings, FleshActor, Solid};

use super::Enrich;
use super::filling::{self, Filling};
use super::maps::Maps;
use super::skin;
use shot::{LayerError, Target};

use crate::shared::Contact;
use crate::shared::driver::Member;
use crate::shared::selectors::{out_of_reach, soft};

impl Enrich {
    /// The flesh with everything around it.
    pub(super) fn actor(&self, input: &Target) -> Result<Member, LayerError> {
        let mesh = input.mesh();
        let rest = mesh.rest();
        let triangles = mesh.point_triangles();
        let Filling { filled, remark, warning } = filling::fill(self, input)?;
        let (tets, embedding) = (&filled.mesh, &filled.embedding);
        let maps = Maps { settings: self, input, mesh: tets, embedding };

        let areas = animated_areas(&maps, &rest, &triangles)?;
        let materials = maps.materials()?;
        let solid = Solid::with_materials(tets, self.law, |tet| materials[tet]).map_err(LayerError::new)?;
        let follow = maps.follow()?;
        let averages = maps.averages(&solid.masses, &rest, &triangles)?;
        let diagonal = geometry::Bounds::of(rest.iter().copied()).diagonal();
        let rows = averages.as_ref().map_or(0, |averages| averages.rows.len());
        let mass: f64 = solid.masses.iter().sum();
        let (actor, body) = FleshActor::new(
            &EmbeddedSurface { mesh: tets, embedding, areas: &areas },
            solid,
            follow.surface,
            Some(follow.points),
            averages,
            engine_settings(&maps, self.fit_tolerance * diagonal)?,
        )
        .map_err(LayerError::new)?;
        let rigid = match &self.rigid {
            Some(selector) => rigid_pieces(rest.len(), &triangles, &maps.selected(selector)?),
            None => Vec::new(),
        };
        let held = actor.known().iter().filter(|known| **known).count();
        let mut notes = notes(&filled, mass, held);
        if rows > 0 {
            notes.push(("averages".into(), rows.to_string()));
        }
        notes.extend(remark.map(|remark| ("flesh at rest".into(), remark)));
        let mut warnings = Vec::from_iter(warning);
        warnings.extend(soft(self.follow.as_ref(), input));
        warnings.extend(out_of_reach(self.follow.as_ref(), input));
        if held == 0 && self.simulate && self.follow.is_some() {
            warnings.push("no point follows the animation exactly: everything may drift from it".into());
        }
        if self.says_nothing() {
            warnings.push(format!(
                "nothing says what follows the animation: limbs, head and what stands on the floor do, {held} points of the flesh; \
                 say it with `follow`, or `follow = {{ not = \"all\" }}` for a body that nothing holds"
            ));
        }
        if self.rigid.is_some() && rigid.is_empty() {
            warnings.push(
                "`rigid` selects no connected piece of the surface as a whole: nothing is rigid".into(),
            );
        }
        if filled.outside > 0 {
            warnings.push(format!("{} points are outside of the tets", filled.outside));
        }
        let contact = self.contact.clone().unwrap_or_else(Contact::without_obstacles);
        Ok(Member {
            layer: 0,
            skin: skin::of(contact, input, &filled, actor.known()),
            touches: self.contact.is_some() && self.simulate,
            actor: Box::new(actor.with_rigid_pieces(rigid, rest)),
            body,
            rest: filled.mesh.points().to_vec(),
            input: input.clone(),
            stepping: self.stepping(),
            adapts: false,
            pre_roll: if self.simulate { self.pre_roll } else { 0.0 },
            start: None,
            wind: 0.0,
            is_same_mesh: true,
            sewn: crate::shared::sewing::Sewn::default(),
            finer: None,
            notes,
            warnings,
        })
    }
}

/// Areas of the points that are fitted to the animation; zero where it is not animated.
fn animated_areas(maps: &Maps<'_>, rest: &[Vec3], triangles: &[[u32; 3]]) -> Result<Vec<f64>, LayerError> {
    let mut areas = filling::areas(rest, triangles);
    if let Some(animated) = &maps.settings.animated {
        let animated = maps.selected(animated)?;
        let still = areas.iter_mut().zip(&animated).filter(|(_, weight)| **weight <= 0.5);
        still.for_each(|(area, _)| *area = 0.0);
    }
    Ok(areas)
}

/// The dials in the engine's words; a fit may be off by `fit_limit` metres.
fn engine_settings(maps: &Maps<'_>, fit_limit: f64) -> Result<EnrichSettings, LayerError> {
    let settings = maps.settings;
    Ok(EnrichSettings {
        frame_rate_hz: maps.input.clip.frame_rate_hz,
        gravity: Vec3::from(settings.gravity),
        extra_gravity: maps.extra_gravity()?,
        follow_frequency_hz: settings.follow_stiffness,
        follow_damping: settings.follow_damping,
        max_distance: settings.max_distance,
        pre_roll: settings.pre_roll,
        fit_tolerance: fit_limit,
        gamma: settings.gamma,
        simulate: settings.simulate,
        detail: settings.detail,
        stepping: settings.stepping(),
    })
}

/// What the report tells of a body of this mass, `held` of whose points follow exactly.
fn notes(filled: &Filled, mass: f64, held: usize) -> Vec<(String, String)> {
    let tets = &filled.mesh;
    let (count, points) = (tets.tets().len(), tets.points().len());
    vec![
        ("tets".into(), format!("{count} with {points} points, edges of {:.3} m", filled.edge)),
        ("dihedral angles".into(), angles(&TetQuality::of(tets))),
        ("mass".into(), format!("{mass:.2} kg")),
        ("held".into(), format!("{held} of {points} tet points")),
    ]
}

/// The extremes, and how many angles in a hundred lie in each span of ten degrees.
fn angles(quality: &TetQuality) -> String {
    let total = quality.dihedral_histogram.iter().sum::<usize>().max(1) as f64;
    let spans = quality.dihedral_histogram.iter().enumerate().filter(|(_, count)| **count > 0);
    let spans: Vec<String> = spans
        .map(|(ten, count)| {
            format!("{}–{}°: {:.1} %", 10 * ten, 10 * ten + 10, 100.0 * *count as f64 / total)
        })
        .collect();
    let (least, most) = (quality.smallest_dihedral.to_degrees(), quality.largest_dihedral.to_degrees());
    format!("{least:.1}° to {most:.1}°; {}", spans.join(", "))
}

/// Connected pieces that are selected as a whole.
fn rigid_pieces(count: usize, triangles: &[[u32; 3]], selected: &[f64]) -> Vec<Vec<usize>> {
    let components = Topology::new(count, triangles).components();
    let pieces = components.iter().map(|&c| c as usize + 1).max().unwrap_or(0);
    let mut points: Vec<Vec<usize>> = vec![Vec::new(); pieces];
    for (point, &component) in components.iter().enumerate() {
        points[component as usize].push(point);
    }
    points.retain(|points| points.len() > 2 && points.iter().all(|&p| selected[p] > 0.5));
    points
}
