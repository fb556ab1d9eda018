"""Parts that many requests have, as the compiler takes them: sources, the application of a schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lhkit.compiler.interpreter.application import Application
from lhkit.compiler.ir.sources import Source
from lhkit.compiler.lowering.c_microkernels import CompileC
from lhkit.model.codec import from_json
from lhkit.model.errors import error_for
from lhkit.model.failure import Failure
from lhkit.worker.framing import Message

Ask = Callable[[Message], Message]


def sources_of(described: Sequence[dict[str, Any]], body: bytes) -> tuple[Source, ...]:
    """Return the sources of a request; their contents stand in the body, end to end."""
    sources, offset = [], 0
    for d in described:
        content = body[offset : offset + d["bytes"]]
        sources.append(Source(d["role"], d["label"], d["name"], content))
        offset += d["bytes"]
    return tuple(sources)


def application_of(sources: Sequence[Source], parts: dict[str, Any]) -> Application:
    """Return the application of a schedule; reproducers of earlier versions allow no passes."""
    passes = tuple(parts.get("allowed_passes", ()))
    return Application(tuple(sources), parts["entry"], parts["knobs"], tuple(parts["bind"]), passes)


def c_compiler(ask: Ask) -> CompileC:
    """Return what compiles C source by asking the client: this process may not start a compiler."""

    def compile_c(file: str, text: str, header: str, target: str) -> tuple[str | None, str]:
        asked = {"file": file, "text": text, "header": header, "target": target}
        answer = ask(Message({"compile_c": asked})).header
        if (failure := answer.get("failure")) is not None:
            raise error_for(from_json(Failure, failure))
        return answer["library"], answer["output"]

    return compile_c
