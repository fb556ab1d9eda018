"""Convolutions and products of narrow numbers by cpu.mlir, also less their zero points, which schedules refused."""

import re

import numpy as np
import pytest

import lhkit

ANY = "!transform.any_op"


def tensor(shape, element):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def payload(op, image, window, result, elements=("i8", "i8", "i32"), *, steps=(), points=""):
    """Return a payload with one named op that goes on from an argument; dynamic is what is "?"."""
    types = [tensor(s, e) for s, e in zip((image, window, result), elements, strict=True)]
    lists = [
        f"{name} = dense<{step}> : tensor<{len(steps)}xi64>"
        for name, step in (("dilations", 1), ("strides", steps[0] if steps else 1))
    ]
    attributes = f"{{{', '.join(lists)}}}" if steps else ""
    names = "".join(f", {point}" for point in points.split())
    given = "".join(f", {point}: i32" for point in points.split() if point[1:].isalpha())
    return f"""func.func @f(%image: {types[0]}, %window: {types[1]}, %start: {types[2]}{given}) -> {types[2]} {{
  %0 = arith.constant 0 : i32
  %r = linalg.{op} {attributes} ins(%image, %window{names} : {types[0]}, {types[1]}{", i32" * names.count(",")})
    outs(%start : {types[2]}) -> {types[2]}
  return %r : {types[2]}
}}
"""


NHWC = ((1, 9, 11, 5), (3, 3, 5, 7), (1, 7, 9, 7))
NCHW = ((2, 5, 9, 11), (7, 5, 3, 3), (2, 7, 4, 5))
HALVES = ("bf16", "bf16", "f32")
NARROW = {
    "NHWC of i8": payload("conv_2d_nhwc_hwcf", *NHWC, steps=(1, 1)),
    "NCHW of i8 with strides": payload("conv_2d_nchw_fchw", *NCHW, steps=(2, 2)),
    "NHWC of bf16 into f32": payload("conv_2d_nhwc_hwcf", *NHWC, HALVES, steps=(1, 1)),
    "of i8, one dimension": payload("conv_1d_nwc_wcf", (1, 20, 3), (3, 3, 8), (1, 18, 8), steps=(1,)),
}
QUANTIZED = {
    "product": payload("quantized_matmul", (13, 21), (21, 18), (13, 18), points="%p %q"),
    "product, one zero point 0": payload("quantized_matmul", (13, 21), (21, 18), (13, 18), points="%p %0"),
    "products": payload("quantized_batch_matmul", (2, 5, 9), (2, 9, 7), (2, 5, 7), points="%p %q"),
    "products of unknown extents": payload(
        "quantized_batch_matmul", ("?", "?", "?"), ("?", "?", "?"), ("?", "?", "?"), points="%p %q"
    ),
    "NHWC": payload("conv_2d_nhwc_hwcf_q", *NHWC, steps=(1, 1), points="%p %q"),
    "NHWC, filters first": payload(
        "conv_2d_nhwc_fhwc_q", (1, 9, 9, 4), (6, 3, 3, 4), (1, 4, 4, 6), steps=(2, 2), points="%p %q"
    ),
    "NCHW with strides": payload("conv_2d_nchw_fchw_q", *NCHW, steps=(2, 2), points="%p %q"),
}


@pytest.fixture(scope="module")
def schedule():
    return lhkit.load_schedule("cpu.mlir")


def is_in_tiles(kernel):
    """Return True where products are those of a tile that stays in registers, many to a step.

    Sums of the image's few channels (5) stay in loops.
    """
    scheduled = kernel.ir("scheduled")
    sums = re.findall(r"linalg\.generic (?:(?!arith\.mul).)*?linalg\.yield", scheduled, re.DOTALL)
    is_structured = len(re.findall(r"linalg\.(?!yield|index)\w+", scheduled)) > len(sums)
    return not is_structured and len(re.findall(r"vector\.fma|arith\.muli .*vector", scheduled)) >= 5


@pytest.mark.parametrize("name", NARROW)
def test_operands_of_convolutions_are_extended_in_their_products(name, schedule):
    kernel = lhkit.compile(lhkit.load_payload(NARROW[name]), schedule)
    assert lhkit.verify(kernel).ok
    assert is_in_tiles(kernel)


@pytest.mark.parametrize("name", QUANTIZED)
def test_zero_points_are_taken_off_after_the_product(name, schedule):
    """No element is less a zero point: what is multiplied are elements, extended."""
    given = lhkit.load_payload(QUANTIZED[name])
    kernel = lhkit.compile(given, schedule)
    sizes = iter([2, 5, 9, 2, 9, 7, 2, 5, 7])
    arguments = [
        np.random.default_rng(0).integers(-9, 9, [next(sizes) if n is None else n for n in t.shape], t.dtype)
        for t in kernel.function.arguments
    ]
    assert lhkit.verify(kernel, arguments).ok
    assert is_in_tiles(kernel)
    split = lhkit.compile(given, splitting())
    assert lhkit.verify(split, arguments).ok
    product = re.search(r"linalg\.generic .*?arith\.muli.*?\}", split.ir("scheduled"), re.DOTALL).group()
    assert "arith.subi" not in product
    of_sums = re.findall(r"arith\.subi", split.ir("scheduled"))
    assert len(of_sums) == (1 if "%0 :" in QUANTIZED[name] else 2)


def splitting(op="linalg.generic"):
    return lhkit.load_schedule(f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    %named = transform.structured.match interface{{LinalgOp}} in %root : ({ANY}) -> {ANY}
    %generic = transform.structured.generalize %named : ({ANY}) -> {ANY}
    %product = "lhkit.split_zero_points"(%generic) : ({ANY}) -> {ANY}
    transform.yield
  }}
}}
""")


REFUSED = {
    "no zero points": (NARROW["NHWC of i8"], "it has no zero points"),
    "floats": (NARROW["NHWC of bf16 into f32"], "it does not add up products of integers"),
    "each channel for itself": (
        payload(
            "depthwise_conv_2d_nhwc_hwc_q", (1, 5, 5, 4), (3, 3, 4), (1, 3, 3, 4), steps=(1, 1), points="%p %q"
        ),
        "sums over a window only",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_why(case):
    text, said = REFUSED[case]
    with pytest.raises(lhkit.LhkitError, match=said):
        lhkit.compile(lhkit.load_payload(text), splitting())
