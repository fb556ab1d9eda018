"""Several steps in a row: what they read from outside, what others read of them, and the types of both."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.text.handle_scopes import Definition
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.script import SEQUENCE, Script, StepRef, is_terminator


@dataclass(frozen=True, slots=True)
class StepRange:
    """Steps in a row of one block.

    Attributes:
        ops: The steps.
        captured: Every use inside of a handle from outside, with the op that uses it and the definition.
        handed_on: The definitions inside that are used outside, in order.
    """

    ops: tuple[OpSyntax, ...]
    captured: tuple[tuple[Use, OpSyntax, Definition], ...]
    handed_on: tuple[Definition, ...]

    @property
    def first(self) -> OpSyntax:
        """The first step."""
        return self.ops[0]

    @property
    def last(self) -> OpSyntax:
        """The last step."""
        return self.ops[-1]


def find_range(script: Script, first: StepRef, last: StepRef | None = None) -> StepRange:
    """Return the steps from one to another, both included.

    Raises:
        UsageError: They are not in one block in this order, or one of them is a terminator or a sequence.
    """
    head = script.find(first)
    tail = head if last is None else script.find(last)
    _, _, block, i = script.home_of(head)
    if tail not in block.ops[i:]:
        message = f"{script.describe(tail)} does not follow {script.describe(head)} in the same block"
        raise script.refusal(message, tail)
    ops = block.ops[i : block.ops.index(tail) + 1]
    for op in ops:
        if op not in script.steps or is_terminator(op) or op.name == SEQUENCE:
            raise script.refusal(f"{script.describe(op)} is no step that can be wrapped or extracted", op)
    span = range(head.start, tail.end)
    captured, handed_on = [], []
    for definition in script.handles.definitions:
        is_inside = definition.name.start in span
        if not is_inside:
            captured += [(u, o, definition) for u, o in definition.uses if u.start in span]
        elif any(u.start not in span for u, _ in definition.uses):
            handed_on.append(definition)
    captured.sort(key=lambda c: c[0].start)
    return StepRange(ops, tuple(captured), tuple(handed_on))


def type_of(script: Script, definition: Definition, value: str) -> str:
    """Return the type of a handle, ``%loops#1`` for one of several.

    Raises:
        UsageError: The outline of the script does not say.
    """
    if definition.is_argument:
        span = definition.name.type_span
        if span is None:
            raise script.refusal(f"the type of {value} is not written", definition.name.start)
        return script.text[span[0] : span[1]]
    if not script.outline:
        raise script.refusal(f"the type of {value} is only known once the schedule is parsed", definition.op)
    parsed = script.outline[script.number_of(definition.op)]
    return parsed.result_types[definition.op.values.index(value)]


def is_consumed(script: Script, use: Use, op: OpSyntax) -> bool:
    """Return True if an op consumes what it reads by a use, as far as the outline knows."""
    parsed = script.outline[script.number_of(op)] if script.outline else None
    if parsed is None or len(parsed.consumed) != len(op.operands):
        return False
    return parsed.consumed[op.operands.index(use)]
