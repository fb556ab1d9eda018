"""Copies between strided buffers, as loops: LLVM's lowering would call a runtime library for them."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import walk

_MARK = "lhkit:copy"


def is_bufferization_copy(op: Any) -> bool:
    """Return True for an op that a ``memref.copy`` was written out as, at this stage or a later one."""
    return isinstance(op.location, ir.NameLoc) and op.location.name_str == _MARK


def expand_strided_copies(module: Any) -> None:
    """Turn every ``memref.copy`` whose sides are not both without gaps into a ``linalg.copy``, in place."""
    for op in [o for o in walk(module.operation) if o.name == "memref.copy"]:
        source, target = op.operands
        ranked = all(isinstance(v.type, ir.MemRefType) for v in (source, target))
        if ranked and not (_is_plain(source.type) and _is_plain(target.type)):
            _copy_elements(op, source, target)
            op.erase()


def _is_plain(type_: Any) -> bool:
    return bool(type_.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank)))


def _copy_elements(op: Any, source: Any, target: Any) -> None:
    segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1])}
    # The mark stays on the loops that come of it.
    with ir.InsertionPoint(op), ir.Location.name(_MARK, childLoc=op.location):
        copy = ir.Operation.create("linalg.copy", [], [source, target], segments, regions=1)
        elements = [source.type.element_type, target.type.element_type]
        block = copy.regions[0].blocks.append(*elements, arg_locs=[op.location] * 2)
        with ir.InsertionPoint(block):
            ir.Operation.create("linalg.yield", operands=[block.arguments[0]])
