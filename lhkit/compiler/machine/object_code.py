"""Machine code of a kernel, read from the object file.

Bytes become instructions, with what each accesses, where it goes, and the symbols it names.
"""

from __future__ import annotations

import bisect
import dataclasses
import platform
import re
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import capstone
import lief
from elftools.elf.elffile import ELFFile

from lhkit.compiler.ir.bindings import host_module, new_context
from lhkit.compiler.ir.resource_constants import put_under
from lhkit.compiler.lowering.destination_style import KERNEL_NAME
from lhkit.compiler.lowering.pipeline import Progress, ignore_progress
from lhkit.compiler.machine.compiled_kernel import Recipe, link, lowered_module, module_with_lines
from lhkit.model.errors import usage_error
from lhkit.model.instructions import Access, Architecture, Flow, Instruction, MachineCode

# x86 instructions newer than the disassembler: half precision, bfloat16, dot products, and tiles (AMX).


_ARITHMETIC = {0x51: "sqrt", 0x58: "add", 0x59: "mul", 0x5C: "sub", 0x5D: "min", 0x5E: "div", 0x5F: "max"}
_FMA_FORMS = {0x9: "132", 0xA: "213", 0xB: "231"}
_FMA = {6: "fmaddsub{}p", 7: "fmsubadd{}p", 8: "fmadd{}p", 9: "fmadd{}s", 0xA: "fmsub{}p", 0xB: "fmsub{}s"}
_FMA |= {0xC: "fnmadd{}p", 0xD: "fnmadd{}s", 0xE: "fnmsub{}p", 0xF: "fnmsub{}s"}
# By (map, mandatory prefix as the encoding counts it: none, 66, F3, F2; opcode).
_NAMES = {
    (2, 1, 0x50): "vpdpbusd",
    (2, 1, 0x51): "vpdpbusds",
    (2, 1, 0x52): "vpdpwssd",
    (2, 1, 0x53): "vpdpwssds",
    (2, 2, 0x52): "vdpbf16ps",
    (2, 2, 0x72): "vcvtneps2bf16",
    (2, 3, 0x72): "vcvtne2ps2bf16",
    (2, 0, 0x5E): "tdpbuud",
    (2, 1, 0x5E): "tdpbusd",
    (2, 2, 0x5E): "tdpbsud",
    (2, 3, 0x5E): "tdpbssd",
    (2, 2, 0x5C): "tdpbf16ps",
    (2, 3, 0x5C): "tdpfp16ps",
    (2, 3, 0x4B): "tileloadd",
    (2, 1, 0x4B): "tileloaddt1",
    (2, 2, 0x4B): "tilestored",
    (2, 3, 0x49): "tilezero",
    (5, 2, 0x10): "vmovsh",
    (5, 2, 0x11): "vmovsh",
}
_GENERAL = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{i}" for i in range(8, 16)))
# Encoded as the loads are, and the other way round.
_STORES = {(2, 2, 0x4B), (5, 2, 0x11)}
_ACCUMULATING = re.compile(r"vfn?m.*|v?p?t?dp.*")
_THREE_OPERANDS = re.compile(r"vfn?m.*|v?p?t?dp.*|v(?:add|sub|mul|div|min|max|sqrt)s?.*")


@dataclass(frozen=True, slots=True)
class _Head:
    """The prefix of an instruction: opcode map, mandatory prefix, and the bits that extend registers."""

    length: int
    map: int
    prefix: int
    width: int
    reg: int
    index: int
    base: int
    source: int
    is_broadcast: bool = False


def decode_extension(code: bytes, address: int) -> Instruction | None:
    """Return the instruction at the start of ``code``; None if it has no VEX or EVEX prefix or is cut off."""
    head = _head(code)
    if head is None or len(code) < head.length + 2:
        return None
    opcode, modrm, start = code[head.length], code[head.length + 1], head.length + 2
    name = _name(head, opcode)
    letter = "t" if name.startswith("t") else "xyz"[min(head.width, 2)]
    registers: tuple[str, ...] = (f"{letter}mm{head.index * 2 + head.base + (modrm & 7)}",)
    used, access = 0, None
    other = registers[0]
    if modrm >> 6 != 3:
        found = _memory(code, start, modrm, head, 2 if name.endswith("sh") else 16 << head.width)
        if found is None:
            return None
        text, used, registers = found
        is_store = (head.map, head.prefix, opcode) in _STORES
        access, other = Access("store" if is_store else "load", text, registers), f"[{text}]"
    size = start + used + (head.map == 3)  # this map's instructions end with a constant
    if size > len(code):
        return None
    first = f"{letter}mm{head.reg + (modrm >> 3 & 7)}"
    operands, reads, writes = _operands(name, first, f"{letter}mm{head.source}", other, access)
    text = ", ".join(operands)
    last = () if name == "tilezero" else registers
    return Instruction(address, size, name, text, access=access, reads=(*reads, *last), writes=writes)


