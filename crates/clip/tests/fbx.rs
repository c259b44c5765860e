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
    let animations = describe(&path).unwrap().animations;
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
