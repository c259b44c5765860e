"""The falling sheet as a MuJoCo flex: usage mujoco_cloth.py CELLS...

Steps of 2 ms, the largest at which the stiffer sheet stays stable with the integrator that treats flexes implicitly.
"""

import sys
import time

import mujoco

import sheet

SETTINGS = {"E = 1e5": 1e5, "E = 1e6": 1e6}
STEP = 0.002


def run(setting, cells):
    side = cells + 1
    h = sheet.SIZE / cells
    pins = " ".join(str(pin * side) for pin in sheet.pins(cells))
    model = mujoco.MjModel.from_xml_string(f"""
      <mujoco>
        <option timestep="{STEP}" gravity="0 0 {sheet.GRAVITY}" integrator="discrete"/>
        <size memory="2G"/>
        <worldbody>
          <flexcomp name="sheet" type="grid" dim="2" count="{side} {side} 1" spacing="{h} {h} {h}" mass="{sheet.MASS}" radius="0.001">
            <contact contype="0" conaffinity="0" selfcollide="none"/>
            <elasticity young="{SETTINGS[setting]}" poisson="0" thickness="0.001" elastic2d="stretch"/>
            <edge equality="false"/>
            <pin id="{pins}"/>
          </flexcomp>
        </worldbody>
      </mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    # A frame is not a whole number of steps: the steps are counted over the whole time.
    steps = round(sheet.FRAMES / sheet.FRAME_RATE / STEP)
    start = time.perf_counter()
    for _ in range(steps):
        mujoco.mj_step(model, data)
    seconds = time.perf_counter() - start
    # MuJoCo counts along y fastest; the sheet is square and pinned along that side, so the roles of x and y are swapped.
    sheet.tell(setting, cells, seconds, [tuple(p) for p in data.flexvert_xpos])


for setting in SETTINGS:
    for cells in map(int, sys.argv[1:]):
        run(setting, cells)
