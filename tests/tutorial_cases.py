"""The sequences and errors of the transform dialect's tutorial (chapters 0, 1, H), in today's syntax.

Each case is a schedule of our own for what a chapter teaches. The line that fails ends with a mark, and so
does the line that kills the handle which it uses.
"""

from dataclasses import dataclass

import pytest

import lhkit
from lhkit.traces.record.trace_run import trace_schedule

ANY = "!transform.any_op"
TO_ANY = f"({ANY}) -> {ANY}"
TWO = f"({ANY}) -> ({ANY}, {ANY})"
FUSE = f"({ANY}, {ANY}) -> ({ANY}, {ANY})"
T = "tensor<512x512xf32>"
IMAGE, FILTER, OUT, BIAS = (
    "tensor<5x82x102x128xf32>",
    "tensor<3x3x128x128xf32>",
    "tensor<5x80x100x128xf32>",
    "tensor<128xf32>",
)

LAYER = f"""
func.func @fc_relu(%lhs: {T}, %rhs: {T}, %bias: {T}, %output: {T}) -> {T} {{
  %matmul = linalg.matmul ins(%lhs, %rhs : {T}, {T}) outs(%output : {T}) -> {T}
  %biased = linalg.elementwise kind=#linalg.elementwise_kind<add> ins(%matmul, %bias : {T}, {T}) outs(%output : {T}) -> {T}
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%output : {T}) -> {T}
  %relu = linalg.elementwise kind=#linalg.elementwise_kind<max_signed> ins(%biased, %zeros : {T}, {T}) outs(%output : {T}) -> {T}
  return %relu : {T}
}}
"""
# Elementwise, reduction, contraction, and a chain of two.
PRIMER = """
func.func @primer(%a: tensor<8x32xf32>, %b: tensor<32x16xf32>, %c: tensor<8x16xf32>, %r: tensor<8xf32>)
    -> (tensor<8x16xf32>, tensor<8xf32>, tensor<8x32xf32>) {
  %contraction = linalg.matmul ins(%a, %b : tensor<8x32xf32>, tensor<32x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  %reduction = linalg.reduce { arith.addf } ins(%a : tensor<8x32xf32>) outs(%r : tensor<8xf32>) dimensions = [1]
  %empty = tensor.empty() : tensor<8x32xf32>
  %powers = linalg.exp ins(%a : tensor<8x32xf32>) outs(%empty : tensor<8x32xf32>) -> tensor<8x32xf32>
  %sum = linalg.add ins(%powers, %a : tensor<8x32xf32>, tensor<8x32xf32>) outs(%empty : tensor<8x32xf32>) -> tensor<8x32xf32>
  %unused = linalg.abs ins(%a : tensor<8x32xf32>) outs(%empty : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %contraction, %reduction, %sum : tensor<8x16xf32>, tensor<8xf32>, tensor<8x32xf32>
}
"""
CONVOLUTION = f"""
func.func @conv(%image: {IMAGE}, %filter: {FILTER}, %bias: {BIAS}, %output: {OUT}) -> {OUT} {{
  %started = linalg.broadcast ins(%bias : {BIAS}) outs(%output : {OUT}) dimensions = [0, 1, 2]
  %conv = linalg.conv_2d_nhwc_hwcf ins(%image, %filter : {IMAGE}, {FILTER}) outs(%started : {OUT}) -> {OUT}
  %zero = arith.constant 0.0 : f32
  %zeros_empty = tensor.empty() : {OUT}
  %zeros = linalg.fill ins(%zero : f32) outs(%zeros_empty : {OUT}) -> {OUT}
  %relu_empty = tensor.empty() : {OUT}
  %relu = linalg.max ins(%conv, %zeros : {OUT}, {OUT}) outs(%relu_empty : {OUT}) -> {OUT}
  return %relu : {OUT}
}}
"""
PAYLOADS = {"layer": LAYER, "primer": PRIMER, "convolution": CONVOLUTION}


@dataclass(frozen=True)
class Case:
    """A schedule's body and what comes of it; marks in the text: ``// kills`` and ``// fails``."""

    payload: str
    body: str
    kind: str | None = None
    cause: str | None = None
    arguments: str = ""
    bind: tuple[str, ...] = ()


