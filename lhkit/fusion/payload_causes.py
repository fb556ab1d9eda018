"""Causes in the payload why two ops are not fused: what is between them, buffers, functions, result maps."""

from __future__ import annotations

from lhkit.fusion.fusion_case import FusionCase, indexing_maps, result_maps
from lhkit.fusion.fusion_queries import SIBLING, TILED, Finding, attempts, listed_ops, way_between, written
from lhkit.traces.record.placed_ops import PlacedOps
from lhkit.traces.record.placed_values import LOOPS, around, path_between, users_of

_ACCESSES = ("memref.load", "memref.store", "memref.copy", "affine.load", "affine.store")
_BRANCHES = ("scf.if", "scf.index_switch", "scf.execute_region")


def find_unrelated(case: FusionCase) -> Finding | None:
    """Return why no value leads from the producer to the consumer, or what on the way no fusion passes."""
    placed, names = case.first, [case.name(case.producer), case.name(case.consumer)]
    numbers = [case.number(placed, op) for op in (case.producer, case.consumer)]
    functions = [[n for n in around(placed, at) if placed.ir.ops[n].name == "func.func"] for at in numbers]
    if functions[0] != functions[1]:
        return Finding("outside-the-loop", "The two are in different functions, and no fusion crosses a call")
    values = [{v for line in placed.ir.ops[at].values for v in line} for at in numbers]
    has_result = any(v[0] == numbers[0] for v in placed.ir.ops[numbers[0]].values[0])
    if not has_result and values[0] & values[1]:
        if any(s.op == SIBLING and s.status not in ("ok", "not-run") for s in case.trace.step_records):
            return None  # the loops themselves do not match
        return _on_buffers(case, values[0] & values[1])
    if (way := way_between(case, placed)) is not None:
        return _barrier(case, way)
    both = {n for n in around(placed, numbers[0]) if n in around(placed, numbers[1])}
    if path_between(placed, numbers[1:], numbers[:1], both):
        return Finding("reversed", f"It is the other way round: the {names[0]} reads from the {names[1]}")
    if any(s.op == SIBLING for s in case.trace.step_records):
        return None
    reads = listed_ops(case, placed, {v[0] for v in values[1]} - {numbers[1]})
    used = listed_ops(case, placed, users_of(placed, numbers[0]))
    sentence = f"The {names[1]} reads {reads}, and the {names[0]} is read by {used}"
    if way := _way_through_memory(placed, numbers):
        where = f"between them the values are in memory ({listed_ops(case, placed, way)})"
        meet = f"{where}, where other ops may write"
        return Finding("side-effects", f"{sentence}; {meet}")
    return Finding("no-dependence", f"{sentence}: no value leads to the other")


def _way_through_memory(placed: PlacedOps, two: list[int]) -> list[int] | None:
    """Return what puts values of the first op into a buffer, and what reads the buffer for the second."""
    ops = placed.ir.ops
    memory = [n for n, op in enumerate(ops) if op.name.startswith(("memref.", "bufferization."))]
    ins = [n for n in memory if path_between(placed, [two[0]], [n], around(placed, two[0]))]
    outs = [n for n in memory if path_between(placed, [n], [two[1]], around(placed, two[1])) and n not in ins]
    return [min(ins), max(outs)] if ins and outs else None


