"""What was measured to confirm winners, kept beside a store so that an interrupted confirmation goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from lhkit.bench.bench_file import bench_from_json, bench_to_json
from lhkit.model.codec import from_json, to_json
from lhkit.model.file_io import parse_json
from lhkit.model.instructions import HotLoops
from lhkit.model.measurement import Comparison
from lhkit.sweeps.line_file import LineFile

SCHEMA: Literal["lhkit.confirmation/1"] = "lhkit.confirmation/1"
_START = f'{{"schema": "{SCHEMA}", "contest": "'.encode()
_FIELDS = {"schema", "contest", "process", "run", "leader", "hot_loops"}


def log_path(store: str | os.PathLike[str]) -> Path:
    """Return the file that belongs to a store: ``tiles.confirmed.jsonl`` to ``tiles.jsonl``."""
    path = Path(store)
    return path.with_name(f"{path.stem}.confirmed{path.suffix or '.jsonl'}")


class ConfirmationLog:
    """The file beside a store: a line a process that was measured, as ``schemas/confirmation-1.json`` says.

    A contest is named by a hash of all that decides it: the contenders' keys, the baseline, how samples are
    drawn. Its processes are numbered from 0; a line with number 0 begins it anew.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a log, or begin one; what a killed process left of its last line is removed.

        Raises:
            UsageError: It cannot be read or written, is another file, or another process writes to it.
        """
        self._file = LineFile(path)
        self.path = self._file.path
        self._runs: dict[str, list[Any]] = {}
        self._hot_loops: dict[tuple[str, str], Any] = {}
        self._file.read(SCHEMA, _START, self._learn)

    def _learn(self, encoded: bytes) -> None:
        """Take in a line.

        Raises:
            ValueError: It is no line of a log.
        """
        line = parse_json(encoded)
        if not isinstance(line, dict) or line.keys() != _FIELDS or line["schema"] != SCHEMA:
            raise ValueError("it is something else")
        contest, process = line["contest"], line["process"]
        if not isinstance(contest, str):
            raise ValueError("its contest is no text")
        if process is None:
            self._hot_loops[contest, str(line["leader"])] = line["hot_loops"]
            return
        runs = self._runs.setdefault(contest, [])
        if process == 0:
            runs.clear()
        if process == len(runs):
            runs.append(line["run"])

    def runs(self, contest: str) -> tuple[Comparison, ...]:
        """Return what the processes of a contest measured, in their order.

        Raises:
            UsageError: A line was edited.
        """
        return tuple(bench_from_json(run, str(self.path)) for run in self._runs.get(contest, ()))

    def hot_loops(self, contest: str, leader: str) -> HotLoops | None:
        """Return what bounds the leader of a contest, or None if nobody looked."""
        found = self._hot_loops.get((contest, leader))
        try:
            return None if found is None else from_json(HotLoops, found)
        except ValueError:
            return None  # written by another lhkit: whoever wants it looks again

    def add_run(self, contest: str, process: int, run: Comparison) -> None:
        """Keep what a process measured.

        Raises:
            UsageError: It cannot be written.
        """
        self._add(contest, process=process, run=bench_to_json(run))

    def add_hot_loops(self, contest: str, leader: str, found: HotLoops) -> None:
        """Keep what bounds the leader of a contest.

        Raises:
            UsageError: It cannot be written.
        """
        self._add(contest, leader=leader, hot_loops=to_json(found))

    def _add(self, contest: str, **fields: Any) -> None:
        empty = {"process": None, "run": None, "leader": None, "hot_loops": None}
        line = {"schema": SCHEMA, "contest": contest, **empty, **fields}
        encoded = json.dumps(line, allow_nan=False).encode()
        self._file.append(encoded + b"\n")
        self._learn(encoded)

    def close(self) -> None:
        """Let others write to the file."""
        self._file.close()
