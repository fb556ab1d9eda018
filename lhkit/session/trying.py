"""What can be done with a handle: ops of the catalogue, tried as one step more on a copy of the payload."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.model.catalogue import Catalogue
from lhkit.model.errors import LhkitError, WorkerError, error_for, usage_error
from lhkit.model.failure import Failure
from lhkit.model.forms import TypedName
from lhkit.model.jsonable import from_json
from lhkit.model.own_catalogue import with_own_ops
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.tried import Subject, Tried
from lhkit.schedule.candidates import Candidate, candidates_for
from lhkit.schedule.edits_handles import find_definition
from lhkit.schedule.edits_steps import insert_step
from lhkit.schedule.handles import Definition
from lhkit.schedule.layout import cut
from lhkit.schedule.ranges import type_of
from lhkit.schedule.script import Script, StepRef, is_terminator
from lhkit.schedule.syntax import read_syntax
from lhkit.session.catalogues import load_catalogue
from lhkit.session.editing import read_script
from lhkit.session.loading import describe_schedule, describe_sources
from lhkit.session.own_ops import known_own_ops
from lhkit.session.workers import shared_worker
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

# The first results should come at once, and a death costs what was in the batch with it.
_FIRST_BATCH, _BATCH = 2, 8
_MARK = "lhkit.given0"
_MOST_REASON = 160
_WRONG_NAME = re.compile(r"incompatible payload operation name expected (\S+) vs (\S+)")


def trying_worker() -> Worker:
    """Return the worker in which steps are tried: what takes it down takes nothing else with it.

    It has the ops of one's own that the session's worker has.
    """
    worker, wanted = _spare_worker(), shared_worker().preparation
    if worker.preparation != wanted:
        worker.restart_with(list(wanted))
    return worker


@functools.cache
def _spare_worker() -> Worker:
    worker = Worker()
    atexit.register(worker.close)
    return worker


def try_ops(
    payload: Payload,
    schedule: Schedule,
    handle: str,
    at_step: StepRef | None = None,
    *,
    seconds: float = 1.0,
    catalogue: Catalogue | None = None,
    worker: Worker | None = None,
) -> Iterator[Tried]:
    """Try the ops of the catalogue on a handle, and yield what came of each as soon as it is known.

    Usual ops come first, those that are known to take the compiler down last; `rank_tried` orders them by use.
    Nothing is changed, and whoever stops taking results stops the trying.

    Args:
        payload: What the schedule is applied to.
        schedule: The schedule; steps of its entry behind ``at_step`` are left out.
        handle: The handle, as it is written (``%tiled``, ``%loops#1``).
        at_step: The step behind which to try, one of the entry's own; default the one that defines the handle.
        seconds: How long one op may take beyond the schedule itself.
        catalogue: The catalogue; default that of the bindings.
        worker: Another worker than `trying_worker`.

    Raises:
        UsageError: There is no such handle or step, or it is a parameter, or the step is not in the entry.
        ScheduleError: The schedule itself does not apply up to there.
    """
    worker = worker or trying_worker()
    script = read_script(schedule, worker=worker)
    bench = _Bench(payload, schedule, *_cut_behind(script, schedule, handle, at_step), worker, seconds)
    typed = TypedName(handle, _type_of(script, schedule, handle))
    started = time.perf_counter()
    before = bench.begin(typed)
    bench = dataclasses.replace(bench, usual_seconds=time.perf_counter() - started)
    candidates = candidates_for(typed, before.subject, catalogue or _catalogue(worker))
    waiting = [c for c in candidates if c.text]
    batches = _batches([c for c in waiting if not c.is_risky])
    for batch in (*batches, *([c] for c in waiting if c.is_risky)):
        yield from bench.run(batch, before)
    for candidate in candidates:
        if candidate.needs:
            op = candidate.op
            yield Tried(op.name, "", "not-tried", f"it needs {candidate.needs}", op.sentence)


def _catalogue(worker: Worker) -> Catalogue:
    return with_own_ops(load_catalogue(worker), known_own_ops(worker))


def _batches(candidates: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    yield candidates[:_FIRST_BATCH]
    for at in range(_FIRST_BATCH, len(candidates), _BATCH):
        yield candidates[at : at + _BATCH]


@dataclass(frozen=True, slots=True)
class _Before:
    """The payload before the step that is tried, and the handle in it."""

    counts: Mapping[str, int]
    digest: str
    subject: Subject


@dataclass(frozen=True, slots=True)
class _Bench:
    """Where candidates are tried: the schedule cut behind a step, with room for one more."""

    payload: Payload
    schedule: Schedule
    script: Script
    after: StepRef | None
    worker: Worker
    seconds: float
    usual_seconds: float = 0.0

    def begin(self, handle: TypedName) -> _Before:
        """Apply what is there already, and look at the handle."""
        mark = ""
        if not handle.type.startswith("!transform.any_value"):
            mark = f'transform.annotate {handle.name} "{_MARK}" : {handle.type}'
        text = self._text(mark) if mark else self.script.text
        (outcome,) = self._ask([text], None)
        if outcome["failed"] is not None:
            message = f"{self.schedule.source} does not apply up to there: {outcome['failed']}"
            raise error_for(Failure("definite", message))
        subject = from_json(Subject, outcome["given"][0]) if mark else Subject()
        return _Before(outcome["counts"], outcome["digest"], subject)

    def run(self, candidates: Sequence[Candidate], before: _Before) -> Iterator[Tried]:
        """Try candidates in one request; one that takes the worker down is left out of the next."""
        waiting = list(candidates)
        while waiting:
            # Nearly all take as long as the schedule does; one may take longer.
            limits = Limits(self.seconds + 4 * self.usual_seconds * len(waiting))
            try:
                outcomes = self._ask([self._text(c.text) for c in waiting], limits)
            except WorkerError as error:
                stage = error.failure.stage
                if stage is None or not stage.isdecimal():  # it did not come to any of them
                    raise
                # Those before it are tried again: their answer was lost with the worker.
                yield _died(waiting.pop(int(stage)), error)
                # The next worker loads its parts now, so that the first candidate does not pay for them.
                self._ask([self.script.text], None)
                continue
            yield from (_tried(c, o, before) for c, o in zip(waiting, outcomes, strict=True))
            return

    def _text(self, step: str) -> str:
        entry = f"@{self.schedule.entry}"
        place = {"inside": entry} if self.after is None else {"after": self.after}
        return insert_step(self.script, step, **place).text

    def _ask(self, texts: list[str], limits: Limits | None) -> list[dict[str, Any]]:
        described, body = describe_sources([(self.payload.source, self.payload.content)], role="payload")
        more, more_body, parts = describe_schedule(self.schedule)
        fields = {"sources": described + more, "schedule": parts, "texts": texts}
        answer = self.worker.request("try_steps", fields, body + more_body, limits=limits)
        return list(answer.header["outcomes"])


def _cut_behind(
    script: Script, schedule: Schedule, handle: str, at_step: StepRef | None
) -> tuple[Script, StepRef | None]:
    """Return the script without the entry's steps behind one, and that step's number; None for the last."""
    entry = script.find(f"@{schedule.entry}")
    block = entry.regions[0].blocks[0]
    if at_step is None:
        at_step = script.number_of(_definition(script, schedule, handle).op)
    step = script.find(at_step)
    if step.start == entry.start:
        later = [op for op in block.ops if not is_terminator(op)]
    elif all(op.start != step.start for op in block.ops):
        raise script.refusal(
            f"{script.describe(step)} is not a step of @{schedule.entry} itself",
            step,
            "Ops are tried behind steps of the entry, not inside of others.",
        )
    else:
        later = [op for op in block.ops if op.start > step.start and not is_terminator(op)]
    if not later:
        return _consuming(script, schedule), None
    edited = script.edited([cut(script.text, later[0], later[-1])], "cut")
    return _consuming(Script(edited.text, script.source), schedule), None


def _consuming(script: Script, schedule: Schedule) -> Script:
    """Return a script whose entry may consume what it is given: what is tried may want to."""
    entry = script.find(f"@{schedule.entry}")
    start, end = entry.start, entry.regions[0].start
    head = script.text[start:end].replace("transform.readonly", "transform.consumed")
    return Script(script.text[:start] + head + script.text[end:], script.source)


def _definition(script: Script, schedule: Schedule, handle: str) -> Definition:
    """Return the definition of a handle: the entry's, where other sequences have one of that name."""
    entry = script.find(f"@{schedule.entry}")
    name = handle.partition("#")[0]
    named = [d for d in script.handles.definitions if d.name.text == name]
    inside = [d for d in named if entry.start <= d.name.start < entry.end]
    return inside[0] if len(inside) == 1 else find_definition(script, name)


def _type_of(script: Script, schedule: Schedule, handle: str) -> str:
    definition = _definition(script, schedule, handle)
    if handle not in definition.name.values:
        listed = ", ".join(definition.name.values)
        raise usage_error(f"{handle} is no single handle; {script.source} defines {listed}")
    type_ = type_of(script, definition, handle)
    if type_.startswith(("!transform.param", "!transform.any_param")):
        raise usage_error(f"{handle} is a parameter; ops are tried on handles to payload")
    return type_


def _died(candidate: Candidate, error: LhkitError) -> Tried:
    op = candidate.op
    if error.failure.kind == "crash":
        return Tried(op.name, candidate.text, "crashes", "it takes the compiler down", op.sentence)
    what = "memory" if error.failure.kind == "memory" else "time"
    return Tried(op.name, candidate.text, "stopped", f"it takes too much {what}", op.sentence)


def _tried(candidate: Candidate, outcome: Mapping[str, Any], before: _Before) -> Tried:
    op, text = candidate.op, candidate.text
    if outcome["failed"] is not None:
        wrong = _WRONG_NAME.match(outcome["failed"])
        reason = f"it takes {wrong[1]}, not {wrong[2]}" if wrong else _short(outcome["failed"])
        return Tried(op.name, text, "fails", reason, op.sentence)
    after = outcome["counts"]
    names = sorted({*after, *before.counts})
    changed = ((n, after.get(n, 0) - before.counts.get(n, 0)) for n in names)
    counts = tuple((n, c) for n, c in changed if c)
    values = read_syntax(text).ops[-1].values
    subjects = [from_json(Subject, s) for s in outcome["given"]]
    gives = tuple((v, _points_to(s)) for v, s in zip(values, subjects, strict=False))
    has_effect = outcome["digest"] != before.digest
    reason = _effect(counts) if has_effect else _gift(gives)
    return Tried(op.name, text, "effect" if has_effect else "no-effect", reason, op.sentence, counts, gives)


def _points_to(subject: Subject) -> str:
    counted = {name: subject.names.count(name) for name in dict.fromkeys(subject.names)}
    return ", ".join(f"{count} {name}" for name, count in counted.items())


def _effect(counts: Sequence[tuple[str, int]]) -> str:
    listed = ", ".join(f"{'+' if c > 0 else '−'}{abs(c)} {n}" for n, c in counts)
    return _short(listed) if listed else "changes ops in place"


def _gift(gives: Sequence[tuple[str, str]]) -> str:
    given = [f"{name}: {points_to}" for name, points_to in gives if points_to]
    return _short("; ".join(given)) if given else "changes nothing"


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0].rstrip(" :->")
    return line if len(line) <= _MOST_REASON else line[: _MOST_REASON - 1] + "…"
