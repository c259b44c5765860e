"""The falling sheet in Blender's cloth: 2x2 m, 1 kg, two corners pinned, no air, 24 fps, 2 s.

Prints one JSON object per setting and resolution. Two settings: the defaults that artists meet, and the quality and
stiffness at which stretch comes near ours.
"""

import json
import sys
import time

import bpy

SETTINGS = {"default": (5, 15.0), "stiff": (20, 1000.0)}


def sheet(cells):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    side = cells + 1
    h = 2.0 / cells
    points = [(h * i, h * j, 0.0) for j in range(side) for i in range(side)]
    faces = [
        (j * side + i, j * side + i + 1, (j + 1) * side + i + 1, (j + 1) * side + i)
        for j in range(cells)
        for i in range(cells)
    ]
    mesh = bpy.data.meshes.new("sheet")
    mesh.from_pydata(points, [], faces)
    thing = bpy.data.objects.new("sheet", mesh)
    bpy.context.scene.collection.objects.link(thing)
    thing.vertex_groups.new(name="pins").add([0, cells], 1.0, "REPLACE")
    return thing


def run(cells, quality, stiffness):
    thing = sheet(cells)
    scene = bpy.context.scene
    scene.render.fps = 24
    scene.gravity = (0.0, 0.0, -9.81)
    scene.frame_start, scene.frame_end = 1, 49
    modifier = thing.modifiers.new("cloth", "CLOTH")
    settings = modifier.settings
    settings.quality = quality
    settings.mass = 1.0 / (cells + 1) ** 2
    settings.tension_stiffness = stiffness
    settings.compression_stiffness = stiffness
    settings.air_damping = 0.0
    settings.vertex_group_mass = "pins"
    modifier.collision_settings.use_collision = False
    modifier.collision_settings.use_self_collision = False
    modifier.point_cache.frame_end = 49
    scene.frame_set(1)
    start = time.perf_counter()
    for frame in range(2, 50):
        scene.frame_set(frame)
    seconds = time.perf_counter() - start
    shape = thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    at = [vertex.co.copy() for vertex in shape.vertices]
    rest = 2.0 / cells
    side = cells + 1
    warp = ((at[j * side + i] - at[j * side + i + 1]).length for j in range(side) for i in range(cells))
    weft = ((at[j * side + i] - at[(j + 1) * side + i]).length for j in range(cells) for i in range(side))
    return {
        "ms_per_frame": 1e3 * seconds / 48,
        "stretch_at_the_end": max(max(warp), max(weft)) / rest - 1.0,
        "lowest_point": min(point.z for point in at),
    }


for name, (quality, stiffness) in SETTINGS.items():
    for cells in map(int, sys.argv[1:]):
        print(json.dumps({"setting": name, "cells": cells, **run(cells, quality, stiffness)}), flush=True)
