//! The wedge on one page, a film for each try with its values and figures; and the same for machines.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use film::{PAGE_STYLE, escape, number};
use shot::write_whole;

use crate::{Error, Figure, Plan, State};

/// Figures of which less is better: what is farther from what an artist drew, stretches, crosses or takes longer. Others are neither.
const COSTS: [&str; 7] =
    ["distance", "strain", "crossing", "intersection", "stretch", "residual", "penetration"];

/// Writes `wedge.html` and `wedge.json` into the plan's folder; gives back where the page is. Tries that have not ended are shown as such.
pub fn write(plan: &Plan, out: &Path) -> Result<PathBuf, Error> {
    let states: Vec<State> = (0..plan.tries.len()).map(|index| plan.state(out, index)).collect();
    let json = serde_json::to_vec_pretty(&summary(plan, out)).unwrap_or_default();
    write_whole(&out.join("wedge.json"), &json)?;
    let path = out.join("wedge.html");
    write_whole(&path, page(plan, out, &states).as_bytes())?;
    Ok(path)
}

/// Everything that is on the page except films.
pub fn summary(plan: &Plan, out: &Path) -> Value {
    let states: Vec<State> = (0..plan.tries.len()).map(|index| plan.state(out, index)).collect();
    let columns = columns(&states);
    let tries: Vec<Value> = plan
        .tries
        .iter()
        .zip(&states)
        .map(|(one, state)| {
            let values: serde_json::Map<String, Value> =
                plan.keys.iter().cloned().zip(one.values.iter().map(|value| value.clone().into())).collect();
            let mut json = json!({ "name": one.name, "values": values });
            if let (Value::Object(json), Ok(Value::Object(state))) = (&mut json, serde_json::to_value(state))
            {
                json.extend(state);
            }
            json
        })
        .collect();
    let ends: Vec<Value> = columns
        .iter()
        .filter_map(|column| {
            let [best, worst] = column.ends(&states)?;
            let name = |index: usize| &plan.tries[index].name;
            Some(json!({ "layer": column.layer, "figure": column.name, "best": name(best), "worst": name(worst) }))
        })
        .collect();
    json!({
        "ok": states.iter().all(State::is_done),
        "shot": plan.shot,
        "keys": plan.keys,
        "common_layers": plan.common,
        "tries": tries,
        "ends": ends,
    })
}

/// A figure that tries are compared by.
struct Column {
    layer: String,
    name: String,
    unit: String,
    is_cost: bool,
}

impl Column {
    /// The figure in a try, its largest over all frames; `None` where the try does not have it.
    fn value(&self, state: &State) -> Option<f64> {
        let State::Done { figures, seconds, .. } = state else { return None };
        if self.layer.is_empty() {
            return Some(*seconds);
        }
        let is_it = |figure: &&Figure| figure.layer == self.layer && figure.name == self.name;
        figures.iter().find(is_it).map(|figure| figure.peak)
    }

    /// The tries with the least and the most of it, where they differ and less is better.
    fn ends(&self, states: &[State]) -> Option<[usize; 2]> {
        let values = || states.iter().enumerate().filter_map(|(i, state)| Some((i, self.value(state)?)));
        let best = values().min_by(|a, b| a.1.total_cmp(&b.1))?;
        // of equals the first, as `min_by` has it
        let worst = values().reduce(|most, next| if next.1 > most.1 { next } else { most })?;
        (self.is_cost && best.1 < worst.1).then_some([best.0, worst.0])
    }
}

/// The time first, then what tries measured, in that order; what is the same in all of them helps nobody to choose.
fn columns(states: &[State]) -> Vec<Column> {
    let time = Column { layer: String::new(), name: "time".into(), unit: "s".into(), is_cost: true };
    let mut columns = vec![time];
    for state in states {
        let State::Done { figures, .. } = state else { continue };
        for figure in figures {
            if columns.iter().any(|known| known.layer == figure.layer && known.name == figure.name) {
                continue;
            }
            let is_cost = COSTS.iter().any(|word| figure.name.to_lowercase().contains(word));
            let Figure { layer, name, unit, .. } = figure.clone();
            columns.push(Column { layer, name, unit, is_cost });
        }
    }
    let differs = |column: &Column| {
        let mut values = states.iter().filter_map(|state| column.value(state));
        let first = values.next();
        states.len() == 1 || values.any(|value| Some(value) != first)
    };
    columns.retain(differs);
    columns
}

