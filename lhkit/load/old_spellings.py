"""Errors of texts in an older spelling say so, and what rewrites it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lhkit.load.sequence_names import advice_on_unknown
from lhkit.model.errors import LhkitError, UsageError, error_for, usage_error
from lhkit.model.failure import Failure
from lhkit.text.upgrades.text_upgrade import has_top_level_sequence, upgrade_text

_KINDS = ("payload-parse", "schedule-parse", "payload-verify", "schedule-verify")
_MOST_NAMED = 3
# Longer texts are generated, and looking through one is not worth the time; `lhkit upgrade` takes any.
_MOST_CHARACTERS = 50_000


@contextmanager
def old_spellings_named(source: str, contents: Sequence[bytes]) -> Iterator[None]:
    """Add to errors of parsing, raised inside, which old spellings or unknown names the text has.

    Args:
        source: The file's name, as shown to people.
        contents: The texts that are being parsed; bytecode has no spelling.

    Raises:
        PayloadError, ScheduleError: What was raised inside, with more advice.
    """
    try:
        yield
    except LhkitError as error:
        if error.failure.kind not in _KINDS or not (advice := _advice(source, contents, error.failure)):
            raise
        both = "\n".join(a for a in (error.failure.advice, advice) if a)
        raise error_for(dataclasses.replace(error.failure, advice=both)) from None


def top_level_sequence(source: str, content: bytes) -> UsageError | None:
    """Return the error for a schedule that no longer is one: a sequence that nothing applies today."""
    if len(content) > _MOST_CHARACTERS or not has_top_level_sequence(content.decode(errors="replace")):
        return None
    message = (
        f"{source} has a transform.sequence at the top level, which is not applied today: a named sequence is"
    )
    return usage_error(message, f"{_command(source)} rewrites it.")


def _advice(source: str, contents: Sequence[bytes], failure: Failure) -> str:
    if sum(map(len, contents)) > _MOST_CHARACTERS:
        return ""
    if advice := advice_on_unknown(failure, contents):
        return advice
    upgrades = [upgrade_text(c.decode(errors="replace")) for c in contents]
    changes = [c for u in upgrades for c in u.changes]
    if changes:
        # What the compiler stumbled over comes first.
        at = failure.span.line if failure.span else 0
        changes.sort(key=lambda c: c.line != at)
        named = "; ".join(f"line {c.line}: {c.old} is {c.new} today" for c in changes[:_MOST_NAMED])
        more = f"; {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
        return f"This is an older spelling ({named}{more}). {_command(source)} rewrites it."
    hints = [h for u in upgrades for h in u.hints]
    return f"Line {hints[0].line}: {hints[0].message}. Write instead: {hints[0].instead}." if hints else ""


def _command(source: str) -> str:
    return f"lhkit upgrade {'FILE' if source.startswith('<') else source}"
