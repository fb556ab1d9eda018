"""Lines that a payload does not need: each is left out, the rest applied, and the payload compared."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from lhkit.proposals.straight_line import Handle, Line, step_on
from lhkit.worker.requests import LEFT_OUT_TOO, Removal

_Live = Callable[[Sequence[Line]], list[Line]]  # What keeps the lines that have an effect or are read

_PASS, _INLINE = "transform.apply_registered_pass", '"inline"'
_CLEAN_UP = (
    "transform.apply_patterns",
    "transform.apply_cse",
    "transform.apply_dce",
    "transform.apply_licm",
)
_PATTERNS = "transform.apply_patterns"
_MAY_DO_NOTHING = (*_CLEAN_UP, "transform.loop.peel", "transform.loop.unroll")
_MOST_STEPS, _MOST_TWINS = 9000, 4  # What is tried at most: steps applied for removals, steps made one
_OWN = "lhkit."
_NAMED_PRODUCT = '"linalg.matmul"'


def without(lines: Sequence[Line], removed: set[Line], live: _Live, root: Handle) -> list[Line] | None:
    """Return the lines without some; None if what is left reads what these gave.

    A line that gives the payload that it read, such as a pass, is passed by: its readers read what it read.
    """
    same: dict[Handle, Handle] = {}
    kept = []
    for line in lines:
        uses = tuple((s, e, same.get(h, h)) for s, e, h in line.uses)
        if line in removed:
            given = [(r, h) for r in line.results for _, _, h in uses if r.payload and r.payload == h.payload]
            same |= dict(given)
            continue
        body = tuple(
            dataclasses.replace(b, uses=tuple((s, e, same.get(h, h)) for s, e, h in b.uses)) for b in line.body
        )
        kept.append(dataclasses.replace(line, uses=uses, body=body))
    kept = live(kept)
    defined = {root, *(r for line in kept for r in line.results)}
    for line in kept:
        inner = {*line.arguments, *(r for b in line.body for r in b.results)}
        if any(h not in defined and h not in inner for h in line.reads):
            return None
    return kept


def _products_named(lines: Sequence[Line]) -> list[Line] | None:
    """Return the lines with products left as they are named, where others are written as generic ops."""
    generalized = {h for x in lines if x.op == "transform.structured.generalize" for _, _, h in x.uses}
    changed = [
        dataclasses.replace(line, text=re.sub(rf"{_NAMED_PRODUCT}, |, {_NAMED_PRODUCT}", "", line.text))
        if generalized & {*line.results}
        else line
        for line in lines
    ]
    if all(a is b or a.text == b.text for a, b in zip(lines, changed, strict=True)):
        return None
    return [_shifted(a, b) for a, b in zip(lines, changed, strict=True)]


def _shifted(old: Line, new: Line) -> Line:
    by = len(new.text) - len(old.text)
    return new if not by else dataclasses.replace(new, uses=tuple((s + by, e + by, h) for s, e, h in new.uses))


def candidates(lines: Sequence[Line]) -> Iterator[tuple[list[Line], set[Line]]]:
    """Yield what may be left out, the most first: each as all lines, and those of them to leave out."""
    all_lines = list(lines)

    def own(these: Iterable[Line]) -> set[Line]:
        return {
            x
            for x in these
            if any(b.op.startswith(_OWN) and "expand_math" not in b.op for b in (x, *x.body))
            or (x.op == _PASS and _INLINE in x.text)
        }

    ours = own(all_lines)
    if ours:
        last = max(line.group for line in ours)
        yield all_lines, {x for x in all_lines if x.group <= last and x.has_effect}
        if (named := _products_named(all_lines)) is not None:
            yield named, own(named)
        yield all_lines, ours
        for i, line in enumerate(all_lines):
            if line.op == "lhkit.outline_ops":
                back = next((x for x in all_lines[i:] if x.op == _PASS and _INLINE in x.text), line)
                yield all_lines, {line, back}


def twins_merged(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines with two steps as one that do the same to different ops."""
    for i, a in enumerate(lines):
        before = {h for line in lines[:i] for h in line.results}
        for j in range(i + 1, len(lines) if a.has_effect and a.results and not a.body else 0):
            b = lines[j]
            if a.text != b.text or len(a.uses) != len(b.uses) or len(a.results) != len(b.results):
                continue
            pairs = {(x[2], y[2]) for x, y in zip(a.uses, b.uses, strict=True) if x[2] is not y[2]}
            if len(pairs) != 1 or not before.issuperset(*pairs):
                continue
            ((one, other),) = pairs
            both = next((x.uses[0][2] for x in lines[:i] if x.results == (one, other)), None)
            added = [] if both else [step_on("transform.merge_handles", [one, other], [one.hint])]
            both = both or added[0].results[0]
            results = tuple(
                Handle(r.hint, (*r.payload, *s.payload)) for r, s in zip(a.results, b.results, strict=True)
            )
            uses = tuple((s, e, both if h is one else h) for s, e, h in a.uses)
            added.append(dataclasses.replace(a, uses=uses, results=results))
            for whole, part, rest in zip(results, a.results, b.results, strict=True):
                split = step_on("transform.split_handle", [whole], [part.hint, rest.hint])
                added.append(dataclasses.replace(split, results=(part, rest)))
            yield [*lines[:i], *added, *lines[i + 1 : j], *lines[j + 1 :]]


