"""The place in the caller's Python at which something was asked for, down to the argument."""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
from pathlib import Path
from types import FrameType

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.span import Span

_PACKAGE = str(Path(__file__).parents[2])


def error_here(message: str, advice: str | None = None, *, argument: str | int | None = None) -> UsageError:
    """Return the error that points at the line of the caller outside lhkit.

    Args:
        message: What is wrong.
        advice: What to do instead.
        argument: Which argument of the call it is about: a keyword or a position; None for the call itself.
    """
    place = python_place(argument)
    return (
        usage_error(message, advice)
        if place is None
        else usage_error(message, advice, at=place[0], text=place[1])
    )


def python_place(argument: str | int | None = None) -> tuple[Span, str] | None:
    """Return where the caller outside lhkit is, and the text of its file; None where that is not known."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return None
    file = frame.f_code.co_filename
    text = "".join(linecache.getlines(file, frame.f_globals))
    position = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    line, end_line, column, end_column = position or (None, None, None, None)
    if line is None or column is None or end_line is None or end_column is None or not text:
        return Span(file, frame.f_lineno, 1), text
    start, end = (line, column), (end_line, end_column)
    at = (_argument_start(text, start, end, argument) if argument is not None else None) or start
    return Span(file, at[0], _characters(text, *at) + 1), text


def _argument_start(
    text: str, start: tuple[int, int], end: tuple[int, int | None], argument: str | int
) -> tuple[int, int] | None:
    """Return where an argument of the call at a place begins, as line and column in bytes."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a notebook's cell with a line that only IPython reads
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or (node.lineno, node.col_offset) != start:
            continue
        if (node.end_lineno, node.end_col_offset) != end:
            continue
        if isinstance(argument, int) and argument < len(node.args):
            return node.args[argument].lineno, node.args[argument].col_offset
        for keyword in node.keywords:
            if keyword.arg == argument:
                return keyword.value.lineno, keyword.value.col_offset
    return None


def _characters(text: str, line: int, column: int) -> int:
    """Return a column in characters; Python counts bytes."""
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return column
    return len(lines[line - 1].encode()[:column].decode(errors="replace"))
