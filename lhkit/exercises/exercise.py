"""An exercise as somebody meets it: what is asked, hints one at a time, a verdict on each answer."""

from __future__ import annotations

import functools
from typing import Any

from lhkit.exercises.answer_checks import look_at
from lhkit.exercises.attempt import Attempt
from lhkit.exercises.pictures import picture_of
from lhkit.exercises.progress import remember
from lhkit.exercises.task import Task, read_task
from lhkit.exercises.verdict import Note, Verdict
from lhkit.lessons.lesson_list import solved_exercises
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.showable import Showable
from lhkit.model.trace_record import Trace
from lhkit.traces.record.trace_run import trace_schedule


class Exercise(Showable):
    """An exercise.

    Attributes:
        name: What `load` calls it.
        task: All that its file says of it.
    """

    def __init__(self, name: str, task: Task) -> None:
        self.name, self.task = name, task
        self._opened = 0

    @property
    def statement(self) -> Note:
        """What is asked."""
        task = self.task
        day = solved_exercises().get(self.name)
        done = f"\n\nSolved on {day}." if day else ""
        return Note(f"### {task.title}\n\n{task.statement.strip()}\n\n{self._offer()}{done}")

    @property
    def stub(self) -> str:
        """The code to begin with."""
        return self.task.stub

    @functools.cached_property
    def payload(self) -> Payload:
        """The payload that it is about."""
        return self.task.payload.payload()

    @functools.cached_property
    def schedule(self) -> Schedule:
        """The schedule that it is about.

        Raises:
            UsageError: The schedule is what has to be written.
        """
        if self.task.schedule is None:
            raise usage_error(f"{self.name} comes without a schedule", "Writing one is the exercise.")
        return self.task.schedule.schedule()

    @functools.cached_property
    def trace(self) -> Trace:
        """The trace of its schedule on its payload.

        Raises:
            UsageError: As of `schedule`.
        """
        return trace_schedule(self.payload, self.schedule)

    def hint(self) -> Note:
        """Return the next hint; after the last one, the last again."""
        hints = self.task.hints
        self._opened = min(self._opened + 1, len(hints))
        return Note(
            f"**Hint {self._opened} of {len(hints)}.** {hints[self._opened - 1].strip()}\n\n{self._offer()}"
        )

    def solution(self) -> Note:
        """Return one way to do it, as code for a cell."""
        return Note(f"```python\n{self.task.cell(self.task.solution).strip()}\n```")

    def check(self, answer: Any) -> Verdict:
        """Look at an answer: apply it, run it, time it, whatever the exercise asks.

        Args:
            answer: What the stub hands over: a schedule (loaded, built, or text), a guess (a dict), a function
                of NumPy arrays, a payload, or constraints.

        Returns:
            The verdict; a wrong answer, also one that does not parse or apply, is no exception.

        Raises:
            UsageError: The answer is of another kind than the exercise takes.
        """
        attempt = Attempt(self, answer)
        findings = look_at(attempt)
        is_solved = all(f.is_right for f in findings)
        next_step = remember(self.name) if is_solved else self._offer()
        return Verdict(self.name, findings, next_step, picture_of(attempt, findings))

    def _offer(self) -> str:
        """Return in a sentence what there is to open."""
        left = len(self.task.hints) - self._opened
        if left == 0:
            return f"No hints are left: `{self.name}.solution()` shows one way to do it."
        return f"`{self.name}.hint()` opens hint {self._opened + 1} of {len(self.task.hints)}."

    def __repr__(self) -> str:
        return str(self.statement)


def load(name: str) -> Exercise:
    """Return an exercise, with its hints closed.

    Args:
        name: Its name; `names` has all, in the order of the notebooks.

    Raises:
        UsageError: There is none of that name; the message has the nearest.
    """
    return Exercise(name, read_task(name))
