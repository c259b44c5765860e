"""Our USD and Alembic files, opened by usd-core and by the Alembic library; and theirs, opened by us.

    judge_caches.py check FILE.pc2 FILE.usdc|.usd|.usda|.usdz|.abc …    every point of every frame against the PC2
    judge_caches.py make FOLDER                        files by the other side, each with a PC2 of the answer
    judge_caches.py overrides IN.usd OVER.usd FILE.pc2  the layer above its input, composed, to 1e-6 of the size
    judge_caches.py compare EXPECTED.pc2 FOUND.pc2 [1e-6]   what we made of them, to so much of the size

A PC2 holds floats as they are, so it can tell what the frames are: crate and Ogawa must agree with it to the bit, text to 1e-7
of the size. USD files must also pass USD's own validation.
"""

import struct
import sys
from pathlib import Path

import numpy as np


def read_pc2(path):
    data = Path(path).read_bytes()
    magic, version, points, start, rate, frames = struct.unpack_from("<12siiffi", data)
    assert magic == b"POINTCACHE2\0" and version == 1, path
    return np.frombuffer(data, np.float32, frames * points * 3, 32).reshape(frames, points, 3)


def write_pc2(path, frames):
    frames = np.ascontiguousarray(frames, np.float32)
    head = struct.pack("<12siiffi", b"POINTCACHE2\0", 1, frames.shape[1], 0.0, 1.0, frames.shape[0])
    Path(path).write_bytes(head + frames.tobytes())


def usd_frames(path):
    """World points of all meshes, frame after frame, and what USD's validators say."""
    from pxr import Gf, Usd, UsdGeom, UsdSkel

    stage = Usd.Stage.Open(str(path))
    assert stage.GetDefaultPrim(), "no default prim"
    assert UsdGeom.GetStageUpAxis(stage) == "Y" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    first, last = int(stage.GetStartTimeCode()), int(stage.GetEndTimeCode())
    for mesh in meshes:
        counts, indices = mesh.GetFaceVertexCountsAttr().Get(), mesh.GetFaceVertexIndicesAttr().Get()
        points = mesh.GetPointsAttr().Get(first)
        assert UsdGeom.Mesh.ValidateTopology(indices, counts, len(points))[0], mesh.GetPath()
        assert mesh.ComputeLocalToWorldTransform(first) == Gf.Matrix4d(1.0), mesh.GetPath()
        for primvar in UsdGeom.PrimvarsAPI(mesh).GetPrimvars():
            if primvar.HasAuthoredValue():
                values = primvar.ComputeFlattened()
                expected = {"vertex": len(points), "faceVarying": len(indices)}.get(primvar.GetInterpolation(), len(values))
                assert len(values) == expected, primvar.GetName()
        extent = np.array(mesh.GetExtentAttr().Get(last))
        points = np.array(mesh.GetPointsAttr().Get(last))
        assert np.array_equal(extent, [points.min(0), points.max(0)]), mesh.GetPath()
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Skeleton):
            query = UsdSkel.Cache().GetSkelQuery(UsdSkel.Skeleton(prim))
            assert query and query.ComputeJointLocalTransforms(first) and query.HasRestPose(), prim.GetPath()
    for time in range(first, last + 1):
        yield np.concatenate([np.array(mesh.GetPointsAttr().Get(time), np.float32) for mesh in meshes])


def usd_errors(path):
    from pxr import Usd, UsdValidation

    stage = Usd.Stage.Open(str(path))
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = UsdValidation.ValidationContext(validators).Validate(stage)
    return [f"{error.GetName()}: {error.GetMessage()}" for error in errors]


def abc_objects(parent):
    for child in parent.children:
        yield child
        yield from abc_objects(child)


