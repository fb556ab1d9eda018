"""Targets of kernels: attributes of functions for another x86 CPU, and threads by the OpenMP runtime."""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import os
import platform
import re
from pathlib import Path
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.lowering.destination_style import KERNEL_NAME
from lhkit.compiler.lowering.legalization import renamed
from lhkit.model.errors import usage_error
from lhkit.model.knob import THREADS_KNOB
from lhkit.model.target import INSTRUCTION_SETS, VECTORS, available_cores, cpu_flags

C_PREFIX = "_mlir_ciface_"
_X86 = ("x86_64", "amd64")
_WITHOUT_FMA = ("sse",)


def check_target(name: str) -> None:
    """Refuse a target that the compiler here makes no code for."""
    machine = platform.machine().lower()
    if name and (name not in INSTRUCTION_SETS or machine not in _X86):
        known = ", ".join(INSTRUCTION_SETS) if machine in _X86 else "this CPU alone"
        raise usage_error(f"no code can be made for the target {name!r} on {machine}", f"There is {known}.")


def check_executable(name: str) -> None:
    """Refuse to execute code for a target whose instructions this CPU does not have."""
    check_target(name)
    if name and (missing := INSTRUCTION_SETS[name].missing):
        advice = f"To look at its code: kernel.assembly(target={name!r}), or kernel.hot_loops(target={name!r})."
        raise usage_error(f"this CPU cannot execute code for {name}: it has no {', '.join(missing)}", advice)


def set_target(module: Any, name: str) -> None:
    """Have the functions of a module in the LLVM dialect, in place, compiled for a target, the kernel once.

    On a target without fused multiply-adds, vectors are multiplied and added, rounded twice, as ``vector.fma``
    is there: the alternative is a call of ``fmaf`` for every element.
    """
    check_target(name)
    _set_attributes(module, name)
    is_without = platform.machine().lower() in _X86 and bool(cpu_flags()) and "fma" not in cpu_flags()
    if name in _WITHOUT_FMA or (not name and is_without):
        _split_vector_fmas(module)


def _set_attributes(module: Any, name: str) -> None:
    # Without features of its own a function has those of the CPU that the engine was made for.
    pairs = (
        (
            ("target-cpu", INSTRUCTION_SETS[name].cpu),
            ("target-features", ""),
            ("prefer-vector-width", str(VECTORS[name][0])),
        )
        if name
        else ()
    )
    with ir.Location.unknown(module.context):
        attributes = [ir.ArrayAttr.get([ir.StringAttr.get(word) for word in pair]) for pair in pairs]
        alone = ir.StringAttr.get("noinline")
        for op in module.body.operations:
            if op.operation.name == "llvm.func" and len(op.operation.regions[0].blocks):
                called = symbol_name(op.operation)
                # The engine calls both by wrappers of its own: inlined there too, the kernel would be compiled
                # three times, and for the CPU of the engine.
                is_alone = called == KERNEL_NAME or (bool(name) and called.startswith(C_PREFIX))
                if given := [*attributes, *[alone] * is_alone]:
                    op.operation.attributes["passthrough"] = ir.ArrayAttr.get(given)


def _split_vector_fmas(module: Any) -> None:
    fused = [op for op in walk(module.operation) if op.name == "llvm.intr.fma"]
    for op in [op for op in fused if str(op.results[0].type).startswith("vector<")]:
        renamed(op, "llvm.intr.fmuladd")


_DISTRIBUTION = "intel-openmp"
_LIBRARY = re.compile(r"libiomp5(md)?\.(so|dll|dylib)")
_MEND = "Install it: pip install 'lhkit[openmp]'"


def openmp_library() -> str:
    """Return the path of the OpenMP runtime, loaded for as long as the process lives."""
    path = find_openmp()
    if path is None:
        raise usage_error(f"a kernel on several threads needs the OpenMP runtime of {_DISTRIBUTION}", _MEND)
    try:
        _load(str(path))
    except OSError as error:
        raise usage_error(f"the OpenMP runtime does not load: {error}", _MEND) from None
    return str(path)


def find_openmp() -> Path | None:
    """Return where the OpenMP runtime is installed, or None."""
    try:
        files = importlib.metadata.files(_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = (Path(str(f.locate())).resolve() for f in files if _LIBRARY.fullmatch(f.name))
    return next((path for path in found if path.is_file()), None)


@functools.cache
def _load(path: str) -> ctypes.CDLL:
    """Load the runtime and keep it: its threads outlive the kernel that first asked for them.

    Each is bound to a core of its own: woken up, the system would put it on the core that woke it, where the
    two wait for one another for some milliseconds. The first core is left to this thread, which is not bound.
    """
    added = {name: value for name, value in _BINDING.items() if name not in os.environ}
    os.environ.update(added)
    try:
        runtime = ctypes.CDLL(path)
        if hasattr(os, "sched_getaffinity"):
            allowed = os.sched_getaffinity(0)
            # The runtime binds this thread too, once, at the first parallel region.
            runtime.GOMP_parallel(_NOTHING, None, len(allowed), 0)
            os.sched_setaffinity(0, allowed)
    finally:
        # Another runtime of this process, or of one that it starts (PyTorch's), would bind its main thread.
        for name in added:
            os.environ.pop(name, None)
    return runtime


_BINDING = {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}
_NOTHING = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _data: None)


def check_threads(threads: int) -> None:
    """Refuse a number of threads for which there are no cores, or a second pool of threads in this process."""
    if threads < 1:
        raise usage_error(f"a kernel on {threads} threads", f"The knob {THREADS_KNOB!r} is at least 1.")
    if threads == 1:
        return
    if threads > (cores := available_cores()):
        raise usage_error(
            f"a kernel on {threads} threads, with {cores} {'core' if cores == 1 else 'cores'} available",
            f"Set the knob {THREADS_KNOB!r} to {cores} at most: more threads than cores wait for one another.",
        )
    others = os.environ.get("OPENBLAS_NUM_THREADS", "1")
    if others != "1":
        raise usage_error(
            f"a kernel on {threads} threads beside numerical libraries on {others} in one process",
            "Idle threads of one would take the cores of the other. Time NumPy's threads in a run of their own,"
            " and the kernel's in one without --threads (Worker(threads=1)).",
        )
