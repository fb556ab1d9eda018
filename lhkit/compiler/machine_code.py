"""Machine code of a kernel, as a disassembler reads it from the object file."""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path

import capstone
import lief

from lhkit.compiler.bindings import new_context, object_code
from lhkit.compiler.destination import KERNEL_NAME
from lhkit.compiler.jit import build_engine
from lhkit.compiler.kernels import C_ENTRY, Recipe, lowered_module
from lhkit.compiler.lowering import Progress, ignore_progress
from lhkit.model.errors import usage_error

_TEXT_SECTIONS = (".text", ".ltext", "__text")


def assembly_text(recipe: Recipe, progress: Progress = ignore_progress) -> str:
    """Return the assembly of a kernel's function: address, instruction and operands, a line each.

    Raises:
        UsageError: The disassembler does not know this machine.
    """
    disassembler = _disassembler()
    address, code = _function_code(recipe, progress)
    lines = (
        f"{a:8x}: {name:<16} {operands}" for a, _, name, operands in disassembler.disasm_lite(code, address)
    )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _function_code(recipe: Recipe, progress: Progress) -> tuple[int, bytes]:
    """Return address and bytes of the kernel's function in its object file."""
    with new_context():
        module = lowered_module(recipe, "llvm", progress)
        progress("jit", module)
        # Code is made when first asked for.
        engine, _ = build_engine(module, recipe.sources, recipe.opt_level, C_ENTRY)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernel.o"
            object_code(engine, str(path))
            return _text_of_symbol(path, KERNEL_NAME)


def _text_of_symbol(path: Path, name: str) -> tuple[int, bytes]:
    """Return (offset in its section, bytes) of a function in an ELF, Mach-O or COFF object."""
    binary = lief.parse(str(path))
    if binary is None:
        raise usage_error("the object file has a format that cannot be read here")
    text = next(bytes(s.content) for s in binary.sections if s.name in _TEXT_SECTIONS and s.size)
    # Mach-O and COFF symbols have no size: a function ends where the next one starts.
    starts = sorted({int(s.value) for s in binary.symbols if name in str(s.name)} | {len(text)})
    start = next(int(s.value) for s in binary.symbols if str(s.name).lstrip("_") == name)
    return start, text[start : next(end for end in starts if end > start)]


def _disassembler() -> capstone.Cs:
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    if machine in ("arm64", "aarch64"):
        return capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    raise usage_error(f"no disassembler for {machine} here")
