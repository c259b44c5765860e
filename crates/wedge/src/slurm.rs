//! Tries as one array of Slurm. Slurm queues, counts, restarts and moves; a task reads the plan by its number.
//!
//! No value, key or path of a plan reaches a shell or a job's name: the script is the same for every wedge, the program's path comes to it in an
//! environment variable, the folder as `sbatch`'s own argument.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::{Error, Plan};

/// What is passed on to `sbatch`, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Slurm {
    /// The partition to run in.
    pub partition: Option<String>,
    /// Memory of a task, as Slurm writes it: `8G`.
    pub memory: Option<String>,
    /// The longest that a task may take, as Slurm writes it: `04:00:00`.
    pub time: Option<String>,
    /// Who pays.
    pub account: Option<String>,
    /// How many tasks at most run at once.
    pub at_once: Option<usize>,
    /// Processors of a task, and its threads.
    pub threads: Option<usize>,
    /// The jobs that were submitted last.
    pub jobs: Option<Jobs>,
}

/// Numbers of jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jobs {
    /// The one that bakes what all tries share.
    pub common: Option<String>,
    /// The array, a task for each try.
    pub array: String,
    /// The one that puts the page together.
    pub page: String,
}

/// How long before its time is up a task is told to stop, in seconds: a frame and its checkpoint fit in it.
const NOTICE_S: u32 = 120;

/// The program's path is in here.
const PROGRAM: &str = "FOLLOWTHROUGH_PROGRAM";

impl Slurm {
    /// Submits the common layers, then one array of these tries that depends on them, then the page.
    pub fn submit(&self, plan: &Plan, out: &Path, tries: &[usize]) -> Result<Jobs, Error> {
        let common = match plan.common {
            0 => None,
            _ => Some(self.sbatch(out, &[], "--common")?),
        };
        let at_once = self.at_once.map(|count| format!("%{count}")).unwrap_or_default();
        let mut array = vec![format!("--array={}{at_once}", numbers(tries))];
        array.extend(common.as_ref().map(|job| format!("--dependency=afterok:{job}")));
        let array = self.sbatch(out, &array, "--task \"$SLURM_ARRAY_TASK_ID\"")?;
        let page = self.sbatch(out, &[format!("--dependency=afterany:{array}")], "--page")?;
        Ok(Jobs { common, array, page })
    }

    fn sbatch(&self, out: &Path, more: &[String], task: &str) -> Result<String, Error> {
        let program = std::env::current_exe().map_err(Error::io(Path::new("followthrough")))?;
        let mut command = Command::new("sbatch");
        command.env(PROGRAM, program).args(self.arguments(out)).args(more);
        let script = format!("#!/bin/sh\nexec \"${PROGRAM}\" --quiet wedge . {task}\n");
        let said = ask(command, &script)?;
        // `--parsable`: the number, and on federations the cluster's name after a semicolon
        let job = said.trim().split(';').next().unwrap_or_default().to_owned();
        match !job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit()) {
            true => Ok(job),
            false => Err(engine("sbatch", format!("it answered `{}`, which is no job", said.trim()))),
        }
    }

    /// What every job of a wedge has.
    fn arguments(&self, out: &Path) -> Vec<String> {
        let mut arguments: Vec<String> = [
            "--parsable",
            "--job-name=followthrough-wedge",
            "--requeue",
            "--open-mode=append",
            "--output=slurm-%A_%a.out",
        ]
        .map(String::from)
        .to_vec();
        arguments.push(format!("--signal=B:TERM@{NOTICE_S}"));
        arguments.push(format!("--chdir={}", out.display()));
        let passed = [
            ("partition", self.partition.clone()),
            ("mem", self.memory.clone()),
            ("time", self.time.clone()),
            ("account", self.account.clone()),
            ("cpus-per-task", self.threads.map(|threads| threads.to_string())),
        ];
        arguments.extend(passed.into_iter().filter_map(|(key, value)| Some(format!("--{key}={}", value?))));
        arguments
    }

    /// What Slurm says of each try that it has not ended yet: number and word, such as `PENDING`.
    pub fn queue(&self) -> Result<Vec<(usize, String)>, Error> {
        let Some(jobs) = &self.jobs else { return Ok(Vec::new()) };
        let mut command = Command::new("squeue");
        command.args(["--noheader", "--array", "--format=%K %T", &format!("--jobs={}", jobs.array)]);
        // it is an error to ask for a job that has ended long ago
        let said = match ask(command, "") {
            Err(Error::Engine { problem, .. }) if problem.contains("Invalid job id") => String::new(),
            other => other?,
        };
        let word = |line: &str| {
            let mut words = line.split_whitespace();
            Some((words.next()?.parse().ok()?, words.next()?.to_owned()))
        };
        Ok(said.lines().filter_map(word).collect())
    }

    /// What there is to be told of a try that Slurm has no task for any more and that has not ended: the last that its task said. A node that
    /// does not see the folder, or cannot write into it, leaves nothing there.
    pub fn ended(&self, out: &Path, index: usize) -> Option<String> {
        let job = &self.jobs.as_ref()?.array;
        let path = out.join(format!("slurm-{job}_{index}.out"));
        let said = std::fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let last =
            said.as_deref().unwrap_or_default().lines().rev().map(str::trim).find(|line| !line.is_empty());
        Some(match last {
            Some(last) => format!("its task has ended and said: {last} ({})", path.display()),
            None => format!(
                "its task has ended and left nothing in {}: either the node does not see that folder, or its disk is full; \
                 `scontrol show job {job}_{index}` names the node; --retry goes on from the last frame",
                out.display()
            ),
        })
    }

    /// Takes back all jobs that have not ended.
    pub fn cancel(&self) -> Result<(), Error> {
        let Some(jobs) = &self.jobs else { return Ok(()) };
        let mut command = Command::new("scancel");
        command.args(jobs.common.iter().chain([&jobs.array, &jobs.page]));
        ask(command, "").map(drop)
    }
}

