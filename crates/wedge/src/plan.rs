//! The plan: which tries there are, with which values, and what they have in common.

use std::fs;
use std::path::{Component, Path, PathBuf};

use geometry::Random;
use serde::{Deserialize, Serialize};

use shot::{FrameRange, Reader, Shot, write_whole};

use crate::settings::{Allowed, allowed};
use crate::slurm::Slurm;
use crate::values::{MOST, Values, Vary, written};
use crate::{Error, State};

/// The file that makes a folder a wedge.
pub const PLAN: &str = "plan.json";

/// How values become tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Every value of each setting with every value of the others; the last setting varies quickest.
    Product,
    /// The first values of all settings, then the second ones: lists of one length.
    Zip,
    /// So many tries, each value drawn by itself.
    Random {
        /// How many.
        count: usize,
        /// Equal seeds, equal tries.
        seed: u64,
    },
}

/// One shot, many values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of followthrough that wrote it: another one may bake other frames.
    pub version: String,
    /// What the shot is called.
    pub shot: String,
    /// Where the relative paths of the shots start, seen from the plan's folder.
    pub folder: PathBuf,
    /// The settings that vary.
    pub keys: Vec<String>,
    /// The tries.
    pub tries: Vec<Try>,
    /// How many layers, from the lowest, no setting that varies belongs to: they are baked once.
    pub common: usize,
    /// The frames that are wanted; all when `None`.
    pub frames: Option<FrameRange>,
    /// Whether files of the shot may name others outside their own folders.
    pub allow_outside: bool,
    /// How the tries were given to Slurm.
    pub slurm: Option<Slurm>,
    /// Shot texts, in the order of the tries; in the folder each is a file.
    #[serde(skip)]
    texts: Vec<String>,
}

/// One of the tries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Try {
    /// Its number with leading zeros: the name of its shot file and of its folder.
    pub name: String,
    /// What each of the plan's settings has, as TOML or as plain text.
    pub values: Vec<String>,
}

impl Try {
    /// `material=silk, speed=5`: the settings by their last words.
    pub fn title(&self, keys: &[String]) -> String {
        let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
        keys.iter()
            .zip(&self.values)
            .map(|(key, value)| format!("{}={value}", last(key)))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl Plan {
    /// Plans the tries of a shot and checks every one of them. `folder` is where its relative paths start.
    pub fn new(
        reader: &Reader,
        shot_name: &str,
        text: &str,
        folder: &Path,
        vary: &[Vary],
        choice: Choice,
    ) -> Result<Self, Error> {
        let shot = reader.parse(shot_name, text, folder)?;
        for (index, vary_one) in vary.iter().enumerate() {
            if vary[..index].iter().any(|other| other.key == vary_one.key) {
                let help = "give all its values in one list: KEY=A,B,C";
                return Err(Error::vary(&vary_one.key, "the setting is varied twice", help));
            }
        }
        let too_many = |count: usize| {
            let help = "leave out some values; --random N takes a sample of them";
            let problem = format!("that would be {count} tries; from 1 to {MOST} can be planned");
            Error::vary("", problem, help)
        };
        let rows = match choice {
            // before any is drawn
            Choice::Random { count, .. } if count > MOST => return Err(too_many(count)),
            Choice::Product => product(vary)?,
            Choice::Zip => zip(vary)?,
            Choice::Random { count, seed } => random(&shot, reader, vary, count, seed)?,
        };
        if rows.is_empty() || rows.len() > MOST {
            return Err(too_many(rows.len()));
        }
        let width = (rows.len() - 1).to_string().len().max(3);
        let tries: Vec<Try> = rows
            .into_iter()
            .enumerate()
            .map(|(i, values)| Try { name: format!("{i:0width$}"), values })
            .collect();
        let keys: Vec<String> = vary.iter().map(|vary| vary.key.clone()).collect();
        let texts = tries
            .iter()
            .map(|one| checked_text(reader, &shot, shot_name, text, &keys, one))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            shot: shot_name.to_owned(),
            folder: folder.to_owned(),
            common: common_layers(&shot, &keys),
            keys,
            tries,
            frames: None,
            allow_outside: false,
            slurm: None,
            texts,
        })
    }

