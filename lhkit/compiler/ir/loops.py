"""Loops of a payload: how often they run, and whether they accumulate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.extents import Extents, affine_values, operand_groups, product
from lhkit.compiler.ir.parsing import walk

# Where the operands begin that say where a write goes.
_WRITES = {
    "memref.store": 1,
    "affine.store": 1,
    "vector.store": 0,
    "vector.transfer_write": 1,
    "memref.copy": 1,
}
_INSERTIONS = {
    "tensor.insert": 1,
    "tensor.insert_slice": 1,
    "tensor.parallel_insert_slice": 1,
    "vector.transfer_write": 1,
}


def trip_count(op: Any, extents: Extents) -> int | None:
    """Return how often a loop's body runs, None if that is not known."""
    return _TRIPS[op.name](op, extents)


def is_loop(op: Any) -> bool:
    """Return True for a loop whose trip count can be asked for."""
    return op.name in _TRIPS


def initial_values(op: Any) -> list[Any]:
    """Return the operands that a loop's carried values start from, one a block argument at the end."""
    if op.name == "scf.for":
        return list(op.operands)[3:]
    groups = operand_groups(op) if op.name in ("affine.for", "scf.forall") else []
    return groups[-1] if groups else []


def accumulates(op: Any) -> bool:
    """Return True if a loop adds up: it carries a value from iteration to iteration, or writes to one place.

    A tensor that is carried only to be filled piece by piece, and a buffer written to at places that
    follow the induction variables, are not added up.
    """
    block = op.regions[0].blocks[0]
    initial = initial_values(op)
    variables = list(block.arguments)[: len(block.arguments) - len(initial)]
    varying = _derived_from(variables, op)
    if op.name == "scf.parallel":
        return len(op.results) > 0 or _writes_to_one_place(op, varying)
    if op.name == "scf.forall":
        return False
    if any(not isinstance(v.type, ir.RankedTensorType | ir.MemRefType) for v in initial):
        return True
    if initial and not any(_goes_to(o, _INSERTIONS, varying) for o in walk(op)):
        return True
    return _writes_to_one_place(op, varying)


def _writes_to_one_place(op: Any, varying: set[Any]) -> bool:
    return any(
        o.name in _WRITES and not _is_tensor_write(o) and not _goes_to(o, _WRITES, varying) for o in walk(op)
    )


def _is_tensor_write(op: Any) -> bool:
    return len(op.results) > 0


def _goes_to(op: Any, places: dict[str, int], varying: set[Any]) -> bool:
    """Return True if an op is a write whose place follows the induction variables."""
    return op.name in places and any(o in varying for o in list(op.operands)[places[op.name] :])


def _derived_from(variables: Iterable[Any], loop: Any) -> set[Any]:
    """Return the values inside a loop that are computed from some values."""
    derived = set(variables)
    for op in walk(loop):
        if any(o in derived for o in op.operands):
            derived.update(op.results)
    return derived


def _for_trips(op: Any, extents: Extents) -> int | None:
    lower, upper, step = (extents.number(o) for o in list(op.operands)[:3])
    return _steps(lower, upper, step)


def _forall_trips(op: Any, extents: Extents) -> int | None:
    lower, upper, step, _ = operand_groups(op)
    bounds = zip(
        extents.sizes(op, "staticLowerBound", lower),
        extents.sizes(op, "staticUpperBound", upper),
        extents.sizes(op, "staticStep", step),
        strict=True,
    )
    return product(_steps(*b) for b in bounds)


def _parallel_trips(op: Any, extents: Extents) -> int | None:
    groups = [[extents.number(o) for o in group] for group in operand_groups(op)[:3]]
    return product(_steps(*bounds) for bounds in zip(*groups, strict=True))


def _affine_trips(op: Any, extents: Extents) -> int | None:
    lower, upper, _ = operand_groups(op)
    lows = _bounds(op, "lowerBoundMap", lower, extents)
    highs = _bounds(op, "upperBoundMap", upper, extents)
    if lows is None or highs is None:
        return None
    return _steps(max(lows), min(highs), int(ir.IntegerAttr(op.attributes["step"]).value))


def _bounds(op: Any, attribute: str, operands: list[Any], extents: Extents) -> list[int] | None:
    affine_map = ir.AffineMapAttr(op.attributes[attribute]).value
    return affine_values(affine_map, [extents.number(o) for o in operands])


def _steps(lower: int | None, upper: int | None, step: int | None) -> int | None:
    if lower is None or upper is None or step is None or step <= 0:
        return None
    return max(0, -(-(upper - lower) // step))


_TRIPS: dict[str, Callable[[Any, Extents], int | None]] = {
    "scf.for": _for_trips,
    "scf.forall": _forall_trips,
    "scf.parallel": _parallel_trips,
    "affine.for": _affine_trips,
}
