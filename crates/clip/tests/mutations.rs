//! Damaged files: thousands of them, made from good ones by a seeded generator. A reader may refuse; it may not panic,
//! hang, or ask for memory that the file's size does not justify. The same doors are open to `cargo fuzz` in `fuzz/`.

#![allow(unsafe_code)] // an allocator that watches must be one
#![allow(clippy::print_stdout)] // figures for the curious: --nocapture

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clip::{Clip, Frame, MemoryFrames, Mesh, ReadOptions, WriteOptions, diagnose, read, read_tets, write};
use common::{assets, kitchen_sink};

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

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

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
            2 if !bytes.is_empty() => bytes[at] = random.next() as u8,
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
    let _ = clip::describe(path);
    let Ok(clip) = read(path, &ReadOptions::default()) else { return false };
    for frame in [0, 1, clip.frame_count() / 2, clip.frame_count().saturating_sub(1), clip.frame_count()] {
        let _ = clip.frame(frame);
    }
    if clip.frame_count() < 20 {
        let _ = diagnose(&clip);
    }
    true
}

/// Reads `count` damaged copies; `companion` stands beside under the name of its own.
fn read_damaged(name: &str, good: &[u8], companion: Option<(&str, &[u8])>, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    if let Some((name, bytes)) = companion {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    std::fs::write(&path, good).unwrap();
    assert!(use_file(&path), "{name}: the file to damage must be good");
    let mut readable = 0;
    for seed in 0..count {
        let mut bytes = good.to_vec();
        damage(&mut bytes, &mut Random(seed as u64));
        std::fs::write(&path, &bytes).unwrap();
        LARGEST.store(0, Ordering::Relaxed);
        let outcome = std::panic::catch_unwind(|| use_file(&path));
        let largest = LARGEST.load(Ordering::Relaxed);
        match outcome {
            Ok(could_read) => readable += usize::from(could_read),
            Err(_) => panic!("{name}: seed {seed} panicked"),
        }
        assert!(largest < 8 << 20, "{name}: seed {seed} asked for {largest} bytes at once");
    }
    println!("{name}: {readable} of {count} damaged files could still be read");
}

fn flag() -> Clip {
    let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let mut mesh = Mesh::new("flag", points.clone(), &[[0, 1, 2], [0, 2, 3]]);
    mesh.uvs = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    mesh.set_group("hoist", vec![1.0, 0.0, 0.0, 1.0]);
    let frames = (0..6).map(|i| {
        let mut points = points.clone();
        points[2][2] = i as f32;
        points[1][2] = -0.5 * i as f32;
        Frame { points: vec![points], pose: Vec::new() }
    });
    Clip::new("flag", 24.0, vec![mesh], None, Arc::new(MemoryFrames::new(frames.collect())))
}

/// What our writer makes of the flag: the file asked for, then the files beside it.
fn written(name: &str) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let written = write(folder.path().join(name), &flag(), &WriteOptions::default()).unwrap();
    written.files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn damaged_glb() {
    read_damaged("a.glb", &written("a.glb")[0], None, 2000);
    read_damaged("a.glb", &kitchen_sink(), None, 3000);
}

#[test]
fn damaged_gltf() {
    // the JSON alone, buffer beside it
    let glb = kitchen_sink();
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let json = String::from_utf8(glb[20..20 + length].to_vec()).unwrap();
    let json = json.replacen("\"buffers\":[{", "\"buffers\":[{\"uri\":\"a.bin\",", 1);
    read_damaged("a.gltf", json.as_bytes(), Some(("a.bin", &glb[28 + length..])), 2000);
}

#[test]
fn damaged_obj() {
    read_damaged("a.obj", &obj(), None, 2000);
}

#[test]
fn damaged_caches() {
    for name in ["a.pc2", "a.mdd"] {
        let files = written(name);
        read_damaged(name, &files[0], Some(("a.obj", &files[1])), 1000);
        // and a damaged OBJ under a good cache
        read_damaged("a.obj", &files[1], Some((name, &files[0])), 500);
    }
}

#[test]
fn damaged_usd() {
    read_damaged("a.usdc", &written("a.usdc")[0], None, 2000);
    read_damaged("a.usda", &written("a.usda")[0], None, 2000);
    read_damaged("a.usdz", &written("a.usdz")[0], None, 1000);
    read_damaged("a.usda", RIG.as_bytes(), None, 2000);
}

#[test]
fn damaged_alembic() {
    read_damaged("a.abc", &written("a.abc")[0], None, 3000);
}

#[test]
fn what_is_wrong_with_alembic_is_said() {
    let abc = written("a.abc").remove(0);
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
}

#[test]
fn what_is_wrong_with_usd_is_said() {
    let mesh = |body: &str| format!("#usda 1.0\ndef Mesh \"m\"\n{{\n{body}\n}}\n").into_bytes();
    let good = "int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]\npoint3f[] points = [(0,0,0),(1,0,0),(0,1,0)]";
    let refuses = |body: &str, words: &str| refuses_as("a.usda", &mesh(body), words);
    refuses("", "/m: the mesh has no points");
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
    let mut newer = written("a.usdc").remove(0);
    newer[9] = 99;
    refuses_as("a.usdc", &newer, "crate version 0.99.0 is not read");
    let usdc = written("a.usdc").remove(0);
    refuses_as("a.usdc", &usdc[..usdc.len() / 2], "cut short");
    let usdz = written("a.usdz").remove(0);
    refuses_as("a.usdz", &usdz[..usdz.len() - 30], "no directory");
}

#[test]
fn damaged_soups() {
    read_damaged("a.off", OFF.as_bytes(), None, 500);
    read_damaged("a.ply", PLY.as_bytes(), None, 500);
    read_damaged("a.ply", &binary_ply(), None, 500);
    read_damaged("a.stl", STL.as_bytes(), None, 500);
    read_damaged("a.stl", &binary_stl(), None, 500);
}

#[test]
fn damaged_tets() {
    read_damaged("a.veg", VEG.as_bytes(), Some(("shell.txt", b"2,\n")), 1000);
    read_damaged("a.msh", MSH_2.as_bytes(), None, 1000);
    read_damaged("a.msh", MSH_4.as_bytes(), None, 1000);
    read_damaged("a.mesh", MEDIT.as_bytes(), None, 500);
    read_damaged("a.node", NODE.as_bytes(), Some(("a.ele", ELE.as_bytes())), 500);
    read_damaged("a.ele", ELE.as_bytes(), Some(("a.node", NODE.as_bytes())), 500);
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
    refuses("a.veg", &VEG.replace("TET\n", "CUBIC\n"), "line 9: elements are `CUBIC`");
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
    read_damaged("a.bvh", BVH.as_bytes(), None, 2000);
}

fn obj() -> Vec<u8> {
    b"mtllib a.mtl\no one\nv 0 0 0 1 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nusemtl red\ng left\n\
      f 1/1 2/2 3/3\nusemtl blue\nf -4/1/2 -2/3 -1\no two\nv 0 0 1\nv 1 0 1\nv 0 1 1\nf 5//1 6//2 \\\n 7//3\n"
        .to_vec()
}

const BVH: &str = "HIERARCHY\nROOT hip\n{\n OFFSET 0 1 0\n CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n\
    JOINT knee\n {\n  OFFSET 0 -0.5 0\n  CHANNELS 3 Xrotation Yrotation Zrotation\n  End Site\n  {\n   OFFSET 0 -0.5 0\n  }\n }\n}\n\
    MOTION\nFrames: 3\nFrame Time: 0.04\n0 1 0 0 0 0 0 0 0\n0 1 0 10 20 30 5 6 7\n0 1 0 20 40 60 90 0 -90\n";

/// A mesh on a joint, with a blend shape that has a shape on the way.
const RIG: &str = r#"#usda 1.0
(
    defaultPrim = "Root"
    metersPerUnit = 1
    startTimeCode = 1
    endTimeCode = 3
    upAxis = "Z"
)
def SkelRoot "Root" (
    prepend apiSchemas = ["SkelBindingAPI"]
)
{
    double3 xformOp:translate = (0, 0, 1)
    float xformOp:rotateZ:spin.timeSamples = { 1: 0, 3: 90, }
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ:spin"]
    rel skel:skeleton = </Root/Rig>
    def Skeleton "Rig" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        uniform token[] joints = ["hip", "hip/knee"]
        uniform matrix4d[] bindTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(1,0,0,1))]
        rel skel:animationSource = </Root/Rig/Anim>
        def SkelAnimation "Anim"
        {
            uniform token[] joints = ["hip/knee"]
            uniform token[] blendShapes = ["smile"]
            float[] blendShapeWeights.timeSamples = { 1: [0], 2: [0.25], 3: [1] }
            float3[] translations = [(1, 0, 0)]
            quatf[] rotations.timeSamples = { 1: [(1, 0, 0, 0)], 3: [(0.70710677, 0, 0, 0.70710677)] }
            half3[] scales = [(1, 1, 1)]
        }
    }
    def Mesh "Body" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points = [(0, 0, 0), (2, 0, 0), (0, 1, 0)]
        int[] primvars:skel:jointIndices = [0, 1, 0] (
            elementSize = 1
            interpolation = "vertex"
        )
        float[] primvars:skel:jointWeights = [1, 1, 1] (elementSize = 1; interpolation = "vertex")
        uniform token[] skel:blendShapes = ["smile"]
        rel skel:blendShapeTargets = </Root/Body/smile>
        def BlendShape "smile"
        {
            uniform vector3f[] offsets = [(0, 0, 1)]
            uniform vector3f[] inbetweens:half = [(0, 0, 2)] (weight = 0.5)
            uniform int[] pointIndices = [2]
        }
    }
}
"#;

