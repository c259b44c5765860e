//! Rigs handed back: what `skin` under `[output]` makes of a bake, read again.

use clip::{Clip, ReadOptions};

use crate::program::Place;

/// The shot of a demo, made small: fewer cells, fewer frames, no film.
fn small(place: &Place, skin: &str, name: &str) {
    place.expect(0, &["new", "whole.toml", "--from", "corrective"]);
    let text = String::from_utf8(place.read("whole.toml")).expect("text");
    let shrink = |line: &str| match line.split_once('=').map(|(key, _)| key.trim()) {
        Some("cells") => "cells = 200".to_owned(),
        Some("frames") => "frames = \"0-15\"".to_owned(),
        Some("files") => format!("files = [\"{name}.glb\"]"),
        Some("skin") => format!("skin = {skin}"),
        _ => line.to_owned(),
    };
    place.write(&format!("{name}.toml"), &text.lines().map(shrink).collect::<Vec<_>>().join("\n"));
    std::fs::remove_file(place.path("whole.toml")).expect("it was written");
}

/// Bakes it with one `skin`; gives back what was read again, the size of the file, and what was said.
fn delivered(place: &Place, skin: &str, name: &str) -> (Clip, u64, String) {
    small(place, skin, name);
    let (shot, report) = (format!("{name}.toml"), format!("output.report={}", name == "missed"));
    let run = place.expect(0, &["bake", &shot, "--out", "out", "--set", &report]);
    let file = place.path("out").join(format!("{name}.glb"));
    let clip = clip::read(&file, &ReadOptions::default()).expect("a clip");
    (clip, std::fs::metadata(&file).expect("a file").len(), run.stderr)
}

/// How far two clips are apart at most, and how large the first is, in metres.
fn apart(a: &Clip, b: &Clip) -> (f64, f64) {
    assert_eq!((a.frame_count(), a.meshes.len()), (b.frame_count(), b.meshes.len()));
    let (mut far, mut size) = (0.0_f64, 0.0_f64);
    for index in 0..a.frame_count() {
        let (x, y) = (a.frame(index).expect("a frame"), b.frame(index).expect("a frame"));
        for mesh in 0..a.meshes.len() {
            let of = |clip: &Clip, points: &[[f32; 3]]| clip.meshes[mesh].per_vertex(points);
            for (x, y) in of(a, &x.points[mesh]).iter().zip(&of(b, &y.points[mesh])) {
                let squared: f64 = (0..3).map(|i| f64::from(x[i] - y[i]).powi(2)).sum();
                far = far.max(squared.sqrt());
                size = x.iter().fold(size, |size, c| size.max(f64::from(c.abs())));
            }
        }
    }
    (far, size)
}

/// The demo: a sample's own rig comes back with the physics as corrective shapes, or as joints, and plays what was baked.
#[test]
fn a_rig_comes_back_with_its_physics() {
    let place = Place::new();
    let (points, bytes, _) = delivered(&place, "\"points\"", "points");
    assert!(points.meshes.iter().all(|mesh| mesh.skin.is_none()), "no rig any more");

    let (corrective, _, said) = delivered(&place, "\"corrective\"", "corrective");
    let (far, size) = apart(&points, &corrective);
    assert!(far < 1e-5 * size, "{far} m of {size}; {said}");
    let body = corrective.meshes.iter().find(|mesh| mesh.name == "body").expect("a body");
    assert!(body.skin.is_some() && body.morph_targets.is_empty(), "shapes are frames, not sculptures");
    let skeleton = corrective.skeleton.as_ref().expect("joints");
    assert!(skeleton.joint_index("head").is_some());

    let (joints, small, said) = delivered(&place, "{ joints = { at_most = 24, error_mm = 20.0 } }", "joints");
    let (far, _) = apart(&points, &joints);
    assert!(far < 20e-3, "{} mm; {said}", 1e3 * far);
    assert!(5 * small < bytes, "{small} of {bytes} bytes");
    let body = joints.meshes.iter().find(|mesh| mesh.name == "body").expect("a body");
    let skin = body.skin.as_ref().expect("a skin");
    assert!(skin.influences.iter().all(|influences| influences.len() <= 4));
    let added = skin.binds.len() - skeleton.joints.len().min(skin.binds.len());
    assert!((1..=24).contains(&added), "{added} joints were added");

    // a bound that cannot be met is said with its number
    let (_, _, said) = delivered(&place, "{ joints = { at_most = 1, error_mm = 0.001 } }", "missed");
    assert!(said.contains("1 joints come within") && said.contains("0.001 mm were asked for"), "{said}");
    let page = String::from_utf8(place.read("out/report.html")).expect("text");
    assert!(page.contains("1 joints come within"), "the report says it, too");
}

