"""The picture of docs/blender.md: a tablecloth in Blender before and after a bake by the extension, rendered by Cycles.

    python blender/picture.py followthrough.zip docs/images/blender.png

Needs Blender's module (`pip install bpy`); a minute on two cores.
"""

import os
import sys
import tempfile

import bpy
import bmesh  # noqa: I001  (Blender brings it)
import numpy as np

SIDE, FRAMES, SIZE = 51, 30, (480, 400)


def installed(archive):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(filepath=os.path.abspath(archive), repo="user_default", enable_on_install=True)


def painted(obj, colour, roughness):
    material = bpy.data.materials.new(obj.name)
    material.use_nodes = True
    surface = material.node_tree.nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value, surface.inputs["Roughness"].default_value = (*colour, 1.0), roughness
    obj.data.materials.append(material)
    obj.data.polygons.foreach_set("use_smooth", [True] * len(obj.data.polygons))


def made(name, make):
    shape, mesh = bmesh.new(), bpy.data.meshes.new(name)
    make(shape)
    shape.to_mesh(mesh)
    shape.free()
    return bpy.data.objects.new(name, mesh)


def staged(folder):
    """A cloth above a ball, a floor, light and a camera; gives the cloth."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    cloth = made("cloth", lambda shape: bmesh.ops.create_grid(shape, x_segments=SIDE - 1, y_segments=SIDE - 1, size=0.7))
    cloth.location = (0, 0, 0.95)
    ball = made("ball", lambda shape: bmesh.ops.create_uvsphere(shape, u_segments=48, v_segments=24, radius=0.42))
    ball.location = (0, 0, 0.5)
    floor = made("floor", lambda shape: bmesh.ops.create_grid(shape, x_segments=1, y_segments=1, size=60))
    things = bpy.data.collections.new("in the way")
    scene.collection.children.link(things)
    things.objects.link(ball)
    for obj, colour, roughness in ((cloth, (0.75, 0.12, 0.08), 0.55), (ball, (0.7, 0.7, 0.72), 0.3), (floor, (0.55, 0.56, 0.6), 0.9)):
        painted(obj, colour, roughness)
        if obj is not ball:
            scene.collection.objects.link(obj)
    for name, place, watts in (("key", (2.5, -2.5, 3.5), 110), ("fill", (-3, -1.5, 2), 30)):
        light = bpy.data.lights.new(name, "AREA")
        light.energy, light.size = watts, 2.0
        lamp = bpy.data.objects.new(name, light)
        lamp.location = place
        aimed(lamp, (0, 0, 0.5))
        scene.collection.objects.link(lamp)
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.location, camera.data.lens = (1.8, -2.6, 1.75), 55
    aimed(camera, (0, 0, 0.5))
    scene.collection.objects.link(camera)
    scene.camera = camera
    world = bpy.data.worlds.new("world")
    scene.world = world
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.16, 0.18, 0.22, 1)
    bpy.context.view_layer.objects.active = cloth
    own = cloth.followthrough
    own.folder, own.kind, own.colliders = folder, "cloth", things
    own.of_cloth.material = "cotton"
    return cloth


def aimed(obj, target):
    from mathutils import Vector

    obj.rotation_euler = (Vector(target) - obj.location).to_track_quat("-Z", "Y").to_euler()


def rendered(path):
    scene = bpy.context.scene
    scene.render.engine, scene.cycles.samples, scene.cycles.use_denoising = "CYCLES", 96, True
    scene.cycles.seed = 1
    scene.render.resolution_x, scene.render.resolution_y = SIZE
    scene.render.filepath, scene.render.image_settings.file_format = path, "PNG"
    scene.view_settings.view_transform = "Standard"
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(path)
    pixels = np.empty(4 * SIZE[0] * SIZE[1], dtype="float32")
    image.pixels.foreach_get(pixels)
    return pixels.reshape(SIZE[1], SIZE[0], 4)


def main(archive, out):
    installed(archive)
    with tempfile.TemporaryDirectory() as folder:
        cloth = staged(folder)
        assert bpy.ops.followthrough.bake() == {"FINISHED"}, cloth.followthrough.status
        bpy.context.scene.frame_set(FRAMES)
        both = []
        for shown in (False, True):
            cloth.modifiers["followthrough"].show_viewport = cloth.modifiers["followthrough"].show_render = shown
            both.append(rendered(os.path.join(folder, f"{shown}.png")))
    picture = np.concatenate(both, axis=1)
    image = bpy.data.images.new("both", picture.shape[1], picture.shape[0])
    image.pixels.foreach_set(picture.ravel())
    image.filepath_raw, image.file_format = os.path.abspath(out), "PNG"
    image.save()


if __name__ == "__main__":
    main(*sys.argv[1:])
