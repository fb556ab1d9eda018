"""Trying ops and recipes on a handle: each as one more step on a copy of the payload."""

from __future__ import annotations

import atexit
import functools
import itertools
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lhkit.compose.recipes import Recipe, insert_recipe, own_recipes, recipes_to_copy, recipes_to_declare
from lhkit.compose.step_candidates import Candidate, candidates_for, recipe_candidates
from lhkit.load.loader import application_of, payload_source
from lhkit.load.shipped_files import shipped_folder
from lhkit.load.user_code import full_catalogue
from lhkit.load.verified_edits import read_script
from lhkit.model.errors import Failure, LhkitError, UsageError, WorkerError, error_for, usage_error
from lhkit.model.explanation import Subject, Tried, TriedStatus
from lhkit.model.op_catalogue import Catalogue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.step_form import TypedName
from lhkit.text.op_tree import OpSyntax
from lhkit.text.parser import read_syntax
from lhkit.text.script import SEQUENCE, Definition, Replacement, Script, StepRef, cut, is_terminator
from lhkit.text.step_edits import find_definition, is_consumed, type_of
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import StepOutcome, TrySteps

# Where one step more can be tried: a schedule cut behind a step, and the handles in sight there.


_INCLUDE, _FOREACH = "transform.include", "transform.foreach"
_ADVICE = "Ops are tried behind steps of sequences that the entry applies, and of foreach."


@dataclass(frozen=True, slots=True)
class Place:
    """The end of a schedule that was cut behind a step.

    Attributes:
        inside: Number of the sequence or foreach at the end of whose block there is room.
        depth: Number of last steps to enter from the end of the entry.
        in_sight: The handles in scope that were not consumed, nearest first.
    """

    script: Script
    inside: int
    depth: int
    around: tuple[str, ...]
    in_sight: tuple[TypedName, ...]


# A sequence or foreach, and the offset in it behind which its steps are left out.
_Level = tuple[OpSyntax, int]


def place_behind(script: Script, entry: str, step: OpSyntax, *, inside: bool) -> Place:
    """Return the place behind a step, or at the beginning of what it has inside."""
    top = script.find(entry)
    if inside:
        levels = [*_levels_around(script, top, step, ()), (step, step.regions[-1].start)]
    else:
        levels = _levels_of(script, top, step, ())
    replacements = []
    for owner, behind in levels:
        if owner.name == SEQUENCE:  # it may consume what it is given: what is tried may want to
            start, end = owner.start, owner.regions[0].start
            head = script.text[start:end].replace("transform.readonly", "transform.consumed")
            replacements.append(Replacement(start, end, head))
        replacements += _without_later(script, owner, behind)
    owner, behind = levels[-1]
    gone = [r for r in replacements if not r.text]
    earlier = (s for s in script.steps if s.start < owner.start)
    number = sum(not any(r.start <= s.start < r.end for r in gone) for s in earlier)
    text = script.edited(replacements, "cut").text
    around = tuple(op.symbol for op, _ in levels if op.name == SEQUENCE)
    values = values_in_scope(script, owner.regions[-1].start + 1, behind)
    in_sight = tuple(TypedName(v, type_of(script, d, v)) for d, v, is_dead in values if not is_dead)
    return Place(Script(text, script.source), number, len(levels) - 1, around, in_sight)


def _levels_of(script: Script, entry: OpSyntax, step: OpSyntax, seen: tuple[str, ...]) -> list[_Level]:
    """Return the levels down to the block of a step, outermost first."""
    owner = script.home_of(step)[0]
    if owner is None:
        raise script.refusal(f"{script.describe(step)} is in no sequence", step, _ADVICE)
    return [*_levels_around(script, entry, owner, seen), (owner, step.end)]


def _levels_around(script: Script, entry: OpSyntax, owner: OpSyntax, seen: tuple[str, ...]) -> list[_Level]:
    """Return the levels down to an included sequence or a foreach; none for the entry."""
    if owner.start == entry.start:
        return []
    if owner.name == _FOREACH:
        return _levels_of(script, entry, owner, seen)
    symbol = owner.symbol if owner.name == SEQUENCE else ""
    if not symbol or symbol in seen:
        message = f"steps inside of {script.describe(owner)} are not reached one by one"
        raise script.refusal(message, owner, _ADVICE)
    for op in script.steps:
        is_such = op.name == _INCLUDE and op.symbol == symbol
        if is_such and "suppress" not in script.text[op.start : op.end]:
            try:
                return _levels_of(script, entry, op, (*seen, symbol))
            except UsageError:
                continue  # another include of it may be reached
    raise script.refusal(f"{entry.symbol} does not include {symbol}", owner, _ADVICE)


def _without_later(script: Script, owner: OpSyntax, behind: int) -> list[Replacement]:
    """Return the replacement that cuts the steps behind a place; what they define must not be handed on."""
    ops = owner.regions[-1].blocks[-1].ops
    later = [op for op in ops if op.start >= behind and not is_terminator(op)]
    defined = {name.text for op in later for name in op.results}
    for use in (use for op in ops if is_terminator(op) for use in op.operands):
        if use.name in defined:
            message = f"{use.text} is handed on at the end of {script.describe(owner)}"
            advice = "Steps behind the place are left out, this one among them; choose a place behind it."
            raise script.refusal(message, use.start, advice)
    return [cut(script.text, later[0], later[-1])] if later else []


