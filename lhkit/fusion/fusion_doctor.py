"""The question why two ops are not fused: cause, responsible step, and repairs that the interpreter tried."""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
from collections.abc import Iterator

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
from lhkit.repairs.repair_trials import find_repairs, repair_of
from lhkit.traces.record.placed_ops import op_in_words
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

_NO_STEPS = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}
"""
_TRIAL_LIMITS = Limits(seconds=20.0)
_MOST_TRIALS = 24


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


class _Trials:
    """Applies changes of a schedule to copies of it and looks at the payloads."""

    def __init__(self, case: FusionCase, asked: tuple[str, str], deadline: float, worker: Worker | None) -> None:
        self._case, self._asked, self._deadline, self._worker = case, asked, deadline, worker
        self.tried = 0

    def run(self, finding: Finding) -> Iterator[Repair]:
        """Yield the repairs: changes with which the schedule applies and the two are fused."""
        origin = self._case.trace.provenance
        assert origin is not None
        try:
            script = read_script(origin.schedule, worker=self._worker)
        except UsageError:  # the text is not read as it is parsed: an edit might change something else
            return
        changes = distinct(changes_for(self._case, finding, script))
        titles: set[str] = set()
        for change in changes[:_MOST_TRIALS]:
            if time.monotonic() > self._deadline:
                return
            repair = self._try(origin.payload, origin.schedule, change)
            if repair is not None and repair.title not in titles:
                titles.add(repair.title)
                yield repair

    def _try(self, payload: Payload, schedule: Schedule, change: Candidate) -> Repair | None:
        self.tried += 1
        traced = self._trace(payload, schedule, change.edited.text)
        if traced is None:
            return None
        changed, trace = traced
        if self._is_fused(trace):
            return repair_of(change, schedule.source, trace)
        if trace.outcome.status != "failed":
            return None
        # The change may leave a handle of a later step dead: mend that too.
        for more in find_repairs(payload, changed, trace, limit=1, seconds=2.0, worker=self._worker):
            again = self._trace(payload, changed, more.text)
            if again is not None and self._is_fused(again[1]):
                title = f"{change.title}; then {more.title[:1].lower()}{more.title[1:]}"
                whole = repair_of(change, schedule.source, again[1])
                diff = unified_diff(schedule.text, more.text, schedule.source)
                return dataclasses.replace(whole, kind="several", title=title, text=more.text, diff=diff)
        return None

    def _trace(self, payload: Payload, schedule: Schedule, text: str) -> tuple[Schedule, Trace] | None:
        try:
            changed, _ = parse_text(schedule, text, worker=self._worker, limits=_TRIAL_LIMITS)
            return changed, trace_schedule(payload, changed, worker=self._worker, limits=_TRIAL_LIMITS)
        except LhkitError:
            return None

    def _is_fused(self, trace: Trace) -> bool:
        if trace.outcome.status != "ok":
            return False
        try:
            ids = [self._same(trace, op, asked) for op, asked in zip(self._ops, self._asked, strict=True)]
        except UsageError:  # the handle is gone
            return False
        case = FusionCase(trace, *ids)
        return bool(case.payloads) and find_cause(case).cause == "fused"

    @property
    def _ops(self) -> tuple[str, str]:
        return self._case.producer, self._case.consumer

    def _same(self, trace: Trace, op: str, asked: str) -> str:
        """Return the id in another trace of the same payload; ops of the payload as given keep theirs."""
        return op if self._case.trace.op(op).born == -1 else find_op(trace, asked)
