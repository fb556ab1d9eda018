"""Patches of panes: what differs between the content that a page has and the new one, as JSON.

A patch is one of

- ``{"s": value}``: another value;
- ``{"k": {key: patch}}``: an object with some entries changed;
- ``{"t": [[start, end, text], …]}``: a text with pieces replaced, in ascending order, at positions in the old;
- ``{"l": [[start, end, items], …]}``: a list with items replaced, likewise.

``static/patches.js`` applies them.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

# Shorter texts are sent whole.
_LEAST_TEXT = 200
# Where texts of HTML and of JSON are cut to be compared.
_PIECES = re.compile(r"[^>}\]\n]*[>}\]\n]?")
# Beyond this plane of Unicode, positions in JavaScript are others.
_LAST_CODE_UNIT = "\uffff"

# Start and end of items, and start and end of those of the new sequence that replace them.
Change = tuple[int, int, int, int]


def patch_of(old: Any, new: Any) -> dict[str, Any]:
    """Return the patch that turns a JSON value into another one."""
    if isinstance(old, str) and isinstance(new, str):
        return _text_patch(old, new)
    if isinstance(old, Mapping) and isinstance(new, Mapping) and old.keys() == new.keys() and "z" not in old:
        return {"k": {key: patch_of(old[key], new[key]) for key in new if old[key] != new[key]}}
    if isinstance(old, list) and isinstance(new, list):
        texts = [[msgspec.json.encode(item) for item in items] for items in (old, new)]
        return {"l": [[i, j, new[k:end]] for i, j, k, end in find_changes(*texts)]}
    return {"s": new}


def _text_patch(old: str, new: str) -> dict[str, Any]:
    if len(new) < _LEAST_TEXT or not old or max(old) > _LAST_CODE_UNIT:
        return {"s": new}
    (pieces, olds), (others, news) = _cut(old), _cut(new)
    edits: list[tuple[int, int, str]] = []
    for i, j, k, end in find_changes(pieces, others):
        begin, stop = olds[i], olds[j]
        text = new[news[k] : news[end]]
        # Pieces are coarse: only what differs in them is replaced.
        first = _common(old[begin:stop], text)
        last = _common(old[begin + first : stop][::-1], text[first:][::-1])
        edits.append((begin + first, stop - last, text[first : len(text) - last]))
    size = sum(len(text) + 12 for _, _, text in edits)
    return {"t": edits} if size < len(new) * 3 // 4 else {"s": new}


@functools.lru_cache(maxsize=64)  # values that a slider comes back to have the same texts
def _cut(text: str) -> tuple[list[str], list[int]]:
    """Return the pieces of a text, and where each begins."""
    pieces = _PIECES.findall(text)
    return pieces, [0, *itertools.accumulate(map(len, pieces))]


def _common(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if one[:middle] == other[:middle] else (least, middle - 1)
    return least


def find_changes(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[Change]:
    """Yield the changes between two sequences, matched by items that occur once in both (a patience diff).

    It takes n log n time, where a minimal diff takes quadratic time on generated text.
    """
    uniques = [{item for item, n in Counter(items).items() if n == 1} for items in (old, new)]
    at = {item: i for i, item in enumerate(old) if item in uniques[0]}
    pairs = [(at[item], k) for k, item in enumerate(new) if item in uniques[1] and item in at]
    i = k = 0
    for left, right in (*_ascending(pairs), (len(old), len(new))):
        j, end = left, right
        while i < j and k < end and old[i] == new[k]:
            i, k = i + 1, k + 1
        while i < j and k < end and old[j - 1] == new[end - 1]:
            j, end = j - 1, end - 1
        if i < j or k < end:
            yield i, j, k, end
        i, k = left + 1, right + 1


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a longest run of pairs, in order of the second, that also ascends in the first."""
    ends: list[int] = []
    heads: list[int] = []
    before: list[int] = []
    for number, (left, _) in enumerate(pairs):
        place = bisect.bisect_left(ends, left)
        before.append(heads[place - 1] if place else -1)
        ends[place : place + 1] = [left]
        heads[place : place + 1] = [number]
    found, last = [], heads[-1] if heads else -1
    while last >= 0:
        found.append(pairs[last])
        last = before[last]
    return found[::-1]
