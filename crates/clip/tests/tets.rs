//! Tets in files: what is written comes back, and other people's files read.

#![allow(clippy::print_stdout)] // figures for the curious: --nocapture

mod common;

use clip::{
    ReadOptions, TetGroup, TetMaterial, Tets, WriteOptions, read, read_lattice, read_tets, write_lattice,
    write_tets,
};
use common::{assets, files};
use geometry::{Cell, Lattice, TetMesh, TetMeshing, TetQuality, TetSize, Vec3};

#[test]
fn a_veg_comes_back_to_the_bit_with_its_parts() {
    let mesh = TetMesh::box_grid([3, 2, 2], Vec3::new(0.1, 1.0 / 3.0, 2e-9)).unwrap();
    let part = |name: &str, tets: Vec<u32>, material: Option<TetMaterial>| TetGroup {
        name: name.into(),
        tets,
        material,
    };
    let fat = TetMaterial { name: "fat".into(), density: 950.0, young: 3.2e3, poisson: 0.49 };
    let groups = vec![part("belly", (0..17).collect(), Some(fat)), part("tusk", vec![3, 40], None)];
    let tets = Tets { mesh, groups };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("box.veg");
    let written = write_tets(&path, &tets, &WriteOptions::default()).unwrap();
    assert_eq!((written.files, written.bytes), (vec![path.clone()], std::fs::metadata(&path).unwrap().len()));
    assert_eq!(read_tets(&path, &ReadOptions::default()).unwrap(), tets);

    // in centimetres, read as such
    write_tets(&path, &tets, &WriteOptions { unit_in_metres: Some(0.01), ..Default::default() }).unwrap();
    let back = read_tets(&path, &ReadOptions { unit_in_metres: Some(0.01), ..Default::default() }).unwrap();
    let far = |(p, q): (&Vec3, &Vec3)| p.distance(*q);
    assert!(tets.mesh.points().iter().zip(back.mesh.points()).map(far).fold(0.0, f64::max) < 1e-15);

    assert!(write_tets(folder.path().join("box.msh"), &tets, &WriteOptions::default()).is_err());
}

#[test]
fn a_lattice_of_hexahedra_or_tets_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lattice.veg");
    let boxes = Lattice::box_grid([3, 2, 1], Vec3::new(0.3, 1.0 / 3.0, 0.1)).unwrap();
    let tets = Lattice::from_tets(&boxes.tets().unwrap().0);
    for lattice in [&boxes, &tets] {
        write_lattice(&path, lattice).unwrap();
        assert_eq!(read_lattice(&path, &ReadOptions::default()).unwrap(), *lattice);
    }
    write_lattice(&path, &boxes).unwrap();
    let problem = read_tets(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(problem.contains("hexahedra"), "{problem}");
    let flat = std::fs::read_to_string(&path).unwrap().replace(" 0.1\n", " 0\n");
    std::fs::write(&path, flat).unwrap();
    assert!(read_lattice(&path, &ReadOptions::default()).unwrap_err().to_string().contains("flat"));
    let prism = Lattice::new(
        vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::X + Vec3::Z, Vec3::Y + Vec3::Z],
        vec![Cell::Prism([0, 1, 2, 3, 4, 5])],
    );
    assert!(write_lattice(&path, &prism.unwrap()).is_err());
}

#[test]
fn a_lattice_in_toml_has_cells_of_all_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lattice.toml");
    // a box, a prism on top of it, and a tet on top of that
    let mut points = Lattice::box_grid([1; 3], Vec3::new(0.3, 1.0 / 3.0, 0.1)).unwrap().points().to_vec();
    points.extend([Vec3::new(0.0, 0.0, 0.4), Vec3::new(0.3, 0.0, 0.4), Vec3::new(0.3, 1.0 / 3.0, 0.4)]);
    points.push(Vec3::new(0.2, 0.1, 0.7));
    let cells = vec![
        Cell::Tet([8, 9, 10, 11]),
        Cell::Prism([4, 5, 7, 8, 9, 10]),
        Cell::Hex([0, 1, 3, 2, 4, 5, 7, 6]),
    ];
    let mixed = Lattice::new(points, cells).unwrap();
    write_lattice(&path, &mixed).unwrap();
    assert_eq!(read_lattice(&path, &ReadOptions::default()).unwrap(), mixed);
    let text = std::fs::read_to_string(&path).unwrap();
    let problem = |text: &str| {
        std::fs::write(&path, text).unwrap();
        read_lattice(&path, &ReadOptions::default()).unwrap_err().to_string()
    };
    assert!(problem(&text.replace("prisms", "wedges")).contains("wedges"));
    assert!(problem(&text.replace("11]", "12]")).contains("12"));
    assert!(problem(&text.replace("0.7]", "nan]")).contains("finite"));
    assert!(problem(&text.replace("[8, 9, 10, 11]", "[9, 8, 10, 11]")).contains("inside out"));
    assert!(problem(&text[..text.len() / 2]).contains("lattice.toml"));
    assert!(problem("points = []").contains("cells"));
}

