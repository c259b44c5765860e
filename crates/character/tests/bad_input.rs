//! Skins and skeletons as they should not be: each gets a sentence, or flesh that holds together.

mod common;

use character::{Error, Flesh, Joint, Kit, Method, Player, Settings, Skin};
use common::{bar, bent};
use geometry::{Bounds, Vec3};
use glam::{DAffine3, DVec3, Mat4};

const STEP: f64 = 1.0 / 120.0;

fn settings() -> Settings {
    Settings { cells: 60, ..Settings::default() }
}

/// Half a second in which the second joint bends by 40°, both first moved by `by`: how far points are from the origin at most.
fn play(joints: &[Joint], skin: Skin, by: impl Fn(f64) -> Mat4) -> Result<f64, Error> {
    let flesh = Flesh::new(joints, skin, settings())?;
    let mut farthest = 0.0_f64;
    for method in [Method::BlendedLinear, Method::Corotated] {
        let mut player = Player::new(Kit::new(&flesh, method, STEP)?)?;
        for k in 0..=20 {
            let s = f64::from(k) / 20.0;
            let bend = bent(0.7 * s, 0.0);
            let pose: Vec<Mat4> = (0..joints.len()).map(|joint| by(s) * bend[joint.min(1)]).collect();
            player.step(&pose, 0.5 / 20.0)?;
        }
        let points = flesh.surface(player.shown());
        assert!(points.iter().all(|p| p.is_finite()));
        farthest = points.iter().map(|p| p.length()).fold(farthest, f64::max);
    }
    Ok(farthest)
}

fn still(_: f64) -> Mat4 {
    Mat4::IDENTITY
}

#[test]
fn joints_outside_coincident_scaled_and_mirrored_hold_together() {
    let bar = bar(10, 16);
    let with = |change: &dyn Fn(&mut Vec<Joint>)| {
        let mut joints = bar.joints.clone();
        change(&mut joints);
        play(&joints, bar.skin.clone(), still).unwrap()
    };
    // poses are of joints at the bar's places: what is elsewhere at rest is carried along from there
    let outside = with(&|joints| joints[1].rest_from_joint.translation.y = 0.9);
    let coincident = with(&|joints| joints.push(Joint { parent: Some(1), ..joints[1].clone() }));
    let scaled = with(&|joints| joints[1].rest_from_joint.matrix3 *= 0.5);
    let mirrored = with(&|joints| joints[1].rest_from_joint.matrix3.x_axis *= -1.0);
    for (far, what) in
        [(outside, "outside"), (coincident, "coincident"), (scaled, "scaled"), (mirrored, "mirrored")]
    {
        assert!(far < 5.0, "{what}: {far}");
    }
}

#[test]
fn bones_that_stretch_shrink_or_turn_inside_out_take_flesh_along() {
    let bar = bar(10, 16);
    for scale in [3.0, 0.05, 0.0, -1.0] {
        let by = |s: f64| Mat4::from_scale(glam::Vec3::new((1.0 + (scale - 1.0) * s) as f32, 1.0, 1.0));
        let far = play(&bar.joints, bar.skin.clone(), by).unwrap();
        assert!(far < 8.0, "{scale}: {far}");
    }
}

#[test]
fn weights_that_do_not_sum_to_one_are_taken_relative_to_their_sum() {
    let bar = bar(10, 16);
    let mut odd = bar.skin.clone();
    for (k, row) in odd.influences.iter_mut().enumerate() {
        row.iter_mut().for_each(|(_, weight)| *weight *= [0.2, 1.0, 7.0][k % 3]);
    }
    let size = |skin: &Skin| play(&bar.joints, skin.clone(), still).unwrap();
    let apart = (size(&odd) - size(&bar.skin)).abs();
    assert!(apart < 1e-3, "{apart}");
    // a point that nothing moves goes with what is around it
    odd.influences[40].clear();
    assert!(size(&odd) < 5.0);
    let none = Skin { influences: vec![Vec::new(); odd.points.len()], ..odd };
    assert!(matches!(play(&bar.joints, none, still), Err(Error::NoSkin)));
}

#[test]
fn loose_pieces_and_flat_ones_ride_along() {
    let bar = bar(10, 16);
    // a second bar beside the first, far away, on the second joint; and a sheet without a volume
    let mut skin = bar.skin.clone();
    let first = skin.points.len() as u32;
    skin.points.extend(bar.skin.points.iter().map(|p| *p * 0.2 + Vec3::new(0.5, 0.0, 0.9)));
    skin.influences.extend(bar.skin.points.iter().map(|_| vec![(1, 1.0)]));
    skin.triangles.extend(bar.skin.triangles.iter().map(|triangle| triangle.map(|v| v + first)));
    let first = skin.points.len() as u32;
    skin.points.extend([DVec3::ZERO, DVec3::X, DVec3::Y].map(|p| 0.1 * p + Vec3::new(-0.5, 0.3, 0.0)));
    skin.influences.extend([const { Vec::new() }; 3]);
    skin.triangles.push([first, first + 1, first + 2]);
    assert!(play(&bar.joints, skin, still).unwrap() < 5.0);

    // nothing but a sheet: a sentence, or cells around it
    let points: Vec<Vec3> = (0..8).map(|k| Vec3::new(f64::from(k / 2), f64::from(k % 2), 0.0)).collect();
    let triangles = (0..6).map(|k| if k % 2 == 0 { [k, k + 1, k + 2] } else { [k + 1, k, k + 2] }).collect();
    let influences = points.iter().map(|p| vec![(u32::from(p.x > 1.5), 1.0)]).collect();
    let size = Bounds::of(points.iter().copied()).diagonal();
    let joint = |parent, x: f64| {
        let place = DAffine3::from_translation(Vec3::new(x, 0.5, 0.0));
        Joint { parent, rest_from_joint: place }
    };
    match play(&[joint(None, 0.2), joint(Some(0), 1.5)], Skin { points, triangles, influences }, still) {
        Ok(far) => assert!(far < 4.0 * size, "{far}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
