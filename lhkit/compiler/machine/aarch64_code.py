"""AArch64 machine code of a module, by the LLVM that llvmlite brings; it is read and never run."""

from __future__ import annotations

import re
import struct
from typing import Any

from lhkit.compiler.ir.bindings import host_module
from lhkit.model.errors import usage_error

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
