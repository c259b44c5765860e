"""How fast the doors are: arrays in and out, importing, a bake from Python beside the command's, a wedge beside six bakes.

    python python/benches/speed.py [--program followthrough] [--quick]

Prints a table for people and ends with one line of JSON for machines. `--program` is the command to compare with, by default the one of this
installation; `--quick` takes small work, which says nothing about speed and only shows that everything runs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import followthrough as ft
import numpy as np

SHOT = """
[input]
sample = "flag"
frames = "0-{last}"

[[layer]]
kind = "cloth"
name = "fabric"
mesh = "flag"
follow = {{ group = "hoist" }}

[output]
files = ["flag.pc2"]
report = false
"""


def seconds(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def best(count: int, work) -> float:
    return min(seconds(work) for _ in range(count))


def every(points) -> None:
    """Reads frame after frame, and keeps none."""
    for _ in points:
        pass


def arrays(side: int, frames: int, folder: Path) -> dict[str, float]:
    """GB/s of frames in, out of memory, and out of a file."""
    generator = np.random.default_rng(7)
    points = generator.random((frames, side * side, 3), dtype="float32")
    corner = np.arange(side * side).reshape(side, side)
    faces = np.stack([corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]], axis=-1).reshape(-1, 4)
    into = best(5, lambda: ft.Clip.from_arrays({"sheet": points}, {"sheet": faces}))
    clip = ft.Clip.from_arrays({"sheet": points}, {"sheet": faces})
    held, size = clip.points(), points.nbytes / 1e9
    out = best(5, lambda: every(held))
    whole = best(5, lambda: np.asarray(held))
    clip.write(folder / "sheet.usdc")
    read = ft.Clip.read(folder / "sheet.usdc").points()
    from_file = best(5, lambda: every(read))
    assert np.array_equal(read[frames - 1], points[-1])
    return {"in": size / into, "out": size / out, "out_all": size / whole, "out_of_usdc": size / from_file}


def importing() -> float:
    """Milliseconds that `import followthrough` takes in a fresh process."""
    code = "import time; t = time.perf_counter(); import followthrough; print(time.perf_counter() - t)"
    return 1e3 * min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(10))


def bake_ratio(program: list[str], folder: Path, last: int, rounds: int) -> tuple[float, float]:
    """A bake by a script of Python over the same by the command, both as processes; and the command's seconds."""
    shot = folder / "flag.toml"
    shot.write_text(SHOT.format(last=last))
    script = f"import followthrough as ft; ft.Shot.read({str(shot)!r}).bake(out={str(folder / 'here')!r})"
    ways = {"command": [*program, "--quiet", "bake", str(shot), "--out", str(folder / "there")], "script": [sys.executable, "-c", script]}
    times = {name: [] for name in ways}
    for _ in range(rounds):
        # in turn, so that what else the machine does falls on both alike
        for name, words in ways.items():
            for place in ("here", "there"):
                shutil.rmtree(folder / place, ignore_errors=True)
            times[name].append(seconds(lambda: subprocess.run(words, check=True)))
    return min(times["script"]) / min(times["command"]), min(times["command"])


def wedge_seconds(program: list[str], folder: Path, last: int, rounds: int) -> float:
    """What a wedge of six takes beyond six bakes of the same shots, each a process by itself."""
    shot, tries = folder / "wedge.toml", folder / "tries"
    shot.write_text(SHOT.format(last=last))
    vary = ["--vary", "layer.fabric.material=silk,cotton,denim", "--vary", "layer.fabric.wind.speed=2..4:2"]
    whole, single = [], []
    for _ in range(rounds):
        shutil.rmtree(tries, ignore_errors=True)
        whole.append(seconds(lambda: subprocess.run([*program, "--quiet", "wedge", str(shot), *vary, "--out", str(tries)], check=True)))
        own = sorted(tries.glob("[0-9]*.toml"))
        assert len(own) == 6, own
        for number, one in enumerate(own):
            shutil.rmtree(folder / f"alone{number}", ignore_errors=True)
        one_by_one = lambda: [
            subprocess.run([*program, "--quiet", "bake", str(one), "--out", str(folder / f"alone{number}")], check=True) for number, one in enumerate(own)
        ]
        single.append(seconds(one_by_one))
    return min(whole) - min(single)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="the command to compare with")
    parser.add_argument("--quick", action="store_true", help="small work, to see that everything runs")
    given = parser.parse_args()
    program = [given.program] if given.program else [sys.executable, "-m", "followthrough"]
    side, frames, last, rounds = (20, 5, 2, 1) if given.quick else (100, 1000, 30, 3)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rates = arrays(side, frames, folder)
        milliseconds = importing()
        ratio, baked = bake_ratio(program, folder, last, rounds)
        beside = wedge_seconds(program, folder, last // 5, rounds)
    print(f"{side * side} points, {frames} frames, in GB/s")
    print(f"  from_arrays {rates['in']:.1f}, a frame from memory {rates['out']:.1f}, all frames {rates['out_all']:.1f}, a frame from usdc {rates['out_of_usdc']:.1f}")
    print(f"import followthrough: {milliseconds:.0f} ms")
    print(f"a bake of {baked:.1f} s by the command takes {ratio:.3f} times that from Python")
    print(f"a wedge takes {beside:.2f} s beyond its six bakes")
    answer = {"bench": "python", "gb_per_s": rates, "import_ms": milliseconds, "bake_ratio": ratio, "wedge_s": beside}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
