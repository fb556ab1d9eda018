"""Measured times, verified results, and the run they come from."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.model.knob import KnobValue
from lhkit.model.registry import Showable


@dataclass(frozen=True, slots=True)
class Verification:
    """How a result compares with its reference.

    Attributes:
        ok: True if every element is within the tolerance.
        max_abs_error: The largest absolute difference, among the elements that differ too much if there
            are any; infinite where only one side is finite.
        tolerance: What was allowed at that element.
        against: What it was compared with.
        difference: The first element that differs too much, in words, or None.
    """

    ok: bool
    max_abs_error: float
    tolerance: float
    against: str
    difference: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """The times of one entry of a comparison.

    Attributes:
        name: What was measured.
        samples_ns: Time of one call in ns, as (round, value); every sample is kept.
        knobs: Values of the schedule's knobs.
        schedule_sha256: Hash of the schedule, or None.
        compile_ns: Time from text to machine code, or None for a reference.
        verification: Its result against the reference, or None if there is none.
    """

    name: str
    samples_ns: tuple[tuple[int, float], ...]
    knobs: tuple[tuple[str, KnobValue], ...] = ()
    schedule_sha256: str | None = None
    compile_ns: int | None = None
    verification: Verification | None = None


@dataclass(frozen=True, slots=True)
class Comparison(Showable):
    """Entries measured in one run, interleaved in rounds; only their ratios mean something elsewhere.

    Attributes:
        payload: The payload's source.
        payload_sha256: Hash of the payload.
        measurements: The entries.
        anchor: Name of the entry that ratios refer to.
        rounds: How many rounds there were.
        seed: What the order and the inputs were drawn from.
        environment: The machine and the versions, as (name, value).
    """

    payload: str
    payload_sha256: str
    measurements: tuple[Measurement, ...]
    anchor: str
    rounds: int
    seed: int
    environment: tuple[tuple[str, str], ...]
