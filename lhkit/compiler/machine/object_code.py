"""Machine code of a kernel, as a disassembler reads it from the object file."""

from __future__ import annotations

import bisect
import dataclasses
import platform
import re
import struct
import tempfile
from pathlib import Path
from typing import Any

import lief
from elftools.elf.elffile import ELFFile

from lhkit.compiler.ir.bindings import host_module, new_context
from lhkit.compiler.ir.resource_constants import put_under
from lhkit.compiler.lowering.destination_style import KERNEL_NAME
from lhkit.compiler.lowering.pipeline import Progress, ignore_progress
from lhkit.compiler.machine.compiled_kernel import Recipe, link, lowered_module, module_with_lines
from lhkit.compiler.machine.disassembly import disassemble
from lhkit.model.errors import usage_error
from lhkit.model.instructions import Architecture, Instruction, MachineCode

NEON = "neon"
# The core of Cortex-A76 and of AWS Graviton 2: four-wide, two 128-bit vector units.
_CPU, _TRIPLE = "neoverse-n1", "aarch64-unknown-linux-gnu"

# What LLVM 23 prints of floats that have no short decimal form: their bits, infinities by name; and a decimal
# form that a float is only the nearest number to.
NEW_LITERAL = re.compile(
    r"\b(half|bfloat|float|double) (?:f0x([0-9A-Fa-f]+)|([+-])(inf|qnan))\b|\b(float) (-?\d+\.\d+e[+-]\d+)"
)
_OLD_PREFIX = {"half": "0xH", "bfloat": "0xR", "float": "0x", "double": "0x"}
_NAMED_BITS = {
    "half": {"inf": 0x7C00, "qnan": 0x7E00},
    "bfloat": {"inf": 0x7F80, "qnan": 0x7FC0},
    "float": {"inf": 0x7F800000, "qnan": 0x7FC00000},
    "double": {"inf": 0x7FF << 52, "qnan": 0xFFF << 51},
}
_BITS_OF = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


def older_literal(match: re.Match[str]) -> str:
    """Return a float as LLVM 22 reads it: its bits, those of the equal double for ``float``."""
    type_, digits, sign, name, decimal_type, decimal = match.groups()
    if decimal:
        type_, digits = decimal_type, struct.pack(">f", float(decimal)).hex()
    width = _BITS_OF[type_]
    bits = int(digits, 16) if digits else _NAMED_BITS[type_][name] | (sign == "-") << width - 1
    if type_ == "float":
        (value,) = struct.unpack("<f", struct.pack("<I", bits))
        (bits,), width = struct.unpack("<Q", struct.pack("<d", value)), 64
    return f"{type_} {_OLD_PREFIX[type_]}{bits:0{width // 4}X}"


def aarch64_object(module: Any, opt_level: int) -> bytes:
    """Return the ELF object of a module in the LLVM dialect, compiled for a Neoverse N1.

    The passes are those of the execution engine: LLVM's default pipeline of the level.

    Raises:
        UsageError: llvmlite is not installed, or its LLVM does not read the module.
    """
    try:
        from llvmlite import binding
    except ImportError:
        what = "code for neon is made by llvmlite, which is not installed"
        raise usage_error(what, "pip install 'lhkit[arm]' adds it.") from None
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    text = host_module("_mlir_libs._mlirDialectsLLVM").translate_module_to_llvmir(module.operation)
    try:
        parsed = binding.parse_assembly(NEW_LITERAL.sub(older_literal, text))
    except RuntimeError as error:
        version = ".".join(map(str, binding.llvm_version_info))
        raise usage_error(f"llvmlite's LLVM {version} does not read the kernel: {error}") from None
    target = binding.Target.from_triple(_TRIPLE)
    machine = target.create_target_machine(cpu=_CPU, opt=opt_level, reloc="pic")
    parsed.triple, parsed.data_layout = _TRIPLE, str(machine.target_data)
    options = binding.create_pipeline_tuning_options(speed_level=opt_level)
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(parsed, builder)
    return bytes(machine.emit_object(parsed))


_TEXT_SECTIONS = (".text", ".ltext", "__text")


