"""What instructions for dot products of narrow numbers are to compute: operands in memory, and their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DotProduct:
    """A product of two small matrices that is added to a result; elements lie in groups that fill 32 bits.

    Attributes:
        types: Of the buffers: rows x steps x group, steps x columns x group, rows x columns.
        extension: What extends the elements: ``arith.extf`` of bf16, ``arith.extsi`` or ``arith.extui`` of i8,
            ``arith.extsi`` of i16.
        from_zeros: Whether the result is zero before, whatever lies in memory.
    """

    types: tuple[Any, Any, Any]
    extension: str
    from_zeros: bool

    @property
    def element(self) -> str:
        """Type of the elements of both operands."""
        return str(self.types[0].element_type)

    @property
    def rows(self) -> int:
        """Rows of the left-hand side and of the result."""
        return int(self.types[2].shape[0])

    @property
    def columns(self) -> int:
        """Columns of the right-hand side and of the result."""
        return int(self.types[2].shape[1])

    @property
    def steps(self) -> int:
        """Groups of each row."""
        return int(self.types[0].shape[1])


def place_text(key: str, type_: Any) -> str:
    """Return text that gives a buffer's address, ``%key_at``, and the bytes of a row, ``%key_row``."""
    indices = ", ".join(["index"] * (2 * type_.rank + 1))
    return f"""
      %{key}_base, %{key}_offset, %{key}_sizes:{type_.rank}, %{key}_strides:{type_.rank} =
        memref.extract_strided_metadata %{key} : {type_} -> memref<{type_.element_type}>, {indices}
      %{key}_bytes = arith.constant {type_.element_type.width // 8} : index
      %{key}_first = memref.extract_aligned_pointer_as_index %{key}_base : memref<{type_.element_type}> -> index
      %{key}_before = arith.muli %{key}_offset, %{key}_bytes : index
      %{key}_sum = arith.addi %{key}_first, %{key}_before : index
      %{key}_at = arith.index_cast %{key}_sum : index to i64
      %{key}_stride = arith.muli %{key}_strides#0, %{key}_bytes : index
      %{key}_row = arith.index_cast %{key}_stride : index to i64"""


def halves(extent: int, most: int) -> list[int]:
    """Return an extent of at most twice so many in one or two parts, the first as large as may be."""
    return [min(extent, most), extent - most] if extent > most else [extent]
