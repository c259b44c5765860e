//! Strangers' files: what they name is read only from their own folder, and what was read once stays what it was.

mod common;

use std::path::{Path, PathBuf};

use clip::{Clip, Error, Files, ReadOptions, Selector, read, read_tets, source_files};
use common::seeds::{PAINTED, PNG, Seed, flag, seeds};

fn with(files: &Files) -> ReadOptions {
    ReadOptions { files: files.clone(), ..ReadOptions::default() }
}

/// Reads a seed as its user would, every frame of it.
fn use_seed(seed: &Seed, path: &Path, files: &Files) -> clip::Result<()> {
    if clip::TET_ENDINGS.contains(&seed.ending()) {
        return read_tets(path, &with(files)).map(drop);
    }
    if matches!(seed.ending(), "json" | "csv") {
        return Selector::File(path.into()).weights(&flag(), 0, files).map(drop);
    }
    use_clip(&read(path, &with(files))?)
}

fn use_clip(clip: &Clip) -> clip::Result<()> {
    (0..clip.frame_count()).try_for_each(|index| clip.frame(index).map(drop))
}

/// A triangle whose one buffer, and perhaps picture, are called so.
fn triangle(buffer: &str, image: Option<&str>) -> String {
    let look = image.map_or(String::new(), |uri| {
        format!(
            "'images':[{{'uri':'{uri}'}}],'textures':[{{'source':0}}],\
             'materials':[{{'pbrMetallicRoughness':{{'baseColorTexture':{{'index':0}}}}}}],"
        )
    });
    let text = format!(
        "{{'asset':{{'version':'2.0'}},'nodes':[{{'mesh':0}}],'scenes':[{{'nodes':[0]}}],{look}\
         'meshes':[{{'primitives':[{{'attributes':{{'POSITION':0}},'material':0}}]}}],\
         'accessors':[{{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'}}],\
         'bufferViews':[{{'buffer':0,'byteLength':36}}],'buffers':[{{'uri':'{buffer}','byteLength':36}}]}}"
    );
    let text = if image.is_none() { text.replace(",'material':0", "") } else { text };
    text.replace('\'', "\"")
}

fn corners() -> Vec<u8> {
    [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A folder `in` with a glTF, its buffer and whatever else, and a secret beside the folder.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.inside("")).unwrap();
        std::fs::write(place.folder.path().join("secret.txt"), "root:x:0:0").unwrap();
        std::fs::write(place.folder.path().join("secret.bin"), corners()).unwrap();
        std::fs::write(place.folder.path().join("secret.png"), PNG).unwrap();
        std::fs::write(place.inside("a.bin"), corners()).unwrap();
        place
    }

    fn inside(&self, name: &str) -> PathBuf {
        self.folder.path().join("in").join(name)
    }

    fn read(&self, text: &str, files: &Files) -> clip::Result<Clip> {
        std::fs::write(self.inside("a.gltf"), text).unwrap();
        read(self.inside("a.gltf"), &with(files))
    }

    fn said(&self, text: &str) -> String {
        self.read(text, &Files::default()).err().map(|error| error.to_string()).unwrap_or_default()
    }
}

#[test]
fn a_picture_outside_the_folder_is_not_taken_along() {
    let place = Place::new();
    for uri in
        ["../secret.txt", "..%2Fsecret.txt", "%2e%2e/secret.png", "sub/../../secret.txt", "/etc/passwd"]
    {
        let words = place.said(&triangle("a.bin", Some(uri)));
        assert!(words.contains("images[0]") && words.contains("a.gltf"), "{uri}: {words}");
        assert!(words.contains("leads out") || words.contains("absolute"), "{uri}: {words}");
    }
    // who trusts the file gets pictures, and still nothing but pictures
    let trusting = Files::default().allow_outside(true);
    let clip = place.read(&triangle("a.bin", Some("../secret.png")), &trusting).unwrap();
    assert_eq!((clip.images.len(), clip.warnings.len()), (1, 0));
    let clip = place.read(&triangle("a.bin", Some("../secret.txt")), &trusting).unwrap();
    assert!(clip.images.is_empty() && clip.materials[0].base_color_image.is_none());
    assert!(
        clip.warnings[0].contains("secret.txt") && clip.warnings[0].contains("left out"),
        "{:?}",
        clip.warnings
    );
    // and what is written of it holds nothing of the secret
    let out = place.inside("out.glb");
    clip::write(&out, &clip, &clip::WriteOptions::default()).unwrap();
    let bytes = std::fs::read(&out).unwrap();
    assert!(!bytes.windows(10).any(|window| window == b"root:x:0:0"));
    assert!(read(&out, &ReadOptions::default()).unwrap().warnings.is_empty());
}

