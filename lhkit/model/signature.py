"""Signature of a payload function: array types of arguments and results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lhkit.model.printable import shortened

_MOST_OF_A_TYPE, _MOST_OF_ALL_TYPES = 120, 600

ShapedKind = Literal["tensor", "memref", "scalar"]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The type of an argument or result."""

    kind: ShapedKind  # ``tensor`` (a value), ``memref`` (a buffer that may be written to) or ``scalar``
    shape: tuple[int | None, ...]  # Extents in elements, None where dynamic; ``()`` for a scalar
    dtype: str  # Element type in NumPy's spelling (``float32``, ``bfloat16``, ``int64``; ``bool`` for i1)
    text: str  # The type as MLIR writes it
    # Distance of neighbours in each dimension in elements, None where dynamic; empty for a layout without
    # gaps, last dimension fastest
    strides: tuple[int | None, ...] = ()
    offset: int | None = 0  # Elements before the first one; None where dynamic

    @property
    def is_static(self) -> bool:
        """True if every extent is known."""
        return None not in self.shape

    def count(self, extent: int) -> int:
        """Return how many elements it has with this extent in every dynamic dimension."""
        return math.prod(extent if n is None else n for n in self.shape)

    def describe(self) -> str:
        """Return shape and dtype for people, such as ``512x?xfloat32``."""
        extents = "".join(f"{'?' if n is None else n}x" for n in self.shape)
        return f"{extents}{self.dtype}"


@dataclass(frozen=True, slots=True)
class Weight:
    """An argument of a function that was a constant."""

    argument: int
    name: str
    resource: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a payload."""

    name: str  # Symbol name without ``@``
    arguments: tuple[ArrayType, ...]  # One type an argument
    results: tuple[ArrayType, ...]  # One type a result
    line: int  # Line of its definition in the payload, from 1
    is_declaration: bool = False  # True where it has no body
    is_private: bool = False  # True where only the module's own functions call it
    weights: tuple[Weight, ...] = ()  # Which of its arguments were constants once
    sizes: tuple[int, ...] = ()  # Positions of the arguments from which the size of an allocation is computed
    # Positions of the arguments whose elements are used as indices, each with the extent they index if known
    indices: tuple[tuple[int, int | None], ...] = ()

    @property
    def is_dynamic(self) -> bool:
        """True if an argument has a dynamic extent."""
        return not all(a.is_static for a in self.arguments)

    def describe(self) -> str:
        """Return ``@name(types) -> (types)``; of what is long the middle is left out."""
        takes, gives = (
            shortened(", ".join(shortened(t.text, _MOST_OF_A_TYPE) for t in types), _MOST_OF_ALL_TYPES)
            for types in (self.arguments, self.results)
        )
        return f"@{self.name}({takes}) -> ({gives})"

    def misfit(self, shapes: Sequence[Sequence[int]]) -> str:
        """Return why the shapes of arrays do not match the arguments, or ""."""
        if len(shapes) != len(self.arguments):
            return f"{len(shapes)} shapes given, {len(self.arguments)} arguments taken by {self.describe()}"
        for i, (type_, shape) in enumerate(zip(self.arguments, shapes, strict=True)):
            fits = len(shape) == len(type_.shape)
            if not fits or any(n not in (None, m) for n, m in zip(type_.shape, shape, strict=True)):
                return f"shape {tuple(shape)} does not fit argument {i}, which is {type_.text}"
        return ""


@dataclass(frozen=True, slots=True)
class Microkernel:
    """A microkernel as its author wrote it."""

    name: str
    file: str
    text: str
    function: str | None = None
