//! A ball cut from an octahedron, filled with tetrahedra: `cargo run --release -p followthrough-geometry --example fill`.
#![allow(clippy::print_stdout)]

use geometry::{Error, Scheme, TetMeshing, TetQuality, TetSize, Vec3, subdivide_times, tet_volume};

fn main() -> Result<(), Error> {
    let corners = [Vec3::X, Vec3::Y, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Y, Vec3::NEG_Z];
    let faces = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]];
    let finer = subdivide_times(6, &faces, Scheme::Linear, 4);
    let points: Vec<Vec3> = finer.prolongation.vectors(&corners).iter().map(|p| p.normalize()).collect();
    println!("surface: {} points, {} triangles", points.len(), finer.triangles.len());

    let meshing = TetMeshing { size: TetSize::Count(5000), ..TetMeshing::default() };
    let filled = meshing.fill(&points, &finer.triangles)?;
    let mesh = &filled.mesh;
    let volume: f64 = (0..mesh.tets().len()).map(|t| tet_volume(mesh.corners(t))).sum();
    println!(
        "{} tets of {:.3} m³ hold a ball of {:.3} m³",
        mesh.tets().len(),
        volume,
        4.0 / 3.0 * std::f64::consts::PI
    );
    println!("{:?}", TetQuality::of(mesh));
    Ok(())
}
