"""Rows of the steps pane: the steps of a text with what the trace knows of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lhkit.model.knob import Knob
from lhkit.model.trace_record import PayloadDelta, StepStatus, Trace, TraceStep
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import SEQUENCE, Script, is_terminator
from lhkit.text.step_edits import DisabledStep, disabled_steps
from lhkit.traces.report.schedule_html import LinkedWord, schedule_lines

_KNOB = "transform.tune.knob"
_SPACES = re.compile(r"\s+")
# Worst first: the row has the worst status of its iterations.
_STATUSES: tuple[StepStatus, ...] = ("crashed", "failed", "suppressed", "ok", "not-run")


@dataclass(frozen=True, slots=True)
class HandleWord:
    """A name in a row, with its handles, one per iteration."""

    text: str
    handles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of the text, a named sequence, or a step that is switched off.

    Attributes:
        kind: ``step``, ``sequence`` or ``off`` (disabled).
        number: Number among the steps of the text; of a disabled step among the disabled ones.
        depth: Number of enclosing steps, sequences not counted.
        op: The op's name without ``transform.``; of a sequence its symbol.
        gives: Its results.
        arguments: The text behind the name in one line, without types.
        line: Its line, from 1.
        steps: The trace steps that ran it.
        status: The worst of their statuses; None if it is not in the trace.
        delta: The payload delta of the first of them.
        deaths: Number of handles that it invalidated, over all iterations.
        sentence: Help text of the op.
    """

    kind: str
    number: int
    depth: int
    op: str
    gives: tuple[HandleWord, ...]
    arguments: tuple[HandleWord, ...]
    line: int
    steps: tuple[int, ...] = ()
    status: StepStatus | None = None
    delta: PayloadDelta = field(default_factory=PayloadDelta)
    deaths: int = 0
    warnings: tuple[str, ...] = ()
    sentence: str = ""
    knob: Knob | None = None


def step_rows(
    script: Script, trace: Trace | None, knobs: tuple[Knob, ...], help: Mapping[str, str]
) -> tuple[StepRow, ...]:
    """Return the rows of a schedule in the order of its text; ``help`` maps ops to sentences."""
    return tuple(_Reader(script, trace, knobs, help).rows())


class _Reader:
    def __init__(
        self, script: Script, trace: Trace | None, knobs: tuple[Knob, ...], help: Mapping[str, str]
    ) -> None:
        self._script, self._trace, self._help = script, trace, help
        self._knobs = {(k.line, k.column): k for k in knobs}
        self._words = [{w.start: w for w in line.words} for line in schedule_lines(script.text, trace)]
        self._ran: dict[tuple[int, int], list[TraceStep]] = {}
        for step in trace.step_records if trace else ():
            if step.source is not None and trace is not None and step.source.file == trace.schedule.source:
                self._ran.setdefault((step.source.line, step.source.column), []).append(step)

    def rows(self) -> Iterator[StepRow]:
        """Yield the rows, disabled steps at their places."""
        off = list(enumerate(disabled_steps(self._script.text)))
        ends: list[int] = []
        for number, op in enumerate(self._script.steps):
            while off and off[0][1].marks[0][0] < op.start:
                yield self._off(*off.pop(0), depth=len(ends))
            ends = [end for end in ends if op.start < end]
            if op.name == SEQUENCE:
                if op.regions:
                    yield self._sequence(number, op)
                continue
            if not (is_terminator(op) and not op.operands):
                yield self._step(number, op, len(ends))
            if op.regions:
                ends.append(op.end)
        for each in off:
            yield self._off(*each, depth=0)

    def _sequence(self, number: int, op: OpSyntax) -> StepRow:
        gives = tuple(self._word(a.start, a.text) for a in op.arguments)
        line = self._script.line_of(op)
        return StepRow("sequence", number, 0, op.symbol, gives, (), line)

    def _off(self, number: int, step: DisabledStep, *, depth: int) -> StepRow:
        rest = _SPACES.sub(" ", step.text.partition(step.name)[2]).rstrip()
        said = self._help.get(step.name, "")
        name = _short(step.name)
        return StepRow("off", number, depth, name, (), (HandleWord(rest, ()),), step.line, sentence=said)

    def _step(self, number: int, op: OpSyntax, depth: int) -> StepRow:
        place = self._script.syntax.place(op.name_start)
        ran = self._ran.get((place.line, place.column), [])
        statuses = {s.status for s in ran}
        return StepRow(
            kind="step",
            number=number,
            depth=depth,
            op=_short(op.name),
            gives=tuple(self._word(n.start, n.text, n.count) for n in op.results),
            arguments=tuple(self._arguments(op)),
            line=place.line,
            steps=tuple(s.index for s in ran),
            status=next((s for s in _STATUSES if s in statuses), None),
            delta=ran[0].payload_delta if ran else PayloadDelta(),
            deaths=sum(len(s.invalidated) for s in ran),
            warnings=tuple(dict.fromkeys(w.message for s in ran for w in s.warnings)),
            sentence=self._help.get(op.name, ""),
            knob=self._knobs.get((place.line, place.column)) if op.name == _KNOB else None,
        )

    def _word(self, at: int, text: str, count: int = 1) -> HandleWord:
        found = self._linked(at)
        return HandleWord(text if count == 1 else f"{text}:{count}", found.handles if found else ())

    def _linked(self, at: int) -> LinkedWord | None:
        place = self._script.syntax.place(at)
        return self._words[place.line - 1].get(place.column - 1) if place.line <= len(self._words) else None

    def _arguments(self, op: OpSyntax) -> Iterator[HandleWord]:
        """Yield the text between the op's name and its types or body."""
        text = self._script.text
        stops = [op.end, *(r.start for r in op.regions), *([op.signature[0]] if op.signature else [])]
        at, stop = op.name_start + len(op.name) + 2 * op.is_generic, min(stops)
        for use in op.operands:
            if at <= use.start < stop:
                yield HandleWord(_SPACES.sub(" ", text[at : use.start]), ())
                yield self._word(use.start, use.text)
                at = use.end
        yield HandleWord(_SPACES.sub(" ", text[at:stop]).rstrip(), ())


def _short(name: str) -> str:
    return name.removeprefix("transform.")
