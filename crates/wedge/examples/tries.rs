//! Three curtains, one for each window of smoothing, and a page that shows them side by side.
#![allow(clippy::print_stdout)]

use std::path::Path;

use shot::Context;
use wedge::{Choice, Plan};

const SHOT: &str = "[input]
sample = 'curtain'
frames = '0-8'
[[layer]]
kind = 'smooth'
window = 0.1
[output]
files = ['curtain.webp']
film = { width = 320, height = 240 }
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = layers::registry().with_film::<film::FilmLook>().with_sample("curtain", samples::curtain);
    let reader = shot::Reader::new(registry);
    let windows = ["layer.smooth.window=0.1..0.5:3".parse()?];
    let plan = Plan::new(&reader, "curtain.toml", SHOT, Path::new(""), &windows, Choice::Product)?;
    let folder = tempfile::tempdir()?;
    plan.save(folder.path())?;
    for (index, one) in plan.tries.iter().enumerate() {
        let state = plan.bake_try(&reader, folder.path(), index, None, &Context::SILENT)?;
        println!("{}: {}", one.title(&plan.keys), state.name());
    }
    let page = wedge::write_page(&plan, folder.path())?;
    println!("the page has {} bytes", page.metadata()?.len());
    Ok(())
}
