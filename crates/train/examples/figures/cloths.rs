//! The cloths of the demos, as they are or with fewer points.

use std::path::Path;

use samples::{Banner, Figure, Garment, Performance};
use shot::{Context, Registry};
use train::{Material, Options};

pub(crate) type BoxedError = Box<dyn std::error::Error>;

/// Which of the demos' trainings.
#[derive(Clone, Copy)]
pub(crate) enum Cloth {
    Cape,
    Flag,
}

fn cape(performance: Performance, seconds: f64) -> clip::Clip {
    Figure { cells: [18, 24], ..Figure::in_cape(performance, seconds) }.clip()
}

fn flag(raised: bool) -> clip::Clip {
    Banner { cells: [27, 18], raised, ..Banner::default() }.clip()
}

/// The demos' samples under their names, smaller.
fn small() -> Registry {
    Registry::empty()
        .with_sample("game_cape_coarse", || Garment::Cape.alone([5, 8]))
        .with_sample("game_cape_walk", || cape(Performance::Walk, 3.0))
        .with_sample("game_cape_run", || cape(Performance::Run, 1.0))
        .with_sample("game_cape_boxing", || cape(Performance::Boxing, 2.0))
        .with_sample("game_flag_coarse", || Banner::alone([9, 6]))
        .with_sample("game_flag", || flag(false))
        .with_sample("game_flag_raised", || flag(true))
}

/// Simulates what is not there.
pub(crate) fn gather(cloth: Cloth, full: bool, folder: &Path) -> Result<Material, BoxedError> {
    let (name, text) = match cloth {
        Cloth::Cape => ("cape", include_str!("../../../cli/demos/game-cape.training.toml")),
        Cloth::Flag => ("flag", include_str!("../../../cli/demos/game-flag.training.toml")),
    };
    let mut text =
        text.replace("name = \"fast wind\"", "name = \"storm\"").replace("speed = 10.0", "speed = 20.0");
    let registry = match full {
        true => samples::all().iter().fold(Registry::empty(), |all, s| all.with_sample(s.name, s.make)),
        // folds as wide as these points can show
        false => {
            text = text.replace("bend = 2e-4", "bend = 2e-3");
            small()
        }
    };
    let work = folder.join(format!("{name}{}.training", if full { "-full" } else { "" }));
    let options = Options { work: std::path::absolute(work)?, allow_outside: true, ..Options::default() };
    let material = Material::gather(name, &text, Path::new(""), &registry, &options, &Context::SILENT)?;
    let parts = material.parts();
    println!("  {name}: {} → {} points", parts.coarse.rest.len(), parts.fine.rest.len());
    Ok(material)
}
