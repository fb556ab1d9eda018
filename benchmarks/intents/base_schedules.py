"""Sixty schedules that do what they are meant to, each with its payload: what breakages start from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import lhkit
from benchmarks.intents import product_bases as p
from benchmarks.intents import row_bases as r
from benchmarks.intents import tensor_bases as t
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Base:
    """A schedule without a mistake.

    Attributes:
        name: What it is called in reports.
        payload: What it is applied to.
        text: The schedule.
    """

    name: str
    payload: Payload
    text: str

    @property
    def schedule(self) -> Schedule:
        """The schedule, loaded."""
        return lhkit.load_schedule(self.text)


def base_schedules() -> list[Base]:
    """Return all of them, shipped ones first: none gives a warning."""
    return [*_shipped(), *_loaded(*_layers(), *_products(), *_rows(), *_others())]


def alarmed_schedules() -> list[Base]:
    """Return more schedules without a mistake, known to be warned of; nothing is broken in them.

    Fused a second time, the producers of the first fusion are dead code, not code that runs by elements.
    """
    return list(_loaded(*_fused_twice()))


def _shipped() -> Iterator[Base]:
    small = lhkit.payloads
    taken: tuple[tuple[str, Payload, dict[str, int]], ...] = (
        ("fc_relu_tile", small.fc_relu(32, 32, 32), {"tile_m": 8, "tile_n": 16, "tile_k": 8}),
        ("fc_relu_tile_fuse", small.fc_relu(32, 64, 16), {"tile_m": 8, "tile_n": 16}),
        ("fc_relu_tile_fuse_vectorize", small.fc_relu(32, 32, 32), {"tile_m": 4, "tile_n": 16}),
        ("matmul_tile", small.matmul(32, 32, 32), {"tile_m": 8, "tile_n": 16, "tile_k": 8}),
        ("matmul_tile_fuse", small.matmul(32, 64, 16), {"tile_m": 8, "tile_n": 16}),
        ("matmul_tile_fuse_vectorize", small.matmul(32, 32, 32), {"tile_m": 4, "tile_n": 16}),
        ("memory/matmul_tile_bufferize", small.matmul(8, 12, 8), {}),
    )
    for name, payload, knobs in taken:
        schedule = lhkit.load_schedule(lhkit.shipped_folder("schedules") / f"{name}.mlir")
        known = {knob: value for knob, value in knobs.items() if knob in schedule.text}
        text = schedule.with_knobs(known).portable_text() if known else schedule.text
        yield Base(name.rpartition("/")[2], payload, text)


def _loaded(*written: tuple[str, str, str]) -> Iterator[Base]:
    for name, payload, schedule in written:
        yield Base(name, lhkit.load_payload(payload), schedule)


def _fused_twice() -> Iterator[tuple[str, str, str]]:
    for shape, outer, inner in (((32, 64, 16), "[16, 32]", "[4, 8]"), ((24, 24, 8), "[12, 8]", "[3, 4]")):
        yield f"layer_two_levels {shape}", p.layer(shape), p.layer_two_levels(outer, inner)
    for pair, rows, columns in (((32, 64), "[8]", "[0, 16]"), ((16, 48), "[4]", "[0, 8]")):
        yield f"row_sum_fused {pair}", r.row_sum(pair), r.row_sum_fused(rows, columns)


def _layers() -> Iterator[tuple[str, str, str]]:
    for shape, sizes, k in (
        ((32, 64, 16), "[8, 16]", "[0, 0, 1]"),
        ((16, 32, 24), "[4, 8]", "[0, 0, 2]"),
        ((48, 16, 32), "[12, 8]", "[0, 0, 4]"),
    ):
        yield f"layer_by_for {shape}", p.layer(shape), p.layer_by_for(sizes, k)
        yield f"layer_by_forall {shape}", p.layer(shape), p.layer_by_forall(sizes)
        yield f"layer_by_split {shape}", p.layer(shape), p.layer_by_split(sizes)
    for shape, sizes in (((32, 32, 16), "[16, 8]"), ((24, 48, 32), "[8, 12]")):
        yield f"layer_tile_and_fuse {shape}", p.layer(shape), p.layer_tile_and_fuse(sizes)
        yield f"layer_generic {shape}", p.layer(shape), p.layer_generic(sizes)
        yield f"layer_by_include {shape}", p.layer(shape), p.layer_by_include(sizes)


def _products() -> Iterator[tuple[str, str, str]]:
    for shape, sizes, factor in (((32, 32, 16), "[8, 16]", 4), ((16, 64, 24), "[4, 32]", 2)):
        yield f"matmul_lowered {shape}", p.matmul(shape), p.matmul_lowered(sizes, factor)
    for shape, sizes, factor in (((20, 22, 16), "[4, 4]", 2), ((16, 34, 8), "[8, 8]", 4)):
        yield f"matmul_peeled {shape}", p.matmul(shape), p.matmul_peeled(sizes, factor)
    for shape, sizes in (((20, 22, 18), "[8, 8, 8]"), ((30, 17, 12), "[8, 4, 8]")):
        yield f"matmul_padded {shape}", p.matmul(shape), p.matmul_padded(sizes)
    for shape, sizes in (((16, 16, 16), "[4, 8, 4]"), ((24, 8, 32), "[8, 4, 8]")):
        yield f"matmul_bufferized {shape}", p.matmul(shape), p.matmul_bufferized(sizes)
    for order, sizes in (("[2, 0, 1]", "[8, 4, 16]"), ("[1, 2, 0]", "[16, 8, 4]")):
        yield f"matmul_interchanged {order}", p.matmul((32, 64, 16)), p.matmul_interchanged(order, sizes)
    yield "matmul_split_reduction", p.matmul((16, 24, 32)), p.matmul_split_reduction(4, "[0, 8]")
    for shape, sizes in (((16, 32, 24), "[4, 8]"), ((32, 16, 16), "[16, 8]")):
        yield f"two_products_each {shape}", p.two_products(shape), p.two_products_each(sizes)
    for shape, sizes in (((16, 32, 24), "[4]"), ((32, 16, 16), "[8]")):
        yield f"two_products_split {shape}", p.two_products(shape), p.two_products_split(sizes)
    for shape, outer, inner in (
        ((16, 16, 8), "[1, 8]", "[0, 0, 4, 2]"),
        ((8, 32, 16), "[2, 4]", "[0, 0, 8, 4]"),
    ):
        yield f"batch_tiled {shape}", t.batch(shape), t.batch_tiled(outer, inner)


def _rows() -> Iterator[tuple[str, str, str]]:
    for shape, sizes in (((32, 64), "[4]"), ((24, 16), "[8]")):
        yield f"softmax_fused {shape}", r.softmax(shape), r.softmax_fused(sizes)
        yield f"softmax_kept {shape}", r.softmax(shape), r.softmax_kept(sizes)
    yield "row_sum_parallel", r.row_sum((16, 64)), r.row_sum_parallel("[0, 16]")
    for shape, sizes in (((32, 48), "[16]"), ((16, 64), "[8]")):
        yield f"column_sum_fused {shape}", r.column_sum(shape), r.column_sum_fused(sizes)
    for shape, sizes in (((32, 16), "[8]"), ((16, 64), "[2]")):
        yield f"layer_norm_fused {shape}", r.layer_norm(shape), r.layer_norm_fused(sizes)
        yield f"layer_norm_split {shape}", r.layer_norm(shape), r.layer_norm_split(sizes)


def _others() -> Iterator[tuple[str, str, str]]:
    for shape, sizes in (((32, 64), "[8, 16]"), ((16, 48), "[4, 8]")):
        yield f"chain_fused {shape}", r.chain(shape), r.chain_fused(sizes)
        yield f"chain_generic {shape}", r.chain(shape), r.chain_generic("[1, 0]", sizes)
    yield "chain_apart", r.chain((32, 32)), r.chain_apart("[8, 16]")
    for shape, sizes in (((32, 64), "[8, 8]"), ((16, 24), "[8, 4]")):
        yield f"transposed_vectors {shape}", r.transposed(shape), r.transposed_vectors(sizes)
    for shape, outer, factor in (((8, 16), "[0, 2, 4]", 2), ((12, 8), "[0, 3, 6, 4]", 4)):
        tiled = t.convolution_tiled(outer, "[0, 0, 0, 0, 1, 1, 2]", factor)
        yield f"convolution_tiled {shape}", t.convolution(shape), tiled
    yield "convolution_generic", t.convolution((8, 16)), t.convolution_generic("[0, 4, 2]")
