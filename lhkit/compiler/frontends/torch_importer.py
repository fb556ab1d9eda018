"""A process that converts exported PyTorch modules to linalg, apart from the worker because of its size."""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection
from typing import Any

from lhkit.model.bindings_host import HOST_VARIABLE, TORCH_HOST, torch_versions_error
from lhkit.worker.requests import Answer, ImportTorch, Ping, Request
from lhkit.worker.serving import Ask, Send, serve


class Handlers:
    """Answers requests by type."""

    request_types: tuple[type[Request[Any]], ...] = (Ping, ImportTorch)

    def __init__(self, program: Any = None) -> None:
        """Load what converts; ``program`` is what a forked process has of its client."""
        self._program = program
        os.environ[HOST_VARIABLE] = TORCH_HOST
        try:
            self._conversion = importlib.import_module("lhkit.compiler.frontends.torch_conversion")
            if program is None:  # now, while the module is exported, not when it comes
                self._conversion.prepare()
        except Exception as error:  # noqa: BLE001 - of another version: whatever is not there any more
            raise torch_versions_error(error) from None

    def release(self, kernels: Collection[int]) -> None:
        """Forget kernels: there are none."""

    def answer(self, request: Request[Any]) -> Answer:
        """Return the answer to a request."""
        if not isinstance(request, ImportTorch):
            return Answer()
        program = self._conversion.read_program(request.file) if self._program is None else self._program
        answer: Answer = self._conversion.convert(program, request)
        return answer


def _handlers(send: Send, ask: Ask) -> Handlers:
    return Handlers()


if __name__ == "__main__":
    raise SystemExit(serve(_handlers))
