"""Repairs by the op that was meant: a match of another op, or one that is missing.

Two steps that take one op, and a step that takes what no step of its kind does, often have one cause: a handle
was matched by the wrong name, or its definition is gone and another handle was written. The ops that no handle
points to are what is missing; the names of handles, of ops and of payload values say which of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial

from lhkit.model.trace_record import PayloadOp, Trace
from lhkit.repairs.repair_context import (
    ANY_OP,
    Candidate,
    Located,
    RepairContext,
    candidate,
    op_at,
)
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.script import Replacement, Script, put_after
from lhkit.text.step_arguments import arguments_of, elements_of
from lhkit.traces.record.handle_history import deaths
from lhkit.traces.record.op_names import held_ops, is_called, is_product, is_target, means, words_of
from lhkit.traces.record.placed_ops import PlacedOps, place_ops
from lhkit.traces.record.placed_values import users_of

MATCH, PRODUCER = "transform.structured.match", "transform.get_producer_of_operand"
FILL, GENERALIZE = "linalg.fill", "transform.structured.generalize"
_FINDERS = (MATCH, PRODUCER, "transform.split_handle", "transform.merge_handles", "transform.cast")
_HOLDERS = ("builtin.module", "func.func", "scf.")
_MOST_MATCHES = 3


def propose_other_ops(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates in which a match behind the step, or behind the death of its handle, finds other ops."""
    for made in _matches_behind(context)[:_MOST_MATCHES]:
        argument = next((a for a in arguments_of(made.definition.op) if a.name == "ops"), None)
        text = context.script.text
        if argument is None:
            continue
        start, end = text.find("[", argument.start, argument.end), text.rfind("]", argument.start, argument.end)
        spans = elements_of(made.definition.op, start, end + 1) if 0 <= start < end else ()
        if len(spans) != 1:
            continue
        (a, b), old = spans[0], text[slice(*spans[0])].strip('"')
        alive = context.history.alive_before(made.record.defined_by)
        held, words = held_ops(context.trace, _derived(context.trace, made.record.id)), words_of(made.value)
        own = [o for o in alive if o.id in made.ops]
        others = [o for o in alive if o.id not in made.ops and is_target(o.name)]
        # %product is the value %product sooner than the value %product_init.
        is_called_so = partial(is_called, words, context.trace)
        is_other = any(map(is_called_so, others)) and not any(map(is_called_so, own))
        is_named = means(words, context.trace, own) and not is_other
        for name in dict.fromkeys(o.name for o in alive if is_target(o.name) and o.name != old):
            ops = [o for o in alive if o.name == name]
            is_free = not any(o.id in held for o in ops)
            doubt = 0 if is_free and means(words, context.trace, ops) else 1 if is_free else 3
            if doubt == 3 and is_named:
                continue  # it finds what its handle is called, and the other is found by another handle
            title = f"Match {name}{', which no handle points to,' if is_free else ''} for {made.value}"
            title += f" instead of {old}"
            edit = Replacement(a, b, f'"{name}"')
            yield candidate("other-name", title, context.script, [edit], doubt + 2 * is_named)


def _derived(trace: Trace, handle: str) -> set[str]:
    """Return a handle and those that steps made from it."""
    found = {handle}
    for step in trace.step_records:
        if any(o.handle in found for o in step.operands):
            found.update(step.results)
    return found


def _matches_behind(context: RepairContext) -> list[Located]:
    """Return the handles of matches that operands of the step come from, and of what killed them."""
    dead, trace = deaths(context.trace), context.trace
    own = context.step.results if context.step.op == MATCH else ()
    waiting = [*own, *(o.handle for o in context.step.operands)]
    found: dict[str, Located] = {}
    seen: set[str] = set()
    while waiting:
        handle = waiting.pop(0)
        if handle in seen:
            continue
        seen.add(handle)
        if handle in dead:
            waiting.append(dead[handle].invalidation.by)
        made_by = trace.handle(handle).defined_by
        if made_by < 0:
            continue
        if trace.step_records[made_by].op != MATCH:
            waiting += [o.handle for o in trace.step_records[made_by].operands]
        elif (located := context.locate(handle)) is not None:
            found[handle] = located
    return list(found.values())


