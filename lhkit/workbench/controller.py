"""The controller: dispatches commands and questions, and renders the panes that have changed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any

from lhkit.compose.session import Session
from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.traces.record.placed_ops import SameTrace
from lhkit.workbench import (
    commands,
    pane_code,
    pane_guide,
    pane_parts,
    pane_pictures,
    pane_problems,
    pane_results,
    pane_steps,
    pane_text,
    pane_top_bar,
    text_questions,
    workbench_exports,
)
from lhkit.workbench.form_fields import steps_by_place
from lhkit.workbench.jobs import Jobs, Stopped
from lhkit.workbench.neighbor_traces import JOB
from lhkit.workbench.runs import PROPOSAL, Result
from lhkit.workbench.screen import Command, Notice, Screen, brought_forward, carried, first_step, is_alike
from lhkit.workbench.workbench_core import Desk, LivePane, WorkbenchCore
from lhkit.worker.cancellation import in_words, was_stopped

Json = Any
COMMANDS: Mapping[str, Callable[[WorkbenchCore, Command], object]] = commands.COMMANDS
QUESTIONS: Mapping[str, Callable[[WorkbenchCore, Command], Json]] = {
    **pane_pictures.QUESTIONS,
    **pane_guide.QUESTIONS,
    **text_questions.QUESTIONS,
    **commands.QUESTIONS,
    **workbench_exports.QUESTIONS,
}
# In the order in which they are rendered, but for the slow ones, which come last.
PANES: tuple[LivePane, ...] = (
    *pane_top_bar.PANES,
    *pane_steps.PANES,
    *pane_text.PANES,
    *pane_pictures.PANES,
    *pane_parts.PANES,
    *pane_problems.PANES,
    *pane_code.PANES,
    *pane_results.PANES,
)
# Commands that change what is seen, and nothing of the schedule.
_VIEWING = ("select", "open", "set_large", "set_whole")
_OF_TRACES: Mapping[str, Callable[[Trace], Json]] = {
    "timeline": pane_pictures.timeline_part,
    "trace": pane_top_bar.trace_part,
}
# As many as a session keeps traces for undo and redo.
_MOST_CACHED = 64


def _newly_failed(before: Trace | None, trace: Trace) -> int | None:
    """Return the step that failed, unless it is the one that failed before."""
    failed, old = trace.outcome.failed_step, before.outcome.failed_step if before else None
    if before is None or old is None or failed is None:
        return failed
    return None if is_alike(before, old, trace, failed) else failed


class Workbench(WorkbenchCore):
    """A session with its panes, independent of the widget that shows them."""

    def __init__(
        self,
        session: Session,
        *,
        screen: Screen | None = None,
        results: tuple[Result, ...] = (),
        jobs: Jobs | None = None,
        reference: str | None = None,
        changed: Callable[[Collection[str]], None] | None = None,
        is_hurried: bool = False,
    ) -> None:
        """Open a session and take its trace."""
        super().__init__(session, jobs or Jobs(), screen=screen, results=results, reference=reference)
        self.changed = changed or (lambda _: None)
        self.panes: dict[str, Json] = {}
        self._keys: dict[str, Hashable] = {}
        self._cache: dict[tuple[str, Hashable], Json] = {}
        self._is_hurried = is_hurried
        self._after_a_change()
        self._is_hurried = False

    def do(self, command: Command, *, raises: bool = False) -> None:
        """Execute a command; a refusal is shown in the pane ``notice`` and changes nothing else."""
        refused: LhkitError | None = None
        self.notice = None
        name = command.get("do") if isinstance(command, Mapping) else None
        try:
            if not isinstance(command, Mapping):
                advice = 'Such as {"do": "undo"}; lhkit.workbench.controller.COMMANDS has the names.'
                raise usage_error(f"a command is a mapping, not {type(command).__name__}", advice)
            act = COMMANDS.get(str(name))
            if act is None:
                raise usage_error(f"there is no command {name!r}", f"There are: {', '.join(sorted(COMMANDS))}.")
            if name not in ("set_knobs", "set_text", "select"):
                self.gesture = None
            with self.session.cancel_token:
                if name not in _VIEWING:
                    self.neighbors.pause(self._wanted(command))
                act(self, command)
        except LhkitError as error:
            refused = error
            failure = in_words(error.failure, str(name).replace("_", " "))
            self.notice = Notice.refusal(failure)
        failed = self.session.failure
        if self.notice is None and failed is not None and was_stopped(failed):
            again = (("take it up again", {"do": "trace"}),)
            message = f"{failed.message}: shown is the last good trace" if self.trace else failed.message
            self.notice = Notice("done", message, failed.advice or "", again)
        self._after_a_change()
        if name not in _VIEWING and not self.is_busy:
            self.neighbors.follow()
        if raises and self.notice is not None and self.notice.kind == "refused":
            raise refused or usage_error(self.notice.message, self.notice.advice or None)

    def _wanted(self, command: Command) -> Schedule | None:
        """Return the schedule that a command will trace, if that is known: after a knob has moved."""
        knobs = command.get("knobs")
        if command.get("do") != "set_knobs" or not isinstance(knobs, Mapping):
            return None
        with contextlib.suppress(LhkitError):
            return self.session.schedule.with_knobs(knobs)
        return None

    def prepare(self, trace: Trace, stopped: Stopped) -> None:
        """Render the panes that show nothing but a trace, for when it is shown, while that is wanted."""
        key: Hashable = SameTrace(trace)
        wanted = dict(_OF_TRACES)
        if self.screen.is_open("tiles"):
            step = min(self.screen.step, len(trace.step_records) - 1)
            wanted["tiles"] = functools.partial(pane_pictures.tiles_part, step=step)
        drawn = {(name, key): draw(trace) for name, draw in wanted.items() if not stopped()}
        self.jobs.post(lambda: self._cache.update(drawn))

    def ask(self, question: Command) -> Json:
        """Return the answer to a question, which changes nothing."""
        name = question.get("ask")
        answer = QUESTIONS.get(str(name))
        if answer is None:
            raise usage_error(f"there is no question {name!r}", f"There are: {', '.join(sorted(QUESTIONS))}.")
        return answer(self, question)

    def stop(self) -> bool:
        """Cancel the pending trace, parse or run, from any thread; return whether anything was pending."""
        is_busy = self.session.cancel_token.cancel()
        return self.runs.stop() or is_busy

    def rest(self) -> None:
        """End what only a page on screen needs."""
        self.runs.rest()
        self.neighbors.pause()

    def poll(self) -> None:
        """Take the text of the followed file if another editor has saved it."""
        with self.session.cancel_token:
            is_other = self.session.poll()
        if not is_other:
            return
        self.gesture = None
        followed = self.session.followed
        name = followed.path.name if followed else "the file"
        message = f"{name} was saved by another editor: this is its text now"
        self.notice = Notice("done", message, "Undo takes back the one before.")
        self._after_a_change()

    def refresh(self) -> None:
        """Render the panes whose cache key has changed, and report their names."""
        new: list[str] = []
        for pane in sorted(PANES, key=lambda pane: pane.is_slow):
            key = None if pane.key is None else pane.key(self)
            if pane.key is not None and pane.name in self._keys and self._keys[pane.name] == key:
                continue
            if self._is_hurried and pane.placeholder is not None:
                self.panes[pane.name] = pane.placeholder
                continue
            self._keys[pane.name] = key
            if pane.is_slow and new and (pane.name, key) not in self._cache:
                self.changed(tuple(new))
                new.clear()
            content = self._rendered(pane, key)
            if pane.name not in self.panes or content != self.panes[pane.name]:
                self.panes[pane.name] = content
                new.append(pane.name)
        if new:
            self.changed(tuple(new))

    def _rendered(self, pane: LivePane, key: Hashable) -> Json:
        if not pane.is_cached:
            return pane.render(self)
        entry = (pane.name, key)
        content = self._cache.pop(entry) if entry in self._cache else pane.render(self)
        self._cache[entry] = content
        if len(self._cache) > _MOST_CACHED:
            del self._cache[next(iter(self._cache))]  # the least recently used
        return content

    def _adopt(self, result: Result) -> None:
        if self.is_empty:
            with self.session.cancel_token:
                self.session.set_text(result.schedule.text, title=PROPOSAL)
            # What was proposed is to be read.
            self.look(front=brought_forward(self.screen.front, "steps", "left", "narrow"), by="")
        else:
            words = "the schedule has steps already: the proposal is among the results"
            self.notice = Notice("done", words, "Select it there to take its text.")
        self._after_a_change()

    def close(self) -> None:
        """End the session and delete its recovery data."""
        for name in ("repairs", "trying", "fusion", "passes", "code", "cut", JOB):
            self.jobs.stop(name)
        for desk in (*self._desks.values(), Desk(self.session, self.runs, self.screen)):
            desk.runs.close()
            desk.session.close()

    def _after_a_change(self) -> None:
        trace, before = self.session.trace, self._viewed_trace
        if trace is not before:
            self._viewed_trace = trace
            if trace is not None:
                start = dataclasses.replace(self.screen, step=first_step(trace), kind="", ids="", by="")
                self.screen = carried(self.screen, before, trace) if before and before.step_records else start
                if (failed := _newly_failed(before, trace)) is not None:
                    self.look(step=failed)
        number, self._number = self._number, None
        if number is not None and trace is not None and not self.session.is_stale:
            place = self.script.syntax.place(self.script.find(number).name_start)
            if ran := steps_by_place(trace).get((place.line, place.column)):
                self.look(step=ran[0].index, kind="step", ids=str(ran[0].index), by="")
        self.repairs.follow(is_typing=self.typed.goes_on and self.typed.version == self.version_id)
        # Without a trace the check is the only diagnosis.
        if self.screen.is_open("text") or not self.session.is_trusted:
            self.checks.follow()
        self.refresh()
        self.model.follow()
