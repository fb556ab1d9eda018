"""Machine code of the hot loops, instruction by instruction, with the IR that each comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lhkit.kernels.hot_loops import is_spill, loops_with_bodies
from lhkit.kernels.instruction_sets import operation_of, stack_registers
from lhkit.model.instructions import Architecture, HotLoop, Instruction, MachineCode

Sort = Literal[
    "FMA", "arithmetic", "division", "load", "store", "spill", "gather", "shuffle", "branch", "call", "other"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListedInstruction:
    """An instruction of a hot loop.

    Attributes:
        instruction: The instruction.
        sort: What it does first of all.
        is_scalar: True if it computes on a single element.
        vector_bits: Width of the vectors it works on, 0 if none.
        accesses_memory: True for one that computes with an operand in memory.
        line: Line of the IR that it comes from, from 1, or None.
    """

    instruction: Instruction
    sort: Sort
    is_scalar: bool = False
    vector_bits: int = 0
    accesses_memory: bool = False
    line: int | None = None

    @property
    def words(self) -> str:
        """What it does, in words."""
        scalar = "scalar " if self.is_scalar else ""
        return f"{scalar}{self.sort}{' + load' if self.accesses_memory else ''}"


@dataclass(frozen=True, slots=True)
class ListedLoop:
    """A hot loop with its instructions by address."""

    loop: HotLoop
    instructions: tuple[ListedInstruction, ...]

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the IR that its instructions come from, in ascending order."""
        return tuple(sorted({i.line for i in self.instructions if i.line is not None}))


@dataclass(frozen=True, slots=True)
class CodeListing:
    """The innermost loops of a kernel, the heaviest first, beside the IR that they come from.

    Attributes:
        architecture: Whose instructions they are.
        function: The function in the machine code.
        loops: The loops; a function without loops is one.
        ir: The bufferized IR; empty where no line of it is known.
    """

    architecture: Architecture
    function: str
    loops: tuple[ListedLoop, ...]
    ir: str = ""


def list_code(code: MachineCode) -> CodeListing:
    """Return the hot loops of a function as listings."""
    stack = stack_registers(code.instructions)
    loops = tuple(
        ListedLoop(loop, tuple(_listed(i, code.architecture, stack) for i in body))
        for loop, body in loops_with_bodies(code)
    )
    return CodeListing(code.architecture, code.function, loops, code.ir)


def _listed(instruction: Instruction, architecture: Architecture, stack: frozenset[str]) -> ListedInstruction:
    operation = operation_of(instruction, architecture)
    access, line = instruction.access, instruction.line
    if instruction.flow == "call":
        return ListedInstruction(instruction, "call", line=line)
    if instruction.flow != "next":
        return ListedInstruction(instruction, "branch", line=line)
    computing: dict[str, Sort] = {"fma": "FMA", "arithmetic": "arithmetic", "division": "division"}
    if (sort := computing.get(operation.kind)) is not None:
        bits = operation.vector_bits
        return ListedInstruction(instruction, sort, bits == 0, bits, access is not None, line)
    if operation.kind in ("gather", "shuffle") and (access is None or operation.kind == "gather"):
        sort = "gather" if operation.kind == "gather" else "shuffle"
    elif access is None:
        sort = "other"
    elif is_spill(access, stack):
        sort = "spill"
    else:
        sort = "load" if access.kind == "load" else "store"
    return ListedInstruction(instruction, sort, False, operation.vector_bits, False, line)
