"""The functions of MLIR's runner libraries that payloads may call: clocks and prints, and no others.

Upstream they are in ``libmlir_c_runner_utils`` and ``libmlir_runner_utils``, which the bindings come without.
What they print goes where the worker's standard output goes, and so into the answer of the request.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import called_by, dtype_of, function_ops, function_type, symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.lowering.target_attributes import C_PREFIX
from lhkit.worker.shared_arrays import dtype_named

MOST_PRINTED_BYTES = 64 << 10
_CUT = "\n… the rest was cut: a request shows 64 KiB of what its payload prints\n"

_F32, _F64, _I64, _PTR, _I16 = ctypes.c_float, ctypes.c_double, ctypes.c_int64, ctypes.c_void_p, ctypes.c_uint16
# Element types by what names of functions say of them.
_ELEMENTS = {n: n.lower() for n in ("I1", "I8", "I16", "I32", "I64", "F16", "F32", "F64", "BF16")}
_ELEMENTS |= {"Ind": "index", "C32": "complex<f32>", "C64": "complex<f64>"}
# The MLIR type of each function.
SIGNATURES: Mapping[str, str] = {
    "rtclock": "() -> f64",
    "nanoTime": "() -> i64",
    "printF32": "(f32) -> ()",
    "printF64": "(f64) -> ()",
    "printI64": "(i64) -> ()",
    "printU64": "(i64) -> ()",
    **dict.fromkeys(("printOpen", "printClose", "printComma", "printNewline"), "() -> ()"),
    **{f"printMemref{name}": f"(memref<*x{element}>) -> ()" for name, element in _ELEMENTS.items()},
}


def unserved(function: Any) -> str | None:
    """Return why calls of a function without a body cannot be served, or None if they are.

    Memrefs and tensors of known rank are printed too; `cast_printed` makes them unranked.
    """
    name = symbol_name(function)
    if name not in SIGNATURES:
        return "which is declared and has no body"
    declared = _unranked(str(function_type(function)))
    if declared != SIGNATURES[name]:
        return f"which is served as {SIGNATURES[name]} and declared as {function_type(function)}"
    return None


def _unranked(type_: str) -> str:
    """Return a type as text with memrefs in place of tensors, all without rank, layout and memory space."""
    return re.sub(
        r"(?:tensor|memref)<(?:[\d?]+x|\*x)*((?:complex<\w+>|\w+))(?:,[^()]*)?>", r"memref<*x\1>", type_
    )


def cast_printed(module: Any) -> None:
    """Let every print of a memref or tensor take it without its rank, as the functions here do, in place."""
    served = {symbol_name(f): f for f in function_ops(module) if not f.regions[0].blocks}
    for name, function in served.items():
        if not name.startswith("printMemref") or name not in SIGNATURES:
            continue
        for call in [op for op in walk(module.operation) if called_by(op) == name]:
            (value,) = call.operands
            kind = "tensor" if str(value.type).startswith("tensor") else "memref"
            unranked = ir.Type.parse(f"{kind}<*x{ir.ShapedType(value.type).element_type}>")
            if value.type != unranked:
                with ir.InsertionPoint(call), call.location:
                    call.operands[0] = ir.Operation.create(f"{kind}.cast", [unranked], [value]).result
            function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([unranked], []))


def _say(text: str) -> None:
    """Print, up to the limit of a request; the worker empties the file between requests."""
    printed = os.fstat(1).st_size
    if printed >= MOST_PRINTED_BYTES:
        return
    data = text.encode(errors="replace")
    if printed + len(data) >= MOST_PRINTED_BYTES:
        data = data[: MOST_PRINTED_BYTES - printed] + _CUT.encode()
    os.write(1, data)


def memref_text(address: int, rank: int, dtype: np.dtype[Any]) -> str:
    """Return a memref, given by its descriptor, as upstream prints it; what is too long to be shown is cut."""
    words = list((ctypes.c_int64 * (3 + 2 * rank)).from_address(address))
    sizes, strides = words[3 : 3 + rank], words[3 + rank :]
    head = f"rank = {rank} offset = {words[2]} sizes = {sizes} strides = {strides} data = \n"
    parts = [f"Unranked Memref base@ = {words[1]:#x} {head}"]
    room = MOST_PRINTED_BYTES
    for part in _elements(words[1] + words[2] * dtype.itemsize, sizes, strides, dtype, 1):
        parts.append(part)
        room -= len(part)
        if room < 0:
            break
    return "".join(parts) + "\n"


def _elements(
    start: int, sizes: list[int], strides: list[int], dtype: np.dtype[Any], indent: int
) -> Iterator[str]:
    if not sizes:
        value = np.frombuffer(ctypes.string_at(start, dtype.itemsize), dtype)[0]
        scalar = _element_text(value)
        yield f"[{scalar}]" if indent == 1 else scalar
        return
    yield "["
    comma = ",   " if len(sizes) == 1 else ", \n" + " " * indent
    for i in range(sizes[0]):
        if i:
            yield comma
        yield from _elements(start + i * strides[0] * dtype.itemsize, sizes[1:], strides[1:], dtype, indent + 1)
    yield "]"


def _element_text(value: Any) -> str:
    if np.iscomplexobj(value):
        return f"({value.real:g},{value.imag:g})"
    return str(int(value)) if value.dtype.kind in "biu" else f"{float(value):g}"


def _print_memref(dtype: np.dtype[Any]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the print of a memref passed as rank and descriptor, and passed as an address of the two."""

    def of_two(rank: int, descriptor: int) -> None:
        _say(memref_text(descriptor, rank, dtype))

    def of_one(pair: int) -> None:
        rank, descriptor = (ctypes.c_int64 * 2).from_address(pair)
        of_two(rank, descriptor)

    return of_two, of_one


