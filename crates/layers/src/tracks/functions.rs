//! Which averages follow: the kinds of test functions, from the shot file to rows.

use clip::{Clip, Mesh, Selector};
use geometry::{Mat3, Prolongation, Vec3, rigid_motion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::tracks::{Averages, Clusters, RestSurface, TestFunctions, cluster, harmonics};

use super::silhouette::Silhouette;
use super::sliding::Sliding;
use super::{Tracks, in_order};
use crate::shared::idle::Idle;
use shot::{LayerError, Target};

/// Test functions: where averages are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tests {
    /// `hats` (one per point of the animation's mesh), `clusters`, `painted`, `harmonics`, `silhouette` or `sliding`. Default: hats on a
    /// finer mesh, clusters on the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<TestFunctionKind>,
    /// How many clusters, harmonics or bands: more keep smaller gestures, fewer leave larger folds to physics.
    #[schemars(range(min = 1, max = 100_000))]
    pub count: usize,
    /// Painted regions, each a selector on the animation's mesh and, where the names differ, another on the tracked one.
    pub regions: Vec<TestRegion>,
    /// Shape of clusters: 1 compact, 0 flat.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub compactness: f64,
    /// Where clusters are smaller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<Selector>,
    /// How many more clusters per area there are where `density` is 1.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub denser: f64,
    /// How many frames of the animation clusters look at, chosen at random.
    #[schemars(range(min = 1, max = 10_000))]
    pub frames: usize,
    /// Where the camera stands that sees a silhouette, in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub camera: Option<[f64; 3]>,
    /// A painted field from 0 to 1, along which what is held slides; where it is 0, nothing ever is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Selector>,
    /// How much of the field is held at a time.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub window: f64,
    /// Where on the field the middle of what is held is, over time, as `[seconds, value]`; linear between.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("minimum" = -10.0, "maximum" = 10.0, "x-usual" = [0.0, 1.0], "x-keys" = true))]
    pub slide: Vec<[f64; 2]>,
    /// Another seed, other frames and other clusters.
    #[schemars(extend("minimum" = 0, "maximum" = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
}

/// A kind of test functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestFunctionKind {
    /// One per point of the animation's mesh: 1 there, 0 at its neighbours.
    Hats,
    /// Regions that move alike.
    Clusters,
    /// Regions by selectors.
    Painted,
    /// The lowest tones of the tracked surface.
    Harmonics,
    /// One per point of the animation's mesh while it is on the outline that `camera` sees.
    Silhouette,
    /// Bands of a painted `field`, each while the window that moves along it by `slide` is over it.
    Sliding,
}

/// A painted region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestRegion {
    /// On the animation's mesh.
    pub guide: Selector,
    /// On the tracked mesh. Default: the same region, carried over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracked: Option<Selector>,
}

impl Default for Tests {
    fn default() -> Self {
        Self {
            kind: None,
            count: 64,
            regions: Vec::new(),
            compactness: 0.5,
            density: None,
            denser: 4.0,
            frames: 32,
            camera: None,
            field: None,
            window: 0.25,
            slide: Vec::new(),
            seed: 1,
        }
    }
}

impl Tests {
    /// The kind, or what is usual for the mesh.
    pub(super) fn kind(&self, same_mesh: bool) -> TestFunctionKind {
        self.kind.unwrap_or(if same_mesh { TestFunctionKind::Clusters } else { TestFunctionKind::Hats })
    }

    /// Whether frames from the whole animation are looked at.
    pub(super) fn looks_everywhere(&self, same_mesh: bool) -> bool {
        matches!(self.kind(same_mesh), TestFunctionKind::Clusters | TestFunctionKind::Silhouette)
    }

