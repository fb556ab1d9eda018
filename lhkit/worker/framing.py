"""Messages between client and worker: a JSON header and a body of raw bytes in one frame."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from lhkit.worker.limits import Limits

_MAGIC = b"LHK1"
_HEAD = struct.Struct("<4sIQ")
_MOST_HEADER_BYTES = 1 << 31


class GarbageError(Exception):
    """What came over the pipe is not a message."""


@dataclass(frozen=True, slots=True)
class Message:
    """A header that JSON can hold, and the bytes that it refers to by offset."""

    header: dict[str, Any]
    body: bytes = b""


class Readable(Protocol):
    """What messages are read from."""

    def read(self, count: int, /) -> bytes:
        """Return at most so many bytes; none at the end."""


def write_message(stream: BinaryIO, message: Message) -> None:
    """Write one frame and flush it."""
    header = json.dumps(message.header).encode()
    stream.write(_HEAD.pack(_MAGIC, len(header), len(message.body)) + header)
    if message.body:
        stream.write(message.body)
    stream.flush()


def read_message(stream: Readable) -> Message | None:
    """Return the next message, or None at the end of the stream.

    Raises:
        GarbageError: The bytes are no message, or end in the middle of one.
    """
    head = _read_exactly(stream, _HEAD.size, allow_end=True)
    if head is None:
        return None
    magic, header_bytes, body_bytes = _HEAD.unpack(head)
    if magic != _MAGIC or header_bytes > _MOST_HEADER_BYTES:
        raise GarbageError(f"expected a message, got {head[:16]!r}")
    header = _read_exactly(stream, header_bytes)
    body = _read_exactly(stream, body_bytes)
    try:
        fields = json.loads(header or b"")
    except ValueError as error:
        raise GarbageError(f"a header is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise GarbageError("a header is not an object")
    return Message(fields, body or b"")


def _read_exactly(stream: Readable, count: int, *, allow_end: bool = False) -> bytes | None:
    data = b""
    while len(data) < count:
        piece = stream.read(count - len(data))
        if not piece:
            if allow_end and not data:
                return None
            raise GarbageError(f"the stream ended after {len(data)} of {count} bytes")
        data = data + piece if data else piece
    return data


# Requests: as they are asked, as a process takes them, and as a reproducer keeps them.


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
