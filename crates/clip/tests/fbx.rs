//! FBX: what ufbx makes of a file, as a clip.

#![cfg(feature = "fbx")]

use clip::{ReadOptions, describe, read};

/// A triangle of a metre, in centimetres, half a metre high, that rises by a metre in its only take.
const LIFT: &str = r#"; FBX 7.4.0 project file
FBXHeaderExtension:  {
    FBXHeaderVersion: 1003
    FBXVersion: 7400
}
GlobalSettings:  {
    Version: 1000
    Properties70:  {
        P: "UpAxis", "int", "Integer", "",1
        P: "UpAxisSign", "int", "Integer", "",1
        P: "FrontAxis", "int", "Integer", "",2
        P: "FrontAxisSign", "int", "Integer", "",1
        P: "CoordAxis", "int", "Integer", "",0
        P: "CoordAxisSign", "int", "Integer", "",1
        P: "UnitScaleFactor", "double", "Number", "",1
        P: "TimeMode", "enum", "", "",11
    }
}
Objects:  {
    Geometry: 100, "Geometry::sheet", "Mesh" {
        Vertices: *9 {
            a: 0,0,0,100,0,0,0,100,0
        }
        PolygonVertexIndex: *3 {
            a: 0,1,-3
        }
        GeometryVersion: 124
    }
    Model: 200, "Model::sheet", "Mesh" {
        Version: 232
        Properties70:  {
            P: "Lcl Translation", "Lcl Translation", "", "A",0,50,0
        }
    }
    AnimationStack: 300, "AnimStack::lift", "" {
        Properties70:  {
            P: "LocalStart", "KTime", "Time", "",0
            P: "LocalStop", "KTime", "Time", "",46186158000
        }
    }
    AnimationLayer: 301, "AnimLayer::base", "" {
    }
    AnimationCurveNode: 302, "AnimCurveNode::T", "" {
        Properties70:  {
            P: "d|Y", "Number", "", "A",50
        }
    }
    AnimationCurve: 303, "AnimCurve::", "" {
        Default: 50
        KeyVer: 4008
        KeyTime: *2 {
            a: 0,46186158000
        }
        KeyValueFloat: *2 {
            a: 50,150
        }
        KeyAttrFlags: *1 {
            a: 4
        }
        KeyAttrDataFloat: *4 {
            a: 0,0,0,0
        }
        KeyAttrRefCount: *1 {
            a: 2
        }
    }
}
Connections:  {
    C: "OO",200,0
    C: "OO",100,200
    C: "OO",301,300
    C: "OO",302,301
    C: "OP",302,200, "Lcl Translation"
    C: "OP",303,302, "d|Y"
}
"#;

#[test]
fn a_take_is_read_in_metres_at_the_files_own_rate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lift.fbx");
    std::fs::write(&path, LIFT).unwrap();
    let animations = describe(&path, &ReadOptions::default()).unwrap().animations;
    assert_eq!((animations.len(), animations[0].name.as_str(), animations[0].seconds), (1, "lift", 1.0));
    let clip = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((clip.frame_count(), clip.frame_rate_hz, clip.name.as_str()), (25, 24.0, "lift"));
    assert_eq!((clip.meshes[0].name.as_str(), clip.meshes[0].point_triangles()), ("sheet", vec![[0, 1, 2]]));
    for frame in [0, 6, 24] {
        let [x, y, z] = clip.frame(frame).unwrap().points[0][1];
        let height = 0.5 + frame as f32 / 24.0;
        assert!(
            (x - 1.0).abs() < 1e-6 && (y - height).abs() < 1e-6 && z == 0.0,
            "frame {frame}: {x} {y} {z}"
        );
    }
    let wanted = ReadOptions { clip: Some("lit".into()), ..ReadOptions::default() };
    assert!(read(&path, &wanted).err().unwrap().to_string().contains("there are `lift`"));
}

