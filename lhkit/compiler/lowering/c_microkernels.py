"""Microkernels in C: a header that declares them, and the messages of the system's compiler with places."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from typing import Any

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.failure import Diagnostic, Failure
from lhkit.model.signature import ArrayType
from lhkit.model.span import Span

_MESSAGE = re.compile(r"^(.*?):(\d+):(\d+): (?:fatal )?(error|warning|note): (.*)$", re.MULTILINE)
_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "bool": "bool",
    "float16": "_Float16",
    **{f"{u}int{n}": f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)},
}


# Compiles C source, given path, text, a header and a target, to (path of the library or None, messages).
CompileC = Callable[[str, str, str, str], tuple[str | None, str]]


def load_c_microkernel(
    name: str, arguments: Sequence[ArrayType], file: str, text: str, compile_c: CompileC, target: str = ""
) -> tuple[Any, int]:
    """Compile C source and return the library that came out and the address of a function in it.

    Args:
        name: The function's name.
        arguments: Its arguments, which the source has to declare as `c_header` does.
        file: Path of the source, for messages and ``#include``.
        text: The source.
        compile_c: Runs the compiler.
        target: Whose instructions it may use; empty for this CPU's.

    Raises:
        UsageError: No compiler, or it refuses the source; with its messages.
    """
    library, said = compile_c(file, text, c_header(name, arguments), target)
    if library is None:
        raise _refusal(name, arguments, (file, text), said)
    loaded = ctypes.CDLL(library)
    if not hasattr(loaded, name):
        raise usage_error(f"{file} defines no function {name}", f"It is to be {prototype(name, arguments)}.")
    return loaded, int(ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value or 0)


def no_compiler(file: str, _text: str, _header: str, _target: str) -> tuple[str | None, str]:
    """Compile nothing, where nothing runs the compiler.

    Raises:
        UsageError: Always.
    """
    raise usage_error(f"{file} is C source, and nothing compiles that here")


def c_header(name: str, arguments: Sequence[ArrayType]) -> str:
    """Return the header that declares a microkernel and the types of its arguments."""
    structs = {_struct_name(a): a for a in arguments if a.kind != "scalar"}
    lines = ["#pragma once", "#include <stdbool.h>", "#include <stdint.h>"]
    for struct, argument in structs.items():
        rank = len(argument.shape)
        extents = f" int64_t sizes[{rank}]; int64_t strides[{rank}];" if rank else ""
        element = _C_NAMES[argument.dtype]
        lines.append(
            f"typedef struct {{ {element} *allocated; {element} *aligned; int64_t offset;{extents} }} {struct};"
        )
    return "\n".join([*lines, prototype(name, arguments), ""])


def prototype(name: str, arguments: Sequence[ArrayType]) -> str:
    """Return how a microkernel is declared in C."""
    for argument in arguments:
        if argument.dtype not in _C_NAMES:
            raise usage_error(f"{name} takes {argument.text}, and C has no {argument.dtype}")
    spelled = [
        f"{_C_NAMES[a.dtype]} arg{i}" if a.kind == "scalar" else f"{_struct_name(a)} *arg{i}"
        for i, a in enumerate(arguments)
    ]
    return f"void {name}({', '.join(spelled) or 'void'});"


def _struct_name(argument: ArrayType) -> str:
    return f"memref_{len(argument.shape)}d_{argument.dtype}"


def _refusal(name: str, arguments: Sequence[ArrayType], source: tuple[str, str], output: str) -> UsageError:
    file, text = source
    found = []
    for path, line, column, severity, message in _MESSAGE.findall(output):
        place = Span(file, int(line), int(column)) if path == file else None
        found.append(Diagnostic(severity, message, place))
    said = tuple(d for d in found if d.severity == "error") or tuple(found)
    types = ", ".join(a.text for a in arguments)
    return UsageError(
        Failure(
            kind="usage",
            message=f"{file} is not the microkernel {name} of ({types})",
            diagnostics=said or (Diagnostic("error", output.strip()),),
            advice=f"It is to be {prototype(name, arguments)}",
            texts=((file, text),),
        )
    )
