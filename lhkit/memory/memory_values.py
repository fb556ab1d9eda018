"""Values in a program about memory: numbers, and which buffer a value is."""

from __future__ import annotations

from collections.abc import Callable

from lhkit.memory.memory_state import Buffers, Value, one_value
from lhkit.model.intervals import UNKNOWN, Number, compare, compute, known
from lhkit.model.memory_program import Instruction

Environment = dict[int, Value]


def number_of(value: Value) -> Number:
    """Return a value as a number; nothing is known of others."""
    return value if isinstance(value, Number) else UNKNOWN


def _alias(instruction: Instruction, env: Environment) -> None:
    values = [env.get(v) for v in instruction.operands]
    if instruction.name == "select":
        condition, yes, no = values
        chosen = number_of(condition).value
        value = one_value((yes, no)) if chosen is None else yes if chosen else no
    else:
        value = values[0]
    if isinstance(value, Buffers) and instruction.name == "view":
        sizes = (number_of(v) for v in values[1:])
        extents = tuple(next(sizes) if n is None else known(n) for n in instruction.extents)
        value = Buffers(value.numbers, extents or None)
    env[instruction.results[0]] = value


def _extent(instruction: Instruction, env: Environment) -> None:
    buffers = env.get(instruction.operands[0])
    index: int | None = instruction.number
    if index == -1:
        index = number_of(env.get(instruction.operands[1])).value
    extents = buffers.extents if isinstance(buffers, Buffers) else None
    is_there = extents is not None and index is not None and 0 <= index < len(extents)
    env[instruction.results[0]] = extents[index] if is_there else Number(0, None)  # type: ignore[index]


def _constant(instruction: Instruction, env: Environment) -> None:
    env[instruction.results[0]] = known(instruction.number)


def _compare(instruction: Instruction, env: Environment) -> None:
    a, b = (env.get(v) for v in instruction.operands)
    if isinstance(a, Buffers) and isinstance(b, Buffers):
        env[instruction.results[0]] = _same_buffer(a, b, instruction.name)
    else:
        env[instruction.results[0]] = compare(instruction.name, number_of(a), number_of(b))


def _compute(instruction: Instruction, env: Environment) -> None:
    operands = [number_of(env.get(v)) for v in instruction.operands]
    env[instruction.results[0]] = compute(instruction.name, operands)


def _same_buffer(a: Buffers, b: Buffers, name: str) -> Number:
    """Return whether two buffers are the same (``eq``), or are not."""
    if not a.numbers & b.numbers:
        same: int | None = 0
    else:
        same = 1 if len(a.numbers | b.numbers) == 1 else None
    if same is None or name not in ("eq", "ne"):
        return Number(0, 1)
    return known(same if name == "eq" else 1 - same)


EVALUATIONS: dict[str, Callable[[Instruction, Environment], None]] = {
    "alias": _alias,
    "extent": _extent,
    "address": _alias,
    "constant": _constant,
    "compare": _compare,
    "compute": _compute,
}