#[test]
fn pictures_of_usd_lie_beside_the_layer_or_in_its_archive() {
    let place = Place::new();
    let layer = place.inside("a.usda");
    for name in ["../secret.png", "sub/../../secret.png", "/etc/passwd"] {
        std::fs::write(&layer, PAINTED.replace("look/paint.png", name)).unwrap();
        let clip = read(&layer, &ReadOptions::default()).unwrap();
        assert!(clip.images.is_empty() && clip.materials[0].base_color_image.is_none(), "{name}");
        assert!(clip.warnings.iter().any(|warning| warning.contains(name)), "{name}: {:?}", clip.warnings);
    }
    std::fs::write(&layer, PAINTED.replace("look/paint.png", "../secret.png")).unwrap();
    let trusting = read(&layer, &with(&Files::default().allow_outside(true))).unwrap();
    assert_eq!((trusting.images.len(), trusting.warnings.len()), (1, 0));

    // a usdz whose picture says that it lies outside: the bytes are those of the entry, and nothing is read or written there
    let archive = place.inside("a.usdz");
    clip::write(&archive, &trusting, &clip::WriteOptions::default()).unwrap();
    let (inner, outer) = (b"textures/clip.image0.png", b"../../../../../secre.png");
    let mut bytes = std::fs::read(&archive).unwrap();
    let at: Vec<usize> = (0..bytes.len() - inner.len()).filter(|&i| bytes[i..].starts_with(inner)).collect();
    assert_eq!(at.len(), 3, "the layer, the entry and the directory");
    at.iter().for_each(|&i| bytes[i..i + inner.len()].copy_from_slice(outer));
    std::fs::write(&archive, &bytes).unwrap();
    let clip = read(&archive, &ReadOptions::default()).unwrap();
    assert_eq!((clip.images[0].bytes.as_slice(), clip.images[0].name.as_str()), (PNG, "secre"));
    let out = place.inside("out.obj");
    let written = clip::write(&out, &clip, &clip::WriteOptions::default()).unwrap();
    assert!(written.files.iter().all(|file| file.parent() == out.parent()), "{:?}", written.files);
}

#[test]
fn a_file_inside_that_is_no_picture_is_left_out() {
    let place = Place::new();
    std::fs::write(place.inside("notes.txt"), "mine").unwrap();
    let clip = place.read(&triangle("a.bin", Some("notes.txt")), &Files::default()).unwrap();
    assert!(clip.images.is_empty() && clip.warnings[0].contains("notes.txt"), "{:?}", clip.warnings);
    assert!(clip::diagnose(&clip).iter().any(|problem| problem.words.contains("notes.txt")));
}

#[test]
fn a_buffer_outside_the_folder_is_refused() {
    let place = Place::new();
    assert!(place.read(&triangle("a.bin", None), &Files::default()).is_ok());
    assert!(place.said(&triangle("../secret.bin", None)).contains("leads out"));
    assert!(place.said(&triangle("/dev/zero", None)).contains("absolute"));
    assert!(place.said(&triangle("file:///dev/zero", None)).contains("not a file beside"));
    let trusting = Files::default().allow_outside(true);
    assert!(place.read(&triangle("../secret.bin", None), &trusting).is_ok());
    // a device has no end, whoever is trusted
    assert!(
        place
            .read(&triangle("/dev/zero", None), &trusting)
            .unwrap_err()
            .to_string()
            .contains("only plain files")
    );
}

