"""Blender (`bpy` from PyPI) as a judge: our USD, Alembic and GLB files opened by it, and FBX files made by it of a sample of ours.

    judge_blender.py check FILE.pc2 RATE FILE.usdc|.usda|.abc …    every point of every frame, to 1e-6 of the size
    judge_blender.py play FILE.pc2 RATE FILE.glb                  the same for a GLB, rigs and shape keys played by Blender, to 1e-5
    judge_blender.py same FRAMES RATE IN.glb OUT.glb              Blender shows the same of both, to 1e-6
    judge_blender.py make FOLDER FILE.usdc                        FBX files, each with a PC2 of what Blender shows

What Blender shows is in metres with Z up; a PC2 of ours has Y up.
"""

import math
import sys
from pathlib import Path

import bpy
import numpy as np
from judge_caches import read_pc2, write_pc2
from mathutils.kdtree import KDTree

FRAMES = 12


def empty(rate=24.0):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    render = bpy.context.scene.render
    render.fps, render.fps_base = round(rate), round(rate) / rate


def shown(frame, objects=None):
    """The points of all meshes at a frame, in metres and Y up."""
    bpy.context.scene.frame_set(frame)
    graph = bpy.context.evaluated_depsgraph_get()
    found = []
    for obj in objects or [obj for obj in bpy.context.scene.objects if obj.type == "MESH"]:
        own = obj.evaluated_get(graph)
        numbers = np.empty(3 * len(own.data.vertices), np.float32)
        own.data.vertices.foreach_get("co", numbers)
        matrix = np.array(own.matrix_world)
        points = numbers.reshape(-1, 3).astype(float) @ matrix[:3, :3].T + matrix[:3, 3]
        found.append(np.stack([points[:, 0], points[:, 2], -points[:, 1]], -1))
    return np.concatenate(found)


def check(reference, rate, path):
    expected = read_pc2(reference)
    empty(rate)
    if path.suffix == ".abc":
        bpy.ops.wm.alembic_import(filepath=str(path), set_frame_range=True)
    else:
        bpy.ops.wm.usd_import(filepath=str(path), set_frame_range=True, import_shapes=False, import_skeletons=False)
    size, worst = float(np.abs(expected).max()), 0.0
    meshes = [obj for obj in bpy.context.scene.objects if obj.type == "MESH"]
    first = bpy.context.scene.frame_start
    for index, answer in enumerate(expected):
        found = shown(first + index, meshes)
        assert found.shape == answer.shape, f"{path}: {found.shape} points, {answer.shape} were expected"
        worst = max(worst, float(np.abs(found - answer).max()))
    assert worst <= 1e-6 * size, f"{path}: {worst} apart, size {size}"
    print(f"{path.name}: {len(expected)} frames agree in Blender, {worst / size:.1e} of the size apart")


def play(reference, rate, path):
    """Vertices of a GLB are split along seams, and Blender has its own order: every one of its vertices must go the way of one of our points,
    and every point of ours must be there."""
    expected = read_pc2(reference)
    gap = both_ways(played(path, rate, len(expected)), expected, 1e-5, path)
    print(f"{path.name}: {len(expected)} frames agree in Blender, {gap:.1e} of the size apart")


def same(frames, rate, source, path):
    """What came in as GLB and went out: where Blender reads a file in its own way, it reads both so."""
    gap = both_ways(*(played(file, rate, frames) for file in (path, source)), 1e-6, path)
    print(f"{path.name}: Blender shows {frames} frames as it shows {source.name}'s, {gap:.1e} of the size apart")


def played(path, rate, frames):
    """The points of all meshes of a GLB, frame after frame."""
    empty(rate)
    bpy.ops.import_scene.gltf(filepath=str(path))
    # a bone's shape is a mesh, too
    shapes = {bone.custom_shape for rig in bpy.data.objects if rig.type == "ARMATURE" for bone in rig.pose.bones}
    meshes = [obj for obj in bpy.context.scene.objects if obj.type == "MESH" and obj not in shapes]
    found = np.array([shown(index, meshes) for index in range(frames)])
    still = frames == 1 or not bpy.data.actions
    assert still or np.ptp(found, axis=0).max() > 1e-3 * np.abs(found).max(), f"{path}: nothing moves in Blender"
    return found


def both_ways(found, expected, share, path):
    size = float(np.abs(expected).max())
    return max(apart(found, expected, share * size, path), apart(expected, found, share * size, path)) / size


def apart(ways, others, allowed, path):
    """How far the ways of points are at most from the nearest of other ways."""
    # in the frame in which most points lie by themselves
    spread = [len(np.unique(np.round(frame / (4 * allowed)), axis=0)) for frame in others]
    frame = int(np.argmax(spread))
    tree = KDTree(others.shape[1])
    for index, place in enumerate(others[frame]):
        tree.insert(place, index)
    tree.balance()
    worst = 0.0
    for point in range(ways.shape[1]):
        near = [index for _, index, _ in tree.find_range(ways[frame, point], 2 * allowed)]
        assert near, f"{path}: point {point} is nowhere at frame {frame}: {tree.find(ways[frame, point])}"
        gaps = np.abs(others[:, near] - ways[:, point, None]).max((0, 2))
        assert gaps.min() <= allowed, f"{path}: point {point} goes another way, {gaps.min()} m apart"
        worst = max(worst, float(gaps.min()))
    return worst


