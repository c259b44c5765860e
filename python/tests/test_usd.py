"""Stages that only usd-core can compose, and layers of overs above them."""

import followthrough as ft
import numpy as np
import pytest
from common import SMOOTH, sheet

pxr = pytest.importorskip("pxr", reason="usd-core is not installed: pip install usd-core")
from pxr import Gf, Sdf, Usd, UsdGeom, Vt  # noqa: E402


@pytest.fixture
def composed(tmp_path):
    """A sheet in a file of its own, in centimetres, Z up; a stage references it twice, once as an instance in an instance, behind
    a variant and under a transform that moves."""
    points, faces, _ = sheet()
    asset = Usd.Stage.CreateNew(str(tmp_path / "sheet.usda"))
    root = UsdGeom.Xform.Define(asset, "/asset")
    asset.SetDefaultPrim(root.GetPrim())
    mesh = UsdGeom.Mesh.Define(asset, "/asset/sheet")
    mesh.CreateFaceVertexCountsAttr([4] * len(faces))
    mesh.CreateFaceVertexIndicesAttr(faces.ravel().tolist())
    for frame, now in enumerate(points):
        mesh.CreatePointsAttr().Set(Vt.Vec3fArray.FromNumpy(100 * now[:, [0, 2, 1]] * np.float32([1, -1, 1])), 1 + frame)
    asset.Save()
    stage = Usd.Stage.CreateNew(str(tmp_path / "shot.usda"))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(12)
    stage.SetTimeCodesPerSecond(24)
    dancer = UsdGeom.Xform.Define(stage, "/dancer")
    move = dancer.AddTranslateOp()
    for frame in range(12):
        move.Set(Gf.Vec3d(10 * frame, 0, 0), 1 + frame)
    variants = dancer.GetPrim().GetVariantSets().AddVariantSet("cloth")
    for name in ("none", "skirt"):
        variants.AddVariant(name)
    variants.SetVariantSelection("skirt")
    with variants.GetVariantEditContext():
        worn = stage.DefinePrim("/dancer/skirt", "Xform")
        worn.GetReferences().AddReference("sheet.usda")
        worn.SetInstanceable(True)
    other = stage.DefinePrim("/other", "Xform")
    other.GetReferences().AddReference("sheet.usda")
    stage.Save()
    return stage, points


def test_a_composed_stage_is_read_where_a_file_of_it_is_refused(composed):
    stage, points = composed
    with pytest.raises(ft.Error) as caught:
        ft.Clip.read(stage.GetRootLayer().realPath)
    assert "from_stage" in str(caught.value) or "usdcat" in str(caught.value)
    clip = ft.from_stage(stage, "/dancer")
    assert len(clip.meshes) == 1 and len(clip) == 12
    away = 0.1 * np.arange(12)[:, None, None] * np.array([1, 0, 0])
    assert np.abs(np.asarray(clip.points()) - (points + away)).max() < 1e-6
    assert len(ft.from_stage(stage).meshes) == 2
    assert stage.GetPrimAtPath("/dancer/skirt").IsInstance(), "the stage itself stays as it is"
    with pytest.raises(ft.Error, match="the stage has no prim /dncer"):
        ft.from_stage(stage, "/dncer")


def test_the_session_counts(composed):
    stage, _ = composed
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        stage.GetPrimAtPath("/dancer").GetVariantSet("cloth").SetVariantSelection("none")
    assert ft.from_stage(stage, "/").meshes and len(ft.from_stage(stage, "/").meshes) == 1


def test_a_bake_goes_back_as_a_layer_of_overs(composed, tmp_path):
    stage, points = composed
    clip = ft.from_stage(stage, "/other")
    bake = ft.Shot.parse(SMOOTH).bake(clip, out=tmp_path / "baked")
    assert ft.write_over(bake.clip, stage, tmp_path / "skirt.usdc") == [str(tmp_path / "skirt.usdc")]
    above = Sdf.Layer.CreateAnonymous()
    above.subLayerPaths = [str(tmp_path / "skirt.usdc"), stage.GetRootLayer().realPath]
    shown = Usd.Stage.Open(above)
    mesh = UsdGeom.Mesh(shown.GetPrimAtPath("/other/sheet"))
    for frame in range(12):
        got = np.array(mesh.GetPointsAttr().Get(1 + frame)) / 100
        got = got[:, [0, 2, 1]] * [1, 1, -1]
        assert np.abs(got - bake.clip.points()[frame]).max() < 1e-5
    assert np.abs(bake.clip.points()[6] - points[6]).max() > 1e-4
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".follow")) == []


def test_what_no_over_can_say_is_told(composed, tmp_path):
    stage, points = composed
    clip = ft.Clip.from_arrays({"m": points}, {"m": sheet()[1]})
    with pytest.raises(ft.Error, match="came from a USD layer"):
        ft.write_over(clip, stage, tmp_path / "skirt.usdc")
    with pytest.raises(ft.Error, match="none"):
        ft.write_over(ft.from_stage(stage, "/other"), stage, tmp_path / "skirt.abc")
    other = Usd.Stage.CreateInMemory()
    with pytest.raises(ft.Error, match="the stage has no prim /other/sheet"):
        ft.write_over(ft.from_stage(stage, "/other"), other, tmp_path / "skirt.usdc")
    assert not (tmp_path / "skirt.usdc").exists()
