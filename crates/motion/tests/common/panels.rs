//! Plots over linear axes, one above the other, as an SVG that stands alone: what tests draw for the book.

use std::fmt::Write as _;
use std::path::PathBuf;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 26.0;

/// A line or, without a width, dots.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) color: &'static str,
    pub(crate) width: f64,
    pub(crate) dashes: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

/// One plot.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) height: f64,
    pub(crate) lines: Vec<Line>,
}

fn range(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let (low, high) = (values.clone().fold(f64::MAX, f64::min), values.fold(f64::MIN, f64::max));
    let room = 0.04 * (high - low).max(1e-9);
    (low - room, high + room)
}

/// Round numbers between two others, four or so.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let rough = (high - low) / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    (first..).map(|k| k as f64 * step).take_while(|tick| *tick <= high).collect()
}

/// Without what rounding left behind.
fn number(tick: f64) -> f64 {
    (tick * 1e6).round() / 1e6 + 0.0
}

/// All panels below each other; those of one page have the same x axis each for itself.
pub(crate) fn svg(panels: &[Panel], below: &str) -> String {
    let total: f64 = panels.iter().map(|panel| panel.height).sum::<f64>() + 20.0;
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" width="{WIDTH}" height="{total}" font-family="sans-serif" font-size="11"><rect width="{WIDTH}" height="{total}" fill="white"/>"#
    );
    let mut top = 0.0;
    for Panel { title, height, lines } in panels {
        let all = || lines.iter().flat_map(|line| &line.points);
        let (xs, ys) = (range(all().map(|p| p.0)), range(all().map(|p| p.1)));
        let x = |v: f64| LEFT + (WIDTH - LEFT - RIGHT) * (v - xs.0) / (xs.1 - xs.0);
        let y = |v: f64| top + height - BOTTOM - (height - TOP - BOTTOM) * (v - ys.0) / (ys.1 - ys.0);
        let _ = write!(
            svg,
            r#"<text x="{LEFT}" y="{:.1}" font-size="12" font-weight="bold">{title}</text>"#,
            top + 18.0
        );
        for tick in ticks(ys) {
            let _ = write!(
                svg,
                r##"<line x1="{LEFT}" x2="{:.1}" y1="{at:.1}" y2="{at:.1}" stroke="#ddd"/><text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"##,
                WIDTH - RIGHT,
                LEFT - 6.0,
                y(tick) + 4.0,
                number(tick),
                at = y(tick),
            );
        }
        for tick in ticks(xs) {
            let _ = write!(
                svg,
                r##"<text x="{:.1}" y="{:.1}" text-anchor="middle" fill="#555">{}</text>"##,
                x(tick),
                top + height - 10.0,
                number(tick),
            );
        }
        let mut legend = WIDTH - RIGHT;
        for line in lines.iter().rev().filter(|line| !line.name.is_empty()) {
            let color = line.color;
            let _ = write!(
                svg,
                r#"<text x="{legend:.1}" y="{:.1}" text-anchor="end" fill="{color}">{}</text>"#,
                top + 18.0,
                line.name
            );
            legend -= 7.0 * line.name.chars().count() as f64 + 12.0;
        }
        for Line { color, width, dashes, points, .. } in lines {
            if *width == 0.0 {
                points.iter().for_each(|p| {
                    _ = write!(
                        svg,
                        r#"<circle cx="{:.1}" cy="{:.1}" r="1.2" fill="{color}"/>"#,
                        x(p.0),
                        y(p.1)
                    )
                });
                continue;
            }
            let list: Vec<String> = points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
            let _ = write!(
                svg,
                r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="{width}" stroke-dasharray="{dashes}"/>"#,
                list.join(" ")
            );
        }
        top += height;
    }
    let _ = write!(
        svg,
        r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{below}</text></svg>"#,
        WIDTH / 2.0,
        top + 8.0
    );
    svg.push('\n');
    svg
}

/// Writes a picture of the book when `BOOK_WRITE` asks for it.
pub(crate) fn write(name: &str, svg: &str) {
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name} has no finite axes");
    if std::env::var_os("BOOK_WRITE").is_some() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
        std::fs::write(folder.join(name), svg).unwrap();
    }
}
