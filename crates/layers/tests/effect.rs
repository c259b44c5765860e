//! A setting that has no effect is told: every setting of every layer is turned, one after the other, in a small shot in which it
//! should matter, and a frame, a figure, a note or a warning must change.

#[path = "common/flag_operator.rs"]
mod flag_operator;

use std::path::Path;
use std::sync::Arc;

use clip::{Clip, Frame, Joint, MemoryFrames, Skeleton, Skin, Transform};
use geometry::Vec3;
use glam::{Mat4, Quat};
use samples::shapes::{append, sphere, tube};
use serde_json::Value;
use shot::{BakeOptions, Context, Reader, Shot};

/// Settings of layers by which everything has something to do, what to set besides where a setting has no value of its own, and
/// what need not change anything, with the reason.
struct Case {
    input: &'static str,
    /// Tables under `[[layer]]`; the settings of the last one are turned.
    layers: &'static [&'static str],
    frames: usize,
    /// Values for settings that are empty by default, or whose words have no neighbour: a path and TOML for it.
    turned: &'static [(&'static str, &'static str)],
    without_effect: &'static [&'static str],
}

/// An arm that is shaken and bends, with a button on it: 100 points, groups `held`, `tip` and `button`.
fn arm() -> Clip {
    let centres: Vec<Vec3> = (0..9).map(|k| Vec3::new(0.125 * f64::from(k), 0.0, 0.0)).collect();
    let mut mesh = tube(&centres, &[0.15; 9], 8).mesh("arm", None);
    let skin_points = mesh.point_count();
    append(&mut mesh, &sphere(0.04, 6, 4).moved(Vec3::new(0.8, 0.19, 0.0)), None);
    let group = |choose: &dyn Fn(usize, f32) -> f32| {
        mesh.rest_points.iter().enumerate().map(|(i, p)| choose(i, p[0])).collect::<Vec<f32>>()
    };
    let held = group(&|i, x| if x < 0.2 && i < skin_points { 1.0 } else { 0.0 });
    let tip = group(&|i, x| if x > 0.8 && i < skin_points { 1.0 } else { 0.0 });
    let button = group(&|i, _| if i < skin_points { 0.0 } else { 1.0 });
    let soft = group(&|_, x| (1.0 - x).clamp(0.0, 1.0));
    for (name, weights) in [("held", held), ("tip", tip), ("button", button), ("soft", soft)] {
        mesh.set_group(name, weights);
    }
    let at = |x: f32| Transform { translation: glam::Vec3::new(x, 0.0, 0.0), ..Transform::IDENTITY };
    let joint = |name: &str, parent, x| Joint { name: name.into(), parent, rest: at(x) };
    let skeleton = Skeleton { joints: vec![joint("upper", None, 0.0), joint("lower", Some(0), 0.5)] };
    let bend = |p: &[f32; 3]| ((p[0] - 0.4) / 0.2).clamp(0.0, 1.0);
    let skin = Skin {
        binds: vec![(0, Mat4::IDENTITY), (1, Mat4::from_translation(glam::Vec3::new(-0.5, 0.0, 0.0)))],
        influences: mesh.rest_points.iter().map(|p| vec![(0, 1.0 - bend(p)), (1, bend(p))]).collect(),
    };
    let frames = (0..12).map(|index| {
        let time = index as f32;
        let mut pose = vec![at(0.0), at(0.5)];
        pose[0].translation.y = 0.05 * (0.9 * time).sin();
        pose[1].rotation = Quat::from_rotation_x(0.1 * time) * Quat::from_rotation_z(0.1 * time);
        let points = vec![skin.deform(&mesh.rest_points, &skeleton.world_from_joints(&pose))];
        Frame { points, pose }
    });
    let frames = Arc::new(MemoryFrames::new(frames.collect()));
    mesh.skin = Some(skin.clone());
    Clip::new("arm", 24.0, vec![mesh.clone()], Some(skeleton.clone()), frames)
}

/// Where files that shots name lie.
const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

