"""What the arguments of a function are called in a payload's text; printed IR no longer says it."""

from __future__ import annotations

import re


def argument_names(text: str, function: str, count: int) -> tuple[str, ...]:
    """Return the names of a function's arguments, with ``%``; none where the text does not show them.

    Args:
        text: The payload as its author wrote it.
        function: The function's name without ``@``.
        count: How many arguments it has.
    """
    match = re.search(rf'@"?{re.escape(function)}"?\s*\(', text)
    if match is None:
        return ()
    depth, at = 1, match.end()
    names = []
    while at < len(text) and depth:
        if depth == 1 and (name := re.compile(r"(%[\w$.-]+)\s*:").match(text, at)):
            names.append(name[1])
            at = name.end()
            continue
        depth += {"(": 1, "<": 1, "{": 1, "[": 1, ")": -1, ">": -1, "}": -1, "]": -1}.get(text[at], 0)
        at += 1
    return tuple(names) if len(names) == count else ()
