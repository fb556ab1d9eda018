"""Candidates that read another handle: a sibling result, or one that nothing reads."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

from lhkit.repairs.repair_context import Candidate, Located, RepairContext, candidate, op_at
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement, Script
from lhkit.traces.record.op_names import is_called, words_of

_MATCH, _SPLIT, _CAST = "transform.structured.match", "transform.split_handle", "transform.cast"
_INCLUDE = "transform.include"
_ON_FUNCTIONS = (
    "transform.apply_patterns",
    "transform.apply_cse",
    "transform.apply_dce",
    "transform.apply_registered_pass",
    "transform.apply_conversion_patterns",
)
_TYPED = re.compile(r'to !transform\.op<"([^"]*)">\s*$')
_HOLDERS = ("scf.", "func.", "builtin.", "affine.")
_MOST_OTHERS = 6

Wanted = Callable[[tuple[str, ...]], bool]


def other_handles(context: RepairContext, given: Located, position: int) -> Iterator[Candidate]:
    """Yield candidates that replace an operand of the wrong kind: sibling results first, then others."""
    wanted = wanted_by(context, position)
    if wanted is None or wanted(given.payload):
        return
    for other in _suitable(context, given, wanted):
        is_sibling = _are_siblings(other, given)
        which = f"the other result of step {other.record.defined_by}" if is_sibling else "another handle"
        doubt = (0 if is_sibling else 1) if context.is_unused(other) else (2 if is_sibling else 3)
        doubt += doubt > 0 and set(other.payload) == {"linalg.fill"}  # an init is seldom what is meant
        yield from _reading(context, given, position, other, which, doubt)


def unused_handles(context: RepairContext, dead: Located, position: int) -> Iterator[Candidate]:
    """Yield candidates that read an unused live handle instead of a dead operand."""
    wanted = wanted_by(context, position)
    for other in _suitable(context, dead, wanted or (lambda _names: True)):
        if context.is_unused(other) and (wanted is not None or other.payload == dead.payload):
            doubt = 2 if wanted is None or wanted(dead.payload) else 1
            yield from _reading(context, dead, position, other, "which nothing else reads", doubt)


def wanted_by(context: RepairContext, position: int) -> Wanted | None:
    """Return a predicate on the names of payload ops that a step takes; None where that is not known."""
    return wanted_of(context.script, context.op, position)


def wanted_of(script: Script, step: OpSyntax, position: int) -> Wanted | None:
    """Return what `wanted_by` does, of a step as it is written."""
    op = step.name
    if op.startswith("transform.loop.") and "forall" not in op:
        return lambda names: all(n in ("scf.for", "affine.for") for n in names)
    if op.startswith(_ON_FUNCTIONS):
        return lambda names: all(n in ("func.func", "builtin.module") for n in names)
    if op == "transform.apply_licm" or (op.endswith("fuse_into_containing_op") and position == 1):
        return lambda names: all(n.startswith(("scf.", "affine.")) for n in names)
    if op == _SPLIT:
        return lambda names: len(names) == len(step.values)
    if op == _INCLUDE:
        return _wanted_inside(script, step, position)
    if op == _CAST:
        typed = _TYPED.search(script.text[step.start : step.end])
        return None if typed is None else lambda names: all(n == typed[1] for n in names)
    if op.startswith("transform.structured.") and op != _MATCH:
        return lambda names: not any(n.startswith(_HOLDERS) for n in names)
    return None


def _wanted_inside(script: Script, include: OpSyntax, position: int) -> Wanted | None:
    """Return a predicate for what the steps of an included sequence take as one of its arguments."""
    owner = next((s for s in script.steps if s.symbol == include.symbol and position < len(s.arguments)), None)
    own = [d for d in script.handles.definitions if d.is_argument and d.op == owner]
    uses = [pair for d in own for pair in d.uses_of(owner.arguments[position].text)] if owner else []
    inside = (wanted_of(script, op, op.operands.index(use)) for use, op in uses if op.name != _INCLUDE)
    return next((wanted for wanted in inside if wanted is not None), None)


def propose_yielded(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates in which an included sequence yields another result of a step, for a wrong kind."""
    script, trace = context.script, context.trace
    for position, operand in enumerate(context.step.operands):
        wanted, given = wanted_by(context, position), context.locate(operand.handle)
        if wanted is None or given is None or wanted(given.payload):
            continue
        handle, definition = operand.handle, given.definition
        if definition.is_argument and context.step.parent is not None:  # what the include around is given
            around = trace.step_records[context.step.parent]
            names = [argument.text for argument in definition.op.arguments]
            if around.op != _INCLUDE or definition.name.text not in names:
                continue
            handle = around.operands[names.index(definition.name.text)].handle
        maker = trace.handle(handle).defined_by
        include = trace.step_records[maker] if maker >= 0 else context.step
        op = op_at(script, include) if include.op == _INCLUDE else None
        if op is not None and handle in include.results:
            yield from _yielding(context, op.symbol, include.results.index(handle))


