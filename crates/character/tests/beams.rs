//! Flesh as a bar that is held at one end: it hangs as beam theory says, the nearer the finer its functions.

#![allow(clippy::print_stdout)] // figures for the curious: --nocapture

use character::{Bone, End, Flesh, Joint, Kit, Method, Nonlinear, Player, Settings, Skin};
use geometry::{Lattice, TetMesh, Vec3};
use glam::{DAffine3, Mat4};
use solid::{Law, Material};

const LENGTH: f64 = 1.0;
const SIDE: f64 = 0.1;
const GRAVITY: f64 = 0.05;
const MATERIAL: Material = Material { young: 1e5, poisson: 0.0, density: 1000.0, damping: 0.5 };

/// A bar along x in boxes of the lattice, with bones over the whole of its end.
fn bar(cells: usize, levels: u32) -> Flesh {
    let size = Vec3::new(LENGTH, SIDE, SIDE);
    let lattice = Lattice::box_grid([cells, 1, 1], size).unwrap();
    let skin = TetMesh::box_grid([20, 2, 2], size).unwrap();
    let (points, triangles) = (skin.points().to_vec(), skin.boundary_faces());
    let influences = vec![vec![(0, 1.0)]; points.len()];
    let place = |p: u32| lattice.points()[p as usize];
    let mut held: Vec<u32> = (0..lattice.points().len() as u32).filter(|p| place(*p).x == 0.0).collect();
    // edges along y, one at either side
    held.sort_by(|a, b| place(*a).z.total_cmp(&place(*b).z).then(place(*a).y.total_cmp(&place(*b).y)));
    let chains = vec![held[..2].to_vec(), held[2..].to_vec()];
    let end = |p: u32| End { joint: 0, rest: place(p) };
    let bones = chains.iter().map(|chain| Bone { joint: 0, ends: [end(chain[0]), end(chain[1])] }).collect();
    let joints = [Joint { parent: None, rest_from_joint: DAffine3::IDENTITY }];
    let settings = Settings {
        levels,
        material: MATERIAL,
        twist: 0.0,
        gravity: Vec3::new(0.0, 0.0, -GRAVITY),
        ..Settings::default()
    };
    Flesh::in_lattice(&joints, Skin { points, triangles, influences }, lattice, bones, chains, settings)
        .unwrap()
}

/// w L⁴/(8 E I), w the weight of a metre and I = b⁴/12, and what shear adds, w L²/(2 k G A) with k = 5/6.
fn theory() -> f64 {
    let area = SIDE * SIDE;
    let weight = MATERIAL.density * area * GRAVITY;
    let bending = weight * LENGTH.powi(4) / (8.0 * MATERIAL.young * SIDE.powi(4) / 12.0);
    bending + weight * LENGTH.powi(2) / (2.0 * 5.0 / 6.0 * 0.5 * MATERIAL.young * area)
}

/// How far the middle of the free end hangs, in metres.
fn sag(points: &[Vec3]) -> f64 {
    let ends = points.iter().filter(|p| p.x > 0.99 * LENGTH);
    0.5 * SIDE - ends.clone().map(|p| p.z).sum::<f64>() / ends.count() as f64
}

fn linear(flesh: &Flesh, method: Method) -> f64 {
    // long steps of backward Euler come to rest at once
    let mut player = Player::new(Kit::new(flesh, method, 1.0).unwrap()).unwrap();
    player.step(&[Mat4::IDENTITY], 0.0).unwrap();
    (0..10).for_each(|_| player.step(&[Mat4::IDENTITY], 1.0).unwrap());
    sag(&flesh.surface(player.shown()))
}

#[test]
fn bars_converge_to_beam_theory() {
    let exact = theory();
    let errors: Vec<f64> = [(8, 0), (8, 1), (8, 2), (16, 2)]
        .into_iter()
        .map(|(cells, levels)| linear(&bar(cells, levels), Method::GlobalLinear) / exact - 1.0)
        .collect();
    println!("{exact:.5} m; errors {errors:.4?}");
    // linear tets are too stiff in bending: the error is 79, 47, 16 and 9 %, and falls by more with every level
    assert!(
        errors.windows(2).all(|pair| pair[1] < 0.0 && pair[1].abs() < 0.65 * pair[0].abs()),
        "{errors:?}"
    );
    assert!(errors[2].abs() < 0.4 * errors[1].abs(), "{errors:?}");
    assert!(errors[3].abs() < 0.1, "{errors:?}");
}

#[test]
fn nonlinear_flesh_hangs_as_linear_flesh_while_it_hangs_little() {
    let flesh = bar(8, 1);
    let little = linear(&flesh, Method::GlobalLinear);
    let mut engine = Nonlinear::new(&flesh, Law::Stvk, Some(1)).unwrap();
    (0..10).for_each(|_| _ = engine.step(&[Mat4::IDENTITY], 1.0).unwrap());
    let found = sag(&flesh.surface(engine.coefficients()));
    println!("{little:.5} m linear, {found:.5} m nonlinear");
    assert!((found / little - 1.0).abs() < 0.01, "{found} {little}");
}
