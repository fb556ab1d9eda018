"""The pane ``tried``: the ops that apply to a handle, each as a button that adds the step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lhkit.draw.svg import element, escaped
from lhkit.model.explanation import Tried
from lhkit.workbench.pane import LivePane
from lhkit.workbench.pane_steps import do
from lhkit.workbench.workbench_core import WorkbenchCore

_HINT = "Select a handle, then ask what can be done with it: every op is tried on a copy of the payload."
# Most useful group first; results keep their order of arrival, so that nothing moves.
_GROUPS = (
    ("it changes the payload", ("effect",), True),
    ("it changes nothing, or only gives handles", ("no-effect",), False),
    ("it does not apply", ("fails", "crashes", "stopped"), False),
    ("it was not tried", ("not-tried",), False),
)


def _make(workbench: WorkbenchCore) -> dict[str, Any]:
    tryouts = workbench.tryouts
    if not tryouts.handle:
        return {"count": 0, "handle": "", "html": element("p", _HINT, class_="lh-note")}
    is_old = tryouts.version != workbench.version_id
    effects = sum(t.status == "effect" for t in tryouts.found)
    count = f"{len(tryouts.found)} tried{' so far …' if tryouts.is_trying else ''}"
    head = f"{escaped(tryouts.handle)}: {count}, {effects} of them change the payload"
    if tryouts.error:
        head = f"{escaped(tryouts.handle)}: {escaped(tryouts.error)}"
    if is_old:
        head += " — of the schedule as it was then; ask again"
    numbered = list(enumerate(tryouts.found))
    groups = [
        _group(title, [(n, t) for n, t in numbered if t.status in statuses], tryouts.handle, is_open, is_old)
        for title, statuses, is_open in _GROUPS
    ]
    html = element("p", head, class_="lh-note", role="status") + "".join(groups)
    return {"count": effects, "handle": tryouts.handle, "html": html}


def _group(title: str, found: Iterable[tuple[int, Tried]], handle: str, is_open: bool, is_old: bool) -> str:
    items = [_item(number, tried, handle, is_old) for number, tried in found]
    summary = element("summary", f"{title} ({len(items)})")
    listed = element("ul", *items, class_="lhw-found")
    return element("details", summary, listed, open="" if is_open else None, hidden=None if items else "")


def _item(number: int, tried: Tried, handle: str, is_old: bool) -> str:
    name = element("b", escaped(tried.op.removeprefix("transform.")))
    reason = element("span", escaped(tried.reason), class_="lhw-sentence")
    if tried.status not in ("effect", "no-effect"):
        return element("li", element("span", name, reason, title=tried.sentence), class_="lhw-failed")
    command = do("add_tried", number=number, handle=handle)
    disabled = "" if is_old else None
    return element(
        "li",
        element(
            "button",
            name,
            reason,
            type="button",
            data_do=command,
            disabled=disabled,
            title=f"add: {tried.text}",
        ),
    )


PANES = (
    LivePane(
        "tried",
        lambda w: (
            w.tryouts.handle,
            w.tryouts.found,
            w.tryouts.is_trying,
            w.tryouts.error,
            w.version_id == w.tryouts.version,
        ),
        _make,
    ),
)
