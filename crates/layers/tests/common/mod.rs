//! Reading shots as programs do that know all layers.

use shot::Reader;

/// Every layer and every sample, and films.
pub(crate) fn reader() -> Reader {
    let registry = layers::registry().with_film::<film::FilmLook>();
    let samples = samples::all().iter();
    Reader::new(samples.fold(registry, |registry, sample| registry.with_sample(sample.name, sample.make)))
}
