//! Other people's programs, installed from their registries into a folder under target/.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// How often a download is tried again.
const ATTEMPTS: usize = 3;

/// Where peers and their files live.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers")
}

/// A Python script of this folder.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)
}

/// A Python interpreter that can import `module`, from a virtual environment with the PyPI package `package`; or the
/// reason why not.
pub(crate) fn python_with(package: &str, module: &str) -> Result<PathBuf, String> {
    let environment = folder().join(package);
    let python = environment.join("bin/python3");
    let imports = |python: &Path| {
        let output = Command::new(python).args(["-c", &format!("import {module}")]).output();
        output.is_ok_and(|output| output.status.success())
    };
    if imports(&python) {
        return Ok(python);
    }
    println!("installing {package} from PyPI into {}", environment.display());
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment))
        .map_err(|reason| format!("python3 -m venv: {reason}"))?;
    let mut reason = String::new();
    for _ in 0..ATTEMPTS {
        let pip = ["-m", "pip", "install", "--quiet", "--timeout", "120", "--retries", "5", package];
        match run(Command::new(&python).args(pip)) {
            Ok(_) if imports(&python) => return Ok(python),
            Ok(_) => return Err(format!("{package} was installed but `import {module}` fails")),
            Err(error) => reason = error,
        }
    }
    Err(format!("pip install {package}: {reason}"))
}

/// Runs a Python script of this folder with a package from PyPI: the lines of JSON that it prints, or the reason why not.
pub(crate) fn measured(
    package: &str,
    module: &str,
    name: &str,
    arguments: impl IntoIterator<Item = String>,
) -> Result<Vec<Value>, String> {
    let python = python_with(package, module)?;
    let printed = run(Command::new(python).arg(script(name)).args(arguments))?;
    // Some greet before they work: only lines of JSON count.
    Ok(printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Runs a command to its end, in the peers' folder (MuJoCo leaves a log where it runs); its output, or the last line of what
/// it complained.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    std::fs::create_dir_all(folder()).map_err(|error| error.to_string())?;
    let output = command.current_dir(folder()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(complaint.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("failed").to_string())
}
