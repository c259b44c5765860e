"""The falling sheet in pyPBD, extended position-based dynamics: usage pbd_cloth.py CELLS...

Twenty and a hundred substeps of one iteration; distance constraints without compliance.
"""

import sys
import time

import numpy
import pypbd

import sheet

SETTINGS = {"20 substeps": 20, "100 substeps": 100}


def run(setting, cells):
    simulation = pypbd.Simulation.getCurrent()
    simulation.initDefault()
    model = simulation.getModel()
    # Its gravity is 9.81 in -y and cannot be set from Python: the sheet is turned instead.
    points = numpy.array([(x, z, y) for x, y, z in sheet.points(cells)])
    triangles = numpy.array(sheet.triangles(cells)).flatten()
    model.addTriangleModel(points, triangles, testMesh=False)
    particles = model.getParticles()
    for i in range(particles.getNumberOfParticles()):
        particles.setMass(i, sheet.MASS / len(points))
    for pin in sheet.pins(cells):
        particles.setMass(pin, 0.0)
    mesh = model.getTriangleModels()[0]
    model.addClothConstraints(mesh, 4, 1e12, 1e12, 1e12, 1e12, 0.0, 0.0, False, False)
    model.addBendingConstraints(mesh, 3, 1e-3)
    stepper = simulation.getTimeStep()
    stepper.setValueUInt(pypbd.TimeStepController.NUM_SUB_STEPS, SETTINGS[setting])
    pypbd.TimeManager.getCurrent().setTimeStepSize(1.0 / sheet.FRAME_RATE)
    start = time.perf_counter()
    for _ in range(sheet.FRAMES):
        stepper.step(model)
    seconds = time.perf_counter() - start
    at = [particles.getPosition(i) for i in range(particles.getNumberOfParticles())]
    sheet.tell(setting, cells, seconds, [(x, z, y) for x, y, z in at])
    model.cleanup()


for setting in SETTINGS:
    for cells in map(int, sys.argv[1:]):
        run(setting, cells)
