"""What guesses are compared with: found out by applying the exercise's schedule, never written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, get_args

from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Cause
from lhkit.sweeps.space import space_of
from lhkit.traces.record.handle_history import deaths, display_names, states_at_end

if TYPE_CHECKING:
    from lhkit.exercises.exercise import Exercise

Truth = Mapping[str, str]
_WORDS = {"live": "live", "empty": "empty", "invalid": "dead"}


def state_of_handles(exercise: Exercise) -> Truth:
    """Return what each handle but the root is at the end: live, empty or dead."""
    names = display_names(exercise.trace)
    states = states_at_end(exercise.trace)
    return {names[h]: _WORDS[change.state] for h, change in states.items() if _is_written(exercise, h)}


def cause_of_deaths(exercise: Exercise) -> Truth:
    """Return of each handle but the root the cause of its death, or ``live``."""
    names, died = display_names(exercise.trace), deaths(exercise.trace)
    return {
        names[h]: died[h].invalidation.cause if h in died else "live"
        for h in states_at_end(exercise.trace)
        if _is_written(exercise, h)
    }


def payload_counts(exercise: Exercise) -> Truth:
    """Return to how many payload ops each handle but the root points at the end."""
    names = display_names(exercise.trace)
    states = states_at_end(exercise.trace)
    return {names[h]: str(len(c.payload)) for h, c in states.items() if _is_written(exercise, h)}


def names_of_weights(exercise: Exercise) -> Truth:
    """Return what each constant of the payload is called as an argument."""
    weights = exercise.payload.constants_to_arguments().function().weights
    return {w.resource: w.name for w in sorted(weights, key=lambda w: w.resource)}


def allowed_points(schedule: Schedule, rule: str) -> list[dict[str, KnobValue]]:
    """Return the variants of a schedule's knobs that meet a rule, in the order of a grid."""
    return [dict(point) for point in space_of(schedule, constraints=[rule]).points()]


def _is_written(exercise: Exercise, handle: str) -> bool:
    return exercise.trace.handle(handle).defined_by >= 0


# What may be guessed, where that is a choice among words.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "states": tuple(_WORDS.values()),
    "deaths": (*get_args(Cause), "live"),
}
TRUTHS: Mapping[str, Callable[[Exercise], Truth]] = {
    "states": state_of_handles,
    "deaths": cause_of_deaths,
    "counts": payload_counts,
    "weights": names_of_weights,
}
