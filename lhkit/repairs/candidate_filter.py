"""Candidates that cannot repair a step, left out before they are traced: most fail where the schedule did."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from lhkit.load.loader import application_of, payload_source
from lhkit.load.old_spellings import as_bindings_spell
from lhkit.model.errors import LhkitError
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.repairs.repair_context import Candidate, RepairContext, op_at, shifted
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import FailedText, FindFailures

# So many are applied in a request, the first and each of the next ones; a trace of one takes about as long as
# eight, and the repair often is among the first.
_FIRST, _NEXT = 3, 8


def promising_candidates(
    context: RepairContext,
    payload: Payload,
    schedule: Schedule,
    candidates: Sequence[Candidate],
    *,
    must_pass: bool,
    limits: Limits,
    worker: Worker | None,
) -> Iterator[tuple[Candidate, bool]]:
    """Yield candidates in their order, each with whether another step is known to fail with it.

    Left out is what is known to be no repair: a text that does not load, one with which the step to repair
    fails as before, and with ``must_pass`` one with which any step fails. The first candidate is yielded as it
    is: it often is the repair.
    """
    waiting = iter(candidates)
    yield from ((each, False) for each in itertools.islice(waiting, 1))
    is_sure = must_pass or _runs_once_and_fails(context)
    at_once = itertools.chain((_FIRST,), itertools.repeat(_NEXT)) if is_sure else itertools.repeat(None)
    for most in at_once:
        several = list(itertools.islice(waiting, most))
        if not several:
            return
        failed = _failures(payload, schedule, several, limits, worker) if is_sure else [None] * len(several)
        for each, failure in zip(several, failed, strict=True):
            if failure is None or not (must_pass or _is_no_repair(context, each, failure)):
                yield each, failure is not None


def _runs_once_and_fails(context: RepairContext) -> bool:
    """Return whether the step is executed once and fails: a failure there is all that can be known of it."""
    runs = [s for s in context.trace.step_records if op_at(context.script, s) is context.op]
    return len(runs) == 1 and runs[0].status == "failed"


def _failures(
    payload: Payload,
    schedule: Schedule,
    candidates: Sequence[Candidate],
    limits: Limits,
    worker: Worker | None,
) -> Sequence[FailedText | None]:
    try:
        texts = tuple(as_bindings_spell(c.edited.text.encode(), worker, limits) for c in candidates)
        request = FindFailures(payload_source(payload), application_of(schedule), texts)
        return (worker or shared_worker()).ask(request, limits=limits).value
    except LhkitError:  # what is wrong is found when they are traced, one by one
        return [None] * len(candidates)


def _is_no_repair(context: RepairContext, candidate: Candidate, failure: FailedText) -> bool:
    if failure.place is None:
        return True
    text = candidate.edited.text
    at = shifted(context.op.name_start, candidate.edited.replacements)
    if at is None:
        return False
    place = (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
    return place == (failure.place.line, failure.place.column)
