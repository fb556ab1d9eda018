"""The question why two ops are not fused: cause, responsible step, and repairs that the interpreter tried."""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from lhkit.fusion.fusion_case import FusionCase
from lhkit.fusion.fusion_causes import Finding, facts_of, find_cause, places_of
from lhkit.fusion.fusion_repairs import changes_for
from lhkit.fusion.named_ops import find_op
from lhkit.load.loader import as_payload, load_schedule, parse_text
from lhkit.load.verified_edits import read_script
from lhkit.model.errors import LhkitError, UsageError, public, usage_error
from lhkit.model.explanation import FusionAnswer, Repair, Repairs
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.repairs.repair_context import Candidate, distinct, unified_diff
from lhkit.repairs.repair_trials import repair_of
from lhkit.traces.record.placed_ops import op_in_words
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.traces.report.markdown_report import provenance_of
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

_NO_STEPS = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}
"""
_TRIAL_LIMITS = Limits(seconds=20.0)
# Changes of the schedule, and second changes of one that did not suffice.
_MOST_TRIALS, _MOST_SECOND = 24, 8


@public
def why_not_fused(
    trace: Trace | Payload | str | os.PathLike[str],
    producer: str,
    consumer: str,
    *,
    limit: int = 2,
    seconds: float = 10.0,
    worker: Worker | None = None,
) -> FusionAnswer:
    """Return why two ops are not fused: cause, responsible step, and repairs that were tried.

    Two ops are fused if they share the innermost loop that a step made around one of them, or have become one
    op, and nothing outside reads another copy of the producer.

    Args:
        trace: The trace of a schedule; or a payload, loaded or a path: then the repairs are schedules that fuse
            the two.
        producer: The op whose result the other reads, by name (``linalg.matmul``; ``linalg.generic#1`` of
            several, from 0), line of the payload (``12``), handle of the schedule (``%sum``), value of the payload
            (``%product``), or an attribute that it alone has (``{tag}``).
        consumer: The op that reads it, likewise.
        limit: How many repairs to return at most; 0 tries none, which takes milliseconds.
        seconds: How long to look for repairs.
        worker: Another worker than the session's.

    Returns:
        The answer; shows itself as text. Each repair was applied: the schedule passes, and the two are fused.

    Raises:
        UsageError: A name means no op or several; the message lists the candidates.
    """
    if not isinstance(trace, Trace):
        payload = as_payload(trace, worker)
        trace = trace_schedule(payload, load_schedule(_NO_STEPS, worker=worker), worker=worker)
    case = FusionCase(trace, find_op(trace, producer), find_op(trace, consumer))
    if case.producer == case.consumer:
        raise usage_error(f"{producer!r} and {consumer!r} mean the same op", "Name two.")
    if not case.payloads:
        raise usage_error("the trace has no payload with both ops", "Name ops that exist at the same time.")
    finding = find_cause(case)
    answer = FusionAnswer(
        producer=op_in_words(trace, case.producer),
        consumer=op_in_words(trace, case.consumer),
        cause=finding.cause,
        sentence=finding.sentence + ".",
        places=places_of(case, finding),
        step=finding.step,
        facts=tuple(facts_of(case)),
        texts=trace.texts,
    )
    if limit < 1 or trace.provenance is None or finding.cause == "fused":
        return answer
    search = _Trials(case, (producer, consumer), time.monotonic() + seconds, worker)
    found = tuple(itertools.islice(search.run(finding), limit))
    return dataclasses.replace(answer, repairs=Repairs(found), tried=search.tried)


@dataclass(frozen=True)
class _Applied:
    """A schedule, its trace, and why the two are not fused in it; the change that gave it, if any."""

    schedule: Schedule
    trace: Trace
    finding: Finding
    change: Candidate | None = None


class _Trials:
    """Applies changes of a schedule to copies of it and looks at the payloads."""

    def __init__(
        self, case: FusionCase, asked: tuple[str, str], deadline: float, worker: Worker | None
    ) -> None:
        self._case, self._asked, self._deadline, self._worker = case, asked, deadline, worker
        self._payload = provenance_of(case.trace).payload
        self.tried = 0

    def run(self, finding: Finding) -> Iterator[Repair]:
        """Yield the repairs; changes that do not suffice alone are combined with another where none does."""
        origin = provenance_of(self._case.trace)
        titles: set[str] = set()
        partly: list[_Applied] = []
        for change, applied in self._apply_all(
            _Applied(origin.schedule, self._case.trace, finding), _MOST_TRIALS
        ):
            if applied.finding.cause == "fused":
                if change.title not in titles:
                    titles.add(change.title)
                    yield repair_of(change, origin.schedule.source, applied.trace)
            elif applied.finding != finding:
                partly.append(dataclasses.replace(applied, change=change))
        for first in partly if not titles else ():
            for second, applied in self._apply_all(first, _MOST_SECOND):
                if applied.finding.cause == "fused" and first.change is not None:
                    yield _joined(first.change, second, applied, origin.schedule)
                    break

    def _apply_all(self, start: _Applied, most: int) -> Iterator[tuple[Candidate, _Applied]]:
        """Yield the changes for a schedule that load, each with what it gives."""
        try:
            script = read_script(start.schedule, worker=self._worker)
            case = self._case_of(start.trace)
        except UsageError:  # the text is not read as it is parsed, or the handle that was asked for is gone
            return
        for change in distinct(changes_for(case, start.finding, script))[:most] if case.payloads else ():
            if time.monotonic() > self._deadline:
                return
            self.tried += 1
            try:
                schedule, _ = parse_text(
                    start.schedule, change.edited.text, worker=self._worker, limits=_TRIAL_LIMITS
                )
                trace = trace_schedule(self._payload, schedule, worker=self._worker, limits=_TRIAL_LIMITS)
                finding = self._judge(trace)
            except LhkitError:  # it does not load, or the handle that was asked for is gone
                continue
            if finding is not None:
                yield change, _Applied(schedule, trace, finding)

    def _judge(self, trace: Trace) -> Finding | None:
        """Return why the two are not fused in a trace; "fused" counts only where the whole schedule applies."""
        case = self._case_of(trace)
        found = find_cause(case) if case.payloads else None
        is_half = found is not None and found.cause == "fused" and trace.outcome.status != "ok"
        return Finding("failed-before", "", trace.outcome.failed_step) if is_half else found

    def _case_of(self, trace: Trace) -> FusionCase:
        """Return the two in another trace of the same payload; ops of the payload as given keep their ids."""
        old = self._case
        pairs = zip((old.producer, old.consumer), self._asked, strict=True)
        ids = [op if old.trace.op(op).born == -1 else find_op(trace, asked) for op, asked in pairs]
        return FusionCase(trace, *ids)


def _joined(first: Candidate, second: Candidate, applied: _Applied, schedule: Schedule) -> Repair:
    one, two = (repair_of(c, schedule.source, applied.trace) for c in (first, second))
    return dataclasses.replace(
        two,
        kind="several",
        title=f"{one.title}; then {two.title[:1].lower()}{two.title[1:]}",
        diff=unified_diff(schedule.text, two.text, schedule.source),
        characters_changed=one.characters_changed + two.characters_changed,
        doubt=one.doubt + two.doubt + 1,
    )
