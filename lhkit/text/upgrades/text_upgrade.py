"""Upgrade driver: applies rules to a fixpoint, then names top-level sequences."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

from lhkit.model.step_form import op_of_type
from lhkit.text.lexer import Token
from lhkit.text.op_tree import BlockLabel, OpSyntax, Syntax
from lhkit.text.parser import SHORT_NAMES, are_balanced, first_outside, read_syntax, source_of
from lhkit.text.script import Replacement, with_replacements
from lhkit.text.upgrades.linalg_rules import Respelling
from lhkit.text.upgrades.payload_rules import find_in_payload
from lhkit.text.upgrades.rule_edits import (
    ANY_OP,
    PDL_OPERATION,
    Change,
    Finding,
    Hint,
    Rewrite,
    Scope,
    Types,
    Upgrade,
    arguments_in,
    between,
    collect_types,
    hint,
    inserted,
    rename,
    replaced,
    rewrite,
)
from lhkit.text.upgrades.transform_rules import find_in_transform, rename_payload_ops

TOP_LEVEL = (
    "transform.sequence",
    "transform.with_pdl_patterns",
    "transform.structured.canonicalized_sequence",
    "transform.with_named_sequence",
)
_MARK = "transform.with_named_sequence"
# Transform ops by their first word, as they stood in sequences without the dialect's name.
_FAMILIES = ("structured", "loop", "match", "param", "debug", "test")
_PLAIN = """
get_closest_isolated_parent pdl_match split_handles with_pdl_patterns test_print_remark_at_operand
test_print_param test_print_number_of_associated_payload_ir_ops test_consume_operand
"""
_UNPREFIXED = SHORT_NAMES | {*_PLAIN.split()}


def find_sequences(ops: Sequence[OpSyntax]) -> Iterable[OpSyntax]:
    """Yield the top-level sequences that older interpreters applied, in a module or not."""
    for op in ops:
        if op.spelling in TOP_LEVEL and not op.is_generic:
            yield op
        elif op.spelling in ("module", "builtin.module"):
            for region in op.regions:
                yield from find_sequences(region.ops)


def to_named_sequence(op: OpSyntax, name: str) -> Finding:
    """Return the rewrite of a top-level sequence to a module with a named sequence."""
    label = _label(op)
    if label is None or not op.regions[0].is_closed:
        return hint(
            op.at,
            f"{op.spelling} at the top level is not applied today",
            f"module attributes {{{_MARK}}} {{ transform.named_sequence @{name}(%root: {ANY_OP}) {{ … }} }}",
        )
    holds_patterns = any(inner.spelling.startswith("pdl.") for inner in op.regions[0].ops)
    if op.spelling == "transform.with_pdl_patterns" and holds_patterns:
        edits = _wrap(op, name, is_sequence=False)
    elif any(t.text == "suppress" for t in op.head):
        edits = _wrap(op, name, is_sequence=True)
    else:
        edits = _replace(op, label, name)
    new = f"transform.named_sequence @{name}"
    return rewrite(op.at, f"{op.spelling} at the top level", new, *edits, until=18)


def _replace(op: OpSyntax, label: BlockLabel, name: str) -> list[Replacement]:
    """Turn the sequence itself into the named sequence; its arguments, body and comments stay unchanged."""
    region = op.regions[0]
    opening = f"module attributes {{{_MARK}}} {{\ntransform.named_sequence @{name}"
    ends = region.ops and region.ops[-1].spelling in ("transform.yield", "yield")
    ending = "" if ends and op.spelling != "transform.with_pdl_patterns" else "  transform.yield\n"
    return [
        between(op.first, label.at, opening),
        replaced(label.tokens[-1], f"{_result_types(op)} {{"),
        inserted(region.end - 1, ending),
        inserted(region.end, "\n}"),
    ]


def _result_types(op: OpSyntax) -> str:
    """Return the types of a sequence's results behind an arrow, "" if it has none; what it yields stays."""
    arrow = first_outside(op.head, "->")
    if arrow is None:
        return ""
    behind = [t for t in op.head[arrow + 1 :] if t.text != "attributes"]
    fails = next((i for i, t in enumerate(behind) if t.text == "failures"), len(behind))
    types = source_of(behind[:fails])
    return f" -> {types}" if types.startswith("(") or "," not in types else f" -> ({types})"


