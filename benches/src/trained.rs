//! Operators that `followthrough train` has made, in folders: what their reports say of unseen motions, and the speed and size of the same
//! files here.

use std::path::{Path, PathBuf};
use std::time::Instant;

use live::{Detail, Operator};
use serde_json::{Map, Value, json};

/// A report and the operator beside it.
struct Found {
    name: String,
    report: Value,
    operator: Option<PathBuf>,
}

/// Ratios over unseen motions, by motion: to Loop, to the best that needs no learning, and of middle-band energy; and speed and size by folder.
#[derive(Default)]
pub(crate) struct Trained {
    vs_loop: Map<String, Value>,
    vs_best: Map<String, Value>,
    band_energy: Map<String, Value>,
    ms: Map<String, Value>,
    cold_ms: Map<String, Value>,
    mb: Map<String, Value>,
}

impl Trained {
    /// Of all trainings below `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let mut found = Vec::new();
        look(folder, 4, &mut found)?;
        found.sort_by(|a, b| a.name.cmp(&b.name));
        if found.is_empty() {
            return Err(format!("{}: there is no report of `train` in it", folder.display()).into());
        }
        let mut all = Self::default();
        println!("operator      motion          frames  ours mm  of Loop  of the best  folds' energy");
        for Found { name, report, operator } in &found {
            all.motions(name, report);
            if let Some(path) = operator {
                let (warm, cold, megabytes) = speed(path)?;
                println!("{name:12}  {warm:.3} ms warm, {cold:.3} cold, {megabytes:.2} MB");
                for (map, value) in [(&mut all.ms, warm), (&mut all.cold_ms, cold), (&mut all.mb, megabytes)]
                {
                    map.insert(name.clone(), json!(value));
                }
            }
        }
        let mut ratios: Vec<f64> = all.vs_best.values().filter_map(Value::as_f64).collect();
        ratios.sort_by(f64::total_cmp);
        if let Some(median) = ratios.get(ratios.len() / 2) {
            println!("of the best, in the median of {} unseen motions: {median:.2}", ratios.len());
        }
        Ok(all)
    }

    fn motions(&mut self, name: &str, report: &Value) {
        let unseen =
            report["motions"].as_array().into_iter().flatten().filter(|m| m["learnt"] == json!(false));
        for motion in unseen {
            let title = motion["motion"].as_str().unwrap_or("?").to_owned();
            let rms = |who: &str| motion[who]["rms_mm"].as_f64();
            let Some(ours) = rms("ours") else { continue };
            let bases = ["subdivision", "barycentric", "bicubic"].map(rms);
            let best = bases.into_iter().flatten().fold(f64::INFINITY, f64::min);
            let to_loop = ours / bases[0].unwrap_or(f64::NAN);
            let energy = motion["ours"]["band_energy"].as_f64().unwrap_or(f64::NAN);
            println!(
                "{name:12}  {title:14}  {:6}  {ours:7.2}  {to_loop:7.2}  {:11.2}  {energy:13.2}",
                motion["frames"].as_u64().unwrap_or(0),
                ours / best
            );
            self.vs_loop.insert(title.clone(), json!(to_loop));
            self.vs_best.insert(title.clone(), json!(ours / best));
            self.band_energy.insert(title, json!(energy));
        }
    }

    /// Into the answer.
    pub(crate) fn tell(self, answer: &mut Map<String, Value>) {
        let Self { vs_loop, vs_best, band_energy, ms, cold_ms, mb } = self;
        let maps = [
            ("unseen_vs_loop", vs_loop),
            ("unseen_vs_best", vs_best),
            ("band_energy", band_energy),
            ("trained_ms", ms),
            ("trained_cold_ms", cold_ms),
            ("trained_mb", mb),
        ];
        maps.into_iter().for_each(|(key, map)| drop(answer.insert(key.into(), Value::Object(map))));
    }
}

/// Reports of trainings of cloth, and the `.ftop` in their folder or in the one around it.
fn look(folder: &Path, depth: usize, found: &mut Vec<Found>) -> std::io::Result<()> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let operator_in = |folder: &Path| -> Option<PathBuf> {
        let entries = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let mut operators: Vec<PathBuf> = entries
            .filter(|path| path.extension().is_some_and(|e| e == "ftop") && !path.ends_with("cloth.ftop"))
            .collect();
        operators.sort();
        operators.into_iter().next()
    };
    for path in paths {
        if path.is_dir() && depth > 0 {
            look(&path, depth - 1, found)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let bytes = std::fs::read(&path)?;
            let Ok(report) = serde_json::from_slice::<Value>(&bytes) else { continue };
            if report["motions"][0]["ours"]["rms_mm"].is_null() {
                continue;
            }
            let operator = operator_in(folder).or_else(|| operator_in(folder.parent()?));
            let named = operator.as_deref().unwrap_or(folder);
            let name = named.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            found.push(Found { name, report, operator });
        }
    }
    Ok(())
}

/// Median milliseconds of showing a frame, warm and cold, and megabytes. Shapes are the rest shape, bent.
fn speed(path: &Path) -> Result<(f64, f64, f64), Box<dyn std::error::Error>> {
    let bytes = std::fs::read(path)?;
    let operator = Operator::read(&bytes[..])?;
    let rest: Vec<[f32; 3]> = operator.coarse_rest().collect();
    let bent = |t: f32| -> Vec<[f32; 3]> {
        rest.iter().map(|p| [p[0], p[1], p[2] + 0.05 * (3.0 * p[0] + 2.0 * p[1] + t).sin()]).collect()
    };
    let shapes: Vec<Vec<[f32; 3]>> = (0..20).map(|k| bent(0.3 * k as f32)).collect();
    let mut scratch = operator.scratch();
    let mut fine = vec![[0.0; 3]; operator.counts().fine];
    let mut once = |frame: usize| -> Result<f64, live::Error> {
        let start = Instant::now();
        operator.apply(&shapes[frame % shapes.len()], Detail::default(), &mut scratch, &mut fine)?;
        Ok(1e3 * start.elapsed().as_secs_f64())
    };
    let warm = crate::upsample::median((0..1000).map(&mut once).collect::<Result<_, _>>()?);
    let mut cold = Vec::new();
    let mut other = vec![1_u8; crate::upsample::CACHES];
    for frame in 0..20 {
        other.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
        cold.push(once(frame)?);
    }
    Ok((warm, crate::upsample::median(cold), bytes.len() as f64 / 1e6))
}
