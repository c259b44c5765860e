//! A flag in gusts that touches itself: no triangle beyond the limits of its fabric, nothing crossed.

use std::f64::consts::TAU;
use std::sync::Arc;

use contact::{Attachment, AuditedSurface, BarrierContact, CollisionSurface, audit};
use dynamics::{Body, Effort, Elements, Forces, Settings, Span, State, StaticGuide, Stepper, Substeps};
use geometry::Vec3;
use shell::{ClothBuilder, FabricStrain, Material, Wind};

/// 1.5 × 1 m of quads, each cut in two.
fn flag(columns: u32, rows: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let at = |i: u32, j: u32| j * (columns + 1) + i;
    let place = |i: u32, j: u32| {
        Vec3::new(1.5 * f64::from(i) / f64::from(columns), -f64::from(j) / f64::from(rows), 0.0)
    };
    let points = (0..=rows).flat_map(|j| (0..=columns).map(move |i| place(i, j))).collect();
    let cut = |(i, j): (u32, u32)| {
        let [a, b, c, d] = [at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)];
        [[a, b, c], [a, c, d]]
    };
    (points, (0..rows).flat_map(|j| (0..columns).map(move |i| (i, j))).flat_map(cut).collect())
}

/// The flag bent along the fly in a shallow wave: lengths stay.
fn in_a_breath_of_wind(rest: &[Vec3], columns: u32) -> Vec<Vec3> {
    let angle = |s: f64| 0.30 * s * (1.15 * TAU * s).cos() + 0.06 * s;
    let step = 1.5 / f64::from(columns);
    let mut line = vec![[0.0, 0.0]];
    for i in 0..columns {
        let ([x, z], middle) = (line[i as usize], (f64::from(i) + 0.5) / f64::from(columns));
        line.push([x + step * angle(middle).cos(), z + step * angle(middle).sin()]);
    }
    let place = |(i, p): (usize, &Vec3)| {
        let [x, z] = line[i % (columns as usize + 1)];
        Vec3::new(x, p.y, z)
    };
    rest.iter().enumerate().map(place).collect()
}

/// What a bake has seen.
struct Seen {
    /// The largest stretch along warp and weft, and the largest cosine between them.
    most: [f64; 3],
    /// Triangles beyond their limits, over all frames.
    beyond: usize,
    crossings: usize,
    effort: Effort,
}

fn bake(material: &Material, [columns, rows]: [u32; 2], frames: usize, substeps: Substeps) -> Seen {
    let (rest, triangles) = flag(columns, rows);
    let wind = Wind {
        direction: [1.0, 0.0, 0.2],
        speed: 6.0,
        gust: 0.3,
        variation: 0.6,
        seed: 3,
        ..Wind::default()
    };
    let wind = Arc::new(wind.field().unwrap());
    let cloth = ClothBuilder::new(&rest, &triangles, material).wind(wind).build().unwrap();
    let friction = material.damping_time();
    let known: Vec<bool> = rest.iter().map(|p| p.x == 0.0).collect();
    let body = Body::builder(cloth.masses.clone())
        .energy(Elements::new(cloth.membranes.iter().copied()).damped(friction))
        .energy(Elements::new(cloth.hinges.iter().copied()).damped(friction))
        .force(Forces(Elements::new(cloth.air.iter().cloned())))
        .limit(cloth.strain_limits())
        .known(known.clone())
        .gravity(-9.81 * Vec3::Y)
        .build()
        .unwrap();
    let surface = CollisionSurface {
        thickness: 0.003,
        ..CollisionSurface::free("flag", rest.clone(), triangles.clone())
    };
    let start = in_a_breath_of_wind(&rest, columns);
    let mut contact =
        BarrierContact::new(vec![surface], Attachment::identity(rest.len()), Vec::new()).unwrap();
    let guide = StaticGuide::new(start.clone());
    let settings = Settings { tolerance: 1e-3, substeps, ..Settings::default() };
    let mut stepper = Stepper::new(&body, &rest, settings).unwrap();
    let mut state = State::at_rest(start);
    let mut seen = Seen { most: [0.0; 3], beyond: 0, crossings: 0, effort: Effort::default() };
    for _ in 0..frames {
        let none = || [Vec::new(), Vec::new()];
        let span = Span { start: state.time, duration: 1.0 / 24.0, positions: none(), velocities: none() };
        contact.follow(span, &[]).unwrap();
        let effort = stepper
            .advance_with_contact(&body, &mut state, &guide, Some(&mut contact), 1.0 / 24.0, &mut [])
            .unwrap();
        let strain = FabricStrain::measure(&cloth.membranes, &cloth.limits, &known, &state.positions);
        for (most, now) in seen.most.iter_mut().zip([strain.warp, strain.weft, strain.shear]) {
            *most = most.max(now);
        }
        seen.effort.add(effort);
        seen.beyond += strain.beyond;
        let points: Vec<[f32; 3]> = state.positions.iter().map(|p| p.as_vec3().to_array()).collect();
        let surface =
            AuditedSurface { name: "flag", points: &points, triangles: &triangles, is_obstacle: false };
        seen.crossings += audit(&[surface]).unwrap().len();
    }
    seen
}

fn unlimited(material: Material) -> Material {
    Material { limit_warp: None, limit_weft: None, limit_shear: None, ..material }
}

#[test]
fn no_triangle_of_a_flag_in_gusts_is_beyond_its_limits() {
    let cotton = Material::preset("cotton").unwrap();
    for substeps in [Substeps::Automatic, Substeps::Fixed(1)] {
        let seen = bake(&cotton, [30, 20], 24, substeps);
        let [warp, weft, shear] = seen.most;
        assert!(warp <= 0.03 + 1e-6 && weft <= 0.03 + 1e-6 && shear <= 0.5 + 1e-6, "{:?}", seen.most);
        assert_eq!((seen.beyond, seen.effort.beyond_limits, seen.crossings), (0, 0, 0));
    }
    let [warp, weft, _] = bake(&unlimited(cotton), [30, 20], 24, Substeps::Automatic).most;
    assert!(warp > 0.04 && weft > 0.035, "without limits it is stretched: {warp} {weft}");
}
