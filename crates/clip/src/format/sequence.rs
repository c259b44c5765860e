//! Numbered OBJ sequences: one file per frame.

use std::path::Path;
use std::sync::Arc;

use super::obj_read::{self, Parsed};
use super::obj_write::ObjText;
use super::{
    DEFAULT_FRAME_RATE_HZ, Numbered, ReadOptions, WriteOptions, Written, atomic, malformed, name_of,
};
use crate::{Clip, Error, Frame, Frames, MemoryFrames, Result};

/// The sequence that a path such as `flag.####.obj` stands for.
pub(super) fn pattern(path: &Path) -> Option<Numbered> {
    Numbered::parse(path).filter(|pattern| pattern.behind.to_ascii_lowercase().ends_with(".obj"))
}

/// Reads a file alone when it is alone, otherwise the sequence that it is one of.
pub(super) fn read_file_or_sequence(path: &Path, options: &ReadOptions) -> Result<Clip> {
    if !options.single {
        for pattern in Numbered::of_file(path) {
            if pattern.numbers_among(&options.files)?.len() > 1 {
                return read(&pattern, options);
            }
        }
    }
    let parsed = parse(path, options)?;
    let scene = obj_read::assemble(path, &parsed, &options.files)?;
    let points = scene.meshes.iter().map(|mesh| mesh.rest_points.clone()).collect();
    let frames = MemoryFrames::new(vec![Frame { points, pose: Vec::new() }]);
    Ok(clip(path, scene, options, Arc::new(frames)))
}

/// Reads a sequence: the first file gives the rest shape, the others come when they are asked for.
pub(super) fn read(pattern: &Numbered, options: &ReadOptions) -> Result<Clip> {
    let numbers = pattern.gapless_among(&options.files)?;
    for &number in &numbers {
        options.files.expect(&pattern.file(number))?;
    }
    let first = numbers[0];
    let path = pattern.file(first);
    let parsed = parse(&path, options)?;
    let scene = obj_read::assemble(&path, &parsed, &options.files)?;
    let frames = SequenceFrames {
        pattern: pattern.clone(),
        first,
        count: numbers.len(),
        options: options.clone(),
        point_counts: scene.meshes.iter().map(|mesh| mesh.point_count()).collect(),
        parsed,
    };
    Ok(clip(Path::new(pattern.before.trim_end_matches(['.', '_', '-'])), scene, options, Arc::new(frames)))
}

/// Writes every frame as a file of its own.
pub(super) fn write(pattern: &Numbered, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let first = u64::from(options.start_frame.unwrap_or(1));
    let library_name = format!("{}{}", pattern.before.trim_end_matches(['.', '_', '-']), pattern.behind);
    let scene = ObjText::new(&pattern.folder.join(library_name), clip, options)?;
    let mut written = Written::default();
    for index in 0..clip.frame_count() {
        let path = pattern.file(first + index as u64);
        written.bytes += atomic::write_whole(&path, scene.text(&clip.checked_frame(index)?).as_bytes())?;
        written.files.push(path);
        written.frames += 1;
    }
    let (files, bytes) = scene.write_library()?;
    written.files.extend(files);
    written.bytes += bytes;
    Ok(written)
}

fn parse(path: &Path, options: &ReadOptions) -> Result<Parsed> {
    obj_read::parse(path, &options.files.read(path)?, options.unit_in_metres.unwrap_or(1.0))
}

fn clip(path: &Path, scene: obj_read::ObjScene, options: &ReadOptions, frames: Arc<dyn Frames>) -> Clip {
    let rate = options.frame_rate_hz.unwrap_or(DEFAULT_FRAME_RATE_HZ);
    let mut clip = Clip::new(name_of(path), rate, scene.meshes, None, frames);
    clip.materials = scene.materials;
    clip.images = scene.images;
    clip.warnings = scene.warnings;
    clip
}

struct SequenceFrames {
    pattern: Numbered,
    first: u64,
    count: usize,
    options: ReadOptions,
    point_counts: Vec<usize>,
    /// The first frame: what all others are compared with.
    parsed: Parsed,
}