/// What makes the triangle a face with an expression: half a shape on the way to the whole, on one channel that rises with the take.
fn with_shapes() -> String {
    let shape = |id: u32, name: &str, z: f32| {
        format!(
            "Geometry: {id}, \"Geometry::{name}\", \"Shape\" {{\nVersion: 100\nIndexes: *1 {{\na: 2\n}}\nVertices: *3 {{\na: 0,0,{z}\n}}\n}}\n"
        )
    };
    let objects = format!(
        "{}{}Deformer: 110, \"Deformer::\", \"BlendShape\" {{\nVersion: 100\n}}\n\
         Deformer: 111, \"SubDeformer::smile\", \"BlendShapeChannel\" {{\nVersion: 100\nDeformPercent: 0\nFullWeights: *2 {{\na: 50,100\n}}\n}}\n\
         AnimationCurveNode: 312, \"AnimCurveNode::DeformPercent\", \"\" {{\nProperties70:  {{\nP: \"d|DeformPercent\", \"Number\", \"\", \"A\",0\n}}\n}}\n\
         AnimationCurve: 313, \"AnimCurve::\", \"\" {{\nDefault: 0\nKeyVer: 4008\nKeyTime: *2 {{\na: 0,46186158000\n}}\n\
         KeyValueFloat: *2 {{\na: 0,100\n}}\nKeyAttrFlags: *1 {{\na: 4\n}}\nKeyAttrDataFloat: *4 {{\na: 0,0,0,0\n}}\nKeyAttrRefCount: *1 {{\na: 2\n}}\n}}\n",
        shape(120, "half", 200.0),
        shape(121, "whole", 100.0)
    );
    let links = "C: \"OO\",110,100\nC: \"OO\",111,110\nC: \"OO\",120,111\nC: \"OO\",121,111\n\
                 C: \"OO\",312,301\nC: \"OP\",312,111, \"DeformPercent\"\nC: \"OP\",313,312, \"d|DeformPercent\"\n";
    LIFT.replace("Objects:  {\n", &format!("Objects:  {{\n{objects}"))
        .replace("Connections:  {\n", &format!("Connections:  {{\n{links}"))
}

#[test]
fn blend_shapes_stay_named_targets_and_blend_as_the_frames_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("smile.fbx");
    std::fs::write(&path, with_shapes()).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    let targets = &clip.meshes[0].morph_targets;
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, ["smile:half", "smile"]);
    assert_eq!(targets[0].offsets, [[0.0; 3], [0.0; 3], [0.0, 0.0, 2.0]], "in metres");
    for (frame, weights, z) in
        [(0, [0.0, 0.0], 0.0), (6, [0.5, 0.0], 1.0), (12, [1.0, 0.0], 2.0), (24, [0.0, 1.0], 1.0)]
    {
        let found = clip.morph_weights(frame).unwrap();
        assert!((0..2).all(|i| (found[0][i] - weights[i]).abs() < 1e-6), "frame {frame}: {found:?}");
        let point = clip.frame(frame).unwrap().points[0][2];
        assert!((point[2] - z).abs() < 1e-6, "frame {frame}: {point:?}");
    }
    // and they go on to USD, where they are found again
    let usd = folder.path().join("smile.usdc");
    clip::write(&usd, &clip, &clip::WriteOptions::default()).unwrap();
    let back = read(&usd, &ReadOptions::default()).unwrap();
    assert_eq!(back.meshes[0].morph_targets, *targets);
    assert_eq!(back.morph_weights(6).unwrap(), clip.morph_weights(6).unwrap());
}

/// Damaged at random, a file is read or refused: nothing panics, hangs, or takes memory that its length does not allow.
#[test]
fn damaged_files_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, good) = (folder.path().join("a.fbx"), with_shapes().into_bytes());
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut readable = 0;
    for _ in 0..400 {
        let mut bytes = good.clone();
        for _ in 0..1 + random(4) {
            let (at, byte) = (random(bytes.len()), b"0123456789,-{}\"*aCP\0\xff"[random(21)]);
            match random(3) {
                0 => bytes[at] = byte,
                1 => drop(bytes.splice(at..(at + random(40)).min(bytes.len()), [byte])),
                _ => bytes.truncate(at.max(20)),
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        let Ok(clip) = read(&path, &ReadOptions { frame_rate_hz: Some(24.0), ..ReadOptions::default() })
        else {
            continue;
        };
        readable += 1;
        for frame in [0, clip.frame_count() / 2, clip.frame_count() - 1] {
            let _ = (clip.frame(frame), clip.morph_weights(frame));
        }
    }
    assert!((20..400).contains(&readable), "{readable} could be read");
}

#[test]
fn what_is_no_fbx_is_refused_with_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.fbx");
    for bytes in [&b""[..], b"Kaydara FBX Binary  \0\x1a\0", &LIFT.as_bytes()[..900], &[0xff; 400]] {
        std::fs::write(&path, bytes).unwrap();
        match read(&path, &ReadOptions::default()) {
            Err(error) => assert!(error.to_string().contains("a.fbx"), "{error}"),
            Ok(clip) => assert!(clip.meshes.is_empty(), "half a file has no whole mesh"),
        }
    }
}
