"""Repairs of a match that found nothing, and of a step that was given wrong numbers or kinds of payload ops.

A match gets another name, another root or an earlier place.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import partial

from lhkit.repairs.other_handles import other_handles
from lhkit.repairs.repair_context import (
    ANY_OP,
    Candidate,
    Located,
    RepairContext,
    candidate,
    edit_candidate,
    moved_before,
    op_at,
    retyped_results,
    type_span,
    with_more_results,
    without_last_results,
)
from lhkit.repairs.wrong_sizes import propose_shifted_sizes
from lhkit.text.script import Replacement
from lhkit.text.step_arguments import Argument, arguments_of, elements_of, result_types_of, set_argument
from lhkit.text.step_edits import wrap_in_foreach

_MOST_OTHERS = 4
_NO_TARGETS = ("arith.", "tensor.", "func.", "builtin.", "affine.apply")


def propose_for_empty_match(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for a match that found nothing."""
    yield from _other_names(context)
    yield from other_roots(context)
    yield from _earlier(context)


def _names(context: RepairContext) -> list[tuple[str, int, int]]:
    text = context.script.text
    for argument in arguments_of(context.op):
        if argument.name != "ops":
            continue
        start, end = argument.start, argument.end
        if argument.form == "braces":
            start, end = text.find("[", start, end), text.rfind("]", start, end) + 1
        spans = elements_of(context.op, start, end) if 0 <= start < end else ()
        return [(text[a:b].strip('"'), a, b) for a, b in spans]
    return []


def _other_names(context: RepairContext) -> Iterator[Candidate]:
    alive = context.history.alive_before(context.step.index)
    there = list(dict.fromkeys(op.name for op in alive))
    for name, start, end in _names(context):
        if name in there:
            continue
        for doubt, near in _near_names(context, name, there):
            title = f"Match {near}, which is there, instead of {name}"
            edit = Replacement(start, end, f'"{near}"')
            typed = f'!transform.op<"{name}">'
            retyped = f'!transform.op<"{near}">'
            places = (match.span() for match in re.finditer(re.escape(typed), context.script.text))
            edits = [edit, *(Replacement(*place, retyped) for place in places)]
            yield candidate("other-name", title, context.script, edits, doubt)


def _near_names(context: RepairContext, name: str, there: list[str]) -> list[tuple[int, str]]:
    """Return (doubt, name) of existing ops that may be meant by a name that no op has."""
    dialect, _, mnemonic = name.rpartition(".")
    gone = [o.id for o in context.history.dead_before(context.step.index) if o.name == name]
    came = {o.name for o in context.history.descendants(gone)}
    kin = [n for n in there if n.rpartition(".")[0] == dialect]
    by_mnemonic = {n.rpartition(".")[2]: n for n in kin}
    close = difflib.get_close_matches(mnemonic, by_mnemonic, 3)
    # linalg.max is nearer to linalg.maximum than linalg.matmul, which has more letters in common with it.
    close.sort(key=lambda m: not (mnemonic.startswith(m) or m.startswith(mnemonic)))
    doubts: dict[str, int] = {}

    def add(doubt: int, names: Iterable[str]) -> None:
        for near in names:
            doubts.setdefault(near, doubt)

    add(0, [n for n in kin if n in came])
    add(1, [n for n in there if n in came and not n.startswith(_NO_TARGETS)])
    new = [by_mnemonic[m] for m in close if by_mnemonic[m] not in doubts]
    add(0, new[:1])
    add(1, new)
    add(0, [n for n in there if n.rpartition(".")[2] == mnemonic])
    add(1, difflib.get_close_matches(name, there, 2))
    add(2, [n for n in there if n == f"{dialect}.generic"])
    others = [n for n in kin if n not in doubts and not n.endswith((".yield", ".return"))]
    add(3, others[:_MOST_OTHERS])
    return [(doubt, near) for near, doubt in doubts.items()]


