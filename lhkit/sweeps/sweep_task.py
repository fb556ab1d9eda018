"""What a sweep is of: a schedule, and a payload or several with all that trying a variant takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.sweeps.axes import Point
from lhkit.sweeps.keys import variant_key
from lhkit.sweeps.variant_record import SweepRecord
from lhkit.text.requirements import Requirement


@dataclass(frozen=True, slots=True)
class Subject:
    """One payload, ready for variants to be tried on.

    Attributes:
        scope: Hash of all that decides a variant besides its knobs.
        fields: Of the request ``prepare_sweep``.
        body: Its body.
        difference: Says in words how the last wrong result differs, given the shapes of all results.
        flops: Floating-point operations of a call, or None.
        keep: What has to live as long, such as the arrays that the request refers to.
    """

    scope: str
    fields: Mapping[str, Any]
    body: bytes
    difference: Callable[[Sequence[Sequence[int]]], str]
    flops: int | None = None
    keep: object = None


@dataclass(frozen=True, slots=True)
class Variant:
    """A point of a sweep as it is tried.

    Attributes:
        point: As the strategy gave it.
        subject: The payload.
        values: The value of every knob of the schedule.
        recorded: What its record calls its knobs: the values, and which payload it was if there are several.
        key: Of its record.
        refusal: Why it cannot be tried, or None.
    """

    point: Point
    subject: Subject
    values: Mapping[str, KnobValue]
    recorded: tuple[tuple[str, KnobValue], ...]
    key: str
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A schedule whose variants are tried.

    Attributes:
        schedule: The schedule.
        requirements: What it requires of its knobs.
        subjects: The payloads, by the value of their axis; a single one without axis by ``""``.
        environment: Hash of machine, toolchain and pipeline.
        payload_axis: The axis whose values are payloads, or None.
        deduplicate: Whether equal programs are compiled and timed once.
    """

    schedule: Schedule
    requirements: tuple[Requirement, ...]
    subjects: Mapping[str, Subject]
    environment: str
    payload_axis: str | None = None
    deduplicate: bool = True

    def variant(self, point: Point) -> Variant:
        """Return the variant of a point; values that the schedule does not take are its refusal."""
        chosen = dict(point)
        name = "" if self.payload_axis is None else str(chosen.pop(self.payload_axis))
        if name not in self.subjects:
            raise usage_error(f"there is no payload {name!r}", f"There are {', '.join(self.subjects)}.")
        subject = self.subjects[name]
        which = () if self.payload_axis is None else ((self.payload_axis, name),)
        values = {**self.defaults, **chosen}
        refusal = self._refusal(chosen, values)
        key = variant_key(subject.scope, values)
        return Variant(point, subject, values, (*which, *values.items()), key, refusal)

    @property
    def defaults(self) -> dict[str, KnobValue]:
        """The values of knobs that no axis gives another: the one set, else the default, if there is one."""
        settings = dict(self.schedule.settings)
        known = {knob.name: settings.get(knob.name, knob.default) for knob in self.schedule.knobs}
        return {name: value for name, value in known.items() if value is not None}

    def _refusal(self, chosen: Mapping[str, KnobValue], values: Mapping[str, KnobValue]) -> str | None:
        try:
            self.schedule.with_knobs(chosen)
        except UsageError as error:
            return error.failure.message
        for requirement in self.requirements:
            try:
                if requirement.holds(values):
                    continue
            except ValueError as error:
                return f"{requirement.expression.text!r} cannot be evaluated: {error}"
            shown = ", ".join(f"{name}={values[name]}" for name in requirement.names)
            return f"the schedule requires {requirement.expression.text}, which {shown} does not meet"
        return None

    def own(self, records: Iterable[SweepRecord]) -> list[SweepRecord]:
        """Return the records that are of variants of this task, tried on this machine with this toolchain."""
        return [r for r in records if r.environment == self.environment and self.scope_of(r) is not None]

    def scope_of(self, record: SweepRecord) -> str | None:
        """Return the scope of the subject that a record is of, or None if it is of none of them."""
        values = record.values
        name = "" if self.payload_axis is None else str(values.pop(self.payload_axis, ""))
        subject = self.subjects.get(name)
        is_own = subject is not None and variant_key(subject.scope, values) == record.key
        return subject.scope if subject is not None and is_own else None
