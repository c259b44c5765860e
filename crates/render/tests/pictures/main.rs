//! What must be true of pictures: areas, light, shadows, lines, colours, and what broken input gives.

mod golden;
mod raster;
mod shapes;

use std::io::Cursor;
use std::sync::Arc;

use clip::{Clip, Frame, Image, Material, MemoryFrames};
use geometry::Vec3;
use render::{
    Camera, Drawing, Error, Film, Ground, Light, Look, Painter, Picture, Scalars, Shading, Stage, View,
    picture,
};
use shapes::{ball, chain, sheet, still, waving};

const WHITE: [u8; 3] = [255; 3];
const BLACK: [u8; 3] = [0; 3];

/// No light but the sky's, the same from everywhere.
fn furnace(radiance: f32) -> Look {
    Look {
        light: Light { color: [0.0; 3], ..Light::default() },
        sky: [radiance; 3],
        bounce: [radiance; 3],
        ground: Ground::None,
        background: [WHITE, WHITE],
        palette: vec![WHITE],
        back_tint: [1.0; 3],
        ..Look::default()
    }
}

fn upright_camera(position: [f64; 3], target: [f64; 3]) -> Camera {
    Camera { position: position.into(), target: target.into(), up: Vec3::Y, field_of_view: 0.6 }
}

fn front_camera(distance: f64) -> Camera {
    upright_camera([0.0, 0.0, distance], [0.0; 3])
}

fn first_picture(clip: &Clip, camera: &Camera, look: &Look, size: [u32; 2]) -> Picture {
    picture(clip, &clip.frame(0).expect("a frame"), camera, look, size, None).expect("a picture")
}

fn brightness(picture: &Picture, x: u32, y: u32) -> u32 {
    picture.pixel(x, y).expect("inside").iter().map(|&c| u32::from(c)).sum()
}

