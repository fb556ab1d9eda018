"""The journal of a trace: what is known so far, a JSON line each, so that it outlives the process."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lhkit.compiler.extension.own_op_failures import is_empty_diagnostic
from lhkit.compiler.interpreter.handle_frames import Frame, clone_roots
from lhkit.compiler.interpreter.op_identity import Identities
from lhkit.compiler.interpreter.probes import PlannedValue
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import HOST, ir
from lhkit.compiler.ir.parsing import Places, convert, from_structured
from lhkit.model.bindings_host import host_version
from lhkit.model.errors import Diagnostic, Failure, error_for
from lhkit.model.trace_json import find_edits, snapshot_to_json, step_to_json, written_order
from lhkit.model.trace_record import PayloadDelta, Snapshot, TraceStep
from lhkit.worker.requests import Source

# Between looks at whether the trace is still wanted.
_LOOK_S = 0.01
_encode = msgspec.json.Encoder().encode


class Journal:
    """Writes records in the order in which they become known.

    Lines are [kind, …]: ``toolchain`` bindings and their version, first in each run, ``blocks`` the ops of
    every block, ``handle`` id and record, ``scope`` the step of a pass and the op that it runs on, ``ops`` the
    step that made some and their fields in columns, ``begin`` a step without results with its block and place
    there, ``step`` the step when it has ended, ``elided``, ``snapshot``.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")  # behind a run that was vague
        self._stop_file = Path(f"{path}.stop")  # as in `lhkit.worker.requests.TraceSchedule`
        self._looks_at = 0.0
        # The step of the last snapshot, and its lines.
        self._last: tuple[int | None, list[str]] = (None, [])
        self.write("toolchain", HOST, host_version(HOST))

    def close(self) -> None:
        """Write what is left."""
        self._file.close()

    def write(self, *parts: Any) -> None:
        """Write a line: its kind, and what that has."""
        self._file.write(_encode(parts) + b"\n")

    def begin(self, step: TraceStep, block: int, at: int) -> None:
        """Record that a step begins, and what would come after it in its block; nothing is buffered.

        Raises:
            LhkitError: The trace is no longer wanted.
        """
        now = time.monotonic()
        if now >= self._looks_at and self._stop_file.exists():
            raise error_for(Failure("cancelled", "the trace is no longer wanted", request="trace"))
        if now >= self._looks_at:
            self._looks_at = now + _LOOK_S
        self.write("begin", _entry(step), block, at)
        self._file.flush()

    def write_step(self, step: TraceStep) -> None:
        """Record a step that has ended."""
        self.write("step", _entry(step))

    def snapshot(self, step: int, text: str | None, ops: str | None = None) -> None:
        """Record the payload after a step, and its ops in order; None if it is as before."""
        before, lines = self._last
        if text is None:
            snapshot = Snapshot(step, None, before, (), ops)
        else:
            known, lines = lines, text.split("\n")
            edits = find_edits(known, lines)
            is_delta = sum(len(e.lines) for e in edits) <= len(lines) // 2
            snapshot = Snapshot(step, None, before, edits, ops) if is_delta else Snapshot(step, text, ops=ops)
        self._last = (step, lines)
        self.write("snapshot", snapshot_to_json(snapshot))


def _entry(step: TraceStep) -> Any:
    """Return what is written as `step_to_json` of a step: the encoder does the same, but for diagnostics."""
    return step_to_json(step) if step.diagnostics else step


# Looking at the payload while a schedule runs: what changed, whether it verifies, how it reads.


_MANY_OPS = 100


class Watch:
    """The payload of a run: its root, and the clones that alternatives work on while they do.

    Attributes:
        identities: Which op is which.
    """

    def __init__(self, root: Any, names: Names, journal: Journal) -> None:
        self.identities = Identities(names)
        self._root = root
        self._journal = journal
        self._clones: list[Any] = []
        self._unprinted = self._unordered = True

    def look(
        self,
        step: int,
        state: Any = None,
        frames: list[Frame] | None = None,
        given: Sequence[PlannedValue] = (),
    ) -> PayloadDelta | None:
        """Return what a step did to the payload, None if it did nothing; new ops go to the journal.

        Args:
            step: Index of the step.
            state: The interpreter's state, None before it has one.
            frames: The blocks that are running.
            given: The results of the step that may be asked for.
        """
        self._clones = clone_roots(frames or [], state, given)
        seen = self.identities.look([self._root, *self._clones])
        if seen is None:
            return None
        delta, made = seen
        if made:
            ids, op_names, parents, origins, sources = zip(*made, strict=True)
            places = [None if p is None else (p.file, p.line, p.column) for p in sources]
            self._journal.write("ops", step, ids, op_names, parents, origins, places)
        self._unprinted = self._unordered = True
        return delta

    def find_problem(self, changed: Iterable[Any] = ()) -> tuple[Diagnostic, ...] | None:
        """Return why the payload does not verify, or None if it does; only of ``changed`` ops, if there are."""
        try:
            for op in tuple(changed) or (self._root, *self._clones):
                op.verify()
        except ir.MLIRError as error:
            return from_structured(error)
        return None

    def snapshot(self, step: int, *, prints: bool = True) -> None:
        """Write the verified payload to the journal, or only the order of its ops."""
        text = order = None
        if self._unordered or (prints and self._unprinted):
            shown = self._clones or [self._root]
            order = written_order(self.identities.in_order(shown[0]))
            is_long = self.identities.count > _MANY_OPS
            text = "\n".join(_printed(op, is_long) for op in shown) if prints else None
        self._journal.snapshot(step, text, order)
        self._unprinted, self._unordered = self._unprinted and not prints, False


def _printed(op: Any, is_long: bool) -> str:
    """Return the text of a verified op; a long one through a file, which then takes half the time."""
    if not is_long:
        return str(op.get_asm(assume_verified=True))
    path = Path(tempfile.gettempdir()) / "printed"
    op.print(file=str(path), assume_verified=True)
    return path.read_text(encoding="utf-8")


# What the compiler says while a schedule runs, step by step.


class Hearing:
    """Collects diagnostics from inside a run: handlers attached before it see nothing."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._places = Places(sources)
        self._heard: list[Diagnostic] = []
        self._handler: Any = None

    def start(self, context: Any) -> None:
        """Listen, unless this does already."""
        if self._handler is not None:
            return
        # A handler that is reachable from its own callback would never be freed.
        heard = self._heard

        def hear(diagnostic: Any) -> bool:
            if not is_empty_diagnostic(diagnostic.message):
                heard.append(convert(diagnostic))
            return False

        self._handler = context.attach_diagnostic_handler(hear)

    def stop(self) -> None:
        """Listen no more."""
        if self._handler is not None:
            self._handler.detach()
        self._handler = None

    def forget(self) -> None:
        """Forget what was said so far."""
        self._heard.clear()

    def said(self) -> tuple[Diagnostic, ...]:
        """Return what was said since it was last forgotten, with the places that people know."""
        return self.named(self._heard)

    def named(self, diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
        """Return diagnostics with the places that people know."""
        return tuple(map(self._places.said, diagnostics))