def _operands(
    name: str, first: str, second: str, other: str, access: Access | None
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return (operands as written, registers read besides those of the last operand, registers written)."""
    if access is not None and access.kind == "store":
        return (other, first), (first,), ()
    if name == "tilezero":
        return (first,), (), (first,)
    if _THREE_OPERANDS.fullmatch(name):
        reads = (first, second) if _ACCUMULATING.fullmatch(name) else (second,)
        order = (first, other, second) if name.startswith("t") else (first, second, other)
        return order, reads, (first,)
    return (first, other), (), (first,)


def _head(code: bytes) -> _Head | None:
    if len(code) > 4 and code[0] == 0x62:
        a, b, c = code[1], code[2], code[3]
        reg = (0 if a & 0x80 else 8) + (0 if a & 0x10 else 16)
        source = (~b >> 3 & 15) + (0 if c & 8 else 16)
        index, base = 0 if a & 0x40 else 8, 0 if a & 0x20 else 8
        return _Head(4, a & 7, b & 3, c >> 5 & 3, reg, index, base, source, bool(c & 0x10))
    if len(code) > 3 and code[0] == 0xC4:
        a, b = code[1], code[2]
        reg, index, base = (0 if a & bit else 8 for bit in (0x80, 0x40, 0x20))
        return _Head(3, a & 31, b & 3, b >> 2 & 1, reg, index, base, ~b >> 3 & 15)
    return None


def _name(head: _Head, opcode: int) -> str:
    if head.map == 5 and opcode in _ARITHMETIC and head.prefix in (0, 2):
        return f"v{_ARITHMETIC[opcode]}{'p' if head.prefix == 0 else 's'}h"
    if head.map == 6 and head.prefix == 1 and opcode >> 4 in _FMA_FORMS and opcode & 15 in _FMA:
        return f"v{_FMA[opcode & 15].format(_FMA_FORMS[opcode >> 4])}h"
    return _NAMES.get((head.map, head.prefix, opcode), f"vex.map{head.map}.{opcode:02x}")


def _memory(
    code: bytes, at: int, modrm: int, head: _Head, operand_bytes: int
) -> tuple[str, int, tuple[str, ...]] | None:
    """Return (address text, bytes after the ModRM byte, registers) of a memory operand."""
    mod, rm = modrm >> 6, modrm & 7
    base, index, scale, used = _GENERAL[head.base + rm], None, 1, 0
    if rm == 4:
        if at >= len(code):
            return None
        sib, used = code[at], 1
        base, scale = _GENERAL[head.base + (sib & 7)], 1 << (sib >> 6)
        index = None if (sib >> 3 & 7) + head.index == 4 else _GENERAL[head.index + (sib >> 3 & 7)]
        rm = sib & 7
    shift_bytes = {0: 4 if rm == 5 else 0, 1: 1, 2: 4}[mod]
    if mod == 0 and rm == 5:
        base = "" if used else "rip"
    raw = code[at + used : at + used + shift_bytes]
    shift = int.from_bytes(raw, "little", signed=True)
    if mod == 1 and code[0] == 0x62:  # EVEX counts short displacements in operands
        element_bytes = 2 if head.map in (5, 6) else 4
        shift *= element_bytes if head.is_broadcast else operand_bytes
    parts = [p for p in (base, f"{index}*{scale}" if index and scale > 1 else index) if p]
    text = " + ".join(parts) + (f" {'-' if shift < 0 else '+'} {abs(shift):#x}" if shift else "")
    return text, used + shift_bytes, tuple(r for r in (base, index) if r)


_STOPS = {"ud2", "hlt", "int3", "udf", "brk"}
_PADDING = {"nop", "int3", "data16 nop", "udf"}
_UNCONDITIONAL = {"jmp", "b", "br"}
_VECTOR_OPERAND = re.compile(r"\b[xyzt]mm\d")
_ARM_VECTOR = re.compile(r"\b(v\d+)\.")
# What a called function may overwrite; the others it has to restore.
_KEPT_BY_CALLS = {"rbx", "rbp", "r12", "r13", "r14", "r15", *(f"x{i}" for i in range(19, 29))}


def disassemble(
    code: bytes,
    architecture: Architecture,
    *,
    address: int = 0,
    relocations: Mapping[int, str] | None = None,
    functions: Mapping[int, str] | None = None,
) -> tuple[Instruction, ...]:
    """Return the instructions of a function that starts at ``address``, without the padding after its end.

    ``relocations`` are the symbols that places in the code are to be filled with, ``functions`` the names of
    functions in the object, both by address.
    """
    instructions = _decode(code, architecture, address)
    while instructions and instructions[-1].mnemonic in _PADDING:
        instructions.pop()
    return tuple(_with_symbols(instructions, relocations or {}, functions or {}))


def _decode(code: bytes, architecture: Architecture, address: int) -> list[Instruction]:
    decoder = _decoder(architecture)
    instructions: list[Instruction] = []
    done = 0
    while done < len(code):
        for raw in decoder.disasm(code[done:], address + done):
            instructions.append(_convert(raw, architecture))
        done = instructions[-1].end - address if instructions else done
        if done < len(code):  # what the disassembler does not know, it stops at
            unknown = _unknown(code[done:], architecture, address + done)
            instructions.append(unknown)
            done += unknown.size
    return instructions


def _unknown(code: bytes, architecture: Architecture, address: int) -> Instruction:
    if architecture == "x86-64" and (found := decode_extension(code, address)) is not None:
        return found
    size = 1 if architecture == "x86-64" else min(4, len(code))
    return Instruction(address, size, ".byte", ", ".join(f"{b:#04x}" for b in code[:size]))


def _decoder(architecture: Architecture) -> Any:
    if architecture == "x86-64":
        decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    else:
        decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    decoder.detail = True
    return decoder


def _convert(raw: Any, architecture: Architecture) -> Instruction:
    flow = _flow(raw)
    reads, writes = _registers(raw)
    target = None
    if flow in ("jump", "branch", "call") and raw.operands:
        last = raw.operands[-1]
        target = int(last.imm) if last.type == capstone.CS_OP_IMM else None
    return Instruction(
        address=raw.address,
        size=raw.size,
        mnemonic=raw.mnemonic,
        operands=raw.op_str,
        flow=flow,
        target=target,
        access=_access(raw, architecture),
        reads=reads,
        writes=writes,
    )


def _registers(raw: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    reads, writes = ([raw.reg_name(r) for r in registers] for registers in raw.regs_access())
    if not reads and not writes and (named := _ARM_VECTOR.findall(raw.op_str)):
        # The disassembler knows newer dot products and half-precision ops by name only; they accumulate.
        return tuple(named), tuple(named[:1])
    return tuple(reads), tuple(writes)


def _flow(raw: Any) -> Flow:
    if raw.mnemonic in _STOPS:
        return "stop"
    if raw.group(capstone.CS_GRP_RET):
        return "return"
    if raw.group(capstone.CS_GRP_CALL):
        return "call"
    if raw.group(capstone.CS_GRP_JUMP):
        return "jump" if raw.mnemonic in _UNCONDITIONAL else "branch"
    return "next"


def _access(raw: Any, architecture: Architecture) -> Access | None:
    """Return what an instruction does to memory; addresses that are only computed are none."""
    memory = next((o for o in raw.operands if o.type == capstone.CS_OP_MEM), None)
    if memory is None or raw.mnemonic.startswith(("lea", "nop", "prefetch", "prfm")):
        return None
    names = [raw.reg_name(r) for r in (memory.mem.base, memory.mem.index) if r]
    if architecture == "x86-64":
        reads, writes = memory.access & capstone.CS_AC_READ, memory.access & capstone.CS_AC_WRITE
        is_first = raw.operands[0].type == capstone.CS_OP_MEM
        # The tables of the disassembler have many vector stores wrong; their destination comes first.
        if _VECTOR_OPERAND.search(raw.op_str) or not (reads or writes):
            reads, writes = not is_first, is_first
    else:
        writes = raw.mnemonic.startswith(("st", "swp", "cas"))
        reads = not raw.mnemonic.startswith("st")
    kind = "both" if reads and writes else "store" if writes else "load"
    _, _, address = raw.op_str.partition("[")
    return Access(kind, address.partition("]")[0], tuple(names))  # type: ignore[arg-type]


def _with_symbols(
    instructions: list[Instruction], relocations: Mapping[int, str], functions: Mapping[int, str]
) -> list[Instruction]:
    """Name what instructions refer to: by relocation, or through the register that holds an address.

    Addresses wait in registers and places of the stack until they are called; these are followed in the
    order of the code.
    """
    held: dict[str, str] = {}
    named: list[Instruction] = []
    for instruction in instructions:
        inside = range(instruction.address, instruction.end)
        symbol = next((relocations[a] for a in inside if a in relocations), None)
        if instruction.flow in ("call", "jump") and symbol is None:
            place = instruction.operands.rpartition("ptr ")[2]
            symbol = held.get(place) or functions.get(instruction.target or -1)
        _follow(instruction, symbol, held)
        named.append(instruction if symbol is None else replace(instruction, symbol=symbol))
    return named


def _follow(instruction: Instruction, symbol: str | None, held: dict[str, str]) -> None:
    """Take note of which registers and stack places hold the address of a symbol after an instruction."""
    if instruction.flow == "call":
        for place in [p for p in held if p not in _KEPT_BY_CALLS and not p.startswith("[")]:
            del held[place]
        return
    destination, _, source = (part.strip() for part in instruction.operands.partition(", "))
    moved = held.get(source.rpartition("ptr ")[2]) if instruction.mnemonic in ("mov", "ldr") else None
    if instruction.mnemonic == "movk":
        moved = held.get(destination)
    for register in instruction.writes:
        held.pop(register, None)
    if instruction.access is not None and instruction.access.kind != "load":
        held.pop(f"[{instruction.access.address}]", None)
    value = symbol or moved
    if value is not None and instruction.flow == "next":
        held[destination.rpartition("ptr ")[2]] = value


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
    if recipe.target == NEON and not is_foreign:  # On ARM it is the host's.
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
        instructions = _read_functions(path, KERNEL_NAME, architecture)
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


def _parsed(path: Path) -> tuple[Any, Any]:
    """Return an ELF, Mach-O or COFF object, and its section of code."""
    binary: Any = lief.parse(str(path))
    if binary is None:
        raise usage_error("the object file has a format that cannot be read here")
    return binary, next(s for s in binary.sections if s.name in _TEXT_SECTIONS and s.size)


def function_places(path: Path) -> tuple[dict[str, int], int]:
    """Return where each function begins in the section of an ELF object's code, and the size of the section."""
    binary, text = _parsed(path)
    return {str(s.name): int(s.value) for s in binary.symbols if s.is_function and s.shndx}, int(text.size)


def _read_functions(path: Path, name: str, architecture: Architecture) -> tuple[Instruction, ...]:
    """Return the instructions of a function of an object, then of those that it calls."""
    binary, text = _parsed(path)
    code = bytes(text.content)
    # Mach-O puts an underscore before every name; wrappers of MLIR's begin with one of their own.
    prefix = "_" if isinstance(binary, lief.MachO.Binary) else ""
    functions = {int(s.value): str(s.name).removeprefix(prefix) for s in binary.symbols if name in str(s.name)}
    if isinstance(binary, lief.ELF.Binary):  # with types of symbols, so that no label is taken for a function
        functions |= {int(s.value): str(s.name) for s in binary.symbols if s.is_function and s.shndx}
    relocations = {
        int(r.address): str(r.symbol.name).removeprefix(prefix)
        for r in binary.relocations
        if getattr(r, "symbol", None) and getattr(getattr(r, "section", None), "name", text.name) == text.name
    }
    starts = {n: a for a, n in functions.items()}
    read: dict[str, tuple[Instruction, ...]] = {}
    waiting = [name]
    while waiting:
        start = starts[waiting[0]]
        # Mach-O and COFF symbols have no size: a function ends where the next one starts.
        end = min((a for a in functions if a > start), default=len(code))
        instructions = disassemble(
            code[start:end], architecture, address=start, relocations=relocations, functions=functions
        )
        read[waiting.pop(0)] = instructions
        called = dict.fromkeys(i.symbol for i in instructions if i.flow == "call" and i.symbol in starts)
        waiting += [n for n in called if n is not None and n not in read and n not in waiting]
    return tuple(i for instructions in read.values() for i in instructions)


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
