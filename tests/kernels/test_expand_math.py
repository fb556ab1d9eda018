"""``lhkit.expand_math``: errors in ulps over all exponents, special values, types, vectors, and what it leaves."""

import re

import ml_dtypes
import numpy as np
import pytest
from ulps import EXPAND, MOST_ULPS, TRUTH, compiled, payload_of, ulps

import lhkit

SAMPLES = 64
SPECIAL = [
    *(0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0),
    *(1e-45, -1e-45, 1.1754942e-38, 1.1754944e-38, 3.4028235e38, -3.4028235e38),
    # Around overflow, underflow to subnormals and to zero, and where ranges meet.
    *(88.72283, 88.72284, -87.33654, -87.33655, -103.97207, -103.97208, -104.0, -86.0),
    *(0.625, -0.625, 9.010913, 10.0, 0.9375, 3.9192059, 4.0, 0.70710677, 0.70710678, 1.4142135),
]


def samples_of_all_exponents():
    """Return floats of either sign with every exponent, and more where functions are not 0, 1 or infinite."""
    rng = np.random.default_rng(1)
    mantissas = rng.integers(0, 1 << 23, (512, SAMPLES), dtype=np.uint32)
    bits = (np.arange(512, dtype=np.uint32)[:, None] << 23) | mantissas
    near = [rng.uniform(-limit, limit, 4096) for limit in (1, 5, 20, 105)]
    others = np.concatenate([*near, SPECIAL]).astype(np.float32)
    return np.concatenate([bits.reshape(-1).view(np.float32), others])


@pytest.mark.parametrize("function", MOST_ULPS)
def test_errors_over_all_exponents(function, worker):
    x = samples_of_all_exponents()
    got = compiled(function, "f32", x.size, worker)(x)
    with np.errstate(all="ignore"):
        truth = TRUTH[function](x.astype(np.float64))
    errors = ulps(got, truth)
    worst = errors.argmax()
    assert errors[worst] <= MOST_ULPS[function], (x[worst], got[worst], truth[worst])
    assert errors.max() > 0.5  # Less cannot be, so that a comparison with itself would be noticed.
    numbers = ~np.isnan(truth)
    assert np.array_equal(np.signbit(got[numbers]), np.signbit(truth[numbers]))


@pytest.mark.parametrize("function", ["exp", "rsqrt"])
def test_errors_in_double_precision(function, worker):
    rng = np.random.default_rng(2)
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        5e-324,
        709.7827128933840,
        709.7827128933841,
        -745.13,
        -745.14,
    ]
    bits = rng.integers(0, 1 << 63, 8192, dtype=np.uint64) | (rng.integers(0, 2, 8192, dtype=np.uint64) << 63)
    x = np.concatenate([rng.uniform(-750, 715, 8192), rng.uniform(-1, 1, 8192), bits.view(np.float64), special])
    got = compiled(function, "f64", x.size, worker)(x)
    with np.errstate(all="ignore"):
        truth = TRUTH[function](x.astype(np.longdouble))
    assert 0.5 < ulps(got, truth).max() <= MOST_ULPS[function]


