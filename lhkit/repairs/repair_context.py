"""The input of a proposal (text, trace, step to repair), and the candidate edits."""

from __future__ import annotations

import contextlib
import difflib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from lhkit.model.errors import UsageError
from lhkit.model.explanation import RepairKind
from lhkit.model.trace_record import HandleChange, HandleRecord, Trace, TraceStep
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.parser import read_steps
from lhkit.text.script import (
    SEQUENCE,
    Definition,
    Edited,
    Replacement,
    Script,
    cut,
    fresh_name,
    lines_of,
    names_in,
    put_before,
    symbol_name,
)
from lhkit.text.step_arguments import result_types_of, types_of
from lhkit.text.step_edits import type_of
from lhkit.traces.record.handle_history import PayloadHistory, states_before
from lhkit.traces.warnings.lost_work import FUSE

ANY_OP = "!transform.any_op"
_HOLDERS = ("scf.", "func.func", "builtin.module")
_MOST_ROOTS = 4


@dataclass(frozen=True)
class Located:
    """A handle of a trace and its definition in the text.

    Attributes:
        value: Its name in the text, ``%loops#1`` for one of several results.
        payload: The names of the ops that it points to.
        ops: The ids of these ops.
    """

    record: HandleRecord
    definition: Definition
    value: str
    type: str
    payload: tuple[str, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True)
class RepairContext:
    """A traced schedule and the step to repair: as executed, and as written."""

    trace: Trace
    script: Script
    step: TraceStep
    op: OpSyntax

    @cached_property
    def history(self) -> PayloadHistory:
        """The history of the trace's payload ops."""
        return PayloadHistory(self.trace)

    @cached_property
    def before(self) -> dict[str, HandleChange]:
        """The state of every handle before the step, by id."""
        states = states_before(self.trace, self.step.index)
        # The first step of a block says what the arguments of the block are.
        own = {c.handle: c for c in self.step.changes if c.handle not in states}
        return {**states, **own}

    def locate(self, handle: str) -> Located | None:
        """Return a handle with its definition, None if the text does not define it."""
        record = self.trace.handle(handle)
        for definition in self.script.handles.definitions:
            if record.name in definition.name.values and self._defines(definition, record):
                break
        else:
            return None
        try:
            type_ = type_of(self.script, definition, record.name)
        except UsageError:  # the outline cannot say; nothing can be written for such a handle
            return None
        last = self.last_live(record.id)
        ops = tuple(r for r in last.payload if isinstance(r, str)) if last else ()
        names = tuple(self.trace.op(o).name for o in ops)
        return Located(record, definition, record.name, type_, names, ops)

    def _defines(self, definition: Definition, record: HandleRecord) -> bool:
        if definition.is_argument and definition.op.name == SEQUENCE:
            return f"@{symbol_name(definition.op.symbol)}" == record.sequence
        if record.defined_by < 0:
            return False
        op = op_at(self.script, self.trace.step_records[record.defined_by])
        return op is not None and definition.op.start == op.start

    def changes_of(self, handle: str) -> list[tuple[int, HandleChange]]:
        """Return the changes of a handle before the step, each with the index of the step that made it."""
        earlier = itertools.takewhile(lambda s: s.index < self.step.index, self.trace.steps_by_end())
        return [(step.index, change) for step in earlier for change in step.changes if change.handle == handle]

    def last_live(self, handle: str) -> HandleChange | None:
        """Return the last live state of a handle before the step."""
        now = self.before.get(handle)
        if now is not None and now.state == "live":
            return now
        return next((c for _, c in reversed(self.changes_of(handle)) if c.state == "live"), None)

    def live_in_sight(self, at: OpSyntax | None = None) -> Iterator[Located]:
        """Yield the live op handles that an op (default: the step) could read, the last defined first."""
        place = at or self.op
        handles = self.script.handles
        scope = handles.scope_at(place.start)
        for handle, change in reversed(self.before.items()):
            if change.state != "live" or self.trace.handle(handle).kind != "op":
                continue
            found = self.locate(handle)
            if found is None or not handles.inside(scope, found.definition.scope):
                continue
            defined = found.definition
            if (defined.name.start if defined.is_argument else defined.op.end) <= place.start:
                yield found

    def is_unused(self, handle: Located) -> bool:
        """Return True if nothing in the text reads a handle."""
        return not handle.definition.uses_of(handle.value)

    def roots_to_search(self) -> list[Located]:
        """Return the live handles to search in: the sequence's argument, then containers, latest first."""
        live = list(self.live_in_sight())
        around = [op for op in self.script.steps if op.name == SEQUENCE and op.start <= self.op.start < op.end]
        sequence = around[-1].start if around else -1
        arguments = [h for h in live if h.definition.is_argument and h.definition.op.start == sequence]
        holders = [h for h in live if h.ops and all(name.startswith(_HOLDERS) for name in h.payload)]
        roots = sorted(arguments, key=lambda h: h.definition.name.start)[:1] + holders
        return list({h.record.id: h for h in roots}.values())[:_MOST_ROOTS]

    def seems_to_hold(self, root: Located, names: Collection[str]) -> bool:
        """Return whether one of the payload ops of these names was made in what a handle points to.

        An op that was moved there later is not known to be there; one that is fused already does not count.
        """
        alive = self.history.alive_before(self.step.index)
        there = (op for op in alive if op.name in names and self.history.lies_in(op, root.ops))
        return any(not self.is_fused_already((op.id,)) for op in there)

    def is_fused_already(self, ops: Collection[str]) -> bool:
        """Return whether the step is a fusion, and payload ops were made in the loop that it fuses into."""
        if self.op.name != FUSE or len(self.step.operands) != 2 or not ops:
            return False
        loops = set(self.history.ops_given(self.step, 1))
        return all(self.history.lies_in(self.trace.op(op), loops) for op in ops)

    def uses(self, handle: Located) -> list[tuple[Use, OpSyntax]]:
        """Return the uses of a handle from the step on that are in scope of its block."""
        handles, start = self.script.handles, self.op.start
        scope = handles.scope_at(start)
        later = [(use, op) for use, op in handle.definition.uses_of(handle.value) if use.start >= start]
        return [(use, op) for use, op in later if handles.inside(handles.scope_at(op.start), scope)]

    def uses_in_step(self, handle: Located) -> list[tuple[Use, OpSyntax]]:
        """Return the uses of a handle as an operand of the step."""
        return [(use, op) for use, op in self.uses(handle) if op.start == self.op.start]

    def replaced_uses(
        self, uses: Sequence[tuple[Use, OpSyntax]], new: str, old_type: str, new_type: str
    ) -> list[Replacement] | None:
        """Return the replacements that make uses read another handle; None where its type cannot be written."""
        replaced = self.renamed_uses(uses, new)
        spans = [type_span(self.script, op, use) for use, op in uses if old_type != new_type]
        retyped = [Replacement(*span, new_type) for span in spans if span is not None]
        return [*replaced, *retyped] if len(retyped) == len(spans) else None

    def renamed_uses(self, uses: Sequence[tuple[Use, OpSyntax]], new: str) -> list[Replacement]:
        """Return the replacements that make uses read another handle of the same type."""
        return [Replacement(use.start, use.end, new) for use, _ in uses]

    def fresh(self, value: str, suffix: str = "") -> str:
        """Return a name for a new handle, made from that of a value."""
        return fresh_name(value.partition("#")[0] + suffix, names_in(self.script.text))

    def inserted(self, lines: str) -> Replacement:
        """Return the replacement that inserts lines before the step."""
        return put_before(self.script.text, self.op, lines)


