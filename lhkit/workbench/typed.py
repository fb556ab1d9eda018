"""What is being typed: by which view of the screen, and whether that goes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Typed:
    """The text that was typed last.

    Attributes:
        by: The view that it was typed in, which need not be told its own text.
        version: Which text it was (`Workbench.version_id`); another that stands was not typed.
        goes_on: Whether more is awaited: until then no repairs are looked for.
    """

    by: str = ""
    version: str = ""
    goes_on: bool = False
