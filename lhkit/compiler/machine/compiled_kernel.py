"""Compiled kernels: the whole way from text to a function that can be called."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import itertools
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from lhkit.compiler.extension.own_op_registry import generation
from lhkit.compiler.interpreter.application import apply_schedule, parse_payload
from lhkit.compiler.ir.bindings import host_module, ir, new_context
from lhkit.compiler.ir.functions import (
    function_ops,
    function_type,
    functions_of,
    symbol_name,
    unusable,
    written_apart,
)
from lhkit.compiler.ir.parsing import failure_in, parse_module, span_of, walk, whole_bytecode
from lhkit.compiler.ir.resource_constants import Data, check_data, handed_over, put_under, write_out_small
from lhkit.compiler.lowering import microkernel_calls
from lhkit.compiler.lowering.destination_style import KERNEL_NAME
from lhkit.compiler.lowering.extent_checks import ExtentCheck, check_extents, extent_checks
from lhkit.compiler.lowering.partial_evaluation import MOVES, bind_arguments, bound_data, split_constant_part
from lhkit.compiler.lowering.pipeline import (
    Progress,
    add_line_tables,
    ignore_progress,
    lower_to_buffers,
    lower_to_llvm,
    lower_to_loops,
)
from lhkit.compiler.lowering.runtime_calls import runtime_symbols
from lhkit.compiler.lowering.target_attributes import C_PREFIX, check_executable, check_threads, openmp_library
from lhkit.compiler.machine.memref_arguments import PreparedCall, descriptor_of
from lhkit.compiler.machine.object_loading import load_object
from lhkit.compiler.memory.buffer_sizes import refuse_huge_buffers
from lhkit.model.errors import Diagnostic, error_for, usage_error
from lhkit.model.knob import THREADS_KNOB
from lhkit.model.printable import shortened
from lhkit.model.signature import Function, Microkernel
from lhkit.worker.requests import Application, Source
from lhkit.worker.shared_arrays import aligned_empty, dtype_named

C_ENTRY = f"{C_PREFIX}{KERNEL_NAME}"
STAGES = ("scheduled", "bufferized", "loops", "llvm")


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides a kernel: payload, function, schedule, optimization level, microkernels, resources.

    Arguments that are ``bound`` are constants of the kernel; ``folded`` is what the payload computes from them
    alone, once it is known, numbered after all arguments. Without ``is_threaded`` it runs on one thread,
    whatever its knobs say. The target is whose instructions it may use; empty for this CPU. ``compile_c`` runs
    the C compiler for microkernels: this process may not be allowed to.
    """

    payload: Source
    function: str
    application: Application | None = None
    opt_level: int = 3
    microkernels: tuple[Microkernel, ...] = ()
    resources: Data = field(default_factory=dict)
    bound: Mapping[int, np.ndarray] = field(default_factory=dict)
    folded: dict[int, np.ndarray] = field(default_factory=dict)
    is_threaded: bool = True
    target: str = ""
    compile_c: microkernel_calls.CompileC = microkernel_calls.no_compiler

    @property
    def sources(self) -> tuple[Source, ...]:
        """Payload, schedule and libraries."""
        return (self.payload, *(self.application.sources if self.application else ()))

    @property
    def data(self) -> Data:
        """The data of constants by the names of their resources, with that of bound arguments."""
        return {**self.resources, **bound_data({**self.bound, **self.folded})}

    @property
    def threads(self) -> int:
        """On how many threads parallel loops run: the value of the schedule's knob of that name, else 1."""
        if self.application is None or not self.is_threaded:
            return 1
        value = self.application.knobs.get(THREADS_KNOB, 1)
        return value if isinstance(value, int) else 1