/// Reads shots of these inputs.
fn reader() -> Reader {
    let registry = layers::registry().with_film::<film::FilmLook>();
    let samples = samples::all().iter();
    let registry = samples.fold(registry, |registry, sample| registry.with_sample(sample.name, sample.make));
    let sculpted = samples::all().iter().find(|sample| sample.name == "arm").expect("the sample");
    let registry =
        registry.with_sample("sculpted", sculpted.make).with_sample("raised", flag_operator::raised);
    // the arm of these tests, and not the sample
    Reader::new(registry.with_sample("arm", arm))
}

/// A case of fabrics: a flag in gusts of wind, on its hoist, the rest drawn softly.
const FLAG: &str = "sample = \"flag\"\nframes = \"0-5\"";

#[test]
fn every_setting_of_cloth_has_an_effect() {
    assert_told(&Case {
        input: FLAG,
        layers: &["kind = \"cloth\"\nmesh = \"flag\"\npre_roll = 0.04\n\
            follow = { any = [{ group = \"hoist\" }, { height = { from = -5.0, to = 9.0 } }] }\n\
            wind = { speed = 4.0, gust = 0.3, keys = [[0.0, 1.0], [1.0, 0.5]] }\n"],
        frames: 3,
        turned: &[
            ("material", "\"denim\""),
            ("bending", "\"plates\""),
            ("stretching", "\"cells\""),
            ("integrator", "\"backward_euler\""),
            ("area_density", "0.5"),
            ("stretch_warp", "300.0"),
            ("stretch_weft", "300.0"),
            ("shear", "30.0"),
            ("compression", "0.5"),
            ("poisson", "0.2"),
            ("bend_warp", "1e-3"),
            ("bend_weft", "1e-3"),
            ("damping", "0.4"),
            ("air_drag", "0.5"),
            ("max_distance", "1e-3"),
            ("substeps", "2"),
            ("tolerance", "1e-5"),
            ("contact", "{ thickness = 0.05, obstacles = [] }"),
            ("subdivide", "1"),
            ("follow", "{ group = \"hoist\" }"),
            ("limit_warp", "4e-3"),
            ("limit_weft", "1e-3"),
            ("limit_shear", "0.02"),
            ("limit_factor", "{ height = { from = 0.0, to = 40.0 } }"),
            ("start", "{ seconds = 0.1 }"),
            ("sew", "[{ distance = 100.0 }]"),
            ("shrink", "0.9"),
            ("elastic", "[{ along = \"all\", length = 0.8 }]"),
            ("pins", "[{ from = { group = \"fly\" }, to = { group = \"hoist\" } }]"),
            ("shrink_where", "{ group = \"fly\" }"),
        ],
        without_effect: &[],
    });
}

#[test]
fn every_setting_of_inextensible_has_an_effect() {
    assert_told(&Case {
        input: FLAG,
        layers: &["kind = \"inextensible\"\nmesh = \"flag\"\npre_roll = 0.04\nsubsteps = 2\n\
            follow = { any = [{ group = \"hoist\" }, { height = { from = -5.0, to = 9.0 } }] }\n\
            wind = { speed = 4.0, gust = 0.3, keys = [[0.0, 1.0], [1.0, 0.5]] }\n"],
        frames: 3,
        turned: &[
            ("material", "\"denim\""),
            ("method", "\"projection\""),
            ("bending", "\"plates\""),
            ("stretching", "\"cells\""),
            ("integrator", "\"backward_euler\""),
            ("warp", "{ group = \"hoist\" }"),
            ("max_strain", "1e-5"),
            ("tolerance", "1e-7"),
            ("area_density", "0.5"),
            ("stretch_warp", "50.0"),
            ("stretch_weft", "50.0"),
            ("compression", "0.9"),
            ("poisson", "0.4"),
            ("max_distance", "1e-3"),
            ("shear", "30.0"),
            ("bend_warp", "1e-3"),
            ("bend_weft", "1e-3"),
            ("damping", "0.4"),
            ("air_drag", "0.5"),
            ("contact", "{ thickness = 0.05, obstacles = [] }"),
            ("subdivide", "1"),
            ("follow", "{ group = \"hoist\" }"),
            ("limit_warp", "1e-4"),
            ("limit_weft", "1e-4"),
            ("limit_shear", "1e-4"),
            ("limit_factor", "{ group = \"hoist\" }"),
            ("start", "{ seconds = 0.1 }"),
            ("sew", "[{ distance = 100.0 }]"),
            ("shrink", "0.9"),
            ("elastic", "[{ along = \"all\", length = 0.8 }]"),
            ("pins", "[{ from = { group = \"fly\" }, to = { group = \"hoist\" } }]"),
            ("shrink_where", "{ group = \"fly\" }"),
        ],
        without_effect: &[],
    });
}

