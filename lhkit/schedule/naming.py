"""Names of handles and sequences: taken ones, fresh ones, and pieces of text with names replaced."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from lhkit.schedule.lexing import lex

_VALID_HANDLE = re.compile(r"%(?:[A-Za-z$._-][\w$.-]*|[0-9]+)", re.ASCII)
_VALID_SYMBOL = re.compile(r"@[A-Za-z_][\w$.]*", re.ASCII)
_NUMBERED = re.compile(r"(.+)_[0-9]+")


def is_handle_name(name: str) -> bool:
    """Return True if a name can be a handle's: ``%`` and letters, digits, ``$ . _ -``."""
    return _VALID_HANDLE.fullmatch(name) is not None


def is_symbol_name(name: str) -> bool:
    """Return True if a name can be a sequence's: ``@`` and letters, digits, ``$ . _``."""
    return _VALID_SYMBOL.fullmatch(name) is not None


def names_in(text: str) -> set[str]:
    """Return every handle and symbol that a text mentions, without numbers of results."""
    return {t.text.partition("#")[0] for t in lex(text) if t.kind in ("value", "symbol")}


def fresh_name(wanted: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the one wanted, else with the next free number behind it."""
    if wanted not in taken:
        return wanted
    numbered = _NUMBERED.fullmatch(wanted)
    stem, number = numbered[1] if numbered else wanted, 1
    while f"{stem}_{number}" in taken:
        number += 1
    return f"{stem}_{number}"


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text with handles and symbols renamed wherever they stand; ``%a#1`` keeps its number."""
    pieces = []
    for token in lex(text):
        stem, mark, number = token.text.partition("#")
        is_name = token.kind in ("value", "symbol")
        pieces.append(names.get(stem, stem) + mark + number if is_name else token.text)
    return "".join(pieces)
