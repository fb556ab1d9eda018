"""Contexts that are used again: to make one takes longer than to parse a schedule and apply it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from lhkit.compiler.ir.bindings import new_context
from lhkit.model.errors import LhkitError

# Types and attributes stay in a context until its end: after so many uses, or so much text, it is given up.
_MOST_USES = 50
_MOST_BYTES = 2_000_000

_idle: list[tuple[Any, int]] = []  # each with how often it was used


@contextlib.contextmanager
def reused_context() -> Iterator[Any]:
    """Enter a context that may have been used before, and keep it for the next.

    For requests that apply steps or read text. What compiles to machine code has a fresh one, `new_context`.
    """
    context, uses = _idle.pop() if _idle else (new_context(), 0)
    try:
        with context:
            yield context
    except LhkitError:
        _keep(context, uses + 1)  # a text that does not parse, or a step that fails, leaves nothing behind
        raise
    _keep(context, uses + 1)


def _keep(context: Any, uses: int) -> None:
    if uses < _MOST_USES and is_reusable(context):
        _idle.append((context, uses))


def note_parsed(context: Any, content: bytes) -> None:
    """Note what a context has parsed.

    One that has resources is used no more: those of the next module would be renamed, since keys are unique in
    a context. Bytecode may have some.
    """
    if len(content) > _MOST_BYTES or content.startswith(b"ML\xefR") or b"_resource" in content:
        context.lhkit_bytes = _MOST_BYTES
        # A module that outlives its request may be given such a payload when its context is idle.
        _idle[:] = [each for each in _idle if each[0] is not context]
    else:
        context.lhkit_bytes = getattr(context, "lhkit_bytes", 0) + len(content)


def is_reusable(context: Any) -> bool:
    """Return whether other payloads may be parsed in a context."""
    return getattr(context, "lhkit_bytes", 0) < _MOST_BYTES


def forget_contexts() -> None:
    """Drop all idle contexts: the next one is to know other dialects."""
    _idle.clear()