#[cfg(unix)]
#[test]
fn links_devices_and_pipes_are_refused() {
    let place = Place::new();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, place.inside(name)).unwrap();
    link("../secret.bin", "link.bin");
    assert!(place.said(&triangle("link.bin", None)).contains("a link that leads out"));
    link("/dev/zero", "zero.bin");
    assert!(place.said(&triangle("zero.bin", None)).contains("a link that leads out"));
    link("a.bin", "near.bin");
    assert!(place.read(&triangle("near.bin", None), &Files::default()).is_ok());
    let pipe = place.inside("pipe.bin");
    if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        // were it opened, this would wait for ever
        assert!(place.said(&triangle("pipe.bin", None)).contains("a pipe"));
        assert!(read(&pipe, &ReadOptions::default()).unwrap_err().to_string().contains("a pipe"));
    }
}

#[test]
fn materials_outside_the_folder_are_left_out_with_a_warning() {
    let place = Place::new();
    std::fs::write(place.folder.path().join("far.mtl"), "newmtl red\nKd 1 0 0\n").unwrap();
    let mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n";
    let open = |library: &str, mtl: &str, files: &Files| {
        std::fs::write(place.inside("a.mtl"), mtl).unwrap();
        std::fs::write(place.inside("a.obj"), format!("mtllib {library}\n{mesh}")).unwrap();
        read(place.inside("a.obj"), &with(files)).unwrap()
    };
    let clip = open("../far.mtl", "", &Files::default());
    assert_eq!(clip.materials[0].base_color, [0.8, 0.8, 0.8, 1.0]);
    assert!(
        clip.warnings[0].contains("mtllib") && clip.warnings[0].contains("left out"),
        "{:?}",
        clip.warnings
    );
    let clip = open("../far.mtl", "", &Files::default().allow_outside(true));
    assert_eq!((clip.materials[0].base_color, clip.warnings.len()), ([1.0, 0.0, 0.0, 1.0], 0));
    for (picture, kept) in [("../secret.png", false), ("C:\\textures\\red.png", false), ("paint.png", true)] {
        std::fs::write(place.inside("paint.png"), PNG).unwrap();
        let clip = open("a.mtl", &format!("newmtl red\nmap_Kd {picture}\n"), &Files::default());
        assert_eq!(
            (clip.images.len() == 1, clip.warnings.is_empty()),
            (kept, kept),
            "{picture}: {:?}",
            clip.warnings
        );
    }
    // a text with the ending of a picture
    std::fs::write(place.inside("paint.png"), "root:x:0:0").unwrap();
    let clip = open("a.mtl", "newmtl red\nmap_Kd paint.png\n", &Files::default());
    assert!(clip.images.is_empty() && clip.warnings[0].contains("paint.png"), "{:?}", clip.warnings);
}

#[test]
fn what_a_veg_includes_lies_beside_it() {
    let place = Place::new();
    let path = place.inside("a.veg");
    std::fs::write(&path, "*VERTICES\n*INCLUDE ../secret.txt\n").unwrap();
    assert!(matches!(read_tets(&path, &ReadOptions::default()), Err(Error::Outside { .. })));
    // twelve lines that ask for a million files
    std::fs::write(&path, "*SET s\n".to_owned() + &"*INCLUDE b.txt\n".repeat(40)).unwrap();
    std::fs::write(place.inside("b.txt"), "*INCLUDE c.txt\n".repeat(40)).unwrap();
    std::fs::write(place.inside("c.txt"), "*INCLUDE d.txt\n".repeat(40)).unwrap();
    std::fs::write(place.inside("d.txt"), "1\n").unwrap();
    assert!(
        read_tets(&path, &ReadOptions::default()).unwrap_err().to_string().contains("files are included")
    );
}

#[test]
fn many_names_for_one_file_cost_no_memory() {
    // 200 buffers that name one file are that file once; pictures that overlap are refused
    let place = Place::new();
    let one = "{\"uri\":\"a.bin\",\"byteLength\":36}";
    let many = triangle("a.bin", None).replace(one, &vec![one; 200].join(","));
    assert!(place.read(&many, &Files::default()).is_ok());
    let mut pixels = corners();
    pixels.extend(PNG);
    std::fs::write(place.inside("a.bin"), &pixels).unwrap();
    let view = |offset: usize| {
        format!("{{\"buffer\":0,\"byteOffset\":{offset},\"byteLength\":{}}}", pixels.len() - offset)
    };
    let images: Vec<String> = (0..6).map(|i| format!("{{\"bufferView\":{}}}", i + 1)).collect();
    let views: Vec<String> = (0..6).map(|i| view(30 + i)).collect();
    let text = triangle("a.bin", None)
        .replace(
            "\"byteLength\":36}]}",
            &format!("\"byteLength\":{}}}],\"images\":[{}]}}", pixels.len(), images.join(",")),
        )
        .replace("\"byteLength\":36}]", &format!("\"byteLength\":36}},{}]", views.join(",")));
    let words = place.said(&text);
    assert!(words.contains("longer than the file"), "{words}");
}

