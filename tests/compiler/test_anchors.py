"""Anchors: what multiplies and adds up, by indexing maps and body, named or not."""

import pytest

from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ops.convert_const_resources_to_args import find_anchor

NAMED = {
    "linalg.matmul": (("4x8xf32", "8x5xf32"), "4x5xf32", "matmul", "A B C"),
    "linalg.batch_matmul": (("2x4x8xf32", "2x8x5xf32"), "2x4x5xf32", "batch_matmul", "A B C"),
    "linalg.batch_reduce_matmul": (("2x4x8xf32", "2x8x5xf32"), "4x5xf32", "matmul", "A B C"),
    "linalg.mmt4d": (("1x2x4x4xf32", "3x2x2x4xf32"), "1x3x4x2xf32", "matmul", "A B C"),
    "linalg.batch_mmt4d": (("7x1x2x4x4xf32", "7x3x2x2x4xf32"), "7x1x3x4x2xf32", "batch_matmul", "A B C"),
    "linalg.matvec": (("4x8xf32", "8xf32"), "4xf32", "matvec", "A B C"),
    "linalg.vecmat": (("8xf32", "8x4xf32"), "4xf32", "matvec", "A B C"),
    "linalg.batch_matvec": (("2x4x8xf32", "2x8xf32"), "2x4xf32", "matvec", "A B C"),
    "linalg.dot": (("8xi32", "8xi32"), "i32", "dot", "A B C"),
    "linalg.conv_1d": (("10xf32", "3xf32"), "8xf32", "conv", "A B C"),
    "linalg.conv_2d_nchw_fchw": (("1x3x6x6xf32", "4x3x3x3xf32"), "1x4x4x4xf32", "conv", "A B C"),
    "linalg.depthwise_conv_2d_nhwc_hwc": (("1x6x6x3xf32", "3x3x3xf32"), "1x4x4x3xf32", "conv", "A B C"),
    "linalg.pooling_nhwc_sum": (("1x6x6x3xf32", "3x3xf32"), "1x4x4x3xf32", None, ""),
    "linalg.mul": (("4x5xf32", "4x5xf32"), "4x5xf32", None, ""),
    "linalg.add": (("4x5xf32", "4x5xf32"), "4x5xf32", None, ""),
}
MAPS = {
    "m": "affine_map<(m, n, k) -> (m, k)>",
    "n": "affine_map<(m, n, k) -> (k, n)>",
    "out": "affine_map<(m, n, k) -> (m, n)>",
    "turned": "affine_map<(m, n, k) -> (n, m)>",
}
PRODUCT = "%p = arith.mulf %l, %r : f32\n%s = arith.addf %o, %p : f32"
BODIES = {
    "a product": (PRODUCT, "matmul"),
    "the sum the other way round": ("%p = arith.mulf %r, %l : f32\n%s = arith.addf %p, %o : f32", "matmul"),
    "fused": ("%s = math.fma %l, %r, %o : f32", "matmul"),
    "negated on the way": (
        "%m = arith.negf %l : f32\n%p = arith.mulf %m, %r : f32\n%s = arith.addf %o, %p : f32",
        "matmul",
    ),
    "the largest product": ("%p = arith.mulf %l, %r : f32\n%s = arith.maximumf %o, %p : f32", None),
    "sums multiplied": ("%p = arith.addf %l, %r : f32\n%s = arith.mulf %o, %p : f32", None),
    "a square": ("%p = arith.mulf %l, %l : f32\n%s = arith.addf %o, %p : f32", None),
    "not added up": ("%s = arith.mulf %l, %r : f32", None),
    "added to something else": ("%p = arith.mulf %l, %r : f32\n%s = arith.addf %l, %p : f32", None),
}


def anchor_in(text):
    """Return the anchor that the only linalg op of a text is, or None."""
    with new_context():
        module = ir.Module.parse(text)
        (op,) = [o for o in walk(module.operation) if o.name.startswith("linalg.") and o.regions and o.results]
        return find_anchor(op)


@pytest.mark.parametrize("name", NAMED)
def test_named_ops(name):
    inputs, output, kind, slots = NAMED[name]
    values = [f"tensor<{t}>" for t in (*inputs, output)]
    extra = ""
    if "_2d" in name or "pooling" in name:
        extra = "{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} "
    text = (
        f"func.func @f(%a: {values[0]}, %b: {values[1]}, %c: {values[2]}) -> {values[2]} {{\n"
        f"%r = {name} {extra}ins(%a, %b : {values[0]}, {values[1]}) outs(%c : {values[2]}) -> {values[2]}\n"
        f"return %r : {values[2]}\n}}"
    )
    anchor = anchor_in(text)
    assert (anchor and anchor.kind) == kind
    assert anchor is None or anchor.slots == tuple(slots.split())


def generic(maps, body):
    """Return a product of 4 x 4 matrices with these maps and this body."""
    listed = ", ".join(MAPS[m] for m in maps)
    t = "tensor<4x4xf32>"
    return f"""func.func @f(%a: {t}, %b: {t}, %c: {t}) -> {t} {{
  %x = linalg.generic {{indexing_maps = [{listed}], iterator_types = ["parallel", "parallel", "reduction"]}}
    ins(%a, %b : {t}, {t}) outs(%c : {t}) {{
  ^bb0(%l: f32, %r: f32, %o: f32):
    {body}
    linalg.yield %s : f32
  }} -> {t}
  return %x : {t}
}}"""


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name):
    body, kind = BODIES[name]
    anchor = anchor_in(generic(("m", "n", "out"), body))
    assert (anchor and anchor.kind) == kind


@pytest.mark.parametrize(
    ("maps", "slots"),
    [
        (("m", "n", "out"), ("A", "B", "C")),
        (("n", "m", "out"), ("B", "A", "C")),
        (("m", "n", "turned"), ("B", "A", "C")),
        (("n", "n", "out"), ("A", "B", "C")),
    ],
)
def test_the_left_factor_is_the_one_whose_dimension_comes_first_in_the_result(maps, slots):
    assert anchor_in(generic(maps, PRODUCT)).slots == slots


def test_zero_points_are_no_factors():
    t = "tensor<4x4xi8>"
    text = f"""func.func @f(%a: {t}, %b: {t}, %z: i32, %c: tensor<4x4xi32>) -> tensor<4x4xi32> {{
  %x = linalg.quantized_matmul ins(%a, %b, %z, %z : {t}, {t}, i32, i32) outs(%c : tensor<4x4xi32>)
    -> tensor<4x4xi32>
  return %x : tensor<4x4xi32>
}}"""
    assert anchor_in(text).slots == ("A", "B", "scale", "scale", "C")
