"""Signature of a payload function: array types of arguments and results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from lhkit.model.printable import shortened

_MOST_OF_A_TYPE, _MOST_OF_ALL_TYPES = 120, 600

ShapedKind = Literal["tensor", "memref", "scalar"]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The type of an argument or result.

    Attributes:
        kind: ``tensor`` (a value), ``memref`` (a buffer that may be written to) or ``scalar``.
        shape: Extents in elements, None where dynamic; ``()`` for a scalar.
        dtype: Element type in NumPy's spelling (``float32``, ``bfloat16``, ``int64``; ``bool`` for i1).
        text: The type as MLIR writes it.
        strides: Distance of neighbours in each dimension in elements, None where dynamic; empty for a layout
            without gaps, last dimension fastest.
        offset: Elements before the first one; None where dynamic.
    """

    kind: ShapedKind
    shape: tuple[int | None, ...]
    dtype: str
    text: str
    strides: tuple[int | None, ...] = ()
    offset: int | None = 0

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
    """A function of a payload.

    Attributes:
        name: Symbol name without ``@``.
        arguments: One type an argument.
        results: One type a result.
        line: Line of its definition in the payload, from 1.
        is_declaration: True where it has no body.
        weights: Which of its arguments were constants once.
        sizes: Positions of the arguments from which the size of an allocation is computed.
    """

    name: str
    arguments: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]
    line: int
    is_declaration: bool = False
    weights: tuple[Weight, ...] = ()
    sizes: tuple[int, ...] = ()

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


@dataclass(frozen=True, slots=True)
class Microkernel:
    """A microkernel as its author wrote it."""

    name: str
    file: str
    text: str
    function: str | None = None
