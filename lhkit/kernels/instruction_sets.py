"""Instruction tables: the operation of each mnemonic, for x86 (SSE to AVX-512, AMX) and AArch64 (NEON)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from lhkit.model.instructions import Architecture, Instruction

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

    Attributes:
        kind: ``fma`` (multiplies and adds), other ``arithmetic``, ``division`` (and square root),
            ``shuffle``, ``move`` (of a vector), ``gather`` (or scatter), or ``other``.
        vector_bits: Width of the vectors it works on; 0 for one element.
        flops: Operations on elements.
    """

    kind: Kind
    vector_bits: int = 0
    flops: int = 0


_OTHER = Operation("other")


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
    name, bits = instruction.mnemonic.removeprefix("v"), _x86_bits(instruction)
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
        return Operation("arithmetic", 0 if match[1] == "s" or _is_scalar_conversion(name) else bits)
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


def _is_scalar_conversion(name: str) -> bool:
    return re.search(r"s[hsdi]2|2s[hsdi]|2usi|usi2", name) is not None


def _x86_bits(instruction: Instruction) -> int:
    """Return the width of the widest vector register among the operands."""
    return max((_X86_REGISTERS[m] for m in re.findall(r"\b([xyzt])mm\d", instruction.operands)), default=0)


def _aarch64(instruction: Instruction) -> Operation:
    name, operands = instruction.mnemonic, instruction.operands
    arrangement = _ARM_ARRANGEMENT.search(operands)
    if arrangement is None:
        return _aarch64_scalar(name, operands)
    lanes, width = int(arrangement[1]), _ARM_WIDTHS[arrangement[2]]
    bits = lanes * width
    if name in _ARM_DOTS:
        return Operation("fma", bits, _ARM_DOTS[name] * lanes)
    if _ARM_FMA.fullmatch(name):
        return Operation("fma", bits, 2 * lanes)
    if _ARM_FLOPS.fullmatch(name):
        return Operation("division" if name in ("fdiv", "fsqrt") else "arithmetic", bits, lanes)
    if name.startswith(("ld", "st")):
        return Operation("move", bits)
    if _ARM_INTEGER.fullmatch(name):
        return Operation("arithmetic", bits, lanes)
    if _ARM_OTHER.fullmatch(name) or _ARM_INTEGER_OTHER.fullmatch(name):
        return Operation("arithmetic", bits)
    return Operation("shuffle" if _ARM_SHUFFLE.fullmatch(name) else "move", bits)


def _aarch64_scalar(name: str, operands: str) -> Operation:
    if re.search(r"\bq\d+\b", operands):
        return Operation("move", 128)
    if _ARM_SCALAR.search(operands) is None:
        return _OTHER
    if _ARM_FMA.fullmatch(name):
        return Operation("fma", 0, 2)
    if _ARM_FLOPS.fullmatch(name):
        return Operation("division" if name in ("fdiv", "fsqrt") else "arithmetic", 0, 1)
    return Operation("arithmetic" if _ARM_OTHER.fullmatch(name) else "move")


_OPERATIONS: dict[Architecture, Callable[[Instruction], Operation]] = {"x86-64": _x86, "aarch64": _aarch64}
