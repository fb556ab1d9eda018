"""Results that start from the values of an argument: computed in their destination, which overlaps with nothing."""

from __future__ import annotations

import numpy as np
import pytest

import lhkit

# 64 KiB a result: copies of that size call memcpy.
ROW = "tensor<128x128xf32>"
SUM = f"""func.func @f(%a: {ROW}, %c: {ROW}) -> {ROW} {{
  %r = linalg.add ins(%a, %c : {ROW}, {ROW}) outs(%c : {ROW}) -> {ROW}
  return %r : {ROW}
}}"""
PRODUCT = f"""func.func @f(%a: {ROW}, %c: {ROW}) -> {ROW} {{
  %r = linalg.matmul ins(%a, %c : {ROW}, {ROW}) outs(%c : {ROW}) -> {ROW}
  return %r : {ROW}
}}"""
RESHAPED = f"""func.func @f(%a: {ROW}, %c: tensor<1x128x128xf32>) -> tensor<1x128x128xf32> {{
  %s = tensor.collapse_shape %c [[0, 1], [2]] : tensor<1x128x128xf32> into {ROW}
  %r = linalg.matmul ins(%a, %a : {ROW}, {ROW}) outs(%s : {ROW}) -> {ROW}
  %e = tensor.expand_shape %r [[0, 1], [2]] output_shape [1, 128, 128] : {ROW} into tensor<1x128x128xf32>
  return %e : tensor<1x128x128xf32>
}}"""
TWICE = f"""func.func @f(%a: {ROW}, %c: {ROW}) -> ({ROW}, {ROW}) {{
  %r = linalg.matmul ins(%a, %a : {ROW}, {ROW}) outs(%c : {ROW}) -> {ROW}
  %s = linalg.matmul ins(%r, %a : {ROW}, {ROW}) outs(%c : {ROW}) -> {ROW}
  return %r, %s : {ROW}, {ROW}
}}"""


def computed(text, a, c):
    if text == PRODUCT:
        return [a @ c + c]
    if text == TWICE:
        return [a @ a + c, (a @ a + c) @ a + c]
    return [a + c] if text == SUM else [(a @ a)[None] + c]


@pytest.mark.parametrize("schedule", [None, "cpu.mlir"])
@pytest.mark.parametrize(
    ("text", "copies"),
    [(SUM, 0), (PRODUCT, 1), (RESHAPED, 1), (TWICE, 2)],
    ids=["sum", "product", "reshaped", "twice"],
)
def test_a_result_starts_in_its_destination(text, copies, schedule):
    payload = lhkit.load_payload(text)
    kernel = lhkit.compile(payload, schedule) if schedule else lhkit.compile(payload)
    rng = np.random.default_rng(0)
    a = rng.standard_normal((128, 128), dtype=np.float32)
    c = rng.standard_normal((1, 128, 128) if text == RESHAPED else (128, 128), dtype=np.float32)
    given = c.copy()
    results = kernel(a, c)
    results = results if isinstance(results, tuple) else (results,)
    for result, wanted in zip(results, computed(text, a, c), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(c, given)
    code = str(kernel.assembly())
    calls = [line for line in code.splitlines() if "call " in line or "jmp " in line]
    assert sum("memcpy" in line for line in calls) <= copies
    assert "alloc" not in code or schedule  # packed panels have buffers


def test_loops_need_no_check_that_results_overlap():
    text = """#id = affine_map<(i, j) -> (i, j)>
func.func @f(%a: tensor<64x300xf32>, %c: tensor<64x300xf32>) -> tensor<64x300xf32> {
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<64x300xf32>) outs(%c : tensor<64x300xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<64x300xf32>
  return %r : tensor<64x300xf32>
}"""
    code = str(lhkit.compile(lhkit.load_payload(text)).assembly())
    assert sum(" j" in line for line in code.splitlines()) == 1


PACKED = """func.func @f(%a: tensor<30x30xf32>, %c: tensor<4x4x8x8xf32>, %p: f32) -> tensor<4x4x8x8xf32> {
  %r = linalg.pack %a padding_value(%p : f32) inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %c
    : tensor<30x30xf32> -> tensor<4x4x8x8xf32>
  return %r : tensor<4x4x8x8xf32>
}"""
MAPPED = f"""func.func @f(%a: {ROW}, %c: {ROW}) -> {ROW} {{
  %r = linalg.map {{ math.absf }} ins(%a : {ROW}) outs(%c : {ROW})
  return %r : {ROW}
}}"""


@pytest.mark.parametrize("text", [PACKED, MAPPED], ids=["pack", "map"])
def test_ops_whose_destination_has_no_element_or_is_not_last_compile(text):
    payload = lhkit.load_payload(text)
    assert lhkit.verify(lhkit.compile(payload, "cpu.mlir")).ok


def turned(count, early=False):
    """Return the text of ``count`` transposes one after the other, the first one of which is a result, too."""
    lines = [
        f"  %t{i + 1} = linalg.transpose ins(%t{i} : tensor<160x160xf32>) outs(%e : tensor<160x160xf32>)"
        " permutation = [1, 0]"
        for i in range(count)
    ]
    results = [f"%t{count}", "%t1"] if early else [f"%t{count}"]
    types = ", ".join(["tensor<160x160xf32>"] * len(results))
    return f"""func.func @f(%t0: tensor<160x160xf32>) -> ({types}) {{
  %e = tensor.empty() : tensor<160x160xf32>
{chr(10).join(lines)}
  return {", ".join(results)} : {types}
}}"""


@pytest.mark.parametrize(
    ("count", "early", "buffers"), [(1, False, 0), (3, False, 1), (5, False, 1), (2, True, 0), (4, True, 1)]
)
def test_buffers_that_end_before_a_result_begins_lie_where_it_will_be(count, early, buffers):
    kernel = lhkit.compile(lhkit.load_payload(turned(count, early)))
    bufferized = str(kernel.ir("bufferized"))
    assert bufferized.count("memref.alloc(") == bufferized.count("memref.dealloc ") == buffers
    a = np.random.default_rng(0).standard_normal((160, 160), dtype=np.float32)
    results = kernel(a)
    last = a.T if count % 2 else a
    for result, wanted in zip(results if early else (results,), (last, a.T), strict=False):
        np.testing.assert_array_equal(result, wanted)
