"""``lhkit.prefetch_next_panel``: which lines are asked for, where no panel is packed beforehand, and exports."""

import re

import numpy as np
import pytest

import lhkit
from lhkit.load.random_inputs import default_arguments


def bound_layer(m, n, k, worker, target="avx512"):
    schedule = lhkit.load_schedule("fc_relu.mlir", target=target, worker=worker)
    kernel = lhkit.compile(lhkit.payloads.fc_relu(m, n, k), schedule, worker=worker)
    arguments = default_arguments(kernel.payload, kernel.function, 3)
    return kernel, kernel.bind({1: arguments[1]}), arguments


def evaluated(maps, op, values):
    """Return the result of an ``affine.apply`` or ``affine.max`` line for values of its operands."""
    found = re.search(r"affine\.(apply|max) (#map\d*)\((.*)\)", op)
    names, results = re.fullmatch(r"\((.*?)\) -> \((.*)\)", maps[found[2]]).groups()
    operands = dict(zip(names.split(", "), (values[name] for name in found[3].split(", ")), strict=True))
    return max(eval(each.replace("floordiv", "//"), {}, operands) for each in re.split(r", ", results))


@pytest.mark.parametrize(
    ("target", "m", "tile_m", "width", "first"),
    [("avx512", 96, 6, 64, 0), ("avx512", 300, 6, 64, 300 - 16 * 6), ("avx2", 100, 4, 24, 100 - 6 * 4)],
)
def test_last_tiles_of_rows_ask_for_each_line_of_the_next_panel(target, m, tile_m, width, first, worker):
    k = 64
    _, bound, _ = bound_layer(m, 4 * width, k, worker, target)
    text = bound.ir("bufferized")
    maps = dict(re.findall(r"^(#map\d*) = affine_map<(.*)>$", text, re.M))
    (found,) = re.finditer(r"memref\.prefetch %\w+\[(%\w+), (%\w+), (%\w+)\], read, locality<2>", text)
    strip, row, place = (re.search(rf"{name} = (.*)", text)[1] for name in found.groups())
    assert row == "arith.constant 0 : index" and maps[strip.split()[1].split("(")[0]].endswith(
        f"ceildiv {width} + 1)"
    )
    start, step = re.search(r"\((%\w+), (%\w+)\)", place).groups()
    of_tile = re.search(rf"{start} = (affine.max .*)", text)[1]
    tile = re.search(r"\((%\w+)\)", of_tile)[1]
    asked = {}
    for i in range(0, m, tile_m):
        at = evaluated(maps, of_tile, {tile: i})
        asked[i] = [evaluated(maps, place, {start: at, step: j}) for j in range(0, k, 4)]
    lines = [line for i, each in asked.items() if i >= first for line in each]
    assert lines == list(range(0, k * width, 16))
    assert all(each == asked[first] for i, each in asked.items() if i < first)


def test_layers_with_prefetches_are_right(worker):
    for m, n, k in [(13, 300, 70), (50, 200, 130), (7, 128, 64), (1, 256, 33)]:
        kernel, bound, (x, w, b) = bound_layer(m, n, k, worker)
        np.testing.assert_allclose(bound(x, b), kernel(x, w, b), rtol=1e-4, atol=1e-4)


def test_panels_packed_in_calls_and_single_tiles_are_not_prefetched(worker):
    kernel, *_ = bound_layer(96, 256, 64, worker)
    assert "memref.prefetch" not in kernel.ir("bufferized")
    # The loop around the reduction is that over strips.
    _, bound, _ = bound_layer(6, 256, 64, worker)
    assert "memref.prefetch" not in bound.ir("bufferized")


@pytest.mark.parametrize("name", ["fc_relu.mlir", "mlp.mlir"])
def test_exports_go_without(name, worker):
    schedule = lhkit.load_schedule(name, worker=worker)
    text = schedule.portable_text()
    assert not re.search(r'^\s*"lhkit\.', text, re.M)
