"""The ops of a printed payload by line, without parsing it.

The printer puts every op on its own line and indents regions, so lines and indents suffice; unknown text gives
fewer ops rather than an error. An op inside another's line (``vector.mask %m { … }``) is not separated from it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_STRING = r'"(?:[^"\\]|\\.)*"'
_NAME = r"[A-Za-z_][\w$.-]*"
_RESULT = r"%[\w$.-]+(?::[0-9]+)?"
_OP = re.compile(
    rf"(?:(?P<results>{_RESULT}(?:, {_RESULT})*) = )?(?P<name>{_STRING}|{_NAME})(?=[ (<{{\[@]|$)", re.ASCII
)
# Words without a dot at the start of a line that are not ops.
_NO_OPS = frozenset(
    (
        "case",
        "default",
        "else",
        "do",
        "ins",
        "outs",
        "attributes",
        "init",
        "shared_outs",
        "iter_args",
        "to",
        "step",
    )
)
# Names that may differ in the next snapshot; strings are matched to be skipped.
_NAMED = re.compile(rf"{_STRING}|%[\w$.-]+(?:[#:][0-9]+)?|[#!]{_NAME}", re.ASCII)
_ALIAS = re.compile(rf"([#!]{_NAME}) = (.*)", re.ASCII)
_LABEL_COMMENT = re.compile(r"\s+//[^\"]*$")

# A value: the number of its op, and its index: results from 0 up, block arguments from -1 down.
Value = tuple[int, int]


@dataclass(slots=True)
class PrintedOp:
    """An op in a printed payload.

    Attributes:
        name: As printed, without quotes; ``return`` for ``func.return``.
        parent: Number of the op around it, or -1.
        lines: Its own lines from 0: the first, those of its block labels, the last with its brace.
        shapes: Its own lines without names of values, with aliases expanded.
        values: For each of them, the values that it names in order, its own results included.
    """

    name: str
    parent: int
    lines: list[int] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    values: list[tuple[Value, ...]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PrintedIr:
    """A printed payload; ``owners`` has the number of each line's op, -1 for lines of none."""

    lines: tuple[str, ...]
    ops: tuple[PrintedOp, ...]
    owners: tuple[int, ...]
    aliases: Mapping[str, str]


@functools.lru_cache(maxsize=8)
def read_printed(text: str) -> PrintedIr:
    """Return the lines and ops of a text; a final line break starts no further line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    reader = _Reader(_aliases(lines))
    owners = [reader.take(number, line) for number, line in enumerate(lines)]
    return PrintedIr(tuple(lines), tuple(reader.ops), tuple(owners), reader.aliases)


def _aliases(lines: Iterable[str]) -> dict[str, str]:
    """Return the aliases with nested ones expanded; the printer defines an alias before its use."""
    found: dict[str, str] = {}
    for line in lines:
        if line[:1] in ("#", "!") and (match := _ALIAS.fullmatch(line)):
            found[match[1]] = _NAMED.sub(lambda m: found.get(m[0], m[0]), match[2])
    return found


def _without_comment(line: str) -> str:
    return line.partition("  //")[0] if line.lstrip()[:1] == "^" else line


@dataclass(slots=True)
class _Open:
    """An enclosing op: indent and number, and the outer definitions of names that it shadows."""

    indent: int
    number: int
    hidden: list[tuple[str, Value | None]] = field(default_factory=list)


class _Reader:
    """Reads a text line by line with a scope of value names."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self.aliases = aliases
        self.ops: list[PrintedOp] = []
        self._open = [_Open(-1, -1)]
        self._known: dict[str, Value] = {}
        self._arguments: dict[int, int] = {}

    def take(self, number: int, line: str) -> int:
        """Read the next line; return the number of the op that owns it, -1 for none."""
        bare = line.lstrip(" ")
        if not bare or bare.startswith("//") or (bare == line and line[0] in "#!"):
            return -1
        indent = len(line) - len(bare)
        match = _OP.match(bare)
        if match is not None and not _is_op(match):
            match = None
        self._close(indent if match else indent + 1)
        if match is None:
            at = self._open[-1].number
            if at >= 0:
                self._add(at, number, _without_comment(bare))
            return at
        at = len(self.ops)
        self.ops.append(PrintedOp(match["name"].strip('"'), self._open[-1].number))
        if match["results"]:
            self._define_results(match["results"], at)
        self._open.append(_Open(indent, at))
        self._add(at, number, bare)
        return at

    def _close(self, indent: int) -> None:
        """Leave the ops at an indent or deeper, and restore the names that they shadow."""
        while self._open[-1].indent >= indent:
            for name, value in reversed(self._open.pop().hidden):
                if value is None:
                    self._known.pop(name, None)
                else:
                    self._known[name] = value

    def _define_results(self, written: str, at: int) -> None:
        count = 0
        for each in written.split(", "):
            name, _, many = each.partition(":")
            self._define(name, (at, count))
            count += int(many[:6] or 1)  # a text may say anything

    def _define(self, name: str, value: Value) -> None:
        self._open[-1].hidden.append((name, self._known.get(name)))
        self._known[name] = value

    def _add(self, at: int, number: int, bare: str) -> None:
        values: list[Value] = []
        known, aliases = self._known, self.aliases

        def leave_out(match: re.Match[str]) -> str:
            word = match[0]
            if word[0] != "%":
                return aliases.get(word, word)
            if ":" in word:
                word, _, many = word.partition(":")
                values.append(known[word] if word in known else self._argument(word, at))
                return f"%:{many}"
            if (value := known.get(word)) is None:
                base, _, result = word.partition("#")
                first = known.get(base)
                value = self._argument(word, at) if first is None else (first[0], first[1] + int(result or 0))
            values.append(value)
            return "%"

        op = self.ops[at]
        op.shapes.append(_NAMED.sub(leave_out, bare))
        op.values.append(tuple(values))
        op.lines.append(number)

    def _argument(self, name: str, at: int) -> Value:
        """Define a block argument of an op: a name without an earlier definition."""
        count = self._arguments.get(at, 0) + 1
        self._arguments[at] = count
        self._define(name, (at, -count))
        return at, -count


def _is_op(match: re.Match[str]) -> bool:
    return match["results"] is not None or match["name"] not in _NO_OPS
