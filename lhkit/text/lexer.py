"""Lossless, error-tolerant lexer of MLIR text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, cast

TokenKind = Literal[
    "space",
    "comment",
    "resources",
    "string",
    "value",
    "symbol",
    "type",
    "attribute",
    "block",
    "number",
    "word",
    "punctuation",
    "unknown",
]


class Token(NamedTuple):
    """A piece of a text; a tuple rather than a dataclass because there are thousands of them."""

    # ``value`` is ``%x`` or ``%x#1``, ``symbol`` ``@f``, ``type`` ``!transform.any_op``, ``attribute``
    # ``#map``, ``block`` ``^bb0``, ``word`` a keyword or an op's name with its dots, ``resources`` a
    # section ``{-# … #-}``; ``unknown`` is what no MLIR lexer takes, an unterminated string for one
    kind: TokenKind
    text: str
    start: int
    line: int
    column: int

    @property
    def end(self) -> int:
        """Offset behind the last character."""
        return self.start + len(self.text)

    @property
    def is_trivia(self) -> bool:
        """True for white space and comments."""
        return self.kind in ("space", "comment")


_STRING = r'"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"'
_SUFFIX = r"(?:[0-9]+|[A-Za-z$._-][\w$.-]*)"
# The order decides: comments before "/", names before punctuation.
_PATTERNS: tuple[tuple[TokenKind, str], ...] = (
    ("space", r"[ \t\r\n]+"),
    ("comment", r"//[^\n]*"),
    ("resources", r"\{-#"),
    ("string", _STRING),
    ("value", rf"%{_SUFFIX}(?:\#[0-9]+)?"),
    ("symbol", rf"@(?:{_STRING}|[A-Za-z_][\w$.]*)"),
    ("type", rf"!{_SUFFIX}"),
    ("attribute", rf"\#(?!-\}}){_SUFFIX}"),
    ("block", rf"\^{_SUFFIX}"),
    ("number", r"0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?"),
    ("word", r"[A-Za-z_][\w$.]*"),
    ("punctuation", r"->|\.\.\.|::|#-\}|[{}()\[\]<>,:=*+|?/-]"),
    ("unknown", r'"[^\n]*|.'),
)
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS), re.ASCII | re.DOTALL)
# Comments, and the strings in which "//" begins none.
_COMMENT = re.compile(rf'//[^\n]*|{_STRING}|"[^\n]*')
# A section of resources to its end. Blobs are strings in it, and may hold what looks like an end.
_RESOURCES = re.compile(rf'\{{-#(?:[^"/#]++|{_STRING}|//[^\n]*+|/(?!/)|#(?!-\}}))*+#-\}}')


def lex(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text in order; joining their texts gives the text back, whatever it is."""
    tokens = []
    line, line_start = 1, 0
    for kind, start, piece in _pieces(text):
        tokens.append(Token(kind, piece, start, line, start - line_start + 1))
        if "\n" in piece:
            line += piece.count("\n")
            line_start = start + piece.rindex("\n") + 1
    return tuple(tokens)


def _pieces(text: str) -> Iterator[tuple[TokenKind, int, str]]:
    at, may_have_resources = 0, True
    while at < len(text):
        for match in _TOKEN.finditer(text, at):
            kind, start, at = cast(TokenKind, match.lastgroup), match.start(), match.end()
            if kind != "resources":
                yield kind, start, match[0]
                continue
            section = _RESOURCES.match(text, start) if may_have_resources else None
            if section is not None:
                yield kind, start, section[0]
                at = section.end()
                break
            # Looking for an end once is enough: again at every beginning would take quadratic time.
            may_have_resources = False
            yield "punctuation", start, match[0]


def matching_comments(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[Token, re.Match[str]]]:
    """Yield the comments ``// lhkit: …`` of a text that match a pattern, with what matches."""
    if "lhkit:" not in text:
        return
    for found in _COMMENT.finditer(text):
        match = pattern.match(found[0]) if found[0].startswith("//") else None
        if match is not None:
            start = found.start()
            column = start - text.rfind("\n", 0, start)
            yield Token("comment", found[0], start, text.count("\n", 0, start) + 1, column), match


def without_trivia(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return the tokens that mean something: no white space, no comments."""
    return tuple(t for t in tokens if not t.is_trivia)
