"""How much a payload has to do: what throughput and a limit of the machine refer to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one call of a payload's function, as its ops say before anything is scheduled.

    Attributes:
        flops: Arithmetic operations on elements, integer ones too: add, subtract, multiply, divide, minimum,
            maximum, compare and each function such as exp count one, a fused multiply-add two. Moving,
            converting, selecting, bit operations and index arithmetic count none. None where it
            cannot be known.
        bytes: The traffic that no schedule can avoid: every argument that is read, once, and every result or
            memref that is written, once. None where it cannot be known.
        reduction_length: How many terms an element of the longest reduction sums, 1 if there is none. Where an
            extent is unknown, the elements of the largest argument that are known of.
    """

    flops: int | None
    bytes: int | None
    reduction_length: int
