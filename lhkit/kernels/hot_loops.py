"""Hot loops of a kernel from its machine code: per-iteration counts and the likely bound."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lhkit.model.instructions import Access, Architecture, Bound, HotLoop, HotLoops, Instruction, MachineCode

Kind = Literal["fma", "arithmetic", "division", "shuffle", "move", "gather", "other"]

# The letters that name element widths, in bits.
_X86_FLOATS = {"h": 16, "s": 32, "d": 64}
_X86_INTEGERS = {"b": 8, "w": 16, "d": 32, "q": 64}
_ARM_WIDTHS = {"b": 8, "h": 16, "s": 32, "d": 64, "q": 128}
_X86_REGISTERS = {"x": 128, "y": 256, "z": 512, "t": 8192}
# Multiplications and additions for each lane of the result.
_X86_DOTS = {"pdpbusd": 8, "pdpbusds": 8, "pdpwssd": 4, "pdpwssds": 4, "pmaddwd": 3, "dpbf16ps": 4}
_ARM_DOTS = {"sdot": 8, "udot": 8, "usdot": 8, "bfdot": 4, "bfmmla": 16, "smmla": 32, "ummla": 32}
# A tile product: 16 by 16 results of 32 bits, 64 bytes of terms for each.
_TILE_FLOPS = {"b": 2 * 16 * 16 * 64, "f": 2 * 16 * 16 * 32}

_X86_FMA = re.compile(r"f(n?m(?:add|sub)|maddsub|msubadd)(?:132|213|231)?([ps])([hsd])")
_X86_FLOAT = re.compile(r"(add|sub|mul|min|max|addsub|hadd|hsub|div|sqrt)([ps])([hsd])")
_X86_FLOAT_OTHER = re.compile(
    r"(?:cmp\w*|u?comi|round|rndscale|rcp(?:14)?|rsqrt(?:14)?|scalef|getexp|getmant|reduce|range|fixupimm)"
    r"([ps])([hsd])|cvt\w+|(?:and|andn|or|xor)p[sd]"
)
_X86_INTEGER = re.compile(
    r"p(add|sub|adds|subs|addus|subus|mull|mulh|mulhu|muld|mulud|max[su]|min[su]|abs|avg)([bwdq]?)"
)
_X86_INTEGER_OTHER = re.compile(
    r"p(?:and|or|xor|andn|ternlog|sll|srl|sra|rol|ror|cmp|test|sign|lzcnt|popcnt|sadbw|madd).*"
)
_X86_SHUFFLE = re.compile(
    r"(?:p?shuf|perm|pperm|unpck|punpck|insert|pinsr|extract|pextr|blend|pblend|palign|align|pack|movmsk|pmovmsk"
    r"|movddup|movshdup|movsldup|movlh|movhl|expand|compress|pexpand|pcompress|pmov[sz]x|broadcast|pbroadcast).*"
)
_X86_SCALAR_CONVERSION = re.compile(r"s[hsdi]2|2s[hsdi]|2usi|usi2")
_X86_SCALAR_MOVE = re.compile(r"mov(?:ss|sd|sh|d|q|w)")
_ARM_ARRANGEMENT = re.compile(r"\bv\d+\.(\d+)([bhsd])")
_ARM_SCALAR = re.compile(r"\b([hsd])\d+\b")
_ARM_FMA = re.compile(r"f(?:n?madd|n?msub|mlal?2?|mlsl?2?)|bfmlal[bt]|ml[as]|[su]ml[as]l2?")
_ARM_FLOPS = re.compile(r"f(?:add|sub|mul|nmul|mulx|max|min|maxnm|minnm|abd|div|sqrt|addp|maxp|minp|maxv|minv)")
_ARM_OTHER = re.compile(r"f(?:cmp|ccmp|cm|rint|recp|rsqrt|cvt|neg|abs|csel|maxnmv).*|[su]cvtf")
_ARM_INTEGER = re.compile(
    r"(?:add|sub|mul|[su]max|[su]min|abs|neg|[su]abd|add[pv]|[su]addl|[su]mull|[su]q?add|[su]q?sub)2?"
)
_ARM_INTEGER_OTHER = re.compile(
    r"(?:and|orr|orn|eor|bic|bsl|bit|bif|not|cm\w+|[su]?shl?l?|[su]shr|sri|sli|xtn|cnt|rev\d*)2?"
)
_ARM_SHUFFLE = re.compile(r"dup|ins|ext|zip[12]|uzp[12]|trn[12]|tb[lx]|rev\d+")


@dataclass(frozen=True, slots=True)
class Operation:
    """The operation of an instruction on elements.

    An ``fma`` multiplies and adds, a ``division`` may be a square root, a ``gather`` a scatter, and a ``move``
    moves a vector.
    """

    kind: Kind
    vector_bits: int = 0  # width of the vectors it works on; 0 for one element
    flops: int = 0


_OTHER = Operation("other")
_COMPUTING = ("fma", "arithmetic", "division")


def operation_of(instruction: Instruction, architecture: Architecture) -> Operation:
    """Return what an instruction does with elements; address arithmetic and control are ``other``."""
    return _OPERATIONS[architecture](instruction)


def vector_register(name: str) -> str | None:
    """Return one name for all widths of a vector register, such as ``v3`` for ``ymm3``; None for another."""
    match = re.fullmatch(r"[xyz]mm(\d+)|[bhsdqvz](\d+)", name)
    return None if match is None else f"v{match[1] or match[2]}"


def stack_registers(instructions: Iterable[Instruction]) -> frozenset[str]:
    """Return the registers that point to the stack's fixed places: the stack pointer and the frame's."""
    found = {"rsp", "esp", "sp"}
    for instruction in instructions:
        is_copy = instruction.mnemonic == "mov" and instruction.operands in ("rbp, rsp", "rbx, rsp", "x29, sp")
        is_frame = instruction.mnemonic in ("lea", "add") and re.match(
            r"rbp, \[rsp|x29, sp,", instruction.operands
        )
        if is_copy or is_frame:
            found |= set(instruction.writes) | {instruction.operands.partition(",")[0]}
    return frozenset(found)


def is_zeroing(instruction: Instruction) -> bool:
    """Return True for ``xor`` of a register with itself: it waits for nothing and computes nothing."""
    parts = [p.strip() for p in instruction.operands.split(",")]
    return "xor" in instruction.mnemonic and len(parts) >= 2 and parts[-1] == parts[-2]


def _x86(instruction: Instruction) -> Operation:
    name = instruction.mnemonic.removeprefix("v")
    vectors = re.findall(r"\b([xyzt])mm\d", instruction.operands)
    bits = max((_X86_REGISTERS[letter] for letter in vectors), default=0)
    if name.startswith("tdp"):
        return Operation("fma", bits, _TILE_FLOPS["f" if "f" in name else "b"])
    if bits == 0 or is_zeroing(instruction):
        return _OTHER
    if name in _X86_DOTS:
        return Operation("fma", bits, _X86_DOTS[name] * bits // 32)
    if match := _X86_FMA.fullmatch(name):
        return _x86_float("fma", 2, match[2], match[3], bits)
    if match := _X86_FLOAT.fullmatch(name):
        kind: Kind = "division" if match[1] in ("div", "sqrt") else "arithmetic"
        return _x86_float(kind, 1, match[2], match[3], bits)
    if match := _X86_FLOAT_OTHER.fullmatch(name):
        is_scalar = match[1] == "s" or _X86_SCALAR_CONVERSION.search(name)
        return Operation("arithmetic", 0 if is_scalar else bits)
    if match := _X86_INTEGER.fullmatch(name):
        return Operation("arithmetic", bits, bits // _X86_INTEGERS.get(match[2], 32))
    if _X86_INTEGER_OTHER.fullmatch(name):
        return Operation("arithmetic", bits)
    if re.match(r"p?(gather|scatter)", name):
        return Operation("gather", bits)
    if _X86_SHUFFLE.fullmatch(name):
        # Out of memory these are loads; the units that move elements have nothing to do.
        is_load = instruction.access is not None and re.match(r"p?broadcast|movddup", name)
        return Operation("move" if is_load else "shuffle", bits)
    return Operation("move", 0 if _X86_SCALAR_MOVE.fullmatch(name) else bits)


def _x86_float(kind: Kind, weight: int, packing: str, letter: str, bits: int) -> Operation:
    if packing == "s":
        return Operation(kind, 0, weight)
    return Operation(kind, bits, weight * bits // _X86_FLOATS[letter])


def _aarch64(instruction: Instruction) -> Operation:
    name, operands = instruction.mnemonic, instruction.operands
    lanes, bits = 1, 0
    if arrangement := _ARM_ARRANGEMENT.search(operands):
        lanes = int(arrangement[1])
        bits = lanes * _ARM_WIDTHS[arrangement[2]]
    elif re.search(r"\bq\d+\b", operands):
        return Operation("move", 128)
    elif _ARM_SCALAR.search(operands) is None:
        return _OTHER
    if name in _ARM_DOTS:
        return Operation("fma", bits, _ARM_DOTS[name] * lanes)
    if _ARM_FMA.fullmatch(name):
        return Operation("fma", bits, 2 * lanes)
    if _ARM_FLOPS.fullmatch(name):
        return Operation("division" if name in ("fdiv", "fsqrt") else "arithmetic", bits, lanes)
    if _ARM_OTHER.fullmatch(name):
        return Operation("arithmetic", bits)
    if bits == 0 or name.startswith(("ld", "st")):
        return Operation("move", bits)
    if _ARM_INTEGER.fullmatch(name):
        return Operation("arithmetic", bits, lanes)
    if _ARM_INTEGER_OTHER.fullmatch(name):
        return Operation("arithmetic", bits)
    return Operation("shuffle" if _ARM_SHUFFLE.fullmatch(name) else "move", bits)


_OPERATIONS: dict[Architecture, Callable[[Instruction], Operation]] = {"x86-64": _x86, "aarch64": _aarch64}


# Loop-carried dependence chains: their iterations cannot overlap.


# Cycles from operands to result, typical of cores of the last ten years.
_LATENCY: dict[Kind, int] = {"fma": 4, "arithmetic": 4, "division": 12, "shuffle": 2}
_MEMORY_LATENCY = 5  # a value that is stored and loaded again


def find_chains(instructions: Sequence[Instruction], architecture: Architecture) -> tuple[int, int]:
    """Return the estimated cycles of the longest chain from iteration to iteration, and how many there are.

    Chains go through vector registers, and through places in memory that stay the same.
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
    return max(chains, default=0), len(chains)


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
    """A natural loop; blocks are given by their addresses."""

    head: int  # the block that every iteration passes first
    blocks: tuple[int, ...]
    depth: int  # from 1
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
    entry = next(iter(blocks))
    reached = _reachable(entry, successors)
    predecessors: dict[int, list[int]] = {address: [] for address in blocks}
    for address in reached:
        for successor in successors[address]:
            predecessors[successor].append(address)
    bodies: dict[int, set[int]] = {}
    for address, above in _dominators(entry, [a for a in blocks if a in reached], predecessors).items():
        for head in above.intersection(successors[address]):
            body = bodies.setdefault(head, {head})
            if address != head:
                body |= _reachable(address, predecessors, without=head)
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


