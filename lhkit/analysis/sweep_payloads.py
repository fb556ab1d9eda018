"""A sweep over several payloads: the best for each, one choice for all, and what that choice costs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lhkit.analysis.sweep_summary import Knobs, median_times
from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.sweep import SweepRecord

if TYPE_CHECKING:
    import pandas as pd

PAYLOAD_AXIS = "payload"


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of knobs, on all payloads.

    Attributes:
        knobs: The choice.
        times_ns: Its median time for each payload.
        regrets: For each payload how much longer it takes than the best there (0.1 is 10 %).
        mean_regret: The geometric mean over payloads, less one.
    """

    knobs: Knobs
    times_ns: tuple[tuple[KnobValue, int], ...]
    regrets: tuple[tuple[KnobValue, float], ...]
    mean_regret: float

    @property
    def worst_regret(self) -> float:
        """The regret on the payload that it fits least."""
        return max(regret for _, regret in self.regrets)


def best_per_payload(
    records: Sequence[SweepRecord], *, axis: str = PAYLOAD_AXIS
) -> dict[KnobValue, tuple[Knobs, int]]:
    """Return for each payload the knobs of its best variant, and its median time in ns."""
    return {
        payload: min(choices.items(), key=lambda choice: choice[1])
        for payload, choices in _times(records, axis).items()
    }


def rank_choices(records: Sequence[SweepRecord], *, axis: str = PAYLOAD_AXIS) -> tuple[Choice, ...]:
    """Return the choices that were timed on every payload, the least mean regret first.

    Raises:
        UsageError: No variant has the axis, or no choice was timed on all payloads.
    """
    times = _times(records, axis)
    best = {payload: min(choices.values()) for payload, choices in times.items()}
    common = [k for k in next(iter(times.values())) if all(k in choices for choices in times.values())]
    if not common:
        raise usage_error("no choice of knobs was timed on all payloads", "Sweep them over the same knobs.")
    ranked = []
    for knobs in common:
        own = {payload: choices[knobs] for payload, choices in times.items()}
        ratios = {payload: own[payload] / best[payload] for payload in own}
        mean = math.exp(math.fsum(map(math.log, ratios.values())) / len(ratios))
        regrets = tuple((payload, ratio - 1) for payload, ratio in ratios.items())
        ranked.append(Choice(knobs, tuple(own.items()), regrets, mean - 1))
    return tuple(sorted(ranked, key=lambda c: c.mean_regret))


def best_choice(records: Sequence[SweepRecord], *, axis: str = PAYLOAD_AXIS) -> Choice:
    """Return the one choice that is best overall: with the least mean regret.

    Raises:
        UsageError: As for `rank_choices`.
    """
    return rank_choices(records, axis=axis)[0]


def payload_frame(records: Sequence[SweepRecord], *, axis: str = PAYLOAD_AXIS) -> pd.DataFrame:
    """Return the table from size to knobs: a row a payload, with its best knobs and the regret of one for all.

    ``to_csv`` of the frame is what other programs read.

    Raises:
        UsageError: As for `rank_choices`.
    """
    import pandas as pd

    overall = dict(best_choice(records, axis=axis).regrets)
    rows: list[Mapping[str, object]] = []
    for payload, (knobs, time_ns) in best_per_payload(records, axis=axis).items():
        regret = overall[payload]
        rows.append({axis: payload, **dict(knobs), "median_ns": time_ns, "regret_of_one_choice": regret})
    return pd.DataFrame(rows)


def _times(records: Sequence[SweepRecord], axis: str) -> dict[KnobValue, dict[Knobs, int]]:
    """Return the median time of each choice, by payload."""
    times = median_times(records)
    found: dict[KnobValue, dict[Knobs, int]] = defaultdict(dict)
    for record in records:
        values = record.values
        if axis in values and record.key in times:
            found[values[axis]][tuple(k for k in record.knobs if k[0] != axis)] = times[record.key]
    if not found:
        raise usage_error(f"no variant that was timed has an axis {axis!r}")
    return dict(found)
