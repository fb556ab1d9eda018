"""Which spelling of elementwise ops the bindings take, and ops in it."""

from __future__ import annotations

import functools
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir, new_context
from lhkit.model.elementwise_kinds import ELEMENTWISE, KINDS, ElementwiseSpelling, KindForm, kind_attribute

_FORMS: tuple[KindForm, ...] = ("kind", "short")
_FUNCTION = """func.func @probe(%%a: tensor<2xf32>) -> tensor<2xf32> {
  %%r = %s ins(%%a, %%a : tensor<2xf32>, tensor<2xf32>) outs(%%a : tensor<2xf32>) -> tensor<2xf32>
  return %%r : tensor<2xf32>
}"""


@functools.cache
def elementwise_spelling() -> ElementwiseSpelling:
    """Return the spelling that the bindings take, found out by parsing each."""
    taken: list[KindForm] = [f for f in _FORMS if _parses(ElementwiseSpelling(form=f).op("add"))]
    return ElementwiseSpelling(named=_parses("linalg.add"), form=taken[0] if taken else "")


def elementwise_op(kind: str, *operands: Any, out: Any) -> Any:
    """Build an elementwise op at the insertion point, by name where there is one; return its result."""
    linalg: Any = host_module("dialects.linalg")
    if elementwise_spelling().named:
        return getattr(linalg, kind)(*operands, outs=[out])
    return linalg.elementwise(*operands, outs=[out], kind=linalg.ElementwiseKind[kind])


def match_attributes(op_name: str) -> dict[str, Any]:
    """Return the attributes of a match op that finds payload ops of a name, those of a kind if it is gone."""
    kind = None if elementwise_spelling().named else KINDS.get(op_name)
    if kind is None:
        return {"ops": ir.ArrayAttr.get([ir.StringAttr.get(op_name)])}
    of_kind = ir.DictAttr.get({"kind": ir.Attribute.parse(kind_attribute(kind))})
    return {"ops": ir.ArrayAttr.get([ir.StringAttr.get(ELEMENTWISE)]), "op_attrs": of_kind}


def _parses(op: str) -> bool:
    with new_context():
        try:
            ir.Module.parse(_FUNCTION % op)
        except ir.MLIRError:
            return False
    return True
