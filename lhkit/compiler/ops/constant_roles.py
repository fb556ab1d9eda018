"""What the constants of a function are for: which anchor they lead to, or come after, along the data flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.call_graph import called_by
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ops.anchors import Anchor, find_anchor

# In the order in which constants of one anchor become arguments.
SLOTS = ("prologue", "A", "B", "scale", "C", "epilogue")
# Their results say how large something is, not what is in it.
_SHAPES = ("tensor.dim", "memref.dim", "tensor.empty", "shape.shape_of")


@dataclass(frozen=True, slots=True, order=True)
class Role:
    """What a constant is for; roles are ordered as the constants become arguments.

    Attributes:
        anchor: Where its anchor stands among the ops of the function.
        slot: What it is to the anchor, as an index of `SLOTS`; for calls the argument.
        user: Where the op stands that it is combined with the anchor's data by.
        name: ``matmul_0_B``.
    """

    anchor: int
    slot: int
    user: int
    name: str


@dataclass(frozen=True, slots=True)
class Callee:
    """A function as those who call it see it: what each argument is called in it, and if it has anchors."""

    names: tuple[str | None, ...]
    has_anchors: bool


@dataclass(frozen=True, slots=True)
class _Upstream:
    """What a value is computed from: the last anchor before it, and if anything but constants takes part."""

    anchor: int = -1
    has_data: bool = False

    def __or__(self, other: _Upstream) -> _Upstream:
        return _Upstream(max(self.anchor, other.anchor), self.has_data or other.has_data)


_NOTHING = _Upstream()


class Roles:
    """The data flow of a function, read once; the function is not changed in the meantime."""

    def __init__(self, function: Any, callees: Mapping[str, Callee]) -> None:
        self._function = function
        self._callees = callees
        self._ops = list(walk(function))
        self._positions = {op: i for i, op in enumerate(self._ops)}
        self._anchors: dict[int, tuple[str, Anchor]] = {}
        self._upstream: dict[Any, _Upstream] = {}
        counts: dict[str, int] = {}
        for i, op in enumerate(self._ops):
            if (anchor := find_anchor(op)) is not None:
                number = counts.get(anchor.kind, 0)
                counts[anchor.kind] = number + 1
                self._anchors[i] = (f"{anchor.kind}_{number}", anchor)
        for block in function.regions[0].blocks:
            for argument in block.arguments:
                self._upstream[argument] = _Upstream(has_data=not _is_shape(argument))
            self._look_at(block)

    @property
    def has_anchors(self) -> bool:
        """True if the function multiplies and adds up anything, or calls one that does."""
        return bool(self._anchors) or any(c.has_anchors for op in self._ops if (c := self._callee(op)))

    def role_of(self, value: Any) -> Role | None:
        """Return what a constant or argument of the function is for: the first of several roles, or None."""
        found: list[Role] = []
        open_values = [(value, False)]
        seen = set(open_values)
        while open_values:
            at, is_merged = open_values.pop()
            for use in at.uses:
                user, operand = use.owner.operation, use.operand_number
                role, merges = self._role_at(user, operand, is_merged)
                if role is not None:
                    found.append(role)
                    continue
                for result in _leads_to(user, operand):
                    if (following := (result, is_merged or merges)) not in seen:
                        seen.add(following)
                        open_values.append(following)
        return min(found, default=None)

    def _role_at(self, user: Any, operand: int, is_merged: bool) -> tuple[Role | None, bool]:
        """Return the role that a use gives, or None and whether other data takes part in the op."""
        position = self._positions[user]
        if position in self._anchors:
            name, anchor = self._anchors[position]
            slot = "prologue" if is_merged else anchor.slots[operand]
            return Role(position, SLOTS.index(slot), position, f"{name}_{slot}"), False
        if (callee := self._callee(user)) is not None and (inner := callee.names[operand]) is not None:
            return Role(position, operand, position, f"{called_by(user)}_{inner}"), False
        if _only_passes_on(user):
            return None, False
        others = _NOTHING
        for i, value in enumerate(user.operands):
            others |= _NOTHING if i == operand else self._upstream.get(value, _NOTHING)
        if others.anchor >= 0:
            named = self._anchors.get(others.anchor)
            name = named[0] if named else str(called_by(self._ops[others.anchor]))
            return Role(others.anchor, SLOTS.index("epilogue"), position, f"{name}_epilogue"), False
        return None, others.has_data

    def _callee(self, op: Any) -> Callee | None:
        return self._callees.get(called_by(op) or "")

    def _look_at(self, block: Any) -> _Upstream:
        """Note what the values of a block are computed from; return what all of them are together."""
        together = _NOTHING
        for view in block.operations:
            op = view.operation
            into = _NOTHING
            for value in op.operands:
                into |= self._upstream.get(value, _NOTHING)
            for region in op.regions:
                for inner in region.blocks:
                    for argument in inner.arguments:
                        self._upstream[argument] = _NOTHING if _is_shape(argument) else into
                    into |= self._look_at(inner)
            out = self._result_of(op, into)
            for result in op.results:
                self._upstream[result] = _NOTHING if _is_shape(result) else out
            together |= out
        return together

    def _result_of(self, op: Any, into: _Upstream) -> _Upstream:
        position = self._positions[op]
        callee = self._callee(op)
        if position in self._anchors or (callee is not None and callee.has_anchors):
            return _Upstream(position, True)
        return _NOTHING if op.name in _SHAPES else into


def _is_shape(value: Any) -> bool:
    return isinstance(value.type, ir.IndexType)


def _only_passes_on(op: Any) -> bool:
    """Return True if the operands of an op are not combined with each other: branches, loops, yields."""
    return bool(len(op.successors)) or (len(op.regions) and not _is_linalg(op)) or _is_terminator(op)


def _is_linalg(op: Any) -> bool:
    return bool(op.name.startswith("linalg."))


def _is_terminator(op: Any) -> bool:
    return not len(op.results) and bool(op == list(op.block.operations)[-1].operation)


def _leads_to(op: Any, operand: int) -> Sequence[Any]:
    """Return the values that an op passes an operand on to."""
    if op.name == "func.return":
        return ()
    if len(op.successors):
        return [argument for block in op.successors for argument in block.arguments]
    if _is_terminator(op):
        around = op.parent.operation
        results = list(around.results)
        inside = [] if _is_linalg(around) else _carried(around, operand - len(results))
        return [*(results[operand : operand + 1] or results), *inside]
    if len(op.regions) and not _is_linalg(op):
        # What is carried comes last among the operands, and the results are what becomes of it.
        back = operand - len(op.operands)
        return [*(list(op.results)[back:][:1] or op.results), *_carried(op, back)]
    return list(op.results)


def _carried(op: Any, back: int) -> list[Any]:
    """Return the arguments in the body of an op that stand so many places from the end, or all others' too."""
    found: list[Any] = []
    for region in op.regions:
        for block in region.blocks:
            arguments = list(block.arguments)
            found += [arguments[back]] if -len(arguments) <= back < 0 else arguments
    return found
