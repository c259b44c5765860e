//! Curves over decades as an SVG that stands alone: what benchmarks draw for the book.

use std::fmt::Write;

use super::plot::{Scale, escape, number};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 320.0;
/// Left of the ticks' numbers: the label, which stands upright.
const LABEL: f64 = 22.0;
/// Between numbers and plot; and a digit's width, which of most fonts is a little less.
const GAP: f64 = 6.0;
const DIGIT: f64 = 6.6;
/// Room at the left, where numbers need no more.
const LEFT: f64 = 62.0;
/// Space for the curves' names, which stand at their ends.
const RIGHT: f64 = 118.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 44.0;
/// Told apart by people who see colours differently.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#555555"];

/// Positive numbers against positive numbers, both axes logarithmic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Above the plot.
    pub title: String,
    /// Below it.
    pub x_label: String,
    /// Beside it.
    pub y_label: String,
    /// In the order of the colours.
    pub curves: Vec<Curve>,
}

/// A named line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// What stands at its end.
    pub name: String,
    /// (x, y); pairs that have no logarithm are left out.
    pub points: Vec<(f64, f64)>,
}

impl Curves {
    /// The plot as an SVG document.
    pub fn svg(&self) -> String {
        let logarithms = |curve: &Curve| -> Vec<(f64, f64)> {
            let both = curve.points.iter().map(|(x, y)| (x.log10(), y.log10()));
            both.filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
        };
        let lines: Vec<Vec<(f64, f64)>> = self.curves.iter().map(logarithms).collect();
        let xs = Scale::decades(lines.iter().flatten().map(|p| p.0));
        let ys = Scale::decades(lines.iter().flatten().map(|p| p.1));
        let numbers: Vec<String> = ys.ticks.iter().map(|tick| number(10f64.powf(*tick))).collect();
        let left = numbers.iter().map(|text| LABEL + DIGIT * text.len() as f64 + GAP).fold(LEFT, f64::max);
        let x = |v: f64| left + (WIDTH - left - RIGHT) * xs.place(v);
        let y = |v: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ys.place(v);

        // writing to a string cannot fail
        let mut svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="11"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/><text x="{left:.1}" y="18" font-size="13" font-weight="bold">{}</text>"#,
            escape(&self.title)
        );
        for (tick, text) in ys.ticks.iter().zip(&numbers) {
            let _ = write!(
                svg,
                r##"<line x1="{left:.1}" x2="{:.1}" y1="{at:.1}" y2="{at:.1}" stroke="#ddd"/><text x="{:.1}" y="{:.1}" text-anchor="end">{text}</text>"##,
                WIDTH - RIGHT,
                left - GAP,
                y(*tick) + 4.0,
                at = y(*tick),
            );
        }
        for tick in &xs.ticks {
            let _ = write!(
                svg,
                r##"<line x1="{at:.1}" x2="{at:.1}" y1="{TOP}" y2="{:.1}" stroke="#ddd"/><text x="{at:.1}" y="{:.1}" text-anchor="middle">{}</text>"##,
                HEIGHT - BOTTOM,
                HEIGHT - BOTTOM + 16.0,
                number(10f64.powf(*tick)),
                at = x(*tick),
            );
        }
        let _ = write!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text><text transform="translate(14 {:.1}) rotate(-90)" text-anchor="middle">{}</text>"#,
            0.5 * (left + WIDTH - RIGHT),
            HEIGHT - 8.0,
            escape(&self.x_label),
            0.5 * (TOP + HEIGHT - BOTTOM),
            escape(&self.y_label)
        );
        for (k, line) in lines.iter().enumerate() {
            let colour = COLOURS[k % COLOURS.len()];
            let points: Vec<String> = line.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
            let _ = write!(
                svg,
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
                points.join(" ")
            );
            for p in line {
                let _ =
                    write!(svg, r#"<circle cx="{:.1}" cy="{:.1}" r="3" fill="{colour}"/>"#, x(p.0), y(p.1));
            }
        }
        for (k, at) in self.names_at(&lines, &y) {
            let _ = write!(
                svg,
                r#"<text x="{:.1}" y="{:.1}" fill="{}">{}</text>"#,
                WIDTH - RIGHT + 8.0,
                at + 4.0,
                COLOURS[k % COLOURS.len()],
                escape(&self.curves[k].name)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Where the names stand: beside the ends of their curves, moved apart where they would touch.
    fn names_at(&self, lines: &[Vec<(f64, f64)>], y: &dyn Fn(f64) -> f64) -> Vec<(usize, f64)> {
        let rightmost =
            |line: &Vec<(f64, f64)>| line.iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a });
        let ends = lines.iter().enumerate().filter_map(|(k, line)| Some((k, y(rightmost(line)?.1))));
        let mut names: Vec<(usize, f64)> = ends.collect();
        names.sort_by(|a, b| a.1.total_cmp(&b.1));
        for i in 1..names.len() {
            names[i].1 = names[i].1.max(names[i - 1].1 + 14.0);
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_hold_the_values_and_nothing_else_is_drawn() {
        let curve = |name: &str, points: &[(f64, f64)]| Curve { name: name.into(), points: points.to_vec() };
        let curves = Curves {
            title: "cost < strain".into(),
            x_label: "strain".into(),
            y_label: "ms".into(),
            curves: vec![
                curve("a", &[(1e-4, 2.0), (1e-2, 30.0), (0.0, 5.0), (1.0, f64::NAN)]),
                curve("b", &[(1e-4, 2.1)]),
                curve("empty", &[]),
            ],
        };
        let svg = curves.svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.contains("cost &lt; strain"));
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains(">100<") && svg.contains(">1<") && svg.contains(">1e-4<"), "{svg}");
        assert!(!svg.contains(">empty<"));
        assert!(!Curves::default().svg().contains("NaN"));
    }

    /// The label stands upright about x = 14, half as high as its font is large; numbers end left of the plot.
    #[test]
    fn numbers_keep_clear_of_the_label_however_wide_they_are() {
        for smallest in [1e-1, 1e-4, 1e-13, 1e-101] {
            let points = vec![(1.0, smallest), (2.0, 1.0)];
            let curves = Curves { curves: vec![Curve { name: "a".into(), points }], ..Curves::default() };
            let svg = curves.svg();
            let mut numbers = 0;
            for part in svg.split("<text ").filter(|part| part.contains("text-anchor=\"end\"")) {
                let end: f64 = part.split('"').nth(1).and_then(|x| x.parse().ok()).expect("a place");
                let text = part.split(['>', '<']).nth(1).expect("a number");
                assert!(end - DIGIT * text.len() as f64 > 20.0, "{text} ends at {end}");
                numbers += 1;
            }
            assert!(numbers > 1, "{svg}");
        }
    }
}