def abc_frames(path):
    from alembic3d.Abc import IArchive, ISampleSelector
    from alembic3d.AbcGeom import IPolyMesh, IXform

    archive = IArchive(str(path))
    meshes = []
    for child in abc_objects(archive.getTop()):
        if IPolyMesh.matches(child.getMetaData()):
            meshes.append(IPolyMesh(child.getParent(), child.getName()).getSchema())
        elif IXform.matches(child.getMetaData()):
            schema = IXform(child.getParent(), child.getName()).getSchema()
            assert schema.getNumOps() == 0 and schema.getInheritsXforms(), child.getFullName()
    assert meshes, "no PolyMesh"
    count = max(mesh.getNumSamples() for mesh in meshes)
    for mesh in meshes:
        sample = mesh.getValue(ISampleSelector(0.0))
        counts, indices = np.array(sample.getFaceCounts()), np.array(sample.getFaceIndices())
        assert counts.sum() == len(indices) and indices.max(initial=-1) < len(sample.getPositions())
        uvs = mesh.getUVsParam()
        if uvs.valid():
            assert len(uvs.getExpandedValue(ISampleSelector(0.0)).getVals()) == len(indices)
    for index in range(count):
        # whole numbers would be taken for seconds
        frame = []
        for mesh in meshes:
            selector = ISampleSelector(mesh.getTimeSampling().getSampleTime(index))
            sample = mesh.getValue(selector)
            frame.append(np.array([tuple(point) for point in sample.getPositions()], np.float32).reshape(-1, 3))
            box = sample.getSelfBounds()
            if len(frame[-1]):
                assert np.array_equal([tuple(box.min()), tuple(box.max())], [frame[-1].min(0), frame[-1].max(0)])
        yield np.concatenate(frame)


def check(reference, path):
    expected = read_pc2(reference)
    frames = abc_frames(path) if path.suffix == ".abc" else usd_frames(path)
    size, worst, count = float(np.abs(expected).max(initial=1e-9)), 0.0, 0
    for index, found in enumerate(frames):
        assert found.shape == expected[index].shape, f"{path}: frame {index}: {found.shape} points"
        if path.suffix != ".usda":
            same = np.array_equal(found.view(np.uint32), expected[index].view(np.uint32))
            assert same, f"{path}: frame {index}: other bits"
        worst = max(worst, float(np.abs(found - expected[index]).max(initial=0.0)))
        count += 1
    assert count == len(expected), f"{path}: {count} frames, {len(expected)} were expected"
    assert worst <= 1e-7 * size, f"{path}: {worst} apart, size {size}"
    errors = [] if path.suffix == ".abc" else usd_errors(path)
    assert not errors, f"{path}: " + "; ".join(errors)
    print(f"{path.name}: {count} frames of {expected.shape[1]} points agree, {worst / size:.1e} of the size apart")


def check_overrides(source, over, reference):
    """The input with our overrides above it, composed by USD, in metres and Y up."""
    from pxr import Sdf, Usd, UsdGeom

    expected = read_pc2(reference)
    layer = Sdf.Layer.CreateAnonymous()
    layer.subLayerPaths = [str(Path(over).resolve()), str(Path(source).resolve())]
    stage = Usd.Stage.Open(layer)
    below = Usd.Stage.Open(source)
    unit, z_up = UsdGeom.GetStageMetersPerUnit(below), UsdGeom.GetStageUpAxis(below) == "Z"
    meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    first, worst = below.GetStartTimeCode(), 0.0
    for index, answer in enumerate(expected):
        found = []
        for mesh in meshes:
            matrix = np.array(mesh.ComputeLocalToWorldTransform(first + index))
            points = np.array(mesh.GetPointsAttr().Get(first + index), float)
            found.append(unit * (points @ matrix[:3, :3] + matrix[3, :3]))
        found = np.concatenate(found)
        found = np.stack([found[:, 0], found[:, 2], -found[:, 1]], -1) if z_up else found
        worst = max(worst, float(np.abs(found - answer).max()))
    assert worst <= 1e-6 * float(np.abs(expected).max()), f"{over}: {worst} apart"
    print(f"{over}: {len(expected)} frames above {Path(source).name} agree, {worst:.1e} m apart")


def main():
    if sys.argv[1] == "check":
        check(sys.argv[2], Path(sys.argv[3]))
        for path in sys.argv[4:]:
            check(sys.argv[2], Path(path))
    elif sys.argv[1] == "overrides":
        check_overrides(*sys.argv[2:5])
    elif sys.argv[1] == "compare":
        expected, found = read_pc2(sys.argv[2]), read_pc2(sys.argv[3])
        assert expected.shape == found.shape, f"{sys.argv[3]}: {found.shape}, {expected.shape} were expected"
        apart = float(np.abs(expected - found).max() / np.abs(expected).max())
        allowed = float(sys.argv[4]) if len(sys.argv) > 4 else 1e-6
        assert apart <= allowed, f"{sys.argv[3]}: {apart} of the size apart"
        print(f"{sys.argv[3]}: read to {apart:.1e} of the size")
    elif sys.argv[1] == "make":
        make(Path(sys.argv[2]))


