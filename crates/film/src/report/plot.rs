//! A line plot as SVG: ticks at round numbers, a legend, values under the pointer; no scripts.

use std::fmt::Write;

use super::PlotData;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 220.0;
/// Space for the numbers at the left.
const LEFT: f64 = 54.0;
const RIGHT: f64 = 14.0;
/// Space for title and legend.
const TOP: f64 = 34.0;
/// Space for the frames' numbers.
const BOTTOM: f64 = 30.0;
/// Columns that answer to the pointer; more would be thinner than a pixel.
const MOST_COLUMNS: usize = 280;

/// What the page's style says about plots, in its light colours, for a picture without a page.
const PICTURE_STYLE: &str = "text{font-family:sans-serif;fill:#23211e}.title{font-size:13px;font-weight:600}\
.tick{font-size:11px;fill:#6f6a62}.grid{stroke:#eee9e0}.line{fill:none;stroke-width:1.8;stroke-linejoin:round}.area{opacity:.12}.hover{fill:none}\
.line.s0{stroke:#c8553d}.line.s1{stroke:#2f6f8f}.line.s2{stroke:#7a8b3a}.line.s3{stroke:#8a5a9e}.line.s4{stroke:#b98a2f}\
.area.s0,.key.s0,.dot.s0{fill:#c8553d}.key.s1,.dot.s1{fill:#2f6f8f}.key.s2,.dot.s2{fill:#7a8b3a}.key.s3,.dot.s3{fill:#8a5a9e}.key.s4,.dot.s4{fill:#b98a2f}";

/// Draws a plot as an SVG document that stands alone, on white.
pub(super) fn picture(plot: &PlotData) -> String {
    let drawn = svg(plot);
    let Some((_, rest)) = drawn.split_once('>') else { return drawn };
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"><style>{PICTURE_STYLE}</style><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>{rest}"#
    )
}

