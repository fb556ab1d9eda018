"""Causes why two ops are not fused at the end of a trace, each found by a check; the first that fits is the answer.

To add a cause, write a check and list it in ``CHECKS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lhkit.fusion.fusion_case import (
    LOOPS,
    FusionCase,
    around,
    copies_outside,
    function_of,
    fused_loop,
    loops_around,
    path_between,
    result_maps,
    result_type,
    users_of,
)
from lhkit.model.errors import Diagnostic
from lhkit.model.explanation import FusionCause
from lhkit.model.trace_record import TraceStep
from lhkit.repairs.repair_trials import empty_origins
from lhkit.traces.explain.failure_causes import at_step
from lhkit.traces.explain.handle_explanation import explain, failure_of
from lhkit.traces.record.handle_history import states_before
from lhkit.traces.record.placed_ops import PlacedOps, op_in_words
from lhkit.traces.warnings.zero_match import near_misses

FUSE = "transform.structured.fuse_into_containing_op"
SIBLING = "transform.loop.fuse_sibling"
TILES = ("transform.structured.tile_using_", "transform.structured.fuse")
_TILED = ("linalg.", "tensor.pad")
_PACKS = ("linalg.pack", "linalg.unpack", "tensor.pack", "tensor.unpack")
_COPIES = ("linalg.transpose", "linalg.generic")
_MOST_NAMED = 3


@dataclass(frozen=True)
class Finding:
    """A cause in words, with places and the step that is responsible for it."""

    cause: FusionCause
    sentence: str
    step: int | None = None
    does: str = "takes the opportunity away"


def _fused(case: FusionCase) -> Finding | None:
    placed = case.last
    if any(copies_outside(case, placed)):
        return None
    consumers = case.instances(placed, case.consumer)
    one = [n for n in case.instances(placed, case.producer) if n in consumers]
    if one:
        line = placed.ir.ops[one[0]].lines[0] + 1
        return Finding(
            "fused", f"They are fused: one {placed.ir.ops[one[0]].name} at line {line} computes both"
        )
    found = fused_loop(case, placed)
    if found is None or _is_whole(case, placed, found):
        return None
    loop = placed.ir.ops[found[0]]
    step = case.trace.op(placed.ids[found[0]] or "").born
    where = f"in the {loop.name} at line {loop.lines[0] + 1} of the payload, which step {step} made"
    return Finding("fused", f"They are fused: both are {where}", step, "makes the loop")


def _is_whole(case: FusionCase, placed: PlacedOps, found: tuple[int, int, int]) -> bool:
    """Return whether each iteration computes the whole producer because no tile of it can be computed."""
    _, producer, consumer = found
    if result_type(placed, consumer) == result_type(case.first, case.number(case.consumer)):
        return False
    is_same = result_type(placed, producer) == result_type(case.first, case.number(case.producer))
    return is_same and (_odd_map(case) is not None or placed.ir.ops[producer].name in _PACKS)


def _unrelated(case: FusionCase) -> Finding | None:
    placed, producer, consumer = case.first, case.number(case.producer), case.number(case.consumer)
    first, second = (placed.ir.ops[n] for n in (producer, consumer))
    if function_of(placed, producer) != function_of(placed, consumer):
        return Finding("outside-the-loop", "The two are in different functions, and no fusion crosses a call")
    if not any(v[0] == producer for v in first.values[0]):
        shared = {v for line in first.values for v in line} & {v for line in second.values for v in line}
        if shared:
            sentence = f"The {first.name} has no result: the two meet in a buffer, and fusion follows values of tensors"
            return Finding("side-effects", sentence)
    if (way := _way(case, placed)) is not None:
        return _between(case, way)
    both = {n for n in around(placed, producer) if n in around(placed, consumer)}
    if path_between(placed, [consumer], [producer], both):
        return Finding(
            "reversed", f"It is the other way round: the {first.name} reads what the {second.name} computes"
        )
    if any(s.op == SIBLING for s in case.trace.step_records):
        return None
    reads = _listed(case, placed, {v[0] for v in second.values[0]} - {consumer})
    uses = _listed(case, placed, users_of(placed, producer))
    return Finding(
        "no-dependence",
        f"The {second.name} does not read the {first.name}, not even through other ops: it reads {reads}; {uses}"
        f" reads the {first.name}",
    )


def _way(case: FusionCase, placed: PlacedOps) -> list[int] | None:
    """Return the ops from the producer to the consumer, both included; what is around both is left out."""
    producers, consumers = (case.instances(placed, op) for op in (case.producer, case.consumer))
    both = {n for p in producers for n in around(placed, p)} & {n for c in consumers for n in around(placed, c)}
    return path_between(placed, producers, consumers, both)


def _between(case: FusionCase, way: list[int]) -> Finding | None:
    """Return what on the way from producer to consumer no fusion passes."""
    for number in way:
        op = case.first.ir.ops[number]
        words = _listed(case, case.first, [number])
        if op.name in LOOPS:
            sentence = f"The {words} is between the two: a value goes into it, or out of it, once and not per iteration"
            return Finding("outside-the-loop", sentence)
        if op.name.split(".")[-1] == "call":
            return Finding("side-effects", f"The {words} is between the two, and what it does is not known")
        if not op.name.startswith(_TILED) and not _attempts(case):
            what = "is between the two" if number in way[1:-1] else "is one of the two"
            return Finding("not-tileable", f"The {words} {what}, and no step can compute a tile of it")
    return None


def _odd_map(case: FusionCase) -> str | None:
    for dims, results in result_maps(case.first, case.number(case.producer)):
        odd = [r for r in results if r not in dims]
        if odd or len({*results}) < len(results):
            return f"({', '.join(results)})"
    return None


def _mapped(case: FusionCase) -> Finding | None:
    if (odd := _odd_map(case)) is None:
        return None
    name = case.trace.op(case.producer).name
    return Finding(
        "map",
        f"The {name} writes its result at {odd}, which is no permutation of its loops: no tile of its loops gives"
        " a tile of the result",
    )


def _attempts(case: FusionCase, op: str = FUSE) -> list[TraceStep]:
    """Return the steps that were to fuse the producer, or others of a kind, in order."""
    steps = [s for s in case.trace.step_records if s.op == op and s.status != "not-run"]
    return [s for s in steps if op != FUSE or case.holds(s, 0, case.producer)]


def _dead(case: FusionCase) -> Finding | None:
    outcome = case.trace.outcome
    if outcome.kind != "invalidated-handle" or any(s.status == "ok" for s in _attempts(case)):
        return None
    why, step = explain(case.trace), case.trace.step_records[outcome.failed_step or 0]
    sentence = f"Step {step.index} ({step.op}) does not run: {why.sentence.removesuffix('.')}"
    return Finding("dead-handle", sentence, why.step, "invalidates it")


def _taken(case: FusionCase) -> Finding | None:
    """Return the step after which the consumer no longer reads the producer."""
    had: list[int] | None = None
    for index, placed in case.payloads:
        both = all(case.instances(placed, op) for op in (case.producer, case.consumer))
        way = _way(case, placed) if both else None
        if had is not None and both and way is None:
            step, names = (
                case.trace.step_records[index],
                [case.trace.op(o).name for o in (case.producer, case.consumer)],
            )
            head = f"until step {index} ({step.op}) the {names[1]} read the {names[0]}"
            if names[1] in _PACKS and names[0] in _COPIES:
                return Finding(
                    "folded-transpose", f"The transpose is folded into the pack: {head}", index, "folds it"
                )
            return Finding("wrong-order", f"The use is gone: {head}, since then it does not", index)
        had = way
    return None


def _empty(case: FusionCase) -> Finding | None:
    trace = case.trace
    for step in trace.step_records:
        if not step.op.startswith((*TILES, SIBLING)) or step.status == "not-run":
            continue
        states = states_before(trace, step.index)
        for position, operand in enumerate(step.operands):
            state = states.get(operand.handle)
            is_producer = step.op == FUSE and position == 0
            done = [s for s in trace.step_records if s.op == step.op and s.status == "ok"]
            wanted = case.producer if is_producer else case.consumer
            if state is None or state.state != "empty" or any(case.holds(s, 0, wanted) for s in done):
                continue
            return _why_empty(case, step, operand.handle)
    return None


def _why_empty(case: FusionCase, step: TraceStep, handle: str) -> Finding:
    why = explain(case.trace, handle)
    for origin in empty_origins(case.trace, step):
        text = case.history.texts.get(origin.source.file) if origin.source else None
        asked = text.matched_names(origin.source) if text and origin.source else None
        for eraser in reversed(case.trace.step_records[: origin.index]):
            lost = [o for o in eraser.payload_delta.erased if any(o in kin for kin in case.kin.values())]
            if asked and (gone := next((o for o in lost if case.trace.op(o).name in asked[0]), None)):
                name = case.trace.op(gone).name
                sentence = (
                    f"Step {step.index} ({step.op}) is given an empty handle: step {eraser.index} ({eraser.op}) made"
                    f" something else of the {name} before step {origin.index} looked for it"
                )
                return Finding("wrong-order", sentence, eraser.index)
    origin = empty_origins(case.trace, step)
    at = origin[0].index if origin else why.step
    missed = near_misses(case.history, origin[0]) if origin else None
    reason = f"step {at} found nothing: {missed}" if missed else why.sentence.removesuffix(".")
    sentence = (
        f"Step {step.index} ({step.op}) is given an empty handle, and does nothing without an error: {reason}"
    )
    return Finding("empty-handle", sentence, at, "leaves it empty")


def _order(case: FusionCase) -> Finding | None:
    for step in _attempts(case):
        placed = case.before(step.index)
        producers = [placed.ids.index(i) for i in case.payload_of(step, 0) or () if i in placed.ids]
        consumers = case.instances(placed, case.consumer)
        for number in producers:
            for loop in loops_around(placed, number)[:1]:
                born = case.trace.op(placed.ids[loop] or "").born
                if born >= 0 and not any(loop in around(placed, c) for c in consumers):
                    sentence = (
                        f"The producer was tiled by itself, by step {born}, before step {step.index} fuses it"
                    )
                    return Finding("wrong-order", sentence, born)
        container = {n for n, i in enumerate(placed.ids) if i in (case.payload_of(step, 1) or ())}
        inside = [c for c in consumers if container.intersection(around(placed, c))]
        if container and not inside:
            tiled = any(loops_around(placed, c) for c in consumers)
            why = "is in another loop" if tiled else "is not tiled yet"
            sentence = f"Step {step.index} ({step.op}) fuses the producer into a loop without the consumer, which {why}"
            return Finding("wrong-order", sentence, step.index)
        way = path_between(placed, producers, inside) or []
        outside = [n for n in way[1:-1] if placed.ir.ops[n].name.startswith(_TILED)]
        outside = [n for n in outside if container.isdisjoint(around(placed, n))]
        if step.status != "ok" and outside:
            sentence = (
                f"Step {step.index} ({step.op}) fuses the producer too early: {_listed(case, placed, outside)} between"
                " the two is not in the loop yet"
            )
            return Finding("wrong-order", sentence, step.index)
    return None


def _sizes(case: FusionCase) -> Finding | None:
    for step in _attempts(case, SIBLING):
        placed = case.before(step.index)
        loops = [
            placed.ids.index(o) for at in (0, 1) for o in case.payload_of(step, at) or () if o in placed.ids
        ]
        counts = [re.search(r" in (\(.*?\))", placed.ir.ops[n].shapes[0]) for n in loops]
        shown = [c[1] for c in counts if c]
        if step.status != "ok" and len({*shown}) > 1:
            sentence = f"Step {step.index} ({step.op}) is given loops of {' and '.join(shown)} iterations"
            return Finding("indivisible-sizes", f"{sentence}, which cannot be one loop", step.index)
    found = fused_loop(case, case.last)
    if found and _is_whole(case, case.last, found) and (tile := _inner_tiles(case.last, found[1])):
        loop = case.last.ir.ops[found[0]]
        sentence = (
            f"The tiles of the consumer, {result_type(case.last, found[2])}, cut the inner tiles {tile} of the"
            f" {case.last.ir.ops[found[1]].name}: each iteration of the {loop.name} computes the whole of it"
        )
        return Finding(
            "indivisible-sizes", sentence, case.trace.op(case.last.ids[found[0]] or "").born, "tiles"
        )
    return None


def _inner_tiles(placed: PlacedOps, number: int) -> str | None:
    found = re.search(r"inner_tiles = (\[.*?\])", placed.ir.ops[number].shapes[0])
    return found[1] if found else None


def _several(case: FusionCase) -> Finding | None:
    found = fused_loop(case, case.last)
    outside = list(copies_outside(case, case.last))
    if not found or not outside:
        return None
    copy, others = outside[0]
    name = case.last.ir.ops[copy].name
    return Finding(
        "several-uses",
        f"The {name} is computed in the loop and once more outside of it, since"
        f" {_listed(case, case.last, others)} reads the whole of it",
        case.trace.op(case.last.ids[found[0]] or "").born,
        "makes the loop",
    )


def _elementwise(case: FusionCase) -> Finding | None:
    for step in case.trace.step_records:
        text = case.history.texts.get(step.source.file) if step.source else None
        line = text.text.splitlines()[step.source.line - 1] if text and step.source else ""
        if "linalg-fuse-elementwise-ops" not in line or step.status != "ok":
            continue
        placed = case.before(step.index)
        two = [case.instances(placed, op) for op in (case.producer, case.consumer)]
        ops = [placed.ir.ops[numbers[0]] for numbers in two if numbers]
        head = f"Step {step.index} ({step.op}) fuses elementwise ops:"
        if named := [op.name for op in ops if op.name != "linalg.generic"]:
            sentence = f"{head} {' and '.join(named)} would have to be linalg.generic"
            return Finding("named-ops", sentence, step.index, "leaves it")
        if ops and '"reduction"' in ops[0].shapes[0]:
            return Finding("reduction", f"{head} the producer is a reduction", step.index, "leaves it")
        if two[0] and len(users := users_of(placed, two[0][0])) > 1:
            sentence = f"{head} the producer has {len(users)} users, {_listed(case, placed, users)}"
            return Finding("several-uses", sentence, step.index, "leaves it")
    return None


def _not_asked(case: FusionCase) -> Finding | None:
    failure = failure_of(case.trace)
    if failure is not None and not any(s.status == "ok" for s in _attempts(case)):
        at = case.trace.outcome.failed_step
        ran = at is not None and at in [s.index for s in _attempts(case)]
        return None if ran else Finding("failed-before", f"The schedule fails: {failure.message}", at, "fails")
    greedy = [s for s in case.trace.step_records if s.op.startswith(TILES[1]) and s.op != FUSE]
    if _attempts(case) or any(case.holds(s, 0, case.consumer) for s in greedy):
        return None
    name, consumer = (case.trace.op(o).name for o in (case.producer, case.consumer))
    tiled = any(loops_around(case.last, c) for c in case.instances(case.last, case.consumer))
    also = "" if tiled else f", and none tiles the {consumer}"
    return Finding("not-asked", f"No step fuses the {name}{also}")


CHECKS: tuple[Callable[[FusionCase], Finding | None], ...] = (
    _fused, _unrelated, _mapped, _dead, _taken, _empty, _order, _sizes, _several, _elementwise, _not_asked,
)  # fmt: skip


def find_cause(case: FusionCase) -> Finding:
    """Return the first cause that fits; ``unknown`` where none does."""
    found = next((finding for check in CHECKS if (finding := check(case)) is not None), None)
    return found or Finding("unknown", "None of the known causes fits; what is known of the two follows")


def facts_of(case: FusionCase) -> Iterator[str]:
    """Yield what is known of the two at the end: copies and the loops around them, readers, ops between."""
    placed = case.last
    for what, op in (("producer", case.producer), ("consumer", case.consumer)):
        for number in case.instances(placed, op)[:_MOST_NAMED]:
            loops = [
                f"{placed.ir.ops[n].name} (line {placed.ir.ops[n].lines[0] + 1})"
                for n in loops_around(placed, number)
            ]
            where = f"in {', in '.join(loops)}" if loops else "in no loop"
            yield f"{what}: {placed.ir.ops[number].name} at line {placed.ir.ops[number].lines[0] + 1}, {where}"
    for number in case.instances(placed, case.producer)[:1]:
        yield f"what the producer computes is read by {_listed(case, placed, users_of(placed, number))}"
    if (way := _way(case, placed)) and way[2:]:
        yield f"between the two: {_listed(case, placed, way[1:-1])}"


def places_of(case: FusionCase, finding: Finding) -> tuple[Diagnostic, ...]:
    """Return the places of producer, consumer and responsible step."""
    ops = (("the producer", case.producer), ("the consumer", case.consumer))
    spans = [(what, case.trace.op(o)) for what, o in ops]
    places = [Diagnostic("note", f"{what}, {op.name}", op.source) for what, op in spans if op.source]
    if finding.step is not None and finding.step >= 0:
        places.append(at_step(case.trace.step_records[finding.step], finding.does, "error"))
    return tuple(places)


def _listed(case: FusionCase, placed: PlacedOps, numbers: object) -> str:
    found = []
    for number in list(numbers)[:_MOST_NAMED]:  # type: ignore[call-overload]
        identity = placed.ids[number]
        found.append(op_in_words(case.trace, identity) if identity else placed.ir.ops[number].name)
    return ", ".join(dict.fromkeys(found)) or "nothing"
