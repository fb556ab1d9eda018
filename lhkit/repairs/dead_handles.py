"""Repairs of a step whose handle is invalidated, lists an op twice, or is fused too early.

They read a result instead, match again, or change the order of steps.
There is none that consumes a copy. Consuming invalidates every handle to the consumed ops and to ops nested in
them, so a cast, a merge or an earlier second match dies too, and no transform op clones payload ops for their
handles. To match again is the closest repair.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from lhkit.model.explanation import RepairKind
from lhkit.repairs.other_handles import Wanted, other_handles, unused_handles, wanted_by
from lhkit.repairs.repair_context import (
    Candidate,
    Located,
    RepairContext,
    candidate,
    edit_candidate,
    moved_before,
    op_at,
    type_span,
)
from lhkit.repairs.unloadable_text import marked
from lhkit.repairs.wrong_kinds import other_roots
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.script import Replacement, indent_of, with_names
from lhkit.text.step_arguments import set_argument
from lhkit.traces.explain.handle_explanation import repeated
from lhkit.traces.record.handle_history import deaths
from lhkit.traces.record.op_names import words_of

_FUSE = "transform.structured.fuse_into_containing_op"


def propose_fusion_order(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for fusions given each other's op, and for one whose consumers are not in the loop."""
    _, block, i = context.script.home_of(context.op)
    fusions = [op for op in block if op.name == _FUSE and len(op.operands) == 2]
    yield from _given_crosswise(context, fusions)
    if context.op not in fusions:
        return
    for later in block[i + 1 :]:
        if later in fusions:
            yield from _exchanged(context, later)
    yield from _consumer_first(context)


def _given_crosswise(context: RepairContext, fusions: list[OpSyntax]) -> Iterator[Candidate]:
    """Yield candidates that exchange what two fusions are given: a result is named after the other's op.

    Neither is named after its own.
    """
    script = context.script
    for one, two in itertools.combinations(fusions, 2):
        mine, its = one.operands[0], two.operands[0]
        here, there = type_span(script, one, mine), type_span(script, two, its)
        if not (_is_named_after(one, its) or _is_named_after(two, mine)) or here is None or there is None:
            continue
        if _is_named_after(one, mine) or _is_named_after(two, its):
            continue
        edits = [Replacement(mine.start, mine.end, its.text), Replacement(its.start, its.end, mine.text)]
        types = script.text[slice(*here)], script.text[slice(*there)]
        edits += [Replacement(*here, types[1]), Replacement(*there, types[0])]
        title = f"Fuse {its.text} where {mine.text} is fused, and {mine.text} there, as the results are named"
        yield candidate("order", title, script, edits)


def _is_named_after(op: OpSyntax, use: Use) -> bool:
    """Return whether a step's first result is called as what is given, with something behind: %sum_t, %sum."""
    return bool(op.results) and re.fullmatch(re.escape(use.text) + r"_\w+", op.results[0].text) is not None


def _exchanged(context: RepairContext, later: OpSyntax) -> Iterator[Candidate]:
    script, op = context.script, context.op
    mine, its = op.operands[0], later.operands[0]
    edits = [Replacement(mine.start, mine.end, its.text), Replacement(its.start, its.end, mine.text)]
    here, there = type_span(script, op, mine), type_span(script, later, its)
    if here is None or there is None or not op.results or not later.results:
        return
    edits += [Replacement(*here, script.text[slice(*there)]), Replacement(*there, script.text[slice(*here)])]
    one, two = op.results[0], later.results[0]
    title = f"Fuse {its.text} before {mine.text}: what uses a result has to be in the loop first"
    # The names say whether the steps were exchanged, or only what they are given: %sum_t is made of %sum.
    only_operands = bool(words_of(one.text) & words_of(its.text) or words_of(two.text) & words_of(mine.text))
    yield candidate("order", title, script, edits, 0 if only_operands else 1, f"{title}, names kept")
    if (one.count, two.count) == (1, 1):
        edits += [Replacement(one.start, one.end, two.text), Replacement(two.start, two.end, one.text)]
    if any(use.start < later.start for d in script.results_of(op) if d.name == one for use, _ in d.uses):
        return
    yield candidate("order", title, script, edits, 1 if only_operands else 0)


