"""What bounds a kernel, read off its machine code: the innermost loops and what each iteration does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from lhkit.kernels.chains import find_chains
from lhkit.kernels.control_flow import find_loops, split_blocks
from lhkit.kernels.instruction_sets import Operation, operation_of, stack_registers
from lhkit.model.instructions import Access, Architecture, Bound, HotLoop, HotLoops, Instruction, MachineCode

# An estimate of what a core does in a cycle: two vector operations, two loads, one store, one shuffle,
# four instructions. It decides which count is named first; no time is derived from it.
_VECTOR_RATE, _LOAD_RATE, _STORE_RATE, _SHUFFLE_RATE, _ISSUE_RATE = 2, 2, 1, 1, 4
_DIVISION_CYCLES = 8
_GATHER_CYCLES = 8
# Spills are named from one in this many instructions on.
_SPILL_SHARE = 10


def find_hot_loops(code: MachineCode) -> HotLoops:
    """Return the innermost loops of a function, the deepest and heaviest first.

    A function without loops, such as a kernel that is unrolled completely, is one entry of depth 0.
    """
    return HotLoops(code.architecture, code.function, tuple(loop for loop, _ in loops_with_bodies(code)))


def loops_with_bodies(code: MachineCode) -> list[tuple[HotLoop, tuple[Instruction, ...]]]:
    """Return the loops that `find_hot_loops` returns, each with its instructions by address."""
    blocks = split_blocks(code.instructions)
    stack = stack_registers(code.instructions)
    found = []
    for loop in find_loops(blocks):
        if loop.is_innermost:
            body = tuple(i for address in sorted(loop.blocks) for i in blocks[address])
            found.append((_describe(body, loop.head, loop.depth, code.architecture, stack), body))
    if not found and (whole := code.instructions):
        found.append((_describe(whole, whole[0].address, 0, code.architecture, stack), whole))
    found.sort(key=lambda f: (-f[0].depth, -f[0].flops, -f[0].instructions, f[0].address))
    return found


def _describe(
    body: Sequence[Instruction], address: int, depth: int, architecture: Architecture, stack: frozenset[str]
) -> HotLoop:
    counts = _count(body, architecture, stack)
    chains = find_chains(body, architecture) if depth else None
    calls = Counter((i.symbol or "?") for i in body if i.flow == "call")
    loop = HotLoop(
        address=address,
        depth=depth,
        instructions=len(body),
        code_bytes=sum(i.size for i in body),
        vector_bits=counts.vector_bits,
        fmas=counts.fmas,
        flops=counts.flops,
        arithmetic=counts.arithmetic,
        scalar_arithmetic=counts.scalar_arithmetic,
        divisions=counts.divisions,
        shuffles=counts.shuffles,
        loads=counts.loads,
        stores=counts.stores,
        gathers=counts.gathers,
        spill_loads=counts.spill_loads,
        spill_stores=counts.spill_stores,
        chain_cycles=chains.cycles if chains else 0,
        accumulators=chains.count if chains else 0,
        calls=tuple(sorted(calls.items())),
        bound="issue",
        sentence="",
    )
    bounds = _bounds(loop)
    return replace(loop, bound=bounds[0], sentence="; ".join(_words(loop, b) for b in bounds))


@dataclass(slots=True)
class _Counts:
    """Counts under way."""

    vector_bits: int = 0
    fmas: int = 0
    flops: int = 0
    arithmetic: int = 0
    scalar_arithmetic: int = 0
    divisions: int = 0
    shuffles: int = 0
    loads: int = 0
    stores: int = 0
    gathers: int = 0
    spill_loads: int = 0
    spill_stores: int = 0


def _count(body: Sequence[Instruction], architecture: Architecture, stack: frozenset[str]) -> _Counts:
    counts = _Counts()
    for instruction in body:
        operation = operation_of(instruction, architecture)
        computes = operation.kind in ("fma", "arithmetic", "division")
        counts.fmas += operation.kind == "fma"
        counts.arithmetic += operation.kind in ("arithmetic", "division")
        counts.divisions += operation.kind == "division"
        counts.scalar_arithmetic += computes and operation.vector_bits == 0
        counts.shuffles += operation.kind == "shuffle"
        counts.gathers += operation.kind == "gather"
        counts.flops += operation.flops
        _count_access(counts, instruction, stack)
        if _shows_width(instruction, operation, stack):
            counts.vector_bits = max(counts.vector_bits, operation.vector_bits)
    return counts


def _shows_width(instruction: Instruction, operation: Operation, stack: frozenset[str]) -> bool:
    """Return True for what makes vector code: arithmetic on lanes, and loads and stores of vectors.

    Copies, bit operations and spills of a 128-bit register that holds one element make none.
    """
    if operation.flops or (operation.kind == "arithmetic" and operation.vector_bits > 128):
        return True
    access = instruction.access
    is_elsewhere = access is not None and not stack.union({"rip"}).intersection(access.registers[:1])
    return is_elsewhere and operation.kind in ("move", "gather")


def _count_access(counts: _Counts, instruction: Instruction, stack: frozenset[str]) -> None:
    access = instruction.access
    if access is None or instruction.flow != "next":
        return
    is_load, is_store = access.kind != "store", access.kind != "load"
    if is_spill(access, stack):
        counts.spill_loads += is_load
        counts.spill_stores += is_store
    else:
        counts.loads += is_load
        counts.stores += is_store


def is_spill(access: Access, stack: Collection[str]) -> bool:
    """Return True for an access to a fixed place of the stack: a value that had no register."""
    return len(access.registers) == 1 and access.registers[0] in stack


def _bounds(loop: HotLoop) -> list[Bound]:
    """Return what bounds a loop, the most telling first."""
    named: list[Bound] = []
    if loop.calls:
        named.append("calls")
    if loop.spills * _SPILL_SHARE >= loop.instructions:
        named.append("spills")
    if loop.vector_bits == 0 and loop.arithmetic + loop.fmas + loop.loads + loop.stores:
        named.append("scalar")
    unit = _limiting_unit(loop)
    return [*named, unit] if not named or (named == ["scalar"] and unit == "latency") else named


def _limiting_unit(loop: HotLoop) -> Bound:
    computing = loop.fmas + loop.arithmetic
    compute: Bound = "fma" if loop.fmas * 2 >= computing else "arithmetic"
    gathers = loop.gathers * _GATHER_CYCLES
    cycles: dict[Bound, float] = {
        compute: computing / _VECTOR_RATE,
        "division": loop.divisions * _DIVISION_CYCLES,
        "latency": loop.chain_cycles,
        "loads": (loop.loads + loop.spill_loads) / _LOAD_RATE + gathers,
        "stores": (loop.stores + loop.spill_stores) / _STORE_RATE,
        "shuffles": loop.shuffles / _SHUFFLE_RATE,
        "issue": loop.instructions / _ISSUE_RATE,
    }
    return max(cycles, key=lambda bound: cycles[bound])


def _words(loop: HotLoop, bound: Bound) -> str:
    each = "an iteration" if loop.depth else "in all"
    vectors = f"{loop.vector_bits}-bit vectors" if loop.vector_bits else "single elements"
    computing = _computing(loop)
    memory = f"{_some(loop.loads, 'load')} and {_some(loop.stores, 'store')}"
    match bound:
        case "calls":
            return f"calls {_called(loop)} {each}"
        case "spills":
            return f"spills: {_some(loop.spills, 'stack load/store')} {each} beside {computing}"
        case "scalar":
            return f"scalar code: no vector instruction; {computing}, {memory} {each}"
        case "fma":
            return f"FMA-bound: {computing} on {vectors} for {memory} {each}"
        case "arithmetic":
            return f"arithmetic-bound: {computing} on {vectors} for {memory} {each}"
        case "division":
            divisions = (
                "1 division or square root"
                if loop.divisions == 1
                else f"{loop.divisions} divisions or square roots"
            )
            return f"division-bound: {divisions} on {vectors} {each}"
        case "latency":
            return (
                f"latency-bound: {_some(loop.accumulators, 'accumulator')} in {vectors},"
                f" results that wait for one another take about {loop.chain_cycles} cycles {each}"
            )
        case "loads":
            gathered = f" ({loop.gathers} gathered)" if loop.gathers else ""
            return f"load-bound: {_some(loop.loads, 'load')}{gathered} for {computing} on {vectors} {each}"
        case "stores":
            return f"store-bound: {_some(loop.stores, 'store')} for {computing} on {vectors} {each}"
        case "shuffles":
            return f"shuffle-bound: {_some(loop.shuffles, 'shuffle')} for {computing} on {vectors} {each}"
        case "issue":
            return f"bound by its {loop.instructions} instructions: {computing} on {vectors}, {memory} {each}"


def _computing(loop: HotLoop) -> str:
    if not loop.fmas:
        return _some(loop.arithmetic, "arithmetic instruction")
    more = f" and {_some(loop.arithmetic, 'other arithmetic instruction')}" if loop.arithmetic else ""
    return _some(loop.fmas, "FMA") + more


def _some(count: int, noun: str) -> str:
    head, slash, tail = noun.partition("/")
    many = f"{head}s{slash}{tail}s" if slash else f"{noun}s"
    return f"{count or 'no'} {noun if count == 1 else many}"


def _called(loop: HotLoop) -> str:
    names = ("a function" if name == "?" else name for name, _ in loop.calls)
    counts = (f" {count} times" if count > 1 else "" for _, count in loop.calls)
    return ", ".join(name + count for name, count in zip(names, counts, strict=True))