@dataclass(eq=False)
class CompiledKernel:
    """A function in memory, with what has to live as long as it.

    ``code`` is its execution engine and the address of the entry; ``weights`` what it takes after the
    arguments: data of constants, and ``packed_bytes`` of what was computed from constants; ``compile_ns`` the
    time from text to machine code; ``written_apart`` the numbers of arguments that may not share memory.
    """

    function: Function
    recipe: Recipe
    code: tuple[Any, int]
    linked: microkernel_calls.LinkedMicrokernels
    checks: Sequence[ExtentCheck]
    weights: Sequence[np.ndarray]
    compile_ns: int = 0
    packed_bytes: int = 0
    written_apart: Sequence[int] = ()

    @property
    def threads(self) -> int:
        """On how many threads it runs."""
        return self.recipe.threads

    def prepare(
        self, arguments: Sequence[np.ndarray | np.generic], results: Sequence[np.ndarray | np.dtype[Any]]
    ) -> PreparedCall:
        """Return a call with these arguments (scalars as NumPy scalars) that writes to these results.

        Bound arguments may all be left out; what is given for them is not read. A result of dynamic shape,
        which the call returns, is given by its dtype.

        Raises:
            UsageError: The extents of the arguments do not fit one another, or some share memory that may not.
        """
        bound = self.recipe.bound
        if len(arguments) < len(self.function.arguments):
            given = iter(arguments)
            places = range(len(self.function.arguments))
            arguments = [bound[i] if i in bound else next(given) for i in places]
        check_extents(self.checks, [np.shape(a) for a in arguments], self.recipe.sources)
        self._check_apart(arguments)
        passed: list[Any] = []
        owned: list[Any] = [*results]
        for i, (value, type_) in enumerate(zip(arguments, self.function.arguments, strict=True)):
            if i in bound:
                continue
            array = np.asarray(value)
            owned.append(array)
            passed.append(array if type_.kind == "scalar" else descriptor_of(array, type_.offset or 0))
        passed += [descriptor_of(a) for a in (*self.weights, *results) if isinstance(a, np.ndarray)]
        pairs = zip(results, self.function.results, strict=True)
        returned = [(len(t.shape), r) for r, t in pairs if isinstance(r, np.dtype)]
        return PreparedCall(self.code[1], passed, returned, (self, owned), self.linked.failing)

    def _check_apart(self, arguments: Sequence[np.ndarray | np.generic]) -> None:
        for written, (i, other) in itertools.product(self.written_apart, enumerate(arguments)):
            if i != written and np.may_share_memory(np.asarray(arguments[written]), np.asarray(other)):
                what = f"arguments {min(i, written)} and {max(i, written)} share memory"
                why = f"argument {written} is written, and the schedule takes it to be apart"
                raise usage_error(
                    f"{what}: {why}", "Give it an array of its own, or compile without a schedule."
                )


def build_kernel(
    recipe: Recipe,
    progress: Progress = ignore_progress,
    *,
    look: Callable[[Any], None] | None = None,
    symbols: Mapping[str, int] | None = None,
    is_outlined: bool = False,
) -> CompiledKernel:
    """Compile a recipe to a function that can be called here.

    ``look`` is given the last IR that has memrefs; ``symbols`` are addresses of functions to be called in place
    of the process's own. One ``is_outlined`` has its code once: wrappers for callers do not inline it.

    Raises:
        PayloadError, ScheduleError: A stage fails; the failure names stage, op and place.
        UsageError: This CPU cannot execute code for the target.
    """
    started = time.perf_counter_ns()
    with new_context():
        module, function = _scheduled(recipe, progress)
        kernel = kernel_of(
            module, function, recipe, progress, look=look, symbols=symbols, is_outlined=is_outlined
        )
    kernel.compile_ns = time.perf_counter_ns() - started
    return kernel


def kernel_of(
    module: Any,
    function: Function,
    recipe: Recipe,
    progress: Progress = ignore_progress,
    *,
    look: Callable[[Any], None] | None = None,
    symbols: Mapping[str, int] | None = None,
    object_code: bytes = b"",
    is_outlined: bool = False,
) -> CompiledKernel:
    """Return the kernel of a scheduled payload, which is used up; how long all of it took is not known here.

    The arguments are those of `build_kernel`; ``object_code`` is what `object_of` returned for this payload.
    """
    check_threads(recipe.threads)
    check_executable(recipe.target)
    entry = next(op for op in function_ops(module) if symbol_name(op) == recipe.function)
    apart = written_apart(entry)
    given = len(function.arguments) - len(recipe.bound)
    weights = handed_over(entry, given, recipe.data, recipe.sources)
    part, types = split_constant_part(module, recipe.function, given)
    packed = [] if part is None else _evaluated(part, types, weights, recipe)
    if object_code and (loaded := load_object(object_code, f"_mlir_{C_ENTRY}")) is not None:
        code = loaded
        linked = microkernel_calls.LinkedMicrokernels((), (), recipe.compile_c, recipe.target)
    else:
        slots = _lowered(module, recipe, progress, look)
        if is_outlined:
            _outline(module)
        code, linked = link(module, recipe, slots, progress, symbols)
    checks: Sequence[ExtentCheck] = ()
    if not all(a.is_static for a in function.arguments):
        checks = extent_checks(parse_payload(recipe.payload), function.name)
    packed_bytes = sum(a.nbytes for a in (*packed, *recipe.folded.values()))
    return CompiledKernel(
        function,
        recipe,
        code,
        linked,
        checks,
        (*weights, *packed),
        packed_bytes=packed_bytes,
        written_apart=apart,
    )


