"""What a game runs, as arrays: flesh and operators."""

import subprocess
import sys

import followthrough as ft
import numpy as np
import pytest
from common import sheet

SKELETON = """
[input]
sample = "quadruped"
frames = "0-11"

[[layer]]
kind = "skeleton"

[output]
files = []
report = false
"""

MORPH = """
[input]
sample = "arm"
frames = "0-11"

[[layer]]
kind = "morph"
tets = 600
modes = 12

[[layer.targets]]
name = "slack"
turns = {}

[[layer.targets]]
name = "flexed"
shape = "bulged"
turns = { elbow = [0.0, 0.0, 120.0] }

[output]
files = []
report = false
"""

TRAINING = """
kind = "upsample"
coarse = { file = "sheet.usdc" }
subdivide = 2
follow = { group = "top" }

[[learn]]
file = "sheet.usdc"
"""


def test_flesh_is_packed_and_played(tmp_path):
    shot = ft.Shot.parse(SKELETON)
    pack = shot.pack()
    (tmp_path / "q.flesh").write_bytes(pack)
    clip = ft.Clip.sample("quadruped")
    player = ft.Player.read(tmp_path / "q.flesh")
    assert set(player.joints) <= set(clip.joints)
    order = [clip.joints.index(joint) for joint in player.joints]
    for frame in range(12):
        player.step(clip.joint_matrices(frame)[order], 0.0 if frame == 0 else 1 / clip.frame_rate)
        surface = player.surface()
        assert np.isfinite(surface).all()
    assert surface.shape == (sum(count for _, count in player.meshes), 3)
    # near the animation, and not on it
    skin = np.concatenate([clip.points(mesh)[11] for mesh, _ in player.meshes])
    away = np.linalg.norm(surface - skin, axis=1)
    size = np.ptp(skin, axis=0).max()
    assert 1e-6 * size < away.max() < 0.5 * size, (away.max(), size)
    again = ft.Player(pack)
    again.teleport(clip.joint_matrices(0)[order])
    with pytest.raises(ft.Error, match="the array has the shape"):
        again.step(np.eye(4), 0.1)
    with pytest.raises(ft.Error):
        ft.Player(pack[: len(pack) // 2])
    with pytest.raises(ft.Error, match="no layer of the shot can be packed"):
        ft.Shot.parse('layer = [{ kind = "smooth" }]').pack(clip)


def test_a_morph_is_played(tmp_path):
    """Real time beside the bake: the same targets at every frame, points within what steps of another length make."""
    shot = ft.Shot.parse(MORPH)
    bake = shot.bake(out=tmp_path)
    clip, player = bake.input, shot.player()
    assert player.joints == clip.joints and player.meshes == [("arm", len(clip.rest("arm")))]
    figures = bake.report["layers"][0]["figures"]
    size = np.ptp(clip.rest("arm"), axis=0).max()
    moved = 0.0
    for frame in range(12):
        player.step(clip.joint_matrices(frame), 0.0 if frame == 0 else 1 / clip.frame_rate)
        for name, weight in player.weights.items():
            assert abs(weight - figures[f"targets/{name}"]["values"][frame]) < 1e-6, (frame, name)
        away = np.abs(player.surface() - bake.clip.points("arm")[frame]).max()
        assert away < 0.01 * size, (frame, away)
        moved = max(moved, np.abs(player.surface() - clip.points("arm")[frame]).max())
    assert moved > 0.01 * size, "it is not the animation"
    # what a game loads is the same
    packed = ft.Player(shot.pack())
    assert packed.joints == player.joints and packed.meshes == player.meshes
    packed.teleport(clip.joint_matrices(11))
    assert np.allclose(list(packed.weights.values()), list(player.weights.values()), atol=1e-9)
    still = player.surface()
    player.push(int(np.argmax(still[:, 0])), (50.0, 0.0, 0.0))
    player.step(clip.joint_matrices(11), 0.05)
    with pytest.raises(ft.Error, match="cannot be pinned"):
        player.pin(0, (0, 0, 0))
    with pytest.raises(ft.Error, match="no channel `smile`"):
        player.step(clip.joint_matrices(11), 0.05, {"smile": 1.0})
    with pytest.raises(ft.Error, match="without modes"):
        shot.set("layer[0].modes", 0).player()
    with pytest.raises(ft.Error, match="no layer of the shot can be played"):
        ft.Shot.parse('layer = [{ kind = "smooth" }]').player(clip)


def test_an_operator_gives_fine_points(operator_file):
    operator = ft.Operator.read(operator_file)
    coarse = operator.coarse_rest
    fine = operator.apply(coarse)
    assert fine.shape == operator.fine_rest.shape
    assert np.abs(fine - operator.fine_rest).max() < 0.05 * np.ptp(coarse, axis=0).max()
    moved = np.stack([coarse, coarse + np.float32([1, 0, 0])])
    both = operator.apply(moved)
    assert np.abs(both[1] - both[0] - [1, 0, 0]).max() < 1e-5 and np.array_equal(both[0], fine)
    assert operator.fine_triangles.max() == len(fine) - 1
    with pytest.raises(ft.Error, match="coarse points: the array has the shape"):
        operator.apply(coarse[1:])


@pytest.fixture
def operator_file(tmp_path):
    """Learnt from a sheet of 25 points that swings, in a second."""
    points, faces, top = sheet(side=5, frames=8)
    triangles = np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])
    clip = ft.Clip.from_arrays({"sheet": points}, {"sheet": triangles}, groups={"sheet": {"top": top}})
    clip.write(tmp_path / "sheet.usdc")
    (tmp_path / "training.toml").write_text(TRAINING)
    words = [sys.executable, "-m", "followthrough", "train", "training.toml", "-o", "sheet.ftop", "--quick"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "sheet.ftop"


def test_what_is_no_operator_is_told(tmp_path):
    (tmp_path / "bad.ftop").write_bytes(b"no operator")
    with pytest.raises(ft.Error, match="not an operator file") as caught:
        ft.Operator.read(tmp_path / "bad.ftop")
    assert caught.value.place.endswith("bad.ftop")