def _consumer_first(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that first fuse another op, which may be the consumer."""
    container = next((h for h in context.live_in_sight() if h.value == context.op.operands[1].text), None)
    if container is None:
        return
    for other in context.live_in_sight():
        is_linalg = bool(other.ops) and all(name.startswith("linalg.") for name in other.payload)
        if other.value == context.op.operands[0].text or not is_linalg:
            continue
        fused, loop = context.fresh(other.value, "_fused"), context.fresh(container.value)
        types = f"({other.type}, {container.type}) -> ({other.type}, {container.type})"
        line = f"{fused}, {loop} = {_FUSE} {other.value} into {container.value}\n  : {types}"
        edits = [context.inserted(line), *context.renamed_uses(context.uses(container), loop)]
        title = f"Fuse {other.value} first: what uses a result has to be in the loop before it"
        yield candidate("order", title, context.script, edits, 1)


_MERGE, _PARENT = "transform.merge_handles", "transform.get_parent_op"


def propose_deduplication(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that deduplicate an operand, where it is defined or before the step."""
    if context.trace.outcome.kind != "repeated-payload":
        return
    for operand in context.step.operands:
        if repeated(context.before.get(operand.handle)):
            yield from _deduplicated(context, operand.handle)


def _deduplicated(context: RepairContext, handle: str) -> Iterator[Candidate]:
    found = context.locate(handle)
    if found is None:
        return
    script, op = context.script, found.definition.op
    if not found.definition.is_argument and op.name == _MERGE:
        yield from _unused_instead(context, op)
        behind = op.name_start + len(_MERGE)
        title = f"Let step {found.record.defined_by} deduplicate what it merges"
        yield candidate("deduplicate", title, script, [Replacement(behind, behind, " deduplicate")])
    if not found.definition.is_argument and op.name == _PARENT:
        title = f"Let step {found.record.defined_by} list every parent once"
        deduplicate = partial(set_argument, script, script.number_of(op), "deduplicate", "")
        yield from edit_candidate("deduplicate", title, deduplicate)
    new = context.fresh(found.value)
    line = f"{new} = {_MERGE} deduplicate {found.value} : {found.type}"
    replaced = context.renamed_uses(context.uses(found), new)
    title = f"Take the repetition out of {found.value} before step {context.step.index}"
    yield candidate("deduplicate", title, script, [context.inserted(line), *replaced])


def _unused_instead(context: RepairContext, merge: OpSyntax) -> Iterator[Candidate]:
    """Yield candidates that merge an unused handle in place of one that is merged twice."""
    counts = Counter(use.text for use in merge.operands)
    unused = [h for h in context.live_in_sight(merge) if context.is_unused(h) and h.ops]
    for use in merge.operands:
        for other in unused if counts[use.text] > 1 else ():
            title = f"Merge {other.value}, which nothing reads, for one of the two {use.text}"
            yield candidate(
                "other-handle", title, context.script, [Replacement(use.start, use.end, other.value)]
            )


_MATCH = "transform.structured.match"
# Not matched by name: there are too many of them, or they contain everything.
_UNNAMED = ("builtin.module", "arith.constant", "tensor.extract_slice")


def propose_live_handles(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for the operands that are dead, or whose payload was erased."""
    dead = {h: d for h, d in deaths(context.trace).items() if d.step < context.step.index}
    for position, operand in enumerate(o.handle for o in context.step.operands):
        change = context.before.get(operand)
        if operand in dead:
            yield from _candidates(context, position, dead[operand].step)
        elif change is not None and change.state == "empty" and context.last_live(operand):
            changed = context.changes_of(operand)
            emptied_in = changed[-1][0] if changed and changed[-1][1].state == "empty" else None
            yield from _candidates(context, position, emptied_in)


def _candidates(context: RepairContext, position: int, killer: int | None) -> Iterator[Candidate]:
    """Yield candidates for operand ``position``, invalidated or emptied by step ``killer`` or None."""
    dead = context.locate(context.step.operands[position].handle)
    if dead is None:
        return
    wanted = wanted_by(context, position) or (lambda _names: True)
    yield from _read_only(context, dead, killer)
    yield from _results(context, dead, killer, wanted)
    yield from unused_handles(context, dead, position)
    yield from other_handles(context, dead, position)
    if context.op.name == _MATCH:
        yield from other_roots(context)
    if wanted(dead.payload):
        yield from found_again(context, dead, killer)
    if killer is not None:
        yield from _moved(context, dead, killer)


def _read_only(context: RepairContext, dead: Located, killer: int | None) -> Iterator[Candidate]:
    """Yield the candidate that marks the argument of an included sequence which killed the handle read-only.

    It does not load where the sequence consumes the argument in truth.
    """
    op = op_at(context.script, context.trace.step_records[killer]) if killer is not None else None
    if op is None or op.name != "transform.include":
        return
    owner = next((s for s in context.script.steps if s.symbol == op.symbol and s.arguments), None)
    for number, use in enumerate(op.operands):
        if owner is not None and use.text == dead.value:
            yield from marked(context.script, owner, number, "readonly")


def _results(context: RepairContext, dead: Located, killer: int | None, wanted: Wanted) -> Iterator[Candidate]:
    came = {op.id for op in context.history.descendants(dead.ops)} | set(dead.ops)
    kinds = _names_now(context, dead)
    for live in _latest_step_first(context):
        is_result = live.record.defined_by == killer and killer is not None
        is_kin = bool(live.ops) and set(live.ops) <= came
        same = set(live.payload) <= kinds
        if live.record.id == dead.record.id or not (is_result or (is_kin and same)):
            continue
        same_dialect = set(map(_dialect, live.payload)) <= set(map(_dialect, dead.payload))
        doubt = 0 if same and (is_kin or is_result) else 1 if same_dialect else 3
        if not wanted(live.payload):
            doubt = 4
        elif not wanted(dead.payload):
            doubt = 0
        doubt += finds_only(context) + (is_result and _is_second(live, context))
        by = f"which step {live.record.defined_by} returned" if live.record.defined_by >= 0 else "an argument"
        title = f"Use {live.value}, {by}, instead of {dead.value}"
        is_fused = context.is_fused_already(live.ops)
        for each in _reading(context, dead, live.value, live.type, "use-result", title, doubt):
            yield replace(each, is_unlikely=is_fused)


def _is_second(live: Located, context: RepairContext) -> bool:
    """Return whether an earlier result of the same step, as the main loop of two, has payload of its kind."""
    names = [name.text for name in live.definition.op.results]
    earlier = names[: names.index(live.definition.name.text)] if live.definition.name.text in names else []
    return any(
        h.definition.op.start == live.definition.op.start
        and h.definition.name.text in earlier
        and set(h.payload) == set(live.payload)
        for h in context.live_in_sight()
    )


def _latest_step_first(context: RepairContext) -> list[Located]:
    """Return the readable live handles, latest step first; results of one step stay in order."""
    by_step: dict[int, list[Located]] = {}
    for handle in context.live_in_sight():
        by_step.setdefault(handle.record.defined_by, []).insert(0, handle)
    return [handle for handles in by_step.values() for handle in handles]


def _reading(
    context: RepairContext,
    dead: Located,
    new: str,
    type_: str,
    kind: RepairKind,
    title: str,
    doubt: int,
    lines: str = "",
) -> Iterator[Candidate]:
    """Yield candidates in which the step, and later ones, read another handle, defined by ``lines`` if any."""
    uses = context.uses(dead)
    if not uses:
        return
    group = f"{kind} {dead.value}" if lines else ""
    inserted = [context.inserted(lines)] if lines else []
    replaced = context.replaced_uses(uses, new, dead.type, type_)
    if replaced is not None:
        yield candidate(kind, title, context.script, [*inserted, *replaced], doubt, group)
    if type_ != dead.type:
        # As it is written the step, or what follows it, may need the type.
        same = context.fresh(new, "_cast")
        cast = f"{same} = transform.cast {new} : {type_} to {dead.type}"
        both = context.inserted(f"{lines}\n{cast}" if lines else cast)
        yield candidate(kind, title, context.script, [both, *context.renamed_uses(uses, same)], doubt, group)


def found_again(context: RepairContext, dead: Located, killer: int | None) -> Iterator[Candidate]:
    """Yield candidates that match the payload again right before the step."""
    after = f" after step {killer}" if killer is not None else ""
    doubt = 2 if finds_only(context) else 1
    chain = _finding_chain(context, dead)
    if chain is not None:
        lines, name = chain
        title = f"Match {dead.value} again{after}"
        yield from _reading(context, dead, name, dead.type, "match-again", title, doubt, lines)
    names = sorted(_names_now(context, dead))
    if not names or set(names) & set(_UNNAMED):
        return
    listed = ", ".join(f'"{name}"' for name in names)
    for root in context.roots_to_search():
        new = context.fresh(dead.value)
        line = f"{new} = {_MATCH} ops{{[{listed}]}} in {root.value} : ({root.type}) -> {dead.type}"
        title = f"Match {' or '.join(names)} again{after}, in {root.value}"
        likely = context.seems_to_hold(root, names)
        for each in _reading(context, dead, new, dead.type, "match-again", title, doubt, line):
            yield replace(each, is_unlikely=not likely)


def _finding_chain(context: RepairContext, dead: Located) -> tuple[str, str] | None:
    """Return copies of the matching steps that led to a handle, from a live one on, and its name in them."""
    live = {h.value for h in context.live_in_sight()}
    chain: dict[int, OpSyntax] = {}
    waiting = [dead]
    while waiting:
        handle = waiting.pop()
        op = handle.definition.op
        if handle.definition.is_argument or not is_finding(context, op):
            return None
        chain[op.start] = op
        step = context.trace.step_records[handle.record.defined_by]
        for operand in step.operands:
            located = context.locate(operand.handle)
            if located is None:
                return None
            if located.value not in live and located.definition.op.start not in chain:
                waiting.append(located)
    ops = [op for _, op in sorted(chain.items())]
    names = {name.text: context.fresh(name.text) for op in ops for name in op.results}
    text = context.script.text
    copied = [text[op.start : op.end].replace(f"\n{indent_of(text, op.start)}", "\n") for op in ops]
    stem, mark, number = dead.value.partition("#")
    return with_names("\n".join(copied), names), names[stem] + mark + number


def is_finding(context: RepairContext, op: OpSyntax) -> bool:
    """Return True for a step with results that consumes nothing and has no regions."""
    parsed = context.script.outline[context.script.number_of(op)]
    return bool(op.results) and not any(parsed.consumed) and not op.regions


def finds_only(context: RepairContext) -> bool:
    """Return True if the step only finds payload, so that its place matters more than its operand."""
    return is_finding(context, context.op)


def _names_now(context: RepairContext, dead: Located) -> set[str]:
    """Return the current op names of a handle's payload: the same, or those derived from it."""
    alive = {op.id: op.name for op in context.history.alive_before(context.step.index)}
    names = set(dead.payload)
    if names & set(alive.values()):
        return names
    dialects = {_dialect(n) for n in names}
    came = {op.name for op in context.history.descendants(dead.ops) if op.id in alive}
    return {name for name in came if _dialect(name) in dialects} or names


def _dialect(name: str) -> str:
    return name.partition(".")[0]


def _moved(context: RepairContext, dead: Located, killer: int) -> Iterator[Candidate]:
    step = context.trace.step_records[killer]
    target = op_at(context.script, step)
    moved = moved_before(context.script, context.op, target) if target is not None else None
    if moved is None:
        return
    read = {context.trace.handle(o.handle).name for o in step.operands}
    does = "invalidates" if step.invalidated and dead.value not in read else "consumes"
    title = f"Move step {context.step.index} before step {killer}, which {does} {dead.value}"
    yield candidate("move-before", title, context.script, moved, 0 if finds_only(context) else 2)
