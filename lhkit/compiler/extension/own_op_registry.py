"""Transform ops that are defined in Python, made known to every context.

Nothing that such an op raises unwinds through the interpreter: it is kept here, the interpreter is told that
the op failed, and who applied the schedule asks for what was raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lhkit.compiler.extension.own_op_failures import remember
from lhkit.compiler.extension.own_op_values import arguments_of, set_results
from lhkit.compiler.extension.rewriting import TrackedRewriter
from lhkit.compiler.ir.bindings import expect_dialect, extend_contexts, host_module, ir
from lhkit.model.own_op_definition import Definition, OwnOp

_transform: Any = host_module("dialects.transform")
_irdl: Any = host_module("dialects.irdl")

_definitions: dict[str, Definition] = {}
# What the interpreter calls for each op: made once, attached to every context.
_models: dict[str, tuple[Any, Any]] = {}


def register(definitions: Sequence[Definition]) -> None:
    """Make ops known to all contexts from now on."""
    for definition in definitions:
        _definitions[definition.op.name] = definition
        _models[definition.op.name] = (_applying(definition), _with_effects(definition))
        expect_dialect(definition.op.dialect)


def find_definition(name: str) -> Definition | None:
    """Return the definition of an own op, or None."""
    return _definitions.get(name)


def known_ops() -> tuple[OwnOp, ...]:
    """Return what is known about every own op, lhkit's among them."""
    return tuple(definition.op for definition in _definitions.values())


def load_own_ops(context: Any) -> None:
    """Make all own ops known to a context."""
    if not _definitions:
        return
    with context:
        _irdl.load_dialects(ir.Module.parse(_dialects_text(list(_definitions.values()))))
    for name, models in _models.items():
        # An op without a model of its effects ends the process.
        for model in models:
            model.attach(name, context=context)


extend_contexts(load_own_ops)


def _dialects_text(definitions: Sequence[Definition]) -> str:
    """Return the ops in the language of IRDL: only how many operands and results, `signatures` checks kinds."""
    dialects: dict[str, list[str]] = {}
    for definition in definitions:
        op = definition.op
        operands, results = len(op.operands), len(op.results)
        lines = [f"%v{i} = irdl.any" for i in range(operands + results)]
        for keyword, first, count in (("operands", 0, operands), ("results", operands, results)):
            if count:
                lines.append(
                    f"irdl.{keyword}({', '.join(f'v{i}: %v{i}' for i in range(first, first + count))})"
                )
        body = "\n".join(lines)
        name = op.name.partition(".")[2]
        dialects.setdefault(op.dialect, []).append(f'irdl.operation @"{name}" {{\n{body}\n}}')
    return "\n".join(f"irdl.dialect @{name} {{\n" + "\n".join(ops) + "\n}" for name, ops in dialects.items())


def _applying(definition: Definition) -> Any:
    class Applying(_transform.TransformOpInterface):  # type: ignore[misc]
        @staticmethod
        def apply(op: Any, rewriter: Any, results: Any, state: Any) -> Any:
            outcome = _transform.DiagnosedSilenceableFailure
            try:
                _apply(definition, op, TrackedRewriter(rewriter), results, state)
            except BaseException as error:  # noqa: BLE001 - must not unwind through the interpreter
                kind = remember(definition.op, op, error)
                return outcome.SilenceableFailure if kind == "silenceable" else outcome.DefiniteFailure
            return outcome.Success

        @staticmethod
        def allow_repeated_handle_operands(_op: Any) -> bool:
            return False

    return Applying


def _apply(definition: Definition, op: Any, rewriter: TrackedRewriter, results: Any, state: Any) -> None:
    positional, named = arguments_of(definition, op, state)
    if definition.rewriter is not None:
        named[definition.rewriter] = rewriter
    # Attributes of floats want a location, too.
    with ir.Location.unknown():
        returned = definition.function(*positional, **named)
        set_results(definition, op, results, returned, rewriter.is_gone)


def _with_effects(definition: Definition) -> Any:
    consumes = [operand.is_consumed for operand in definition.op.operands]

    class WithEffects(_transform.MemoryEffectsOpInterface):  # type: ignore[misc]
        @staticmethod
        def get_effects(op: Any, effects: Any) -> None:
            # The verifier may ask an op that has not as many operands as it should have.
            operands = list(zip(op.op_operands, consumes, strict=False))
            for wanted, declare in (
                (True, _transform.consumes_handle),
                (False, _transform.only_reads_handle),
            ):
                chosen = [operand for operand, is_consumed in operands if is_consumed is wanted]
                if chosen:
                    declare(chosen, effects)
            if len(op.results):
                _transform.produces_handle(op.results, effects)
            reads = _transform.only_reads_payload if definition.op.reads_only else _transform.modifies_payload
            reads(effects)

    return WithEffects
