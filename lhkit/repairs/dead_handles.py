"""Candidates for a step that uses a dead handle: what was returned instead, what is found again, another order.

There is none that consumes a copy. Consuming invalidates every handle to the consumed ops and to what lies in
them, so another handle to the same ops (a cast, a merge, a second match before) dies with the first; and no
transform op copies payload ops to leave the originals to their handles. To look again is what comes nearest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lhkit.model.explanation import RepairKind
from lhkit.repairs.empty_handles import other_roots
from lhkit.repairs.moved_steps import moved_before
from lhkit.repairs.other_handles import Wanted, unused_handles, wanted_by
from lhkit.repairs.repair_context import Candidate, Located, Situation, candidate, dedented, own_lines
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import with_names

_MATCH = "transform.structured.match"
# Not found by their names: there are too many of them, or they hold everything.
_UNNAMED = ("builtin.module", "arith.constant", "tensor.extract_slice")


def candidates_for_dead(situation: Situation, position: int, killer: int | None) -> Iterator[Candidate]:
    """Yield candidates for a step that uses a handle which is dead, or which was emptied.

    Args:
        situation: The step.
        position: Which of its operands the handle is.
        killer: Index of the step that it died of or lost its payload in, None where that is not known.
    """
    dead = situation.locate(situation.step.operands[position].handle)
    if dead is None:
        return
    wanted = wanted_by(situation, position) or (lambda _names: True)
    yield from _results(situation, dead, killer, wanted)
    yield from unused_handles(situation, dead, position)
    if situation.op.name == _MATCH:
        yield from other_roots(situation)
    if wanted(dead.payload):
        yield from found_again(situation, dead, killer)
    if killer is not None:
        yield from _moved(situation, dead, killer)


def _results(situation: Situation, dead: Located, killer: int | None, wanted: Wanted) -> Iterator[Candidate]:
    """Yield candidates that read a live handle to what became of the payload."""
    came = {op.id for op in situation.history.descendants(dead.ops)} | set(dead.ops)
    kinds = _names_now(situation, dead)
    for live in _latest_step_first(situation):
        is_result = live.record.defined_by == killer and killer is not None
        is_kin = bool(live.ops) and set(live.ops) <= came
        same = set(live.payload) <= kinds
        if live.record.id == dead.record.id or not (is_result or (is_kin and same)):
            continue
        doubt = 0 if same and (is_kin or is_result) else 1 if _same_dialect(live, dead) else 3
        if not wanted(live.payload):
            doubt = 4
        elif not wanted(dead.payload):
            doubt = 0
        if finds_only(situation):
            doubt += 1
        by = f"which step {live.record.defined_by} returned" if live.record.defined_by >= 0 else "an argument"
        title = f"Use {live.value}, {by}, instead of {dead.value}"
        yield from _reading(situation, dead, live.value, live.type, "use-result", title, doubt)


def _latest_step_first(situation: Situation) -> list[Located]:
    """Return the live handles that the step could read; the results of one step in their order."""
    found = list(situation.live_in_sight())
    made_by = list(dict.fromkeys(h.record.defined_by for h in found))
    return [h for step in made_by for h in reversed(found) if h.record.defined_by == step]


def _reading(
    situation: Situation,
    dead: Located,
    new: str,
    type_: str,
    kind: RepairKind,
    title: str,
    doubt: int,
    lines: str = "",
) -> Iterator[Candidate]:
    """Yield the candidates that let the step, and later ones, read another handle, defined by lines if any."""
    uses = situation.uses(dead)
    text = situation.script.text
    if not uses:
        return
    group = f"{kind} {dead.value}" if lines else ""
    inserted = [situation.inserted(lines)] if lines else []
    replaced = situation.replaced_uses(uses, new, dead.type, type_)
    if replaced is not None:
        yield candidate(kind, title, text, [*inserted, *replaced], doubt, group)
    if type_ != dead.type:
        # As it is written the step, or what follows it, may need the type.
        same = situation.fresh(f"{new.partition('#')[0]}_cast")
        cast = f"{same} = transform.cast {new} : {type_} to {dead.type}"
        replaced = situation.replaced_uses(uses, same, dead.type, dead.type)
        both = situation.inserted(f"{lines}\n{cast}" if lines else cast)
        yield candidate(kind, title, text, [both, *(replaced or [])], doubt, group)


def found_again(situation: Situation, dead: Located, killer: int | None) -> Iterator[Candidate]:
    """Yield candidates that look for the payload again right before the step."""
    after = f" after step {killer}" if killer is not None else ""
    doubt = 2 if finds_only(situation) else 1
    chain = _finding_chain(situation, dead)
    if chain is not None:
        lines, name = chain
        title = f"Match {dead.value} again{after}"
        yield from _reading(situation, dead, name, dead.type, "match-again", title, doubt, lines)
    names = sorted(_names_now(situation, dead))
    if not names or set(names) & set(_UNNAMED):
        return
    listed = ", ".join(f'"{name}"' for name in names)
    for root in situation.roots_to_search():
        new = situation.fresh(dead.value)
        line = f"{new} = {_MATCH} ops{{[{listed}]}} in {root.value} : ({root.type}) -> {dead.type}"
        title = f"Match {' or '.join(names)} again{after}, in {root.value}"
        yield from _reading(situation, dead, new, dead.type, "match-again", title, doubt, line)


def _finding_chain(situation: Situation, dead: Located) -> tuple[str, str] | None:
    """Return copies of the steps that found a handle, back to a live one, and the handle's name in them."""
    live = {h.value for h in situation.live_in_sight()}
    chain: dict[int, OpSyntax] = {}
    waiting = [dead]
    while waiting:
        handle = waiting.pop()
        op = handle.definition.op
        if handle.definition.is_argument or not is_finding(situation, op):
            return None
        chain[op.start] = op
        step = situation.trace.step_records[handle.record.defined_by]
        for operand in step.operands:
            located = situation.locate(operand.handle)
            if located is None:
                return None
            if located.value not in live and located.definition.op.start not in chain:
                waiting.append(located)
    names: dict[str, str] = {}
    taken = ""
    for start in sorted(chain):
        for name in chain[start].results:
            names[name.text] = situation.fresh(name.text)
    for start in sorted(chain):
        taken += _renamed(situation, chain[start], names) + "\n"
    stem, mark, number = dead.value.partition("#")
    return dedented(taken), names[stem] + mark + number


