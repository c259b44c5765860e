"""The extension inside Blender (`bpy` from PyPI): installed from its archive, a pinned sheet under an animated parent is baked, stopped,
gone on with and read back; then it is removed, and nothing of it is left.

    FOLLOWTHROUGH_EXTENSION=followthrough.zip python -m pytest blender/tests
"""

import math
import os
import time

import numpy as np
import pytest

bpy = pytest.importorskip("bpy", reason="Blender's module is not installed: pip install bpy")

ARCHIVE = os.environ.get("FOLLOWTHROUGH_EXTENSION")
MODULE = "bl_ext.user_default.followthrough"


@pytest.fixture(scope="module")
def addon():
    """The extension, installed as a user does it."""
    if not ARCHIVE:
        pytest.skip("FOLLOWTHROUGH_EXTENSION names no archive: python blender/build.py WHEEL OUT.zip")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(filepath=os.path.abspath(ARCHIVE), repo="user_default", enable_on_install=True)
    assert MODULE in bpy.context.preferences.addons
    import importlib

    yield importlib.import_module(MODULE)


@pytest.fixture
def scene(addon, tmp_path):
    """A sheet of 9 × 9 points in centimetres, held at its upper edge, under a parent that moves, turns and is scaled."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    scene = bpy.context.scene
    scene.unit_settings.scale_length = 0.01
    scene.frame_start, scene.frame_end = 5, 24
    scene.render.fps, scene.render.fps_base = 24, 1.0
    side = 9
    across, down = np.meshgrid(np.linspace(-50, 50, side), np.linspace(0, -100, side))
    points = np.stack([across, 0 * across, down], axis=-1).reshape(-1, 3)
    corner = np.arange(side * side).reshape(side, side)
    faces = np.stack([corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]], axis=-1).reshape(-1, 4)
    mesh = bpy.data.meshes.new("Sheet.001 (new)")
    mesh.from_pydata(points.tolist(), [], faces.tolist())
    sheet = bpy.data.objects.new("Sheet.001 (new)", mesh)
    scene.collection.objects.link(sheet)
    sheet.vertex_groups.new(name="other")
    sheet.vertex_groups.new(name="Upper edge").add(list(range(side)), 1.0, "REPLACE")
    parent = bpy.data.objects.new("Parent", None)
    scene.collection.objects.link(parent)
    sheet.parent = parent
    for frame, turn in ((5, 0.0), (24, math.radians(70))):
        parent.location, parent.rotation_euler, parent.scale = (4.0 * (frame - 5), 0, 150), (0, 0, turn), (1.0, 1.2, 1.0)
        for path in ("location", "rotation_euler", "scale"):
            parent.keyframe_insert(path, frame=frame)
    bpy.context.view_layer.objects.active = sheet
    own = sheet.followthrough
    own.folder = str(tmp_path)
    own.kind = "cloth"
    own.of_cloth.material = "silk"
    own.of_cloth.follow = "Upper edge"
    own.of_cloth.wind__speed = 3.0
    own.of_cloth.wind__direction = (0.0, 1.0, 0.0)
    return scene, sheet


def world_points(scene, obj, frame):
    scene.frame_set(frame)
    shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    numbers = np.empty(3 * len(shown.data.vertices), dtype="float32")
    shown.data.vertices.foreach_get("co", numbers)
    matrix = np.array(shown.matrix_world)
    return numbers.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def baked_points(addon, sheet):
    """The bake as followthrough has it, in Blender's axes and units."""
    import followthrough as ft

    folder = addon.exchange.folder_of(sheet)
    clip = ft.Shot.read(folder / "shot.toml").baked(out=folder / "out").clip
    return [addon.exchange.z_up(points.astype("float64")) / 0.01 for points in clip.points("target")]


def test_dials_are_those_of_the_schema(addon):
    import followthrough as ft

    schema = ft.schema()
    kinds = {entry["properties"]["kind"]["const"] for entry in schema["properties"]["layer"]["items"]["oneOf"]}
    assert {kind for kind, _, _ in addon.properties.layer_kinds()} == kinds
    dials = {dial.key: dial for dial in addon.properties.dials_of("cloth")}
    assert dials["follow"].kind == "group" and dials["bending"].kind == "choice"
    assert dials["wind.speed"].default == 0.0 and dials["contact.friction"].default == 0.4
    assert dials["gravity"].is_turned and dials["stretch_warp"].may_be_absent


