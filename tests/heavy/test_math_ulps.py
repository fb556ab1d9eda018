"""Errors of ``lhkit.expand_math`` over the whole range of f32, run by hand: ``pytest -m heavy -s``; prints a table."""

import numpy as np
import pytest
from ulps import MOST_ULPS, TRUTH, compiled, ulps

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]

CHUNK = 1 << 20
# Odd, so that the last bits of the mantissa vary too.
STRIDES = {"exp": 61, "log": 61, "tanh": 61, "rsqrt": 61, "erf": 509}


@pytest.mark.parametrize("function", MOST_ULPS)
def test_whole_range(function, worker):
    kernel = compiled(function, "f32", CHUNK, worker)
    stride, worst, at, count = STRIDES[function], 0.0, 0.0, 0
    for start in range(0, 1 << 32, CHUNK * stride):
        bits = start + stride * np.arange(CHUNK, dtype=np.int64)
        x = np.minimum(bits, (1 << 32) - 1).astype(np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            truth = TRUTH[function](x.astype(np.float64))
        errors = ulps(kernel(x), truth)
        count += x.size
        if errors.max() > worst:
            worst, at = float(errors.max()), float(x[errors.argmax()])
    print(f"\n{function:6} {worst:.3f} ulp at most, at {at!r}; {count} values, every {stride}th", end="")
    assert 0.5 < worst <= MOST_ULPS[function]
