"""The rewriter that own ops are given: the interpreter's, with the mistakes refused that end the process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import walk
from lhkit.model.own_op_definition import DefiniteError


class TrackedRewriter:
    """Changes the payload so that handles follow; a `lhkit.model.own_op_definition.Rewriter`."""

    def __init__(self, rewriter: Any) -> None:
        self._rewriter = rewriter
        self._root: Any = None
        self._erased: list[Any] = []

    def erase(self, op: Any) -> None:
        """Erase an operation whose results nothing uses.

        Raises:
            DefiniteError: A result is used, which would end the process.
        """
        self._check(op, "erased")
        op = op.operation
        if any(list(result.uses) for result in op.results):
            raise DefiniteError(f"{op.name} cannot be erased: something uses what it computes", at=op)
        self._note(op)
        self._rewriter.erase_op(op)

    def replace(self, op: Any, by: Any) -> None:
        """Replace an operation by another, or by a sequence of values.

        Raises:
            DefiniteError: The other has not the same types of results.
        """
        self._check(op, "replaced")
        op = op.operation
        is_op = isinstance(by, ir.Operation | ir.OpView)
        values = list(by.operation.results) if is_op else list(by)
        old, new = [r.type for r in op.results], [v.type for v in values]
        if old != new:
            spelled = [", ".join(map(str, types)) or "nothing" for types in (old, new)]
            message = f"{op.name} computes {spelled[0]} and cannot be replaced by what computes {spelled[1]}"
            raise DefiniteError(message, at=op)
        self._note(op)
        self._rewriter.replace_op(op, by.operation if is_op else values)

    @contextlib.contextmanager
    def before(self, op: Any) -> Iterator[None]:
        """Create operations before one, with its location."""
        self._check(op, "built before")
        with ir.InsertionPoint(op.operation), op.operation.location:
            yield

    def is_gone(self, op: Any) -> bool:
        """Return True if an operation was erased or replaced."""
        # Operations are the same if their addresses are, and addresses are used again.
        if not any(op.operation == gone for gone in self._erased):
            return False
        return not any(op.operation == other for other in (self._root, *walk(self._root)))

    def _note(self, op: Any) -> None:
        if self._root is None:
            self._root = op
            while self._root.parent is not None:
                self._root = self._root.parent.operation
        self._erased.append(op)

    def _check(self, op: Any, what: str) -> None:
        if not isinstance(op, ir.Operation | ir.OpView):
            raise DefiniteError(f"{type(op).__name__} is no payload operation and cannot be {what}")
        if self.is_gone(op):
            raise DefiniteError(f"an operation that is gone cannot be {what}")