def op_at(script: Script, step: TraceStep) -> OpSyntax | None:
    """Return the op that a step is an execution of, None if it is in another text."""
    if step.source is None or step.source.file != script.source:
        return None
    starts = script.syntax.line_starts
    if not 1 <= step.source.line <= len(starts):
        return None
    at = starts[step.source.line - 1] + step.source.column - 1
    return next((op for op in script.steps if op.name_start == at), None)


def type_span(script: Script, op: OpSyntax, use: Use) -> tuple[int, int] | None:
    """Return the span of an operand's type, None where the types are not listed one by one."""
    types = types_of(op)
    if len(types) != len(op.operands):
        return None
    return types[op.operands.index(use)]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit that may repair a schedule.

    Attributes:
        doubt: The risk that it is not what the author meant, from 0.
        group: Alternatives of one group do the same: one that helps is enough. "" groups by title.
        is_unlikely: Whether it searches where no such op was made: it is tried after the others.
    """

    kind: RepairKind
    title: str
    edited: Edited
    doubt: int = 0
    group: str = ""
    is_unlikely: bool = False

    @property
    def characters_changed(self) -> int:
        """The number of characters removed and added."""
        return sum(_difference(self.edited.before[r.start : r.end], r.text) for r in self.edited.replacements)


def candidate(
    kind: RepairKind,
    title: str,
    script: Script,
    replacements: Sequence[Replacement],
    doubt: int = 0,
    group: str = "",
    is_unlikely: bool = False,
) -> Candidate:
    """Return the candidate that makes these replacements, which must not overlap."""
    return Candidate(kind, title, script.edited(replacements, title), doubt, group, is_unlikely)


def edit_candidate(
    kind: RepairKind, title: str, edit: Callable[[], Edited], doubt: int = 0
) -> Iterator[Candidate]:
    """Yield the candidate that makes an edit, unless the edit refuses, for a form that it does not know."""
    with contextlib.suppress(UsageError):
        yield Candidate(kind, title, edit(), doubt)


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates in the order of trial, each text once and without no-op edits."""
    ordered = sorted(candidates, key=lambda c: (c.is_unlikely, c.doubt, c.characters_changed))
    found: dict[str, Candidate] = {}
    for each in ordered:
        if each.edited.text != each.edited.before:
            found.setdefault(each.edited.text, each)
    return list(found.values())


