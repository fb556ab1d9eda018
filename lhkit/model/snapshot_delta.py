"""Line deltas between consecutive IR snapshots."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Sequence

from lhkit.model.trace_record import Edit

# The minimal diff takes quadratic time; a longer piece is replaced as a whole.
_MOST_COMPARED = 400


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """Return the lengths of the common prefix and suffix, which do not overlap."""
    most = min(len(old), len(new))
    first = next((i for i in range(most) if old[i] != new[i]), most)
    tail = next((i for i in range(most - first) if old[-1 - i] != new[-1 - i]), most - first)
    return first, tail


def find_edits(old: list[str], new: list[str]) -> tuple[Edit, ...]:
    """Return the edits that turn lines into other lines, in ascending order."""
    first, tail = common_ends(old, new)
    removed, added = old[first : len(old) - tail], new[first : len(new) - tail]
    if not removed and not added:
        return ()
    if max(len(removed), len(added)) > _MOST_COMPARED:
        return (Edit(first + 1, len(removed), tuple(added)),)
    matcher = difflib.SequenceMatcher(None, removed, added, autojunk=False)
    return tuple(
        Edit(first + i + 1, j - i, tuple(added[k:end]))
        for kind, i, j, k, end in matcher.get_opcodes()
        if kind != "equal"
    )


def written_order(ids: Sequence[str]) -> str:
    """Return ids of payload ops as text with ranges: ``o0 o5-o9 o3``."""
    numbers = [int(each[1:]) for each in ids]
    groups = itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in group] for _, group in groups]
    return " ".join(f"o{run[0]}" if len(run) == 1 else f"o{run[0]}-o{run[-1]}" for run in runs)


def read_order(text: str) -> tuple[str, ...]:
    """Return the ids that `written_order` wrote."""
    found: list[str] = []
    for run in text.split():
        first, _, last = run.partition("-")
        found += [f"o{n}" for n in range(int(first[1:]), int((last or first)[1:]) + 1)]
    return tuple(found)
