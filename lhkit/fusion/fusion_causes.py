"""Causes why two ops are not fused at the end of a trace, each found by a check; the first that fits is it.

To add a cause, write a check and list it in ``_CHECKS``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator

from lhkit.fusion.emptied_handles import find_crowded, find_emptied
from lhkit.fusion.fusion_case import FusionCase, copies_outside, fused_loop, indexing_maps, result_type
from lhkit.fusion.fusion_queries import (
    MAKES_LOOP,
    SIBLING,
    TILED,
    Finding,
    attempts,
    greedy_steps,
    listed_ops,
    way_between,
    written,
)
from lhkit.fusion.payload_causes import find_map, find_reading_map, find_unrelated, lost_extent
from lhkit.model.errors import Diagnostic
from lhkit.model.explanation import FusionCause
from lhkit.model.trace_record import TraceStep
from lhkit.repairs.repair_trials import empty_origins
from lhkit.traces.explain.failure_causes import at_step
from lhkit.traces.explain.handle_explanation import explain, failure_of
from lhkit.traces.record.handle_history import oldest_of
from lhkit.traces.record.placed_ops import PlacedOps, PrintedOp
from lhkit.traces.record.placed_values import LOOPS, around, loops_around, path_between, users_of
from lhkit.traces.warnings.lost_work import FUSE, GREEDY
from lhkit.traces.warnings.zero_match import near_misses

_SPLIT_REDUCTION = "transform.structured.split_reduction"
_PEEL, _GENERALIZE = "transform.loop.peel", "transform.structured.generalize"
_TILING = ("transform.structured.tile_using_", GREEDY, SIBLING)
_ELEMENTWISE = "linalg-fuse-elementwise-ops"
_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")
_PACKS = ("linalg.pack", "linalg.unpack", "tensor.pack", "tensor.unpack")
_MOST_COPIES = 3
_BOUNDS = r" (?:in|=) (\(.*?\) to \(.*?\)(?: step \(.*?\))?|\(.*?\))"  # of an scf.forall


def _swallowed(case: FusionCase) -> Finding | None:
    """Return the step that folded a transpose of the two into a pack or an unpack."""
    for op in (case.producer, case.consumer):
        is_transpose = case.name(op) == "linalg.transpose"
        for step in case.steps[1:] if is_transpose else ():
            placed = case.after(step)
            names = {placed.ir.ops[n].name for n in case.instances(placed, op)}
            if names and names <= {*_PACKS}:
                by = f"step {step} ({case.trace.step_records[step].op})"
                sentence = f"The transpose is folded into the {min(names)}: {by} leaves none"
                return Finding("folded-transpose", sentence, step, "folds it")
        what = case.name(op).rpartition(".")[2]
        died = [case.trace.op(each).died for each in case.kin[op]] if what in ("transpose", "pad") else [None]
        if None not in died:
            last = case.trace.step_records[max(d for d in died if d is not None)]
            packs = {n for o in last.payload_delta.created if (n := case.trace.op(o).name) in _PACKS}
            if packs and "fold" in _all_of(case, last):
                by = f"step {last.index} ({last.op})"
                cause: FusionCause = "folded-pad" if what == "pad" else "folded-transpose"
                return Finding(
                    cause, f"The {what} is folded into a {min(packs)}: {by} leaves none", last.index, "folds it"
                )
    return None


def _all_of(case: FusionCase, step: TraceStep) -> str:
    """Return the text of a step from its line to the end of its block, which names the patterns it applies."""
    text = case.history.texts.get(step.source.file) if step.source else None
    lines = text.text.splitlines()[step.source.line - 1 :] if text and step.source else []
    return "\n".join(itertools.takewhile(lambda line: "}" not in line, lines))


def _fused(case: FusionCase) -> Finding | None:
    placed, consumers = case.last, case.instances(case.last, case.consumer)
    if any(copies_outside(case, placed)):
        return None
    for one in (placed.ir.ops[n] for n in case.instances(placed, case.producer) if n in consumers):
        return Finding("fused", f"They are fused: the {one.name} at line {one.lines[0] + 1} computes both")
    if (found := fused_loop(case, placed)) is None:
        return None
    loop, step = placed.ir.ops[found[0]], case.born(placed, found[0])
    where = f"the {loop.name} at line {loop.lines[0] + 1} of the payload, which step {step} made"
    return Finding("fused", f"They are fused: both are in {where}", step, "makes the loop")


def _dead(case: FusionCase) -> Finding | None:
    outcome = case.trace.outcome
    if outcome.kind != "invalidated-handle" or any(s.status == "ok" for s in attempts(case)):
        return None
    why = explain(case.trace)
    sentence = f"Step {outcome.failed_step} does not run: {why.sentence.removesuffix('.')}"
    return Finding("dead-handle", sentence, why.step, "invalidates it")


def _taken(case: FusionCase) -> Finding | None:
    """Return the step after which the consumer no longer reads the producer, by bisection."""
    low, high = 0, len(case.steps) - 1
    if way_between(case, case.last) is not None or way_between(case, case.first) is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if way_between(case, case.after(case.steps[middle])) is None else (middle, high)
        )
    index, kept = case.steps[high], case.after(case.steps[low])
    names = [case.name(o) for o in (case.producer, case.consumer)]
    head = f"until step {index} ({case.trace.step_records[index].op}) the {names[1]} read the {names[0]}"
    read = {kept.ir.ops[n].name for n in way_between(case, kept) or ()}
    if read.intersection(_PACKS) and names[0] in ("linalg.transpose", "linalg.generic"):
        return Finding("folded-transpose", f"The transpose is folded into the pack: {head}", index, "folds it")
    if fused_loop(case, kept) and not any(copies_outside(case, kept)):
        return Finding(
            "fused", f"They were fused until step {index}, which made one of them", index, "simplifies"
        )
    if "bufferiz" in written(case, case.trace.step_records[index]):
        sentence = (
            f"Step {index} bufferizes: since then the {names[1]} reads memory, not what the {names[0]} gives"
        )
        return Finding("side-effects", sentence, index, "bufferizes")
    return Finding("wrong-order", f"The use is gone: {head}, since then it does not", index)


def _empty(case: FusionCase) -> Finding | None:
    steps = [s for s in case.trace.step_records if s.op.startswith(_TILING) and s.status != "not-run"]
    for step in steps:
        for position, operand in enumerate(step.operands):
            state = case.history.given.get((step.index, operand.handle))
            wanted = case.producer if step.op == FUSE and position == 0 else case.consumer
            is_done = any(s.op == step.op and s.status == "ok" and case.holds(s, wanted) for s in steps)
            is_empty = state is not None and state.state == "empty" and not is_done
            if not is_empty:
                continue
            if (found := _why_empty(case, step) or find_emptied(case, step, operand.handle)) is not None:
                return found
    return None


def _why_empty(case: FusionCase, step: TraceStep) -> Finding | None:
    head = f"Step {step.index} ({step.op}) is given an empty handle"
    for origin in empty_origins(case.trace, step):
        text = case.history.texts.get(origin.source.file) if origin.source else None
        asked = text.matched_names(origin.source) if text and origin.source else None
        for eraser in reversed(case.trace.step_records[: origin.index]):
            lost = {o for o in eraser.payload_delta.erased if any(o in kin for kin in case.kin.values())}
            if asked and (names := {case.trace.op(o).name for o in lost}.intersection(asked[0])):
                gone = f"step {eraser.index} ({eraser.op}) made something else of the {min(names)}"
                sentence = f"{head}: {gone} before step {origin.index} looked for it"
                created = {case.trace.op(o).name for o in eraser.payload_delta.created}
                if "linalg.transpose" in names and created.intersection(_PACKS):
                    folds = f"{sentence}; the transpose is folded into the {min(created.intersection(_PACKS))}"
                    return Finding("folded-transpose", folds, eraser.index, "folds it")
                return Finding("wrong-order", sentence, eraser.index)
        reason = near_misses(case.history, origin) or ""
        is_named = any(case.name(o) in reason for o in case.kin)
        if step.index == case.trace.outcome.failed_step or is_named or _is_meant(case, step):
            why = f": {reason.removesuffix('?')}" if reason else f" ({origin.op}) finds nothing"
            sentence = f"{head}, which is no error; step {origin.index}{why}"
            return Finding("empty-handle", sentence, origin.index, "leaves it empty")
    return None


def _is_meant(case: FusionCase, step: TraceStep) -> bool:
    """Return whether a step without a producer was to fuse into a loop of the consumer, and no other was."""
    loops = case.history.ops_given(step, 1) if step.op == FUSE and not attempts(case) else []
    placed = case.before(step.index)
    inside = [n for c in case.instances(placed, case.consumer) for n in loops_around(placed, c)]
    return any(placed.ids[n] in loops for n in inside)


def _hoisted(case: FusionCase) -> Finding | None:
    """Return the step that moved one of the two out of the loop that both were in."""
    for step in case.trace.step_records:
        moved = {o for op in case.kin for o in case.kin[op].intersection(step.payload_delta.moved)}
        if step.status != "ok" or not moved or step.index not in case.steps:
            continue
        if fused_loop(case, case.before(step.index)) and not fused_loop(case, case.after(step.index)):
            names = ", ".join(sorted({case.trace.op(o).name for o in moved}))
            sentence = f"They were in one loop until step {step.index} ({step.op}) moved the {names} out of it"
            return Finding("outside-the-loop", sentence, step.index, "moves it out")
    return None


def _order(case: FusionCase) -> Finding | None:
    for step in sorted(attempts(case) + greedy_steps(case), key=lambda s: s.index):
        placed, head = case.before(step.index), f"Step {step.index} fuses the producer"
        producers = [placed.ids.index(i) for i in case.history.ops_given(step, 0) if i in placed.ids]
        if step.op == GREEDY:
            producers = case.instances(placed, case.producer)
        consumers = case.instances(placed, case.consumer)
        for loop in (n for p in producers for n in loops_around(placed, p)[:1]):
            born = case.born(placed, loop)
            if born >= 0 and not any(loop in around(placed, c) for c in consumers):
                return Finding("wrong-order", f"{head}, which step {born} had tiled by itself", born)
        if step.op == GREEDY:
            if (stop := _stop_of_tiling(case, step, placed)) is not None:
                return stop
            continue
        container = case.history.ops_given(step, 1)
        held = {n for n in range(len(placed.ids)) if any(placed.ids[a] in container for a in around(placed, n))}
        inside = [c for c in consumers if c in held]
        if container and not inside:
            return Finding("wrong-order", f"{head} into a loop that the consumer is not in", step.index)
        way = path_between(placed, producers, inside) or []
        if step.status != "ok" and way[1:] and placed.ids[way[1]] in container:
            sentence = f"{head} into a loop that carries its result: it enters once, not per iteration"
            return Finding("outside-the-loop", sentence, step.index)
        if step.status != "ok" and (stop := _stop_of_tiling(case, step, placed, held)) is not None:
            return stop
        between = [n for n in way[1:-1] if placed.ir.ops[n].name.startswith(TILED) and n not in held]
        if step.status != "ok" and between:
            sentence = f"{head} too early: {listed_ops(case, placed, between)} between them is not in the loop"
            return Finding("wrong-order", sentence, step.index)
    return None


def _stop_of_tiling(
    case: FusionCase, step: TraceStep, placed: PlacedOps, held: Collection[int] = ()
) -> Finding | None:
    """Return what is between the two that fusing does not pass, and the step that made it; not what is held."""
    way = way_between(case, placed) or []
    if (reshaped := _cut_reshape(case, step, placed, way)) is not None:
        return reshaped
    for number in (n for n in way[1:-1] if n not in held):
        name, id_ = placed.ir.ops[number].name, placed.ids[number]
        born = oldest_of(case.trace, case.trace.op(id_)).born if id_ else -1
        if born < 0 or (name.startswith(TILED) and step.op == GREEDY) or name in LOOPS:
            continue
        maker = case.trace.step_records[born].op
        is_padded = "pad" in maker
        why = "since the sizes do not divide" if is_padded else "before"
        stops = f"Step {step.index} ({step.op}) stops at the {name} between the two"
        sentence = f"{stops}, which step {born} ({maker}) made {why}"
        return Finding("indivisible-sizes" if is_padded else "wrong-order", sentence, born, "puts it there")
    return None


def _cut_reshape(case: FusionCase, step: TraceStep, placed: PlacedOps, way: list[int]) -> Finding | None:
    """Return that tiles read slices of a reshape, which no slice of its operand gives or nothing moves up."""
    for at, number in enumerate(way[1:-1], 1):
        op, reader = placed.ir.ops[number], placed.ir.ops[way[at + 1]]
        id_ = placed.ids[number]
        is_given = id_ is not None and oldest_of(case.trace, case.trace.op(id_)).born < 0
        if is_given and op.name == reader.name == "tensor.extract_slice":
            sliced = f"The {listed_ops(case, placed, [number])} of the payload is between the two"
            sentence = f"{sliced}: tiles are slices of that slice, and not of what the producer gives"
            return Finding("not-tileable", sentence, step.index, "fuses only what a tile reads")
        if not is_given or op.name not in _RESHAPES or reader.name != "tensor.extract_slice":
            continue
        words = f"{listed_ops(case, placed, [number])} is between the two"
        whole, tile = (_extents(shape) for shape in reader.shapes[0].rpartition(": ")[2].split(" to "))
        groups = re.search(r"\[\[.*?\]\]", op.shapes[0])
        cut, inner = None, _cut_inside(op, tile, whole) if _bubbles_up(case, step) else None
        for group in re.findall(r"\[([\d, ]+)\]", groups[0]) if groups and op.name == _RESHAPES[0] else ():
            dims = [int(d) for d in group.split(",")]
            partial = [d for d in dims if d < len(tile) == len(whole) and tile[d] != whole[d]]
            full = [d for d in dims if partial and d > partial[0] and tile[d] != whole[d]]
            cut = cut or next(iter(full), None)
        loops = [case.born(placed, n) for n in loops_around(placed, way[at + 1])]
        tiled = max((b for b in loops if b >= 0), default=step.index)
        if inner is not None:
            sentence = (
                f"A {words}; tiles of {inner[0]} cut its {inner[1]} apart, so that no slice moves above it"
            )
            return Finding("indivisible-sizes", sentence, tiled, "tiles")
        if cut is not None:
            part = f"{tile[cut]} of {whole[cut]} in dimension {cut}"
            sentence = f"A {words}; tiles with {part} are no contiguous slice of what it reshapes"
            return Finding("indivisible-sizes", sentence, tiled, "tiles")
        return Finding("not-tileable", f"A {words}: step {step.index} fuses only what a tile reads", step.index)
    return None


def _bubbles_up(case: FusionCase, step: TraceStep) -> bool:
    """Return whether a step before moves slices above reshapes, where their sizes allow it."""
    earlier = (s for s in case.trace.step_records[: step.index] if s.op == "transform.apply_patterns")
    return any("bubble_up_extract_slice" in _all_of(case, s) for s in earlier)


def _cut_inside(op: PrintedOp, tile: list[str], whole: list[str]) -> tuple[int, int] | None:
    """Return the size of a tile of a collapsed dimension, and the extent inside that it does not fit."""
    if op.name != _RESHAPES[1]:
        return None
    given = _extents(op.shapes[0].rpartition(": ")[2].split(" into ")[0])
    groups = re.findall(r"\[([\d, ]+)\]", op.shapes[0].partition(" : ")[0])
    for group, size, extent in zip(groups, tile, whole, strict=False):
        inner = [given[int(d)] for d in group.split(",")][1:]
        if size != extent and inner and size.isdecimal() and all(map(str.isdecimal, inner)):
            product = math.prod(map(int, inner))
            if product % int(size) and int(size) % product:
                return int(size), product
    return None


def _extents(type_: str) -> list[str]:
    """Return the extents of a tensor type."""
    return re.findall(r"(\?|\d+)x", type_.partition("<")[2])


def _misdirected(case: FusionCase) -> Finding | None:
    """Return that the failing step fuses into several loops, or the consumer into a loop of the producer."""
    at = case.trace.outcome.failed_step
    for step in (s for s in case.trace.step_records if s.index == at and s.op == FUSE):
        placed, given = case.before(step.index), case.history.ops_given(step, 1)
        loops = [placed.ids.index(o) for o in given if o in placed.ids]
        producers = case.instances(placed, case.producer)
        if case.holds(step, case.consumer) and any(n in around(placed, p) for p in producers for n in loops):
            head = f"Step {at} fuses the consumer into a loop of the producer"
            sentence = f"{head}: only what is read in a loop is fused into it, not what comes behind it"
            return Finding("outside-the-loop", sentence, at)
        users = [u for p in producers for u in users_of(placed, p)]
        reading = [n for n in loops if any(n in around(placed, u) for u in users)]
        head = f"Step {at} fuses into one loop, and is given {len(loops)}"
        if case.holds(step, case.producer) and len(loops) > len(reading) == 1:
            sentence = f"{head}, of which one reads the {case.name(case.producer)}"
            return Finding("outside-the-loop", sentence, case.trace.handle(step.operands[1].handle).defined_by)
        if case.holds(step, case.producer) and len(reading) > 1:
            sentence = f"{head}: the {case.name(case.producer)} has several users, each in a loop of its own"
            return Finding("several-uses", sentence, at)
    return None


def _split_unevenly(case: FusionCase) -> Finding | None:
    """Return that the schedule fails where it splits a reduction by a factor that does not divide it."""
    at = case.trace.outcome.failed_step
    for step in (s for s in case.trace.step_records if s.index == at and s.op == _SPLIT_REDUCTION):
        factor = re.search(r"split_factor = (\d+)", _all_of(case, step) + written(case, step))
        placed = case.before(step.index)
        for number in (placed.ids.index(o) for o in case.history.ops_given(step, 0) if o in placed.ids):
            uneven = [e for e in _reduced_extents(placed, number) if factor and e % int(factor[1])]
            if factor and uneven:
                head = f"Step {at} splits a reduction of {uneven[0]} by {factor[1]}, which does not divide it"
                return Finding("indivisible-sizes", f"{head}: the schedule fails there", at, "fails")
    return None


def _reduced_extents(placed: PlacedOps, number: int) -> list[int]:
    """Return the static extents that an op reduces, of its first operand."""
    text = placed.ir.ops[number].shapes[0] + placed.ir.ops[number].shapes[-1]
    operand = next(iter(re.findall(r"(?:tensor|memref)<[^>]*>", text)), "")
    dims = [int(d) for m in re.findall(r"dimensions = \[([\d, ]+)\]", text) for d in m.split(",")]
    kinds = re.findall(r'"(\w+)"', text.partition("iterator_types")[2].partition("]")[0])
    for names, used in indexing_maps(placed, number)[:1]:
        dims += [
            used.index(n) for n, kind in zip(names, kinds, strict=False) if kind == "reduction" and n in used
        ]
    extents = _extents(operand)
    return [int(extents[d]) for d in dims if d < len(extents) and extents[d].isdecimal()]


def _sizes(case: FusionCase) -> Finding | None:
    for step in (s for s in case.trace.step_records if s.op == SIBLING and s.status not in ("ok", "not-run")):
        placed = case.before(step.index)
        loops = [
            placed.ids.index(o) for at in (0, 1) for o in case.history.ops_given(step, at) if o in placed.ids
        ]
        producing = [n for p in case.instances(placed, case.producer) for n in loops_around(placed, p)]
        first = [n for n in loops if n in producing]
        others = [n for n in loops if n not in first]
        if first and path_between(placed, first, others, around(placed, first[0])):
            words = f"Step {step.index} ({step.op}) makes one loop of two that do not read one another"
            tiled = case.born(placed, first[0])
            sentence = (
                f"{words}; one reads what the other gives, since step {tiled} tiled the producer by itself"
            )
            return Finding("wrong-order", sentence, tiled, "tiles it")
        counts = {c[1] for n in loops if (c := re.search(_BOUNDS, placed.ir.ops[n].shapes[0]))}
        if len(counts) > 1:
            sentence = f"Loops of {' and '.join(sorted(counts))} iterations cannot be one loop"
            return Finding("indivisible-sizes", sentence, step.index)
    placed, whole = case.last, result_type(case.first, case.number(case.first, case.consumer))
    shapes = [placed.ir.ops[n].shapes[0] for n in case.instances(placed, case.producer)]
    inner = next((i for shape in shapes if (i := re.search(r"inner_tiles = (\[.*?\])", shape))), None)
    tiles = [(c, loops_around(placed, c)) for c in case.instances(placed, case.consumer)]
    for consumer, loops in tiles if inner and (attempts(case) or greedy_steps(case)) else ():
        if loops and (tile := result_type(placed, consumer)) != whole and inner:
            sentence = (
                f"Tiles of {tile} cut the producer's inner tiles {inner[1]}: no tile of it can be computed"
            )
            return Finding("indivisible-sizes", sentence, case.born(placed, loops[0]), "tiles")
    return None


def _peeled(case: FusionCase) -> Finding | None:
    """Return the step that split the last iterations off before the producer was fused."""
    users = [n for _, users in copies_outside(case, case.last) for n in users]
    loops = {n for c in case.instances(case.last, case.consumer) for n in loops_around(case.last, c)}
    outside = [n for n in users if not loops.isdisjoint(around(case.last, n))]
    for step in (s for s in case.trace.step_records if s.op == _PEEL and s.status == "ok"):
        counts = [
            len(case.instances(p, case.consumer)) for p in (case.before(step.index), case.after(step.index))
        ]
        if outside and counts[0] < counts[1]:
            read = f"which read the {case.name(case.producer)} outside of their loop"
            sentence = (
                f"The sizes do not divide: step {step.index} ({step.op}) split the last iterations off, {read}"
            )
            return Finding("indivisible-sizes", sentence, step.index, "splits the loop")
    return None


def _several(case: FusionCase) -> Finding | None:
    at, found = case.trace.outcome.failed_step, fused_loop(case, case.last)
    if case.trace.outcome.status == "crashed" and at in [s.index for s in attempts(case)]:
        used = listed_ops(case, case.last, users_of(case.last, case.instances(case.last, case.producer)[0]))
        sentence = f"An scf.for takes no linalg.generic with other users, the compiler aborts; read by {used}"
        return Finding("several-uses", sentence, at, "aborts")
    for copy, users in copies_outside(case, case.last) if found else ():
        computed = f"The {case.last.ir.ops[copy].name} is computed in the loop and once more outside of it"
        sentence = f"{computed}, for {listed_ops(case, case.last, users)}"
        return Finding("several-uses", sentence, case.born(case.last, found[0] if found else 0), MAKES_LOOP)
    return None


def _elementwise(case: FusionCase) -> Finding | None:
    tiled = [s for s in case.trace.step_records if s.op.startswith(_TILING)]
    tiled = [s for s in tiled if any(case.holds(s, op) for op in case.kin)]
    for step in case.trace.step_records:
        if step.status != "ok" or _ELEMENTWISE not in written(case, step):
            continue
        if tiled and tiled[0].index < step.index:
            before = case.before(step.index)
            sliced = any(
                before.ir.ops[n].name == "tensor.extract_slice" for n in way_between(case, before) or ()
            )
            head = f"Step {step.index} fuses ops that read one another directly, and not through a slice"
            sentence = f"{head}, which step {tiled[0].index} ({tiled[0].op}) put between the two"
            return Finding("wrong-order", sentence, tiled[0].index, "tiles too early") if sliced else None
        placed, head = case.before(step.index), f"Step {step.index} fuses linalg.generic of parallel loops"
        two = [n for op in (case.producer, case.consumer) for n in case.instances(placed, op)[:1]]
        if len(two) < 2:
            continue
        if between := [n for n in (way_between(case, placed) or [])[1:-1] if n not in two]:
            return _apart(case, placed, step, between)
        if named := [placed.ir.ops[n].name for n in two if placed.ir.ops[n].name != "linalg.generic"]:
            sentence = f"{head}, not {' and '.join(named)}"
            later = [s for s in case.trace.step_records[step.index + 1 :] if s.op == _GENERALIZE]
            if late := [s for s in later if any(case.holds(s, op) for op in case.kin)]:
                sentence += f", which step {late[0].index} generalizes later"
                return Finding("wrong-order", sentence, step.index, "leaves it")
            return Finding("named-ops", sentence, step.index, "leaves it")
        if '"reduction"' in placed.ir.ops[two[0]].shapes[0]:
            return Finding("reduction", f"{head}; the producer is a reduction", step.index, "leaves it")
        reads = [v for v in placed.ir.ops[two[1]].values[0] if v[0] == two[0]]
        if len(reads) > 1:
            sentence = f"{head} with one use; the consumer reads the producer {len(reads)} times"
            return Finding("several-uses", sentence, step.index, "leaves it")
        if len(users := users_of(placed, two[0])) > 1:
            sentence = f"{head} with one user; the producer has {listed_ops(case, placed, users)}"
            return Finding("several-uses", sentence, step.index, "leaves it")
        if (dim := lost_extent(placed, *two)) is not None:
            sentence = f"{head} of which the extents stay known; that of {dim} is known by this operand alone"
            return Finding("map", sentence, step.index, "leaves it")
    return None


def _apart(case: FusionCase, placed: PlacedOps, step: TraceStep, between: list[int]) -> Finding:
    """Return that a pass fuses ops that read one another, and what is between the two."""
    names = [placed.ir.ops[n].name for n in between]
    listed = listed_ops(case, placed, between)
    head = f"Step {step.index} fuses an op into one that reads it; between the two: {listed}"
    shapes = [placed.ir.ops[n].shapes[0] for n in between if placed.ir.ops[n].name in _PACKS]
    tiles = dict.fromkeys(m[1] for shape in shapes if (m := re.search(r"inner_tiles = (\[.*?\])", shape)))
    born = max(case.born(placed, n) for n in between)
    if len(tiles) > 1:
        return Finding(
            "indivisible-sizes", f"{head}, of tiles {' and '.join(tiles)}, which do not cancel", born, "packs"
        )
    if born >= 0:
        return Finding("wrong-order", f"{head}, made by step {born}", born)
    if all(n.startswith("linalg.") for n in names):
        if any(n != "linalg.generic" for n in names):
            return Finding(
                "named-ops", f"{head}, and of these it fuses linalg.generic alone", step.index, "leaves it"
            )
        return Finding("not-asked", head, step.index, "leaves it")
    return Finding("not-tileable", head, step.index, "leaves it")


def _lost(case: FusionCase) -> Finding | None:
    """Return the step after which nothing can be traced to one of the two."""
    for op in (case.producer, case.consumer):
        died = [case.trace.op(each).died for each in case.kin[op]]
        if case.trace.outcome.status == "ok" and None not in died:
            step = max(d for d in died if d is not None)
            if _is_turned_round(case, step):
                by = f"Step {step} ({case.trace.step_records[step].op}) turned them round"
                sentence = (
                    f"{by}: since then the {case.name(case.producer)} reads the {case.name(case.consumer)}"
                )
                return Finding("wrong-order", sentence, step, "turns them round")
            sentence = (
                f"What step {step} made of the {case.name(op)} cannot be traced; they were not fused until then"
            )
            return Finding("unknown", sentence, step, "replaces it")
    return None


def _is_turned_round(case: FusionCase, step: int) -> bool:
    """Return whether a step made both anew, with the producer behind the consumer."""
    placed, created = case.after(step), case.trace.step_records[step].payload_delta.created
    made = [[n for n, i in enumerate(placed.ids) if i in created and placed.ir.ops[n].name == case.name(op)]
            for op in (case.producer, case.consumer)]  # fmt: skip
    return all(made) and path_between(placed, made[1], made[0]) is not None


def _folded_between(case: FusionCase) -> Finding | None:
    """Return the step after which a transpose that was between the two is there no more."""
    names = [case.first.ir.ops[n].name for n in way_between(case, case.first) or ()][1:-1]
    for step in case.steps[1:] if "linalg.transpose" in names else ():
        placed = case.after(step)
        left = [placed.ir.ops[n].name for n in way_between(case, placed) or ()]
        if left and "linalg.transpose" not in left and not {"linalg.generic", *_PACKS}.isdisjoint(left):
            by = f"step {step} ({case.trace.step_records[step].op})"
            sentence = f"The transpose between the two is folded: {by} leaves none, and later steps look for it"
            return Finding("folded-transpose", sentence, step, "folds it")
    return None


def _not_asked(case: FusionCase) -> Finding | None:
    failure, at, tried = failure_of(case.trace), case.trace.outcome.failed_step, attempts(case)
    if failure is not None and not any(s.status == "ok" or s.index == at for s in tried):
        if (found := _folded_between(case)) is not None:
            return found
        said = next((d.message for d in failure.diagnostics if d.severity == "error"), failure.message)
        return Finding("failed-before", f"The schedule fails at step {at}: {said}", at, "fails")
    if tried or greedy_steps(case):
        return None
    loops = [loops_around(case.last, p)[-1:] for p in case.instances(case.last, case.producer)]
    born = min((case.born(case.last, n) for each in loops for n in each), default=-1)
    if all(loops) and born >= 0:
        sentence = (
            f"The producer is in a loop that step {born} made, and no step fuses it into one of the consumer"
        )
        return Finding("wrong-order", sentence, born)
    is_tiled = any(loops_around(case.last, c) for c in case.instances(case.last, case.consumer))
    also = "" if is_tiled else f", and none tiles the {case.name(case.consumer)}"
    return Finding("not-asked", f"No step fuses the {case.name(case.producer)}{also}")


_CHECKS: tuple[Callable[[FusionCase], Finding | None], ...] = (
    _swallowed, _fused, find_unrelated, find_map, _dead, _taken, _empty, find_crowded, _hoisted, _misdirected,
    _split_unevenly, _order, _sizes, _peeled, _several, _elementwise, _lost, _not_asked,
    find_reading_map,
)  # fmt: skip


def find_cause(case: FusionCase) -> Finding:
    """Return the first cause that fits; ``unknown`` where none does."""
    found = next((finding for check in _CHECKS if (finding := check(case)) is not None), None)
    return found or Finding("unknown", "None of the known causes fits")


def facts_of(case: FusionCase) -> Iterator[str]:
    """Yield what is known of the two at the end: copies and the loops around them, users, ops between."""
    placed, ops = case.last, case.last.ir.ops
    now = {i for i in case.after(case.trace.snapshots[-1].step).ids if i is not None}
    for what, op in (("producer", case.producer), ("consumer", case.consumer)):
        if not any(placed.ids[n] in now for n in case.instances(placed, op)):
            died = max((d for o in case.kin[op] if (d := case.trace.op(o).died) is not None), default=None)
            yield f"{what}: {case.name(op)}, not an op any more: step {died} replaced it"
            continue
        for number in case.instances(placed, op)[:_MOST_COPIES]:
            loops = [f"{ops[n].name} (line {ops[n].lines[0] + 1})" for n in loops_around(placed, number)]
            where = f"in {', in '.join(loops) or 'no loop'}"
            used = (
                f", read by {listed_ops(case, placed, users_of(placed, number))}" if op == case.producer else ""
            )
            yield f"{what}: {ops[number].name} at line {ops[number].lines[0] + 1}, {where}{used}"
    if (way := way_between(case, placed)) and way[2:]:
        yield f"between the two: {listed_ops(case, placed, way[1:-1])}"


def places_of(case: FusionCase, finding: Finding) -> tuple[Diagnostic, ...]:
    """Return the places of producer, consumer and responsible step."""
    ops = (("producer", case.trace.op(case.producer)), ("consumer", case.trace.op(case.consumer)))
    places = [Diagnostic("note", f"the {what}, {op.name}", op.source) for what, op in ops if op.source]
    severity = "note" if finding.cause == "fused" else "error"
    if finding.step is not None and finding.step >= 0:
        places.append(at_step(case.trace.step_records[finding.step], finding.does, severity))
    return tuple(places)
