"""The panel in Physics: a layer, its dials table by table, what is in the way, the frames, the buttons."""

from __future__ import annotations

import bpy

from . import exchange
from .job import jobs
from .properties import dials_of, settings_of


class _Panel:
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "physics"

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.type == "MESH"


class FOLLOWTHROUGH_PT_main(_Panel, bpy.types.Panel):
    bl_idname = "FOLLOWTHROUGH_PT_main"
    bl_label = "followthrough"

    def draw(self, context):
        layout, obj = self.layout, context.object
        layout.use_property_split = True
        own = obj.followthrough
        layout.prop(own, "kind")
        for dial in dials_of(own.kind):
            if dial.kind == "group":
                layout.prop_search(settings_of(obj), dial.identifier, obj, "vertex_groups", text=dial.label)
        if any(dial.table == "contact" for dial in dials_of(own.kind)):
            layout.prop(own, "colliders")
        layout.prop(own, "use_range")
        if own.use_range:
            column = layout.column(align=True)
            column.prop(own, "frame_start")
            column.prop(own, "frame_end")
        layout.prop(own, "folder")
        layout.prop(own, "report")
        row = layout.row(align=True)
        row.operator("followthrough.bake")
        row.operator("followthrough.stop")
        if obj.name_full in jobs:
            layout.progress(factor=own.progress, text=own.status)
        elif own.status:
            layout.label(text=own.status)
        if exchange.MODIFIER in obj.modifiers:
            row = layout.row(align=True)
            modifier = obj.modifiers[exchange.MODIFIER]
            row.prop(modifier, "show_viewport", text="Show Result")
            row.operator("followthrough.remove", text="", icon="X")


class FOLLOWTHROUGH_PT_dials(_Panel, bpy.types.Panel):
    bl_idname = "FOLLOWTHROUGH_PT_dials"
    bl_parent_id = "FOLLOWTHROUGH_PT_main"
    bl_label = "Dials"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, obj = self.layout, context.object
        layout.use_property_split = True
        settings, table = settings_of(obj), None
        for dial in dials_of(obj.followthrough.kind):
            if dial.kind == "group":
                continue
            if dial.table != table:
                table = dial.table
                layout = self.layout if not table else self.layout.box()
                layout.use_property_split = True
                layout.label(text=table.replace(".", ", ").replace("_", " ").capitalize())
            use = f"use_{dial.identifier}"
            if not hasattr(settings, use):
                layout.prop(settings, dial.identifier)
                continue
            row = layout.row(heading=dial.label)
            row.prop(settings, use, text="")
            value = row.row()
            value.enabled = getattr(settings, use)
            value.prop(settings, dial.identifier, text="")


CLASSES = (FOLLOWTHROUGH_PT_main, FOLLOWTHROUGH_PT_dials)
