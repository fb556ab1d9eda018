"""The upgrade of a text: rules on its ops until nothing changes, then its sequences."""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

from lhkit.text.brackets import are_balanced
from lhkit.text.op_tree import OpSyntax, Syntax
from lhkit.text.parser import read_syntax
from lhkit.text.script import Replacement, with_replacements
from lhkit.text.upgrades.elementwise_ops import Respelling
from lhkit.text.upgrades.payload_rules import find_in_payload
from lhkit.text.upgrades.rule_context import Scope
from lhkit.text.upgrades.rule_edits import Change, Finding, Hint, Rewrite, Upgrade
from lhkit.text.upgrades.sequences import (
    TOP_LEVEL,
    entry_bindings,
    find_sequences,
    qualify,
    rename_pdl_types,
    to_named_sequence,
)
from lhkit.text.upgrades.signatures import collect_types
from lhkit.text.upgrades.transform_names import rename_payload_ops
from lhkit.text.upgrades.transform_rules import find_in_transform

ENTRY = "__transform_main"
# Each pass rewrites every op once; the longest chain of spellings is six.
_MOST_PASSES = 16
_BETWEEN = re.compile(r"^// -----.*\n", re.MULTILINE)


def upgrade_text(text: str, elementwise: Respelling | None = None) -> Upgrade:
    """Return a text with old spellings of the transform dialect and of payloads rewritten to today's.

    Comments and layout stay. What is written as today is left alone, so that upgrading twice changes nothing
    more; whether the result parses is for the compiler to say. Parts of a file between lines ``// -----`` are
    files of their own, as for the tools that split there.

    Args:
        text: The text.
        elementwise: What rewrites the elementwise ops of linalg; None: they stay.
    """
    parts = [_upgrade_part(part, elementwise) for _, part in split_parts(text)]
    old_line, new_line = 0, 0
    changes: list[Change] = []
    hints: list[Hint] = []
    lines: list[int] = []
    for (_, given), part in zip(split_parts(text), parts, strict=True):
        changes += [dataclasses.replace(c, line=c.line + old_line) for c in part.changes]
        hints += [dataclasses.replace(h, line=h.line + new_line) for h in part.hints]
        # The last line of a part that ends with a line break is the first of the next one.
        del lines[new_line:]
        lines += [n + old_line for n in part.lines]
        old_line += given.count("\n")
        new_line += part.text.count("\n")
    bind = next((part.bind for part in parts if part.bind), ())
    return Upgrade("".join(p.text for p in parts), tuple(changes), tuple(hints), tuple(lines), bind)


def split_parts(text: str) -> list[tuple[int, str]]:
    """Return the parts of a text between lines ``// -----``, each with the number of lines before it."""
    parts, start, lines = [], 0, 0
    for match in _BETWEEN.finditer(text):
        parts.append((lines, text[start : match.end()]))
        lines += text.count("\n", start, match.end())
        start = match.end()
    return [*parts, (lines, text[start:])]


def _upgrade_part(text: str, elementwise: Respelling | None) -> Upgrade:
    state = _State(text, elementwise)
    found = state.rewrite_all()
    bind = state.name_sequences()
    if bind is not None:
        found = state.rewrite_all()  # a sequence that was taken out of another one may need more
    hints = [f for f in found if isinstance(f, Hint)]
    return Upgrade(
        text=state.text,
        changes=tuple(sorted(state.changes, key=lambda c: c.line)),
        hints=tuple(sorted(dict.fromkeys([*state.hints, *hints]), key=lambda h: (h.line, h.column))),
        lines=tuple(state.lines),
        bind=bind or (),
    )


def has_top_level_sequence(text: str) -> bool:
    """Return True for a text with a sequence that today's interpreter does not apply as it stands."""
    return any(True for _ in find_sequences(read_syntax(text, is_old=True).ops))


def _find(ops: Sequence[OpSyntax], elementwise: Respelling | None) -> Iterator[Finding]:
    types = collect_types(ops)
    yield from _visit(ops, types, elementwise, in_transform=False)


def _visit(
    ops: Sequence[OpSyntax],
    types: dict[str, tuple[str, ...]],
    elementwise: Respelling | None,
    *,
    in_transform: bool,
) -> Iterator[Finding]:
    scope = Scope(types, ops)
    for op in ops:
        if op.spelling.startswith("pdl.") and op.regions:
            continue
        inside = in_transform or _is_transform(op)
        if are_balanced(op.tokens):
            own = elementwise(op, inside) if elementwise is not None else ()
            yield from _first(chain(_rules(op, scope, inside), [own]))
        for region in op.regions:
            for label in region.labels if inside else ():
                own = elementwise(label, inside) if elementwise is not None else ()
                yield from _first((rename_pdl_types(label), rename_payload_ops(label), own))
            yield from _visit(region.ops, types, elementwise, in_transform=inside)


