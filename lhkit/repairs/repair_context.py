"""What candidates are made from: the text, the trace of it, and the step to be repaired."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from lhkit.model.errors import UsageError
from lhkit.model.trace_record import HandleChange, HandleRecord, Trace, TraceStep
from lhkit.text.handle_scopes import Definition
from lhkit.text.layout import indent_of, put_before
from lhkit.text.naming import fresh_name, names_in, symbol_name
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.ranges import type_of
from lhkit.text.script import SEQUENCE, Replacement, Script
from lhkit.text.step_arguments import types_of
from lhkit.traces.record.handle_history import states_before
from lhkit.traces.record.payload_history import PayloadHistory

ANY_OP = "!transform.any_op"
_HOLDERS = ("scf.", "func.func", "builtin.module")
_MOST_ROOTS = 4


@dataclass(frozen=True)
class Located:
    """A handle of a trace with its definition in the text.

    Attributes:
        record: The handle.
        definition: Where the text defines it.
        value: Its name in the text, ``%loops#1`` for one of several results.
        type: Its type.
        payload: The names of the ops that it points to.
        ops: The ops themselves, by id.
    """

    record: HandleRecord
    definition: Definition
    value: str
    type: str
    payload: tuple[str, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True)
class Situation:
    """A traced schedule and the step that is to be repaired.

    Attributes:
        trace: The trace.
        script: The schedule's text with its outline.
        step: The step.
        op: The step in the text.
    """

    trace: Trace
    script: Script
    step: TraceStep
    op: OpSyntax

    @cached_property
    def history(self) -> PayloadHistory:
        """What was there when."""
        return PayloadHistory(self.trace)

    @cached_property
    def before(self) -> dict[str, HandleChange]:
        """What every handle was before the step, by id."""
        states = states_before(self.trace, self.step.index)
        # The first step of a block says what the arguments of the block are.
        own = {c.handle: c for c in self.step.changes if c.handle not in states}
        return {**states, **own}

    def text_of(self, op: OpSyntax) -> str:
        """Return an op as it is written."""
        return self.script.text[op.start : op.end]

    def op_of(self, step: TraceStep) -> OpSyntax | None:
        """Return a step in the text, None if it stands in another one."""
        return op_at(self.script, step)

    def locate(self, handle: str) -> Located | None:
        """Return a handle with its definition, None if the text does not define it."""
        record = self.trace.handle(handle)
        for definition in self.script.handles.definitions:
            if record.name in definition.name.values and self._defines(definition, record):
                return self._located(record, definition)
        return None

    def _defines(self, definition: Definition, record: HandleRecord) -> bool:
        if definition.is_argument and definition.op.name == SEQUENCE:
            return f"@{symbol_name(definition.op.symbol)}" == record.sequence
        if record.defined_by < 0:
            return False
        op = self.op_of(self.trace.step_records[record.defined_by])
        return op is not None and definition.op.start == op.start

    def _located(self, record: HandleRecord, definition: Definition) -> Located | None:
        try:
            type_ = type_of(self.script, definition, record.name)
        except UsageError:  # the outline cannot say; nothing can be written for such a handle
            return None
        last = self.last_live(record.id)
        ops = tuple(r for r in last.payload if isinstance(r, str)) if last else ()
        names = tuple(self.trace.op(o).name for o in ops)
        return Located(record, definition, record.name, type_, names, ops)

    def last_live(self, handle: str) -> HandleChange | None:
        """Return the last live state of a handle before the step."""
        now = self.before.get(handle)
        if now is not None and now.state == "live":
            return now
        found = None
        for step in self.trace.steps_by_end():
            if step.index >= self.step.index:
                break
            for change in step.changes:
                if change.handle == handle and change.state == "live":
                    found = change
        return found

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
        definition = handle.definition
        return not any(definition.value_of(use) == handle.value for use, _ in definition.uses)

    def root(self) -> Located | None:
        """Return the first argument of the sequence around the step, if it is live."""
        around = [op for op in self.script.steps if op.name == SEQUENCE and op.start <= self.op.start < op.end]
        found = [
            h for h in self.live_in_sight() if h.definition.is_argument and h.definition.op.name == SEQUENCE
        ]
        found = [h for h in found if around and h.definition.op.start == around[-1].start]
        return min(found, key=lambda h: h.definition.name.start, default=None)

    def roots_to_search(self) -> list[Located]:
        """Return the live handles to look in: the sequence's argument, then what holds ops, latest first."""
        root = self.root()
        holders = [
            h for h in self.live_in_sight() if h.ops and all(name.startswith(_HOLDERS) for name in h.payload)
        ]
        others = [h for h in holders if root is None or h.record.id != root.record.id]
        return [*([root] if root else []), *others][:_MOST_ROOTS]

    def uses(self, handle: Located, since: OpSyntax | None = None) -> list[tuple[Use, OpSyntax]]:
        """Return the uses of a handle from an op (default: the step) on, those that see the op's block."""
        first = since or self.op
        handles = self.script.handles
        scope = handles.scope_at(first.start)
        return [
            (use, op)
            for use, op in handle.definition.uses
            if handle.definition.value_of(use) == handle.value
            and use.start >= first.start
            and handles.inside(handles.scope_at(op.start), scope)
        ]

    def replaced_uses(
        self, uses: Sequence[tuple[Use, OpSyntax]], new: str, old_type: str, new_type: str
    ) -> list[Replacement] | None:
        """Return the replacements that let uses read another handle; None where its type cannot be written."""
        replacements = []
        for use, op in uses:
            replacements.append(Replacement(use.start, use.end, new))
            if old_type != new_type:
                span = type_span(self.script, op, use)
                if span is None:
                    return None
                replacements.append(Replacement(*span, new_type))
        return replacements

    def fresh(self, wanted: str) -> str:
        """Return a name for a new handle."""
        return fresh_name(wanted.partition("#")[0], names_in(self.script.text))

    def inserted(self, lines: str, at: OpSyntax | None = None) -> Replacement:
        """Return the replacement that puts lines before an op (default: the step)."""
        return put_before(self.script.text, at or self.op, lines)


def op_at(script: Script, step: TraceStep) -> OpSyntax | None:
    """Return the op of a script that a step is an execution of, None if it stands in another text."""
    if step.source is None or step.source.file != script.source:
        return None
    starts = script.syntax.line_starts
    if not 1 <= step.source.line <= len(starts):
        return None
    at = starts[step.source.line - 1] + step.source.column - 1
    return next((op for op in script.steps if op.name_start == at), None)


def type_span(script: Script, op: OpSyntax, use: Use) -> tuple[int, int] | None:
    """Return where the type of an op's operand is written, None where it is not one of a list."""
    types = types_of(op)
    if len(types) != len(op.operands):
        return None
    return types[op.operands.index(use)]


def own_lines(text: str, op: OpSyntax, start: int | None = None) -> str:
    """Return an op as lines without the indentation of its place."""
    first, *rest = text[op.start if start is None else start : op.end].split("\n")
    indent = indent_of(text, op.start)
    return "\n".join([first, *(line.removeprefix(indent) for line in rest)])


def dedented(lines: str) -> str:
    """Return lines without common indentation and empty ones around them."""
    return textwrap.dedent(lines).strip("\n")
