"""Stages that only usd-core can compose, and layers of overs above them."""

import base64
import json

import followthrough as ft
import numpy as np
import pytest
from common import SMOOTH, sheet

pxr = pytest.importorskip("pxr", reason="usd-core is not installed: pip install usd-core")
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, Vt  # noqa: E402


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


@pytest.mark.parametrize("ending", ["usdc", "usda", "usdz"])
def test_polygons_groups_and_velocities_as_usd_reads_them(tmp_path, ending):
    """A pentagon, a quad and a triangle that fall: what counts is what usd-core finds."""
    corners = [[0, 0, 0], [1, 0, 0], [1.5, 1, 0], [0.5, 2, 0], [-0.5, 1, 0], [3, 0, 0], [3, 1, 0], [4, 0, 0]]
    faces = [[0, 1, 2, 3, 4], [1, 5, 6, 2], [5, 7, 6]]
    seconds = np.arange(6) / 24
    points = (np.array(corners) - 4.9 * seconds[:, None, None] ** 2 * np.array([0, 1, 0])).astype("float32")
    weights = np.linspace(0, 1, 8).astype("float32")
    clip = ft.Clip.from_arrays({"leaf": points}, {"leaf": faces}, groups={"leaf": {"tip": weights}})
    clip.write(tmp_path / f"with.{ending}", velocities=True, start_frame=1001)
    clip.write(tmp_path / f"without.{ending}")
    stage = Usd.Stage.Open(str(tmp_path / f"with.{ending}"))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (1001, 1006, 24)
    assert UsdGeom.GetStageUpAxis(stage) == "Y" and UsdGeom.GetStageMetersPerUnit(stage) == 1 and stage.GetDefaultPrim()
    (mesh,) = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    assert list(mesh.GetFaceVertexCountsAttr().Get()) == [5, 4, 3]
    assert list(mesh.GetFaceVertexIndicesAttr().Get()) == sum(faces, [])
    tip = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("tip")
    assert tip.GetInterpolation() == "vertex" and np.allclose(tip.Get(), weights, atol=1e-7)
    assert mesh.GetVelocitiesAttr().GetTimeSamples() == [1001 + frame for frame in range(6)]
    for frame in range(6):
        # v = -g t, which central differences have exactly; at the ends they are one-sided
        middle = {0: 0.5, 5: 4.5}.get(frame, frame) / 24
        velocities = np.array(mesh.GetVelocitiesAttr().Get(1001 + frame))
        assert np.abs(velocities - [0, -9.8 * middle, 0]).max() < 2e-4, frame
        low, high = mesh.GetExtentAttr().Get(1001 + frame)
        assert np.allclose([low, high], [points[frame].min(axis=0), points[frame].max(axis=0)], atol=1e-6)
    plain = Usd.Stage.Open(str(tmp_path / f"without.{ending}"))
    (mesh,) = [UsdGeom.Mesh(prim) for prim in plain.Traverse() if prim.IsA(UsdGeom.Mesh)]
    assert not mesh.GetVelocitiesAttr().HasAuthoredValue() and plain.GetStartTimeCode() == 0


PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")


@pytest.mark.parametrize("ending", ["usdc", "usdz"])
def test_parts_are_subsets_with_their_surfaces_and_pictures(tmp_path, ending):
    """A glTF file of two materials, one of them with a picture, as usd-core sees what becomes of it."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [2, 0, 0], [3, 0, 0], [2, 1, 0]], dtype="<f4")
    uvs = points[:, :2].copy()
    data = points.tobytes() + uvs.tobytes()
    uri = lambda kind, bytes: f"data:{kind};base64," + base64.b64encode(bytes).decode()
    accessor = lambda offset, kind, **more: {"bufferView": 0, "byteOffset": offset, "componentType": 5126, "count": 3, "type": kind, **more}
    bounds = lambda own: {"min": own.min(axis=0).tolist(), "max": own.max(axis=0).tolist()}
    document = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "leaf"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 2}, "material": 0}, {"attributes": {"POSITION": 1, "TEXCOORD_0": 3}, "material": 1}]}],
        "materials": [
            {"name": "painted", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}},
            {"name": "plain", "pbrMetallicRoughness": {"baseColorFactor": [0.25, 0.5, 1, 1], "roughnessFactor": 0.5}},
        ],
        "textures": [{"source": 0}],
        "images": [{"uri": uri("image/png", PNG)}],
        "accessors": [
            accessor(0, "VEC3", **bounds(points[:3])),
            accessor(36, "VEC3", **bounds(points[3:])),
            accessor(72, "VEC2"),
            accessor(96, "VEC2"),
        ],
        "bufferViews": [{"buffer": 0, "byteLength": len(data)}],
        "buffers": [{"byteLength": len(data), "uri": uri("application/octet-stream", data)}],
    }
    (tmp_path / "leaf.gltf").write_text(json.dumps(document))
    ft.Clip.read(tmp_path / "leaf.gltf").write(tmp_path / f"leaf.{ending}")
    stage = Usd.Stage.Open(str(tmp_path / f"leaf.{ending}"))
    (mesh,) = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    st = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
    assert st.GetInterpolation() == "faceVarying" and len(st.ComputeFlattened()) == 6
    found = {}
    for subset in UsdGeom.Subset.GetAllGeomSubsets(mesh):
        material = UsdShade.MaterialBindingAPI(subset.GetPrim()).ComputeBoundMaterial()[0]
        surface = material.ComputeSurfaceSource()[0]
        assert surface.GetShaderId() == "UsdPreviewSurface"
        colour = surface.GetInput("diffuseColor")
        if colour.HasConnectedSource():
            texture = UsdShade.Shader(colour.GetConnectedSources()[0][0].source)
            assert texture.GetShaderId() == "UsdUVTexture"
            path = texture.GetInput("file").Get()
            assert path.resolvedPath, path
            if ending == "usdc":
                assert (tmp_path / path.path).read_bytes() == PNG
            found["picture"] = list(subset.GetIndicesAttr().Get())
        else:
            assert np.allclose(colour.Get(), [0.25, 0.5, 1], atol=1e-6)
            found["colour"] = list(subset.GetIndicesAttr().Get())
    assert found == {"picture": [0], "colour": [1]}
