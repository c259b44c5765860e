"""Shots from Python: settings, mistakes, bakes that go on, stop and fail as they should; the same bytes as the command's."""

import _thread
import json
import signal
import subprocess
import sys
import threading
import time

import followthrough as ft
import numpy as np
import pytest
from common import CLOTH, SMOOTH, sheet_clip


def stored(folder):
    """Every frame of the bake in a folder, by layer and name."""
    return {(p.parent.name.rsplit("-", 1)[0], p.name): p.read_bytes() for p in sorted((folder / ".bake").rglob("frame-*.bin"))}


def test_mistakes_carry_line_and_column(tmp_path):
    (tmp_path / "s.toml").write_text('[[layer]]\nkind = "cloth"\nmateriel = "silk"\nkinds = 3\n')
    with pytest.raises(ft.Error) as caught:
        ft.Shot.read(tmp_path / "s.toml")
    error = caught.value
    assert (error.line, error.column) == (3, 1) and error.place.endswith("s.toml:3:1")
    assert len(error.mistakes) == 2 and error.mistakes[0]["help"].startswith("did you mean `material`?")
    assert "s.toml:4:1" in str(error)
    with pytest.raises(ft.Error, match="there is no file"):
        ft.Shot.read(tmp_path / "none.toml")


def test_settings_are_set_in_pythons_own_words():
    shot = ft.Shot.parse(CLOTH)
    assert shot.layers[0]["name"] == "fabric"
    changed = shot.set("layer.fabric.material", "silk").set("layer[0].wind.speed", 4)
    changed = changed.set("layer.fabric.wind.direction", np.array([1.0, 0.0, 0.5])).set("layer.fabric.strength", np.float32(0.5))
    settings = changed.layers[0]["settings"]
    assert settings["material"] == "silk" and settings["wind"]["speed"] == 4.0
    assert settings["wind"]["direction"] == [1.0, 0.0, 0.5] and changed.layers[0]["strength"] == 0.5
    assert shot.layers[0]["settings"]["material"] == "cotton", "the first is as it was"
    with pytest.raises(ft.Error, match="layer `skirt`") as caught:
        shot.set("layer.skirt.material", "silk")
    assert caught.value.place == "layer.skirt.material"
    assert shot.set("layer.fabric.material", 'a "quoted" \\ thing\n').layers[0]["settings"]["material"] == 'a "quoted" \\ thing\n'
    with pytest.raises(ft.Error) as caught:
        shot.set("layer.fabric.tolerance", -1)
    assert caught.value.line and "tolerance" in caught.value.what
    with pytest.raises(ft.Error, match="no values of type"):
        shot.set("layer.fabric.material", object())


def test_a_shot_is_checked_against_the_clip_it_is_given(tmp_path):
    shot = ft.Shot.parse(CLOTH)
    assert shot.check(sheet_clip(ft)) == []
    found = shot.set("layer.fabric.follow", {"group": "tpo"}).check(sheet_clip(ft))
    assert found and "tpo" in found[0]["message"]
    with pytest.raises(ft.Error, match="needs a `file`"):
        shot.bake(out=tmp_path)


def test_a_bake_gives_the_bytes_of_the_command(tmp_path):
    """The clip is written, the same shot is baked by the command on the file and here on the arrays: every stored frame is equal."""
    sheet_clip(ft).write(tmp_path / "sheet.usdc")
    clip = ft.Clip.read(tmp_path / "sheet.usdc")
    (tmp_path / "sheet.toml").write_text('[input]\nfile = "sheet.usdc"\n' + CLOTH.replace("files = []", 'files = ["out.pc2"]'))
    words = [sys.executable, "-m", "followthrough", "bake", str(tmp_path / "sheet.toml"), "--out", str(tmp_path / "command"), "--json"]
    answer = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    assert answer["ok"] and answer["layers"][0]["baked"] == 12
    told = []
    bake = ft.Shot.read(tmp_path / "sheet.toml").bake(out=tmp_path / "here", progress=told.append)
    given = ft.Shot.read(tmp_path / "sheet.toml").bake(clip, out=tmp_path / "given", threads=1)
    frames = stored(tmp_path / "command")
    assert len(frames) >= 12 and frames == stored(tmp_path / "here")
    assert (tmp_path / "command/out.pc2").read_bytes() == (tmp_path / "here/out.pc2").read_bytes()
    assert (tmp_path / "command/out.pc2").read_bytes() == (tmp_path / "given/out.pc2").read_bytes()
    assert [p.frame for p in told if p.kind == "frame"] == list(range(12))
    assert bake.files[0] == tmp_path / "here/out.pc2" and bake.layers[0]["baked"] == 12
    figures = bake.report["layers"][0]["figures"]
    assert len(figures["time per frame"]["values"]) == 12 and figures["time per frame"]["unit"] == "ms"
    # it moved, and what is held is where it was to the bit
    top = clip.groups()["top"] == 1
    moved, before = bake.clip.points()[11], clip.points()[11]
    assert np.array_equal(moved[top], before[top]) and np.abs(moved - before).max() > 1e-3
    assert given.input.frame_count == 12


