"""The work of payloads: operations, bytes, and the length of reductions."""

from __future__ import annotations

from collections.abc import Sequence

from lhkit.load.loader import describe_sources
from lhkit.model.codec import from_json
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.signature import Function
from lhkit.model.work import Work
from lhkit.worker.client import Worker
from lhkit.worker.workers import shared_worker


def payload_work(
    payload: Payload,
    function: str | None = None,
    shapes: Sequence[Sequence[int]] | None = None,
    worker: Worker | None = None,
) -> Work:
    """Return what one call of a payload's function has to do, as its ops say before they are scheduled.

    Args:
        payload: The payload.
        function: Which of its functions; needed where it has several.
        shapes: The shape of each argument, ``()`` for a scalar; needed where they are dynamic.
        worker: Another worker than the session's.

    Raises:
        UsageError: No such function, or a shape that does not fit its argument.
    """
    signature = payload.function(function)
    if shapes is not None:
        _check_shapes(signature, shapes)
    described, body = describe_sources([(payload.source, payload.content)], role="payload")
    fields = {
        "sources": described,
        "function": signature.name,
        "shapes": None if shapes is None else [[int(n) for n in shape] for shape in shapes],
    }
    answer = (worker or shared_worker()).request("work", fields, body)
    return from_json(Work, answer.header["work"])


def _check_shapes(function: Function, shapes: Sequence[Sequence[int]]) -> None:
    types = function.arguments
    if len(shapes) != len(types):
        raise usage_error(f"{len(shapes)} shapes given, {len(types)} arguments taken by {function.describe()}")
    for i, (type_, shape) in enumerate(zip(types, shapes, strict=True)):
        fits = len(shape) == len(type_.shape)
        fits = fits and all(n in (None, m) for n, m in zip(type_.shape, shape, strict=True))
        if not fits:
            raise usage_error(f"shape {tuple(shape)} does not fit argument {i}, which is {type_.text}")