#[test]
fn other_peoples_hexahedra_are_a_lattice() {
    let Some(folder) = assets("tet/vegafem") else { return };
    let lattice = read_lattice(folder.join("beam3/beam3.veg"), &ReadOptions::default()).unwrap();
    assert_eq!((lattice.points().len(), lattice.cells().len()), (208, 75));
    assert!(lattice.cells().iter().all(|cell| matches!(cell, Cell::Hex(_))));
    // three by one by twenty-five boxes of 4 cm
    let volume: f64 = lattice.tets().unwrap().0.volumes().iter().sum();
    assert!((volume - 75.0 * 0.04_f64.powi(3)).abs() < 1e-9, "{volume}");
}

#[test]
fn the_same_two_tets_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    put("b.ele", "2 4 1\n1 1 2 3 4 0\n2 1 2 3 5 7\n");
    let nodes = ["0 0 0", "1 0 0", "0 1 0", "0 0 1", "0 0 -1"];
    let numbered = |first: usize, step: usize| {
        let line = |(i, p): (usize, &&str)| format!("{} {p}\n", first + step * i);
        nodes.iter().enumerate().map(line).collect::<String>()
    };
    let paths = [
        put("b.node", &format!("5 3 0 0\n{}", numbered(1, 1))),
        put(
            "b.msh",
            &format!(
                "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 7 \"region 7\"\n$EndPhysicalNames\n$Nodes\n5\n{}$EndNodes\n\
                 $Elements\n3\n1 2 2 0 1 10 20 30\n2 4 2 0 1 10 20 30 40\n3 11 2 7 1 10 20 30 50 1 2 3 4 5 6\n$EndElements\n",
                numbered(10, 10)
            ),
        ),
        put(
            "c.msh",
            &format!(
                "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n1 0 0 2\n1 0 0 0 0\n1 0 0 0 1 1 1 0 0\n2 0 0 0 1 1 1 1 7 0\n$EndEntities\n\
                 $Nodes\n1 5 1 5\n3 1 0 5\n1\n2\n3\n4\n5\n{}\n$EndNodes\n\
                 $Elements\n2 2 1 2\n3 1 4 1\n1 1 2 3 4\n3 2 4 1\n2 1 2 3 5\n$EndElements\n",
                nodes.join("\n")
            ),
        ),
        put(
            "d.mesh",
            &format!(
                "MeshVersionFormatted 2\nDimension\n3\nVertices 5\n{} 0\nTetrahedra\n2\n1 2 3 4 0\n1 2 3 5 7\nEnd\n",
                nodes.join(" 0\n")
            ),
        ),
    ];
    let first = read_tets(&paths[0], &ReadOptions::default()).unwrap();
    // the second tet is listed inside out, and turned
    assert_eq!(first.mesh.tets(), [[0, 1, 2, 3], [0, 1, 4, 2]]);
    assert_eq!(first.groups[1].name, "region 7");
    assert_eq!(first.groups[1].tets, [1]);
    for path in &paths[1..] {
        assert_eq!(read_tets(path, &ReadOptions::default()).unwrap(), first, "{}", path.display());
    }
}

