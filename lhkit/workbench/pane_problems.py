"""The part ``problems``: what is wrong, and the repairs that were tried, each as a button."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from lhkit.compose.trial_steps import trying_worker
from lhkit.draw.svg import element, escaped
from lhkit.model.errors import Failure, LhkitError, ScheduleError, error_for
from lhkit.model.explanation import Repair
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.repairs.repair_trials import DEFAULT_LIMIT, find_repairs, find_text_repairs
from lhkit.traces.record.trace_failure import failure_of
from lhkit.workbench.pane import Part, same_trace
from lhkit.workbench.pane_steps import do
from lhkit.workbench.pane_text import Checks
from lhkit.worker.cancellation import was_stopped

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


# The repairs of what is wrong: looked for beside the commands, tried one by one, shown as they are found.


# What nobody waits for any longer.
_SECONDS = 20.0
_MENDABLE_WARNINGS = ("zero-match",)

Sick = tuple[Schedule, str, Failure | None, Trace | None]


class Problems:
    """The repairs of a session's problem.

    Attributes:
        found: The repairs, the best first.
        is_looking: Whether they are still looked for.
        said: Why there are none, where looking itself failed.
    """

    def __init__(self) -> None:
        self.found: tuple[Repair, ...] = ()
        self.is_looking = False
        self.said = ""
        self._sick: Sick | None = None

    def follow(self, workbench: Workbench) -> None:
        """Look for repairs where the problem is another one than before; forget those of one that is gone."""
        sick = _sickness(workbench)
        if sick == self._sick:
            return
        self._sick = sick
        self.found, self.said, self.is_looking = (), "", sick is not None
        if sick is None:
            workbench.jobs.stop("repairs")
            return
        payload = workbench.session.payload

        def work(stopped: Callable[[], bool]) -> None:
            said = ""
            found: tuple[Repair, ...] = ()
            try:
                found = _repairs(payload, sick, stopped)
            except LhkitError as error:
                said = error.failure.message
            workbench.jobs.post(lambda: self._take(workbench, sick, found, said))

        workbench.jobs.start("repairs", work)

    def _take(self, workbench: Workbench, sick: Sick, found: tuple[Repair, ...], said: str) -> None:
        if sick == self._sick:
            self.found, self.said, self.is_looking = found, said, False
            workbench.refresh()


def _sickness(workbench: Workbench) -> Sick | None:
    """Return what needs a repair: a text that does not parse, a schedule that fails, a match of nothing."""
    session = workbench.session
    if not session.is_trusted:  # repairs are applied to be tried
        return None
    version, trace = session.version, session.trace
    typed = workbench.typed
    if typed.goes_on and typed.version == workbench.version_id:  # nobody wants a repair of half a word
        return None
    if was_stopped(version.failure):
        return None
    if version.failure is not None:
        return (version.schedule, version.text, version.failure, None)
    if trace is None or session.is_stale:
        return None
    warned = any(w.kind in _MENDABLE_WARNINGS for s in trace.step_records for w in s.warnings)
    return (version.schedule, version.text, None, trace) if trace.outcome.status == "failed" or warned else None


def _repairs(payload: Payload, sick: Sick, stopped: Callable[[], bool]) -> tuple[Repair, ...]:
    schedule, _, failure, trace = sick
    # In a worker of its own: what is tried may take it down, and the screen's goes on.
    worker = trying_worker()
    if failure is None:
        return find_repairs(payload, schedule, trace, seconds=_SECONDS, stop=stopped, worker=worker)
    error = error_for(failure)
    if not isinstance(error, ScheduleError):
        return ()
    return find_text_repairs(
        payload,
        error,
        entry=schedule.entry,
        bind=schedule.bind,
        limit=DEFAULT_LIMIT,
        seconds=_SECONDS,
        worker=worker,
    )


def warnings_of(trace: Trace) -> Iterator[tuple[int, str, str]]:
    """Yield what is suspicious about each step: its index, the kind, the sentence."""
    for step in trace.step_records:
        for warning in step.warnings:
            yield step.index, warning.kind, warning.message


def _make(workbench: Workbench) -> dict[str, Any]:
    session, trace = workbench.session, workbench.trace
    failure, step = session.failure, None
    if failure is None and trace is not None:
        failure, step = failure_of(trace), trace.outcome.failed_step
    warnings = list(warnings_of(trace)) if trace is not None and not session.is_stale else []
    repairs = _repairs_html(workbench) if failure or warnings else ""
    wrong = _failure_html(failure, step, repairs) if failure else repairs
    listed = [_warning_html(*warning) for warning in warnings]
    is_trusted, nothing = session.is_trusted, "Nothing is wrong."
    if not is_trusted:
        listed += _checked(workbench.checks)
        nothing = "The check without a payload finds nothing wrong."
    has_failed = failure is not None or (not is_trusted and bool(workbench.checks.refused))
    status = "failed" if has_failed else "warned" if listed else "ok"
    html = "".join([wrong, *listed]) or element("p", nothing, class_="lh-note")
    return {"count": (failure is not None) + len(listed), "status": status, "html": html}


def _checked(checks: Checks) -> list[str]:
    """Return what the static check found, for a schedule that is not traced."""
    refused = [(str(r.source or ""), r.reason, "failed") for r in checks.refused]
    found = [
        (str(f.use.source), f.message, "failed" if f.severity == "error" else "warned") for f in checks.found
    ]
    return [
        element(
            "div",
            element("b", escaped(said)),
            " ",
            element("span", escaped(at), class_="lh-note"),
            class_="lhw-problem",
            data_status=status,
        )
        for at, said, status in (*refused, *found)
    ]


def _failure_html(failure: Failure, step: int | None, repairs: str) -> str:
    first, _, more = failure.message.partition("\n")
    head = element("b", escaped(first))
    if step is not None:
        head = element(
            "button", head, type="button", class_="lhw-link", data_goto=step, title=f"show step {step}"
        )
    # The description begins with the message, if that is not what the first diagnostic says.
    rest = failure.describe().removeprefix(failure.message).strip("\n")
    said = "\n".join(part for part in (more, rest) if part)
    details = element("pre", escaped(said)) if said else ""
    return element("div", head, repairs, details, class_="lhw-problem", data_status="failed")


def _repairs_html(workbench: Workbench) -> str:
    problems = workbench.problems
    if problems.is_looking:
        return element("p", "Looking for repairs …", class_="lh-note", role="status")
    if problems.said:
        return element("p", escaped(f"Repairs could not be tried: {problems.said}"), class_="lh-note")
    return element("ul", *_repair_items(problems.found), class_="lhw-repairs") if problems.found else ""


def _repair_items(repairs: tuple[Repair, ...]) -> Iterator[str]:
    for number, repair in enumerate(repairs):
        said = (
            "the whole schedule applies with it" if repair.passes_whole else repair.note or "it helps in part"
        )
        take = element(
            "button",
            escaped(repair.title),
            type="button",
            class_="lhw-repair",
            data_do=do("take_repair", number=number, title=repair.title),
            title=said,
        )
        diff = element(
            "details", element("summary", "what it changes"), element("pre", _diff_html(repair.diff))
        )
        yield element("li", take, element("span", escaped(said), class_="lh-note"), diff)


def _diff_html(diff: str) -> str:
    lines = diff.splitlines()[2:]
    kinds = {"+": "ins", "-": "del"}
    return "".join(
        element(kinds[line[0]], escaped(line)) + "\n" if line[:1] in kinds else escaped(line) + "\n"
        for line in lines
    )


def _warning_html(step: int, kind: str, message: str) -> str:
    where = element("button", f"step {step}", type="button", class_="lhw-link", data_goto=step)
    said = f" {escaped(message)} "
    return element("div", where, said, element("span", escaped(kind), class_="lh-note"), class_="lhw-problem")


PARTS = (
    Part(
        "problems",
        lambda w: (
            same_trace(w),
            w.session.failure,
            w.session.is_stale,
            w.session.is_trusted,
            w.checks.found,
            w.checks.refused,
            w.problems.found,
            w.problems.is_looking,
        ),
        _make,
    ),
)
