"""What of a line changed: operands, types and attributes, compared by what they mean."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence

from lhkit.traces.diff.ir_lines import ChangedPart, PartKind

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|%[\w$.-]+(?:[#:][0-9]+)?|[#!]?[\w$.]+|\s+|.', re.ASCII | re.DOTALL)
_TYPE = re.compile(
    r"(?:\b(?:tensor|vector|memref|tuple|complex)|![\w$.]+)(?:<(?:[^<>]|<[^<>]*>)*>)?"
    r"|\b(?:index|none|[us]?i[0-9]+|t?b?f[0-9]\w*)\b",
    re.ASCII,
)
# Finding the fewest differences takes quadratic time; longer lines are compared from both ends only.
_MOST_COMPARED = 300


def changed_parts(
    old: str,
    new: str,
    old_values: Sequence[Hashable],
    new_values: Sequence[Hashable],
    aliases: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
) -> tuple[ChangedPart, ...]:
    """Return what of a line is not as it was.

    Args:
        old: The line before.
        new: The line now.
        old_values: What the names of values in it stand for, in order.
        new_values: The same of the new line; equal ones are the same value, whatever their names.
        aliases: What aliases stand for, before and now.
    """
    indent = len(new) - len(new.lstrip())
    before, now = _TOKEN.findall(old.lstrip()), _TOKEN.findall(new[indent:])
    left, right = _meanings(before, old_values, aliases[0]), _meanings(now, new_values, aliases[1])
    starts = [indent]
    for token in now:
        starts.append(starts[-1] + len(token))
    found = []
    for i, j, k, end in _differences(left, right):
        was = before[i:j]
        kind = _kind(now[k:end] or was, starts[k], new)
        found.append(ChangedPart(starts[k], starts[end], "".join(was), kind))
    return tuple(found)


def _meanings(tokens: Sequence[str], values: Sequence[Hashable], aliases: Mapping[str, str]) -> list[Hashable]:
    """Return tokens as what they mean: values by identity, aliases in full."""
    known = iter(values)
    return [
        ("%", next(known, None)) if t[0] == "%" and len(t) > 1 else " " if t.isspace() else aliases.get(t, t)
        for t in tokens
    ]


def _differences(left: list[Hashable], right: list[Hashable]) -> Iterator[tuple[int, int, int, int]]:
    """Yield what differs, as the part of the left and the part of the right."""
    most = min(len(left), len(right))
    first = next((i for i in range(most) if left[i] != right[i]), most)
    tail = next((i for i in range(most - first) if left[-1 - i] != right[-1 - i]), most - first)
    i, k = len(left) - tail, len(right) - tail
    if i - first <= 1 or k - first <= 1 or max(i, k) - first > _MOST_COMPARED:
        if first < max(i, k):
            yield first, i, first, k
        return
    matcher = difflib.SequenceMatcher(None, left[first:i], right[first:k], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            yield first + a, first + b, first + c, first + d


def _kind(tokens: Sequence[str], start: int, line: str) -> PartKind:
    if any(t[0] == "%" for t in tokens):
        return "operand"
    return "type" if any(m.start() <= start < m.end() for m in _TYPE.finditer(line)) else "attribute"
