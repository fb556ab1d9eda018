"""State of a workbench that commands, questions and panes share; cache key and renderer of a pane."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from lhkit.compose.session import Session
from lhkit.draw.svg import drawing_id
from lhkit.draw.viewer import packed
from lhkit.load.trust import NOT_TRUSTED
from lhkit.load.user_code import full_catalogue
from lhkit.load.verified_edits import read_script
from lhkit.load.weights import reference_here
from lhkit.model.errors import usage_error
from lhkit.model.op_catalogue import Catalogue
from lhkit.model.trace_record import Trace
from lhkit.text.script import Script
from lhkit.traces.record.placed_ops import SameTrace
from lhkit.workbench.code_question import CodeQuestion
from lhkit.workbench.jobs import (
    FusionQuestion,
    Jobs,
    PassRun,
    RepairSearch,
    StaticChecks,
    Stopped,
    Tryouts,
)
from lhkit.workbench.layout_memory import remembered_layout
from lhkit.workbench.model_parts import ModelParts, has_steps, script_of
from lhkit.workbench.neighbor_traces import JOB, NeighborTraces
from lhkit.workbench.runs import Result, Runs
from lhkit.workbench.screen import Notice, Screen, Typed, brought_forward, first_step, fitting


@dataclass(frozen=True, slots=True)
class Desk:
    """What there is of the model or of one of its parts: its session, its results, and its view state."""

    session: Session
    runs: Runs
    screen: Screen | None


class WorkbenchCore(abc.ABC):
    """A session, its view state and its background work; `Workbench` adds dispatch and panes.

    Attributes:
        model: The parts of the payload, if it is a model; the session is that of the part that is opened.
        notice: The outcome of the last command, if there is one to show.
        reference: The NumPy reference of a file that is not trusted yet; resolved by `trust`.
        gesture: Id of the gesture, such as the drag of a slider, whose changes are merged into one version.
    """

    def __init__(
        self,
        session: Session,
        jobs: Jobs,
        *,
        screen: Screen | None,
        results: tuple[Result, ...],
        reference: str | None,
    ) -> None:
        self.jobs, self.reference = jobs, reference
        self.notice: Notice | None = None
        self.model = ModelParts(session, jobs, self._show_parts)
        self._desks: dict[str, Desk] = {}  # those that are not on screen, by the names of parts
        self._saved_screen = screen
        self._sit_at(self._new_desk(session, screen, results))

    def _new_desk(
        self, session: Session, screen: Screen | None = None, results: tuple[Result, ...] = ()
    ) -> Desk:
        if session.left_behind is not None:
            recover = ("Go on from there", {"do": "recover"})
            self.notice = Notice("done", session.left_behind.sentence(), "", (recover,))
        runs = Runs(session, self.jobs, self.refresh, self._set_notice, self._adopt, results)
        return Desk(session, runs, screen)

    def _sit_at(self, desk: Desk) -> None:
        session, jobs = desk.session, self.jobs
        self.session, self.runs = session, desk.runs
        self.repairs = RepairSearch(session, jobs, self.refresh)
        self.tryouts = Tryouts(session, jobs, self.refresh)
        self.fusion = FusionQuestion(session, jobs, self.refresh)
        self.passes = PassRun(session, jobs, self.refresh)
        self.code = CodeQuestion(session, jobs, self.refresh)
        self.checks = StaticChecks(session, jobs, self.refresh)
        self.neighbors = NeighborTraces(session, jobs, self.prepare)
        self.typed = Typed()
        self.gesture: Hashable = None
        self._parsed: Script | None = None
        self._number: int | None = None
        trace = session.trace
        self._viewed_trace = trace
        new = Screen(first_step(trace) if trace else -1, layout=remembered_layout())
        self.screen = fitting(desk.screen or new, trace)

    def show_part(self, name: str) -> None:
        """Put a part on screen, or the whole model if the name is empty; what was there stays as it is."""
        opened = self.model.opened
        if name == opened:
            return
        if self.runs.progress.kind:
            raise usage_error(f"a {self.runs.progress.kind} is not over yet", "Stop it first.")
        desk = self._desks.get(name) or self._new_desk(self.model.new_session(name))
        for job in ("repairs", "trying", "fusion", "passes", "code", JOB):
            self.jobs.stop(job)
        self.runs.rest()
        screen = self.screen
        self._desks[opened] = Desk(self.session, self.runs, screen)
        self._desks.pop(name, None)
        self.model.opened = name
        self._sit_at(desk)
        front = brought_forward(screen.front, "payload" if name else "parts", "middle", "narrow")
        self.look(front=front, by="", is_large=screen.is_large, layout=screen.layout)

    def _show_parts(self) -> None:
        """A model without a schedule opens as its parts."""
        if self.is_empty and self._saved_screen is None and not self.model.opened:
            self.look(front=brought_forward(self.screen.front, "parts", "middle", "narrow"), by="")
        self.refresh()

    @property
    def whole_runs(self) -> Runs:
        """Runs of the whole payload, also while one of its parts is opened."""
        return self._desks[""].runs if self.model.opened else self.runs

    @abc.abstractmethod
    def refresh(self) -> None:
        """Render the panes whose sources have changed."""

    @abc.abstractmethod
    def prepare(self, trace: Trace, stopped: Stopped) -> None:
        """Render what a trace will need when it is shown, from any thread."""

    @abc.abstractmethod
    def _adopt(self, result: Result) -> None:
        """Take a proposal as the text, if there is still none."""

    @property
    def is_empty(self) -> bool:
        """True if the schedule has no step yet."""
        return not has_steps(self.session)

    @property
    def is_busy(self) -> bool:
        """True while a run or another job of the background is at work."""
        jobs = (self.repairs.is_looking, self.tryouts.is_trying, self.fusion.is_trying, self.passes.is_running)
        return any(jobs) or bool(self.runs.progress.kind)

    def _set_notice(self, notice: Notice) -> None:
        self.notice = notice

    @property
    def trace(self) -> Trace | None:
        """The trace on screen; the last good one if the text does not parse."""
        return self.session.trace

    def current_trace(self) -> Trace:
        """Return the trace of the current text; a usage error if there is none or it is not trusted."""
        self.require_trust()
        if self.trace is None or self.session.is_stale:
            raise usage_error("the text does not parse", "Fix it first, or undo.")
        return self.trace

    @property
    def script(self) -> Script:
        """The last text that parsed, to be read and edited."""
        return script_of(self.session)

    def parsed_script(self) -> Script:
        """Return the text with the compiler's outline; a usage error where the two parsers disagree."""
        schedule = self.session.schedule
        if not self.script.outline and (self._parsed is None or self._parsed.text != schedule.text):
            self._parsed = read_script(schedule, worker=self.session.worker)
        return self.script if self.script.outline or self._parsed is None else self._parsed

    def catalogue(self) -> Catalogue:
        """Return the ops of the bindings, of lhkit, and the user's own."""
        return full_catalogue(self.session.worker)

    @property
    def version_id(self) -> str:
        """Id of the current text; step numbers are valid for one text only."""
        return drawing_id(self.session.text)

    def show_number(self, number: int) -> None:
        """After the current command, select the step of the trace that ran this step of the text."""
        self._number = number

    def look(self, **changes: Any) -> None:
        """Replace fields of `Screen`."""
        self.screen = dataclasses.replace(self.screen, **changes)

    def require_trust(self) -> None:
        """Raise a usage error while the workbench is not trusted."""
        if not self.session.is_trusted:
            advice = "Read the schedule first; then press Trust and trace, or open it with trust=True."
            raise usage_error(NOT_TRUSTED, advice)

    def trust(self) -> None:
        """Trust the files that the workbench was opened from, and take the trace."""
        self.session.trust(reference_here(self.reference) if self.reference else None)
        self.reference = None
        trace = self.session.trace
        if self._saved_screen is not None and trace is not None and self._viewed_trace is None:
            self._viewed_trace, self.screen = trace, fitting(self._saved_screen, trace)


# Shorter fragments are sent as they are, so that only what changes in them is sent again.
PACK_FROM = 500_000


@dataclass(frozen=True, slots=True)
class LivePane:
    """A pane that follows the workbench.

    Attributes:
        key: Cache key; the pane is rendered again only when it changes. None if rendering is cheap.
        is_cached: Whether content is reused when a key recurs, as a trace's does when a slider moves back.
        placeholder: Content while a workbench opens, if rendering is slow.
        is_slow: Whether it takes long, as where the worker is asked for it: the other panes are shown first.
    """

    name: str
    render: Callable[[WorkbenchCore], Any]
    key: Callable[[WorkbenchCore], Hashable] | None = None
    is_cached: bool = False
    placeholder: Any = None
    is_slow: bool = False


def same_trace(workbench: WorkbenchCore) -> SameTrace | None:
    """Return the current trace, compared by identity: comparing steps takes longer than drawing them."""
    return None if workbench.trace is None else SameTrace(workbench.trace)


def sent(text: str) -> Any:
    """Return a fragment as it is sent: packed if it is long."""
    return packed(text, least=PACK_FROM, level=3)
