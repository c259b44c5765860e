"""Clips from arrays and files, and what is refused."""

import gc
import os
import tracemalloc

import followthrough as ft
import numpy as np
import pytest
from common import sheet, sheet_clip


def test_what_goes_in_comes_out_to_the_bit():
    points, faces, top = sheet()
    clip = sheet_clip(ft)
    assert (clip.meshes, len(clip), clip.frame_rate) == (["sheet"], 12, 24.0)
    for frame in range(12):
        assert np.array_equal(clip.points("sheet")[frame], points[frame])
    assert clip.points()[3].dtype == np.float32 and clip.points(0).shape == (12, 81, 3)
    assert np.array_equal(np.asarray(clip.points()), points)
    assert np.array_equal(clip.points()[-3:], points[-3:]) and np.array_equal(clip.points()[::5], points[::5])
    assert [p.shape for p in clip.points()] == [(81, 3)] * 12
    counts, corners = clip.faces()
    assert np.array_equal(counts, [4] * 64) and np.array_equal(corners, faces.ravel())
    assert np.array_equal(clip.groups()["top"], top)
    again = ft.Clip.from_arrays({"sheet": points}, {"sheet": clip.faces()}, groups={"sheet": clip.groups()})
    assert ft.compare(clip, again)["topology"]["same"]


def test_every_layout_of_an_array_means_what_numpy_means():
    points, faces, _ = sheet()
    layouts = {
        "float64": points.astype("float64"),
        "fortran": np.asfortranarray(points),
        "strided": np.repeat(points, 2, axis=1)[:, ::2],
        "backwards": points[::-1].copy()[::-1],
        "transposed": np.ascontiguousarray(points.transpose(2, 1, 0)).transpose(2, 1, 0),
        "list": points.tolist(),
    }
    for name, array in layouts.items():
        clip = ft.Clip.from_arrays({"sheet": array}, {"sheet": faces.tolist()})
        assert np.array_equal(np.asarray(clip.points()), points), name


def test_an_array_that_is_changed_later_changes_no_clip():
    points, faces, _ = sheet()
    clip = ft.Clip.from_arrays({"sheet": points}, {"sheet": faces})
    before = points.copy()
    points += 1
    assert np.array_equal(np.asarray(clip.points()), before)


@pytest.mark.parametrize(
    ("points", "faces", "sentence"),
    [
        (np.zeros((2, 4, 3), dtype="int32"), [[0, 1, 2]], "an array of int32 instead of float32"),
        (np.zeros((2, 4, 3), dtype=">f4"), [[0, 1, 2]], "an array of >f4"),
        (np.zeros((2, 4, 3), dtype="complex64"), [[0, 1, 2]], "an array of complex64"),
        (np.zeros((2, 4, 2), dtype="float32"), [[0, 1, 2]], "the array has the shape (2, 4, 2)"),
        (np.zeros((12,), dtype="float32"), [[0, 1, 2]], "the array has the shape (12,)"),
        (np.zeros((0, 4, 3), dtype="float32"), [[0, 1, 2]], "the array has the shape (0, 4, 3)"),
        (np.zeros((2, 0, 3), dtype="float32"), [[0, 1, 2]], "the array has the shape (2, 0, 3)"),
        (np.full((2, 4, 3), np.nan, dtype="float32"), [[0, 1, 2]], "not a finite number"),
        (np.zeros((2, 4, 3)), [[0, 1, 4]], "face 0 uses a point beyond the 4 there are"),
        (np.zeros((2, 4, 3)), [[0, 1, -1]], "face 0 uses a point beyond the 4 there are"),
        (np.zeros((2, 4, 3)), [[0, 1]], "face 0 has 2 corners"),
        (np.zeros((2, 4, 3)), np.zeros((1, 3)), "float64 instead of whole numbers"),
        (np.zeros((2, 4, 3)), np.zeros(3, dtype=int), "the array has the shape (3,)"),
        (np.zeros((2, 4, 3)), (np.array([3]), np.array([0, 1])), "ask for more than the 2 corners"),
        (np.zeros((2, 4, 3)), (np.array([3]), np.array([0, 1, 2, 3])), "use 3 of 4 corners"),
        ("skirt", [[0, 1, 2]], "instead of float32"),
        ({}, [[0, 1, 2]], "instead of float32"),
    ],
)
def test_wrong_arrays_get_a_sentence(points, faces, sentence):
    with pytest.raises(ft.Error) as caught:
        ft.Clip.from_arrays({"m": points}, {"m": faces})
    assert sentence in str(caught.value), caught.value
    assert caught.value.what


