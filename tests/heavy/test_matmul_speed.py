"""The speed of schedules/matmul.mlir beside NumPy: squares, and twenty odd shapes.

Run by hand on a quiet machine with ``pytest -m heavy -s tests/heavy/test_matmul_speed.py``; it prints a table.
"""

import math

import pytest

import lhkit
from lhkit.analysis.statistics import summarize

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]

SQUARES = (512, 1024, 2048)
# Rows, columns, length of the reduction: primes, tall, flat, with 1 in each place, up to 3000.
ODD_SHAPES = (
    (31, 29, 37),
    (61, 67, 71),
    (97, 101, 89),
    (127, 131, 113),
    (257, 263, 251),
    (509, 521, 503),
    (1021, 1009, 1013),
    (1999, 997, 503),
    (3000, 16, 300),
    (2999, 61, 67),
    (16, 3000, 300),
    (61, 2999, 67),
    (1, 1000, 1000),
    (1000, 1, 1000),
    (1000, 1000, 1),
    (1, 1, 3000),
    (101, 103, 3000),
    (3, 2999, 3000),
    (3000, 3, 1000),
    (2003, 1500, 7),
)


def measured(worker, m, n, k, seconds):
    """Measure the family on a shape, print a line, and return its summary."""
    payload = lhkit.payloads.matmul(m, n, k)
    kernel = lhkit.compile(payload, lhkit.load_schedule("matmul.mlir", worker=worker), worker=worker)
    numpy, ours = summarize(lhkit.measure({"family": kernel}, seconds=seconds))
    if numpy.name == "family":
        numpy, ours = ours, numpy
    low, middle, high = ours.speed.low, ours.speed.middle, ours.speed.high
    print(
        f"\n{m:5} x {n:4} x {k:4}   {middle:6.2f} of NumPy ({low:.2f} to {high:.2f}),"
        f" {ours.of_peak:6.1%} of peak, NumPy {numpy.of_peak:6.1%},"
        f" compiled in {kernel.compile_ns / 1e6:4.0f} ms",
        end="",
    )
    return ours


def test_squares(worker):
    found = [measured(worker, n, n, n, 10) for n in SQUARES]
    assert min(s.of_peak for s in found) >= 0.82
    assert min(s.speed.middle for s in found) >= 1.0


def test_odd_shapes(worker):
    ratios = [measured(worker, *shape, 3).speed.middle for shape in ODD_SHAPES]
    # What takes NumPy a microsecond, or what it is no good at, may not outweigh the rest.
    capped = math.exp(math.fsum(math.log(min(r, 2)) for r in ratios) / len(ratios))
    mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    print(
        f"\ngeometric mean {mean:.2f}, {capped:.2f} with ratios above 2 counted as 2; least {min(ratios):.2f}"
    )
    assert capped >= 1.0 and min(ratios) >= 0.6
