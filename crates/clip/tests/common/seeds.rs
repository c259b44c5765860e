//! Small good files of every format: what tests damage, hide and exchange.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames, Mesh, WriteOptions, write};

use super::kitchen_sink;

/// A file and all that is read with it.
pub(crate) struct Seed {
    /// Names and bytes; the first is the file that is asked for, unless `asked` says otherwise.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// The pattern of a sequence.
    asked: Option<&'static str>,
}

impl Seed {
    fn new(files: &[(&str, &[u8])]) -> Self {
        Self {
            files: files.iter().map(|(name, bytes)| ((*name).into(), bytes.to_vec())).collect(),
            asked: None,
        }
    }

    /// What is read: a file, or the pattern of a sequence.
    pub(crate) fn name(&self) -> &str {
        self.asked.unwrap_or(&self.files[0].0)
    }

    pub(crate) fn ending(&self) -> &'static str {
        const ENDINGS: [&str; 24] = [
            "glb", "gltf", "obj", "pc2", "mdd", "bvh", "stl", "ply", "off", "veg", "msh", "node", "ele",
            "mesh", "json", "csv", "usdc", "usd", "usda", "usdz", "abc", "amc", "asf", "trc",
        ];
        let ending = self.name().rsplit('.').next().unwrap();
        ENDINGS.into_iter().find(|known| *known == ending).unwrap()
    }

    /// Puts the files into a folder; returns the path to read.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        for (name, bytes) in &self.files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        folder.join(self.name())
    }
}

/// A seed for every reader, with side files wherever a format knows them.
pub(crate) fn seeds() -> Vec<Seed> {
    let glb = kitchen_sink();
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let json = String::from_utf8(glb[20..20 + length].to_vec()).unwrap();
    let buffer = &glb[28 + length..];
    let naming =
        |uri: &str| json.replacen("\"buffers\":[{", &format!("\"buffers\":[{{\"uri\":\"{uri}\","), 1);
    let with_picture = |text: &str| {
        let look = "\"images\":[{\"uri\":\"look/paint.png\"}],\"textures\":[{\"source\":0}],\
            \"materials\":[{\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0}}}],";
        text.replacen('{', &format!("{{{look}"), 1)
    };
    let sequence = Seed { asked: Some("s.##.obj"), files: written("s.##.obj") };
    let written = |name: &str| Seed { files: written(name), asked: None };
    vec![
        written("a.glb"),
        Seed::new(&[("a.glb", &glb)]),
        // the buffer of a binary file beside it, with its name encoded
        Seed::new(&[("a.glb", &container(&naming("caf%C3%A9.bin"))), ("café.bin", buffer)]),
        Seed::new(&[
            ("a.gltf", with_picture(&naming("a%20b.bin")).as_bytes()),
            ("a b.bin", buffer),
            ("look/paint.png", PNG),
        ]),
        Seed::new(&[("a.obj", OBJ.as_bytes()), ("a.mtl", MTL.as_bytes()), ("paint.jpg", PNG)]),
        sequence,
        written("a.pc2"),
        written("a.mdd"),
        Seed::new(&[("a.bvh", BVH.as_bytes())]),
        Seed::new(&[("16_22.amc", AMC.as_bytes()), ("16.asf", ASF.as_bytes())]),
        Seed::new(&[("a.asf", ASF.as_bytes())]),
        Seed::new(&[("a.trc", TRC.as_bytes())]),
        Seed::new(&[("a.off", OFF.as_bytes())]),
        Seed::new(&[("a.ply", PLY.as_bytes())]),
        Seed::new(&[("a.ply", &binary_ply())]),
        Seed::new(&[("a.stl", STL.as_bytes())]),
        Seed::new(&[("a.stl", &binary_stl())]),
        Seed::new(&[("a.veg", VEG.as_bytes()), ("shell.txt", b"2,\n")]),
        Seed::new(&[("a.msh", MSH_2.as_bytes())]),
        Seed::new(&[("a.msh", MSH_4.as_bytes())]),
        Seed::new(&[("a.mesh", MEDIT.as_bytes())]),
        Seed::new(&[("a.node", NODE.as_bytes()), ("a.ele", ELE.as_bytes())]),
        Seed::new(&[("a.ele", ELE.as_bytes()), ("a.node", NODE.as_bytes())]),
        written("a.usdc"),
        written("a.usd"),
        written("a.usda"),
        written("a.usdz"),
        Seed::new(&[("a.usda", RIG.as_bytes())]),
        Seed::new(&[("a.usda", PAINTED.as_bytes()), ("look/paint.png", PNG)]),
        written("a.abc"),
        Seed::new(&[("a.json", b"[[0, 0.5], [3, 1]]")]),
        Seed::new(&[("a.json", b"[0, 0.25, 0.5, 1]")]),
        Seed::new(&[("a.csv", b"point,weight\n0,0.5\n3,1\n")]),
    ]
}

/// A GLB that has only its JSON inside.
fn container(json: &str) -> Vec<u8> {
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut file = b"glTF\x02\0\0\0".to_vec();
    file.extend((20 + json.len() as u32).to_le_bytes());
    file.extend((json.len() as u32).to_le_bytes());
    file.extend(b"JSON");
    file.extend(json);
    file
}