def test_a_bake_comes_back_to_the_point(addon, scene, tmp_path):
    scene, sheet = scene
    before = [world_points(scene, sheet, frame) for frame in range(5, 25)]
    scene.frame_set(9)
    assert bpy.ops.followthrough.bake() == {"FINISHED"}
    assert scene.frame_current == 9
    assert sheet.followthrough.status == "20 frames are baked"
    baked = baked_points(addon, sheet)
    assert len(baked) == 20
    edge = slice(0, 9)
    for frame in range(5, 25):
        shown = world_points(scene, sheet, frame)
        # a millionth of the sheet's metre; Blender's own numbers are of single precision
        assert np.abs(shown - baked[frame - 5]).max() * 0.01 < 1e-6, frame
        assert np.abs(shown[edge] - before[frame - 5][edge]).max() * 0.01 < 1e-6, "what is held is held"
    assert np.abs(baked[-1] - before[-1]).max() * 0.01 > 0.01, "and the rest moves"
    # gravity is along Blender's Z, wind along its Y
    assert (baked[-1] - before[-1])[-9:, 1].mean() > 0
    # off is off
    sheet.modifiers["followthrough"].show_viewport = False
    assert np.array_equal(world_points(scene, sheet, 24), before[-1])
    sheet.modifiers["followthrough"].show_viewport = True
    # once more: nothing is left to bake, and the result is not taken for the input
    assert bpy.ops.followthrough.bake() == {"FINISHED"}
    assert np.array_equal(baked_points(addon, sheet)[-1], baked[-1])
    assert bpy.ops.followthrough.remove() == {"FINISHED"}
    assert np.array_equal(world_points(scene, sheet, 24), before[-1])


def test_a_bake_is_stopped_and_goes_on(addon, scene):
    scene, sheet = scene
    # two hundred frames of so small a sheet are through before anybody can stop them
    scene.frame_end = 1500
    folder = addon.exchange.folder_of(sheet)
    addon.exchange.write_input(scene, sheet, folder)
    job = addon.job.Job(folder)
    while job.done < 3 and not job.poll():
        time.sleep(0.05)
    assert "left" in job.status, job.status
    job.stop()
    job.wait()
    assert job.was_stopped and job.problem is None
    there = addon.exchange.read_result(scene, sheet, folder)
    assert 3 <= there < 1496
    assert np.abs(world_points(scene, sheet, 5 + there - 1) - baked_points(addon, sheet)[-1]).max() * 0.01 < 1e-6
    assert bpy.ops.followthrough.bake() == {"FINISHED"}
    assert len(baked_points(addon, sheet)) == 1496
    assert sheet.followthrough.status.startswith(f"1496 frames are baked, {there} were there"), sheet.followthrough.status


def test_colliders_are_in_the_way(addon, scene):
    scene, sheet = scene
    ball = bpy.data.meshes.new("Ball")
    import bmesh

    shape = bmesh.new()
    bmesh.ops.create_icosphere(shape, subdivisions=3, radius=30.0)
    shape.to_mesh(ball)
    shape.free()
    ball = bpy.data.objects.new("Ball", ball)
    ball.location = (0, 34, 100)
    collection = bpy.data.collections.new("Things in the way")
    scene.collection.children.link(collection)
    collection.objects.link(ball)
    sheet.parent = None
    sheet.location = (0, 0, 150)
    sheet.followthrough.of_cloth.wind__speed = 6.0

    def nearest():
        assert bpy.ops.followthrough.bake() == {"FINISHED"}, sheet.followthrough.status
        return min(np.linalg.norm(points - np.array(ball.location), axis=1).min() for points in baked_points(addon, sheet))

    # the ball's points lie on a radius of 30, its faces a little within
    without = nearest()
    sheet.followthrough.colliders = collection
    assert without < 27.0 and nearest() > 29.0, without


def test_what_cannot_be_is_told(addon, scene):
    scene, sheet = scene
    sheet.followthrough.of_cloth.follow = "none"
    with pytest.raises(RuntimeError, match="no vertex group 'none'"):
        bpy.ops.followthrough.bake()
    sheet.followthrough.of_cloth.follow = "Upper edge"
    sheet.followthrough.of_cloth.material = "sllk"
    with pytest.raises(RuntimeError, match="silk"):
        bpy.ops.followthrough.bake()
    sheet.followthrough.of_cloth.material = "silk"
    own = sheet.followthrough
    own.use_range, own.frame_start, own.frame_end = True, 5, 4
    with pytest.raises(RuntimeError, match="the end lies before the start"):
        bpy.ops.followthrough.bake()
    assert sheet.name_full not in addon.job.jobs


def test_removing_it_leaves_nothing(addon):
    names = lambda: {name for name in dir(bpy.types) if "followthrough" in name.lower()}
    assert names()
    bpy.ops.preferences.addon_disable(module=MODULE)
    assert not names() and not hasattr(bpy.types.Object, "followthrough")
    assert "followthrough" not in dir(bpy.ops) and not addon.job.jobs
