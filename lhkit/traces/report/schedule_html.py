"""A schedule as HTML with steps and handles linked, and the steps of a trace as a table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.draw.svg import element, escaped, marks
from lhkit.draw.theme import mlir_html
from lhkit.model.printable import counted
from lhkit.model.trace_record import StepStatus, Trace, TraceStep
from lhkit.traces.record.handle_history import display_names, turn_mark
from lhkit.traces.record.placed_ops import shown_delta
from lhkit.traces.report.trace_text import deaths_in_words, delta_text, shown_steps

_WORDS = re.compile(
    r'//.*|"(?:[^"\\]|\\.)*"|(?P<handle>%[\w$.-]+(?:[#:][0-9]+)?)|(?P<op>[a-z_]\w*(?:\.\w+)+)'
    r"|(?P<symbol>@[\w$.-]+)",
    re.ASCII,
)
# Worst first: a line with a failed iteration is a failed one.
_STATUSES: tuple[StepStatus, ...] = ("failed", "crashed", "suppressed", "ok", "not-run")


@dataclass(frozen=True, slots=True)
class LinkedWord:
    """A word of a schedule line: the steps that ran the op, or the handles of the name, one per iteration."""

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
    """Return the lines of a schedule, linked to the steps and handles of a trace.

    ``help`` has a description per op; ``source`` names the file if it is a library of the schedule.
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
        """Return the handles of a name: of the op on the line, else arguments of the sequence."""
        if self._trace is None:
            return ()
        name = word.partition(":")[0]
        used = [h for s in self._here for h in (*s.results, *(o.handle for o in s.operands))]
        names = {h: self._trace.handle(h).name for h in used}
        found = [h for h in used if name in (names[h], names[h].partition("#")[0])]
        return tuple(dict.fromkeys(found)) or tuple(self._arguments.get((self._sequence, name), ()))


_CLASSES: dict[StepStatus, tuple[str, str]] = {
    "ok": ("l", ""),
    "failed": ("l f", "this step failed"),
    "crashed": ("l f", "this step crashed"),
    "suppressed": ("l f", "this step failed, and a step around it swallowed the failure"),
    "not-run": ("l z", "this step did not run"),
}


def schedule_html(lines: Iterable[ScheduleLine], *, label: str = "schedule") -> str:
    """Return the lines of a schedule as HTML; ``lhkit.draw.theme`` has its style.

    A line is linked to the first step that ran from it, and its op's name to every one.
    """
    box = element("div", *(_line_html(number, line) for number, line in enumerate(lines, 1)))
    return element("div", box, class_="lh-ir", tabindex=0, role="region", aria_label=label)


def _line_html(number: int, line: ScheduleLine) -> str:
    sort, said = _CLASSES[line.status or "ok"]
    steps = [s for word in line.words for s in word.steps]
    made = []
    at = 0
    for word in line.words:
        made.append(mlir_html(line.text[at : word.start]))
        made.append(_word_html(word, line.text[word.start : word.end]))
        at = word.end
    made.append(mlir_html(line.text[at:]))
    step = f" data-step={steps[0]}" if steps else ""
    title = f' title="{escaped(said)}"' if said else ""
    return f'<pre class="{sort}" data-n={number}{step}{title}>{"".join(made)}</pre>'


def _word_html(word: LinkedWord, text: str) -> str:
    content = mlir_html(text)
    if word.handles:
        return element("span", content, **marks(handles=word.handles, label=f"handle {text}"))
    if not word.steps:
        return element("span", content, title=word.help)
    listed = ", ".join(map(str, word.steps))
    said = f"step {listed}: {word.help}" if word.help else f"step {listed}"
    for step in reversed(word.steps[1:]):
        content = element("span", content, **marks(step=step))
    first = marks(step=word.steps[0], label=f"{'steps' if word.steps[1:] else 'step'} {listed}, {text}")
    return element("span", content, title=said, **first)


_HEADER = ("step", "line", "op", "consumes", "reads", "gives", "payload")
_MOST_DEATHS = 6


def steps_html(trace: Trace, *, most_steps: int = 400) -> str:
    """Return a table with one row per step, linked to the selection; the middle of a long trace is left out."""
    names = display_names(trace)
    rows = [element("tr", *[element("th", escaped(cell)) for cell in _HEADER])]
    last = -1
    for index in shown_steps(trace, most_steps):
        if index > last + 1:
            rows.append(_wide(f"… {counted(index - last - 1, 'step')} left out …"))
        rows += _rows(trace, trace.step_records[index], names)
        last = index
    return element("table", *rows, class_="lh-rows")


def _rows(trace: Trace, step: TraceStep, names: dict[str, str]) -> list[str]:
    name = step.op.removeprefix("transform.")
    cells = (
        str(step.index),
        str(step.source.line) if step.source else "",
        f'<code style="padding-left:{step.depth}em">{escaped(name + turn_mark(step))}</code>',
        _handles((o.handle for o in step.operands if o.effect == "consume"), names),
        _handles((o.handle for o in step.operands if o.effect == "read"), names),
        _handles(step.results, names),
        escaped(delta_text(shown_delta(trace, step.index)) if step.status == "ok" else step.status),
    )
    label = f"step {step.index}: {name}, {step.status}"
    found = marks(step=step.index, label=label)
    rows = [element("tr", *[element("td", cell) for cell in cells], data_status=step.status, **found)]
    rows += [_wide(f"✕ {death}") for death in deaths_in_words(trace, step, names, _MOST_DEATHS)]
    rows += [_wide(f"» {d.message}") for d in step.diagnostics if d.severity == "note"]
    rows += [_wide(f"! {w.kind}: {w.message}") for w in step.warnings]
    return rows


def _handles(handles: Iterable[str], names: dict[str, str]) -> str:
    return " ".join(
        element("span", element("code", escaped(names[h])), **marks(handles=[h], label=f"handle {names[h]}"))
        for h in dict.fromkeys(handles)
    )


def _wide(text: str) -> str:
    cell = element("td", escaped(text), colspan=len(_HEADER) - 1, class_="lh-note")
    return element("tr", element("td"), cell)