/// Two triangles that wave.
pub(crate) fn flag() -> Clip {
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

/// What our writer makes of the flag: the file asked for, then the files beside it, with their names.
pub(crate) fn written(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let written = write(folder.path().join(name), &flag(), &WriteOptions::default()).unwrap();
    let named = |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().to_owned();
    written.files.iter().map(|file| (named(file), std::fs::read(file).unwrap())).collect()
}

/// The head of a picture; nobody here looks further.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and the rest";

pub(crate) const OBJ: &str = "mtllib a.mtl\no one\nv 0 0 0 1 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nusemtl red\ng left\n\
    f 1/1 2/2 3/3\nusemtl blue\nf -4/1/2 -2/3 -1\no two\nv 0 0 1\nv 1 0 1\nv 0 1 1\nf 5//1 6//2 \\\n 7//3\n";

pub(crate) const MTL: &str = "newmtl red\nKd 1 0 0\nd 0.5\nmap_Kd paint.jpg\nnewmtl blue\nKd 0 0 1\nTr 0.25\nmap_Kd -o 1 2 3 paint.jpg\n";

pub(crate) const ASF: &str = ":version 1.10\n:units\n length 0.45\n angle deg\n:root\n order TX TY TZ RX RY RZ\n axis XYZ\n\
    position 0 0 0\n orientation 0 0 0\n:bonedata\n begin\n name upper\n direction 1 0 0\n length 4.5\n axis 0 0 90 XYZ\n dof rx rz\n end\n\
    begin\n name lower\n direction 1 0 0\n length 9\n axis 0 0 0 XYZ\n dof ry\n end\n:hierarchy\n begin\n root upper\n upper lower\n end\n";
pub(crate) const AMC: &str = ":FULLY-SPECIFIED\n:DEGREES\n1\nroot 0 0 0 0 0 0\nupper 0 0\nlower 0\n2\nroot 1 2 3 10 20 90\nupper 30 0\nlower 90\n";
pub(crate) const TRC: &str = "PathFileType\t4\t(X/Y/Z)\ta.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n60\t60\t2\t2\tmm\n\
    Frame#\tTime\thip\t\t\ttoe\t\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n1\t0.0\t1\t900\t3\t4\t5\t6\n2\t0.0167\t2\t901\t3\t\t\t\n";
pub(crate) const BVH: &str = "HIERARCHY\nROOT hip\n{\n OFFSET 0 1 0\n CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n\
    JOINT knee\n {\n  OFFSET 0 -0.5 0\n  CHANNELS 3 Xrotation Yrotation Zrotation\n  End Site\n  {\n   OFFSET 0 -0.5 0\n  }\n }\n}\n\
    MOTION\nFrames: 3\nFrame Time: 0.04\n0 1 0 0 0 0 0 0 0\n0 1 0 10 20 30 5 6 7\n0 1 0 20 40 60 90 0 -90\n";

/// A mesh on a joint, with a blend shape that has a shape on the way.
pub(crate) const RIG: &str = r#"#usda 1.0
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

/// A triangle with a picture on it.
pub(crate) const PAINTED: &str = r#"#usda 1.0
(
    metersPerUnit = 1
)
def Mesh "Sheet" (prepend apiSchemas = ["MaterialBindingAPI"])
{
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
    point3f[] points = [(0, 0, 0), (2, 0, 0), (0, 1, 0)]
    rel material:binding = </Paint>
}
def Material "Paint"
{
    token outputs:surface.connect = </Paint/Surface.outputs:surface>
    def Shader "Surface"
    {
        uniform token info:id = "UsdPreviewSurface"
        color3f inputs:diffuseColor.connect = </Paint/Picture.outputs:rgb>
        token outputs:surface
    }
    def Shader "Picture"
    {
        uniform token info:id = "UsdUVTexture"
        asset inputs:file = @look/paint.png@
        float3 outputs:rgb
    }
}
"#;

pub(crate) const OFF: &str =
    "OFF # corner\n4 3 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 2 3 255 0 0\n4 0 1 2 3\n";

pub(crate) const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
    property uchar red\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0 9\n1 0 0 9\n0 1 0 9\n3 0 1 2\n";

pub(crate) const STL: &str = "solid a\nfacet normal 0 0 1\n outer loop\n  vertex 0 0 0\n  vertex 1 0 0\n  vertex 0 1 0\n endloop\nendfacet\nendsolid a\n";

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

pub(crate) const VEG: &str = "# a\n*VERTICES\n5 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 0 0 -1\n*ELEMENTS\nTET\n2 4 0\n1 1 2 3 4\n\
    2 1 2 3 5\n*SET shell\n*INCLUDE shell.txt\n*MATERIAL hard\nENU, 1000, 1e7, 0.45\n*REGION\nshell, hard\n";

pub(crate) const MSH_2: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 7 \"the flesh\"\n$EndPhysicalNames\n$Nodes\n5\n\
    10 0 0 0\n20 1 0 0\n30 0 1 0\n40 0 0 1\n50 0 0 -1\n$EndNodes\n$Elements\n3\n1 2 2 0 1 10 20 30\n2 4 2 7 1 10 20 30 40\n\
    3 4 2 0 1 10 20 30 50\n$EndElements\n";

pub(crate) const MSH_4: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 7 \"the flesh\"\n$EndPhysicalNames\n$Entities\n\
    0 0 0 1\n1 0 0 0 1 1 1 1 7 0\n$EndEntities\n$Nodes\n1 5 10 50\n3 1 0 5\n10\n20\n30\n40\n50\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n\
    0 0 -1\n$EndNodes\n$Elements\n2 3 1 3\n2 1 2 1\n9 10 20 30\n3 1 4 2\n1 10 20 30 40\n2 10 20 30 50\n$EndElements\n";

pub(crate) const MEDIT: &str = "MeshVersionFormatted 1\nDimension 3\nVertices\n5\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 -1 0\nTriangles\n1\n\
    1 2 3 0\nTetrahedra\n2\n1 2 3 4 0\n1 2 3 5 7\nEnd\n";

pub(crate) const NODE: &str = "5 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n4 0 0 -1\n# made by hand\n";
pub(crate) const ELE: &str = "2 4 1\n0 0 1 2 3 1\n1 0 1 2 4 2\n";
