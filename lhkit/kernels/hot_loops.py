"""Hot loops of a kernel from its machine code: per-iteration counts and the likely bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from lhkit.kernels.instruction_sets import (
    Kind,
    Operation,
    is_zeroing,
    operation_of,
    stack_registers,
    vector_register,
)
from lhkit.model.instructions import Access, Architecture, Bound, HotLoop, HotLoops, Instruction, MachineCode

# Loop-carried dependence chains: their iterations cannot overlap.


# Cycles from operands to result, typical of cores of the last ten years.
_LATENCY: dict[Kind, int] = {"fma": 4, "arithmetic": 4, "division": 12, "shuffle": 2}
_MEMORY_LATENCY = 5  # a value that is stored and loaded again


@dataclass(frozen=True, slots=True)
class Chains:
    """Chains from iteration to iteration: estimated cycles of the longest, and how many there are."""

    cycles: int
    count: int


def find_chains(instructions: Sequence[Instruction], architecture: Architecture) -> Chains:
    """Return the chains through vector registers, and through places in memory that stay the same."""
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


# Loops in machine code: blocks, dominators, and the natural loops of back edges.


_ENDS = ("jump", "branch", "return", "stop")


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop.

    Attributes:
        head: Address of the block that every iteration passes first.
        blocks: Addresses of its blocks, in order.
        depth: Nesting depth, from 1.
        is_innermost: True if it contains no other loop.
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