/// References are optional in Medit's files, and physical groups in Gmsh's.
#[test]
fn tets_without_references_and_groups_read() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read_tets(&path, &ReadOptions::default()).unwrap()
    };
    let nodes = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"].join("\n");
    let medit =
        format!("MeshVersionFormatted 2\nDimension 3\nVertices 4\n{nodes}\nTetrahedra 1\n1 2 3 4\nEnd\n");
    assert_eq!(put("a.mesh", &medit).mesh.tets(), [[0, 1, 2, 3]]);
    let gmsh = format!(
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 1\n1 0 0 0 1 1 1 0\n$EndEntities\n\
         $Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n{nodes}\n$EndNodes\n$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n"
    );
    assert_eq!(put("b.msh", &gmsh).mesh.tets(), [[0, 1, 2, 3]]);
}

#[test]
fn other_peoples_tets_read() {
    let Some(folder) = assets("tet") else { return };
    let mut count = 0;
    for sub in ["other", "vegafem/asianDragon", "vegafem/beam3", "vegafem/turtle"] {
        for path in files(&folder.join(sub), &["veg", "node", "mesh"]) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let tets = match read_tets(&path, &ReadOptions::default()) {
                Ok(tets) => tets,
                Err(error) => {
                    // cubes, and one whose lists are not with it
                    assert!(["beam3.veg", "turtle-volumetric-heterogeneous.veg"].contains(&name), "{error}");
                    continue;
                }
            };
            let quality = TetQuality::of(&tets.mesh);
            println!(
                "{name}: {} points, {} tets, {} groups",
                quality.points,
                quality.tets,
                tets.groups.len()
            );
            assert_eq!((quality.inverted, quality.overfull_faces), (0, 0), "{name}");
            let expected = match name {
                "torus.veg" => (564, 1950),
                "hand.mesh" => (7234, 29998),
                "armadillo_4k.node" => (1180, 3717),
                "asianDragon.veg" => (959, 2591),
                _ => (quality.points, quality.tets),
            };
            assert_eq!((quality.points, quality.tets), expected, "{name}");
            count += 1;
        }
    }
    assert!(count >= 8);
}

#[test]
fn soups_and_scans_read() {
    let Some(folder) = assets("meshes") else { return };
    for (name, points, triangles) in [
        ("ugly/lego.ply", 1649, 3072),
        ("ugly/cube_with_fold.ply", 26, 48),
        ("ugly/busted.STL", 1941, 3878),
        ("ugly/multibody.stl", 20, 32),
        ("shapes/bunny.off", 3485, 6966),
    ] {
        let clip = read(folder.join(name), &ReadOptions::default()).unwrap();
        let mesh = &clip.meshes[0];
        assert_eq!((mesh.point_count(), mesh.faces.triangles().count()), (points, triangles), "{name}");
    }
}

/// Every mesh that is there, however broken, gets tets that enclose it, right side out, with the angles that the book promises.
#[test]
fn every_ugly_mesh_is_filled_and_enclosed() {
    let Some(folder) = assets("meshes") else { return };
    let mut filled_count = 0;
    for sub in ["ugly", "shapes"] {
        for path in files(&folder.join(sub), &["obj", "ply", "stl", "off"]) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let clip = match read(&path, &ReadOptions { single: true, ..Default::default() }) {
                Ok(clip) => clip,
                Err(error) => {
                    // no positions, and a face of two corners
                    assert!(["empty.obj", "notenoughindices.obj"].contains(&name), "{error}");
                    continue;
                }
            };
            let (points, triangles) = clip.surface(0).unwrap();
            let filled =
                TetMeshing { size: TetSize::Count(1500), ..Default::default() }.fill(&points, &triangles);
            let filled = filled.unwrap();
            let quality = TetQuality::of(&filled.mesh);
            let (low, high) = (quality.smallest_dihedral.to_degrees(), quality.largest_dihedral.to_degrees());
            println!(
                "{name}: {} triangles, {} tets in {} parts, angles {low:.1} to {high:.1}, grown at {}",
                triangles.len(),
                quality.tets,
                quality.components,
                filled.grown
            );
            assert_eq!((filled.outside, quality.inverted, quality.overfull_faces), (0, 0, 0), "{name}");
            assert!(low > 10.7 && high < 164.8, "{name}: {low} {high}");
            // the judge is not the mesher's own: every vertex of a triangle is in the tet that it is embedded in
            let weights = filled.embedding.weights();
            for v in triangles.iter().flatten() {
                assert!(weights[*v as usize].iter().all(|&w| w > -1e-8), "{name}, vertex {v}");
            }
            filled_count += 1;
        }
    }
    assert_eq!(filled_count, 23);
}
