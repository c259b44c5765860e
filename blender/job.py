"""The bake as a child process: it tells how far it is, can be stopped, and goes on when it is begun again."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

jobs: dict[str, "Job"] = {}


class Job:
    """`followthrough bake` at work on a folder."""

    def __init__(self, folder: Path):
        import followthrough

        packages = str(Path(followthrough.__file__).parents[1])
        words = [sys.executable, "-m", "followthrough", "bake", "shot.toml", "--out", "out", "--progress-json", "--json"]
        paths = [packages, *filter(None, [os.environ.get("PYTHONPATH")])]
        new_group = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        self.folder = folder
        self.done, self.of, self.seconds_left = 0, 0, None
        self.said: list[str] = []
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            words,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            creationflags=new_group,
        )
        self._answer: list[str] = []
        self._readers = [
            threading.Thread(target=self._hear, args=(self._process.stderr, self._lines.put), daemon=True),
            threading.Thread(target=self._hear, args=(self._process.stdout, self._answer.append), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _hear(pipe, take):
        for line in pipe:
            take(line)

    def poll(self) -> bool:
        """Takes in what was told; gives back whether it has ended."""
        ended = self._process.poll() is not None
        if ended:
            for reader in self._readers:
                reader.join()
        while not self._lines.empty():
            line = self._lines.get()
            try:
                told = json.loads(line)
                self.done, self.of, self.seconds_left = told["done"], told["of"], told["seconds_left"]
            except (ValueError, KeyError, TypeError):
                self.said.append(line)
        return ended

    def stop(self) -> None:
        """Ends it after the frame at hand; nothing that was baked is lost."""
        if self._process.poll() is None:
            self._process.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT))

    def wait(self) -> None:
        self._process.wait()
        self.poll()

    def end(self) -> None:
        """At once."""
        self._process.kill()
        self._process.wait()

    @property
    def reused(self) -> int:
        """How many frames were there before, as it says at its end."""
        try:
            return sum(layer["reused"] for layer in json.loads("".join(self._answer))["layers"])
        except (ValueError, KeyError, TypeError):
            return 0

    @property
    def was_stopped(self) -> bool:
        return self._process.returncode == 130

    @property
    def problem(self) -> str | None:
        """The sentence that it ended with, if it failed."""
        if self._process.returncode in (0, 130):
            return None
        try:
            answer = json.loads("".join(self._answer))
            mistakes = [": ".join(filter(None, [m["message"], m["help"]])) for m in answer.get("mistakes") or ()]
            return "; ".join(filter(None, [*(mistakes or [answer["error"]]), answer.get("help")]))
        except (ValueError, KeyError):
            return "".join(self.said).strip() or f"the bake ended with code {self._process.returncode}"

    @property
    def status(self) -> str:
        if not self.of:
            return "Preparing"
        left = "" if self.seconds_left is None else f", {_duration(self.seconds_left)} left"
        return f"{self.done} of {self.of} frames{left}"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def end_all() -> None:
    """When the add-on goes, nothing stays behind."""
    while jobs:
        jobs.popitem()[1].end()
