//! What the layer `upsample` bakes is what a game shows, to the bit.

#[path = "common/flag_operator.rs"]
mod flag_operator;

use clip::Clip;
use flag_operator::{COARSE, operator, raised};
use live::{Frame, LiveCloth, Operator};
use samples::Banner;
use shot::{BakeOptions, Context, Reader, Shot};

/// The coarse flag as some other engine moves it.
fn coarse_animation() -> Clip {
    let clip = Banner { cells: COARSE, raised: true, seconds: 0.7, ..Banner::default() }.clip();
    let frames = (0..clip.frame_count()).map(|index| {
        let mut frame = clip.frame(index).unwrap();
        frame.points[0].iter_mut().for_each(|p| p[2] += 0.1 * (3.0 * p[0] + 0.5 * index as f32).sin());
        frame
    });
    clip.with_frames(std::sync::Arc::new(clip::MemoryFrames::new(frames.collect())))
}

fn shot(folder: &std::path::Path, sample: &str, more: &str) -> Shot {
    std::fs::write(folder.join("flag.ftop"), operator()).unwrap();
    let registry = layers::registry().with_sample("raised", raised).with_sample("coarse", coarse_animation);
    let text = format!(
        "input = {{ sample = '{sample}' }}\n[[layer]]\nkind = 'upsample'\nmesh = 'flag'\noperator = 'flag.ftop'\nwind = {{ direction = [1, 0, 0.5], speed = 4, gust = 0.3 }}\n{more}\n[output]\nfiles = []\nreport = false\n"
    );
    Reader::new(registry).parse("flag.toml", &text, folder).unwrap()
}

fn bake(shot: &Shot, frames: Option<&str>) -> Clip {
    let options = BakeOptions { frames: frames.map(|f| f.parse().unwrap()), ..BakeOptions::default() };
    shot.bake(&options, &Context::SILENT).unwrap().clip
}

/// On so many threads, anew.
fn baked_on(threads: usize, shot: &Shot) -> Clip {
    let options = BakeOptions { threads: Some(threads), fresh: true, ..BakeOptions::default() };
    shot.bake(&options, &Context::SILENT).unwrap().clip
}

/// The pole's transform in a frame: it turns about the origin, where it is at rest.
fn skin(clip: &Clip, index: usize) -> [live::Transform; 1] {
    let pose = clip.frame(index).unwrap().pose;
    let m = clip.skeleton.as_ref().unwrap().world_from_joints(&pose)[0];
    [[0, 1, 2].map(|row| m.row(row).to_array())]
}

fn wind() -> live::Wind {
    layers::LiveWind { direction: [1.0, 0.0, 0.5], speed: 4.0, gust: 0.3 }.velocity().unwrap()
}

#[test]
fn baked_is_live_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let shot = shot(folder.path(), "raised", "");
    assert!(shot.check().is_empty(), "{:?}", shot.check());
    // in two goes: the second replays what the first has shown
    bake(&shot, Some("0-6"));
    let baked = bake(&shot, None);
    let input = raised();
    let mut cloth = LiveCloth::new(Operator::read(operator()).unwrap()).unwrap();
    let mut moved = 0.0_f32;
    for index in 0..input.frame_count() {
        let skin = skin(&input, index);
        let held = if index == 0 { 16 } else { 1 };
        for _ in 0..held {
            cloth
                .advance(&Frame { skin: &skin, wind: wind(), ..Frame::new((1.0_f64 / 30.0) as f32) })
                .unwrap();
        }
        let points = &baked.frame(index).unwrap().points[0];
        assert_eq!(points.as_slice(), cloth.points(), "frame {index}");
        let still = &input.frame(index).unwrap().points[0];
        moved = points.iter().zip(still).map(|(a, b)| (a[2] - b[2]).abs()).fold(moved, f32::max);
    }
    assert!(moved > 0.1, "the flag flies: {moved} m");
    for threads in [1, 2, 16] {
        let other = baked_on(threads, &shot);
        let same = |index| other.frame(index).unwrap().points == baked.frame(index).unwrap().points;
        assert!((0..input.frame_count()).all(same), "{threads} threads");
    }
}

#[test]
fn any_coarse_animation_is_shown_fine() {
    let folder = tempfile::tempdir().unwrap();
    let shot = shot(folder.path(), "coarse", "coarse = 'animated'");
    assert!(shot.check().is_empty(), "{:?}", shot.check());
    let baked = bake(&shot, None);
    assert_eq!(baked.meshes[0].point_count(), 19 * 13, "the fine mesh has taken the coarse one's place");
    let input = coarse_animation();
    let mut cloth = LiveCloth::new(Operator::read(operator()).unwrap()).unwrap();
    for index in 0..input.frame_count() {
        let skin = skin(&input, index);
        let bodies: Vec<live::Capsule> =
            cloth.operator().capsules().map(|rigged| rigged.placed(&skin)).collect();
        let frame = Frame { skin: &skin, wind: wind(), ..Frame::new((1.0_f64 / 30.0) as f32) };
        cloth.show(&input.frame(index).unwrap().points[0], &frame, &bodies).unwrap();
        assert_eq!(baked.frame(index).unwrap().points[0], cloth.points(), "frame {index}");
    }
}

#[test]
fn other_meshes_joints_and_files_are_refused_at_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let said = |sample: &str, more: &str| {
        let found = shot(folder.path(), sample, more).check();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].message().to_owned()
    };
    assert!(said("raised", "coarse = 'animated'").contains("is the one that is shown"));
    assert!(
        said("raised", "obstacles = [{ joint = 'Ball', from = [0, 0, 0], radius = 0.1 }]")
            .contains("no joint `Ball`")
    );
    let other = shot(folder.path(), "raised", "").text().replace("mesh = 'flag'", "mesh = 'pole'");
    let registry = layers::registry().with_sample("raised", raised);
    let found = Reader::new(registry).parse("flag.toml", &other, folder.path()).unwrap().check();
    assert!(found[0].message().contains("it has 247 points, this one has"), "{found:?}");
    std::fs::write(folder.path().join("cut.ftop"), &operator()[..500]).unwrap();
    let cut = shot(folder.path(), "raised", "").text().replace("flag.ftop", "cut.ftop");
    let registry = layers::registry().with_sample("raised", raised);
    let found = Reader::new(registry).parse("flag.toml", &cut, folder.path()).unwrap().check();
    assert!(found[0].message().contains("cut.ftop") && found[0].remedy().is_some(), "{found:?}");
}
