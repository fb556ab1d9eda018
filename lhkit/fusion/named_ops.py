"""Ops of a payload by what a user calls them: name, line, handle, value or attribute."""

from __future__ import annotations

import re

from lhkit.model.errors import usage_error
from lhkit.model.trace_record import PayloadOp, Trace

_MOST_LISTED = 12
# Nobody means these by the name of a value or a line alone.
_STRUCTURE = ("builtin.module", "func.func")


def find_op(trace: Trace, asked: str) -> str:
    """Return the id of the op that a user means.

    Args:
        asked: ``linalg.matmul``, ``matmul`` or, of several, ``linalg.generic#1`` counted from 0; ``12`` or
            ``line 12`` of the payload; a handle of the schedule (``%sum``), as it was first filled; a value of
            the payload (``%product``); an attribute that only this op has (``{tag}``).

    Raises:
        UsageError: None or several are meant; the message lists the candidates.
    """
    asked = asked.strip()
    given = [op for op in trace.op_records if op.born == -1]
    found = _of_handle(trace, asked) if asked.startswith("%") else []
    found = found or _of_text(trace, given, asked)
    if len(found) == 1:
        return found[0].id
    names = [op for op in given if "." in op.name and op.source and not op.name.startswith(_STRUCTURE)]
    listed = found or [op for op in names if op.name.startswith(("linalg.", "tensor."))] or names
    lines = [f"  {spelled(given, op)} at {op.source}" for op in listed[:_MOST_LISTED]]
    more = [f"  and {len(listed) - _MOST_LISTED} more"] if len(listed) > _MOST_LISTED else []
    what = f"{asked!r} means {len(found)} ops" if found else f"no op of the payload is called {asked!r}"
    advice = "Name one by name and number, line, handle, value or {attribute}:"
    raise usage_error(what, "\n".join([advice, *lines, *more]))


def spelled(given: list[PayloadOp], op: PayloadOp) -> str:
    """Return the shortest name of an op that means it alone."""
    same = [each.id for each in given if each.name == op.name]
    return f"{op.name}#{same.index(op.id)}" if len(same) > 1 and op.id in same else op.name


def _of_handle(trace: Trace, asked: str) -> list[PayloadOp]:
    handles = {h.id for h in trace.handle_records if asked in (h.name, h.id)}
    for step in trace.step_records:
        for change in step.changes:
            if change.handle in handles and change.state == "live":
                return [trace.op(r) for r in change.payload if isinstance(r, str)]
    return []


def _of_text(trace: Trace, given: list[PayloadOp], asked: str) -> list[PayloadOp]:
    name, _, number = asked.partition("#")
    same = [op for op in given if op.name == name] or [op for op in given if op.name.endswith(f".{name}")]
    if number:
        return same[int(number) : int(number) + 1] if number.isdecimal() else []
    if same:
        return same
    lines = dict(trace.texts).get(trace.payload.source, "").splitlines()
    if line := re.fullmatch(r"(?:line )?(\d+)", asked):
        wanted = {int(line[1])}
    elif asked.startswith("%"):
        wanted = {n for n, t in enumerate(lines, 1) if re.match(rf"\s*{re.escape(asked)}(?::\d+)?\s*=", t)}
    elif re.fullmatch(r"\{[\w.]+\}", asked):
        wanted = {n for n, t in enumerate(lines, 1) if re.search(rf"[{{,]\s*{re.escape(asked[1:-1])}\b", t)}
    else:
        return []
    there = [op for op in given if op.source and op.source.line in wanted]
    outer = [op for op in there if op.parent not in {o.id for o in there}]
    return [op for op in outer if op.name not in _STRUCTURE]
