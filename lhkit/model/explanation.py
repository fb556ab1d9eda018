"""Why a handle is what it is, as a value: one sentence, and the places that it speaks of."""

from __future__ import annotations

from dataclasses import dataclass, field

from lhkit.model.failure import Diagnostic, describe_diagnostic
from lhkit.model.printable import printable
from lhkit.model.showable import Showable
from lhkit.model.span import Span


@dataclass(frozen=True, slots=True)
class Explanation(Showable):
    """An answer to "why?".

    Attributes:
        sentence: The cause in one sentence.
        places: Where it happened, in order of time: where the handle was defined, where it died or lost its
            payload, where it was used afterwards.
        handle: Id of the handle, None where no handle is at fault.
        step: Index of the step that made it so, or None.
        texts: The sources that places point into, each as (file name, text).
    """

    sentence: str
    places: tuple[Diagnostic, ...] = ()
    handle: str | None = None
    step: int | None = None
    texts: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The places alone."""
        return tuple(p.span for p in self.places if p.span is not None)

    def describe(self) -> str:
        """Return the sentence, then each place with its source line and a caret."""
        lines = [self.sentence]
        for place in self.places:
            lines += describe_diagnostic(place, dict(self.texts))
        return "\n".join(lines)

    def __str__(self) -> str:
        return printable(self.describe())
