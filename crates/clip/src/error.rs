//! What can be wrong with a clip or its file. Variants carry facts; the doors add the remedy.

use std::path::PathBuf;

/// Anything that goes wrong with reading, checking or writing clips.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not a plain file: a device has no end, and a pipe may never begin.
    #[error("{}: it is {kind}, and only plain files are read", path.display())]
    NotAFile {
        /// What was to be opened.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// A file names another one that it may not: strangers do not choose what is read.
    #[error("{}: {place}: `{name}` {problem}", path.display())]
    Outside {
        /// The file that names it.
        path: PathBuf,
        /// Where in the file.
        place: String,
        /// What it names.
        name: String,
        /// How it leads out of the file's folder.
        problem: &'static str,
    },
    /// A file does not hold any more what it held when it was first seen.
    #[error("{}: the file was changed while it was in use", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file that nobody knew of when the manifest was sealed.
    #[error("{}: the file was not there when the list of all files was made", path.display())]
    NotInManifest {
        /// The file.
        path: PathBuf,
    },
    /// A file breaks its format's rules.
    #[error("{}: {place}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in the file: a line, an accessor, a byte offset.
        place: String,
        /// What is wrong and, where we know it, what to do.
        problem: String,
    },
    /// The format is not one we read or write.
    #[error("{}: {problem}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What is not supported and what is.
        problem: String,
    },
    /// A frame was asked for that the clip does not have.
    #[error("frame {index} was asked for, but the clip has {count} frames")]
    NoSuchFrame {
        /// The frame asked for, from zero.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("mesh `{mesh}`, frame {frame}, point {point}: a coordinate is not a finite number")]
    NotFinite {
        /// The mesh's name.
        mesh: String,
        /// The frame, from zero.
        frame: usize,
        /// The point, from zero.
        point: usize,
    },
    /// A frame does not fit the clip's meshes or skeleton.
    #[error(
        "frame {frame}: {what} has {found} {of}, but {expected} were expected: every frame must have the same topology"
    )]
    FrameMismatch {
        /// The frame, from zero.
        frame: usize,
        /// What does not fit: a mesh by its name, the skeleton, the frame itself.
        what: String,
        /// Points, joints or meshes.
        of: &'static str,
        /// How many the frame has.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A joint was asked for that does not move the points of a mesh.
    #[error("there is no {kind} `{name}` in {place}{}{}", hint(known), if instead.is_empty() { String::new() } else { format!(". {instead}") })]
    NoSuchJoint {
        /// What it is.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        place: String,
        /// What there is, nearest in spelling first.
        known: Vec<String>,
        /// What would choose points, in the words of a shot file.
        instead: String,
    },
    /// Joints were to be chosen by what only points have.
    #[error(
        "a skeleton without a mesh has no points: its joints are chosen by `joint`, `all`, and `any`, `not`, `sum`, `difference` of these"
    )]
    NotOfJoints,
    /// A name was asked for that does not exist.
    #[error("there is no {kind} `{name}` in {place}{}", hint(known))]
    NoSuchName {
        /// Group, joint, animation, mesh.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// Where it was looked for: a mesh, a file.
        place: String,
        /// What there is, nearest in spelling first.
        known: Vec<String>,
    },
}

/// "; there are `a`, `b`", the nearest first.
fn hint(known: &[String]) -> String {
    const SHOWN: usize = 12;
    if known.is_empty() {
        return "; it has none".into();
    }
    let names: Vec<String> = known.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if known.len() > SHOWN { format!(" and {} more", known.len() - SHOWN) } else { String::new() };
    format!("; there are {}{more}", names.join(", "))
}

impl Error {
    /// A [`Error::NoSuchName`] with the known names sorted by how much they resemble the one asked for.
    pub fn no_such_name(
        kind: &'static str,
        name: &str,
        place: impl Into<String>,
        known: impl IntoIterator<Item = String>,
    ) -> Self {
        let lower = name.to_lowercase();
        let mut known: Vec<(f64, String)> = known
            .into_iter()
            .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
            .collect();
        known.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        known.dedup_by(|a, b| a.1 == b.1);
        let known = known.into_iter().map(|(_, candidate)| candidate).collect();
        Self::NoSuchName { kind, name: name.into(), place: place.into(), known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_named_first() {
        let known = ["Spine", "head", "LeftArm"].map(String::from);
        let error = Error::no_such_name("joint", "Haed", "mesh `man`", known);
        assert_eq!(
            error.to_string(),
            "there is no joint `Haed` in mesh `man`; there are `head`, `LeftArm`, `Spine`"
        );
    }
}
