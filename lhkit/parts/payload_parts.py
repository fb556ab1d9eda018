"""A payload cut into parts: each an op that multiplies and adds up, or reduces, with what fuses into it."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.load.loader import payload_source
from lhkit.model.payload import Payload
from lhkit.model.showable import Printable
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import CutParts, PartAnswer


@dataclass(frozen=True, slots=True)
class Part(Printable):
    """A part of a payload: ops that are scheduled together.

    Attributes:
        name: ``part_0``, … in the order in which they are computed first.
        kind: What takes most time in it: ``contraction``, ``convolution``, ``reduction``, ``elementwise``,
            ``copy`` or ``other``.
        ops: The names of its ops, in order.
        layers: Of each place where it is computed, the layers of the PyTorch module that it comes from; empty
            where that is not known. Equal parts are one part, computed in several places.
        payload: The part as a payload of its own. Weights are arguments.
    """

    name: str
    kind: str
    ops: tuple[str, ...]
    layers: tuple[str, ...]
    payload: Payload

    @property
    def count(self) -> int:
        """In how many places it is computed."""
        return len(self.layers)

    @property
    def summary(self) -> str:
        """What it is, in a few words: kind, shape of the first result, layers."""
        shape = self.payload.function().results[0].text if self.payload.function().results else ""
        times = f", {self.count} times" if self.count > 1 else ""
        where = next((layer for layer in self.layers if layer), "")
        return f"{self.name}: {self.kind}{times} to {shape}" + (f" ({where})" if where else "")

    def _mime_bundle(self) -> dict[str, Any]:
        return {"text/plain": self.summary}


def parts_of(payload: Payload, function: str | None = None, *, worker: Worker | None = None) -> tuple[Part, ...]:
    """Cut a function of a payload into parts; see `lhkit.model.payload`."""
    answer = cut(payload, payload.function(function).name, worker or shared_worker())
    lines = payload.text.splitlines()
    return tuple(
        Part(
            name=part.name,
            kind=part.kind,
            ops=part.ops,
            layers=tuple(_layers(lines, call) for call in part.calls),
            payload=Payload(f"{payload.source}, {part.name}", part.text, part.functions),
        )
        for part in answer.parts
    )


@functools.lru_cache(maxsize=8)
def _cut(sha256: str, function: str, worker: Worker, request: _ByIdentity) -> PartAnswer:
    return worker.ask(request.request)


@dataclass(frozen=True, slots=True)
class _ByIdentity:
    """A request that is no part of a cache key: the hash of its payload is."""

    request: CutParts = dataclasses.field(compare=False)


def cut(payload: Payload, function: str, worker: Worker) -> PartAnswer:
    """Return a payload whose function calls its parts; the last few are remembered."""
    return _cut(payload.sha256, function, worker, _ByIdentity(CutParts(payload_source(payload), function)))


_COMMENT = re.compile(r"^\s*// (\S.*)$")


def _layers(lines: Sequence[str], call: Sequence[int]) -> str:
    """Return the layers that the comments above these lines name, the most frequent first."""
    found: Counter[str] = Counter()
    for line in call:
        for above in reversed(lines[: line - 1]):
            if above.lstrip().startswith("func.func"):
                break
            if match := _COMMENT.match(above):
                found[match[1]] += 1
                break
    return ", ".join(found)
