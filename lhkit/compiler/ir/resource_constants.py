"""Resources: constants whose data is not in the IR. Found, made arguments of, and put under compiled code."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import dtype_of, symbol_name, weights_of
from lhkit.compiler.ir.parsing import failure_in, span_of, walk
from lhkit.model.errors import Diagnostic, LhkitError, error_for
from lhkit.model.payload import ResourceUse
from lhkit.worker.requests import Source

# The bindings have no question for the name of a resource; printed, the attribute does not show its data.
_RESOURCE = re.compile(r'dense_resource<(?:"((?:[^"\\]|\\.)*)"|([\w$.-]+))>')
# A context in which a payload is bound a second time numbers the name.
_BOUND_AGAIN = re.compile(r"^(lhkit\.bound\.\d+)_\d+$")
# What the value of a constant usually is; printing these could take long.
_PLAIN = (ir.DenseElementsAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr, ir.BoolAttr, ir.TypeAttr)

Data = Mapping[str, np.ndarray]


def resource_of(op: Any) -> str | None:
    """Return the name of the resource of an ``arith.constant``, None for any other op."""
    return resource_name(op.attributes["value"]) if op.name == "arith.constant" else None


def resource_name(attribute: Any) -> str | None:
    """Return the name of the resource that an attribute is, None for any other attribute."""
    if isinstance(attribute, _PLAIN):
        return None
    if (match := _RESOURCE.match(str(attribute))) is None:
        return None
    name = match[2] if match[1] is None else re.sub(r"\\(.)", r"\1", match[1])
    return _BOUND_AGAIN.sub(r"\1", name)


def bound_name(argument: int) -> str:
    """Return the name of the resource that has the data of a bound argument."""
    return f"lhkit.bound.{argument}"


def resource_uses(module: Any) -> tuple[ResourceUse, ...]:
    """Return the constants of a module whose data is a resource, in order."""
    found = []
    for op in walk(module.operation):
        if (name := resource_of(op)) is None:
            continue
        type_, span = op.results[0].type, span_of(op.location)
        dtype, shape, nbytes = element_array(type_)
        place = (span.line, span.column) if span else (1, 1)
        found.append(ResourceUse(name, dtype, shape, str(type_), nbytes, *place))
    return tuple(found)


def element_array(type_: Any) -> tuple[str, tuple[int, ...], int | None]:
    """Return dtype and shape of a constant's type, and how many bytes it has, None where it is not known."""
    shaped = ir.ShapedType(type_)
    shape = tuple(int(shaped.get_dim_size(i)) for i in range(shaped.rank))
    dtype = dtype_of(shaped.element_type)
    try:
        itemsize = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    except TypeError:
        return dtype, shape, None
    return dtype, shape, math.prod(shape) * itemsize


def handed_over(function: Any, count: int, data: Data, sources: Sequence[Source]) -> tuple[np.ndarray, ...]:
    """Return the data of the arguments that a schedule made of constants: all after the first ``count``.

    Raises:
        PayloadError: The data of one is not there.
    """
    weights = [w for w in weights_of(function) if w.argument >= count]
    for weight in weights:
        if weight.resource not in data:
            raise _without_data(weight.resource, function, sources)
    return tuple(data[w.resource] for w in weights)


def check_data(module: Any, data: Data, sources: Sequence[Source]) -> None:
    """Refuse a payload with a constant whose data is not there.

    Raises:
        PayloadError: With the place of the constant.
    """
    for op in walk(module.operation):
        if (name := resource_of(op)) is not None and name not in data:
            raise _without_data(name, op, sources)


def _without_data(name: str, op: Any, sources: Sequence[Source]) -> LhkitError:
    what = f"the data of the resource {name} is not there"
    message = f"{sources[0].name} cannot be compiled: {what}"
    advice = "Load the payload with weights=FILE.npz, or with the data in the text or in a file beside it."
    diagnostics = (Diagnostic("error", f"{op.name}: {what}", span_of(op.location)),)
    return error_for(failure_in(sources, "lowering", message, diagnostics, stage="parse", advice=advice))


def write_out_small(module: Any, data: Data) -> None:
    """Write the data of constants that are no buffers, vectors and tensors of rank 0, into the IR."""
    for op in list(walk(module.operation)):
        if (name := resource_of(op)) is None:
            continue
        type_ = op.results[0].type
        if isinstance(type_, ir.RankedTensorType) and type_.rank:
            continue
        _, shape, _ = element_array(type_)
        array = np.ascontiguousarray(data[name]).reshape(shape)
        op.attributes["value"] = ir.DenseElementsAttr.get(array, type=type_)


def put_under(module: Any, data: Data) -> None:
    """Let the globals of a module in the LLVM dialect be the data of their resources where it lies in memory.

    The data has to stay there as long as the code is in use. Nothing is copied into the code.
    """
    places = {}
    for op in [o.operation for o in module.body.operations]:
        if op.name == "llvm.mlir.global" and "value" in op.attributes:
            name = resource_name(op.attributes["value"])
            if name is not None:
                places[symbol_name(op)] = int(data[name].ctypes.data)
                op.erase()
    if places:
        _point_to(module, places)


def _point_to(module: Any, places: Mapping[str, int]) -> None:
    i64 = ir.IntegerType.get_signless(64)
    for op in list(walk(module.operation)):
        if op.name != "llvm.mlir.addressof":
            continue
        place = places.get(ir.FlatSymbolRefAttr(op.attributes["global_name"]).value)
        if place is None:
            continue
        with ir.InsertionPoint(op), op.location:
            number = ir.Operation.create(
                "llvm.mlir.constant", [i64], attributes={"value": ir.IntegerAttr.get(i64, place)}
            )
            pointer = ir.Operation.create("llvm.inttoptr", [op.results[0].type], [number.result])
        op.results[0].replace_all_uses_with(pointer.result)
        op.erase()
