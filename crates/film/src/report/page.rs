//! The report for people: one page, put together from the bake.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::pictures::{Made, Row};
use super::plot::{self, escape, number};
use super::source;
use shot::{Bake, LayerBake, LayerEntry, Shot, Warning};

/// The whole page.
pub(super) fn page(shot: &Shot, bake: &Bake, rows: &[Row], made: &[Made]) -> String {
    let mut page = String::new();
    let title = escape(&shot.name);
    // writing to a string cannot fail, here and below
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"generator\" content=\"followthrough {}\"><title>{title}: bake report</title><style>{}</style></head><body><main>",
        env!("CARGO_PKG_VERSION"),
        super::PAGE_STYLE
    );
    let (prominent, others): (Vec<_>, Vec<_>) =
        bake.warnings().into_iter().partition(|warning| warning.is_prominent);
    warnings(&mut page, &prominent, "This bake is not what it should be", "prominent");
    head(&mut page, shot, bake);
    tiles(&mut page, bake);
    warnings(&mut page, &others, "Warnings", "");
    notes(&mut page, bake);
    pictures(&mut page, bake, rows);
    made.iter().for_each(|made| self::made(&mut page, made));
    bake.layers.iter().for_each(|layer| self::layer(&mut page, shot, bake, layer));
    let _ = write!(page, "<section><h2>Shot file</h2>{}</section>", source::html(shot.text()));
    provenance(&mut page, bake);
    page.push_str("</main></body></html>\n");
    page
}

fn head(page: &mut String, shot: &Shot, bake: &Bake) {
    let source = |file: Option<&clip::FilePath>, sample: &Option<String>| match (file, sample) {
        (Some(file), _) => file.display().to_string(),
        (None, Some(sample)) => format!("sample {sample}"),
        (None, None) => String::new(),
    };
    let added = shot.input.add.iter().map(|added| source(added.file.as_ref(), &added.sample));
    let main = match (&shot.input.file, &shot.input.sample) {
        // an animation that was handed over
        (None, None) if !bake.whole_input.meshes.is_empty() => bake.whole_input.name.clone(),
        (file, sample) => source(file.as_ref(), sample),
    };
    let from = std::iter::once(main).chain(added);
    let from = from.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" + ");
    let chain = bake.layers.iter().map(|layer| layer.name.as_str());
    let way: Vec<String> = std::iter::once(from.as_str())
        .chain(chain)
        .chain(Some("result"))
        .map(|step| format!("<span>{}</span>", escape(step)))
        .collect();
    let points: usize = bake.clip.meshes.iter().map(|mesh| mesh.point_count()).sum();
    let frames = bake.clip.frame_count();
    let _ = write!(
        page,
        "<header><p class=\"brand\">followthrough · bake report</p><h1>{}</h1><p class=\"way\">{}</p>\
         <p class=\"facts\">{frames} frames at {} fps, {} s · {} {} · {points} points</p></header>",
        escape(&shot.name),
        way.join("<i>→</i>"),
        number(bake.clip.frame_rate_hz),
        number(frames as f64 / bake.clip.frame_rate_hz),
        bake.clip.meshes.len(),
        if bake.clip.meshes.len() == 1 { "mesh" } else { "meshes" },
    );
}

