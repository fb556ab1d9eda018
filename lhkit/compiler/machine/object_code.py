"""Machine code of a kernel, as a disassembler reads it from the object file."""

from __future__ import annotations

import dataclasses
import platform
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lief

from lhkit.compiler.ir.bindings import new_context, object_code
from lhkit.compiler.lowering.destination_style import KERNEL_NAME
from lhkit.compiler.lowering.pipeline import Progress, ignore_progress
from lhkit.compiler.machine.compiled_kernel import Recipe, link, lowered_module, module_with_lines
from lhkit.compiler.machine.disassembly import disassemble
from lhkit.model.errors import usage_error
from lhkit.model.instructions import Architecture, Instruction, MachineCode

# Line tables of object files (DWARF 2 to 5): from which line of a text each instruction comes.


# Standard opcodes, by number.
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2


def read_lines(section: bytes, relocated: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return (address, line) in the order of the table; line 0 stands for code that comes from no line.

    Args:
        section: The content of ``.debug_line``.
        relocated: Addresses that the linker would write, by their place in the section.
    """
    rows: list[tuple[int, int]] = []
    at = 0
    while at + 4 <= len(section):
        program = _Program(section, at, relocated)
        at = program.end
        rows += program.rows()
    return rows


def lines_by_address(rows: list[tuple[int, int]], addresses: list[int]) -> dict[int, int]:
    """Return the line of each address that has one: that of the last row at or before it."""
    found = {}
    ordered = sorted(rows, key=lambda row: row[0])
    place = 0
    line = 0
    for address in sorted(addresses):
        while place < len(ordered) and ordered[place][0] <= address:
            line = ordered[place][1]
            place += 1
        if line > 0:
            found[address] = line
    return found


@dataclass(slots=True)
class _State:
    """The registers of the machine that a line program runs on, as far as lines need them."""

    address: int = 0
    line: int = 1
    rows: list[tuple[int, int]] = field(default_factory=list)


class _Program:
    """The line program of a compilation unit."""

    def __init__(self, section: bytes, start: int, relocated: Mapping[int, int]) -> None:
        self._bytes, self._relocated = section, relocated
        self._at = start
        length = self._number("I")
        width = "I"
        if length == 0xFFFFFFFF:
            length, width = self._number("Q"), "Q"
        self.end = self._at + length
        version = self._number("H")
        if version >= 5:
            self._at += 2  # sizes of addresses and of segment selectors
        header_length = self._number(width)
        program = self._at + header_length
        self._step = self._number("B")
        if version >= 4:
            self._at += 1  # operations an instruction, for machines that bundle them
        self._at += 1  # whether rows begin statements, which nobody asks for
        self._line_base, self._line_range = self._number("b"), self._number("B")
        self._first_special = self._number("B")
        self._operands = [self._number("B") for _ in range(self._first_special - 1)]
        self._at = program

    def rows(self) -> list[tuple[int, int]]:
        state = _State()
        while self._at < self.end:
            opcode = self._number("B")
            if opcode >= self._first_special:
                advance = opcode - self._first_special
                state.address += advance // self._line_range * self._step
                state.line += self._line_base + advance % self._line_range
                state.rows.append((state.address, state.line))
            elif opcode == 0:
                self._extended(state)
            else:
                self._standard(opcode, state)
        return state.rows

    def _extended(self, state: _State) -> None:
        length = self._unsigned()
        end = self._at + length
        opcode = self._number("B")
        if opcode == _SET_ADDRESS:
            written = int.from_bytes(self._bytes[self._at : end], "little")
            state.address = self._relocated.get(self._at, written)
        elif opcode == _END_SEQUENCE:
            state.rows.append((state.address, 0))
            state.address, state.line = 0, 1
        self._at = end

    def _standard(self, opcode: int, state: _State) -> None:
        if opcode == _COPY:
            state.rows.append((state.address, state.line))
        elif opcode == _ADVANCE_PC:
            state.address += self._unsigned() * self._step
        elif opcode == _ADVANCE_LINE:
            state.line += self._signed()
        elif opcode == _CONST_ADD_PC:
            state.address += (255 - self._first_special) // self._line_range * self._step
        elif opcode == _FIXED_ADVANCE_PC:
            state.address += self._number("H")
        else:
            for _ in range(self._operands[opcode - 1]):
                self._unsigned()

    def _number(self, form: str) -> int:
        (value,) = struct.unpack_from(f"<{form}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{form}")
        return int(value)

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._bytes[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def _signed(self) -> int:
        start = self._at
        value = self._unsigned()
        bits = 7 * (self._at - start)
        return value - (1 << bits) if value >> (bits - 1) else value


_TEXT_SECTIONS = (".text", ".ltext", "__text")
_LINE_SECTIONS = (".debug_line",)


@dataclass(frozen=True, slots=True)
class _ObjectCode:
    """A function in an object file: bytes, address in its section, the symbols around it, its line table."""

    address: int
    code: bytes
    relocations: Mapping[int, str]
    functions: Mapping[int, str]
    lines: list[tuple[int, int]]
    ir: str = ""


def machine_code(
    recipe: Recipe, progress: Progress = ignore_progress, *, with_lines: bool = False
) -> MachineCode:
    """Return the instructions of a kernel's function, as compiled for this machine and one thread.

    Args:
        recipe: The kernel.
        progress: Told of every stage.
        with_lines: Also return the bufferized IR, and the line of it that each instruction comes from. The
            instructions are the same; LLVM keeps lines where it can (hoisted and merged code has none).

    Raises:
        UsageError: The disassembler does not know this machine.
    """
    architecture = host_architecture()
    # The share of a thread would be a function of its own; the loops are the same.
    recipe = dataclasses.replace(recipe, is_threaded=False)
    found = _function_code(recipe, progress, with_lines)
    instructions = disassemble(
        found.code,
        architecture,
        address=found.address,
        relocations=found.relocations,
        functions=found.functions,
    )
    if found.lines:
        lines = lines_by_address(found.lines, [i.address for i in instructions])
        instructions = tuple(dataclasses.replace(i, line=lines.get(i.address)) for i in instructions)
    return MachineCode(architecture, KERNEL_NAME, instructions, found.ir)


def assembly_text(recipe: Recipe, progress: Progress = ignore_progress) -> str:
    """Return the assembly of a kernel's function: address, instruction, operands and symbol, a line each.

    Raises:
        UsageError: The disassembler does not know this machine.
    """
    return "".join(_line(i) + "\n" for i in machine_code(recipe, progress).instructions)


def _line(instruction: Instruction) -> str:
    line = f"{instruction.address:8x}: {instruction.mnemonic:<16} {instruction.operands}".rstrip()
    return f"{line:<60} ; {instruction.symbol}" if instruction.symbol else line


def _function_code(recipe: Recipe, progress: Progress, with_lines: bool = False) -> _ObjectCode:
    with new_context():
        text = ""
        if with_lines:
            module, slots, text = module_with_lines(recipe, progress)
        else:
            module, slots = lowered_module(recipe, "llvm", progress)
        # Code is made when first asked for.
        (engine, _), _linked = link(module, recipe, slots, progress)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernel.o"
            object_code(engine, str(path))
            return dataclasses.replace(_read_object(path, KERNEL_NAME), ir=text)


def _read_object(path: Path, name: str) -> _ObjectCode:
    """Return a function of an ELF, Mach-O or COFF object."""
    binary: Any = lief.parse(str(path))
    if binary is None:
        raise usage_error("the object file has a format that cannot be read here")
    text = next(s for s in binary.sections if s.name in _TEXT_SECTIONS and s.size)
    code = bytes(text.content)
    # Mach-O puts an underscore before every name; wrappers of MLIR's begin with one of their own.
    prefix = "_" if isinstance(binary, lief.MachO.Binary) else ""
    functions = {int(s.value): _bare(s, prefix) for s in binary.symbols if name in str(s.name)}
    # Mach-O and COFF symbols have no size: a function ends where the next one starts.
    start = next(a for a, n in functions.items() if n == name)
    end = min((a for a in functions if a > start), default=len(code))
    relocations = {
        int(r.address): _bare(r.symbol, prefix)
        for r in binary.relocations
        if getattr(r, "symbol", None) and getattr(getattr(r, "section", None), "name", text.name) == text.name
    }
    return _ObjectCode(start, code[start:end], relocations, functions, _line_table(binary))


def _line_table(binary: Any) -> list[tuple[int, int]]:
    """Return (address, line) from an object's line table; empty if it has none that is understood."""
    section = next((s for s in binary.sections if s.name in _LINE_SECTIONS and s.size), None)
    if section is None or not isinstance(binary, lief.ELF.Binary):
        return []
    relocated = {
        int(r.address): int(r.addend) + (int(r.symbol.value) if r.symbol else 0)
        for r in binary.relocations
        if getattr(r.section, "name", "") == section.name
    }
    return read_lines(bytes(section.content), relocated)


def _bare(symbol: Any, prefix: str) -> str:
    return str(symbol.name).removeprefix(prefix)


def host_architecture() -> Architecture:
    """Return the architecture of this machine.

    Raises:
        UsageError: The disassembler does not know it.
    """
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return "x86-64"
    if machine in ("arm64", "aarch64"):
        return "aarch64"
    raise usage_error(f"no disassembler for {machine} here")
