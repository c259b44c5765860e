"""USD stages in and out, where usd-core composes them: references, payloads, variants, instances, clips.

followthrough reads flat layers by itself. A stage is flattened here, what is beneath one prim of it, and read by the same reader, so
that units, axes, transforms, skinning and blend shapes mean the same; the meshes keep their paths, and `write_over` goes by them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

from ._followthrough import Clip, Error

if TYPE_CHECKING:
    from pxr import Usd


def from_stage(stage: Usd.Stage, path: str = "/", *, frame_rate: float | None = None) -> Clip:
    """The meshes beneath a prim of a composed USD stage, as a clip. Needs usd-core.

    Session layers, variants that are chosen, references, payloads, instances and value clips count as the stage has them. At
    `frame_rate` frames per second; without it, as the stage says.
    """
    Sdf, Usd, _ = _pxr()
    prim = stage.GetPrimAtPath(path)
    if not prim:
        raise _error(f"the stage has no prim {path}", stage.GetRootLayer().identifier, "name one that it has, or leave it out for all")
    folder = tempfile.mkdtemp(prefix="followthrough-")
    try:
        _flat(stage, path, Sdf, Usd).Export(os.path.join(folder, "stage.usdc"))
        return Clip._read_temporary(folder, "stage.usdc", frame_rate)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def write_over(clip: Clip, stage: Usd.Stage, path: str | os.PathLike[str], *, velocities: bool = False) -> list[str]:
    """Writes a layer of `over`s with what moved, at the stage's own paths, to be sublayered above it. Needs usd-core.

    The clip is one that came from the stage by `from_stage`, or a bake of such a clip.
    """
    Sdf, _, _ = _pxr()
    path = os.fspath(path)
    stem, ending = os.path.splitext(path)
    if ending not in (".usd", ".usdc", ".usda"):
        raise _error(f"a layer of overs is a .usdc, .usd or .usda file, and {path} is none", path, "name it so")
    folder = tempfile.mkdtemp(prefix=".followthrough-", dir=os.path.dirname(os.path.abspath(path)))
    try:
        written = clip.write(os.path.join(folder, "layer.over" + ending), velocities=velocities)[0]
        layer = Sdf.Layer.OpenAsAnonymous(str(written))
        missing = [str(over) for over in _points(layer, Sdf) if not stage.GetPrimAtPath(over)]
        if missing:
            raise _error(f"the stage has no prim {missing[0]}", path, "give the stage that the clip came from")
        os.replace(written, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [path]


def _flat(stage: Any, path: str, Sdf: Any, Usd: Any) -> Any:
    """What is beneath a prim, flattened, without instances; the stage itself stays as it is."""
    session = Sdf.Layer.CreateAnonymous("followthrough.usda")
    if stage.GetSessionLayer():
        session.TransferContent(stage.GetSessionLayer())
    mask = Usd.StagePopulationMask([path])
    own = Usd.Stage.OpenMasked(stage.GetRootLayer(), session, stage.GetPathResolverContext(), mask)
    own.SetEditTarget(session)
    # an instance in an instance shows itself when the outer one is none any more
    while instances := [prim for prim in own.Traverse() if prim.IsInstance()]:
        for prim in instances:
            prim.SetInstanceable(False)
    # what a skin is bound to may lie elsewhere
    own.ExpandPopulationMask()
    return own.Flatten()


def _points(layer: Any, Sdf: Any) -> list[Any]:
    """The paths of the prims of a layer that have points."""
    found = []

    def visit(path: Any) -> None:
        if path.IsPropertyPath() and path.name == "points":
            found.append(path.GetPrimPath())

    layer.Traverse(Sdf.Path.absoluteRootPath, visit)
    return found


def _pxr() -> tuple[Any, Any, Any]:
    try:
        from pxr import Sdf, Usd, UsdGeom
    except ImportError:
        raise _error("USD stages need usd-core, which is not installed", None, "pip install usd-core") from None
    return Sdf, Usd, UsdGeom


def _error(what: str, place: str | None, help: str) -> Error:
    error = Error(f"{what}\n{help}")
    error.what, error.place, error.help = what, place, help
    return error
