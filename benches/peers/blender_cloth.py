"""The falling sheet in Blender's cloth: usage blender_cloth.py CELLS...

Two settings: the defaults that artists meet, and the quality and stiffness at which stretch comes near ours.
"""

import sys
import time

import bpy

import sheet

SETTINGS = {"default": (5, 15.0), "stiff": (20, 1000.0)}


def run(setting, cells):
    quality, stiffness = SETTINGS[setting]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("sheet")
    mesh.from_pydata(sheet.points(cells), [], sheet.quads(cells))
    thing = bpy.data.objects.new("sheet", mesh)
    scene = bpy.context.scene
    scene.collection.objects.link(thing)
    thing.vertex_groups.new(name="pins").add(sheet.pins(cells), 1.0, "REPLACE")
    scene.render.fps = sheet.FRAME_RATE
    scene.gravity = (0.0, 0.0, sheet.GRAVITY)
    scene.frame_start, scene.frame_end = 1, sheet.FRAMES + 1
    modifier = thing.modifiers.new("cloth", "CLOTH")
    settings = modifier.settings
    settings.quality = quality
    settings.mass = sheet.MASS / (cells + 1) ** 2
    settings.tension_stiffness = stiffness
    settings.compression_stiffness = stiffness
    settings.air_damping = 0.0
    settings.vertex_group_mass = "pins"
    modifier.collision_settings.use_collision = False
    modifier.collision_settings.use_self_collision = False
    modifier.point_cache.frame_end = sheet.FRAMES + 1
    scene.frame_set(1)
    start = time.perf_counter()
    for frame in range(sheet.FRAMES):
        scene.frame_set(frame + 2)
    seconds = time.perf_counter() - start
    shape = thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    sheet.tell(setting, cells, seconds, [tuple(vertex.co) for vertex in shape.vertices])


for setting in SETTINGS:
    for cells in map(int, sys.argv[1:]):
        run(setting, cells)
