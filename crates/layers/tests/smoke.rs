//! The smoke layer as a shot uses it: images of every kind, silhouettes, resuming, pictures made later, and sentences for bad input.

mod common;

use std::path::Path;

use common::reader;
use film::FilmRenderer;
use image::{DynamicImage, GrayImage, ImageBuffer, Luma, LumaA, Rgba};
use shot::{Bake, BakeOptions, Context, Error, Shot};

fn parse_in(folder: &Path, text: &str) -> Shot {
    reader().parse("test.toml", text, folder).unwrap_or_else(|error| panic!("{error}"))
}

/// A shot of a few frames on a small grid, with these lines in its layer.
fn text(layer: &str) -> String {
    format!(
        "[input]\nduration = 0.25\n[[layer]]\nkind = \"smoke\"\ngrid = [32, 24]\nsize = [1.0, 0.75]\n{layer}\n\
         [output]\nfiles = []\nreport = false\n"
    )
}

fn bake(shot: &Shot, out: &Path) -> Result<Bake, Error> {
    let options = BakeOptions { out: Some(out.to_owned()), ..BakeOptions::default() };
    shot.bake(&options, &Context::SILENT)
}

fn values(bake: &Bake, frame: usize, name: &str) -> Vec<f32> {
    let grids = bake.clip.grids(frame).unwrap();
    clip::Grid::find(&grids, name).unwrap_or_else(|| panic!("no {name}")).values.clone()
}

fn peak(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// The first temperature that a lone image makes.
fn painted(folder: &Path, image: &str) -> Result<Vec<f32>, String> {
    let out = tempfile::tempdir().unwrap();
    let shot = parse_in(folder, &text(&format!("gravity = 0.0\ntemperature = [{image}]")));
    match bake(&shot, out.path()) {
        Ok(bake) => Ok(values(&bake, 0, "temperature")),
        Err(error) => Err(error.to_string()),
    }
}

/// The same drawing, a bright square in the upper left quarter, in every kind of file.
fn drawings(folder: &Path) {
    let inside = |x: u32, y: u32| x < 20 && y < 15;
    let level = |x: u32, y: u32| if inside(x, y) { 255_u8 } else { 0 };
    GrayImage::from_fn(40, 30, |x, y| Luma([level(x, y)])).save(folder.join("grey8.png")).unwrap();
    let deep: ImageBuffer<Luma<u16>, _> =
        ImageBuffer::from_fn(40, 30, |x, y| Luma([u16::from(level(x, y)) * 257]));
    deep.save(folder.join("grey16.png")).unwrap();
    // painted white on nothing: the colour of what is transparent must not count
    let alpha: ImageBuffer<LumaA<u8>, _> = ImageBuffer::from_fn(40, 30, |x, y| LumaA([255, level(x, y)]));
    alpha.save(folder.join("alpha.png")).unwrap();
    let light: ImageBuffer<Rgba<f32>, _> = ImageBuffer::from_fn(40, 30, |x, y| {
        let v = if inside(x, y) { 1.0 } else { 0.0 };
        Rgba([v, v, v, 1.0])
    });
    DynamicImage::from(light).save(folder.join("light.exr")).unwrap();
    let wide = GrayImage::from_fn(331, 97, |x, y| Luma([if x < 165 && y < 48 { 255 } else { 0 }]));
    wide.save(folder.join("wide.png")).unwrap();
    std::fs::write(folder.join("palette.png"), palette_png(40, 30, |x, y| u8::from(inside(x, y)))).unwrap();
}

/// A PNG with a palette of black and white, written byte by byte: the image crate only writes true colours.
fn palette_png(width: u32, height: u32, index: impl Fn(u32, u32) -> u8) -> Vec<u8> {
    use std::io::Write;
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8)
                .fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { 0xEDB8_8320 ^ (c >> 1) } else { c >> 1 })
        })
    };
    let mut rows = Vec::new();
    for y in 0..height {
        rows.push(0);
        rows.extend((0..width).map(|x| index(x, y)));
    }
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&rows).unwrap();
    let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
    head.extend([8, 3, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let chunks = [
        (b"IHDR", head),
        (b"PLTE", vec![0, 0, 0, 255, 255, 255]),
        (b"IDAT", encoder.finish().unwrap()),
        (b"IEND", Vec::new()),
    ];
    for (name, data) in chunks {
        file.extend((data.len() as u32).to_be_bytes());
        let body = [name.as_slice(), &data].concat();
        file.extend(&body);
        file.extend(crc(&body).to_be_bytes());
    }
    file
}

#[test]
fn images_of_every_kind_and_size_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    drawings(folder.path());
    let at = |values: &[f32], x: usize, y: usize| values[x + 32 * y];
    for name in ["grey8.png", "grey16.png", "alpha.png", "light.exr", "palette.png", "wide.png"] {
        let warm = painted(folder.path(), &format!("{{ file = \"{name}\", white = 5.0 }}")).unwrap();
        assert!(
            (at(&warm, 7, 18) - 5.0).abs() < 0.05,
            "{name}: warm at the upper left, {}",
            at(&warm, 7, 18)
        );
        assert!(at(&warm, 24, 18).abs() < 0.05 && at(&warm, 7, 5).abs() < 0.05, "{name}: not elsewhere");
    }
}

