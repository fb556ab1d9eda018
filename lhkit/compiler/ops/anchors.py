"""Anchors: the ops of a payload that multiply and add up, which say what the constants around them are for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir

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
