//! No stale frame: keys are made of every file that a shot can read, and what changes while a bake runs is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clip::{Clip, FilePath, Frame, MemoryFrames, Mesh, Selector, WriteOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{
    BakeKey, BakeOptions, Context, FrameResult, Layer, LayerError, Reader, Registry, Settings, Shot,
    Simulation, Target,
};

/// Reads everything that a setting can name: at the beginning, or anew in every frame.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Reads {
    weights: Vec<Selector>,
    clips: Vec<FilePath>,
    tets: Option<FilePath>,
    bytes: Option<FilePath>,
}

impl Settings for Reads {
    const KIND: &'static str = "reads";
    const SUMMARY: &'static str = "reads files";
    const VERSION: u32 = 1;
}

impl Layer for Reads {
    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        let clips = self.clips.iter().map(|file| input.open(file)).collect::<Result<_, _>>()?;
        Ok(Box::new(Reading { settings: self.clone(), input: input.clone(), clips }))
    }
}

struct Reading {
    settings: Reads,
    input: Target,
    clips: Vec<Clip>,
}

impl Simulation for Reading {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let mut sum = 0.0;
        for selector in &self.settings.weights {
            let weights = selector.weights(&self.input.clip, self.input.mesh, &self.input.files)?;
            sum += weights.iter().sum::<f32>();
        }
        for clip in &self.clips {
            let frame = clip.frame(index.min(clip.frame_count() - 1))?;
            sum += frame.points.iter().flatten().flatten().sum::<f32>();
        }
        if let Some(tets) = &self.settings.tets {
            sum += self.input.open_tets(tets)?.mesh.points().iter().map(|p| p.x as f32).sum::<f32>();
        }
        if let Some(bytes) = &self.settings.bytes {
            let bytes = self.input.files.read(self.input.files.path(bytes))?;
            sum += bytes.iter().map(|&byte| f32::from(byte)).sum::<f32>();
        }
        let mut points = self.input.points(index)?;
        points.iter_mut().for_each(|point| point[1] += sum);
        Ok(self.input.with_points(index, points)?.into())
    }

    fn checkpoint(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), LayerError> {
        Ok(())
    }
}

/// Passes frames on; while it makes the first, somebody changes a file.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Meddle {}

/// The file that somebody will change: no setting, since keys must not know of it.
static MEDDLED: Mutex<Option<PathBuf>> = Mutex::new(None);

impl Settings for Meddle {
    const KIND: &'static str = "meddle";
    const SUMMARY: &'static str = "changes a file";
    const VERSION: u32 = 1;
}

impl Layer for Meddle {
    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        Ok(Box::new(Meddling { input: input.clone() }))
    }
}

struct Meddling {
    input: Target,
}

impl Simulation for Meddling {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let frame = self.input.clip.frame(index)?;
        let mut meddled = MEDDLED.lock().unwrap();
        if let Some(path) = meddled.take_if(|path| path.starts_with(self.input.files.folder())) {
            flip(&path, None);
        }
        Ok(frame.into())
    }

    fn checkpoint(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), LayerError> {
        Ok(())
    }
}

/// Another byte in a file, at a place or at its end, and another time of writing, as an editor leaves it.
fn flip(path: &Path, at: Option<usize>) {
    let mut bytes = fs::read(path).unwrap();
    let at = at.unwrap_or(bytes.len() - 1);
    bytes[at] ^= 1;
    write(path, &bytes);
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    fs::File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
}

/// Two triangles that rise.
fn clip() -> Clip {
    let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let mesh = Mesh::new("flag", points.clone(), &[[0, 1, 2], [0, 2, 3]]);
    let frames = (0..4).map(|i| {
        let points = points.iter().map(|p| [p[0], p[1], 0.25 * i as f32]).collect();
        Frame { points: vec![points], pose: Vec::new() }
    });
    Clip::new("flag", 24.0, vec![mesh], None, std::sync::Arc::new(MemoryFrames::new(frames.collect())))
}

