"""What breakages share: the value of one, places in a text, and small changes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.script import SEQUENCE, Replacement, Script, cut, is_terminator, with_replacements


@dataclass(frozen=True, slots=True)
class Change:
    """One way to break a schedule.

    Attributes:
        text: The broken schedule.
        line: The line of the unbroken text where it was broken.
        what: What was done, in a few words.
    """

    text: str
    line: int
    what: str


Breakage = Callable[[Script, str], Iterator[Change]]  # of a schedule and the text of its payload

TILES = ("transform.structured.tile_using_for", "transform.structured.tile_using_forall")
TILE_AND_FUSE = "transform.structured.fuse"
FUSE = "transform.structured.fuse_into_containing_op"
VECTORIZE = "transform.structured.vectorize"
MATCH = "transform.structured.match"
PRODUCER = "transform.get_producer_of_operand"
SPLIT = "transform.split_handle"
INCLUDE = "transform.include"
# Ops after which their first operand is dead; written down here, so that no compiler is asked.
CONSUMING = (
    *(*TILES, TILE_AND_FUSE, FUSE, VECTORIZE),
    *(f"transform.structured.{op}" for op in ("generalize", "interchange", "pad", "split_reduction")),
    *("transform.structured.vectorize_children_and_apply_patterns", "transform.loop.unroll"),
    *("transform.loop.peel", "transform.apply_registered_pass", "transform.bufferization.one_shot_bufferize"),
    "transform.structured.tile_reduction_using_for",
)


def ops(script: Script, *wanted: str) -> list[OpSyntax]:
    """Return the steps of these names, all steps of sequences if none is given."""
    steps = [op for op in script.steps if op.name != SEQUENCE and not is_terminator(op)]
    return [op for op in steps if not wanted or op.name in wanted]


def use_text(script: Script, use: Use) -> str:
    """Return a use as it is written, ``%loops#1``."""
    return script.text[use.start : use.start + len(use.text)]


def in_place_of(use: Use, new: str) -> Replacement:
    """Return the replacement of a use by another handle."""
    return Replacement(use.start, use.start + len(use.text), new)


def change(script: Script, op: OpSyntax, replacements: Sequence[Replacement], what: str) -> Change:
    """Return the change that makes these replacements."""
    return Change(with_replacements(script.text, replacements), script.line_of(op), what)


def uses_of(script: Script, op: OpSyntax, result: int) -> list[tuple[Use, OpSyntax]]:
    """Return the uses of a result of an op."""
    value = op.values[result]
    return [pair for definition in script.results_of(op) for pair in definition.uses_of(value)]


def all_uses(script: Script, op: OpSyntax) -> list[tuple[Use, OpSyntax]]:
    """Return the uses of all results of an op."""
    return [pair for definition in script.results_of(op) for pair in definition.uses]


def passed_by(script: Script, op: OpSyntax, stand_ins: dict[int, str]) -> list[Replacement] | None:
    """Return what removes an op, its results' uses given other handles; None if one has no stand-in."""
    replacements = [cut(script.text, op, op)]
    for result in range(len(op.values)):
        uses = uses_of(script, op, result)
        if uses and result not in stand_ins:
            return None
        replacements += [in_place_of(use, stand_ins[result]) for use, _ in uses]
    return replacements


def seen_before(script: Script, op: OpSyntax) -> list[tuple[str, OpSyntax, int]]:
    """Return the handles of earlier steps of the same block that an op may name, each with op and result."""
    _, block, index = script.home_of(op)
    return [(v, other, i) for other in block[:index] for i, v in enumerate(other.values)]


def is_loop(op: OpSyntax, result: int) -> bool:
    """Return True if a result of a step is a loop, as far as the step's name says."""
    return (op.name in (*TILES, TILE_AND_FUSE) and result > 0) or (op.name == FUSE and result == 1)


def loops_before(script: Script, op: OpSyntax) -> list[str]:
    """Return the handles of loops that an op may name, the nearest first."""
    return [value for value, other, i in reversed(seen_before(script, op)) if is_loop(other, i)]