def rig(mesh):
    """Three bones along the mesh that bend, two shapes that come and go, under a parent that moves, turns and is scaled."""
    points = np.array([vertex.co for vertex in mesh.data.vertices])
    low, high = points.min(0), points.max(0)
    along = int(np.argmax(high - low))
    share = (points[:, along] - low[along]) / (high[along] - low[along])
    centre = 0.5 * (low + high)

    armature = bpy.data.objects.new("rig", bpy.data.armatures.new("rig"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    before = None
    for number in range(3):
        bone = armature.data.edit_bones.new(f"bone {number}")
        for end, at in (("head", number / 3), ("tail", (number + 1) / 3)):
            place = centre.copy()
            place[along] = low[along] + at * (high[along] - low[along])
            setattr(bone, end, place)
        bone.parent, before = before, bone
    bpy.ops.object.mode_set(mode="OBJECT")
    for number in range(3):
        group = mesh.vertex_groups.new(name=f"bone {number}")
        weights = np.clip(1.5 - np.abs(3 * share - 0.5 - number), 0, 1)
        for point, weight in enumerate(weights):
            if weight > 0:
                group.add([point], float(weight), "REPLACE")
    mesh.shape_key_add(name="Basis")
    for name, sculpt in (("swell", 0.15 * (points - centre)), ("lean", 0.2 * share[:, None] * (high - low)[[1, 2, 0]])):
        key = mesh.shape_key_add(name=name)
        key.data.foreach_set("co", (points + sculpt).astype(np.float32).ravel())
        key.slider_max = 1.0
        for frame, value in ((1, 0.0), (5, 1.0 if name == "swell" else 0.25), (FRAMES, 0.5)):
            key.value = value
            key.keyframe_insert("value", frame=frame)
    mesh.modifiers.new("Armature", "ARMATURE").object = armature
    mesh.parent = armature
    for number in range(3):
        pose = armature.pose.bones[f"bone {number}"]
        pose.rotation_mode = "XYZ"
        for frame in (1, 6, FRAMES):
            pose.rotation_euler = (0.05 * frame, 0.03 * number * frame, -0.04 * frame)
            pose.keyframe_insert("rotation_euler", frame=frame)
    for frame in (1, FRAMES):
        armature.location, armature.rotation_euler = (0.1 * frame, -0.2, 0.3), (0, 0, 0.08 * frame)
        armature.keyframe_insert("location", frame=frame)
        armature.keyframe_insert("rotation_euler", frame=frame)
    return armature


def make(folder, source):
    """FBX by Blender: in metres and centimetres, Y and Z up, binary as Blender writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {
        "plain": {},
        "z_up": {"axis_forward": "Y", "axis_up": "Z", "bake_space_transform": False},
        "metres": {"apply_scale_options": "FBX_SCALE_ALL", "global_scale": 1.0},
    }
    for name, options in kinds.items():
        empty()
        bpy.ops.wm.usd_import(filepath=str(source), import_shapes=False, import_skeletons=False)
        scene = bpy.context.scene
        meshes = [obj for obj in scene.objects if obj.type == "MESH"]
        scene.frame_set(scene.frame_start)
        graph = bpy.context.evaluated_depsgraph_get()
        still = bpy.data.meshes.new_from_object(meshes[0].evaluated_get(graph))
        still.transform(meshes[0].matrix_world)
        for obj in list(scene.objects):
            bpy.data.objects.remove(obj)
        mesh = bpy.data.objects.new("body", still)
        scene.collection.objects.link(mesh)
        scene.frame_start, scene.frame_end = 1, FRAMES
        armature = rig(mesh)
        if name == "z_up":
            armature.scale = (1.5, 1.5, 1.5)
        answer = [shown(frame, [mesh]) for frame in range(1, FRAMES + 1)]
        moved = max(float(np.abs(now - answer[0]).max()) for now in answer)
        assert moved > 0.1 * float(np.abs(answer[0]).max()), "nothing moves"
        path = folder / f"{name}.fbx"
        bpy.ops.export_scene.fbx(
            filepath=str(path), use_mesh_modifiers=False, add_leaf_bones=False, bake_anim_simplify_factor=0.0,
            bake_anim_use_all_actions=False, bake_anim_use_nla_strips=False, mesh_smooth_type="OFF", **options,
        )
        write_pc2(path.with_suffix(".expected.pc2"), np.array(answer))
        print(f"{path.name}: {len(answer[0])} points, {math.ceil(path.stat().st_size / 1000)} kB")


def main():
    if sys.argv[1] == "check":
        for path in sys.argv[4:]:
            check(sys.argv[2], float(sys.argv[3]), Path(path).resolve())
    elif sys.argv[1] == "play":
        for path in sys.argv[4:]:
            play(sys.argv[2], float(sys.argv[3]), Path(path).resolve())
    elif sys.argv[1] == "same":
        same(int(sys.argv[2]), float(sys.argv[3]), *(Path(path).resolve() for path in sys.argv[4:]))
    elif sys.argv[1] == "make":
        make(Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve())


if __name__ == "__main__":
    main()
