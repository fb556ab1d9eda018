"""A sweep over several payloads: the best for each, one choice for all, and what that choice costs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import KnobValue
from lhkit.sweeps.sweep_summary import PAYLOAD_AXIS, Knobs, median_times
from lhkit.sweeps.variant_record import SweepRecord, SweepResult


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


def choices_of(result: SweepResult) -> tuple[Choice, ...]:
    """Return the choices of a sweep; see `SweepResult.choices`."""
    return rank_choices(result.records)


def payload_rows(result: SweepResult) -> list[dict[str, KnobValue | float | None]]:
    """Return a row a payload: its arguments, its best knobs, their time, and the regret of one choice for all.

    The best knobs of a payload are those that won when the best few were timed again, or that were ahead then
    where there was no difference; ``confirmed`` says which. The regret is None where no choice was timed on
    all payloads.

    Raises:
        UsageError: The sweep had no several payloads, or no variant was timed.
    """
    records = result.records
    try:
        one = dict(best_choice(records).regrets)
    except UsageError:
        one = {}
    found = dict(result.confirmations)
    signatures = dict(result.signatures)
    knobs_of = {r.key: tuple(k for k in r.knobs if k[0] != PAYLOAD_AXIS) for r in records}
    rows: list[dict[str, KnobValue | float | None]] = []
    times = _times(records, PAYLOAD_AXIS)
    for payload, (knobs, _) in best_per_payload(records).items():
        confirmation = found.get(str(payload))
        is_settled = confirmation is not None and (confirmation.winner_key or confirmation.is_settled)
        chosen = knobs_of.get(confirmation.leader_key, knobs) if confirmation and is_settled else knobs
        rows.append(
            {
                PAYLOAD_AXIS: payload,
                "arguments": signatures.get(str(payload)),
                **dict(chosen),
                "median_ns": times[payload][chosen],
                "confirmed": confirmation.verdict.outcome if confirmation and is_settled else None,
                "regret_of_one_choice": one.get(payload),
            }
        )
    return rows


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
