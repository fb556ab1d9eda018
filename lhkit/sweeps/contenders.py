"""Which variants of a sweep may be its best: those that its own times do not rule out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lhkit.sweeps.variant_record import SweepRecord, SweepTime

MOST_CONTENDERS = 5
# However clear the times of a sweep look: a disturbance may have hit the best one alone.
LEAST_CONTENDERS = 3
# A sweep times its variants one after the other: between two of them clock and memory placement move times.
_DRIFT = 0.05
# Standard errors on each side, and the standard deviation of a normal distribution as a multiple of its MAD.
_ERRORS, _MADS = 3.0, 1.4826
# Of a median, as a multiple of that of a mean.
_MEDIAN = math.sqrt(math.pi / 2)


def choose_contenders(
    records: Sequence[SweepRecord], *, most: int = MOST_CONTENDERS
) -> tuple[SweepRecord, ...]:
    """Return the variants that may be the best one, the best by the sweep's own times first.

    These are the variants whose times, with three standard errors and 5 % for what drifts between two of them,
    overlap with those of the best, and in any case the best three, since other programs that ran beside the
    sweep may have disturbed one alone; not those that are known to be the same program as another one.

    Args:
        records: Of one payload and environment.
        most: How many at most; the best remain.
    """
    timed = [(r.time_ns, r) for r in records if r.status == "ok" and r.time_ns is not None]
    timed.sort(key=lambda pair: pair[0].median)
    chosen = [
        record
        for place, (time, record) in enumerate(timed)
        if place < LEAST_CONTENDERS or _low(time) <= _high(timed[0][0])
    ]
    return tuple(chosen[:most])


def _error(time: SweepTime) -> float:
    return _ERRORS * _MEDIAN * _MADS * time.mad / math.sqrt(max(time.runs, 1))


def _low(time: SweepTime) -> float:
    return (time.median - _error(time)) / (1 + _DRIFT)


def _high(time: SweepTime) -> float:
    return time.median + _error(time)