#[test]
fn levels_may_be_reversed() {
    let folder = tempfile::tempdir().unwrap();
    drawings(folder.path());
    let image = "{ file = \"grey8.png\", black = 4.0, white = -2.0 }";
    let warm = painted(folder.path(), image).unwrap();
    assert!((warm[7 + 32 * 18] + 2.0).abs() < 0.05 && (warm[24 + 32 * 5] - 4.0).abs() < 0.05);
}

#[test]
fn a_missing_number_and_a_missing_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for number in [1, 2, 4] {
        GrayImage::new(8, 8).save(folder.path().join(format!("mask.{number:04}.png"))).unwrap();
    }
    let said = |image: &str| {
        let shot = parse_in(folder.path(), &text(&format!("obstacle = [{image}]")));
        let mistakes = shot.check();
        assert_eq!(mistakes.len(), 1, "{image}: {mistakes:?}");
        mistakes[0].message().to_owned()
    };
    let gap = said("{ file = \"mask.####.png\" }");
    assert!(gap.contains("mask.0003.png is missing"), "{gap}");
    assert!(said("{ file = \"msak.png\" }").contains("there is no file"));
    assert!(said("{ file = \"other.##.png\" }").contains("no file of this sequence"));
    std::fs::write(folder.path().join("mask.0003.png"), "no picture").unwrap();
    assert!(said("{ file = \"mask.####.png\", first = 9 }").contains("mask.0009.png is not there"));
    let broken = painted(folder.path(), "{ file = \"mask.0003.png\" }").unwrap_err();
    assert!(broken.contains("mask.0003.png"), "{broken}");
}

#[test]
fn a_sequence_moves_and_pushes_the_air() {
    let folder = tempfile::tempdir().unwrap();
    for frame in 0..6_u32 {
        let body = |x: u32, y: u32| (x as i32 - 20 - 3 * frame as i32).abs() < 6 && (8..22).contains(&y);
        let mask = GrayImage::from_fn(64, 30, |x, y| Luma([if body(x, y) { 255 } else { 0 }]));
        mask.save(folder.path().join(format!("body_{frame}.png"))).unwrap();
    }
    let shot = parse_in(folder.path(), &text("gravity = 0.0\nobstacle = [{ file = \"body_%d.png\" }]"));
    let out = tempfile::tempdir().unwrap();
    let bake = bake(&shot, out.path()).unwrap();
    let u = values(&bake, 5, "velocity_x");
    // 3 of 64 pixels in a 24th of a second: 1.1 m/s
    let inside = u[17 + 32 * 12];
    assert!((inside - 3.0 / 64.0 * 24.0).abs() < 0.2, "the air inside goes with the body: {inside}");
    let mask = values(&bake, 5, "obstacle");
    assert!(mask[17 + 32 * 12] > 0.9 && mask[5 + 32 * 12] < 0.1);
}

