"""What a program about memory can do without: arithmetic that decides nothing, loops that only compute."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from lhkit.model.memory_program import Instruction, Region

_EFFECTS = ("alloc", "stack", "free", "copy")
_NESTED = ("loop", "while", "branch")

Functions = tuple[tuple[str, Region], ...]


def prune(functions: Functions) -> Functions:
    """Return functions without what decides nothing; a loop that only computes is one use of its buffers."""
    working = _functions_with_effects(functions)
    collapsed = [(name, _collapse(region, working)) for name, region in functions]
    return tuple((name, _without_idle(region)) for name, region in collapsed)


def _without_idle(region: Region) -> Region:
    needed = set(region.yields)
    while True:
        before = len(needed)
        _need(region, needed)
        if len(needed) == before:
            return _without(region, needed)


def _functions_with_effects(functions: Functions) -> frozenset[str]:
    """Return the functions that allocate, free or copy, themselves or through a call."""
    working: set[str] = set()
    while True:
        found = {n for n, region in functions if _has_effect(region.body, working)}
        if found == working:
            return frozenset(working)
        working = found


def _has_effect(body: Iterable[Instruction], working: Iterable[str]) -> bool:
    return any(
        i.kind in _EFFECTS
        or (i.kind == "call" and i.name in working)
        or any(_has_effect(r.body, working) for r in i.regions)
        for i in body
    )


def _collapse(region: Region, working: frozenset[str]) -> Region:
    body: list[Instruction] = []
    for instruction in region.body:
        body += _collapsed(instruction, working)
    return dataclasses.replace(region, body=tuple(_merged(body)))


def _collapsed(instruction: Instruction, working: frozenset[str]) -> list[Instruction]:
    """Return an instruction, or the use that it comes down to."""
    if instruction.kind == "call" and instruction.name not in working and not instruction.results:
        return [Instruction("touch", instruction.operands, origin=instruction.origin)]
    if instruction.kind not in _NESTED:
        return [instruction]
    regions = tuple(_collapse(r, working) for r in instruction.regions)
    if instruction.results or any(_has_effect(r.body, working) for r in regions):
        return [dataclasses.replace(instruction, regions=regions)]
    used = dict.fromkeys(v for r in regions for i in r.body if i.kind == "touch" for v in i.operands)
    views = [i for r in regions for i in r.body if i.kind == "alias" and i.name == "view"]
    origin = next((i.origin for r in regions for i in r.body if i.kind == "touch"), instruction.origin)
    return [*views, Instruction("touch", tuple(used), origin=origin)] if used else []


def _merged(body: Sequence[Instruction]) -> list[Instruction]:
    """Return instructions with uses by one op that stand in a row as one."""
    merged: list[Instruction] = []
    for instruction in body:
        last = merged[-1] if merged else None
        if last is not None and last.kind == instruction.kind == "touch" and last.origin == instruction.origin:
            used = dict.fromkeys((*last.operands, *instruction.operands))
            merged[-1] = dataclasses.replace(last, operands=tuple(used))
        else:
            merged.append(instruction)
    return merged


def _need(region: Region, needed: set[int]) -> None:
    """Add the values that decide something, from the end on, so that chains take one round."""
    for i in reversed(region.body):
        if i.kind in _NESTED:
            _CARRYING[i.kind](i, needed)
            for inner in i.regions:
                _need(inner, needed)
        elif i.kind in (*_EFFECTS, "touch", "call") or needed.intersection(i.results):
            needed.update(i.operands)


def _need_loop(loop: Instruction, needed: set[int]) -> None:
    (body,) = loop.regions
    needed.update(loop.operands[:3])
    for k, result in enumerate(loop.results):
        same = (result, body.arguments[k + 1])
        if needed.intersection(same):
            needed.update((*same, body.yields[k], loop.operands[k + 3]))


def _need_while(loop: Instruction, needed: set[int]) -> None:
    before, after = loop.regions
    needed.add(before.yields[0])
    for k, argument in enumerate(before.arguments):
        if argument in needed:
            needed.update((loop.operands[k], after.yields[k]))
    # What the condition hands on goes into the body, and is the result at the end.
    for k, result in enumerate(loop.results):
        if needed.intersection((result, after.arguments[k])):
            needed.add(before.yields[k + 1])


def _need_branch(branch: Instruction, needed: set[int]) -> None:
    needed.add(branch.operands[0])
    for k, result in enumerate(branch.results):
        if result in needed:
            needed.update(region.yields[k] for region in branch.regions)


_CARRYING: dict[str, Callable[[Instruction, set[int]], None]] = {
    "loop": _need_loop,
    "while": _need_while,
    "branch": _need_branch,
}


def _without(region: Region, needed: set[int]) -> Region:
    """Return a region without arithmetic that nothing needs; values that are carried stay, for their places."""
    body = []
    for i in region.body:
        if i.kind in (*_EFFECTS, "touch", "call"):
            body.append(i)
        elif i.kind in _NESTED:
            body.append(dataclasses.replace(i, regions=tuple(_without(r, needed) for r in i.regions)))
        elif needed.intersection(i.results):
            body.append(i)
    return dataclasses.replace(region, body=tuple(body))
