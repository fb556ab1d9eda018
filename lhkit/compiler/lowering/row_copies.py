"""Loops that copy or fill a row become vectors: pads, and slices that bufferization copies.

``convert-linalg-to-loops`` leaves them element by element, and the passes of LLVM that run here vectorize no
loops. Only what has no other effect is changed, where source and target cannot overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.extents import constant_index
from lhkit.compiler.ir.functions import written_apart
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.lowering.legalization import is_bufferization_copy

_VECTOR_BYTES = 64
# Shorter rows are left to LLVM, which unrolls them.
_LEAST_BYTES = 16
_VIEWS = (
    "memref.subview",
    "memref.reinterpret_cast",
    "memref.cast",
    "memref.expand_shape",
    "memref.collapse_shape",
)


@dataclass(frozen=True)
class _Row:
    """A loop from zero by one that stores one element an iteration, along a row.

    Attributes:
        loop: The ``scf.for``.
        load: What reads the element, None for a fill.
        store: What writes it.
        extent: Iterations, None if not known.
    """

    loop: Any
    load: Any | None
    store: Any
    extent: int | None

    @property
    def element(self) -> Any:
        return self.store.operands[0].type


def vectorize_row_copies(module: Any) -> None:
    """Have loops that copy or fill rows, in place, move 64 bytes an iteration, then what is left."""
    for loop in [o for o in walk(module.operation) if o.name == "scf.for"]:
        row = _row_of(loop)
        if row is not None:
            _vectorize(row)


def _row_of(loop: Any) -> _Row | None:
    if len(loop.operands) != 3 or [constant_index(loop.operands[i]) for i in (0, 2)] != [0, 1]:
        return None
    *body, _ = [o.operation for o in loop.regions[0].blocks[0].operations]
    loads, stores = ([o for o in body if o.name == f"memref.{n}"] for n in ("load", "store"))
    if (
        len(stores) != 1
        or len(loads) > 1
        or any(o.name != "arith.addi" for o in body if o not in loads + stores)
    ):
        return None
    load, store = (loads or [None])[0], stores[0]
    row = _Row(loop, load, store, constant_index(loop.operands[1]))
    width = getattr(row.element, "width", 0)
    is_long = row.extent is None or row.extent * width >= 8 * _LEAST_BYTES
    if (
        width not in (8, 16, 32, 64)
        or not is_long
        or not _is_along(store.operands[1], store.operands[2:], loop)
    ):
        return None
    if load is None:
        return None if _varies(store.operands[0], loop) else row
    is_copy = store.operands[0] == load.results[0] and _is_along(load.operands[0], load.operands[1:], loop)
    return row if is_copy and _are_apart(load.operands[0], store.operands[1], loop) else None


def _is_along(buffer: Any, indices: Sequence[Any], loop: Any) -> bool:
    """Return whether each iteration accesses the element after that of the iteration before."""
    strides, _ = ir.MemRefType(buffer.type).get_strides_and_offset()
    *outer, last = indices or [None]
    is_unit = last is not None and strides[-1] == 1
    return is_unit and _counts(last, loop) and not any(_varies(index, loop) for index in outer)


def _counts(index: Any, loop: Any) -> bool:
    """Return whether an index goes up by one with each iteration."""
    if index == loop.regions[0].blocks[0].arguments[0]:
        return True
    if not _varies(index, loop):
        return False
    a, b = index.owner.operands
    return (_counts(a, loop) and not _varies(b, loop)) or (_counts(b, loop) and not _varies(a, loop))


def _varies(value: Any, loop: Any) -> bool:
    block = loop.regions[0].blocks[0]
    return (value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block) == block


def _are_apart(source: Any, target: Any, loop: Any) -> bool:
    """Return whether two buffers share no element.

    What bufferization copies does not, nor what was allocated here, nor arguments that have to be apart.
    """
    if is_bufferization_copy(loop):
        return True
    roots = [_root(source), _root(target)]
    fresh = [
        not isinstance(r.owner, ir.Block) and r.owner.name in ("memref.alloc", "memref.alloca") for r in roots
    ]
    return roots[0] != roots[1] and (any(fresh) or _are_arguments_apart(roots))


def _are_arguments_apart(roots: Sequence[Any]) -> bool:
    blocks = [r.owner for r in roots if isinstance(r.owner, ir.Block)]
    if len(blocks) < len(roots) or blocks[0] != blocks[1] or blocks[0].owner.operation.name != "func.func":
        return False
    apart = written_apart(blocks[0].owner.operation)
    return any(ir.BlockArgument(r).arg_number in apart for r in roots)


def _root(buffer: Any) -> Any:
    while not isinstance(buffer.owner, ir.Block) and buffer.owner.name in _VIEWS:
        buffer = buffer.owner.operands[0]
    return buffer


def _vectorize(row: _Row) -> None:
    """Write the row in vectors of 64 bytes, and the rest in smaller and smaller ones; the last are elements."""
    start = row.loop.operands[0]
    for lanes in _widths(row):
        with ir.InsertionPoint(row.loop), row.loop.location:
            step, end = _index(lanes), _end(row, lanes)
            loop = row.loop.clone()
            for position, value in enumerate((start, end, step)):
                loop.operands[position] = value
            if lanes > 1:
                _widen(loop, ir.VectorType.get([lanes], row.element))
        start = end
    row.loop.erase()


def _widths(row: _Row) -> Iterator[int]:
    """Give the vectors that a row consists of, the widest first."""
    lanes = 8 * _VECTOR_BYTES // row.element.width
    if row.extent is None:
        # Up to 31 elements are left of a row.
        yield from (lanes, 1)
        return
    done = 0
    while done < row.extent:
        if row.extent - done >= lanes:
            yield lanes
            done += (row.extent - done) // lanes * lanes
        lanes //= 2


def _end(row: _Row, lanes: int) -> Any:
    """Return where whole vectors of a row end."""
    if row.extent is not None:
        return _index(row.extent // lanes * lanes)
    end = row.loop.operands[1]
    rest = ir.Operation.create("arith.remui", [end.type], [end, _index(lanes)]).result
    return ir.Operation.create("arith.subi", [end.type], [end, rest]).result


def _index(value: int) -> Any:
    attribute = ir.IntegerAttr.get(ir.IndexType.get(), value)
    return ir.Operation.create("arith.constant", [attribute.type], [], {"value": attribute}).result


def _widen(loop: Any, type_: Any) -> None:
    for op in [o.operation for o in loop.regions[0].blocks[0].operations]:
        with ir.InsertionPoint(op), op.location:
            if op.name == "memref.load":
                wide = ir.Operation.create("vector.load", [type_], list(op.operands)).result
                op.results[0].replace_all_uses_with(wide)
                op.erase()
            elif op.name == "memref.store":
                value, *place = op.operands
                if value.type != type_:
                    value = ir.Operation.create("vector.broadcast", [type_], [value]).result
                ir.Operation.create("vector.store", [], [value, *place])
                op.erase()
