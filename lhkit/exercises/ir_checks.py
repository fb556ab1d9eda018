"""Looking at what a schedule did: whether it passes, ops, lines, handles, warnings."""

from __future__ import annotations

import re
from collections import Counter

from lhkit.exercises.attempt import Attempt
from lhkit.exercises.task import Check
from lhkit.exercises.verdict import Finding
from lhkit.load.elementwise_spelling import with_named_ops
from lhkit.model.elementwise_kinds import ELEMENTWISE, KINDS
from lhkit.model.errors import LhkitError
from lhkit.model.trace_record import HandleChange
from lhkit.traces.record.handle_history import display_names, payload_in_words, states_at_end
from lhkit.traces.record.printed_ir import PrintedIr, PrintedOp, read_printed

_MOST_LINES = 4


def look_whether_it_passes(attempt: Attempt, check: Check) -> Finding:
    """The schedule loads, and every step succeeds."""
    if attempt.unloaded is not None:
        return Finding(check.says, False, str(attempt.unloaded))
    if attempt.passes:
        return Finding(check.says, True)
    # Who takes a schedule of another payload meets its inner parts: its header says what it is for.
    header = re.search(r"\A// (Payload: .*)", attempt.schedule.text)
    says = f"Its first line says what it is for. {header[1]}\n" if header else ""
    return Finding(check.says, False, says + attempt.trace.why().describe())


def look_for_warnings(attempt: Attempt, check: Check) -> Finding:
    """No step is suspicious; or none but of the kinds that the check's pattern does not match."""
    said = [
        f"step {step.index} ({step.op}): {warning.kind}: {warning.message}"
        for step in attempt.trace.step_records
        for warning in step.warnings
        if check.pattern is None or re.search(check.pattern, warning.kind)
    ]
    return Finding(check.says, not said, "\n".join(said[:_MOST_LINES]))


def count_ops(attempt: Attempt, check: Check) -> Finding:
    """So many payload ops of a name are left at the end, inside or outside of others if that is asked."""
    printed = read_printed(with_named_ops(attempt.trace.last_snapshot_text()))
    found = [op for op in printed.ops if op.name == check.op]
    fitting = [op for op in found if _lies_right(printed, op, check)]
    seen = f"{len(found)} {check.op} in the payload"
    if found and (check.inside or check.outside):
        inside = sum(check.inside in _around(printed, op) for op in found if check.inside)
        seen += f", {inside} inside of {check.inside}" if check.inside else ""
        seen += f", {len(fitting)} outside of {check.outside}" if check.outside else ""
    return Finding(check.says, check.allows(len(fitting)), f"{seen}.")


def _lies_right(printed: PrintedIr, op: PrintedOp, check: Check) -> bool:
    around = _around(printed, op)
    return (check.inside is None or check.inside in around) and (
        check.outside is None or check.outside not in around
    )


def _around(printed: PrintedIr, op: PrintedOp) -> set[str]:
    """Return the names of the ops around an op."""
    names, at = set(), op.parent
    while at >= 0:
        names.add(printed.ops[at].name)
        at = printed.ops[at].parent
    return names


def count_lines_of_payload(attempt: Attempt, check: Check) -> Finding:
    """A pattern has so many places in the payload at the end."""
    return _count_lines(with_named_ops(attempt.trace.last_snapshot_text()), check, "the payload")


def count_lines_of_schedule(attempt: Attempt, check: Check) -> Finding:
    """A pattern has so many places in the schedule as it is written."""
    try:
        text = with_named_ops(attempt.schedule.text)
    except LhkitError as error:
        return Finding(check.says, False, error.failure.message)
    return _count_lines(text, check, "your schedule")


def _count_lines(text: str, check: Check, what: str) -> Finding:
    pattern = re.compile(check.pattern or "")
    lines = [line.strip() for line in text.splitlines() if pattern.search(line)]
    if check.allows(sum(len(pattern.findall(line)) for line in lines)):
        return Finding(check.says, True)
    if lines:
        return Finding(check.says, False, "\n".join(_first(lines)))
    near = [line.strip() for line in text.splitlines() if check.op and f"{check.op} " in line]
    shown = [f"With {check.op} there is:", *_first(near)] if near else []
    return Finding(check.says, False, "\n".join([f"There is no such line in {what}.", *shown]))


def _first(lines: list[str]) -> list[str]:
    more = [f"… and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    return [*lines[:_MOST_LINES], *more]


def look_at_handle(attempt: Attempt, check: Check) -> Finding:
    """A handle of this name is live at the end and points to so many ops of this name, and to nothing else."""
    trace, names = attempt.trace, display_names(attempt.trace)
    states = [
        change
        for handle, change in states_at_end(trace).items()
        if names[handle].partition(" ")[0] == check.handle
    ]
    if not states:
        known = ", ".join(dict.fromkeys(names.values()))
        return Finding(check.says, False, f"No step defined {check.handle}. There are {known}.")
    change = states[-1]
    if change.state != "live":
        return Finding(check.says, False, trace.why(check.handle).sentence)
    return Finding(check.says, _points_to(attempt, change, check), _says(attempt, check, change))


def _says(attempt: Attempt, check: Check, change: HandleChange) -> str:
    return f"{check.handle} points to {payload_in_words(attempt.trace, change)}."


def _points_to(attempt: Attempt, change: HandleChange, check: Check) -> bool:
    kinds = Counter(attempt.trace.op(r).name for r in change.payload if isinstance(r, str))
    if check.op in KINDS and ELEMENTWISE in kinds:  # bindings without named ops; records of ops have no kinds
        kinds = Counter({check.op: kinds.pop(ELEMENTWISE), **kinds})
    return set(kinds) == {check.op} and check.allows(kinds[check.op or ""])