/// The few numbers that a person wants first, of the highest layer.
fn tiles(page: &mut String, bake: &Bake) {
    let mut tiles: Vec<(String, String, String)> = Vec::new();
    if let Some(layer) = bake.layers.last() {
        let plots = super::plots(layer);
        for (title, label) in [("distance", "farthest from its input"), ("strain", "largest strain")] {
            let Some(plot) = plots.iter().find(|plot| plot.title == title) else { continue };
            let values = plot.series.iter().flat_map(|series| series.values.iter().enumerate());
            let peak = values
                .filter_map(|(frame, value)| Some((frame, (*value)?)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((frame, value)) = peak {
                let (value, unit) = readable(value, &plot.unit);
                tiles.push((
                    format!("{value}<small> {unit}</small>"),
                    label.into(),
                    format!("at frame {frame}"),
                ));
            }
        }
    }
    let times: Vec<f64> =
        bake.layers.iter().flat_map(|layer| layer.seconds.iter().flatten().copied()).collect();
    if !times.is_empty() {
        let total: f64 = times.iter().sum();
        let frames = bake.layers.iter().map(|layer| layer.seconds.len()).max().unwrap_or(1).max(1);
        let mean = 1000.0 * total / frames as f64;
        let note = match total < 1.0 {
            true => format!("{} ms for all frames", number(round(1000.0 * total, 3))),
            false => format!("{} s for all frames", number(round(total, 3))),
        };
        tiles.push((format!("{}<small> ms</small>", number(round(mean, 3))), "per frame".into(), note));
    }
    let (baked, reused) = bake
        .layers
        .iter()
        .fold((0, 0), |(baked, reused), layer| (baked + layer.baked, reused + layer.reused));
    tiles.push((baked.to_string(), "frames baked".into(), format!("{reused} were there already")));
    page.push_str("<section class=\"tiles\">");
    for (value, label, note) in tiles {
        let _ = write!(page, "<div><b>{value}</b><span>{label}</span><em>{note}</em></div>");
    }
    page.push_str("</section>");
}

/// What layers have to tell, each kind once; prominent ones by themselves, before everything else.
fn warnings(page: &mut String, told: &[Warning], title: &str, class: &str) {
    if told.is_empty() {
        return;
    }
    let _ = write!(page, "<section class=\"warnings {class}\"><h2>{title}</h2><ul>");
    for warning in told {
        let (text, layer) = (escape(&warning.text), escape(&warning.layer));
        let _ = write!(page, "<li>{text} <em>{layer}, {}</em></li>", warning.when());
    }
    page.push_str("</ul></section>");
}

/// What writing the files had to tell.
fn notes(page: &mut String, bake: &Bake) {
    if bake.notes.is_empty() {
        return;
    }
    page.push_str("<section class=\"warnings\"><h2>Files</h2><ul>");
    for note in &bake.notes {
        let _ = write!(page, "<li>{}</li>", escape(note));
    }
    page.push_str("</ul></section>");
}

fn pictures(page: &mut String, bake: &Bake, rows: &[Row]) {
    let title = if bake.layers.is_empty() { "Input" } else { "Before and after" };
    let _ = write!(page, "<section><h2>{title}</h2><div class=\"pictures\">");
    for row in rows {
        if let Some(told) = &row.told {
            let _ = write!(page, "<p class=\"told\">Frame {}: {}</p>", row.frame, escape(told));
        }
        let _ = write!(page, "<div class=\"row n{}\">", row.pictures.len());
        for (label, png) in &row.pictures {
            let _ = write!(
                page,
                "<figure><img alt=\"{label}, frame {0}\" src=\"data:image/png;base64,{1}\"><figcaption>{label}<em>frame {0}</em></figcaption></figure>",
                row.frame,
                STANDARD.encode(png)
            );
        }
        page.push_str("</div>");
    }
    page.push_str("</div></section>");
}

/// What a layer is made of.
fn made(page: &mut String, made: &Made) {
    let _ = write!(page, "<section><h2>What {} is made of</h2><div class=\"pictures\">", escape(&made.layer));
    let _ = write!(page, "<div class=\"row n{}\">", made.pictures.len());
    for (label, png) in &made.pictures {
        let (label, png) = (escape(label), STANDARD.encode(png));
        let _ = write!(
            page,
            "<figure><img alt=\"{label}\" src=\"data:image/png;base64,{png}\"><figcaption>{label}</figcaption></figure>"
        );
    }
    page.push_str("</div></div></section>");
}

fn layer(page: &mut String, shot: &Shot, bake: &Bake, layer: &LayerBake) {
    let names = layer.meshes.iter().filter_map(|&mesh| bake.clip.meshes.get(mesh));
    let mesh = names.map(|mesh| mesh.name.as_str()).collect::<Vec<_>>().join(", ");
    let _ = write!(
        page,
        "<section><h2>{} <small>{} on mesh {}</small></h2><div class=\"plots\">",
        escape(&layer.name),
        escape(layer.kind),
        escape(&mesh)
    );
    for plot in super::plots(layer) {
        page.push_str(&plot::svg(&plot));
    }
    page.push_str("</div><div class=\"tables\">");
    let is_part = |entry: &&LayerEntry| {
        entry.name == layer.name || entry.together.as_ref().is_some_and(|together| *together == layer.name)
    };
    let entries: Vec<&LayerEntry> = shot.layers.iter().filter(is_part).collect();
    for entry in &entries {
        let mut settings = Vec::new();
        if entry.strength != 1.0 {
            settings.push(("strength".to_owned(), number(entry.strength)));
        }
        flatten("", &entry.settings, &mut settings);
        let of = if entries.len() > 1 { format!(" of {}", entry.name) } else { String::new() };
        table(page, &format!("Settings{of}, defaults included"), &settings);
    }
    let mut notes = layer.notes.clone();
    notes.push(("frames".into(), format!("{} baked, {} reused", layer.baked, layer.reused)));
    if layer.prepare_seconds > 0.0 {
        notes
            .push(("preparation".into(), format!("{} ms", number(round(1000.0 * layer.prepare_seconds, 3)))));
    }
    notes.push(("stored under".into(), layer.key.short()));
    table(page, "Notes", &notes);
    page.push_str("</div></section>");
}

fn provenance(page: &mut String, bake: &Bake) {
    let file = |path: &std::path::PathBuf| {
        path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let files: Vec<String> = match bake.files.as_slice() {
        // a numbered sequence is named by its ends
        [first, .., last] if bake.files.len() > 8 => vec![file(first), "…".into(), file(last)],
        files => files.iter().map(file).collect(),
    };
    let rows = [
        ("followthrough".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("platform".into(), format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        ("threads".into(), rayon::current_num_threads().to_string()),
        ("frames".into(), bake.frames.to_string()),
        ("files".into(), files.join(", ")),
        ("input key".into(), bake.input_key.to_string()),
    ];
    let keys = bake.layers.iter().map(|layer| (format!("{} key", layer.name), layer.key.to_string()));
    let rows: Vec<(String, String)> = rows.into_iter().chain(keys).collect();
    page.push_str("<section><div class=\"tables one\">");
    table(page, "Made with", &rows);
    page.push_str("</div></section>");
}

fn table(page: &mut String, title: &str, rows: &[(String, String)]) {
    if rows.is_empty() {
        return;
    }
    let _ = write!(page, "<table><caption>{title}</caption>");
    for (name, value) in rows {
        let _ = write!(page, "<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(value));
    }
    page.push_str("</table>");
}

/// Nested settings as dotted names.
fn flatten(prefix: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&name, value, rows);
            }
        }
        Value::Null => {}
        Value::String(text) => rows.push((prefix.to_owned(), text.clone())),
        Value::Number(value) => {
            rows.push((prefix.to_owned(), value.as_f64().map_or_else(|| value.to_string(), number)));
        }
        other => rows.push((prefix.to_owned(), other.to_string())),
    }
}

/// A number in the unit that a person would say, and what is only rounding as such.
fn readable(value: f64, unit: &str) -> (String, String) {
    if unit == "%" && value > 0.0 && value < 0.01 {
        return ("&lt; 0.01".into(), unit.into());
    }
    let (value, unit) = match unit {
        "m" if value != 0.0 && value.abs() < 0.01 => (1000.0 * value, "mm"),
        "m" if value != 0.0 && value.abs() < 1.0 => (100.0 * value, "cm"),
        unit => (value, unit),
    };
    (number(round(value, 3)), unit.to_owned())
}

/// To so many significant digits.
fn round(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10.0_f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
