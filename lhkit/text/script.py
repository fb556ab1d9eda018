"""Schedule text under edit: scopes of handles, replacements, edit results and refusals.

Steps are named by position: the number of a step in the order of the text (sequences and terminators count, as
``read_steps`` lists them), a handle that it defines (``"%tiled"``), or a sequence (``"@main"``).
A handle's name is enough where only one step defines it. Numbers are those of the text before the edit.
"""

from __future__ import annotations

import functools
import itertools
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.ir_outline import WrittenOp
from lhkit.text.lexer import lex, matching_comments
from lhkit.text.op_tree import Name, OpSyntax, Syntax, Use
from lhkit.text.parser import number_steps, read_steps, read_syntax

# Regions whose names are their own, and regions that see names from outside but may not read them.
_ISOLATED = ("builtin.module", "transform.named_sequence", "func.func")
_CLOSED = ("transform.alternatives",)


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition of handles with the uses that mean it."""

    name: Name
    op: OpSyntax
    is_argument: bool
    scope: int
    uses: tuple[tuple[Use, OpSyntax], ...]

    def value_of(self, use: Use) -> str:
        """Return which of the values a use means, as ``name.values`` spells it; ``%a#0`` may be ``%a``."""
        if self.name.count == 1:
            return self.name.text
        return use.text if "#" in use.text else f"{use.text}#0"

    def uses_of(self, value: str) -> list[tuple[Use, OpSyntax]]:
        """Return the uses that mean one of the values."""
        return [(use, op) for use, op in self.uses if self.value_of(use) == value]


@dataclass(frozen=True, slots=True)
class Handles:
    """All definitions of a text in order, and what is in sight where."""

    definitions: tuple[Definition, ...]
    # For each scope, the scope around it whose names it sees; None for an isolated one
    parents: tuple[int | None, ...]
    spans: tuple[tuple[int, int], ...]
    closed: tuple[bool, ...]  # For each scope, whether its ops may not read what is defined outside

    def scope_at(self, offset: int) -> int:
        """Return the innermost scope around a place."""
        return max(i for i, (start, end) in enumerate(self.spans) if i == 0 or start < offset < end)

    def scopes_around(self, scope: int) -> Iterator[int]:
        """Yield a scope and those whose names it sees, from the inside to the outside."""
        at: int | None = scope
        while at is not None:
            yield at
            at = self.parents[at]

    def in_sight(self, scope: int) -> dict[str, Definition]:
        """Return what a scope sees, by name: its own names and those around it, isolation apart."""
        seen: dict[str, Definition] = {}
        for at in self.scopes_around(scope):
            for definition in self.definitions:
                if definition.scope == at:
                    seen.setdefault(definition.name.text, definition)
        return seen

    def may_read(self, scope: int, definition: Definition) -> bool:
        """Return True if ops of a scope may read a handle, the order of steps apart."""
        inner = itertools.takewhile(lambda at: at != definition.scope, self.scopes_around(scope))
        return self.inside(scope, definition.scope) and not any(self.closed[at] for at in inner)

    def inside(self, scope: int, other: int) -> bool:
        """Return True if a scope is another one or sees its names."""
        return other in self.scopes_around(scope)


@functools.lru_cache(maxsize=8)
def read_handles(text: str) -> Handles:
    """Return the definitions of a text with their uses."""
    reader = _Reader()
    reader.add_ops(read_syntax(text).ops, reader.add_scope(None, (0, len(text)), is_closed=False))
    reader.resolve()
    definitions = (Definition(*parts, tuple(uses)) for parts, uses in reader.found)
    order = sorted(definitions, key=lambda d: d.name.start)
    return Handles(tuple(order), tuple(reader.parents), tuple(reader.spans), tuple(reader.closed))


