//! A surface full of flesh, in motion.

use dynamics::ContactModel;
use geometry::{Filled, TetQuality, Topology, Vec3};
use solid::{EmbeddedSurface, EnrichSettings, Enriched, Pose, Solid};

use super::Enrich;
use super::filling;
use super::maps::Maps;
use super::skin;
use shot::{FrameResult, LayerError, Simulation, Target};

use crate::shared::Collider;

pub(super) struct Flesh {
    input: Target,
    engine: solid::Enrich,
    collider: Option<Collider>,
    pre_roll: f64,
    /// Points of pieces that move rigidly, at rest.
    rigid: Vec<Vec<usize>>,
    rest: Vec<Vec3>,
    fit_limit: f64,
    detail: bool,
    notes: Vec<(String, String)>,
    warnings: Vec<String>,
}

impl Flesh {
    pub(super) fn new(settings: &Enrich, input: &Target) -> Result<Self, LayerError> {
        let mesh = input.mesh();
        let rest = mesh.rest();
        let triangles = mesh.point_triangles();
        let (filled, remark) = filling::fill(settings, input)?;
        let (tets, embedding) = (&filled.mesh, &filled.embedding);
        let maps = Maps { settings, input, mesh: tets, embedding };

        let areas = animated_areas(&maps, &rest, &triangles)?;
        let materials = maps.materials()?;
        let solid =
            Solid::with_materials(tets, settings.law, |tet| materials[tet]).map_err(LayerError::new)?;
        let follow = maps.follow()?;
        let averages = maps.averages(&solid.masses, &rest, &triangles)?;
        let diagonal = geometry::Bounds::of(rest.iter().copied()).diagonal();
        let fit_limit = settings.fit_tolerance * diagonal;
        let rows = averages.as_ref().map_or(0, |averages| averages.rows.len());
        let mass: f64 = solid.masses.iter().sum();
        let engine = solid::Enrich::new(
            &EmbeddedSurface { mesh: tets, embedding, areas: &areas },
            solid,
            follow.surface,
            Some(follow.points),
            averages,
            engine_settings(&maps, fit_limit)?,
        )
        .map_err(LayerError::new)?;

        let collider = match &settings.contact {
            Some(contact) => Some(skin::collider(contact, input, &filled, engine.body().known())?),
            None => None,
        };
        let rigid = match &settings.rigid {
            Some(selector) => rigid_pieces(rest.len(), &triangles, &maps.selected(selector)?),
            None => Vec::new(),
        };
        let held = engine.body().known().iter().filter(|known| **known).count();
        let mut notes = notes(&filled, mass, held);
        if rows > 0 {
            notes.push(("averages".into(), rows.to_string()));
        }
        notes.extend(remark.map(|remark| ("flesh at rest".into(), remark)));
        let mut warnings = Vec::new();
        if held == 0 && settings.simulate && settings.follow.is_some() {
            warnings.push("no point follows the animation exactly: everything may drift from it".into());
        }
        if filled.outside > 0 {
            warnings.push(format!("{} points are outside of the tets", filled.outside));
        }
        let pre_roll = settings.pre_roll;
        Ok(Self {
            input: input.clone(),
            engine,
            collider,
            pre_roll,
            rigid,
            rest,
            fit_limit,
            detail: settings.detail,
            notes,
            warnings,
        })
    }

    fn points(&self, index: usize) -> Result<Vec<Vec3>, LayerError> {
        Ok(self.input.points(index)?.iter().map(|p| Vec3::from(p.map(f64::from))).collect())
    }