/// `0-3,7`.
fn numbers(tries: &[usize]) -> String {
    let mut runs: Vec<[usize; 2]> = Vec::new();
    for &index in tries {
        match runs.last_mut() {
            Some([_, last]) if *last + 1 == index => *last = index,
            _ => runs.push([index, index]),
        }
    }
    let written = |run: &[usize; 2]| match run {
        [a, b] if a == b => a.to_string(),
        [a, b] => format!("{a}-{b}"),
    };
    runs.iter().map(written).collect::<Vec<_>>().join(",")
}

/// Runs a program of Slurm; what it prints, or what it complains about.
fn ask(mut command: Command, input: &str) -> Result<String, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let refused = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => engine(&program, "there is no such program on the path".to_owned()),
        _ => engine(&program, error.to_string()),
    };
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(refused)?;
    if let Some(mut stdin) = child.stdin.take() {
        // one that does not listen says why on its other end
        let _ = stdin.write_all(input.as_bytes());
    }
    let answer = child.wait_with_output().map_err(refused)?;
    let complaint = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
    match answer.status.success() {
        true => Ok(String::from_utf8_lossy(&answer.stdout).into_owned()),
        false if complaint.is_empty() => Err(engine(&program, format!("it ended with {}", answer.status))),
        false => Err(engine(&program, complaint)),
    }
}

/// What Slurm refused, with what to do about what is known.
fn engine(program: &str, problem: String) -> Error {
    let known = [
        ("no such program", "run this where Slurm's commands are, on a login node; or here with --on local"),
        ("nvalid partition", "`sinfo` lists the partitions; choose one with --partition"),
        ("nvalid account", "`sacctmgr show associations` lists the accounts; choose one with --account"),
        (
            "nvalid job array",
            "the site allows shorter arrays (`scontrol show config | grep MaxArraySize`): plan fewer tries in a wedge, and several wedges",
        ),
        (
            "ime limit",
            "`sinfo` shows the longest time of each partition; choose another with --time or --partition",
        ),
        ("emory", "`sinfo --format='%P %m'` shows what the nodes have; choose less with --memory"),
    ];
    let found = known.iter().find(|(words, _)| problem.contains(words));
    let help = found.map_or("the plan is kept: mend it and run the same command again", |(_, help)| help);
    Error::Engine { program: program.to_owned(), problem, help: help.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_written_as_runs() {
        assert_eq!(numbers(&[0, 1, 2, 3]), "0-3");
        assert_eq!(numbers(&[0, 2, 3, 7]), "0,2-3,7");
    }

    #[test]
    fn a_missing_program_is_a_sentence_with_a_remedy() {
        let error = ask(Command::new("followthrough-no-such-program"), "").unwrap_err();
        assert!(error.to_string().contains("no such program"), "{error}");
        assert!(error.remedy().unwrap().contains("--on local"));
    }

    #[test]
    fn a_task_that_ended_is_told_by_what_it_said_or_left_unsaid() {
        let out = std::env::temp_dir().join(format!("wedge-ended-{}", std::process::id()));
        std::fs::create_dir_all(&out).unwrap();
        assert_eq!(Slurm::default().ended(&out, 3), None, "nothing was given to Slurm");
        let jobs = Jobs { common: None, array: "17".into(), page: "18".into() };
        let slurm = Slurm { jobs: Some(jobs), ..Slurm::default() };
        let unseen = slurm.ended(&out, 3).unwrap();
        assert!(unseen.contains("does not see that folder") && unseen.contains("17_3"), "{unseen}");
        std::fs::write(out.join("slurm-17_3.out"), "").unwrap();
        assert!(slurm.ended(&out, 3).unwrap().contains("disk is full"));
        std::fs::write(out.join("slurm-17_3.out"), "one\nNo space left on device (os error 28)\n\n").unwrap();
        assert!(slurm.ended(&out, 3).unwrap().contains("said: No space left on device"));
        std::fs::remove_dir_all(&out).unwrap();
    }

    #[test]
    fn refusals_come_with_what_to_do() {
        for (said, remedy) in [
            ("Batch job submission failed: Invalid partition name specified", "--partition"),
            ("Batch job submission failed: Invalid job array specification", "MaxArraySize"),
            (
                "Batch job submission failed: Invalid account or account/partition combination specified",
                "--account",
            ),
            ("Batch job submission failed: Memory required by task is not available", "--memory"),
            (
                "Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)",
                "--time",
            ),
            ("something new", "the plan is kept"),
        ] {
            assert!(engine("sbatch", said.into()).remedy().unwrap().contains(remedy), "{said}");
        }
    }

    #[test]
    fn what_is_passed_on_is_one_argument_each() {
        let slurm = Slurm { partition: Some("a; rm -rf b".into()), threads: Some(4), ..Slurm::default() };
        let arguments = slurm.arguments(Path::new("some folder"));
        assert!(arguments.contains(&String::from("--partition=a; rm -rf b")));
        assert!(arguments.contains(&String::from("--chdir=some folder")));
        assert!(arguments.contains(&String::from("--cpus-per-task=4")));
    }
}
