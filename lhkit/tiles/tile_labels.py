"""Letters for the dimensions, loops and operands of a structured op."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lhkit.model.tile_picture import LoopVariable, StructuredOp, TermValues, TiledOperand

_DIMENSIONS = "ijklmnpqrs"
_INPUTS = "ABDEFGHJKLMN"


def dimension_letter(dimension: int) -> str:
    """Return the letter of a dimension of an op's iteration space."""
    return _DIMENSIONS[dimension] if dimension < len(_DIMENSIONS) else f"d{dimension}"


def operand_letters(op: StructuredOp) -> tuple[str, ...]:
    """Return a letter for each operand: C for the output, A, B, D, E, … for inputs."""
    inputs = iter(_INPUTS)
    several = sum(o.is_output for o in op.operands) > 1
    letters: list[str] = []
    outputs = 0
    for i, operand in enumerate(op.operands):
        if operand.is_output:
            letters.append(f"C{outputs}" if several else "C")
            outputs += 1
        else:
            letters.append(next(inputs, f"X{i}"))
    return tuple(letters)


def operand_name(operand: TiledOperand, argument_names: Sequence[str]) -> str:
    """Return the name of an operand's value, or its origin."""
    if operand.base_op == "argument":
        written = operand.base.removeprefix("%arg")
        known = written.isdigit() and int(written) < len(argument_names)
        return argument_names[int(written)] if known else operand.base
    if operand.writer and not operand.is_output:
        return f"from {operand.writer}"
    if operand.base:
        return operand.base
    return "result" if operand.is_output else f"from {operand.base_op}"


def loop_factors(operand: TiledOperand, axis: int, values: TermValues) -> dict[int, int] | None:
    """Return the move of an operand's tile along an axis per loop step; None if the offset is not linear."""
    factors: dict[int, int] = {}
    at, scale = axis, 1
    for view in reversed(operand.views):  # from the whole inwards
        linear = values.linear(view.offsets[at], "loop")
        stride = values.value(view.strides[at])
        if linear is None or stride is None:
            return None
        for loop, factor in linear[1]:
            factors[loop] = factors.get(loop, 0) + scale * factor
        if at not in view.kept:
            break
        at, scale = view.kept.index(at), scale * stride
    return {loop: factor for loop, factor in factors.items() if factor}


def axis_labels(operand: TiledOperand, values: TermValues) -> tuple[str, ...]:
    """Return the dimensions of the op along each axis of an operand's whole value."""
    labels = [_expression(index, values) for index in operand.map]
    for view in operand.views:
        outer = [""] * len(view.offsets)
        for inner, dimension in enumerate(view.kept):
            outer[dimension] = labels[inner]
        labels = outer
    return tuple(labels)


def _expression(index: int, values: TermValues) -> str:
    linear = values.linear(index, "dimension")
    if linear is None:
        return ""
    constant, factors = linear
    parts = [f"{'' if f == 1 else f}{dimension_letter(d)}" for d, f in factors]
    if constant or not parts:
        parts.append(str(constant))
    return " + ".join(parts)


def loop_labels(op: StructuredOp, loops: Sequence[LoopVariable], values: TermValues) -> tuple[str, ...]:
    """Return a label for each loop: the letter of the dimension that it tiles, or its name.

    Several loops along one dimension are numbered, the outer first.
    """
    letters = {number: _moved_dimension(number, op, values) for number in op.loops}
    count = Counter(letter for letter in letters.values() if letter)
    used: Counter[str] = Counter()
    labels = []
    for number in op.loops:
        letter = letters[number]
        if not letter:
            labels.append(loops[number].name.removeprefix("%"))
        else:
            labels.append(f"{letter}{used[letter]}" if count[letter] > 1 else letter)
            used[letter] += 1
    return tuple(labels)


def _moved_dimension(loop: int, op: StructuredOp, values: TermValues) -> str:
    """Return the letter of a dimension that is alone on an axis that a loop moves along."""
    letters = {dimension_letter(d) for d in range(len(op.extents))}
    for operand in reversed(op.operands):  # the output's axes are the plainest
        for axis, label in enumerate(axis_labels(operand, values)):
            factors = loop_factors(operand, axis, values)
            if label in letters and factors and loop in factors:
                return label
    return ""
