"""followthrough in Blender: a panel in Physics that bakes a layer on the evaluated mesh.

A thin door: the dials are drawn from the schema that followthrough gives, the bake is the command in a child process, and what comes
back is a Mesh Cache modifier. Nothing is destroyed; the modifier off is the animation as it was.
"""

import bpy

from . import job, operators, panel, properties


def register():
    properties.register()
    for cls in (*operators.CLASSES, *panel.CLASSES):
        bpy.utils.register_class(cls)


def unregister():
    job.end_all()
    for cls in reversed((*operators.CLASSES, *panel.CLASSES)):
        bpy.utils.unregister_class(cls)
    properties.unregister()
