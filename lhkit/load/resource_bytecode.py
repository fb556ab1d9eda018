"""The resources of MLIR bytecode: their data goes to files, and the rest is bytecode with empty ones.

The format is that of https://mlir.llvm.org/docs/BytecodeFormat: sections of bytes, of which one has the
values of all resources end to end, and another their names, sizes and kinds.
"""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.load.resource_sections import Buffer, FoundBlob, copy_piecewise

MAGIC = b"ML\xefR"
_STRINGS, _RESOURCES, _OFFSETS = 0, 5, 6
_ALIGNED = 0x80
_BLOB = 0
# Alignment 1 and no bytes.
_EMPTY_BLOB = b"\x03\x01"


@dataclass(frozen=True, slots=True)
class _Section:
    """A section: its number, and where its data is."""

    number: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """A resource: index of its name, kind, where its value is, and if it is one of a dialect's."""

    key: int
    kind: int
    begin: int
    end: int
    is_of_dialect: bool


class _Reader:
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
    """Return bytecode with the data of its resources left out, and that data.

    Bytecode that is not well formed comes back as it is: the parser of MLIR says what is wrong with it.

    Raises:
        OSError: There is no room for the data.
    """
    try:
        start, sections = _sections(content)
        by_number = {s.number: s for s in sections}
        if not {_STRINGS, _RESOURCES, _OFFSETS} <= by_number.keys():
            return content[:], ()
        strings = _read_strings(content, by_number[_STRINGS])
        external, entries = _read_entries(content, by_number[_OFFSETS], by_number[_RESOURCES])
        blobs = [(strings[e.key], *_data_of(content, e)) for e in entries if _is_blob(e)]
        changed = _emptied(content, by_number[_OFFSETS], entries, external)
    except (ValueError, IndexError):
        return content[:], ()
    found = tuple(FoundBlob(name, *copy_piecewise(content, begin, end)) for name, begin, end in blobs)
    written = [content[:start]]
    for section in sections:
        data = changed.get(section.number)
        if data is None:
            data = content[section.begin : section.end]
        written += [bytes([section.number]), _number(len(data)), data]
    return b"".join(written), found


def _sections(content: Buffer) -> tuple[int, list[_Section]]:
    """Return where the first section starts, and all of them."""
    reader = _Reader(content, len(MAGIC), len(content))
    reader.number()  # the version
    while reader.byte():  # who made it
        pass
    start, found = reader.at, []
    while not reader.is_done:
        head = reader.byte()
        length = reader.number()
        if head & _ALIGNED:
            alignment = reader.number()
            if alignment.bit_count() != 1:
                raise ValueError("an alignment is no power of two")
            reader.at += -reader.at % alignment
        found.append(_Section(head & ~_ALIGNED, reader.at, reader.at + length))
        reader.at += length
    if reader.at != len(content):
        raise ValueError("the last section is cut off")
    return start, found


def _read_strings(content: Buffer, section: _Section) -> list[str]:
    reader = _Reader(content, section.begin, section.end)
    lengths = [reader.number() for _ in range(reader.number())]
    # Lengths are in reverse order, and count the zero at the end.
    return [reader.take(length)[:-1].decode(errors="replace") for length in reversed(lengths)]


def _read_entries(content: Buffer, offsets: _Section, values: _Section) -> tuple[int, list[_Entry]]:
    """Return how many groups of resources are no dialect's, and all resources."""
    reader = _Reader(content, offsets.begin, offsets.end)
    external, group, at = reader.number(), 0, values.begin
    found = []
    while not reader.is_done:
        reader.number()  # of whom
        for _ in range(reader.number()):
            key, size, kind = reader.number(), reader.number(), reader.byte()
            found.append(_Entry(key, kind, at, at + size, group >= external))
            at += size
        group += 1
    if at != values.end:
        raise ValueError("the sizes of resources do not add up")
    return external, found


def _is_blob(entry: _Entry) -> bool:
    # One that is only named has no value at all.
    return entry.is_of_dialect and entry.kind == _BLOB and entry.end > entry.begin


def _data_of(content: Buffer, entry: _Entry) -> tuple[int, int]:
    """Return where the data of a blob is: behind alignment, size and padding."""
    reader = _Reader(content, entry.begin, entry.end)
    reader.number()
    size = reader.number()
    if entry.end - size < reader.at:
        raise ValueError("a resource is larger than its value")
    return entry.end - size, entry.end


def _emptied(content: Buffer, offsets: _Section, entries: list[_Entry], external: int) -> dict[int, bytes]:
    """Return the two sections of resources as they are when blobs have no data."""
    values = [_EMPTY_BLOB if _is_blob(e) else content[e.begin : e.end] for e in entries]
    reader = _Reader(content, offsets.begin, offsets.end)
    written = [_number(external)]
    reader.number()
    left = zip(entries, values, strict=True)
    while not reader.is_done:
        key, count = reader.number(), reader.number()
        written += [_number(key), _number(count)]
        for _ in range(count):
            reader.number()
            reader.number()
            reader.byte()
            entry, value = next(left)
            written += [_number(entry.key), _number(len(value)), bytes([entry.kind])]
    return {_OFFSETS: b"".join(written), _RESOURCES: b"".join(values)}


def _number(value: int) -> bytes:
    for more in range(8):
        if value < 1 << 7 * (more + 1):
            return ((value << (more + 1)) | (1 << more)).to_bytes(more + 1, "little")
    return b"\0" + value.to_bytes(8, "little")
