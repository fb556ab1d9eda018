"""Commands of the view, the history, knobs, runs, trials and trust."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from lhkit.compose.recipes import insert_recipe
from lhkit.model.errors import usage_error
from lhkit.workbench.form_fields import number_after
from lhkit.workbench.run_results import RunKind
from lhkit.workbench.screen import Command, Notice, fitting, flag, integer, mapping, text
from lhkit.workbench.step_commands import change
from lhkit.workbench.workbench_core import WorkbenchCore

_SELECTED_KINDS = ("", "step", "handle", "op")
_RUNS: Mapping[RunKind, str] = {"run": "Running", "measure": "Measuring", "sweep": "Sweeping"}


def _select(workbench: WorkbenchCore, command: Command) -> None:
    """``{"step": index, "kind": "step" | "handle" | "op" | "", "ids": str, "by": view}``.

    Unknown ids, such as those of an earlier trace's picture, select nothing.
    """
    trace = workbench.trace
    step, kind = integer(command, "step"), text(command, "kind")
    last = len(trace.step_records) - 1 if trace else -1
    if not -1 <= step <= last:
        raise usage_error(f"there is no step {step}; there are {last + 1}")
    if kind not in _SELECTED_KINDS:
        raise usage_error(f"nothing of kind {kind!r} can be selected")
    asked = dataclasses.replace(workbench.screen, step=step, kind=kind, ids=text(command, "ids"))
    workbench.screen = dataclasses.replace(fitting(asked, trace), by=str(command.get("by", "")))


def _open(workbench: WorkbenchCore, command: Command) -> None:
    """``{"area": name, "pane": name, "by": view}``: bring a pane to the front of its area."""
    front = {**dict(workbench.screen.front), text(command, "area"): text(command, "pane")}
    workbench.look(front=tuple(front.items()), by=str(command.get("by", "")))


def _undo(workbench: WorkbenchCore, _: Command) -> None:
    if not workbench.session.undo():
        raise usage_error("there is nothing to undo")


def _redo(workbench: WorkbenchCore, _: Command) -> None:
    if not workbench.session.redo():
        raise usage_error("there is nothing to redo")


def _checkpoint(workbench: WorkbenchCore, command: Command) -> None:
    """``{"name": str}``; default the next free number."""
    taken = workbench.session.checkpoints
    free = next(n for n in range(1, len(taken) + 2) if f"checkpoint {n}" not in taken)
    workbench.session.checkpoint(str(command.get("name") or f"checkpoint {free}").strip())


def _take_repair(workbench: WorkbenchCore, command: Command) -> None:
    """``{"number": int, "title": str}``: apply a repair that was found."""
    number, found = integer(command, "number"), workbench.repairs.found
    if not 0 <= number < len(found) or found[number].title != command.get("title"):
        raise usage_error("that repair is of another problem", "Take one of those that are shown now.")
    workbench.session.set_text(found[number].text, title=f"repair: {found[number].title}")


def _set_knobs(workbench: WorkbenchCore, command: Command) -> None:
    """``{"knobs": {name: value}, "gesture": id}``: changes of one gesture are one version."""
    gesture = command.get("gesture")
    amends = gesture is not None and gesture == workbench.gesture
    workbench.gesture = None
    workbench.session.set_knobs(mapping(command, "knobs"), amends=amends)
    workbench.gesture = gesture


def _try_handle(workbench: WorkbenchCore, command: Command) -> None:
    """``{"handle": id}``: try ops and recipes on a handle of the trace."""
    trace = workbench.current_trace()
    workbench.tryouts.start(trace, workbench.parsed_script(), text(command, "handle"))


def _add_tried(workbench: WorkbenchCore, command: Command) -> None:
    """``{"number": int, "handle": name}``: add an op that was tried."""
    tryouts = workbench.tryouts
    if command.get("handle") != tryouts.handle or tryouts.version != workbench.version_id:
        raise usage_error("the schedule has changed since that was tried", "Ask again what can be done.")
    tried, place = tryouts.tried(integer(command, "number")), tryouts.place
    number = number_after(workbench.script, place)
    change(workbench, command, lambda s: insert_recipe(s, tried.text, tried.sequences, **place.as_keyword))
    workbench.show_number(number)


def _start_run(workbench: WorkbenchCore, kind: RunKind) -> None:
    if workbench.session.is_trusted:
        workbench.runs.start(kind)
        return
    names = " and ".join(doubt.name for doubt in workbench.session.doubts)
    message = f"{_RUNS[kind]} compiles {names} and executes it as native code on this machine."
    action = (f"Trust and {kind}", {"do": "trust", "then": kind})
    workbench.notice = Notice("refused", message, "", (action,))


def _trust(workbench: WorkbenchCore, command: Command) -> None:
    """``{"then": "run" | "measure" | "sweep"}``, or ``{}`` to take the trace only."""
    workbench.trust()
    then = command.get("then")
    if then is None:
        return
    kind = next((kind for kind in _RUNS if kind == then), None)
    if kind is None:
        raise usage_error(f"there is nothing called {then!r} to do after trusting")
    workbench.runs.start(kind)


def _go_back(workbench: WorkbenchCore, command: Command) -> None:
    """``{"result": number, "bar": index}``: restore the version of a result, or of one of its variants."""
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


def _forget_results(workbench: WorkbenchCore, _: Command) -> None:
    workbench.runs.results = ()


COMMANDS: Mapping[str, Callable[[WorkbenchCore, Command], object]] = {
    "select": _select,
    "open": _open,
    # {"large": bool}: large type, for a projector.
    "set_large": lambda workbench, command: workbench.look(is_large=flag(command, "large"), by=""),
    # {"whole": bool}: the payload as text instead of as a diff.
    "set_whole": lambda workbench, command: workbench.look(whole_payload=flag(command, "whole"), by=""),
    "undo": _undo,
    "redo": _redo,
    "checkpoint": _checkpoint,
    "restore": lambda workbench, command: workbench.session.restore(text(command, "name")),
    "recover": lambda workbench, _: workbench.session.recover(),
    "take_repair": _take_repair,
    "set_knobs": _set_knobs,
    "run": lambda workbench, _: _start_run(workbench, "run"),
    "measure": lambda workbench, _: _start_run(workbench, "measure"),
    "sweep": lambda workbench, _: _start_run(workbench, "sweep"),
    "stop": lambda workbench, _: workbench.runs.stop(),
    "go_back": _go_back,
    "forget_results": _forget_results,
    "try_handle": _try_handle,
    "add_tried": _add_tried,
    "trust": _trust,
}
