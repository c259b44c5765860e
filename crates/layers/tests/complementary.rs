//! `complementary` of enrich is a dial: it goes from pure physics to none of what the skeleton could do without a jump, and averages
//! that say nothing of their own are named.

mod common;

use common::reader;
use shot::{Bake, BakeOptions, Context};

const LAST: usize = 5;

/// The bake, and the folder that its frames are read from.
fn bake(complementary: f64, tets: usize) -> (Bake, tempfile::TempDir) {
    let text = format!(
        "[input]\nsample = \"quadruped\"\nframes = \"0-{LAST}\"\n[[layer]]\nkind = \"enrich\"\nmesh = \"body\"\n\
         material = \"jelly\"\ntets = {tets}\nfit_tolerance = 0.02\ngravity = [0.0, -9.81, 0.0]\nsubsteps = 2\n\
         complementary = {complementary:?}\n[output]\nfiles = []\nreport = false\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let options = BakeOptions { out: Some(folder.path().into()), ..BakeOptions::default() };
    let bake = reader().parse("shot", &text, "".as_ref()).unwrap().bake(&options, &Context::SILENT).unwrap();
    (bake, folder)
}

/// How far the flesh gets from its animation, root mean square over the last frame, in metres.
fn departure(bake: &Bake) -> f64 {
    let [before, after] =
        [&bake.input, &bake.clip].map(|clip| clip.frame(LAST).unwrap().points.swap_remove(0));
    let squares =
        before.iter().zip(&after).map(|(a, b)| glam::Vec3::from(*a).distance_squared(glam::Vec3::from(*b)));
    (f64::from(squares.sum::<f32>()) / before.len() as f64).sqrt()
}

#[test]
fn the_dial_is_continuous_and_holds_the_more_the_higher_it_is() {
    let dials = [0.0, 0.001, 0.1, 0.5, 0.9, 0.999, 1.0];
    let far: Vec<f64> = dials.iter().map(|dial| departure(&bake(*dial, 400).0)).collect();
    // it was 91 mm at 0 and 11 mm at 0.01
    assert!((far[1] - far[0]).abs() < 0.1 * far[0], "at 0: {far:?}");
    assert!((far[6] - far[5]).abs() < 0.001 * far[0], "at 1: {far:?}");
    assert!(far[0] > 3.0 * far[6], "and it does something: {far:?}");
    for (k, pair) in far.windows(2).enumerate() {
        assert!(pair[1] < 1.05 * pair[0], "from {} to {}: {far:?}", dials[k], dials[k + 1]);
    }
}

#[test]
fn averages_that_follow_from_others_are_named() {
    let (bake, _folder) = bake(1.0, 60);
    let [layer] = &bake.layers[..] else { panic!("one layer") };
    // what so few tets can do, the skeleton can do as well: nothing is left to physics, and that is said before everything else
    let told = bake.warnings();
    assert!(told[0].is_prominent && told[0].text.contains("more `tets` give it room"), "{told:?}");
    let left_out = layer.notes.iter().find(|(name, _)| name == "averages left out");
    let (_, text) = left_out.unwrap_or_else(|| panic!("{:?}", layer.notes));
    let joints = bake.input.skeleton.as_ref().unwrap();
    assert!(joints.joints.iter().any(|joint| text.contains(&joint.name)), "{text}");
}