@pytest.mark.parametrize(("element_type", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_short_floats_go_by_way_of_f32(element_type, dtype, worker):
    given = np.linspace(-8, 8, 64, dtype=np.float32).astype(dtype)
    kernel = compiled("tanh", element_type, given.size, worker)
    assert np.array_equal(kernel(given), np.tanh(given.astype(np.float32)).astype(dtype))
    assert "math.tanh" not in kernel.ir("scheduled")


POWERS = """func.func @f(%x: tensor<64xf32>, %n: i32) -> (f32, tensor<64xf32>) {
  %e = arith.constant EXPONENT : i64
  %s = arith.constant dense<EXPONENT> : tensor<64xi64>
  %r = math.fpowi %x, %s : tensor<64xf32>, tensor<64xi64>
  %c0 = arith.constant 0 : index
  %first = tensor.extract %x[%c0] : tensor<64xf32>
  %p = math.fpowi %first, %e : f32, i64
  %q = math.fpowi %first, %n : f32, i32
  %t = arith.addf %p, %q : f32
  return %t, %r : f32, tensor<64xf32>
}"""


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, -1, -3, 32])
def test_powers_with_a_known_exponent_are_products(exponent, worker):
    text = POWERS.replace("EXPONENT", str(exponent))
    kernel = lhkit.compile(lhkit.load_payload(text), lhkit.load_schedule(EXPAND, worker=worker), worker=worker)
    x = np.linspace(0.5, 1.5, 64, dtype=np.float32)
    total, powers = kernel(x, 2)
    assert np.allclose(powers, x.astype(np.float64) ** exponent, rtol=32 * 2**-23)
    assert total == pytest.approx(float(x[0]) ** exponent + float(x[0]) ** 2, rel=1e-6)
    assert kernel.ir("scheduled").count("math.fpowi") == 1, "an exponent that is not known stays"


def test_a_large_power_stays(worker):
    text = POWERS.replace("EXPONENT", "33")
    kernel = lhkit.compile(lhkit.load_payload(text), lhkit.load_schedule(EXPAND, worker=worker), worker=worker)
    assert kernel.ir("scheduled").count("math.fpowi") == 3


def test_vectors_of_any_rank_and_scalars_in_bodies(worker):
    text = """func.func @f(%v: vector<2x3x16xf32>, %s: vector<[4]xf32>, %x: f32) -> (vector<2x3x16xf32>, vector<[4]xf32>, f32) {
  %0 = math.exp %v : vector<2x3x16xf32>
  %1 = math.erf %s : vector<[4]xf32>
  %c = arith.constant true
  %2 = scf.if %c -> f32 {
    %3 = math.log %x : f32
    scf.yield %3 : f32
  } else {
    scf.yield %x : f32
  }
  return %0, %1, %2 : vector<2x3x16xf32>, vector<[4]xf32>, f32
}"""
    trace = lhkit.trace(
        lhkit.load_payload(text, worker=worker), lhkit.load_schedule(EXPAND, worker=worker), worker=worker
    )
    after = trace.last_snapshot_text()
    assert trace.outcome.status == "ok"
    assert not re.search(r"math\.(exp|erf|log)\b", after)
    assert "math.fma" in after and "vector<[4]xi32>" in after and "vector<2x3x16xi32>" in after


def test_handles_to_the_functions_themselves_and_what_is_left(worker):
    text = """func.func @f(%x: f32, %y: f64) -> (f32, f32, f64) {
  %0 = math.exp %x : f32
  %1 = math.sin %x : f32
  %2 = math.tanh %y : f64
  return %0, %1, %2 : f32, f32, f64
}"""
    schedule = EXPAND.replace('"func.func"', '"math.exp", "math.sin", "math.tanh"')
    trace = lhkit.trace(
        lhkit.load_payload(text, worker=worker), lhkit.load_schedule(schedule, worker=worker), worker=worker
    )
    after = trace.last_snapshot_text()
    assert trace.outcome.status == "ok"
    assert "math.exp" not in after and "math.sin" in after and "math.tanh" in after


def test_an_approximate_exp_says_how_far_it_is_off(worker):
    x = samples_of_all_exponents()
    text = str(payload_of("exp", "f32", x.size)).replace("math.exp %in :", "math.exp %in fastmath<afn> :")
    kernel = lhkit.compile(lhkit.load_payload(text), lhkit.load_schedule(EXPAND, worker=worker), worker=worker)
    got = kernel(x)
    with np.errstate(all="ignore"):
        truth = np.exp(x.astype(np.float64))
    is_lost = truth < 1.7e-38
    assert np.all((got[is_lost] >= 0) & (got[is_lost] <= 1.7e-38))
    errors = ulps(got[~is_lost], truth[~is_lost])
    assert 0.9 < errors.max() <= 2.0  # More than the exact one, or it was not taken.
