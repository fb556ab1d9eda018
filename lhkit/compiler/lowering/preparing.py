"""Before bufferization: a payload reduced to what the kernel uses, in ops that have a lowering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir, passmanager
from lhkit.compiler.ir.diagnostics import from_flattened, span_of
from lhkit.compiler.ir.functions import function_ops, symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.sources import Source, failure_in
from lhkit.compiler.lowering.decomposing import decompose
from lhkit.compiler.lowering.destination_style import make_kernel_entry
from lhkit.model.errors import LhkitError, error_for
from lhkit.model.failure import Diagnostic


def prepare(module: Any, function: str, sources: Sequence[Source]) -> None:
    """Reduce a payload, in place, to the entry of a kernel and what it calls, ready for bufferization.

    Raises:
        PayloadError: It calls a function without a body, or an op cannot be written out.
    """
    make_kernel_entry(module, function)
    _run(module, "symbol-dce")
    _refuse_external_calls(module, sources)
    if any(len(f.regions[0].blocks) > 1 for f in function_ops(module)):
        # Deallocation takes no loops of branches; as structured control flow they are fine.
        _run(module, "lift-cf-to-scf")
        _give_poison_a_buffer(module)
    _run(module, "func.func(convert-elementwise-to-linalg,lower-vector-mask)")
    _leave_freeing_to_the_compiler(module)
    try:
        decompose(module)
    except ValueError as error:
        raise _refusal(sources, "an op cannot be written out", from_flattened(str(error))) from None


def _run(module: Any, name: str) -> None:
    passmanager.PassManager.parse(f"builtin.module({name})").run(module.operation)


def _give_poison_a_buffer(module: Any) -> None:
    """Turn tensors that are never looked at, which lifting leaves, into empty ones: they bufferize."""
    for op in [o for o in walk(module.operation) if o.name == "ub.poison"]:
        type_ = op.results[0].type
        if not isinstance(type_, ir.RankedTensorType):
            continue
        index = ir.IndexType.get()
        with ir.InsertionPoint(op), op.location:
            zero = ir.Operation.create(
                "arith.constant", [index], attributes={"value": ir.IntegerAttr.get(index, 0)}
            )
            sizes = [zero.result for i in range(type_.rank) if type_.is_dynamic_dim(i)]
            empty = ir.Operation.create("tensor.empty", [type_], sizes)
        op.results[0].replace_all_uses_with(empty.result)
        op.erase()


def _leave_freeing_to_the_compiler(module: Any) -> None:
    """Remove the payload's own deallocations: every buffer is freed after its last use anyway."""
    for op in [o for o in walk(module.operation) if o.name == "memref.dealloc"]:
        op.erase()


def _refuse_external_calls(module: Any, sources: Sequence[Source]) -> None:
    external = {symbol_name(f) for f in function_ops(module) if not f.regions[0].blocks}
    for op in walk(module.operation):
        for name in external & {_callee(op)}:
            what = f"{op.name} of @{name}, which is declared and has no body"
            raise _refusal(sources, what, (Diagnostic("error", what, span_of(op.location)),))


def _callee(op: Any) -> str:
    attribute = {"func.call": "callee", "func.constant": "value"}.get(op.name)
    return ir.FlatSymbolRefAttr(op.attributes[attribute]).value if attribute else ""


def _refusal(sources: Sequence[Source], reason: str, diagnostics: tuple[Diagnostic, ...]) -> LhkitError:
    message = f"{sources[0].name} cannot be lowered: {reason} (stage: bufferize)"
    return error_for(failure_in(sources, "lowering", message, diagnostics, stage="bufferize"))