#[test]
fn a_silhouette_is_an_obstacle_or_a_source() {
    let shot = |layer: &str| {
        let text = format!(
            "[input]\nsample = \"box_guide\"\nframes = \"0-3\"\n[[layer]]\nkind = \"smoke\"\ngrid = [40, 40]\n\
             size = [4.0, 4.0]\ngravity = 0.0\n{layer}\n[output]\nfiles = []\nreport = false\n"
        );
        parse_in(Path::new(""), &text)
    };
    let out = tempfile::tempdir().unwrap();
    let bake = bake(&shot("obstacle = [{ silhouette = {} }]\nscalar = [{ name = \"fog\" }]\n[[layer.source]]\nto = \"fog\"\nrate = 9.0\nimage = { silhouette = {} }"), out.path()).unwrap();
    let (mask, fog) = (values(&bake, 3, "obstacle"), values(&bake, 3, "fog"));
    let covered: f32 = mask.iter().sum::<f32>() * 0.01;
    assert!(covered > 0.2 && covered < 8.0, "{covered} square metres");
    let foggy = fog.iter().zip(&mask).filter(|(_, m)| **m > 0.95).map(|(f, _)| *f).fold(f32::MAX, f32::min);
    assert!(foggy > 0.5, "where the body is there is fog: {foggy}");
    // the input passes through untouched
    assert_eq!(bake.clip.frame(3).unwrap(), bake.input.frame(3).unwrap());
    let mistakes = shot("obstacle = [{ silhouette = { mesh = \"bxo\" } }]").check();
    assert!(mistakes[0].message().contains("there is no mesh `bxo`"), "{mistakes:?}");
    let empty = parse_in(Path::new(""), &text("obstacle = [{ silhouette = {} }]")).check();
    assert!(empty[0].message().contains("no mesh"), "{empty:?}");
}

#[test]
fn an_obstacle_that_fills_the_box_is_told_and_nothing_moves() {
    let out = tempfile::tempdir().unwrap();
    let full = "obstacle = [{ bar = { from = [-9.0, -9.0], to = [9.0, 9.0] } }]\n\
                temperature = [{ disc = { centre = [0.5, 0.3], radius = 0.1 }, white = 20.0 }]";
    let bake = bake(&parse_in(Path::new(""), &text(full)), out.path()).unwrap();
    assert!(bake.layers[0].warnings.iter().any(|(_, said)| said.contains("fills the whole box")));
    assert!(peak(&values(&bake, 5, "velocity_y")) < 0.02);
}

#[test]
fn without_gravity_warm_air_stays_where_it_is() {
    let warm = "temperature = [{ disc = { centre = [0.5, 0.3], radius = 0.1 }, white = 20.0 }]";
    for (gravity, moves) in [(0.0, false), (9.81, true), (-9.81, true)] {
        let out = tempfile::tempdir().unwrap();
        let bake = bake(&parse_in(Path::new(""), &text(&format!("gravity = {gravity}\n{warm}"))), out.path())
            .unwrap();
        let up: f32 = values(&bake, 5, "velocity_y")
            .iter()
            .zip(values(&bake, 5, "temperature"))
            .map(|(v, t)| v * t)
            .sum();
        assert_eq!(up != 0.0, moves, "{gravity}");
        assert!(up * gravity as f32 >= 0.0, "warm air goes against gravity: {up}");
    }
}

