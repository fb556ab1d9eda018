"""Looking at the payload while a schedule runs: what changed, whether it verifies, how it reads."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lhkit.compiler.interpreter.handle_frames import Frame, clone_roots
from lhkit.compiler.interpreter.op_identity import Identities
from lhkit.compiler.interpreter.plan import PlannedValue
from lhkit.compiler.interpreter.trace_journal import Journal
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.diagnostics import from_structured
from lhkit.model.failure import Diagnostic
from lhkit.model.op_order import written_order
from lhkit.model.trace_record import PayloadDelta

_MANY_OPS = 1000


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
        self._unprinted = True

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
        self._journal.ops(step, made)
        self._unprinted = True
        return delta

    def is_outside(self, op: Any) -> bool:
        """Return True for an op that is neither in the payload nor its root."""
        return op.parent is None and op != self._root

    def find_problem(self) -> tuple[Diagnostic, ...] | None:
        """Return why the payload does not verify, or None if it does."""
        try:
            for op in (self._root, *self._clones):
                op.verify()
        except ir.MLIRError as error:
            return from_structured(error)
        return None

    def snapshot(self, step: int) -> None:
        """Write the verified payload to the journal."""
        text = order = None
        if self._unprinted:
            shown = self._clones or [self._root]
            order = written_order(self.identities.in_order(shown[0]))
            is_long = self.identities.count > _MANY_OPS
            text = "\n".join(_printed(op, is_long) for op in shown)
        self._journal.snapshot(step, text, order)
        self._unprinted = False


def _printed(op: Any, is_long: bool) -> str:
    """Return the text of a verified op; a long one through a file, which then takes half the time."""
    if not is_long:
        return str(op.get_asm(assume_verified=True))
    path = Path(tempfile.gettempdir()) / "printed"
    op.print(file=str(path), assume_verified=True)
    return path.read_text(encoding="utf-8")
