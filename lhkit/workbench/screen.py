"""View state of a workbench, field access for commands, and notices."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from lhkit.model.errors import Failure, usage_error
from lhkit.model.trace_record import PayloadDelta, Trace
from lhkit.show.trace_view import start_step
from lhkit.traces.record.handle_history import display_names

Command = Mapping[str, Any]
Front = tuple[tuple[str, str], ...]
# The pane in front of each area at first.
FRONT: Front = (("left", "steps"), ("middle", "payload"), ("handles", "timeline"), ("pictures", "tiles"),
         ("bottom", "guide"), ("narrow", "steps"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Screen:
    """View state: the step, the selection and the open tabs.

    Attributes:
        step: The step whose payload is shown, -1 for the payload as given.
        ids: Selected ids, separated by spaces.
        front: The pane in front of each area, the newest first: where a layout has two of them in one area, the
            newer is in front.
        whole_payload: Whether the payload is shown as text instead of as a diff.
        by: The browser view that requested the change, which must not follow it again.
        layout: Where panes are, as JSON that the script reads (static/layout.js); empty for the default.
    """

    step: int = -1
    kind: str = ""
    ids: str = ""
    front: Front = FRONT
    is_large: bool = False
    whole_payload: bool = False
    by: str = ""
    layout: str = ""

    def is_open(self, pane: str) -> bool:
        """Return whether a pane is in front of one of the areas."""
        return any(pane == open_pane for _, open_pane in self.front)

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON for the script."""
        return {
            "step": self.step,
            "selection": {"kind": self.kind, "id": self.ids} if self.kind else None,
            "front": dict(self.front),
            "large": self.is_large,
            "whole": self.whole_payload,
            "by": self.by,
            "layout": self.layout,
        }


def brought_forward(front: Front, pane: str, *areas: str) -> Front:
    """Return a front with a pane before all others of these areas."""
    return (*((area, pane) for area in areas), *(each for each in front if each[0] not in areas))


def first_step(trace: Trace) -> int:
    """Return the step to show first: the one that failed, else the first that changed the payload."""
    if trace.outcome.failed_step is not None:
        return trace.outcome.failed_step
    known = {s.step for s in trace.snapshots}
    changing = (s.index for s in trace.step_records if s.payload_delta != PayloadDelta() and s.index in known)
    return next(changing, start_step(trace))


def fitting(screen: Screen, trace: Trace | None) -> Screen:
    """Restrict a view state to what the trace has: files and pages may name unknown steps and ids."""
    last = len(trace.step_records) - 1 if trace is not None else -1
    known: set[str] = set()
    if screen.kind == "step":
        known = {str(index) for index in range(-1, last + 1)}
    elif trace is not None and screen.kind == "handle":
        known = {handle.id for handle in trace.handle_records}
    elif trace is not None and screen.kind == "op":
        known = {op.id for op in trace.op_records}
    ids = " ".join(each for each in screen.ids.split() if each in known)
    step = min(max(screen.step, -1), last)
    return dataclasses.replace(screen, step=step, kind=screen.kind if ids else "", ids=ids)


def carried(screen: Screen, old: Trace, new: Trace) -> Screen:
    """Map a view state to a new trace by names and places, since ids are valid in one trace only."""
    step = carried_step(old, new, screen.step)
    found = (_carried_id(screen.kind, each, old, new) for each in screen.ids.split())
    ids = [each for each in found if each is not None]
    kind = screen.kind if ids else ""
    return dataclasses.replace(screen, step=step, kind=kind, ids=" ".join(ids), by="")


def carried_step(old: Trace, new: Trace, index: int) -> int:
    """Return the step of a new trace that a step became: by op, handles and iteration, by op, or by index."""
    if not 0 <= index < len(old.step_records):
        return -1
    op, wanted = old.step_records[index].op, _what(old, index)
    alike = [s.index for s in new.step_records if s.op == op and _what(new, s.index) == wanted]
    if not alike:  # a repair gives a step other handles
        near = range(index - 2, index + 3)
        alike = [s.index for s in new.step_records if s.op == op and s.index in near]
    if alike:
        return min(alike, key=lambda found: abs(found - index))
    return min(index, len(new.step_records) - 1)


def is_alike(one: Trace, index: int, other: Trace, other_index: int) -> bool:
    """Return whether steps of two traces have the same op, handles and iteration."""
    return _what(one, index) == _what(other, other_index)


def _what(trace: Trace, index: int) -> tuple[object, ...]:
    step = trace.step_records[index]
    given = tuple(trace.handle(h).name for h in step.results)
    taken = tuple(trace.handle(o.handle).name for o in step.operands)
    return (step.op, given, taken, step.iteration)


def _carried_id(kind: str, id_: str, old: Trace, new: Trace) -> str | None:
    if kind == "step":
        step, before = carried_step(old, new, int(id_)), int(id_)
        is_same = step == before == -1 or (-1 not in (step, before) and _what(new, step) == _what(old, before))
        return str(step) if is_same else None
    if kind == "handle":
        name = display_names(old).get(id_)
        return next((h for h, n in display_names(new).items() if n == name), None)
    was = next((o.name for o in old.op_records if o.id == id_), None)
    return id_ if any((o.id, o.name) == (id_, was) for o in new.op_records) else None


# Field access for commands and questions; a missing or mistyped field is a usage error.


T = TypeVar("T")


def integer(command: Command, name: str) -> int:
    """Return an integer field."""
    return _of_kind(int, "an integer", command, name)


def text(command: Command, name: str) -> str:
    """Return a text field."""
    return _of_kind(str, "a text", command, name)


def mapping(command: Command, name: str) -> Mapping[str, Any]:
    """Return an object field."""
    return _of_kind(dict, "an object", command, name)


def flag(command: Command, name: str) -> bool:
    """Return an optional flag, default False."""
    return command.get(name) is True


def _of_kind(kind: type[T], wanted: str, command: Command, name: str) -> T:
    value = command.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):  # bool is a subclass of int
        said = command.get("do", command.get("ask"))
        raise usage_error(f"{said}: {name!r} is {wanted}, not {value!r}")
    return value


NoticeKind = Literal["refused", "done", "defect"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A message about the last command, with actions; ``kind`` is ``refused``, ``done`` or ``defect``."""

    kind: NoticeKind
    message: str
    advice: str = ""
    actions: tuple[tuple[str, dict[str, Any]], ...] = ()

    @classmethod
    def refusal(cls, failure: Failure, actions: tuple[tuple[str, dict[str, Any]], ...] = ()) -> Notice:
        """Return the notice of a command that failed: what, where, why, and what to do next."""
        return cls("refused", failure.in_a_line(), failure.advice or "", actions)

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON for the script."""
        actions = [{"label": label, "command": command} for label, command in self.actions]
        return {"kind": self.kind, "message": self.message, "advice": self.advice, "actions": actions}


@dataclass(frozen=True, slots=True)
class Typed:
    """The text that was typed last.

    Attributes:
        by: The browser view that it was typed in, which already has it.
        goes_on: Whether typing continues; until it pauses no repairs are searched.
    """

    by: str = ""
    version: str = ""
    goes_on: bool = False
