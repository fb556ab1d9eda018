"""A schedule's text with what a trace knows of it: the steps that ran each op, and the handles of each name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.trace_record import StepStatus, Trace, TraceStep

_WORDS = re.compile(
    r'//.*|"(?:[^"\\]|\\.)*"|(?P<handle>%[\w$.-]+(?:[#:][0-9]+)?)|(?P<op>[a-z_]\w*(?:\.\w+)+)'
    r"|(?P<symbol>@[\w$.-]+)",
    re.ASCII,
)
# The worst first: one of several iterations that failed makes the line a failed one.
_STATUSES: tuple[StepStatus, ...] = ("failed", "crashed", "suppressed", "ok", "not-run")


@dataclass(frozen=True, slots=True)
class LinkedWord:
    """A word of a schedule that stands for something.

    Attributes:
        start: Where it begins in its line, in characters.
        end: Where it ends.
        steps: The steps that ran the op that it names.
        handles: Ids of the handles that it stands for, one an iteration.
        help: What the op does.
    """

    start: int
    end: int
    steps: tuple[int, ...] = ()
    handles: tuple[str, ...] = ()
    help: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleLine:
    """A line of a schedule; ``status`` is that of the steps that begin in it, None if none does."""

    text: str
    words: tuple[LinkedWord, ...] = ()
    status: StepStatus | None = None


def schedule_lines(
    text: str, trace: Trace | None = None, help: Mapping[str, str] | None = None, source: str | None = None
) -> tuple[ScheduleLine, ...]:
    """Return the lines of a schedule.

    Args:
        text: Its text.
        trace: A trace of it, for steps and handles.
        help: What ops do, by their names.
        source: Which file of the trace the text is, if not the schedule itself: one of its libraries.
    """
    linker = _Linker(trace, source, help or {})
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return tuple(linker.line(number, line) for number, line in enumerate(lines, 1))


class _Linker:
    """Links words, line by line."""

    def __init__(self, trace: Trace | None, source: str | None, help: Mapping[str, str]) -> None:
        self._trace, self._help = trace, help
        self._steps: dict[int, list[TraceStep]] = defaultdict(list)
        self._arguments: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._sequence = ""
        self._here: Sequence[TraceStep] = ()
        self._is_named_next = False
        if trace is None:
            return
        source = source or trace.schedule.source
        for step in trace.step_records:
            if step.source is not None and step.source.file == source:
                self._steps[step.source.line].append(step)
        made = {handle for step in trace.step_records for handle in step.results}
        for record in trace.handle_records:
            if record.id not in made:
                self._arguments[record.sequence, record.name].append(record.id)

    def line(self, number: int, text: str) -> ScheduleLine:
        began = self._steps.get(number, [])
        self._here = began or self._here
        statuses = {s.status for s in began}
        status = next((s for s in _STATUSES if s in statuses), None)
        return ScheduleLine(text, tuple(self._words(text, began)), status)

    def _words(self, text: str, began: Sequence[TraceStep]) -> Iterator[LinkedWord]:
        for match in _WORDS.finditer(text):
            if match["symbol"] and self._is_named_next:
                self._sequence, self._here, self._is_named_next = match["symbol"], (), False
            elif match["op"]:
                self._is_named_next = match["op"] == "transform.named_sequence"
                steps = tuple(s.index for s in began if s.op == match["op"])
                said = self._help.get(match["op"], "")
                if steps or said:
                    yield LinkedWord(match.start(), match.end(), steps, (), said)
            elif match["handle"] and (handles := self._handles(match["handle"])):
                yield LinkedWord(match.start(), match.end(), (), handles)

    def _handles(self, word: str) -> tuple[str, ...]:
        """Return the handles that a name stands for: of the op that the line belongs to, else arguments."""
        if self._trace is None:
            return ()
        name = word.partition(":")[0]
        used = (h for s in self._here for h in (*s.results, *(o.handle for o in s.operands)))
        found = [h for h in used if _stands_for(name, self._trace.handle(h).name)]
        return tuple(dict.fromkeys(found)) or tuple(self._arguments.get((self._sequence, name), ()))


def _stands_for(word: str, name: str) -> bool:
    """Return True for a handle that a word names: itself, or all results by their common name."""
    return name == word or name.partition("#")[0] == word