def _short_float(name: str) -> Callable[[int], None]:
    return lambda bits: _say(f"{float(np.array(bits, np.uint16).view(dtype_named(name))):g}")


@functools.cache
def _callbacks() -> dict[str, Any]:
    """Return the functions by symbol, each with its C type; they live as long as the process."""
    c = ctypes.CFUNCTYPE
    plain: dict[str, Any] = {
        "rtclock": c(_F64)(time.perf_counter),
        "nanoTime": c(_I64)(time.perf_counter_ns),
        "printF32": c(None, _F32)(lambda x: _say(f"{x:g}")),
        "printF64": c(None, _F64)(lambda x: _say(f"{x:g}")),
        "printF16": c(None, _I16)(_short_float("float16")),
        "printBF16": c(None, _I16)(_short_float("bfloat16")),
        "printI64": c(None, _I64)(lambda n: _say(str(n))),
        "printU64": c(None, ctypes.c_uint64)(lambda n: _say(str(n))),
        "printString": c(None, ctypes.c_char_p)(lambda text: _say(text.decode(errors="replace"))),
    }
    for name, text in {"Open": "( ", "Close": " )", "Comma": ", ", "Newline": "\n"}.items():
        plain[f"print{name}"] = c(None)(lambda text=text: _say(text))
    found = {**plain, **{C_PREFIX + name: function for name, function in plain.items()}}
    for name, element in _ELEMENTS.items():
        of_two, of_one = _print_memref(dtype_named(dtype_of(element)))
        found[f"printMemref{name}"] = c(None, _I64, _PTR)(of_two)
        found[f"{C_PREFIX}printMemref{name}"] = c(None, _PTR)(of_one)
    return found


def runtime_symbols(module: Any) -> dict[str, int]:
    """Return the addresses of the functions here that a module in the LLVM dialect declares and has not.

    Their declarations say from now on that they do not unwind: without that LLVM writes tables for unwinding.
    """
    functions = [op.operation for op in module.body.operations if op.operation.name == "llvm.func"]
    declared = {symbol_name(f): f for f in functions if not f.regions[0].blocks}
    callbacks = _callbacks() if declared else {}
    found = {}
    for name in sorted(declared.keys() & callbacks.keys()):
        found[name] = ctypes.cast(callbacks[name], ctypes.c_void_p).value or 0
        with declared[name].location:
            flags = (
                list(declared[name].attributes["passthrough"])
                if "passthrough" in declared[name].attributes
                else []
            )
            declared[name].attributes["passthrough"] = ir.ArrayAttr.get([*flags, ir.StringAttr.get("nounwind")])
    return found