#[test]
fn every_setting_of_tracks_has_an_effect() {
    assert_told(&Case {
        input: "sample = \"arm\"",
        layers: &["kind = \"tracks\"\npre_roll = 0.04\nloosen = [{ keys = [[0.0, 0.5]] }]\n\
            relief = [{ shape = { pattern = \"crinkles\", wavelength = 0.3 }, keys = [[0.0, 0.4], [1.0, 1.0]] }]\n\
            wind = { speed = 4.0, gust = 0.3, keys = [[0.0, 1.0], [1.0, 0.5]] }\n\
            tests = { kind = \"clusters\", count = 12, density = { group = \"soft\" } }\n"],
        frames: 3,
        turned: &[
            ("material", "\"denim\""),
            ("fabric", "{ area_density = 2.0 }"),
            ("bending", "\"plates\""),
            ("stretching", "\"cells\""),
            ("subdivide", "1"),
            ("scheme", "\"loop\""),
            ("tests", "{ kind = \"hats\" }"),
            ("tests.seed", "9"),
            ("tests.frames", "2"),
            ("then", "{ tests = { count = 4 }, from = 0.0, to = 0.1 }"),
            ("loosen", "[]"),
            ("max_pull", "0.5"),
            ("follow", "{ group = \"held\" }"),
            ("relief", "[]"),
            ("contact", "{ thickness = 0.01 }"),
            ("jump", "1e-3"),
            ("substeps", "2"),
            ("tolerance", "1e-5"),
            ("integrator", "\"backward_euler\""),
            ("tracked", "\"missing.obj\""),
            ("tracked_mesh", "\"missing\""),
            ("fade", "[{ tests = { kind = \"harmonics\", count = 4 }, keys = [[0.0, 0.0], [0.1, 1.0]] }]"),
            ("tests", "{ kind = \"silhouette\", camera = [0.0, 0.0, 9.0] }"),
            (
                "tests",
                "{ kind = \"sliding\", count = 4, field = { group = \"soft\" }, slide = [[0.0, 0.5]] }",
            ),
            ("tests.field", "{ group = \"held\" }"),
            ("tests.window", "0.5"),
            ("tests.slide", "[[0.0, 0.2]]"),
        ],
        without_effect: &[],
    });
}

#[test]
fn every_setting_of_enrich_has_an_effect() {
    assert_told(&Case {
        input: "sample = \"arm\"",
        layers: &[
            "kind = \"enrich\"\nmaterial = \"jelly\"\ntets = 100\npre_roll = 0.04\nfit_tolerance = 0.01\n\
            follow = { any = [{ group = \"held\" }, { group = \"soft\" }] }\n\
            regions = [{ at = { group = \"tip\" }, material = \"muscle\" }]\n",
        ],
        frames: 3,
        turned: &[
            ("material", "\"fat\""),
            ("young", "2000.0"),
            ("poisson", "0.3"),
            ("density", "500.0"),
            ("damping", "0.5"),
            ("law", "\"neo_hookean\""),
            ("regions", "[]"),
            ("regions[0].young", "200.0"),
            ("regions[0].poisson", "0.2"),
            ("regions[0].density", "200.0"),
            ("regions[0].damping", "1.0"),
            ("regions[0].gravity", "[0.0, 30.0, 0.0]"),
            ("follow", "{ group = \"held\" }"),
            ("paint", "[{ at = { group = \"tip\" }, follow = 0.1 }]"),
            ("keys", "[{ frame = 1, follow = { group = \"held\" } }]"),
            ("max_distance", "1e-4"),
            ("contact", "{ thickness = 0.01 }"),
            ("edge", "0.3"),
            ("separated", "3"),
            ("animated", "{ group = \"tip\" }"),
            ("rigid", "{ group = \"button\" }"),
            ("rigid", "{ group = \"tip\" }"),
            ("gamma", "10.0"),
            ("fit_tolerance", "1e-5"),
            ("tolerance", "1e-5"),
            ("substeps", "2"),
            ("integrator", "\"backward_euler\""),
            ("tets", "200"),
            ("patches", "30"),
        ],
        without_effect: &[],
    });
}

