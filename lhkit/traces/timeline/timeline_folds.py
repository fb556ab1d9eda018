"""Which moments of a long trace a timeline folds away, so that what is left can be looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lhkit.model.trace_record import Trace
from lhkit.traces.timeline.lifelines import Bracket, Lifelines

Span = tuple[int, int]
# Around a failure this much stays to be seen.
_NEAR = 3
_MOST_NOT_RUN = 6


def visible_moments(trace: Trace, lives: Lifelines, most: int, folded: Collection[int] = ()) -> list[Span]:
    """Return spans of moments, both ends included, that cover all: of one moment, or of more where they fold.

    First the middle iterations of loops are folded, then the inside of steps, the deepest first, and at last
    the middle of the schedule. What failed is folded only where it cannot be helped.

    Args:
        trace: The trace.
        lives: Its lifelines.
        most: About how many columns there should be.
        folded: Steps whose inside is folded in any case.
    """
    folding = _Folding(trace, lives)
    folding.hide_what_never_ran()
    for bracket in lives.brackets:
        if bracket.step in folded:
            folding.hide_inside(bracket)
    for hide in (folding.hide_iterations, folding.hide_insides):
        if folding.columns() > most:
            hide(most)
    if folding.columns() > most:
        folding.hide_the_middle(most)
    return folding.spans()


class _Folding:
    def __init__(self, trace: Trace, lives: Lifelines) -> None:
        self._trace, self._moments, self._brackets = trace, lives.moments, lives.brackets
        self._hidden = [False] * len(self._moments)
        failed = trace.outcome.failed_step
        at = [i for i, m in enumerate(self._moments) if m.kind == "step" and m.step == failed]
        self._failed = at[0] if at and failed is not None else None

    def spans(self) -> list[Span]:
        found: list[Span] = []
        for i, is_hidden in enumerate(self._hidden):
            if is_hidden and found and self._hidden[found[-1][1]]:
                found[-1] = (found[-1][0], i)
            else:
                found.append((i, i))
        return found

    def columns(self) -> int:
        return len(self.spans())

    def hide_what_never_ran(self) -> None:
        run: list[int] = []
        for i, moment in enumerate(self._moments):
            if moment.step >= 0 and self._trace.step_records[moment.step].status == "not-run":
                run.append(i)
                continue
            self._hide_run(run)
            run = []
        self._hide_run(run)

    def _hide_run(self, run: list[int]) -> None:
        if len(run) > _MOST_NOT_RUN:
            self._hide(run[1:-1])

    def hide_iterations(self, most: int) -> None:
        """Of each loop the first iteration, the last, and the one that failed are left."""
        for bracket in sorted(self._brackets, key=lambda b: b.depth):
            if self.columns() <= most:
                return
            middle = [t for t in bracket.turns[1:-1] if not self._has_failed(*t)]
            if len(bracket.turns) >= 4:
                self._hide(i for first, last in middle for i in range(first, last + 1))
                # What was not recorded lies between them.
                self._hide(
                    i
                    for i in range(bracket.first, bracket.last)
                    if self._moments[i].kind == "elided" and self._hidden[i - 1]
                )

    def hide_insides(self, most: int) -> None:
        for bracket in sorted(self._brackets, key=self._depth_last):
            if self.columns() <= most:
                return
            if bracket.last - bracket.first > 2 and not self._has_failed(bracket.first + 1, bracket.last):
                self.hide_inside(bracket)

    def hide_inside(self, bracket: Bracket) -> None:
        """Leave the step's own column, and the one where it ends."""
        last = bracket.last if self._moments[bracket.last].kind != "end" else bracket.last - 1
        self._hide(range(bracket.first + 1, last + 1))

    @staticmethod
    def _depth_last(bracket: Bracket) -> Span:
        return (-bracket.depth, bracket.first)

    def _has_failed(self, first: int, last: int) -> bool:
        return self._failed is not None and first <= self._failed <= last

    def hide_the_middle(self, most: int) -> None:
        """Leave the first and the last columns, and those around a failure."""
        spans = self.spans()
        left = {*range(most - most // 3), *range(len(spans) - most // 3, len(spans))}
        for i, (first, last) in enumerate(spans):
            if self._has_failed(first - _NEAR, last + _NEAR):
                left.add(i)
            elif i not in left:
                self._hide(range(first, last + 1))

    def _hide(self, moments: Iterable[int]) -> None:
        for moment in moments:
            self._hidden[moment] = True
