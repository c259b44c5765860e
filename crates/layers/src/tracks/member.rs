//! From the dials of tracks to its actor: strengths over time, rest shapes, notes.

use std::sync::Arc;

use geometry::{Bounds, Vec2, Vec3};
use shell::tracks::{Averages, ConstraintStrength, Reshaping, TrackedSetup, TrackedShell, greatest_pulls};
use shell::{Bending, Cloth, ClothBuilder, Material, Plasticity, Stretching, Uvs, WindField};

use super::Tracks;
use shot::{LayerError, Target};

use crate::cloth::describe_cells;
use crate::shared::Contact;
use crate::shared::driver::Member;
use crate::shared::points::corner_uvs;
use crate::shared::stepping::stepping;

/// What a cloth is made from, kept so that it can be made again from another rest shape.
struct Recipe {
    triangles: Vec<[u32; 3]>,
    uvs: Option<Vec<[Vec2; 3]>>,
    material: Material,
    bending: Bending,
    stretching: Stretching,
    wind: Arc<WindField>,
}

impl Recipe {
    fn make(&self, rest: &[Vec3]) -> Result<Cloth, shell::Error> {
        let uvs = self.uvs.as_deref().map_or(Uvs::None, Uvs::PerCorner);
        let builder = ClothBuilder::new(rest, &self.triangles, &self.material);
        builder.uvs(uvs).bending(self.bending).stretching(self.stretching).wind(self.wind.clone()).build()
    }
}

impl Tracks {
    /// The shell with everything around it.
    pub(super) fn actor(&self, input: &Target) -> Result<Member, LayerError> {
        let settings = self;
        let parts = settings.pieces(input)?;
        let material = settings.fabric.of(&settings.material).map_err(LayerError::new)?;
        let recipe = Recipe {
            uvs: corner_uvs(&parts.mesh),
            triangles: parts.triangles.clone(),
            material: material.clone(),
            bending: settings.bending,
            stretching: settings.stretching,
            wind: Arc::new(settings.wind.clone().field().map_err(LayerError::new)?),
        };
        let cloth = recipe.make(&parts.rest).map_err(LayerError::new)?;
        let mut known = parts.known;
        cloth.report.massless.iter().for_each(|&point| known[point as usize] = true);
        let first = parts.first.len();
        let sets: Vec<usize> = std::iter::once(&parts.first).chain(&parts.later).map(Averages::len).collect();
        let averages = parts.later.iter().fold(parts.first, |all, later| all.and(later));
        let strength = strengths(settings, input, &averages, &sets, parts.shares, &cloth.masses)?;
        let pulls = greatest_pulls(&averages.tracked, &cloth.masses, settings.max_pull, &material);
        let (notes, warnings) =
            settings.described(input, &cloth, &parts.rest, &parts.triangles, [first, averages.len()]);
        for relief in &settings.relief {
            recipe.make(&relief.shape.pressed(&parts.rest, &parts.triangles)).map_err(LayerError::new)?;
        }
        let reshaping = (!settings.relief.is_empty()).then(|| Reshaping {
            shapes: settings.relief.iter().map(|r| r.shape.pressed(&parts.rest, &parts.triangles)).collect(),
            keys: settings.relief.iter().map(|relief| relief.keys.clone()).collect(),
            rebuild: Box::new(move |rest: &[Vec3]| recipe.make(rest).ok()),
        });
        let guide_rest = input.mesh().rest();
        let size = Bounds::of(guide_rest.iter().copied()).diagonal();
        let (shell, body) = TrackedShell::new(TrackedSetup {
            rest: &parts.rest,
            guide_rest: Some(&guide_rest),
            cloth,
            friction: material.damping_time(),
            averages: Some(averages),
            strength,
            greatest_pulls: pulls,
            correspondence: parts.correspondence,
            known,
            gravity: Vec3::from(settings.gravity),
            plasticity: Plasticity::of(&material),
            reshaping,
            jump: settings.jump * size,
        });
        let contact = settings.contact.clone().unwrap_or_else(Contact::without_obstacles);
        let known = body.known_points().to_vec();
        Ok(Member {
            layer: 0,
            actor: Box::new(shell),
            body,
            skin: contact.skin(&input.mesh().name, parts.rest.clone(), parts.triangles, known),
            touches: settings.contact.is_some(),
            rest: parts.rest,
            input: input.clone(),
            stepping: stepping(settings.integrator, settings.substeps, settings.tolerance),
            adapts: false,
            pre_roll: settings.pre_roll,
            start: None,
            wind: settings.wind.fastest(),
            is_same_mesh: settings.is_same_mesh(),
            sewn: crate::shared::sewing::Sewn::default(),
            finer: None,
            notes,
            warnings,
        })
    }

    /// What the report says of it beforehand; averages at first, and with those that come later.
    fn described(
        &self,
        input: &Target,
        cloth: &Cloth,
        rest: &[Vec3],
        triangles: &[[u32; 3]],
        [first, all]: [usize; 2],
    ) -> (Vec<(String, String)>, Vec<String>) {
        let mut warnings = Vec::new();
        if !cloth.report.degenerate_triangles.is_empty() {
            let count = cloth.report.degenerate_triangles.len();
            warnings.push(format!("{count} triangles without area were left out"));
        }
        warnings.extend(coarse_reliefs(self, rest, triangles));
        let mut notes = vec![
            ("mass".into(), format!("{:.3} kg on {:.3} m²", cloth.report.mass, cloth.report.area)),
            ("guide and tracked points".into(), format!("{} and {}", input.mesh().point_count(), rest.len())),
            ("averages".into(), format!("{first}")),
        ];
        if self.stretching == Stretching::Cells {
            describe_cells(cloth, &mut notes, &mut warnings);
        }
        if all > first {
            notes.push(("averages afterwards".into(), format!("{}", all - first)));
        }
        (notes, warnings)
    }
}

