"""Measured times, verified results, and the run they come from."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from lhkit.model.knob import KnobValue
from lhkit.model.showable import Printable, Showable

CacheState = Literal["warm", "cold"]
TimedBy = Literal["machine code", "Python"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A middle value and the interval around it."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Verification:
    """Comparison of a result with its reference."""

    ok: bool  # True if every element is within the tolerance
    # The largest absolute difference, among the elements that differ too much if there are any; infinite
    # where only one side is finite
    max_abs_error: float
    tolerance: float  # What was allowed at that element
    against: str  # What it was compared with
    difference: str | None = None  # The first element that differs too much, in words, or None


@dataclass(frozen=True, slots=True)
class Measurement(Showable):
    """The times of one entry of a comparison.

    Attributes:
        name: What was measured.
        samples_ns: Time of one call in ns, as (round, value); every sample is kept.
        knobs: Values of the schedule's knobs.
        schedule_sha256: Hash of the schedule, or None.
        compile_ns: Time from text to machine code, or None for a reference.
        verification: Its result against the reference, or None if there is none.
        calls: How many calls a sample is the mean of.
        timed_by: What repeats the calls: a loop in machine code, or one in Python, as for every Python
            function, whose samples therefore hold what it costs to call it from Python.
        is_stable: Whether times had settled when sampling began.
        disturbed_rounds: Rounds with a sample in which another timing of lhkit ran on this machine.
    """

    name: str
    samples_ns: tuple[tuple[int, float], ...]
    knobs: tuple[tuple[str, KnobValue], ...] = ()
    schedule_sha256: str | None = None
    compile_ns: int | None = None
    verification: Verification | None = None
    calls: int = 1
    timed_by: TimedBy = "machine code"
    is_stable: bool = True
    disturbed_rounds: tuple[int, ...] = ()

    @property
    def is_disturbed(self) -> bool:
        """Whether more than a tenth of the samples were taken beside another timing."""
        return 10 * len(self.disturbed_rounds) > len(self.samples_ns)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.show.value_views import measurement_bundle

        return measurement_bundle(self)


@dataclass(frozen=True, slots=True)
class CoreLimits:
    """Limits of one core in the rounds of a comparison, as medians."""

    fma_gflops: float  # Fused multiply-adds of float32 vectors in registers, two FLOP each, in 10^9 FLOP/s
    fma_f64_gflops: float  # The same of float64
    # A copy between two buffers that together are twice the last-level cache, bytes read and written both
    # counted, in 10^9 bytes/s
    copy_gbytes: float
    read_gbytes: float | None = None  # These buffers read from end to end; None in older files

    def peak_gflops(self, element_type: str | None) -> float | None:
        """Return the limit for multiply-adds of an element type, or None if it was not measured."""
        return {"float32": self.fma_gflops, "float64": self.fma_f64_gflops}.get(element_type or "")


@dataclass(frozen=True, slots=True)
class Comparison(Printable):
    """Entries measured in one run, interleaved in rounds; only their ratios mean something elsewhere.

    Attributes:
        payload: The payload's source.
        payload_sha256: Hash of the payload.
        measurements: The entries.
        anchor: Name of the entry that ratios refer to.
        rounds: How many rounds there were.
        seed: What the order and the inputs were drawn from.
        environment: The machine and the versions, as (name, value).
        limits: What the core can do, or None if it was not measured.
        flops: Floating-point operations of one call, or None if they cannot be counted.
        bytes: Bytes of arguments and results of one call, or None.
        element_type: What the operations are on (``float32``), or None if it is mixed or not a float.
        cache: Whether a call finds its data where the call before left it, or nowhere in the caches.
        alignment_bytes: Every buffer starts at an odd multiple of this.
        core: The core that everything was pinned to, or None.
    """

    payload: str
    payload_sha256: str
    measurements: tuple[Measurement, ...]
    anchor: str
    rounds: int
    seed: int
    environment: tuple[tuple[str, str], ...]
    limits: CoreLimits | None = None
    flops: int | None = None
    bytes: int | None = None
    element_type: str | None = None
    cache: CacheState = "warm"
    alignment_bytes: int = 64
    core: int | None = None

    @property
    def environment_sha256(self) -> str:
        """Hash of the environment, in hexadecimal; results with different ones do not mix."""
        return hashlib.sha256(json.dumps(sorted(self.environment)).encode()).hexdigest()

    def measurement(self, name: str) -> Measurement:
        """Return the entry of that name."""
        return next(m for m in self.measurements if m.name == name)

    def speed(self, name: str) -> Interval:
        """Return how many times as fast as the anchor an entry is: the median of ratios, 95 % interval."""
        from lhkit.model.sample_statistics import median_interval, paired_ratios

        return median_interval(paired_ratios(self.measurement(name), self.measurement(self.anchor)))

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.show.value_views import comparison_bundle

        return comparison_bundle(self)


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one call of a payload's function, as its ops say before anything is scheduled."""

    # Arithmetic operations on elements, integer ones too: add, subtract, multiply, divide, minimum,
    # maximum, compare and each function such as exp count one, a fused multiply-add two. Moving,
    # converting, selecting, bit operations and index arithmetic count none. None where it cannot be known.
    flops: int | None
    # The traffic that no schedule can avoid: every argument that is read, once, and every result or memref
    # that is written, once. None where it cannot be known.
    bytes: int | None
    # How much a result may change, as a share of its magnitude, when ops are computed in another order: the
    # distance from 1 to the next number, of the type that an op rounds its result to, times the root of how
    # many terms it adds up in that type; the largest of all ops. Where an extent is unknown there are as many
    # terms as the largest argument has elements that are known of, in the narrowest type of an op's result.
    rounding: float
