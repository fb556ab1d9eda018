"""Axes of a space: the knobs of a schedule, and payloads."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import Knob, KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span

# The axis of a sweep whose values are payloads.
PAYLOAD_AXIS = "payload"
# A value for every axis, in the order of the axes.
Point = tuple[tuple[str, KnobValue], ...]
# What constraints may name about one value of an axis.
Facts = tuple[tuple[str, KnobValue], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """One choice of a space; ``facts`` holds for each value what constraints may name beside it."""

    name: str
    values: tuple[KnobValue, ...]
    default: KnobValue | None = None
    facts: tuple[Facts, ...] = ()

    @property
    def is_ordered(self) -> bool:
        """True if the values are numbers that ascend or descend, so that neighbours are alike."""
        numbers = numbers_in(self.values)
        orders = (sorted(numbers), sorted(numbers, reverse=True))
        return len(numbers) == len(self.values) and numbers in orders

    def index_of(self, value: KnobValue) -> int | None:
        """Return the place of a value, from 0, or None; ``True`` is not 1."""
        is_bool = isinstance(value, bool)
        alike = (i for i, v in enumerate(self.values) if v == value and isinstance(v, bool) == is_bool)
        return next(alike, None)

    def nearest_first(self, value: KnobValue) -> tuple[int, ...]:
        """Return the places of all values: the given one first, then by distance from it, then in order."""
        place, numbers, wanted = self.index_of(value), numbers_in(self.values), numbers_in([value])
        distances: list[float] = [i != place for i in range(len(self.values))]
        if wanted and len(numbers) == len(self.values):
            distances = [abs(v - wanted[0]) for v in numbers]
        return tuple(sorted(range(len(self.values)), key=distances.__getitem__))

    def columns(self) -> dict[str, tuple[KnobValue, ...]]:
        """Return what constraints may name: the axis itself and its facts, with one entry a value."""
        names = dict.fromkeys(n for facts in self.facts for n, _ in facts)
        return {self.name: self.values} | {n: tuple(dict(f)[n] for f in self.facts) for n in names}


def numbers_in(values: Sequence[KnobValue]) -> list[int | float]:
    """Return the values that are numbers, which Booleans are not."""
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def payload_facts(payload: Payload, function: str | None = None) -> Facts:
    """Return what constraints may name of a payload: extents (``arg0_dim0``) and dtypes (``arg0_dtype``)."""
    chosen = payload.function(function)
    found: list[tuple[str, KnobValue]] = []
    for role, types in (("arg", chosen.arguments), ("result", chosen.results)):
        for i, type_ in enumerate(types):
            found += [(f"{role}{i}_dim{d}", n) for d, n in enumerate(type_.shape) if n is not None]
            found.append((f"{role}{i}_dtype", type_.dtype))
    return tuple(found)


def payload_axis(payloads: Mapping[str, Payload], function: str | None) -> Axis:
    """Return the axis whose values are payloads by name: of several shapes, or dtypes."""
    if not payloads:
        raise usage_error("the axis 'payload' has no payloads", "Give a dictionary of names and payloads.")
    each = [dict(payload_facts(p, function)) for p in payloads.values()]
    # An extent that only some of them have is no name that a constraint could use.
    common = [n for n in each[0] if all(n in facts for facts in each)]
    facts = tuple(tuple((n, own[n]) for n in common) for own in each)
    return Axis(PAYLOAD_AXIS, tuple(payloads), facts=facts)


Narrowing = str | KnobValue | Sequence[KnobValue]

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})(?:\s*([*+])\s*({_NUMBER}))?")
# An axis with more values than this is a mistake in the range.
_MOST_VALUES = 10_000
_FORMS = "Write values with commas between them, or ranges: 4,8,16 or 1..64 or 8..256*2 or 16..64+16."


def knob_axes(schedule: Schedule, narrowed: Mapping[str, Narrowing]) -> tuple[Axis, ...]:
    """Return one axis for each knob that is applied, in the order of the schedule.

    A knob that was set, or that has a default and no end of values, stays at that value unless narrowed.
    """
    applied = schedule.applied_sequences
    knobs = {k.name: k for k in schedule.knobs if not k.sequences or applied.intersection(k.sequences)}
    for name in narrowed:
        if name in knobs:
            continue
        if any(k.name == name for k in schedule.knobs):
            message = f"knob {name!r} of {schedule.source} stands in no sequence that @{schedule.entry} enters"
            raise usage_error(message, "Choose another entry, or leave the knob out.")
        have = ", ".join(knobs) or "none"
        raise usage_error(f"{schedule.source} has no knob {name!r}", f"Its knobs: {have}.")
    return tuple(_axis(knob, narrowed.get(name), schedule) for name, knob in knobs.items())


def split_narrowings(arguments: Sequence[str]) -> dict[str, str]:
    """Parse texts like ``tile_m=4,8..64*2`` by knob; the values of a repeated knob are merged."""
    found: dict[str, str] = {}
    for argument in arguments:
        name, equals, values = argument.partition("=")
        if not equals or not name or not values:
            raise usage_error(f"--knob {argument}: expected NAME=V1,V2,…")
        found[name] = f"{found[name]},{values}" if name in found else values
    return found


def _axis(knob: Knob, narrowed: Narrowing | None, schedule: Schedule) -> Axis:
    settings = dict(schedule.settings)
    start = settings.get(knob.name, knob.default)
    if narrowed is not None:
        return Axis(knob.name, narrow(knob, narrowed), start)
    if knob.name in settings:
        return Axis(knob.name, (knob.check(settings[knob.name]),), start)
    default = () if knob.default is None else (knob.default,)
    values = knob.options or (knob.bounds.values() if knob.bounds is not None else ()) or default
    if not values:
        raise usage_error(
            f"knob {knob.name!r} of {schedule.source} has no list of values to sweep",
            f"It may be {knob.allowed()}. Narrow it: --knob {knob.name}=… on the command line, "
            f"knobs={{{knob.name!r}: …}} in Python. {_FORMS}",
            at=Span(schedule.source, knob.line, knob.column),
            text=schedule.text,
        )
    return Axis(knob.name, tuple(dict.fromkeys(values)), start)


def narrow(knob: Knob, narrowed: Narrowing) -> tuple[KnobValue, ...]:
    """Return the values that an argument leaves of a knob, none twice, in the order of the argument."""
    if isinstance(narrowed, str):
        found = [value for part in narrowed.split(",") for value in _read(knob, part.strip())]
    else:
        found = [knob.check(v) for v in ([narrowed] if isinstance(narrowed, int | float) else narrowed)]
    if not found:
        raise usage_error(f"{narrowed!r} leaves no value of knob {knob.name!r}", f"It may be {knob.allowed()}.")
    return tuple(dict.fromkeys(found))


def _read(knob: Knob, part: str) -> Iterator[KnobValue]:
    """Yield the values of one part of a text; a range leaves out what the knob does not allow."""
    match = _RANGE.fullmatch(part)
    if match is None:
        if ".." in part and part not in [str(o) for o in knob.options]:
            raise usage_error(f"{part!r} is not a range of knob {knob.name!r}", _FORMS)
        if not part and not knob.options:
            raise usage_error(f"an empty value for knob {knob.name!r}", _FORMS)
        yield knob.parse(part)
        return
    first, last = _number(match[1]), _number(match[2])
    if match[3] is None and knob.options:
        low, high = sorted((first, last))
        inside = [o for o in numbers_in(knob.options) if low <= o <= high]
        yield from inside if first <= last else reversed(inside)
        return
    step = _number(match[4]) if match[3] else 1
    for value in _steps(knob, part, first, last, match[3] or "+", step):
        with contextlib.suppress(UsageError):
            yield knob.check(value)


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _steps(knob: Knob, part: str, first: float, last: float, kind: str, step: float) -> Iterator[int | float]:
    grows = first > 0 and step > 1 if kind == "*" else step > 0
    if not grows or first > last:
        problem = "does not grow" if not grows else "runs backwards"
        raise usage_error(f"{part!r} {problem}, as a range of knob {knob.name!r}", _FORMS)
    # Counted from the first value: sums of fractions would miss the last one.
    later = (first * step**i if kind == "*" else first + i * step for i in itertools.count(1))
    for i, value in enumerate(itertools.takewhile(lambda v: v <= last, itertools.chain([first], later))):
        if i >= _MOST_VALUES:
            raise usage_error(f"{part!r} has more than {_MOST_VALUES:,} values of knob {knob.name!r}", _FORMS)
        yield value
