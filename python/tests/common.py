"""What the tests share: a sheet that swings, and shots that are quick to bake."""

import numpy as np

CLOTH = """
[[layer]]
kind = "cloth"
name = "fabric"
mesh = "sheet"
material = "cotton"
follow = { group = "top" }

[output]
files = []
report = false
"""

SMOOTH = """
[[layer]]
kind = "smooth"
window = 0.2

[output]
files = []
report = false
"""


def sheet(side=9, frames=12):
    """Points over time, faces and the group of the upper edge of a square sheet that is swung by it."""
    across, down = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
    rest = np.stack([across, 1 - down, 0 * across], axis=-1).reshape(-1, 3)
    swing = 0.1 * np.sin(np.arange(frames) / 3)
    points = (rest + swing[:, None, None] * np.array([0.0, 0.0, 1.0])).astype("float32")
    corner = np.arange(side * side).reshape(side, side)
    faces = np.stack([corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]], axis=-1).reshape(-1, 4)
    return points, faces, (rest[:, 1] > 0.999).astype("float32")


def sheet_clip(ft, side=9, frames=12):
    points, faces, top = sheet(side, frames)
    return ft.Clip.from_arrays({"sheet": points}, {"sheet": faces}, groups={"sheet": {"top": top}})