#[test]
fn absurd_temperatures_stop_with_time_place_and_dial_before_nan() {
    let out = tempfile::tempdir().unwrap();
    // a source that cools without end: frames before it breaks are kept
    let cooling = "[[layer.source]]\nto = \"temperature\"\nimage = { bar = { from = [-1.0, -1.0], to = [9.0, 9.0] }, white = -2000.0 }";
    let shot = parse_in(Path::new(""), &text(cooling));
    let error = match bake(&shot, out.path()) {
        Ok(_) => panic!("it cannot be colder than nothing"),
        Err(error) => error,
    };
    let said = error.to_string();
    assert!(said.contains("frame 4") && said.contains("point") && said.contains(" s is "), "{said}");
    let Error::Frame { help: Some(help), .. } = &error else { panic!("{error:?}") };
    assert!(help.contains("`black` and `white`"), "{help}");
    let before = shot.baked(&BakeOptions {
        out: Some(out.path().into()),
        frames: Some("0-3".parse().unwrap()),
        ..BakeOptions::default()
    });
    assert!(values(&before.unwrap(), 3, "temperature").iter().all(|v| v.is_finite()));

    // colder than nothing from the start, and a flow faster than the sound that was asked for
    let cold = parse_in(
        Path::new(""),
        &text("temperature = [{ disc = { centre = [0.5, 0.4], radius = 0.1 }, white = -400.0 }]"),
    );
    let error = bake(&cold, &out.path().join("cold")).err().unwrap().to_string();
    assert!(error.contains("temperature at point"), "{error}");
    let slow =
        "sound_speed = 0.05\ntemperature = [{ disc = { centre = [0.5, 0.4], radius = 0.1 }, white = 90.0 }]";
    let error = bake(&parse_in(Path::new(""), &text(slow)), &out.path().join("slow")).err().unwrap();
    let Error::Frame { help: Some(help), .. } = &error else { panic!("{error:?}") };
    assert!(error.to_string().contains("m/s") && help.contains("`sound_speed`"), "{error}; {help}");
    // a sun: either it works or it says why not
    let sun =
        "temperature = [{ disc = { centre = [0.5, 0.4], radius = 0.1 }, white = 1e6 }]\nmax_steps = 300";
    let error = bake(&parse_in(Path::new(""), &text(sun)), &out.path().join("sun")).err().unwrap();
    assert!(error.to_string().contains("max_steps"), "{error}");
}

#[test]
fn mistakes_have_their_line_and_a_suggestion() {
    let check = |layer: &str| -> Vec<String> {
        let shot = parse_in(Path::new(""), &text(layer));
        let told = |m: &shot::Diagnostic| format!("{} | {}", m.message(), m.remedy().unwrap_or_default());
        shot.check().iter().map(told).collect()
    };
    let said = check("[[layer.source]]\nto = \"temprature\"\nimage = { noise = { size = 0.1 } }");
    assert!(said[0].contains("did you mean `temperature`?"), "{said:?}");
    assert!(check("temperature = [{ white = 2.0 }]")[0].contains("an image is one of"), "{said:?}");
    assert!(check("scalar = [{ name = \"temperature\" }]")[0].contains("is taken"));
    assert!(check("velocity_z = [{ noise = { size = 0.1 } }]")[0].contains("no third axis"));
    assert!(check("viscosity = 1.0").is_empty());
    assert!(check("viscosity = 1e3")[0].contains("more than `max_steps`"));
    let film = text("") + "[[output.film.pass]]\nfield = \"inc\"\ncolor = \"red\"\n";
    let shot = parse_in(Path::new(""), &film);
    let mistakes = shot.check();
    assert!(mistakes.iter().any(|m| m.message().contains("no layer makes a field `inc`")), "{mistakes:?}");
    assert!(mistakes.iter().any(|m| m.message().contains("`red` is not a colour")), "{mistakes:?}");
}

const PLUME: &str = "textures = true\nscalar = [{ name = \"ink\", image = [{ disc = { centre = [0.5, 0.2], radius = 0.12 } }] }]\n\
                     temperature = [{ disc = { centre = [0.5, 0.2], radius = 0.12 }, white = 15.0 }]";

