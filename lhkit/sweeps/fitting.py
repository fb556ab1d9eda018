"""Ready-made constraints, from shapes and from the machine.

Wherever a knob is named, a number may stand in its place, and so may a fact of a payload (``arg0_dim0``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lhkit.model.errors import usage_error
from lhkit.sweeps.constraints import Constraint
from lhkit.worker.worker_caches import cache_levels

Size = str | int

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def divides(tile: Size, extent: Size) -> Constraint:
    """Return the constraint that a tile divides a dimension; a tile of 0 (not tiled) does.

    Args:
        tile: The knob.
        extent: The dimension's extent, a number or a name.
    """

    def predicate(**values: int) -> bool:
        size, whole = _value(tile, values), _value(extent, values)
        return size == 0 or whole % size == 0

    return Constraint(f"{tile} divides {extent}", _names(tile, extent), predicate)


def at_most(tile: Size, extent: Size) -> Constraint:
    """Return the constraint that a tile does not exceed a dimension.

    Args:
        tile: The knob.
        extent: The dimension's extent, a number or a name.
    """

    def predicate(**values: int) -> bool:
        return _value(tile, values) <= _value(extent, values)

    return Constraint(f"{tile} is at most {extent}", _names(tile, extent), predicate)


def fits_registers(
    rows: Size, columns: Size, *, vector_bits: int, element_bits: int = 32, registers: int | None = None
) -> Constraint:
    """Return the constraint that a register tile of a product fits the vector registers.

    A tile of rows × columns keeps rows × ⌈columns/lanes⌉ accumulators, and beside them ⌈columns/lanes⌉ vectors
    of a row of B and one element of A in all lanes. What does not fit is spilled in every iteration.

    Args:
        rows: The knob of the tile's rows.
        columns: The knob of its columns, along which it is vectorized.
        vector_bits: Width of a vector register.
        element_bits: Width of an accumulator's element.
        registers: How many vector registers there are; without it 32 for 512 bits, else 16 (x86; give 32 for
            AArch64, and for AVX-512 with shorter vectors).

    Raises:
        UsageError: A vector does not hold an element.
    """
    lanes = vector_bits // element_bits if element_bits > 0 else 0
    if lanes < 1:
        raise usage_error(f"a vector of {vector_bits} bits holds no element of {element_bits} bits")
    there = registers if registers is not None else (32 if vector_bits >= 512 else 16)

    def predicate(**values: int) -> bool:
        vectors = -(-_value(columns, values) // lanes)
        return _value(rows, values) * vectors + vectors + 1 <= there

    sentence = f"a tile of {rows}×{columns} with {lanes} elements a vector fits {there} vector registers"
    return Constraint(sentence, _names(rows, columns), predicate)


def fits_cache(
    parts: Sequence[Sequence[Size]],
    *,
    element_bytes: int = 4,
    level: int = 2,
    capacity_bytes: int | None = None,
) -> Constraint:
    """Return the constraint that a working set fits a level of the cache.

    Args:
        parts: The arrays of the working set, each as its extents: ``[("tile_m", "tile_k"), ("tile_k", 512)]``.
        element_bytes: Size of an element.
        level: The level, from 1.
        capacity_bytes: Its capacity; without it what the first core of this machine has.

    Raises:
        UsageError: There are no parts, or this machine does not say how large the level is.
    """
    if not parts:
        raise usage_error("a working set without parts fits every cache", "Give the extents of each array.")
    capacity = capacity_bytes if capacity_bytes is not None else _capacity_bytes(level)
    if capacity is None:
        raise usage_error(
            f"this machine does not say how large its level {level} cache is", "Give capacity_bytes=…."
        )

    def predicate(**values: int) -> bool:
        elements = sum(math.prod(_value(size, values) for size in part) for part in parts)
        return elements * element_bytes <= capacity

    shown = " + ".join("×".join(map(str, part)) for part in parts)
    sentence = f"({shown}) × {element_bytes} bytes fit the level {level} cache of {_in_units(capacity)}"
    return Constraint(sentence, _names(*(size for part in parts for size in part)), predicate)


def _capacity_bytes(level: int) -> int | None:
    return next((c.size_bytes for c in cache_levels() if c.name == f"L{level}"), None)


def _names(*sizes: Size) -> tuple[str, ...]:
    return tuple(dict.fromkeys(s for s in sizes if isinstance(s, str)))


def _value(size: Size, values: dict[str, int]) -> int:
    return values[size] if isinstance(size, str) else size


def _in_units(count: int) -> str:
    for unit, name in _UNITS:
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} bytes"
