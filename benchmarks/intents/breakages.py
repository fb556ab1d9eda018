"""The kinds of breakages, and broken schedules drawn from them: the same ones for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.intents import argument_breakages as arguments
from benchmarks.intents import handle_breakages as handles
from benchmarks.intents import order_breakages as orders
from benchmarks.intents.base_schedules import Base
from benchmarks.intents.edits import Breakage, Change
from lhkit.text.script import Script

BREAKAGES: dict[str, Breakage] = {
    function.__name__: function
    for function in (
        orders.moved_too_early,
        orders.used_before_made,
        orders.fused_in_wrong_order,
        orders.forgotten_fuse,
        orders.forgotten_conversion,
        orders.forgotten_step,
        orders.deleted_definition,
        handles.consumed_again,
        handles.consumed_argument,
        handles.loop_for_op,
        handles.vectorized_loop,
        handles.wrong_result_count,
        handles.swapped_handles,
        handles.suppressed,
        arguments.misspelled_match,
        arguments.other_match,
        arguments.wrong_scope,
        arguments.too_large_tile,
        arguments.wrong_dimension,
        arguments.recomputed_producer,
        arguments.wrong_operand_number,
    )
}
_SHARE_OF_DOUBLES = 0.25


@dataclass(frozen=True, slots=True)
class Broken:
    """A schedule with one or two breakages.

    Attributes:
        base: What was broken.
        kinds: The kinds of breakages, in the order in which they were made.
        changes: What was done.
        singles: The base with each of two breakages alone, where it can be made alone.
    """

    base: Base
    kinds: tuple[str, ...]
    changes: tuple[Change, ...]
    singles: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The broken schedule."""
        return self.changes[-1].text


def changes_of(kind: str, text: str, payload: str) -> list[Change]:
    """Return the ways in which a breakage of a kind can be made in a text."""
    return [found for found in BREAKAGES[kind](Script(text), payload) if found.text != text]


def broken_schedules(bases: Sequence[Base], seed: int) -> Iterator[Broken]:
    """Yield broken schedules without end, each once: the kinds take turns, bases and places are drawn."""
    chance = random.Random(seed)
    given: set[str] = set()
    order = list(BREAKAGES)
    misses = 0
    while misses < 20 * len(order):
        chance.shuffle(order)
        for kind in order:
            found = _draw(chance, bases, kind)
            if found is None or found.text in given:
                misses += 1
                continue
            misses = 0
            given.add(found.text)
            yield found


def _draw(chance: random.Random, bases: Sequence[Base], kind: str) -> Broken | None:
    for _ in range(200):
        base = chance.choice(bases)
        payload = base.payload.text
        if not (first := changes_of(kind, base.text, payload)):
            continue
        change = chance.choice(first)
        if chance.random() < _SHARE_OF_DOUBLES:
            other = chance.choice(list(BREAKAGES))
            if second := changes_of(other, change.text, payload):
                added = chance.choice(second)
                alone = [c.text for c in changes_of(other, base.text, payload) if c.what == added.what]
                return Broken(base, (kind, other), (change, added), (change.text, *alone[:1]))
        return Broken(base, (kind,), (change,))
    return None
