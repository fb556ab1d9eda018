"""Repairs that were tried: candidates applied to a copy of the text, traced, and kept if they help."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.load.loader import load_schedule, parse_text
from lhkit.load.verified_edits import read_script
from lhkit.model.errors import LhkitError, ScheduleError, UsageError
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.repair import Repair, Repairs
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.repairs.candidate import Candidate, corresponding_ops, unified_diff
from lhkit.repairs.candidates import candidates_for, situations
from lhkit.repairs.judging import judge_repair
from lhkit.repairs.repair_context import Situation
from lhkit.repairs.unloadable_text import candidates_for_text
from lhkit.text.script import Script
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.traces.report.upstream_module import provenance_of
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

DEFAULT_LIMIT = 3
# For one candidate; a repair that takes longer is no repair.
_TRIAL_LIMITS = Limits(seconds=20.0)
# A schedule may fail again behind a repair; so many are put together.
_MOST_TOGETHER = 3
# Kinds of repairs after which a step should act on as many payload ops as it was written for.
_SAME_PAYLOAD = ("use-result", "match-again", "move-before")


def find_repairs(
    payload: Payload,
    schedule: Schedule,
    trace: Trace | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    seconds: float | None = None,
    stop: Callable[[], bool] | None = None,
    worker: Worker | None = None,
) -> tuple[Repair, ...]:
    """Return repairs of a schedule that fails, or in which a match finds nothing; the best first.

    Each was applied to a copy of the text and traced: the step passes, and no other does worse. Those after
    which the whole schedule passes come first, then those that leave the least doubt about what was meant, then
    the smallest.

    Args:
        payload: What the schedule is applied to.
        schedule: The schedule; it is not changed.
        trace: Its trace, if there is one already.
        limit: How many repairs to return at most.
        seconds: How long to look; what was found until then is returned.
        stop: Asked between two candidates; True ends the search.
        worker: Another worker than the session's.
    """
    deadline = None if seconds is None else time.monotonic() + seconds

    def is_over() -> bool:
        late = deadline is not None and time.monotonic() >= deadline
        return late or (stop is not None and stop())

    search = _Search(payload, worker, is_over)
    return _best(search.run(schedule, trace, limit, _MOST_TOGETHER), limit)


def repairs_of(trace: Trace, *, limit: int = DEFAULT_LIMIT, seconds: float | None = None) -> Repairs:
    """Return repairs of the schedule that a trace is of; the best first.

    Args:
        trace: The trace.
        limit: How many repairs to return at most.
        seconds: How long to look; what was found until then is returned.

    Raises:
        UsageError: Payload and schedule are not known: the trace was read from JSON.
    """
    origin = provenance_of(trace)
    return Repairs(find_repairs(origin.payload, origin.schedule, trace, limit=limit, seconds=seconds))


def find_text_repairs(
    payload: Payload,
    error: ScheduleError,
    *,
    entry: str | None = None,
    knobs: Mapping[str, KnobValue] | None = None,
    bind: Sequence[str] = (),
    libraries: Sequence[str | os.PathLike[str]] = (),
    limit: int = DEFAULT_LIMIT,
    seconds: float | None = None,
    worker: Worker | None = None,
) -> tuple[Repair, ...]:
    """Return repairs of a schedule that does not parse or does not verify; the best first.

    With each of them it loads. Where it then fails in a later step, repairs of that are put together with it.

    Args:
        payload: What the schedule is to be applied to.
        error: What `load_schedule` raised.
        entry: As for `load_schedule`.
        knobs: Likewise.
        bind: Likewise.
        libraries: Likewise.
        limit: How many repairs to return at most.
        seconds: How long to look; what was found until then is returned.
        worker: Another worker than the session's.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    search = _Search(payload, worker, lambda: deadline is not None and time.monotonic() >= deadline)

    def load(text: str, source: str) -> Schedule:
        return load_schedule(
            text,
            entry=entry,
            knobs=knobs,
            bind=bind,
            libraries=libraries,
            name=source,
            worker=worker,
            limits=_TRIAL_LIMITS,
        )

    return _best(search.run_text(error, load, limit, _MOST_TOGETHER), limit)


@dataclass(frozen=True, slots=True)
class _Tried:
    """A repair with the schedule and the trace that it gives, None where it does not load yet.

    Repairs of one group do the same in other ways, so one of them is enough.
    """

    repair: Repair
    pieces_changed: int
    applied: tuple[Schedule, Trace] | None
    group: str


def _rank(tried: _Tried) -> tuple[bool, int, int, int]:
    repair = tried.repair
    return not repair.passes_whole, repair.doubt, repair.characters_changed, tried.pieces_changed


def _best(found: Iterable[_Tried], limit: int) -> tuple[Repair, ...]:
    """Return the best repairs; of those that give the same text or do the same, the first."""
    distinct: dict[str, Repair] = {}
    groups: set[str] = set()
    for tried in sorted(found, key=_rank):
        if tried.group not in groups:
            groups.add(tried.group)
            distinct.setdefault(tried.repair.text, tried.repair)
    return tuple(distinct.values())[:limit]


