"""Random points without replacement, each set of them as likely as any other."""

from __future__ import annotations

from lhkit.sweeping.plan import Places
from lhkit.sweeping.strategies.proposing import Proposer


class RandomOrder(Proposer):
    """Random points without replacement."""

    def propose(self) -> Places | None:
        """Return a random point."""
        return self.draw()