    /// Writes the plan and a shot file for every try into a folder, which may hold the same plan already: then its bakes go on.
    pub fn save(&self, out: &Path) -> Result<(), Error> {
        fs::create_dir_all(out).map_err(Error::io(out))?;
        let mut saved = self.clone();
        saved.folder = seen_from(&self.folder, out)?;
        if let Ok(before) = Self::load(out)
            && (&before.shot, &before.keys, &before.tries, &before.folder)
                != (&saved.shot, &saved.keys, &saved.tries, &saved.folder)
        {
            return Err(Error::Plan {
                path: out.join(PLAN),
                problem: String::from("another wedge is there already"),
                help: String::from("give this one another folder with --out, or remove that one"),
            });
        }
        for (one, text) in self.tries.iter().zip(&self.texts) {
            let head = format!(
                "# Try {} of a wedge of {}; relative paths start where that lies. Bake it with: followthrough wedge . --task {}\n",
                one.name, self.shot, one.name
            );
            write_whole(&out.join(format!("{}.toml", one.name)), (head + text).as_bytes())?;
        }
        saved.write(out)
    }

    /// Writes `plan.json` alone.
    pub fn write(&self, out: &Path) -> Result<(), Error> {
        let json = serde_json::to_vec_pretty(self).unwrap_or_default();
        Ok(write_whole(&out.join(PLAN), &json)?)
    }

    /// The plan in a folder.
    pub fn load(out: &Path) -> Result<Self, Error> {
        let path = out.join(PLAN);
        let refused =
            |problem: String, help: &str| Error::Plan { path: path.clone(), problem, help: help.into() };
        let begin = "plan one with: followthrough wedge SHOT.toml --vary KEY=VALUES --out DIR";
        let bytes = fs::read(&path)
            .map_err(|error| refused(format!("there is no plan to be read: {error}"), begin))?;
        let plan: Self = serde_json::from_slice(&bytes)
            .map_err(|error| refused(format!("this is no plan of a wedge: {error}"), begin))?;
        let (theirs, ours) = (&plan.version, env!("CARGO_PKG_VERSION"));
        if theirs != ours {
            let problem = format!("the plan was made by followthrough {theirs}, and this is {ours}");
            return Err(refused(
                problem,
                "use the same version everywhere, or plan it anew in another folder",
            ));
        }
        let is_name =
            |name: &str| name.len() <= 8 && !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
        if let Some(bad) =
            plan.tries.iter().find(|one| !is_name(&one.name) || one.values.len() != plan.keys.len())
        {
            return Err(refused(
                format!("`{}` is no try of this plan", bad.name),
                "plan it anew in another folder",
            ));
        }
        Ok(plan)
    }

    /// The shot of a try, read from the plan's folder.
    pub fn shot(&self, reader: &Reader, out: &Path, index: usize) -> Result<Shot, Error> {
        let one = self.tries.get(index).ok_or_else(|| Error::Plan {
            path: out.join(PLAN),
            problem: format!("there is no try {index}"),
            help: format!("there are {}, counted from 0", self.tries.len()),
        })?;
        let path = out.join(format!("{}.toml", one.name));
        let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
        let reader = reader.clone().allow_outside(self.allow_outside);
        Ok(reader.parse(&self.shot, &text, &out.join(&self.folder))?)
    }

    /// Where a try stands.
    pub fn state(&self, out: &Path, index: usize) -> State {
        State::read(&self.try_folder(out, index))
    }

    /// The folder of a try's bake and files.
    pub fn try_folder(&self, out: &Path, index: usize) -> PathBuf {
        out.join(self.tries.get(index).map_or("", |one| &one.name))
    }
}

/// The shot's text with a try's values, found to be right. Each try has a film, for the page.
fn checked_text(
    reader: &Reader,
    shot: &Shot,
    name: &str,
    text: &str,
    keys: &[String],
    one: &Try,
) -> Result<String, Error> {
    let values = || one.title(keys);
    let set = |reader: Reader, (key, value): (&String, &String)| reader.set(format!("{key}={value}"));
    let mut varied = keys.iter().zip(&one.values).fold(reader.clone(), set);
    let is_film = |file: &PathBuf| file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("webp"));
    let files = shot.output.files.clone().unwrap_or_else(|| vec![format!("{}.glb", shot.name).into()]);
    if !files.iter().any(is_film) {
        let all: Vec<String> = files
            .iter()
            .chain([&PathBuf::from("try.webp")])
            .map(|file| format!("{:?}", file.to_string_lossy()))
            .collect();
        varied = varied.set(format!("output.files=[{}]", all.join(", ")));
    }
    let wrong = |source: shot::Error| Error::Try { values: values(), source: Box::new(source) };
    let shot = varied.parse(name, text, &shot.folder).map_err(wrong)?;
    let found = shot.check();
    match found.is_empty() {
        true => Ok(shot.text().to_owned()),
        false => Err(wrong(shot::Diagnostics(found).into())),
    }
}

