"""Names of handles and sequences: taken ones, fresh ones, and pieces of text with names replaced."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from lhkit.text.lexer import lex

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
    """Return the name that a symbol of a text spells: ``@main`` and ``@"main"`` are both ``main``.

    Bytes that are not UTF-8 come escaped, as in the names that the compiler's worker returns.
    """
    if not symbol.startswith('@"'):
        return symbol.removeprefix("@")
    spelled = symbol[2:-1].encode(errors="replace")
    name = _ESCAPE.sub(lambda m: bytes.fromhex(m[1].decode()) if m[1] else _ESCAPED.get(m[2], m[2]), spelled)
    return name.decode(errors="backslashreplace")


def names_in(text: str) -> set[str]:
    """Return every handle and symbol that a text mentions, without numbers of results."""
    return {
        t.text if t.kind == "symbol" else t.text.partition("#")[0]
        for t in lex(text)
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
    """Return a text with handles and symbols renamed wherever they stand; ``%a#1`` keeps its number."""
    pieces = []
    for token in lex(text):
        stem, mark, number = token.text.partition("#") if token.kind == "value" else (token.text, "", "")
        is_name = token.kind in ("value", "symbol")
        pieces.append(names.get(stem, stem) + mark + number if is_name else token.text)
    return "".join(pieces)
