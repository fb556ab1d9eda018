"""The order of payload ops in a snapshot, in few characters: ops made together have numbers in a row."""

from __future__ import annotations

from collections.abc import Sequence


def written_order(ids: Sequence[str]) -> str:
    """Return ids as text: ``o0 o5-o9 o3``, where ``o5-o9`` stands for ``o5``, ``o6`` … ``o9``.

    Args:
        ids: Ids of payload ops, the letter ``o`` and a number.
    """
    runs: list[str] = []
    first = last = -2
    for number in [int(each[1:]) for each in ids]:
        if number == last + 1 and first >= 0:
            last = number
            continue
        if first >= 0:
            runs.append(_run(first, last))
        first = last = number
    if first >= 0:
        runs.append(_run(first, last))
    return " ".join(runs)


def read_order(text: str) -> tuple[str, ...]:
    """Return the ids that `written_order` wrote."""
    found: list[str] = []
    for run in text.split():
        first, _, last = run.partition("-")
        found += [f"o{n}" for n in range(int(first[1:]), int((last or first)[1:]) + 1)]
    return tuple(found)


def _run(first: int, last: int) -> str:
    return f"o{first}" if first == last else f"o{first}-o{last}"