/// The silhouette of a ball of radius r at distance d is a disc of angular radius asin(r/d), so on the film of radius
/// tan(asin(r/d)). The ball is inscribed: with 64 rings its outline loses 0.08 % of the area; sampling 4 × 4 at 200
/// pixels another 0.1 %.
#[test]
fn a_ball_covers_the_area_of_its_projection() {
    let clip = still(ball(glam::Vec3::ZERO, 1.0, 64));
    let look = Look { palette: vec![BLACK], samples: 4, ..furnace(0.5) };
    let (distance, height) = (5.0f64, 200);
    let camera = front_camera(distance);
    let seen = first_picture(&clip, &camera, &look, [260, height]);
    // black over white: coverage is one minus linear light
    let linear = |c: u8| {
        let c = f64::from(c) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    let area: f64 = seen.pixels.iter().map(|p| 1.0 - linear(p[0])).sum();
    let radius = (1.0 / distance).asin().tan() / (0.5 * camera.field_of_view).tan() * 0.5 * f64::from(height);
    let expected = std::f64::consts::PI * radius * radius;
    assert!((area / expected - 1.0).abs() < 0.004, "{area:.1} pixels, expected {expected:.1}");
}

/// In a white furnace a white convex body sends back what it gets: albedo 1 times radiance 0.5, below the tone curve's
/// knee, hence sRGB 188 everywhere on it.
#[test]
fn a_white_furnace_is_uniform() {
    for shading in [Shading::Flat, Shading::Smooth] {
        let clip = still(ball(glam::Vec3::ZERO, 1.0, 12));
        let look = Look { shading, ..furnace(0.5) };
        let seen = first_picture(&clip, &front_camera(5.0), &look, [96, 96]);
        let inside: Vec<_> = seen.pixels.iter().filter(|p| p[0] < 215).collect();
        assert!(inside.len() > 1500, "the ball is seen");
        for p in inside {
            assert!(p.iter().all(|&c| c.abs_diff(188) <= 1) || p[0] > 188, "{shading:?}: {p:?}");
        }
    }
}

#[test]
fn creases_are_darker_only_with_occlusion() {
    // a floor and a wall that meet at x = 0
    let corner = clip::Mesh::new(
        "corner",
        vec![
            [0.0, 0.0, -1.0],
            [1.0, 0.0, -1.0],
            [1.0, 0.0, 1.0],
            [0.0, 0.0, 1.0],
            [0.0, 1.0, -1.0],
            [0.0, 1.0, 1.0],
        ],
        &[[0, 2, 1], [0, 3, 2], [0, 4, 5], [0, 5, 3]],
    );
    let clip = still(corner);
    let camera = Camera {
        position: Vec3::new(0.5, 4.0, 0.0),
        target: Vec3::new(0.5, 0.0, 0.0),
        up: Vec3::NEG_Z,
        field_of_view: 0.5,
    };
    let with = first_picture(&clip, &camera, &furnace(0.5), [81, 81]);
    // pixel columns: the floor spans the middle of the picture, its crease is on the left
    let (near, far) = (brightness(&with, 24, 40), brightness(&with, 55, 40));
    assert!(near + 30 < far, "near the wall {near}, far from it {far}");
    let without = first_picture(&clip, &camera, &Look { occlusion: false, ..furnace(0.5) }, [81, 81]);
    assert_eq!(brightness(&without, 24, 40), brightness(&without, 55, 40));
}

#[test]
fn the_ground_is_darker_under_things_and_clean_far_away() {
    let clip = still(ball(glam::Vec3::new(0.0, 1.0, 0.0), 1.0, 24));
    let camera = upright_camera([0.0, 3.0, 9.0], [0.0, 0.6, 0.0]);
    let bare = first_picture(&clip, &camera, &Look { ground: Ground::None, ..Look::default() }, [160, 120]);
    let shadowed =
        first_picture(&clip, &camera, &Look { ground: Ground::At(0.0), ..Look::default() }, [160, 120]);
    // a point of the ground that the light, from the upper left, cannot see: on the right of the ball
    let forward = (camera.target - camera.position).normalize();
    let ray = Vec3::new(1.3, 0.0, -0.1) - camera.position;
    let scale = 60.0 / (ray.dot(forward) * (0.5 * camera.field_of_view).tan());
    let at = [80.0 + ray.x * scale, 60.0 - ray.dot(Vec3::X.cross(forward)) * scale].map(|c| c as u32);
    assert!(brightness(&shadowed, at[0], at[1]) + 60 < brightness(&bare, at[0], at[1]), "a shadow at {at:?}");
    for corner in [[0, 0], [159, 0], [0, 119]] {
        let [x, y] = corner;
        assert!(brightness(&shadowed, x, y).abs_diff(brightness(&bare, x, y)) <= 9, "clean at {corner:?}");
    }
}

#[test]
fn wires_follow_the_sides_of_quads_and_not_their_diagonals() {
    let clip = still(sheet(4));
    let look = Look { wireframe: true, ..furnace(0.5) };
    let size = [200, 200];
    let camera = front_camera(4.0);
    let (wired, plain) =
        (first_picture(&clip, &camera, &look, size), first_picture(&clip, &camera, &furnace(0.5), size));
    let pixel = |x: f64, y: f64| {
        let scale = 100.0 / (4.0 * (0.5 * camera.field_of_view).tan());
        [(100.0 + x * scale) as u32, (100.0 - y * scale) as u32]
    };
    let darker = |[x, y]: [u32; 2]| brightness(&wired, x, y) + 60 < brightness(&plain, x, y);
    for (x, y) in [(0.0, 0.2), (0.5, -0.3), (-0.5, 0.7), (0.2, 0.5), (0.7, 0.0)] {
        assert!(darker(pixel(x, y)), "on a side at {x}, {y}");
    }
    for (x, y) in [(0.25, 0.25), (-0.25, 0.75), (0.6, 0.6), (0.15, 0.15)] {
        let [x, y] = pixel(x, y);
        assert_eq!(wired.pixel(x, y), plain.pixel(x, y), "inside a quad, on its diagonal");
    }
}

#[test]
fn numbers_become_colours_and_a_legend() {
    let clip = still(sheet(8));
    let values = vec![clip.meshes[0].rest_points.iter().map(|p| p[0]).collect()];
    let scalars = Scalars::new("x", "m", values);
    let frame = clip.frame(0).expect("a frame");
    let look = Look::default();
    let seen =
        picture(&clip, &frame, &front_camera(5.0), &look, [200, 150], Some(&scalars)).expect("a picture");
    let [left, right] = [seen.pixel(55, 75), seen.pixel(145, 75)].map(|p| p.expect("inside"));
    assert!(
        left[2] > left[1] && right[1] > right[2],
        "indigo {left:?} on the left, yellow {right:?} on the right"
    );
    let broken = Scalars { values: vec![vec![f32::NAN; 3]], ..scalars };
    let grey =
        picture(&clip, &frame, &front_camera(5.0), &look, [200, 150], Some(&broken)).expect("a picture");
    let p = grey.pixel(100, 75).expect("inside");
    assert!(p[0].abs_diff(p[1]) <= 2 && p[1].abs_diff(p[2]) <= 2, "no number, no colour: {p:?}");
}

/// The sheet with a picture of four colours on it.
fn textured() -> Clip {
    let quarters = image::RgbImage::from_fn(16, 16, |x, y| {
        image::Rgb([if x < 8 { 220 } else { 30 }, if y < 8 { 220 } else { 30 }, 30])
    });
    let mut bytes = Cursor::new(Vec::new());
    quarters.write_to(&mut bytes, image::ImageFormat::Png).expect("encodes");
    let mut clip = still(sheet(4));
    clip.images.push(Image {
        name: "quarters".into(),
        mime_type: "image/png".into(),
        bytes: bytes.into_inner(),
    });
    clip.materials.push(Material { base_color_image: Some(0), ..Material::plain("paint", [1.0; 4]) });
    clip.meshes[0].parts[0].material = Some(0);
    clip
}

#[test]
fn textures_lie_as_gltf_says() {
    let clip = textured();
    let seen = first_picture(&clip, &front_camera(5.0), &furnace(0.5), [100, 100]);
    let at = |x: u32, y: u32| seen.pixel(x, y).expect("inside");
    // u grows to the right, v downwards
    let (top_left, top_right, bottom_left) = (at(35, 35), at(65, 35), at(35, 65));
    assert!(top_left[0] > 120 && top_left[1] > 120, "{top_left:?}");
    assert!(top_right[0] < 60 && top_right[1] > 120, "{top_right:?}");
    assert!(bottom_left[0] > 120 && bottom_left[1] < 60, "{bottom_left:?}");
    let clay =
        first_picture(&clip, &front_camera(5.0), &Look { materials: false, ..furnace(0.5) }, [100, 100]);
    assert_eq!(clay.pixel(35, 35), clay.pixel(65, 65), "materials can be left out");

    let mut unread = clip.clone();
    unread.images[0].bytes.truncate(20);
    assert_eq!(Painter::new(&unread).unread_images(), &[0]);
    let plain = first_picture(&unread, &front_camera(5.0), &furnace(0.5), [100, 100]);
    assert_eq!(plain.pixel(35, 35), plain.pixel(65, 65), "a broken picture shows the plain colour");
}

/// Red on the left, blue on the right, by the colours of vertices alone: with a white material, with a grey one, without any.
#[test]
fn colours_of_vertices_are_shown() {
    let mut clip = still(sheet(8));
    let mesh = &mut clip.meshes[0];
    let share: Vec<f32> = mesh.rest_points.iter().map(|p| 0.5 + 0.5 * p[0]).collect();
    let channels =
        [share.iter().map(|t| 1.0 - t).collect(), vec![0.1; share.len()], share.clone()] as [Vec<f32>; 3];
    for (name, weights) in ["color.r", "color.g", "color.b"].into_iter().zip(channels) {
        mesh.groups.push(clip::Group { name: name.into(), weights });
    }
    let mut grey = clip.clone();
    grey.materials.push(Material::plain("grey", [0.5, 0.5, 0.5, 1.0]));
    grey.meshes[0].parts[0].material = Some(0);
    for drawing in [Drawing::Beauty, Drawing::Raster] {
        let look = Look { drawing, ..furnace(0.5) };
        let ends = |clip: &Clip, look: &Look| {
            let seen = first_picture(clip, &front_camera(5.0), look, [100, 100]);
            [35, 65].map(|x| seen.pixel(x, 50).expect("inside"))
        };
        let [left, right] = ends(&clip, &look);
        assert!(left[0] > left[2] + 30 && right[2] > right[0] + 30, "{drawing:?}: {left:?} {right:?}");
        let [dark, _] = ends(&grey, &look);
        assert!(dark[0] < left[0] && dark[0] > dark[2] + 20, "times the material: {dark:?} {left:?}");
        let [left, right] = ends(&clip, &Look { materials: false, ..look });
        assert_eq!(left, right, "clay is clay");
    }
}

#[test]
fn the_back_is_tinted() {
    let clip = still(sheet(2));
    let look = Look { back_tint: [0.5, 0.7, 1.0], ..furnace(0.5) };
    let front = first_picture(&clip, &front_camera(5.0), &look, [20, 20]).pixel(10, 10).expect("inside");
    let back = first_picture(&clip, &front_camera(-5.0), &look, [20, 20]).pixel(10, 10).expect("inside");
    assert!(front[0] == front[2] && back[0] < back[1] && back[1] < back[2], "{front:?} {back:?}");
}

#[test]
fn one_thread_and_two_give_the_same_bytes() {
    let clip = waving(20, 2);
    let look = Look { wireframe: true, ..Look::default() };
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
    assert!(on_threads(1) == on_threads(2));
}

#[test]
fn large_pictures_made_in_strips_have_no_seams() {
    // 1100 pixels of 2 × 2 rays exceed what is kept at once; with one strip per picture this row order would differ
    let clip = waving(10, 1);
    let camera = Camera::framing_frame(&clip, &clip.frame(0).expect("a frame"), View::ThreeQuarter, 1.0);
    let large = first_picture(&clip, &camera, &Look::default(), [1100, 1100]);
    let row_difference = |y: u32| -> u32 {
        (0..1100).map(|x| brightness(&large, x, y).abs_diff(brightness(&large, x, y + 1))).sum()
    };
    let strip = (1 << 20) / (1100 * 4);
    for seam in (strip..1099).step_by(strip as usize) {
        let usual = row_difference(seam - 3).max(row_difference(seam + 2));
        assert!(row_difference(seam - 1) <= 2 * usual + 200, "rows {} and {seam}", seam - 1);
    }
}

#[test]
fn bones_are_drawn_where_there_is_no_mesh() {
    let clip = chain();
    let stage =
        Stage::new(&[("", &clip)], View::Front, Look { ground: Ground::None, ..Look::default() }, [80, 80])
            .expect("a stage");
    let seen = stage.picture(0).expect("a picture");
    assert!(
        seen.pixels.iter().filter(|p| p.iter().all(|&c| c < 170)).count() > 60,
        "bones are dark on paper"
    );
}

#[test]
fn broken_frames_show_what_is_left() {
    let clip = still(sheet(2));
    let background = |clip: &Clip, frame: &Frame| {
        let look = Look { ground: Ground::Under, wireframe: true, ..Look::default() };
        picture(clip, frame, &front_camera(5.0), &look, [30, 20], None).expect("a picture")
    };
    let whole = background(&clip, &clip.frame(0).expect("a frame"));
    let mut frame = clip.frame(0).expect("a frame");
    frame.points[0][0][1] = f32::NAN;
    frame.points[0][2][0] = f32::INFINITY;
    assert_ne!(background(&clip, &frame), whole, "the triangles at the broken points are gone");
    frame.points[0].truncate(4);
    background(&clip, &frame);
    frame.points[0].fill([f32::NAN; 3]);
    let nothing = background(&clip, &frame);
    assert_eq!(background(&clip, &Frame::default()), nothing, "nothing is left but the background");
    assert_eq!(background(&still(clip::Mesh::new("none", vec![], &[])), &Frame::default()), nothing);

    // indices beyond the end, huge and tiny scenes, all in one point
    let mut beyond = clip.clone();
    beyond.meshes[0].vertex_points[0] = 99;
    background(&beyond, &clip.frame(0).expect("a frame"));
    for scale in [0.0, 1e-30, 1e30] {
        let mut frame = clip.frame(0).expect("a frame");
        frame.points[0].iter_mut().flatten().for_each(|c| *c *= scale);
        background(&clip, &frame);
        let camera = Camera::framing_frame(&clip, &frame, View::Front, 1.5);
        picture(&clip, &frame, &camera, &Look::default(), [30, 20], None).expect("a picture");
    }
}

#[test]
fn broken_cameras_and_sizes_do_not_panic() {
    let clip = still(sheet(2));
    let frame = clip.frame(0).expect("a frame");
    let cameras = [
        Camera { position: Vec3::NAN, ..front_camera(5.0) },
        Camera { position: Vec3::ZERO, ..front_camera(5.0) },
        Camera { up: Vec3::Z, ..front_camera(5.0) },
        Camera { field_of_view: f64::NAN, ..front_camera(5.0) },
        Camera { field_of_view: 9.0, ..front_camera(5.0) },
        Camera { position: Vec3::splat(1e300), ..front_camera(5.0) },
    ];
    for camera in cameras {
        picture(&clip, &frame, &camera, &Look::default(), [16, 12], None).expect("a picture");
    }
    for size in [[0, 10], [10, 0], [70_000, 10]] {
        let refused = picture(&clip, &frame, &front_camera(5.0), &Look::default(), size, None);
        assert!(matches!(refused, Err(Error::Size { .. })));
        assert!(matches!(
            Stage::new(&[("", &clip)], View::Top, Look::default(), size),
            Err(Error::Size { .. })
        ));
    }
    let odd = Look { samples: 0, palette: vec![], ground: Ground::At(f64::NAN), ..Look::default() };
    picture(&clip, &frame, &front_camera(5.0), &odd, [1, 1], None).expect("one pixel");
    assert!(matches!(Stage::new(&[], View::Top, Look::default(), [8, 8]), Err(Error::Nothing { .. })));
}

#[test]
fn films_and_sheets_hold_every_clip_and_frame() {
    let (long, short) = (waving(6, 5), waving(3, 2));
    let pair = [("guide", &long), ("result", &short)];
    let stage = Stage::new(&pair, View::Front, Look::default(), [64, 48]).expect("a stage");
    assert_eq!(stage.frame_count(), 5);
    let mut heard = Vec::new();
    let film = stage.film(|done| {
        heard.push(done);
        true
    });
    let bytes = film.and_then(Film::finish).expect("a film");
    assert_eq!(heard, [1, 2, 3, 4, 5]);
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(&bytes)).expect("a WebP file");
    assert_eq!(decoder.num_frames(), 5);
    let one = stage.picture(4).expect("a picture");
    assert_eq!(decoder.dimensions(), (one.width, one.height));
    assert!(one.width > 2 * 64 && one.height > 48, "two pictures with captions");
    let mut buffer = vec![0; decoder.output_buffer_size().expect("a size")];
    for _ in 0..5 {
        decoder.read_frame(&mut buffer).expect("a frame");
    }
    let off =
        buffer.iter().zip(one.pixels.as_flattened()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum::<u64>();
    assert!(off <= 3 * buffer.len() as u64, "the last frame is the last picture, {off} levels off");
    let stopped = stage.film(|done| done < 2).expect("a film");
    assert_eq!(stopped.len(), 2);
    let sheet = stage.contact_sheet(4, 2).expect("a sheet");
    assert!(sheet.width > 2 * one.width && sheet.height > 2 * one.height);
}

/// A sheet that is carried a hundred times its own size away while a board stays behind: seen from where it was, it is a speck; a camera that goes
/// along has it as large in the last frame as in the first. Nothing that moves, nothing to go along with.
#[test]
fn a_camera_goes_along_with_what_moves() {
    let (board, carried) = (sheet(1), sheet(3));
    let shift = |p: &[f32; 3], by: f32| [p[0] + by, p[1], p[2]];
    let frame = |i: usize| Frame {
        points: vec![
            board.rest_points.clone(),
            carried.rest_points.iter().map(|p| shift(p, 5.0 * i as f32)).collect(),
        ],
        pose: Vec::new(),
    };
    let frames = Arc::new(MemoryFrames::new((0..41).map(frame).collect()));
    let clip = Clip::new("carried", 24.0, vec![board.clone(), carried.clone()], None, frames);
    let look = Look { ground: Ground::None, background: [WHITE, WHITE], ..Look::default() };
    let stage = |clip| Stage::new(&[("", clip)], View::Front, look.clone(), [96, 64]).expect("a stage");
    let seen = |stage: &Stage, frame| {
        let picture = stage.picture(frame).expect("a picture");
        picture.pixels.iter().filter(|p| p.iter().all(|&c| c < 250)).count()
    };
    let still_camera = stage(&clip);
    let along = stage(&clip).going_along(View::Front).expect("a way");
    assert!(seen(&still_camera, 40) < 40, "{}", seen(&still_camera, 40));
    let [first, last] = [20, 40].map(|frame| seen(&along, frame));
    assert!(first > 1500 && first.abs_diff(last) < 40, "{first} {last}");

    let stands = still(sheet(2));
    let along = stage(&stands).going_along(View::Front).expect("a camera");
    assert_eq!(along.camera_at(0), *along.camera());
}
