"""Knobs that made no difference in a sweep."""

from __future__ import annotations

from lhkit.model.knob import KnobValue
from lhkit.sweeps.variant_record import SweepResult


def knobs_without_effect(result: SweepResult) -> tuple[str, ...]:
    """Return the knobs that made no difference.

    Of such a knob several values were tried, some with the others as they were, and every two variants that
    differ in it alone are the same program, as the hashes of their scheduled payloads say.
    """
    found = []
    for name, _ in result.axes:
        by_others: dict[tuple[tuple[str, KnobValue], ...], list[str]] = {}
        for record in result.records:
            if record.ir_sha256 is not None:
                others = tuple(pair for pair in record.knobs if pair[0] != name)
                by_others.setdefault(others, []).append(record.ir_sha256)
        groups = [hashes for hashes in by_others.values() if len(hashes) > 1]
        if groups and all(len(set(hashes)) == 1 for hashes in groups):
            found.append(name)
    return tuple(found)