/// A triangle in a glTF whose buffer lies beside it under a name in percent signs; in a GLB, too.
fn with_buffer_beside(folder: &Path, name: &str, uri: &str, buffer: &str) {
    let json = format!(
        "{{'asset':{{'version':'2.0'}},'nodes':[{{'mesh':0}}],'scenes':[{{'nodes':[0]}}],\
         'meshes':[{{'primitives':[{{'attributes':{{'POSITION':0}}}}]}}],\
         'accessors':[{{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3'}}],\
         'bufferViews':[{{'buffer':0,'byteLength':36}}],'buffers':[{{'uri':'{uri}','byteLength':36}}]}}"
    )
    .replace('\'', "\"");
    let mut bytes = json.into_bytes();
    if name.ends_with("glb") {
        bytes.resize(bytes.len().next_multiple_of(4), b' ');
        let length = bytes.len() as u32;
        let head =
            [&b"glTF\x02\0\0\0"[..], &(20 + length).to_le_bytes(), &length.to_le_bytes(), b"JSON"].concat();
        bytes = [head, bytes].concat();
    }
    fs::write(folder.join(name), bytes).unwrap();
    let corners = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    fs::write(folder.join(buffer), corners.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
        .unwrap();
}

/// A folder with files of every kind.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["input.glb", "sequence.####.obj", "cache.pc2", "cache2.mdd", "obstacle.##.obj"] {
        clip::write(path(name), &clip(), &WriteOptions::default()).unwrap();
    }
    with_buffer_beside(folder.path(), "cafe.gltf", "caf%C3%A9.bin", "café.bin");
    with_buffer_beside(folder.path(), "beside.glb", "beside.bin", "beside.bin");
    for name in ["w1.json", "w2.json", "w3.json"] {
        fs::write(path(name), "[0, 0.25, 0.5, 1]").unwrap();
    }
    fs::write(path("bytes.bin"), "anything").unwrap();
    fs::write(path("t.node"), "4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n").unwrap();
    fs::write(path("t.ele"), "1 4 0\n0 0 1 2 3\n").unwrap();
    folder
}

/// Shots over those files: the lines that name them, and the files that belong to each.
const SHOTS: &[(&str, &str, &[&str])] = &[
    ("file = 'input.glb'", "", &["input.glb"]),
    ("file = 'sequence.####.obj'", "", &["sequence.0001.obj", "sequence.0003.obj", "sequence.0004.obj"]),
    ("file = 'cache.pc2'", "", &["cache.pc2", "cache.obj"]),
    ("file = 'cache2.mdd'\nmesh = 'cache.obj'", "", &["cache2.mdd", "cache.obj"]),
    ("file = 'cache.obj'\ncache = 'cache.pc2'", "", &["cache.pc2", "cache.obj"]),
    ("file = 'cafe.gltf'", "", &["cafe.gltf", "café.bin"]),
    ("file = 'beside.glb'", "", &["beside.glb", "beside.bin"]),
    ("file = 'input.glb'", "weights = [{ file = 'w1.json' }]", &["w1.json"]),
    (
        "file = 'input.glb'",
        "weights = [{ not = { any = [{ file = 'w2.json' }, { file = 'w3.json' }] } }]",
        &["w2.json", "w3.json"],
    ),
    (
        "file = 'input.glb'",
        "clips = ['cafe.gltf', 'beside.glb']",
        &["cafe.gltf", "café.bin", "beside.glb", "beside.bin"],
    ),
    ("file = 'input.glb'", "clips = ['obstacle.##.obj']", &["obstacle.01.obj", "obstacle.04.obj"]),
    ("file = 'input.glb'", "tets = 't.node'", &["t.node", "t.ele"]),
    ("file = 'input.glb'", "bytes = 'bytes.bin'", &["bytes.bin"]),
];

