"""Texts as edits of other texts, for snapshots."""

from __future__ import annotations

import difflib

from lhkit.model.trace_record import Edit

# Comparing line by line takes quadratic time; a longer piece is replaced as a whole.
_MOST_COMPARED = 400


def find_edits(old: list[str], new: list[str]) -> tuple[Edit, ...]:
    """Return the edits that turn lines into other lines, in ascending order."""
    first = 0
    most = min(len(old), len(new))
    while first < most and old[first] == new[first]:
        first += 1
    tail = 0
    while tail < most - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
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
