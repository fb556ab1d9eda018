"""What is said of an answer: findings, what to do next, and a picture of what the answer did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lhkit.model.printable import printable
from lhkit.model.showable import Showable

Bundle = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        says: What is asked.
        is_right: Whether the answer meets it.
        seen: What was seen instead, or what shows that it is met; may have several lines.
    """

    says: str
    is_right: bool
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Verdict(Showable):
    """What is said of an answer; it shows itself with a picture of what the answer did.

    Attributes:
        exercise: Name of the exercise.
        findings: Everything that was looked at.
        next_step: What to do next, in one sentence.
        picture: Makes the MIME bundle of the picture, or None where there is nothing to draw.
    """

    exercise: str
    findings: tuple[Finding, ...]
    next_step: str
    picture: Callable[[], Bundle] | None = field(default=None, repr=False, compare=False)

    @property
    def is_solved(self) -> bool:
        """Whether everything is right."""
        return all(finding.is_right for finding in self.findings)

    def describe(self) -> str:
        """Return it as text: a line a finding, what was seen below it, what to do next."""
        right = sum(finding.is_right for finding in self.findings)
        title = "solved" if self.is_solved else f"{right} of {len(self.findings)}"
        lines = [f"{self.exercise}: {title}"]
        for finding in self.findings:
            lines.append(f"  {'right  ' if finding.is_right else 'not yet'}  {finding.says}")
            lines += [f"             {line}".rstrip() for line in finding.seen.splitlines()]
        return "\n".join([*lines, self.next_step])

    def __str__(self) -> str:
        return printable(self.describe())


@dataclass(frozen=True, slots=True)
class Note(Showable):
    """A text of an exercise that a cell shows: the statement, a hint, a solution.

    Attributes:
        markdown: The text.
    """

    markdown: str

    def __str__(self) -> str:
        return self.markdown