def _dominators(
    entry: int, order: Sequence[int], predecessors: Mapping[int, Sequence[int]]
) -> dict[int, set[int]]:
    """Return, for each block that can be reached, the blocks on every way to it, itself included."""
    dominators = {address: set(order) for address in order} | {entry: {entry}}
    changed = True
    while changed:
        changed = False
        for address in order:
            if address != entry:
                found = set.intersection(*(dominators[p] for p in predecessors[address])) | {address}
                changed |= found != dominators[address]
                dominators[address] = found
    return dominators


def _reachable(start: int, edges: Mapping[int, Sequence[int]], without: int | None = None) -> set[int]:
    """Return the blocks that edges lead to from a start, itself included, not passing ``without``."""
    found, pending = {start}, [start]
    while pending:
        new = set(edges[pending.pop()]) - found - {without}
        found |= new
        pending += new
    return found


# An estimate of what a core does in a cycle: two vector operations, two loads, one store, one shuffle,
# four instructions. It decides which count is named first; no time is derived from it.
_VECTOR_RATE, _LOAD_RATE, _STORE_RATE, _SHUFFLE_RATE, _ISSUE_RATE = 2, 2, 1, 1, 4
_DIVISION_CYCLES = 8
_GATHER_CYCLES = 8
# Spills are named from one in this many instructions on.
_SPILL_SHARE = 10