/// A GLB whose only animation is there once more, under another name.
fn with_two_clips(place: &Place, name: &str) {
    place.expect(0, &["convert", "sample:tail", "one.glb", "--frames", "0-12"]);
    let bytes = place.read("one.glb");
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    let mut json: serde_json::Value = serde_json::from_slice(&bytes[20..20 + length]).expect("JSON");
    let mut again = json["animations"][0].clone();
    json["animations"][0]["name"] = "calm".into();
    again["name"] = "brief".into();
    json["animations"].as_array_mut().expect("a list").push(again);
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let whole = (12 + 8 + text.len() + bytes.len() - 20 - length) as u32;
    let head =
        [&bytes[..8], &whole.to_le_bytes(), &(text.len() as u32).to_le_bytes(), &bytes[16..20]].concat();
    std::fs::write(place.path(name), [&head, &text, &bytes[20 + length..]].concat()).expect("writes");
}

#[test]
fn every_clip_of_a_file_is_baked_into_one() {
    let place = Place::new();
    with_two_clips(&place, "two.glb");
    let shot = "[input]\nfile = \"two.glb\"\n[[layer]]\nkind = \"smooth\"\nwindow = 0.3\n\
                [output]\nfiles = [\"out.glb\", \"tail.pc2\"]\nreport = false\n";
    place.write("shot.toml", shot);
    let answer = place.expect(0, &["bake", "shot.toml", "--clips", "all", "--out", "all", "--json"]).json();
    assert_eq!(answer["clips"].as_array().map(Vec::len), Some(2), "{answer:#}");
    let read = |file: &str, clip: &str| {
        let options = ReadOptions { clip: Some(clip.into()), ..ReadOptions::default() };
        clip::read(place.path(file), &options).expect("a clip")
    };
    for name in ["calm", "brief"] {
        assert!(place.path(&format!("all/{name}/tail.pc2")).is_file(), "what holds one clip lies by itself");
        // each begins by itself: it is what a bake of it alone gives
        let (own, chosen) = (format!("{name}.glb"), format!("input.clip={name}"));
        let files = format!("output.files=[\"{own}\"]");
        place.expect(0, &["bake", "shot.toml", "--out", "one", "--set", &chosen, "--set", &files]);
        let (all, one) = (read("all/out.glb", name), read(&format!("one/{own}"), name));
        let source = read("two.glb", name);
        assert_eq!(all.frame_count(), source.frame_count());
        let (far, size) = apart(&one, &all);
        assert!(far < 1e-5 * size, "{name}: {far} of {size}");
        assert!(apart(&all, &source).0 > 1e-3, "{name} was baked");
    }
    // names and patterns; what is not there is told with what is
    place.expect(0, &["bake", "shot.toml", "--clips", "b*, calm", "--out", "all"]);
    let run = place.expect(2, &["bake", "shot.toml", "--clips", "clam", "--out", "all"]);
    assert!(run.stderr.contains("no clip `clam`") && run.stderr.contains("`calm`"), "{}", run.stderr);
    let joints = ["--set", "output.skin={ joints = {} }"];
    let run = place.expect(2, &["bake", "shot.toml", "--clips", "all", joints[0], joints[1]]);
    assert!(run.stderr.contains("one clip at a time"), "{}", run.stderr);
}
