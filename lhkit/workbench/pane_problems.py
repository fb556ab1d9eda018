"""Answers of the guide: ``problems``, ``tried`` (ops that apply to a handle) and ``fusion`` (why not fused)."""

from __future__ import annotations

from typing import Any

from lhkit.draw.svg import element, escaped
from lhkit.draw.viewer import compiler_html
from lhkit.fusion.fusion_case import FUSED_OPS, given_ops, names_of
from lhkit.model.errors import Failure
from lhkit.model.explanation import Repair, Tried
from lhkit.model.printable import counted
from lhkit.traces.explain.compiler_words import compiler_text
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.workbench.jobs import StaticChecks
from lhkit.workbench.pane_steps import do
from lhkit.workbench.workbench_core import LivePane, WorkbenchCore, same_trace


def _problems(workbench: WorkbenchCore) -> dict[str, Any]:
    session, trace = workbench.session, workbench.trace
    failure, step = session.failure, None
    if failure is None and trace is not None:
        failure, step = failure_of(trace), trace.outcome.failed_step
    warned = trace.step_records if trace is not None and not session.is_stale else ()
    warnings = [(step.index, w.kind, w.message) for step in warned for w in step.warnings]
    repairs = _repairs_html(workbench) if failure or warnings else ""
    said = compiler_text(trace) if trace is not None and step is not None else ""
    wrong = _failure_html(failure, step, repairs, said) if failure else repairs
    listed = [_warning_html(*warning) for warning in warnings]
    is_trusted, nothing = session.is_trusted, "Nothing is wrong."
    if not is_trusted:
        listed += _checked(workbench.checks)
        nothing = "The check without a payload finds nothing wrong."
    has_failed = failure is not None or (not is_trusted and bool(workbench.checks.refused))
    status = "failed" if has_failed else "warned" if listed else "ok"
    html = "".join([wrong, *listed]) or element("p", nothing, class_="lh-note")
    count = (failure is not None) + len(listed)
    said = counted(count, "problem") if count else ""
    if said and (found := len(workbench.repairs.found)):
        said += f", {counted(found, 'repair')} found"
    return {"count": count, "status": status, "html": html, "said": said}


def _checked(checks: StaticChecks) -> list[str]:
    problems = [(str(r.source or ""), r.reason, "failed") for r in checks.refused]
    for f in checks.found:
        problems.append((str(f.use.source), f.message, "failed" if f.severity == "error" else "warned"))
    listed = []
    for at, message, status in problems:
        said = element("b", escaped(message)) + " " + element("span", escaped(at), class_="lh-note")
        listed.append(element("div", said, class_="lhw-problem", data_status=status))
    return listed


def _failure_html(failure: Failure, step: int | None, repairs: str, compiler: str) -> str:
    first, _, more = failure.message.partition("\n")
    head = element("b", escaped(first))
    if step is not None:
        head = _step_link(head, step, title=f"show step {step}")
    # The description starts with the message unless the first diagnostic repeats it.
    rest = failure.describe().removeprefix(failure.message).strip("\n")
    said = "\n".join(part for part in (more, rest) if part)
    details = element("pre", escaped(said)) if said else ""
    folded = compiler_html(compiler)
    return element("div", head, repairs, details, folded, class_="lhw-problem", data_status="failed")


def _repairs_html(workbench: WorkbenchCore) -> str:
    repairs = workbench.repairs
    if repairs.error:
        return element("p", escaped(f"Repairs could not be tried: {repairs.error}"), class_="lh-note")
    items = [_repair_item(number, repair) for number, repair in enumerate(repairs.found)]
    listed = element("ul", *items, class_="lhw-repairs") if items else ""
    if repairs.is_looking:  # the first is there, and there may be better ones
        looking = "Looking for better ones …" if items else "Looking for repairs …"
        return listed + element("p", looking, class_="lh-note", role="status")
    return listed


def _repair_item(number: int, repair: Repair, of: str = "") -> str:
    said = "the whole schedule applies with it" if repair.passes_whole else repair.note or "it helps in part"
    if repair.payload:
        said += f"; the payload then has {repair.payload}"
    if repair.warnings:
        said += f"; still warned of: {', '.join(repair.warnings)}"
    command = do("take_repair", number=number, title=repair.title, **({"of": of} if of else {}))
    title = escaped(repair.title)
    take = element("button", title, type="button", class_="lhw-repair", data_do=command, title=said)
    lines = []
    for line in repair.diff.splitlines()[2:]:
        kind = {"+": "ins", "-": "del"}.get(line[:1])
        lines.append((element(kind, escaped(line)) if kind else escaped(line)) + "\n")
    diff = element("details", element("summary", "what it changes"), element("pre", *lines))
    return element("li", take, element("span", escaped(said), class_="lh-note"), diff)


def _warning_html(step: int, kind: str, message: str) -> str:
    where = _step_link(f"step {step}", step)
    said = f" {escaped(message)} "
    return element("div", where, said, element("span", escaped(kind), class_="lh-note"), class_="lhw-problem")


def _step_link(content: str, step: int, title: str | None = None) -> str:
    return element("button", content, type="button", class_="lhw-link", data_goto=step, title=title)


