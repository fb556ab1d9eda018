"""Search for repairs: candidates of each cause, applied to a copy, traced, and judged."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lhkit.load.loader import load_schedule, parse_text
from lhkit.load.verified_edits import read_script
from lhkit.model.errors import LhkitError, ScheduleError, UsageError
from lhkit.model.explanation import Repair, Repairs
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace, TraceStep
from lhkit.repairs.candidate_filter import promising_candidates
from lhkit.repairs.dead_handles import propose_deduplication, propose_fusion_order, propose_live_handles
from lhkit.repairs.intended_ops import (
    propose_generalized,
    propose_missing_match,
    propose_missing_producer,
    propose_other_ops,
)
from lhkit.repairs.missing_matches import propose_missing_parts
from lhkit.repairs.other_handles import propose_split_order, propose_yielded
from lhkit.repairs.repair_context import (
    Candidate,
    RepairContext,
    corresponding_ops,
    distinct,
    op_at,
    unified_diff,
)
from lhkit.repairs.repaired_payload import payload_in_a_line
from lhkit.repairs.silent_mistakes import (
    propose_for_block,
    propose_for_warning,
    silent_contexts,
    suppressed_contexts,
    warnings_left,
)
from lhkit.repairs.trial_verdicts import fails_otherwise, judge_repair, judge_silent
from lhkit.repairs.unloadable_text import propose_for_text
from lhkit.repairs.wrong_arguments import (
    propose_generic,
    propose_merged,
    propose_operand_numbers,
    propose_padding,
    propose_split_factors,
)
from lhkit.repairs.wrong_kinds import (
    propose_counts,
    propose_for_empty_match,
    propose_kinds,
    propose_narrower_match,
    propose_other_loops,
)
from lhkit.repairs.wrong_sizes import SIZES_BEFORE, propose_sizes_before
from lhkit.text.script import Script
from lhkit.traces.explain.handle_explanation import explain_failure
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.traces.report.markdown_report import provenance_of
from lhkit.traces.warnings.strided_fusion import has_wrong_numbers
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

Proposal = Callable[[RepairContext], Iterator[Candidate]]

# To add a repair, write a module with a function that yields candidates, and list the function here.
_FOR_HANDLES: tuple[Proposal, ...] = (
    propose_operand_numbers,
    propose_split_order,
    propose_yielded,
    propose_live_handles,
    propose_deduplication,
    propose_for_block,
    propose_other_ops,
    propose_missing_producer,
)
# For failures that are not about invalid or repeated handles.
_FOR_ARGUMENTS: tuple[Proposal, ...] = (
    propose_generic,
    propose_merged,
    propose_padding,
    propose_split_factors,
    propose_counts,
    propose_kinds,
    propose_narrower_match,
    propose_other_loops,
    propose_fusion_order,
    propose_missing_match,
    propose_missing_parts,
    propose_sizes_before,
)


def candidates_for(context: RepairContext) -> list[Candidate]:
    """Return the candidates for a step, in the order in which they are tried."""
    if _is_zero_match(context.step):
        proposed = (propose_for_empty_match(context), propose_generalized(context))
        return distinct(itertools.chain(*proposed))
    proposals = _FOR_HANDLES
    if context.trace.outcome.kind not in ("invalidated-handle", "repeated-payload"):
        proposals += _FOR_ARGUMENTS
    return distinct(candidate for propose in proposals for candidate in propose(context))


def repairable_contexts(trace: Trace, script: Script) -> Iterator[tuple[str | None, RepairContext]]:
    """Yield the steps to repair, each with the kind of its warning where there is nothing but a warning."""
    status = trace.outcome.status
    silent = list(silent_contexts(trace, script)) if status in ("ok", "crashed") else []
    # A match of another op than the one that it is named for may be why a later one finds nothing.
    yield from (each for each in silent if each[0] == "other-op-named")
    if status == "failed":
        yield from ((None, context) for context in suppressed_contexts(trace, script))
    yield from ((None, context) for context in contexts(trace, script))
    yield from (each for each in silent if each[0] != "other-op-named")


def contexts(trace: Trace, script: Script) -> Iterator[RepairContext]:
    """Yield the steps to repair: empty matches, and the failed one or those whose failure was suppressed."""
    failed = trace.outcome.failed_step
    steps: list[TraceStep] = []
    if failed is not None and trace.outcome.status == "failed":
        origins = empty_origins(trace, trace.step_records[failed])
        # A match that found nothing may be the cause where no handle leads from it to the failure.
        others = [s for s in reversed(trace.step_records[:failed]) if _is_zero_match(s) and s not in origins]
        steps = [*origins, *others, trace.step_records[failed]]
    elif trace.outcome.status == "ok":
        steps = [s for s in trace.step_records if _is_zero_match(s) or _is_suppressed(s)]
    for step in steps:
        op = op_at(script, step)
        if op is not None:
            yield RepairContext(trace, script, step, op)


def _is_zero_match(step: TraceStep) -> bool:
    return any(w.kind == "zero-match" for w in step.warnings)


def _is_suppressed(step: TraceStep) -> bool:
    return any(w.kind == "suppressed-failure" for w in step.warnings)


def empty_origins(trace: Trace, step: TraceStep) -> list[TraceStep]:
    """Return the matches that left operands of a step empty, the last first."""
    by_result = {r: s for s in trace.step_records for r in s.results}
    found: dict[int, TraceStep] = {}
    waiting = [o.handle for o in step.operands]
    seen: set[str] = set()
    while waiting:
        handle = waiting.pop()
        maker = by_result.get(handle)
        if handle in seen or maker is None or maker.index >= step.index:
            continue
        seen.add(handle)
        if _is_zero_match(maker):
            found[maker.index] = maker
        elif any(c.handle == handle and c.state == "empty" for c in maker.changes):
            waiting += [o.handle for o in maker.operands]
    return [found[i] for i in sorted(found, reverse=True)]


DEFAULT_LIMIT = 3
# Limits of one trial.
_TRIAL_LIMITS = Limits(seconds=20.0)
# Candidates with so much more doubt than a repair that was found are not tried.
_FAR = 2
# A schedule may fail again after a repair; at most so many are combined.
_MOST_TOGETHER = 3
# Kinds of repairs after which a step should act on as many payload ops as it was written for.
_SAME_PAYLOAD = ("use-result", "match-again", "move-before")
# Where no repair lets a step pass, so many are tried for what else is wrong with it.
_MOST_UNCOVERING = 4


def find_repairs(
    payload: Payload,
    schedule: Schedule,
    trace: Trace | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    seconds: float | None = None,
    stop: Callable[[], bool] | None = None,
    on_first: Callable[[Repair], None] | None = None,
    worker: Worker | None = None,
) -> tuple[Repair, ...]:
    """Return repairs of a schedule that fails, or that passes with a warning; the best first.

    Each was applied to a copy of the text and traced: the step passes, and no other does worse; of one that
    passes, there are fewer warnings. Repairs after which the whole schedule passes come first, then those with
    the least doubt and the fewest warnings left, then the smallest. ``on_first`` is told the first that is
    found; there may be better ones.
    """
    search = _Search(payload, worker, _cancellation(seconds, stop), _once(on_first))
    found = list(search.run(schedule, trace, limit, _MOST_TOGETHER))
    return _best(found, limit, search.with_warnings(schedule.text, schedule.source, found, limit))


def repairs_of(trace: Trace, *, limit: int = DEFAULT_LIMIT, seconds: float | None = None) -> Repairs:
    """Return repairs of the schedule that a trace is of; the best first."""
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
    """Return repairs of a schedule that does not load; the best first.

    ``error`` is what `load_schedule` raised; ``entry``, ``knobs``, ``bind`` and ``libraries`` are its
    arguments.
    """
    search = _Search(payload, worker, _cancellation(seconds))
    options: dict[str, Any] = {"entry": entry, "knobs": knobs, "bind": bind, "libraries": libraries}
    load = partial(load_schedule, **options, worker=worker, limits=_TRIAL_LIMITS)
    found = list(search.run_text(error, load, limit, _MOST_TOGETHER))
    script = _script_of(error)
    joined = search.with_warnings(script.text, script.source, found, limit) if script is not None else ()
    return _best(found, limit, joined)


def _cancellation(seconds: float | None, stop: Callable[[], bool] | None = None) -> Callable[[], bool]:
    """Return whether the time limit is exceeded or the search is cancelled."""
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    ended: list[bool] = []

    def is_over() -> bool:
        if not ended and (time.monotonic() >= deadline or (stop is not None and stop())):
            ended.append(True)
        return bool(ended)

    return is_over


def _once(call: Callable[[Repair], None] | None) -> Callable[[Repair], None]:
    """Return a function that passes on its first call alone, or none without a function to call."""
    waiting = [call] if call is not None else []
    return lambda repair: waiting.pop()(repair) if waiting else None


@dataclass(frozen=True, slots=True)
class _Tried:
    """A repair with the schedule and the trace that it gives, None where it does not load yet."""

    repair: Repair
    pieces_changed: int
    applied: tuple[Schedule, Trace] | None
    group: str

    @property
    def warnings(self) -> int:
        """How many warnings are left with it."""
        return warnings_left(self.applied[1]).total() if self.applied else 0


def _rank(tried: _Tried) -> tuple[bool, int, int, int]:
    repair = tried.repair
    doubt = repair.doubt + tried.warnings
    return not repair.passes_whole, doubt, repair.characters_changed, tried.pieces_changed


def _best(found: Iterable[_Tried], limit: int, joined: Iterable[_Tried] = ()) -> tuple[Repair, ...]:
    """Return the first repairs by rank, with what their final payload is like.

    The best of those that are joined with repairs of warnings comes behind the one that it is made of.
    """
    distinct: dict[str, _Tried] = {}
    groups: set[str] = set()
    alone, both = sorted(found, key=_rank), sorted(joined, key=_rank)
    for tried in [*alone[:1], *both[:1], *sorted([*alone[1:], *both[1:]], key=_rank)]:
        if tried.group not in groups:
            groups.add(tried.group)
            distinct.setdefault(tried.repair.text, tried)
    return tuple(map(_with_payload, itertools.islice(distinct.values(), limit)))


def _with_payload(tried: _Tried) -> Repair:
    if tried.applied is None or not tried.repair.passes_whole:
        return tried.repair
    trace = tried.applied[1]
    kinds = tuple(warnings_left(trace))
    return dataclasses.replace(tried.repair, payload=payload_in_a_line(trace), warnings=kinds)


# Where so many alternatives of a group were no repair, the others of the group are tried last.
_MOST_IN_VAIN = 2


def _other_groups_first(
    candidates: Iterable[tuple[Candidate, bool]], in_vain: Mapping[str, int]
) -> Iterator[tuple[Candidate, bool]]:
    """Yield candidates in their order, but those of groups of which several were tried in vain at the end."""
    put_off: list[tuple[Candidate, bool]] = []
    for each in candidates:
        if each[0].group and in_vain[each[0].group] >= _MOST_IN_VAIN:
            put_off.append(each)
        else:
            yield each
    yield from put_off


@dataclass(frozen=True, slots=True)
class _Search:
    payload: Payload
    worker: Worker | None
    is_over: Callable[[], bool]
    on_found: Callable[[Repair], None] = lambda _: None

    def run(self, schedule: Schedule, trace: Trace | None, limit: int, most_together: int) -> Iterator[_Tried]:
        """Yield repairs after which the whole schedule passes; if there are none, partial and combined ones."""
        trace = trace or trace_schedule(self.payload, schedule, worker=self.worker)
        try:
            script = read_script(schedule, worker=self.worker)
        except UsageError:  # the text is not read as it is parsed: an edit might change something else
            return
        partly: list[_Tried] = []
        whole: set[str] = set()
        for kind, context in repairable_contexts(trace, script):
            best: int | None = None
            done: set[str] = set()
            proposed = candidates_for(context) if kind is None else distinct(propose_for_warning(kind, context))
            later: list[Candidate] = []
            in_vain: Counter[str] = Counter()
            promising = self._promising(context, schedule, proposed, kind)
            for each, fails_elsewhere in _other_groups_first(promising, in_vain):
                is_worse = best is not None and each.doubt > best + (0 if len(whole) >= limit else _FAR)
                if self.is_over() or is_worse:
                    break
                if fails_elsewhere:
                    later.append(each)
                    continue
                tried = self._try_unless_done(context, schedule, each, kind, done)
                in_vain[each.group] += tried is None
                if tried is not None and tried.repair.passes_whole:
                    whole.add(each.group or each.title)
                    best = max(best or 0, tried.repair.doubt)
                    yield tried
                elif tried is not None:
                    partly.append(tried)
            if whole:
                return
            partly += self._partial(context, schedule, later, done, limit)
        yield from partly or self._uncovering(schedule, trace, script)
        first = min(partly, key=_rank, default=None)
        if most_together > 1 and first and first.applied and first.applied[1].outcome.failed_step is not None:
            for second in self.run(*first.applied, limit, most_together - 1):
                yield _joined(schedule.text, schedule.source, first, second)

    def with_warnings(self, text: str, source: str, found: Sequence[_Tried], limit: int) -> Iterator[_Tried]:
        """Yield the best repair joined with those of the warnings that it leaves.

        With two mistakes of which one is silent, the repair of the other one is only half of what is needed.
        """
        whole = [t for t in found if t.repair.passes_whole and t.applied]
        first = min(whole, key=_rank, default=None)
        if first is not None and first.applied and first.warnings:
            for second in self.run(*first.applied, limit, 1):
                if second.repair.passes_whole:
                    yield _joined(text, source, first, second)

    def _promising(
        self, context: RepairContext, schedule: Schedule, proposed: Sequence[Candidate], kind: str | None
    ) -> Iterator[tuple[Candidate, bool]]:
        must_pass, limits = kind is not None, _TRIAL_LIMITS
        return promising_candidates(
            context,
            self.payload,
            schedule,
            proposed,
            must_pass=must_pass,
            limits=limits,
            worker=self.worker,
        )

    def _partial(
        self,
        context: RepairContext,
        schedule: Schedule,
        candidates: Sequence[Candidate],
        done: set[str],
        limit: int,
    ) -> list[_Tried]:
        """Return the best repairs after which another step fails, as many as are wanted."""
        found: dict[str, _Tried] = {}
        for each in candidates:
            # What is found with the next ones has their doubt at least.
            if self.is_over() or sum(_rank(t)[1] < each.doubt for t in found.values()) >= limit:
                break
            tried = self._try_unless_done(context, schedule, each, None, done)
            if tried is not None and (tried.group not in found or _rank(tried) < _rank(found[tried.group])):
                found[tried.group] = tried
        return list(found.values())

    def _try_unless_done(
        self,
        context: RepairContext,
        schedule: Schedule,
        candidate: Candidate,
        kind: str | None,
        done: set[str],
    ) -> _Tried | None:
        """Try a candidate unless one of its group is as good as it can be."""
        group = candidate.group or candidate.title
        tried = None if group in done else self._try(context, schedule, candidate, kind)
        if tried is not None and tried.repair.doubt == candidate.doubt:
            done.add(group)
        return tried

    def _uncovering(self, schedule: Schedule, trace: Trace, script: Script) -> Iterator[_Tried]:
        """Yield the first repair of an invalidated handle after which its step fails for another reason."""
        failed = trace.outcome.failed_step
        if trace.outcome.kind != "invalidated-handle" or failed is None:
            return
        for context in contexts(trace, script):
            if context.step.index != failed:
                continue
            close = (c for c in candidates_for(context) if c.kind in _SAME_PAYLOAD)
            for each in itertools.islice(close, _MOST_UNCOVERING):
                tried = None if self.is_over() else self._try(context, schedule, each, None, uncovers=True)
                if tried is not None:
                    yield tried
                    return

    def run_text(
        self, error: ScheduleError, load: Callable[..., Schedule], limit: int, most_together: int
    ) -> Iterator[_Tried]:
        """Yield repairs after which a text loads, alone or combined with repairs of the next failure."""
        script = _script_of(error)
        if script is None:
            return
        source, text = script.source, script.text
        for each in propose_for_text(script, error.failure.diagnostics[0]):
            if self.is_over():
                return
            try:
                schedule = load(each.edited.text, name=source)
                trace = trace_schedule(self.payload, schedule, worker=self.worker, limits=_TRIAL_LIMITS)
            except ScheduleError as next_error:
                if most_together > 1 and _said(error) != _said(next_error):
                    alone = _Tried(repair_of(each, source), len(each.edited.replacements), None, each.title)
                    for rest in self.run_text(next_error, load, limit, most_together - 1):
                        yield _joined(text, source, alone, rest)
                continue
            except LhkitError:  # no schedule to trace: it helps no more than the text as it was
                continue
            applied = (schedule, trace)
            tried = _Tried(repair_of(each, source, trace), len(each.edited.replacements), applied, each.title)
            yield tried
            if most_together > 1 and not tried.repair.passes_whole:
                for rest in self.run(schedule, trace, limit, most_together - 1):
                    yield _joined(text, source, tried, rest)

    def _try(
        self,
        context: RepairContext,
        schedule: Schedule,
        candidate: Candidate,
        kind: str | None,
        *,
        uncovers: bool = False,
    ) -> _Tried | None:
        try:
            changed, _ = parse_text(schedule, candidate.edited.text, worker=self.worker, limits=_TRIAL_LIMITS)
            trace = trace_schedule(self.payload, changed, worker=self.worker, limits=_TRIAL_LIMITS)
        except LhkitError:  # it does not even load: no repair
            return None
        if has_wrong_numbers(trace) and not has_wrong_numbers(context.trace):
            return None
        if candidate.group == SIZES_BEFORE and any(k.startswith("tile-size-") for k in warnings_left(trace)):
            return None
        doubt: int | None
        script, ops = Script(changed.text, changed.source), corresponding_ops(candidate.edited)
        if uncovers:
            doubt = 0 if fails_otherwise(context, trace, script, ops) else None
        elif kind is None:
            doubt = judge_repair(context, trace, script, ops, same_payload=candidate.kind in _SAME_PAYLOAD)
        else:
            doubt = judge_silent(context.trace, trace)
        if doubt is None:
            return None
        repair = repair_of(candidate, schedule.source, trace, doubt)
        if uncovers:
            said = f"Its step then fails for another reason: {explain_failure(trace).sentence}"
            repair = dataclasses.replace(repair, note=said)
        self.on_found(repair)
        pieces = len(candidate.edited.replacements)
        return _Tried(repair, pieces, (changed, trace), candidate.group or candidate.title)


def _script_of(error: ScheduleError) -> Script | None:
    """Return the text that the first error of a schedule which does not load is in."""
    span = error.failure.diagnostics[0].span if error.failure.diagnostics else None
    text = dict(error.failure.texts).get(span.file) if span is not None else None
    return None if span is None or text is None else Script(text, span.file)


def _said(error: ScheduleError) -> list[str]:
    return [d.message for first in error.failure.diagnostics[:1] for d in (first, *first.notes)]


def repair_of(candidate: Candidate, source: str, trace: Trace | None = None, doubt: int = 0) -> Repair:
    """Return a candidate as a repair; ``trace`` is that of the repaired text, None where it does not load."""
    note = None
    if trace is not None and trace.outcome.failed_step is not None:
        step = trace.step_records[trace.outcome.failed_step]
        note = f"Then step {step.index} ({step.op}) fails: {trace.outcome.kind}."
    return Repair(
        kind=candidate.kind,
        title=candidate.title,
        text=candidate.edited.text,
        diff=unified_diff(candidate.edited.before, candidate.edited.text, source),
        passes_whole=trace is not None and trace.outcome.status == "ok",
        characters_changed=candidate.characters_changed,
        doubt=candidate.doubt + doubt,
        note=note,
    )


def _joined(before: str, source: str, first: _Tried, second: _Tried) -> _Tried:
    one, two = first.repair, second.repair
    repair = dataclasses.replace(
        two,
        kind="several",
        title=f"{one.title}; then {two.title[:1].lower()}{two.title[1:]}",
        diff=unified_diff(before, two.text, source),
        characters_changed=one.characters_changed + two.characters_changed,
        doubt=one.doubt + two.doubt + 1,
    )
    pieces = first.pieces_changed + second.pieces_changed
    return _Tried(repair, pieces, second.applied, f"{first.group}; {second.group}")