def _on_buffers(case: FusionCase, shared: set[tuple[int, int]]) -> Finding:
    """Return what is between two ops that share buffers, or the loop into which a pass fused them."""
    last = case.after(case.trace.snapshots[-1].step)
    made = [[n for n, i in enumerate(last.ids) if i in case.kin[op]] for op in (case.producer, case.consumer)]
    loops = [{n for each in numbers for n in around(last, each)[:1]} for numbers in made]
    if common := [n for n in loops[0] & loops[1] if last.ir.ops[n].name in LOOPS]:
        loop, step = last.ir.ops[common[0]], case.born(last, common[0])
        where = f"the {loop.name} at line {loop.lines[0] + 1} of the payload"
        return Finding("fused", f"They are fused: what was made of both is in {where}", step, "makes the loop")
    placed = case.first
    at = [case.number(placed, op) for op in (case.producer, case.consumer)]
    calls = [n for n in range(min(at) + 1, max(at)) if placed.ir.ops[n].name.endswith("call")]
    inner = range(min(at) + 1, max(at))
    touching = [n for n in inner if shared & {v for line in placed.ir.ops[n].values for v in line}]
    if not calls and not touching:  # some passes only take loops that are neighbours
        touching = [n for n in inner if placed.ir.ops[n].name in _ACCESSES]
    words = f"The {case.name(case.producer)} has no result: the two meet in a buffer, not in a tensor"
    between = sorted({*calls, *touching})
    also = f"; between them: {listed_ops(case, placed, between)}" if between else ""
    fusing = [s for s in case.trace.step_records if s.status == "ok" and "fusion" in written(case, s)]
    return Finding("side-effects", words + also, *((fusing[-1].index, "leaves them apart") if fusing else ()))


def _barrier(case: FusionCase, way: list[int]) -> Finding | None:
    """Return what on the way from producer to consumer no fusion passes."""
    ops = case.first.ir.ops
    if any(ops[n].name.startswith(("bufferization.", "memref.")) for n in way[1:-1]):
        words = f"Between the two the values go through memory ({listed_ops(case, case.first, way[1:-1])})"
        return Finding("side-effects", f"{words}, where other ops may write")
    for number in sorted(way, key=lambda n: ops[n].name not in LOOPS):
        name, words = ops[number].name, f"The {listed_ops(case, case.first, [number])} is between the two"
        if name in _BRANCHES and number not in around(case.first, way[-1]):
            return Finding(
                "outside-the-loop", f"{words}: the producer is in a region of it, or read only there"
            )
        if name in LOOPS:
            return Finding("outside-the-loop", f"{words}: a value enters or leaves it once, not per iteration")
        if name.split(".")[-1] == "call":
            return Finding("side-effects", f"{words}, and what it does is not known")
        if not name.startswith(TILED) and not attempts(case):
            words = words if number in way[1:-1] else words.replace("is between", "is one of")
            return Finding("not-tileable", f"{words}, and no step can compute a tile of it")
    return None


def find_map(case: FusionCase) -> Finding | None:
    """Return that the producer's result map is no permutation of its loops."""
    for dims, results in result_maps(case.first, case.number(case.first, case.producer)):
        if any(r not in dims for r in results) or len({*results}) < len(results):
            written = f"The {case.name(case.producer)} writes its result at ({', '.join(results)})"
            return Finding("map", f"{written}, no permutation of its loops: their tiles give no tiles of it")
    return None


def find_reading_map(case: FusionCase) -> Finding | None:
    """Return an op between the two that reads by quotients and remainders, as one made of windows does."""
    placed = case.last
    for number in (way_between(case, placed) or [])[1:]:
        for _, read in indexing_maps(placed, number):
            if any("floordiv" in r or " mod " in r for r in read):
                what = f"The {listed_ops(case, placed, [number])} reads at ({', '.join(read)})"
                sentence = (
                    f"{what}, no permutation of its loops: their tiles read no tiles of what comes before"
                )
                return Finding("map", sentence, max(case.born(placed, number), 0), "makes it read so")
    return None


def lost_extent(placed: PlacedOps, producer: int, consumer: int) -> str | None:
    """Return the loop whose extent the producer's value gives alone, and not what it reads, or None.

    Others read it in an expression, as an input of a window is: d1 + d2.
    """
    operands = [source for source, _ in placed.ir.ops[consumer].values[0] if source != consumer]
    read, made = indexing_maps(placed, consumer), result_maps(placed, producer)
    if producer not in operands or len(read) != len(operands) or not made:
        return None
    at = operands.index(producer)
    given = {e for n, (_, used) in enumerate(read) if n != at for e in used}
    own = {e for _, used in indexing_maps(placed, producer)[:-1] for e in used}
    kept = {e for e, of in zip(read[at][1], made[0][1], strict=False) if of in own}
    return next((d for d in read[at][0] if d in read[at][1] and d not in given | kept), None)
