"""Loops in machine code: blocks, dominators, and the natural loops of back edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.instructions import Instruction

_ENDS = ("jump", "branch", "return", "stop")


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop.

    Attributes:
        head: Address of the block that every iteration passes first.
        blocks: Addresses of its blocks, in order.
        depth: How many loops it stands in, itself included.
        is_innermost: True if no other loop stands in it.
    """

    head: int
    blocks: tuple[int, ...]
    depth: int
    is_innermost: bool


def split_blocks(instructions: Sequence[Instruction]) -> dict[int, tuple[Instruction, ...]]:
    """Return the basic blocks of a function by their address; calls do not end one."""
    addresses = {i.address for i in instructions}
    leaders = {instructions[0].address} if instructions else set()
    for instruction in instructions:
        if instruction.flow in _ENDS:
            leaders |= {a for a in (instruction.target, instruction.end) if a in addresses}
    blocks: dict[int, list[Instruction]] = {}
    current: list[Instruction] = []
    for instruction in instructions:
        if instruction.address in leaders:
            current = blocks.setdefault(instruction.address, [])
        current.append(instruction)
    return {address: tuple(block) for address, block in blocks.items()}


def find_loops(blocks: Mapping[int, Sequence[Instruction]]) -> tuple[Loop, ...]:
    """Return the natural loops of a function, by address; back edges to one head make one loop."""
    successors = {address: _successors(block, blocks) for address, block in blocks.items()}
    if not blocks:
        return ()
    dominators = _dominators(successors, next(iter(blocks)))
    predecessors: dict[int, list[int]] = {address: [] for address in blocks}
    for address in dominators:
        for successor in successors[address]:
            predecessors[successor].append(address)
    bodies: dict[int, set[int]] = {}
    for address, above in dominators.items():
        for head in successors[address]:
            if head in above:
                bodies.setdefault(head, {head}).update(_reaching(address, head, predecessors))
    return tuple(
        Loop(
            head=head,
            blocks=tuple(sorted(body)),
            depth=sum(head in other for other in bodies.values()),
            is_innermost=not any(h in body for h in bodies if h != head),
        )
        for head, body in sorted(bodies.items())
    )


def _successors(block: Sequence[Instruction], blocks: Mapping[int, object]) -> list[int]:
    last = block[-1]
    targets: list[int | None] = []
    if last.flow in ("jump", "branch"):
        targets.append(last.target)
    if last.flow in ("next", "call", "branch"):
        targets.append(last.end)
    return [t for t in dict.fromkeys(targets) if t is not None and t in blocks]


def _dominators(successors: Mapping[int, Sequence[int]], entry: int) -> dict[int, set[int]]:
    """Return, for each block that can be reached, the blocks on every way to it, itself included."""
    order = _reverse_postorder(successors, entry)
    predecessors: dict[int, list[int]] = {address: [] for address in order}
    for address in order:
        for successor in successors[address]:
            predecessors[successor].append(address)
    dominators: dict[int, set[int]] = {entry: {entry}}
    changed = True
    while changed:
        changed = False
        for address in order[1:]:
            known = [dominators[p] for p in predecessors[address] if p in dominators]
            found = set.intersection(*known) | {address}
            if found != dominators.get(address):
                dominators[address], changed = found, True
    return dominators


def _reverse_postorder(successors: Mapping[int, Sequence[int]], entry: int) -> list[int]:
    done: list[int] = []
    seen = {entry}
    stack = [(entry, iter(successors[entry]))]
    while stack:
        address, rest = stack[-1]
        following = next((s for s in rest if s not in seen), None)
        if following is None:
            done.append(address)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(successors[following])))
    return done[::-1]


def _reaching(start: int, head: int, predecessors: Mapping[int, Sequence[int]]) -> set[int]:
    """Return the blocks from which ``start`` is reached without passing ``head``, and ``start``."""
    found = {start}
    work = [start] if start != head else []
    while work:
        for predecessor in predecessors[work.pop()]:
            if predecessor not in found and predecessor != head:
                found.add(predecessor)
                work.append(predecessor)
    return found
