"""Bytes to instructions, with what each accesses, where it goes, and the symbols it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import capstone

from lhkit.compiler.machine.x86_extensions import decode_extension
from lhkit.model.instructions import Access, Architecture, Flow, Instruction

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
    """Return the instructions of a function, without the padding after its end.

    Args:
        code: The bytes of the function.
        architecture: Whose instructions they are.
        address: Address of the first byte.
        relocations: The symbol that each place in the code is to be filled with, by address.
        functions: Names of functions by address, for calls within the object.
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
