"""Which op of the payload's author a buffered op comes from: locations survive bufferization."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.diagnostics import span_of
from lhkit.compiler.ir.sources import Source
from lhkit.model.memory_program import Origin

_OP = re.compile(r'"?([A-Za-z_][\w$]*(?:\.[\w$]+)+)')


class Origins:
    """The origins that were asked for, each once."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._names = Names(sources)
        self._texts = {
            s.label: s.content.decode(errors="replace").split("\n") for s in sources if not s.is_bytecode
        }
        self._shown = {s.label: s.name for s in sources}
        self._found: dict[Origin, int] = {}
        self._by_location: dict[tuple[str, str], int] = {}

    def of(self, op: Any) -> int:
        """Return the number of an op's origin."""
        key = (str(op.location), op.name)
        if key not in self._by_location:
            self._by_location[key] = self._found.setdefault(self._origin(op), len(self._found))
        return self._by_location[key]

    def found(self) -> tuple[Origin, ...]:
        """Return all origins, by number."""
        return tuple(self._found)

    def _origin(self, op: Any) -> Origin:
        span = span_of(op.location)
        lines = self._texts.get(span.file, []) if span else []
        if span is None or not 1 <= span.line <= len(lines):
            return Origin("", op.name)
        # MLIR counts columns in bytes.
        rest = lines[span.line - 1].encode()[span.column - 1 :].decode(errors="replace")
        match = _OP.match(rest)
        name = self._names.result_at(op.location)
        return Origin(name, match[1] if match else op.name, self._shown.get(span.file, span.file), span.line)
