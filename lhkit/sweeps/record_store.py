"""The store of sweeps: a file of JSON lines that only grows, and that nothing can damage but the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType

from lhkit.model.errors import usage_error
from lhkit.model.file_io import parse_json
from lhkit.sweeps.line_file import LineFile
from lhkit.sweeps.variant_record import SCHEMA, SweepRecord, record_from_json, record_to_line

_START = f'{{"schema": "{SCHEMA}", "key": "'.encode()
_KEY_LENGTH = 64


class Store(Mapping[str, SweepRecord]):
    """The records of a file by key, in the order of their first line; of a key the last line counts.

    A store that is opened for writing is locked until it is closed or its process ends, however it ends. What
    was cut off in the middle of the last line, by a process that was killed, is removed then. Lines are decoded
    when they are looked at.

    Attributes:
        path: The file.
        is_read_only: Whether it was opened for reading alone; then it is neither locked nor repaired.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False, sync: bool = False) -> None:
        """Open a store, or begin one.

        Args:
            path: The file.
            read_only: Open it for reading alone, whoever may be writing to it.
            sync: Have every line on the disk before the next variant, in case the machine itself dies.

        Raises:
            UsageError: It cannot be read or written, is no store, is damaged, or another process writes to it.
        """
        self.path = Path(path)
        self.is_read_only = read_only
        self._lines: dict[str, bytes] = {}
        self._decoded: dict[str, SweepRecord] = {}
        self._file = LineFile(path, read_only=read_only, sync=sync, kept=lambda: f", {len(self)} variants,")
        self._file.read(SCHEMA, _START, self._learn, self._learn_decoded)

    def _learn(self, line: bytes) -> None:
        """Take in a line.

        Raises:
            ValueError: It is no record.
        """
        if line.startswith(_START) and line.endswith(b"}"):
            key = line[len(_START) : len(_START) + _KEY_LENGTH].decode("ascii", "replace")
            self._lines[key] = line
        else:
            self._learn_decoded(line)

    def _learn_decoded(self, line: bytes) -> None:
        """Take in a line that may be torn; see `_learn`."""
        self._lines[record_from_json(parse_json(line)).key] = line

    def append(self, record: SweepRecord) -> None:
        """Add a record: its whole line, or nothing.

        Raises:
            UsageError: It cannot be written (a full disk, most often); the file is as it was.
        """
        line = record_to_line(record).encode()
        self._file.append(line + b"\n")
        self._lines[record.key] = line
        self._decoded[record.key] = record

    def find(self, key: str) -> SweepRecord | None:
        """Return the record of a key, or None."""
        return self[key] if key in self._lines else None

    def records(self) -> list[SweepRecord]:
        """Return all records, those of other machines and toolchains too."""
        return list(self.values())

    def __getitem__(self, key: str) -> SweepRecord:
        if key not in self._decoded:
            line = self._lines[key]
            try:
                self._decoded[key] = record_from_json(parse_json(line))
            except ValueError as error:
                raise usage_error(f"{self.path} is damaged at the record {key[:12]}…: {error}") from None
        return self._decoded[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def close(self) -> None:
        """Let others write to the file."""
        self._file.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()


def merge_stores(target: Store, sources: Iterable[Store]) -> int:
    """Add to a store what others have and it has not.

    Args:
        target: Where to; open for writing.
        sources: Where from; of a key that several have the first counts.

    Returns:
        How many records were added.

    Raises:
        UsageError: It cannot be written.
    """
    added = 0
    for source in sources:
        for key in source:
            if key not in target:
                target.append(source[key])
                added += 1
    return added
