//! Damaged files: thousands of them, made from good ones by a seeded generator. A reader may refuse; it may not panic,
//! hang, or ask for memory that the file's size does not justify. The same doors are open to `cargo fuzz` in `fuzz/`.

#![allow(unsafe_code)] // an allocator that watches must be one
#![allow(clippy::print_stdout)] // figures for the curious: --nocapture

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use clip::{ReadOptions, Selector, diagnose, read, read_tets};
use common::assets;
use common::seeds::{MEDIT, MSH_2, MSH_4, NODE, PAINTED, RIG, Seed, VEG, flag, seeds, written};
use geometry::Random;

/// Remembers the largest piece of memory that anybody asked for.
struct Watched;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Damages a file in one to four places.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    const WORDS: [[u8; 4]; 6] = [
        [0xff; 4],
        [0; 4],
        [0xff, 0xff, 0xff, 0x7f],
        [0, 0, 0xc0, 0x7f],
        [0, 0, 0x80, 0xff],
        [1, 0, 0, 0x80],
    ];
    const TEXTS: [&str; 9] =
        ["-1", "0", "99999999999", "1e308", "nan", "18446744073709551615", "4294967295", "", "[]"];
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 if !bytes.is_empty() => bytes[at] = random.bits() as u8,
            3 => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.iter_mut().skip(at).zip(word).for_each(|(byte, with)| *byte = with);
            }
            4 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            5 => {
                let end = (at + random.below(40)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            _ => {
                // another number in the place of one
                let Some(start) = (at..bytes.len()).find(|&i| bytes[i].is_ascii_digit()) else { continue };
                let end = (start..bytes.len()).find(|&i| !bytes[i].is_ascii_digit()).unwrap_or(bytes.len());
                bytes.splice(start..end, TEXTS[random.below(TEXTS.len())].bytes());
            }
        }
    }
}

/// Everything that a user may do with a file. Returns whether it could be read.
fn use_file(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if clip::TET_ENDINGS.contains(&ending) {
        return read_tets(path, &ReadOptions::default()).is_ok();
    }
    if matches!(ending, "json" | "csv") {
        let folder = path.parent().unwrap();
        return Selector::File(path.into()).weights(&flag(), 0, folder).is_ok();
    }
    let _ = clip::describe(path, &ReadOptions::default());
    let Ok(clip) = read(path, &ReadOptions::default()) else { return false };
    for frame in [0, 1, clip.frame_count() / 2, clip.frame_count().saturating_sub(1), clip.frame_count()] {
        let _ = clip.frame(frame);
    }
    if clip.frame_count() < 20 {
        let _ = diagnose(&clip);
    }
    true
}

/// Reads `count` damaged copies of every file of every seed with this ending, the others left whole.
fn damage_all(ending: &str, count: usize) {
    let seeds: Vec<Seed> = seeds().into_iter().filter(|seed| seed.ending() == ending).collect();
    assert!(!seeds.is_empty(), "no seed ends in .{ending}");
    for seed in seeds {
        let folder = tempfile::tempdir().unwrap();
        let path = seed.write(folder.path());
        assert!(use_file(&path), "{}: the file to damage must be good", seed.name());
        for (name, good) in &seed.files {
            // what stands beside is mostly read by another reader, which has its own seeds
            let count = if name == seed.name() { count } else { count / 4 };
            read_damaged(&path, &folder.path().join(name), good, count);
        }
    }
}

/// Reads a file while `damaged`, which is that file or one beside it, is damaged in `count` ways.
fn read_damaged(path: &Path, damaged: &Path, good: &[u8], count: usize) {
    let name = damaged.file_name().unwrap().display();
    let mut readable = 0;
    for seed in 0..count {
        let mut bytes = good.to_vec();
        damage(&mut bytes, &mut Random::new(seed as u64));
        std::fs::write(damaged, &bytes).unwrap();
        LARGEST.store(0, Ordering::Relaxed);
        let outcome = std::panic::catch_unwind(|| use_file(path));
        let largest = LARGEST.load(Ordering::Relaxed);
        match outcome {
            Ok(could_read) => readable += usize::from(could_read),
            Err(_) => panic!("{name}: seed {seed} panicked"),
        }
        assert!(largest < 8 << 20, "{name}: seed {seed} asked for {largest} bytes at once");
    }
    std::fs::write(damaged, good).unwrap();
    println!("{name}: {readable} of {count} damaged files could still be read");
}

