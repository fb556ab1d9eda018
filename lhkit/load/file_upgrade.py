"""Upgrade of files in old spellings, with the remaining parse errors."""

from __future__ import annotations

import dataclasses
import difflib
import os
from dataclasses import dataclass

from lhkit.load.loader import sources_of
from lhkit.load.newer_text import advice_on_unknown_op, advice_on_unknown_part
from lhkit.load.old_spellings import elementwise_spelling
from lhkit.load.resource_data import MAGIC
from lhkit.load.source_texts import read_source
from lhkit.model.errors import Diagnostic, Failure, PayloadError, ScheduleError, usage_error
from lhkit.model.span import Span
from lhkit.text.upgrades.linalg_rules import Wanted, mentions_elementwise, respelling
from lhkit.text.upgrades.rule_edits import Hint, Upgrade
from lhkit.text.upgrades.text_upgrade import has_top_level_sequence, split_parts, upgrade_text
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import LoadSchedule


@dataclass(frozen=True, slots=True)
class UpgradedFile:
    """A file before and after its upgrade."""

    source: str
    old: str
    upgrade: Upgrade
    remaining: Failure | None  # The first error of parsing the new text; None where it parses and verifies

    @property
    def diff(self) -> str:
        """The change as a unified diff, "" where there is none."""
        old, new = self.old.splitlines(keepends=True), self.upgrade.text.splitlines(keepends=True)
        lines = difflib.unified_diff(old, new, self.source, f"{self.source} (today)")
        unended = "\n\\ No newline at end of file\n"
        return "".join(line if line.endswith("\n") else line + unended for line in lines)

    def left(self, *, written: bool) -> Failure | None:
        """Return what is left to be done by hand, as a failure; None where nothing is."""
        if not self.upgrade.hints or self.remaining is None:
            return self.remaining
        places = tuple(
            Diagnostic("error", f"{h.message}; write instead: {h.instead}", self._place(h, written))
            for h in self.upgrade.hints
        )
        count = "1 spelling has" if len(places) == 1 else f"{len(places)} spellings have"
        return Failure(
            kind="schedule-verify",
            message=f"{self.source}: {count} no rewriting",
            diagnostics=places,
            texts=((self.source, self.upgrade.text if written else self.old),),
        )

    def _place(self, hint: Hint, written: bool) -> Span:
        if written:
            return Span(self.source, hint.line, hint.column)
        line = self.upgrade.lines[hint.line - 1]
        word = self.upgrade.text.splitlines()[hint.line - 1][hint.column - 1 :].split()[0]
        return Span(self.source, line, self.old.splitlines()[line - 1].find(word) + 1)


def upgrade_file(
    source: str | os.PathLike[str],
    *,
    elementwise: Wanted = "any",
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> UpgradedFile:
    """Return a file (or MLIR in a string) with old spellings rewritten; what parses is left alone.

    Elementwise ops, and sequences of the kind that is no longer applied, are rewritten all the same.
    """
    shown, content, _ = read_source(source, "schedules", "<text>")
    if content.startswith(MAGIC):
        raise usage_error(f"{shown} is bytecode; it has no spelling", "lhkit upgrade takes MLIR text.")
    text = content.decode()
    worker = worker or shared_worker()
    before = _first_error(shown, text, worker, limits)
    rule = respelling(elementwise_spelling(worker, limits), elementwise)
    if before is None and not has_top_level_sequence(text) and not mentions_elementwise(text):
        return UpgradedFile(shown, text, Upgrade(text), None)
    done = upgrade_text(text, rule)
    remaining = before
    if done.text != text and (remaining := _first_error(shown, done.text, worker, limits)) is not None:
        message = f"{remaining.message}; places are those of the text with this rewritten"
        remaining = dataclasses.replace(remaining, message=message)
    if remaining is not None and remaining.diagnostics:
        first = remaining.diagnostics[0]
        advice = advice_on_unknown_op(first, worker) or advice_on_unknown_part(first, done.text, worker)
        remaining = dataclasses.replace(remaining, advice=remaining.advice or advice or None)
    return UpgradedFile(shown, text, done, remaining)


def _first_error(shown: str, text: str, worker: Worker, limits: Limits | None) -> Failure | None:
    for lines_before, part in split_parts(text):
        # Line breaks in front keep the places those of the whole file.
        sources = sources_of([(shown, b"\n" * lines_before + part.encode())])
        try:
            worker.ask(LoadSchedule(sources), limits=limits)
        except (ScheduleError, PayloadError) as error:
            return error.failure
    return None
