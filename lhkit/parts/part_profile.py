"""Where the time of a kernel goes: each part timed in place, beside what the machine allows for it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lhkit.bench.side_by_side import measure
from lhkit.kernels.kernel import Kernel
from lhkit.kernels.verification import payload_work
from lhkit.load.random_inputs import default_arguments
from lhkit.model.errors import public, usage_error
from lhkit.model.measurement import CoreLimits, Work
from lhkit.model.payload import Part
from lhkit.model.showable import Printable
from lhkit.parts.assembled_kernel import AssembledKernel, assemble, clocked_kernel
from lhkit.worker.timing_conditions import last_level_cache_bytes

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]

_LEAST_CALLS, _SECONDS, _LIMIT_SECONDS = 5, 2.0, 0.2
# On a noisy machine for so many times as long, until the times of parts and kernel can be compared so well.
_MOST_TIMES, _ERROR = 5, 0.01
# A request in between leaves the caches cold: so many calls, or for so long, are made before one that counts.
_CALLS_BEFORE, _WARM_NS = 1, 1e6


@dataclass(frozen=True, slots=True)
class PartTime:
    """The time of a part in one place.

    Attributes:
        part: The part.
        layer: The layers of the PyTorch module that it comes from; empty where that is not known.
        time_ns: Time of a call of the kernel that is spent in it: the mean of the middle half of the calls.
        limit_ns: The least time that the core needs for its operations, or for its bytes from memory, whichever
            is longer; None where they cannot be counted, or there are none. Bytes count only where all that a
            call of the kernel touches is more than the largest cache; what a part before has just written may
            still come from there, and take less.
        bound: What that limit is: ``compute`` or ``memory``; empty without a limit.
        schedule: What its schedule is called.
    """

    part: Part
    layer: str
    time_ns: float
    limit_ns: float | None
    bound: str
    schedule: str = ""

    @property
    def distance_ns(self) -> float:
        """By how much the time is above its limit."""
        return max(self.time_ns - (self.limit_ns or 0.0), 0.0)


@dataclass(frozen=True, slots=True)
class Profile(Printable):
    """The times of a kernel's parts.

    Attributes:
        name: What was profiled.
        times: The time of each part, in the order in which they are computed.
        kernel_ns: Time of a call of the kernel without clocks in it, in the same run: the mean of the middle
            half of the calls.
        limits: What the core can do.
    """

    name: str
    times: tuple[PartTime, ...]
    kernel_ns: float
    limits: CoreLimits

    @property
    def parts_ns(self) -> float:
        """The sum of the times of all parts."""
        return sum(t.time_ns for t in self.times)

    @property
    def ranked(self) -> tuple[PartTime, ...]:
        """The times, the largest distance to its limit first."""
        return tuple(sorted(self.times, key=lambda t: -t.distance_ns))

    @public
    def to_frame(self) -> pd.DataFrame:
        """Return a row for each part, the largest distance to its limit first; times in ns."""
        import pandas as pd

        rows = [
            {
                "part": t.part.name,
                "kind": t.part.kind,
                "layer": t.layer,
                "time_ns": t.time_ns,
                "share": t.time_ns / self.parts_ns,
                "limit_ns": t.limit_ns,
                "bound": t.bound,
                "distance_ns": t.distance_ns,
                "schedule": t.schedule,
            }
            for t in self.ranked
        ]
        return pd.DataFrame(rows)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.parts.profile_picture import profile_bundle

        return profile_bundle(self)


@public
def profile(
    kernel: Kernel, arguments: Sequence[Array] | None = None, *, seconds: float = _SECONDS, seed: int = 0
) -> Profile:
    """Time the parts of a kernel in place, and say what the core allows for each.

    The kernel's payload is cut into parts as `Payload.parts` does, each with the schedule that it has in the
    kernel; the clock is read between them. What clocks cost, and what fuses across parts in a kernel that is
    scheduled as a whole, makes the sum of the parts differ from the time of the kernel, which is measured too.

    Args:
        kernel: What to profile: from `lhkit.assemble`, or a kernel whose schedule applies to its parts.
        arguments: What to run it on; drawn from the seed if not given.
        seconds: How long to sample; up to five times as long where calls differ so much from one another that
            the parts cannot be compared with the whole to a hundredth.
        seed: What arguments are drawn from.

    Raises:
        UsageError: The payload cannot be cut into parts.
        ScheduleError: The schedule does not apply to a part.
    """
    if not isinstance(kernel, AssembledKernel):
        schedule = kernel.schedule
        if schedule is None:
            raise usage_error("the kernel has no schedule", "Profile what lhkit.assemble(payload) returns.")
        names = [part.name for part in kernel.payload.parts(kernel.function.name)]
        kernel = assemble(
            kernel.payload,
            dict.fromkeys(names, schedule),
            function=kernel.function.name,
            check=False,
            worker=kernel.worker,
        )
    inputs = list(arguments or default_arguments(kernel.payload, kernel.function, seed))
    limits = measure({"kernel": kernel}, inputs, rounds=_LEAST_CALLS, seconds=_LIMIT_SECONDS).limits
    if limits is None:
        raise RuntimeError("a comparison without limits of the core")
    clocked, order = clocked_kernel(kernel)
    clock_ns, whole_ns = _sampled(clocked, kernel, inputs, seconds)
    times = clock_ns[_middle_half(clock_ns.sum(axis=1))].mean(axis=0)
    whole = float(whole_ns[_middle_half(whole_ns)].mean())
    by_name = {part.name: part for part in kernel.parts}
    work = {name: payload_work(p.payload, worker=kernel.worker) for name, p in by_name.items()}
    touched = sum((work[name].bytes or 0) for name in order)
    # What a call touches stays in the caches till the next one, if all of it fits: no bytes from memory.
    is_cached = touched <= last_level_cache_bytes()
    at_limit = {name: _limit(part, work[name], limits, is_cached) for name, part in by_name.items()}
    seen = dict.fromkeys(by_name, 0)
    found = []
    for name, time_ns in zip(order, times, strict=True):
        part, number = by_name[name], seen[name]
        seen[name] += 1
        taken = PurePath(kernel.schedules[name].source).name
        found.append(PartTime(part, part.layers[number], float(time_ns), *at_limit[name], taken))
    return Profile(kernel.whole.source, tuple(found), whole, limits)


def _sampled(clocked: Kernel, kernel: Kernel, inputs: Sequence[Array], seconds: float) -> tuple[Array, Array]:
    """Return the times of the parts in many calls, and the times of calls without clocks, in turns, in ns."""
    kernel(*inputs)
    clocked.calls_before = kernel.calls_before = max(_CALLS_BEFORE, int(_WARM_NS / kernel.last_call_ns))
    parts: list[Array] = []
    whole: list[int] = []
    begin = time.perf_counter()
    while True:
        parts.append(np.diff(clocked(*inputs)[-1]) * 1e9)
        kernel(*inputs)
        whole.append(kernel.last_call_ns)
        passed = time.perf_counter() - begin
        if len(parts) % _LEAST_CALLS or passed < seconds:
            continue
        error = _error_of_ratio(np.stack(parts).sum(axis=1), np.array(whole))
        if error < _ERROR or passed > _MOST_TIMES * seconds:
            break
    kernel.calls_before = 0
    return np.stack(parts), np.array(whole)


def _error_of_ratio(some: Array, others: Array) -> float:
    """Return the standard error of the median of the ratios of pairs, from their quartiles."""
    low, high = np.quantile(np.log(some / others), [0.25, 0.75])
    return float((high - low) / 1.35 * 1.25 / np.sqrt(len(some)))


def _middle_half(totals: Array) -> Array:
    """Return the places of the middle half: their mean is as hard to disturb as a median, and adds up."""
    quarter = len(totals) // 4
    return np.argsort(totals)[quarter : len(totals) - quarter]


def _limit(part: Part, work: Work, limits: CoreLimits, is_cached: bool) -> tuple[float | None, str]:
    results = part.payload.function().results
    peak = limits.peak_gflops(results[0].dtype if results else None)
    compute = work.flops / peak if work.flops is not None and peak else 0.0
    memory = work.bytes / limits.copy_gbytes if work.bytes is not None and not is_cached else 0.0
    if not compute and not memory:
        return None, ""
    return max(compute, memory), "compute" if compute > memory else "memory"
