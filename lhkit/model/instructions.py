"""Machine code as values: instructions with their memory accesses, and the counts of loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lhkit.model.printable import printable
from lhkit.model.showable import Showable

Architecture = Literal["x86-64", "aarch64"]
Flow = Literal["next", "call", "jump", "branch", "return", "stop"]
Bound = Literal[
    "calls", "spills", "scalar", "fma", "arithmetic", "division", "latency", "loads", "stores", "shuffles",
    "issue",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Access:
    """The memory access of an instruction."""

    kind: Literal["load", "store", "both"]
    address: str
    registers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction."""

    address: int  # Its offset in the code's section, in bytes
    size: int
    mnemonic: str
    operands: str
    # What runs after it: the next instruction, a called function and then the next, the target (``jump``),
    # one of both (``branch``), the caller (``return``), or nothing (``stop``)
    flow: Flow = "next"
    target: int | None = None  # Address that it jumps to or calls, or None if it is in a register or in memory
    # The function it calls, or the symbol whose address it takes, where that is known
    symbol: str | None = None
    access: Access | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    # Line of the IR that it comes from, from 1, as far as the compiler kept track; None if unknown
    line: int | None = None

    @property
    def end(self) -> int:
        """Address of the byte after it."""
        return self.address + self.size


@dataclass(frozen=True, slots=True)
class MachineCode:
    """The instructions of a function, by address, without the padding after its end.

    ``ir`` is the bufferized IR that their lines count in; empty where lines were not asked for.
    """

    architecture: Architecture
    function: str
    instructions: tuple[Instruction, ...]
    ir: str = ""


@dataclass(frozen=True, slots=True)
class CodeSamples:
    """Where calls of a kernel were when a timer interrupted them."""

    places: tuple[tuple[int, int], ...] = ()  # `Instruction.address` and the count of its samples
    elsewhere: int = 0  # Samples outside of the kernel's code, as in the functions that it calls
    period_ns: int = 0  # Time between two samples
    reason: str = ""  # Why there are no samples; empty if there are some

    @property
    def total(self) -> int:
        """The count of all samples."""
        return sum(count for _, count in self.places) + self.elsewhere


@dataclass(frozen=True, slots=True)
class HotLoop:
    """One iteration of an innermost loop: counts of instructions unless said otherwise."""

    address: int  # Where it begins, in bytes from the start of the section
    depth: int  # Nesting depth, from 1; 0 for code without any loop
    instructions: int  # All of them
    code_bytes: int  # Their length
    vector_bits: int  # Width of the widest vectors it computes with, loads or stores; 0 if it has none
    fmas: int  # Fused multiply-adds, and other instructions that multiply and add, such as dot products
    # Operations on elements: a fused multiply-add of n lanes counts 2 n, compares and conversions count none
    flops: int
    arithmetic: int  # Arithmetic on floats and vectors apart from ``fmas``
    scalar_arithmetic: int  # How many of ``fmas`` and ``arithmetic`` work on one element
    divisions: int  # Divisions and square roots, which are part of ``arithmetic``
    shuffles: int  # Instructions that move elements within and between registers
    loads: int  # Loads from elsewhere than the stack's fixed places; an operand in memory is one too
    stores: int  # Stores to elsewhere than the stack's fixed places
    gathers: int  # Gathers and scatters, which are part of ``loads`` and ``stores``
    spill_loads: int  # Loads from fixed places of the stack: values that had no register
    spill_stores: int  # Stores to fixed places of the stack
    chain_cycles: int  # Estimated cycles of the longest chain of results that one iteration hands to the next
    accumulators: int  # How many such chains there are
    # Called functions and how often, by name; ``?`` where the name is not known
    calls: tuple[tuple[str, int], ...]
    bound: Bound  # What bounds it, if its data is in the first-level cache
    sentence: str  # The same in words, with the counts that say so

    @property
    def spills(self) -> int:
        """Loads and stores of fixed places of the stack."""
        return self.spill_loads + self.spill_stores


@dataclass(frozen=True, slots=True)
class HotLoops(Showable):
    """The innermost loops of a kernel's machine code, the heaviest first."""

    architecture: Architecture  # Whose instructions they are
    function: str  # The function in the machine code
    loops: tuple[HotLoop, ...]  # One entry a loop; a function without loops is one entry of depth 0

    @property
    def sentences(self) -> tuple[tuple[str, str], ...]:
        """Places of the loops with their bounds; loops with equal sentences share an entry."""
        places: dict[str, list[str]] = {}
        for loop in self.loops:
            places.setdefault(loop.sentence, []).append(f"{loop.address:#x}")
        return tuple((", ".join(where), sentence) for sentence, where in places.items())

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.kernels.code_listing import hot_loops_bundle

        return hot_loops_bundle(self)

    def __str__(self) -> str:
        return printable("\n".join(f"{where}: {sentence}" for where, sentence in self.sentences))