def values_in_scope(script: Script, inner: int, at: int) -> list[tuple[Definition, str, bool]]:
    """Return the handles in scope, nearest definition first, each with whether it is consumed.

    ``inner`` is an offset inside the block, ``at`` that of the place before which they are defined.
    """
    scope = script.handles.scope_at(inner)
    found: list[tuple[Definition, str, bool]] = []
    for definition in script.handles.in_sight(scope).values():
        is_before = definition.op.start < at if definition.is_argument else definition.op.end <= at
        if not is_before or not script.handles.may_read(scope, definition):
            continue
        gone = {
            definition.value_of(use)
            for use, user in definition.uses
            if use.start < at and is_consumed(script, use, user)
        }
        found += [(definition, value, value in gone) for value in definition.name.values]
    return sorted(found, key=lambda value: -value[0].name.start)


# The first results should come at once, and a death costs what was in the batch with it.
_FIRST_BATCH, _BATCH = 2, 8
_MARK = "lhkit.given0"
_MOST_REASON = 160
_WRONG_NAME = re.compile(r"incompatible payload operation name expected (\S+) vs (\S+)")


def trying_worker() -> Worker:
    """Return the worker in which steps are tried, with the session's own ops: only it dies with a step."""
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
    """Try ops and recipes on a handle, and yield the result of each as soon as it is known.

    Ops are those of the catalogue; one that takes another handle is tried with the nearest in sight, once each.
    Recipes are the named sequences that take handles: those of the schedule, of its libraries, and of the
    schedules that come with lhkit; `insert_recipe` puts ``text`` and ``sequences`` of one into the schedule.

    Usual ops come first, those that are known to take the compiler down last.
    Nothing is changed; closing the iterator stops the trials.

    Args:
        payload: What the schedule is applied to.
        schedule: The schedule; what is applied behind ``at_step`` is left out.
        handle: The handle, as it is written (``%tiled``, ``%loops#1``).
        at_step: The step behind which to try: in the entry, in a sequence that it includes, or in a foreach of
            these; default the one that defines the handle.
        seconds: How long one op may take beyond the schedule itself.
        catalogue: The catalogue; default that of the bindings.
        worker: Another worker than `trying_worker`.

    Raises:
        UsageError: There is no such handle or step, it is a parameter, or the entry does not get to the step.
        ScheduleError: The schedule itself does not apply up to there.
    """
    worker = worker or trying_worker()
    script = read_script(schedule, worker=worker)
    definition = _definition(script, schedule, handle)
    step = definition.op if at_step is None else script.find(at_step)
    is_inside = step.name == SEQUENCE or (definition.is_argument and step.start == definition.op.start)
    place = place_behind(script, f"@{schedule.entry}", step, inside=is_inside)
    typed = TypedName(handle, _type_of(script, definition, handle))
    bench = _Bench(payload, schedule, place, worker, seconds)
    before, subject = bench.begin(typed)
    ops = candidates_for(typed, subject, catalogue or full_catalogue(worker), place.in_sight)
    steady = [c for c in ops if c.text and not c.is_risky]
    yield from bench.run(steady[:_FIRST_BATCH], before)
    # Reading the recipes takes a moment, so the first results do not wait for it.
    known = list(known_recipes(script, schedule, place.around))
    recipes = list(recipe_candidates(typed, known, place.in_sight))
    steady += [c for c in recipes if c.text]
    risky = ([c] for c in ops if c.text and c.is_risky)
    batches = (steady[at : at + _BATCH] for at in range(_FIRST_BATCH, len(steady), _BATCH))
    for batch in itertools.chain(batches, risky):
        yield from bench.run(batch, before)
    for c in (*ops, *recipes):
        if c.needs:
            yield Tried(c.name, "", "not-tried", f"it needs {c.needs}", c.sentence)


def known_recipes(script: Script, schedule: Schedule, around: Iterable[str] = ()) -> Iterator[Recipe]:
    """Yield the recipes that there are: the schedule's, those of its libraries, the shipped ones."""
    yield from own_recipes(script, f"@{schedule.entry}", around)
    taken = []
    for library in schedule.libraries:
        read = Script(library.text, library.source)
        taken += [op.symbol for op in read.steps if op.name == SEQUENCE]
        yield from recipes_to_declare(script, read)
    for path in sorted(shipped_folder("schedules").rglob("*.mlir")):
        yield from recipes_to_copy(script, Script(path.read_text("utf-8"), str(path)), taken)


