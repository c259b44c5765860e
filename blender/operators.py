"""The buttons: bake, stop, remove."""

from __future__ import annotations

import bpy

from . import exchange
from .job import Job, jobs

SECONDS_BETWEEN_LOOKS = 0.2


class FOLLOWTHROUGH_OT_bake(bpy.types.Operator):
    """Bake the layer on the evaluated mesh, beside Blender; what was baked before and has not changed is kept"""

    bl_idname = "followthrough.bake"
    bl_label = "Bake"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context):
        obj = context.object
        return obj is not None and obj.type == "MESH" and obj.mode == "OBJECT" and obj.name_full not in jobs

    def execute(self, context):
        """Without a window to look at, wait for it."""
        job = self._begin(context)
        if job is None:
            return {"CANCELLED"}
        job.wait()
        return self._finish(context)

    def invoke(self, context, _event):
        if self._begin(context) is None:
            return {"CANCELLED"}
        manager = context.window_manager
        self._timer = manager.event_timer_add(SECONDS_BETWEEN_LOOKS, window=context.window)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        job, obj = jobs.get(self._name), bpy.data.objects.get(self._object)
        if job is None or obj is None:
            # the add-on or the object has gone
            context.window_manager.event_timer_remove(self._timer)
            return {"CANCELLED"}
        ended = job.poll()
        obj.followthrough.status = job.status
        obj.followthrough.progress = job.done / max(job.of, 1)
        for area in context.screen.areas if context.screen else ():
            if area.type == "PROPERTIES":
                area.tag_redraw()
        if not ended:
            return {"PASS_THROUGH"}
        context.window_manager.event_timer_remove(self._timer)
        return self._finish(context)

    def _begin(self, context) -> Job | None:
        obj = context.object
        self._object, self._name = obj.name, obj.name_full
        try:
            folder = exchange.folder_of(obj)
            exchange.write_input(context.scene, obj, folder)
            jobs[self._name] = Job(folder)
        except (exchange.Refusal, OSError, ImportError) as error:
            self._tell(obj, "ERROR", str(error))
            return None
        obj.followthrough.status = "Preparing"
        return jobs[self._name]

    def _finish(self, context):
        job, obj = jobs.pop(self._name), bpy.data.objects.get(self._object)
        obj.followthrough.progress = 0.0
        if job.problem:
            self._tell(obj, "ERROR", job.problem)
            return {"CANCELLED"}
        import followthrough

        try:
            count = exchange.read_result(context.scene, obj, job.folder)
        except (exchange.Refusal, followthrough.Error, OSError) as error:
            self._tell(obj, "ERROR", str(error))
            return {"CANCELLED"}
        before = f", {job.reused} were there" if job.reused else ""
        stopped = f"Stopped: {count} frames are there, Bake goes on"
        self._tell(obj, "INFO", stopped if job.was_stopped else f"{count} frames are baked{before}")
        return {"FINISHED"}

    def _tell(self, obj, level: str, text: str) -> None:
        obj.followthrough.status = text
        self.report({level}, text)


class FOLLOWTHROUGH_OT_stop(bpy.types.Operator):
    """End the bake after the frame at hand; Bake goes on from there"""

    bl_idname = "followthrough.stop"
    bl_label = "Stop"

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.name_full in jobs

    def execute(self, context):
        jobs[context.object.name_full].stop()
        return {"FINISHED"}


class FOLLOWTHROUGH_OT_remove(bpy.types.Operator):
    """Take the result off the object; the bake stays on disk"""

    bl_idname = "followthrough.remove"
    bl_label = "Remove Result"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return context.object is not None and exchange.MODIFIER in context.object.modifiers

    def execute(self, context):
        obj = context.object
        obj.modifiers.remove(obj.modifiers[exchange.MODIFIER])
        return {"FINISHED"}


CLASSES = (FOLLOWTHROUGH_OT_bake, FOLLOWTHROUGH_OT_stop, FOLLOWTHROUGH_OT_remove)
