//! Trains the operator of a curtain from half a second of motion, and shows a frame with it.
#![allow(clippy::print_stdout)]

use live::{Detail, Operator};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = r#"
        kind = "upsample"
        coarse = { sample = "game_curtain_coarse" }
        subdivide = 2
        follow = { group = "held" }

        [[learn]]
        sample = "game_curtain_coarse"
        wind = { speed = 3.0, gust = 0.5, direction = [0.2, 0.0, 1.0] }
    "#;
    let still = || {
        let clip = samples::Portiere::alone([6, 6]);
        let frame = clip.frame(0).unwrap_or_default();
        clip.with_frames(std::sync::Arc::new(clip::MemoryFrames::new(vec![frame; 15])))
    };
    let registry = shot::Registry::empty().with_sample("game_curtain_coarse", still);
    let folder = tempfile::tempdir()?;
    let options = train::Options { work: folder.path().into(), ..Default::default() };
    let trained = train::train("curtain", text, "".as_ref(), &registry, &options, &shot::Context::SILENT)?;
    println!("{}", trained.report.text());
    let operator = Operator::read(&trained.operator[..])?;
    let coarse: Vec<[f32; 3]> = operator.coarse_rest().collect();
    let mut fine = vec![[0.0; 3]; operator.counts().fine];
    operator.apply(&coarse, Detail::default(), &mut operator.scratch(), &mut fine)?;
    println!("{} points are shown over {}", fine.len(), coarse.len());
    Ok(())
}
