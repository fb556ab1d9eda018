"""The steps of a trace as a table to jump through: what each used, gave, and did to the payload."""

from __future__ import annotations

from lhkit.draw.svg import element, escaped, marks
from lhkit.model.printable import counted
from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.record.handle_history import death_in_words, display_names
from lhkit.traces.report.trace_text import delta_text, shown_steps

_HEADER = ("step", "line", "op", "consumes", "reads", "gives", "payload")
_MOST_STEPS = 400
_MOST_DEATHS = 6


def steps_html(trace: Trace, *, most_steps: int = _MOST_STEPS) -> str:
    """Return a table with a row a step; handles and steps in it answer to the selection.

    Args:
        trace: The trace.
        most_steps: Rows to show; the middle of a longer trace is left out, which is said there.
    """
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
    turn = "" if step.iteration is None else f" [{step.iteration}]"
    turn += "" if step.alternative is None else f" [alternative {step.alternative}]"
    cells = (
        str(step.index),
        str(step.source.line) if step.source else "",
        f'<code style="padding-left:{step.depth}em">{escaped(name + turn)}</code>',
        _handles([o.handle for o in step.operands if o.effect == "consume"], names),
        _handles([o.handle for o in step.operands if o.effect == "read"], names),
        _handles(list(step.results), names),
        escaped(delta_text(step.payload_delta)) if step.status == "ok" else escaped(step.status),
    )
    label = f"step {step.index}: {name}, {step.status}"
    found = marks(step=step.index, label=label)
    rows = [element("tr", *[element("td", cell) for cell in cells], data_status=step.status, **found)]
    for death in step.invalidated[:_MOST_DEATHS]:
        rows.append(_wide(f"✕ {death_in_words(trace, step.index, death, names)}"))
    if more := len(step.invalidated) - _MOST_DEATHS:
        rows += [_wide(f"✕ … and {more} more handles died here")] if more > 0 else []
    rows += [_wide(f"» {d.message}") for d in step.diagnostics if d.severity == "note"]
    rows += [_wide(f"! {w.kind}: {w.message}") for w in step.warnings]
    return rows


def _handles(handles: list[str], names: dict[str, str]) -> str:
    unique = dict.fromkeys(handles)
    return " ".join(
        element("span", element("code", escaped(names[h])), **marks(handles=[h], label=f"handle {names[h]}"))
        for h in unique
    )


def _wide(text: str) -> str:
    cell = element("td", escaped(text), colspan=len(_HEADER) - 1, class_="lh-note")
    return element("tr", element("td"), cell)