def _renamed(situation: Situation, op: OpSyntax, names: dict[str, str]) -> str:
    """Return a copy of an op with other names for what it defines and for what the copied ops define."""
    lines = own_lines(situation.script.text, op)
    uses = {use.name for use in op.operands} | {name.text for name in op.results}
    mapped = {name: names[name] for name in uses if name in names}
    return with_names(lines, mapped)


def is_finding(situation: Situation, op: OpSyntax) -> bool:
    """Return True for a step that only finds something: results, nothing consumed, no steps inside."""
    parsed = situation.script.outline[situation.script.number_of(op)]
    return bool(op.results) and not any(parsed.consumed) and not op.regions


def finds_only(situation: Situation) -> bool:
    """Return True if the step itself only finds something, so that its place matters more than its operand."""
    return is_finding(situation, situation.op)


def _names_now(situation: Situation, dead: Located) -> set[str]:
    """Return what the payload of a handle is called now: as before, or as what came of it."""
    alive = {op.id: op.name for op in situation.history.alive_before(situation.step.index)}
    names = set(dead.payload)
    if names & set(alive.values()):
        return names
    came = Counter(
        op.name
        for op in situation.history.descendants(dead.ops)
        if op.id in alive and _dialect(op.name) in {_dialect(n) for n in names}
    )
    return set(came) or names


def _same_dialect(live: Located, dead: Located) -> bool:
    return {_dialect(n) for n in live.payload} <= {_dialect(n) for n in dead.payload}


def _dialect(name: str) -> str:
    return name.partition(".")[0]


def _moved(situation: Situation, dead: Located, killer: int) -> Iterator[Candidate]:
    target = situation.op_of(situation.trace.step_records[killer])
    if target is None:
        return
    moved = moved_before(situation.script, situation.op, target)
    if moved is None:
        return
    title = f"Move step {situation.step.index} before step {killer}, which consumes {dead.value}"
    if situation.trace.step_records[killer].invalidated and dead.value not in {
        situation.trace.handle(o.handle).name for o in situation.trace.step_records[killer].operands
    }:
        title = f"Move step {situation.step.index} before step {killer}, which invalidates {dead.value}"
    yield candidate("move-before", title, situation.script.text, moved, 0 if finds_only(situation) else 2)