#[test]
fn damaged_glb() {
    damage_all("glb", 1700);
}

#[test]
fn damaged_gltf() {
    damage_all("gltf", 2000);
}

#[test]
fn damaged_obj() {
    damage_all("obj", 1000);
}

#[test]
fn damaged_caches() {
    damage_all("pc2", 500);
    damage_all("mdd", 500);
}

#[test]
fn damaged_usd() {
    damage_all("usdc", 2000);
    damage_all("usda", 2000);
    damage_all("usdz", 1000);
    damage_all("usd", 200);
}

#[test]
fn damaged_alembic() {
    damage_all("abc", 3000);
}

#[test]
fn what_is_wrong_with_alembic_is_said() {
    let abc = written("a.abc").remove(0).1;
    refuses("a.abc", &abc[..abc.len() - 8], "cut short");
    let mut unfinished = abc.clone();
    unfinished[5] = 0;
    refuses("a.abc", &unfinished, "never finished");
    refuses("a.abc", b"\x89HDF\r\n\x1a\nand so on", "abcconvert -toOgawa");
    refuses("a.abc", b"no archive at all", "does not begin with Ogawa");
    let text = |from: &str, to: &str| {
        let at = abc.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        let mut bytes = abc.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        bytes
    };
    refuses("a.abc", &text(".faceCounts", ".fakeCounts"), "it has no .faceCounts");
    // the second triangle's last corner
    let corners: Vec<u8> = [2_i32, 1, 0, 3, 2, 0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let at = abc.windows(corners.len()).position(|window| window == corners).unwrap();
    let mut wild = abc.clone();
    wild[at + 12] = 9;
    refuses("a.abc", &wild, "/flag/flagShape: face 1 refers to point 9, but there are 4");

    let first: Vec<u8> =
        flag().frame(0).unwrap().points[0].as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut nan = abc.clone();
    let places = (0..abc.len() - first.len()).filter(|&at| abc[at..].starts_with(&first));
    places.for_each(|at| nan[at + 12..at + 16].copy_from_slice(&f32::NAN.to_le_bytes()));
    refuses("a.abc", &nan, "point 1 is not finite");

    // the first object below the top is the top itself
    let word = |at: u64| u64::from_le_bytes(*abc[at as usize..].first_chunk().unwrap());
    let top = word(word(8) + 8 + 2 * 8);
    let mut circle = abc.clone();
    circle[top as usize + 16..top as usize + 24].copy_from_slice(&top.to_le_bytes());
    refuses("a.abc", &circle, "in a circle");
}

#[test]
fn what_is_wrong_with_usd_is_said() {
    let mesh = |body: &str| format!("#usda 1.0\ndef Mesh \"m\"\n{{\n{body}\n}}\n").into_bytes();
    let good = "int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]\npoint3f[] points = [(0,0,0),(1,0,0),(0,1,0)]";
    let refuses = |body: &str, words: &str| refuses_as("a.usda", &mesh(body), words);
    refuses("", "/m: the mesh has no points");
    refuses("point3f[] points = []", "/m: the mesh is empty");
    refuses(&good.replace("0, 1, 2", "0, 1, 3"), "/m: face 0 refers to point 3, but there are 3");
    refuses(&good.replace("[3]", "[4]"), "face 0 has 4 corners, which are not there");
    refuses(&good.replace("(1,0,0)", "(nan,0,0)"), "point 1 is not finite");
    refuses(&good.replace("(1,0,0)", "(1,0)"), "/m.points: 8 numbers");
    refuses(
        &format!("{good}\npoint3f[] points.timeSamples = {{ 2: [(0,0,0)], 1: [(0,0,0)], }}"),
        "samples are out of order: time 2 stands before 1",
    );
    refuses(
        "int[] faceVertexCounts = [3]\nint[] faceVertexIndices.timeSamples = { 1: [0,1,2], 2: [0,2,1] }\npoint3f[] points = [(0,0,0),(1,0,0),(0,1,0)]",
        "topology changes at time 2",
    );
    let fewer =
        good.replace("points =", "points.timeSamples = { 1:").replace("(0,1,0)]", "(0,1,0)], 2: [(0,0,0)] }");
    frame_refuses("a.usda", &mesh(&fewer), 1, "mesh `m` has 1 points");
    // a sample that is missing is told when its frame is asked for
    let folder = tempfile::tempdir().unwrap();
    let gap = folder.path().join("gap.usda");
    let samples =
        good.replace("points =", "points.timeSamples = { 1:").replace("(0,1,0)]", "(0,1,0)], 2: None }");
    std::fs::write(&gap, mesh(&samples)).unwrap();
    let clip = read(&gap, &ReadOptions::default()).unwrap();
    let said = clip.frame(clip.frame_count() - 1).unwrap_err().to_string();
    assert!(said.contains("/m.points at time 2: the sample is missing"), "{said}");
    refuses("def Scope \"a\" { }\ndef Scope \"a\" { }", "line 5: there are two prims /m/a");
    for arc in [
        "references = @a.usd@</b>",
        "prepend payload = @a.usd@",
        "instanceable = true",
        "inherits = </c>",
        "variants = { string v = \"a\" }",
    ] {
        let text = format!("#usda 1.0\ndef Xform \"x\" (\n {arc}\n)\n{{\n}}\n");
        refuses_as("a.usda", text.as_bytes(), "/x: it has ");
        refuses_as("a.usda", text.as_bytes(), "usdcat --flatten");
    }
    refuses_as("a.usda", b"#usda 1.0\n(\n subLayers = [@b.usda@]\n)\n", "it has the sublayer `b.usda`");
    refuses_as(
        "a.usda",
        "#usda 1.0\n"
            .to_string()
            .as_bytes()
            .iter()
            .copied()
            .chain("def \"a\" {".repeat(300).bytes())
            .collect::<Vec<_>>()
            .as_slice(),
        "nested more than 256 deep",
    );
    let mut newer = written("a.usdc").remove(0).1;
    newer[9] = 99;
    refuses_as("a.usdc", &newer, "crate version 0.99.0 is not read");
    let usdc = written("a.usdc").remove(0).1;
    refuses_as("a.usdc", &usdc[..usdc.len() / 2], "cut short");
    let usdz = written("a.usdz").remove(0).1;
    refuses_as("a.usdz", &usdz[..usdz.len() - 30], "no directory");
}

/// The bytes of some points, as every cache has them.
fn point_bytes(points: &[[f32; 3]]) -> Vec<u8> {
    points.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Where bytes stand in a file, the first time.
fn found(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).expect("it is there")
}

/// What a frame of a file cannot be, in words; the file itself can be opened.
fn frame_refuses(name: &str, bytes: &[u8], frame: usize, words: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let said = read(&path, &ReadOptions::default()).unwrap().frame(frame).unwrap_err().to_string();
    assert!(said.contains(words), "`{said}` does not say `{words}`");
}

/// The flag twice, under names of one length.
fn twins(name: &str) -> Vec<u8> {
    let mut clip = flag();
    clip.meshes.push(clip.meshes[0].clone());
    (clip.meshes[0].name, clip.meshes[1].name) = ("leafa".into(), "leafb".into());
    let frame = flag().frame(0).unwrap().points.remove(0);
    let frame = clip::Frame { points: vec![frame.clone(), frame], pose: Vec::new() };
    let clip = clip.with_frames(std::sync::Arc::new(clip::MemoryFrames::new(vec![frame; 2])));
    let folder = tempfile::tempdir().unwrap();
    clip::write(folder.path().join(name), &clip, &clip::WriteOptions::default()).unwrap();
    std::fs::read(folder.path().join(name)).unwrap()
}

/// The same with one name for both.
fn of_one_name(mut bytes: Vec<u8>) -> Vec<u8> {
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"leafb")).collect();
    places.iter().for_each(|&at| bytes[at + 4] = b'a');
    bytes
}

