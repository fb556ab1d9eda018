"""Repairs of mistakes that no failure reports: edits for a warning, after which there are fewer warnings.

Each function proposes for one kind of warning, at the step that has it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from lhkit.model.trace_record import Trace
from lhkit.repairs.dead_handles import is_finding
from lhkit.repairs.intended_ops import propose_other_ops
from lhkit.repairs.other_handles import Wanted, wanted_of
from lhkit.repairs.repair_context import (
    ANY_OP,
    Candidate,
    Located,
    RepairContext,
    candidate,
    edit_candidate,
    op_at,
    type_span,
)
from lhkit.repairs.wrong_sizes import propose_fitting_sizes, propose_sizes, propose_uncrossed
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.script import Replacement, Script, is_terminator, put_after
from lhkit.text.step_arguments import arguments_of, set_argument
from lhkit.traces.record.op_names import is_target
from lhkit.traces.record.placed_ops import place_ops
from lhkit.traces.record.placed_values import around
from lhkit.traces.warnings.lost_work import FUSE, left_outside, suppressed_failures
from lhkit.traces.warnings.unrolled_loops import inner_loops

_SEQUENCE, _VECTORIZE = "transform.sequence", "transform.structured.vectorize"
_NAMED = "create_named_contraction"


def silent_contexts(trace: Trace, script: Script) -> Iterator[tuple[str, RepairContext]]:
    """Yield the steps with a warning that may be repaired, in order, each with the kind of the warning."""
    for step in trace.step_records:
        for kind in dict.fromkeys(w.kind for w in step.warnings if w.kind in _FOR_KINDS):
            op = op_at(script, step)
            if op is not None:
                yield kind, RepairContext(trace, script, step, op)


def suppressed_contexts(trace: Trace, script: Script) -> Iterator[RepairContext]:
    """Yield the steps whose failure was suppressed, for a schedule that fails at a later one."""
    for step in suppressed_failures(trace):
        op = op_at(script, step)
        if op is not None:
            yield RepairContext(trace, script, step, op)


def propose_for_warning(kind: str, context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for a step with a warning of a kind."""
    yield from _FOR_KINDS[kind](context)


def warnings_left(trace: Trace) -> Counter[str]:
    """Return how many warnings of each kind a trace has."""
    return Counter(w.kind for step in trace.step_records for w in step.warnings)


