"""What the compiler says while a schedule runs, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lhkit.compiler.extension.own_op_failures import is_empty_diagnostic
from lhkit.compiler.ir.diagnostics import convert
from lhkit.compiler.ir.sources import Places, Source
from lhkit.model.failure import Diagnostic


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