    /// Dials that its kind does not have.
    pub(super) fn idle(&self, prefix: &str, same_mesh: bool, idle: &mut Idle) {
        let plain = Self::default();
        let count = ("count", self.count != plain.count);
        let regions = ("regions", !self.regions.is_empty());
        let denser = ("denser", self.denser != plain.denser);
        let camera = ("camera", self.camera.is_some());
        let of_clusters = [
            ("compactness", self.compactness != plain.compactness),
            ("density", self.density.is_some()),
            denser,
            ("frames", self.frames != plain.frames),
            ("seed", self.seed != plain.seed),
        ];
        let of_sliding = [
            ("field", self.field.is_some()),
            ("window", self.window != plain.window),
            ("slide", !self.slide.is_empty()),
        ];
        let (clusters, sliding) = (&of_clusters[..], &of_sliding[..]);
        let (keys, why) = match self.kind(same_mesh) {
            TestFunctionKind::Hats => {
                ([&[count, regions, camera], clusters, sliding].concat(), "hats have none")
            }
            TestFunctionKind::Painted => {
                ([&[count, camera], clusters, sliding].concat(), "painted regions have none")
            }
            TestFunctionKind::Harmonics => {
                ([&[regions, camera], clusters, sliding].concat(), "harmonics have none")
            }
            TestFunctionKind::Clusters => {
                ([&[regions, camera], sliding].concat(), "clusters are found, not painted")
            }
            TestFunctionKind::Silhouette => {
                ([&[count, regions], clusters, sliding].concat(), "silhouettes have none")
            }
            TestFunctionKind::Sliding => {
                ([&[regions, camera], clusters].concat(), "what slides follows its field")
            }
        };
        idle.say(prefix, &keys, why);
        if self.kind(same_mesh) == TestFunctionKind::Clusters && self.density.is_none() {
            idle.say(prefix, &[denser], "`density` says nowhere that clusters are smaller");
        }
    }

    /// Selectors on the animation's mesh with their places.
    pub(super) fn selectors(&self) -> impl Iterator<Item = (String, &Selector)> {
        let regions = self.regions.iter().enumerate();
        let density = self.density.iter().map(|density| (String::from("density"), density));
        let field = self.field.iter().map(|field| (String::from("field"), field));
        density.chain(field).chain(regions.map(|(i, region)| (format!("regions[{i}].guide"), &region.guide)))
    }
}

/// Guide, tracked mesh, the way between them, and the constraints.
pub(super) struct Pieces {
    pub(super) mesh: Mesh,
    pub(super) rest: Vec<Vec3>,
    pub(super) triangles: Vec<[u32; 3]>,
    pub(super) correspondence: Prolongation,
    /// Points that follow exactly.
    pub(super) known: Vec<bool>,
    pub(super) first: Averages,
    /// Those of `then` and `fade`.
    pub(super) later: Vec<Averages>,
    /// The share of every average of all sets over time; always whole where there are no keys.
    pub(super) shares: Vec<Vec<[f64; 2]>>,
}

impl Tracks {
    /// Everything but the physics. All that can be wrong with correspondence and test functions is found here.
    pub(super) fn pieces(&self, input: &Target) -> Result<Pieces, LayerError> {
        let guide = input.mesh();
        let (mesh, correspondence) = self.tracked_mesh(input)?;
        let (rest, triangles) = (mesh.rest(), mesh.point_triangles());
        let mut known = vec![false; rest.len()];
        if let Some(follow) = &self.follow {
            let weights = numbers(&follow.weights(&input.clip, input.mesh, &input.files)?);
            for (known, weight) in known.iter_mut().zip(correspondence.numbers(&weights)) {
                *known = weight >= 1.0 - 1e-6;
            }
        }
        // points without cloth around them cannot be moved by it
        let areas = geometry::vertex_areas(&rest, &triangles);
        known.iter_mut().zip(&areas).filter(|(_, area)| **area <= 0.0).for_each(|(known, _)| *known = true);
        let free: Vec<bool> = known.iter().map(|known| !known).collect();
        let guide_rest = guide.rest();
        let guide_triangles = guide.point_triangles();
        // regions by place are where the file has them, also where the mesh was moved since
        let own = if self.is_paired() { self.other_mesh(input)? } else { None };
        let mut shares = Vec::new();
        let mut make = |tests: &Tests| -> Result<Averages, LayerError> {
            let coarse = RestSurface { rest: &guide_rest, triangles: &guide_triangles };
            let fine = RestSurface { rest: &rest, triangles: &triangles };
            let mut seen = None;
            let functions = match tests.kind(self.is_same_mesh()) {
                TestFunctionKind::Harmonics => {
                    let functions = harmonics(&rest, &triangles, tests.count).map_err(explain)?;
                    let names = (0..functions.len()).map(|tone| format!("harmonic {tone}")).collect();
                    shares.extend(vec![Vec::new(); functions.len()]);
                    return Averages::through(names, &functions, fine, &correspondence, &free)
                        .map_err(explain);
                }
                TestFunctionKind::Hats => TestFunctions::hats(&correspondence),
                TestFunctionKind::Painted => {
                    painted(tests, input, own.as_ref().unwrap_or(&mesh), &correspondence)?
                }
                TestFunctionKind::Clusters => {
                    let regions = clusters(tests, input, &guide_triangles)?;
                    TestFunctions::regions(&guide_rest, &guide_triangles, &regions, &correspondence)
                }
                TestFunctionKind::Silhouette => {
                    let Silhouette { functions, shares } =
                        silhouette(tests, input, &guide_triangles, &correspondence)?;
                    seen = Some(shares);
                    functions
                }
                TestFunctionKind::Sliding => {
                    let Sliding { functions, shares } = sliding(tests, input, &correspondence)?;
                    seen = Some(shares);
                    functions
                }
            };
            shares.extend(seen.unwrap_or_else(|| vec![Vec::new(); functions.len()]));
            Averages::new(&functions, coarse, fine, &correspondence, &free).map_err(explain)
        };
        let first = make(&self.tests)?;
        let later = self.later_tests().map(|(_, tests)| make(tests)).collect::<Result<Vec<_>, _>>()?;
        Ok(Pieces { rest, triangles, correspondence, known, first, later, shares, mesh })
    }
}