const OFF: &str = "OFF # corner\n4 3 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 2 3 255 0 0\n4 0 1 2 3\n";

const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
    property uchar red\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0 9\n1 0 0 9\n0 1 0 9\n3 0 1 2\n";

const STL: &str = "solid a\nfacet normal 0 0 1\n outer loop\n  vertex 0 0 0\n  vertex 1 0 0\n  vertex 0 1 0\n endloop\nendfacet\nendsolid a\n";

fn binary_ply() -> Vec<u8> {
    let mut bytes = b"ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty double x\nproperty float y\nproperty float z\n\
        element face 1\nproperty list uchar short vertex_index\nend_header\n"
        .to_vec();
    for [x, y, z] in [[0.0, 0.0, 0.0], [1.0, 0.0, 0.5], [0.0, 1.0, 0.0]] {
        bytes.extend(f64::to_be_bytes(x));
        bytes.extend([y, z].map(|x| f32::to_be_bytes(x as f32)).concat());
    }
    bytes.push(3);
    bytes.extend([0_i16, 1, 2].map(i16::to_be_bytes).concat());
    bytes
}

fn binary_stl() -> Vec<u8> {
    let mut bytes = vec![b' '; 80];
    bytes.extend(2_u32.to_le_bytes());
    for t in [[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0; 3], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]] {
        bytes.extend([0.0_f32; 3].iter().chain(t.as_flattened()).flat_map(|x| x.to_le_bytes()));
        bytes.extend([0; 2]);
    }
    bytes
}