def other_roots(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that search in other payload ops."""
    names = {name for name, _, _ in _names(context)}
    for use in context.op.operands:
        for root in context.roots_to_search():
            if root.value == use.text:
                continue
            span = type_span(context.script, context.op, use)
            if span is None:
                continue
            edits = [Replacement(use.start, use.end, root.value), Replacement(*span, root.type)]
            title = f"Look in {root.value} instead of {use.text}"
            is_unlikely = bool(names) and not context.seems_to_hold(root, names)
            yield candidate("other-root", title, context.script, edits, 1, is_unlikely=is_unlikely)


def _earlier(context: RepairContext) -> Iterator[Candidate]:
    """Yield the candidate that moves the match before the step that erased the ops."""
    names = {name for name, _, _ in _names(context)}
    died = [
        o.died
        for o in context.history.dead_before(context.step.index)
        if o.name in names and o.died is not None
    ]
    if not died:
        return
    last = max(died)
    target = op_at(context.script, context.trace.step_records[last])
    moved = moved_before(context.script, context.op, target) if target is not None else None
    if moved is not None:
        title = f"Move step {context.step.index} before step {last}, which takes the ops away"
        yield candidate("move-before", title, context.script, moved, 1)


_SPLIT = "transform.split_handle"
_TOO_MANY = re.compile(r"expected at most ([0-9]+)")
_SINGLE = re.compile(r"exactly (one|1|2)\b|single (payload|target|function|module)", re.IGNORECASE)
_NEGATIVE = re.compile(r"-\s*([0-9]+)")
# More handles are not split by name.
_MOST_SPLIT = 8


def propose_counts(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for sizes, splits, and steps that take one payload op."""
    said = " ".join(d.message for d in context.step.diagnostics if d.severity == "error")
    if (too_many := _TOO_MANY.search(said)) is not None:
        yield from _fewer_sizes(context, int(too_many[1]))
    yield from _positive_sizes(context)
    if context.op.name == _SPLIT:
        yield from _other_split(context)
    elif _SINGLE.search(said):
        yield from _one_at_a_time(context)


def _lists(context: RepairContext) -> list[tuple[Argument, tuple[tuple[int, int], ...]]]:
    text = context.script.text
    found = [a for a in arguments_of(context.op) if text[a.start : a.start + 1] == "["]
    return [(a, elements_of(context.op, a.start, a.end)) for a in found]


def _fewer_sizes(context: RepairContext, most: int) -> Iterator[Candidate]:
    text, op = context.script.text, context.op
    for argument, elements in _lists(context):
        gone = [text[a:b] for a, b in elements[most:]]
        if not gone or most == 0 or any("%" in size for size in gone):
            continue
        sizes = [text[a:b] for a, b in elements]
        zeros = [i for i, size in enumerate(sizes) if size == "0"][: len(gone)]
        if len(zeros) == len(gone):  # as many loops as before
            left = ", ".join(size for i, size in enumerate(sizes) if i not in zeros)
            title = f"Leave out zeros of {argument.name}, [{left}]: there are {most} loops"
            edit = Replacement(elements[0][0], elements[-1][1], left)
            yield candidate("sizes", title, context.script, [edit], 1)
        if all(size == "0" for size in sizes[:most]):
            continue
        loops = sum(size != "0" for size in gone) if op.name.endswith("tile_using_for") else 0
        fewer = without_last_results(context.script, op, loops)
        if fewer is None:
            continue
        edits = [Replacement(elements[most - 1][1], elements[-1][1], ""), *fewer]
        kept = ", ".join(text[a:b] for a, b in elements[:most])
        title = f"Shorten {argument.name} to [{kept}]: there are {most} loops"
        yield candidate("sizes", title, context.script, edits, 2 if len(zeros) == len(gone) else 1)


def _positive_sizes(context: RepairContext) -> Iterator[Candidate]:
    text = context.script.text
    for argument, elements in _lists(context):
        matches = [_NEGATIVE.fullmatch(text, start, end) for start, end in elements]
        edits = [Replacement(match.start(), match.end(), match[1]) for match in matches if match is not None]
        if edits:
            title = f"Make {argument.name} positive"
            yield candidate("sizes", title, context.script, edits)


def _other_split(context: RepairContext) -> Iterator[Candidate]:
    script, op = context.script, context.op
    change = context.before.get(context.step.operands[0].handle)
    there, wanted = len(change.payload) if change else 0, len(op.values)
    number = script.number_of(op)
    title = f"Split into {there} handles, as many as there are payload ops"
    edits: list[Replacement] | None = None
    if 0 < there < wanted:
        edits = without_last_results(script, op, wanted - there)
        allow = partial(set_argument, script, number, "fail_on_payload_too_small", "false")
        yield from edit_candidate("split-count", "Allow fewer ops", allow, 2)
    elif wanted < there <= _MOST_SPLIT:
        names = [context.fresh(f"%rest_{i}") for i in range(wanted, there)]
        edits = with_more_results(script, op, names)
    if there > wanted:
        overflow = partial(set_argument, script, number, "overflow_result", f"{wanted - 1}")
        yield from edit_candidate("split-count", f"Let {op.values[-1]} take what is left over", overflow, 1)
    if edits:
        yield candidate("split-count", title, script, edits)


def _one_at_a_time(context: RepairContext) -> Iterator[Candidate]:
    script, op = context.script, context.op
    for operand in dict.fromkeys(o.handle for o in context.step.operands):
        change = context.before.get(operand)
        located = context.locate(operand)
        if change is None or located is None or not len(change.payload) > 1:
            continue
        number = len(change.payload)
        title = f"Run step {context.step.index} for each of the {number} ops of {located.value}"
        wrap = partial(wrap_in_foreach, script, script.number_of(op), handle=located.value)
        yield from edit_candidate("each-alone", title, wrap)
        if number > _MOST_SPLIT:
            continue
        for i in (0, number - 1):
            names = [context.fresh(located.value, f"_part{k}") for k in range(number)]
            types = ", ".join([located.type] * number)
            line = f"{', '.join(names)} = {_SPLIT} {located.value} : ({located.type}) -> ({types})"
            replaced = context.renamed_uses(context.uses_in_step(located), names[i])
            which = "first" if i == 0 else "last"
            title = f"Split {located.value} and use the {which} of its {number} ops"
            yield candidate("split-count", title, script, [context.inserted(line), *replaced], 1)


_PARENT, _CAST, _PEEL = "transform.get_parent_op", "transform.cast", "transform.loop.peel"
_MATCH = "transform.structured.match"
_TYPED = re.compile(r'!transform\.op<"([^"]*)">')
_HOLDERS = ("scf.", "func.", "builtin.", "affine.")


def propose_kinds(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that search, read or declare payload of another kind."""
    if context.op.name == _PARENT:
        yield from _other_parent(context)
        return
    if context.op.name == _MATCH:
        yield from other_roots(context)
    yield from _other_type(context)
    for position, operand in enumerate(o.handle for o in context.step.operands):
        given = context.locate(operand)
        if given is not None and given.record.kind == "op":
            yield from other_handles(context, given, position)
            yield from _inside(context, given)


def propose_narrower_match(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for a step that fails for one of several ops: they are looked for elsewhere."""
    given = [c for c in map(context.before.get, (o.handle for o in context.step.operands[:1])) if c is not None]
    if not given or len(given[0].payload) < 2:
        return
    for step in reversed(context.trace.step_records[: context.step.index]):
        if step.op == _MATCH and any(c.payload == given[0].payload for c in step.changes):
            op = op_at(context.script, step)
            if op is not None:
                yield from other_roots(RepairContext(context.trace, context.script, step, op))
            return


def propose_other_loops(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that peel another loop of the same step, for one that cannot be peeled.

    Or the step tiles the dimensions from the first one on.
    """
    if context.op.name != _PEEL or not context.step.operands:
        return
    at, given = context, context.locate(context.step.operands[0].handle)
    while given is not None and not given.definition.is_argument and given.definition.op.name == _CAST:
        step = context.trace.step_records[given.record.defined_by]
        at = RepairContext(context.trace, context.script, step, given.definition.op)
        given = at.locate(step.operands[0].handle)
    for other in at.live_in_sight() if given is not None else ():
        is_loop = bool(other.ops) and set(other.payload) == {"scf.for"}
        if given is None or not is_loop or other.record.defined_by != given.record.defined_by:
            continue
        if other.value == given.value:
            continue
        edits = at.replaced_uses(at.uses_in_step(given), other.value, given.type, other.type)
        if edits:
            title = f"Use {other.value}, another loop of step {other.record.defined_by}, not {given.value}"
            is_outer = other.value < given.value  # seldom peeled where an inner one was written
            yield candidate("other-handle", title, context.script, edits, int(is_outer))
    if given is not None and not given.definition.is_argument:
        step = context.trace.step_records[given.record.defined_by]
        yield from propose_shifted_sizes(
            RepairContext(context.trace, context.script, step, given.definition.op)
        )


def _other_parent(context: RepairContext) -> Iterator[Candidate]:
    text, trace = context.script.text, context.trace
    argument = next((a for a in arguments_of(context.op) if a.name == "op_name"), None)
    change = context.before.get(context.step.operands[0].handle)
    if argument is None or change is None:
        return
    names: list[str] = []
    for reference in change.payload:
        at = trace.op(reference).parent if isinstance(reference, str) else None
        while at is not None:
            names.append(trace.op(at).name)
            at = trace.op(at).parent
    alive = {op.name for op in context.history.alive_before(context.step.index)}
    dialect = text[argument.start : argument.end].strip('"').partition(".")[0]
    # Where an op lies may have changed since it was first seen.
    inner = ("yield", "in_parallel", "condition")
    names += sorted(n for n in alive if n.startswith(f"{dialect}.") and not n.endswith(inner))
    for i, name in enumerate(n for n in dict.fromkeys(names) if n in alive and n != "builtin.module"):
        title = f"Ask for a parent {name}: that is what lies around"
        same = name.startswith(f"{dialect}.")
        edit = Replacement(argument.start, argument.end, f'"{name}"')
        yield candidate("other-name", title, context.script, [edit], 0 if same else min(1 + i, 3))


def _other_type(context: RepairContext) -> Iterator[Candidate]:
    script, op = context.script, context.op
    types = _cast_types(context) if op.name == _CAST else result_types_of(op)
    for start, end in dict.fromkeys(types):
        old = script.text[start:end]
        typed = _TYPED.fullmatch(old)
        if typed is None:
            continue
        for doubt, new in enumerate([*_actual_types(context), ANY_OP]):
            if op.name == _CAST:
                uses = [type_span(script, user, use) for d in script.results_of(op) for use, user in d.uses]
                spans = [span for span in uses if span is not None]
                edits: list[Replacement] | None = [Replacement(*s, new) for s in (*spans, (start, end))]
            else:
                edits = retyped_results(script, op, old, new)
            if edits:
                title = f"Write {new}: what the handle points to is no {typed[1]}"
                yield candidate("type", title, script, edits, doubt)


def _actual_types(context: RepairContext) -> list[str]:
    if context.op.name != _CAST or not context.step.operands:
        return []
    change = context.before.get(context.step.operands[0].handle)
    names = {context.trace.op(r).name for r in change.payload if isinstance(r, str)} if change else set()
    return [f'!transform.op<"{name}">' for name in names] if len(names) == 1 else []


def _cast_types(context: RepairContext) -> tuple[tuple[int, int], ...]:
    start, end = context.op.signature or (0, 0)
    at = context.script.text.rfind(" to ", start, end)
    return ((at + len(" to "), end),) if at >= 0 else ()


def _inside(context: RepairContext, given: Located) -> Iterator[Candidate]:
    """Yield candidates that match inside payload ops which only contain the wanted ones."""
    if not given.ops or not all(name.startswith(_HOLDERS) for name in given.payload):
        return
    if context.op.name.startswith("transform.structured."):
        interface, doubt = "LinalgOp", 3
    elif context.op.name.startswith("transform.loop."):
        interface, doubt = "LoopLikeInterface", 3
    else:
        return
    new = context.fresh(given.value, "_inside")
    line = f"{new} = {_MATCH} interface{{{interface}}} in {given.value} : ({given.type}) -> {ANY_OP}"
    edits = context.replaced_uses(context.uses_in_step(given), new, given.type, ANY_OP)
    if edits:
        title = f"Match the ops inside {given.value} that step {context.step.index} is for"
        yield candidate("match-inside", title, context.script, [context.inserted(line), *edits], doubt)
