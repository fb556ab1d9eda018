"""The compiled code of the current version, in the background, linked to its trace."""

from __future__ import annotations

import dataclasses

from lhkit.compose.trial_steps import trying_worker
from lhkit.draw.svg import drawing_id
from lhkit.kernels.kernel import compile_kernel
from lhkit.model.errors import LhkitError
from lhkit.model.trace_record import Trace
from lhkit.pipelines.linked_code import LinkedCode, link_code
from lhkit.workbench.jobs import Background, Stopped


class CodeQuestion(Background):
    """Compiles a version and links its hot loops; ``error`` says why it cannot."""

    made: LinkedCode | None = None
    trace: Trace | None = None  # What ``made`` is linked to
    error = version = ""
    is_running = False

    @property
    def current_version(self) -> str:
        """Id of the text with its knobs."""
        schedule = self._session.schedule
        return drawing_id(self._session.text, repr(schedule.settings))

    def start(self, trace: Trace) -> None:
        """Start to compile the current version."""
        payload, schedule, subject = self._session.payload, self._session.schedule, self.current_version
        self.made, self.trace, self.error, self.version, self.is_running = None, trace, "", subject, True

        def show(made: LinkedCode | None, error: str) -> None:
            if subject == self.version:
                self.made, self.error, self.is_running = made, error, False
                self._refresh()

        def work(stopped: Stopped) -> None:
            made, error = None, ""
            try:
                worker = trying_worker()  # lowering may crash it
                kernel = compile_kernel(payload, schedule, worker=worker)
                linked = link_code(kernel, trace, worker=worker)
                made = dataclasses.replace(linked, samples=kernel.samples())
            except LhkitError as raised:
                error = raised.failure.message
            if not stopped():
                self._jobs.post(lambda: show(made, error))

        self._jobs.start("code", work)
