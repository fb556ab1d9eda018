"""The expectations of a schedule that the payload at the end of a trace does not meet."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from lhkit.model.expectation import Expectation, ExpectationForm, LoopPattern, UnmetExpectation
from lhkit.model.printable import counted
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.text.expectations import expectations_of, with_knob_values
from lhkit.traces.intent.final_payload import FinalPayload, Meant
from lhkit.traces.record.placed_values import around, loops_around

# What there is instead of what is expected, and the number of the op that it is about; None where it is met.
Verdict = tuple[str, int | None] | None
_MOST_NAMED = 3


def with_expectations(trace: Trace, schedule: Schedule) -> Trace:
    """Return a trace with the expectations of its schedule that its last payload does not meet.

    A schedule that failed has none: its failure says more.
    """
    if trace.outcome.status != "ok" or not (expected := expectations_of(schedule)):
        return trace
    payload = FinalPayload.of(trace)
    if payload is None:
        return trace
    unmet = (_unmet(payload, each, schedule) for each in expected)
    return dataclasses.replace(trace, unmet=tuple(u for u in unmet if u is not None))


def _unmet(payload: FinalPayload, expected: Expectation, schedule: Schedule) -> UnmetExpectation | None:
    expected = dataclasses.replace(expected, loops=with_knob_values(expected.loops, schedule.values))
    verdict = _CHECKS[expected.form](payload, expected)
    if verdict is None:
        return None
    found, number = verdict
    place = None if number is None else payload.place(number)
    return UnmetExpectation(expected.text, found, expected.at, place)


def _meant(payload: FinalPayload, subject: str) -> Meant | str:
    """Return the ops that a subject means, or why it means none, in words."""
    meant = payload.meant(subject)
    if meant is None:
        return f"no step that ran defines {subject}"
    if not meant.ids:
        return f"{subject} is empty" if subject.startswith("%") else f"the payload never had a {subject}"
    if not meant.numbers:
        return (
            f"nothing is left of what {subject} pointed to"
            if subject.startswith("%")
            else f"no {subject} is left"
        )
    return meant


def _check_loops(payload: FinalPayload, expected: Expectation) -> Verdict:
    (subject,) = expected.subjects
    if isinstance(meant := _meant(payload, subject), str):
        return meant, None
    working = payload.working(meant)
    for number in working:
        loops = payload.loops(number)
        if not _fits(loops, expected.loops):
            return f"[{', '.join(map(str, loops))}] around the {payload.in_words(number)}", number
    return None if working else (f"nothing is left that computes what {subject} did", None)


def _fits(loops: tuple[LoopPattern, ...], wanted: tuple[LoopPattern, ...]) -> bool:
    return len(loops) == len(wanted) and all(
        have.kind == want.kind
        and (
            want.sizes is None
            or (
                len(want.sizes) == len(have.sizes or ())
                and all(w is None or w == h for w, h in zip(want.sizes, have.sizes or (), strict=True))
            )
        )
        for have, want in zip(loops, wanted, strict=True)
    )


def _check_vectorized(payload: FinalPayload, expected: Expectation) -> Verdict:
    (subject,) = expected.subjects
    if isinstance(meant := _meant(payload, subject), str):
        return meant, None
    numbers = list(meant.numbers)
    # A handle to a loop or a function means what is in it.
    if meant.is_same and not payload.structured(numbers):
        numbers += payload.inside(numbers)
    if left := payload.structured(numbers):
        return f"{_listed(payload, left)}, not vectorized", left[0]
    if not any(payload.name(n).startswith("vector.") for n in numbers):
        return "no vector op made of it", numbers[0]
    return None


def _check_inside(payload: FinalPayload, expected: Expectation) -> Verdict:
    inner, outer = (_meant(payload, subject) for subject in expected.subjects)
    for meant in (inner, outer):
        if isinstance(meant, str):
            return meant, None
    assert isinstance(inner, Meant) and isinstance(outer, Meant)
    kinds = {payload.trace.op(i).name for i in outer.ids}
    containers = {n for n in outer.numbers if payload.name(n) in kinds}
    for number in payload.working(inner):
        if containers.isdisjoint(around(payload.placed, number)):
            loops = loops_around(payload.placed, number)
            where = f"inside another {payload.name(loops[0])}" if loops else "in no loop"
            return f"the {payload.in_words(number)} {where}", number
    return None if payload.working(inner) else (f"nothing that computes what {expected.subjects[0]} did", None)


def _check_none(payload: FinalPayload, expected: Expectation) -> Verdict:
    numbers = payload.named(expected.subjects[0])
    return (_listed(payload, numbers), numbers[0]) if numbers else None


def _listed(payload: FinalPayload, numbers: Iterable[int]) -> str:
    """Return ops in words, those of one place counted."""
    named = Counter(payload.in_words(n) for n in numbers)
    shown = [name if n == 1 else f"{n} {name}" for name, n in named.most_common(_MOST_NAMED)]
    more = len(named) - len(shown)
    return ", ".join(shown) + (f" and {counted(more, 'other')}" if more else "")


_CHECKS: Mapping[ExpectationForm, Callable[[FinalPayload, Expectation], Verdict]] = {
    "loops": _check_loops,
    "vectorized": _check_vectorized,
    "inside": _check_inside,
    "none": _check_none,
}
