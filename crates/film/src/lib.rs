//! What is made of a bake: films, pictures, animation files, and a report with plots.
//!
//! [`bake`] bakes a shot and writes all that its `[output]` asks for. A [`FilmRenderer`] makes pictures of what was baked, as often as one
//! likes: nothing is simulated again.
//!
//! ```
//! use film::{FilmLook, FilmRenderer};
//! use shot::{BakeOptions, Context, Reader, Registry};
//!
//! let registry = Registry::empty().with_film::<FilmLook>().with_sample("flag", samples::flag);
//! let text = "input = { sample = 'flag', frames = '0-2' }\noutput = { files = ['flag.png'], film = { width = 64, height = 48 } }";
//! let shot = Reader::new(registry).parse("flag.toml", text, "".as_ref())?;
//!
//! let folder = tempfile::tempdir().unwrap();
//! let options = BakeOptions { out: Some(folder.path().into()), ..Default::default() };
//! let bake = film::bake(&shot, &options, &Context::SILENT)?;
//! assert!(bake.files[0].is_file() && bake.report.as_ref().is_some_and(|page| page.is_file()));
//!
//! let picture = FilmRenderer::new(&shot, &bake)?.srgb(1)?;
//! assert_eq!((picture.width, picture.height), (64, 48));
//! # Ok::<(), film::Error>(())
//! ```

mod clips;
mod colors;
mod error;
mod first;
mod look;
mod output;
mod pass;
mod renderer;
mod report;
mod sketches;

use shot::{Bake, BakeOptions, Context, Shot};

pub use clips::{ClipsBake, bake_clips};
pub use colors::{ColorStop, Colors, Palette};
pub use error::Error;
pub use look::FilmLook;
pub use pass::{Artwork, Pass, RingLook, SmearLook, VolumeView};
pub use renderer::FilmRenderer;
pub use report::{Curve, Curves, PAGE_STYLE, escape, number, plot_picture};
pub use sketches::sketch_pictures;

/// Bakes all layers of a shot, then writes its outputs and its report. As soon as the first frame is baked, `NAME.first.png` shows it, until the
/// outputs are there.
///
/// A shot of several clips is for [`bake_clips`].
pub fn bake(shot: &Shot, options: &BakeOptions, context: &Context<'_>) -> Result<Bake, Error> {
    if shot.input.clips.is_some() {
        return Err(Error::SeveralClips);
    }
    first::with_first_picture(shot, options, context, |context| {
        shot.bake_then(options, context, |bake| {
            bake.files = output::write(shot, bake, context)?;
            if shot.output.report {
                bake.report = Some(report::write(shot, bake, context)?);
            }
            Ok(())
        })
    })
    .inspect(|_| {
        // the film is there: its first picture has been of use, or never was
        let _ = std::fs::remove_file(first::path(shot, options));
    })
}

/// The report of a bake for machines, as `report.json` has it, whether or not the shot asks for the file.
pub fn report_json(shot: &Shot, bake: &Bake) -> serde_json::Value {
    report::figures(shot, bake)
}
