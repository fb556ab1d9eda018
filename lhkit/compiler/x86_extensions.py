"""x86 instructions newer than the disassembler: half precision, bfloat16, dot products, and tiles (AMX).

Without them the disassembly of a kernel would end at the first one. What has no name here still gets its
length, so that what follows is read right.
"""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.model.machine_code import Access, Instruction

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
_STORES = {"tilestored"}


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
    opcode, modrm = code[head.length], code[head.length + 1]
    name = _name(head, opcode)
    width = "t" if name.startswith("t") else "xyz"[min(head.width, 2)]
    destination = f"{width}mm{head.reg + (modrm >> 3 & 7)}"
    start = head.length + 2
    registers: tuple[str, ...]
    access: Access | None
    if modrm >> 6 == 3:
        other, size, registers, access = f"{width}mm{head.index * 2 + head.base + (modrm & 7)}", 0, (), None
        reads: tuple[str, ...] = (other,)
    else:
        found = _memory(code, start, modrm, head, 64 if width == "t" else 16 << head.width)
        if found is None:
            return None
        other, size, registers = found
        access = Access("store" if name in _STORES else "load", other, registers)
        reads, other = registers, f"[{other}]"
    size += start + (head.map == 3)
    if size > len(code):
        return None
    source = f"{width}mm{head.source}"
    operands = [destination, other] if name.startswith("tile") else [destination, source, other]
    accumulates = "fm" in name or "fnm" in name or "dp" in name
    reads = (*((destination,) if accumulates else ()), *(() if len(operands) == 2 else (source,)), *reads)
    writes = () if name in _STORES else (destination,)
    return Instruction(address, size, name, ", ".join(operands), access=access, reads=reads, writes=writes)


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
    element = "h" if head.map in (5, 6) else "?"
    if head.map == 5 and opcode in _ARITHMETIC and head.prefix in (0, 2):
        return f"v{_ARITHMETIC[opcode]}{'p' if head.prefix == 0 else 's'}{element}"
    if head.map == 6 and head.prefix == 1 and opcode >> 4 in _FMA_FORMS and opcode & 15 in _FMA:
        return f"v{_FMA[opcode & 15].format(_FMA_FORMS[opcode >> 4])}{element}"
    return _NAMES.get((head.map, head.prefix, opcode), f"vex.map{head.map}.{opcode:02x}")


def _memory(
    code: bytes, at: int, modrm: int, head: _Head, vector_bytes: int
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
        element = 2 if head.map in (5, 6) else 4
        shift *= element if head.is_broadcast or (head.map in (5, 6) and head.prefix == 2) else vector_bytes
    parts = [p for p in (base, f"{index}*{scale}" if index and scale > 1 else index) if p]
    text = " + ".join(parts) + (f" {'-' if shift < 0 else '+'} {abs(shift):#x}" if shift else "")
    return text, used + shift_bytes, tuple(r for r in (base, index) if r)
