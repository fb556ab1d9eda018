"""The middle of a few values and how far it can be believed, when some of them are far off."""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Sequence

from lhkit.model.ranking import ratio_interval
from lhkit.model.sample_statistics import Interval


def centre_interval(ratios: Sequence[float], *, confidence: float) -> Interval:
    """Return the centre of ratios with an interval, from the signed ranks of their logarithms.

    The centre is the median of the means of all pairs (Hodges and Lehmann), the interval inverts Wilcoxon's
    signed-rank test. It is nearly as narrow as Student's where errors are normal, and one value in four may be
    far off. It holds where the logarithms lie symmetrically, as those of the ratio of two equal things do.
    Where there are too few values for the confidence, Student's interval stands in.

    Args:
        ratios: Positive values, at least one.
        confidence: How often such intervals hold the centre.
    """
    count = len(ratios)
    if 2 / 2**count > 1 - confidence:
        return ratio_interval(ratios, confidence=confidence)
    logs = [math.log(r) for r in ratios]
    means = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(logs, 2))
    outside = _outside(count, 1 - confidence)
    low, high = means[outside], means[len(means) - 1 - outside]
    return Interval(math.exp(low), math.exp(statistics.median(means)), math.exp(high))


@functools.cache
def _outside(count: int, error: float) -> int:
    """Return how many means may lie beyond each end, so that both ends fail with at most this probability."""
    sums = [1]  # how many sets of ranks have each sum
    for rank in range(1, count + 1):
        more = sums + [0] * rank
        for total, ways in enumerate(sums):
            more[total + rank] += ways
        sums = more
    allowed, ways, outside = error / 2 * 2**count, 0, 0
    while (ways := ways + sums[outside]) <= allowed:
        outside += 1
    return outside - 1
