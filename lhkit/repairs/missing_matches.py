"""Repairs of a step that is given a function or a module, where a match of what lies inside is missing.

The step splits a handle, asks for the loop around an op, or takes loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lhkit.model.trace_record import PayloadOp
from lhkit.repairs.repair_context import ANY_OP, Candidate, Located, RepairContext, candidate
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.traces.record.op_names import held_ops, is_called, is_product, is_target, words_of
from lhkit.traces.record.placed_ops import place_ops
from lhkit.traces.record.placed_values import around

_MATCH, _SPLIT, _FOREACH = "transform.structured.match", "transform.split_handle", "transform.foreach"
_PARENT, _LICM = "transform.get_parent_op", "transform.apply_licm"
_CONTAINERS = ("func.func", "builtin.module")
# Vector ops that a schedule looks for; others are many, and are made and folded on the way.
_CONTRACT = "vector.contract"


def propose_missing_parts(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that match ops in what the step is given, and give it these."""
    given = context.locate(context.step.operands[0].handle) if context.step.operands else None
    # What an argument of the entry points to is not known where the first step kills it.
    if given is None or not all(name in _CONTAINERS for name in given.payload):
        return
    if context.op.name == _SPLIT:
        yield from _parts(context, given)
    elif context.op.name == _PARENT:
        yield from _children(context, given)
    elif _takes_loops(context, context.op):
        uses = [(use, op) for use, op in context.uses(given) if _takes_loops(context, op)]
        yield from _matched(context, given, "interface{LoopLikeInterface}", "%loops", "the loops", uses, 0)


def _parts(context: RepairContext, given: Located) -> Iterator[Candidate]:
    """Yield candidates for the kinds of ops of which there are as many as the step has results."""
    alive, held = context.history.alive_before(context.step.index), held_ops(context.trace)
    kinds: dict[str, list[PayloadOp]] = {}
    for op in alive:
        if is_target(op.name) and (not given.ops or context.history.lies_in(op, given.ops)):
            kinds.setdefault(op.name, []).append(op)
    for name, ops in kinds.items():
        if len(ops) == len(context.op.values):
            named = zip(context.op.values, ops, strict=True)
            is_named = all(is_called(words_of(value), context.trace, op) for value, op in named)
            doubt = 0 if is_named else 2 if any(op.id in held for op in ops) else 1
            what, title = f'ops{{["{name}"]}}', f"the {len(ops)} {name}"
            new = f"%{name.rpartition('.')[2]}s"
            yield from _matched(context, given, what, new, title, context.uses_in_step(given), doubt)


def _children(context: RepairContext, given: Located) -> Iterator[Candidate]:
    """Yield candidates for the kinds of ops which all lie in an op as the step asks for."""
    before = [s.step for s in context.trace.snapshots if s.step < context.step.index]
    placed = place_ops(context.trace, max(before, default=-1))
    kinds: dict[str, list[bool]] = {}
    for number, op in enumerate(placed.ir.ops if placed is not None else ()):
        if placed is not None and (is_target(op.name) or op.name == _CONTRACT):
            outer = {placed.ir.ops[n].name for n in around(placed, number)}
            kinds.setdefault(op.name, []).append(context.op.string in outer)
    for name in (name for name, inside in kinds.items() if all(inside)):
        doubt = 0 if is_product(name) or name == _CONTRACT else 1
        what, new = f'ops{{["{name}"]}}', f"%{name.rpartition('.')[2]}"
        yield from _matched(context, given, what, new, f"the {name}", context.uses_in_step(given), doubt)


def _takes_loops(context: RepairContext, op: OpSyntax) -> bool:
    """Return whether a step takes loops, or does what it does for each of its ops to a step that takes them."""
    if op.name != _FOREACH:
        return op.name == _LICM or op.name.startswith("transform.loop.")
    own = [d for d in context.script.handles.definitions if d.is_argument and d.op == op]
    users = [user for definition in own for _, user in definition.uses]
    return bool(users) and all(user.name != _FOREACH and _takes_loops(context, user) for user in users)


def _matched(
    context: RepairContext,
    given: Located,
    what: str,
    new: str,
    title: str,
    uses: Sequence[tuple[Use, OpSyntax]],
    doubt: int,
) -> Iterator[Candidate]:
    new = context.fresh(new)
    line = f"{new} = {_MATCH} {what} in {given.value} : ({given.type}) -> {ANY_OP}"
    replaced = context.replaced_uses(uses, new, given.type, ANY_OP)
    if replaced:
        title = f"Match {title} in {given.value} first: step {context.step.index} is for such ops"
        yield candidate("match-inside", title, context.script, [context.inserted(line), *replaced], doubt)
