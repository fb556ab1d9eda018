"""The pane ``steps``: the rows of the schedule as HTML, with its knobs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from lhkit.draw.live_view import knob_attributes, knob_control
from lhkit.draw.svg import element, escaped, marks
from lhkit.draw.theme import mlir_html
from lhkit.load.catalogue_cache import known_help
from lhkit.model.knob import Knob, KnobValue
from lhkit.model.trace_record import StepStatus
from lhkit.traces.report.trace_text import delta_text
from lhkit.workbench.pane import LivePane, same_trace, sent
from lhkit.workbench.run_results import knob_values
from lhkit.workbench.step_rows import HandleWord, StepRow, step_rows
from lhkit.workbench.workbench_core import WorkbenchCore

# Knobs with more values have a text field.
_MOST_VALUES = 64
_SAID: Mapping[StepStatus | None, tuple[str, str]] = {
    None: ("", ""),
    "ok": ("", ""),
    "failed": ("✕", "failed"),
    "crashed": ("✕", "the compiler crashed here"),
    "suppressed": ("○", "failed, and a step around it swallowed the failure"),
    "not-run": ("·", "did not run"),
}


def do(name: str, **fields: object) -> str:
    """Return a command as a value of the attribute ``data-do``."""
    return json.dumps({"do": name, **fields}, separators=(",", ":"))


def button(label: str, command: str, *, title: str, class_: str = "") -> str:
    """Return a button that executes a command."""
    return element(
        "button",
        escaped(label),
        type="button",
        data_do=command,
        title=title,
        aria_label=title,
        class_=class_ or None,
    )


def steps_html(rows: Iterable[StepRow], values: Mapping[str, KnobValue], version: str) -> str:
    """Return the rows as an HTML list; ``version`` is the id of their text."""
    first = element(
        "li",
        element("div", "the payload as given", role="button", tabindex=0, class_="lhw-main", data_goto=-1),
        class_="lhw-row lhw-given",
        data_step=-1,
    )
    return element("ol", first, *(_row_html(row, values, version) for row in rows), class_="lhw-steps")


def _row_html(row: StepRow, values: Mapping[str, KnobValue], version: str) -> str:
    if row.kind == "sequence":
        return element(
            "li",
            element("b", escaped(row.op)),
            " ",
            _words(row.gives),
            class_="lhw-sequence",
            data_number=row.number,
        )
    known = {"version": version}
    content = _knob(row.knob, values.get(row.knob.name)) if row.knob is not None else ""
    tools = _tools(row, known)
    return element(
        "li",
        _main(row, has_control=bool(content)),
        content,
        tools,
        *(element("p", f"! {escaped(w)}", class_="lhw-warning") for w in row.warnings),
        class_=f"lhw-row{' lhw-off' if row.kind == 'off' else ''}",
        style=f"--depth: {row.depth}",
        data_status=row.status,
        data_number=row.number,
        data_kind=row.kind,
        data_step=" ".join(map(str, row.steps)) or None,
    )


def _main(row: StepRow, *, has_control: bool) -> str:
    """Return the main part of a row, which selects the step."""
    family, _, name = row.op.rpartition(".")
    mark, status = _SAID[row.status]
    number = "off" if row.kind == "off" else str(row.steps[0]) if row.steps else "–"
    times = f"×{len(row.steps)}" if len(row.steps) > 1 else ""
    said = ", ".join(
        part for part in (f"step {number}", row.op, status, delta_text(row.delta), *row.warnings[:1]) if part
    )
    parts = [element("span", number, class_="lhw-number"), element("span", escaped(name), class_="lhw-op")]
    effect = " ".join(
        p for p in (mark, times, delta_text(row.delta), f"{row.deaths}✕" if row.deaths else "") if p
    )
    parts.append(element("span", escaped(effect), class_="lhw-effect") if effect else "")
    if not has_control:
        gives = element("span", " → ", _words(row.gives, " "), class_="lhw-gives") if row.gives else ""
        parts.append(element("span", _words(row.arguments), gives, class_="lhw-arguments"))
    title = f"{family}.{name}: {row.sentence}" if family else row.sentence
    # No <button>: some browsers cannot drag its contents.
    return element(
        "div",
        *parts,
        role="button",
        tabindex=0,
        class_="lhw-main",
        title=title,
        aria_label=said,
        data_goto=row.steps[0] if row.steps else None,
    )


def _words(words: Iterable[HandleWord], between: str = "") -> str:
    made = []
    for word in words:
        text = mlir_html(word.text)
        made.append(element("span", text, **marks(handles=word.handles)) if word.handles else text)
    return between.join(made)


def _tools(row: StepRow, known: Mapping[str, Any]) -> str:
    if row.kind == "off":
        on = button("on", do("switch_on", off=row.number, **known), title="switch on", class_="lhw-switch")
        return element("span", on, class_="lhw-tools")
    given = {"step": row.number, **known}
    edit = {"type": "button", "data_edit": row.number, "title": "change arguments (e)"}
    made = [
        element("button", "edit", aria_label="change arguments", **edit),
        button("copy", do("duplicate_step", **given), title="duplicate"),
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
    session = workbench.session
    schedule = session.schedule
    trace = workbench.trace
    # The steps of another text are at other places.
    is_of_text = trace is not None and trace.schedule.sha256 == schedule.sha256
    rows = step_rows(workbench.script, trace if is_of_text else None, schedule.knobs, known_help())
    html = steps_html(rows, knob_values(schedule), workbench.version_id)
    return {"html": sent(html), "version": workbench.version_id}


def _key(workbench: WorkbenchCore) -> Any:
    # Help texts appear once the catalogue is loaded.
    session = workbench.session
    return (same_trace(workbench), session.schedule, session.text, bool(known_help()))


PANES = (LivePane("steps", _key, _make, is_cached=True),)
