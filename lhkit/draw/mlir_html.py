"""MLIR text as HTML with the kinds of its words as classes of one or two letters.

The words are found by one regular expression over a line rather than by a lexer: HTML grows with every element,
so punctuation, keywords and spaces get none, and an op's name, a type or a value is one element each. (The MLIR
lexer for Pygments takes three times as long, cuts names of ops and types in pieces, and trips over ``%x#1``.)
"""

from __future__ import annotations

import functools
import html
import re

# c comment, s string, v value, y symbol, t type, g attribute or alias, b block, n number, o op.
_WORD = re.compile(
    r"""(?P<c>//.*)
    |(?P<s>"(?:[^"\\]|\\.)*"?)
    |(?P<v>%[\w$.-]+(?:[#:][0-9]+)?)
    |(?P<y>@(?:"(?:[^"\\]|\\.)*"|[\w$.-]+))
    |(?P<t>![\w$.]+|\b(?:tensor|vector|memref|tuple|complex)(?=<)|\b(?:index|none|[us]?i[0-9]+|bf16|tf32|f(?:8\w+|16|32|64|80|128))\b)
    |(?P<g>\#(?!-\})[\w$.]+)
    |(?P<b>\^\w+)
    |(?P<n>(?<![\w$.])-?[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?(?![\w.])|0x[0-9A-Fa-f]+)
    |(?P<o>\b[a-z_]\w*(?:\.[a-z_]\w*)+)
    |\w+|[^\w"%@!#^/-]+|.""",
    re.VERBOSE | re.ASCII,
)


@functools.lru_cache(maxsize=4096)
def mlir_html(text: str) -> str:
    """Return a piece of a line of MLIR as HTML; its text is the piece."""
    made = []
    for match in _WORD.finditer(text):
        kind, word = match.lastgroup, html.escape(match[0])
        made.append(word if kind is None else f"<i class={kind}>{word}</i>")
    return "".join(made)
