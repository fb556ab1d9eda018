"""Causes why two ops are not fused at the end of a trace, each found by a check; the first that fits is it.

To add a cause, write a check and list it in ``_CHECKS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lhkit.fusion.fusion_case import (
    LOOPS,
    FusionCase,
    around,
    copies_outside,
    fused_loop,
    loops_around,
    path_between,
    result_maps,
    result_type,
    users_of,
)  # fmt: skip
from lhkit.model.errors import Diagnostic
from lhkit.model.explanation import FusionCause
from lhkit.model.trace_record import TraceStep
from lhkit.repairs.repair_trials import empty_origins
from lhkit.traces.explain.failure_causes import at_step
from lhkit.traces.explain.handle_explanation import explain, failure_of
from lhkit.traces.record.placed_ops import PlacedOps, op_in_words
from lhkit.traces.warnings.zero_match import near_misses

FUSE = "transform.structured.fuse_into_containing_op"
_GREEDY, _SIBLING = "transform.structured.fuse", "transform.loop.fuse_sibling"
_TILING = ("transform.structured.tile_using_", _GREEDY, _SIBLING)
_TILED = ("linalg.", "tensor.pad")
_PACKS = ("linalg.pack", "linalg.unpack", "tensor.pack", "tensor.unpack")
_MOST_NAMED = 3


@dataclass(frozen=True)
class Finding:
    """A cause in words, with the step that is responsible and what it does."""

    cause: FusionCause
    sentence: str
    step: int | None = None
    does: str = "takes the opportunity away"


def _fused(case: FusionCase) -> Finding | None:
    placed = case.last
    if any(copies_outside(case, placed)):
        return None
    consumers = case.instances(placed, case.consumer)
    for one in (n for n in case.instances(placed, case.producer) if n in consumers):
        op = placed.ir.ops[one]
        return Finding("fused", f"They are fused: the {op.name} at line {op.lines[0] + 1} computes both")
    if (found := fused_loop(case, placed)) is None or _is_whole(case, found):
        return None
    loop, step = placed.ir.ops[found[0]], case.born(placed, found[0])
    where = f"the {loop.name} at line {loop.lines[0] + 1} of the payload"
    return Finding(
        "fused", f"They are fused: both are in {where}, which step {step} made", step, "makes the loop"
    )


def _is_whole(case: FusionCase, found: tuple[int, int, int]) -> bool:
    """Return whether each iteration computes the whole producer because no tile of it can be computed."""
    types = [result_type(case.last, n) for n in found[1:]]
    whole = [result_type(case.first, case.first.ids.index(op)) for op in (case.producer, case.consumer)]
    is_odd = _mapped(case) is not None or case.trace.op(case.producer).name in _PACKS
    return is_odd and types[0] == whole[0] and types[1] != whole[1]


def _unrelated(case: FusionCase) -> Finding | None:
    placed = case.first
    numbers = [placed.ids.index(op) for op in (case.producer, case.consumer)]
    first, second = (placed.ir.ops[n] for n in numbers)
    functions = [[n for n in around(placed, at) if placed.ir.ops[n].name == "func.func"] for at in numbers]
    if functions[0] != functions[1]:
        return Finding("outside-the-loop", "The two are in different functions, and no fusion crosses a call")
    values = [{v for line in op.values for v in line} for op in (first, second)]
    if not any(v[0] == numbers[0] for v in first.values[0]) and values[0] & values[1]:
        why = "the two meet in a buffer, and fusion follows values of tensors"
        return Finding("side-effects", f"The {first.name} has no result: {why}")
    if (way := _way(case, placed)) is not None:
        return _barrier(case, way)
    both = {n for n in around(placed, numbers[0]) if n in around(placed, numbers[1])}
    if path_between(placed, numbers[1:], numbers[:1], both):
        return Finding("reversed", f"It is the other way round: the {first.name} reads from the {second.name}")
    if any(s.op == _SIBLING for s in case.trace.step_records):
        return None
    sources = {v[0] for v in second.values[0]} - {numbers[1]}
    return Finding(
        "no-dependence",
        f"The {second.name} does not read the {first.name}, not even through other ops: it reads"
        f" {_listed(case, placed, sources)}, and the {first.name} is read by"
        f" {_listed(case, placed, users_of(placed, numbers[0]))}",
    )


def _way(case: FusionCase, placed: PlacedOps) -> list[int] | None:
    """Return the ops from the producer to the consumer, both included; what is around both is left out."""
    producers, consumers = (case.instances(placed, op) for op in (case.producer, case.consumer))
    both = {n for p in producers for n in around(placed, p)} & {n for c in consumers for n in around(placed, c)}
    return path_between(placed, producers, consumers, both)


def _barrier(case: FusionCase, way: list[int]) -> Finding | None:
    """Return what on the way from producer to consumer no fusion passes."""
    for number in way:
        name, words = case.first.ir.ops[number].name, _listed(case, case.first, [number])
        if name in LOOPS:
            why = "a value goes into it, or out of it, once and not per iteration"
            return Finding("outside-the-loop", f"The {words} is between the two: {why}")
        if name.split(".")[-1] == "call":
            return Finding("side-effects", f"The {words} is between the two, and what it does is not known")
        if not name.startswith(_TILED) and not _attempts(case):
            what = "is between the two" if number in way[1:-1] else "is one of the two"
            return Finding("not-tileable", f"The {words} {what}, and no step can compute a tile of it")
    return None


def _mapped(case: FusionCase) -> Finding | None:
    for dims, results in result_maps(case.first, case.first.ids.index(case.producer)):
        if any(r not in dims for r in results) or len({*results}) < len(results):
            head = f"The {case.trace.op(case.producer).name} writes its result at ({', '.join(results)})"
            why = "no permutation of its loops: no tile of the loops gives a tile of the result"
            return Finding("map", f"{head}, {why}")
    return None


def _attempts(case: FusionCase) -> list[TraceStep]:
    """Return the steps that were to fuse the producer, in order."""
    fusions = [s for s in case.trace.step_records if s.op == FUSE and s.status != "not-run"]
    return [s for s in fusions if case.holds(s, case.producer)]


def _dead(case: FusionCase) -> Finding | None:
    outcome = case.trace.outcome
    if outcome.kind != "invalidated-handle" or any(s.status == "ok" for s in _attempts(case)):
        return None
    why, step = explain(case.trace), case.trace.step_records[outcome.failed_step or 0]
    sentence = f"Step {step.index} ({step.op}) does not run: {why.sentence.removesuffix('.')}"
    return Finding("dead-handle", sentence, why.step, "invalidates it")


def _taken(case: FusionCase) -> Finding | None:
    """Return the step after which the consumer no longer reads the producer."""
    low, high = 0, len(case.steps) - 1
    if _way(case, case.last) is not None or _way(case, case.first) is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _way(case, case.after(case.steps[middle])) is None else (middle, high)
    index = case.steps[high]
    kept = case.after(case.steps[low])
    if fused_loop(case, kept) and not any(copies_outside(case, kept)):
        return Finding(
            "fused", f"They were fused until step {index}, which made one of them", index, "simplifies"
        )
    names = [case.trace.op(o).name for o in (case.producer, case.consumer)]
    head = f"until step {index} ({case.trace.step_records[index].op}) the {names[1]} read the {names[0]}"
    if names[1] in _PACKS and names[0] in ("linalg.transpose", "linalg.generic"):
        return Finding("folded-transpose", f"The transpose is folded into the pack: {head}", index, "folds it")
    return Finding("wrong-order", f"The use is gone: {head}, since then it does not", index)


def _empty(case: FusionCase) -> Finding | None:
    steps = [s for s in case.trace.step_records if s.op.startswith(_TILING) and s.status != "not-run"]
    for step in steps:
        for position, operand in enumerate(step.operands):
            state = case.given.get((step.index, operand.handle))
            wanted = case.producer if step.op == FUSE and position == 0 else case.consumer
            is_done = any(s.op == step.op and s.status == "ok" and case.holds(s, wanted) for s in steps)
            is_empty = state is not None and state.state == "empty" and not is_done
            if is_empty and (found := _why_empty(case, step, operand.handle)) is not None:
                return found
    return None


def _why_empty(case: FusionCase, step: TraceStep, handle: str) -> Finding | None:
    head, steps = f"Step {step.index} ({step.op}) is given an empty handle", case.trace.step_records
    why = explain(case.trace, handle)
    at, reason = why.step, why.sentence.removesuffix(".")
    relevant = step.index == case.trace.outcome.failed_step
    for origin in empty_origins(case.trace, step):
        text = case.history.texts.get(origin.source.file) if origin.source else None
        asked = text.matched_names(origin.source) if text and origin.source else None
        for eraser in reversed(steps[: origin.index]):
            lost = {o for o in eraser.payload_delta.erased if any(o in kin for kin in case.kin.values())}
            if asked and (names := {case.trace.op(o).name for o in lost}.intersection(asked[0])):
                why_gone = f"step {eraser.index} ({eraser.op}) made something else of the {min(names)}"
                sentence = f"{head}: {why_gone} before step {origin.index} looked for it"
                return Finding("wrong-order", sentence, eraser.index)
        at, reason = origin.index, near_misses(case.history, origin) or reason
        relevant |= any(case.trace.op(o).name in reason for o in case.kin)
    if not relevant:
        return None
    sentence = f"{head}, and does nothing without an error; step {at}: {reason.removesuffix('?')}"
    return Finding("empty-handle", sentence, at, "leaves it empty")


def _order(case: FusionCase) -> Finding | None:
    for step in _attempts(case):
        placed = case.before(step.index)
        producers = [placed.ids.index(i) for i in case.payload_of(step, 0) if i in placed.ids]
        consumers = case.instances(placed, case.consumer)
        for loop in (n for p in producers for n in loops_around(placed, p)[:1]):
            born = case.born(placed, loop)
            if born >= 0 and not any(loop in around(placed, c) for c in consumers):
                sentence = (
                    f"The producer was tiled by itself, by step {born}, before step {step.index} fuses it"
                )
                return Finding("wrong-order", sentence, born)
        head, container = f"Step {step.index} ({step.op}) fuses the producer", case.payload_of(step, 1)
        held = {n for n in range(len(placed.ids)) if any(placed.ids[a] in container for a in around(placed, n))}
        inside = [c for c in consumers if c in held]
        if container and not inside:
            sentence = f"{head} into a loop that the consumer is not in; the consumer is not in a loop yet"
            if any(loops_around(placed, c) for c in consumers):
                sentence = f"{head} into a loop that the consumer is not in; that is in another loop"
            return Finding("wrong-order", sentence, step.index)
        way = path_between(placed, producers, inside) or []
        between = [n for n in way[1:-1] if placed.ir.ops[n].name.startswith(_TILED) and n not in held]
        if step.status != "ok" and between:
            sentence = (
                f"{head} too early: {_listed(case, placed, between)} between the two is not in the loop yet"
            )
            return Finding("wrong-order", sentence, step.index)
    return None


def _sizes(case: FusionCase) -> Finding | None:
    for step in (s for s in case.trace.step_records if s.op == _SIBLING and s.status not in ("ok", "not-run")):
        placed = case.before(step.index)
        loops = [placed.ids.index(o) for at in (0, 1) for o in case.payload_of(step, at) if o in placed.ids]
        counts = {c[1] for n in loops if (c := re.search(r" in (\(.*?\))", placed.ir.ops[n].shapes[0]))}
        if len(counts) > 1:
            sentence = (
                f"Step {step.index} ({step.op}) is given loops of {' and '.join(sorted(counts))} iterations"
            )
            return Finding("indivisible-sizes", f"{sentence}, which cannot be one loop", step.index)
    found = fused_loop(case, case.last)
    inner = re.search(r"inner_tiles = (\[.*?\])", case.last.ir.ops[found[1]].shapes[0]) if found else None
    if found and inner and _is_whole(case, found):
        sentence = (
            f"The consumer's tile, {result_type(case.last, found[2])}, cuts the inner tiles {inner[1]} of the"
            f" {case.trace.op(case.producer).name}: each iteration computes the whole of it"
        )
        return Finding("indivisible-sizes", sentence, case.born(case.last, found[0]), "tiles")
    return None


def _several(case: FusionCase) -> Finding | None:
    at = case.trace.outcome.failed_step
    if case.trace.outcome.status == "crashed" and at in [s.index for s in _attempts(case)]:
        used = _listed(case, case.last, users_of(case.last, case.instances(case.last, case.producer)[0]))
        why = "into an scf.for, no linalg.generic can be fused that has other users"
        return Finding("several-uses", f"Step {at} aborts the compiler: {why}; {used} read it", at, "aborts")
    found = fused_loop(case, case.last)
    for copy, users in copies_outside(case, case.last) if found else ():
        sentence = (
            f"The {case.last.ir.ops[copy].name} is computed in the loop and once more outside of it, for"
            f" {_listed(case, case.last, users)}"
        )
        return Finding(
            "several-uses", sentence, case.born(case.last, found[0] if found else 0), "makes the loop"
        )
    return None


def _elementwise(case: FusionCase) -> Finding | None:
    tiled = [s for s in case.trace.step_records if s.op.startswith((*_TILING, FUSE))]
    if any(case.holds(s, op) for s in tiled for op in case.kin):
        return None
    for step in case.trace.step_records:
        text = case.history.texts.get(step.source.file) if step.source and step.status == "ok" else None
        line = text.text.splitlines()[step.source.line - 1] if text and step.source else ""
        if "linalg-fuse-elementwise-ops" not in line:
            continue
        placed, head = case.before(step.index), f"Step {step.index} fuses elementwise ops:"
        two = [n for op in (case.producer, case.consumer) for n in case.instances(placed, op)[:1]]
        if named := [placed.ir.ops[n].name for n in two if placed.ir.ops[n].name != "linalg.generic"]:
            sentence = f"{head} {' and '.join(named)} would have to be linalg.generic"
            return Finding("named-ops", sentence, step.index, "leaves it")
        if '"reduction"' in placed.ir.ops[two[0]].shapes[0]:
            return Finding("reduction", f"{head} the producer is a reduction", step.index, "leaves it")
        if len(users := users_of(placed, two[0])) > 1:
            sentence = f"{head} the producer has {len(users)} users, {_listed(case, placed, users)}"
            return Finding("several-uses", sentence, step.index, "leaves it")
    return None


def _lost(case: FusionCase) -> Finding | None:
    """Return the step after which nothing can be traced to one of the two."""
    for op in (case.producer, case.consumer):
        died = [case.trace.op(each).died for each in case.kin[op]]
        if case.trace.outcome.status == "ok" and died and None not in died:
            step = max(d for d in died if d is not None)
            what = f"replaced the {case.trace.op(op).name} by ops that may not be traced to it"
            return Finding(
                "unknown", f"Step {step} {what}; until then the two were not fused", step, "replaces it"
            )
    return None


def _not_asked(case: FusionCase) -> Finding | None:
    failure, at, attempts = failure_of(case.trace), case.trace.outcome.failed_step, _attempts(case)
    if failure is not None and not any(s.status == "ok" or s.index == at for s in attempts):
        return Finding("failed-before", f"The schedule fails: {failure.message}", at, "fails")
    greedy = [s for s in case.trace.step_records if s.op == _GREEDY and case.holds(s, case.consumer)]
    if attempts or greedy:
        return None
    name, consumer = (case.trace.op(o).name for o in (case.producer, case.consumer))
    loops = [loops_around(case.last, p)[-1:] for p in case.instances(case.last, case.producer)]
    born = min((case.born(case.last, n) for each in loops for n in each), default=-1)
    if all(loops) and born >= 0:
        sentence = (
            f"The {name} is in a loop that step {born} made, and no step fuses it into one of the {consumer}"
        )
        return Finding("wrong-order", sentence, born)
    is_tiled = any(loops_around(case.last, c) for c in case.instances(case.last, case.consumer))
    return Finding(
        "not-asked", f"No step fuses the {name}" + ("" if is_tiled else f", and none tiles the {consumer}")
    )


_CHECKS: tuple[Callable[[FusionCase], Finding | None], ...] = (
    _fused, _unrelated, _mapped, _dead, _taken, _empty, _order, _sizes, _several, _lost, _elementwise,
    _not_asked,
)  # fmt: skip


def find_cause(case: FusionCase) -> Finding:
    """Return the first cause that fits; ``unknown`` where none does."""
    found = next((finding for check in _CHECKS if (finding := check(case)) is not None), None)
    return found or Finding("unknown", "None of the known causes fits")


def facts_of(case: FusionCase) -> Iterator[str]:
    """Yield what is known of the two at the end: copies and the loops around them, users, ops between."""
    placed, ops = case.last, case.last.ir.ops
    for what, op in (("producer", case.producer), ("consumer", case.consumer)):
        for number in case.instances(placed, op)[:_MOST_NAMED]:
            loops = [f"{ops[n].name} (line {ops[n].lines[0] + 1})" for n in loops_around(placed, number)]
            where = f"in {', in '.join(loops) or 'no loop'}"
            used = f", read by {_listed(case, placed, users_of(placed, number))}" if op == case.producer else ""
            yield f"{what}: {ops[number].name} at line {ops[number].lines[0] + 1}, {where}{used}"
    if (way := _way(case, placed)) and way[2:]:
        yield f"between the two: {_listed(case, placed, way[1:-1])}"


def places_of(case: FusionCase, finding: Finding) -> tuple[Diagnostic, ...]:
    """Return the places of producer, consumer and responsible step."""
    ops = (("producer", case.trace.op(case.producer)), ("consumer", case.trace.op(case.consumer)))
    places = [Diagnostic("note", f"the {what}, {op.name}", op.source) for what, op in ops if op.source]
    severity = "note" if finding.cause == "fused" else "error"
    if finding.step is not None and finding.step >= 0:
        places.append(at_step(case.trace.step_records[finding.step], finding.does, severity))
    return tuple(places)


def _listed(case: FusionCase, placed: PlacedOps, numbers: Iterable[int]) -> str:
    ids = [(placed.ids[n], placed.ir.ops[n].name) for n in list(numbers)[:_MOST_NAMED]]
    return ", ".join(dict.fromkeys(op_in_words(case.trace, i) if i else name for i, name in ids)) or "nothing"