impl Frames for SequenceFrames {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> Result<Frame> {
        if index >= self.count {
            return Err(Error::NoSuchFrame { index, count: self.count });
        }
        let number = self.first + index as u64;
        let path = self.pattern.file(number);
        let parsed = parse(&path, &self.options)?;
        let (points, expected) = (parsed.points.len(), self.parsed.points.len());
        let first = format!("frame {} ({})", self.first, self.pattern.file(self.first).display());
        if points != expected {
            let problem = format!("it has {points} positions, but {first} has {expected}");
            return Err(malformed(&path, format!("frame {number}"), problem));
        }
        if parsed.faces != self.parsed.faces {
            let problem =
                format!("its faces are not those of {first}: every frame must have the same topology");
            return Err(malformed(&path, format!("frame {number}"), problem));
        }
        Ok(Frame { points: split_points(parsed.points, &self.point_counts), pose: Vec::new() })
    }
}

/// Cuts the points of all meshes into the points of each.
pub(super) fn split_points(points: Vec<[f32; 3]>, counts: &[usize]) -> Vec<Vec<[f32; 3]>> {
    if counts.len() == 1 {
        return vec![points];
    }
    let mut start = 0;
    let cut = |&count: &usize| {
        let run = points[start..start + count].to_vec();
        start += count;
        run
    };
    counts.iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern_of(path: &str) -> Option<Numbered> {
        pattern(Path::new(path))
    }

    #[test]
    fn patterns_are_hashes_or_printf() {
        let numbered = Numbered::parse(Path::new("a/flag.####.obj")).unwrap();
        assert_eq!(numbered.file(7), Path::new("a/flag.0007.obj"));
        let numbered = Numbered::parse(Path::new("flag_%03d.obj")).unwrap();
        assert_eq!(numbered.file(12345), Path::new("flag_12345.obj"));
        assert_eq!(Numbered::parse(Path::new("flag.obj")), None);
        assert_eq!(Numbered::parse(Path::new("100%.obj")), None);
        assert_eq!(pattern_of("flag.##.glb"), None, "only OBJ comes as one file per frame");
        assert!(pattern_of("flag.##.obj").is_some());
    }

    fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
        folder
    }

    const A: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    const B: &str = "v 0 0 1\nv 1 0 1\nv 0 1 1\nf 1 2 3\n";

    #[test]
    fn any_file_of_a_sequence_stands_for_it() {
        for names in [["a8.obj", "a9.obj", "a10.obj"], ["a08.obj", "a09.obj", "a10.obj"]] {
            let folder = folder_with(&[(names[0], A), (names[1], B), (names[2], A), ("b.obj", A)]);
            for name in names {
                let clip = crate::read(folder.path().join(name), &ReadOptions::default()).unwrap();
                assert_eq!(clip.frame_count(), 3);
                assert_eq!(clip.frame(1).unwrap().points[0][0], [0.0, 0.0, 1.0]);
            }
            let single = ReadOptions { single: true, ..ReadOptions::default() };
            assert_eq!(crate::read(folder.path().join(names[1]), &single).unwrap().frame_count(), 1);
        }
    }

    #[test]
    fn a_missing_number_is_named_with_its_neighbours() {
        let folder = folder_with(&[("a1.obj", A), ("a2.obj", A), ("a4.obj", A)]);
        let error = crate::read(folder.path().join("a#.obj"), &ReadOptions::default()).err().unwrap();
        let words = error.to_string();
        assert!(words.contains("between frames 2 and 4") && words.contains("a3.obj"), "{words}");
    }

    #[test]
    fn a_frame_with_other_faces_is_named_with_the_first() {
        let folder = folder_with(&[("a1.obj", A), ("a2.obj", &B.replace("f 1 2 3", "f 1 3 2"))]);
        let clip = crate::read(folder.path().join("a#.obj"), &ReadOptions::default()).unwrap();
        let words = clip.frame(1).err().unwrap().to_string();
        assert!(words.contains("frame 2") && words.contains("frame 1"), "{words}");
    }
}
