"""Temporary buffers that are freed before a result is first touched lie where that result will be.

A kernel that computes ``a``, from it ``b``, and from that its result, all of one size, then needs one buffer
and not two: there is less memory to allocate, and less that passes through the caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import ir


@dataclass(frozen=True, slots=True, eq=False)
class _Buffer:
    """A temporary buffer of the outermost block, with the places of its first use and of its end."""

    allocation: Any
    deallocation: Any
    type: Any
    first: int
    last: int

    def move_to(self, place: Any) -> None:
        self.allocation.results[0].replace_all_uses_with(place)
        self.deallocation.erase()
        self.allocation.erase()


def reuse_destinations(function: Any, count: int) -> set[int]:
    """Have temporary buffers use, in place, the memory of results that have the same type.

    Args:
        function: A function of memrefs with one block, in which buffers are freed after their last use.
        count: How many of its trailing arguments are results that it writes to; nothing reads what was there.

    Returns:
        The numbers of the arguments that are used so: as the buffers did, they may not overlap with others.
    """
    block = function.regions[0].blocks[0]
    places = {op.operation: i for i, op in enumerate(block.operations)}
    buffers = sorted(_buffers(places), key=lambda b: b.first)
    destinations = list(block.arguments)[len(block.arguments) - count :]
    begins = [min(_uses(d, places), default=len(places)) for d in destinations]
    reused = set()
    for destination, begin in zip(destinations, begins, strict=True):
        free = -1  # the place up to which the destination holds another buffer
        for buffer in [b for b in buffers if b.type == destination.type]:
            if free < buffer.first and buffer.last < begin:
                buffer.move_to(destination)
                buffers.remove(buffer)
                free = buffer.last
                reused.add(destination.arg_number)
    return reused


def _buffers(places: dict[Any, int]) -> Iterator[_Buffer]:
    for op in places:
        if op.name != "memref.alloc" or not ir.MemRefType(op.results[0].type).has_static_shape:
            continue
        users = [use.owner.operation for use in op.results[0].uses]
        freed = [user for user in users if user.name == "memref.dealloc"]
        if len(freed) == 1 and freed[0] in places:
            value = op.results[0]
            yield _Buffer(op, freed[0], value.type, min(_uses(value, places)), places[freed[0]])


def _uses(value: Any, places: dict[Any, int]) -> Iterator[int]:
    """Yield the places in the outermost block where a buffer, or a view of it, is used."""
    for use in value.uses:
        user = use.owner.operation
        is_view = user.name.startswith("memref.") and [type(r.type) for r in user.results] == [ir.MemRefType]
        if user in places and is_view:
            yield from _uses(user.results[0], places)
            continue
        while user not in places:
            user = user.parent.operation
        yield places[user]
