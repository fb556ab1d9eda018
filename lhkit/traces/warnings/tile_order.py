"""Warnings about tiled dimensions: tiles across those of what an op reads, shared and misnamed reductions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lhkit.model.trace_record import TraceStep
from lhkit.traces.record.handle_history import PayloadHistory, display_names
from lhkit.traces.record.op_names import is_product
from lhkit.traces.record.placed_ops import PlacedOps, PrintedOp, op_in_words, place_ops

_TILES = ("transform.structured.tile_using_for", "transform.structured.tile_using_forall")
_MOST_STEPS = 12
_RESULT = re.compile(r"-> tensor<((?:\d+x)+)[a-z]\w*>")

Shape = tuple[int, ...]


def find_crossed_tiles(history: PayloadHistory) -> Iterator[tuple[int, str]]:
    """Yield the steps that tile an op by the sizes of an op it reads, of the same shape, in another order."""
    trace = history.trace
    steps = [s for s in trace.step_records if s.op in _TILES and s.status == "ok"]
    given = place_ops(trace, -1) if 1 < len(steps) <= _MOST_STEPS else None
    if given is None:
        return
    tiles: dict[str, tuple[TraceStep, Shape]] = {}
    for step in steps:
        for op in history.ops_given(step, 0):
            if op in given.ids and (shape := _tile_shape(history, step, op)):
                tiles.setdefault(op, (step, shape))
    for op, (step, tile) in tiles.items():
        for read in _reads(given, op):
            if read not in tiles or _shape(given, op) != _shape(given, read):
                continue
            other_step, other = tiles[read]
            whole = _shape(given, op)
            pairs = ((tile, other), (_sizes(tile, whole), _sizes(other, whole)))
            if any(one != two and sorted(one) == sorted(two) for one, two in pairs):
                later = max(step, other_step, key=lambda s: s.index)
                reads = f"the {op_in_words(trace, read)}, which it reads, {_written(other)}"
                yield (
                    later.index,
                    f"the {op_in_words(trace, op)} is tiled {_written(tile)} and {reads}: the same sizes"
                    " in another order",
                )
                break


def _tile_shape(history: PayloadHistory, step: TraceStep, op: str) -> Shape | None:
    placed = place_ops(history.trace, step.index)
    made = [
        o.id for o in history.descendants([op]) if o.born == step.index and o.name == history.trace.op(op).name
    ]
    return _shape(placed, made[0]) if placed is not None and made and made[0] in placed.ids else None


def _shape(placed: PlacedOps, op: str) -> Shape | None:
    printed = placed.ir.ops[placed.ids.index(op)]
    return _result_shape(printed)


def _result_shape(printed: PrintedOp) -> Shape | None:
    found = _RESULT.findall(printed.shapes[-1])
    return tuple(int(n) for n in found[-1].rstrip("x").split("x")) if found else None


def _sizes(tile: Shape, whole: Shape | None) -> Shape:
    """Return the tile sizes that give a tile, 0 for what is not tiled; the tile if the shape is not static."""
    if whole is None or len(whole) != len(tile):
        return tile
    return tuple(0 if size == extent else size for size, extent in zip(tile, whole, strict=True))


def _reads(placed: PlacedOps, op: str) -> Iterator[str]:
    number = placed.ids.index(op)
    for source in {value[0] for value in placed.ir.ops[number].values[0]} - {number}:
        id_ = placed.ids[source]
        if id_ is not None:
            yield id_


def _written(shape: Shape) -> str:
    return "x".join(map(str, shape))


_RACE = re.compile(r"tiling is not thread safe at axis #(\d+)")


def find_shared_reductions(history: PayloadHistory) -> Iterator[tuple[int, str]]:
    """Yield the steps that tile a reduction by scf.forall: iterations write to the same tile."""
    for step in history.trace.step_records:
        axes = [found[1] for d in step.diagnostics if (found := _RACE.search(d.message))]
        if axes and step.status == "ok":
            yield (
                step.index,
                f"dimension {axes[0]} is a reduction: iterations of the scf.forall write to the same tile,"
                " and the result is wrong when they run in parallel; tile that dimension by tile_using_for",
            )


_REDUCTION_NAMES = re.compile(r"%(?:reductions?|reduce|red|k+|ks|k_?loops?|loops?_?k)\d*$", re.IGNORECASE)


def find_misnamed_loops(history: PayloadHistory) -> Iterator[tuple[int, str]]:
    """Yield the steps whose one loop is called a reduction, ``%k`` for products, and is over another dimension.

    The result of an op is as large before as after its reduction was tiled.
    """
    trace = history.trace
    names = display_names(trace)
    for step in trace.step_records:
        if step.op != _TILES[0] or step.status != "ok" or len(step.results) != 2:
            continue
        name, given = names[step.results[1]], history.ops_given(step, 0)
        before = place_ops(trace, step.index - 1) if _REDUCTION_NAMES.match(name) and len(given) == 1 else None
        if before is None or given[0] not in before.ids or not _may_reduce(trace.op(given[0]).name, name):
            continue
        whole, tile = _shape(before, given[0]), _tile_shape(history, step, given[0])
        if whole and tile and whole != tile:
            yield (
                step.index,
                f"{name} is no loop over a reduction: it makes tiles of {_written(tile)} of the"
                f" {op_in_words(trace, given[0])}, whose result is {_written(whole)}",
            )


def _may_reduce(op: str, name: str) -> bool:
    """Return whether a name means a reduction for an op: a bare k is the third dimension of products alone."""
    return not name.startswith("%k") or is_product(op)
