"""Lines and indentation: where a step's lines begin and end, and a text moved to another depth."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.text.lexer import matching_comments
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement, with_replacements

STEP_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Extent:
    """A piece of a text that belongs to one op or several in a row, comments included.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        has_lines: True if it is whole lines, the last line feed included.
    """

    start: int
    end: int
    has_lines: bool


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
    """Return ops with their comments as lines, without indentation and last line feed.

    Args:
        text: The text they stand in.
        first: The first op.
        last: The last one.
        replaced: Pieces of the ops to be written otherwise.
    """
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
