"""A cheap stage for variants of a sweep: code that LLVM's optimizer has not seen is timed first.

Most of what a variant costs is that optimizer, by which code that a schedule has vectorized hardly gains. What
is far behind without it is not worth it. How far optimized code can be ahead of plain code is learnt from the
variants that had both; where the stage costs more than it saves, it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PLAIN_LEVEL = 0
# So many variants are timed as both before one is given up by its plain code alone.
_LEAST_KNOWN = 6
# So many times of plain code before the stage is judged, and by so many of the last ones.
_LEAST_JUDGED, _JUDGED = 12, 16
# Of so many ratios the largest may be one of a timing that something disturbed.
_MANY = 10


@dataclass(slots=True)
class PlainCodeStage:
    """What is known of plain code beside optimized code; costs are in ns, of all variants so far."""

    cut: float  # From which multiple of the best time a variant is given up
    plain_ns: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)  # Times of plain code as multiples of those of optimized
    cost_ns: int = 0
    optimized_ns: int = 0

    def pays(self, best_ns: float) -> bool:
        """Return whether it saves more than it costs, by what it would do to the last variants that had it."""
        if len(self.plain_ns) < _LEAST_JUDGED or not self.ratios:
            return True
        last = self.plain_ns[-_JUDGED:]
        share = sum(self.is_hopeless(each, best_ns) for each in last) / len(last)
        return share * self.optimized_ns / len(self.ratios) > self.cost_ns / len(self.plain_ns)

    def is_hopeless(self, plain_ns: float, best_ns: float) -> bool:
        """Return whether optimized code of a variant is certainly not near the best time."""
        if len(self.ratios) < _LEAST_KNOWN:
            return False
        largest = sorted(self.ratios)[-1 if len(self.ratios) < _MANY else -2]
        return plain_ns > self.cut * max(1, largest) * best_ns

    def take_plain(self, plain_ns: float, cost_ns: int) -> None:
        """Take note of the time of plain code, and of what compiling and timing it cost."""
        self.plain_ns.append(plain_ns)
        self.cost_ns += cost_ns

    def take_optimized(self, plain_ns: float, optimized_ns: float, cost_ns: int) -> None:
        """Take note of both times of a variant, and of what optimizing it and timing it in full cost."""
        self.ratios.append(plain_ns / max(optimized_ns, 1))
        self.optimized_ns += cost_ns
