"""A cheap stage for variants of a sweep: code that LLVM's optimizer has not seen is timed first.

Most of what a variant costs is that optimizer, by which code that a schedule has vectorized hardly gains. What
is far behind without it is not worth it. How far optimized code can be ahead of plain code is learnt from the
variants that had both; where the stage costs more than it saves, it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PLAIN_LEVEL = 0
# So many variants are timed as both before one is given up by its plain code alone.
_LEAST_KNOWN = 5
_LEAST_TRIED = 12


@dataclass(slots=True)
class PlainCodeStage:
    """What is known of plain code beside optimized code; costs are in ns, of all variants so far."""

    cut: float  # From which multiple of the best time a variant is given up
    ratios: list[float] = field(default_factory=list)  # Times of plain code as multiples of those of optimized
    tried: int = 0
    cost_ns: int = 0
    optimized_ns: int = 0

    @property
    def pays(self) -> bool:
        """Whether it saves more than it costs, as far as is known."""
        if self.tried < _LEAST_TRIED:
            return True
        given_up = self.tried - len(self.ratios)
        return given_up * self.optimized_ns > len(self.ratios) * self.cost_ns

    def is_hopeless(self, plain_ns: float, best_ns: float) -> bool:
        """Return whether optimized code of a variant is certainly not near the best time."""
        return len(self.ratios) >= _LEAST_KNOWN and plain_ns > self.cut * max(1, *self.ratios) * best_ns

    def take_plain(self, cost_ns: int) -> None:
        """Take note of what compiling plain code and timing it cost."""
        self.tried += 1
        self.cost_ns += cost_ns

    def take_optimized(self, plain_ns: float, optimized_ns: float, cost_ns: int) -> None:
        """Take note of both times of a variant, and of what optimizing it and timing it in full cost."""
        self.ratios.append(plain_ns / max(optimized_ns, 1))
        self.optimized_ns += cost_ns
