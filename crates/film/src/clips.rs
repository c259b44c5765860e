//! A shot of several clips: each is baked by itself, and an animation file gets them all.

use std::path::{Path, PathBuf};

use clip::{Clip, Format, WriteOptions};
use shot::{Bake, BakeOptions, Context, Event, Shot};

use crate::{Error, bake};

/// What was baked of several clips.
pub struct ClipsBake {
    /// The bake of each, in its own folder, with its own films and report.
    pub bakes: Vec<Bake>,
    /// The files that hold all of them.
    pub files: Vec<PathBuf>,
    /// What writing these had to tell, a sentence each.
    pub notes: Vec<String>,
    /// The folder above the others.
    pub out: PathBuf,
}

/// Bakes every clip that `clips` under `[input]` asks for, each from its own start into a folder with its name below the shot's, and writes each .glb once, with
/// all of them. Everything else, films, reports and formats that hold one animation, lies in the folder of its clip.
pub fn bake_clips(shot: &Shot, options: &BakeOptions, context: &Context<'_>) -> Result<ClipsBake, Error> {
    let names = shot.clip_names()?;
    let out = options.out.clone().unwrap_or_else(|| shot.default_out());
    let is_shared = |file: &PathBuf| Format::from_extension(file).is_some_and(|f| f.extension() == "glb");
    let files = shot.output.files.clone().unwrap_or_else(|| vec![format!("{}.glb", shot.name).into()]);
    let (shared, own): (Vec<PathBuf>, Vec<PathBuf>) = files.into_iter().partition(is_shared);
    let (mut bakes, mut folders) = (Vec::new(), Vec::new());
    for name in &names {
        let mut of_clip = shot.of_clip(name);
        of_clip.output.files = Some(own.clone());
        let folder = folder_name(name, &folders);
        let options = BakeOptions { out: Some(out.join(&folder)), ..options.clone() };
        folders.push(folder);
        bakes.push(bake(&of_clip, &options, context)?);
    }
    let clips: Vec<Clip> = bakes.iter().map(|bake| bake.clip.clone()).collect();
    let (mut written, mut notes) = (Vec::new(), Vec::new());
    let options = WriteOptions {
        start_frame: shot.output.start_frame,
        unit_in_metres: shot.output.unit.or(shot.input.unit),
        skin: shot.output.skin,
        ..WriteOptions::default()
    };
    for file in shared {
        let path = out.join(&file);
        if context.is_cancelled() {
            return Err(Error::Cancelled { path });
        }
        context.progress.event(Event::Writing { path: &path });
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(shot::Error::io(folder))?;
        }
        let told = |path: &Path, words: &String| {
            format!("{}: {words}", path.file_name().unwrap_or_default().to_string_lossy())
        };
        if clips.iter().all(|clip| clip.gltf.is_some()) {
            let report = clip::write_clips(&path, &clips, &options)?;
            notes.extend(report.warnings.iter().map(|words| told(&path, words)));
            written.extend(report.files);
            continue;
        }
        // other formats know no document that all of them could go into
        for (bake, clip) in bakes.iter_mut().zip(&clips) {
            let path = bake.out.join(&file);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(shot::Error::io(folder))?;
            }
            let report = clip::write(&path, clip, &options)?;
            bake.notes.extend(report.warnings.iter().map(|words| told(&path, words)));
            bake.files.extend(report.files);
        }
    }
    Ok(ClipsBake { bakes, files: written, notes, out })
}

/// A folder for a clip: its name, with everything replaced that some file system dislikes, and a number where that is taken.
fn folder_name(clip: &str, taken: &[String]) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_ ".contains(c) { c } else { '_' };
    let name: String = clip.trim().chars().take(64).map(safe).collect();
    let name = if name.is_empty() { "clip".to_owned() } else { name };
    let is_free = |name: &String| !taken.contains(name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::folder_name;

    #[test]
    fn every_clip_gets_a_folder_of_its_own() {
        let mut taken = Vec::new();
        for clip in ["Walk", "a/b", "a|b", "..", "", " "] {
            let name = folder_name(clip, &taken);
            assert!(!name.contains(['/', '\\', '.']) && !name.is_empty() && !taken.contains(&name));
            taken.push(name);
        }
        assert_eq!(taken, ["Walk", "a_b", "a_b-2", "__", "clip", "clip-2"]);
    }
}
