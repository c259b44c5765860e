//! Every demo with cloth, tracks or inextensible: how many triangles, or pieces of thread, of any frame are beyond their limit.

use serde_json::{Map, Value, json};
use shot::{BakeOptions, Context};

use crate::scratch::Scratch;

/// Demos by name, with their shot files.
const DEMOS: [(&str, &str); 14] = [
    ("flag", include_str!("../../../crates/cli/demos/flag.toml")),
    ("sheet", include_str!("../../../crates/cli/demos/sheet.toml")),
    ("curtain", include_str!("../../../crates/cli/demos/curtain.toml")),
    ("drape", include_str!("../../../crates/cli/demos/drape.toml")),
    ("limits", include_str!("../../../crates/cli/demos/limits.toml")),
    ("preview", include_str!("../../../crates/cli/demos/preview.toml")),
    ("cape", include_str!("../../../crates/cli/demos/cape.toml")),
    ("dress", include_str!("../../../crates/cli/demos/dress.toml")),
    ("costume", include_str!("../../../crates/cli/demos/costume.toml")),
    ("box", include_str!("../../../crates/cli/demos/box.toml")),
    ("bag", include_str!("../../../crates/cli/demos/bag.toml")),
    ("branch", include_str!("../../../crates/cli/demos/branch.toml")),
    ("puppet", include_str!("../../../crates/cli/demos/puppet.toml")),
    ("silhouette", include_str!("../../../crates/cli/demos/silhouette.toml")),
];

/// Bakes frames of every demo, or of the one named; for each its figures.
pub(super) fn all(frames: usize, only: Option<&str>) -> Result<Value, Box<dyn std::error::Error>> {
    println!(
        "\n{:<12} {:>7} {:>14} {:>9} {:>9} {:>10}",
        "demo", "frames", "beyond limits", "warp", "weft", "crossings"
    );
    let mut table = Map::new();
    for (name, text) in DEMOS.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let folder = Scratch::new()?;
        let shot = followthrough::parse(text)?;
        let range = Some(format!("0-{frames}").parse()?);
        let options =
            BakeOptions { out: Some(folder.path().join("out")), frames: range, ..BakeOptions::default() };
        let bake = shot.bake(&options, &Context::SILENT)?;
        // the largest of any frame of any layer, and of any member of a group
        let most = |name: &str| -> Option<f64> {
            let of_layers = bake.layers.iter().flat_map(|layer| &layer.figures);
            let figures = of_layers.flat_map(|figures| &figures.0);
            figures.filter(|figure| figure.name.starts_with(name)).map(|figure| figure.value).reduce(f64::max)
        };
        let [beyond, warp, weft, crossings] =
            ["strain/beyond limits", "strain/warp", "strain/weft", "intersections/itself"].map(most);
        let shown = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
        println!(
            "{name:<12} {:>7} {:>14} {:>8}% {:>8}% {:>10}",
            bake.layers.first().map_or(0, |layer| layer.figures.len()),
            beyond.map_or("–".to_owned(), |count| count.to_string()),
            shown(warp),
            shown(weft),
            crossings.map_or("–".to_owned(), |count| count.to_string()),
        );
        table.insert(
            (*name).into(),
            json!({"beyond_limits": beyond, "warp": warp, "weft": weft, "crossings": crossings}),
        );
    }
    Ok(table.into())
}
