"""``lhkit.winograd_conv2d``, and the convolutions for which schedules/conv2d.mlir takes it."""

import re

import numpy as np
import pytest

import lhkit

ANY, PARAM = "!transform.any_op", "!transform.param<i64>"


def convolution(image, window, result, dtype="f32", strides=1, start="%r"):
    types = [f"tensor<{shape}x{dtype}>" for shape in (image, window, result)]
    return f"""func.func @f(%i: {types[0]}, %w: {types[1]}, %r: {types[2]}) -> {types[2]} {{
  %zero = arith.constant 0.0 : {dtype}
  %one = arith.constant 1.0 : {dtype}
  %zeros = linalg.fill ins(%zero : {dtype}) outs(%r : {types[2]}) -> {types[2]}
  %ones = linalg.fill ins(%one : {dtype}) outs(%r : {types[2]}) -> {types[2]}
  %0 = linalg.conv_2d_nhwc_hwcf {{dilations = dense<1> : tensor<2xi64>, strides = dense<{strides}> : tensor<2xi64>}}
      ins(%i, %w : {types[0]}, {types[1]}) outs({start} : {types[2]}) -> {types[2]}
  return %0 : {types[2]}
}}"""


def transforming(lanes, strip, tiles, worker, threads=1, op="linalg.conv_2d_nhwc_hwcf"):
    return lhkit.load_schedule(
        f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    %convolution = transform.structured.match ops{{["{op}"]}} in %root : ({ANY}) -> {ANY}
    %lanes = transform.param.constant {lanes} : i64 -> {PARAM}
    %strip = transform.param.constant {strip} : i64 -> {PARAM}
    %tiles = transform.param.constant {tiles} : i64 -> {PARAM}
    %threads = transform.param.constant {threads} : i64 -> {PARAM}
    %products = "lhkit.winograd_conv2d"(%convolution, %lanes, %strip, %tiles, %threads)
      : ({ANY}, {PARAM}, {PARAM}, {PARAM}, {PARAM}) -> {ANY}
    transform.yield
  }}
}}""",
        worker=worker,
    )


def expected(image, window, start):
    """Return the convolution in f64, tap by tap."""
    total = np.array(start, np.float64)
    rows, pixels = start.shape[1:3]
    for i, j in np.ndindex(3, 3):
        seen = image[:, i : i + rows, j : j + pixels].astype(np.float64)
        total += np.tensordot(seen, window[i, j].astype(np.float64), 1)
    return total


# Images, rows, pixels, channels, filters, lanes, strip, tiles.
SHAPES = {
    "one tile": (1, 2, 2, 4, 4, 4, 4, 1),
    "several images": (3, 4, 6, 4, 8, 4, 8, 100),
    "blocks of one row of tiles": (1, 6, 4, 8, 16, 8, 16, 1),
    "blocks of two of six rows": (1, 12, 4, 4, 12, 4, 4, 5),
    "two vectors a strip, three strips": (2, 4, 2, 8, 24, 4, 8, 2),
    "planes a multiple of 4 KiB": (1, 16, 16, 16, 16, 16, 16, 64),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(
    ("dtype", "numpy_type", "error"), [("f32", np.float32, 1e-5), ("f64", np.float64, 1e-14)]
)
@pytest.mark.parametrize("start", ["%r", "%zeros", "%ones"])
def test_results_are_those_of_the_sum(shape, dtype, numpy_type, error, start, worker):
    n, h, w, c, f, lanes, strip, tiles = shape
    text = convolution(f"{n}x{h + 2}x{w + 2}x{c}", f"3x3x{c}x{f}", f"{n}x{h}x{w}x{f}", dtype, start=start)
    payload = lhkit.load_payload(text, worker=worker)
    kernel = lhkit.compile(payload, transforming(lanes, strip, tiles, worker), opt_level=1, worker=worker)
    rng = np.random.default_rng(0)
    image, window, there = (
        rng.standard_normal(s).astype(numpy_type) for s in ((n, h + 2, w + 2, c), (3, 3, c, f), (n, h, w, f))
    )
    starts = {"%r": there, "%zeros": 0 * there, "%ones": 0 * there + 1}
    want = expected(image, window, starts[start])
    largest = np.abs(kernel(image, window, there) - want).max()
    assert largest <= error * np.abs(want).max()
    assert not re.search(r"linalg\.conv", kernel.ir("scheduled"))


@pytest.mark.parametrize(("tiles", "rows"), [(1, 1), (3, 2), (5, 3), (7, 3), (9, 6), (1000, 6)])
def test_blocks_are_whole_rows_of_tiles_near_the_number(tiles, rows, worker):
    text = convolution("1x14x6x4", "3x3x4x8", "1x12x4x8")
    trace = lhkit.trace(lhkit.load_payload(text), transforming(4, 8, tiles, worker), worker=worker)
    assert f"tensor<{2 * rows}x4xf32>, tensor<4x8xf32>" in trace.last_snapshot_text()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (convolution("1x5x7x4", "2x2x4x4", "1x4x6x4"), "its window is 2x2"),
        (convolution("1x9x9x4", "3x3x4x4", "1x4x4x4", strides=2), "strides or dilations are not 1"),
        (convolution("1x5x6x4", "3x3x4x4", "1x3x4x4"), "has 3x4 pixels"),
        (convolution("?x6x6x4", "3x3x4x4", "?x4x4x4"), "its extents are dynamic"),
        (convolution("1x2x6x4", "3x3x4x4", "1x0x4x4"), "its extents are dynamic or 0"),
        (convolution("1x6x6x4", "3x3x4x4", "1x4x4x4", "f16"), "it is of f16"),
        (convolution("1x6x6x3", "3x3x3x4", "1x4x4x4"), "its 3 channels and 4 filters"),
        (convolution("1x6x6x4", "3x3x4x6", "1x4x4x6"), "its 4 channels and 6 filters"),
    ],
    ids=["window", "strides", "odd", "dynamic", "empty", "half precision", "channels", "filters"],
)
def test_what_it_cannot_transform_is_refused_and_nothing_changes(text, why, worker):
    trace = lhkit.trace(lhkit.load_payload(text, worker=worker), transforming(4, 4, 8, worker), worker=worker)
    assert trace.outcome.kind == "silenceable" and re.search(why, trace.outcome.message)
    assert trace.snapshot_text(-1) == trace.last_snapshot_text()


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("start", ["%r", "%zeros"])
def test_threads_share_the_rows_of_tiles(threads, start, worker):
    text = convolution("2x14x6x4", "3x3x4x8", "2x12x4x8", start=start)
    payload = lhkit.load_payload(text, worker=worker)
    schedule = transforming(4, 8, 4, worker, threads)
    kernel = lhkit.compile(payload, schedule, opt_level=1, worker=worker)
    rng = np.random.default_rng(0)
    image, window, there = (
        rng.standard_normal(s).astype(np.float32) for s in ((2, 14, 6, 4), (3, 3, 4, 8), (2, 12, 4, 8))
    )
    want = expected(image, window, there if start == "%r" else 0 * there)
    np.testing.assert_allclose(kernel(image, window, there), want, rtol=1e-4, atol=1e-4)
    assert f"scf.forall (%arg3) in ({threads})" in kernel.ir("scheduled")


@pytest.mark.parametrize("sizes", [(0, 4, 4, 1), (4, 0, 4, 1), (4, 4, 0, 1), (4, 4, 4, 0), (4, 4, 4, -1)])
def test_sizes_that_are_no_numbers_of_things_are_refused(sizes, worker):
    *others, threads = sizes
    text = convolution("1x6x6x4", "3x3x4x4", "1x4x4x4")
    outcome = lhkit.trace(
        lhkit.load_payload(text), transforming(*others, worker, threads), worker=worker
    ).outcome
    assert outcome.kind == "silenceable" and "are positive numbers" in outcome.message


def test_rows_that_are_no_equal_shares_are_refused(worker):
    text = convolution("1x12x6x4", "3x3x4x8", "1x10x4x8")
    outcome = lhkit.trace(lhkit.load_payload(text), transforming(4, 8, 4, worker, 2), worker=worker).outcome
    assert outcome.kind == "silenceable" and "its 5 rows of tiles" in outcome.message


def test_another_op_is_refused(worker):
    text = convolution("1x6x6x4", "3x3x4x4", "1x4x4x4")
    schedule = transforming(4, 4, 8, worker, op="linalg.fill")
    outcome = lhkit.trace(lhkit.load_payload(text, worker=worker), schedule, worker=worker).outcome
    assert outcome.kind == "silenceable" and "only linalg.conv_2d_nhwc_hwcf" in outcome.message


@pytest.mark.parametrize(
    ("shape", "knobs", "is_taken"),
    [
        ((1, 12, 14, 16, 32, 3), {}, True),
        ((2, 24, 12, 48, 64, 3), {}, True),
        ((1, 12, 14, 16, 32, 3), {"threads": 2}, True),
        ((1, 14, 14, 16, 32, 3), {"threads": 2}, False),
        ((1, 12, 14, 16, 32, 3), {"winograd": 0}, False),
        ((1, 10, 14, 16, 32, 3), {}, False),
        ((1, 13, 14, 16, 32, 3), {}, False),
        ((1, 12, 14, 5, 32, 3), {}, False),
        ((1, 12, 14, 16, 41, 3), {}, False),
        ((1, 12, 14, 16, 32, 1), {}, False),
    ],
    ids=[
        "large",
        "images",
        "threads",
        "unequal shares",
        "knob",
        "few rows",
        "odd",
        "channels",
        "filters",
        "window",
    ],
)
@pytest.mark.parametrize("target", ["avx512", "avx2"])
def test_the_family_takes_it_for_large_maps(shape, knobs, is_taken, target, worker):
    schedule = lhkit.load_schedule("conv2d.mlir", target=target, worker=worker)
    kernel = lhkit.compile(lhkit.payloads.conv2d_nhwc(*shape), schedule, knobs, worker=worker)
    n, h, w, c, f, k = shape
    rng = np.random.default_rng(0)
    image = rng.standard_normal((n, h + k - 1, w + k - 1, c)).astype(np.float32)
    window = rng.standard_normal((k, k, c, f)).astype(np.float32)
    assert lhkit.verify(kernel, (image, window)).ok
    scheduled = kernel.ir("scheduled")
    # 16 numbers of each tile are kept.
    assert (re.search(r"tensor<16x\d+x\d+xf32>", scheduled) is not None) == is_taken
    assert not re.findall(r"linalg\.\w+|vector\.contract", scheduled)
