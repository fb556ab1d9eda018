"""Blobs: data of ``dense_resource`` constants, kept beside the IR."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Blob:
    """The data of one resource of a payload. What it holds is never printed.

    Attributes:
        name: Its name in the IR: ``w`` in ``dense_resource<w>``.
        dtype: Element type in NumPy's spelling; MLIR's own where NumPy has none.
        shape: Extents in elements.
        sha256: Hash of the bytes, in hexadecimal; blobs with the same hash are equal.
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
    """An argument of a function that was a constant.

    Attributes:
        argument: Which argument, from 0.
        name: What it is called, such as ``matmul_0_B``.
        resource: The name of the resource that has its data.
    """

    argument: int
    name: str
    resource: str


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """A constant of a payload whose data is a resource.

    Attributes:
        name: The name of the resource.
        dtype: Element type, as for blobs.
        shape: Extents in elements.
        text: The type as MLIR writes it.
        nbytes: How many bytes such a constant has, None where NumPy has no such elements.
        line: Line of the constant in the payload, from 1.
        column: Column there, from 1.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    text: str
    nbytes: int | None
    line: int
    column: int
