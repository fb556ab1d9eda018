"""Resources: constants whose data is not in the IR. Found, made arguments of, and put under compiled code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lhkit.compiler.bindings import ir
from lhkit.compiler.diagnostics import span_of
from lhkit.compiler.parsing import walk
from lhkit.compiler.signatures import array_type, function_ops, function_type, symbol_name
from lhkit.compiler.sources import Source, failure_in
from lhkit.model.blobs import ResourceUse, Weight
from lhkit.model.errors import LhkitError, error_for
from lhkit.model.failure import Diagnostic

NAME_MARK = "lhkit.name"
RESOURCE_MARK = "lhkit.resource"
# The bindings have no question for the name of a resource; printed, the attribute does not show its data.
_RESOURCE = re.compile(r'dense_resource<(?:"((?:[^"\\]|\\.)*)"|([\w$.-]+))>')

Data = Mapping[str, np.ndarray]


def resource_of(op: Any) -> str | None:
    """Return the name of the resource of an ``arith.constant``, None for any other op."""
    if op.name != "arith.constant":
        return None
    return resource_name(op.attributes["value"])


def resource_name(attribute: Any) -> str | None:
    """Return the name of the resource that an attribute is, None for any other attribute."""
    if isinstance(attribute, _PLAIN):
        return None
    match = _RESOURCE.match(str(attribute))
    if match is None:
        return None
    return match[2] if match[1] is None else re.sub(r"\\(.)", r"\1", match[1])


_PLAIN = (ir.DenseElementsAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr, ir.BoolAttr, ir.TypeAttr)


def resource_uses(module: Any) -> tuple[ResourceUse, ...]:
    """Return the constants of a module whose data is a resource, in order."""
    found = []
    for op in walk(module.operation):
        if (name := resource_of(op)) is None:
            continue
        type_, span = op.results[0].type, span_of(op.location)
        described, nbytes = element_array(type_)
        place = (span.line, span.column) if span else (1, 1)
        found.append(ResourceUse(name, described[0], described[1], str(type_), nbytes, *place))
    return tuple(found)


def element_array(type_: Any) -> tuple[tuple[str, tuple[int, ...]], int | None]:
    """Return (dtype, shape) of a constant's type, and how many bytes it has or None where it is not known."""
    shaped = ir.ShapedType(type_)
    described = array_type(ir.RankedTensorType.get([shaped.get_dim_size(i) for i in range(shaped.rank)], shaped.element_type))
    shape = tuple(int(n) for n in described.shape if n is not None)
    try:
        itemsize = 2 if described.dtype == "bfloat16" else np.dtype(described.dtype).itemsize
    except TypeError:
        return (described.dtype, shape), None
    return (described.dtype, shape), int(np.prod(shape, dtype=np.int64)) * itemsize


def weights_of(function: Any) -> tuple[Weight, ...]:
    """Return the arguments of a function that were constants, as its argument attributes say."""
    if "arg_attrs" not in function.attributes:
        return ()
    found = []
    for i, attributes in enumerate(ir.ArrayAttr(function.attributes["arg_attrs"])):
        marks = {entry.name: entry.attr for entry in ir.DictAttr(attributes)}
        if RESOURCE_MARK in marks:
            resource = ir.StringAttr(marks[RESOURCE_MARK]).value
            name = ir.StringAttr(marks[NAME_MARK]).value if NAME_MARK in marks else resource
            found.append(Weight(i, name, resource))
    return tuple(found)