def _is_transform(op: OpSyntax) -> bool:
    return op.spelling in TOP_LEVEL or op.spelling.startswith("transform.")


def _rules(op: OpSyntax, scope: Scope, in_transform: bool) -> Iterator[Iterable[Finding]]:
    if in_transform:
        yield rename_pdl_types(op)
        yield rename_payload_ops(op)
        yield qualify(op)
        if op.at.kind == "word" or op.is_generic:
            yield find_in_transform(op, scope)
    if not op.spelling.startswith("transform."):
        yield find_in_payload(op, scope)


def _first(rules: Iterable[Iterable[Finding]]) -> Iterable[Finding]:
    """Return what the first rule with something to say says."""
    for rule in rules:
        if found := list(rule):
            return found
    return ()


class _State:
    """A text on its way, with what became of it."""

    def __init__(self, text: str, elementwise: Respelling | None) -> None:
        self.text = text
        self.elementwise = elementwise
        self.changes: list[Change] = []
        self.hints: list[Hint] = []
        self.lines: list[int] = list(range(1, text.count("\n") + 2))

    @property
    def _syntax(self) -> Syntax:
        return read_syntax(self.text, is_old=True)

    def rewrite(self, findings: Sequence[Finding]) -> bool:
        """Do the rewrites that do not get in each other's way; return True if there was one."""
        comments = [(t.start, t.end) for t in self._syntax.tokens if t.kind == "comment"]
        taken: list[Replacement] = []
        ordered: list[tuple[int, int]] = []
        for finding in findings:
            if not isinstance(finding, Rewrite) or not finding.edits:
                continue
            if any(_in_one(e, comments) or _meets_one(e, ordered) for e in finding.edits):
                continue
            own = sorted((e.start, e.end) for e in finding.edits)
            if any(end > start for (_, end), (start, _) in pairwise(own)):
                continue
            taken += finding.edits
            for edit in finding.edits:
                bisect.insort(ordered, (edit.start, edit.end))
            line = self.lines[finding.change.line - 1]
            self.changes.append(dataclasses.replace(finding.change, line=line))
        self._apply(taken)
        return bool(taken)

    def _apply(self, edits: list[Replacement]) -> None:
        """Replacement the text, and remember which line of the given text each line was."""
        lines: list[int] = [1]
        ordered = sorted(edits, key=lambda e: (e.start, e.end))
        at, line = 0, 0
        for edit in [*ordered, Replacement(len(self.text), len(self.text), "")]:
            for _ in range(self.text.count("\n", at, edit.start)):
                line += 1
                lines.append(self.lines[line])
            lines += [self.lines[line]] * edit.text.count("\n")
            line += self.text.count("\n", edit.start, edit.end)
            at = edit.end
        lines[0] = self.lines[0]
        if edits:
            self.text = with_replacements(self.text, edits)
        self.lines = lines

    def rewrite_all(self) -> list[Finding]:
        """Rewrite until there is nothing more to do; return what is found then."""
        for _ in range(_MOST_PASSES):
            found = list(_find(self._syntax.ops, self.elementwise))
            if not self.rewrite(found):
                return found
        return list(_find(self._syntax.ops, self.elementwise))

    def name_sequences(self) -> tuple[str, ...] | None:
        """Turn top-level sequences into named ones; return what the first one's extra arguments take.

        None if there was nothing to name.
        """
        bind: tuple[str, ...] | None = None
        named = 0
        # All that do not touch are named in one pass, and those that do in the next.
        for _ in range(_MOST_PASSES):
            sequences = list(find_sequences(self._syntax.ops))
            if sequences and bind is None:
                bind = entry_bindings(sequences[0])
            findings: list[Finding] = []
            for sequence in sequences:
                name = ENTRY if named == 0 else f"{ENTRY}_{named + 1}"
                findings.append(to_named_sequence(sequence, name))
                named += isinstance(findings[-1], Rewrite)
            if not self.rewrite(findings):
                self.hints += [f for f in findings if isinstance(f, Hint)]
                break
        return bind


def _in_one(edit: Replacement, ranges: Sequence[tuple[int, int]]) -> bool:
    """Return True if an edit changes a character of one of these ranges, which are in order."""
    before = bisect.bisect_left(ranges, (edit.end, edit.end)) - 1
    return before >= 0 and ranges[before][0] < edit.end and edit.start < ranges[before][1]


def _meets_one(edit: Replacement, ranges: Sequence[tuple[int, int]]) -> bool:
    """Return True if an edit overlaps one of these ranges, which are in order, or begins where one does."""
    at = bisect.bisect_left(ranges, (edit.start, edit.start))
    return any(
        (edit.start < end and start < edit.end) or edit.start == start
        for start, end in ranges[max(at - 1, 0) : at + 1]
    )
