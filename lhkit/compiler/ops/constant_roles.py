"""What the constants of a function are for: which anchor they lead to, or come after, along the data flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.functions import called_by
from lhkit.compiler.ir.parsing import walk

# Anchors: the ops of a payload that multiply and add up, which say what the constants around them are for.


_linalg: Any = host_module("dialects.linalg")

_SUMS = ("arith.addf", "arith.addi", "arith.ori", "complex.add")
_PRODUCTS = ("arith.mulf", "arith.muli", "arith.andi", "complex.mul")
_FUSED = "math.fma"


@dataclass(frozen=True, slots=True)
class Anchor:
    """An op that multiplies elements of two operands and adds the products up.

    Attributes:
        kind: ``matmul``, ``batch_matmul``, ``matvec``, ``dot`` or ``conv``.
        slots: What each operand is to it: ``A`` and ``B``, whose elements are multiplied; ``C``, to which the
            products are added; ``scale`` for what else it reads.
    """

    kind: str
    slots: tuple[str, ...]


def find_anchor(op: Any) -> Anchor | None:
    """Return what an op multiplies and adds up, by its indexing maps and its body; None if it does not.

    Named ops and ``linalg.generic`` are the same here. Of a product of matrices, ``A`` is the operand whose
    own dimension comes first in the result; of a convolution, the image.
    """
    if not op.name.startswith("linalg.") or len(op.regions) != 1:
        return None
    attribute = _linalg.get_indexing_maps(op)
    if attribute is None:
        return None
    maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(attribute)]
    block = op.regions[0].blocks[0]
    multiplied = _multiplied(block, maps)
    if multiplied is None or len(op.operands) != len(maps):
        return None
    first, second = multiplied
    kind, swapped = _kind(maps[first], maps[second], maps[-1])
    if kind is None:
        return None
    if swapped:
        first, second = second, first
    slots = ["scale"] * (len(maps) - 1) + ["C"]
    slots[first], slots[second] = "A", "B"
    return Anchor(kind, tuple(slots))


def _multiplied(block: Any, maps: Sequence[Any]) -> tuple[int, int] | None:
    """Return which two operands' elements are multiplied and added to the result so far, in order."""
    into = len(maps) - 1
    summed = _through_casts(list(block.operations)[-1].operands[0])
    op = _defining(summed, block)
    if op is None:
        return None
    if op.name == _FUSED:
        added, product = op.operands[2], op
    elif op.name in _SUMS:
        sides = [_through_casts(v) for v in op.operands]
        at = next((i for i, v in enumerate(sides) if _argument(v, block) == into), None)
        if at is None:
            return None
        added, product = sides[at], _defining(sides[1 - at], block)
    else:
        return None
    if _argument(_through_casts(added), block) != into or product is None:
        return None
    if product.name not in (*_PRODUCTS, _FUSED):
        return None
    first, second = (_widest(_reads(v, block), maps) for v in list(product.operands)[:2])
    if first is None or second is None or first == second or into in (first, second):
        return None
    return min(first, second), max(first, second)


def _through_casts(value: Any) -> Any:
    """Return what a value is converted from: ops of one operand do not matter."""
    while isinstance(value.owner, ir.Operation | ir.OpView) and len(value.owner.operands) == 1:
        value = value.owner.operands[0]
    return value


def _defining(value: Any, block: Any) -> Any:
    """Return the op in a block that defines a value, None for arguments and what comes from outside."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    return owner.operation if owner.operation.block == block else None


def _argument(value: Any, block: Any) -> int | None:
    if isinstance(value, ir.BlockArgument) and value.owner == block:
        return int(ir.BlockArgument(value).arg_number)
    return None


def _reads(value: Any, block: Any) -> set[int]:
    """Return the arguments of a block that a value is computed from."""
    found, open_values = set(), [value]
    while open_values:
        at = open_values.pop()
        number = _argument(at, block)
        if number is not None:
            found.add(number)
        elif (op := _defining(at, block)) is not None:
            open_values.extend(op.operands)
    return found


def _widest(arguments: set[int], maps: Sequence[Any]) -> int | None:
    """Return the argument of most dimensions: the others are zero points and the like."""
    return max(sorted(arguments), key=lambda a: len(list(maps[a].results)), default=None)


def _kind(first: Any, second: Any, result: Any) -> tuple[str | None, bool]:
    """Return the kind of an anchor by the maps of its factors and its result; True if they are swapped."""
    windows = [any(not _is_plain(e) for e in m.results) for m in (first, second)]
    one, two, out = (_dimensions(m) for m in (first, second, result))
    if not {*one, *two} - {*out}:
        return None, False  # nothing is added up
    if any(windows):
        return "conv", windows[1] and not windows[0]
    if not {*one} & {*two} - {*out}:
        return None, False
    own = [
        [out.index(d) for d in out if d in mine and d not in others]
        for mine, others in ((one, two), (two, one))
    ]
    if not all(own):
        return ("matvec" if any(own) else "dot"), False
    batch = {*one} & {*two} & {*out}
    return ("batch_matmul" if batch else "matmul"), min(own[1]) < min(own[0])


def _is_plain(expression: Any) -> bool:
    return isinstance(expression, ir.AffineDimExpr | ir.AffineConstantExpr)


def _dimensions(map_: Any) -> list[int]:
    """Return the dimensions that a map uses, in order."""
    found: list[int] = []
    open_expressions = list(map_.results)
    while open_expressions:
        at = open_expressions.pop(0)
        if isinstance(at, ir.AffineDimExpr):
            found.append(ir.AffineDimExpr(at).position)
        elif isinstance(at, ir.AffineBinaryExpr):
            binary = ir.AffineBinaryExpr(at)
            open_expressions[:0] = [binary.lhs, binary.rhs]
    return found


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
