"""Stores of sweeps: append-only files of JSON lines, locked, and repaired after a kill."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from lhkit.bench.bench_file import bench_from_json, bench_to_json
from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import UsageError, usage_error
from lhkit.model.file_io import check_input, parse_json, read_bytes
from lhkit.model.instructions import HotLoops
from lhkit.model.measurement import Comparison
from lhkit.sweeps.variant_record import SCHEMA, SweepRecord, record_from_json, record_to_line
from lhkit.worker.folders import is_locked_by_another, lock_file

# Some millions of lines.
_MOST_BYTES = 4 << 30

# Takes in a line, or raises a ValueError if it is something else.
Learn = Callable[[bytes], None]


class LineFile:
    """An open file that lines are added to; locked until it is closed or its process ends, however it ends."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        sync: bool = False,
        kept: Callable[[], str] = str,
    ) -> None:
        """Open a file, or begin one."""
        self.path, self._sync, self._kept = Path(path), sync, kept
        self._descriptor: int | None = None
        try:
            if not read_only:
                self._descriptor = self._open_to_write()
            self._content = read_bytes(self.path, most=_MOST_BYTES)
        except OSError as error:
            self.close()
            raise usage_error(f"{self.path} cannot be opened: {error.strerror or error}") from None

    def _open_to_write(self) -> int:
        with contextlib.suppress(FileNotFoundError):
            check_input(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, 0o666)
        try:
            lock_file(descriptor)
        except OSError as error:
            os.close(descriptor)
            if not is_locked_by_another(error):
                raise
            raise usage_error(
                f"{self.path} is being written by another sweep",
                "Wait for it or stop it, or give this one a store of its own.",
            ) from None
        return descriptor

    def read(self, schema: str, start: bytes, learn: Learn, learn_unended: Learn | None = None) -> None:
        """Go once through the lines that the file held when it was opened, and mend its end."""
        content, self._content = self._content, b""  # it may be large
        whole = content.rfind(b"\n") + 1
        try:
            for number, line in enumerate(content[:whole].splitlines(), 1):
                if not _takes(learn, line):
                    raise self._not_ours(number, schema)
            if tail := content[whole:]:
                # A killed process leaves the beginning of a line, or space that was not written.
                if not tail.startswith(start[: len(tail)]) and tail.strip(b"\0"):
                    raise self._not_ours(content.count(b"\n") + 1, schema)
                if learn_unended is None or not _takes(learn_unended, tail):
                    self.cut(whole)
                elif self._descriptor is not None:
                    self.append(b"\n")
        except BaseException:
            self.close()
            raise

    def _not_ours(self, number: int, schema: str) -> UsageError:
        advice = "The file is another one, or was edited; it was left as it is."
        return usage_error(f"{self.path}:{number}: this is not a line of {schema}", advice)

    def append(self, line: bytes) -> None:
        """Add a line, its line break included, or nothing."""
        if self._descriptor is None:
            raise usage_error(f"{self.path} is not open for writing")
        size, written = os.fstat(self._descriptor).st_size, 0
        try:
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            if self._sync:
                os.fsync(self._descriptor)
        except OSError as error:
            self._undo(size)
            raise usage_error(
                f"{self.path} cannot be written: {error.strerror or error}",
                f"What it holds{self._kept()} is not lost: make room and start again.",
            ) from None
        except BaseException:  # Ctrl-C between two pieces
            self._undo(size)
            raise

    def sync(self) -> None:
        """Have what was added on the disk; where the system cannot, it is as safe as without."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._descriptor)

    def _undo(self, size: int) -> None:
        with contextlib.suppress(OSError):  # the next opening cuts it off
            self.cut(size)

    def cut(self, size: int) -> None:
        """Leave so many bytes of it; a file that is open for reading alone stays as it is."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, size)

    def close(self) -> None:
        """Let others write to the file."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _takes(learn: Learn, line: bytes) -> bool:
    try:
        learn(line)
    except ValueError:
        return False
    return True


_START = f'{{"schema": "{SCHEMA}", "key": "'.encode()
_KEY_LENGTH = 64


class Store(contextlib.AbstractContextManager["Store"], Mapping[str, SweepRecord]):
    """The records of a file by key, in the order of their first line; of a key the last line counts.

    A store that is opened for writing is locked until it is closed or its process ends, however it ends. What
    was cut off in the middle of the last line, by a process that was killed, is removed then. Lines are decoded
    when they are looked at.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False, sync: bool = False) -> None:
        """Open a store, or begin one."""
        self.path = Path(path)
        self._lines: dict[str, bytes] = {}
        self._decoded: dict[str, SweepRecord] = {}
        self._file = LineFile(path, read_only=read_only, sync=sync, kept=lambda: f", {len(self)} variants,")
        self._file.read(SCHEMA, _START, self._learn, self._learn_decoded)

    def _learn(self, line: bytes) -> None:
        if line.startswith(_START) and line.endswith(b"}"):
            key = line[len(_START) : len(_START) + _KEY_LENGTH].decode("ascii", "replace")
            self._lines[key] = line
        else:
            self._learn_decoded(line)

    def _learn_decoded(self, line: bytes) -> None:
        """Take in a line that may be torn; see `_learn`."""
        self._lines[record_from_json(parse_json(line)).key] = line

    def append(self, record: SweepRecord) -> None:
        """Add a record: its whole line, or nothing."""
        line = record_to_line(record).encode()
        self._file.append(line + b"\n")
        self._lines[record.key] = line
        self._decoded[record.key] = record

    def sync(self) -> None:
        """Have all records on the disk, in case the machine itself dies."""
        self._file.sync()

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

    def __exit__(self, *_error: object) -> None:
        self.close()


