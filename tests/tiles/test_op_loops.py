"""The loops of structured ops: names, order, roles, and the loops around them at the end of a trace."""

import re

import pytest

import lhkit
from lhkit.draw.svg import text_width
from lhkit.model.errors import UsageError
from lhkit.tiles.loops_picture import loops_svg

ANY = "!transform.any_op"
A, B, C = "tensor<4x64x32xf32>", "tensor<4x32x64xf32>", "tensor<4x64x64xf32>"
BATCH = f"""func.func @f(%a: {A}, %b: {B}, %c: {C}) -> {C} {{
  %m = linalg.batch_matmul ins(%a, %b : {A}, {B}) outs(%c : {C}) -> {C}
  return %m : {C}
}}
"""
I, F, O = "tensor<1x34x34x8xf32>", "tensor<3x3x8x16xf32>", "tensor<1x32x32x16xf32>"  # noqa: E741
CONVOLUTION = f"""func.func @f(%i: {I}, %f: {F}, %o: {O}) -> {O} {{
  %m = linalg.conv_2d_nhwc_hwcf ins(%i, %f : {I}, {F}) outs(%o : {O}) -> {O}
  return %m : {O}
}}
"""


@pytest.fixture
def traced(worker):
    def trace(payload, op, *steps):
        match = f'%op = transform.structured.match ops{{["{op}"]}} in %root : ({ANY}) -> {ANY}'
        body = "\n".join([match, *steps])
        text = (
            "module attributes {transform.with_named_sequence} {\n"
            f"transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{\n{body}\n"
            "transform.yield\n}\n}\n"
        )
        return lhkit.trace(
            lhkit.load_payload(payload, worker=worker), lhkit.load_schedule(text, worker=worker), worker=worker
        )

    return trace


def test_a_batch_dimension_is_told_from_a_parallel_one(traced, worker):
    tile = f"%t, %l:2 = transform.structured.tile_using_for %op tile_sizes [1, 8] : ({ANY}) -> ({ANY}, {ANY}, {ANY})"
    trace = traced(BATCH, "linalg.batch_matmul", tile)
    loops = lhkit.loops_of(trace, "linalg.batch_matmul", worker=worker)
    assert [(d.name, d.role, d.extent) for d in loops.dimensions] == [
        ("i", "batch", 1), ("j", "parallel", 8), ("k", "parallel", 64), ("l", "reduction", 32),
    ]  # fmt: skip
    assert loops.operands == (("A", "i, j, l"), ("B", "i, l, k"), ("C", "i, j, k"))
    assert [str(loop) for loop in loops.around] == [
        "for i 1",
        "for j 8",
    ] and loops.left == "linalg.batch_matmul"
    assert loops.expectation == "loops(linalg.batch_matmul) == [for 1, for 8]"


def test_the_window_of_a_convolution_is_a_reduction(traced, worker):
    tile = f"%t, %l:2 = transform.structured.tile_using_for %op tile_sizes [0, 8, 0, 0, 1] : ({ANY}) -> ({ANY}, {ANY}, {ANY})"
    loops = lhkit.loops_of(traced(CONVOLUTION, "linalg.conv_2d_nhwc_hwcf", tile), "%t", worker=worker)
    assert [d.role for d in loops.dimensions] == ["parallel"] * 4 + ["reduction"] * 3
    assert loops.operands[0] == ("A", "i, j + m, k + n, p")
    assert [str(loop) for loop in loops.around] == ["for j 8", "for m 1"]


def test_loops_stay_known_after_vectorization(traced, worker, golden):
    forall = f"%t, %l = transform.structured.tile_using_forall %op tile_sizes [1, 16, 32] : ({ANY}) -> ({ANY}, {ANY})"
    tile = (
        f"%tt, %k = transform.structured.tile_using_for %t tile_sizes [0, 0, 0, 8] : ({ANY}) -> ({ANY}, {ANY})"
    )
    trace = traced(BATCH, "linalg.batch_matmul", forall, tile, f"transform.structured.vectorize %tt : {ANY}")
    loops = lhkit.loops_of(trace, "linalg.batch_matmul", worker=worker)
    assert [str(loop) for loop in loops.around] == ["forall i 1, j 16, k 32", "for l 8"]
    golden(f"{loops}\n")
    picture = loops_svg(loops)
    assert all(f">{said}<" in picture for said in ("forall i 1, j 16, k 32", "for l 8"))
    assert "from linalg.batch_matmul" in picture and ">l  8  reduction<" in picture
    # A mark and the words beside it do not overlap.
    for mark, name in (("≡", "i  1  batch"), ("Σ", "l  8  reduction")):
        (left,), (right,) = (re.findall(rf' x="([\d.]+)"[^>]*>{text}<', picture) for text in (mark, name))
        assert float(left) + text_width(mark, 12.0) < float(right)


def test_what_computes_stands_for_an_op_and_copies_of_it_are_counted(worker):
    lowered = lhkit.loops_of(lhkit.trace("matmul.mlir", "matmul_tile_fuse_vectorize.mlir"), worker=worker)
    assert (lowered.left, lowered.alike) == ("vector.fma", 16)
    assert "vector.fma, 1 of 16, from linalg.matmul" in loops_svg(lowered)
    unrolled = lhkit.loops_of(lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir"), worker=worker)
    assert str(unrolled).splitlines()[-1].strip() == "linalg.matmul, 1 of 4"


def test_a_drawing_and_an_op_that_is_not_there(traced):
    trace = traced(BATCH, "linalg.batch_matmul")
    drawing = lhkit.show.loops(trace)
    assert "<svg" in drawing._repr_mimebundle_()["image/svg+xml"]
    with pytest.raises(UsageError, match=r"there is no linalg\.exp"):
        lhkit.loops_of(trace, "linalg.exp")