#[test]
fn every_setting_of_skeleton_has_an_effect() {
    assert_told(&Case {
        input: "sample = \"arm\"",
        layers: &["kind = \"skeleton\"\ncells = 60\npre_roll = 0.05\ntwist = 0.5\n\
            parts = [{ joints = [\"low*\"], material = \"muscle\" }]\n"],
        frames: 3,
        turned: &[
            ("material", "\"jelly\""),
            ("young", "2000.0"),
            ("damping", "0.5"),
            ("method", "\"linear\""),
            ("cells", "120"),
            ("pre_roll", "0.3"),
            ("follow", "{ group = \"held\" }"),
            ("parts", "[]"),
            ("free", "[\"lower\"]"),
            ("pins", "[{ point = 40, to = [0.6, 0.3, 0.0] }]"),
            ("contact", "{ thickness = 1e-3 }"),
            ("adaptation", "{}"),
            ("joints", "\"nonlinear\""),
            ("lattice", "\"none.veg\""),
            ("regions", "[{ joint = \"lower\", at = \"all\" }]"),
            ("rays", "[{ joint = \"lower\", from = [0.4, -3.0, 0.0], to = [0.4, 0.0, 0.0] }]"),
            ("limits", "[{ joints = [\"lower\"], degrees = 10.0 }]"),
        ],
        without_effect: &[],
    });
    assert_told(&Case {
        input: "sample = \"arm\"",
        layers: &["kind = \"skeleton\"\ncells = 30\nlevels = 1\npre_roll = 0.05\nsteps_per_second = 96.0\n\
            adaptation = { refine = [0.2], coarsen = [0.001], joints = false }\n\
            pins = [{ point = 40, to = [0.6, 0.3, 0.0], frames = [0, 1] }, { near = [0.9, 0.15, 0.0], joint = \"upper\" }]\n"],
        frames: 4,
        turned: &[
            ("material", "\"jelly\""),
            ("young", "2000.0"),
            ("damping", "0.5"),
            ("method", "\"linear\""),
            ("method", "\"corotated\""),
            ("follow", "{ group = \"held\" }"),
            ("parts", "[{ joints = [\"low*\"], material = \"muscle\" }]"),
            ("free", "[\"lower\"]"),
            ("contact", "{ thickness = 1e-3 }"),
            ("joints", "\"nonlinear\""),
            ("adaptation.refine", "[0.5]"),
            ("adaptation.coarsen", "[0.02]"),
            ("pins[1].joint", "\"lower\""),
            ("pins[0].seconds", "0.1"),
            ("pins[0].frames", "[1, 3]"),
            ("lattice", "\"none.veg\""),
            ("regions", "[{ joint = \"lower\", at = \"all\" }]"),
            ("rays", "[{ joint = \"lower\", from = [0.4, -3.0, 0.0], to = [0.4, 0.0, 0.0] }]"),
            ("limits", "[{ joints = [\"lower\"], degrees = 10.0 }]"),
        ],
        // a cell has to stay below it for a fifth of a second
        without_effect: &["adaptation.coarsen"],
    });
}

#[test]
fn every_setting_of_morph_has_an_effect() {
    assert_told(&Case {
        input: "sample = \"sculpted\"\nframes = \"8-14\"",
        layers: &["kind = \"morph\"\ntets = 150\nmodes = 6\n\
            [[layer.targets]]\nname = \"slack\"\ndensity = 900.0\ndamping = 0.2\ncreep = 20.0\nyield_strain = 1e-4\n\
            [[layer.targets]]\nname = \"flexed\"\nshape = \"bulged\"\nyoung = 2e4\n\
            turns = { elbow = [0.0, 0.0, 120.0] }\n\
            regions = [{ at = { group = \"muscle\" }, young = 4e4, density = 900.0, damping = 0.2 }]\n"],
        frames: 4,
        turned: &[
            ("material", "\"muscle\""),
            ("tets", "300"),
            ("forces", "\"stvk\""),
            ("interpolation", "\"gaussian\""),
            ("channels", "[\"bulged\"]"),
            ("pose_reach", "0"),
            ("contact", "{ thickness = 1e-3 }"),
            ("follow", "{ joint = \"hand\" }"),
            ("targets[0].young", "1e3"),
            ("targets[0].material", "\"muscle\""),
            ("targets[0].frame", "5"),
            ("targets[1].yield_strain", "1e-3"),
            ("targets[1].density", "2000.0"),
            ("targets[1].damping", "1.0"),
            ("targets[1].material", "\"rubber\""),
            ("targets[1].shape", "\"bulgd\""),
            ("targets[1].regions", "[]"),
            ("targets[1].regions[0].material", "\"rubber\""),
        ],
        // so small a motion does not strain the other target to the 10 % from which it gives way
        without_effect: &["targets[1].creep"],
    });
}