def find_hot_loops(code: MachineCode) -> HotLoops:
    """Return the innermost loops, deepest and heaviest first; a function without loops is one of depth 0."""
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
    operations = [operation_of(i, architecture) for i in body]
    kinds = Counter(o.kind for o in operations)
    widths = (o.vector_bits for i, o in zip(body, operations, strict=True) if _shows_width(i, o, stack))
    accesses = [i.access for i in body if i.access is not None and i.flow == "next"]
    spills = [a for a in accesses if is_spill(a, stack)]
    others = [a for a in accesses if not is_spill(a, stack)]
    chain_cycles, accumulators = find_chains(body, architecture) if depth else (0, 0)
    calls = Counter((i.symbol or "?") for i in body if i.flow == "call")
    loop = HotLoop(
        address=address,
        depth=depth,
        instructions=len(body),
        code_bytes=sum(i.size for i in body),
        vector_bits=max(widths, default=0),
        fmas=kinds["fma"],
        flops=sum(o.flops for o in operations),
        arithmetic=kinds["arithmetic"] + kinds["division"],
        scalar_arithmetic=sum(o.kind in _COMPUTING and o.vector_bits == 0 for o in operations),
        divisions=kinds["division"],
        shuffles=kinds["shuffle"],
        loads=sum(a.kind != "store" for a in others),
        stores=sum(a.kind != "load" for a in others),
        gathers=kinds["gather"],
        spill_loads=sum(a.kind != "store" for a in spills),
        spill_stores=sum(a.kind != "load" for a in spills),
        chain_cycles=chain_cycles,
        accumulators=accumulators,
        calls=tuple(sorted(calls.items())),
        bound="issue",
        sentence="",
    )
    bounds = _bounds(loop)
    return replace(loop, bound=bounds[0], sentence="; ".join(_words(loop, b) for b in bounds))


