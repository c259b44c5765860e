//! `torture`: random shots. None may panic, hang, or cost what nobody asked for.
//!
//! Each is a demo made small, with dials turned anywhere in their ranges ([`shots`]), baked for three frames ([`trial`]) in a process of its own. It
//! may take at most fifty times as long as the untouched demo per unit of work, and 2 GB. Time is that of the processor, so that `--jobs` shots may
//! run at once; the program needs nothing but itself, and can be carried to a machine with more cores.

mod shots;
mod trial;

use std::io::Read;
use std::ops::Range;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::scratch::Scratch;
use shots::{BASES, Base};
use trial::{Outcome, Trial};

/// How many times as long as its untouched shot, per unit of work, a shot may take.
const RATIO: f64 = 50.0;
/// What preparing takes in any case, as a share of the untouched shot's time.
const PREPARING: f64 = 0.3;
/// Seconds below which the processor's clock, which ticks a hundred times a second, tells nothing.
const CLOCK: f64 = 0.05;
/// The most memory, in MB.
const MEGABYTES: f64 = 2048.0;
/// A process that does not listen is killed after so many times its limit, and as many seconds, by the clock.
const GRACE: f64 = 12.0;
/// Threads of each shot.
const THREADS: &str = "2";

type Failure = Box<dyn std::error::Error>;

/// What is to be run.
struct Options {
    seeds: Range<usize>,
    /// Shots at a time.
    jobs: usize,
}

