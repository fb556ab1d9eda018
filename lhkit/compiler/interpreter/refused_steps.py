"""Steps that would end the process, told just before they run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.extents import operand_groups, static_shape
from lhkit.compiler.ir.work_estimate import loop_extents
from lhkit.model.fatal_attributes import MOST_VECTOR_ELEMENTS, find_fatal_request, may_be_fatal
from lhkit.model.trace_record import ParamReference, Reference, TraceWarning


def fatal_request_of(op: Any, parameters: Sequence[int] = ()) -> str | None:
    """Return what in a transform op would end the process once it has payload, None if nothing would."""
    if not may_be_fatal(op.name):
        return None
    attributes = {name: str(op.attributes[name]) for name in op.attributes}
    return find_fatal_request(op.name, attributes, [str(r.type) for r in op.results], parameters)


def unrolled_copies(loop: Any, factor: int) -> int:
    """Return how often the ops of a loop's body are copied by an unrolling."""
    if loop.name != "scf.for":
        return 0
    constants = [_constant(v) for v in list(loop.operands)[:3]]
    match constants:
        case [int(lower), int(upper), int(step)] if step > 0:
            return min(factor, max(0, -(-(upper - lower) // step)))
    return factor


def _constant(value: Any) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None


# Tile and vector sizes that a transform op asks for, judged against the payload ops that it will act on.


# Of a handle to many ops so many are looked at.
_MOST_TARGETS = 64

_Payloads = Sequence[tuple[Reference, ...]]
_PREFIX = "transform.structured."
# What an attribute gives, and the group of operands that gives its dynamic ones (None: all but the first).
_Meaning = Literal["tile size", "number of threads", "vector size"]
_ATTRIBUTES: Mapping[str, tuple[tuple[str, _Meaning, int | None], ...]] = {
    "vectorize": (("static_vector_sizes", "vector size", None),),
    "tile_using_for": (("static_sizes", "tile size", None),),
    "tile_using_forall": (
        ("static_tile_sizes", "tile size", 2),
        ("static_num_threads", "number of threads", 1),
    ),
    "fuse": (("static_tile_sizes", "tile size", 1),),
    "tile_reduction_using_for": (("tile_sizes", "tile size", None),),
    "tile_reduction_using_forall": (
        ("tile_sizes", "tile size", None),
        ("num_threads", "number of threads", None),
    ),
}


@dataclass(frozen=True, slots=True)
class RequestedSizes:
    """The sizes that an op asks for.

    Attributes:
        meaning: What each number is.
        sizes: One a dimension; None where an operand gives it.
        operands: Positions of those operands, in order.
    """

    meaning: _Meaning
    sizes: tuple[int | None, ...]
    operands: tuple[int, ...] = ()


def requested_sizes(op: Any) -> RequestedSizes | None:
    """Return the sizes that a transform op asks for, None if it asks for none."""
    for attribute, meaning, group in _ATTRIBUTES.get(op.name.removeprefix(_PREFIX), ()):
        sizes, operands = _mixed(op, attribute, group)
        if sizes or meaning == "vector size":
            return RequestedSizes(meaning, sizes, operands)
    return None


def _mixed(op: Any, attribute: str, group: int | None) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    if attribute not in op.attributes:
        return (), ()
    written, marker = op.attributes[attribute], ir.ShapedType.get_dynamic_size()
    if isinstance(written, ir.ArrayAttr):
        numbers = [int(ir.IntegerAttr(n).value) for n in ir.ArrayAttr(written)]
    else:
        numbers = list(ir.DenseI64ArrayAttr(written))
    sizes = tuple(None if n == marker else n for n in numbers)
    first = 1 if group is None else sum(len(g) for g in operand_groups(op)[:group])
    return sizes, tuple(range(first, first + sizes.count(None)))


def size_suspicions(asked: RequestedSizes, payloads: _Payloads, targets: Sequence[Any]) -> list[TraceWarning]:
    """Return the warnings about sizes, before the op runs; ``payloads`` is one an operand."""
    if not targets:
        return []
    looked_at = targets[:_MOST_TARGETS]
    if asked.meaning == "vector size":
        return _vector_suspicions(asked, payloads, looked_at)
    rows = [(op, _sizes_for(asked, payloads, i)) for i, op in enumerate(looked_at)]
    found = (*_negative(rows, asked.meaning), *_zero(rows, asked.meaning))
    if asked.meaning == "tile size":  # threads without work do no harm
        found += tuple(_too_large(rows))
    first: dict[str, TraceWarning] = {}
    for warning in found:
        first.setdefault(warning.kind, warning)
    return list(first.values())


def _sizes_for(asked: RequestedSizes, payloads: _Payloads, target: int) -> tuple[int | None, ...]:
    """Return the sizes for one target, None where a size is not known."""
    given = [payloads[at] for at in asked.operands if at < len(payloads)]
    of_target = [p[target] if 1 < len(p) > target else p[0] if p else None for p in given]
    dynamic = iter([None if r is None else integer_of(r) for r in of_target])
    return tuple(next(dynamic, None) if n is None else n for n in asked.sizes)


def integer_of(reference: Reference) -> int | None:
    """Return the integer that a parameter holds, None if it holds none."""
    text = reference.param.partition(" ")[0] if isinstance(reference, ParamReference) else ""
    return int(text) if text.lstrip("-").isdigit() else None


_Row = tuple[Any, tuple[int | None, ...]]


def _negative(rows: Sequence[_Row], meaning: str) -> Iterator[TraceWarning]:
    for _, sizes in rows:
        for dimension, size in enumerate(sizes):
            if size is not None and size < 0:
                message = f"{meaning} {size} of dimension {dimension} is negative: the payload will not verify"
                yield TraceWarning("tile-size-negative", message)


def _zero(rows: Sequence[_Row], meaning: str) -> Iterator[TraceWarning]:
    for _, sizes in rows:
        if sizes and not any(size is None or size for size in sizes):
            message = f"every {meaning} is zero, which stands for a dimension that is not tiled: none is"
            yield TraceWarning("tile-size-zero", message)


def _too_large(rows: Sequence[_Row]) -> Iterator[TraceWarning]:
    for op, sizes in rows:
        extents = extents_of(op) or ()
        if extents and any(size != 0 for size in sizes[len(extents) :]):
            has = f"the {op.name} has {len(extents)} dimensions"
            yield TraceWarning("tile-size-unused", f"{len(sizes)} tile sizes, and {has}: the rest tile nothing")
        for dimension, (size, extent) in enumerate(zip(sizes, extents, strict=False)):
            if size is None or extent is None or size < extent or size < 2:
                continue
            fits = [d for d, e in enumerate(extents) if e is not None and e > size and e % size == 0]
            free = [d for d in fits if d >= len(sizes) or sizes[d] == 0]
            hint = f"; it fits dimension {free[0]}, of extent {extents[free[0]]}" if free else ""
            if size > extent:
                yield TraceWarning(
                    "tile-size-too-large",
                    f"tile size {size} is larger than dimension {dimension} of the {op.name},"
                    f" which has extent {extent}: that loop runs once, over all of it{hint}",
                )
            else:
                yield TraceWarning(
                    "tile-size-whole",
                    f"tile size {size} is all of dimension {dimension} of the {op.name}:"
                    f" that loop runs once{hint}",
                )


def extents_of(op: Any) -> list[int | None] | None:
    """Return the extent of each loop of a structured op, None for another op."""
    maps = host_module("dialects.linalg").get_indexing_maps(op) if op.name.startswith("linalg.") else None
    if maps is None:
        return None
    return loop_extents([m.value for m in maps], [static_shape(o.type) for o in op.operands])


def _vector_suspicions(
    asked: RequestedSizes, payloads: _Payloads, targets: Sequence[Any]
) -> list[TraceWarning]:
    for i, op in enumerate(targets):
        sizes = _sizes_for(asked, payloads, i)
        if sizes and None not in sizes:
            elements = math.prod(n for n in sizes if n is not None)
        else:
            # A vector an operand is the least that vectorization makes.
            shapes = [static_shape(o.type) for o in op.operands]
            elements = max((math.prod(n or 1 for n in s) for s in shapes if None not in s), default=0)
        if elements > MOST_VECTOR_ELEMENTS:
            message = (
                f"makes vectors of {elements} elements from the {op.name}, more than {MOST_VECTOR_ELEMENTS};"
                " LLVM may take minutes: tile it first"
            )
            return [TraceWarning("vector-too-large", message)]
    return []
