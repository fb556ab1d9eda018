"""What handles are as a schedule is followed without a payload: the cells they point to, and how they died."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.checks.points_to import Cell, CellSet, fate_of
from lhkit.model.check_report import OpPlace
from lhkit.model.span import Span
from lhkit.model.trace_record import Cause


@dataclass(frozen=True, slots=True)
class Death:
    """Why a handle is invalid: the handle and the op that consumed, and whether this is certain."""

    cause: Cause
    by: str
    place: OpPlace
    is_certain: bool


@dataclass(frozen=True, slots=True)
class State:
    """What a handle is: the cells it points to, and how it died if it did."""

    cells: CellSet
    death: Death | None = None


# The place of an op that no source text has.
NOWHERE = Span("", 1, 1)
# The handles of a block and of those around it that it can see, by number.
Scope = dict[int, State]


def consume(number: int, name: str, scope: Scope, place: OpPlace) -> None:
    """Let a handle die, and those with an op at or under its ops."""
    roots = scope[number].cells
    scope[number] = dataclasses.replace(scope[number], death=Death("direct", name, place, True))
    for other, state in scope.items():
        if other == number or (state.death is not None and state.death.is_certain):
            continue
        fate = fate_of(state.cells, roots)
        if fate is not None and (state.death is None or fate.is_certain):
            death = Death(fate.cause, name, place, fate.is_certain)
            scope[other] = dataclasses.replace(state, death=death)


def live_cells(scope: Scope) -> set[Cell]:
    """Return the cells of the handles that may be alive."""
    states = [s for s in scope.values() if s.death is None or not s.death.is_certain]
    return {cell for state in states for cell in state.cells}


def deaths_among(scope: Scope, outer: Scope) -> dict[int, Death]:
    """Return the deaths of the handles that ``outer`` has too."""
    return {n: s.death for n, s in scope.items() if n in outer and s.death is not None}


def join_deaths(deaths: Sequence[Death | None]) -> Death | None:
    """Return how a handle is dead after one of several ways: certainly if all of them kill it."""
    dead = [d for d in deaths if d is not None]
    if not dead:
        return None
    is_certain = len(dead) == len(deaths) and all(d.is_certain for d in dead)
    return dataclasses.replace(dead[0], is_certain=is_certain)


def join_into(scope: Scope, ends: Sequence[Scope]) -> None:
    """Let a scope hold what holds after one of several ways, in place."""
    for number, state in ends[0].items():
        if number in scope and all(number in s for s in ends):
            death = join_deaths([s[number].death for s in ends])
            scope[number] = dataclasses.replace(state, death=death)


def describe_death(name: str, death: Death, use: OpPlace, *, is_error: bool) -> str:
    """Return in one sentence why a use of a handle is, or may be, invalid."""
    line = f"line {death.place.source.line}"
    if death.place.source.file != use.source.file:
        line += f" of {death.place.source.file}"
    consumed = "it" if death.cause == "direct" and death.by == name else death.by
    if death.place.source != use.source:
        how = f"{death.place.op} at {line} consumed {consumed}"
    elif death.by != name:
        how = f"the same {use.op} consumes {consumed} first"
    else:
        how = f"the same {use.op} consumed {consumed} an iteration before"
    state = "is invalid" if is_error else "may be invalid"
    point = "point" if death.is_certain else "may point"
    lies = "lies" if death.is_certain else "may lie"
    why = {
        "direct": "",
        "alias": f", and both {point} to the same ops",
        "nested": f", and what {name} points to {lies} inside",
    }[death.cause]
    return f"{name} {state} here: {how}{why}"