def machine_code(
    recipe: Recipe, progress: Progress = ignore_progress, *, with_lines: bool = False
) -> MachineCode:
    """Return the instructions of a kernel's function, as compiled for its target and one thread.

    ``with_lines`` adds the bufferized IR, and the line of it that each instruction comes from. The instructions
    are the same; LLVM keeps lines where it can (hoisted and merged code has none).

    Raises:
        UsageError: The disassembler does not know this machine, or there is no compiler for the target.
    """
    is_foreign = recipe.target == NEON and host_architecture() != "aarch64"
    architecture: Architecture = "aarch64" if is_foreign else host_architecture()
    # The share of a thread would be a function of its own; the loops are the same.
    recipe = dataclasses.replace(recipe, is_threaded=False)
    if recipe.target == NEON:  # Up to here the lowering is the same for every CPU, and on ARM it is the host's.
        recipe = dataclasses.replace(recipe, target="")
    with new_context(), tempfile.TemporaryDirectory() as folder:
        text = ""
        if with_lines:
            module, slots, text = module_with_lines(recipe, progress)
        else:
            module, slots = lowered_module(recipe, "llvm", progress)
        path = Path(folder) / "kernel.o"
        if is_foreign:
            put_under(module, recipe.resources)
            path.write_bytes(aarch64_object(module, recipe.opt_level))
        else:
            # Code is made when first asked for.
            (engine, _), _linked = link(module, recipe, slots, progress)
            engine.dump_to_object_file(str(path))
        instructions = _read_function(path, KERNEL_NAME, architecture)
        rows = _line_table(path) if with_lines else []
        lines = lines_by_address(rows, [i.address for i in instructions])
    if lines:
        instructions = tuple(dataclasses.replace(i, line=lines.get(i.address)) for i in instructions)
    return MachineCode(architecture, KERNEL_NAME, instructions, text)


def assembly_text(recipe: Recipe, progress: Progress = ignore_progress) -> str:
    """Return the assembly of a kernel's function: address, instruction, operands and symbol, one per line."""
    return "".join(_line(i) + "\n" for i in machine_code(recipe, progress).instructions)


def _line(instruction: Instruction) -> str:
    line = f"{instruction.address:8x}: {instruction.mnemonic:<16} {instruction.operands}".rstrip()
    return f"{line:<60} ; {instruction.symbol}" if instruction.symbol else line


def _read_function(path: Path, name: str, architecture: Architecture) -> tuple[Instruction, ...]:
    """Return the instructions of a function of an ELF, Mach-O or COFF object."""
    binary: Any = lief.parse(str(path))
    if binary is None:
        raise usage_error("the object file has a format that cannot be read here")
    text = next(s for s in binary.sections if s.name in _TEXT_SECTIONS and s.size)
    code = bytes(text.content)
    # Mach-O puts an underscore before every name; wrappers of MLIR's begin with one of their own.
    prefix = "_" if isinstance(binary, lief.MachO.Binary) else ""
    functions = {int(s.value): str(s.name).removeprefix(prefix) for s in binary.symbols if name in str(s.name)}
    # Mach-O and COFF symbols have no size: a function ends where the next one starts.
    start = next(a for a, n in functions.items() if n == name)
    end = min((a for a in functions if a > start), default=len(code))
    relocations = {
        int(r.address): str(r.symbol.name).removeprefix(prefix)
        for r in binary.relocations
        if getattr(r, "symbol", None) and getattr(getattr(r, "section", None), "name", text.name) == text.name
    }
    return disassemble(
        code[start:end], architecture, address=start, relocations=relocations, functions=functions
    )


def _line_table(path: Path) -> list[tuple[int, int]]:
    """Return (address, line) from the line table of an ELF object, line 0 for code that comes from no line."""
    rows = []
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
        dwarf = ELFFile(file).get_dwarf_info()
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            states = (entry.state for entry in program.get_entries()) if program else ()
            rows += [(s.address, 0 if s.end_sequence else s.line) for s in states if s is not None]
    return rows


def lines_by_address(rows: list[tuple[int, int]], addresses: list[int]) -> dict[int, int]:
    """Return the line of each address that has one: that of the last row at or before it."""
    ordered = sorted(rows, key=lambda row: row[0])
    starts = [address for address, _ in ordered]
    places = ((address, bisect.bisect_right(starts, address) - 1) for address in addresses)
    return {address: ordered[i][1] for address, i in places if i >= 0 and ordered[i][1] > 0}


def host_architecture() -> Architecture:
    """Return the architecture of this machine; an unknown one is a `UsageError`."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return "x86-64"
    if machine in ("arm64", "aarch64"):
        return "aarch64"
    raise usage_error(f"no disassembler for {machine} here")