#[test]
fn every_setting_of_upsample_has_an_effect() {
    std::fs::write(Path::new(FOLDER).join("effect.ftop"), flag_operator::operator()).expect("written");
    assert_told(&Case {
        input: "sample = \"raised\"",
        layers: &["kind = \"upsample\"\nmesh = \"flag\"\noperator = \"effect.ftop\"\n\
            wind = { direction = [1.0, 0.0, 0.5], speed = 4.0, gust = 0.3 }\n\
            obstacles = [{ joint = \"Pole\", from = [0.5, 2.0, 0.0], to = [0.5, 2.3, 0.0], radius = 0.2, to_radius = 0.1 }]\n"],
        frames: 6,
        turned: &[
            ("operator", "\"none.ftop\""),
            ("coarse", "\"animated\""),
            ("floor", "2.2"),
            ("obstacles", "[]"),
            ("obstacles[0].joint", "\"Pol\""),
            ("obstacles[0].to_joint", "\"Pol\""),
        ],
        without_effect: &[],
    });
}

#[test]
fn every_setting_of_motion_has_an_effect() {
    assert_told(&Case {
        input: "sample = \"walker\"\nframes = \"0-14\"",
        layers: &["kind = \"motion\"\nfriction = 0.2\n\
            body = { mass = 60.0, height = 1.7, add = [{ joint = \"LeftFoot\", mass = 2.0 }] }\n\
            wind = { direction = [1.0, 0.0, -0.4], speed = 8.0, gust = 0.3, variation = 0.3 }\n\
            pushes = [{ joint = \"Chest\", from = 0.1, to = 0.3, force = [60.0, 0.0, 0.0] }]\n"],
        frames: 3,
        turned: &[
            ("follow", "0.05"),
            ("keys", "[0.1]"),
            ("seen_from", "[0.0, 1.0, 5.0]"),
            ("drags", "[{ joint = \"LeftHand\", at = 0.2, to = [0.3, 1.2, 0.3] }]"),
            ("trajectories", "[{ joint = \"Head\", from = 0.1, to = 0.3, places = [[0.0, 1.5, 0.2]] }]"),
            ("method", "\"paper\""),
            ("footsteps", "\"free\""),
            ("variation", "1"),
            ("prior", "\"no.prior\""),
            ("ground", "0.02"),
            ("pushes", "[]"),
            ("pushes[0].to", "0.2"),
            ("springs", "[{ joint = \"Hips\", to = [0.0, 0.9, -0.5], stiffness = 300.0 }]"),
            ("wind", "{ speed = 20.0 }"),
        ],
        without_effect: &[],
    });
}

#[test]
fn every_setting_of_smooth_has_an_effect() {
    assert_told(&Case {
        input: "sample = \"arm\"",
        layers: &["kind = \"smooth\"\n"],
        frames: 3,
        turned: &[("group", "\"held\"")],
        without_effect: &[],
    });
}

#[test]
fn every_setting_of_blend_has_an_effect() {
    assert_told(&Case {
        input: "sample = \"arm\"",
        layers: &[
            "kind = \"skeleton\"\ncells = 60\npre_roll = 0.05\ngravity = [0.0, -9.81, 0.0]\n",
            "kind = \"blend\"\ntets = 100\n",
        ],
        frames: 3,
        turned: &[("follow", "{ group = \"soft\" }"), ("tets", "300")],
        without_effect: &[],
    });
}

