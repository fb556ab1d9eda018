"""Convolutions of each channel for itself by cpu.mlir: quantized, of several filters each, of unknown windows."""

import re

import numpy as np
import pytest

import lhkit

ANY = "!transform.any_op"
F32, I8 = ("f32", "f32", "f32"), ("i8", "i8", "i32")


def tensor(shape, element):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def payload(op, image, window, result, elements=F32, *, strides=(1, 1), is_dynamic=False):
    """Return a payload with one named op that goes on from an argument; its extents are known, or none is."""
    shapes = [["?"] * len(s) if is_dynamic else s for s in (image, window, result)]
    types = [tensor(s, e) for s, e in zip(shapes, elements, strict=True)]
    points, scalars = (", %p, %q", ", i32, i32") if op.endswith("_q") else ("", "")
    given = ", %p: i32, %q: i32" if points else ""
    steps = ", ".join(map(str, strides))
    return f"""func.func @f(%image: {types[0]}, %window: {types[1]}, %start: {types[2]}{given}) -> {types[2]} {{
  %r = linalg.{op} {{dilations = dense<1> : tensor<{len(strides)}xi64>, strides = dense<[{steps}]> : tensor<{len(strides)}xi64>}}
    ins(%image, %window{points} : {types[0]}, {types[1]}{scalars}) outs(%start : {types[2]}) -> {types[2]}
  return %r : {types[2]}
}}
"""


HWC, HWCM = "depthwise_conv_2d_nhwc_hwc", "depthwise_conv_2d_nhwc_hwcm"
SHAPES = {
    HWC: ((1, 9, 12, 18), (3, 3, 18), (1, 7, 10, 18)),
    HWCM: ((2, 9, 12, 5), (3, 2, 5, 3), (2, 7, 11, 5, 3)),
    "depthwise_conv_1d_nwc_wcm": ((1, 20, 20), (3, 20, 4), (1, 18, 20, 4)),
    "depthwise_conv_3d_ndhwc_dhwcm": ((1, 5, 6, 7, 3), (2, 2, 2, 3, 2), (1, 4, 5, 6, 3, 2)),
}
QUANTIZED = {op + "_q": SHAPES[op] for op in (HWC, HWCM)}
OF_SEVERAL = {op: SHAPES[op] for op in SHAPES if op.endswith("m")}


def arguments_for(kernel, shapes):
    random = np.random.default_rng(0)
    sizes = [*shapes, *([()] * (len(kernel.function.arguments) - 3))]
    return [
        random.integers(-9, 9, size).astype(type_.dtype)
        for size, type_ in zip(sizes, kernel.function.arguments, strict=True)
    ]


@pytest.fixture(scope="module")
def schedule():
    return lhkit.load_schedule("cpu.mlir")


@pytest.mark.parametrize(
    ("image", "window", "result", "strides"),
    [
        ((1, 2000, 32), (3, 32, 2), (1, 1998, 32, 2), (1,)),
        ((2, 1500, 16), (5, 16, 3), (2, 748, 16, 3), (2,)),
        ((1, 900, 3, 16), (2, 2, 16, 2), (1, 899, 2, 16, 2), (1, 1)),
    ],
)
def test_a_large_image_is_repeated_block_by_block(image, window, result, strides, schedule):
    op = "depthwise_conv_1d_nwc_wcm" if len(strides) == 1 else HWCM
    kernel = lhkit.compile(lhkit.load_payload(payload(op, image, window, result, strides=strides)), schedule)
    assert lhkit.verify(kernel).ok
    whole = tensor((*image[:-1], image[-1] * result[-1]), "f32")
    assert whole not in kernel.ir()


@pytest.mark.parametrize("op", QUANTIZED)
def test_quantized_channels_are_added_up_in_registers(op, schedule):
    """Every place of the window is a product in one body, less its zero points."""
    kernel = lhkit.compile(lhkit.load_payload(payload(op, *QUANTIZED[op], I8)), schedule)
    assert lhkit.verify(kernel, arguments_for(kernel, QUANTIZED[op])).ok
    products = re.findall(r"arith\.muli .*: vector<", kernel.ir("scheduled"))
    assert len(products) >= np.prod(QUANTIZED[op][1][:2])


@pytest.mark.parametrize("op", OF_SEVERAL)
def test_vectors_run_over_the_filters_of_all_channels(op, schedule):
    """One multiplication is of as many elements as the result has channels, and each channel has few filters."""
    text = payload(op, *SHAPES[op], strides=(1,) * int(op.split("d_")[0][-1]))
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    *_, channels, filters = SHAPES[op][2]
    scheduled = kernel.ir("scheduled")
    assert "vector.shuffle" in scheduled and "linalg." not in scheduled
    widths = {int(n) for n in re.findall(r"math\.fma .*: vector<(?:\dx)*(\d+)xf32>", scheduled)}
    assert max(widths) > filters
    assert f"{channels}x{filters}xf32>, vector" not in scheduled


