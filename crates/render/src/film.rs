//! Films: animated WebP, written frame by frame.
//!
//! The container is ours (RIFF: `VP8X`, `ANIM`, then one `ANMF` per picture); each frame holds only the rectangle that
//! changed, and pictures that repeat become one longer frame. Compressed frames are kept in memory, pictures are not. A few
//! frames are drawn and encoded side by side, so that all cores are busy whatever a frame is made of.
//! Frames are lossy by default (our own encoder, a fifth of the size) or exact (`image-webp`'s).

use std::ops::Range;
use std::path::Path;

use image_webp::{ColorType, WebPEncoder};
use rayon::prelude::*;

use crate::vp8;
use crate::{Error, Picture, Result, Srgb};

/// A film being made: push pictures, then finish.
pub struct Film {
    frame_rate_hz: f64,
    exact: bool,
    /// Finished `ANMF` chunks.
    chunks: Vec<u8>,
    /// The last picture pushed: the next one is compared with it.
    last: Option<Picture>,
    /// Where the last frame's duration stands in `chunks`, and which picture it began with.
    open: Option<(usize, usize)>,
    count: usize,
    /// The size of a film that one sees through.
    clear: Option<[u32; 2]>,
}

/// Bytes in a chunk's header: its name and its length.
const CHUNK_HEADER: usize = 8;

impl Film {
    /// Quantiser of lossy frames: errors of a level or two, invisible on shaded surfaces.
    const QUANTISER: u8 = 6;

    /// An empty film. Browsers play it in a loop.
    pub fn new(frame_rate_hz: f64) -> Result<Self> {
        if !(frame_rate_hz.is_finite() && frame_rate_hz > 0.0) {
            return Err(Error::FrameRate { frame_rate_hz });
        }
        Ok(Self {
            frame_rate_hz,
            exact: false,
            chunks: Vec::new(),
            last: None,
            open: None,
            count: 0,
            clear: None,
        })
    }

    /// An empty film that will keep every pixel as it is, in about five times the space.
    pub fn exact(frame_rate_hz: f64) -> Result<Self> {
        Ok(Self { exact: true, ..Self::new(frame_rate_hz)? })
    }

    /// Adds a picture, shown for one frame. All must be of the size of the first.
    pub fn push(&mut self, picture: &Picture) -> Result<()> {
        self.push_all(std::slice::from_ref(picture))
    }

    /// Adds pictures, encoded side by side: the film is the same as if they came one by one.
    pub fn push_all(&mut self, pictures: &[Picture]) -> Result<()> {
        let Some(first) = self.last.as_ref().or(pictures.first()) else { return Ok(()) };
        let (width, height) = (first.width, first.height);
        if width == 0 || height == 0 || width.max(height) > Error::LARGEST_SIDE {
            return Err(Error::Size { width, height });
        }
        let size = |picture: &Picture| (picture.width, picture.height);
        if let Some(at) = pictures.iter().position(|picture| size(picture) != (width, height)) {
            let (index, found) = (self.count + at, size(&pictures[at]));
            return Err(Error::FilmSize { index, expected: (width, height), found });
        }
        let encode = |(at, picture): (usize, &Picture)| {
            let before = at.checked_sub(1).map(|before| &pictures[before]).or(self.last.as_ref());
            let changed = match before {
                None => Some([0, 0, width, height]),
                Some(before) => changed_rectangle(before, picture),
            };
            changed.map(|rectangle| Ok((rectangle, self.encoded(picture, rectangle)?))).transpose()
        };
        let chunks: Vec<Option<([u32; 4], Vec<u8>)>> =
            pictures.par_iter().enumerate().map(encode).collect::<Result<_>>()?;
        for chunk in chunks {
            if let Some((rectangle, image)) = chunk {
                self.close();
                self.open = Some((self.chunks.len() + CHUNK_HEADER + 12, self.count));
                self.begin_chunk(rectangle, &image);
            }
            self.count += 1;
        }
        self.last = pictures.last().cloned().or(self.last.take());
        Ok(())
    }

