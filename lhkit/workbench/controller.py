"""A workbench: commands in, parts of a screen out."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.compose.session import Session
from lhkit.draw.svg import drawing_id
from lhkit.load.verified_edits import read_script
from lhkit.load.weights import reference_here
from lhkit.model.errors import Failure, LhkitError, usage_error
from lhkit.model.trace_record import Trace
from lhkit.text.script import Script
from lhkit.workbench.commands import COMMANDS
from lhkit.workbench.form_fields import step_of_number
from lhkit.workbench.jobs import InlineJobs, Jobs
from lhkit.workbench.pane import Part
from lhkit.workbench.pane_list import PARTS
from lhkit.workbench.pane_problems import Problems
from lhkit.workbench.pane_text import Checks
from lhkit.workbench.pane_tried import Tryouts
from lhkit.workbench.questions import QUESTIONS
from lhkit.workbench.run_results import Result
from lhkit.workbench.runs import Runs
from lhkit.workbench.screen import Notice, Screen, Typed, carried, first_step, fitting, recovery_notice
from lhkit.worker.cancellation import in_words, was_stopped

if TYPE_CHECKING:
    from lhkit.worker.client import Worker

Json = Any
# As many as a session keeps traces for undo and redo, for the few parts that are kept.
_MOST_KEPT = 64
_COMMAND_ADVICE = 'Such as {"do": "undo"}; lhkit.workbench.commands has the names.'
Command = Mapping[str, Any]


class Workbench:
    """A session on a screen, without the screen.

    Attributes:
        session: The payload and the schedule that is being written.
        screen: What is looked at.
        notice: What came of the last command, where that has to be said.
        problems: The repairs that were found, and whether they are still looked for.
        runs: What ran, was measured and swept, and what runs now.
        tryouts: What was tried on a handle.
        checks: What the static check of the schedule found.
        typed: Who typed the text that stands, and whether that goes on.
        parts: What the screen shows, by the name of the part; values that are never changed, only replaced.
        jobs: Where work is done.
        reference: The NumPy reference that is taken when the workbench is trusted.
    """

    session: Session
    screen: Screen
    problems: Problems
    runs: Runs
    tryouts: Tryouts
    checks: Checks
    reference: str | None

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
        """Open a session; its trace is taken.

        Args:
            session: The session.
            screen: What is looked at; default the first step that does something.
            results: What ran in the session before.
            jobs: Where work is done; default at once, where it is asked for.
            changed: Called with the names of parts that are new.
            reference: The NumPy reference of a file that is not trusted yet; it is taken when it is.
            is_hurried: Leave parts that take long to the next `refresh`.
        """
        self.session = session
        self.jobs = jobs or InlineJobs()
        self.changed = changed or (lambda _: None)
        self.notice: Notice | None = None
        self.reference = reference
        self.problems = Problems()
        self.runs = Runs(results)
        self.tryouts = Tryouts()
        self.checks = Checks()
        self.typed = Typed()
        self.parts: dict[str, Json] = {}
        self.gesture: Hashable = None
        self._parsed: Script | None = None
        self._number: int | None = None
        self._keys: dict[str, Hashable] = {}
        self._kept: OrderedDict[tuple[str, Hashable], Json] = OrderedDict()
        self._is_hurried = is_hurried
        trace = session.trace
        self._looked_at = trace
        self._saved_screen = screen
        if session.left_behind is not None:
            self.notice = recovery_notice(session.left_behind)
        self.screen = fitting(screen or Screen(first_step(trace) if trace else -1), trace)
        self._after_a_change()
        self._is_hurried = False

    @property
    def trace(self) -> Trace | None:
        """The trace that is shown; the last good one where the text does not parse."""
        return self.session.trace

    @property
    def script(self) -> Script:
        """The schedule's text, to be read and edited; the last that parsed."""
        version = self.session.version
        return version.script or Script(version.schedule.text, version.schedule.source)

    @property
    def worker(self) -> Worker | None:
        """The worker that the session has for itself, None for the shared one."""
        return self.session.worker

    def parsed_script(self) -> Script:
        """Return the schedule's text with what the compiler knows of its steps.

        Raises:
            UsageError: The text is read otherwise than the compiler parses it; the message says where.
        """
        schedule = self.session.schedule
        if not self.script.outline and (self._parsed is None or self._parsed.text != schedule.text):
            self._parsed = read_script(schedule, worker=self.worker)
        return self.script if self.script.outline or self._parsed is None else self._parsed

    def show_number(self, number: int) -> None:
        """Show the step of the trace that ran a step of the text, once the trace is there."""
        self._number = number

    @property
    def version_id(self) -> str:
        """What tells the text that stands from others: numbers of steps mean something in one text only."""
        return drawing_id(self.session.text)

    def do(self, command: Command, *, raises: bool = False) -> None:
        """Carry out a command; what is refused is said in the part ``notice``, and nothing else changes.

        Args:
            command: ``{"do": name, …}``, as JSON holds it; the names are those of ``lhkit.workbench.commands``.
            raises: Raise what is refused too, for those who do not look at a screen.

        Raises:
            LhkitError: The command was refused, and ``raises`` is given.
        """
        refused: LhkitError | None = None
        self.notice = None
        name = command.get("do") if isinstance(command, Mapping) else None
        try:
            if not isinstance(command, Mapping):
                raise usage_error(f"a command is a mapping, not {type(command).__name__}", _COMMAND_ADVICE)
            act = COMMANDS.get(str(name))
            if act is None:
                raise usage_error(f"there is no command {name!r}", f"There are: {', '.join(sorted(COMMANDS))}.")
            if name not in ("set_knobs", "set_text", "select"):
                self.gesture = None
            with self.session.halt:
                act(self, command)
        except LhkitError as error:
            refused = error
            self.say(in_words(error.failure, str(name).replace("_", " ")))
        self._say_stopped()
        self._after_a_change()
        if raises and self.notice is not None and self.notice.kind == "refused":
            raise refused or usage_error(self.notice.message, self.notice.advice or None)

    def stop(self) -> bool:
        """End what is being traced, parsed or run, from any thread; return whether there is anything.

        What a command has changed by then stays, as does the last good trace.
        """
        is_busy = self.session.halt.ask()
        return self.runs.stop() or is_busy

    def poll(self) -> None:
        """Look at the file that is followed; what another editor saved there is taken, and said."""
        with self.session.halt:
            is_other = self.session.poll()
        if not is_other:
            return
        self.gesture = None
        followed = self.session.followed
        name = followed.path.name if followed else "the file"
        self.notice = Notice(
            "done",
            f"{name} was saved by another editor: this is its text now",
            "Undo takes back the one before.",
        )
        self._after_a_change()

    def ask(self, question: Command) -> Json:
        """Return the answer to a question, which changes nothing.

        Args:
            question: ``{"ask": name, …}``, as JSON holds it; the names are those of
                ``lhkit.workbench.questions``.

        Raises:
            LhkitError: It cannot be answered.
        """
        name = question.get("ask")
        answer = QUESTIONS.get(str(name))
        if answer is None:
            raise usage_error(f"there is no question {name!r}", f"There are: {', '.join(sorted(QUESTIONS))}.")
        return answer(self, question)

    def trust(self) -> None:
        """Trust what the workbench was opened from: it is traced now, and may run."""
        self.session.trust(reference_here(self.reference) if self.reference else None)
        self.reference = None
        trace = self.session.trace
        if self._saved_screen is not None and trace is not None and self._looked_at is None:
            self._looked_at, self.screen = trace, fitting(self._saved_screen, trace)

    def say(self, failure: Failure) -> None:
        """Say on the screen what was refused and why."""
        self.notice = Notice("refused", failure.message, failure.advice or "")

    def _say_stopped(self) -> None:
        failure = self.session.failure
        if self.notice is None and failure is not None and was_stopped(failure):
            again = (("take it up again", {"do": "trace"}),)
            message = f"{failure.message}: shown is the last good trace" if self.trace else failure.message
            self.notice = Notice("done", message, failure.advice or "", again)

    def look(self, **changes: Any) -> None:
        """Look at something else: fields of `Screen`."""
        self.screen = dataclasses.replace(self.screen, **changes)

    def refresh(self) -> None:
        """Make the parts anew whose sources have changed, and tell which they are."""
        new = []
        for part in PARTS:
            key = part.key(self)
            if part.name in self._keys and self._keys[part.name] == key:
                continue
            if self._is_hurried and part.meanwhile is not None:
                self.parts[part.name] = part.meanwhile
                continue
            self._keys[part.name] = key
            made = self._made(part, key)
            if part.name not in self.parts or made != self.parts[part.name]:
                self.parts[part.name] = made
                new.append(part.name)
        if new:
            self.changed(tuple(new))

    def _made(self, part: Part, key: Hashable) -> Json:
        """Return a part, as it was made before where its key says that nothing else would come of it."""
        if not part.is_kept:
            return part.make(self)
        name = (part.name, key)
        if name not in self._kept:
            self._kept[name] = part.make(self)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(name)
        return self._kept[name]

    def close(self) -> None:
        """End the session: what was kept for recovery is deleted."""
        for name in ("repairs", "trying"):
            self.jobs.stop(name)
        self.runs.close()
        self.session.close()

    def _after_a_change(self) -> None:
        trace, before = self.session.trace, self._looked_at
        if trace is not before:
            self._looked_at = trace
            if trace is not None:
                start = dataclasses.replace(self.screen, step=first_step(trace), kind="", ids="", by="")
                self.screen = carried(self.screen, before, trace) if before is not None else start
                failed = trace.outcome.failed_step
                if failed is not None and (before is None or before.outcome.failed_step is None):
                    self.look(step=failed)
        number, self._number = self._number, None
        if number is not None and trace is not None and not self.session.is_stale:
            step = step_of_number(self.script, trace, number)
            if step is not None:
                self.look(step=step, kind="step", ids=str(step), by="")
        self.problems.follow(self)
        self.checks.follow(self)
        self.refresh()