def _yielding(context: RepairContext, symbol: str, number: int) -> Iterator[Candidate]:
    """Yield candidates in which a sequence yields another result of the step that made what it yields."""
    script = context.script
    owner = next((s for s in script.steps if s.symbol == symbol and s.regions), None)
    last = owner.regions[-1].ops[-1] if owner is not None and owner.regions[-1].ops else None
    if last is None or number >= len(last.operands):
        return
    use = last.operands[number]
    for definition in script.handles.definitions:
        if definition.is_argument or (use, last) not in definition.uses_of(use.text):
            continue
        for value in definition.op.values:
            if value != use.text:
                title = f"Let {symbol} yield {value}, the other result of its step, not {use.text}"
                yield candidate("other-handle", title, script, [Replacement(use.start, use.end, value)])


def propose_split_order(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that exchange two results of a split, each of which is named after the other's op."""
    script, trace = context.script, context.trace
    for step in trace.step_records[: context.step.index]:
        op = op_at(script, step) if step.op == _SPLIT else None
        results = [context.locate(r) for r in step.results] if op is not None else []
        known = [h for h in results if h is not None and len(h.ops) == 1]
        for one, two in itertools.combinations(known, 2):
            words = [words_of(handle.value) for handle in (one, two)]
            ops = [trace.op(handle.ops[0]) for handle in (two, one)]
            if all(is_called(named, trace, op) for named, op in zip(words, ops, strict=True)):
                mine, its = one.definition.name, two.definition.name
                edits = [Replacement(mine.start, mine.start + len(mine.text), its.text)]
                edits.append(Replacement(its.start, its.start + len(its.text), mine.text))
                title = f"Exchange {mine.text} and {its.text} in step {step.index}, as the ops are named"
                yield candidate("other-handle", title, script, edits)


def _suitable(context: RepairContext, given: Located, wanted: Wanted) -> list[Located]:
    read = {context.trace.handle(o.handle).name for o in context.step.operands}
    others = [
        h
        for h in context.live_in_sight()
        if h.ops and h.value not in read and wanted(h.payload) and not set(h.ops) & set(given.ops)
    ]
    others.sort(key=lambda h: (not context.is_unused(h), not _are_siblings(h, given)))
    return others[:_MOST_OTHERS]


def _are_siblings(one: Located, other: Located) -> bool:
    return one.record.defined_by == other.record.defined_by >= 0


def _reading(
    context: RepairContext, given: Located, position: int, other: Located, which: str, doubt: int
) -> Iterator[Candidate]:
    op = context.op
    uses = context.uses_in_step(given)
    if len(uses) > 1 and len(op.operands) == len(context.step.operands):
        uses = [(op.operands[position], op)]  # the other operand is the same handle, and may be meant
    edits = context.replaced_uses(uses, other.value, given.type, other.type)
    if edits:
        title = f"Use {other.value}, {which}, instead of {given.value}"
        is_fused = context.is_fused_already(other.ops)
        yield candidate("other-handle", title, context.script, edits, doubt, is_unlikely=is_fused)
