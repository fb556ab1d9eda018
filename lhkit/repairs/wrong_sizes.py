"""Repairs of tile sizes: other orders, fewer loops, and what other steps tile by."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from lhkit.model.trace_record import TraceStep
from lhkit.repairs.repair_context import (
    Candidate,
    RepairContext,
    candidate,
    op_at,
    without_last_results,
)
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement, Script
from lhkit.text.step_arguments import arguments_of, elements_of
from lhkit.traces.record.placed_ops import place_ops
from lhkit.traces.warnings.lost_work import FUSE

_VECTORIZE = "transform.structured.vectorize"
_TILES = ("transform.structured.tile_using_for", "transform.structured.tile_using_forall")
_FUSED_TILES = "transform.structured.fuse"
SIZES_BEFORE = "sizes of an earlier step"
_MOST_ORDERS, _MOST_PERMUTED = 6, 120


def _sizes_of(script: Script, op: OpSyntax) -> list[tuple[tuple[int, int], list[str]]]:
    """Return span and elements of the tile sizes of a step, if they are numbers."""
    found = [a for a in arguments_of(op) if a.name == "tile_sizes" and script.text[a.start] == "["]
    spans = [(a, elements_of(op, a.start, a.end)) for a in found]
    sizes = [((a.start, a.end), [script.text[b:e] for b, e in each]) for a, each in spans]
    return [(span, each) for span, each in sizes if each and all(size.isdigit() for size in each)]


def propose_sizes(context: RepairContext, *, fewer_loops: bool = False) -> Iterator[Candidate]:
    """Yield candidates that tile other dimensions: other orders, no leading zero, or not the last."""
    for op in _tiling_behind(context):
        yield from propose_shifted_sizes(dataclasses.replace(context, op=op))
        for (start, end), sizes in _sizes_of(context.script, op):
            orders = dict.fromkeys(itertools.islice(itertools.permutations(sizes), _MOST_PERMUTED))
            wanted = [(each, 0) for each in _smaller_elsewhere(context.script, op, sizes)]
            # One dimension further to the right.
            wanted += [(("0", *sizes), 1)] if sizes[0] != "0" else []
            # Of three sizes that all tile, any other order may let the loop run more than once: none is meant.
            is_whole = any(w.kind == "tile-size-whole" for w in context.step.warnings)
            if not (is_whole and len(set(sizes) - {"0"}) > 2 and "0" not in sizes):
                wanted += [(each, 1) for each in list(orders)[:_MOST_ORDERS] if list(each) != sizes]
            if fewer_loops and len(sizes) > 1 and sizes[-1] != "0":
                wanted.append((tuple(sizes[:-1]), 1))
            for each, doubt in wanted:
                yield from _tiled_by(context.script, op, (start, end), sizes, each, doubt)


def propose_shifted_sizes(context: RepairContext) -> Iterator[Candidate]:
    """Yield the candidate that tiles one dimension further to the left."""
    for span, sizes in _sizes_of(context.script, context.op):
        if len(sizes) > 1 and sizes[0] == "0" != sizes[1]:
            yield from _tiled_by(context.script, context.op, span, sizes, sizes[1:], 0)


def _tiled_by(
    script: Script, op: OpSyntax, span: tuple[int, int], old: Sequence[str], sizes: Sequence[str], doubt: int
) -> Iterator[Candidate]:
    """Yield the candidate that writes other sizes, and drops the loops that are no longer made."""
    new = f"[{', '.join(sizes)}]"
    fewer = sum(s != "0" for s in old) - sum(s != "0" for s in sizes)
    dropped = without_last_results(script, op, fewer if op.name != _TILES[1] else 0)
    if dropped is not None and any(s != "0" for s in sizes):
        title = f"Tile by {new} in {script.describe(op)}"
        yield candidate("sizes", title, script, [Replacement(*span, new), *dropped], doubt)


def propose_fitting_sizes(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for a tile size that is its extent or more.

    An earlier step may have tiled the dimension already, by a size that was meant for no dimension.
    """
    script = context.script
    for _, own in _sizes_of(script, context.op):
        for op in (o for o in script.steps if o.name in _TILES and o.start < context.op.start):
            for span, sizes in _sizes_of(script, op):
                if 1 < len(sizes) <= len(own) and own[len(sizes) - 1] != "0" != sizes[-1]:
                    yield from _tiled_by(script, op, span, sizes, sizes[:-1], 0)
    yield from propose_sizes(context)


def _smaller_elsewhere(script: Script, op: OpSyntax, sizes: list[str]) -> list[tuple[str, ...]]:
    """Return the sizes of other steps that differ from those of a step in one, which is smaller."""
    found = []
    others = (
        each for o in script.steps if o.name in _TILES and o is not op for _, each in _sizes_of(script, o)
    )
    for other in (each for each in others if len(each) == len(sizes)):
        unlike = [(int(its), int(mine)) for its, mine in zip(other, sizes, strict=True) if its != mine]
        if len(unlike) == 1 and 0 < unlike[0][0] < unlike[0][1]:
            found.append(tuple(other))
    return found


def propose_sizes_before(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for a step that fails behind one with a warning about its tile sizes.

    An op that cannot be vectorized, as its shape is not static, may be tiled by sizes that divide its extents
    in another order.
    """
    given = context.step.operands[0].handle if context.op.name == _VECTORIZE and context.step.operands else None
    last = max((s.step for s in context.trace.snapshots if s.step < context.step.index), default=-1)
    placed, located = place_ops(context.trace, last), context.locate(given) if given is not None else None
    numbers = [placed.ids.index(o) for o in located.ops if o in placed.ids] if placed and located else []
    is_dynamic = placed is not None and any("?" in line for n in numbers for line in placed.ir.ops[n].shapes)
    for step in context.trace.step_records[: context.step.index]:
        op = op_at(context.script, step)
        if op is None or not (is_dynamic or any(w.kind.startswith("tile-size-") for w in step.warnings)):
            continue
        for each in propose_fitting_sizes(RepairContext(context.trace, context.script, step, op)):
            yield dataclasses.replace(each, group=SIZES_BEFORE)


def propose_uncrossed(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates in which two steps tile by the same sizes in the same order: that of most steps.

    Where as many do one as the other, the larger size is sooner that of the last dimension, whose elements
    are contiguous.
    """
    script = context.script
    tiling = [(op, *each) for op in script.steps if op.name in _TILES for each in _sizes_of(script, op)]
    votes = Counter(tuple(sizes) for _, _, sizes in tiling)
    for other, there, its in tiling:
        for _, here, mine in (each for each in tiling if each[0] is context.op and other is not context.op):
            if mine == its or sorted(set(mine) - {"0"}) != sorted(set(its) - {"0"}):
                continue
            is_other_wrong = (votes[tuple(mine)], int(mine[-1])) > (votes[tuple(its)], int(its[-1]))
            yield from _tiled_by(script, context.op, here, mine, its, int(is_other_wrong))
            yield from _tiled_by(script, other, there, its, mine, int(not is_other_wrong))
    yield from propose_sizes(context)


def _tiling_behind(context: RepairContext) -> Iterator[OpSyntax]:
    """Yield the step itself if it tiles, otherwise the step whose loop it was given."""
    if context.op.name in (*_TILES, _FUSED_TILES):
        yield context.op
        return
    by_result = {r: s for s in context.trace.step_records for r in s.results}
    step: TraceStep | None = context.step
    while step is not None and step.op == FUSE and len(step.operands) > 1:
        step = by_result.get(step.operands[1].handle)
    op = op_at(context.script, step) if step is not None else None
    if op is not None and op.name in _TILES:
        yield op