def _wrap(op: OpSyntax, name: str, *, is_sequence: bool) -> list[Replacement]:
    """Put an op that has to stay, for its patterns or for how it fails, into a named sequence."""
    types = [source_of(part[2:]) for part in _arguments(op)[: None if is_sequence else 1]]
    names = [f"%outer{i or ''}" for i in range(len(types))]
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    header = f"module attributes {{{_MARK}}} {{\ntransform.named_sequence @{name}({arguments}) {{\n"
    given = f"{', '.join(names)} : {', '.join(types)}"
    before_head = is_sequence and op.head
    return [
        inserted(op.start, header),
        inserted(op.head[0].start, f"{given} ") if before_head else inserted(op.at.end, f" {given}"),
        inserted(op.end, "\ntransform.yield\n}\n}"),
    ]


def _label(op: OpSyntax) -> BlockLabel | None:
    return op.regions[0].blocks[0].label if op.regions and op.regions[0].blocks else None


def _arguments(op: OpSyntax) -> list[list[Token]]:
    label = _label(op)
    return [part for part in arguments_in(label.tokens) if len(part) > 2] if label else []


def qualify(op: OpSyntax) -> Iterable[Rewrite]:
    """Give an op in a sequence the name of the dialect, which was understood there."""
    if op.is_generic or op.at.kind != "word" or op.spelling.startswith("transform."):
        return
    first = op.spelling.partition(".")[0]
    if op.spelling == "tile_to_foreach_thread_op":  # a few years ago it needed no prefix at all
        yield rename(op, f"transform.structured.{op.spelling}")
    elif (first in _FAMILIES and first != op.spelling) or op.spelling in _UNPREFIXED:
        yield rename(op, f"transform.{op.spelling}")


def rename_pdl_types(op: OpSyntax | BlockLabel) -> Iterable[Rewrite]:
    """Handles are of a type of the transform dialect, no longer of pdl's."""
    edits = [replaced(t, ANY_OP) for t in op.tokens if t.text == PDL_OPERATION]
    if edits:
        yield rewrite(op.at, PDL_OPERATION, ANY_OP, *edits, until=18)


ENTRY = "__transform_main"
# Each pass rewrites every op once; the longest chain of spellings is six.
_MOST_PASSES = 16
_BETWEEN = re.compile(r"^// -----.*\n", re.MULTILINE)


def upgrade_text(text: str, elementwise: Respelling = lambda op, in_transform: ()) -> Upgrade:
    """Return a text with old spellings of the transform dialect and of payloads rewritten to today's.

    Comments and layout stay. What is written as today is left alone, so that upgrading twice changes nothing
    more; whether the result parses is for the compiler to say. Parts of a file between lines ``// -----`` are
    files of their own, as for the tools that split there.
    """
    changes: list[Change] = []
    hints: list[Hint] = []
    lines: list[int] = []
    pieces: list[str] = []
    bind: tuple[str, ...] = ()
    new_line = 0
    for old_line, given in split_parts(text):
        part = _upgrade_part(given, elementwise)
        changes += [dataclasses.replace(c, line=c.line + old_line) for c in part.changes]
        hints += [dataclasses.replace(h, line=h.line + new_line) for h in part.hints]
        # The last line of a part that ends with a line break is the first of the next one.
        lines[new_line:] = [n + old_line for n in part.lines]
        new_line += part.text.count("\n")
        pieces.append(part.text)
        bind = bind or part.bind
    return Upgrade("".join(pieces), tuple(changes), tuple(hints), tuple(lines), bind)


def split_parts(text: str) -> list[tuple[int, str]]:
    """Return the parts of a text between lines ``// -----``, each with the number of lines before it."""
    parts, start, lines = [], 0, 0
    for match in _BETWEEN.finditer(text):
        parts.append((lines, text[start : match.end()]))
        lines += text.count("\n", start, match.end())
        start = match.end()
    return [*parts, (lines, text[start:])]


def _upgrade_part(text: str, elementwise: Respelling) -> Upgrade:
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
    """Return True for a text with a top-level sequence, which today's interpreter does not apply."""
    return any(True for _ in find_sequences(read_syntax(text, is_old=True).ops))


