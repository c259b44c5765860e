//! From the dials of a cloth to its actor, its skin and its notes.

use std::sync::Arc;

use clip::Selector;
use dynamics::CUT_SIZES;
use geometry::{Bounds, Vec3};
use shell::{
    ClothActor, ClothBuilder, ClothReport, ClothSetup, InextensibleThreads, Maps, Material, Ramp, Stretching,
    Uvs, Weave,
};
use shot::{LayerError, Target};

use super::Cloth;
use super::finer::Finer;
use crate::shared::Contact;
use crate::shared::driver::Member;
use crate::shared::points::corner_uvs;
use crate::shared::selectors::{out_of_reach, soft, weights};
use crate::shared::sewing::Sewn;

impl Cloth {
    /// A cloth that stretches as its membranes let it or, with threads, one whose threads do not.
    pub(crate) fn actor(
        &self,
        input: &Target,
        threads: Option<InextensibleThreads>,
    ) -> Result<Member, LayerError> {
        // threads are the sides of quads, and stay as they are
        let finer = if threads.is_none() { self.finer(input.mesh()) } else { None };
        let mesh = finer.as_ref().map_or(input.mesh(), |finer| &finer.reshape.mesh);
        let chosen = |selector: &Selector| -> Result<Vec<f32>, LayerError> {
            let coarse = weights(selector, input)?;
            Ok(finer.as_ref().map_or_else(|| coarse.clone(), |finer| finer.weights(&coarse)))
        };
        let (rest, triangles, uvs) = (mesh.rest(), mesh.point_triangles(), corner_uvs(mesh));
        let material = self.fabric().map_err(LayerError::new)?;
        let wind = self.wind.field().map_err(LayerError::new)?;
        let limit = self.limit_factor.as_ref().map(chosen).transpose()?;
        let limit: Option<Vec<f64>> = limit.map(|factor| factor.into_iter().map(f64::from).collect());
        let shrink = self.shrinking(mesh.point_count(), &chosen)?;
        let cloth = ClothBuilder::new(&rest, &triangles, &material)
            .uvs(uvs.as_ref().map_or(Uvs::None, |uvs| Uvs::PerCorner(uvs)))
            .wind(Arc::new(wind))
            .bending(self.bending)
            .stretching(self.stretching)
            .maps(Maps { limit: limit.as_deref(), shrink: shrink.as_deref(), ..Maps::default() });
        // threads have their lengths from the beginning, or a sentence why they cannot
        let cloth = if threads.is_none() { cloth.shrinking(self.shrinks_during()) } else { cloth };
        let cloth = cloth.build().map_err(LayerError::new)?;
        let follow = match &self.follow {
            Some(selector) => chosen(selector)?,
            None => vec![0.0; mesh.point_count()],
        };
        let (mut notes, mut warnings) = (Vec::new(), Vec::new());
        if let Some(threads) = &threads {
            describe_threads(threads, &mut notes, &mut warnings);
        }
        warn(&cloth.report, &mut warnings);
        if self.stretching == Stretching::Cells {
            describe_cells(&cloth, &mut notes, &mut warnings);
        }
        warnings.extend(soft(self.follow.as_ref(), input));
        warnings.extend(out_of_reach(self.follow.as_ref(), input));
        let report = cloth.report.clone();
        let (actor, body) = ClothActor::new(ClothSetup {
            cloth,
            friction: material.damping_time(),
            follow: &follow,
            follow_frequency_hz: self.follow_stiffness,
            follow_damping: self.follow_damping,
            max_distance: self.max_distance,
            gravity: Vec3::from(self.gravity),
            threads,
            cut: CUT_SIZES * Bounds::of(rest.iter().copied()).diagonal(),
        });
        let known = body.known_points().to_vec();
        describe(&report, &known, &mut notes);
        if self.subdivide > 0 && finer.is_some() {
            let (coarse, fine) = (input.mesh().point_count(), mesh.point_count());
            notes.push(("subdivided".into(), format!("{coarse} points became {fine}")));
        }
        let contact = self.contact.clone().unwrap_or_else(Contact::without_obstacles);
        Ok(Member {
            layer: 0,
            actor: Box::new(actor),
            body,
            skin: contact.skin(&mesh.name, rest.clone(), triangles, known),
            touches: self.contact.is_some(),
            rest,
            input: input.clone(),
            stepping: self.stepping(),
            adapts: false,
            pre_roll: self.pre_roll,
            start: self.start.clone(),
            wind: self.wind.fastest(),
            is_same_mesh: true,
            sewn: self.sewn(&material, finer.as_ref()),
            finer: finer.map(|finer| finer.reshape),
            notes,
            warnings,
        })
    }
}

