"""Chains of results that one iteration of a loop hands to the next: they cannot overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.kernels.instruction_sets import Kind, is_zeroing, operation_of, vector_register
from lhkit.model.instructions import Architecture, Instruction

# Cycles from operands to result, typical of cores of the last ten years.
_LATENCY: dict[Kind, int] = {"fma": 4, "arithmetic": 4, "division": 12, "shuffle": 2}
_MEMORY_LATENCY = 5  # a value that is stored and loaded again


@dataclass(frozen=True, slots=True)
class Chains:
    """Chains from iteration to iteration: estimated cycles of the longest, and how many there are."""

    cycles: int
    count: int


def find_chains(instructions: Sequence[Instruction], architecture: Architecture) -> Chains:
    """Return the chains through vector registers, and through places in memory that stay the same.

    Args:
        instructions: The body of a loop in the order of its code; where it branches, every instruction is
            taken to run.
        architecture: Whose instructions they are.
    """
    steps = _steps(instructions, architecture)
    starts = _carried(steps)
    longest: dict[str, dict[str, int]] = {start: {start: 0} for start in starts}
    for reads, writes, cycles in steps:
        arrived: dict[str, int] = {}
        for place in reads:
            for start, distance in longest.get(place, {}).items():
                arrived[start] = max(arrived.get(start, 0), distance + cycles)
        for place in writes:
            longest[place] = arrived
    loops = [longest[start].get(start, 0) for start in starts]
    chains = [cycles for cycles in loops if cycles > 0]
    return Chains(max(chains, default=0), len(chains))


_Step = tuple[tuple[str, ...], tuple[str, ...], int]


def _steps(instructions: Sequence[Instruction], architecture: Architecture) -> list[_Step]:
    """Return (places read, places written, cycles) of each instruction that handles vectors or floats."""
    changing = {register for i in instructions for register in i.writes}
    steps: list[_Step] = []
    for instruction in instructions:
        reads = [v for r in instruction.reads if (v := vector_register(r))]
        writes = [v for r in instruction.writes if (v := vector_register(r))]
        cycles = _LATENCY.get(operation_of(instruction, architecture).kind, 0)
        access = instruction.access
        if access is not None and not changing.intersection(access.registers):
            place = f"[{access.address}]"
            if access.kind != "store":
                reads.append(place)
                cycles += _MEMORY_LATENCY
            if access.kind != "load":
                writes.append(place)
        steps.append((() if is_zeroing(instruction) else tuple(reads), tuple(writes), cycles))
    return steps


def _carried(steps: Sequence[_Step]) -> list[str]:
    """Return the places that are read before they are written, and written: what an iteration hands on."""
    written: set[str] = set()
    early: dict[str, None] = {}
    for reads, writes, _ in steps:
        early.update(dict.fromkeys(r for r in reads if r not in written))
        written.update(writes)
    return [place for place in early if place in written]
