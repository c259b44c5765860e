"""Points out and back: evaluated meshes in the world become a clip, in metres, Y up; the result becomes a point cache of the object.

The clip has plain names (`target`, `collider_0`, `group_0`), so that no format and no shot stumbles over an artist's.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import bpy
import numpy as np

from .properties import dials_of, values

MODIFIER = "followthrough"
TARGET = "target"


class Refusal(Exception):
    """A sentence for whoever pressed the button."""


def frame_range(scene, obj) -> tuple[int, int]:
    """The first and the last frame."""
    own = obj.followthrough
    first, last = (own.frame_start, own.frame_end) if own.use_range else (scene.frame_start, scene.frame_end)
    if last < first:
        raise Refusal(f"the frames {first} to {last} are none: the end lies before the start")
    return first, last


def colliders(obj) -> list:
    """Meshes of the collection, but for the object itself."""
    collection = obj.followthrough.colliders
    return [other for other in collection.all_objects if other.type == "MESH" and other != obj] if collection else []


def folder_of(obj) -> Path:
    """Where the bake of an object lives."""
    folder = bpy.path.abspath(obj.followthrough.folder)
    if obj.followthrough.folder.startswith("//") and not bpy.data.filepath:
        folder = os.path.join(bpy.app.tempdir, obj.followthrough.folder[2:])
    return Path(folder) / bpy.path.clean_name(obj.name)


def y_up(points: np.ndarray) -> np.ndarray:
    return np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)


def z_up(points: np.ndarray) -> np.ndarray:
    return np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1)


def write_input(scene, obj, folder: Path) -> None:
    """The animation that goes out: `input.usdc`, `shot.toml`, and the matrices that the result comes back by."""
    import followthrough

    first, last = frame_range(scene, obj)
    folder.mkdir(parents=True, exist_ok=True)
    scale = scene.unit_settings.scale_length
    others = colliders(obj)
    matrices: list[np.ndarray] = []
    now: dict[str, np.ndarray] = {}
    names = {TARGET: obj} | {f"collider_{k}": other for k, other in enumerate(others)}

    def advance(frame: int) -> None:
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for name, each in names.items():
            shown = each.evaluated_get(graph)
            matrix = np.array(shown.matrix_world)
            now[name] = y_up(_local_points(shown) @ matrix[:3, :3].T + matrix[:3, 3]) * scale
            if name == TARGET:
                matrices.append(matrix)

    def frames(name: str):
        for frame in range(first, last + 1):
            if name == TARGET:
                advance(frame)
            yield now[name]

    current = (scene.frame_current, scene.frame_subframe)
    with _unsimulated(obj):
        try:
            scene.frame_set(first)
            graph = bpy.context.evaluated_depsgraph_get()
            faces = {name: _faces(each.evaluated_get(graph), each) for name, each in names.items()}
            groups, chosen = _groups(obj, graph)
            rate = scene.render.fps / scene.render.fps_base
            points = {name: frames(name) for name in names}
            clip = followthrough.Clip.from_arrays(points, faces, rate, name=TARGET, groups={TARGET: groups})
        except followthrough.Error as error:
            raise Refusal(str(error)) from error
        finally:
            scene.frame_set(current[0], subframe=current[1])
    clip.write(folder / "input.usdc", start_frame=max(first, 0))
    np.save(folder / "matrices.npy", np.stack(matrices))
    (folder / "shot.toml").write_text(_shot(obj, chosen, len(others)), encoding="utf-8")


def read_result(scene, obj, folder: Path) -> int:
    """What is baked so far, as a Mesh Cache on the object; gives back how many frames that are."""
    import followthrough

    shot = followthrough.Shot.read(folder / "shot.toml")
    clip = shot.baked(out=folder / "out").clip
    points, matrices = clip.points(TARGET), np.load(folder / "matrices.npy")
    count = points.shape[1]
    expected = _evaluated_count(obj)
    if count != expected:
        raise Refusal(f"the layer gives {count} points and the mesh has {expected}: a Mesh Cache needs the same; use `convert` for it")
    first, _ = frame_range(scene, obj)
    scale = scene.unit_settings.scale_length
    path = folder / "result.pc2"
    with open(path.with_suffix(".tmp"), "wb") as file:
        file.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, count, float(first), 1.0, len(points)))
        for frame in range(len(points)):
            inverse = np.linalg.inv(matrices[frame])
            local = z_up(points[frame].astype("float64") / scale) @ inverse[:3, :3].T + inverse[:3, 3]
            file.write(local.astype("<f4").tobytes())
    os.replace(path.with_suffix(".tmp"), path)
    _show(obj, path, first)
    return len(points)


def _show(obj, path: Path, first: int) -> None:
    modifier = obj.modifiers.get(MODIFIER) or obj.modifiers.new(MODIFIER, "MESH_CACHE")
    modifier.cache_format = "PC2"
    # set anew even where it is the same: Blender keeps what it has read
    modifier.filepath = ""
    modifier.filepath = str(path)
    modifier.frame_start = first
    modifier.show_viewport = modifier.show_render = True
    obj.update_tag()


class _unsimulated:
    """The object without our result, and without what stands above it: what the layer is given."""

    def __init__(self, obj):
        own = [index for index, modifier in enumerate(obj.modifiers) if modifier.name == MODIFIER]
        self.off = [modifier for modifier in list(obj.modifiers)[own[0] :] if modifier.show_viewport] if own else []

    def __enter__(self):
        for modifier in self.off:
            modifier.show_viewport = False

    def __exit__(self, *_):
        for modifier in self.off:
            modifier.show_viewport = True


def _evaluated_count(obj) -> int:
    with _unsimulated(obj):
        bpy.context.view_layer.update()
        shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
        return len(shown.data.vertices)


def _local_points(shown) -> np.ndarray:
    numbers = np.empty(3 * len(shown.data.vertices), dtype="float32")
    shown.data.vertices.foreach_get("co", numbers)
    return numbers.reshape(-1, 3).astype("float64")


def _faces(shown, obj) -> tuple[np.ndarray, np.ndarray]:
    mesh = shown.data
    if not len(mesh.polygons):
        raise Refusal(f"{obj.name} has no faces")
    counts = np.empty(len(mesh.polygons), dtype="int32")
    corners = np.empty(len(mesh.loops), dtype="int32")
    mesh.polygons.foreach_get("loop_total", counts)
    mesh.loops.foreach_get("vertex_index", corners)
    return counts, corners


def _groups(obj, graph) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The vertex groups that dials name, as weights, and what they are called in the clip."""
    mesh = obj.evaluated_get(graph).data
    weights, chosen = {}, {}
    kinds = {dial.key: dial.kind for dial in dials_of(obj.followthrough.kind)}
    for key, name in values(obj).items():
        if kinds[key] != "group" or name in chosen:
            continue
        group = obj.vertex_groups.get(name)
        if group is None:
            raise Refusal(f"{obj.name} has no vertex group {name!r}")
        own = np.zeros(len(mesh.vertices), dtype="float32")
        for vertex in mesh.vertices:
            for element in vertex.groups:
                if element.group == group.index:
                    own[vertex.index] = element.weight
        chosen[name] = f"group_{len(chosen)}"
        weights[chosen[name]] = own
    return weights, chosen


def _shot(obj, chosen: dict[str, str], collider_count: int) -> str:
    """The shot file: every value that was set, nothing else."""
    own = obj.followthrough
    kinds = {dial.key: dial.kind for dial in dials_of(own.kind)}
    lines = ["[input]", 'file = "input.usdc"', "", "[[layer]]", f'kind = "{own.kind}"', f'mesh = "{TARGET}"']
    for key, value in values(obj).items():
        text = f'{{ group = "{chosen[value]}" }}' if kinds[key] == "group" else _toml(value)
        lines.append(f"{key} = {text}")
    if collider_count:
        if not any(dial.table == "contact" for dial in dials_of(own.kind)):
            raise Refusal(f"the layer {own.kind} knows no colliders; leave the collection out")
        meshes = ", ".join(f'{{ mesh = "collider_{k}" }}' for k in range(collider_count))
        lines.append(f"contact.obstacles = [{meshes}]")
    lines += ["", "[output]", "files = []", f"report = {_toml(own.report)}", ""]
    return "\n".join(lines)


def _toml(value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value)
