"""Knobs to axes: all that a knob allows, or what an argument leaves of it.

An argument is a list, or a text as ``--knob NAME=…`` takes: values with commas between them, each one value, a
range ``1..64``, or a range with steps ``8..256*2`` or ``16..64+16``; both ends are included.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import Knob, KnobValue
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.sweeps.axes import Axis

Narrowing = str | KnobValue | Sequence[KnobValue]

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})(?:\s*([*+])\s*({_NUMBER}))?")
# An axis with more values than this is a mistake of whoever wrote the range.
_MOST_VALUES = 10_000
_FORMS = "Write values with commas between them, or ranges: 4,8,16 or 1..64 or 8..256*2 or 16..64+16."


def knob_axes(schedule: Schedule, narrowed: Mapping[str, Narrowing]) -> tuple[Axis, ...]:
    """Return one axis for each knob that is applied, in the order of the schedule.

    A knob that was set, or that has a default and no end of values, stays at that value unless narrowed.

    Args:
        schedule: The schedule.
        narrowed: For knobs by name what is left of them.

    Raises:
        UsageError: A name is no knob or one that is not applied, a value is not allowed, a range is empty, or a
            knob has neither default nor an end of values.
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
    """Return what texts like ``tile_m=4,8..64*2`` give for each knob; the values of a repeated knob are merged.

    Raises:
        UsageError: A text without a name, without ``=``, or without values.
    """
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
    values = knob.options or (knob.bounds.values() if knob.bounds is not None else ())
    if not values and knob.default is not None:
        values = (knob.default,)
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
    """Return the values that an argument leaves of a knob, none twice, in the order of the argument.

    Raises:
        UsageError: A value is not allowed, a range cannot be read, or nothing is left.
    """
    found: list[KnobValue] = []
    if isinstance(narrowed, str):
        for part in narrowed.split(","):
            found += _read(knob, part.strip())
    elif isinstance(narrowed, int | float):
        found.append(knob.check(narrowed))
    else:
        found += [knob.check(value) for value in narrowed]
    if not found:
        raise usage_error(f"{narrowed!r} leaves no value of knob {knob.name!r}", f"It may be {knob.allowed()}.")
    return tuple(dict.fromkeys(found))


def _read(knob: Knob, part: str) -> Iterator[KnobValue]:
    """Yield the values of one part of a text; a range leaves out what the knob does not allow."""
    match = _RANGE.fullmatch(part)
    if match is None:
        if ".." in part and part not in [str(o) for o in knob.options]:
            raise usage_error(f"{part!r} is no range of knob {knob.name!r}", _FORMS)
        if not part and not knob.options:
            raise usage_error(f"an empty value for knob {knob.name!r}", _FORMS)
        yield knob.parse(part)
        return
    first, last = _number(match[1]), _number(match[2])
    if match[3] is None and knob.options:
        low, high = sorted((first, last))
        numbers = [o for o in knob.options if isinstance(o, int | float) and not isinstance(o, bool)]
        inside = [o for o in numbers if low <= o <= high]
        yield from inside if first <= last else reversed(inside)
        return
    step = _number(match[4]) if match[3] else 1
    for value in _steps(knob, part, first, last, match[3] or "+", step):
        if _allows(knob, value):
            yield knob.check(value)


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _steps(knob: Knob, part: str, first: float, last: float, kind: str, step: float) -> Iterator[int | float]:
    grows = first > 0 and step > 1 if kind == "*" else step > 0
    if not grows or first > last:
        problem = "does not grow" if not grows else "runs backwards"
        raise usage_error(f"{part!r} {problem}, as a range of knob {knob.name!r}", _FORMS)
    value = first
    for i in itertools.count(1):
        if value > last:
            return
        if i > _MOST_VALUES:
            raise usage_error(f"{part!r} has more than {_MOST_VALUES:,} values of knob {knob.name!r}", _FORMS)
        yield value
        # Counted from the first value: sums of fractions would miss the last one.
        value = first * step**i if kind == "*" else first + i * step


def _allows(knob: Knob, value: KnobValue) -> bool:
    try:
        knob.check(value)
    except UsageError:
        return False
    return True