_HINT = "Select a handle, then ask what can be done with it: every op is tried on a copy of the payload."
_FUSION_HINT = (
    "Choose two ops, here or in the payload, and ask why the schedule does not fuse them; repairs are tried."
)
_PREDICTED = "Predicted, for the op with most work; bytes moved are those where only the last tile is kept."
_WHERE_LIVE = "What follows was tried directly behind the step that defines it."
# Most useful group first; results keep their order of arrival, so that nothing moves.
_GROUPS = (
    ("it changes the payload", ("effect",), True),
    ("it changes nothing, or only gives handles", ("no-effect",), False),
    ("it does not apply", ("fails", "crashes", "stopped"), False),
    ("it was not tried", ("not-tried",), False),
)


def _tried(workbench: WorkbenchCore) -> dict[str, Any]:
    tryouts = workbench.tryouts
    if not tryouts.handle:
        return {"count": 0, "handle": "", "html": element("p", _HINT, class_="lh-note"), "said": ""}
    is_old = tryouts.version != workbench.version_id
    effects = sum(t.status == "effect" for t in tryouts.found)
    count = f"{len(tryouts.found)} tried{' so far …' if tryouts.is_trying else ''}"
    head = f"{escaped(tryouts.handle)}: {count}, {effects} of them change the payload"
    if tryouts.error:
        head = f"{escaped(tryouts.handle)}: {escaped(tryouts.error)}"
    if is_old:
        head += " — of the schedule as it was then; ask again"
    html = element("p", head, class_="lh-note", role="status")
    if tryouts.ending:
        html += element("p", escaped(f"{tryouts.ending} {_WHERE_LIVE}"), class_="lh-note")
    if tryouts.now:
        html += element("p", escaped(f"Now: {tryouts.now}. {_PREDICTED}"), class_="lh-note")
    items = [
        (t.status, _tried_item(n, t, predicted, tryouts.handle, is_old))
        for n, (t, predicted) in enumerate(zip(tryouts.found, tryouts.predicted, strict=True))
    ]
    for title, statuses, is_open in _GROUPS:
        group = [item for status, item in items if status in statuses]
        summary = element("summary", f"{title} ({len(group)})")
        listed = element("ul", *group, class_="lhw-found")
        shown = {"open": "" if is_open else None, "hidden": None if group else ""}
        html += element("details", summary, listed, **shown)
    said = "" if tryouts.is_trying or is_old else head
    return {"count": effects, "handle": tryouts.handle, "html": html, "said": said}


def _tried_item(number: int, tried: Tried, predicted: str, handle: str, is_old: bool) -> str:
    name = element("b", escaped(tried.op.removeprefix("transform.")))
    reason = element("span", escaped(tried.reason), class_="lhw-sentence")
    if tried.status not in ("effect", "no-effect"):
        return element("li", element("span", name, reason, title=tried.sentence), class_="lhw-failed")
    action = {"data_do": do("add_tried", number=number, handle=handle), "disabled": "" if is_old else None}
    effect = element("small", escaped(predicted)) if predicted else ""
    title = f"add: {tried.text}"
    return element("li", element("button", name, reason, effect, type="button", **action, title=title))


def _fusion(workbench: WorkbenchCore) -> dict[str, Any]:
    question, trace = workbench.fusion, workbench.trace
    named = names_of(given_ops(trace)) if trace else {}
    ops = [(name, op.source) for name, op in named.items() if name.startswith(FUSED_OPS)]
    listed = [[name, f"{name} (line {at.line})"] for name, at in ops if at and "yield" not in name]
    order = [name for name, _ in listed]  # the producer is before the consumer
    chosen = sorted((name for name in question.clicked if name in order), key=order.index)
    if (answer := question.answer) is None:
        return {"ops": listed, "chosen": chosen, "html": element("p", _FUSION_HINT, class_="lh-note")}
    said, _, rest = answer.describe().partition("\n\n")[0].partition("\n")
    note, repairs = "Of the schedule as it was then; ask again.", []
    if question.version == workbench.version_id:
        repairs = [_repair_item(n, r, "fusion") for n, r in enumerate(answer.repairs)]
        note = f"{answer.tried} changes of the schedule were tried." if answer.tried else ""
        note = "Looking for repairs …" if question.is_trying else note
    html = element(
        "div",
        element("b", escaped(f"{answer.producer} → {answer.consumer}: {said}")),
        element("ul", *repairs, class_="lhw-repairs"),
        element("p", escaped(note), class_="lh-note", role="status"),
        element("pre", escaped(rest)),
        class_="lhw-problem",
        data_status="ok" if answer.cause == "fused" else "failed",
    )
    return {"ops": listed, "chosen": chosen, "html": html}


def _fusion_key(workbench: WorkbenchCore) -> Any:
    question = workbench.fusion
    is_current = question.version == workbench.version_id
    return same_trace(workbench), question.answer, question.is_trying, is_current, question.clicked


def _problems_key(workbench: WorkbenchCore) -> Any:
    session, checks, repairs = workbench.session, workbench.checks, workbench.repairs
    state = (same_trace(workbench), session.failure, session.is_stale, session.is_trusted)
    return (*state, checks.found, checks.refused, repairs.found, repairs.is_looking)


def _tried_key(workbench: WorkbenchCore) -> Any:
    tryouts = workbench.tryouts
    is_old = tryouts.version != workbench.version_id
    return (tryouts.handle, tryouts.found, tryouts.is_trying, tryouts.error, is_old)


PANES = (
    LivePane("problems", _problems, _problems_key),
    LivePane("tried", _tried, _tried_key),
    LivePane("fusion", _fusion, _fusion_key),
)