def sheet(frames=12):
    """A square of four points that bends, and its transform: it turns, moves and is twice as large."""
    base = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    local, world = [], []
    for frame in range(frames):
        points = base.copy()
        points[2, 2] = 0.1 * frame
        turn = np.radians(5.0 * frame)
        matrix = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
        local.append(points.astype(np.float32))
        world.append((2.0 * local[-1].astype(float)) @ matrix.T + [0.25 * frame, 1.0, 0.0])
    return local, world


def make(folder):
    """Files by the other side: what they hold in metres, Y up, stands beside each as a PC2."""
    from pxr import Gf, Sdf, Usd, UsdGeom, Vt

    folder.mkdir(parents=True, exist_ok=True)
    local, world = sheet()
    for name in ["theirs_c.usdc", "theirs_a.usda", "theirs_z.usdc"]:
        stage = Usd.Stage.CreateNew(str(folder / name))
        z_up = name == "theirs_z.usdc"
        UsdGeom.SetStageUpAxis(stage, "Z" if z_up else "Y")
        UsdGeom.SetStageMetersPerUnit(stage, 0.01 if z_up else 1.0)
        stage.SetTimeCodesPerSecond(24)
        stage.SetStartTimeCode(1)
        stage.SetEndTimeCode(len(local))
        xform = UsdGeom.Xform.Define(stage, "/thing")
        move, turn, scale = xform.AddTranslateOp(), xform.AddRotateYOp(), xform.AddScaleOp()
        scale.Set(Gf.Vec3f(2))
        mesh = UsdGeom.Mesh.Define(stage, "/thing/sheet")
        mesh.GetFaceVertexCountsAttr().Set([4])
        mesh.GetFaceVertexIndicesAttr().Set([0, 1, 2, 3])
        # long enough to be compressed in the file, as numbers and by a table
        values = Vt.FloatArray([float(i % 3) / 7 for i in range(4)])
        UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("hoist", Sdf.ValueTypeNames.FloatArray, "vertex").Set(values)
        for frame, points in enumerate(local):
            move.Set(Gf.Vec3d(0.25 * frame, 1, 0), frame + 1)
            turn.Set(5.0 * frame, frame + 1)
            mesh.GetPointsAttr().Set(Vt.Vec3fArray([Gf.Vec3f(*map(float, p)) for p in points]), frame + 1)
        stage.Save()
        answer = np.array(world)
        if z_up:
            answer = 0.01 * np.stack([answer[..., 0], answer[..., 2], -answer[..., 1]], -1)
        write_pc2((folder / name).with_suffix(".expected.pc2"), answer)
    make_abc(folder / "theirs_o.abc", local, world)


def make_abc(path, local, world):
    import imath
    from alembic3d.Abc import OArchive
    from alembic3d.AbcCoreAbstract import TimeSampling
    from alembic3d.AbcGeom import OPolyMesh, OPolyMeshSchemaSample, OXform, XformSample

    archive = OArchive(str(path))
    sampling = archive.addTimeSampling(TimeSampling(1 / 24, 1 / 24))
    xform = OXform(archive.getTop(), "thing", sampling)
    mesh = OPolyMesh(xform, "sheet", sampling)
    counts, indices = imath.IntArray(1), imath.IntArray(4)
    counts[0] = 4
    for i, point in enumerate([3, 2, 1, 0]):
        indices[i] = point
    for frame, points in enumerate(local):
        sample = XformSample()
        sample.setTranslation(imath.V3d(0.25 * frame, 1, 0))
        sample.setRotation(imath.V3d(0, 1, 0), 5.0 * frame)
        sample.setScale(imath.V3d(2, 2, 2))
        xform.getSchema().set(sample)
        positions = imath.V3fArray(4)
        for i, point in enumerate(points):
            positions[i] = imath.V3f(*map(float, point))
        mesh.getSchema().set(OPolyMeshSchemaSample(positions, indices, counts))
    write_pc2(path.with_suffix(".expected.pc2"), np.array(world))


if __name__ == "__main__":
    main()
