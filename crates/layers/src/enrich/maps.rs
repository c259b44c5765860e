//! From what the artist painted on the surface to what the tets need.

use clip::Selector;
use geometry::{Embedding, TetMesh, Vec3};
use solid::{
    AverageRows, Material, Spread, WeightKey, complementary_rows, from_surface, spread, surface_rows,
};

use super::{Enrich, FleshRegion, FollowKey, FollowStroke};
use shot::{LayerError, Target};

/// The surface and its tets, for reading maps.
pub(super) struct Maps<'a> {
    pub(super) settings: &'a Enrich,
    pub(super) input: &'a Target,
    pub(super) mesh: &'a TetMesh,
    pub(super) embedding: &'a Embedding,
}

/// Weights over time, of the surface and of the tets' points.
pub(super) struct Follow {
    pub(super) surface: Vec<WeightKey>,
    pub(super) points: Vec<WeightKey>,
}

impl Maps<'_> {
    pub(super) fn selected(&self, selector: &Selector) -> Result<Vec<f64>, LayerError> {
        let weights = selector.weights(&self.input.clip, self.input.mesh, &self.input.files)?;
        Ok(weights.into_iter().map(f64::from).collect())
    }

    /// The material of every tet.
    pub(super) fn materials(&self) -> Result<Vec<Material>, LayerError> {
        let base = self.settings.base_material().map_err(LayerError::new)?;
        let mut materials = vec![base; self.mesh.tets().len()];
        for region in &self.settings.regions {
            let other = region.material(&base).map_err(LayerError::new)?;
            let amounts = self.amounts(region)?;
            for (material, corners) in materials.iter_mut().zip(self.mesh.tets()) {
                let amount = corners.iter().map(|&p| amounts[p as usize]).sum::<f64>() / 4.0;
                *material = material.mixed(&other, amount.clamp(0.0, 1.0));
            }
        }
        Ok(materials)
    }

    /// How much of a region each tet point is.
    fn amounts(&self, region: &FleshRegion) -> Result<Vec<f64>, LayerError> {
        match &region.at {
            Some(at) => from_surface(self.mesh, self.embedding, &self.selected(at)?).map_err(LayerError::new),
            None => Ok(vec![1.0; self.mesh.points().len()]),
        }
    }

    /// What regions with a gravity of their own add to the layer's, for every tet point; empty where there are none.
    pub(super) fn extra_gravity(&self) -> Result<Vec<Vec3>, LayerError> {
        let mut extra = Vec::new();
        let whole = Vec3::from(self.settings.gravity);
        for region in &self.settings.regions {
            let Some(gravity) = region.gravity else { continue };
            extra.resize(self.mesh.points().len(), Vec3::ZERO);
            for (extra, amount) in extra.iter_mut().zip(self.amounts(region)?) {
                *extra = extra.lerp(Vec3::from(gravity) - whole, amount.clamp(0.0, 1.0));
            }
        }
        Ok(extra)
    }

    pub(super) fn follow(&self) -> Result<Follow, LayerError> {
        let Enrich { follow, paint, keys, .. } = self.settings;
        let first = FollowKey { frame: 0, follow: follow.clone(), paint: paint.clone() };
        let mut result = Follow { surface: Vec::new(), points: Vec::new() };
        for key in std::iter::once(&first).chain(keys) {
            let time = key.frame as f64 / self.input.clip.frame_rate_hz;
            let (surface, points) = self.weights(key)?;
            result.surface.push(WeightKey { time, weights: surface });
            result.points.push(WeightKey { time, weights: points });
        }
        Ok(result)
    }

    fn weights(&self, key: &FollowKey) -> Result<(Vec<f64>, Vec<f64>), LayerError> {
        let mut surface = match &key.follow {
            Some(follow) => self.selected(follow)?,
            None if self.settings.says_nothing() => super::thin::weights(self.input)?,
            None => vec![0.0; self.embedding.len()],
        };
        if let Some(point) = surface.iter().position(|weight| !(0.0..=1.0).contains(weight)) {
            let sentence =
                format!("`follow` has weight {} at point {point}; weights go from 0 to 1", surface[point]);
            return Err(LayerError::new(sentence));
        }
        if key.paint.is_empty() {
            let points = from_surface(self.mesh, self.embedding, &surface).map_err(LayerError::new)?;
            return Ok((surface, points));
        }
        // strokes: their weights at the corners of the tets they touch; what `follow` weighs counts as painted first
        let mut strokes: Vec<(usize, f64)> =
            (0..surface.len()).filter(|&v| surface[v] > 0.0).map(|v| (v, surface[v])).collect();
        for FollowStroke { at, follow } in &key.paint {
            let chosen = self.selected(at)?;
            strokes.extend((0..chosen.len()).filter(|&v| chosen[v] > 0.5).map(|v| (v, *follow)));
        }
        let mut sums = vec![(0.0, 0.0); self.mesh.points().len()];
        for &(v, weight) in &strokes {
            for &p in &self.embedding.corners()[v] {
                let (sum, count) = &mut sums[p as usize];
                (*sum, *count) = (*sum + weight, *count + 1.0);
            }
        }
        let given: Vec<(u32, f64)> = sums
            .iter()
            .enumerate()
            .filter(|(_, (_, count))| *count > 0.0)
            .map(|(p, (sum, count))| (p as u32, sum / count))
            .collect();
        let points = spread(self.mesh, &given, Spread::BiLaplace).map_err(LayerError::new)?;
        let carried = |v: usize| -> f64 {
            let (corners, shares) = (self.embedding.corners()[v], self.embedding.weights()[v]);
            (0..4).map(|i| shares[i] * points[corners[i] as usize]).sum()
        };
        // only what was painted 1 is exact
        surface = (0..surface.len()).map(|v| carried(v).clamp(0.0, 0.9999)).collect();
        strokes.iter().for_each(|&(v, weight)| surface[v] = weight);
        Ok((surface, points))
    }

    /// Averages that tie the flesh to the animation, if any are asked for.
    pub(super) fn averages(
        &self,
        masses: &[f64],
        rest: &[Vec3],
        triangles: &[[u32; 3]],
    ) -> Result<Option<AverageRows>, LayerError> {
        let mut averages: Option<AverageRows> = None;
        if self.settings.patches > 0 {
            let patches = patches(rest, triangles, self.settings.patches);
            averages = Some(surface_rows(self.embedding, &patches));
        }
        if self.settings.complementary > 0.0 {
            let (strength, frequency) = (self.settings.complementary, self.settings.follow_stiffness);
            let (names, bones) = self.bones()?;
            let leak = self.leak(strength);
            // what is not forbidden is not half forbidden by a hard row: less than 1 also yields, so that nothing jumps at 0
            let rows = complementary_rows(self.mesh.points(), masses, &bones, &names, &leak)
                .with_strength(strength, masses, frequency);
            averages = Some(match averages {
                // tracked and complementary at once: all rows of both, followed as the fit does
                Some(tracked) => tracked.and(&rows),
                None => rows,
            });
        }
        Ok(averages)
    }

    /// Names of all bones, and their skin weights at the tets' points.
    fn bones(&self) -> Result<(Vec<String>, Vec<Vec<f64>>), LayerError> {
        let Some(skin) = &self.input.mesh().skin else {
            return Err(LayerError::new("the mesh has no skin").with_help("set `complementary` to 0"));
        };
        let joints = self.input.clip.skeleton.as_ref().map(|skeleton| skeleton.joints.as_slice());
        let (mut names, mut bones) = (Vec::new(), Vec::new());
        for bind in 0..skin.binds.len() {
            let weight = |influences: &Vec<(u32, f32)>| {
                influences.iter().filter(|(b, _)| *b as usize == bind).map(|(_, w)| f64::from(*w)).sum()
            };
            let surface: Vec<f64> = skin.influences.iter().map(weight).collect();
            if surface.iter().any(|weight| *weight > 0.0) {
                bones.push(from_surface(self.mesh, self.embedding, &surface).map_err(LayerError::new)?);
                let joint = joints.and_then(|joints| joints.get(skin.binds[bind].0));
                names.push(joint.map_or_else(|| format!("bone {bind}"), |joint| joint.name.clone()));
            }
        }
        Ok((names, bones))
    }

    /// D of complementary dynamics: 1 inside, `hold` at the boundary of the tets, where momentum may leak.
    fn leak(&self, hold: f64) -> Vec<f64> {
        let mut leak = vec![1.0; self.mesh.points().len()];
        for &p in self.mesh.boundary_faces().iter().flatten() {
            leak[p as usize] = hold;
        }
        leak
    }
}