def unified_diff(before: str, after: str, source: str) -> str:
    """Return the change from one text to another as a unified diff."""
    old, new = before.splitlines(), after.splitlines()
    lines = difflib.unified_diff(old, new, source, f"{source} (repaired)", n=1, lineterm="")
    return "\n".join(lines) + "\n"


def corresponding_ops(edited: Edited) -> dict[int, int]:
    """Map the start of each op of the old text to its start in the new one.

    Ops outside the replaced pieces keep their order; those inside are paired by name, in order.
    """
    new_by_name = {op.name_start: op for op in read_steps(edited.text)}
    pairs: dict[int, int] = {}
    rest = []
    for op in read_steps(edited.before):
        at = shifted(op.name_start, edited.replacements)
        there = new_by_name.get(at) if at is not None else None
        if there is not None and there.name == op.name:
            pairs[op.start] = there.start
            del new_by_name[there.name_start]
        else:
            rest.append(op)
    left = list(new_by_name.values())
    for op in rest:
        found = next((new for new in left if new.name == op.name), None)
        if found is not None:
            left.remove(found)
            pairs[op.start] = found.start
    return pairs


def shifted(at: int, replacements: Sequence[Replacement]) -> int | None:
    """Map an offset of the old text to the new one, None for one that is replaced."""
    shift = 0
    for r in replacements:
        if r.start <= at < r.end:
            return None
        if r.end <= at:
            shift += len(r.text) - (r.end - r.start)
    return at + shift


def _difference(old: str, new: str) -> int:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return len(old) + len(new) - 2 * same


def moved_before(script: Script, op: OpSyntax, target: OpSyntax) -> list[Replacement] | None:
    """Return the edits that move a step, with its dependences, before an earlier one, or None."""
    _, block, i = script.home_of(target)
    if op not in block[i + 1 :]:
        return None
    moved = [op]
    for each in reversed(block[i : block.index(op)]):
        users = [u.start for d in script.results_of(each) for u, _ in d.uses]
        if any(o.start <= at < o.end for o in moved for at in users):
            if each is target:
                return None
            moved.insert(0, each)
    lines = "\n".join(lines_of(script.text, o, o) for o in moved)
    return [put_before(script.text, target, lines), *(cut(script.text, o, o) for o in moved)]


def without_last_results(
    script: Script, op: OpSyntax, count: int, *, instead: bool = False
) -> list[Replacement] | None:
    """Return the replacements that remove the last results; None if one is used or none would be left.

    With ``instead`` uses of those that go are of the last that stays.
    """
    types, values = result_types_of(op), op.values
    if count == 0:
        return []
    if count >= len(values) or len(types) != len(values):
        return None
    results = script.results_of(op)
    used = [use for definition in results for value in values[-count:] for use, _ in definition.uses_of(value)]
    if used and not instead:
        return None
    replacements = [Replacement(types[-count - 1][1], types[-1][1], "")]
    replacements += [Replacement(use.start, use.end, values[-count - 1]) for use in used]
    left = count
    names = list(op.results)
    while left and names[-1].count <= left:
        left -= names.pop().count
    end = names[-1].end
    if left:
        kept = names[-1].count - left
        is_numbered = any("#" in u.text for d in results for u, _ in d.uses)
        written = names[-1].text if kept == 1 and not is_numbered else f"{names[-1].text}:{kept}"
        replacements.append(Replacement(names[-1].start, op.results[-1].end, written))
    elif op.results[-1].end > end:
        replacements.append(Replacement(end, op.results[-1].end, ""))
    return replacements


def with_more_results(script: Script, op: OpSyntax, names: list[str]) -> list[Replacement] | None:
    """Return the replacements that append results, of the type of the last one."""
    types = result_types_of(op)
    if len(types) != len(op.values) or not types:
        return None
    start, end = types[-1]
    last = script.text[start:end]
    more = f", {last}" * len(names)
    edits = [Replacement(op.results[-1].end, op.results[-1].end, "".join(f", {n}" for n in names))]
    if len(types) == 1 and script.text[start - 1] != "(":
        return [*edits, Replacement(start, end, f"({last}{more})")]
    return [*edits, Replacement(end, end, more)]


def retyped_results(script: Script, op: OpSyntax, old: str, new: str) -> list[Replacement] | None:
    """Return the edits that change the type of results; None if a use does not spell it."""
    types = result_types_of(op)
    if len(types) != len(op.values):
        return None
    spans: list[tuple[int, int] | None] = []
    for value, (start, end) in zip(op.values, types, strict=True):
        if script.text[start:end] == old:
            uses = [use for d in script.results_of(op) for use in d.uses_of(value)]
            spans += [(start, end), *(type_span(script, user, use) for use, user in uses)]
    known = [span for span in spans if span is not None]
    return [Replacement(*span, new) for span in known] if len(known) == len(spans) else None
