//! Several animations of one document, each baked by itself, in one file.
//!
//! They go into the document one after the other. The first is delivered as it was asked for; the others find its shapes already there and
//! add theirs as corrections: under the skin, where there is one, or on the node, where the first has taken it away, and there a correction is
//! just one more shape. So every animation plays its own shapes, and none touches those of the others.

use std::path::Path;

use super::container::Container;
use super::graph::list_animations;
use super::patch;
use super::write::MOST_TARGETS;
use crate::format::mtl::check_materials;
use crate::format::{SkinDelivery, WriteOptions, Written, atomic};
use crate::{Clip, Error, Files, Result};

/// Writes clips that are animations of one glTF document into one GLB; each moves only what is its own.
pub fn write_clips(path: impl AsRef<Path>, clips: &[Clip], options: &WriteOptions) -> Result<Written> {
    let path = path.as_ref();
    let unsupported = |problem: &str| Error::Unsupported { path: path.into(), problem: problem.into() };
    if clips.is_empty() {
        return Err(unsupported("there is no clip to write"));
    }
    if matches!(options.skin, SkinDelivery::Joints(_)) && clips.len() > 1 {
        return Err(unsupported(
            "joints and weights are found for one clip at a time; deliver several as `corrective` or `points`",
        ));
    }
    let mut written = Written { files: vec![path.into()], ..Written::default() };
    let mut options = options.clone();
    let longest = clips.iter().map(Clip::frame_count).max().unwrap_or(0);
    if options.skin == SkinDelivery::Points && clips.len() > 1 && longest > MOST_TARGETS {
        // a mesh that is split over time belongs to one clip
        options.skin = SkinDelivery::Corrective;
        written.warnings.push(format!(
            "one of its clips has {longest} frames, and a mesh holds {MOST_TARGETS} shapes that replace each other: they are delivered as `corrective`"
        ));
    }
    atomic::sweep(path);
    // what is there so far; nobody sees the file before all clips are in it
    let mut so_far: Option<Vec<u8>> = None;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let draft = folder.join(format!(".{name}.clips"));
    let result = clips.iter().try_for_each(|clip| {
        let Some(source) = &clip.gltf else {
            return Err(unsupported("only clips of one glTF file can go into one file together"));
        };
        check_materials(path, clip)?;
        let (source, options) = match so_far.take() {
            None => (source.clone(), options.clone()),
            Some(bytes) => {
                let container = Container::from_bytes(&draft, bytes)?;
                (source.within(container), WriteOptions { skin: SkinDelivery::Corrective, ..options.clone() })
            }
        };
        let of_clip = patch::write(&draft, clip, &options, &source)?;
        written.frames += of_clip.frames;
        let told = of_clip.warnings.into_iter().map(|words| format!("clip `{}`: {words}", clip.name));
        written.warnings.extend(told);
        all_there(path, &draft, clips)?;
        so_far = Some(std::fs::read(&draft).map_err(|source| Error::Io { path: draft.clone(), source })?);
        Ok(())
    });
    let renamed = result.and_then(|()| {
        std::fs::rename(&draft, path).map_err(|source| Error::Io { path: path.into(), source })
    });
    if renamed.is_err() {
        // whatever went wrong has been said
        let _ = std::fs::remove_file(&draft);
    }
    renamed?;
    written.bytes = so_far.map_or(0, |bytes| bytes.len() as u64);
    Ok(written)
}

/// Refuses a document that has lost a clip: one that had to be begun anew holds only the last, and shapes that were a clip's frames are gone once
/// another clip has put its own in their place.
fn all_there(path: &Path, draft: &Path, clips: &[Clip]) -> Result<()> {
    let there = list_animations(&Container::open(draft, &Files::default())?)?;
    let lost = clips.iter().find(|clip| clip.frame_count() > 1 && there.iter().all(|a| a.name != clip.name));
    match lost {
        None => Ok(()),
        Some(clip) => {
            let problem = format!(
                "clip `{}` is not among what could be put into one file: its meshes, joints or materials are not those of the other clips; name one clip with `clip`",
                clip.name
            );
            Err(Error::Unsupported { path: path.into(), problem })
        }
    }
}