def _lowered(
    module: Any, recipe: Recipe, progress: Progress = ignore_progress, look: Callable[[Any], None] | None = None
) -> tuple[microkernel_calls.Slot, ...]:
    slots = _buffered(module, recipe, progress)
    lower_to_loops(module, recipe.sources, progress, threads=recipe.threads, target=recipe.target)
    refuse_huge_buffers(module, recipe.sources)
    if look is not None:
        look(module)
    lower_to_llvm(module, recipe.sources, threads=recipe.threads, target=recipe.target)
    return slots


def _outline(module: Any) -> None:
    """Have the kernel's function called and not inlined, so that its addresses are its own."""
    functions = (op.operation for op in module.body.operations if op.operation.name == "llvm.func")
    own = next(op for op in functions if symbol_name(op) == KERNEL_NAME)
    own.attributes["no_inline"] = ir.UnitAttr.get(module.context)


def object_of(module: Any, function: Function, recipe: Recipe) -> bytes:
    """Return the object file of a scheduled payload, which is used up, for `kernel_of` in another process.

    It is empty where the code calls what is in this process alone: microkernels, clocks and prints, the pool of
    threads.
    """
    check_executable(recipe.target)
    entry = next(op for op in function_ops(module) if symbol_name(op) == recipe.function)
    given = len(function.arguments) - len(recipe.bound)
    handed_over(entry, given, recipe.data, recipe.sources)
    split_constant_part(module, recipe.function, given)
    slots = _lowered(module, recipe)
    if slots or recipe.threads > 1 or runtime_symbols(module):
        return b""
    (engine, _), _linked = link(module, recipe, slots)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.o"
        engine.dump_to_object_file(str(path))
        return path.read_bytes()


def _evaluated(
    part: Any, types: Sequence[tuple[str, tuple[int, ...]]], weights: Sequence[np.ndarray], recipe: Recipe
) -> list[np.ndarray]:
    """Return what the constant part of a kernel computes, which has tensors of these dtypes and shapes."""
    one = dataclasses.replace(recipe, is_threaded=False)
    code, _ = link(part, one, _lowered(part, one))
    results = [aligned_empty(shape, dtype_named(dtype)) for dtype, shape in types]
    PreparedCall(code[1], [descriptor_of(a) for a in (*weights, *results)], (), (code, weights))()
    return results


def lowered_text(recipe: Recipe, stage: str, progress: Progress = ignore_progress) -> str:
    """Return the IR of a recipe at a stage: ``scheduled``, ``bufferized``, ``loops`` or ``llvm``.

    Raises:
        UsageError: There is no such stage.
    """
    if stage not in STAGES:
        raise usage_error(f"there is no stage {stage!r}", f"Stages: {', '.join(STAGES)}.")
    with new_context():
        module, _ = lowered_module(recipe, stage, progress)
        return str(module)


def lowered_module(
    recipe: Recipe, stage: str, progress: Progress = ignore_progress
) -> tuple[Any, tuple[microkernel_calls.Slot, ...]]:
    """Return the module of a recipe at a stage, in the current context, and its open microkernels."""
    key = _key_of(recipe)
    if key in _kept:
        content, function = _kept[key]
        module = parse_module(dataclasses.replace(recipe.payload, content=content))
    else:
        module, function = _scheduled(recipe, progress)
    if stage == "scheduled":
        return module, ()
    split_constant_part(module, recipe.function, len(function.arguments) - len(recipe.bound))
    slots = _buffered(module, recipe, progress)
    if stage in ("loops", "llvm"):
        lower_to_loops(module, recipe.sources, progress, threads=recipe.threads, target=recipe.target)
    if stage == "llvm":
        lower_to_llvm(module, recipe.sources, threads=recipe.threads, target=recipe.target)
    return module, slots


def module_with_lines(
    recipe: Recipe, progress: Progress = ignore_progress
) -> tuple[Any, tuple[microkernel_calls.Slot, ...], str]:
    """Return the module of a recipe in the LLVM dialect with line tables, its microkernels, and the text.

    Lines are those of the bufferized IR's text, which is read again so that every op is where it is written.
    """
    buffered, slots = lowered_module(recipe, "bufferized", progress)
    text = str(buffered)
    module = ir.Module.parse(text)
    lower_to_loops(module, recipe.sources, progress, threads=recipe.threads, target=recipe.target)
    lower_to_llvm(module, recipe.sources, threads=recipe.threads, target=recipe.target)
    add_line_tables(module)
    return module, slots, text


def _buffered(module: Any, recipe: Recipe, progress: Progress) -> tuple[microkernel_calls.Slot, ...]:
    check_data(module, recipe.data, recipe.sources)
    write_out_small(module, recipe.data)
    lower_to_buffers(module, recipe.function, recipe.sources, progress)
    return microkernel_calls.open_slots(module, recipe.sources)