#[test]
fn every_reader_opens_through_the_policy() {
    for seed in seeds() {
        let folder = tempfile::tempdir().unwrap();
        let path = seed.write(folder.path());
        let sealed = Files::default().with_manifest();
        sealed.seal();
        assert!(use_seed(&seed, &path, &sealed).is_err(), "{}: read, though nothing may be", seed.name());
        assert!(sealed.manifest().is_empty());
    }
}

#[test]
fn the_files_of_a_clip_are_all_that_it_is_read_from() {
    for seed in seeds() {
        let folder = tempfile::tempdir().unwrap();
        let path = seed.write(folder.path());
        std::fs::write(folder.path().join("bystander.txt"), "nobody reads this").unwrap();
        let mut expected: Vec<PathBuf> =
            seed.files.iter().map(|(name, _)| folder.path().join(name)).collect();
        expected.sort();
        let files = Files::default().with_manifest();
        assert_eq!(source_files(&path, &with(&files)).unwrap(), expected, "{}", seed.name());
        // listed once, everything can be read after the list is closed
        files.seal();
        use_seed(&seed, &path, &files).unwrap();
        let listed: Vec<PathBuf> = files.manifest().into_iter().map(|file| file.path).collect();
        assert_eq!(listed, expected, "{}", seed.name());
    }
}

#[test]
fn one_byte_flipped_in_any_file_is_another_manifest_and_refused_by_the_old_one() {
    for seed in seeds() {
        let folder = tempfile::tempdir().unwrap();
        let path = seed.write(folder.path());
        let files = Files::default().with_manifest();
        source_files(&path, &with(&files)).unwrap();
        files.seal();
        for (name, good) in &seed.files {
            let file = folder.path().join(name);
            let before = Files::default().hash(&file).unwrap();
            for at in [0, good.len() / 2, good.len() - 1] {
                let mut bytes = good.clone();
                bytes[at] ^= 1;
                std::fs::write(&file, &bytes).unwrap();
                assert_ne!(Files::default().hash(&file).unwrap(), before, "{name}: byte {at}");
                let refused = use_seed(&seed, &path, &files);
                assert!(
                    matches!(&refused, Err(Error::Changed { path }) if *path == file),
                    "{name}: byte {at}: {refused:?}"
                );
            }
            std::fs::write(&file, good).unwrap();
            use_seed(&seed, &path, &files).unwrap();
        }
    }
}

#[test]
fn frames_are_compared_when_they_are_read() {
    // open clips: what changes behind their back is noticed in the frame that it concerns
    for (name, frame) in [("s.##.obj", "s.04.obj"), ("a.pc2", "a.pc2"), ("a.mdd", "a.mdd")] {
        let seed = seeds().into_iter().find(|seed| seed.name() == name).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = seed.write(folder.path());
        let files = Files::default().with_manifest();
        let clip = read(&path, &with(&files)).unwrap();
        files.seal();
        use_clip(&clip).unwrap();
        let file = folder.path().join(frame);
        let mut bytes = std::fs::read(&file).unwrap();
        let last = bytes.iter().rposition(|&byte| byte != b'\n').unwrap();
        bytes[last] ^= 1;
        std::fs::write(&file, &bytes).unwrap();
        assert!(matches!(clip.frame(3), Err(Error::Changed { .. })), "{name}");
        std::fs::remove_file(&file).unwrap();
        if name.ends_with("obj") {
            assert!(clip.frame(0).is_ok() && clip.frame(3).is_err(), "{name}: the others are as they were");
        }
    }
}

