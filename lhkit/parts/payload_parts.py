"""A payload cut into parts: an op that multiplies or reduces each, with what fuses into it."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.load.loader import payload_source
from lhkit.model.payload import Part, Payload
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import CutParts, PartAnswer


def parts_of(
    payload: Payload, function: str | None = None, *, worker: Worker | None = None
) -> tuple[Part, ...]:
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
    """Return the layers that the comments above these lines name, each once with what is done in it."""
    found: dict[str, dict[str, None]] = {}
    for line in call:
        for above in reversed(lines[: line - 1]):
            if above.lstrip().startswith("func.func"):
                break
            if match := _COMMENT.match(above):
                layer, _, does = match[1].rpartition(" ")
                found.setdefault(layer, {})[does] = None
                break
    return ", ".join(f"{layer} {', '.join(does)}".strip() for layer, does in found.items())
