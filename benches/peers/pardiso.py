"""Times MKL PARDISO on matrices written by `cargo run --release -p benches -- linear --peers`.

usage: pardiso.py THREADS REPEATS FILE...

A file holds little-endian: u64 n, u64 nonzeros, (n + 1) i32 row starts, i32 columns, f64 values: the upper triangle of a
symmetric positive definite matrix by rows, counted from 1, diagonals present. Prints one line of JSON.
"""

import json
import os
import sys
import time

threads, repeats, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
# MKL reads these when it is loaded
os.environ["MKL_NUM_THREADS"] = threads
os.environ["OMP_NUM_THREADS"] = threads

import ctypes  # noqa: E402

import numpy as np  # noqa: E402
import pypardiso  # noqa: E402

mkl = pypardiso.PyPardisoSolver().libmkl
mkl.pardisoinit.restype = None


def pointer(array, kind):
    return array.ctypes.data_as(ctypes.POINTER(kind))


def measure(path):
    with open(path, "rb") as file:
        n, nonzeros = np.fromfile(file, np.uint64, 2)
        starts = np.fromfile(file, np.int32, int(n) + 1)
        columns = np.fromfile(file, np.int32, int(nonzeros))
        values = np.fromfile(file, np.float64, int(nonzeros))
    handle = np.zeros(64, np.int64)
    control = np.zeros(64, np.int32)
    kind = ctypes.c_int32(2)  # real, symmetric, positive definite
    mkl.pardisoinit(pointer(handle, ctypes.c_int64), ctypes.byref(kind), pointer(control, ctypes.c_int32))
    control[1] = 2  # METIS
    control[7] = 0  # no more refinement than needed
    right = np.ones(int(n))
    x = np.zeros(int(n))

    def call(phase):
        one, zero, error = ctypes.c_int32(1), ctypes.c_int32(0), ctypes.c_int32(0)
        start = time.perf_counter()
        mkl.pardiso(
            pointer(handle, ctypes.c_int64), ctypes.byref(one), ctypes.byref(one), ctypes.byref(kind),
            ctypes.byref(ctypes.c_int32(phase)), ctypes.byref(ctypes.c_int32(int(n))),
            pointer(values, ctypes.c_double), pointer(starts, ctypes.c_int32), pointer(columns, ctypes.c_int32),
            None, ctypes.byref(one), pointer(control, ctypes.c_int32), ctypes.byref(zero),
            pointer(right, ctypes.c_double), pointer(x, ctypes.c_double), ctypes.byref(error),
        )
        if error.value != 0:
            raise RuntimeError(f"PARDISO phase {phase} failed with {error.value}")
        return 1e3 * (time.perf_counter() - start)

    analysis = call(11)
    factor = min(call(22) for _ in range(repeats))
    solve = min(call(33) for _ in range(repeats))
    # residual over the whole matrix, from its upper triangle
    rows = np.repeat(np.arange(int(n)), np.diff(starts))
    product = np.bincount(rows, values * x[columns - 1], int(n))
    off = rows != columns - 1
    product += np.bincount(columns[off] - 1, values[off] * x[rows[off]], int(n))
    residual = float(np.linalg.norm(product - right) / np.linalg.norm(right))
    call(-1)
    return {"symbolic_ms": analysis, "factor_ms": factor, "solve_ms": solve, "residual": residual}


print(json.dumps({path: measure(path) for path in files}))