class _Reader:
    """Collects definitions and uses by scope, then resolves: a use may precede its definition."""

    def __init__(self) -> None:
        self.parents: list[int | None] = []
        self.spans: list[tuple[int, int]] = []
        self.closed: list[bool] = []
        self.found: list[tuple[tuple[Name, OpSyntax, bool, int], list[tuple[Use, OpSyntax]]]] = []
        self._uses_by_name: list[dict[str, list[tuple[Use, OpSyntax]]]] = []  # For each scope
        self._waiting: list[tuple[Use, OpSyntax, int]] = []

    def add_scope(self, parent: int | None, span: tuple[int, int], *, is_closed: bool) -> int:
        self.parents.append(parent)
        self.spans.append(span)
        self.closed.append(is_closed)
        self._uses_by_name.append({})
        return len(self.parents) - 1

    def add_ops(self, ops: Iterable[OpSyntax], scope: int) -> None:
        for op in ops:
            self._waiting += [(use, op, scope) for use in op.operands]
            self._define(op.results, op, False, scope)
            for region in op.regions:
                parent = None if op.name in _ISOLATED else scope
                inner = self.add_scope(parent, (region.start, region.end), is_closed=op.name in _CLOSED)
                for block in region.blocks:
                    self._define(block.arguments, op, True, inner)
                    self.add_ops(block.ops, inner)

    def resolve(self) -> None:
        for use, op, scope in self._waiting:
            at: int | None = scope
            while at is not None and use.name not in self._uses_by_name[at]:
                at = self.parents[at]
            if at is not None:
                self._uses_by_name[at][use.name].append((use, op))

    def _define(self, names: Iterable[Name], op: OpSyntax, is_argument: bool, scope: int) -> None:
        for name in names:
            uses: list[tuple[Use, OpSyntax]] = []
            self._uses_by_name[scope].setdefault(name.text, uses)
            self.found.append(((name, op, is_argument, scope), uses))