def propose_for_block(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that give a sequence of steps another handle: what the step inside of it takes."""
    outer, inner = context, context.op
    operand = context.step.operands[0].handle if context.step.operands else None
    if context.op.name != _SEQUENCE:
        parent = context.step.parent
        step = context.trace.step_records[parent] if parent is not None else None
        op = op_at(context.script, step) if step is not None else None
        if step is None or op is None or op.name != _SEQUENCE or not step.operands:
            return
        outer, operand = RepairContext(context.trace, context.script, step, op), step.operands[0].handle
    else:
        steps = [o for region in context.op.regions for o in region.ops if not is_terminator(o)]
        reading = [o for o in steps if o.operands and o.operands[0].text in _arguments(context.op)]
        if not reading:
            return
        inner = reading[0]
    given, wanted = outer.locate(operand) if operand else None, wanted_of(context.script, inner, 0)
    if given is None or wanted is None or not outer.op.operands:
        return
    for doubt, other in _takers(outer, given, wanted):
        use = outer.op.operands[0]
        edits = outer.replaced_uses([(use, outer.op)], other.value, given.type, other.type)
        if edits:
            title = f"Give {other.value} to the steps of {context.script.describe(outer.op)}, not {given.value}"
            yield candidate("other-handle", title, context.script, edits, doubt)


def _arguments(sequence: OpSyntax) -> set[str]:
    blocks = [block for region in sequence.regions for block in region.blocks]
    return {name.text for block in blocks for name in block.arguments}


def _takers(context: RepairContext, given: Located, wanted: Wanted) -> Iterator[tuple[int, Located]]:
    """Yield the handles that a step could take with a doubt: unread results of the step nearest above first."""
    found = [
        h
        for h in context.live_in_sight()
        if h.ops and h.value != given.value and not h.definition.is_argument and wanted(h.payload)
    ]
    unread = [h for h in found if context.is_unused(h)]
    inits = {h.value for h in unread if set(h.payload) == {"linalg.fill"}}  # seldom what is meant
    likely = [h for h in unread if h.value not in inits] or unread
    nearest = max((h.record.defined_by for h in likely), default=-1)
    for handle in found:
        step = handle.record.defined_by
        # Of `%loops:2` the last is the innermost loop; of `%main, %rest` the first is what the step is for.
        same = [h for h in likely if h.record.defined_by == step]
        first = min((h.definition.name.start for h in same), default=-1)
        best = max((h.value for h in same if h.definition.name.start == first), default="")
        is_kin = step == given.record.defined_by or is_finding(context, handle.definition.op)
        doubt = (handle.value != best) + (step != nearest) + (step != nearest and not is_kin)
        doubt += handle.value in inits
        yield doubt if handle in unread else 3, handle


def propose_vectorized(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that vectorize an op which is left, by a handle that nothing reads."""
    script = context.script
    steps = [s for s in context.trace.step_records if s.op == _VECTORIZE and s.depth == context.step.depth]
    written = [(s, op) for s in steps if (op := op_at(script, s)) is not None]
    if not written:
        return
    step, last = written[-1]
    at = RepairContext(context.trace, script, step, last)
    for handle in at.live_in_sight():
        if not at.is_unused(handle) or not handle.ops or not all(map(is_target, handle.payload)):
            continue
        how = f" {{{_NAMED}}}" if any("mat" in n or "conv" in n for n in handle.payload) else ""
        line = f"{_VECTORIZE} {handle.value}{how} : {handle.type}"
        title = f"Vectorize {handle.value} too, which nothing reads"
        yield candidate("several", title, script, [put_after(script.text, last, line)])


def propose_contraction(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that keep a contraction: the handle of the step that names one, or the attribute."""
    script, op = context.script, context.op
    if op.name != _VECTORIZE:
        return
    _, block, _ = script.home_of(op)
    for other in block:
        asks = other.name == _VECTORIZE and any(a.name == _NAMED for a in arguments_of(other))
        if asks and other is not op:
            mine, its = op.operands[0], other.operands[0]
            spans = type_span(script, op, mine), type_span(script, other, its)
            types = {script.text[slice(*span)] for span in spans if span is not None}
            if len(types) == 1:
                edits = [Replacement(mine.start, mine.end, its.text)]
                edits.append(Replacement(its.start, its.end, mine.text))
                title = f"Exchange {mine.text} and {its.text}: {script.describe(other)} names contractions"
                yield candidate("other-handle", title, script, edits)
    edit = partial(set_argument, script, script.number_of(op), _NAMED, "")
    yield from edit_candidate("structure", f"Let {script.describe(op)} create named contractions", edit, 1)


def propose_fusion(context: RepairContext) -> Iterator[Candidate]:
    """Yield the candidate that fuses an op which was left outside of the loop that reads it."""
    trace, script = context.trace, context.script
    for left in left_outside(context.history):
        if left.step != context.step.index:
            continue
        given, placed = context.locate(left.handle), place_ops(trace, left.placed_at)
        last = op_at(script, trace.step_records[left.placed_at])
        if given is None or placed is None or last is None:
            continue
        loops = {left.loop, *(i for n in around(placed, placed.ids.index(left.loop)) if (i := placed.ids[n]))}
        for loop in _handles_after(context, left.placed_at):
            if len(loop.ops) != 1 or loop.ops[0] not in loops or loop.definition.is_argument:
                continue
            fused, outer = context.fresh(given.value, "_fused"), context.fresh(loop.value, "_with")
            line = f"{fused}, {outer} = {FUSE} {given.value} into {loop.value}"
            line += f" : ({given.type}, {loop.type}) -> ({ANY_OP}, {ANY_OP})"
            renamed = context.replaced_uses(_uses_behind(given, last), fused, given.type, ANY_OP)
            again = context.replaced_uses(_uses_behind(loop, last), outer, loop.type, ANY_OP)
            if renamed is None or again is None:
                continue
            title = f"Fuse {given.value} into {loop.value}, the loop that reads it"
            doubt = 0 if loop.ops[0] == left.loop else 1
            inserted = put_after(script.text, last, line)
            yield candidate("fusion", title, script, [inserted, *renamed, *again], doubt, title)
            if doubt == 0:
                return


def _handles_after(context: RepairContext, step: int) -> Iterator[Located]:
    """Yield the handles of the entry that are live after a step, the last defined first."""
    trace = context.trace
    next_step = dataclasses.replace(context.step, index=step + 1)
    behind = RepairContext(trace, context.script, next_step, context.op)
    for handle, state in reversed(trace.states_after(step).items()):
        record = trace.handle(handle)
        if state.state == "live" and record.kind == "op" and not record.path:
            found = behind.locate(handle)
            if found is not None:
                yield found


def propose_inner_loop(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that unroll the innermost of the loops that one step made, not an outer one."""
    given = context.locate(context.step.operands[0].handle) if context.step.operands else None
    for doubt, handle in enumerate(reversed(inner_loops(context.history, context.step))):
        inner = context.locate(handle)
        if given is None or inner is None:
            continue
        edits = context.replaced_uses(context.uses_in_step(given), inner.value, given.type, inner.type)
        if edits:
            title = f"Use {inner.value}, the loop inside, instead of {given.value}"
            yield candidate("other-handle", title, context.script, edits, doubt)


def _uses_behind(handle: Located, op: OpSyntax) -> list[tuple[Use, OpSyntax]]:
    return [(use, user) for use, user in handle.definition.uses_of(handle.value) if use.start >= op.end]


_FOR_KINDS: Mapping[str, Callable[[RepairContext], Iterator[Candidate]]] = {
    "suppressed-failure": propose_for_block,
    "left-outside": propose_fusion,
    "recomputed": partial(propose_sizes, fewer_loops=True),
    "tile-size-whole": propose_fitting_sizes,
    "tiles-crossed": propose_uncrossed,
    "other-loop-named": propose_sizes,
    "outer-unrolled": propose_inner_loop,
    "other-op-named": propose_other_ops,
    "tile-size-unused": partial(propose_sizes, fewer_loops=True),
    "reduction-shared": partial(propose_sizes, fewer_loops=True),
    "tile-size-too-large": propose_fitting_sizes,
    "lost-contraction": propose_contraction,
    "scalar-code-left": propose_vectorized,
}
REPAIRED_WARNINGS = ("zero-match", *_FOR_KINDS)