const VEG: &str = "# a\n*VERTICES\n5 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 0 0 -1\n*ELEMENTS\nTET\n2 4 0\n1 1 2 3 4\n\
    2 1 2 3 5\n*SET shell\n*INCLUDE shell.txt\n*MATERIAL hard\nENU, 1000, 1e7, 0.45\n*REGION\nshell, hard\n";

const MSH_2: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 7 \"the flesh\"\n$EndPhysicalNames\n$Nodes\n5\n\
    10 0 0 0\n20 1 0 0\n30 0 1 0\n40 0 0 1\n50 0 0 -1\n$EndNodes\n$Elements\n3\n1 2 2 0 1 10 20 30\n2 4 2 7 1 10 20 30 40\n\
    3 4 2 0 1 10 20 30 50\n$EndElements\n";

const MSH_4: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 7 \"the flesh\"\n$EndPhysicalNames\n$Entities\n\
    0 0 0 1\n1 0 0 0 1 1 1 1 7 0\n$EndEntities\n$Nodes\n1 5 10 50\n3 1 0 5\n10\n20\n30\n40\n50\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n\
    0 0 -1\n$EndNodes\n$Elements\n2 3 1 3\n2 1 2 1\n9 10 20 30\n3 1 4 2\n1 10 20 30 40\n2 10 20 30 50\n$EndElements\n";

const MEDIT: &str = "MeshVersionFormatted 1\nDimension 3\nVertices\n5\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 -1 0\nTriangles\n1\n\
    1 2 3 0\nTetrahedra\n2\n1 2 3 4 0\n1 2 3 5 7\nEnd\n";

const NODE: &str = "5 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n4 0 0 -1\n# made by hand\n";
const ELE: &str = "2 4 1\n0 0 1 2 3 1\n1 0 1 2 4 2\n";

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
    let glb = written("a.glb").remove(0);
    refuses("a.glb", &glb[..glb.len() / 2], "cut short");
    refuses("a.glb", &glb[..6], "cut short");
    let pc2 = written("a.pc2").remove(0);
    refuses("a.pc2", &pc2[..pc2.len() - 1], "cut short");
    refuses("a.pc2", &pc2, "name the OBJ that the cache moves");
    refuses("a.xyz", b"what", "not a format we know");
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
