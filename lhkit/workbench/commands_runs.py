"""Commands that run, measure and sweep, and that go back to what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.model.errors import usage_error
from lhkit.workbench.screen import integer

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


def _run(workbench: Workbench, _: Mapping[str, Any]) -> None:
    workbench.runs.start(workbench, "run")


def _measure(workbench: Workbench, _: Mapping[str, Any]) -> None:
    workbench.runs.start(workbench, "measure")


def _sweep(workbench: Workbench, _: Mapping[str, Any]) -> None:
    workbench.runs.start(workbench, "sweep")


def _stop(workbench: Workbench, _: Mapping[str, Any]) -> None:
    workbench.runs.stop()


def _go_back(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"result": number, "bar": index}``: to the version of a result; with a bar, to that variant of it."""
    result = workbench.runs.result(integer(command, "result"))
    knobs = result.knobs
    if "bar" in command:
        number = integer(command, "bar")
        if not 0 <= number < len(result.bars):
            raise usage_error(f"result {result.number} has no bar {number}")
        knobs = result.bars[number].knobs or knobs
    session = workbench.session
    is_other = session.text != result.schedule.text
    if is_other:
        session.set_text(result.schedule.text, title=f"back to result {result.number}")
    if knobs:
        session.set_knobs(dict(knobs), amends=is_other)


def _forget_results(workbench: Workbench, _: Mapping[str, Any]) -> None:
    workbench.runs.forget()


COMMANDS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], None]] = {
    "run": _run,
    "measure": _measure,
    "sweep": _sweep,
    "stop": _stop,
    "go_back": _go_back,
    "forget_results": _forget_results,
}
