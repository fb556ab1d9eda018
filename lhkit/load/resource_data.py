"""Data of resources: split from MLIR text and bytecode, read from weight files, as blobs of payloads."""

from __future__ import annotations

import binascii
import math
import mmap
import os
import re
import struct
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lhkit.model.errors import Diagnostic, Failure, LhkitError, error_for, usage_error
from lhkit.model.file_io import open_input, parse_json
from lhkit.model.payload import Blob, ResourceUse
from lhkit.model.signature import Function
from lhkit.model.span import Span
from lhkit.worker.shared_arrays import BlobFile, dtype_named

_PIECE_BYTES = 4 << 20
# Strings and comments may hold what looks like the beginning of resources.
_TOKEN = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|//[^\n]*|\{-#')
_SPACE = re.compile(rb"(?:\s+|//[^\n]*)*")
_KEY = re.compile(rb'\s*(?:([A-Za-z_][\w$.-]*)|"([^"\\\n]*(?:\\.[^"\\\n]*)*)")\s*:\s*')
_VALUE = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[^\s,{}"]+')
_ESCAPED = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")
_ALIGNMENT_BYTES = 4

Buffer = bytes | mmap.mmap


@dataclass(frozen=True, slots=True)
class FoundBlob:
    """The data of a resource as it was found; its type is not known yet."""

    name: str
    data: memoryview
    sha256: str


class CutOffError(Exception):
    """A text ends within the data of a resource, whose name this is."""


class _NotPlainError(Exception):
    """The resources are not written as they should be; the parser of MLIR says what is wrong."""


def split_resources(text: Buffer) -> tuple[bytes, tuple[FoundBlob, ...]]:
    """Return a text without its resource data, and that data; line numbers and malformed texts stay."""
    start = _section_start(text)
    if start is None:
        return text[:], ()
    reader = _TextReader(text, start + len(b"{-#"))
    try:
        reader.read_entries((), b"#-}")
    except _NotPlainError:
        return text[:], ()
    if reader.holds_only_blobs and not text[reader.at :].strip():
        return text[:start].rstrip() + b"\n", tuple(reader.blobs)
    left, at = [], 0
    for begin, end, lines in reader.cut:
        left += [text[at:begin], b"\n" * lines]
        at = end
    return b"".join([*left, text[at:]]), tuple(reader.blobs)


def _section_start(text: Buffer) -> int | None:
    if text.find(b"dialect_resources") < 0:
        return None
    return next((m.start() for m in _TOKEN.finditer(text) if text[m.start() : m.start() + 1] == b"{"), None)


class _TextReader:
    """Reads the part of a text between ``{-#`` and ``#-}``."""

    def __init__(self, text: Buffer, at: int) -> None:
        self._text = text
        self.at = at
        self.blobs: list[FoundBlob] = []
        self.cut: list[tuple[int, int, int]] = []
        self.holds_only_blobs = True

    def read_entries(self, path: tuple[str, ...], end: bytes) -> None:
        while not self._accept(end):
            key = self._key()
            if self._text[self.at : self.at + 1] == b"{":
                self._read_dictionary((*path, key))
            else:
                self.holds_only_blobs = False
                self.at = self._expect(_VALUE).end()
            self._accept(b",")

    def _read_dictionary(self, path: tuple[str, ...]) -> None:
        self.at += 1
        if path != ("dialect_resources", "builtin"):
            self.read_entries(path, b"}")
            return
        begin = behind = self.at
        lines = 0
        while not self._accept(b"}"):
            name = self._key()
            lines += self._text[behind : self.at].count(b"\n")
            self.blobs.append(_stored(name, self._blob_pieces(name)))
            behind = self.at
            self._accept(b",")
        lines += self._text[behind : self.at].count(b"\n")
        self.cut.append((begin, self.at - 1, lines))

    def _blob_pieces(self, name: str) -> Iterator[bytes]:
        """Yield the data of ``"0x…"``, of which the first four bytes are the alignment."""
        if self._text[self.at : self.at + 3] != b'"0x':
            raise _NotPlainError
        self.at += 3
        head, is_done = b"", False
        while not is_done:
            piece = self._text[self.at : self.at + _PIECE_BYTES]
            digits, quote, _ = piece.partition(b'"')
            is_done = bool(quote)
            if not is_done and len(piece) < _PIECE_BYTES:
                raise CutOffError(name)
            try:
                data = binascii.unhexlify(digits)
            except binascii.Error:
                raise _NotPlainError from None
            if len(head) < _ALIGNMENT_BYTES:
                head, data = data[:_ALIGNMENT_BYTES], data[_ALIGNMENT_BYTES:]
            yield data
            before, self.at = self.at, self.at + len(digits) + len(quote)
            _forget_pages(self._text, before, self.at)
        if len(head) < _ALIGNMENT_BYTES or struct.unpack("<I", head)[0].bit_count() != 1:
            raise _NotPlainError

    def _key(self) -> str:
        match = self._expect(_KEY)
        self.at = match.end()
        bare, quoted = match.groups()
        return (bare if bare is not None else _ESCAPED.sub(_unescape, quoted)).decode(errors="replace")

    def _expect(self, pattern: re.Pattern[bytes]) -> re.Match[bytes]:
        match = pattern.match(self._text, self.at)
        if match is None:
            raise _NotPlainError
        return match

    def _accept(self, token: bytes) -> bool:
        """Go on behind space, and behind a token if it comes next."""
        space = _SPACE.match(self._text, self.at)
        self.at = space.end() if space else self.at
        if self._text[self.at : self.at + len(token)] != token:
            return False
        self.at += len(token)
        return True


def _stored(name: str, pieces: Iterable[bytes | memoryview]) -> FoundBlob:
    """Return data that is written to a separate mapped file, piece by piece."""
    with BlobFile() as file:
        for piece in pieces:
            file.write(piece)
        return FoundBlob(name, *file.finish())


def _forget_pages(content: Buffer, begin: int, end: int) -> None:
    """Let the pages of a mapped file go that are not looked at again."""
    if isinstance(content, mmap.mmap) and hasattr(content, "madvise"):
        first = begin // mmap.PAGESIZE * mmap.PAGESIZE
        if (length := end // mmap.PAGESIZE * mmap.PAGESIZE - first) > 0:
            content.madvise(mmap.MADV_DONTNEED, first, length)


def _pieces_of(content: Buffer, begin: int, end: int) -> Iterator[bytes]:
    for at in range(begin, end, _PIECE_BYTES):
        behind = min(at + _PIECE_BYTES, end)
        yield content[at:behind]
        _forget_pages(content, at, behind)


def _unescape(match: re.Match[bytes]) -> bytes:
    return bytes.fromhex(match[1].decode()) if len(match[1]) == 2 else match[1]


# The resources of MLIR bytecode: their data goes to files, and the rest is bytecode with empty ones.


MAGIC = b"ML\xefR"
_STRINGS, _RESOURCES, _OFFSETS = 0, 5, 6
_ALIGNED = 0x80
_BLOB = 0
# Alignment 1 and no bytes.
_EMPTY_BLOB = b"\x03\x01"


class _Section(NamedTuple):
    """A section: its number, and where its data is."""

    number: int
    begin: int
    end: int


class _Entry(NamedTuple):
    """A resource: index of its name, kind, where its value is, and whether it is a blob with data."""

    key: int
    kind: int
    begin: int
    end: int
    is_blob: bool


class _BytecodeReader:
    """Reads numbers from a part of bytes."""

    def __init__(self, content: Buffer, begin: int, end: int) -> None:
        self._content, self.at, self._end = content, begin, end

    @property
    def is_done(self) -> bool:
        return self.at >= self._end

    def byte(self) -> int:
        return self.take(1)[0]

    def take(self, count: int) -> bytes:
        if self.at + count > self._end:
            raise ValueError("the bytecode ends too early")
        self.at += count
        return self._content[self.at - count : self.at]

    def number(self) -> int:
        """Return the next number: the zeros at the end of its first byte say how many bytes follow."""
        first = self.byte()
        if first == 0:
            return int.from_bytes(self.take(8), "little")
        more = (first & -first).bit_length() - 1
        return int.from_bytes(bytes([first]) + self.take(more), "little") >> (more + 1)


def split_bytecode(content: Buffer) -> tuple[bytes, tuple[FoundBlob, ...]]:
    """Return bytecode without its resource data, and that data; MLIR's parser diagnoses malformed bytecode."""
    try:
        start, sections = _sections(content)
        by_number = {s.number: s for s in sections}
        if not {_STRINGS, _RESOURCES, _OFFSETS} <= by_number.keys():
            return content[:], ()
        strings = _read_strings(content, by_number[_STRINGS])
        external, groups = _read_groups(content, by_number[_OFFSETS], by_number[_RESOURCES])
        blobs = [(strings[e.key], *_data_of(content, e)) for _, group in groups for e in group if e.is_blob]
        changed = _emptied(content, external, groups)
    except (ValueError, IndexError):
        return content[:], ()
    found = tuple(_stored(name, _pieces_of(content, begin, end)) for name, begin, end in blobs)
    written = [content[:start]]
    for number, begin, end in sections:
        data = changed[number] if number in changed else content[begin:end]
        written += [bytes([number]), _number(len(data)), data]
    return b"".join(written), found


def _sections(content: Buffer) -> tuple[int, list[_Section]]:
    reader = _BytecodeReader(content, len(MAGIC), len(content))
    reader.number()  # the version
    while reader.byte():  # the producer
        pass
    start, found = reader.at, []
    while not reader.is_done:
        head = reader.byte()
        length = reader.number()
        if head & _ALIGNED:
            alignment = reader.number()
            if alignment.bit_count() != 1:
                raise ValueError("an alignment is not a power of two")
            reader.at += -reader.at % alignment
        found.append(_Section(head & ~_ALIGNED, reader.at, reader.at + length))
        reader.at += length
    if reader.at != len(content):
        raise ValueError("the last section is cut off")
    return start, found


def _read_strings(content: Buffer, section: _Section) -> list[str]:
    reader = _BytecodeReader(content, section.begin, section.end)
    lengths = [reader.number() for _ in range(reader.number())]
    # Lengths are in reverse order, and count the zero at the end.
    return [reader.take(length)[:-1].decode(errors="replace") for length in reversed(lengths)]


def _read_groups(
    content: Buffer, offsets: _Section, values: _Section
) -> tuple[int, list[tuple[int, list[_Entry]]]]:
    """Return how many groups of resources are no dialect's, and each group with its owner."""
    reader = _BytecodeReader(content, offsets.begin, offsets.end)
    external, at = reader.number(), values.begin
    groups: list[tuple[int, list[_Entry]]] = []
    while not reader.is_done:
        owner, entries = reader.number(), list[_Entry]()
        for _ in range(reader.number()):
            key, size, kind = reader.number(), reader.number(), reader.byte()
            # A resource that is only named has no value at all.
            is_blob = len(groups) >= external and kind == _BLOB and size > 0
            entries.append(_Entry(key, kind, at, at + size, is_blob))
            at += size
        groups.append((owner, entries))
    if at != values.end:
        raise ValueError("the sizes of resources do not add up")
    return external, groups


def _data_of(content: Buffer, entry: _Entry) -> tuple[int, int]:
    """Return where the data of a blob is: behind alignment, size and padding."""
    reader = _BytecodeReader(content, entry.begin, entry.end)
    reader.number()
    size = reader.number()
    if entry.end - size < reader.at:
        raise ValueError("a resource is larger than its value")
    return entry.end - size, entry.end


def _emptied(content: Buffer, external: int, groups: list[tuple[int, list[_Entry]]]) -> dict[int, bytes]:
    """Return the two sections of resources as they are when blobs have no data."""
    offsets, values = [_number(external)], []
    for owner, entries in groups:
        offsets += [_number(owner), _number(len(entries))]
        for entry in entries:
            value = _EMPTY_BLOB if entry.is_blob else content[entry.begin : entry.end]
            offsets += [_number(entry.key), _number(len(value)), bytes([entry.kind])]
            values.append(value)
    return {_OFFSETS: b"".join(offsets), _RESOURCES: b"".join(values)}


def _number(value: int) -> bytes:
    for more in range(8):
        if value < 1 << 7 * (more + 1):
            return ((value << (more + 1)) | (1 << more)).to_bytes(more + 1, "little")
    return b"\0" + value.to_bytes(8, "little")


_MOST_HEADER_BYTES = 100 << 20
_SUFFIXES = (".npz", ".safetensors")
# What NumPy and the standard library raise for a damaged file.
_UNFIT: tuple[type[Exception], ...] = (ValueError, KeyError, TypeError, AttributeError, EOFError, SyntaxError)
_UNFIT = (*_UNFIT, TokenError, struct.error, zipfile.BadZipFile)


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name, whole or not at all; elements that NumPy does not know are written as integers."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    plain = array if array.dtype.kind != "V" else array.view(np.uint16)
                    np.lib.format.write_array(member, plain, allow_pickle=False)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def read_weights(path: Path, names: Collection[str]) -> list[FoundBlob]:
    """Return the arrays of a file that have these names; the others are not read."""
    try:
        read = _read_safetensors if path.suffix == ".safetensors" else _read_npz
        return list(read(path, names))
    except FileNotFoundError:
        raise usage_error(f"no such file: {path}") from None
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror or error}") from None
    except _UNFIT as error:
        message = f"{path} is not a weight file: {error}"
        raise usage_error(message, "Weights are .npz or .safetensors.") from None


def _read_npz(path: Path, names: Collection[str]) -> Iterator[FoundBlob]:
    with open_input(path) as file, zipfile.ZipFile(file) as archive:
        for member in archive.namelist():
            name = member.removesuffix(".npy")
            if name in names:
                with archive.open(member) as stream:
                    yield _stored(name, _read_pieces(name, stream, _npy_bytes(stream)))


def _npy_bytes(stream: IO[bytes]) -> int:
    """Return how many bytes of data follow the head of a ``.npy`` file, which is read."""
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, by_columns, dtype = readers[version](stream)
    if (by_columns and len(shape) > 1) or dtype.hasobject or dtype.byteorder == ">":
        raise ValueError("an array in it is not row by row, little endian numbers")
    return math.prod(shape) * dtype.itemsize


def _read_safetensors(path: Path, names: Collection[str]) -> Iterator[FoundBlob]:
    with open_input(path) as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        if length > _MOST_HEADER_BYTES:
            raise ValueError("its head is too long")
        described = parse_json(stream.read(length))
        for name in names:
            if name in described:
                begin, end = described[name]["data_offsets"]
                stream.seek(8 + length + begin)
                yield _stored(name, _read_pieces(name, stream, end - begin))


def _read_pieces(name: str, stream: IO[bytes], nbytes: int) -> Iterator[bytes]:
    while nbytes:
        piece = stream.read(min(nbytes, _PIECE_BYTES))
        if not piece:
            raise ValueError(f"{name} ends too early")
        yield piece
        nbytes -= len(piece)


# The blobs of a payload, put together from what was found in its text, beside it, or given.


Array = NDArray[Any]
Weights = str | os.PathLike[str] | Mapping[str, Any]


def array_of(blob: Blob) -> Array:
    """Return the data of a blob as a read-only array, bytes where NumPy has no such elements."""
    try:
        dtype = dtype_named(blob.dtype)
    except TypeError:
        return np.frombuffer(blob.data, np.uint8)
    return np.frombuffer(blob.data, dtype).reshape(blob.shape)


def uses_of(functions: Sequence[Function], constants: Sequence[ResourceUse]) -> dict[str, list[ResourceUse]]:
    """Return what a payload uses each resource for: constants, and arguments that were constants."""
    uses: dict[str, list[ResourceUse]] = {}
    for use in constants:
        uses.setdefault(use.name, []).append(use)
    for function in functions:
        for weight in function.weights:
            type_ = function.arguments[weight.argument]
            shape = tuple(n or 0 for n in type_.shape)
            nbytes = _nbytes(type_.dtype, shape)
            use = ResourceUse(weight.resource, type_.dtype, shape, type_.text, nbytes, function.line, 1)
            uses.setdefault(weight.resource, []).append(use)
    return uses


def _nbytes(dtype: str, shape: Sequence[int]) -> int | None:
    try:
        return int(np.prod(shape, dtype=np.int64)) * dtype_named(dtype).itemsize
    except TypeError:
        return None


def collect_blobs(
    source: tuple[str, str, Path | None],
    uses: Mapping[str, Sequence[ResourceUse]],
    found: Sequence[FoundBlob],
    weights: Weights | None,
) -> tuple[Blob, ...]:
    """Return the blobs that a payload uses, as far as their data is there."""
    data = {f.name: f for f in found if f.name in uses}
    if isinstance(weights, Mapping):
        data |= {name: _given(name, array, uses, source[0]) for name, array in weights.items()}
    elif weights is not None:
        data |= {f.name: f for f in read_weights(Path(weights), uses.keys())}
    missing = [name for name in uses if name not in data]
    beside = [source[2].with_suffix(suffix) for suffix in _SUFFIXES] if missing and source[2] else []
    for file in [file for file in beside if file.is_file()][:1]:
        data |= {f.name: f for f in read_weights(file, missing)}
    for name, blob in data.items():
        for use in uses[name]:
            if use.nbytes not in (None, blob.data.nbytes):
                raise _wrong_size(source, use, blob)
    ordered = [(name, data[name]) for name in uses if name in data]
    return tuple(Blob(n, uses[n][0].dtype, uses[n][0].shape, b.sha256, b.data) for n, b in ordered)


def _given(name: str, array: Any, uses: Mapping[str, Sequence[ResourceUse]], source: str) -> FoundBlob:
    if name not in uses:
        known = ", ".join(uses) or "none"
        raise usage_error(f"{source} uses no resource {name!r}", f"Its resources: {known}.")
    given, use = np.asarray(array), uses[name][0]
    have = "x".join(map(str, (*given.shape, given.dtype.name)))
    if given.shape != use.shape or (use.nbytes is not None and given.dtype != dtype_named(use.dtype)):
        raise usage_error(f"the data for {name} is {have}, and {source} has {use.text}")
    try:
        return _stored(name, [np.ascontiguousarray(given).reshape(-1).view(np.uint8).data])
    except OSError as error:
        raise usage_error(f"there is no room for the data of {name}: {error.strerror or error}") from None


def _wrong_size(source: tuple[str, str, Path | None], use: ResourceUse, blob: FoundBlob) -> LhkitError:
    shown, text, _ = source
    what = f"the resource {use.name} has {blob.data.nbytes} bytes, and {use.text} needs {use.nbytes}"
    here = Diagnostic("error", what, Span(shown, use.line, use.column))
    failure = Failure(
        "payload-verify", f"{shown} does not verify", (here,), stage="parse", texts=((shown, text),)
    )
    return error_for(failure)