/// Seconds that cloth takes to shrink where less, or nothing, comes before the first frame.
const SHRINKS: f64 = 0.5;

/// Mass, area and how much of it follows, before all else.
fn describe(report: &ClothReport, known: &[bool], notes: &mut Vec<(String, String)>) {
    let exact = known.iter().filter(|known| **known).count();
    let what = [
        ("mass".into(), format!("{:.3} kg on {:.3} m²", report.mass, report.area)),
        ("followed exactly".into(), format!("{exact} of {} points", known.len())),
    ];
    notes.splice(0..0, what);
}

impl Cloth {
    /// What is sewn to it, as stiff as its threads.
    fn sewn(&self, material: &Material, finer: Option<&Finer>) -> Sewn {
        Sewn {
            seams: self.sew.clone(),
            elastics: self.elastic.clone(),
            pins: self.pins.clone(),
            stiffness: 0.5 * (material.stretch_warp + material.stretch_weft),
            finer: finer.map(Finer::of_weights),
        }
    }

    /// When it shrinks: over the start, or the pre-roll without one, and for so long in any case.
    fn shrinks_during(&self) -> Ramp {
        let seconds = self.start.as_ref().map_or(self.pre_roll, |start| start.seconds);
        let before = self.pre_roll + self.start.as_ref().map_or(0.0, |start| start.seconds);
        Ramp { start: -before, end: seconds.max(SHRINKS) - before }
    }

    /// How large the cloth is at rest, at every point; none where it is as it was drawn.
    pub(crate) fn shrinking(
        &self,
        points: usize,
        chosen: &dyn Fn(&Selector) -> Result<Vec<f32>, LayerError>,
    ) -> Result<Option<Vec<f64>>, LayerError> {
        let Some(shrink) = self.shrink.filter(|shrink| *shrink != 1.0) else { return Ok(None) };
        Ok(Some(match &self.shrink_where {
            Some(selector) => {
                chosen(selector)?.into_iter().map(|weight| 1.0 + f64::from(weight) * (shrink - 1.0)).collect()
            }
            None => vec![shrink; points],
        }))
    }
}

/// What is odd about the mesh.
fn warn(report: &ClothReport, warnings: &mut Vec<String>) {
    if !report.degenerate_triangles.is_empty() {
        let count = report.degenerate_triangles.len();
        warnings.push(format!("{count} triangles without area were left out"));
    }
    if !report.massless.is_empty() {
        let count = report.massless.len();
        warnings.push(format!("{count} points without cloth around them follow the animation"));
    }
    if report.triangles_without_axes > 0 {
        let count = report.triangles_without_axes;
        warnings.push(format!("{count} triangles have no area in uv; their threads run along the vertical"));
    }
}

/// How much of a cloth is made of cells.
pub(crate) fn describe_cells(
    cloth: &shell::Cloth,
    notes: &mut Vec<(String, String)>,
    warnings: &mut Vec<String>,
) {
    notes.push(("cells".into(), format!("{} of {} triangles", 2 * cloth.cells.len(), cloth.membranes.len())));
    if cloth.cells.is_empty() {
        let why = "no two triangles make a parallelogram with threads that run on";
        warnings.push(format!("{why}: `stretching = \"cells\"` changes nothing here"));
    }
}

/// What is to be told of threads, and what is odd about them.
fn describe_threads(
    threads: &InextensibleThreads,
    notes: &mut Vec<(String, String)>,
    warnings: &mut Vec<String>,
) {
    let Weave { quads, paired, others, bias, .. } = threads.weave();
    let made = if *paired > 0 { format!(", {paired} of them made of two triangles") } else { String::new() };
    notes.push(("quads".into(), format!("{}{made}", quads.len())));
    let [warp, weft] = threads.len();
    notes.push(("threads".into(), format!("{warp} pieces of warp, {weft} of weft")));
    if *others > 0 {
        warnings.push(format!("{others} faces are no quads; only their sides along the grain are threads"));
    }
    if !bias.is_empty() {
        warnings.push(format!("{} edges run along neither warp nor weft and may stretch", bias.len()));
    }
}