    /// Draws frames and adds them, `at_once` side by side; `progress` hears how many are done and may stop it with `false`
    /// or an error.
    pub fn record<E: From<Error> + Send>(
        &mut self,
        frames: Range<usize>,
        at_once: usize,
        draw: impl Fn(usize) -> std::result::Result<Picture, E> + Sync,
        mut progress: impl FnMut(usize) -> std::result::Result<bool, E>,
    ) -> std::result::Result<(), E> {
        let mut done = 0;
        while done < frames.len() {
            let first = frames.start + done;
            let last = (first + at_once.max(1)).min(frames.end);
            let pictures: Vec<Picture> = match last - first {
                1 => vec![draw(first)?],
                _ => (first..last).into_par_iter().map(&draw).collect::<std::result::Result<_, E>>()?,
            };
            self.push_all(&pictures)?;
            for _ in first..last {
                done += 1;
                if !progress(done)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Adds a picture that one sees through: bytes of red, green, blue (not multiplied by alpha) and alpha. Every pixel is kept as it is.
    pub fn push_clear(&mut self, width: u32, height: u32, pixels: &[u8]) -> Result<()> {
        let expected = match (&self.last, self.clear) {
            (Some(last), _) => (last.width, last.height),
            (None, Some([width, height])) => (width, height),
            (None, None) => (width, height),
        };
        let known = width > 0 && height > 0 && width.max(height) <= Error::LARGEST_SIDE;
        if !known || pixels.len() != 4 * width as usize * height as usize {
            return Err(Error::Size { width, height });
        }
        if (width, height) != expected || self.last.is_some() {
            return Err(Error::FilmSize { index: self.count, expected, found: (width, height) });
        }
        self.close();
        self.open = Some((self.chunks.len() + CHUNK_HEADER + 12, self.count));
        let mut still = Vec::new();
        WebPEncoder::new(&mut still)
            .encode(pixels, width, height, ColorType::Rgba8)
            .map_err(|error| Error::Encoding { problem: error.to_string() })?;
        self.begin_chunk([0, 0, width, height], &still.split_off(12));
        self.clear = Some([width, height]);
        self.count += 1;
        Ok(())
    }

    /// How many pictures were pushed.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True before the first picture.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bytes of the WebP file.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.close();
        let size = self.last.as_ref().map(|last| [last.width, last.height]).or(self.clear);
        let Some([width, height]) = size else {
            return Err(Error::Nothing { what: "a film needs at least one picture" });
        };
        let mut file = Vec::with_capacity(self.chunks.len() + 64);
        file.extend(b"RIFF");
        file.extend([0; 4]);
        file.extend(b"WEBPVP8X");
        file.extend(10u32.to_le_bytes());
        let alpha = if self.clear.is_some() { 0b1_0000 } else { 0 };
        file.extend([0b10 | alpha, 0, 0, 0]); // animated
        file.extend(three_bytes(width - 1));
        file.extend(three_bytes(height - 1));
        file.extend(b"ANIM");
        file.extend(6u32.to_le_bytes());
        file.extend([255; 4]); // behind the frames, never seen
        file.extend(0u16.to_le_bytes()); // for ever
        file.extend(&self.chunks);
        let length = u32::try_from(file.len() - CHUNK_HEADER)
            .map_err(|_| Error::Encoding { problem: "the film is longer than 4 GiB".into() })?;
        file[4..8].copy_from_slice(&length.to_le_bytes());
        Ok(file)
    }

    /// Writes the WebP file.
    pub fn save(self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        std::fs::write(path, self.finish()?).map_err(|source| Error::Io { path: path.into(), source })
    }

    /// Gives the last frame its duration. Times are rounded, not durations, so that a film of 24 frames lasts a second.
    fn close(&mut self) {
        if let Some((at, first)) = self.open.take() {
            let time = |index: usize| (index as f64 * 1000.0 / self.frame_rate_hz).round();
            let duration = (time(self.count) - time(first)).clamp(1.0, f64::from((1 << 24) - 1)) as u32;
            self.chunks[at..at + 3].copy_from_slice(&three_bytes(duration));
        }
    }

    /// A rectangle [left, top, right, bottom] of a picture, compressed.
    fn encoded(&self, picture: &Picture, [left, top, right, bottom]: [u32; 4]) -> Result<Vec<u8>> {
        let rows =
            picture.pixels.chunks_exact(picture.width as usize).take(bottom as usize).skip(top as usize);
        let pixels: Vec<Srgb> = rows.flat_map(|row| &row[left as usize..right as usize]).copied().collect();
        image_chunk(&pixels, right - left, bottom - top, self.exact)
    }

    /// Appends an `ANMF` chunk with a compressed rectangle.
    fn begin_chunk(&mut self, [left, top, right, bottom]: [u32; 4], image: &[u8]) {
        self.chunks.extend(b"ANMF");
        self.chunks.extend((16 + image.len() as u32).to_le_bytes());
        self.chunks.extend(three_bytes(left / 2));
        self.chunks.extend(three_bytes(top / 2));
        self.chunks.extend(three_bytes(right - left - 1));
        self.chunks.extend(three_bytes(bottom - top - 1));
        self.chunks.extend([0; 3]); // duration, known when the next picture differs
        self.chunks.push(0b10); // replaces what is there, stays afterwards
        self.chunks.extend(image);
    }
}

/// A `VP8 ` or `VP8L` chunk with a still picture.
fn image_chunk(pixels: &[Srgb], width: u32, height: u32, exact: bool) -> Result<Vec<u8>> {
    if exact {
        let mut still = Vec::new();
        WebPEncoder::new(&mut still)
            .encode(pixels.as_flattened(), width, height, ColorType::Rgb8)
            .map_err(|error| Error::Encoding { problem: error.to_string() })?;
        // a still WebP is RIFF, length, WEBP, then the one chunk that we want
        return Ok(still.split_off(12));
    }
    let frame = vp8::encode(pixels, width as usize, height as usize, Film::QUANTISER);
    let mut chunk = b"VP8 ".to_vec();
    chunk.extend((frame.len() as u32).to_le_bytes());
    chunk.extend(frame);
    chunk.resize(chunk.len().next_multiple_of(2), 0);
    Ok(chunk)
}

fn three_bytes(value: u32) -> [u8; 3] {
    let [a, b, c, _] = value.to_le_bytes();
    [a, b, c]
}

/// The smallest rectangle [left, top, right, bottom] that holds every difference; starts at even places, as the
/// container demands. `None` when the pictures are equal.
fn changed_rectangle(a: &Picture, b: &Picture) -> Option<[u32; 4]> {
    let width = a.width as usize;
    let (mut left, mut top, mut right, mut bottom) = (u32::MAX, u32::MAX, 0, 0);
    for (y, (row_a, row_b)) in a.pixels.chunks_exact(width).zip(b.pixels.chunks_exact(width)).enumerate() {
        let differs = |(p, q): (&[u8; 3], &[u8; 3])| p != q;
        if let Some(first) = row_a.iter().zip(row_b).position(differs) {
            let last = width - 1 - row_a.iter().rev().zip(row_b.iter().rev()).position(differs).unwrap_or(0);
            left = left.min(first as u32);
            right = right.max(last as u32 + 1);
            top = top.min(y as u32);
            bottom = y as u32 + 1;
        }
    }
    (right > 0).then_some([left & !1, top & !1, right, bottom])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A picture with a bright square that moves with `step`.
    fn square(step: u32) -> Picture {
        let mut picture = Picture::filled(33, 21, [240, 230, 220]);
        for y in 5..12 {
            for x in step..step + 7 {
                picture.blend(x, y, [180, 90, (20 * step) as u8], 1.0);
            }
        }
        picture
    }

    #[test]
    fn reads_back_with_every_picture_and_its_time() {
        let pictures = [square(1), square(4), square(4), square(9)];
        // colour is halved in resolution when lossy: edges may be off, regions not
        for (film, largest, mean) in [(Film::exact(24.0), 0, 0.0), (Film::new(24.0), 90, 4.0)] {
            let mut film = film.expect("a rate");
            pictures.iter().for_each(|picture| film.push(picture).expect("pushes"));
            assert_eq!(film.len(), 4);
            let bytes = film.finish().expect("finishes");

            let mut decoder = image_webp::WebPDecoder::new(Cursor::new(&bytes)).expect("a WebP file");
            assert!(decoder.is_animated() && !decoder.has_alpha());
            assert_eq!(decoder.dimensions(), (33, 21));
            assert_eq!(decoder.num_frames(), 3, "equal neighbours are one frame");
            assert_eq!(decoder.loop_duration(), 167, "four frames at 24 per second");
            let mut buffer = vec![0; decoder.output_buffer_size().expect("a size")];
            for (expected, duration) in [(&pictures[0], 42), (&pictures[1], 83), (&pictures[3], 42)] {
                assert_eq!(decoder.read_frame(&mut buffer).expect("a frame"), duration);
                let off = |(a, b): (&u8, &u8)| f32::from(a.abs_diff(*b));
                let off: Vec<f32> = buffer.iter().zip(expected.pixels.as_flattened()).map(off).collect();
                assert!(off.iter().all(|&off| off <= largest as f32), "an edge is far off");
                assert!(off.iter().sum::<f32>() <= mean * off.len() as f32, "the picture is off");
            }
        }
    }

    #[test]
    fn a_clear_film_keeps_its_alpha() {
        let pixels: Vec<u8> = (0..4 * 10 * 6).map(|i| (i * 7 % 256) as u8).collect();
        let mut film = Film::new(12.0).expect("a rate");
        film.push_clear(10, 6, &pixels).expect("pushes");
        film.push_clear(10, 6, &[128; 240]).expect("pushes");
        assert!(film.push_clear(9, 6, &[0; 216]).is_err(), "another size");
        let bytes = film.finish().expect("finishes");
        let mut decoder = image_webp::WebPDecoder::new(Cursor::new(&bytes)).expect("a WebP file");
        assert!(decoder.is_animated() && decoder.has_alpha());
        let mut buffer = vec![0; decoder.output_buffer_size().expect("a size")];
        decoder.read_frame(&mut buffer).expect("a frame");
        assert_eq!(buffer, pixels);
        assert_eq!(decoder.num_frames(), 2);
    }

    #[test]
    fn wrong_films_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Film::new(rate), Err(Error::FrameRate { .. })));
        }
        assert!(matches!(Film::new(24.0).and_then(Film::finish), Err(Error::Nothing { .. })));
        let mut film = Film::new(24.0).expect("a rate");
        assert!(matches!(film.push(&Picture::filled(0, 4, [0; 3])), Err(Error::Size { .. })));
        film.push(&square(0)).expect("pushes");
        let other = film.push(&Picture::filled(8, 8, [0; 3]));
        assert!(matches!(other, Err(Error::FilmSize { index: 1, expected: (33, 21), found: (8, 8) })));
    }

    #[test]
    fn the_changed_rectangle_is_tight_and_even() {
        assert_eq!(changed_rectangle(&square(3), &square(3)), None);
        assert_eq!(changed_rectangle(&square(3), &square(5)), Some([2, 4, 12, 12]));
    }
}