/// Draws a plot. Colours come from the page's style by the classes `s0` to `s4`.
pub(super) fn svg(plot: &PlotData) -> String {
    let count = plot.series.iter().map(|series| series.values.len()).max().unwrap_or(0);
    let values = || plot.series.iter().flat_map(|series| &series.values).flatten().copied();
    let scale = Scale::new(values());
    let last = count.saturating_sub(1).max(1) as f64;
    let x = |frame: usize| LEFT + (WIDTH - LEFT - RIGHT) * frame as f64 / last;
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * scale.place(value);

    let mut svg = String::new();
    let title = match plot.unit.as_str() {
        "" => plot.title.clone(),
        unit => format!("{}, {unit}", plot.title),
    };
    // writing to a string cannot fail
    let _ = write!(
        svg,
        r#"<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{0}"><text class="title" x="{LEFT}" y="16">{0}</text>"#,
        escape(&title)
    );
    for tick in &scale.ticks {
        let at = y(*tick);
        let _ = write!(
            svg,
            r#"<line class="grid" x1="{LEFT}" x2="{:.1}" y1="{at:.1}" y2="{at:.1}"/><text class="tick" text-anchor="end" x="{:.1}" y="{:.1}">{}</text>"#,
            WIDTH - RIGHT,
            LEFT - 7.0,
            at + 3.5,
            scale.label(*tick)
        );
    }
    for frame in frame_ticks(count) {
        let anchor = if count > 1 && frame + 1 == count { "end" } else { "middle" };
        let _ = write!(
            svg,
            r#"<text class="tick" text-anchor="{anchor}" x="{:.1}" y="{:.1}">{frame}</text>"#,
            x(frame),
            HEIGHT - BOTTOM + 17.0
        );
    }
    for (number, series) in plot.series.iter().enumerate() {
        let class = number.min(4);
        for run in runs(&series.values) {
            let point = |&(frame, value): &(usize, f64)| format!("{:.1},{:.1}", x(frame), y(value));
            let points: Vec<String> = run.iter().map(point).collect();
            if let [(frame, value)] = run.as_slice() {
                let _ = write!(
                    svg,
                    r#"<circle class="dot s{class}" cx="{:.1}" cy="{:.1}" r="2.5"/>"#,
                    x(*frame),
                    y(*value)
                );
                continue;
            }
            if number == 0 {
                let (from, to) = (x(run[0].0), x(run[run.len() - 1].0));
                let base = y(scale.low);
                let _ = write!(
                    svg,
                    r#"<polygon class="area s{class}" points="{from:.1},{base:.1} {} {to:.1},{base:.1}"/>"#,
                    points.join(" ")
                );
            }
            let _ = write!(svg, r#"<polyline class="line s{class}" points="{}"/>"#, points.join(" "));
        }
    }
    legend(&mut svg, plot);
    pointer_columns(&mut svg, plot, count, &x);
    svg.push_str("</svg>");
    svg
}

/// The lines' names at the top right, from right to left.
fn legend(svg: &mut String, plot: &PlotData) {
    let mut right = WIDTH - RIGHT;
    for (number, series) in plot.series.iter().enumerate().rev().filter(|(_, series)| !series.name.is_empty())
    {
        let width = 6.6 * series.name.chars().count() as f64;
        let _ = write!(
            svg,
            r#"<rect class="key s{}" x="{:.1}" y="10" width="12" height="4" rx="2"/><text class="tick" x="{:.1}" y="16">{}</text>"#,
            number.min(4),
            right - width - 17.0,
            right - width,
            escape(&series.name)
        );
        right -= width + 32.0;
    }
}

/// Invisible columns whose titles the browser shows under the pointer.
fn pointer_columns(svg: &mut String, plot: &PlotData, count: usize, x: &dyn Fn(usize) -> f64) {
    let step = count.div_ceil(MOST_COLUMNS).max(1);
    let width = (x(step) - x(0)).max(1.0);
    for frame in (0..count).step_by(step) {
        let mut text = format!("frame {frame}");
        for series in &plot.series {
            if let Some(value) = series.values.get(frame).copied().flatten() {
                let _ = write!(text, "\n{} {} {}", series.name, number(value), plot.unit);
            }
        }
        let _ = write!(
            svg,
            r#"<rect class="hover" x="{:.1}" y="{TOP}" width="{width:.1}" height="{:.1}"><title>{}</title></rect>"#,
            x(frame) - 0.5 * width,
            HEIGHT - TOP - BOTTOM,
            escape(&text)
        );
    }
}

/// Frames with a number: round steps, and the last frame unless it would touch the one before.
fn frame_ticks(count: usize) -> Vec<usize> {
    let last = count.saturating_sub(1);
    let step = (round_step(last as f64, 8.0).max(1.0)) as usize;
    let mut ticks: Vec<usize> =
        (0..=last).step_by(step).filter(|tick| last - tick >= step / 2 || *tick == last).collect();
    if count > 0 && ticks.last() != Some(&last) {
        ticks.push(last);
    }
    if count == 0 { Vec::new() } else { ticks }
}

/// Frames in a row that have values.
fn runs(values: &[Option<f64>]) -> Vec<Vec<(usize, f64)>> {
    let mut runs: Vec<Vec<(usize, f64)>> = Vec::new();
    let mut open = false;
    for (frame, value) in values.iter().enumerate() {
        match value {
            Some(value) if open => runs.last_mut().into_iter().for_each(|run| run.push((frame, *value))),
            Some(value) => runs.push(vec![(frame, *value)]),
            None => {}
        }
        open = value.is_some();
    }
    runs
}

/// The vertical axis: round ticks that hold all values; it begins at zero unless values are negative or lie high in a
/// narrow band.
pub(super) struct Scale {
    low: f64,
    high: f64,
    step: f64,
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// Decades, as logarithms: whole numbers that hold all values.
    pub(super) fn decades(logarithms: impl Iterator<Item = f64>) -> Self {
        let ends = logarithms
            .filter(|v| v.is_finite())
            .map(|v| [v, v])
            .reduce(|[low, high], [v, _]| [low.min(v), high.max(v)]);
        let [low, high] = ends.unwrap_or([0.0, 1.0]);
        let (low, high) = ((low + 1e-9).floor(), (high - 1e-9).ceil().max((low + 1e-9).floor() + 1.0));
        let ticks = (0..=(high - low).min(30.0) as usize).map(|i| low + i as f64).collect();
        Self { low, high, step: 1.0, ticks }
    }

    fn new(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if low > 0.0 && low < 0.95 * high {
            low = 0.0;
        }
        if high < 0.0 && high > 0.95 * low {
            high = 0.0;
        }
        // smaller than anything that is ever measured: zero
        const SMALLEST: f64 = 1e-200;
        if low.abs().max(high.abs()) < SMALLEST {
            (low, high) = (0.0, 0.0);
        }
        if high - low <= 1e-12 * high.abs().max(low.abs()) {
            // a constant: show it with room around it, or 0..1 when it is zero
            (low, high) = if low == 0.0 { (0.0, 1.0) } else { (low.min(0.0), high.max(0.0)) };
        }
        let step = round_step(high - low, 5.0);
        let (from, to) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let ticks: Vec<f64> =
            (0..=(to - from).min(20.0) as usize).map(|i| (from + i as f64) * step).collect();
        Self { low: from * step, high: to * step, step, ticks }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// With as many digits as the step needs.
    fn label(&self, tick: f64) -> String {
        let tick = if tick.abs() < 1e-9 * self.step { 0.0 } else { tick };
        if !(1e-4..1e6).contains(&self.step) {
            return if tick == 0.0 { "0".into() } else { format!("{tick:.1e}").replace(".0e", "e") };
        }
        let digits = (-self.step.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{tick:.digits$}")
    }
}

/// 1, 2 or 5 times a power of ten, such that about `parts` of them span `range`.
fn round_step(range: f64, parts: f64) -> f64 {
    let raw = (range / parts).max(f64::MIN_POSITIVE * 1e10);
    let power = 10.0_f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= 0.999 * raw)
        .unwrap_or(10.0 * power)
}

/// A number in about four digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e6).contains(&size) {
        let text = format!("{value:.2e}");
        return text
            .split_once('e')
            .map_or(text.clone(), |(digits, power)| format!("{}e{power}", trimmed(digits)));
    }
    let digits = (3.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
    trimmed(&format!("{value:.digits$}")).to_owned()
}

/// Without zeros at the end that say nothing.
fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// Text for HTML and SVG.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::Series;
    use super::*;

    fn scale(values: &[f64]) -> Vec<String> {
        let scale = Scale::new(values.iter().copied());
        scale.ticks.iter().map(|tick| scale.label(*tick)).collect()
    }

    #[test]
    fn ticks_are_round_and_hold_the_values() {
        assert_eq!(scale(&[0.0, 1.0]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(scale(&[3.0, 97.0]), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(scale(&[-0.03, 0.02]), ["-0.03", "-0.02", "-0.01", "0.00", "0.01", "0.02"]);
        assert_eq!(scale(&[0.0, 0.0]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(scale(&[5.0, 5.0]), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(scale(&[0.0, 4e-9]), ["0", "1e-9", "2e-9", "3e-9", "4e-9"]);
    }

    #[test]
    fn any_values_give_finite_coordinates() {
        for values in
            [vec![], vec![Some(1.0)], vec![None; 3], vec![Some(1e300), Some(-1e300)], vec![Some(1e-320); 2]]
        {
            let series = vec![Series { name: "a<b".into(), values }];
            let text = svg(&PlotData { title: "t".into(), unit: "m".into(), series });
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            assert!(!text.contains("a<b") && text.contains("a&lt;b"));
        }
    }

    #[test]
    fn numbers_say_no_more_than_they_must() {
        let numbers = [0.0, 1e-4, -2.5e-7, 3.14159e-9, 1e-3, 12.0, 0.05, 1234.5678, 1e6, 1.5e7];
        let shown = ["0", "1e-4", "-2.5e-7", "3.14e-9", "0.001", "12", "0.05", "1235", "1e6", "1.5e7"];
        assert_eq!(numbers.map(number), shown);
    }

    #[test]
    fn a_picture_has_its_own_style() {
        let series = vec![Series { name: "a".into(), values: vec![Some(1.0), Some(2.0)] }];
        let text = picture(&PlotData { title: "t".into(), unit: "m".into(), series });
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>"));
        for class in ["title", "tick", "grid", "line", "area", "key", "hover"] {
            assert!(
                text.contains(&format!("class=\"{class}")) && text.contains(&format!(".{class}")),
                "{class}"
            );
        }
    }

    #[test]
    fn frame_numbers_end_with_the_last() {
        assert_eq!(frame_ticks(121), [0, 20, 40, 60, 80, 100, 120]);
        assert_eq!(frame_ticks(1), [0]);
        assert_eq!(frame_ticks(48), [0, 10, 20, 30, 40, 47]);
        assert!(frame_ticks(0).is_empty());
    }
}
