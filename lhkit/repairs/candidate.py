"""A candidate for a repair, and which op of the new text is which of the old."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lhkit.model.repair import RepairKind
from lhkit.text.parser import read_steps
from lhkit.text.script import Edited, Replacement, with_replacements


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit that may repair a schedule.

    Attributes:
        kind: What sort of change it is.
        title: What it does, as a sentence without its full stop.
        edited: The edit.
        doubt: How far it may be from what was meant, from 0.
        group: Candidates of one group do the same in other ways: one that helps is enough. "" is a group of
            those with the same title.
    """

    kind: RepairKind
    title: str
    edited: Edited
    doubt: int = 0
    group: str = ""

    @property
    def characters_changed(self) -> int:
        """How many characters it removes and adds."""
        return sum(_difference(self.edited.before[r.start : r.end], r.text) for r in self.edited.replacements)


def candidate(
    kind: RepairKind,
    title: str,
    text: str,
    replacements: Sequence[Replacement],
    doubt: int = 0,
    group: str = "",
) -> Candidate:
    """Return the candidate that makes these replacements, which must not overlap."""
    ordered = tuple(sorted(replacements, key=lambda r: (r.start, r.end)))
    edited = Edited(text, with_replacements(text, ordered), ordered, title)
    return Candidate(kind, title, edited, doubt, group)


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates in the order in which they should be tried, each text once and changed ones only."""
    ordered = sorted(candidates, key=lambda c: (c.doubt, c.characters_changed))
    found: dict[str, Candidate] = {}
    for each in ordered:
        if each.edited.text != each.edited.before:
            found.setdefault(each.edited.text, each)
    return list(found.values())


def unified_diff(before: str, after: str, source: str) -> str:
    """Return the change from one text to another as a unified diff."""
    old, new = before.splitlines(), after.splitlines()
    lines = difflib.unified_diff(old, new, source, f"{source} (repaired)", n=1, lineterm="")
    return "\n".join(lines) + "\n"


def corresponding_ops(edited: Edited) -> dict[int, int]:
    """Return, for the start of each transform op of the old text, the start of the same op in the new one.

    Ops outside the replaced pieces keep their order; those inside are paired by name, in order.
    """
    new_by_name = {op.name_start: op for op in read_steps(edited.text)}
    pairs: dict[int, int] = {}
    rest = []
    for op in read_steps(edited.before):
        at = _shifted(op.name_start, edited.replacements)
        there = new_by_name.get(at) if at is not None else None
        if there is not None and there.name == op.name:
            pairs[op.start] = there.start
            del new_by_name[there.name_start]
        else:
            rest.append(op)
    left = list(new_by_name.values())
    for op in rest:
        found = next((new for new in left if new.name == op.name), None)
        if found is not None:
            left.remove(found)
            pairs[op.start] = found.start
    return pairs


def _shifted(at: int, replacements: Sequence[Replacement]) -> int | None:
    """Return where a place of the old text is in the new one, None for a place that was replaced."""
    shift = 0
    for r in replacements:
        if r.start <= at < r.end:
            return None
        if r.end <= at:
            shift += len(r.text) - (r.end - r.start)
    return at + shift


def _difference(old: str, new: str) -> int:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return len(old) + len(new) - 2 * same
