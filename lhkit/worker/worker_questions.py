"""Requests: as they are asked, as a process takes them, and as a reproducer keeps them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from lhkit.worker.framing import Message
from lhkit.worker.limits import Limits

_KEPT_BODY_BYTES = 64 << 20

Request = dict[str, Any]
Question = tuple[str, dict[str, Any], bytes]


def record(name: str, fields: dict[str, Any], body: bytes) -> Request:
    """Return a request as a reproducer keeps it."""
    kept = body if len(body) <= _KEPT_BODY_BYTES else b""
    return {"request": name, "fields": fields, "body": base64.b64encode(kept).decode()}


def question_message(question: Question, limits: Limits, released: Sequence[int] = ()) -> Message:
    """Return a request as the process takes it.

    Args:
        question: The request as (name, fields, body).
        limits: Time and memory for it.
        released: Kernels that the process may forget.
    """
    name, fields, body = question
    header = {
        "request": name,
        "fields": fields,
        "seconds": limits.seconds,
        "memory_bytes": limits.memory_bytes,
        "release": list(released),
    }
    return Message(header, body)
