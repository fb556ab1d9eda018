"""From a scheduled payload to LLVM, by stages, with the stage and the op named where it fails."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lhkit.compiler.ir.bindings import interpreter, ir
from lhkit.compiler.ir.functions import function_ops, symbol_name
from lhkit.compiler.ir.parsing import (
    from_flattened,
    from_structured,
    names_and_types,
    op_names,
    span_of,
    walk,
)
from lhkit.compiler.ir.schedule_modules import SEQUENCE_MARK, sequence_ops
from lhkit.compiler.lowering.destination_style import (
    compute_in_destinations,
    keep_destinations_apart,
    make_kernel_entry,
    show_writes_to_destinations,
    started_destinations,
)
from lhkit.compiler.lowering.dot_products import multiply_by_dot_products
from lhkit.compiler.lowering.forall_slices import keep_carried_values_apart, keep_iterations_apart
from lhkit.compiler.lowering.legalization import (
    EXTREMES,
    add_conversions,
    expand_strided_copies,
    extend_by_shifts,
    keep_stack_small,
    lowering_error,
    move_as_integers,
    narrow_index_vectors,
    refused_op,
    widen_narrow_integers,
)
from lhkit.compiler.lowering.pass_steps import rewrite, run_passes
from lhkit.compiler.lowering.prefetches import insert_marked_prefetches
from lhkit.compiler.lowering.row_copies import vectorize_row_copies
from lhkit.compiler.lowering.runtime_calls import cast_printed, unserved
from lhkit.compiler.lowering.streaming_stores import stream_marked_results
from lhkit.compiler.lowering.target_attributes import set_target
from lhkit.model.errors import Diagnostic
from lhkit.model.printable import shortened
from lhkit.worker.requests import Source

_ANY = "!transform.any_op"


# Transforms of ``%op``, each op of the name, and patterns for functions, that write out ops without a lowering.
_WINOGRAD = f"transform.structured.decompose_winograd_op %op : ({_ANY}) -> {_ANY}"
_TRANSFORMS = {
    "linalg.softmax": f"transform.structured.decompose_interface %op : ({_ANY}) -> {_ANY}",
    "linalg.pack": f'%typed = transform.cast %op : {_ANY} to !transform.op<"linalg.pack">\n'
    'transform.structured.lower_pack %typed : (!transform.op<"linalg.pack">) -> (!transform.op<"tensor.pad">,'
    ' !transform.op<"tensor.expand_shape">, !transform.op<"linalg.transpose">)',
    "linalg.unpack": f'%typed = transform.cast %op : {_ANY} to !transform.op<"linalg.unpack">\n'
    'transform.structured.lower_unpack %typed : (!transform.op<"linalg.unpack">) -> ('
    '!transform.op<"tensor.empty">, !transform.op<"linalg.transpose">, !transform.op<"tensor.collapse_shape">,'
    ' !transform.op<"tensor.extract_slice">, !transform.op<"linalg.copy">)',
    "linalg.winograd_filter_transform": _WINOGRAD,
    "linalg.winograd_input_transform": _WINOGRAD,
    "linalg.winograd_output_transform": _WINOGRAD,
}
_PATTERNS = {
    "tensor.concat": "transform.apply_patterns.tensor.decompose_concat",
    "vector.scan": "transform.apply_patterns.vector.lower_scan",
}


def _steps(name: str) -> str:
    matched = name if name in _TRANSFORMS else "func.func"
    match = f'%ops = transform.structured.match ops{{["{matched}"]}} in %root : ({_ANY}) -> {_ANY}\n'
    if name in _TRANSFORMS:
        return f"{match}transform.foreach %ops : {_ANY} {{\n^bb0(%op: {_ANY}):\n{_TRANSFORMS[name]}\n}}\n"
    return f"{match}transform.apply_patterns to %ops {{\n{_PATTERNS[name]}\n}} : {_ANY}\n"


def _decompose(module: Any) -> None:
    """Write out, in place, ops that have no lowering of their own, such as ``linalg.softmax``."""
    for name in op_names(module.operation) & (_TRANSFORMS.keys() | _PATTERNS.keys()):
        schedule = ir.Module.parse(
            f"module attributes {{{SEQUENCE_MARK}}} {{\n"
            f"transform.named_sequence @decompose(%root: {_ANY} {{transform.readonly}}) {{\n"
            f"{_steps(name)}transform.yield\n}}}}"
        )
        interpreter.apply_named_sequence(module.operation, next(iter(sequence_ops(schedule))), schedule)


def _prepare(module: Any, function: str, sources: Sequence[Source]) -> None:
    """Reduce a payload, in place, to the entry of a kernel and what it calls, ready for bufferization."""
    rewrite(make_kernel_entry, module, function)
    run_passes(module, "symbol-dce")
    _refuse_sparse(module, sources)
    _refuse_external_calls(module, sources)
    rewrite(cast_printed, module)
    if any(len(f.regions[0].blocks) > 1 for f in function_ops(module)):
        # Deallocation takes no loops of branches; as structured control flow they are fine.
        run_passes(module, "lift-cf-to-scf")
        rewrite(_give_poison_a_buffer, module)
    run_passes(module, "func.func(convert-elementwise-to-linalg,lower-vector-mask)")
    rewrite(_drop_deallocations, module)
    try:
        rewrite(_decompose, module)
    except ValueError as error:
        diagnostics = from_flattened(str(error))
        raise lowering_error(sources, "an op cannot be written out", diagnostics, "bufferize") from None


def _drop_deallocations(module: Any) -> None:
    """Erase, in place, what frees buffers: every one is freed after its last use anyway."""
    for op in [o for o in walk(module.operation) if o.name == "memref.dealloc"]:
        op.erase()


def _give_poison_a_buffer(module: Any) -> None:
    """Turn tensors that are never looked at, which lifting leaves, into empty ones: they bufferize."""
    for op in [o for o in walk(module.operation) if o.name == "ub.poison"]:
        type_ = op.results[0].type
        if not isinstance(type_, ir.RankedTensorType):
            continue
        index = ir.IndexType.get()
        with ir.InsertionPoint(op), op.location:
            zero = ir.Operation.create("arith.constant", [index], [], {"value": ir.IntegerAttr.get(index, 0)})
            sizes = [zero.result for i in range(type_.rank) if type_.is_dynamic_dim(i)]
            empty = ir.Operation.create("tensor.empty", [type_], sizes)
        op.results[0].replace_all_uses_with(empty.result)
        op.erase()


_SPARSE = "#sparse_tensor"
_SPARSE_ADVICE = (
    "Nothing here compiles sparse storage, and bufferization would read it as dense: leave the encoding out of"
    " the type, or run MLIR's --sparsifier first and load the memrefs that it gives."
)


def _refuse_sparse(module: Any, sources: Sequence[Source]) -> None:
    """Refuse sparse encodings, which bufferization would drop: the op would be computed as a dense one."""
    if not any(_SPARSE in type_ for type_ in names_and_types(module.operation)[1]):
        return
    op = next(op for op in walk(module.operation) if any(_SPARSE in str(r.type) for r in op.results))
    sparse = next(str(r.type) for r in op.results if _SPARSE in str(r.type))
    what = f"{op.name} gives a sparse tensor, {shortened(sparse, 120)}"
    raise refused_op(sources, what, op, "bufferize", advice=_SPARSE_ADVICE)


def _refuse_external_calls(module: Any, sources: Sequence[Source]) -> None:
    declared = [f for f in function_ops(module) if not f.regions[0].blocks]
    external = {symbol_name(f): reason for f in declared if (reason := unserved(f)) is not None}
    attributes = {"func.call": "callee", "func.constant": "value"}
    for op in [o for o in walk(module.operation) if o.name in attributes]:
        name = ir.FlatSymbolRefAttr(op.attributes[attributes[op.name]]).value
        if name in external:
            what = f"{op.name} of @{name}, {external[name]}"
            raise refused_op(sources, what, op, "bufferize")


# Why this order: empty tensors go first, so that results are computed in place. Promotion to the stack
# after deallocation would free twice. `cse, canonicalize` removes self-copies; the other order leaves them.
BUFFERIZE = (
    "eliminate-empty-tensors",
    "one-shot-bufferize{bufferize-function-boundaries=true"
    " function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops=true}",
    "canonicalize",
    "drop-equivalent-buffer-results",
    "func.func(buffer-loop-hoisting,promote-buffers-to-stack{max-alloc-size-in-bytes=65536})",
)
_IN_DESTINATIONS = BUFFERIZE.index("eliminate-empty-tensors") + 1
DEALLOCATE = (
    "buffer-deallocation-pipeline",
    "convert-bufferization-to-memref",
    "cse",
    "canonicalize",
    # Buffers are freed at the end of their block; behind their last use they can be used again.
    "func.func(optimize-allocation-liveness)",
)
# Why full-unroll: without it transfers of large tiles go through the stack and overflow it.
TO_LOOPS = (
    "convert-linalg-to-loops",
    "func.func(lower-vector-multi-reduction)",
    "expand-realloc",
    "memref-expand",
    "cse",
    "canonicalize",
    "fold-memref-alias-ops",
    "expand-strided-metadata",
    "canonicalize",
    "convert-vector-to-scf{full-unroll=true}",
    "lower-affine",
)
# On several threads: loops over threads are shared out among them; what they call is the OpenMP runtime's.
_SEQUENTIAL_FORALL, _PARALLEL_FORALL = "scf-forall-to-for", "scf-forall-to-parallel"
_TO_OPENMP, _FROM_OPENMP = "convert-scf-to-openmp{{num-threads={}}}", "convert-openmp-to-llvm"
TO_LLVM = (
    "finalize-memref-to-llvm{use-aligned-alloc=true}",
    "convert-scf-to-cf",
    "math-expand-ops{ops=clampf}",
    "convert-math-to-funcs",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-vector-to-llvm{enable-x86=true}",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
    "canonicalize",
    "cse",
)
_CONVERSIONS = TO_LLVM.index("reconcile-unrealized-casts")
_LOWERED = ("llvm.", "builtin.", "omp.", "x86.")
_ROUNDED_DIVISIONS = ("arith.ceildivsi", "arith.ceildivui", "arith.floordivsi")

Progress = Callable[[str, Any], None]


def ignore_progress(stage: str, module: Any) -> None:
    """Take no note of a stage."""


def lower_to_buffers(
    module: Any, function: str, sources: Sequence[Source], progress: Progress = ignore_progress
) -> None:
    """Bufferize a payload, in place, into the entry of a kernel that writes to destinations."""
    progress("bufferize", module)
    _prepare(module, function, sources)
    _run(module, BUFFERIZE[:_IN_DESTINATIONS], "bufferize", sources)
    rewrite(show_writes_to_destinations, module)
    rewrite(keep_iterations_apart, module)
    rewrite(keep_carried_values_apart, module)
    _run(module, BUFFERIZE[_IN_DESTINATIONS:], "bufferize", sources)
    rewrite(keep_stack_small, module)
    _run(module, DEALLOCATE, "bufferize", sources)
    rewrite(compute_in_destinations, module)
    rewrite(expand_strided_copies, module)


def lower_to_loops(
    module: Any,
    sources: Sequence[Source],
    progress: Progress = ignore_progress,
    *,
    threads: int = 1,
    target: str = "",
) -> None:
    """Lower a bufferized payload, in place, to the last IR that still has memrefs and structured loops.

    With several threads, ``scf.forall`` becomes ``scf.parallel``, else a loop. Dot products are for this CPU
    alone.
    """
    progress("lower", module)
    rewrite(multiply_by_dot_products, module, target)
    # Only where it is needed, because it also expands maxima, for which machines have instructions.
    divides = not op_names(module.operation).isdisjoint(_ROUNDED_DIVISIONS)
    forall = _PARALLEL_FORALL if threads > 1 else _SEQUENTIAL_FORALL
    _run(module, (*(["arith-expand"] if divides else []), forall, *TO_LOOPS), "lower", sources)
    rewrite(insert_marked_prefetches, module)


def write_out_loops(module: Any, sources: Sequence[Source]) -> None:
    """Turn the loops and index arithmetic of buffered IR, in place, into those of ``scf`` and ``arith``."""
    _run(module, (_SEQUENTIAL_FORALL, "lower-affine"), "lower", sources)


def lower_to_llvm(module: Any, sources: Sequence[Source], *, threads: int = 1, target: str = "") -> None:
    """Lower a payload of loops and memrefs to the LLVM dialect, in place, for this CPU or another target.

    With several threads the iterations of ``scf.parallel`` are divided among them in equal parts.
    """
    rewrite(vectorize_row_copies, module)
    rewrite(narrow_index_vectors, module)
    apart = started_destinations(module)
    is_x86 = target != "neon" and platform.machine().lower() in ("x86_64", "amd64")
    rewrite(stream_marked_results, module, is_x86=is_x86)
    converting, cleaning = TO_LLVM[:_CONVERSIONS], TO_LLVM[_CONVERSIONS:]
    if not any(name.startswith("math.") for name in op_names(module.operation)):
        # Each of these passes costs 5 to 14 ms of some 500 where thousands of ops have to be asked.
        converting = tuple(name for name in converting if "math" not in name)
    if threads > 1:
        converting = (_TO_OPENMP.format(threads), *converting, _FROM_OPENMP)
    _run(module, (*converting, *cleaning), "lower", sources)
    if apart:
        keep_destinations_apart(module, apart)
    names, types = names_and_types(module.operation)
    if any("xbf16>" in type_ for type_ in types):
        rewrite(move_as_integers, module)
        if names & EXTREMES:
            rewrite(extend_by_shifts, module)
    if any(type_ == "i4" or "xi1>" in type_ or "xi4>" in type_ for type_ in types):
        rewrite(widen_narrow_integers, module, sources)
    rewrite(add_conversions, module, types)
    if not all(name.startswith(_LOWERED) for name in names):
        # Translation to LLVM IR would only say that it cannot.
        left = _without_lowering(op for op in walk(module.operation) if not op.name.startswith(_LOWERED))
        raise lowering_error(sources, _counted_ops(left), left, "lower")
    if target != "neon":  # Its compiler is told for which CPU.
        rewrite(set_target, module, target)


def pipeline_sha256() -> str:
    """Return the hash of the passes that every payload goes through."""
    forall = (_SEQUENTIAL_FORALL, _PARALLEL_FORALL, _TO_OPENMP, _FROM_OPENMP)
    return hashlib.sha256(repr((BUFFERIZE, DEALLOCATE, forall, TO_LOOPS, TO_LLVM)).encode()).hexdigest()


def add_line_tables(module: Any) -> None:
    """Have the locations of a module in the LLVM dialect written to the object file; its code is the same."""
    run_passes(module, "ensure-debug-info-scope-on-llvm-func{emission-kind=LineTablesOnly}")


def _run(module: Any, passes: Sequence[str], stage: str, sources: Sequence[Source]) -> None:
    try:
        run_passes(module, *passes)
    except ir.MLIRError as error:
        diagnostics = _naming_ops(from_structured(error), module)
        foreign = [op for op in walk(module.operation) if not op.name.startswith(_HAS_LOWERING)]
        places = {d.span for d in diagnostics}
        others = tuple(d for d in _without_lowering(foreign) if d.span not in places)
        reason = _reason(diagnostics[0].message)
        if others:
            reason += f"; and {_counted_ops(others)}"
        raise lowering_error(sources, reason, (*diagnostics, *others), stage) from None


# Dialects that the passes here take apart; an op of another one is named with all its kind where a pass fails.
_HAS_LOWERING: tuple[str, ...] = ("affine.", "arith.", "bufferization.", "builtin.", "cf.", "complex.")
_HAS_LOWERING += ("func.", "index.", "linalg.", "llvm.", "math.", "memref.", "omp.", "scf.")
_HAS_LOWERING += ("tensor.", "ub.", "vector.", "x86.")
_MOST_NAMED = 20
_NO_LOWERING = "no lowering for this op"


def _without_lowering(ops: Iterable[Any]) -> tuple[Diagnostic, ...]:
    """Return what to say about ops that are left over, one by one; of very many the first ones."""
    return tuple(
        Diagnostic("error", f"{op.name}: {_NO_LOWERING}{_on_short_floats(op)}", span_of(op.location))
        for op in itertools.islice(ops, _MOST_NAMED)
    )


def _on_short_floats(op: Any) -> str:
    """Return which type of eight bits is to blame, if one is: its values are moved, not computed with."""
    types = [str(value.type) for value in (*op.operands, *op.results)]
    found = re.search(r"\bf(?:8E|4E|6E)\w+|(?<=x)f8E\w+", " ".join(types))
    return f" on {found[0]}; convert in NumPy before and after the call" if found else ""


def _counted_ops(left: Sequence[Diagnostic]) -> str:
    names = dict.fromkeys(d.message.partition(":")[0] for d in left)
    return f"{_NO_LOWERING}: {', '.join(names)}"


def _naming_ops(diagnostics: tuple[Diagnostic, ...], module: Any) -> tuple[Diagnostic, ...]:
    """Return diagnostics whose messages start with the name of the op at their place."""
    first, *others = diagnostics
    if first.span is None or re.search(r"\b[a-z_]+\.[a-z_]", first.message):
        return diagnostics
    names = [op.name for op in walk(module.operation) if span_of(op.location) == first.span]
    named = dataclasses.replace(first, message=f"{names[0]}: {first.message}") if names else first
    return (named, *others)


def _reason(message: str) -> str:
    """Return the first line of a message, without the text of the operation that it may end with."""
    line = re.sub(r"\s+", " ", message.partition("\n")[0]).strip()
    return re.sub(r" that was explicitly marked illegal.*", "", line)
