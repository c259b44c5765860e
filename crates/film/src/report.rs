//! What a bake leaves for people to look at: `report.html`, and the same figures for machines: `report.json`.
//!
//! The page stands alone: style, pictures and plots are in it, and it runs no scripts, so it can be mailed, printed and
//! kept. Times are here and not in the store, because they are the one thing that two equal bakes differ in.

mod curves;
mod json;
mod page;
mod pictures;
mod plot;
mod source;

use std::path::PathBuf;

pub use curves::{Curve, Curves};
pub use plot::{escape, number};

/// How our pages look.
pub const PAGE_STYLE: &str = include_str!("report/style.css");

use shot::{Bake, Context, Event, Figures, LayerBake, Shot, write_whole};

use crate::Error;

/// Writes `report.html` and `report.json` into the bake's folder; gives back where the page is.
pub(crate) fn write(shot: &Shot, bake: &Bake, context: &Context<'_>) -> Result<PathBuf, Error> {
    let path = bake.out.join("report.html");
    context.progress.event(Event::Writing { path: &path });
    let json = serde_json::to_vec_pretty(&json::report(shot, bake)).unwrap_or_default();
    write_whole(&bake.out.join("report.json"), &json)?;
    let rows = pictures::rows(shot, bake, |done, of| {
        context.progress.event(Event::Written { path: &path, done, of });
        !context.is_cancelled()
    })?;
    let Some(rows) = rows else { return Err(Error::Cancelled { path }) };
    write_whole(&path, page::page(shot, bake, &rows, &pictures::made(shot, bake)?).as_bytes())?;
    Ok(path)
}

/// What `report.json` holds.
pub(crate) fn figures(shot: &Shot, bake: &Bake) -> serde_json::Value {
    json::report(shot, bake)
}

/// A plot of a report as an SVG document that stands alone, for a book: `layer` is one of the layers of `report.json`, `title` a figure of it or
/// what figures begin with that belong together, and `lines` what comes behind it, in the order of the colours; none: all there are.
pub fn plot_picture(layer: &serde_json::Value, title: &str, lines: &[&str]) -> Option<String> {
    let figures = layer["figures"].as_object()?;
    let mut found: Vec<(&str, &serde_json::Value)> = figures
        .iter()
        .filter_map(|(name, figure)| match name.strip_prefix(title)? {
            "" => Some(("", figure)),
            line => Some((line.strip_prefix('/')?, figure)),
        })
        .collect();
    if !lines.is_empty() {
        found.retain(|(line, _)| lines.contains(line));
        found.sort_by_key(|(line, _)| lines.iter().position(|other| other == line));
    }
    let unit = found.first()?.1["unit"].as_str().unwrap_or_default().to_owned();
    let series = found.into_iter().map(|(line, figure)| Series {
        name: line.to_owned(),
        values: figure["values"].as_array().into_iter().flatten().map(serde_json::Value::as_f64).collect(),
    });
    Some(plot::picture(&PlotData { title: title.to_owned(), unit, series: series.collect() }))
}

/// A number over time.
pub(crate) struct Series {
    /// What stands in the legend.
    pub(crate) name: String,
    /// One value per frame from 0; `None` where there is none.
    pub(crate) values: Vec<Option<f64>>,
}

/// Numbers that belong into one plot.
pub(crate) struct PlotData {
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) series: Vec<Series>,
}

/// Everything a layer measured, sorted into plots: what every layer has first, then the layer's own in its order.
pub(crate) fn plots(layer: &LayerBake) -> Vec<PlotData> {
    let count = layer.figures.len();
    let mut plots: Vec<PlotData> = Vec::new();
    for (frame, figures) in layer.figures.iter().enumerate() {
        for figure in &figures.0 {
            let (title, line) = figure.name.split_once('/').unwrap_or((&figure.name, ""));
            let plot = match plots.iter().position(|plot| plot.title == title && plot.unit == figure.unit) {
                Some(at) => &mut plots[at],
                None => {
                    let (title, unit) = (title.to_owned(), figure.unit.clone());
                    plots.push(PlotData { title, unit, series: Vec::new() });
                    let last = plots.len() - 1;
                    &mut plots[last]
                }
            };
            let series = match plot.series.iter().position(|series| series.name == line) {
                Some(at) => &mut plot.series[at],
                None => {
                    plot.series.push(Series { name: line.to_owned(), values: vec![None; count] });
                    let last = plot.series.len() - 1;
                    &mut plot.series[last]
                }
            };
            series.values[frame] = Some(figure.value).filter(|value| value.is_finite());
        }
    }
    let per_step = time_per_step(layer);
    if per_step.iter().any(Option::is_some) {
        let series = vec![Series { name: String::new(), values: per_step }];
        plots.push(PlotData { title: "time per step".into(), unit: "µs".into(), series });
    }
    if layer.seconds.iter().any(Option::is_some) {
        let values = layer.seconds.iter().map(|seconds| seconds.map(|seconds| 1000.0 * seconds)).collect();
        let series = vec![Series { name: String::new(), values }];
        plots.push(PlotData { title: "time per frame".into(), unit: "ms".into(), series });
    }
    let first = ["distance", "strain", "energy", "time per frame", "time per step"];
    plots.sort_by_key(|plot| first.iter().position(|title| *title == plot.title).unwrap_or(first.len()));
    plots
}

/// What a layer says its steps are called, frame by frame.
const STEPS: &str = "effort/substeps";
/// And where all frames have as many: a note.
const STEPS_OF_ALL: &str = "steps a frame";

/// The time of a frame, everything that was done for it included, over its steps, in µs; nothing for layers that count none.
fn time_per_step(layer: &LayerBake) -> Vec<Option<f64>> {
    let noted = layer.notes.iter().find(|(name, _)| name == STEPS_OF_ALL);
    let noted: Option<f64> = noted.and_then(|(_, steps)| steps.parse().ok());
    let of = |(seconds, figures): (&Option<f64>, &Figures)| {
        let steps = figures.get(STEPS).or(noted).filter(|steps| *steps > 0.0)?;
        Some(1e6 * (*seconds)? / steps)
    };
    layer.seconds.iter().zip(&layer.figures).map(of).collect()
}
