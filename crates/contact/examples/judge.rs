//! Two balls that are pushed into each other, judged: `cargo run --release -p followthrough-contact --example judge`.
#![allow(clippy::print_stdout)]

use contact::{AuditedSurface, Error, Shape, audit};

fn main() -> Result<(), Error> {
    let ball = Shape::Sphere { radius: 1.0 }.surface("ball", 0.2)?;
    let moved = |by: f32| -> Vec<[f32; 3]> {
        let points = ball.rest_positions.iter().map(|p| p.as_vec3().to_array());
        points.map(|[x, y, z]| [x + by, y, z]).collect()
    };
    let here = moved(0.0);
    for by in [2.5, 2.1, 1.9, 1.5, 1.0, 0.5] {
        let there = moved(by);
        let surface =
            |name, points| AuditedSurface { name, points, triangles: &ball.triangles, is_obstacle: false };
        let crossings = audit(&[surface("left", &here), surface("right", &there)])?;
        println!("{by:.1} m apart: {} pairs of triangles cross", crossings.len());
    }
    Ok(())
}