def match(name, op):
    return f'%{name} = transform.structured.match ops{{["{op}"]}} in %root : {TO_ANY}\n'


def for_layer(body, kind=None, cause=None):
    """A case of chapter 1, whose entry is given the matmul and the elementwise ops."""
    arguments = ', %matmul: !transform.op<"linalg.matmul">, %elementwise: !transform.op<"linalg.elementwise">'
    return Case("layer", body, kind, cause, arguments, ("linalg.matmul", "linalg.elementwise"))


SPLIT = f'%add, %max = transform.split_handle %elementwise : (!transform.op<"linalg.elementwise">) -> ({ANY}, {ANY})\n'
TILE_MATMUL = (
    "%tiled, %loop = transform.structured.tile_using_forall %matmul tile_sizes [4, 32]"
    f' : (!transform.op<"linalg.matmul">) -> ({ANY}, {ANY})'
)
CAST = f'%same = transform.cast %matmul : !transform.op<"linalg.matmul"> to {ANY}\n'
FUSE_ALL = f"""{SPLIT}
%tiled, %loop = transform.structured.tile_using_forall %max tile_sizes [8, 32] : {TWO}
%add_fused, %loop_0 = transform.structured.fuse_into_containing_op %add into %loop : {FUSE}
%matmul_fused, %loop_1 = transform.structured.fuse_into_containing_op %matmul into %loop_0
  : (!transform.op<"linalg.matmul">, {ANY}) -> ({ANY}, {ANY})
"""
OUTLINE = f"""{FUSE_ALL}
%tiled_2, %loop_2 = transform.structured.tile_using_forall %add_fused tile_sizes [4, 4] : {TWO}
%matmul_fused_2, %loop_3 = transform.structured.fuse_into_containing_op %matmul_fused into %loop_2 : {FUSE}
%inner, %target = transform.structured.tile_using_forall %tiled_2 tile_sizes [1] : {TWO}
%matmul_fused_3, %target_1 = transform.structured.fuse_into_containing_op %matmul_fused_2 into %target : {FUSE}
%func, %call = transform.loop.outline %target {{func_name = "outlined"}} : ({ANY}) -> ({ANY}, !transform.op<"func.call">) // kills
"""


def remark(handle, type_=ANY):
    return f'transform.debug.emit_remark_at {handle}, "here" : {type_}'


