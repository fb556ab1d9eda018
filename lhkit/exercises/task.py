"""Exercise files: statement, stub, hints, solution, checks, and planted wrong answers.

A file is ``tasks/NN_name.toml``; NN is the number of the notebook that it belongs to, if that has one. The stub
is a cell of that notebook. Solution and wrong answers are edits of it.
"""

from __future__ import annotations

import difflib
import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import lhkit.payloads
from lhkit.load.loader import load_payload, load_schedule
from lhkit.model.codec import from_json
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule

FOLDER = Path(__file__).parent / "tasks"

AnswerKind = Literal["schedule", "guess", "function", "payload", "constraints"]
# Tests of a trace, of a compiled kernel, and those that need no schedule that applies.
TraceTest = Literal["quiet", "ops", "text", "handle"]
KernelTest = Literal["numbers", "faster", "memory", "hot-loop"]
OtherTest = Literal["passes", "written", "guess", "computes", "same-numbers", "points"]
Test = Literal[TraceTest, KernelTest, OtherTest]
Changes = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A payload or a schedule: a function ``maker`` of `lhkit.payloads` with sizes, a shipped file, or text."""

    maker: str | None = None
    sizes: tuple[int, ...] = ()
    file: str | None = None
    text: str | None = None

    def payload(self) -> Payload:
        """Return it as a payload."""
        if self.maker is not None:
            made: Payload = getattr(lhkit.payloads, self.maker)(*self.sizes)
            return made
        return load_payload(self._given(), name="<exercise>")

    def schedule(self) -> Schedule:
        """Return it as a schedule."""
        return load_schedule(self._given(), name="<exercise>")

    def _given(self) -> str:
        return self.file or self.text or ""


@dataclass(frozen=True, slots=True)
class Check:
    """A requirement on an answer.

    Attributes:
        op: Payload ops of this name are counted (``ops``), or what a handle points to (``handle``), or what is
            counted in the hottest loop (``hot-loop``); for ``text``, its lines are shown if none is right.
        pattern: A regular expression; its places in the payload, or in the schedule (``written``), are counted.
        least: How many there have to be at least; for ``faster`` the ratio, far below the solution's.
        most: How many there may be at most; bytes for ``memory``.
        than: The schedule to be faster than; without one, the unscheduled payload.
        truth: The truth for a guess; `lhkit.exercises.attempt` has a function for each.
    """

    says: str
    test: Test
    op: str | None = None
    inside: str | None = None
    outside: str | None = None
    pattern: str | None = None
    handle: str | None = None
    least: float | None = None
    most: float | None = None
    stack: int | None = None
    than: Source | None = None
    truth: str | None = None
    advice: str = ""

    def allows(self, count: float) -> bool:
        """Return whether a count is between ``least`` and ``most``."""
        least = 0.0 if self.least is None else self.least
        return least <= count and (self.most is None or count <= self.most)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A planted wrong answer.

    Attributes:
        seen: A part of the verdict.
    """

    name: str
    changes: Changes
    fails: tuple[str, ...]
    seen: str


@dataclass(frozen=True, slots=True)
class Task:
    """The content of an exercise file.

    Attributes:
        teaches: A part of the verdict on the unchanged stub.
        schedule: The given schedule, or None if it is the answer.
    """

    title: str
    notebook: str
    statement: str
    answer: AnswerKind
    stub: str
    teaches: str
    hints: tuple[str, ...]
    solution: Changes
    checks: tuple[Check, ...]
    wrong: tuple[Wrong, ...]
    payload: Source
    schedule: Source | None = None

    def cell(self, changes: Changes) -> str:
        """Return the stub with changes; a `ValueError` unless each matches exactly once."""
        text = self.stub
        for before, after in changes:
            if text.count(before) != 1:
                raise ValueError(f"{before!r} occurs {text.count(before)} times in the stub of {self.title!r}")
            text = text.replace(before, after)
        return text


@functools.cache
def _files() -> dict[str, Path]:
    return {path.stem.partition("_")[2]: path for path in sorted(FOLDER.glob("*.toml"))}


def names() -> tuple[str, ...]:
    """Return the names of all exercises, in the order of their notebooks."""
    return tuple(_files())


@functools.cache
def read_task(name: str) -> Task:
    """Read an exercise; a usage error for an unknown name suggests similar ones."""
    path = _files().get(name)
    if path is None:
        near = difflib.get_close_matches(name, names(), 3) or names()
        raise usage_error(f"there is no exercise {name!r}", f"Did you mean one of these? {', '.join(near)}.")
    return from_json(Task, tomllib.loads(path.read_text(encoding="utf-8")))
