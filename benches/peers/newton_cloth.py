"""The falling sheet in Newton's vertex block descent, on the CPU: usage newton_cloth.py CELLS...

Ten substeps of ten iterations, then thirty: it says by how much the first are not converged.
"""

import sys
import time

import newton
import warp

import sheet

SETTINGS = {"10 iterations": 10, "30 iterations": 30}
SUBSTEPS = 10


def run(setting, cells):
    builder = newton.ModelBuilder(up_axis=newton.Axis.Z, gravity=(0.0, 0.0, sheet.GRAVITY))
    points = sheet.points(cells)
    builder.add_cloth_mesh(
        pos=warp.vec3(0.0, 0.0, 0.0),
        rot=warp.quat_identity(),
        scale=1.0,
        vel=warp.vec3(0.0, 0.0, 0.0),
        vertices=[warp.vec3(*p) for p in points],
        indices=[i for triangle in sheet.triangles(cells) for i in triangle],
        density=sheet.MASS / sheet.SIZE**2,
        tri_ke=1e4,
        tri_ka=1e4,
        tri_kd=0.0,
        edge_ke=0.1,
        edge_kd=0.0,
        particle_radius=0.001,
    )
    for pin in sheet.pins(cells):
        builder.particle_mass[pin] = 0.0
        builder.particle_flags[pin] &= ~newton.ParticleFlags.ACTIVE
    builder.color(include_bending=True)
    model = builder.finalize(device="cpu")
    solver = newton.solvers.SolverVBD(
        model, iterations=SETTINGS[setting], particle_enable_self_contact=False
    )
    now, then = model.state(), model.state()
    control, step = model.control(), 1.0 / sheet.FRAME_RATE / SUBSTEPS
    # The first step compiles kernels, and is taken from a scratch state.
    solver.step(model.state(), model.state(), control, None, step)
    start = time.perf_counter()
    for _ in range(sheet.FRAMES * SUBSTEPS):
        solver.step(now, then, control, None, step)
        now, then = then, now
    seconds = time.perf_counter() - start
    sheet.tell(setting, cells, seconds, now.particle_q.numpy().tolist())


warp.config.quiet = True
for setting in SETTINGS:
    for cells in map(int, sys.argv[1:]):
        run(setting, cells)
