"""cpu.mlir on attention: lengths, heads, masks, and what of it is in memory."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

import lhkit


def attention(batch, length, keys, width, *, causal=False, dynamic=False):
    """Return the text of attention of ``batch`` heads; masked scores are minus infinity."""

    def tensor(*extents):
        shown = ["?" if dynamic and e in (length, keys) else str(e) for e in extents]
        return f"tensor<{'x'.join(shown)}xf32>"

    def empty(name, *extents):
        return f"%{name} = tensor.empty({sizes if dynamic else ''}) : {tensor(*extents)}".replace(
            sizes, ", ".join({length: "%length", keys: "%keys"}[e] for e in extents if e in (length, keys))
        )

    sizes = "SIZES"
    assert not dynamic or len({batch, length, keys, width}) == 4
    q, k, s, r = (batch, length, width), (batch, keys, width), (batch, length, keys), (batch, length)
    counted = f"""
  %one = arith.constant 1 : index
  %length = tensor.dim %q, %one : {tensor(*q)}
  %keys = tensor.dim %k, %one : {tensor(*k)}"""
    three, two = "affine_map<(b, i, j) -> (b, i, j)>", "affine_map<(b, i, j) -> (b, i)>"
    masking = """
    %row = linalg.index 1 : index
    %column = linalg.index 2 : index
    %seen = arith.cmpi ule, %column, %row : index
    %masked = arith.select %seen, %scaled, %low : f32
    linalg.yield %masked : f32"""
    return f"""func.func @attention(%q: {tensor(*q)}, %k: {tensor(*k)}, %v: {tensor(*k)}) -> {tensor(*q)} {{
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.2 : f32{counted if dynamic else ""}
  {empty("es", *s)}
  {empty("er", *r)}
  {empty("eq", *q)}
  %z = linalg.fill ins(%zero : f32) outs(%es : {tensor(*s)}) -> {tensor(*s)}
  %products = linalg.generic {{indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>,
    affine_map<(b, i, j, d) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
    ins(%q, %k : {tensor(*q)}, {tensor(*k)}) outs(%z : {tensor(*s)}) {{
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %m = arith.mulf %x, %y : f32
    %a = arith.addf %sum, %m : f32
    linalg.yield %a : f32
  }} -> {tensor(*s)}
  %scores = linalg.generic {{indexing_maps = [{three}, {three}], iterator_types = ["parallel", "parallel", "parallel"]}}
    ins(%products : {tensor(*s)}) outs(%es : {tensor(*s)}) {{
  ^bb0(%x: f32, %out: f32):
    %scaled = arith.mulf %x, %scale : f32{masking if causal else " linalg.yield %scaled : f32".replace(" l", chr(10) + "    l", 1)}
  }} -> {tensor(*s)}
  %low_rows = linalg.fill ins(%low : f32) outs(%er : {tensor(*r)}) -> {tensor(*r)}
  %largest = linalg.reduce {{ arith.maximumf }} ins(%scores : {tensor(*s)}) outs(%low_rows : {tensor(*r)}) dimensions = [2]
  %raised = linalg.generic {{indexing_maps = [{three}, {two}, {three}], iterator_types = ["parallel", "parallel", "parallel"]}}
    ins(%scores, %largest : {tensor(*s)}, {tensor(*r)}) outs(%es : {tensor(*s)}) {{
  ^bb0(%x: f32, %most: f32, %out: f32):
    %less = arith.subf %x, %most : f32
    %e = math.exp %less : f32
    linalg.yield %e : f32
  }} -> {tensor(*s)}
  %zero_rows = linalg.fill ins(%zero : f32) outs(%er : {tensor(*r)}) -> {tensor(*r)}
  %sums = linalg.reduce {{ arith.addf }} ins(%raised : {tensor(*s)}) outs(%zero_rows : {tensor(*r)}) dimensions = [2]
  %shares = linalg.generic {{indexing_maps = [{three}, {two}, {three}], iterator_types = ["parallel", "parallel", "parallel"]}}
    ins(%raised, %sums : {tensor(*s)}, {tensor(*r)}) outs(%es : {tensor(*s)}) {{
  ^bb0(%x: f32, %sum: f32, %out: f32):
    %part = arith.divf %x, %sum : f32
    linalg.yield %part : f32
  }} -> {tensor(*s)}
  %zq = linalg.fill ins(%zero : f32) outs(%eq : {tensor(*q)}) -> {tensor(*q)}
  %result = linalg.batch_matmul ins(%shares, %v : {tensor(*s)}, {tensor(*k)}) outs(%zq : {tensor(*q)}) -> {tensor(*q)}
  return %result : {tensor(*q)}
}}"""


def by_numpy(q, k, v, causal):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.einsum("bid,bjd->bij", q, k) * 0.2
    if causal:
        scores = np.where(np.tri(q.shape[1], k.shape[1], dtype=bool), scores, -np.inf)
    raised = np.exp(scores - scores.max(axis=2, keepdims=True))
    return raised / raised.sum(axis=2, keepdims=True) @ v


@pytest.fixture(scope="module")
def schedule():
    return lhkit.load_schedule("cpu.mlir")


@functools.cache
def kernel_of(text, schedule):
    """Compile a payload once: that of dynamic shapes is the same for all of them."""
    return lhkit.compile(lhkit.load_payload(text), schedule, knobs={"rows": 24})


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize(("batch", "length", "keys"), [(1, 50, 51), (1, 96, 200), (3, 49, 37), (3, 1, 19)])
def test_result_is_that_of_numpy(batch, length, keys, dynamic, causal, schedule):
    kernel = kernel_of(attention(batch, length, keys, 24, causal=causal, dynamic=dynamic), schedule)
    drawn = np.random.default_rng(0)
    q, k, v = (drawn.standard_normal((batch, n, 24), dtype=np.float32) for n in (length, keys, keys))
    np.testing.assert_allclose(kernel(q, k, v), by_numpy(q, k, v, causal), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_row_goes_all_the_way_before_the_next(batch, causal, schedule):
    text = attention(batch, 192, 256, 32, causal=causal)
    kernel = lhkit.compile(lhkit.load_payload(text), schedule, knobs={"rows": 96})
    buffers = kernel.ir("bufferized")
    assert "192x256xf32" not in buffers
    # One loop over single rows has all of the softmax in it.
    assert len(re.findall(r"scf\.for %\w+ = %c0 to %c96 step %c1 ", buffers)) == 1
    # Keys are transposed once a head, not for every 96 rows.
    assert buffers.index("vector.shuffle") < buffers.index("step %c96")
