//! Cloth in contact, small: the hard scenes of the benchmark in seconds.

use contact::{Attachment, AuditedSurface, BarrierContact, CollisionSurface, Shape, audit};
use dynamics::{Body, Elements, Forces, Settings, Span, State, StaticGuide, Stepper};
use geometry::Vec3;
use shell::{ClothBuilder, Material};

fn sheet(n: u32, size: f64, height: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let at = |i: u32, j: u32| j * (n + 1) + i;
    let points = (0..=n)
        .flat_map(|j| {
            (0..=n).map(move |i| (f64::from(i) / f64::from(n) - 0.5, f64::from(j) / f64::from(n) - 0.5))
        })
        .map(|(x, z)| Vec3::new(size * x, height, size * z))
        .collect();
    let triangles = (0..n)
        .flat_map(|j| (0..n).map(move |i| (i, j)))
        .flat_map(|(i, j)| {
            [[at(i, j), at(i + 1, j + 1), at(i + 1, j)], [at(i, j), at(i, j + 1), at(i + 1, j + 1)]]
        })
        .collect();
    (points, triangles)
}

#[test]
fn a_cloth_drops_on_a_ball() {
    let (points, triangles) = sheet(16, 1.0, 0.4);
    let material = Material::preset("cotton").unwrap();
    let cloth = ClothBuilder::new(&points, &triangles, &material).build().unwrap();
    let friction = material.damping_time();
    let body = Body::builder(cloth.masses.clone())
        .energy(Elements::new(cloth.membranes.iter().copied()).damped(friction))
        .energy(Elements::new(cloth.hinges).damped(friction))
        .force(Forces(Elements::new(cloth.air)))
        .gravity(-9.81 * Vec3::Y)
        .build()
        .unwrap();
    let ball = Shape::Sphere { radius: 0.3 }.surface("ball", 0.04).unwrap();
    let places = ball.rest_positions.clone();
    let surface = CollisionSurface {
        thickness: 0.002,
        ..CollisionSurface::free("cloth", points.clone(), triangles.clone())
    };
    let mut collision =
        BarrierContact::new(vec![surface], Attachment::identity(points.len()), vec![ball.clone()]).unwrap();
    let mut state = State::at_rest(points.clone());
    let guide = StaticGuide::new(points.clone());
    let settings = Settings { tolerance: 1e-3, ..Settings::default() };
    let mut stepper = Stepper::new(&body, &points, settings).unwrap();
    let rate = 24.0;
    for frame in 1..=20 {
        let zero = vec![Vec3::ZERO; places.len()];
        let span = Span {
            start: state.time,
            duration: 1.0 / rate,
            positions: [places.clone(), places.clone()],
            velocities: [zero.clone(), zero],
        };
        collision.follow(span, &[]).unwrap();
        stepper
            .advance_with_contact(&body, &mut state, &guide, Some(&mut collision), 1.0 / rate, &mut [])
            .unwrap();
        let [a, b] =
            [&state.positions, &places].map(|x| x.iter().map(|p| p.as_vec3().to_array()).collect::<Vec<_>>());
        let crossings = audit(&[
            AuditedSurface { name: "cloth", points: &a, triangles: &triangles, is_obstacle: false },
            AuditedSurface { name: "ball", points: &b, triangles: &ball.triangles, is_obstacle: true },
        ])
        .unwrap();
        assert_eq!(crossings.len(), 0, "frame {frame}");
    }
}
