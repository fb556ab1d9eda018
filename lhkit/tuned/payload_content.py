"""Content of a payload as a key: a hash of its canonical text, and its extents apart.

The compiler prints the canonical text: only its printer gives the same names and layout to all texts and
bytecodes of one IR. Extents are abstracted in that text, not in the IR, where other extents would not verify.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.load.loader import payload_source
from lhkit.model.payload import Payload
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import CanonicalText

# Extents in types, and where ops of tensor repeat them. Maps (``d0``), strides and permutations are structure.
_EXTENT = re.compile(r"(?<=[<x])\d+(?=x)|(static_\w+ = array<i64: )([-\d, ]+)")
_NUMBER = re.compile(r"(?<![-\d])\d+")


@dataclass(frozen=True, slots=True)
class Content:
    """Identity of a payload: what it computes, on which types.

    Attributes:
        digest: Hash of the canonical text.
        structure: Hash of that text with ``?`` for every extent.
        extents: These extents, in order.
    """

    digest: str
    structure: str
    extents: tuple[int, ...]


def content_of(payload: Payload, worker: Worker | None = None) -> Content:
    """Return the content of a payload.

    Raises:
        PayloadError: It does not parse or does not verify.
    """
    text = (worker or shared_worker()).ask(CanonicalText(payload_source(payload))).value
    return _content(text)


def _content(text: str) -> Content:
    extents: list[int] = []

    def abstracted(number: re.Match[str]) -> str:
        extents.append(int(number[0]))
        return "?"

    def replaced(match: re.Match[str]) -> str:
        return abstracted(match) if match[1] is None else match[1] + _NUMBER.sub(abstracted, match[2])

    structure = _EXTENT.sub(replaced, text)
    return Content(_sha256(text), _sha256(structure), tuple(extents))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def changed_extents(extents: Sequence[int], others: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of extents in which payloads of one structure differ, each once."""
    return tuple(dict.fromkeys((a, b) for a, b in zip(extents, others, strict=True) if a != b))


def log_distance(extents: Sequence[int], others: Sequence[int]) -> float:
    """Return the Euclidean distance of two shapes in logarithms: twice is as far as half."""
    return math.hypot(*(math.log(max(a, 1) / max(b, 1)) for a, b in changed_extents(extents, others)))