def _shows_width(instruction: Instruction, operation: Operation, stack: frozenset[str]) -> bool:
    """Return True for what makes vector code: arithmetic on lanes, and loads and stores of vectors.

    Copies, bit operations and spills of a 128-bit register that holds one element make none.
    """
    if operation.flops or (operation.kind == "arithmetic" and operation.vector_bits > 128):
        return True
    access = instruction.access
    is_elsewhere = access is not None and not stack.union({"rip"}).intersection(access.registers[:1])
    return is_elsewhere and operation.kind in ("move", "gather")


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


_SENTENCES: dict[Bound, str] = {
    "calls": "calls {called} {each}",
    "spills": "spills: {spills} {each} beside {computing}",
    "scalar": "scalar code: no vector instruction; {computing}, {memory} {each}",
    "fma": "FMA-bound: {computing} on {vectors} for {memory} {each}",
    "arithmetic": "arithmetic-bound: {computing} on {vectors} for {memory} {each}",
    "division": "division-bound: {divisions} on {vectors} {each}",
    "latency": "latency-bound: {accumulators} in {vectors}, results that wait for one another take about"
    " {loop.chain_cycles} cycles {each}",
    "loads": "load-bound: {loads}{gathered} for {computing} on {vectors} {each}",
    "stores": "store-bound: {stores} for {computing} on {vectors} {each}",
    "shuffles": "shuffle-bound: {shuffles} for {computing} on {vectors} {each}",
    "issue": "bound by its {loop.instructions} instructions: {computing} on {vectors}, {memory} {each}",
}


def _words(loop: HotLoop, bound: Bound) -> str:
    loads, stores = _some(loop.loads, "load"), _some(loop.stores, "store")
    return _SENTENCES[bound].format(
        loop=loop,
        each="an iteration" if loop.depth else "in all",
        vectors=f"{loop.vector_bits}-bit vectors" if loop.vector_bits else "single elements",
        computing=_computing(loop),
        loads=loads,
        gathered=f" ({loop.gathers} gathered)" if loop.gathers else "",
        stores=stores,
        memory=f"{loads} and {stores}",
        called=_called(loop),
        spills=_some(loop.spills, "stack load/store"),
        divisions=_some(loop.divisions, "division or square root"),
        accumulators=_some(loop.accumulators, "accumulator"),
        shuffles=_some(loop.shuffles, "shuffle"),
    )


def _computing(loop: HotLoop) -> str:
    if not loop.fmas:
        return _some(loop.arithmetic, "arithmetic instruction")
    more = f" and {_some(loop.arithmetic, 'other arithmetic instruction')}" if loop.arithmetic else ""
    return _some(loop.fmas, "FMA") + more


def _some(count: int, noun: str) -> str:
    if count != 1:
        noun = _PLURALS.get(noun, f"{noun}s")
    return f"{count or 'no'} {noun}"


_PLURALS = {"stack load/store": "stack loads/stores", "division or square root": "divisions or square roots"}


def _called(loop: HotLoop) -> str:
    names = {"?": "a function"}
    return ", ".join(
        names.get(name, name) + (f" {count} times" if count > 1 else "") for name, count in loop.calls
    )
