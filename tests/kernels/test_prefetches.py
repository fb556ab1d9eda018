"""Prefetches in marked reductions: which lines are asked for, where there are none, and exports."""

import operator
import re

import numpy as np
import pytest

import lhkit
from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.compiler.ir.parsing import walk
from lhkit.load.random_inputs import default_arguments
from tests.index_interpreter import ARITHMETIC

EVALUATED = {
    **ARITHMETIC,
    "arith.divui": lambda a, b: a // b,
    "arith.divsi": lambda a, b: int(a / b),
    "arith.select": lambda condition, a, b: a if condition else b,
}


def bound_layer(m, n, k, worker, target="avx512"):
    schedule = lhkit.load_schedule("fc_relu.mlir", target=target, worker=worker)
    kernel = lhkit.compile(lhkit.payloads.fc_relu(m, n, k), schedule, worker=worker)
    arguments = default_arguments(kernel.payload, kernel.function, 3)
    return kernel, kernel.bind({1: arguments[1]}), arguments


def prefetches(module, rank):
    found = [op for op in walk(module.operation) if op.name == "memref.prefetch"]
    return [op for op in found if op.operands[0].type.rank == rank]


def evaluated(value, of_loops):
    """Return the value of an index for values of the variables of loops."""
    if isinstance(value.owner, ir.Block):
        return of_loops[value]
    if value.owner.name == "arith.constant":
        return ir.IntegerAttr(value.owner.attributes["value"]).value
    if value.owner.name == "arith.cmpi":
        compare = {2: operator.lt, 3: operator.le}[ir.IntegerAttr(value.owner.attributes["predicate"]).value]
        return compare(*(evaluated(each, of_loops) for each in value.owner.operands))
    return EVALUATED[value.owner.name](*(evaluated(each, of_loops) for each in value.owner.operands))


@pytest.mark.parametrize(
    ("target", "m", "tile_m", "width", "first"),
    [("avx512", 96, 6, 64, 0), ("avx512", 300, 6, 64, 300 - 16 * 6), ("avx2", 100, 4, 24, 100 - 6 * 4)],
)
def test_last_tiles_of_rows_ask_for_each_line_of_the_next_panel(target, m, tile_m, width, first, worker):
    k = 64
    _, bound, _ = bound_layer(m, 4 * width, k, worker, target)
    text = bound.ir("loops")
    with new_context():
        module = ir.Module.parse(text)
        (op,) = prefetches(module, 3)
        reduction = op.parent
        tiles, strips = reduction.parent, reduction.parent.parent
        of_tile, of_strip, step = (
            each.regions[0].blocks[0].arguments[0] for each in (tiles, strips, reduction)
        )
        asked = {
            i: [
                [evaluated(v, {of_tile: i, of_strip: 2 * width, step: j}) for v in list(op.operands)[1:]]
                for j in range(0, k, 4)
            ]
            for i in range(0, m, tile_m)
        }
    lines = [line for i, each in asked.items() if i >= first for line in each]
    assert lines == [[3, 0, place] for place in range(0, k * width, 16)]
    assert all(each == asked[first] for i, each in asked.items() if i < first)


@pytest.mark.parametrize("target", ["avx512", "avx2"])
def test_each_line_of_a_tiles_result_and_bias_is_asked_for_before_its_reduction(target, worker):
    schedule = lhkit.load_schedule("fc_relu.mlir", target=target, worker=worker)
    text = lhkit.compile(lhkit.payloads.fc_relu(96, 192, 128), schedule, worker=worker).ir("loops")
    tile_m, width = schedule.values["tile_m"], schedule.values["tile_n"]
    with new_context():
        module = ir.Module.parse(text)
        asked = prefetches(module, 2)
        tiles = asked[0].parent
        variables = [each.regions[0].blocks[0].arguments[0] for each in (tiles, tiles.parent)]
        at = dict(zip(variables, (2 * tile_m, 2 * width), strict=True))
        places = {}
        for op in asked:
            memory, *place = list(op.operands)
            if op.parent == tiles:
                places.setdefault(memory.arg_number, []).append([evaluated(v, at) for v in place])
    step = 16
    wanted = [[r, c] for r in range(2 * tile_m, 3 * tile_m) for c in range(2 * width, 3 * width, step)]
    assert places == {2: wanted, 3: wanted}


def test_layers_with_prefetches_are_right(worker):
    for m, n, k in [(13, 300, 70), (50, 200, 130), (7, 128, 64), (1, 256, 33)]:
        kernel, bound, (x, w, b) = bound_layer(m, n, k, worker)
        np.testing.assert_allclose(bound(x, b), kernel(x, w, b), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(kernel(x, w, b), np.maximum(x @ w + b, 0), rtol=1e-4, atol=1e-4)


def test_short_reductions_and_single_tiles_are_not_prefetched(worker):
    kernel, *_ = bound_layer(96, 256, 64, worker)
    assert "memref.prefetch" not in kernel.ir("loops")
    # The loop around the reduction is that over strips.
    _, bound, _ = bound_layer(6, 256, 64, worker)
    assert "memref.prefetch" not in bound.ir("loops")


def test_large_products_prefetch_panels_of_blocks(worker):
    schedule = lhkit.load_schedule("matmul.mlir", target="avx2", knobs={"large": 896}, worker=worker)
    text = lhkit.compile(lhkit.payloads.matmul(896, 896, 896), schedule, worker=worker).ir("loops")
    assert re.search(r"memref\.prefetch %\w+\[%\w+, %\w+, %\w+\], read, .*memref<37x896x24xf32>", text)


@pytest.mark.parametrize("name", ["fc_relu.mlir", "mlp.mlir", "matmul.mlir"])
def test_exports_are_upstream_ops_alone(name, worker):
    schedule = lhkit.load_schedule(name, worker=worker)
    text = schedule.portable_text()
    assert not re.search(r'^\s*"lhkit\.', text, re.M)