def merge_stores(target: Store, sources: Iterable[Store]) -> int:
    """Add to a store what others have and it has not."""
    added = 0
    for source in sources:
        for key in source:
            if key not in target:
                target.append(source[key])
                added += 1
    return added


CONFIRMATION_SCHEMA: Literal["lhkit.confirmation/1"] = "lhkit.confirmation/1"
_CONFIRMATION_START = f'{{"schema": "{CONFIRMATION_SCHEMA}", "contest": "'.encode()
_FIELDS = {"schema", "contest", "process", "run", "leader", "hot_loops"}


def log_path(store: str | os.PathLike[str]) -> Path:
    """Return the file that belongs to a store: ``tiles.confirmed.jsonl`` to ``tiles.jsonl``."""
    path = Path(store)
    return path.with_name(f"{path.stem}.confirmed{path.suffix or '.jsonl'}")


class ConfirmationLog:
    """The file beside a store: one line per measured process, as ``schemas/confirmation-1.json`` says.

    A contest is named by a hash of all that decides it: the contenders' keys, the baseline, how samples are
    drawn. Its processes are numbered from 0; a line with number 0 restarts it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a log, or begin one; what a killed process left of its last line is removed."""
        self._file = LineFile(path, sync=True)
        self.path = self._file.path
        self._runs: dict[str, list[Any]] = {}
        self._hot_loops: dict[tuple[str, str], Any] = {}
        self._file.read(CONFIRMATION_SCHEMA, _CONFIRMATION_START, self._learn)

    def _learn(self, encoded: bytes) -> None:
        line = parse_json(encoded)
        if not isinstance(line, dict) or line.keys() != _FIELDS or line["schema"] != CONFIRMATION_SCHEMA:
            raise ValueError("it is something else")
        contest, process = line["contest"], line["process"]
        if not isinstance(contest, str):
            raise ValueError("its contest is not a text")
        if process is None:
            self._hot_loops[contest, str(line["leader"])] = line["hot_loops"]
            return
        runs = self._runs.setdefault(contest, [])
        if process == 0:
            runs.clear()
        if process == len(runs):
            runs.append(line["run"])

    def runs(self, contest: str) -> tuple[Comparison, ...]:
        """Return what the processes of a contest measured, in their order."""
        return tuple(bench_from_json(run, str(self.path)) for run in self._runs.get(contest, ()))

    def hot_loops(self, contest: str, leader: str) -> HotLoops | None:
        """Return what bounds the leader of a contest, or None."""
        found = self._hot_loops.get((contest, leader))
        try:
            return None if found is None else from_json(HotLoops, found)
        except ValueError:
            return None  # written by another version of lhkit: it is computed again

    def add_run(self, contest: str, process: int, run: Comparison) -> None:
        """Keep what a process measured."""
        self._add(contest, process=process, run=bench_to_json(run))

    def add_hot_loops(self, contest: str, leader: str, found: HotLoops) -> None:
        """Keep what bounds the leader of a contest."""
        self._add(contest, leader=leader, hot_loops=to_json(found))

    def _add(self, contest: str, **fields: Any) -> None:
        empty = {"process": None, "run": None, "leader": None, "hot_loops": None}
        line = {"schema": CONFIRMATION_SCHEMA, "contest": contest, **empty, **fields}
        encoded = json.dumps(line, allow_nan=False).encode()
        self._file.append(encoded + b"\n")
        self._learn(encoded)

    def close(self) -> None:
        """Let others write to the file."""
        self._file.close()
