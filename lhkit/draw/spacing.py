"""Labels that must not overlap: moved apart, as little as that takes."""

from __future__ import annotations

from collections.abc import Sequence


def spaced(places: Sequence[float], least: float, bounds: tuple[float, float]) -> tuple[float, ...]:
    """Return places at least so far apart, in the same order, near where they were.

    Labels that crowd are spread around their common middle, and pushed back inside of the bounds.

    Args:
        places: Where each would like to be.
        least: The least distance of two; less where the bounds have no room for that.
        bounds: The lowest and the highest place there is.
    """
    low, high = bounds
    if len(places) > 1:
        least = min(least, (high - low) / (len(places) - 1))
    order = sorted(range(len(places)), key=lambda i: places[i])
    # Runs of labels that touch: first place, and how many.
    runs: list[tuple[float, list[int]]] = []
    for i in order:
        runs.append((places[i], [i]))
        while len(runs) > 1 and runs[-2][0] + least * len(runs[-2][1]) > runs[-1][0]:
            members = runs[-2][1] + runs[-1][1]
            # The middle of the run is the mean of where its members would like to begin.
            start = sum(places[m] - least * n for n, m in enumerate(members)) / len(members)
            runs[-2:] = [(start, members)]
    found = [0.0] * len(places)
    for start, members in runs:
        for n, member in enumerate(members):
            found[member] = start + least * n
    for n, member in enumerate(reversed(order)):
        found[member] = min(found[member], high - least * n)
    for n, member in enumerate(order):
        found[member] = max(found[member], low + least * n)
    return tuple(found)