_VALID_HANDLE = re.compile(r"%(?:[A-Za-z$._-][\w$.-]*|[0-9]+)", re.ASCII)
_VALID_SYMBOL = re.compile(r"@[A-Za-z_][\w$.]*", re.ASCII)
_NUMBERED = re.compile(r"(.+)_[0-9]+", re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t"}


def is_handle_name(name: str) -> bool:
    """Return True if a name can be a handle's: ``%`` and letters, digits, ``$ . _ -``."""
    return _VALID_HANDLE.fullmatch(name) is not None


def is_symbol_name(name: str) -> bool:
    """Return True if a name can be a sequence's: ``@`` and letters, digits, ``$ . _``."""
    return _VALID_SYMBOL.fullmatch(name) is not None


def symbol_name(symbol: str) -> str:
    """Return the name that a symbol spells (``@main``, ``@"main"``); bytes that are not UTF-8 come escaped."""
    if not symbol.startswith('@"'):
        return symbol.removeprefix("@")
    spelled = symbol[2:-1].encode(errors="replace")
    name = _ESCAPE.sub(lambda m: bytes.fromhex(m[1].decode()) if m[1] else _ESCAPED.get(m[2], m[2]), spelled)
    return name.decode(errors="backslashreplace")


def names_in(text: str) -> set[str]:
    """Return every handle and symbol that a text mentions, without numbers of results."""
    return {
        t.text if t.kind == "symbol" else t.text.partition("#")[0]
        for t in read_syntax(text).tokens
        if t.kind in ("value", "symbol")
    }


def fresh_name(wanted: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the one wanted, else with the next free number behind it."""
    if wanted not in taken:
        return wanted
    quote = '"' if wanted.endswith('"') else ""  # the number goes inside a quoted symbol
    wanted = wanted.removesuffix(quote)
    numbered = _NUMBERED.fullmatch(wanted)
    stem, number = numbered[1] if numbered else wanted, 1
    while f"{stem}_{number}{quote}" in taken:
        number += 1
    return f"{stem}_{number}{quote}"


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text with handles and symbols renamed at every occurrence; ``%a#1`` keeps its number."""
    pieces = []
    for token in lex(text):
        stem, mark, number = token.text.partition("#") if token.kind == "value" else (token.text, "", "")
        is_name = token.kind in ("value", "symbol")
        pieces.append(names.get(stem, stem) + mark + number if is_name else token.text)
    return "".join(pieces)


StepRef = int | str
SEQUENCE = "transform.named_sequence"
TERMINATOR = "transform.yield"


@dataclass(frozen=True, slots=True)
class Replacement:
    """A span of a text and its new text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Edited:
    """What an edit gives."""

    before: str
    text: str
    replacements: tuple[Replacement, ...]
    title: str
    notes: tuple[str, ...] = ()  # What else was done or should be known: other steps removed, names changed


@dataclass(frozen=True, slots=True)
class Script:
    """A schedule's text to be edited."""

    text: str
    source: str = "<schedule>"
    # Its steps as the compiler parsed them; only edits that have to know types need it
    outline: tuple[WrittenOp, ...] = ()

    @property
    def syntax(self) -> Syntax:
        """The text with its ops."""
        return read_syntax(self.text)

    @property
    def steps(self) -> tuple[OpSyntax, ...]:
        """The steps in the order of the text."""
        return read_steps(self.text)

    @property
    def handles(self) -> Handles:
        """The definitions of handles, with their uses."""
        return read_handles(self.text)

    def find(self, step: StepRef) -> OpSyntax:
        """Return the step that a reference means."""
        steps = self.steps
        if isinstance(step, int):
            if 0 <= step < len(steps):
                return steps[step]
            raise self.refusal(f"no op has the number {step}; those of {self.source} are 0 to {len(steps) - 1}")
        if step.startswith("@"):
            sequences = [(op, op.symbol) for op in steps if op.name == SEQUENCE]
            found = [op for op, symbol in sequences if step in (symbol, f"@{symbol_name(symbol)}")]
        else:
            found = [op for op in steps if any(n.text == step.partition("#")[0] for n in op.results)]
        if len(found) == 1:
            return found[0]
        if found:
            lines = ", ".join(str(self.line_of(op)) for op in found)
            message = f"{step} is defined by several steps, at lines {lines}; give the number of the step"
            raise self.refusal(message)
        raise self.refusal(f"no step of {self.source} defines {step}")

    def number_of(self, op: OpSyntax) -> int:
        """Return the number of a step."""
        return number_steps(self.text)[op.start]

    def line_of(self, op: OpSyntax) -> int:
        """Return the line of a step's name."""
        return self.syntax.place(op.name_start).line

    def describe(self, op: OpSyntax) -> str:
        """Return a step as messages name it, with op and line; numbers of steps are those of a trace."""
        return f"{op.name} (line {self.line_of(op)})"

    def home_of(self, op: OpSyntax) -> tuple[OpSyntax | None, tuple[OpSyntax, ...], int]:
        """Return the op around an op, the ops of its block, and its index among them."""
        for owner in self.syntax.walk():
            for block in (block for region in owner.regions for block in region.blocks):
                if op in block.ops:
                    return owner, block.ops, block.ops.index(op)
        return None, self.syntax.ops, self.syntax.ops.index(op)

    def results_of(self, op: OpSyntax) -> list[Definition]:
        """Return the definitions of a step's results."""
        return [d for d in self.handles.definitions if d.op.start == op.start and not d.is_argument]

    def edited(self, replacements: Sequence[Replacement], title: str, notes: Sequence[str] = ()) -> Edited:
        """Return the edit that makes these replacements, which must not overlap."""
        ordered = tuple(sorted(replacements, key=lambda r: (r.start, r.end)))
        return Edited(self.text, with_replacements(self.text, ordered), ordered, title, tuple(notes))

    def refusal(self, message: str, at: OpSyntax | int | None = None, advice: str | None = None) -> UsageError:
        """Return the error with which an edit is refused, with the place that it is about."""
        if at is None:
            return usage_error(message, advice)
        offset = at.name_start if isinstance(at, OpSyntax) else at
        return usage_error(message, advice, at=self.syntax.place(offset, self.source), text=self.text)


def with_replacements(text: str, replacements: Sequence[Replacement]) -> str:
    """Return a text with pieces replaced."""
    pieces, at = [], 0
    for r in sorted(replacements, key=lambda r: (r.start, r.end)):
        if r.start < at:
            raise ValueError(f"replacements overlap at offset {r.start}")
        pieces += [text[at : r.start], r.text]
        at = r.end
    return "".join([*pieces, text[at:]])


def renamed(definition: Definition, new: str) -> list[Replacement]:
    """Return the replacements that rename a handle where it is defined and used; numbers of results stay."""
    starts = [definition.name.start, *(use.start for use, _ in definition.uses)]
    width = len(definition.name.text)
    return [Replacement(start, start + width, new) for start in starts]


def is_terminator(op: OpSyntax) -> bool:
    """Return True for the op that ends a block."""
    return op.name == TERMINATOR


STEP_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Extent:
    """A piece of a text that belongs to one op or several in a row, comments included."""

    start: int
    end: int
    has_lines: bool  # True if it is whole lines, the last line feed included


def line_start(text: str, at: int) -> int:
    """Return where the line of a place begins."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Return where the line of a place ends, before its line feed."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def indent_of(text: str, at: int) -> str:
    """Return the white space at the beginning of the line of a place."""
    line = text[line_start(text, at) : line_end(text, at)]
    return line[: len(line) - len(line.lstrip(" \t"))]


def extent_of(text: str, first: OpSyntax, last: OpSyntax) -> Extent:
    """Return the extent of the ops from one to another: lines where they have lines of their own."""
    start, end = line_start(text, first.lead), line_end(text, last.tail)
    if not text[start : first.lead].strip() and not text[last.tail : end].strip() and end < len(text):
        return Extent(start, end + 1, True)
    return Extent(first.start, last.tail, False)


def cut(text: str, first: OpSyntax, last: OpSyntax) -> Replacement:
    """Return the replacement that takes ops out of a text, with their comments."""
    extent = extent_of(text, first, last)
    start, end = extent.start, extent.end
    if not extent.has_lines:
        # One of the spaces around it goes too: the one behind, or before what ends a line.
        if text.startswith(" ", end):
            end += 1
        elif text[start - 1 : start] == " ":
            start -= 1
    return Replacement(start, end, "")


def comments_removed(text: str, pattern: re.Pattern[str]) -> list[Replacement]:
    """Return the replacements that take matching comments out, and the lines that hold nothing else."""
    found = []
    for token, _ in matching_comments(text, pattern):
        start = line_start(text, token.start)
        if text[start : token.start].strip():
            found.append(Replacement(token.start, token.end, ""))
        else:
            found.append(Replacement(start, min(token.end + 1, len(text)), ""))
    return found


def lines_of(text: str, first: OpSyntax, last: OpSyntax, replaced: Sequence[Replacement] = ()) -> str:
    """Return ops with their comments as lines, without indentation and last line feed."""
    extent = extent_of(text, first, last)
    shifted = [Replacement(r.start - extent.start, r.end - extent.start, r.text) for r in replaced]
    piece = with_replacements(text[extent.start : extent.end], shifted)
    if not extent.has_lines:
        piece = indent_of(text, first.start) + piece
    return textwrap.dedent(piece).strip("\n")


def indented(lines: str, indent: str) -> str:
    """Return lines with an indentation before each that is not empty, and a line feed at the end."""
    return textwrap.indent(lines, indent) + "\n"


def put_before(text: str, op: OpSyntax, lines: str) -> Replacement:
    """Return the replacement that puts lines before an op and its comments, at its indentation."""
    extent, indent = extent_of(text, op, op), indent_of(text, op.start)
    if extent.has_lines:
        return Replacement(extent.start, extent.start, indented(lines, indent))
    if _fits_in_line(lines):
        return Replacement(op.start, op.start, lines + " ")
    return Replacement(op.start, op.start, indented(lines, indent).removeprefix(indent) + indent)


def put_after(text: str, op: OpSyntax, lines: str) -> Replacement:
    """Return the replacement that puts lines behind an op and its comment, at its indentation."""
    extent, indent = extent_of(text, op, op), indent_of(text, op.start)
    if extent.has_lines:
        return Replacement(extent.end, extent.end, indented(lines, indent))
    if _fits_in_line(lines) and op.tail == op.end:
        return Replacement(op.end, op.end, " " + lines)
    after = "" if not text[op.tail : line_end(text, op.tail)].strip() else "\n" + indent
    return Replacement(op.tail, op.tail, "\n" + indented(lines, indent).removesuffix("\n") + after)


def _fits_in_line(lines: str) -> bool:
    return "\n" not in lines and "//" not in lines


def with_bodies_at(text: str, kept: set[int]) -> str:
    """Return a text with blanks for what sequences with none of these lines do; what they give stays."""
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines) if line.lstrip().startswith(SEQUENCE)]
    for first, following in itertools.pairwise([*starts, len(lines)]):
        end = lines[first].partition(SEQUENCE)[0] + "}"
        last = next((i for i in range(first, following) if lines[i] == end), first)
        opened = next((i for i in range(first, last) if lines[i].endswith("{")), last)
        gives = lines[last - 1].lstrip().startswith("transform.yield")
        if gives and kept.isdisjoint(range(first + 1, last + 2)):
            lines[opened + 1 : last - 1] = [" " * len(line) for line in lines[opened + 1 : last - 1]]
    return "\n".join(lines)
