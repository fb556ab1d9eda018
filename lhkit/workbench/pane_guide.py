"""The question ``facts`` of the guide: what is known of the selected step, handle or payload op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lhkit.draw.svg import element, escaped
from lhkit.draw.theme import mlir_html
from lhkit.load.catalogue_cache import known_help
from lhkit.model.errors import LhkitError
from lhkit.model.printable import counted
from lhkit.model.trace_record import Trace
from lhkit.tiles.tile_effect import effect_of, effect_words
from lhkit.tiles.tile_requests import tile_picture_at, tile_picture_of
from lhkit.traces.diff.line_diff import remarks_at
from lhkit.traces.explain.handle_explanation import explain
from lhkit.traces.record.handle_history import display_names, payload_in_words
from lhkit.traces.record.placed_ops import shown_delta
from lhkit.traces.report.trace_text import delta_text
from lhkit.workbench.pane_pictures import asked_trace
from lhkit.workbench.screen import Command, integer, text
from lhkit.workbench.workbench_core import WorkbenchCore

_STATES = {"live": "live", "empty": "empty: it points to nothing", "invalid": "invalidated"}


def _facts(workbench: WorkbenchCore, question: Command) -> str:
    """``{"key": of the trace, "step": index, "kind", "ids"}`` → facts of the selection or step, as HTML."""
    trace, step = asked_trace(workbench, question), integer(question, "step")
    kind, ids = text(question, "kind"), text(question, "ids").split()
    if kind == "handle" and ids and any(h.id == ids[0] for h in trace.handle_records):
        title, facts = _of_handle(trace, step, ids[0])
    elif kind == "op" and ids and any(o.id == ids[0] for o in trace.op_records):
        title, facts = _of_op(trace, step, ids[0])
    else:
        title, facts = _of_step(trace, step)
    listed = "".join(element("li", fact) for fact in facts)
    return element("b", title) + element("ul", listed)


def _of_step(trace: Trace, step: int) -> tuple[str, list[str]]:
    if step < 0:
        return "the payload as given", _tiling(trace, step, None)
    record = trace.step_records[step]
    changes = delta_text(shown_delta(trace, step))
    facts = [
        known_help().get(record.op, ""),
        f"in the payload: {changes}" if changes else "it changes no payload op",
    ]
    if record.status not in ("ok", "not-run"):
        facts.append(
            f"it {'failed, and that was suppressed' if record.status == 'suppressed' else record.status}"
        )
    if dead := len(record.invalidated):
        facts.append(f"it invalidated {counted(dead, 'handle')}")
    title = f"step {step}: {record.op.removeprefix('transform.')}"
    return title, [escaped(f) for f in facts if f] + _tiling(trace, step, None)


def _of_handle(trace: Trace, step: int, handle: str) -> tuple[str, list[str]]:
    record, state = trace.handle(handle), trace.states_after(step).get(handle)
    facts = []
    if state is not None:
        held = f", {payload_in_words(trace, state)}" if state.state == "live" else ""
        facts.append(f"after step {step}: {_STATES[state.state]}{held}")
    else:
        facts.append(f"after step {step} it is not there yet")
    facts.append(f"at the end: {explain(trace, handle).sentence}")
    names = display_names(trace)
    return mlir_html(names.get(handle, record.name)), [*map(escaped, facts), *_tiling(trace, step, handle)]


def _of_op(trace: Trace, step: int, op: str) -> tuple[str, list[str]]:
    record, remarks = trace.op(op), remarks_at(trace, step)
    facts = [remarks.origin(op) + remarks.ending(op)]
    if marks := remarks.handles.get(op):
        facts.append(f"handles: {', '.join(dict.fromkeys(mark.name for mark in marks))}")
    return mlir_html(record.name), [*map(escaped, facts), *_tiling(trace, step, op)]


def _tiling(trace: Trace, step: int, shown: str | None) -> list[str]:
    """Return what loops make of an op, or of the op of a step; nothing without such an op or sizes."""

    def words() -> Iterator[str]:
        of_op = shown is not None
        picture = tile_picture_of(trace, op=shown, step=step) if of_op else tile_picture_at(trace, step)
        if picture.step == step:
            yield escaped(effect_words(effect_of(picture)))

    try:
        return list(words())
    except LhkitError:  # not an op with indexing maps, or not at this step
        return []


QUESTIONS: Mapping[str, Callable[[WorkbenchCore, Command], Any]] = {"facts": _facts}
