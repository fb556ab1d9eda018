"""Where a new step goes, and which handles can be read there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.step_form import TypedName
from lhkit.model.trace_record import Trace
from lhkit.text.op_tree import OpSyntax
from lhkit.text.ranges import is_consumed, type_of
from lhkit.text.script import SEQUENCE, Script

SIDES = ("after", "before", "inside", "step")


@dataclass(frozen=True, slots=True)
class StepPlace:
    """A place among the steps of a text.

    Attributes:
        side: ``after``, ``before`` or ``inside`` a step, or in the place of that ``step`` itself.
        number: The number of that step.
    """

    side: str
    number: int

    @property
    def as_keyword(self) -> dict[str, int]:
        """The place as `lhkit.text.step_edits.insert_step` takes it."""
        return {self.side: self.number}

    def describe(self, script: Script) -> str:
        """Return the place in words."""
        op = script.find(self.number)
        name = op.name.removeprefix("transform.")
        at = f"{name} in line {script.line_of(op)}"
        return {"inside": f"at the end of {at}", "step": at}.get(self.side, f"{self.side} {at}")


def asked_place(command: Mapping[str, Any], script: Script, entry: str) -> StepPlace:
    """Return the place that a command names; default the end of the entry.

    Raises:
        UsageError: It is no step.
    """
    for side in SIDES:
        value = command.get(side)
        if isinstance(value, int) and not isinstance(value, bool):
            op = script.find(value)
            return StepPlace("inside" if op.name == SEQUENCE else side, value)
        if value is not None:
            raise usage_error(f"{side!r} is the number of a step, not {value!r}")
    return StepPlace("inside", script.number_of(script.find(f"@{entry}")))


def number_after(script: Script, place: StepPlace) -> int:
    """Return the number that a step will have that is inserted at a place."""
    op = script.find(place.number)
    if place.side == "before":
        return place.number
    if place.side == "inside":
        inner = [o for o in script.steps if op.start < o.start < op.end]
        last = op.regions[-1].ops[-1] if op.regions and op.regions[-1].ops else None
        return script.number_of(last) if last is not None else place.number + len(inner) + 1
    return place.number + sum(op.start <= o.start < op.end for o in script.steps)


def handles_at(script: Script, place: StepPlace) -> tuple[tuple[TypedName, bool], ...]:
    """Return the handles that a step at a place can read, nearest first, each with whether it is dead by then.

    Args:
        script: The schedule, with its outline.
        place: The place.
    """
    op = script.find(place.number)
    at, inner = _offset(op, place)
    scope = script.handles.scope_at(inner)
    found: list[tuple[int, TypedName, bool]] = []
    for definition in script.handles.in_sight(scope).values():
        is_before = definition.op.start < at if definition.is_argument else definition.op.end <= at
        if not is_before or not script.handles.may_read(scope, definition):
            continue
        gone = {
            definition.value_of(use)
            for use, user in definition.uses
            if use.start < at and is_consumed(script, use, user)
        }
        for value in definition.name.values:
            try:
                typed = TypedName(value, type_of(script, definition, value))
            except UsageError:  # its type is not written: it cannot be offered
                continue
            found.append((definition.name.start, typed, value in gone))
    found.sort(key=lambda entry: (entry[2], -entry[0]))
    return tuple((typed, is_dead) for _, typed, is_dead in found)


def _offset(op: OpSyntax, place: StepPlace) -> tuple[int, int]:
    """Return the place as an offset, and an offset in the same block."""
    if place.side == "inside" and op.regions:
        return op.regions[-1].end - 1, op.regions[-1].start + 1
    return (op.end, op.start) if place.side == "after" else (op.start, op.start)


def step_of_number(script: Script, trace: Trace, number: int) -> int | None:
    """Return the first step of a trace that ran a step of the text, None if none did."""
    place = script.syntax.place(script.find(number).name_start)
    source = trace.schedule.source
    for step in trace.step_records:
        where = step.source
        if where is not None and (where.file, where.line, where.column) == (source, place.line, place.column):
            return step.index
    return None
