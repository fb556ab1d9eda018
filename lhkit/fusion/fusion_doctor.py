"""The question why two ops are not fused: cause, responsible step, and repairs that the interpreter tried."""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from lhkit.fusion.fusion_case import FusionCase, find_op
from lhkit.fusion.fusion_causes import facts_of, find_cause, places_of
from lhkit.fusion.fusion_queries import MAKES_LOOP, Finding, way_between
from lhkit.fusion.fusion_repairs import LAST_RESORT, changes_for
from lhkit.load.loader import as_payload, load_schedule, parse_text
from lhkit.load.verified_edits import read_script
from lhkit.model.errors import LhkitError, public, usage_error
from lhkit.model.explanation import FusionAnswer, Repair, Repairs
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.repairs.repair_context import Candidate, distinct, unified_diff
from lhkit.repairs.repair_trials import repair_of
from lhkit.traces.record.placed_ops import op_in_words
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.traces.warnings.strided_fusion import has_wrong_numbers
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

_NO_STEPS = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}
"""
_TRIAL_LIMITS = Limits(seconds=20.0)
# Changes of the schedule, and second changes of one that does not suffice.
_MOST_TRIALS, _MOST_SECOND = 32, 8
_KINDS = {
    "order": "the order of steps",
    "fusion": "more steps that fuse",
    "loop": "scf.forall in place of scf.for",
    "gate": "the pattern that folds into packs",
    "sizes": "tile sizes",
    "structure": "inlining, unit extents",
}
_OTHER_KINDS = "handles and arguments"


@public
def why_not_fused(
    trace: Trace | Payload | str | os.PathLike[str],
    producer: str | int,
    consumer: str | int,
    *,
    limit: int = 2,
    seconds: float = 10.0,
    worker: Worker | None = None,
) -> FusionAnswer:
    """Return why two ops are not fused: cause, responsible step, and repairs that were tried.

    Two ops are fused if they share the innermost loop that a step made around one of them, or have become one
    op, and nothing outside reads another copy of the producer (``tensor.dim`` does not count).

    Args:
        trace: The trace of a schedule; or a payload, loaded or a path: the repairs are then schedules that fuse
            the two.
        producer: The op whose result the other reads, by name (``linalg.matmul``; ``linalg.generic#1`` of
            several, from 0), line of the payload (``12``), handle of the schedule (``%sum``), value of the
            payload (``%product``), or an attribute that it alone has (``{tag}``).
        consumer: The op that reads it, likewise.
        limit: How many repairs to return at most; 0 tries none, which takes milliseconds.
        seconds: How long to look for repairs.
        worker: Another worker than the session's.

    Returns:
        The answer; shows itself as text. Each repair was applied: the schedule passes, and the two are fused.

    Raises:
        UsageError: A name means no op or several; the message lists the candidates.
    """
    producer, consumer = str(producer), str(consumer)
    if not isinstance(trace, Trace):
        schedule = load_schedule(_NO_STEPS, worker=worker)
        trace = trace_schedule(as_payload(trace, worker), schedule, worker=worker)
    case = FusionCase(trace, find_op(trace, producer), find_op(trace, consumer))
    if case.producer == case.consumer:
        raise usage_error(f"{producer!r} and {consumer!r} mean the same op", "Name two.")
    if not case.steps:
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
    first = _Applied(trace.provenance.schedule, trace, finding)
    search = _Trials(trace.provenance.payload, case, (producer, consumer), time.monotonic() + seconds, worker)
    found = Repairs(tuple(itertools.islice(search.run(first), limit)))
    kinds = tuple(dict.fromkeys(_KINDS.get(kind, _OTHER_KINDS) for kind in search.tried))
    return dataclasses.replace(answer, repairs=found, tried=len(search.tried), tried_kinds=kinds)


@dataclass(frozen=True)
class _Applied:
    """A schedule, its trace, and why the two are not fused in it; the change that gave it, if any."""

    schedule: Schedule
    trace: Trace
    finding: Finding
    change: Candidate | None = None


@dataclass
class _Trials:
    """Applies changes of a schedule to copies of it and looks at the payloads."""

    payload: Payload
    case: FusionCase
    asked: tuple[str, str]
    deadline: float
    worker: Worker | None
    tried: list[str] = field(default_factory=list)  # The kind of each change that was tried

    def run(self, start: _Applied) -> Iterator[Repair]:
        """Yield the repairs, each once: those after which the consumer reads the producer, then the others."""
        found: dict[str, Repair] = {}
        weak: list[Repair] = []
        for repair, is_read in self._found(start):
            if found.setdefault(repair.title, repair) is repair:
                if is_read:
                    yield repair
                else:
                    weak.append(repair)
        yield from weak

    def _found(self, start: _Applied) -> Iterator[tuple[Repair, bool]]:
        """Yield single changes that fuse, else pairs, else removals, each with whether it keeps the read.

        Last come those after which the producer is in the loop, and once more outside for its other users.
        """
        changes = self._changes(start)
        source = start.schedule.source
        twice: list[_Applied] = []
        for is_last in (False, True):
            partly: list[_Applied] = []
            found = False
            for applied in self._apply(start, [c for c in changes if (c.doubt >= LAST_RESORT) == is_last]):
                if applied.finding.cause == "fused" and applied.change is not None:
                    found = True
                    yield repair_of(applied.change, source, applied.trace), self._is_read(applied.trace)
                elif applied.finding != start.finding:
                    partly.append(applied)
                    twice += [applied] if applied.finding.does == MAKES_LOOP != start.finding.does else []
            for first in partly if not found else ():
                seconds = self._apply(first, self._changes(first)[:_MOST_SECOND])
                second = next((s for s in seconds if s.finding.cause == "fused"), None)
                if first.change is not None and second is not None and second.change is not None:
                    found = True
                    repair = _joined(first.change, second.change, second.trace, start.schedule)
                    yield repair, self._is_read(second.trace)
            if found:
                return
        for applied in twice:
            if applied.change is not None and applied.trace.outcome.status == "ok":
                title = (
                    f"{applied.change.title}; for its other users the producer is computed once more outside"
                )
                repair = repair_of(applied.change, source, applied.trace)
                yield dataclasses.replace(repair, title=title), True

    def _is_read(self, trace: Trace) -> bool:
        """Return whether the consumer still reads the producer in the last payload, or one op is both."""
        case = self._case_of(trace)
        return way_between(case, case.last) is not None

    def _changes(self, start: _Applied) -> list[Candidate]:
        try:
            script = read_script(start.schedule, worker=self.worker)
            case = self._case_of(start.trace)
        except LhkitError:  # the text is not read as it is parsed, or the handle that was asked for is gone
            return []
        return distinct(changes_for(case, start.finding, script))[:_MOST_TRIALS] if case.steps else []

    def _apply(self, start: _Applied, changes: list[Candidate]) -> Iterator[_Applied]:
        """Yield what changes of a schedule give, without those that do not load."""
        for change in itertools.takewhile(lambda _: time.monotonic() < self.deadline, changes):
            self.tried.append(change.kind)
            text = change.edited.text
            try:
                schedule, _ = parse_text(start.schedule, text, worker=self.worker, limits=_TRIAL_LIMITS)
                trace = trace_schedule(self.payload, schedule, worker=self.worker, limits=_TRIAL_LIMITS)
                case = self._case_of(trace)
            except LhkitError:
                continue
            if has_wrong_numbers(trace):
                continue
            finding = find_cause(case) if case.steps else start.finding
            if finding.cause == "fused" and trace.outcome.status != "ok":  # fused, and something later fails
                finding = Finding("failed-before", "", trace.outcome.failed_step)
            yield _Applied(schedule, trace, finding, change)

    def _case_of(self, trace: Trace) -> FusionCase:
        """Return the two in another trace of the same payload; ops of the payload as given keep their ids."""
        pairs = zip((self.case.producer, self.case.consumer), self.asked, strict=True)
        return FusionCase(
            trace, *(op if self.case.trace.op(op).born == -1 else find_op(trace, asked) for op, asked in pairs)
        )


def _joined(first: Candidate, second: Candidate, trace: Trace, schedule: Schedule) -> Repair:
    one, two = (repair_of(c, schedule.source, trace) for c in (first, second))
    title = f"{one.title}; then {two.title[:1].lower()}{two.title[1:]}"
    diff = unified_diff(schedule.text, two.text, schedule.source)
    return dataclasses.replace(two, kind="several", title=title, diff=diff, doubt=one.doubt + two.doubt + 1)
