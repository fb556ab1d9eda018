"""Machine code in memory: the execution engine, and the symbols that it does not find."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.diagnostics import span_of
from lhkit.compiler.ir.parsing import failure_in, walk
from lhkit.model.errors import Diagnostic, error_for
from lhkit.worker.requests import Source

_NOT_FOUND = re.compile(r"Symbols not found: \[ (.*?) \]")


def build_engine(
    module: Any,
    sources: Sequence[Source],
    opt_level: int,
    entry: str,
    symbols: Mapping[str, int] | None = None,
    libraries: Sequence[str] = (),
) -> tuple[Any, int]:
    """Return the execution engine of a module in the LLVM dialect, and the address of ``entry`` in it.

    Args:
        module: The module.
        sources: For messages.
        opt_level: LLVM's optimization level.
        entry: A symbol of the module.
        symbols: Addresses of functions that it calls and does not have.
        libraries: Paths of shared libraries with more of them.

    Raises:
        PayloadError: LLVM refuses the module, or it calls a function that is not there; the message names it.
    """
    execution_engine = host_module("execution_engine")
    with tempfile.TemporaryFile() as said:
        try:
            with _errors_into(said):
                engine = execution_engine.ExecutionEngine(module, opt_level=opt_level, shared_libs=[*libraries])
                for name, place in (symbols or {}).items():
                    engine.raw_register_runtime(name, ctypes.c_void_p(place))
                address = engine.raw_lookup(entry)
        except RuntimeError as error:
            raise _refusal(sources, str(error), (Diagnostic("error", str(error)),)) from None
        finally:
            said.seek(0)
            text = said.read().decode(errors="replace")
            sys.stderr.write(text)
    if not address:
        names = [n for found in _NOT_FOUND.findall(text) for n in found.split(", ")]
        diagnostics = tuple(_missing(module, name) for name in names)
        raise _refusal(sources, f"{', '.join(names) or entry} is not there", diagnostics)
    return engine, address


@contextlib.contextmanager
def _errors_into(file: IO[bytes]) -> Iterator[None]:
    """Let what LLVM writes to the standard error go into a file: it is the only place that names symbols."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _missing(module: Any, name: str) -> Diagnostic:
    """Return what to say about a symbol: the first call of it, if one is left in the module."""
    message = f"the function {name} is neither in the payload nor in this process"
    calls = [op for op in walk(module.operation) if op.name == "llvm.call" and "callee" in op.attributes]
    callers = [c for c in calls if ir.FlatSymbolRefAttr(c.attributes["callee"]).value == name]
    return Diagnostic("error", message, span_of(callers[0].location) if callers else None)


def _refusal(sources: Sequence[Source], reason: str, diagnostics: tuple[Diagnostic, ...]) -> Exception:
    message = f"{sources[0].name} cannot be compiled to machine code: {reason} (stage: jit)"
    return error_for(failure_in(sources, "lowering", message, diagnostics, stage="jit"))