/// Beside what all our pages have: a grid of films.
const STYLE: &str = ".wedge{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:16px;margin:24px 0}.try{border:1px solid #8884;border-radius:8px;overflow:hidden;margin:0;padding:0}\
.try img{width:100%;display:block}.try .none{height:120px;display:flex;align-items:center;justify-content:center;opacity:.6}.try .text{padding:10px 14px}.try h2{font-size:15px;margin:0 0 4px}\
.try.failed{border-color:#c33}.try.failed p{color:#c33}.try dl{display:grid;grid-template-columns:1fr auto;gap:0 12px;margin:6px 0;font-size:13px}\
.try dd{margin:0;text-align:right;font-variant-numeric:tabular-nums}.best{color:#1a8f45;font-weight:600}.worst{color:#c4402f;font-weight:600}";

fn page(plan: &Plan, out: &Path, states: &[State]) -> String {
    let mut page = String::new();
    let title = escape(plan.shot.trim_end_matches(".toml"));
    let done = states.iter().filter(|state| state.is_done()).count();
    // writing to a string cannot fail, here and below
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"generator\" content=\"followthrough {}\"><title>{title}: wedge</title><style>{PAGE_STYLE}{STYLE}</style></head><body><main>\
         <p class=\"brand\">followthrough · wedge</p><h1>{title}</h1><p>{} tries, {done} done · varies {}</p>\
         <p><small>Figures are the largest of all frames. Of those of which less is better, <span class=\"best\">the best</span> and \
         <span class=\"worst\">the worst</span> are marked.</small></p><div class=\"wedge\">",
        env!("CARGO_PKG_VERSION"),
        states.len(),
        plan.keys.iter().map(|key| format!("<code>{}</code>", escape(key))).collect::<Vec<_>>().join(", "),
    );
    let columns: Vec<(Column, Option<[usize; 2]>)> = columns(states)
        .into_iter()
        .map(|column| {
            let ends = column.ends(states);
            (column, ends)
        })
        .collect();
    for (index, state) in states.iter().enumerate() {
        card(&mut page, plan, &plan.try_folder(out, index), index, state, &columns);
    }
    page.push_str("</div></main></body></html>\n");
    page
}

fn card(
    page: &mut String,
    plan: &Plan,
    folder: &Path,
    index: usize,
    state: &State,
    columns: &[(Column, Option<[usize; 2]>)],
) {
    let one = &plan.tries[index];
    let class = if matches!(state, State::Failed { .. }) { "try failed" } else { "try" };
    let _ = write!(page, "<section class=\"{class}\">");
    let film = match state {
        State::Done { film: Some(film), .. } => fs::read(folder.join(film)).ok(),
        _ => None,
    };
    match film {
        Some(film) => {
            let _ = write!(
                page,
                "<img alt=\"film of try {}\" src=\"data:image/webp;base64,{}\">",
                one.name,
                STANDARD.encode(film)
            );
        }
        None => {
            let _ = write!(page, "<div class=\"none\">{}</div>", state.name());
        }
    }
    let _ = write!(page, "<div class=\"text\"><h2>{}</h2>", escape(&one.title(&plan.keys)));
    match state {
        State::Done { report, warnings, .. } => {
            figures(page, index, state, columns);
            remarks(page, &one.name, report.as_deref(), warnings);
        }
        State::Failed { error, help } => {
            let _ = write!(
                page,
                "<p>{}</p><small>{}</small>",
                escape(error),
                escape(help.as_deref().unwrap_or_default())
            );
        }
        State::Running { done, of } | State::Stopped { done, of } => {
            let _ = write!(page, "<p>{done} of {of} frames</p>");
        }
        State::Waiting => {}
    }
    page.push_str("</div></section>");
}

/// The figures of a try that is done, best and worst marked.
fn figures(page: &mut String, index: usize, state: &State, columns: &[(Column, Option<[usize; 2]>)]) {
    page.push_str("<dl>");
    for (column, ends) in columns {
        let Some(value) = column.value(state) else { continue };
        let mark = match ends {
            Some([best, _]) if *best == index => " class=\"best\"",
            Some([_, worst]) if *worst == index => " class=\"worst\"",
            _ => "",
        };
        let name = format!("{} {}", column.layer, column.name.replace('/', ", "));
        let _ = write!(
            page,
            "<dt>{}</dt><dd{mark}>{} {}</dd>",
            escape(name.trim()),
            number(value),
            escape(&column.unit)
        );
    }
    page.push_str("</dl>");
}

/// Its first warning, and where its report is.
fn remarks(page: &mut String, name: &str, report: Option<&str>, warnings: &[String]) {
    if let Some((first, others)) = warnings.split_first() {
        let more = if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
        let _ = write!(page, "<p>{}{more}</p>", escape(first));
    }
    if let Some(report) = report {
        let report = escape(report);
        let _ = write!(page, "<small>try {name} · <a href=\"{name}/{report}\">report</a></small>");
    }
}
