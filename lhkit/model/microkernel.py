"""What runs in place of a function that a schedule made a microkernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Microkernel:
    """A microkernel as its author wrote it.

    Attributes:
        name: The name by which schedules call it.
        file: Path of the C source or Python file.
        text: What is in it.
        function: The Python function, None for C source.
    """

    name: str
    file: str
    text: str
    function: str | None = None
