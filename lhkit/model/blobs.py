"""Blobs: data of ``dense_resource`` constants, kept beside the IR."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Blob:
    """The data of one resource of a payload. What it holds is never printed.

    Attributes:
        name: Its name in the IR: ``w`` in ``dense_resource<w>``.
        dtype: Element type in NumPy's spelling; MLIR's own where NumPy has none.
        data: The bytes, in a memory-mapped file that is deleted with the last reference.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str
    data: memoryview = field(repr=False, compare=False)

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        return self.data.nbytes


@dataclass(frozen=True, slots=True)
class Weight:
    """An argument of a function that was a constant."""

    argument: int
    name: str
    resource: str


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """A constant of a payload whose data is a resource.

    Attributes:
        text: The type as MLIR writes it.
        nbytes: How many bytes such a constant has, None where NumPy has no such elements.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    text: str
    nbytes: int | None
    line: int
    column: int