impl Tracks {
    /// Whether every set of averages is of regions painted on both meshes, so that the two need not lie on each other.
    pub(super) fn is_paired(&self) -> bool {
        let paired = |tests: &Tests| {
            tests.kind == Some(TestFunctionKind::Painted)
                && !tests.regions.is_empty()
                && tests.regions.iter().all(|region| region.tracked.is_some())
        };
        paired(&self.tests) && self.later_tests().all(|(_, tests)| paired(tests))
    }

    /// The tracked mesh moved, as a rigid body, to where the middles of its regions are nearest to those on the animation's.
    pub(super) fn brought_together(&self, input: &Target, mesh: Mesh) -> Result<Mesh, LayerError> {
        let guide = input.mesh();
        let alone = Clip::still(mesh.clone(), input.clip.frame_rate_hz, 1);
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for region in &self.tests.regions {
            let Some(tracked) = &region.tracked else { continue };
            let here = tracked.weights(&alone, 0, &input.files)?;
            let there = region.guide.weights(&input.clip, input.mesh, &input.files)?;
            let middles = middle(&mesh.rest(), &here).zip(middle(&guide.rest(), &there));
            middles.into_iter().for_each(|(a, b)| {
                from.push(a);
                to.push(b);
            });
        }
        // two regions or one say where, not how it is turned
        let (turn, shift) = match from.len() {
            0 => return Ok(mesh),
            1 | 2 => {
                (Mat3::IDENTITY, (to.iter().sum::<Vec3>() - from.iter().sum::<Vec3>()) / from.len() as f64)
            }
            _ => rigid_motion(&from, &to),
        };
        let place = |p: &[f32; 3]| (turn * Vec3::from(p.map(f64::from)) + shift).as_vec3().to_array();
        Ok(Mesh { rest_points: mesh.rest_points.iter().map(place).collect(), ..mesh })
    }
}

/// The mean of points with these weights; none where nothing weighs.
fn middle(points: &[Vec3], weights: &[f32]) -> Option<Vec3> {
    let all: f64 = weights.iter().map(|w| f64::from(*w)).sum();
    let sum: Vec3 = points.iter().zip(weights).map(|(p, w)| f64::from(*w) * *p).sum();
    (all > 0.0).then(|| sum / all)
}

impl Pieces {
    /// A number for each tracked point that tells test functions apart: each has its own, and where several meet, points are in
    /// between.
    pub(super) fn painted(&self) -> Vec<f32> {
        let mut sums = vec![[0.0_f64; 2]; self.rest.len()];
        for r in 0..self.first.len() {
            // steps of the golden section: whatever the order, neighbours are far from each other
            let number = (0.618_033_988_75 * r as f64).fract();
            let size = self.first.tracked.row(r).map(|(_, w)| w.abs()).fold(f64::MIN_POSITIVE, f64::max);
            for (point, weight) in self.first.tracked.row(r) {
                let share = weight.max(0.0) / size;
                let [sum, all] = &mut sums[point as usize];
                (*sum, *all) = (*sum + share * number, *all + share);
            }
        }
        sums.iter().map(|[sum, all]| if *all > 1e-6 { (sum / all) as f32 } else { f32::NAN }).collect()
    }
}

fn painted(
    tests: &Tests,
    input: &Target,
    tracked: &Mesh,
    correspondence: &Prolongation,
) -> Result<TestFunctions, LayerError> {
    if tests.regions.is_empty() {
        return Err(
            LayerError::new("there are no painted regions").with_help("name them under `tests.regions`")
        );
    }
    // selectors by place look at a first frame: the tracked mesh has its rest shape
    let alone = Clip::still(tracked.clone(), input.clip.frame_rate_hz, 1);
    let mut functions = TestFunctions::new();
    for (i, region) in tests.regions.iter().enumerate() {
        let guide = numbers(&region.guide.weights(&input.clip, input.mesh, &input.files)?);
        let tracked = match &region.tracked {
            Some(selector) => numbers(&selector.weights(&alone, 0, &input.files)?),
            None => correspondence.numbers(&guide),
        };
        let name = match &region.guide {
            Selector::Group(names) | Selector::Joint(names) => names.iter().collect::<Vec<_>>().join("+"),
            _ => format!("region {i}"),
        };
        functions.push(name, &guide, &tracked);
    }
    Ok(functions)
}

