"""The static check of the schedule that stands, for those who look at its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lhkit.checks.schedule_check import check_schedule
from lhkit.model.check_report import FatalUse, Finding
from lhkit.model.errors import LhkitError
from lhkit.model.pass_policy import RefusedPass
from lhkit.model.schedule import Schedule

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


class Checks:
    """What the check found.

    Attributes:
        fatal: What would end the compiler.
        found: The findings; none where the schedule cannot be checked, which its trace then says.
        refused: The steps that run a pass which is not allowed.
    """

    def __init__(self) -> None:
        self.found: tuple[Finding, ...] = ()
        self.refused: tuple[RefusedPass, ...] = ()
        self.fatal: tuple[FatalUse, ...] = ()
        self._checked: Schedule | None = None

    def follow(self, workbench: Workbench) -> None:
        """Check the schedule if it is another one than before, after the commands that wait."""
        version = workbench.session.version
        # Without a trace the check is all that says what is wrong.
        is_wanted = workbench.screen.is_open("text") or not workbench.session.is_trusted
        if not is_wanted or version.is_draft or version.schedule == self._checked:
            return
        self._checked, self.found, self.refused, self.fatal = version.schedule, (), (), ()
        workbench.jobs.post(lambda: self._check(workbench, version.schedule))

    def _check(self, workbench: Workbench, schedule: Schedule) -> None:
        if schedule is not self._checked:  # a newer one was asked for meanwhile
            return
        try:
            report = check_schedule(schedule, worker=workbench.worker)
        except LhkitError:
            # A schedule that cannot even be outlined cannot be traced either, and that is on the screen.
            return
        self.found, self.refused, self.fatal = report.findings, report.refused, report.fatal
        workbench.refresh()
