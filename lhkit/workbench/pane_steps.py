"""The pane ``steps``: the steps of a text with what the trace knows of them, as HTML, with knobs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lhkit.draw.live_view import knob_attributes, knob_control
from lhkit.draw.svg import element, escaped, marks
from lhkit.draw.theme import mlir_html
from lhkit.load.catalogue_cache import known_help
from lhkit.model.knob import Knob, KnobValue
from lhkit.model.trace_record import PayloadDelta, StepStatus, Trace
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import SEQUENCE, Script, is_terminator
from lhkit.text.step_edits import DisabledStep, disabled_steps
from lhkit.traces.record.placed_ops import shown_delta
from lhkit.traces.report.schedule_html import schedule_lines
from lhkit.traces.report.trace_text import DELTA_LEGEND, delta_text
from lhkit.workbench.form_fields import place_of, steps_by_place
from lhkit.workbench.runs import knob_values
from lhkit.workbench.workbench_core import LivePane, WorkbenchCore, same_trace, sent

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
    """A step of the text, a named sequence, or a disabled step.

    Attributes:
        kind: ``step``, ``sequence`` or ``off`` (disabled).
        at: Its place in the text, which commands take for a step; of a disabled step its number among those.
        depth: Number of enclosing steps, sequences not counted.
        steps: The trace steps that ran it.
        status: The worst of their statuses; None if it is not in the trace.
        delta: The payload delta of the first of them.
        deaths: Number of handles that it invalidated, over all iterations.
    """

    kind: str
    at: str
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


class _Reader:
    def __init__(
        self, script: Script, trace: Trace | None, knobs: tuple[Knob, ...], help: Mapping[str, str]
    ) -> None:
        self._script, self._help = script, help
        self._knobs = {(k.line, k.column): k for k in knobs}
        self._words = [{w.start: w for w in line.words} for line in schedule_lines(script.text, trace)]
        self._trace, self._ran = trace, steps_by_place(trace)

    def rows(self) -> Iterator[StepRow]:
        """Yield the rows, disabled steps at their places."""
        off = list(enumerate(disabled_steps(self._script.text)))
        ends: list[int] = []
        for op in self._script.steps:
            while off and off[0][1].marks[0][0] < op.start:
                yield self._off(*off.pop(0), depth=len(ends))
            ends = [end for end in ends if op.start < end]
            if op.name == SEQUENCE:
                if op.regions:
                    gives = tuple(self._word(a.start, a.text) for a in op.arguments)
                    at = place_of(self._script, op)
                    yield StepRow("sequence", at, 0, op.symbol, gives, (), self._script.line_of(op))
                continue
            if not (is_terminator(op) and not op.operands):
                yield self._step(op, len(ends))
            if op.regions:
                ends.append(op.end)
        for each in off:
            yield self._off(*each, depth=0)

    def _off(self, number: int, step: DisabledStep, *, depth: int) -> StepRow:
        rest = _SPACES.sub(" ", step.text.partition(step.name)[2]).rstrip()
        said = self._help.get(step.name, "")
        name = _short(step.name)
        return StepRow("off", str(number), depth, name, (), (HandleWord(rest, ()),), step.line, sentence=said)

    def _step(self, op: OpSyntax, depth: int) -> StepRow:
        place = self._script.syntax.place(op.name_start)
        ran = self._ran.get((place.line, place.column), [])
        statuses = {s.status for s in ran}
        return StepRow(
            kind="step",
            at=place_of(self._script, op),
            depth=depth,
            op=_short(op.name),
            gives=tuple(self._word(n.start, n.text, n.count) for n in op.results),
            arguments=tuple(self._arguments(op)),
            line=place.line,
            steps=tuple(s.index for s in ran),
            status=next((s for s in _STATUSES if s in statuses), None),
            delta=shown_delta(self._trace, ran[0].index) if self._trace and ran else PayloadDelta(),
            deaths=sum(len(s.invalidated) for s in ran),
            warnings=tuple(dict.fromkeys(w.message for s in ran for w in s.warnings)),
            sentence=self._help.get(op.name, ""),
            knob=self._knobs.get((place.line, place.column)) if op.name == _KNOB else None,
        )

    def _word(self, at: int, text: str, count: int = 1) -> HandleWord:
        place = self._script.syntax.place(at)
        words = self._words[place.line - 1] if place.line <= len(self._words) else {}
        found = words.get(place.column - 1)
        return HandleWord(text if count == 1 else f"{text}:{count}", found.handles if found else ())

    def _arguments(self, op: OpSyntax) -> Iterator[HandleWord]:
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


_LEGEND = (
    f"payload ops that its text shows: {DELTA_LEGEND} · ✕ handles that it invalidated · ×2: ran twice,"
    " with the changes of the first time"
)
# Knobs with more values have a text field.
_MOST_VALUES = 64
_SAID: Mapping[StepStatus | None, tuple[str, str]] = {
    None: ("", ""),
    "ok": ("", ""),
    "failed": ("✕", "failed"),
    "crashed": ("✕", "the compiler's process died here"),
    "suppressed": ("○", "failed, and a step around it swallowed the failure"),
    "not-run": ("·", "did not run"),
}


def do(name: str, **fields: object) -> str:
    """Return a command as a value of the attribute ``data-do``."""
    return json.dumps({"do": name, **fields}, separators=(",", ":"))


def button(label: str, command: str, *, title: str, class_: str = "") -> str:
    """Return a button that executes a command."""
    said = {"title": title, "aria_label": title, "tabindex": -1}
    return element("button", escaped(label), type="button", data_do=command, **said, class_=class_)


def steps_html(rows: Iterable[StepRow], values: Mapping[str, KnobValue], version: str) -> str:
    """Return the rows as an HTML list; ``version`` is the id of their text."""
    given = element("div", "the payload as given", role="button", tabindex=-1, class_="lhw-main", data_goto=-1)
    first = element("li", given, class_="lhw-row lhw-given", data_step=-1)
    listed = [_row_html(row, values, version) for row in rows]
    legend = (
        element("p", _LEGEND, class_="lh-note lhw-legend") if any("lhw-effect" in row for row in listed) else ""
    )
    return element("ol", first, *listed, class_="lhw-steps") + legend


def _row_html(row: StepRow, values: Mapping[str, KnobValue], version: str) -> str:
    if row.kind == "sequence":
        head = element("b", escaped(row.op)) + " " + _words(row.gives)
        return element("li", head, class_="lhw-sequence", data_at=row.at)
    content = _knob(row.knob, values.get(row.knob.name)) if row.knob is not None else ""
    return element(
        "li",
        _main(row, has_control=bool(content)),
        content,
        _tools(row, version),
        *(element("p", f"! {escaped(w)}", class_="lhw-warning") for w in row.warnings),
        class_=f"lhw-row{' lhw-off' if row.kind == 'off' else ''}",
        style=f"--depth: {row.depth}",
        data_status=row.status,
        data_at=row.at,
        data_kind=row.kind,
        data_step=" ".join(map(str, row.steps)) or None,
    )


def _main(row: StepRow, *, has_control: bool) -> str:
    family, _, name = row.op.rpartition(".")
    mark, status = _SAID[row.status]
    number = "off" if row.kind == "off" else str(row.steps[0]) if row.steps else "–"
    times = f"×{len(row.steps)}" if len(row.steps) > 1 else ""
    changes = delta_text(row.delta)
    said = ", ".join(filter(None, (f"step {number}", row.op, status, changes, *row.warnings[:1])))
    parts = [element("span", number, class_="lhw-number"), element("span", escaped(name), class_="lhw-op")]
    deaths = f"{row.deaths}✕" if row.deaths else ""
    if effect := " ".join(filter(None, (mark, times, changes, deaths))):
        parts.append(element("span", escaped(effect), class_="lhw-effect"))
    if not has_control:
        gives = element("span", " → ", _words(row.gives, " "), class_="lhw-gives") if row.gives else ""
        parts.append(element("span", _words(row.arguments), gives, class_="lhw-arguments"))
    title = f"{family}.{name}: {row.sentence}" if family else row.sentence
    goto = row.steps[0] if row.steps else None
    # No <button>: some browsers cannot drag its contents.
    role = {"role": "button", "tabindex": -1, "class_": "lhw-main"}  # one row of the list is the tab stop
    return element("div", *parts, **role, title=title, aria_label=said, data_goto=goto)


def _words(words: Iterable[HandleWord], between: str = "") -> str:
    made = []
    for word in words:
        text = mlir_html(word.text)
        made.append(element("span", text, **marks(handles=word.handles)) if word.handles else text)
    return between.join(made)


def _tools(row: StepRow, version: str) -> str:
    if row.kind == "off":
        command = do("switch_on", off=int(row.at), version=version)
        on = button("on", command, title="switch on", class_="lhw-switch")
        return element("span", on, class_="lhw-tools")
    given = {"step": row.at, "version": version}
    edit = {"type": "button", "tabindex": -1, "data_edit": row.at, "title": "change arguments (e)"}
    made = [
        element("button", "edit", aria_label="change arguments", **edit),
        button("copy", do("duplicate_step", **given), title="duplicate (d)"),
        button("off", do("switch_off", **given), title="switch off (space)", class_="lhw-switch"),
        button("↑", do("move_step", by=-1, **given), title="move up (Alt ↑)"),
        button("↓", do("move_step", by=1, **given), title="move down (Alt ↓)"),
        button("remove", do("remove_step", **given), title="remove (Delete)"),
    ]
    return element("span", *made, class_="lhw-tools", role="toolbar", aria_label=f"step {row.op}")


def _knob(knob: Knob, value: KnobValue | None) -> str:
    """Return the control of a knob; a text field if it lists no options, or very many."""
    if 1 < len(knob.options) <= _MOST_VALUES:
        return knob_control(knob, value, class_="lhw-knob")
    name = element("span", escaped(knob.name), class_="lhw-knob-name")
    shown = "" if value is None else str(value)
    field = element("input", type="text", value=shown, **knob_attributes(knob))
    return element("label", name, field, class_="lhw-knob")


def _make(workbench: WorkbenchCore) -> dict[str, Any]:
    schedule, trace = workbench.session.schedule, workbench.trace
    # The steps of another text are at other places.
    is_of_text = trace is not None and trace.schedule.sha256 == schedule.sha256
    rows = _Reader(workbench.script, trace if is_of_text else None, schedule.knobs, known_help()).rows()
    html = steps_html(rows, knob_values(schedule), workbench.version_id)
    return {"html": sent(html), "version": workbench.version_id}


def _key(workbench: WorkbenchCore) -> Any:
    # Help texts appear once the catalogue is loaded.
    session = workbench.session
    return (same_trace(workbench), session.schedule, session.text, bool(known_help()))


PANES = (LivePane("steps", _make, _key, is_cached=True),)
