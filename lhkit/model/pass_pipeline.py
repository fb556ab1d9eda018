"""Textual pass pipelines as trees: ``builtin.module(func.func(canonicalize,cse),symbol-dce)``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.span import Span

LOWER = "lower"  # lhkit's own lowering, in place of a pipeline
_NAME = re.compile(r"[\w.$:-]+", re.ASCII)
_OPTION = re.compile(r"""([\w-]+)(?:=("[^"]*"|'[^']*'|[^\s{}"']*(?:\{[^}]*\}?)?))?""")
_NUMBER = re.compile(r"-?[0-9]+|true|false")
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class PipelineItem:
    """A pass, or with ``nested`` a pipeline for the ops of a name (``any`` for all)."""

    name: str
    options: str = ""
    nested: tuple[PipelineItem, ...] | None = None
    at: int = 0  # Its place in the text

    def __str__(self) -> str:
        if self.nested is not None:
            return f"{self.name}({','.join(map(str, self.nested))})"
        return f"{self.name}{{{self.options}}}" if self.options else self.name

    def passes(self) -> Iterator[PipelineItem]:
        """Yield the passes, in order."""
        for item in self.nested or ():
            yield from item.passes()
        if self.nested is None:
            yield self

    @property
    def option_kinds(self) -> tuple[tuple[str, bool], ...]:
        """Each option's name with whether its value is a literal number or boolean."""
        found = _OPTION.findall(self.options)
        return tuple((name, bool(_NUMBER.fullmatch(value))) for name, value in found)


def parse_pipeline(text: str, name: str = "pipeline") -> PipelineItem:
    """Return a pipeline for modules; what is not within ``builtin.module(…)`` or ``any(…)`` is put there.

    Raises:
        UsageError: It is not balanced, or not a pipeline; the message has the place.
    """
    items = _Parser(text, name).take_all()
    if len(items) == 1 and items[0].nested is not None and items[0].name in ("builtin.module", "any"):
        return items[0]
    return PipelineItem("builtin.module", "", items)


def error_in_pipeline(text: str, at: int, message: str, name: str, advice: str | None = None) -> LhkitError:
    """Return the error about a place in the text of a pipeline."""
    line, start = text.count("\n", 0, at) + 1, text.rfind("\n", 0, at) + 1
    return usage_error(message, advice, at=Span(name, line, at - start + 1), text=text)


class _Parser:
    def __init__(self, text: str, name: str) -> None:
        self._text, self._name, self._at = text, name, 0

    def take_all(self) -> tuple[PipelineItem, ...]:
        items = self._items(0)
        if self._at < len(self._text):
            raise self._error("unbalanced: nothing is open that this ')' closes")
        return items

    def _items(self, depth: int) -> tuple[PipelineItem, ...]:
        """Take the items up to a closing parenthesis or the end."""
        items: list[PipelineItem] = []
        if depth > _DEEPEST:
            raise self._error(f"a pipeline nested more than {_DEEPEST} deep")
        while self._peek() not in ("", ")") or items:
            items.append(self._item(depth))
            if self._peek() in ("", ")"):
                break
            if self._peek() != ",":
                raise self._error(f"expected ',' or ')' after {items[-1].name[:60]}")
            self._at += 1
        return tuple(items)

    def _item(self, depth: int) -> PipelineItem:
        self._peek()
        match, at = _NAME.match(self._text, self._at), self._at
        if match is None:
            raise self._error("expected the name of a pass or of an op")
        self._at = match.end()
        if self._peek() == "(":
            opened, self._at = self._at, self._at + 1
            nested = self._items(depth + 1)
            if self._peek() != ")":
                raise self._error("unbalanced: this '(' is never closed", opened)
            self._at += 1
            return PipelineItem(match[0], "", nested, at)
        return PipelineItem(match[0], self._options() if self._peek() == "{" else "", None, at)

    def _options(self) -> str:
        """Take options in braces, which may hold braces and quoted strings."""
        opened, depth, quote = self._at, 0, ""
        for at in range(opened, len(self._text)):
            character = self._text[at]
            if quote and character in "{}":  # MLIR does not look for quotes where it counts braces
                raise self._error("a brace in a quoted option", at)
            if quote or character in "\"'":
                quote = "" if character == quote else quote or character
                continue
            depth += (character == "{") - (character == "}")
            if depth == 0:
                self._at = at + 1
                return self._text[opened + 1 : at].strip()
        raise self._error("unbalanced: this '{' is never closed", opened)

    def _peek(self) -> str:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._text[self._at : self._at + 1]

    def _error(self, message: str, at: int | None = None) -> LhkitError:
        return error_in_pipeline(self._text, self._at if at is None else at, message, self._name)
