"""Escaping of control and bidirectional characters in text for terminals."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Controls but tab and line feed, marks that reorder what follows, other line breaks, halves of characters.
_STEERING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text for terminals: control characters, bidirectional marks and surrogates are escapes."""
    return _STEERING.sub(_escaped, text)


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters; of a longer one the middle is left out, which is said."""
    if len(text) <= most:
        return text
    between = f" … {len(text)} characters … "
    kept = max(most - len(between), 2)
    return text[: kept - kept // 2] + between + text[len(text) - kept // 2 :]


def counted(number: int, what: str) -> str:
    """Return a number with its noun: ``1 step``, ``2 steps``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def said_once(said: Iterable[tuple[str, str]], most: int) -> list[str]:
    """Return a line for each of several texts, after the names of what it is said of; at most so many names."""
    names: dict[str, list[str]] = {}
    for name, words in said:
        names.setdefault(words, []).append(name)
    more = {words: f", {len(own) - most} more" if len(own) > most else "" for words, own in names.items()}
    return [f"{', '.join(own[:most])}{more[words]}: {words}" for words, own in names.items()]


def one_line(text: str, most: int) -> str:
    """Return a name, such as that of a file, for use within a sentence: one line of bounded length."""
    return shortened(printable(text).replace("\n", "\\n"), most)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