#[test]
fn a_stopped_bake_goes_on_with_the_same_bytes_and_threads_change_nothing() {
    let shot = parse_in(Path::new(""), &text(PLUME));
    let bake = |frames: &str, threads: usize, out: &Path| {
        let frames = Some(frames.parse().unwrap());
        let options =
            BakeOptions { out: Some(out.into()), frames, threads: Some(threads), ..BakeOptions::default() };
        shot.bake(&options, &Context::SILENT).unwrap()
    };
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let whole = bake("0-5", 1, one.path());
    bake("0-2", 2, two.path());
    let resumed = bake("0-5", 2, two.path());
    assert_eq!((resumed.layers[0].reused, resumed.layers[0].baked), (3, 3));
    for frame in 0..6 {
        assert_eq!(whole.clip.grids(frame).unwrap(), resumed.clip.grids(frame).unwrap(), "frame {frame}");
    }
    let stored = std::fs::read_dir(&whole.layers[0].folder).unwrap().flatten();
    let frames = stored.filter(|f| f.file_name().to_string_lossy().starts_with("frame-"));
    let bytes: u64 = frames.map(|file| file.metadata().unwrap().len()).sum();
    let raw = 6 * 6 * 4 * 32 * 24;
    assert!(bytes < raw / 2, "{bytes} of {raw} bytes");
}

#[test]
fn pictures_are_made_later_and_again_without_simulating() {
    let out = tempfile::tempdir().unwrap();
    let film = "[output.film]\nwidth = 64\nheight = 48\nbackground = \"none\"\n[[output.film.pass]]\nfield = \"ink\"\n\
                clear = [[0.0, 0.2], [0.2, 0.4]]\nsolid = 0.8\ncolor = \"#ff0000\"\n";
    let first = parse_in(Path::new(""), &(text(PLUME) + film));
    let missing = first.baked(&BakeOptions { out: Some(out.path().into()), ..BakeOptions::default() });
    assert!(matches!(missing, Err(Error::NotBaked { have: 0, need: 6, .. })));
    let bake = bake(&first, out.path()).unwrap();
    let renderer = FilmRenderer::new(&first, &bake).unwrap();
    let picture = renderer.picture(0).unwrap();
    let at = |x: usize, y: usize| picture.pixels[y * 64 + x];
    assert_eq!(at(32, 35), [1.0, 0.0, 0.0, 1.0], "red where the ink is");
    assert_eq!(at(5, 5), [0.0; 4], "nothing elsewhere");
    let files = renderer.write(&out.path().join("a.####.png"), Some(7), &Context::SILENT).unwrap();
    assert_eq!((files.len(), files[0].ends_with("a.0007.png")), (6, true));
    let png = image::open(&files[0]).unwrap().into_rgba8();
    assert_eq!((png.get_pixel(32, 35).0, png.get_pixel(5, 5).0[3]), ([255, 0, 0, 255], 0));
    let files = renderer.write(&out.path().join("b.%03d.exr"), None, &Context::SILENT).unwrap();
    let exr = image::open(&files[0]).unwrap().into_rgba32f();
    assert_eq!(exr.get_pixel(32, 35).0, [1.0, 0.0, 0.0, 1.0]);
    let film_file = renderer.write(&out.path().join("c.webp"), None, &Context::SILENT).unwrap();
    assert!(std::fs::read(&film_file[0]).unwrap().starts_with(b"RIFF"));

    // another look at the same bake: a ring, a smear, an image that the flow carries
    for pass in [
        "field = \"ink\"\nring = { bottom = 0.45, top = 0.1, squash = 0.7 }",
        "field = \"temperature\"\nsolid = 9.0\ncolors = \"fire\"\nsmear = { before = 0.2 }",
        "image = { checks = 6 }",
        "image = { words = \"air\" }\npainted = 0.1",
        // of another size than the film
        "image = { file = \"a.0007.png\" }",
    ] {
        let film = format!("[output.film]\nwidth = 40\nheight = 30\n[[output.film.pass]]\n{pass}\n");
        let again = parse_in(out.path(), &(text(PLUME) + &film));
        assert!(again.check().is_empty(), "{pass}: {:?}", again.check());
        let baked =
            again.baked(&BakeOptions { out: Some(out.path().into()), ..BakeOptions::default() }).unwrap();
        let (early, late) = (
            FilmRenderer::new(&again, &baked).unwrap().picture(2).unwrap(),
            FilmRenderer::new(&again, &baked).unwrap().picture(5).unwrap(),
        );
        let change = early.pixels.iter().zip(&late.pixels).filter(|(a, b)| a != b).count();
        assert!(change > 10, "{pass}: the picture lives");
    }
}