@dataclass(slots=True)
class _Bench:
    """Where candidates are tried: the schedule cut behind a step, with room for one more."""

    payload: Payload
    schedule: Schedule
    place: Place
    worker: Worker
    seconds: float
    usual_seconds: float = 0.0

    def begin(self, handle: TypedName) -> tuple[StepOutcome, Subject]:
        """Apply the cut schedule without a trial step, and describe the payload of the handle."""
        is_marked = not handle.type.startswith("!transform.any_value")
        mark = f'transform.annotate {handle.name} "{_MARK}" : {handle.type}'
        started = time.perf_counter()
        (outcome,) = self._ask([self._text(mark) if is_marked else self.place.script.text], None)
        if outcome.failed is not None:
            message = f"{self.schedule.source} does not apply up to there: {outcome.failed}"
            raise error_for(Failure("definite", message))
        self.usual_seconds = time.perf_counter() - started
        return outcome, outcome.given[0] if is_marked else Subject()

    def run(self, candidates: Sequence[Candidate], before: StepOutcome) -> Iterator[Tried]:
        """Try candidates in one request; one that takes the worker down is left out of the next."""
        waiting = list(candidates)
        while waiting:
            # Nearly all take as long as the schedule does; one may take longer.
            limits = Limits(self.seconds + 4 * self.usual_seconds * len(waiting))
            try:
                outcomes = self._ask([self._text(c.text, c.sequences) for c in waiting], limits, before.digest)
            except WorkerError as error:
                stage = error.failure.stage
                if stage is None or not stage.isdecimal():  # it did not come to any of them
                    raise
                # Those before it are tried again: their answer was lost with the worker.
                yield _died(waiting.pop(int(stage)), error)
                # The next worker loads its parts now, so that the first candidate does not pay for them.
                self._ask([self.place.script.text], None)
                continue
            yield from (_tried(c, o, before) for c, o in zip(waiting, outcomes, strict=True))
            return

    def _text(self, step: str, sequences: str = "") -> str:
        return insert_recipe(self.place.script, step, sequences, inside=self.place.inside).text

    def _ask(self, texts: list[str], limits: Limits | None, known: str = "") -> tuple[StepOutcome, ...]:
        source, application = payload_source(self.payload), application_of(self.schedule)
        request = TrySteps(source, application, tuple(texts), self.place.depth, known)
        return self.worker.ask(request, limits=limits).value


def _definition(script: Script, schedule: Schedule, handle: str) -> Definition:
    """Return the definition of a handle: the entry's, where other sequences have one of that name."""
    entry = script.find(f"@{schedule.entry}")
    name = handle.partition("#")[0]
    named = [d for d in script.handles.definitions if d.name.text == name]
    inside = [d for d in named if entry.start <= d.name.start < entry.end]
    return inside[0] if len(inside) == 1 else find_definition(script, name)


def _type_of(script: Script, definition: Definition, handle: str) -> str:
    if handle not in definition.name.values:
        listed = ", ".join(definition.name.values)
        raise usage_error(f"{handle} is not one handle; {script.source} defines {listed}")
    type_ = type_of(script, definition, handle)
    if type_.startswith(("!transform.param", "!transform.any_param")):
        raise usage_error(f"{handle} is a parameter; ops are tried on handles to payload")
    return type_


def _died(c: Candidate, error: LhkitError) -> Tried:
    if error.failure.kind == "crash":
        return Tried(c.name, c.text, "crashes", "it takes the compiler down", c.sentence, sequences=c.sequences)
    reason = f"it takes too much {'memory' if error.failure.kind == 'memory' else 'time'}"
    return Tried(c.name, c.text, "stopped", reason, c.sentence, sequences=c.sequences)


def _tried(c: Candidate, outcome: StepOutcome, before: StepOutcome) -> Tried:
    if outcome.failed is not None:
        wrong = _WRONG_NAME.match(outcome.failed)
        reason = f"it takes {wrong[1]}, not {wrong[2]}" if wrong else _short(outcome.failed)
        return Tried(c.name, c.text, "fails", reason, c.sentence, sequences=c.sequences)
    after = outcome.counts
    names = sorted({*after, *before.counts})
    changed = ((n, after.get(n, 0) - before.counts.get(n, 0)) for n in names)
    counts = tuple((n, count) for n, count in changed if count)
    values = read_syntax(c.text).ops[-1].values
    gives = tuple((v, _points_to(s)) for v, s in zip(values, outcome.given, strict=False))
    status: TriedStatus = "effect" if outcome.digest != before.digest else "no-effect"
    if status == "effect":
        listed = ", ".join(f"{'+' if count > 0 else '−'}{abs(count)} {n}" for n, count in counts)
        reason = _short(listed) or "changes ops in place"
    else:
        listed = "; ".join(f"{name}: {points_to}" for name, points_to in gives if points_to)
        reason = _short(listed) or "changes nothing"
    tilings = (before.tilings, outcome.tilings) if before.tilings and outcome.tilings else None
    return Tried(c.name, c.text, status, reason, c.sentence, counts, gives, c.sequences, tilings)


def _points_to(subject: Subject) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(subject.names).items())


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0].rstrip(" :->")
    return line if len(line) <= _MOST_REASON else line[: _MOST_REASON - 1] + "…"