fn shot(folder: &Path, input: &str, settings: &str) -> Shot {
    let text = format!(
        "[input]\n{input}\n[[layer]]\nkind = 'meddle'\n[[layer]]\nkind = 'reads'\n{settings}\n\
         [output]\nfiles = []\nreport = false\n"
    );
    let reader = Reader::new(Registry::empty().with::<Reads>().with::<Meddle>());
    reader.parse("shot.toml", &text, folder).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn keys(folder: &Path, input: &str, settings: &str) -> Result<Vec<BakeKey>, shot::Error> {
    shot(folder, input, settings).keys()
}

#[test]
fn one_byte_in_any_file_is_another_key() {
    let folder = files();
    for (input, settings, names) in SHOTS {
        let before = keys(folder.path(), input, settings).unwrap();
        assert_eq!(keys(folder.path(), input, settings).unwrap(), before, "the same files, the same keys");
        for name in *names {
            let path = folder.path().join(name);
            let good = fs::read(&path).unwrap();
            let mut readable = 0;
            for at in (0..good.len()).rev().step_by(good.len().div_ceil(40)) {
                flip(&path, Some(at));
                // damaged beyond reading is noticed, too
                if let Ok(after) = keys(folder.path(), input, settings) {
                    readable += 1;
                    assert_ne!(after.last(), before.last(), "{input}, {settings}: byte {at} of {name}");
                    let of_input = settings.is_empty();
                    assert_eq!(
                        after[0] != before[0],
                        of_input,
                        "{input}, {settings}: {name} is of the wrong key"
                    );
                }
                write(&path, &good);
            }
            assert!(readable > 0, "{name}: no flipped byte left it readable");
        }
        assert_eq!(keys(folder.path(), input, settings).unwrap(), before, "back to the same bytes");
    }
}

#[test]
fn a_file_that_changes_during_a_bake_is_refused_and_poisons_nothing() {
    for (number, (input, settings, names)) in SHOTS.iter().enumerate() {
        let folder = files();
        let options =
            |out: &str| BakeOptions { out: Some(folder.path().join(out)), ..BakeOptions::default() };
        let truth = shot(folder.path(), input, settings).bake(&options("truth"), &Context::SILENT).unwrap();
        for name in *names {
            let path: PathBuf = folder.path().join(name);
            let good = fs::read(&path).unwrap();
            let shot = shot(folder.path(), input, settings);
            let out = format!("out{number}-{name}");
            *MEDDLED.lock().unwrap() = Some(path.clone());
            let words = shot.bake(&options(&out), &Context::SILENT).err().map(|error| error.to_string());
            let words =
                words.unwrap_or_else(|| panic!("{input}, {settings}: {name} changed, and nobody noticed"));
            assert!(words.contains(name) && words.contains("changed"), "{words}");
            // what was stored until then is right: with the old bytes back, the bake ends as if nothing had been
            write(&path, &good);
            let bake = shot.bake(&options(&out), &Context::SILENT).unwrap();
            assert_eq!(bake.layers[1].key, truth.layers[1].key);
            for index in 0..truth.clip.frame_count() {
                assert_eq!(
                    bake.clip.frame(index).unwrap(),
                    truth.clip.frame(index).unwrap(),
                    "{name}, frame {index}"
                );
            }
        }
    }
}

#[test]
fn a_file_that_no_setting_names_cannot_be_opened() {
    /// Reads a file that its settings do not name as one.
    #[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    struct Sneaks {
        path: String,
    }

    impl Settings for Sneaks {
        const KIND: &'static str = "sneaks";
        const SUMMARY: &'static str = "reads what it does not name";
        const VERSION: u32 = 1;
    }

    impl Layer for Sneaks {
        fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
            input.files.read(input.files.path(&self.path))?;
            Ok(Box::new(Meddling { input: input.clone() }))
        }
    }

    let folder = files();
    let text = "[input]\nfile = 'input.glb'\n[[layer]]\nkind = 'sneaks'\npath = 'bytes.bin'\n[output]\nfiles = []\nreport = false\n";
    let reader = Reader::new(Registry::empty().with::<Sneaks>());
    let shot = reader.parse("shot.toml", text, folder.path()).unwrap();
    let options = BakeOptions { out: Some(folder.path().join("out")), ..BakeOptions::default() };
    let words = shot.bake(&options, &Context::SILENT).err().unwrap().to_string();
    assert!(words.contains("bytes.bin") && words.contains("not there when the list"), "{words}");
}

#[test]
fn what_an_input_names_outside_its_folder_is_refused_with_the_remedy() {
    let folder = files();
    fs::create_dir(folder.path().join("in")).unwrap();
    with_buffer_beside(&folder.path().join("in"), "a.gltf", "../beside.bin", "../beside.bin");
    let text =
        "[input]\nfile = 'in/a.gltf'\n[[layer]]\nkind = 'reads'\n[output]\nfiles = []\nreport = false\n";
    let reader = Reader::new(Registry::empty().with::<Reads>());
    let diagnostics = reader.parse("shot.toml", text, folder.path()).unwrap().check();
    assert!(diagnostics[0].message().contains("leads out"), "{diagnostics:?}");
    assert!(diagnostics[0].remedy().is_some_and(|help| help.contains("--allow-outside")), "{diagnostics:?}");
    let trusting = reader.allow_outside(true).parse("shot.toml", text, folder.path()).unwrap();
    assert!(trusting.check().is_empty());
    let options = BakeOptions { out: Some(folder.path().join("out")), ..BakeOptions::default() };
    trusting.bake(&options, &Context::SILENT).unwrap();
}
