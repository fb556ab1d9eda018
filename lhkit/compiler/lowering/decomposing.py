"""Ops that only exist as compositions: they are written out before bufferization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lhkit.compiler.ir.bindings import interpreter, ir
from lhkit.compiler.ir.parsing import op_names
from lhkit.compiler.ir.schedule_modules import SEQUENCE_MARK, sequence_ops

_ANY = "!transform.any_op"


def _each(transform: str) -> Callable[[str], str]:
    """Return the steps that apply a transform of one op to every op of a name."""

    def steps(name: str) -> str:
        return (
            f'%ops = transform.structured.match ops{{["{name}"]}} in %root : ({_ANY}) -> {_ANY}\n'
            f"transform.foreach %ops : {_ANY} {{\n^bb0(%op: {_ANY}):\n{transform}\n}}\n"
        )

    return steps


def _typed(name: str, transform: str) -> str:
    return f'%typed = transform.cast %op : {_ANY} to !transform.op<"{name}">\n{transform}'


_PACK = _typed(
    "linalg.pack",
    'transform.structured.lower_pack %typed : (!transform.op<"linalg.pack">) -> (!transform.op<"tensor.pad">,'
    ' !transform.op<"tensor.expand_shape">, !transform.op<"linalg.transpose">)',
)
_UNPACK = _typed(
    "linalg.unpack",
    'transform.structured.lower_unpack %typed : (!transform.op<"linalg.unpack">) -> ('
    '!transform.op<"tensor.empty">, !transform.op<"linalg.transpose">, !transform.op<"tensor.collapse_shape">,'
    ' !transform.op<"tensor.extract_slice">, !transform.op<"linalg.copy">)',
)
_INTERFACE = f"transform.structured.decompose_interface %op : ({_ANY}) -> {_ANY}"
_WINOGRAD = f"transform.structured.decompose_winograd_op %op : ({_ANY}) -> {_ANY}"


def _pattern(pattern: str) -> Callable[[str], str]:
    """Return the steps that apply a pattern to every function."""

    def steps(_: str) -> str:
        return (
            f'%functions = transform.structured.match ops{{["func.func"]}} in %root : ({_ANY}) -> {_ANY}\n'
            f"transform.apply_patterns to %functions {{\n{pattern}\n}} : {_ANY}\n"
        )

    return steps


_STEPS: dict[str, Callable[[str], str]] = {
    "linalg.softmax": _each(_INTERFACE),
    "linalg.pack": _each(_PACK),
    "linalg.unpack": _each(_UNPACK),
    "linalg.winograd_filter_transform": _each(_WINOGRAD),
    "linalg.winograd_input_transform": _each(_WINOGRAD),
    "linalg.winograd_output_transform": _each(_WINOGRAD),
    "tensor.concat": _pattern("transform.apply_patterns.tensor.decompose_concat"),
    "vector.scan": _pattern("transform.apply_patterns.vector.lower_scan"),
}


def decompose(module: Any) -> None:
    """Write out, in place, ops that have no lowering of their own, such as ``linalg.softmax``.

    Raises:
        ValueError: The compiler refuses one.
    """
    for name in op_names(module.operation) & _STEPS.keys():
        sequence = (
            f"module attributes {{{SEQUENCE_MARK}}} {{\n"
            f"transform.named_sequence @decompose(%root: {_ANY} {{transform.readonly}}) {{\n"
            f"{_STEPS[name](name)}transform.yield\n}}}}"
        )
        schedule = ir.Module.parse(sequence)
        entry = next(iter(sequence_ops(schedule)))
        interpreter.apply_named_sequence(module.operation, entry, schedule)
