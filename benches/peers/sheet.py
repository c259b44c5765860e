"""The sheet of s1-cloth, as every peer sees it: 2x2 m, 1 kg, two corners pinned, gravity in -z, no air, 24 fps, 2 s."""

import json

SIZE = 2.0
MASS = 1.0
GRAVITY = -9.81
FRAME_RATE = 24
FRAMES = 48


def points(cells):
    """Points of the grid, x fastest; the pinned ones are `pins(cells)`."""
    h = SIZE / cells
    return [(h * i, h * j, 0.0) for j in range(cells + 1) for i in range(cells + 1)]


def pins(cells):
    return [0, cells]


def quads(cells):
    side = cells + 1
    corner = [j * side + i for j in range(cells) for i in range(cells)]
    return [(k, k + 1, k + side + 1, k + side) for k in corner]


def triangles(cells):
    return [t for a, b, c, d in quads(cells) for t in ((a, b, c), (a, c, d))]


def tell(setting, cells, seconds, at):
    """Prints what is compared: time per frame, and stretch of warp and weft edges and the lowest point at the end."""
    side = cells + 1
    edges = [(j * side + i, j * side + i + 1) for j in range(side) for i in range(cells)]
    edges += [(j * side + i, (j + 1) * side + i) for j in range(cells) for i in range(side)]
    length = max(sum((p - q) ** 2 for p, q in zip(at[a], at[b])) for a, b in edges) ** 0.5
    result = {
        "setting": setting,
        "cells": cells,
        "ms_per_frame": 1e3 * seconds / FRAMES,
        "stretch_at_the_end": float(length * cells / SIZE - 1.0),
        "lowest_point": float(min(p[2] for p in at)),
    }
    print(json.dumps(result), flush=True)
