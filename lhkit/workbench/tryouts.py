"""What can be done with a handle: ops and recipes tried beside the commands, shown as they come."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from lhkit.compose.trial_steps import try_ops
from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.tried import Tried
from lhkit.text.script import SEQUENCE
from lhkit.workbench.commands_trust import refuse_untrusted
from lhkit.workbench.workbench_places import StepPlace

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

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
