"""The kinds of warnings about silent mistakes in their order; adding them to a trace, and switching them off.

Warnings are switched off by argument (``no_warnings=["zero-match"]``), by option (``--no-warning zero-match``),
or in the text of the schedule: a comment ``// lhkit: allow zero-match`` on the line of an op's name or on the
line before it holds for that op, above the first line of code for the whole file. Commas separate kinds.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from lhkit.model.errors import usage_error
from lhkit.model.fatal_attributes import INTERPRETER_WARNINGS, MOST_VECTOR_ELEMENTS
from lhkit.model.knob import Knob
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.model.trace_record import PayloadDelta, PayloadOp, Trace, TraceStep, TraceWarning
from lhkit.traces.explain.handle_explanation import repeated
from lhkit.traces.record.handle_history import PayloadHistory, display_names, states_at_end
from lhkit.traces.record.placed_ops import op_in_words, place_ops
from lhkit.traces.record.placed_values import live_ops, loops_around
from lhkit.traces.warnings.lost_work import (
    find_computed_twice,
    find_empty_sequences,
    find_left_outside,
    find_leftovers,
    find_recomputed,
    find_suppressed_failures,
)
from lhkit.traces.warnings.named_ops import VECTORIZE_CHILDREN, find_other_named
from lhkit.traces.warnings.strided_fusion import STRIDED, find_strided_fusions
from lhkit.traces.warnings.tile_order import find_crossed_tiles, find_misnamed_loops, find_shared_reductions
from lhkit.traces.warnings.unrolled_loops import find_outer_unrolled
from lhkit.traces.warnings.zero_match import with_near_misses

VECTORIZE = "transform.structured.vectorize"

# The index of a step and the message of a warning about it.
Messages = Iterator[tuple[int, str]]


class WarningKind(NamedTuple):
    """A kind of warning; ``needs_success``: later steps might have corrected it, so the schedule must pass."""

    name: str
    description: str
    find: Callable[[PayloadHistory], Messages]
    needs_success: bool = True


def vectorizing_steps(trace: Trace) -> list[TraceStep]:
    """Return the steps that vectorized."""
    return [s for s in trace.step_records if s.op in (VECTORIZE, VECTORIZE_CHILDREN) and s.status == "ok"]


def _find_repeated_payload(history: PayloadHistory) -> Messages:
    trace = history.trace
    names = display_names(trace)
    reported: set[str] = set()
    for step in trace.steps_by_end():
        for change in step.changes:
            if change.handle in reported or not (again := repeated(change)):
                continue
            reported.add(change.handle)
            what = op_in_words(trace, again[0]) if isinstance(again[0], str) else "a value"
            yield (
                step.index,
                f"{names[change.handle]} lists one op twice ({what}); a step that consumes it will fail,"
                " transform.merge_handles deduplicate takes the repetition out",
            )


def _find_unused_handle(history: PayloadHistory) -> Messages:
    trace = history.trace
    used = {o.handle for s in trace.step_records for o in s.operands}
    reported: set[Span] = set()
    for step in trace.step_records:
        if step.source is None or step.source in reported or not _only_finds(trace, step):
            continue
        text = history.texts.get(step.source.file)
        names = [trace.handle(r).name for r in step.results]
        if text is None or used.intersection(step.results) or any(text.mentions(n) != 1 for n in names):
            continue
        reported.add(step.source)
        yield step.index, f"nothing uses {', '.join(names)}"


def _only_finds(trace: Trace, step: TraceStep) -> bool:
    if step.status != "ok" or not step.results or step.payload_delta.signed:
        return False
    is_plain = not any(o.effect == "consume" for o in step.operands)
    return is_plain and "param" not in {trace.handle(r).kind for r in step.results}


_PRODUCTS = ("arith.mulf", "arith.muli")
_SUMS = ("arith.addf", "arith.addi")
_CONTRACTIONS = ("vector.contract", "vector.outerproduct", "vector.fma", "math.fma")


def _find_lost_contraction(history: PayloadHistory) -> Messages:
    trace = history.trace
    for step in vectorizing_steps(trace):
        erased = set(step.payload_delta.erased)
        bodies: dict[str, list[PayloadOp]] = {}
        for op in map(trace.op, step.payload_delta.erased):
            if op.parent in erased and op.name in _PRODUCTS + _SUMS:
                bodies.setdefault(op.parent or "", []).append(op)
        for owner, body in bodies.items():
            sums = [o.id for o in body if o.name in _SUMS]
            if not sums or not any(o.name in _PRODUCTS for o in body):
                continue
            if (reduction := _reduction_left(history, step, sums)) is not None:
                yield (
                    step.index,
                    f"the {op_in_words(trace, owner)} became {reduction.name} of a product, and nothing made a"
                    " vector.contract of it: add create_named_contraction, or apply the pattern"
                    " vector.reduction_to_contract before any canonicalization",
                )


def _reduction_left(history: PayloadHistory, step: TraceStep, sums: list[str]) -> PayloadOp | None:
    """Return the reduction derived from the sums; patterns derive a later contraction from them too."""
    made = history.descendants(sums)
    if any(o.name in _CONTRACTIONS for o in made):
        return None
    return next((o for o in made if o.name == "vector.multi_reduction" and o.born == step.index), None)


_LOOPS = ("scf.for", "scf.forall", "scf.parallel", "scf.while", "affine.for")
_WITHOUT_LOOPS = ("linalg.yield", "linalg.index")


def _find_scalar_code(history: PayloadHistory) -> Messages:
    trace = history.trace
    steps = vectorizing_steps(trace)
    if not steps:
        return
    alive = history.alive_before(len(trace.step_records))
    left = [o for o in alive if o.name.startswith("linalg.") and o.name not in _WITHOUT_LOOPS]
    if left and (placed := place_ops(trace, trace.snapshots[-1].step)) is not None:
        live = {placed.ids[n] for n in live_ops(placed)}  # dead code will not run at all
        left = [o for o in left if o.id in live]
    unread = _held_unread(history) if left else set[str]()
    reported: set[str] = set()
    for step in steps if left else ():
        if step.op == VECTORIZE_CHILDREN:
            payloads = [c.payload for c in step.changes if c.handle in step.results]
            targets = {r for payload in payloads for r in payload if isinstance(r, str)}
            where, these = "its target", [o for o in left if history.lies_in(o, targets)]
        else:
            vectorized = [p for p in map(trace.op, step.payload_delta.erased) if p.name.startswith("linalg.")]
            loops = {p.parent for p in vectorized if p.parent and trace.op(p.parent).name in _LOOPS}
            nests = {at for loop in loops for at in _loops_from(trace, loop)}
            where = "the same loop"
            inner = [o for o in left if o.id in unread and loops.intersection(_loops_from(trace, o.parent))]
            these = [o for o in left if o.parent in loops or (o.parent in nests and o.id in unread)]
            these += [o for o in inner if o not in these]
        if new := [o.id for o in these if o.id not in reported]:
            reported.update(new)
            names = ", ".join(dict.fromkeys(op_in_words(trace, each) for each in new))
            yield step.index, f"in {where} are left, and will run element by element: {names}"


def _loops_from(trace: Trace, op: str | None) -> Iterator[str]:
    """Yield a loop and those around it, as they were first seen."""
    while op is not None and trace.op(op).name in _LOOPS:
        yield op
        op = trace.op(op).parent


def _held_unread(history: PayloadHistory) -> set[str]:
    """Return the ops of handles that steps which change the payload made, and that nothing reads."""
    trace = history.trace
    read = {o.handle for s in trace.step_records for o in s.operands}
    made = [s for s in trace.step_records if s.payload_delta != PayloadDelta()]
    unread = {r for s in made for r in s.results} - read
    last = states_at_end(trace) if unread else {}
    return {r for h in unread if h in last for r in last[h].payload if isinstance(r, str)}


_VECTOR = re.compile(r"vector<((?:\[?\d+\]?x)+)")


def _find_large_vector(history: PayloadHistory) -> Messages:
    """Yield the step that made the largest vector of the last payload, if the vector is too large."""
    trace = history.trace
    largest = _largest_vector(trace.last_snapshot_text())
    if largest is None or any(w.kind == "vector-too-large" for s in trace.step_records for w in s.warnings):
        return
    elements, written = largest
    for step in trace.steps_by_end():
        makes = any(trace.op(o).name.startswith("vector.") for o in step.payload_delta.created)
        if makes and written in (trace.snapshot_text(step.index) or ""):
            yield (
                step.index,
                f"the payload has {written.rstrip('x')}…>, a vector of {elements} elements, more than"
                f" {MOST_VECTOR_ELEMENTS}; LLVM may take minutes: tile before vectorizing",
            )
            return


def _largest_vector(text: str) -> tuple[int, str] | None:
    shapes = {m[0]: math.prod(map(int, re.findall(r"\d+", m[1]))) for m in _VECTOR.finditer(text)}
    return max(((n, shape) for shape, n in shapes.items() if n > MOST_VECTOR_ELEMENTS), default=None)


# What 32 registers of 512 bits hold, the most that a CPU has; twice that still runs well.
_REGISTER_BYTES = 2048
_MOST_WHOLE_BYTES = 2 * _REGISTER_BYTES


def _find_whole_vectors(history: PayloadHistory) -> Messages:
    trace = history.trace
    for step in vectorizing_steps(trace):
        made = set(step.payload_delta.created)
        writes = [op for op in map(trace.op, made) if op.name == "vector.transfer_write"]
        if step.op != VECTORIZE or all(history.is_in_loop(op) for op in writes):
            continue  # its text need not be read
        if (placed := place_ops(trace, step.index)) is None:
            continue
        if all(trace.op(o).name == "linalg.fill" for o in history.ops_given(step, 0)):
            continue  # no value of it stays in a register
        for number, id_ in enumerate(placed.ids):
            op = placed.ir.ops[number]
            if id_ not in made or op.name != "vector.transfer_write" or loops_around(placed, number):
                continue
            if (size := _vector_bytes(op.shapes[-1])) > _MOST_WHOLE_BYTES:
                yield (
                    step.index,
                    f"makes one vector of {size} bytes of a whole op, outside of all loops; all registers of"
                    f" the widest CPU hold {_REGISTER_BYTES}: tile the op before",
                )
                break


def _vector_bytes(types: str) -> int:
    """Return the size of the first vector in printed types, 0 without one."""
    found = re.search(r"vector<((?:\d+x)+)[a-z]+(\d+)>", types)
    return math.prod(map(int, found[1].rstrip("x").split("x"))) * int(found[2]) // 8 if found else 0


KNOB_KIND = "knob-without-effect"
_KNOB_DESCRIPTION = "Every option of a knob gives the same payload (looked for on request)."


def knobs_without_effect(schedule: Schedule, apply: Callable[[Schedule], str | None]) -> tuple[Knob, ...]:
    """Return the knobs whose options all give the same payload, the other knobs as they are set.

    Two applications a knob usually decide. ``apply`` gives the payload that a schedule makes as text, None if
    it fails, which counts as different.
    """
    found = []
    for knob in schedule.knobs:
        outcomes: set[str | None] = set()
        for option in knob.options:
            outcomes.add(apply(schedule.with_knobs({knob.name: option})))
            if len(outcomes) > 1 or None in outcomes:
                break
        else:
            if len(knob.options) > 1:
                found.append(knob)
    return tuple(found)


def with_knob_warnings(trace: Trace, knobs: tuple[Knob, ...]) -> Trace:
    """Return a trace with a warning at the step of each of these knobs without effect."""
    steps = list(trace.step_records)
    for knob in knobs:
        listed = ", ".join(map(str, knob.options))
        message = f"knob {knob.name!r} has no effect: each of its options {listed} gives the same payload"
        for i, step in enumerate(steps):
            if step.op.startswith("transform.tune.") and step.source and step.source.line == knob.line:
                warnings = (*step.warnings, TraceWarning(KNOB_KIND, message))
                steps[i] = dataclasses.replace(step, warnings=warnings)
                break
    return dataclasses.replace(trace, step_records=tuple(steps))


# Warnings of a step are in this order.
_KINDS: tuple[WarningKind, ...] = (
    WarningKind(
        "repeated-payload",
        "A handle lists one op twice; a step that consumes it will fail.",
        _find_repeated_payload,
        needs_success=False,
    ),
    WarningKind(
        "vector-too-large",
        "A vector has so many elements that LLVM may take minutes over it.",
        _find_large_vector,
        needs_success=False,
    ),
    WarningKind(
        STRIDED,
        "A producer is fused through a slice with strides, and other elements of it are computed.",
        find_strided_fusions,
        needs_success=False,
    ),
    WarningKind(
        "unused-handle", "A step only finds something, and nothing uses what it found.", _find_unused_handle
    ),
    WarningKind(
        "lost-contraction",
        "Vectorization left a contraction as product and reduction, not as vector.contract.",
        _find_lost_contraction,
    ),
    WarningKind(
        "scalar-code-left",
        "Beside vectorized ops, structured ops are left that will run element by element.",
        _find_scalar_code,
    ),
    WarningKind(
        "suppressed-failure",
        "A step fails each time, and a step around it goes on as if nothing had happened.",
        find_suppressed_failures,
    ),
    WarningKind(
        "recomputed",
        "Iterations of a loop compute the same of a fused reduction again and again.",
        find_recomputed,
    ),
    WarningKind(
        "computed-twice",
        "An op is computed in a loop and again outside of it, for another reader.",
        find_computed_twice,
    ),
    WarningKind(
        "left-outside",
        "An op that was looked for is computed outside of the one loop that reads it.",
        find_left_outside,
    ),
    WarningKind(
        "tiles-crossed",
        "An op and one that it reads, of the same shape, are tiled by the same sizes in another order.",
        find_crossed_tiles,
    ),
    WarningKind(
        "other-op-named",
        "A handle is called like one op, which is in no handle, and holds another.",
        find_other_named,
    ),
    WarningKind(
        "empty-sequence", "A sequence is included that has no step: nothing is done.", find_empty_sequences
    ),
    WarningKind(
        "outer-unrolled",
        "A loop is unrolled, and the loop inside of it, of the same step, is in a handle that nothing reads.",
        find_outer_unrolled,
    ),
    WarningKind(
        "reduction-shared",
        "A reduction is tiled by scf.forall: iterations that may run in parallel write to the same tile.",
        find_shared_reductions,
    ),
    WarningKind(
        "other-loop-named",
        "The handle of a loop is called a reduction, and the loop is over another dimension.",
        find_misnamed_loops,
    ),
    WarningKind(
        "whole-op-vectorized",
        "An op outside of all loops became one vector of more than twice the bytes of all registers.",
        _find_whole_vectors,
    ),
    WarningKind(
        "leftover-matched",
        "A match also finds originals that fusing left outside of the loop and nothing reads.",
        find_leftovers,
    ),
)
WARNING_KINDS: Mapping[str, str] = {
    **INTERPRETER_WARNINGS,
    **{kind.name: kind.description for kind in _KINDS},
    KNOB_KIND: _KNOB_DESCRIPTION,
}


def check_kinds(kinds: Iterable[str]) -> frozenset[str]:
    """Return the kinds as a set; UsageError if one of them does not exist."""
    chosen = frozenset(kinds)
    if unknown := sorted(chosen - WARNING_KINDS.keys()):
        raise usage_error(f"no warning is called {unknown[0]!r}", f"There are {', '.join(WARNING_KINDS)}.")
    return chosen


def with_warnings(trace: Trace) -> Trace:
    """Return a trace with the warnings that need the whole trace."""
    history = PayloadHistory(trace)
    found: dict[int, dict[TraceWarning, None]] = defaultdict(dict)
    kinds = [k for k in _KINDS if trace.outcome.status == "ok" or not k.needs_success]
    for kind in kinds:
        for index, message in kind.find(history):
            found[index][TraceWarning(kind.name, message)] = None
    steps = with_near_misses(history)
    for index, warnings in found.items():
        steps[index] = dataclasses.replace(steps[index], warnings=(*steps[index].warnings, *warnings))
    return dataclasses.replace(trace, step_records=tuple(steps))


def without_warnings(trace: Trace, kinds: Collection[str] = ()) -> Trace:
    """Return a trace without warnings of some kinds, and without those that comments in its schedule allow."""
    texts, steps = PayloadHistory(trace).texts, list(trace.step_records)
    for index, step in enumerate(steps):
        if not step.warnings:
            continue
        text = texts.get(step.source.file) if step.source else None
        allowed = {*kinds, *(text.allowed(step.source.line) if text and step.source else ())}
        if any(w.kind in allowed for w in step.warnings):
            kept = tuple(w for w in step.warnings if w.kind not in allowed)
            steps[index] = dataclasses.replace(step, warnings=kept)
    return dataclasses.replace(trace, step_records=tuple(steps))