/// What a camera sees as outline, in all frames.
fn silhouette(
    tests: &Tests,
    input: &Target,
    triangles: &[[u32; 3]],
    correspondence: &Prolongation,
) -> Result<Silhouette, LayerError> {
    let Some(camera) = tests.camera else {
        return Err(LayerError::new("a silhouette is what somebody sees")
            .with_help("say where the camera stands: `tests.camera = [0.0, 1.5, 4.0]`"));
    };
    let mut frames = Vec::new();
    for index in 0..input.clip.frame_count() {
        frames.push(input.points(index)?.iter().map(|p| Vec3::from(p.map(f64::from))).collect());
    }
    let rate = input.clip.frame_rate_hz;
    Ok(Silhouette::new(frames.into_iter(), triangles, Vec3::from(camera), rate, correspondence))
}

/// Bands of a painted field, and when each holds.
fn sliding(tests: &Tests, input: &Target, correspondence: &Prolongation) -> Result<Sliding, LayerError> {
    let Some(field) = &tests.field else {
        return Err(LayerError::new("what slides follows a painted field")
            .with_help("name it: `tests.field = { group = \"along\" }`, from 0 to 1"));
    };
    if !in_order(&tests.slide) {
        return Err(LayerError::new(format!(
            "keys must be finite and their times ascend: {:?}",
            tests.slide
        ))
        .with_help("say where on the field it is over time: `tests.slide = [[0.0, 0.0], [2.0, 1.0]]`"));
    }
    if !(0.0..=2.0).contains(&tests.window) {
        return Err(LayerError::new(format!("`tests.window` is {}, not from 0 to 2", tests.window)));
    }
    let field = numbers(&field.weights(&input.clip, input.mesh, &input.files)?);
    let sliding = Sliding::new(&field, tests.count, tests.window, &tests.slide, correspondence);
    if sliding.functions.is_empty() {
        return Err(LayerError::new("the field of `tests.field` is 0 everywhere")
            .with_help("paint it from above 0 where it begins to 1 where it ends"));
    }
    Ok(sliding)
}

fn clusters(tests: &Tests, input: &Target, triangles: &[[u32; 3]]) -> Result<Vec<u32>, LayerError> {
    let count = input.clip.frame_count();
    let mut frames = Vec::new();
    let mut random = tests.seed;
    let mut left: Vec<usize> = (0..count).collect();
    // the first frame and others at random, each once
    while frames.len() < tests.frames.min(count) {
        let at = if frames.is_empty() { 0 } else { (next(&mut random) % left.len() as u64) as usize };
        let points = input.points(left.swap_remove(at))?;
        frames.push(points.iter().map(|p| Vec3::from(p.map(f64::from))).collect());
    }
    let density = match &tests.density {
        Some(selector) => {
            let weights = selector.weights(&input.clip, input.mesh, &input.files)?;
            Some(weights.iter().map(|w| 1.0 + (tests.denser - 1.0) * f64::from(*w)).collect::<Vec<f64>>())
        }
        None => None,
    };
    let what = Clusters {
        triangles,
        frames: &frames,
        count: tests.count,
        compactness: tests.compactness,
        density: density.as_deref(),
        seed: tests.seed,
        iterations: 32,
    };
    cluster(&what).map_err(explain)
}

/// A well-mixed number.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn numbers(weights: &[f32]) -> Vec<f64> {
    weights.iter().map(|weight| f64::from(*weight)).collect()
}

/// Names the remedy.
fn explain(error: shell::Error) -> LayerError {
    use shell::Error;
    let help = match &error {
        Error::EmptyTest { .. } => {
            "paint the region on both meshes, leave it out, or keep `follow` away from all of it"
        }
        Error::DependentTest { .. } => "leave out one of these regions, or paint them apart",
        Error::TooManyTests { .. } => {
            "lower `tests.count`, cut the mesh finer with `subdivide`, or use a coarser guide"
        }
        Error::Clusters { .. } => {
            "ask for one cluster per separate piece at least, and for fewer than there are triangles"
        }
        _ => return LayerError::new(error),
    };
    LayerError::new(error).with_help(help)
}
