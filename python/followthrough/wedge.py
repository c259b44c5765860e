"""A wedge on a cluster of Dask: ``python -m followthrough.wedge DIR --dask ADDRESS``.

The folder is one that ``followthrough wedge SHOT.toml --vary … --out DIR`` has planned. Every try is a future with retries; a worker runs the command
``followthrough wedge DIR --task N``, which goes on from the last frame that anybody has baked. All workers must see the folder under the same path.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

#: How often Dask gives a try to another worker when one is lost.
RETRIES = 5


def command() -> list[str]:
    """The command of this installation."""
    return [sys.executable, "-m", "followthrough"]


def run(arguments: list[str]) -> None:
    """Runs the command on a worker; what it says is the error."""
    done = subprocess.run([*command(), "--quiet", "wedge", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"the command ended with {done.returncode}")


def bake(folder: str, number: int, name: str) -> int:
    """Bakes one try; a try that cannot be baked has said so in its own folder and is not tried again."""
    state = Path(folder, name, "state.json")
    try:
        run([folder, "--task", str(number)])
    except RuntimeError:
        if not (state.is_file() and json.loads(state.read_text())["state"] == "failed"):
            raise
    return number


def bake_all(client: Any, as_completed: Any, folder: str, names: list[str]) -> None:
    """What all tries share, then a future for each of them."""
    client.submit(run, [folder, "--common"], retries=RETRIES, pure=False).result()
    futures = [client.submit(bake, folder, number, name, retries=RETRIES, pure=False) for number, name in enumerate(names)]
    for done, future in enumerate(as_completed(futures), 1):
        future.result()
        print(f"{done} of {len(names)} tries", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m followthrough.wedge", description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the folder of the wedge")
    parser.add_argument("--dask", metavar="ADDRESS", required=True, help="the scheduler, as in tcp://127.0.0.1:8786")
    parser.add_argument("--wait", metavar="SECONDS", type=float, default=30, help="how long the scheduler may take to answer (30)")
    given = parser.parse_args(arguments)
    try:
        from dask.distributed import Client, as_completed
    except ImportError:
        print("Dask is not installed: pip install dask distributed", file=sys.stderr)
        return 2
    plan = Path(given.folder, "plan.json")
    if not plan.is_file():
        print(f"{plan}: there is no plan; make one with followthrough wedge SHOT.toml --vary KEY=VALUES --out DIR", file=sys.stderr)
        return 2
    folder = str(Path(given.folder).resolve())
    try:
        names = [one["name"] for one in json.loads(plan.read_text())["tries"]]
    except (ValueError, KeyError, TypeError):
        print(f"{plan}: it is damaged; plan the wedge again in another folder", file=sys.stderr)
        return 2
    try:
        client = Client(given.dask, timeout=given.wait)
    except (OSError, ValueError) as problem:
        print(f"{given.dask}: no scheduler of Dask answers there ({problem}); start one with `dask scheduler`", file=sys.stderr)
        return 1
    try:
        with client:
            bake_all(client, as_completed, folder, names)
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 1
    run([folder, "--page"])
    summary = json.loads(Path(folder, "wedge.json").read_text())
    for one in summary["tries"]:
        print(f"  {one['name']}  {', '.join(f'{key}={value}' for key, value in one['values'].items())}  {one['state']}")
    return 0 if summary["ok"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
