"""What a rule of the transform dialect is, and what it may look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lhkit.schedule.upgrading.edits import Finding
from lhkit.schedule.upgrading.signatures import Types
from lhkit.schedule.upgrading.statements import Statement


@dataclass(frozen=True, slots=True)
class Scope:
    """What a rule may look at beside its statement: the types of values, and the statements of its block."""

    types: Types
    siblings: Sequence[Statement]


Rule = Callable[[Statement, Scope], Iterable[Finding]]