def link(
    module: Any,
    recipe: Recipe,
    slots: Sequence[microkernel_calls.Slot],
    progress: Progress = ignore_progress,
    symbols: Mapping[str, int] | None = None,
) -> tuple[tuple[Any, int], microkernel_calls.LinkedMicrokernels]:
    """Return a lowered module in memory, as (execution engine, address of the entry), and its microkernels.

    Raises:
        PayloadError: LLVM refuses the module.
        UsageError: A microkernel is missing or does not load.
    """
    progress("jit", module)
    put_under(module, recipe.data)
    linked = microkernel_calls.LinkedMicrokernels(slots, recipe.microkernels, recipe.compile_c, recipe.target)
    called = {**runtime_symbols(module), **linked.addresses, **(symbols or {})}
    libraries = [openmp_library()] if recipe.threads > 1 else []
    code = build_engine(module, recipe.sources, recipe.opt_level, C_ENTRY, called, libraries)
    return code, linked


# What schedules made of the last payloads, as bytecode: who compiles a kernel looks at its IR or code next.
# Compiling itself always applies the schedule, which may print.
_MOST_KEPT = 4
_MOST_KEPT_BYTES = 1 << 20
_kept: dict[tuple[object, ...] | None, tuple[bytes, Function]] = {}


def _key_of(recipe: Recipe) -> tuple[object, ...] | None:
    """Return what decides a scheduled payload, or None if there is nothing to keep, or data beside the text."""
    how = recipe.application
    if how is None or recipe.bound or recipe.resources:
        return None
    knobs = repr(sorted(how.knobs.items()))
    return (
        generation(),
        recipe.payload,
        recipe.function,
        how.sources,
        how.entry,
        knobs,
        how.bind,
        how.allowed_passes,
    )


def _keep(recipe: Recipe, module: Any, function: Function) -> None:
    key = _key_of(recipe)
    if key is None or len(recipe.payload.content) > _MOST_KEPT_BYTES:
        return
    _kept.pop(key, None)
    while len(_kept) >= _MOST_KEPT:
        del _kept[next(iter(_kept))]
    content = whole_bytecode(module)
    if len(content) <= _MOST_KEPT_BYTES:
        _kept[key] = (content, function)


def _scheduled(recipe: Recipe, progress: Progress) -> tuple[Any, Function]:
    module, function = unscheduled(recipe)
    if recipe.application is not None:
        progress("apply", module)
        apply_schedule(module, recipe.payload, recipe.application)
        left = [f"@{f.name}" for f in functions_of(module) if not f.is_declaration]
        if f"@{recipe.function}" not in left:
            message = (
                f"the schedule leaves no @{recipe.function} in the payload: it was inlined, renamed or erased"
            )
            advice = f"Functions with a body are now: {', '.join(left) or 'none'}."
            raise error_for(failure_in(recipe.sources, "lowering", message, advice=advice, stage="apply"))
        _keep(recipe, module, function)
    return module, function


def unscheduled(recipe: Recipe) -> tuple[Any, Function]:
    """Return the module of a recipe's payload, in the current context, and the function of it.

    Raises:
        PayloadError: An argument or result has no NumPy equivalent.
    """
    module = parse_payload(recipe.payload)
    function = next(f for f in functions_of(module) if f.name == recipe.function)
    op = next(op for op in function_ops(module) if symbol_name(op) == recipe.function)
    if "sym_visibility" in op.attributes:  # what is private and not called, a schedule may take away
        del op.attributes["sym_visibility"]
    type_ = function_type(op)
    for role, types in (("takes", type_.inputs), ("returns", type_.results)):
        for t in types:
            if (reason := unusable(t)) is not None:
                what = f"@{recipe.function} {role} {shortened(str(t), 120)}: {reason}"
                message = f"{recipe.payload.name} cannot be called from Python: {what} (stage: parse)"
                diagnostics = (Diagnostic("error", what, span_of(op.location)),)
                raise error_for(failure_in(recipe.sources, "lowering", message, diagnostics, stage="parse"))
    if recipe.bound:
        bind_arguments(module, op, recipe.bound)
        _fold_constants(module, op, recipe, len(function.arguments))
    return module, function


def _fold_constants(module: Any, function: Any, recipe: Recipe, first_name: int) -> None:
    """Move the elements of constants where the payload moves them, so that the schedule sees constants."""
    given = len(function_type(function).inputs)
    part, types = split_constant_part(module, recipe.function, given, MOVES)
    if part is None:
        return
    if not recipe.folded:
        recipe.folded.update(enumerate(_evaluated(part, types, (), recipe), first_name + given))
    bind_arguments(module, function, {i - first_name: a for i, a in recipe.folded.items()}, first_name)


# Machine code in memory: the execution engine, and the symbols that it does not find.

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

    ``symbols`` are the addresses of functions that it calls and does not have; ``libraries`` have more of them.

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