def _visit(
    ops: Sequence[OpSyntax], types: Types, elementwise: Respelling, *, in_transform: bool
) -> Iterator[Finding]:
    scope = Scope(types, ops)
    for op in ops:
        if op.spelling.startswith("pdl.") and op.regions:
            continue
        inside = in_transform or op.spelling in TOP_LEVEL or op.spelling.startswith("transform.")
        if are_balanced(op.tokens):
            yield from _first(chain(_rules(op, scope, inside), [elementwise(op, inside)]))
        for region in op.regions:
            for label in region.labels if inside else ():
                yield from _first(
                    (rename_pdl_types(label), rename_payload_ops(label), elementwise(label, True))
                )
            yield from _visit(region.ops, types, elementwise, in_transform=inside)


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
    return next(filter(None, map(list, rules)), ())


class _State:
    """Mutable state of an upgrade: the text, its changes and hints, and the origin of each line."""

    def __init__(self, text: str, elementwise: Respelling) -> None:
        self.text = text
        self.elementwise = elementwise
        self.changes: list[Change] = []
        self.hints: list[Hint] = []
        self.lines: list[int] = list(range(1, text.count("\n") + 2))

    @property
    def _syntax(self) -> Syntax:
        return read_syntax(self.text, is_old=True)

    def _find(self) -> list[Finding]:
        ops = self._syntax.ops
        return list(_visit(ops, collect_types(ops), self.elementwise, in_transform=False))

    def rewrite(self, findings: Sequence[Finding]) -> bool:
        """Do the rewrites that do not get in each other's way; return True if there was one."""
        taken = bytearray(len(self.text) + 1)  # 1 for each character that no other edit may change
        for token in self._syntax.tokens:
            if token.kind == "comment":
                taken[token.start + 1 : token.end] = b"\1" * (len(token.text) - 1)
        edits: list[Replacement] = []
        for finding in findings:
            if not isinstance(finding, Rewrite):
                continue
            own = sorted((e.start, e.end) for e in finding.edits)
            if any(end > start for (_, end), (start, _) in pairwise(own)):
                continue
            # An insertion takes the character behind it, so that two at one place meet.
            spans = [slice(start, max(start + 1, end)) for start, end in own]
            if any(any(taken[span]) for span in spans):
                continue
            for span in spans:
                taken[span] = b"\1" * (span.stop - span.start)
            edits += finding.edits
            line = self.lines[finding.change.line - 1]
            self.changes.append(dataclasses.replace(finding.change, line=line))
        self._apply(edits)
        return bool(edits)

    def _apply(self, edits: list[Replacement]) -> None:
        """Change the text, and remember which line of the given text each line was."""
        lines = self.lines[:1]
        ordered = sorted(edits, key=lambda e: (e.start, e.end))
        at, line = 0, 0
        for edit in [*ordered, Replacement(len(self.text), len(self.text), "")]:
            kept = line + self.text.count("\n", at, edit.start)
            lines += [*self.lines[line + 1 : kept + 1], *[self.lines[kept]] * edit.text.count("\n")]
            line = kept + self.text.count("\n", edit.start, edit.end)
            at = edit.end
        self.text = with_replacements(self.text, edits)
        self.lines = lines

    def rewrite_all(self) -> list[Finding]:
        """Rewrite until there is nothing more to do; return what is found then."""
        for _ in range(_MOST_PASSES):
            found = self._find()
            if not self.rewrite(found):
                return found
        return self._find()

    def name_sequences(self) -> tuple[str, ...] | None:
        """Name top-level sequences; return what the first one's extra arguments take, or None."""
        bind: tuple[str, ...] | None = None
        named = 0
        # All that do not touch are named in one pass, and those that do in the next.
        for _ in range(_MOST_PASSES):
            sequences = list(find_sequences(self._syntax.ops))
            if sequences and bind is None:
                bind = tuple(op_of_type(source_of(part)) or "" for part in _arguments(sequences[0])[1:])
            findings: list[Finding] = []
            for sequence in sequences:
                name = ENTRY if named == 0 else f"{ENTRY}_{named + 1}"
                findings.append(to_named_sequence(sequence, name))
                named += isinstance(findings[-1], Rewrite)
            if not self.rewrite(findings):
                self.hints += [f for f in findings if isinstance(f, Hint)]
                break
        return bind