/// The places of a block's children in an Ogawa file: of the block that begins with a digest, then these bytes.
fn places_of(abc: &[u8], content: &[u8]) -> Vec<usize> {
    let blocks = (24..abc.len() - content.len()).filter(|&at| abc[at..].starts_with(content));
    let words: Vec<[u8; 8]> = blocks.map(|at| ((at as u64 - 24) | 1 << 63).to_le_bytes()).collect();
    (0..abc.len() - 8).filter(|&at| words.iter().any(|word| abc[at..].starts_with(word))).collect()
}

#[test]
fn samples_of_alembic_that_cannot_be_are_told() {
    let abc = written("a.abc").remove(0).1;
    let points = |frame: usize| point_bytes(&flag().frame(frame).unwrap().points[0]);

    // a mesh without points
    let mut empty = abc.clone();
    let places = places_of(&abc, &points(0));
    assert!(!places.is_empty());
    places.iter().for_each(|&at| empty[at..at + 8].copy_from_slice(&(1_u64 << 63).to_le_bytes()));
    refuses("a.abc", &empty, "/flag/flagShape: the mesh is empty");

    // a sample that is not there, one of other points, one that is no number
    let mut gap = abc.clone();
    places_of(&abc, &points(5)).iter().for_each(|&at| gap[at..at + 8].copy_from_slice(&[0; 8]));
    frame_refuses("a.abc", &gap, 5, "sample 5 is missing");
    let mut fewer = abc.clone();
    fewer.extend(28_u64.to_le_bytes());
    fewer.extend([0; 28]);
    let block = (abc.len() as u64 | 1 << 63).to_le_bytes();
    places_of(&abc, &points(5)).iter().for_each(|&at| fewer[at..at + 8].copy_from_slice(&block));
    frame_refuses("a.abc", &fewer, 5, "mesh `flag` has 1 points");
    let mut nan = abc.clone();
    let at = found(&abc, &points(5));
    nan[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    frame_refuses("a.abc", &nan, 5, "not a finite number");

    // time that runs backwards
    let mut backwards = abc.clone();
    let at = found(&abc, &(1.0_f64 / 24.0).to_le_bytes());
    backwards[at..at + 8].copy_from_slice(&(-1.0_f64 / 24.0).to_le_bytes());
    refuses("a.abc", &backwards, "samples are out of order");

    refuses("a.abc", &of_one_name(twins("a.abc")), "there are two objects `leafa`");
}

#[test]
fn topology_of_alembic_that_changes_is_told() {
    let abc = written("a.abc").remove(0).1;
    let corners: Vec<u8> = [2_i32, 1, 0, 3, 2, 0].iter().flat_map(|x| x.to_le_bytes()).collect();
    // another order of the same corners, as a second sample of the property; equal blocks are stored once, and others may share it
    let mut other = abc.clone();
    let block = other.len() as u64;
    other.extend((16 + corners.len() as u64).to_le_bytes());
    other.extend([7; 16]);
    other.extend([0_i32, 1, 2, 3, 2, 0].iter().flat_map(|x| x.to_le_bytes()));
    for first in places_of(&abc, &corners) {
        let (group, both) = (other.len() as u64, &abc[first..first + 16]);
        other.extend(4_u64.to_le_bytes());
        other.extend(both);
        other.extend((block | 1 << 63).to_le_bytes());
        other.extend(&both[8..]);
        let from = (first as u64 - 8).to_le_bytes();
        let places: Vec<usize> = (0..abc.len() - 8).filter(|&at| abc[at..].starts_with(&from)).collect();
        places.iter().for_each(|&at| other[at..at + 8].copy_from_slice(&group.to_le_bytes()));
    }
    // the header before the name: flags, the number of samples, perhaps the sampling, the length of the name
    let name = found(&abc, b"\x0c.faceIndices");
    let flags = [name - 5, name - 6].into_iter().find(|&at| abc[at + 1] & 8 != 0).expect("it is constant");
    other[flags + 1] &= !8;
    other[flags + 4] = 2;
    refuses("a.abc", &other, "/flag/flagShape: topology changes at sample 1");
}

#[test]
fn samples_of_crates_that_cannot_be_are_told() {
    let usdc = written("a.usdc").remove(0).1;
    let last = point_bytes(&flag().frame(5).unwrap().points[0]);
    let mut nan = usdc.clone();
    let at = found(&usdc, &last);
    nan[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    frame_refuses("a.usdc", &nan, 5, "not a finite number");
    let times: Vec<u8> = (0..6).flat_map(|time| f64::from(time).to_le_bytes()).collect();
    let at = found(&usdc, &times);
    let mut swapped = usdc.clone();
    swapped[at..at + 16].rotate_left(8);
    refuses("a.usdc", &swapped, "samples are out of order");
    refuses("a.usdc", &of_one_name(twins("a.usdc")), "there are two prims /flag/leafa");
}

#[test]
fn connections_in_a_circle_end() {
    let circles = PAINTED
        .replace("</Paint/Picture.outputs:rgb>", "</Paint/Surface.outputs:surface>")
        .replace("token outputs:surface\n", "token outputs:surface.connect = </Paint.outputs:surface>\n");
    assert_ne!(circles, PAINTED);
    let rig = RIG.replace("</Root/Rig/Anim>", "</Root/Rig>").replace("</Root/Body/smile>", "</Root/Body>");
    assert_ne!(rig, RIG);
    for (text, meshes) in [(circles, 1), (rig, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.usda");
        std::fs::write(&path, text).unwrap();
        match read(&path, &ReadOptions::default()) {
            Ok(clip) => {
                assert_eq!((clip.meshes.len(), clip.images.len()), (meshes, 0));
                (0..clip.frame_count()).for_each(|frame| drop(clip.frame(frame)));
            }
            Err(error) => assert!(error.to_string().contains("/Root/"), "{error}"),
        }
    }
}

#[test]
fn damaged_soups() {
    for ending in ["off", "ply", "stl"] {
        damage_all(ending, 500);
    }
}

#[test]
fn damaged_tets() {
    for ending in ["veg", "msh", "mesh", "node", "ele"] {
        damage_all(ending, 500);
    }
}

#[test]
fn damaged_weights() {
    damage_all("json", 1000);
    damage_all("csv", 1000);
}

#[test]
fn every_format_is_damaged() {
    let endings: Vec<&str> = seeds().iter().map(|seed| seed.ending()).collect();
    // FBX is read by another library, behind a feature, and written by nobody here
    let formats = clip::Format::ALL.iter().map(|format| format.extension()).filter(|ending| *ending != "fbx");
    for ending in formats.chain(clip::TET_ENDINGS) {
        assert!(endings.contains(&ending), "there is no seed for .{ending}");
    }
}

#[test]
fn what_is_wrong_with_tets_is_said() {
    let refuses = |name: &str, text: &str, words: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let found = read_tets(&path, &ReadOptions::default()).err().map(|error| error.to_string());
        let found = found.unwrap_or_default();
        assert!(found.contains(words), "`{found}` does not say `{words}`");
    };
    refuses("a.veg", &VEG.replace("TET\n", "CUBIC\n"), "a vertex number is missing");
    refuses("a.veg", &VEG.replace("TET\n", "PRISM\n"), "elements are `PRISM`");
    refuses("a.veg", &VEG.replace("\n2 1 0 0", "\n7 1 0 0"), "number 7 is out of order");
    refuses("a.veg", VEG, "shell.txt");
    refuses("a.veg", &VEG.replace("*INCLUDE shell.txt", "3"), "element 3 is named, but there are 2");
    refuses("a.veg", "*SET shell\n*INCLUDE a.veg\n", "without end");
    refuses("a.msh", &MSH_2.replace("2.2 0", "2.2 1"), "export it as ASCII");
    refuses("a.msh", &MSH_2.replace("2.2 0", "4 0"), "export it as 2.2 or 4.1");
    refuses("a.msh", &MSH_4.replace("2 10 20 30 50", "2 10 20 30 99"), "there is no point 99");
    refuses("a.mesh", &MEDIT.replace("1 2 3 5 7", "1 2 3 6 7"), "tet 1 refers to point 5");
    refuses("a.mesh", &MEDIT.replace("1 2 3 5 7", "1 2 3 3 7"), "tet 1 has no volume");
    refuses("a.mesh", "MeshVersionFormatted 1\nDimension 3\n", "no section `Vertices`");
    refuses("a.node", NODE, "a.ele");
    refuses("a.tet", "", "those we know are .veg");
}

#[test]
fn damaged_bvh() {
    damage_all("bvh", 2000);
}

#[test]
fn damaged_acclaim() {
    damage_all("amc", 2000);
    damage_all("asf", 1000);
}

#[test]
fn damaged_markers() {
    damage_all("trc", 2000);
}

/// Refuses with these words.
fn refuses(name: &str, bytes: &[u8], words: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let found = read(&path, &ReadOptions::default()).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(found.contains(words) && found.contains(name), "`{found}` does not say `{words}`");
}

use refuses as refuses_as;

fn gltf(json: &str) -> Vec<u8> {
    json.replace('\'', "\"").into_bytes()
}

#[test]
fn what_is_wrong_is_said() {
    refuses(
        "a.gltf",
        &gltf("{'asset':{'version':'2.0'},'nodes':[{'children':[1]},{'children':[0]}]}"),
        "their own ancestors",
    );
    refuses(
        "a.gltf",
        &gltf("{'asset':{'version':'2.0'},'nodes':[{'children':[2]},{'children':[2]},{}]}"),
        "one parent",
    );
    refuses("a.gltf", &gltf("{'asset':{'version':'2.0'},'nodes':[{'mesh':3}]}"), "meshes[3]");
    refuses("a.gltf", &gltf("{'asset':{'version':'1.0'}}"), "we read 2.0");
    refuses("a.gltf", &gltf("{'asset':{'version':'2.0'},'nodes':["), "JSON line 1");
    let draco = "{'asset':{'version':'2.0'},'extensionsRequired':['KHR_draco_mesh_compression']}";
    refuses("a.gltf", &gltf(draco), "export it again without");
    let huge = "{'asset':{'version':'2.0'},'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],\
        'accessors':[{'componentType':5126,'count':4000000000,'type':'VEC3'}]}";
    refuses("a.gltf", &gltf(huge), "more than the file has bytes");
    let glb = written("a.glb").remove(0).1;
    refuses("a.glb", &glb[..glb.len() / 2], "cut short");
    refuses("a.glb", &glb[..6], "cut short");
    let pc2 = written("a.pc2").remove(0).1;
    refuses("a.pc2", &pc2[..pc2.len() - 1], "cut short");
    refuses("a.pc2", &pc2, "name the OBJ that the cache moves");
    refuses("a.xyz", b"what", "not a format we know");
    #[cfg(not(feature = "fbx"))]
    refuses("a.fbx", b"Kaydara FBX Binary", "build it with `--features fbx`");
}

#[test]
fn every_ugly_file_is_read_or_refused_with_words() {
    for folder in
        ["meshes/ugly", "meshes/shapes", "sequences/alembic", "cloth/arcsim/meshes", "mocap/cmu_asf_amc"]
    {
        let Some(folder) = assets(folder) else { return };
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for path in files.iter().filter(|path| path.is_file()) {
            match read(path, &ReadOptions { single: true, ..ReadOptions::default() }) {
                Err(error) => {
                    let words = error.to_string();
                    println!("refused: {words}");
                    assert!(
                        words.contains(path.file_name().unwrap().to_str().unwrap()),
                        "{words} does not name the file"
                    );
                }
                Ok(clip) => {
                    for problem in diagnose(&clip) {
                        println!("{}: {problem}", path.file_name().unwrap().display());
                    }
                }
            }
        }
    }
}
