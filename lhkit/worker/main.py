"""The compiler's worker: serves requests, or repeats those of a failure."""

from __future__ import annotations

import sys
from pathlib import Path

from lhkit.worker.serving import Handlers, Send, serve


def main(arguments: list[str] | None = None) -> int:
    """Serve requests on standard input and output; with a file, replay the requests in it."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments:
        from lhkit.worker.replay import replay

        return replay(Path(arguments[0]))
    return serve(_compiler_handlers)


def _compiler_handlers(send: Send) -> Handlers:
    from lhkit.worker.handlers import Handlers as CompilerHandlers

    return CompilerHandlers(send)
