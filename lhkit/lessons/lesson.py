"""A notebook as a lesson: what it is about, how long it takes, how far its reader is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# As it came; edited or partly run; every cell run and saved without an error.
LessonState = Literal["new", "begun", "run"]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A notebook as a lesson.

    Attributes:
        path: Where it lies below the folder of notebooks, with forward slashes.
        title: Its first heading.
        idea: What it is about, in a line.
        minutes: How long it takes about, estimated from its texts, cells and exercises.
        state: What its reader has done with the copy.
        exercises: Names of the exercises in it, as in ``lhkit.exercises``.
        solved: Those that are solved.
    """

    path: str
    title: str
    idea: str
    minutes: int
    state: LessonState = "new"
    exercises: tuple[str, ...] = ()
    solved: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether every cell was run and every exercise is solved."""
        return self.state == "run" and len(self.solved) == len(self.exercises)
