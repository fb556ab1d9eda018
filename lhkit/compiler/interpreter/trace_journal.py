"""The journal of a trace: what is known so far, a JSON line each, so that it outlives the process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lhkit.compiler.interpreter.op_identity import NewOp
from lhkit.compiler.interpreter.plan import PlannedBlock
from lhkit.compiler.ir.bindings import HOST
from lhkit.model.bindings_host import host_version
from lhkit.model.codec import to_json
from lhkit.model.snapshot_delta import find_edits
from lhkit.model.trace_json import handle_to_json, snapshot_to_json, step_to_json
from lhkit.model.trace_record import Elision, HandleRecord, Snapshot, TraceStep

# An encoder of one's own: json.dumps would look for circles, and writes spaces.
_encode = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode


class Journal:
    """Writes records in the order in which they become known.

    Lines are [kind, …]: ``toolchain`` bindings and their version, ``blocks`` the ops of every block,
    ``handle`` id and record, ``ops`` the step that made some and their fields in columns, ``begin`` a step
    without results with its block and place there, ``step`` the step when it has ended, ``elided``,
    ``snapshot``.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._last: tuple[int, list[str]] | None = None
        self._write("toolchain", HOST, host_version(HOST))

    def close(self) -> None:
        """Write what is left."""
        self._file.close()

    def blocks(self, blocks: Sequence[PlannedBlock]) -> None:
        """Record the ops of every block, for those that never run."""
        self._write("blocks", [[[o.name, to_json(o.source)] for o in b.ops] for b in blocks])

    def handle(self, record: HandleRecord) -> None:
        """Record a new handle."""
        self._write("handle", record.id, handle_to_json(record))

    def ops(self, step: int, made: Sequence[NewOp]) -> None:
        """Record the payload ops that a step made, -1 for those of the payload as given."""
        if made:
            ids, names, parents, origins, sources = zip(*made, strict=True)
            places = [None if s is None else (s.file, s.line, s.column) for s in sources]
            self._write("ops", step, ids, names, parents, origins, places)

    def begin(self, step: TraceStep, block: PlannedBlock, at: int) -> None:
        """Record that a step begins, and what would come after it in its block; nothing is buffered."""
        self._write("begin", step_to_json(step), block.number, at)
        self._file.flush()

    def end(self, step: TraceStep) -> None:
        """Record a step that has ended."""
        self._write("step", step_to_json(step))

    def elided(self, elision: Elision) -> None:
        """Record iterations that are not recorded."""
        self._write("elided", elision.parent, elision.first, elision.last)

    def snapshot(self, step: int, text: str | None, ops: str | None = None) -> None:
        """Record the payload after a step, and its ops in order; None if it is as before."""
        if self._last is None:
            lines = (text or "").split("\n")
            snapshot = Snapshot(step, text or "", ops=ops)
        elif text is None:
            lines = self._last[1]
            snapshot = Snapshot(step, None, self._last[0], ())
        else:
            lines = text.split("\n")
            edits = find_edits(self._last[1], lines)
            if sum(len(e.lines) for e in edits) > len(lines) // 2:
                snapshot = Snapshot(step, text, ops=ops)
            else:
                snapshot = Snapshot(step, None, self._last[0], edits, ops)
        self._last = (step, lines)
        self._write("snapshot", snapshot_to_json(snapshot))

    def _write(self, *parts: Any) -> None:
        self._file.write(_encode(parts) + "\n")
