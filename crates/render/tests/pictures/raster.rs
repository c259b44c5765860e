//! The rasteriser against geometry, and against the ray caster: what both show must be the same.

use clip::{Clip, Frame, Mesh};
use render::{Camera, Drawing, Film, Ground, Look, Picture, Scalars, Shading, Stage, View, picture};

use crate::shapes::{ball, chain, sheet, still, waving};
use crate::{BLACK, brightness, first_picture, front_camera, furnace, upright_camera};

/// Black over white: coverage is one minus linear light.
fn coverage(seen: &Picture) -> f64 {
    let linear = |c: u8| {
        let c = f64::from(c) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    seen.pixels.iter().map(|p| 1.0 - linear(p[0])).sum()
}

fn raster(look: Look) -> Look {
    Look { drawing: Drawing::Raster, ..look }
}

fn one_mesh(points: Vec<[f32; 3]>, faces: &[[u32; 3]]) -> Clip {
    still(Mesh::new("mesh", points, faces))
}

/// A triangle ten metres away, on a film whose scale is known: its area in pixels is known, and 8 × 8 samples count it to
/// a few thousandths: the outline is 500 pixels long, and each of its pixels errs by a 16th, either way.
#[test]
fn a_triangle_covers_its_area() {
    let corners = [[-1.3, -0.9, 0.0], [1.4, -0.6, 0.0], [-0.2, 1.25, 0.0]];
    let clip = one_mesh(corners.to_vec(), &[[0, 1, 2]]);
    let look = raster(Look { palette: vec![BLACK], samples: 8, ..furnace(0.5) });
    let camera = front_camera(10.0);
    let seen = first_picture(&clip, &camera, &look, [260, 200]);
    let scale = 100.0 / (10.0 * (0.5 * camera.field_of_view).tan());
    let [a, b, c] = corners.map(|p| glam::DVec2::new(f64::from(p[0]), f64::from(p[1])));
    let area = 0.5 * (b - a).perp_dot(c - a) * scale * scale;
    assert!((coverage(&seen) / area - 1.0).abs() < 2e-3, "{} pixels, expected {area}", coverage(&seen));
    let few = first_picture(&clip, &camera, &Look { samples: 2, ..look }, [260, 200]);
    assert!((coverage(&few) / area - 1.0).abs() < 1e-2, "{} pixels, expected {area}", coverage(&few));
}

/// Two squares that pass through each other: on either side the nearer one is seen, whichever comes first in the file.
#[test]
fn what_is_nearer_is_seen() {
    let square = |z0: f32, z1: f32| vec![[-1.0, -1.0, z0], [1.0, -1.0, z1], [1.0, 1.0, z1], [-1.0, 1.0, z0]];
    for turned in [false, true] {
        let (mut first, mut second) = (square(0.6, -0.6), square(-0.6, 0.6));
        if turned {
            std::mem::swap(&mut first, &mut second);
        }
        let faces = [[0, 1, 2], [0, 2, 3]];
        let meshes = vec![Mesh::new("a", first, &faces), Mesh::new("b", second, &faces)];
        let points = meshes.iter().map(|mesh| mesh.rest_points.clone()).collect();
        let frames = clip::MemoryFrames::new(vec![Frame { points, pose: Vec::new() }]);
        let clip = Clip::new("two", 24.0, meshes, None, std::sync::Arc::new(frames));
        let look = raster(Look { palette: vec![[255, 0, 0], [0, 0, 255]], ..furnace(0.5) });
        let seen = first_picture(&clip, &front_camera(6.0), &look, [80, 80]);
        let [left, right] = [25, 55].map(|x| seen.pixel(x, 40).expect("inside"));
        let (near, far) = if turned { (2, 0) } else { (0, 2) };
        assert!(left[near] > 100 && left[far] < 30, "the {near} on the left: {left:?}");
        assert!(right[far] > 100 && right[near] < 30, "the {far} on the right: {right:?}");
    }
}

/// A shadow of a ball: where the ray caster's lies, as dark, as large and as soft.
#[test]
fn shadows_lie_where_rays_put_them() {
    let clip = still(ball(glam::Vec3::new(0.0, 1.6, 0.0), 1.0, 32));
    let camera = upright_camera([0.0, 5.0, 12.0], [0.8, 0.8, 0.0]);
    let look = Look { ground: Ground::At(0.0), occlusion: false, ..Look::default() };
    let size = [200, 150];
    let bare = first_picture(&clip, &camera, &Look { ground: Ground::None, ..look.clone() }, size);
    let shadow = |look: &Look| {
        let seen = first_picture(&clip, &camera, look, size);
        let mut sums = [0.0; 3];
        for y in 60..150 {
            for x in 0..200 {
                let dark = f64::from(brightness(&bare, x, y)) - f64::from(brightness(&seen, x, y));
                // what is not the ball: there the two pictures are lit alike
                if dark > 6.0 {
                    sums = [sums[0] + dark, sums[1] + dark * f64::from(x), sums[2] + dark * f64::from(y)];
                }
            }
        }
        [sums[0], sums[1] / sums[0], sums[2] / sums[0]]
    };
    let [rays, drawn] = [shadow(&look), shadow(&raster(look.clone()))];
    assert!(rays[0] > 30_000.0, "a shadow is seen: {rays:?}");
    assert!((drawn[0] / rays[0] - 1.0).abs() < 0.06, "as dark and large: {drawn:?} and {rays:?}");
    assert!((drawn[1] - rays[1]).abs() < 1.5 && (drawn[2] - rays[2]).abs() < 1.5, "{drawn:?} and {rays:?}");
}

/// Mean difference in levels, and the share of pixels within 16.
fn difference(a: &Picture, b: &Picture) -> (f64, f64) {
    let off = |(p, q): (&[u8; 3], &[u8; 3])| [0, 1, 2].map(|c| p[c].abs_diff(q[c]));
    let off: Vec<[u8; 3]> = a.pixels.iter().zip(&b.pixels).map(off).collect();
    let mean = off.as_flattened().iter().map(|&d| f64::from(d)).sum::<f64>() / (3 * off.len()) as f64;
    let near = off.iter().filter(|p| p.iter().all(|&d| d <= 16)).count() as f64 / off.len() as f64;
    (mean, near)
}

/// Measured: 0.2 to 1.2 levels on average, 98.3 % of pixels and more within 16: under the ball on the ground, where rays see more.
#[test]
fn pictures_agree_with_the_ray_casters() {
    let looks = [
        Look::default(),
        Look { wireframe: true, shading: Shading::Flat, ..Look::default() },
        Look { bones: true, samples: 3, occlusion: false, ..Look::default() },
    ];
    let clips = [
        ("ball", still(ball(glam::Vec3::Y, 1.0, 24))),
        ("wave", waving(24, 4)),
        ("chain", chain()),
        ("sheet", still(sheet(2))),
        ("texture", crate::textured()),
    ];
    for (name, clip) in &clips {
        for look in &looks {
            let stage = |look: Look| Stage::new(&[("", clip)], View::ThreeQuarter, look, [240, 180]);
            let [cast, drawn] = [look.clone(), raster(look.clone())].map(|look| {
                stage(look).and_then(|stage| stage.picture(clip.frame_count() / 2)).expect("a picture")
            });
            let (mean, near) = difference(&cast, &drawn);
            assert!(mean < 1.5 && near > 0.98, "{name}: {mean:.2} levels, {:.2} % near", 100.0 * near);
        }
    }
    // numbers as colours
    let clip = &clips[1].1;
    let frame = clip.frame(1).expect("a frame");
    let values = vec![frame.points[0].iter().map(|p| 100.0 * p[2]).collect()];
    let scalars = Scalars::new("depth", "cm", values);
    let camera = Camera::framing_frame(clip, &frame, View::ThreeQuarter, 4.0 / 3.0);
    let [cast, drawn] = [Look::default(), raster(Look::default())]
        .map(|look| picture(clip, &frame, &camera, &look, [240, 180], Some(&scalars)).expect("a picture"));
    let (mean, near) = difference(&cast, &drawn);
    assert!(mean < 1.5 && near > 0.98, "numbers: {mean:.2} levels, {:.2} % near", 100.0 * near);
}

/// Inside a ball its wall fills the picture; beside a sheet that passes the eye only what lies ahead is seen.
#[test]
fn what_reaches_behind_the_eye_is_cut() {
    let clip = still(ball(glam::Vec3::ZERO, 1.0, 8));
    let look = raster(Look { palette: vec![BLACK], ..furnace(0.5) });
    let seen = first_picture(&clip, &front_camera(0.2), &look, [60, 40]);
    assert!((coverage(&seen) - 2400.0).abs() < 1.0, "the wall is everywhere: {}", coverage(&seen));

    // a floor one metre below the eye, from far behind it to far ahead: it fills the lower half up to its far edge
    let floor = vec![[-9e3, -1.0, 9e3], [9e3, -1.0, 9e3], [9e3, -1.0, -9e3], [-9e3, -1.0, -9e3]];
    let clip = one_mesh(floor, &[[0, 1, 2], [0, 2, 3]]);
    let camera = upright_camera([0.0; 3], [0.0, 0.0, -1.0]);
    let seen = first_picture(&clip, &camera, &look, [60, 40]);
    assert!((coverage(&seen) - 1200.0).abs() < 12.0, "half the picture: {}", coverage(&seen));
}

#[test]
fn broken_input_draws_what_is_left() {
    let look = raster(Look { wireframe: true, bones: true, ..Look::default() });
    let mut clip = waving(6, 1);
    let whole = first_picture(&clip, &front_camera(5.0), &look, [64, 48]);
    let mut frame = clip.frame(0).expect("a frame");
    frame.points[0][10] = [f32::NAN, 0.0, 0.0];
    frame.points[0][20] = [f32::INFINITY; 3];
    frame.points[0][30] = frame.points[0][31];
    let seen = picture(&clip, &frame, &front_camera(5.0), &look, [64, 48], None).expect("a picture");
    assert!(seen.pixels != whole.pixels && difference(&seen, &whole).1 > 0.3, "the rest is there");
    frame.points[0] = vec![[f32::NAN; 3]; frame.points[0].len()];
    picture(&clip, &frame, &front_camera(5.0), &look, [64, 48], None).expect("nothing is a picture, too");
    frame.points[0] = vec![[1e30, -1e30, 1e30]; 3];
    picture(&clip, &frame, &front_camera(5.0), &look, [1, 1], None).expect("a picture");
    clip.meshes.clear();
    for camera in [front_camera(0.0), front_camera(f64::NAN), front_camera(1e300)] {
        picture(&clip, &Frame::default(), &camera, &look, [33, 17], None).expect("a picture");
        picture(&waving(6, 1), &waving(6, 1).frame(0).expect("a frame"), &camera, &look, [33, 17], None)
            .expect("a picture");
    }
}

#[test]
fn one_thread_and_two_draw_the_same_bytes() {
    let clip = waving(40, 5);
    let look = raster(Look { wireframe: true, ..Look::default() });
    let on_threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("a pool");
        pool.install(|| {
            let stage =
                Stage::new(&[("a", &clip)], View::ThreeQuarter, look.clone(), [150, 110]).expect("a stage");
            (
                stage.picture(1).expect("a picture"),
                stage.film(|_| true).and_then(Film::finish).expect("a film"),
            )
        })
    };
    let one = on_threads(1);
    assert!(one == on_threads(2) && one == on_threads(3));
}