/// How many layers, from the lowest, none of the settings belongs to.
fn common_layers(shot: &Shot, keys: &[String]) -> usize {
    let first = |key: &String| {
        let mut steps = key.split(['.', '[', ']']).map(str::trim).filter(|step| !step.is_empty());
        match (steps.next(), steps.next()) {
            (Some("layer"), Some(name)) => {
                let named = shot.layers.iter().position(|entry| entry.name == name);
                name.parse().ok().or(named).unwrap_or(0)
            }
            (Some("output"), _) => shot.layers.len(),
            _ => 0,
        }
    };
    keys.iter().map(first).min().unwrap_or(0)
}

fn values_of(vary: &Vary) -> Result<&[String], Error> {
    match &vary.values {
        Values::Listed(values) => Ok(values),
        Values::Between(from, to) => {
            let help = format!("say how many: {}={from}..{to}:5; or draw them with --random N", vary.key);
            Err(Error::vary(&vary.key, "a range without a count is only for random tries", help))
        }
        Values::Any => {
            let help = format!("list them: {}=A,B,C; or draw them with --random N", vary.key);
            Err(Error::vary(&vary.key, "there are no values", help))
        }
    }
}

fn product(vary: &[Vary]) -> Result<Vec<Vec<String>>, Error> {
    let mut rows = vec![Vec::new()];
    for one in vary {
        let values = values_of(one)?;
        if rows.len().saturating_mul(values.len()) > MOST {
            let problem = format!("that would be more than {MOST} tries");
            return Err(Error::vary(
                &one.key,
                problem,
                "leave out some values; --random N takes a sample of them",
            ));
        }
        let with = |row: &Vec<String>| {
            let row = row.clone();
            values.iter().map(move |value| [row.clone(), vec![value.clone()]].concat())
        };
        rows = rows.iter().flat_map(with).collect();
    }
    Ok(rows)
}

fn zip(vary: &[Vary]) -> Result<Vec<Vec<String>>, Error> {
    let lists = vary.iter().map(values_of).collect::<Result<Vec<_>, _>>()?;
    let count = lists.first().map_or(0, |list| list.len());
    if let Some(odd) = lists.iter().position(|list| list.len() != count) {
        let problem = format!("it has {} values, and `{}` has {count}", lists[odd].len(), vary[0].key);
        return Err(Error::vary(&vary[odd].key, problem, "with --zip all settings have equally many values"));
    }
    Ok((0..count).map(|i| lists.iter().map(|list| list[i].clone()).collect()).collect())
}

fn random(
    shot: &Shot,
    reader: &Reader,
    vary: &[Vary],
    count: usize,
    seed: u64,
) -> Result<Vec<Vec<String>>, Error> {
    let schema = reader.schema();
    let drawn: Vec<Allowed> = vary
        .iter()
        .map(|one| {
            let in_schema = allowed(shot, &schema, &one.key);
            let whole = matches!(in_schema, Some(Allowed::Number { whole: true, .. }));
            match (&one.values, in_schema) {
                (Values::Listed(values), _) => Ok(Allowed::Word(values.clone())),
                (Values::Between(from, to), _) => {
                    Ok(Allowed::Number { least: from.min(*to), most: from.max(*to), whole })
                }
                (Values::Any, Some(allowed)) => Ok(allowed),
                (Values::Any, None) => {
                    let help = format!("give a range or a list: {}=A..B", one.key);
                    Err(Error::vary(&one.key, "the schema has no bounds for it", help))
                }
            }
        })
        .collect::<Result<_, _>>()?;
    let mut random = Random::new(seed);
    let mut draw = |allowed: &Allowed| match allowed {
        Allowed::Word(words) => words[random.below(words.len())].clone(),
        Allowed::Number { least, most, whole: true } => {
            written((least + random.unit() * (most - least + 1.0)).floor().min(*most), true)
        }
        Allowed::Number { least, most, whole: false } => {
            // four digits: a value that somebody likes is one to write down
            format!("{:.4e}", least + random.unit() * (most - least))
                .parse()
                .map_or_else(|_| String::new(), |x| written(x, false))
        }
    };
    Ok((0..count).map(|_| drawn.iter().map(&mut draw).collect()).collect())
}

/// A folder as seen from another, so that both can be moved together.
fn seen_from(folder: &Path, from: &Path) -> Result<PathBuf, Error> {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        fs::canonicalize(path).map_err(Error::io(path))
    };
    let (folder, from) = (whole(folder)?, whole(from)?);
    let shared = folder.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(folder.components().skip(shared)).collect();
    Ok(if path.as_os_str().is_empty() { PathBuf::from(".") } else { path })
}