#[test]
fn an_image_is_undistorted_when_it_was_painted() {
    let out = tempfile::tempdir().unwrap();
    let film = |painted: &str| {
        let film = format!(
            "[output.film]\nwidth = 64\nheight = 48\n[[output.film.pass]]\nimage = {{ checks = 4 }}\n{painted}\n"
        );
        parse_in(Path::new(""), &(text(PLUME) + &film))
    };
    bake(&film(""), out.path()).unwrap();
    let picture = |painted: &str, frame: usize| {
        let shot = film(painted);
        let baked =
            shot.baked(&BakeOptions { out: Some(out.path().into()), ..BakeOptions::default() }).unwrap();
        FilmRenderer::new(&shot, &baked).unwrap().picture(frame).unwrap()
    };
    let off = |a: &fluid::Picture, b: &fluid::Picture| {
        let pairs = a.pixels.iter().zip(&b.pixels);
        pairs.map(|(a, b)| f64::from((a[0] - b[0]).abs())).sum::<f64>() / a.pixels.len() as f64
    };
    let flat = picture("warp = false", 5);
    assert_eq!(flat.pixels.len(), 64 * 48);
    assert!(off(&picture("", 5), &flat) > 0.003, "the flow has moved it");
    let painted = format!("painted = {}", 5.0 / 24.0);
    assert!(off(&picture(&painted, 5), &flat) < 0.001, "painted just now");
}

#[test]
fn a_volume_rises_and_is_seen() {
    let text = "[input]\nduration = 0.125\n[[layer]]\nkind = \"smoke\"\ngrid = [20, 24, 20]\nsize = [1.0, 1.2, 1.0]\n\
                sides = [\"wall\", \"wall\", \"wall\"]\nspeed = 4.0\n\
                scalar = [{ name = \"ink\", image = [{ disc = { centre = [0.5, 0.3, 0.5], radius = 0.2 } }] }]\n\
                temperature = [{ disc = { centre = [0.5, 0.3, 0.5], radius = 0.2 }, white = 20.0 }]\n\
                [output]\nfiles = []\nreport = false\n[output.film]\nwidth = 48\nheight = 48\n\
                [[output.film.pass]]\nfield = \"ink\"\ncolor = \"#ffffff\"\nvolume = { turn = 20.0, tilt = 10.0, thickness = 20.0 }\n";
    let shot = parse_in(Path::new(""), text);
    let out = tempfile::tempdir().unwrap();
    let bake = bake(&shot, out.path()).unwrap();
    let height = |frame: usize| {
        let ink = values(&bake, frame, "ink");
        let total: f32 = ink.iter().sum();
        ink.iter().enumerate().map(|(i, v)| (i / 20 % 24) as f32 * v).sum::<f32>() / total
    };
    assert!(height(2) > height(0) + 0.3, "{} {}", height(0), height(2));
    let picture = FilmRenderer::new(&shot, &bake).unwrap().picture(0).unwrap();
    let bright = picture.pixels.iter().filter(|p| p[0] > 0.2).count();
    assert!(bright > 30 && bright < 1000, "{bright} bright pixels");
}