#[test]
fn a_blend_without_a_layer_below_or_of_another_mesh_is_refused() {
    let case =
        |layers| Case { input: "sample = \"arm\"", layers, frames: 1, turned: &[], without_effect: &[] };
    let said = shot(&case(&["kind = \"blend\"\n"]), None).err().unwrap_or_default();
    assert!(said.contains("there is no layer below"), "{said}");
    let finer = &["kind = \"tracks\"\nsubdivide = 1\n", "kind = \"blend\"\n"];
    let said = shot(&case(finer), None).err().unwrap_or_default();
    assert!(said.contains("changed the mesh"), "{said}");
}

#[test]
fn every_setting_of_smoke_has_an_effect() {
    assert_told(&Case {
        input: "sample = \"arm\"",
        layers: &["kind = \"smoke\"\ngrid = [24, 16]\nsize = [2.4, 1.6]\npre_roll = 0.02\n\
            textures = true\ntexture_stretch = 0.005\ntexture_blend = 0.02\n\
            viscosity = 1e-3\nheat_diffusivity = 1e-3\nscalar_diffusivity = 1e-3\n\
            window = { view = \"front\" }\n\
            profile = { bar = { from = [0.0, 0.0], to = [9.0, 0.6] }, white = -3.0, smooth = 0.1 }\n\
            temperature = [{ disc = { centre = [1.2, 0.8], radius = 0.4 }, white = 6.0, grain = 0.2 }]\n\
            velocity_y = [{ noise = { size = 0.6 }, white = 0.2 }]\n\
            obstacle = [{ silhouette = {}, white = 0.9 }]\n\
            scalar = [{ name = \"ink\", image = [{ text = { words = \"A\", centre = [1.0, 0.8], height = 1.0, pen = 0.2 } }] }]\n\
            source = [{ to = \"temperature\", image = { disc = { centre = [1.5, 0.5], radius = 0.4 }, white = 4.0 } }]\n"],
        frames: 3,
        turned: &[
            ("sides", "[\"wall\", \"periodic\"]"),
            ("wind", "{ bar = { from = [0.0, 0.0], to = [9.0, 9.0] }, white = 2.0 }"),
            ("velocity_x", "[{ disc = { centre = [1.4, 0.8], radius = 0.4 }, white = 0.5 }]"),
            ("velocity_z", "[{ disc = { centre = [1.4, 0.8], radius = 0.4 }, white = 0.5 }]"),
            ("sound_speed", "200.0"),
            ("texture_blend", "2.0"),
            ("texture_stretch", "5.0"),
            ("window", "{ view = \"side\" }"),
            ("profile.bar.from", "[0.0, 0.3]"),
            ("profile.channel", "\"red\""),
            ("profile.first", "3"),
            ("profile.repeat", "\"loop\""),
        ],
        without_effect: &[
            // a limit that is not met; that it stops what does not end is a test of its own
            "max_steps",
            // what does not reach the sides of the box has no jump there
            "obstacle[0].seam",
            "scalar[0].image[0].seam",
            "source[0].image.seam",
            "temperature[0].seam",
        ],
    });
}

/// The shot, with one more setting of its last layer.
fn shot(case: &Case, setting: Option<&str>) -> Result<Shot, String> {
    let layers: Vec<String> = case.layers.iter().map(|layer| format!("[[layer]]\n{layer}\n")).collect();
    let text = format!("[input]\n{}\n{}[output]\nfiles = []\nreport = false\n", case.input, layers.concat());
    let last = case.layers.len() - 1;
    let reader = setting.into_iter().fold(reader(), |reader, set| reader.set(format!("layer[{last}].{set}")));
    let shot = reader.parse("shot", &text, FOLDER.as_ref()).map_err(|error| format!("{error:?}"))?;
    let mistakes = shot.check();
    if mistakes.is_empty() { Ok(shot) } else { Err(format!("{mistakes:?}")) }
}

