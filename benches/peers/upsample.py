"""The dense product of upsampling in OpenBLAS, on one core: milliseconds by size, as a line of JSON.

upsample.py NAME COARSE FINE [NAME COARSE FINE ...]
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

import numpy  # noqa: E402


def milliseconds(coarse, fine):
    """Median of a product of single precision, fine x coarse times coarse x 3."""
    random = numpy.random.default_rng(1)
    operator = random.standard_normal((fine, coarse), dtype=numpy.float32)
    shape = random.standard_normal((coarse, 3), dtype=numpy.float32)
    shown = numpy.empty((fine, 3), dtype=numpy.float32)
    times = []
    for _ in range(200):
        start = time.perf_counter()
        numpy.matmul(operator, shape, out=shown)
        times.append(1e3 * (time.perf_counter() - start))
    return sorted(times)[len(times) // 2]


sizes = zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3])
print(json.dumps({name: milliseconds(int(coarse), int(fine)) for name, coarse, fine in sizes}))
