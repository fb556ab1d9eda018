"""The invalidation rule of handles, over plain ids, and the sentence that says why a handle is invalidated.

Handles have ids of text, payload ops numbers; ``parent_of`` gives the parent of an op. The interpreter applies
the same rule before it runs a transform op, so the verdict is known before the op is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lhkit.model.trace_record import Cause

HandleId = str
OpId = int


@dataclass(frozen=True, slots=True)
class PointsTo:
    """The points-to set of a handle."""

    # The payload ops, with repetitions; for a value handle the ops that define its values, or whose blocks
    # have them as arguments
    ops: tuple[OpId, ...]
    values: tuple[Hashable, ...] = ()
    # For a value handle, the ops that consuming it consumes: the defining op, or all ops of the argument's
    # block
    roots: tuple[OpId, ...] = ()
    is_value: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """An operand of the op that is about to run."""

    handle: HandleId
    consumes: bool


@dataclass(frozen=True, slots=True)
class Death:
    """The death of a handle; the fields are those of `lhkit.model.trace_record.Invalidation`."""

    handle: HandleId
    cause: Cause
    by: HandleId
    payload_op: OpId | None
    ancestor: OpId | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of the rule on one op."""

    invalid: HandleId | None = None  # The handle whose use is an error because it is invalid, or None
    repeated: HandleId | None = None  # The handle that is consumed while it lists a payload op twice, or None
    deaths: tuple[Death, ...] = ()

    @property
    def is_refused(self) -> bool:
        """True if the interpreter will refuse the op."""
        return self.invalid is not None or self.repeated is not None


@dataclass(slots=True)
class _Judging:
    live: Mapping[HandleId, PointsTo]
    parent_of: Callable[[OpId], OpId | None]
    dead: dict[HandleId, Death] = field(default_factory=dict)

    def kill(self, death: Death) -> None:
        self.dead.setdefault(death.handle, death)

    def consume(self, handle: HandleId) -> None:
        """Invalidate a consumed handle, its aliases, and handles to nested ops."""
        points_to = self.live[handle]
        first_op = next(iter(points_to.ops), None)
        self.kill(Death(handle, "direct", handle, first_op, first_op))
        values = set(points_to.values)
        for other, its in self.live.items() if points_to.is_value else ():
            if its.is_value and not values.isdisjoint(its.values):
                op = next(o for o, v in zip(its.ops, its.values, strict=True) if v in values)
                self.kill(Death(other, "alias", handle, op, op))
        self._consume_ops(handle, points_to.roots if points_to.is_value else points_to.ops)

    def _consume_ops(self, handle: HandleId, ops: Iterable[OpId]) -> None:
        roots = set(ops)
        if not roots:
            return
        around: dict[OpId, OpId | None] = {}
        for other, its in self.live.items():
            if other in self.dead:
                continue
            for op in dict.fromkeys(its.ops):
                if (root := self._root_of(op, roots, around)) is not None:
                    self.kill(Death(other, "alias" if root == op else "nested", handle, op, root))
                    break

    def _root_of(self, op: OpId, roots: set[OpId], around: dict[OpId, OpId | None]) -> OpId | None:
        """Return the innermost of ``roots`` that is or contains an op."""
        chain = []
        at: OpId | None = op
        while at is not None and at not in roots and at not in around:
            chain.append(at)
            at = self.parent_of(at)
        found = at if at is None or at in roots else around[at]
        around.update(dict.fromkeys(chain, found))
        return found


def judge(
    uses: Sequence[Use],
    live: Mapping[HandleId, PointsTo],
    invalid: Callable[[HandleId], bool],
    parent_of: Callable[[OpId], OpId | None],
    *,
    may_repeat: Callable[[], bool],
) -> Verdict:
    """Return the verdict on an op with these operands."""
    judging = _Judging(live, parent_of)
    for use in uses:
        if invalid(use.handle) or (use.handle in judging.dead and not may_repeat()):
            return Verdict(invalid=use.handle, deaths=tuple(judging.dead.values()))
        if use.consumes and use.handle in live:
            judging.consume(use.handle)
    for use in uses:
        if use.consumes and use.handle in live and _lists_twice(live[use.handle]) and not may_repeat():
            return Verdict(repeated=use.handle, deaths=tuple(judging.dead.values()))
    return Verdict(deaths=tuple(judging.dead.values()))


def _lists_twice(points_to: PointsTo) -> bool:
    listed = points_to.values if points_to.is_value else points_to.ops
    return len(set(listed)) != len(listed)


# When a handle was consumed: by another op than the one that uses it, by an earlier operand of that op, or by
# that op when the loop around it ran before.
Turn = Literal["earlier", "same-op", "iteration-before"]


def describe_death(
    name: str,
    by: str,
    cause: Cause,
    killer: str,
    *,
    state: str = "is invalidated",
    turn: Turn = "earlier",
    shared: str = "",
    around: str = "",
    is_certain: bool = True,
) -> str:
    """Return why a handle is invalidated, as a sentence without its full stop; the check and traces say it so.

    Args:
        name: The invalidated handle.
        by: The consumed handle, which may be the same.
        cause: How the two are related.
        killer: The op that consumed it, in words.
        state: ``is invalidated``, ``was invalidated`` or ``may be invalidated``.
        turn: When it was consumed; see `Turn`.
        shared: The payload op that the invalidated handle points to; "" if it is not known.
        around: The payload op of the consumed handle that contains it, likewise.
        is_certain: Whether the two handles certainly share payload.
    """
    it = "it" if by == name or cause == "direct" else by
    how = {
        "earlier": f"{killer} consumed {it}",
        "same-op": f"the same {killer} consumes {it} first",
        "iteration-before": f"the same {killer} consumed {it} an iteration before",
    }[turn]
    point, lies = ("point", "lies") if is_certain else ("may point", "may lie")
    what = f"the {shared} that {name} points to" if shared else f"what {name} points to"
    why = {
        "direct": "",
        "alias": f", and both {point} to the same {shared or 'ops'}",
        "nested": f", and {what} {lies} inside{f' that {around}' if around else ''}",
    }[cause]
    return f"{name} {state}: {how}{why}"
