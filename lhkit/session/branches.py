"""Two branches of a session side by side."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from lhkit.model.schedule import Schedule
from lhkit.model.trace import Trace
from lhkit.session.trace_cache import TraceCache


@dataclass(frozen=True, slots=True)
class BranchComparison:
    """Two branches side by side.

    Attributes:
        left: Name of the one.
        right: Name of the other.
        diff: What turns the text of the left into that of the right, as a unified diff; empty for equal ones.
        left_trace: The trace of the left.
        right_trace: The trace of the right.
        same_payload: True if both leave the same payload, None if one of them fails.
    """

    left: str
    right: str
    diff: str
    left_trace: Trace
    right_trace: Trace
    same_payload: bool | None


def compare_branches(
    left: tuple[str, Schedule], right: tuple[str, Schedule], traces: TraceCache
) -> BranchComparison:
    """Hold two branches, each a name and a schedule, against each other.

    Raises:
        LhkitError: One of them cannot be traced.
    """
    (left_name, mine), (right_name, theirs) = left, right
    left_trace, right_trace = traces.trace(mine), traces.trace(theirs)
    same = None
    if left_trace.outcome.status == right_trace.outcome.status == "ok":
        same = left_trace.last_snapshot_text() == right_trace.last_snapshot_text()
    lines = difflib.unified_diff(
        mine.text.splitlines(keepends=True), theirs.text.splitlines(keepends=True), left_name, right_name
    )
    return BranchComparison(left_name, right_name, "".join(lines), left_trace, right_trace, same)
