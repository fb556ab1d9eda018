"""Trusting what a workbench was opened from, and what waits for that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.load.trust import NOT_TRUSTED
from lhkit.model.errors import usage_error
from lhkit.workbench.run_results import RunKind
from lhkit.workbench.screen import Notice

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

_RUNS: Mapping[str, RunKind] = {"run": "run", "measure": "measure", "sweep": "sweep"}
_VERBS: Mapping[RunKind, str] = {"run": "Running", "measure": "Measuring", "sweep": "Sweeping"}


def refuse_untrusted(workbench: Workbench) -> None:
    """Refuse what needs a trace or a kernel while the workbench is not trusted.

    Raises:
        UsageError: It is not trusted.
    """
    if not workbench.session.is_trusted:
        advice = "Read the schedule first; then press Trust and trace, or open it with trust=True."
        raise usage_error(NOT_TRUSTED, advice)


def ask_before_running(workbench: Workbench, kind: RunKind) -> Notice:
    """Return the question before native code of a workbench that is not trusted runs for the first time."""
    what = names_in_doubt(workbench)
    message = f"{_VERBS[kind]} compiles {what} and executes it as native code on this machine."
    return Notice("refused", message, "", ((f"Trust and {kind}", {"do": "trust", "then": kind}),))


def names_in_doubt(workbench: Workbench) -> str:
    """Return what is not trusted, by name."""
    return " and ".join(doubt.name for doubt in workbench.session.doubts)


def banner_of(workbench: Workbench) -> dict[str, Any] | None:
    """Return what the screen says while the workbench is not trusted, as JSON; None where it is."""
    if workbench.session.is_trusted:
        return None
    message = (
        "You have not saved or trusted it on this machine, so nothing of it was applied or run. You see its "
        "text, with what the check finds; you can edit it, and knobs and forms change the text only. Trusting "
        "it applies the schedule to the payload in the compiler; Run, Measure and Sweep then execute its "
        "native code with your rights. Trust it only if you know where it comes from."
    )
    if workbench.reference is not None:
        message += f" It also names Python code, which runs when numbers are checked: {workbench.reference}."
    title = f"Not trusted yet: {names_in_doubt(workbench)}"
    return {"title": title, "message": message}


def _trust(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"then": "run" | "measure" | "sweep"}``, or ``{}``: only the trace is taken."""
    workbench.trust()
    then = command.get("then")
    if then is not None:
        if then not in _RUNS:
            raise usage_error(f"there is nothing called {then!r} to do after trusting")
        workbench.runs.start(workbench, _RUNS[then])


COMMANDS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], None]] = {"trust": _trust}
