"""What decides a kernel, as the worker is told it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lhkit.load.loader import describe_schedule, describe_sources
from lhkit.load.weights import describe_resources
from lhkit.model.codec import to_json
from lhkit.model.microkernel import Microkernel
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.worker.client import Worker


def describe_recipe(
    payload: Payload,
    schedule: Schedule | None,
    function: str,
    opt_level: int,
    worker: Worker,
    microkernels: Sequence[Microkernel] = (),
    target: str = "",
) -> tuple[dict[str, Any], bytes]:
    """Return payload, schedule and all that decides a kernel, as fields and body of a request."""
    described, body = describe_sources([(payload.source, payload.content)], role="payload")
    fields: dict[str, Any] = {
        "function": function,
        "opt_level": opt_level,
        "schedule": None,
        "microkernels": to_json(tuple(microkernels)),
        "target": target,
        "resources": describe_resources(payload, worker.files),
    }
    if schedule is not None:
        more, more_body, fields["schedule"] = describe_schedule(schedule)
        described, body = described + more, body + more_body
    return {"sources": described, **fields}, body
