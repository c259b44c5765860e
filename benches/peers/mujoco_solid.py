"""The cantilever as a MuJoCo flex: usage mujoco_solid.py STEP_MS...

A grid of 40 x 10 x 10 cells of six tets; the material is MuJoCo's own Saint Venant-Kirchhoff, mass is lumped. One line of JSON for each step.
"""

import json
import math
import sys
import time

import mujoco

CELLS = (40, 10, 10)
SPACING = 0.1
SECONDS = 0.5


def run(step):
    count = " ".join(str(cells + 1) for cells in CELLS)
    last = " ".join(str(cells) for cells in CELLS[1:])
    model = mujoco.MjModel.from_xml_string(f"""
      <mujoco>
        <option timestep="{step}" gravity="0 -9.81 0" integrator="discrete"/>
        <size memory="2G"/>
        <worldbody>
          <flexcomp name="beam" type="grid" dim="3" count="{count}" spacing="{SPACING} {SPACING} {SPACING}" mass="4000" radius="0.001">
            <contact contype="0" conaffinity="0" selfcollide="none"/>
            <elasticity young="1e5" poisson="0.45" damping="0.01"/>
            <edge equality="false"/>
            <pin gridrange="0 0 0 0 {last}"/>
          </flexcomp>
        </worldbody>
      </mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rest = data.flexvert_xpos[:, 1].copy()
    steps = round(SECONDS / step)
    start = time.perf_counter()
    for _ in range(steps):
        mujoco.mj_step(model, data)
    seconds = time.perf_counter() - start
    tip = float((data.flexvert_xpos[:, 1] - rest).min())
    print(
        json.dumps(
            {
                "name": f"MuJoCo {mujoco.__version__} flex, steps of {1e3 * step:g} ms",
                "tets": int(model.nflexelem),
                "ms_per_10_ms": 1e3 * seconds * 0.01 / SECONDS,
                "tip": tip if math.isfinite(tip) else None,
            }
        ),
        flush=True,
    )


for argument in sys.argv[1:]:
    run(1e-3 * float(argument))
