"""Framed MessagePack messages between client and worker, and the types of these messages."""

from __future__ import annotations

import functools
import struct
from collections.abc import Hashable
from typing import Any, BinaryIO, Protocol, TypeVar, Union, cast

import msgspec

from lhkit.model.errors import Failure, usage_error
from lhkit.worker.c_compiler import CompiledC
from lhkit.worker.requests import Request

T = TypeVar("T")

_MAGIC = b"LHK2"
_HEAD = struct.Struct("<4sQ")
_MOST_BYTES = 1 << 40
_MOST_MEMORY_BYTES = 1 << 62
_ENCODER = msgspec.msgpack.Encoder()


class GarbageError(Exception):
    """The bytes on the pipe are not a message."""


class Readable(Protocol):
    """A source of messages."""

    def read(self, count: int, /) -> bytes:
        """Return at most so many bytes; none at the end."""


# From the client.


class Call(msgspec.Struct, frozen=True):
    """An encoded request (see `decode_request`), its limits, and the kernels that the worker may release."""

    request: msgspec.Raw
    seconds: float
    memory_bytes: int
    release: tuple[int, ...] = ()


# From the worker.


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """The first message of a worker that has started."""

    pid: int


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """A stage of a request, sent before its answer: the payload at its start, the hash of a sweep's variant."""

    stage: str
    ir: str | None = None
    ir_sha256: str | None = None


class CompileC(msgspec.Struct, frozen=True, tag="compile_c"):
    """C source that the client compiles: the worker may not start processes."""

    file: str
    text: str
    header: str
    target: str


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """The answer to a request, still encoded."""

    answer: msgspec.Raw


class Failed(msgspec.Struct, frozen=True, tag="failed", omit_defaults=True):
    """A request that failed; with a traceback, by a defect of lhkit."""

    failure: Failure
    traceback: str | None = None


FromWorker = Hello | Progress | CompileC | Answered | Failed
CompilerReply = CompiledC | Failed


def encode(message: object) -> bytes:
    """Serialize a value; lone surrogates, as in file names that are not UTF-8, become question marks.

    Raises:
        UsageError: A number has more than 64 bits.
    """
    try:
        return _ENCODER.encode(message)
    except OverflowError:
        raise usage_error(
            "a number has more than 64 bits", "Extents and values of knobs have at most 64."
        ) from None
    except UnicodeEncodeError:
        return _ENCODER.encode(_without_surrogates(msgspec.to_builtins(message, builtin_types=(bytes,))))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return [_without_surrogates(v) for v in value] if isinstance(value, list | tuple) else value


@functools.cache
def _decoder(type_: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(type_)


def decode(data: bytes | msgspec.Raw, type_: type[T]) -> T:
    """Deserialize a value; a `GarbageError` names the field that does not have its type."""
    try:
        value: T = _decoder(cast(Hashable, type_)).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        name = type_.__name__ if isinstance(type_, type) else "request"
        raise GarbageError(f"not a {name}: {error}") from None
    return value


@functools.cache
def request_union(types: tuple[type[Request[Any]], ...]) -> Any:
    """Return the union of request types, which decodes requests by their names."""
    return Union[types]  # noqa: UP007 - of a tuple


def call_of(request: Request[Any], seconds: float, memory_bytes: int, release: tuple[int, ...] = ()) -> Call:
    """Return a request as it is sent."""
    return Call(msgspec.Raw(encode(request)), seconds, min(memory_bytes, _MOST_MEMORY_BYTES), release)


def write_message(stream: BinaryIO, message: object) -> None:
    """Write one frame and flush it."""
    data = encode(message)
    stream.write(_HEAD.pack(_MAGIC, len(data)))
    stream.write(data)
    stream.flush()


def read_message(stream: Readable, type_: Any) -> Any:
    """Return the next message, or None at the end of the stream; a `GarbageError` if it is cut or malformed."""
    head = _read_exactly(stream, _HEAD.size, allow_end=True)
    if head is None:
        return None
    magic, count = _HEAD.unpack(head)
    if magic != _MAGIC or count > _MOST_BYTES:
        raise GarbageError(f"expected a message, got {head[:16]!r}")
    return decode(_read_exactly(stream, count) or b"", type_)


def _read_exactly(stream: Readable, count: int, *, allow_end: bool = False) -> bytes | None:
    pieces: list[bytes] = []
    missing = count
    while missing:
        piece = stream.read(missing)
        if not piece:
            if allow_end and not pieces:
                return None
            raise GarbageError(f"the stream ended after {count - missing} of {count} bytes")
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)