def test_vectors_run_over_the_filters_of_all_channels_with_constant_zero_points(schedule):
    """Fusing puts such points into the body of the convolution, which is another op then."""
    text = payload(HWCM + "_q", *SHAPES[HWCM], I8).replace(", %p: i32, %q: i32", "")
    text = text.replace("{\n", "{\n  %p = arith.constant 3 : i32\n  %q = arith.constant 2 : i32\n", 1)
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel, arguments_for(kernel, SHAPES[HWCM])).ok
    products = re.findall(r"arith\.muli .*: vector<", kernel.ir("scheduled"))
    assert len(products) >= np.prod(SHAPES[HWCM][1][:2])


def test_a_multiplier_before_what_reads_it_is_right(schedule):
    text = payload(HWCM, *SHAPES[HWCM]).replace(
        "  return %r",
        """  %empty = tensor.empty() : tensor<2x7x11x5x3xf32>
  %twice = linalg.add ins(%r, %r : tensor<2x7x11x5x3xf32>, tensor<2x7x11x5x3xf32>)
    outs(%empty : tensor<2x7x11x5x3xf32>) -> tensor<2x7x11x5x3xf32>
  return %twice""",
    )
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    assert "vector.shuffle" in kernel.ir("scheduled")


@pytest.mark.parametrize("op", [*SHAPES, *QUANTIZED])
def test_windows_of_unknown_extents_are_loops_around_vectors(op, schedule):
    shapes = SHAPES[op.removesuffix("_q")]
    elements = I8 if op.endswith("_q") else F32
    strides = (1,) * int(op.split("d_")[0][-1])
    text = payload(op, *shapes, elements, strides=strides, is_dynamic=True)
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel, arguments_for(kernel, shapes)).ok
    multiplied = r"math\.fma .*: vector<" if elements == F32 else r"arith\.muli .*: vector<"
    assert re.search(multiplied, kernel.ir("scheduled"))
    # Sums are added to the result as they come, and none is a sum of a vector's elements.
    assert "vector.reduction" not in kernel.ir("scheduled")


def collapsing(op):
    return lhkit.load_schedule(f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    %named = transform.structured.match ops{{["linalg.{op}"]}} in %root : ({ANY}) -> {ANY}
    %generic = transform.structured.generalize %named : ({ANY}) -> {ANY}
    %single = "lhkit.collapse_multiplier"(%generic) : ({ANY}) -> {ANY}
    transform.yield
  }}
}}
""")


REFUSED = {
    "no multiplier": (HWC, SHAPES[HWC], (1, 1), "do not have a few filters each"),
    "one filter": (
        HWCM,
        ((1, 5, 5, 4), (3, 3, 4, 1), (1, 3, 3, 4, 1)),
        (1, 1),
        "do not have a few filters each",
    ),
    "whole vectors": (HWCM, ((1, 5, 5, 4), (3, 3, 4, 16), (1, 3, 3, 4, 16)), (1, 1), "do not have a few"),
    "strides": (HWCM, ((1, 9, 9, 4), (2, 2, 4, 3), (1, 3, 3, 4, 3)), (3, 3), "several times as large"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_collapsed_says_why(case):
    op, shapes, strides, said = REFUSED[case]
    with pytest.raises(lhkit.LhkitError, match=said):
        lhkit.compile(lhkit.load_payload(payload(op, *shapes, strides=strides)), collapsing(op))


ONE = {
    "conv_2d_nchw_fchw": ((2, 1, 20, 21), (1, 1, 3, 5), (2, 1, 18, 17)),
    "conv_2d_nhwc_hwcf": ((1, 20, 21, 1), (3, 5, 1, 1), (1, 18, 17, 1)),
    "conv_1d_ncw_fcw": ((1, 1, 200), (1, 1, 7), (1, 1, 194)),
    "conv_3d_ncdhw_fcdhw": ((1, 1, 6, 7, 20), (1, 1, 2, 3, 3), (1, 1, 5, 5, 18)),
}


@pytest.mark.parametrize("op", ONE)
@pytest.mark.parametrize("elements", [F32, I8], ids=["f32", "i8"])
def test_one_channel_with_one_filter_is_added_up_in_vectors_of_pixels(op, elements, schedule):
    """No windows are copied: every place of the window is a product in one body."""
    text = payload(op, *ONE[op], elements, strides=(1,) * int(op[5]))
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel, arguments_for(kernel, ONE[op])).ok
    scheduled = kernel.ir("scheduled")
    products = re.findall(r"(?:math\.fma|arith\.muli) .*: vector<", scheduled)
    assert len(products) >= np.prod(ONE[op][1]) and "linalg." not in scheduled


@pytest.mark.parametrize("window", [9, 8])
def test_a_window_of_one_channel_that_is_too_large_is_copied(window, schedule):
    """Up to 64 places are unrolled."""
    text = payload(
        "conv_2d_nchw_fchw", (1, 1, 20, 20), (1, 1, window, window), (1, 1, 21 - window, 21 - window)
    )
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    assert ("math.fma" in kernel.ir("scheduled")) is (window == 8)
