"""What a sweep found, from its records: the way to the best, and what failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.model.knob import KnobValue
from lhkit.sweeps.variant_record import SWEEP_STATUSES, SweepRecord, SweepStatus, originals

Knobs = tuple[tuple[str, KnobValue], ...]
# The axis of a sweep whose values are payloads.
PAYLOAD_AXIS = "payload"
# From here on a status says how a variant failed.
FAILED: tuple[SweepStatus, ...] = SWEEP_STATUSES[SWEEP_STATUSES.index("invalid-config") :]


@dataclass(frozen=True, slots=True)
class BestSoFar:
    """The state of a sweep after one of its variants.

    Attributes:
        tried: How many variants were tried until then, this one included.
        seconds: Time since the first one was started.
        record: The variant.
        time_ns: Its own median time, or None where it has none.
        best: The best until then, or None.
        best_ns: Its median time, or None.
    """

    tried: int
    seconds: float
    record: SweepRecord
    time_ns: int | None
    best: SweepRecord | None
    best_ns: int | None


@dataclass(frozen=True, slots=True)
class StatusCount:
    """How many variants had a status.

    Attributes:
        status: The status.
        count: How many variants.
        messages: What they said, each message once with its count, the most frequent first.
    """

    status: SweepStatus
    count: int
    messages: tuple[tuple[str, int], ...]


def median_times(records: Sequence[SweepRecord], *, hopeless: bool = False) -> dict[str, int]:
    """Return the median times in ns by key; the same programs have the times of the one that was timed.

    Args:
        records: The records of one environment.
        hopeless: Whether to include variants that were stopped early, of which one run is known.
    """
    wanted = ("ok", "stopped-early") if hopeless else ("ok",)
    found = {}
    for key, timed in originals(records).items():
        if timed.status in wanted and timed.time_ns is not None:
            found[key] = timed.time_ns.median
    return found


def relative_times(records: Sequence[SweepRecord], *, hopeless: bool = False) -> dict[str, float]:
    """Return the median times by key, as multiples of the best one of the same payload.

    Args:
        records: The records of one environment.
        hopeless: As for `median_times`.
    """
    times, best = median_times(records, hopeless=hopeless), best_by_payload(records)
    of = {r.key: r.values.get(PAYLOAD_AXIS) for r in records}
    return {key: ns / best[of[key]][1] for key, ns in times.items() if of[key] in best}


def best_by_payload(records: Sequence[SweepRecord]) -> dict[KnobValue | None, tuple[str, int]]:
    """Return the key and the median time in ns of the best variant of each payload; a single one is None."""
    times = median_times(records)
    found: dict[KnobValue | None, tuple[str, int]] = {}
    for record in records:
        payload, time_ns = record.values.get(PAYLOAD_AXIS), times.get(record.key)
        if time_ns is not None and (payload not in found or time_ns < found[payload][1]):
            found[payload] = (record.key, time_ns)
    return found


def best_so_far(records: Sequence[SweepRecord]) -> tuple[BestSoFar, ...]:
    """Return the state of a sweep after each of its variants, in the order in which they were tried."""
    from datetime import datetime

    times = median_times(records)
    found: list[BestSoFar] = []
    best: SweepRecord | None = None
    ordered = sorted(records, key=lambda r: r.started)
    starts = [datetime.fromisoformat(r.started) for r in ordered]
    for i, record in enumerate(ordered):
        time_ns = times.get(record.key)
        if time_ns is not None and (best is None or time_ns < times[best.key]):
            best = record
        seconds = (starts[i] - starts[0]).total_seconds()
        best_ns = times[best.key] if best else None
        found.append(BestSoFar(i + 1, seconds, record, time_ns, best, best_ns))
    return tuple(found)


def count_statuses(records: Sequence[SweepRecord]) -> tuple[StatusCount, ...]:
    """Return how many variants had each status that occurred, in the order of the contract."""
    messages: dict[SweepStatus, dict[str, int]] = {}
    counts: dict[SweepStatus, int] = defaultdict(int)
    for record in records:
        counts[record.status] += 1
        said = messages.setdefault(record.status, {})
        if record.message:
            said[record.message] = said.get(record.message, 0) + 1
    return tuple(
        StatusCount(status, counts[status], tuple(sorted(messages[status].items(), key=lambda m: -m[1])))
        for status in SWEEP_STATUSES
        if status in counts
    )


def knob_values(records: Sequence[SweepRecord]) -> dict[str, tuple[KnobValue, ...]]:
    """Return the values of each knob that occur: numbers in order, others as they came."""
    found: dict[str, list[KnobValue]] = {}
    for record in records:
        for name, value in record.knobs:
            own = found.setdefault(name, [])
            if all(value != v or isinstance(value, bool) != isinstance(v, bool) for v in own):
                own.append(value)
    return {name: _ordered(values) for name, values in found.items()}


def _ordered(values: Sequence[KnobValue]) -> tuple[KnobValue, ...]:
    numbers = [v for v in values if isinstance(v, int | float)]
    return tuple(sorted(numbers)) if len(numbers) == len(values) else tuple(values)


def varied_knobs(records: Sequence[SweepRecord]) -> tuple[str, ...]:
    """Return the knobs that have more than one value."""
    return tuple(name for name, values in knob_values(records).items() if len(values) > 1)