def test_names_that_do_not_fit_are_told():
    points = np.zeros((1, 3, 3))
    with pytest.raises(ft.Error, match="there is no mesh `skrit`") as caught:
        ft.Clip.from_arrays({"skirt": points}, {"skrit": [[0, 1, 2]]})
    assert "did you mean `skirt`?" in caught.value.help
    with pytest.raises(ft.Error, match="has points, but no faces"):
        ft.Clip.from_arrays({"a": points, "b": points}, {"a": [[0, 1, 2]]})
    with pytest.raises(ft.Error, match="there is no mesh `skrit`"):
        ft.Clip.from_arrays({"skirt": points}, {"skirt": [[0, 1, 2]]}).points("skrit")
    with pytest.raises(ft.Error, match="mesh `b` has 3 frames, but `a` has 2"):
        ft.Clip.from_arrays({"a": np.zeros((2, 3, 3)), "b": np.zeros((3, 3, 3))}, {"a": [[0, 1, 2]], "b": [[0, 1, 2]]})
    with pytest.raises(ft.Error, match=r"\(3,\) is needed"):
        ft.Clip.from_arrays({"a": points}, {"a": [[0, 1, 2]]}, groups={"a": {"top": [1.0, 2.0]}})
    with pytest.raises(ft.Error, match="frames per second"):
        ft.Clip.from_arrays({"a": points}, {"a": [[0, 1, 2]]}, frame_rate=0)


def test_generators_are_pulled_and_not_gathered():
    points, faces, _ = sheet(side=60, frames=40)
    pulled = []

    def frames():
        for index, frame in enumerate(points):
            pulled.append(index)
            yield frame.copy()

    gc.collect()
    tracemalloc.start()
    clip = ft.Clip.from_arrays({"sheet": frames(), "floor": points[0]}, {"sheet": faces, "floor": faces})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pulled == list(range(40)) and len(clip) == 40
    # a frame is 43 kB; all of them would be 1.7 MB
    assert peak < 400_000, peak
    assert np.array_equal(np.asarray(clip.points("sheet")), points)
    assert np.array_equal(clip.points("floor")[39], points[0])


def test_generators_that_do_not_fit_are_told():
    faces = {"a": [[0, 1, 2]], "b": [[0, 1, 2]]}
    frame = np.zeros((3, 3))
    with pytest.raises(ft.Error, match="mesh `b` ends before frame 1"):
        ft.Clip.from_arrays({"a": iter([frame, frame]), "b": iter([frame])}, faces)
    with pytest.raises(ft.Error, match="mesh `b` has a frame 1"):
        ft.Clip.from_arrays({"a": iter([frame]), "b": iter([frame, frame])}, faces)
    with pytest.raises(ft.Error, match="same topology"):
        ft.Clip.from_arrays({"a": iter([frame, np.zeros((4, 3))])}, {"a": [[0, 1, 2]]})
    with pytest.raises(ft.Error, match="gave no frame"):
        ft.Clip.from_arrays({"a": iter([])}, {"a": [[0, 1, 2]]})

    def failing():
        yield frame
        raise ZeroDivisionError("of the generator")

    with pytest.raises(ZeroDivisionError, match="of the generator"):
        ft.Clip.from_arrays({"a": failing()}, {"a": [[0, 1, 2]]})


@pytest.mark.parametrize("ending", ["glb", "pc2", "mdd", "usdc", "usda", "usdz", "abc"])
def test_files_keep_every_point(tmp_path, ending):
    clip = sheet_clip(ft)
    files = clip.write(tmp_path / f"sheet.{ending}")
    assert files[0].is_file()
    back = ft.Clip.read(tmp_path / f"sheet.{ending}")
    distance = ft.compare(clip, back)["distance"]["max"]
    assert distance <= (1e-6 if ending in ("glb", "usda") else 0.0), distance


def test_files_that_are_not_there_get_a_sentence(tmp_path):
    with pytest.raises(ft.Error, match="there is no file") as caught:
        ft.Clip.read(tmp_path / "none.glb")
    assert caught.value.place.endswith("none.glb") and caught.value.help
    (tmp_path / "bad.glb").write_bytes(b"glTF\x02\0\0\0")
    with pytest.raises(ft.Error) as caught:
        ft.Clip.read(tmp_path / "bad.glb")
    assert caught.value.place.endswith("bad.glb")
    with pytest.raises(ft.Error, match="not a format we know"):
        sheet_clip(ft).write(tmp_path / "sheet.xyz")
    with pytest.raises(IndexError):
        sheet_clip(ft).points()[12]
    with pytest.raises(TypeError):
        sheet_clip(ft).points()["1"]


def test_a_still_clip_and_paths_of_every_kind(tmp_path):
    points, faces, _ = sheet()
    clip = ft.Clip.from_arrays({"sheet": points[0]}, {"sheet": faces}, 30)
    clip.write(os.fspath(tmp_path / "still.obj"))
    assert len(ft.Clip.read(os.fspath(tmp_path / "still.obj"))) == 1


def test_the_ground_bears_the_weight_of_a_walk():
    walk = ft.Clip.sample("walker")
    found = walk.ground_forces()
    force, place = found["force"], found["place"]
    assert force.shape == place.shape == (len(walk), len(found["feet"]), 3)
    up = force[:, :, 1].sum(axis=1).mean()
    assert abs(up / (9.81 * found["mass"]) - 1) < 0.2, up
    assert np.isfinite(place[force[:, :, 1] > 0.1 * 9.81 * found["mass"]]).all()
    with pytest.raises(ft.Error):
        sheet_clip(ft).ground_forces()