/// Test functions: about `count` compact patches of equal size, area weights within each. Seeds as far from each other as can be, then
/// Lloyd's iterations.
fn patches(rest: &[Vec3], triangles: &[[u32; 3]], count: usize) -> Vec<Vec<f64>> {
    let areas = geometry::vertex_areas(rest, triangles);
    let used: Vec<usize> = (0..rest.len()).filter(|&v| areas[v] > 0.0).collect();
    let Some(&first) = used.first() else { return Vec::new() };
    let mut seeds = vec![rest[first]];
    let mut nearest: Vec<f64> = used.iter().map(|&v| rest[v].distance_squared(seeds[0])).collect();
    while seeds.len() < count.min(used.len()) {
        let farthest = (0..used.len()).max_by(|&a, &b| nearest[a].total_cmp(&nearest[b])).unwrap_or(0);
        let seed = rest[used[farthest]];
        seeds.push(seed);
        for (near, &v) in nearest.iter_mut().zip(&used) {
            *near = near.min(rest[v].distance_squared(seed));
        }
    }
    let owner = |seeds: &[Vec3], v: usize| {
        let by = |&a: &usize, &b: &usize| {
            rest[v].distance_squared(seeds[a]).total_cmp(&rest[v].distance_squared(seeds[b]))
        };
        (0..seeds.len()).min_by(by).unwrap_or(0)
    };
    for _ in 0..10 {
        let mut sums = vec![(Vec3::ZERO, 0.0); seeds.len()];
        for &v in &used {
            let (sum, area) = &mut sums[owner(&seeds, v)];
            (*sum, *area) = (*sum + areas[v] * rest[v], *area + areas[v]);
        }
        for (seed, (sum, area)) in seeds.iter_mut().zip(sums) {
            if area > 0.0 {
                *seed = sum / area;
            }
        }
    }
    let mut functions = vec![vec![0.0; rest.len()]; seeds.len()];
    for &v in &used {
        functions[owner(&seeds, v)][v] = areas[v];
    }
    functions.retain(|function| function.iter().any(|w| *w > 0.0));
    for function in &mut functions {
        let total: f64 = function.iter().sum();
        function.iter_mut().for_each(|w| *w /= total);
    }
    functions
}
