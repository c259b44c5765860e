//! Every file that a shot can read, and what is in each: what keys are made of.
//!
//! The list is made before anything is baked, by asking: the settings, which are walked for files that they name
//! ([`clip::named_files`]), and the readers, which tell what belongs to each ([`clip::source_files`]). Then it is closed. Whatever
//! is read for the bake after that is compared with it, so that a key never stands for other bytes than those that were used.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clip::{FileHash, Files};

use crate::Error;
use crate::shot::{LayerEntry, Shot};

/// The files of a shot.
pub(crate) struct Manifest {
    hashes: BTreeMap<PathBuf, FileHash>,
    /// Those that the input is read from.
    pub(crate) input: Vec<PathBuf>,
    /// Those that each layer reads; none of layers that take no part.
    pub(crate) layers: Vec<Vec<PathBuf>>,
}

impl Manifest {
    /// Lists and hashes everything that the shot names, and closes the list: from here on `files` opens nothing else.
    pub(crate) fn of(shot: &Shot, files: &Files) -> Result<Self, Error> {
        let files_of =
            |named: &PathBuf, options: &clip::ReadOptions| clip::source_files(files.path(named), options);
        let options = shot.read_options(files);
        let mut input = match &shot.input.file {
            Some(file) => files_of(&file.to_path_buf(), &options)?,
            None => Vec::new(),
        };
        for added in &shot.input.add {
            if let Some(file) = &added.file {
                input.extend(files_of(&file.to_path_buf(), &shot.options_of(added, None, files))?);
            }
        }
        if let Some(motion) = &shot.input.motion
            && let Some(file) = &motion.file
        {
            input.extend(files_of(&file.to_path_buf(), &shot.options_of_motion(motion, files))?);
        }
        // what belongs to other files is not what the shot says about its input
        let plain = clip::ReadOptions { files: files.clone(), ..clip::ReadOptions::default() };
        let all_of = |named: &[PathBuf]| -> Result<Vec<PathBuf>, Error> {
            let mut all = Vec::new();
            for named in named {
                all.extend(files_of(named, &plain)?);
            }
            Ok(all)
        };
        let of_layer = |entry: &LayerEntry| all_of(if entry.is_active() { &entry.files } else { &[] });
        let layers = shot.layers.iter().map(of_layer).collect::<Result<_, _>>()?;
        if let Some(film) = shot.registry.film() {
            // looks are not baked; but they are read when the films are made, and must not change until then
            all_of(&(film.files)(&shot.output.film))?;
        }
        files.seal();
        let hashes = files.manifest().into_iter().map(|file| (file.path, file.hash)).collect();
        Ok(Self { hashes, input, layers })
    }

    /// What is in these files, in their order.
    pub(crate) fn hashes(&self, paths: &[PathBuf]) -> Vec<&[u8]> {
        paths.iter().filter_map(|path| self.hashes.get(path)).map(|hash| hash.as_bytes().as_slice()).collect()
    }
}
