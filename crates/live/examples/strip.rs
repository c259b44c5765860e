//! A strip of cloth, held at its left end, falls for a second.
#![allow(clippy::print_stdout)]

use live::{Frame, IDENTITY, LiveCloth, Mesh, Operator, Parts, Point, Settings, Skin};

fn main() -> Result<(), live::Error> {
    // a strip of cloth, held at its left end; the fine mesh is the coarse one
    let rest: Vec<[f32; 3]> = (0..10).map(|i| [(i / 2) as f32 * 0.1, 0.0, (i % 2) as f32 * 0.1]).collect();
    let triangles: Vec<[u32; 3]> =
        (0..4).flat_map(|i| [[2 * i, 2 * i + 1, 2 * i + 2], [2 * i + 1, 2 * i + 3, 2 * i + 2]]).collect();
    let mesh = Mesh { rest, triangles };
    let held = |i: usize| if i < 2 { 1.0 } else { 0.0 };
    let skin = (0..10).map(|i| Skin { joints: [0; 4], weights: [1.0, 0.0, 0.0, 0.0], attachment: held(i) });
    let parts = Parts {
        subdivision: (0..10).map(|i| vec![(i, 1.0)]).collect(),
        coarse_skin: skin.collect(),
        joints: vec!["pole".into()],
        settings: Settings::default(),
        ..Parts::new(mesh.clone(), mesh)
    };
    let mut cloth = LiveCloth::new(Operator::read(parts.write()?)?)?;
    for _ in 0..60 {
        cloth.advance(&Frame { skin: &[IDENTITY], ..Frame::new(1.0 / 60.0) })?;
    }
    let points: &[Point] = cloth.points();
    assert!(points[9][1] < -0.3 && points[1] == [0.0, 0.0, 0.1]);
    println!("its free end is at {:?}", points[9]);
    Ok(())
}