/// All that a shot gives: frames, fields, figures, warnings, notes, what is idle.
fn result(case: &Case, setting: Option<&str>) -> Result<String, String> {
    let shot = shot(case, setting)?;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let frames = Some(format!("0-{}", case.frames - 1).parse().expect("a range"));
    let options = BakeOptions { out: Some(folder.path().to_owned()), frames, ..BakeOptions::default() };
    let bake = shot.bake(&options, &Context::SILENT).map_err(|error| error.to_string())?;
    let mut all = String::new();
    for index in 0..case.frames {
        let frame = bake.clip.frame(index).map_err(|error| error.to_string())?;
        let fields = bake.clip.grids(index).map_err(|error| error.to_string())?;
        all += &format!("{frame:?}{fields:?}\n");
    }
    for layer in &bake.layers {
        all += &format!("{:?}{:?}{:?}\n", layer.figures, layer.warnings, layer.notes);
    }
    let idle: Vec<String> = shot.idle().iter().map(|idle| idle.path().to_owned()).collect();
    Ok(format!("{all}{idle:?}"))
}

/// Numbers, flags and lists of numbers in a table of settings, by their path, each with another value.
fn neighbours(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            let is_whole = number.fract() == 0.0 && !value.to_string().contains('.');
            let other = if number == 0.0 { 0.1 } else { 1.3 * number };
            let other = if is_whole { format!("{}", number as i64 + 1) } else { format!("{other:?}") };
            found.push((path.to_owned(), other));
        }
        Value::Bool(flag) => found.push((path.to_owned(), (!flag).to_string())),
        Value::Array(list) if list.iter().all(Value::is_object) => {
            for (k, item) in list.iter().enumerate() {
                neighbours(item, &format!("{path}[{k}]"), found);
            }
        }
        Value::Array(list) if list.iter().all(Value::is_number) => {
            let whole = list.iter().all(Value::is_u64);
            // another direction and another length
            let turned: Vec<String> = (list.iter().enumerate())
                .map(|(k, x)| match whole {
                    true => format!("{}", x.as_u64().unwrap_or_default() + 4),
                    false => format!("{:?}", 1.3 * x.as_f64().unwrap_or_default() + [0.7, 0.0, -0.4][k % 3]),
                })
                .collect();
            found.push((path.to_owned(), format!("[{}]", turned.join(", "))));
        }
        Value::Object(table) => {
            for (key, value) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                neighbours(value, &path, found);
            }
        }
        _ => {}
    }
}

/// Every setting of the last layer changes something, or is told to have no effect.
fn assert_told(case: &Case) {
    let base = result(case, None).unwrap_or_else(|error| panic!("{:?}: {error}", case.layers));
    let shot = shot(case, None).expect("it was baked");
    let entry = shot.layers.last().expect("a layer");
    let mut turned = Vec::new();
    neighbours(&entry.settings, "", &mut turned);
    turned.extend(case.turned.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())));
    // whatever the schema knows is turned in one way or another
    let first = |path: &str| path.split(['.', '[']).next().unwrap_or_default().to_owned();
    for key in settings_of(entry.kind) {
        let is_turned = turned.iter().any(|(path, _)| first(path) == key);
        assert!(is_turned, "{}: `{key}` is not turned by this test: name a value for it", entry.kind);
    }
    // where settings are places on the mesh, they were turned as a whole
    let places = ["follow.", "at.", "density."];
    turned.retain(|(path, _)| {
        !case.without_effect.contains(&path.as_str()) && !places.iter().any(|place| path.contains(place))
    });
    turned.sort();
    let mut idle = Vec::new();
    for values in turned.chunk_by(|a, b| a.0 == b.0) {
        // what is refused with a sentence is told, too
        let changes = |(path, value): &(String, String)| {
            result(case, Some(&format!("{path}={value}"))).map_or(true, |other| other != base)
        };
        if !values.iter().any(changes) {
            idle.push(format!("{values:?}"));
        }
    }
    assert!(
        idle.is_empty(),
        "{}: settings without effect, and nobody says so:\n{}",
        entry.kind,
        idle.join("\n")
    );
}

/// The settings of a kind of layer, apart from what all layers have.
fn settings_of(kind: &str) -> Vec<String> {
    let schema = shot::schema_of(&layers::registry());
    let kinds = schema["properties"]["layer"]["items"]["oneOf"].as_array().expect("kinds of layers");
    let own = kinds.iter().find(|layer| layer["title"] == kind).expect("this kind");
    let common = ["kind", "name", "mesh", "together", "enabled", "strength"];
    let keys = own["properties"].as_object().expect("settings").keys();
    keys.filter(|key| !common.contains(&key.as_str())).cloned().collect()
}