def smaller(
    lines: Sequence[Line],
    live: _Live,
    root: Handle,
    is_same: Callable[[Sequence[Line]], bool],
    removable: Callable[[Sequence[Line], Sequence[Removal]], Sequence[int]],
    wanted: str,
) -> list[Line]:
    """Return the lines without what the payload does not need.

    Args:
        lines: The lines.
        live: What leaves out lines without effect that no other line reads.
        root: The handle that the entry is given.
        is_same: Applies lines and says whether the payload is the same.
        removable: Tries removals from lines, and returns the numbers of those that leave the payload the same.
        wanted: The payload that they give, as it is compared: attributes in it need no trial.
    """
    lines = list(lines)
    for those, removed in candidates(lines):
        kept = without(those, removed, live, root)
        if kept is not None and is_same(kept):
            lines = kept
            break
    # What is cleaned up once more later need not be cleaned up before: all at once, or else one by one.
    last = {line.text: line for line in lines}
    removals: list[Removal] = [
        tuple((n, -1) for n, x in enumerate(lines) if x.op in _CLEAN_UP and last[x.text] is not x)
    ]
    marks: dict[str, list[int]] = {}
    for n, line in enumerate(lines):
        marks.setdefault(line.mark_set[0], []).append(n)
    removals += [
        tuple((n, -1) for n in ns)
        for mark, ns in marks.items()
        if mark and not re.search(rf"[{{ ,]{mark}(?: = |[,}}])", wanted)
    ]
    for n, line in reversed([*enumerate(lines)]):
        if line.op in _MAY_DO_NOTHING:
            removals.append(((n, -1),))
            count = line.text.count("\n") - 1 if line.op == _PATTERNS else 0
            removals += [((n, i),) for i in reversed(range(count)) if count > 1]
    removals = [r for r in removals if r][: _MOST_STEPS // len(lines)]
    gone = {part for number in removable(lines, removals) for part in removals[number]}
    for n, i in sorted(gone, reverse=True):
        if i >= 0:
            text = lines[n].text.splitlines()
            lines[n] = dataclasses.replace(lines[n], text="\n".join(text[: i + 1] + text[i + 2 :]))
    removed = {lines[n] for n, i in gone if i < 0}
    lost = {r for line in removed for r in line.results}
    for line in lines:
        if line.op in LEFT_OUT_TOO and not lost.isdisjoint(line.reads):
            removed.add(line)
            lost.update(line.results)
    lines = without(lines, removed, live, root) or lines
    for _ in range(_MOST_TWINS):
        merged = next(map(live, twins_merged(lines)), None)
        if merged is None or not is_same(merged):
            break
        lines = merged
    return lines