/// Strengths of all averages over time: loosened regions, and sets letting go as others take hold. `sets` has the number of averages in
/// each.
fn strengths(
    settings: &Tracks,
    input: &Target,
    averages: &Averages,
    sets: &[usize],
    shares: Vec<Vec<[f64; 2]>>,
    masses: &[f64],
) -> Result<ConstraintStrength, LayerError> {
    if settings.loosen.is_empty() && sets.len() == 1 && shares.iter().all(Vec::is_empty) {
        return Ok(ConstraintStrength::hard());
    }
    let mut keys = shares;
    for loosen in &settings.loosen {
        let weights = loosen.region.weights(&input.clip, input.mesh, &input.files)?;
        for (r, keys) in keys.iter_mut().enumerate() {
            // a region counts as far as it lies under the test function
            let (mut inside, mut all) = (0.0, 0.0);
            for (point, weight) in averages.guide.row(r) {
                inside += weight.abs() * f64::from(weights[point as usize]);
                all += weight.abs();
            }
            let share = inside / all;
            if share > 0.0 {
                let strength = |&[time, s]: &[f64; 2]| [time, 1.0 + share * (s - 1.0)];
                *keys = multiplied(keys, &loosen.keys.iter().map(strength).collect::<Vec<_>>());
            }
        }
    }
    if sets.len() > 1 {
        let mut rows = keys.iter_mut();
        for (set, fade) in sets.iter().zip(faded(settings)) {
            rows.by_ref().take(*set).for_each(|keys| *keys = multiplied(keys, &fade));
        }
    }
    Ok(ConstraintStrength::new(keys, &averages.tracked, masses, settings.follow_stiffness))
}

/// The strength of every set of averages over time, `tests` first. Shares add up to one; at half each still holds with 0.9, so that in
/// between nothing falls, and one alone is exact.
fn faded(settings: &Tracks) -> Vec<Vec<[f64; 2]>> {
    let then = settings.then.iter().map(|then| vec![[then.from, 0.0], [then.to, 1.0]]);
    let later: Vec<Vec<[f64; 2]>> = then.chain(settings.fade.iter().map(|fade| fade.keys.clone())).collect();
    let shares = |time: f64| -> Vec<f64> {
        let own: Vec<f64> =
            later.iter().map(|keys| shell::tracks::linear_between(keys, time).clamp(0.0, 1.0)).collect();
        let sum: f64 = own.iter().sum();
        let first = (1.0 - sum).max(0.0);
        std::iter::once(first).chain(own.iter().map(|share| share / sum.max(1.0))).collect()
    };
    let mut times: Vec<f64> = later.iter().flatten().map(|key| key[0]).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    // where a share passes one half, the curve of its strength has a bend
    let mut bends = Vec::new();
    for pair in times.windows(2) {
        for (a, b) in shares(pair[0]).into_iter().zip(shares(pair[1])) {
            if (a - 0.5) * (b - 0.5) < 0.0 {
                bends.push(pair[0] + (pair[1] - pair[0]) * (0.5 - a) / (b - a));
            }
        }
    }
    times.extend(bends);
    times.sort_by(f64::total_cmp);
    times.dedup();
    let strength = |share: f64| if share <= 0.5 { 1.8 * share } else { 0.8 + 0.2 * share };
    let of = |set: usize| times.iter().map(|&time| [time, strength(shares(time)[set])]).collect();
    (0..=later.len()).map(of).collect()
}

/// The product of two curves, at the keys of both.
fn multiplied(a: &[[f64; 2]], b: &[[f64; 2]]) -> Vec<[f64; 2]> {
    if a.is_empty() {
        return b.to_vec();
    }
    let mut times: Vec<f64> = a.iter().chain(b).map(|key| key[0]).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let at = shell::tracks::linear_between;
    times.into_iter().map(|time| [time, at(a, time) * at(b, time)]).collect()
}

/// Patterns that the mesh is too coarse to hold.
fn coarse_reliefs(settings: &Tracks, rest: &[Vec3], triangles: &[[u32; 3]]) -> Vec<String> {
    let sides = triangles.iter().flat_map(|t| {
        let [a, b, c] = t.map(|v| rest[v as usize]);
        [a.distance(b), b.distance(c), c.distance(a)]
    });
    let (sum, count) = sides.fold((0.0, 0), |(sum, count), side| (sum + side, count + 1));
    let side = sum / f64::from(count.max(1));
    let too_fine =
        settings.relief.iter().enumerate().filter(|(_, relief)| relief.shape.wavelength < 3.0 * side);
    too_fine
        .map(|(i, relief)| {
            let wave = relief.shape.wavelength;
            format!("relief {i} repeats every {wave:.3} m, but edges are {side:.3} m long: raise `subdivide`")
        })
        .collect()
}
