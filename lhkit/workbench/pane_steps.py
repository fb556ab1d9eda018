"""The part ``steps``: the rows of the schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lhkit.load.catalogue_cache import known_help
from lhkit.model.errors import UsageError
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.workbench.pane import Part, same_trace, sent
from lhkit.workbench.step_rows import step_rows
from lhkit.workbench.workbench_steps_html import steps_html

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


def _make(workbench: Workbench) -> dict[str, Any]:
    session = workbench.session
    schedule = session.schedule
    trace = workbench.trace
    # A trace of another text knows other places; its rows would name steps that are somewhere else.
    is_of_text = trace is not None and trace.schedule.sha256 == schedule.sha256
    rows = step_rows(workbench.script, trace if is_of_text else None, schedule.knobs, known_help())
    html = steps_html(rows, knob_values(schedule), workbench.version_id)
    return {"html": sent(html), "version": workbench.version_id}


def knob_values(schedule: Schedule) -> dict[str, KnobValue]:
    """Return the value of every knob that has one."""
    try:
        return schedule.values
    except UsageError:  # one without default was not set: the screen has to show it to have it set
        given = {k.name: k.default for k in schedule.knobs if k.default is not None}
        return {**given, **dict(schedule.settings)}


def _key(workbench: Workbench) -> Any:
    # What ops do is known once somebody has asked for the catalogue.
    session = workbench.session
    return (same_trace(workbench), session.schedule, session.text, bool(known_help()))


PARTS = (Part("steps", _key, _make, is_kept=True),)
