"""Pinocchio on the figure that `cargo run --release -p benches -- motion --peers` writes: its answers, and its times.

usage: pinocchio_dynamics.py FILE

The file is JSON: joints (parent, kind, offset, rest quaternion xyzw, mass, center, moments about it by rows), gravity, and states q, v, a.
A free joint is a translation and a ball, so that velocities are the same numbers on both sides. Prints one line of JSON.
"""

import json
import sys
import time

import numpy as np
import pinocchio as pin

with open(sys.argv[1]) as file:
    problem = json.load(file)

model = pin.Model()
model.gravity.linear = np.array(problem["gravity"])
places = []  # of every joint of the file: Pinocchio's joint, and where on it
for joint in problem["joints"]:
    parent, base = (0, pin.SE3.Identity()) if joint["parent"] is None else places[joint["parent"]]
    kind, name = joint["kind"], joint["name"]
    rest = pin.Quaternion(*(joint["rest"][i] for i in (3, 0, 1, 2))).toRotationMatrix()
    still = np.eye(3) if kind in ("ball", "free") else rest
    place = base * pin.SE3(still, np.array(joint["offset"]))
    inertia = pin.Inertia(joint["mass"], np.array(joint["center"]), np.array(joint["moments"]).reshape(3, 3))
    if kind == "welded":
        model.appendBodyToJoint(parent, inertia, place)
        places.append((parent, place))
        continue
    if kind == "free":
        parent = model.addJoint(parent, pin.JointModelTranslation(), place, name + " place")
        place = pin.SE3.Identity()
        moves = pin.JointModelSpherical()
    elif kind == "ball":
        moves = pin.JointModelSpherical()
    else:
        moves = pin.JointModelRevoluteUnaligned(*joint["axis"])
    index = model.addJoint(parent, moves, place, name)
    model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    places.append((index, pin.SE3.Identity()))

data = model.createData()
answers = []
for state in problem["states"]:
    q, v, a = (np.array(state[k]) for k in "qva")
    u = pin.rnea(model, data, q, v, a).copy()
    dq, dv, m = (np.array(x) for x in pin.computeRNEADerivatives(model, data, q, v, a))
    m = np.triu(m) + np.triu(m, 1).T
    answers.append({
        "u": u.tolist(),
        "by_position": dq.ravel().tolist(),
        "by_velocity": dv.ravel().tolist(),
        "by_acceleration": m.ravel().tolist(),
        "aba": pin.aba(model, data, q, v, u).tolist(),
    })


def microseconds(act):
    best = float("inf")
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(100):
            act()
        best = min(best, (time.perf_counter() - start) * 1e4)
    return best


print(json.dumps({
    "version": pin.__version__,
    "dofs": model.nv,
    "answers": answers,
    "us": {
        "rnea": microseconds(lambda: pin.rnea(model, data, q, v, a)),
        "derivatives": microseconds(lambda: pin.computeRNEADerivatives(model, data, q, v, a)),
        "crba": microseconds(lambda: pin.crba(model, data, q)),
        "aba": microseconds(lambda: pin.aba(model, data, q, v, u)),
    },
}))