#[test]
fn files_that_come_or_go_do_not_change_a_sealed_clip() {
    let seed = seeds().into_iter().find(|seed| seed.name() == "s.##.obj").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = seed.write(folder.path());
    let files = Files::default().with_manifest();
    assert_eq!(read(&path, &with(&files)).unwrap().frame_count(), 6);
    files.seal();
    std::fs::copy(folder.path().join("s.06.obj"), folder.path().join("s.07.obj")).unwrap();
    assert_eq!(read(&path, &with(&files)).unwrap().frame_count(), 6, "a late frame is not there");
    std::fs::remove_file(folder.path().join("s.06.obj")).unwrap();
    let clip = read(&path, &with(&files)).unwrap();
    assert!(clip.frame_count() == 6 && clip.frame(5).is_err(), "a lost frame is missed");
}

#[test]
fn what_once_failed_is_read_or_refused_with_words() {
    // small files made for this folder: what each must say is its first line here
    const EXPECTED: &[(&str, &str)] = &[
        ("buffer-device.gltf", "is an absolute path"),
        ("buffer-encoded-parent.gltf", "leads out of the file's folder"),
        ("image-not-a-picture.gltf", "was left out"),
        ("image-parent.gltf", "leads out of the file's folder"),
        ("include-parent.veg", "leads out of the file's folder"),
        ("missing-uvs.obj", "read without one"),
        ("mtllib-absolute.obj", "left out"),
        ("one-name.bvh", ""),
    ];
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus"));
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".md"))
        .collect();
    found.sort();
    let named: Vec<&str> = EXPECTED.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, named, "every file of the corpus has its words");
    for (name, words) in EXPECTED {
        let path = folder.join(name);
        let said = if path.extension().is_some_and(|ending| ending == "veg") {
            read_tets(&path, &ReadOptions::default()).err().map(|error| error.to_string()).unwrap_or_default()
        } else {
            match read(&path, &ReadOptions::default()) {
                Ok(clip) => clip.warnings.join("\n"),
                Err(error) => error.to_string(),
            }
        };
        assert!(said.contains(words) && said.is_empty() == words.is_empty(), "{name}: `{said}`");
    }
}

#[test]
fn names_in_a_file_are_not_names_of_files() {
    for evil in ["../../evil", "/tmp/evil", "..", "a/b", "nul\\evil", "con\n../evil"] {
        let mut clip = flag();
        clip.name = evil.into();
        clip.meshes[0].name = evil.into();
        clip.meshes[0].set_group(evil, vec![1.0; 4]);
        clip.meshes[0].morph_targets =
            vec![clip::MorphTarget { name: evil.into(), offsets: vec![[0.0, 0.0, 1.0]; 4], weight: 0.5 }];
        clip.meshes[0].parts[0].material = Some(0);
        clip.images.push(clip::Image { name: evil.into(), mime_type: evil.into(), bytes: PNG.to_vec() });
        clip.materials
            .push(clip::Material { base_color_image: Some(0), ..clip::Material::plain(evil, [1.0; 4]) });
        let joint = clip::Joint { name: evil.into(), parent: None, rest: clip::Transform::IDENTITY };
        clip.skeleton = Some(clip::Skeleton { joints: vec![joint] });
        let pose = vec![clip::Transform::IDENTITY];
        let frame = clip::Frame { pose, ..clip.frame(0).unwrap() };
        let clip = clip.with_frames(std::sync::Arc::new(clip::MemoryFrames::new(vec![frame; 2])));
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a/b/c");
        std::fs::create_dir_all(&inside).unwrap();
        for name in [
            "out.glb",
            "out.obj",
            "out.####.obj",
            "out.pc2",
            "out.mdd",
            "out.bvh",
            "out.usdc",
            "out.usda",
            "out.usdz",
            "out.abc",
        ] {
            let written = clip::write(inside.join(name), &clip, &clip::WriteOptions::default()).unwrap();
            for file in written.files {
                let plain = file.parent() == Some(&inside);
                assert!(
                    plain && file.file_name().unwrap().to_str().unwrap().starts_with("out."),
                    "{}",
                    file.display()
                );
            }
            // and it can be read again: no name broke its format
            let back =
                read(inside.join(name.replace("out.obj", "out.####.obj")), &ReadOptions::default()).unwrap();
            assert_eq!(back.frame_count(), 2, "{name} of `{evil}`");
        }
        let outside = std::fs::read_dir(folder.path()).unwrap().count()
            + std::fs::read_dir(folder.path().join("a")).unwrap().count();
        assert_eq!(outside, 2, "something lies outside the folder");
    }
}
