"""The part ``tried``: what can be done with a handle, each as a button that adds the step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from lhkit.compose.trial_steps import try_ops
from lhkit.draw.svg import element, escaped
from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.explanation import Tried
from lhkit.text.script import SEQUENCE
from lhkit.workbench.commands_trust import refuse_untrusted
from lhkit.workbench.form_fields import StepPlace
from lhkit.workbench.pane import Part
from lhkit.workbench.pane_steps import do

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


_HINT = "Select a handle, then ask what can be done with it: every op is tried on a copy of the payload."
# Groups in the order in which they are of use; within each as they came, so that nothing moves.
_GROUPS = (
    ("it changes the payload", ("effect",), True),
    ("it changes nothing, or only gives handles", ("no-effect",), False),
    ("it does not apply", ("fails", "crashes", "stopped"), False),
    ("it was not tried", ("not-tried",), False),
)


def _make(workbench: Workbench) -> dict[str, Any]:
    tryouts = workbench.tryouts
    if not tryouts.handle:
        return {"count": 0, "handle": "", "html": element("p", _HINT, class_="lh-note")}
    is_old = tryouts.version != workbench.version_id
    effects = sum(t.status == "effect" for t in tryouts.found)
    count = f"{len(tryouts.found)} tried{' so far …' if tryouts.is_trying else ''}"
    head = f"{escaped(tryouts.handle)}: {count}, {effects} of them change the payload"
    if tryouts.said:
        head = f"{escaped(tryouts.handle)}: {escaped(tryouts.said)}"
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


PARTS = (
    Part(
        "tried",
        lambda w: (
            w.tryouts.handle,
            w.tryouts.found,
            w.tryouts.is_trying,
            w.tryouts.said,
            w.version_id == w.tryouts.version,
        ),
        _make,
    ),
)


# What can be done with a handle: ops and recipes tried beside the commands, shown as they come.


# Redrawing at each result would take longer than trying.
_SHOW_S = 0.2


class Tryouts:
    """What was tried on a handle.

    Attributes:
        handle: The handle, as it is written; empty before one was asked for.
        version: The text that it was tried in.
        place: Where a step that was tried goes.
        found: What was tried, in the order in which it came.
        is_trying: Whether more will come.
        said: Why nothing was tried, if that is so.
    """

    handle: str
    version: str
    said: str
    found: tuple[Tried, ...]
    is_trying: bool

    def __init__(self) -> None:
        self.handle = self.version = self.said = ""
        self.place = StepPlace("inside", 0)
        self.found = ()
        self.is_trying = False

    def start(self, workbench: Workbench, handle: str) -> None:
        """Begin to try ops on a handle, behind the step that defines it.

        Args:
            workbench: The workbench.
            handle: Its id in the trace that is shown.

        Raises:
            UsageError: There is none, it is of another text, or no step of the text defines it.
        """
        refuse_untrusted(workbench)
        name = _name_of(workbench, handle)
        script = workbench.parsed_script()
        definition = next((d for d in script.handles.definitions if name in d.name.values), None)
        if definition is None:
            raise usage_error(f"no step of the text defines {name}")
        inside = definition.is_argument or definition.op.name == SEQUENCE
        self.place = StepPlace("inside" if inside else "after", script.number_of(definition.op))
        self.handle, self.version = name, workbench.version_id
        self.found, self.said, self.is_trying = (), "", True
        payload, schedule, version = workbench.session.payload, workbench.session.schedule, self.version

        def work(stopped: Callable[[], bool]) -> None:
            found: list[Tried] = []
            said, shown_at = "", time.monotonic()
            try:
                for tried in try_ops(payload, schedule, name):
                    if stopped():
                        return
                    found.append(tried)
                    if time.monotonic() - shown_at >= _SHOW_S:
                        shown_at = time.monotonic()
                        self._post(workbench, (name, version), tuple(found), is_trying=True)
            except LhkitError as error:
                said = error.failure.message
            self._post(workbench, (name, version), tuple(found), said=said)

        workbench.jobs.start("trying", work)

    def tried(self, number: int) -> Tried:
        """Return one of those that were tried.

        Raises:
            UsageError: There is none of that number, or it cannot be added.
        """
        if not 0 <= number < len(self.found) or not self.found[number].text:
            raise usage_error(f"nothing that can be added was tried as number {number}")
        return self.found[number]

    def _post(
        self,
        workbench: Workbench,
        subject: tuple[str, str],
        found: tuple[Tried, ...],
        *,
        said: str = "",
        is_trying: bool = False,
    ) -> None:
        def take() -> None:
            if subject == (self.handle, self.version):
                self.found, self.said, self.is_trying = found, said, is_trying
                workbench.refresh()

        workbench.jobs.post(take)


def _name_of(workbench: Workbench, handle: str) -> str:
    trace = workbench.trace
    if trace is None or workbench.session.is_stale:
        raise usage_error("the text does not parse as it stands", "Mend it first, or undo.")
    record = next((h for h in trace.handle_records if h.id == handle), None)
    if record is None or not record.name:
        raise usage_error("that handle has no name in the text", "Select one in the list of steps.")
    return record.name
