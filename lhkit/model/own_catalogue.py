"""Own ops beside those of the bindings in the catalogue."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping, Sequence

from lhkit.model.op_catalogue import (
    AttributeKind,
    AttributeSpec,
    Catalogue,
    CatalogueOp,
    OperandSpec,
    ResultSpec,
)
from lhkit.model.op_words import sentence_for
from lhkit.model.own_op_definition import OwnAttribute, OwnOp
from lhkit.model.step_form import AttributeValue

GROUP = "Ops of one's own"
_TYPES = {"op": "!transform.any_op", "value": "!transform.any_value", "param": "!transform.any_param"}
# Kind and storage of an attribute, by how Python spells its type.
_ATTRIBUTES: Mapping[str, tuple[AttributeKind, str]] = {
    "int": ("int", "i64"),
    "bool": ("bool", ""),
    "str": ("string", ""),
    "list[int]": ("ints", "[i64]"),
    "list[str]": ("strings", ""),
}


def with_own_ops(catalogue: Catalogue, own: Sequence[OwnOp]) -> Catalogue:
    """Return a catalogue that has own ops too, by name in order."""
    ops = sorted([*catalogue.ops, *(catalogue_op(op) for op in own)], key=lambda op: op.name)
    return dataclasses.replace(catalogue, ops=tuple(ops))


def catalogue_op(own: OwnOp) -> CatalogueOp:
    """Return an own op as the catalogue describes ops; its only syntax is the generic one."""
    operands = [OperandSpec(o.name, (o.kind,), "one", _TYPES[o.kind], o.is_consumed, "") for o in own.operands]
    results = [ResultSpec(f"result{i}", (k,), "one", _TYPES[k], "") for i, k in enumerate(own.results)]
    return CatalogueOp(
        name=own.name,
        extension=own.dialect,
        group=GROUP,
        role="step",
        sentence=sentence_for(own.name, own.doc or "It is not documented."),
        documentation=own.doc,
        operands=tuple(operands),
        attributes=tuple([_attribute(a) for a in own.attributes]),
        results=tuple(results),
        note=f"Defined in {own.file}, line {own.line}.",
    )


def _attribute(own: OwnAttribute) -> AttributeSpec:
    kind, storage = _ATTRIBUTES.get(own.type, ("any", ""))
    default: AttributeValue = None
    if own.default is not None and kind != "any":
        value = ast.literal_eval(own.default)
        default = tuple(value) if isinstance(value, list) else value
    return AttributeSpec(own.name, kind, storage, is_required=own.default is None, default=default)
