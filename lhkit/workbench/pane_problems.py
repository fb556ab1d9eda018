"""The pane ``problems``: failures and warnings, and the repairs that were tried, each as a button."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lhkit.draw.svg import element, escaped
from lhkit.model.errors import Failure
from lhkit.model.explanation import Repair
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.workbench.background_work import StaticChecks
from lhkit.workbench.pane import LivePane, same_trace
from lhkit.workbench.pane_steps import do
from lhkit.workbench.workbench_core import WorkbenchCore


def _make(workbench: WorkbenchCore) -> dict[str, Any]:
    session, trace = workbench.session, workbench.trace
    failure, step = session.failure, None
    if failure is None and trace is not None:
        failure, step = failure_of(trace), trace.outcome.failed_step
    warned = trace.step_records if trace is not None and not session.is_stale else ()
    warnings = [(step.index, w.kind, w.message) for step in warned for w in step.warnings]
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


def _checked(checks: StaticChecks) -> list[str]:
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
    # The description starts with the message unless the first diagnostic repeats it.
    rest = failure.describe().removeprefix(failure.message).strip("\n")
    said = "\n".join(part for part in (more, rest) if part)
    details = element("pre", escaped(said)) if said else ""
    return element("div", head, repairs, details, class_="lhw-problem", data_status="failed")


def _repairs_html(workbench: WorkbenchCore) -> str:
    repairs = workbench.repairs
    if repairs.is_looking:
        return element("p", "Looking for repairs …", class_="lh-note", role="status")
    if repairs.error:
        return element("p", escaped(f"Repairs could not be tried: {repairs.error}"), class_="lh-note")
    return element("ul", *_repair_items(repairs.found), class_="lhw-repairs") if repairs.found else ""


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


PANES = (
    LivePane(
        "problems",
        lambda w: (
            same_trace(w),
            w.session.failure,
            w.session.is_stale,
            w.session.is_trusted,
            w.checks.found,
            w.checks.refused,
            w.repairs.found,
            w.repairs.is_looking,
        ),
        _make,
    ),
)
