"""Microkernels: functions of a payload that C source or a Python function stands in for.

Once the payload has buffers, the body of a function that a schedule marked becomes a declaration. What runs
in its place takes a memref descriptor an argument that was a tensor or memref, and a number where it was one.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lhkit.compiler.extension.own_op_failures import place_in
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import array_type, function_ops, function_type, symbol_name
from lhkit.compiler.ir.parsing import failure_in, span_of
from lhkit.compiler.machine.memref_arguments import array_at
from lhkit.compiler.ops.replace_with_call import MICROKERNEL_MARK
from lhkit.model.errors import Diagnostic, Failure, LhkitError, UsageError, error_for, usage_error
from lhkit.model.signature import ArrayType, Microkernel
from lhkit.model.span import Span
from lhkit.worker.requests import Source

_MESSAGE = re.compile(r"^(.*?):(\d+):(\d+): (?:fatal )?(error|warning|note): (.*)$", re.MULTILINE)
_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "bool": "bool",
    "float16": "_Float16",
    **{f"{u}int{n}": f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)},
}
_C_TYPES: dict[str, Any] = {
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
    **{f"{u}int{n}": getattr(ctypes, f"c_{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
}
# Compiles C source, given path, text, a header and a target, to (path of the library or None, messages).
CompileC = Callable[[str, str, str, str], tuple[str | None, str]]


@dataclass(frozen=True, slots=True)
class Slot:
    """A function that a microkernel stands in for: its name, and its arguments after bufferization."""

    name: str
    arguments: tuple[ArrayType, ...]

    @property
    def symbol(self) -> str:
        """The symbol that compiled code calls."""
        return f"_mlir_ciface_{self.name}"


def _load_c(slot: Slot, microkernel: Microkernel, compile_c: CompileC, target: str) -> tuple[Any, int]:
    """Compile C source and return the library that came out and the address of the function in it."""
    file = microkernel.file
    library, said = compile_c(file, microkernel.text, _c_header(slot), target)
    if library is None:
        raise _refusal(slot, microkernel, said)
    loaded = ctypes.CDLL(library)
    if not hasattr(loaded, slot.name):
        raise usage_error(f"{file} defines no function {slot.name}", f"Expected: {_prototype(slot)}.")
    return loaded, int(ctypes.cast(getattr(loaded, slot.name), ctypes.c_void_p).value or 0)


def no_compiler(file: str, _text: str, _header: str, _target: str) -> tuple[str | None, str]:
    """Compile nothing, where nothing runs the compiler."""
    raise usage_error(f"{file} is C source, and nothing compiles that here")


def _c_header(slot: Slot) -> str:
    """Return the header that declares a microkernel and the types of its arguments."""
    structs = {_struct_name(a): a for a in slot.arguments if a.kind != "scalar"}
    lines = ["#pragma once", "#include <stdbool.h>", "#include <stdint.h>"]
    for struct, argument in structs.items():
        rank = len(argument.shape)
        extents = f" int64_t sizes[{rank}]; int64_t strides[{rank}];" if rank else ""
        element = _C_NAMES[argument.dtype]
        lines.append(
            f"typedef struct {{ {element} *allocated; {element} *aligned; int64_t offset;{extents} }} {struct};"
        )
    return "\n".join([*lines, _prototype(slot), ""])


def _prototype(slot: Slot) -> str:
    for argument in slot.arguments:
        if argument.dtype not in _C_NAMES:
            raise usage_error(f"{slot.name} takes {argument.text}, and C has no {argument.dtype}")
    spelled = [
        f"{_C_NAMES[a.dtype]} arg{i}" if a.kind == "scalar" else f"{_struct_name(a)} *arg{i}"
        for i, a in enumerate(slot.arguments)
    ]
    return f"void {slot.name}({', '.join(spelled) or 'void'});"


def _struct_name(argument: ArrayType) -> str:
    return f"memref_{len(argument.shape)}d_{argument.dtype}"


def _refusal(slot: Slot, microkernel: Microkernel, output: str) -> UsageError:
    file = microkernel.file
    found = [
        Diagnostic(severity, message, Span(file, int(line), int(column)) if path == file else None)
        for path, line, column, severity, message in _MESSAGE.findall(output)
    ]
    said = tuple(d for d in found if d.severity == "error") or tuple(found)
    types = ", ".join(a.text for a in slot.arguments)
    return UsageError(
        Failure(
            kind="usage",
            message=f"{file} is not the microkernel {slot.name} of ({types})",
            diagnostics=said or (Diagnostic("error", output.strip()),),
            advice=f"Expected: {_prototype(slot)}",
            texts=((file, microkernel.text),),
        )
    )


def open_slots(module: Any, sources: Sequence[Source]) -> tuple[Slot, ...]:
    """Turn the functions that microkernels stand in for into declarations, in place, and return them."""
    slots = []
    for function in [f for f in function_ops(module) if MICROKERNEL_MARK in f.attributes]:
        name, type_ = symbol_name(function), function_type(function)
        if list(type_.results):
            returned = ", ".join(map(str, type_.results))
            what = f"{name} would return {returned}; a microkernel writes to its arguments"
            message = f"{sources[0].name} cannot call a microkernel: {what} (stage: bufferize)"
            advice = "Outline what writes to a destination from outside, and nothing that makes a new one."
            diagnostics = (Diagnostic("error", what, span_of(function.location)),)
            failure = failure_in(sources, "lowering", message, diagnostics, stage="bufferize", advice=advice)
            raise error_for(failure)
        slots.append(Slot(name, tuple(array_type(t) for t in type_.inputs)))
        _declare(function)
    return tuple(slots)


def _declare(function: Any) -> None:
    with ir.InsertionPoint(function), function.location:
        ir.Operation.create(
            "func.func",
            regions=1,
            attributes={
                "sym_name": function.attributes["sym_name"],
                "function_type": function.attributes["function_type"],
                "sym_visibility": ir.StringAttr.get("private"),
                "llvm.emit_c_interface": ir.UnitAttr.get(),
            },
        )
    function.erase()


class LinkedMicrokernels:
    """The microkernels of a kernel, in memory."""

    def __init__(
        self, slots: Sequence[Slot], given: Sequence[Microkernel], compile_c: CompileC, target: str = ""
    ) -> None:
        """Load what stands in for each function, compiled for a target (empty: this CPU)."""
        by_name = {m.name: m for m in given}
        names = [s.name for s in slots]
        if unknown := sorted(set(by_name) - set(names)):
            advice = f"Microkernels that are called: {', '.join(names) or 'none'}."
            raise usage_error(f"nothing calls a microkernel {unknown[0]}", advice)
        self._compile_c = compile_c
        self._raised: list[LhkitError] = []
        self._target = target
        self._keep: list[Any] = []
        self.addresses: dict[str, int] = {}
        for slot in slots:
            if slot.name not in by_name:
                advice = f"Give microkernels={{{slot.name!r}: FILE}}, or --microkernel {slot.name}=FILE."
                raise usage_error(f"nothing implements the microkernel {slot.name}", advice)
            self.addresses[slot.symbol] = self._load(slot, by_name[slot.name])

    def _load(self, slot: Slot, microkernel: Microkernel) -> int:
        """Return the address of C code; a Python function is called by it with NumPy arrays."""
        if microkernel.function is None:
            library, address = _load_c(slot, microkernel, self._compile_c, self._target)
            self._keep.append(library)
            return address
        function = _python_function(microkernel)
        types = []
        for argument in slot.arguments:
            if argument.kind == "scalar" and argument.dtype not in _C_TYPES:
                raise usage_error(f"{slot.name} takes {argument.text}, which a Python function cannot be given")
            types.append(_C_TYPES[argument.dtype] if argument.kind == "scalar" else ctypes.c_void_p)

        def call(*values: Any) -> None:
            if self._raised:
                return
            try:
                pairs = zip(slot.arguments, values, strict=True)
                arguments = [v if t.kind == "scalar" else array_at(v, t.shape, _dtype(t)) for t, v in pairs]
                if function(*arguments) is not None:
                    raise TypeError("it returned something; a microkernel writes to its arguments")
            except BaseException as error:  # noqa: BLE001 - must not unwind through compiled code
                self._raised.append(_python_error(microkernel, error))

        callback = ctypes.CFUNCTYPE(None, *types)(call)
        self._keep.append(callback)
        return int(ctypes.cast(callback, ctypes.c_void_p).value or 0)

    @property
    def failing(self) -> Callable[[], None] | None:
        """What raises the error of a microkernel after a call; None where no microkernel is called."""
        return self.check if self._keep else None

    def check(self) -> None:
        """Raise what a Python function raised during the last call."""
        if self._raised:
            raise self._raised.pop()


def _dtype(argument: ArrayType) -> np.dtype[Any]:
    if argument.dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(argument.dtype)


def _python_function(microkernel: Microkernel) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"__name__": Path(microkernel.file).stem, "__file__": microkernel.file}
    try:
        exec(compile(microkernel.text, microkernel.file, "exec"), namespace)
    except SyntaxError as error:
        raise usage_error(f"{microkernel.file} does not parse: {error.msg} (line {error.lineno})") from None
    except BaseException as error:  # noqa: BLE001 - a file of the user's may raise anything
        raise _python_error(microkernel, error) from None
    function = namespace.get(microkernel.function or "")
    if not callable(function):
        raise usage_error(f"{microkernel.file} has no function {microkernel.function!r}")
    return function


def _python_error(microkernel: Microkernel, error: BaseException) -> LhkitError:
    message = f"the microkernel {microkernel.name} raised {type(error).__name__}: {error}"
    return usage_error(message, at=place_in(microkernel.file, error), text=microkernel.text)