def propose_missing_match(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that match an op where a step for structured ops is given what contains them."""
    trace, script = context.trace, context.script
    for position, operand in enumerate(context.step.operands):
        given = context.locate(operand.handle)
        if given is None or not _takes_target(script, context.op, position):
            continue
        # What an argument of the entry points to is not known where the first step kills it.
        is_root = given.record.defined_by < 0 and not given.ops
        if not is_root and not (given.ops and all(n.startswith(_HOLDERS) for n in given.payload)):
            continue
        uses = [(u, op) for u, op in context.uses(given) if _takes_target(script, op, op.operands.index(u))]
        words = {w for _, op in uses if op.name not in _FINDERS for v in op.values for w in words_of(v)}
        held = held_ops(trace)
        alive = [
            o
            for o in context.history.alive_before(context.step.index)
            if is_target(o.name) and (is_root or context.history.lies_in(o, given.ops))
        ]
        yield from _all_ops(context, given, uses, {o.name for o in alive})
        unlikely = _unlikely(trace, [o for o in alive if o.id not in held])
        for name in dict.fromkeys(o.name for o in alive):
            ops = [o for o in alive if o.name == name]
            is_free = not any(o.id in held for o in ops)
            doubt = 0 if is_free and means(words, trace, ops) else 1 if is_free else 3
            doubt += unlikely[name] if doubt else 0
            new = context.fresh("%" + name.rpartition(".")[2])
            line = f'{new} = {MATCH} ops{{["{name}"]}} in {given.value} : ({given.type}) -> {ANY_OP}'
            replaced = context.replaced_uses(uses, new, given.type, ANY_OP)
            if replaced is not None:
                title = f"Match {name} in {given.value} first: step {context.step.index} is for such an op"
                yield candidate("match-inside", title, script, [context.inserted(line), *replaced], doubt)


def _unlikely(trace: Trace, free: list[PayloadOp]) -> Counter[str]:
    """Return the doubt of names of ops where no word tells: products come first, else what no other op reads.

    An init is seldom meant.
    """
    best = {o.name for o in free if is_product(o.name)}
    placed = place_ops(trace, -1) if not best else None
    if placed is not None:
        numbers = {o.name: placed.ids.index(o.id) for o in free if o.id in placed.ids}
        best = {name for name, n in numbers.items() if not _feeds_target(placed, n)}
    return Counter({o.name: (bool(best) and o.name not in best) + (o.name == FILL) for o in free})


def _feeds_target(placed: PlacedOps, number: int) -> bool:
    return any(is_target(placed.ir.ops[n].name) for n in users_of(placed, number))


def _all_ops(
    context: RepairContext, given: Located, uses: list[tuple[Use, OpSyntax]], kinds: Collection[str]
) -> Iterator[Candidate]:
    """Yield the candidate that matches all structured ops, for a step that takes as many as there are."""
    if context.op.name != GENERALIZE or len(kinds) < 2:
        return
    new = context.fresh("%named")
    line = f"{new} = {MATCH} interface{{LinalgOp}} in {given.value} : ({given.type}) -> {ANY_OP}"
    replaced = context.replaced_uses(uses, new, given.type, ANY_OP)
    if replaced is not None:
        is_plural = any(v.endswith("s") for v in context.op.values)
        title = f"Match all structured ops in {given.value} first: step {context.step.index} takes each of them"
        edits = [context.inserted(line), *replaced]
        yield candidate("match-inside", title, context.script, edits, 0 if is_plural else 2)


def _takes_target(script: Script, op: OpSyntax, position: int) -> bool:
    """Return True if an operand of a step is an op to be changed, or one whose operands are asked for."""
    if op.name in (MATCH, "transform.structured.vectorize_children_and_apply_patterns"):
        return False
    if op.name == "transform.include":
        owner = next((s for s in script.steps if s.symbol == op.symbol and position < len(s.arguments)), None)
        uses = [
            pair
            for definition in script.handles.definitions
            if owner is not None and definition.is_argument and definition.op == owner
            for pair in definition.uses_of(owner.arguments[position].text)
        ]
        return any(_takes_target(script, o, o.operands.index(u)) for u, o in uses if o.name != op.name)
    return position == 0 and (op.name == PRODUCER or op.name.startswith("transform.structured."))


def propose_missing_producer(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that ask for a producer which no handle points to, for a second use of its reader."""
    dead, trace = deaths(context.trace), context.trace
    held = held_ops(trace)
    for position, operand in enumerate(context.step.operands):
        given = context.locate(operand.handle)
        if given is None or given.definition.is_argument or len(given.ops) != 1:
            continue
        is_dead = operand.handle in dead
        if not is_dead and not _takes_target(context.script, context.op, position):
            continue
        for number, producer in _producers(trace, given):
            if producer.id in held or not is_target(producer.name):
                continue
            new = context.fresh("%" + producer.name.rpartition(".")[2])
            line = f"{new} = {PRODUCER} {given.value}[{number}] : ({given.type}) -> {ANY_OP}"
            inserted = put_after(context.script.text, given.definition.op, line)
            words = {w for value in context.op.values for w in words_of(value)}
            doubt = 0 if means(words, trace, [producer]) else 1
            doubt += is_dead and context.op.name in (MATCH, PRODUCER)  # its place matters more
            title = f"Ask for the {producer.name} that {given.value} reads: no handle points to it"
            own = context.uses(given) if is_dead else context.uses_in_step(given)
            lost = [pair for pair in _asked(context, given) if pair not in own]
            for uses in ([*own, *lost], own) if lost else (own,):
                replaced = context.replaced_uses(uses, new, given.type, ANY_OP)
                if replaced is not None:
                    group = f"{title} {len(uses)}"
                    # What is asked for in vain otherwise is asked of the same op.
                    left = len(uses) < len(own) + len(lost)
                    yield candidate(
                        "use-result", title, context.script, [inserted, *replaced], doubt + left, group
                    )


def _producers(trace: Trace, of: Located) -> Iterator[tuple[int, PayloadOp]]:
    """Yield the ops that an op reads, each with the number of its operand."""
    placed = place_ops(trace, -1)
    if placed is None or of.ops[0] not in placed.ids:
        return
    at = placed.ids.index(of.ops[0])
    operands = [value for value in placed.ir.ops[at].values[0] if value[0] != at]
    for number, (source, _) in enumerate(operands):
        id_ = placed.ids[source]
        if id_ is not None:
            yield number, trace.op(id_)


def _asked(context: RepairContext, given: Located) -> list[tuple[Use, OpSyntax]]:
    """Return the uses in steps that ask for a producer and are given none that a step is for."""
    found = []
    for step in context.trace.step_records[: context.step.index]:
        op = op_at(context.script, step) if step.op == PRODUCER else None
        if op is None or not any(u.text == given.value for u in op.operands):
            continue
        results = [context.locate(r) for r in step.results]
        if not any(r is not None and any(map(is_target, r.payload)) for r in results):
            found += [(u, o) for u, o in given.definition.uses_of(given.value) if o.start == op.start]
    return found


def propose_generalized(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that generalize the ops of an unread handle, for a match of linalg.generic."""
    text = context.script.text[context.op.start : context.op.end]
    if '"linalg.generic"' not in text:
        return
    records = [h for h in context.trace.handle_records if 0 <= h.defined_by < context.step.index]
    for handle in (located for h in records if (located := context.locate(h.id)) is not None):
        if not context.is_unused(handle) or not handle.ops or handle.definition.is_argument:
            continue
        if not all(is_target(n) and n != "linalg.generic" for n in handle.payload):
            continue
        new = context.fresh(handle.value, "_generic")
        line = f"{new} = {GENERALIZE} {handle.value} : ({handle.type}) -> {ANY_OP}"
        edit = put_after(context.script.text, handle.definition.op, line)
        title = f"Make linalg.generic ops of {handle.value}, which nothing reads"
        yield candidate("generalize", title, context.script, [edit])