@dataclass(frozen=True, slots=True)
class _Search:
    payload: Payload
    worker: Worker | None
    is_over: Callable[[], bool]

    def run(self, schedule: Schedule, trace: Trace | None, limit: int, most_together: int) -> Iterator[_Tried]:
        """Yield what lets the whole schedule pass; if nothing does, what helps in part or together."""
        trace = trace or trace_schedule(self.payload, schedule, worker=self.worker)
        try:
            script = read_script(schedule, worker=self.worker)
        except UsageError:  # the text is not read as it is parsed: an edit might change something else
            return
        partly: list[_Tried] = []
        whole: set[str] = set()
        for situation in situations(trace, script):
            best: int | None = None
            done: set[str] = set()
            for each in candidates_for(situation):
                if self.is_over() or (len(whole) >= limit and best is not None and each.doubt > best):
                    break
                group = each.group or each.title
                tried = None if group in done else self._try(situation, schedule, each)
                if tried is None:
                    continue
                if tried.repair.doubt == each.doubt:
                    done.add(group)
                if tried.repair.passes_whole:
                    whole.add(group)
                    best = max(best or 0, tried.repair.doubt)
                    yield tried
                else:
                    partly.append(tried)
            if whole:
                return
        yield from partly
        if most_together > 1:
            yield from self._together(schedule, partly, limit, most_together)

    def _together(
        self, schedule: Schedule, partly: Sequence[_Tried], limit: int, most: int
    ) -> Iterator[_Tried]:
        """Yield what the best repair that is not enough gives together with repairs of what fails next."""
        for first in sorted(partly, key=_rank)[:1]:
            if first.applied is None or first.applied[1].outcome.failed_step is None:
                continue
            for second in self.run(*first.applied, limit, most - 1):
                yield _joined(schedule.text, schedule.source, first, second)

    def run_text(
        self, error: ScheduleError, load: Callable[[str, str], Schedule], limit: int, most_together: int
    ) -> Iterator[_Tried]:
        """Yield what lets a text load, alone or together with what repairs the next failure."""
        first = error.failure.diagnostics[0] if error.failure.diagnostics else None
        texts = dict(error.failure.texts)
        if first is None or first.span is None or first.span.file not in texts:
            return
        source, text = first.span.file, texts[first.span.file]
        for each in candidates_for_text(Script(text, source), first):
            if self.is_over():
                return
            try:
                schedule = load(each.edited.text, source)
                trace = trace_schedule(self.payload, schedule, worker=self.worker, limits=_TRIAL_LIMITS)
            except ScheduleError as next_error:
                if most_together > 1 and _is_other(error, next_error):
                    alone = _Tried(_repair(each, source), len(each.edited.replacements), None, each.title)
                    for rest in self.run_text(next_error, load, limit, most_together - 1):
                        yield _joined(text, source, alone, rest)
                continue
            except LhkitError:  # no schedule to trace: it helps no more than the text as it was
                continue
            applied = (schedule, trace)
            tried = _Tried(_repair(each, source, trace), len(each.edited.replacements), applied, each.title)
            yield tried
            if most_together > 1 and not tried.repair.passes_whole:
                for rest in self.run(schedule, trace, limit, most_together - 1):
                    yield _joined(text, source, tried, rest)

    def _try(self, situation: Situation, schedule: Schedule, candidate: Candidate) -> _Tried | None:
        """Return a candidate as a repair if its trace says that it helps."""
        try:
            changed, _ = parse_text(schedule, candidate.edited.text, worker=self.worker, limits=_TRIAL_LIMITS)
            trace = trace_schedule(self.payload, changed, worker=self.worker, limits=_TRIAL_LIMITS)
        except LhkitError:  # it does not even load: no repair
            return None
        verdict = judge_repair(
            situation,
            trace,
            Script(changed.text, changed.source),
            corresponding_ops(candidate.edited),
            same_payload=candidate.kind in _SAME_PAYLOAD,
        )
        if not verdict.helps:
            return None
        repair = _repair(candidate, schedule.source, trace, verdict.doubt)
        pieces = len(candidate.edited.replacements)
        return _Tried(repair, pieces, (changed, trace), candidate.group or candidate.title)


def _is_other(before: ScheduleError, after: ScheduleError) -> bool:
    """Return True if what the compiler says first is something else now."""
    one, two = (e.failure.diagnostics[0] for e in (before, after) if e.failure.diagnostics)
    return (one.message, [n.message for n in one.notes]) != (two.message, [n.message for n in two.notes])


def _repair(candidate: Candidate, source: str, trace: Trace | None = None, doubt: int = 0) -> Repair:
    return Repair(
        kind=candidate.kind,
        title=candidate.title,
        text=candidate.edited.text,
        diff=unified_diff(candidate.edited.before, candidate.edited.text, source),
        passes_whole=trace is not None and trace.outcome.status == "ok",
        characters_changed=candidate.characters_changed,
        doubt=candidate.doubt + doubt,
        note=_next_failure(trace) if trace is not None else None,
    )


def _next_failure(trace: Trace) -> str | None:
    """Return where a schedule fails next, as a sentence."""
    if trace.outcome.failed_step is None:
        return None
    step = trace.step_records[trace.outcome.failed_step]
    return f"Then step {step.index} ({step.op}) fails: {trace.outcome.kind}."


def _joined(before: str, source: str, first: _Tried, second: _Tried) -> _Tried:
    one, two = first.repair, second.repair
    repair = Repair(
        kind="several",
        title=f"{one.title}; then {two.title[:1].lower()}{two.title[1:]}",
        text=two.text,
        diff=unified_diff(before, two.text, source),
        passes_whole=two.passes_whole,
        characters_changed=one.characters_changed + two.characters_changed,
        doubt=one.doubt + two.doubt + 1,
        note=two.note,
    )
    pieces = first.pieces_changed + second.pieces_changed
    return _Tried(repair, pieces, second.applied, f"{first.group}; {second.group}")