CHAPTER_0 = {
    "match and tile elements": Case(
        "primer",
        match("add", "linalg.add")
        + f"%t, %l:2 = transform.structured.tile_using_for %add tile_sizes [4, 8] : ({ANY}) -> ({ANY}, {ANY}, {ANY})",
    ),
    "tile a contraction in three dimensions": Case(
        "primer",
        match("mm", "linalg.matmul")
        + f"%t, %l:3 = transform.structured.tile_using_for %mm tile_sizes [4, 8, 8] : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})",
    ),
    "a reduction in parallel parts": Case(
        "primer",
        match("sum", "linalg.reduce")
        + f"%g = transform.structured.generalize %sum : {TO_ANY}\n"
        + f"%fill, %split, %combine, %loop = transform.structured.tile_reduction_using_for %g by tile_sizes = [0, 8] : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})",
    ),
    "a producer computed inside the loop of its consumer": Case(
        "primer",
        match("add", "linalg.add")
        + match("exp", "linalg.exp")
        + f"%t, %l = transform.structured.tile_using_forall %add tile_sizes [4] : {TWO}\n"
        + f"%f, %n = transform.structured.fuse_into_containing_op %exp into %l : {FUSE}",
    ),
    "structured ops become vector ops": Case(
        "primer",
        match("mm", "linalg.matmul")
        + f"transform.structured.vectorize %mm : {ANY}\n"
        + match("add", "linalg.add")
        + f"transform.structured.vectorize %add : {ANY}",
    ),
    "a tiled op is gone": Case(
        "primer",
        match("add", "linalg.add")
        + f"%t, %l = transform.structured.tile_using_for %add tile_sizes [4] : {TWO} // kills\n"
        + f"transform.structured.vectorize %add : {ANY} // fails",
        "invalidated-handle",
        "direct",
    ),
    "sizes for more loops than there are": Case(
        "primer",
        match("add", "linalg.add")
        + f"%t, %l:3 = transform.structured.tile_using_for %add tile_sizes [4, 8, 2] : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY}) // fails",
        "silenceable",
    ),
    "only structured ops can be tiled": Case(
        "primer",
        match("f", "func.func")
        + f"%t, %l = transform.structured.tile_using_for %f tile_sizes [4] : {TWO} // fails",
        "silenceable",
    ),
}
CHAPTER_1 = {
    "nothing to do": for_layer(""),
    "remarks at bound ops": for_layer(
        remark("%matmul", '!transform.op<"linalg.matmul">')
        + "\n"
        + remark("%elementwise", '!transform.op<"linalg.elementwise">')
    ),
    "tile the product": for_layer(TILE_MATMUL),
    "use after consumption": for_layer(
        f"{TILE_MATMUL} // kills\n" + remark("%matmul", '!transform.op<"linalg.matmul">') + " // fails",
        "invalidated-handle",
        "direct",
    ),
    "a cast is another name for the same op": for_layer(
        CAST + f"{TILE_MATMUL} // kills\n" + remark("%same") + " // fails", "invalidated-handle", "alias"
    ),
    "and the other way round": for_layer(
        CAST
        + f"%tiled, %loop = transform.structured.tile_using_forall %same tile_sizes [4, 32] : {TWO} // kills\n"
        + remark("%matmul", '!transform.op<"linalg.matmul">')
        + " // fails",
        "invalidated-handle",
        "alias",
    ),
    "tile and fuse": for_layer(FUSE_ALL),
    "fuse merged handles in one step": for_layer(
        SPLIT
        + f"%tiled, %loop = transform.structured.tile_using_forall %max tile_sizes [8, 32] : {TWO}\n"
        + CAST
        + f"%both = transform.merge_handles %add, %same : {ANY}\n"
        + f"%fused, %loop_0 = transform.structured.fuse_into_containing_op %both into %loop : {FUSE}"
    ),
    "fuse in the wrong order": for_layer(
        SPLIT
        + f"%tiled, %loop = transform.structured.tile_using_forall %max tile_sizes [8, 32] : {TWO}\n"
        + "%fused, %loop_0 = transform.structured.fuse_into_containing_op %matmul into %loop // fails\n"
        + f'  : (!transform.op<"linalg.matmul">, {ANY}) -> ({ANY}, {ANY})',
        "silenceable",
    ),
    "split into more handles than ops": for_layer(
        f'%a, %b, %c = transform.split_handle %elementwise : (!transform.op<"linalg.elementwise">) -> ({ANY}, {ANY}, {ANY}) // fails',
        "silenceable",
    ),
    "a cast to another kind of op": for_layer(
        CAST + f'%sum = transform.cast %same : {ANY} to !transform.op<"linalg.add"> // fails', "definite"
    ),
    "one op twice in a consumed handle": for_layer(
        CAST
        + f"%twice = transform.merge_handles %same, %same : {ANY}\n"
        + f"%tiled, %loop = transform.structured.tile_using_forall %twice tile_sizes [4, 32] : {TWO} // fails",
        "repeated-payload",
    ),
    "tile twice and outline": for_layer(OUTLINE),
    "the outlined loop is gone": for_layer(
        OUTLINE + remark("%target") + " // fails", "invalidated-handle", "direct"
    ),
    "and so is what lies in it": for_layer(
        OUTLINE + remark("%inner") + " // fails", "invalidated-handle", "nested"
    ),
    "what is fused into it too": for_layer(
        OUTLINE + remark("%matmul_fused_3") + " // fails", "invalidated-handle", "nested"
    ),
    "a failure that is suppressed": Case(
        "layer",
        f"transform.sequence %root : {ANY} failures(suppress) {{\n^bb0(%inside: {ANY}):\n"
        + f"%none, %two = transform.split_handle %inside : ({ANY}) -> ({ANY}, {ANY})\ntransform.yield\n}}",
    ),
    "a failure that is propagated": Case(
        "layer",
        f"transform.sequence %root : {ANY} failures(propagate) {{\n^bb0(%inside: {ANY}):\n"
        + f"%none, %two = transform.split_handle %inside : ({ANY}) -> ({ANY}, {ANY}) // fails\ntransform.yield\n}}",
        "silenceable",
    ),
}
CONV_TILED = (
    match("relu", "linalg.max")
    + match("conv", "linalg.conv_2d_nhwc_hwcf")
    + match("bias", "linalg.broadcast")
    + match("zeros", "linalg.fill")
    + f"""
%relu_tile, %forall = transform.structured.tile_using_forall %relu tile_sizes [1, 1, 5, 64] : {TWO}
%zeros_tile, %forall_1 = transform.structured.fuse_into_containing_op %zeros into %forall : {FUSE}
%conv_tile, %forall_2 = transform.structured.fuse_into_containing_op %conv into %forall_1 : {FUSE}
%bias_tile, %forall_3 = transform.structured.fuse_into_containing_op %bias into %forall_2 : {FUSE}
%piece, %reductions:3 = transform.structured.tile_using_for %conv_tile tile_sizes [0, 0, 0, 0, 1, 1, 1] // kills
  : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})
"""
)
CONV_VECTORS = CONV_TILED + (
    f'%function = transform.structured.match ops{{["func.func"]}} in %root : {TO_ANY}\n'
    f"""%generic = transform.structured.generalize %piece : {TO_ANY}
transform.apply_patterns to %function {{
  transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices
  transform.apply_patterns.canonicalization
}} : {ANY}
transform.apply_cse to %function : {ANY}
%products = transform.structured.match ops{{["linalg.generic"]}} in %function : {TO_ANY}
"""
)
CHAPTER_H = {
    "compute at: everything inside the tiles of the last op": Case("convolution", CONV_TILED),
    "vectorize: one step of the reduction at a time": Case(
        "convolution",
        CONV_VECTORS + f"transform.structured.vectorize %products {{create_named_contraction}} : {ANY}",
    ),
    "unroll": Case("convolution", CONV_TILED + f"transform.loop.unroll %reductions#1 {{factor = 3}} : {ANY}"),
    "the op that was split is gone": Case(
        "convolution", CONV_TILED + remark("%conv_tile") + " // fails", "invalidated-handle", "direct"
    ),
    "unrolling an outer loop kills what is inside": Case(
        "convolution",
        CONV_TILED
        + f"transform.loop.unroll %reductions#1 {{factor = 3}} : {ANY} // kills\n"
        + f"transform.structured.vectorize %piece : {ANY} // fails",
        "invalidated-handle",
        "nested",
    ),
    "the innermost loop too": Case(
        "convolution",
        CONV_TILED
        + f"transform.loop.unroll %reductions#0 {{factor = 3}} : {ANY} // kills\n"
        + f"transform.loop.unroll %reductions#2 {{factor = 4}} : {ANY} // fails",
        "invalidated-handle",
        "nested",
    ),
    "two handles to one loop": Case(
        "convolution",
        CONV_TILED
        + f'%parent = transform.get_parent_op %piece {{op_name = "scf.for"}} : {TO_ANY}\n'
        + f"transform.loop.unroll %reductions#2 {{factor = 4}} : {ANY} // kills\n"
        + f"transform.loop.unroll %parent {{factor = 2}} : {ANY} // fails",
        "invalidated-handle",
        "alias",
    ),
    "a kind of loop that cannot be unrolled": Case(
        "convolution",
        CONV_TILED + f"transform.loop.unroll %forall_3 {{factor = 2}} : {ANY} // fails",
        "silenceable",
    ),
}
CASES = [
    pytest.param(case, id=f"{chapter}: {name}")
    for chapter, cases in (("0", CHAPTER_0), ("1", CHAPTER_1), ("H", CHAPTER_H))
    for name, case in cases.items()
]


def schedule_text(case):
    head = "module attributes {transform.with_named_sequence} {\ntransform.named_sequence @__transform_main"
    return f"{head}(%root: {ANY} {{transform.consumed}}{case.arguments}) {{\n{case.body}\ntransform.yield\n}}\n}}\n"


def traced(case, worker):
    payload = lhkit.load_payload(PAYLOADS[case.payload], worker=worker)
    schedule = lhkit.load_schedule(schedule_text(case), bind=case.bind, worker=worker)
    return trace_schedule(payload, schedule, worker=worker)


def last_line_marked(case, mark):
    return max(i for i, line in enumerate(schedule_text(case).splitlines(), 1) if line.endswith(f"// {mark}"))
