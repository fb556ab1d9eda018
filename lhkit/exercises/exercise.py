"""Exercises for the reader: statement, hints, verdicts, and the record of solved ones."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lhkit.exercises.answer_checks import look_at
from lhkit.exercises.attempt import Attempt, Note, Problem, Verdict, picture_of
from lhkit.exercises.task import names, read_task
from lhkit.lessons.lesson_list import SOLVED_SCHEMA, solved_exercises
from lhkit.model.file_io import write_whole
from lhkit.model.showable import Showable
from lhkit.worker.user_folders import state_folder

if TYPE_CHECKING:
    import pandas as pd


def progress_file() -> Path:
    """Return the file of solved exercises; an `OSError` if there is no state folder."""
    return state_folder() / "exercises.json"


def remember(name: str) -> str:
    """Record an exercise as solved; return the progress, or the reason of a failure, as a sentence."""
    days = dict(solved_exercises())
    days.setdefault(name, datetime.date.today().isoformat())
    try:
        write_whole(progress_file(), json.dumps({"schema": SOLVED_SCHEMA, "solved": days}, indent=1))
    except OSError as error:
        return f"Solved; that could not be remembered in {error.filename}: {error.strerror or error}."
    known = names()
    return f"Solved: {sum(n in days for n in known)} of {len(known)} exercises."


def progress() -> pd.DataFrame:
    """Return one row per exercise: name, notebook, title, and the day on which it was solved."""
    import pandas as pd

    days = solved_exercises()
    tasks = [(name, read_task(name)) for name in names()]
    rows = [(name, task.notebook, task.title, days.get(name, "")) for name, task in tasks]
    return pd.DataFrame(rows, columns=["exercise", "notebook", "title", "solved"]).set_index("exercise")


class Exercise(Problem, Showable):
    """An exercise: statement, stub, hints, solution and check.

    Attributes:
        name: What `load` calls it.
        task: The content of its file.
    """

    _opened = 0

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

    def hint(self) -> Note:
        """Return the next hint; after the last one, the last again."""
        hints = self.task.hints
        self._opened = min(self._opened + 1, len(hints))
        hint = hints[self._opened - 1].strip()
        return Note(f"**Hint {self._opened} of {len(hints)}.** {hint}\n\n{self._offer()}")

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
        left = len(self.task.hints) - self._opened
        if left == 0:
            return f"No hints are left: `{self.name}.solution()` shows one way to do it."
        return f"`{self.name}.hint()` opens hint {self._opened + 1} of {len(self.task.hints)}."

    def __repr__(self) -> str:
        return str(self.statement)

    def _mime_bundle(self) -> dict[str, Any]:
        return self.statement._mime_bundle()


def load(name: str) -> Exercise:
    """Return an exercise, with its hints closed.

    Args:
        name: Its name; `names` has all, in the order of the notebooks.

    Raises:
        UsageError: There is none of that name; the message has the nearest.
    """
    return Exercise(name, read_task(name))