def test_an_exception_in_progress_ends_the_bake_and_is_raised(tmp_path):
    class Enough(Exception):
        pass

    seen = []

    def progress(event):
        if event.kind == "frame":
            seen.append(event.frame)
            assert threading.current_thread() is threading.main_thread()
            if event.frame == 3:
                raise Enough("that will do")

    shot, clip = ft.Shot.parse(CLOTH), sheet_clip(ft)
    with pytest.raises(Enough, match="that will do"):
        shot.bake(clip, out=tmp_path / "stopped", progress=progress)
    assert seen == [0, 1, 2, 3], "after the frame at hand"
    some = shot.baked(clip, out=tmp_path / "stopped")
    assert some.missing == 8 and len(some.clip) == 4
    bake = shot.bake(clip, out=tmp_path / "stopped")
    assert (bake.layers[0]["baked"], bake.layers[0]["reused"]) == (8, 4)
    shot.bake(clip, out=tmp_path / "whole")
    assert stored(tmp_path / "stopped") == stored(tmp_path / "whole"), "as if it had never stopped"


def test_ctrl_c_ends_a_bake_after_the_frame_at_hand(tmp_path):
    # seconds of work, so that nobody comes too late to stop it
    shot, clip = ft.Shot.parse(CLOTH), sheet_clip(ft, side=41, frames=400)

    def press():
        while threading.main_thread().is_alive() and not list(tmp_path.rglob("frame-*.bin")):
            time.sleep(0.01)
        _thread.interrupt_main()

    # what a shell starts in the background ignores the key
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        shot.bake(clip, out=tmp_path)
    signal.signal(signal.SIGINT, before)
    there = len(shot.baked(clip, out=tmp_path).clip)
    assert 0 < there < 400


def test_other_threads_run_while_it_bakes(tmp_path):
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count, daemon=True)
    counter.start()
    began = time.monotonic()
    ft.Shot.parse(CLOTH).bake(sheet_clip(ft, frames=30), out=tmp_path)
    seconds = time.monotonic() - began
    done.set()
    counter.join()
    # 1 ms each, on a machine that may be busy
    assert counted[0] > 50 * seconds, (counted[0], seconds)


def test_frames_and_what_is_wrong_with_them(tmp_path):
    shot, clip = ft.Shot.parse(SMOOTH), sheet_clip(ft)
    assert shot.bake(clip, out=tmp_path, frames=(2, 5)).frames == (2, 5)
    assert len(shot.bake(clip, out=tmp_path, frames="0-3").clip) == 4
    with pytest.raises(ft.Error, match="the input has frames 0-11"):
        shot.bake(clip, out=tmp_path, frames="0-12")
    with pytest.raises(ft.Error):
        shot.bake(clip, out=tmp_path, frames="3-1")
    with pytest.raises(ft.Error):
        shot.bake(clip, out=tmp_path, threads=0)
    with pytest.raises(TypeError):
        shot.bake(clip, out=tmp_path, frames=7)
    with pytest.raises(TypeError):
        shot.bake("clip", out=tmp_path)


def test_two_bakes_at_once_in_one_folder_are_refused(tmp_path):
    shot, clip = ft.Shot.parse(CLOTH), sheet_clip(ft)
    caught = []

    def progress(event):
        if event.kind == "frame" and not caught:
            with pytest.raises(ft.Error, match="another bake is at work") as error:
                shot.bake(clip, out=tmp_path)
            caught.append(error.value)

    shot.bake(clip, out=tmp_path, progress=progress)
    assert "out=" in caught[0].help


def test_a_layer_that_fails_says_where(tmp_path):
    with pytest.raises(ft.Error) as caught:
        ft.Shot.parse(CLOTH.replace('"sheet"', '"shet"')).bake(sheet_clip(ft), out=tmp_path)
    assert caught.value.line == 5 and "did you mean `sheet`?" in caught.value.help


def test_a_report_is_there_without_its_file(tmp_path):
    bake = ft.Shot.parse(SMOOTH).bake(sheet_clip(ft), out=tmp_path)
    assert not (tmp_path / "report.json").exists() and bake.report["layers"][0]["kind"] == "smooth"
    bake = ft.Shot.parse(SMOOTH.replace("report = false", "report = true")).bake(sheet_clip(ft), out=tmp_path)
    there = json.loads((tmp_path / "report.json").read_text())
    assert bake.report["layers"][0]["figures"].keys() == there["layers"][0]["figures"].keys()
