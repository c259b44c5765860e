"""What an object remembers: which layer, its dials, what it collides with, which frames, where to."""

from __future__ import annotations

import functools

import bpy

from .dials import Dial, dials, kinds

# Blender's own bounds of a whole number
LARGEST = 2**31 - 1

_made: list[type] = []


@functools.cache
def schema():
    """What followthrough knows; it is asked once."""
    import followthrough

    return followthrough.schema()


@functools.cache
def layer_kinds():
    """The layers that a mesh can be given, for a menu."""
    words = [(kind, entry["description"]) for kind, entry in kinds(schema()).items()]
    order = {kind: place for place, kind in enumerate(("cloth", "inextensible", "enrich", "smooth"))}
    words.sort(key=lambda word: (order.get(word[0], len(order)), word[0]))
    return [(kind, kind.capitalize(), " ".join(help.split())) for kind, help in words]


@functools.cache
def dials_of(kind: str) -> tuple[Dial, ...]:
    return tuple(dials(schema(), kind))


def _property(dial: Dial):
    """A property of Blender for a dial; its group for a selector is a name."""
    words = {"name": dial.label, "description": dial.help}
    low, high = dial.limits
    soft_low, soft_high = dial.usual
    if dial.kind == "number":
        bounds = {"min": low, "max": high, "soft_min": soft_low, "soft_max": soft_high}
        bounds = {key: value for key, value in bounds.items() if value is not None}
        first = dial.default if dial.default is not None else soft_low if soft_low is not None else max(0.0, low or 0.0)
        return bpy.props.FloatProperty(default=first, precision=4, **bounds, **words)
    if dial.kind == "integer":
        bounds = {"min": low, "max": high, "soft_min": soft_low, "soft_max": soft_high}
        bounds = {key: max(-LARGEST, min(LARGEST, int(value))) for key, value in bounds.items() if value is not None}
        return bpy.props.IntProperty(default=int(dial.default if dial.default is not None else low or 0), **bounds, **words)
    if dial.kind == "switch":
        return bpy.props.BoolProperty(default=dial.default, **words)
    if dial.kind == "choice":
        items = [(word, word.replace("_", " ").capitalize(), help) for word, help in dial.choices]
        first = dial.default if dial.default in [word for word, _ in dial.choices] else items[0][0]
        return bpy.props.EnumProperty(items=items, default=first, **words)
    if dial.kind == "vector":
        first = dial.default or [0.0] * dial.size
        if dial.is_turned:
            first = [first[0], -first[2], first[1]]
        return bpy.props.FloatVectorProperty(default=first, size=dial.size, precision=4, **words)
    return bpy.props.StringProperty(default=dial.default or "", **words)


def _settings_class(kind: str) -> type:
    """A group of properties with every dial of a layer, and a switch for those that may be absent."""
    annotations = {}
    for dial in dials_of(kind):
        annotations[dial.identifier] = _property(dial)
        if dial.may_be_absent and dial.kind not in ("text", "group", "switch"):
            use = f"Set {dial.label.lower()} here; otherwise it is what the layer takes by itself"
            annotations[f"use_{dial.identifier}"] = bpy.props.BoolProperty(name="Set", description=use)
    return type(f"FOLLOWTHROUGH_PG_{kind}", (bpy.types.PropertyGroup,), {"__annotations__": annotations})


def _object_class(settings: dict[str, type]) -> type:
    annotations = {
        "kind": bpy.props.EnumProperty(name="Layer", description="The physics to add", items=layer_kinds()),
        "colliders": bpy.props.PointerProperty(
            name="Colliders", description="Meshes of this collection are in the way", type=bpy.types.Collection
        ),
        "use_range": bpy.props.BoolProperty(name="Own Range", description="Other frames than the scene's"),
        "frame_start": bpy.props.IntProperty(name="Start", default=1, description="The first frame to bake"),
        "frame_end": bpy.props.IntProperty(name="End", default=250, description="The last frame to bake"),
        "folder": bpy.props.StringProperty(
            name="Folder", subtype="DIR_PATH", default="//followthrough", description="Where bakes are kept; they are taken up again"
        ),
        "report": bpy.props.BoolProperty(name="Report", description="Write report.html with pictures and plots beside the bake"),
        "status": bpy.props.StringProperty(options={"SKIP_SAVE"}),
        "progress": bpy.props.FloatProperty(options={"SKIP_SAVE"}, min=0.0, max=1.0),
    }
    annotations |= {f"of_{kind}": bpy.props.PointerProperty(type=cls) for kind, cls in settings.items()}
    return type("FOLLOWTHROUGH_PG_object", (bpy.types.PropertyGroup,), {"__annotations__": annotations})


def settings_of(obj):
    """The dials of the layer that an object has."""
    return getattr(obj.followthrough, f"of_{obj.followthrough.kind}")


def values(obj) -> dict[str, object]:
    """What is set of an object's layer, by dotted key, as a shot writes it; groups as their names."""
    settings, found = settings_of(obj), {}
    for dial in dials_of(obj.followthrough.kind):
        value = getattr(settings, dial.identifier)
        if dial.kind in ("text", "group"):
            if value and value != dial.default:
                found[dial.key] = value
        elif dial.may_be_absent and dial.kind != "switch":
            if getattr(settings, f"use_{dial.identifier}"):
                found[dial.key] = _plain(dial, value)
        elif settings.is_property_set(dial.identifier):
            found[dial.key] = _plain(dial, value)
    return found


def _plain(dial: Dial, value):
    if dial.kind != "vector":
        # Blender's numbers are of single precision: 0.1 is meant, not 0.10000000149
        return float(f"{value:.7g}") if dial.kind == "number" else value
    numbers = [float(f"{x:.7g}") for x in value]
    return [numbers[0], numbers[2], -numbers[1]] if dial.is_turned else numbers


def register():
    settings = {kind: _settings_class(kind) for kind, _, _ in layer_kinds()}
    _made.extend([*settings.values(), _object_class(settings)])
    for cls in _made:
        bpy.utils.register_class(cls)
    bpy.types.Object.followthrough = bpy.props.PointerProperty(type=_made[-1])


def unregister():
    del bpy.types.Object.followthrough
    while _made:
        bpy.utils.unregister_class(_made.pop())
    for cached in (schema, layer_kinds, dials_of):
        cached.cache_clear()