    /// The frame after, if there is one that can be used: a broken one is reported when it is its turn.
    fn next(&self, index: usize) -> Result<Option<Vec<Vec3>>, LayerError> {
        if index + 1 >= self.input.clip.frame_count() {
            return Ok(None);
        }
        let points = self.points(index + 1)?;
        Ok(points.iter().all(|p| p.is_finite()).then_some(points))
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

impl Simulation for Flesh {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let input = self.input.points(index)?;
        let surface: Vec<Vec3> = input.iter().map(|p| Vec3::from(p.map(f64::from))).collect();
        if let Some(point) = surface.iter().position(|p| !p.is_finite()) {
            let help = "repair the input, or leave the frame out with `frames`";
            return Err(LayerError::new(solid::Error::NotFinite { vertex: point }).with_help(help));
        }
        let next = self.next(index)?;
        let mut result = FrameResult::default();
        let enriched = if index == 0 {
            result.warnings = self.warnings.clone();
            let contact_model = match &mut self.collider {
                Some(collider) if self.pre_roll > 0.0 => {
                    // whole frames of it, and one to spare
                    let seconds = self.pre_roll + 2.0 / self.input.clip.frame_rate_hz;
                    collider.hold(0, -seconds, seconds)?;
                    Some(&mut collider.collision as &mut dyn ContactModel)
                }
                _ => None,
            };
            self.engine.begin_with_contact(&surface, next.as_deref(), contact_model)
        } else {
            let contact_model = match &mut self.collider {
                Some(collider) => {
                    collider.go_to(index)?;
                    Some(&mut collider.collision as &mut dyn ContactModel)
                }
                None => None,
            };
            self.engine.frame_with_contact(index, &surface, next.as_deref(), contact_model)
        };
        let Enriched { mut positions, exact, fitted, effort, reset } = enriched.map_err(LayerError::new)?;
        move_rigidly(&self.rigid, &self.rest, &mut positions, &exact);
        if reset {
            result
                .warnings
                .push("no step could follow the animation here: the flesh was put back on it".into());
        }
        // otherwise what is missing is carried over
        if !self.detail && fitted.error > 1.5 * self.fit_limit {
            result.warnings.push(format!(
                "the tets stay {:.1e} m from the animation, where {:.1e} m were asked for: more `tets` come closer",
                fitted.error, self.fit_limit
            ));
        }
        result.figures.add("fit/error", "m", fitted.error);
        result.figures.add("effort/substeps", "", effort.steps as f64);
        result.figures.add("effort/Newton iterations", "", effort.iterations as f64);
        result.figures.add("effort/fit iterations", "", fitted.iterations as f64);
        let [kinetic, elastic] = self.engine.energies();
        result.figures.add("energy/kinetic", "J", kinetic);
        result.figures.add("energy/elastic", "J", elastic);
        let (largest, mean) = self.engine.solid().strain(&self.engine.pose().state.positions);
        result.figures.add("strain/tets, largest", "%", 100.0 * largest);
        result.figures.add("strain/tets, mean", "%", 100.0 * mean);

        // points that follow exactly are the input's own numbers, never a rounded copy
        let place = |p: usize| if exact[p] { input[p] } else { positions[p].as_vec3().to_array() };
        let points: Vec<[f32; 3]> = (0..positions.len()).map(place).collect();
        if let Some(collider) = &self.collider {
            collider.report(index, &points, &mut result)?;
        }
        result.frame = self.input.with_points(index, points)?;
        Ok(result)
    }

    fn checkpoint(&self) -> Vec<u8> {
        let pose = self.engine.pose().to_bytes();
        let contact =
            self.collider.as_ref().map(|collider| collider.collision.to_bytes()).unwrap_or_default();
        [&(pose.len() as u64).to_le_bytes()[..], &pose, &contact].concat()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        let other = || LayerError::new("the checkpoint is not one of this flesh");
        let (length, rest) = checkpoint.split_first_chunk::<8>().ok_or_else(other)?;
        let (pose, contact) =
            rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(other)?;
        let restored = Pose::from_bytes(pose).is_some_and(|pose| self.engine.restore(pose));
        let apart = self.collider.as_mut().is_none_or(|collider| collider.collision.restore(contact));
        if restored && apart { Ok(()) } else { Err(other()) }
    }

    fn notes(&self) -> Vec<(String, String)> {
        let mut notes = self.notes.clone();
        let [simulation, fit] = self.engine.solver_info();
        notes.push(("gamma of the fit".into(), format!("{:.1e}", self.engine.pose().gamma.value)));
        notes.push(("linear solver".into(), simulation.method));
        notes
            .push(("unknowns".into(), format!("{} simulated, {} fitted", simulation.unknowns, fit.unknowns)));
        let bytes = simulation.factor_bytes + fit.factor_bytes;
        notes.push(("factors".into(), format!("{:.1} MB", bytes as f64 / 1e6)));
        notes
    }
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

/// Each piece in its rest shape, where it lies nearest to what the flesh made of it.
fn move_rigidly(pieces: &[Vec<usize>], rest: &[Vec3], positions: &mut [Vec3], exact: &[bool]) {
    for piece in pieces {
        let from: Vec<Vec3> = piece.iter().map(|&p| rest[p]).collect();
        let to: Vec<Vec3> = piece.iter().map(|&p| positions[p]).collect();
        let (rotation, shift) = solid::rigid_motion(&from, &to);
        for &p in piece.iter().filter(|&&p| !exact[p]) {
            positions[p] = rotation * rest[p] + shift;
        }
    }
}