impl Options {
    fn read(options: &[String]) -> Result<Self, String> {
        let mut found = Self { seeds: 0..2000, jobs: 1 };
        let mut words = options.iter();
        while let Some(flag) = words.next() {
            let mut number = || {
                let number = words.next().and_then(|word| word.parse::<usize>().ok());
                number.ok_or_else(|| format!("{flag} is followed by whole numbers"))
            };
            match flag.as_str() {
                "--shots" => found.seeds = 0..number()?,
                "--seeds" => found.seeds = number()?..number()?,
                "--jobs" => found.jobs = number()?.max(1),
                _ => {
                    return Err(format!(
                        "unknown option {flag}; there are --shots N, --seeds FIRST END and --jobs N"
                    ));
                }
            }
        }
        Ok(found)
    }
}

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    let result = if let [flag, name, seed, limit] = options
        && flag == "--one"
    {
        one(name, seed, limit)
    } else {
        match Options::read(options) {
            Ok(options) => all(&options),
            Err(problem) => {
                eprintln!("{problem}");
                return ExitCode::from(2);
            }
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The time that a shot of some work may be expected to take, in seconds, by its untouched one.
fn expected(untouched: &Trial, work: f64) -> f64 {
    untouched.seconds.max(CLOCK) * (work / untouched.work).max(PREPARING)
}

/// One shot, in this process; answers with a line of JSON.
fn one(name: &str, seed: &str, limit: &str) -> Result<bool, Failure> {
    let base = BASES.iter().find(|base| base.name == name).ok_or("there is no such demo")?;
    let folder = Scratch::new()?;
    let settings = match seed {
        "untouched" => Vec::new(),
        seed => base.settings(&followthrough::schema(), seed.parse()?)?,
    };
    let trial = match base.shot(&settings) {
        Ok(shot) => trial::bake(&shot, folder.path(), limit.parse()?),
        Err(error) => Trial { outcome: Outcome::Refused(error.to_string()), seconds: 0.0, work: 1.0 },
    };
    let (outcome, said) = match &trial.outcome {
        Outcome::Baked => ("baked", String::new()),
        Outcome::Refused(sentence) => ("refused", sentence.clone()),
        Outcome::Unready(sentence) => ("unready", sentence.clone()),
        Outcome::TimedOut => ("timeout", String::new()),
        Outcome::Panicked(text) => ("panic", text.clone()),
    };
    let Trial { seconds, work, .. } = trial;
    let megabytes = trial::peak_megabytes();
    println!(
        "{}",
        json!({ "outcome": outcome, "said": said, "seconds": seconds, "work": work, "mb": megabytes })
    );
    Ok(true)
}

/// One shot, in a process of its own, which is killed if it does not end by itself.
fn apart(base: &Base, seed: &str, limit: f64) -> Result<Json, Failure> {
    let arguments = ["torture", "--one", base.name, seed, &limit.to_string()].map(str::to_owned);
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments)
        // threads that wait for work take time of the processor: as many for every shot, on any machine
        .env("RAYON_NUM_THREADS", THREADS)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let begun = Instant::now();
    while child.try_wait()?.is_none() {
        if begun.elapsed().as_secs_f64() > GRACE * (limit + GRACE) {
            child.kill()?;
            child.wait()?;
            return Ok(
                json!({ "outcome": "timeout", "said": "killed", "seconds": begun.elapsed().as_secs_f64(), "work": 1.0 }),
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut text = String::new();
    child.stdout.take().ok_or("no output")?.read_to_string(&mut text)?;
    let last = text.lines().last().unwrap_or_default();
    // a process that ended without a word was ended: by an abort or for its memory
    Ok(serde_json::from_str(last)
        .unwrap_or_else(|_| json!({ "outcome": "panic", "said": "aborted", "seconds": 0.0 })))
}

/// What came of all shots.
#[derive(Default)]
struct Tally {
    panics: usize,
    timeouts: usize,
    refused: usize,
    unready: usize,
    large: usize,
    worst_ratio: f64,
    worst_mb: f64,
}

impl Tally {
    /// Counts one shot in; whether it is as it should be.
    fn add(&mut self, outcome: &str, ratio: f64, mb: f64) -> bool {
        self.worst_ratio = self.worst_ratio.max(ratio);
        self.worst_mb = self.worst_mb.max(mb);
        self.refused += usize::from(outcome == "refused");
        self.unready += usize::from(outcome == "unready");
        self.panics += usize::from(outcome == "panic");
        self.timeouts += usize::from(outcome == "timeout" || ratio > RATIO);
        self.large += usize::from(mb > MEGABYTES);
        matches!(outcome, "baked" | "refused") && ratio <= RATIO && mb <= MEGABYTES
    }
}

/// Hands the numbers from 0 to `count` out to so many threads, and gives what each came to, in their order.
fn in_turn<T: Send>(
    count: usize,
    jobs: usize,
    work: impl Fn(usize) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let result = work(number).map_err(|error| error.to_string());
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((number, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result.map_err(Failure::from)).collect()
}

/// Every demo as it is: what the others are compared with.
fn untouched(jobs: usize) -> Result<Vec<Trial>, Failure> {
    let trials = in_turn(BASES.len(), jobs, |number| {
        let answer = apart(&BASES[number], "untouched", 600.0)?;
        let number = |key: &str| answer[key].as_f64().unwrap_or(f64::NAN);
        Ok(Trial { outcome: Outcome::Baked, seconds: number("seconds"), work: number("work") })
    })?;
    println!("{:<14} {:>9} {:>12}", "untouched", "seconds", "ns per unit");
    for (base, trial) in BASES.iter().zip(&trials) {
        println!("{:<14} {:>9.2} {:>12.0}", base.name, trial.seconds, 1e9 * trial.seconds / trial.work);
    }
    Ok(trials)
}

fn all(options: &Options) -> Result<bool, Failure> {
    let (seeds, jobs) = (&options.seeds, options.jobs);
    let schema = followthrough::schema();
    let untouched = untouched(jobs)?;
    let tally = Mutex::new(Tally::default());
    in_turn(seeds.len(), jobs, |number| {
        let seed = seeds.start + number;
        let (base, untouched) = (&BASES[seed % BASES.len()], &untouched[seed % BASES.len()]);
        let settings = base.settings(&schema, seed as u64)?;
        let asked = base.shot(&settings).map_or(untouched.work, |shot| trial::work(&shot, None));
        let answer = apart(base, &seed.to_string(), RATIO * expected(untouched, asked))?;
        let number = |key: &str| answer[key].as_f64();
        let seconds = number("seconds").unwrap_or(0.0);
        let ratio = seconds / expected(untouched, number("work").unwrap_or(untouched.work));
        let mb = number("mb").unwrap_or(0.0);
        let outcome = answer["outcome"].as_str().unwrap_or_default();
        if !tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).add(outcome, ratio, mb) {
            let sets: Vec<String> = settings.iter().map(|set| format!("--set '{set}'")).collect();
            println!(
                "seed {seed}: {outcome} {} {seconds:.1} s, {ratio:.0}×, {mb:.0} MB: {} {}",
                answer["said"],
                base.name,
                sets.join(" ")
            );
        }
        Ok(())
    })?;
    let Tally { panics, timeouts, refused, unready, large, worst_ratio, worst_mb } =
        tally.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let count = seeds.len();
    println!(
        "{count} shots, {refused} of them refused or stopped with a sentence, {unready} at the first frame after `check` had passed them"
    );
    println!(
        "{}",
        json!({ "bench": "torture", "shots": count, "panics": panics, "timeouts": timeouts,
                "worst_ratio": worst_ratio, "worst_mb": worst_mb })
    );
    Ok(panics + timeouts + large == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order_and_jobs_keep_the_order_of_their_answers() {
        let read = |words: &[&str]| {
            Options::read(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
                .map(|options| (options.seeds, options.jobs))
        };
        assert_eq!(read(&[]), Ok((0..2000, 1)));
        assert_eq!(read(&["--jobs", "8", "--shots", "30"]), Ok((0..30, 8)));
        assert_eq!(read(&["--seeds", "5", "9"]), Ok((5..9, 1)));
        assert!(read(&["--jobs"]).is_err() && read(&["--seeds", "5"]).is_err() && read(&["--what"]).is_err());
        let squares = in_turn(100, 7, |number| Ok(number * number)).unwrap();
        assert!(squares.iter().enumerate().all(|(number, square)| *square == number * number));
        let failure = in_turn(10, 3, |number| if number == 6 { Err("six".into()) } else { Ok(()) });
        assert_eq!(failure.unwrap_err().to_string(), "six");
    }

    /// Shots in this process, as many as a test may take; the whole is `benches -- torture`.
    #[test]
    fn random_shots_neither_panic_nor_hang_nor_fill_the_memory() {
        const SHOTS: u64 = 200;
        let folder = Scratch::new().unwrap();
        let schema = followthrough::schema();
        let mut untouched: Vec<Option<Trial>> = BASES.iter().map(|_| None).collect();
        let (mut baked, mut bad) = (0, Vec::new());
        for seed in 0..SHOTS {
            // neighbours are different demos
            let number = seed as usize % BASES.len();
            let base = &BASES[number];
            let untouched = untouched[number].get_or_insert_with(|| {
                let trial = trial::bake(&base.shot(&[]).unwrap(), folder.path(), 600.0);
                assert_eq!(trial.outcome, Outcome::Baked, "{}", base.name);
                trial
            });
            let settings = base.settings(&schema, seed).unwrap();
            let Ok(shot) = base.shot(&settings) else { continue };
            // on a busy machine times vary by several times
            let limit = 2.0 + 2.0 * RATIO * expected(untouched, trial::work(&shot, None));
            let trial = trial::bake(&shot, folder.path(), limit);
            baked += u64::from(trial.outcome == Outcome::Baked);
            // what `check` passes bakes its first frame
            if matches!(trial.outcome, Outcome::TimedOut | Outcome::Panicked(_) | Outcome::Unready(_)) {
                bad.push(format!(
                    "{seed}: {:?} after {:.1} s: {} {settings:?}",
                    trial.outcome, trial.seconds, base.name
                ));
            }
        }
        assert!(bad.is_empty(), "{}", bad.join("\n"));
        assert!(2 * baked > SHOTS, "{baked} baked: most random shots should be possible");
        assert!(trial::peak_megabytes().is_none_or(|mb| mb < MEGABYTES));
    }
}
