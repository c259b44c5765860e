"""A wedge on a real cluster of Dask, its scheduler and two workers on this machine; one of them is killed in mid-bake."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import followthrough as ft
import pytest

SHOT = """
[input]
sample = "curtain"
frames = "0-15"

[[layer]]
kind = "smooth"
window = 0.1

[[layer]]
kind = "cloth"
name = "fabric"
follow = { height = { from = 1.7, to = 1.8 } }

[output]
files = ["curtain.pc2", "curtain.webp"]
film = { width = 160, height = 120 }
report = false
"""
PORT = 28786
ADDRESS = f"tcp://127.0.0.1:{PORT}"


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", "followthrough", "--quiet", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def dask(*arguments, log):
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen([sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]], stdout=out, stderr=out, start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def frames(folder):
    return len(list(Path(folder).glob(".bake/fabric-*/frame-*.bin")))


def until(seconds, what, is_true):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.05)


def test_a_wedge_on_dask_equals_one_here(tmp_path):
    pytest.importorskip("distributed", reason="SKIPPED: Dask is not installed")
    shot = tmp_path / "curtain.toml"
    shot.write_text(SHOT)
    vary = ["--vary", "layer.fabric.material=silk,cotton,denim"]
    run("wedge", shot, *vary, "--out", tmp_path / "here")
    # the same plan, of which nothing is baked yet
    farm = tmp_path / "farm"
    farm.mkdir()
    for file in [*sorted((tmp_path / "here").glob("*.toml")), tmp_path / "here" / "plan.json"]:
        (farm / file.name).write_bytes(file.read_bytes())
    options = ["--nthreads", "1", "--no-dashboard", "--death-timeout", "60"]
    with contextlib.ExitStack() as stack:
        scheduler = ["dask_scheduler", "--host", "127.0.0.1", "--port", str(PORT), "--no-dashboard"]
        stack.enter_context(dask(*scheduler, log=tmp_path / "scheduler.log"))
        workers = []
        for number in range(2):
            worker = ["dask_worker", ADDRESS, *options, "--local-directory", str(tmp_path / f"scratch{number}")]
            workers.append(stack.enter_context(dask(*worker, log=tmp_path / f"worker{number}.log")))
        wedge = subprocess.Popen([sys.executable, "-m", "followthrough.wedge", str(farm), "--dask", ADDRESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        begun = [farm / f"{number:03}" for number in range(3)]
        until(180, "the first frames of a try", lambda: any(frames(folder) >= 2 for folder in begun))
        # whichever tries it is at, and the bakes that it has started
        os.killpg(workers[0].pid, signal.SIGKILL)
        out, errors = wedge.communicate(timeout=300)
        assert wedge.returncode == 0, errors
        assert out.count("done") == 3
    for number in range(3):
        name = f"{number:03}"
        for file in ["curtain.pc2", "curtain.webp"]:
            assert (farm / name / file).read_bytes() == (tmp_path / "here" / name / file).read_bytes(), (name, file)
        state = json.loads((farm / name / "state.json").read_text())
        assert state["state"] == "done" and not list(farm.glob(f"{name}/.bake/smooth-*/frame-*.bin"))
        (timings,) = farm.glob(f"{name}/.bake/fabric-*/timings.txt")
        baked = [line.split()[0] for line in timings.read_text().splitlines()]
        assert len(baked) == len(set(baked)) == 16, f"try {name}: frames were baked twice"


def test_what_is_missing_is_told(tmp_path):
    done = subprocess.run([sys.executable, "-m", "followthrough.wedge", str(tmp_path), "--dask", ADDRESS], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and ("no plan" in done.stderr or "pip install" in done.stderr)


def said_by(*arguments):
    words = [sys.executable, "-m", "followthrough.wedge", *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr


def test_a_damaged_plan_and_a_scheduler_that_is_not_there_are_sentences(tmp_path):
    pytest.importorskip("distributed", reason="SKIPPED: Dask is not installed")
    (tmp_path / "plan.json").write_text("{}")
    assert said_by(tmp_path, "--dask", ADDRESS) == (2, f"{tmp_path / 'plan.json'}: it is damaged; plan the wedge again in another folder\n")
    (tmp_path / "plan.json").write_text('{"tries": [{"name": "000"}]}')
    code, said = said_by(tmp_path, "--dask", "tcp://127.0.0.1:1", "--wait", 1)
    assert code == 1 and "no scheduler of Dask answers there" in said, said


def test_a_plan_of_another_version_is_refused_here_too(tmp_path):
    """The wheel and the binary may be of different versions, and meet on one folder."""
    (tmp_path / "s.toml").write_text(SHOT)
    plan = tmp_path / "tries" / "plan.json"
    plan.parent.mkdir()
    words = ["wedge", tmp_path / "s.toml", "--vary", "layer.fabric.material=silk", "--out", plan.parent, "--on", "slurm"]
    # no sbatch on the path: the plan is kept, and nothing is baked
    subprocess.run([sys.executable, "-m", "followthrough", *map(str, words)], env={"PATH": str(tmp_path)}, capture_output=True, check=False)
    text = plan.read_text()
    assert f'"{ft.__version__}"' in text
    plan.write_text(text.replace(f'"{ft.__version__}"', '"9.9.9"', 1))
    done = subprocess.run([sys.executable, "-m", "followthrough", "wedge", str(plan.parent), "--task", "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "9.9.9" in done.stderr and ft.__version__ in done.stderr, done.stderr
