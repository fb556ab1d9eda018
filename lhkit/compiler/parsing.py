"""Text and bytecode to verified modules, with errors that tell parsing from verifying."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lhkit.compiler.bindings import ir
from lhkit.compiler.diagnostics import from_structured
from lhkit.compiler.sources import Source, failure_in
from lhkit.model.errors import error_for

# An unterminated string at the end of a text: the parser stops there if the text itself parses,
# so the place of the first error tells a text that does not parse from one that does not verify.
_END_MARK = b'\n"end of the text'


def parse_module(source: Source) -> Any:
    """Return the verified module of a source, in the current context.

    The parser gives places a file name only for files, so the text passes through one in the
    current directory, named by the source's label.

    Raises:
        PayloadError, ScheduleError: It does not parse (``…-parse``) or does not verify (``…-verify``).
    """
    try:
        return _parse(source.label, source.content)
    except ir.MLIRError as error:
        diagnostics = from_structured(error)
        verb = "verify" if not source.is_bytecode and _parses(source) else "parse"
        failure = failure_in(
            [source],
            f"{source.role}-{verb}",  # type: ignore[arg-type]
            f"{source.name} does not {verb}",
            diagnostics,
            stage="parse",
        )
        raise error_for(failure) from None


def _parse(label: str, content: bytes) -> Any:
    path = Path(label)
    path.write_bytes(content)
    try:
        return ir.Module.parseFile(label)
    finally:
        path.unlink()


def _parses(source: Source) -> bool:
    """Return True if a text that was refused parses, so that it was the verifier that refused it."""
    end_line = source.content.count(b"\n") + 2
    try:
        _parse(source.label, source.content + _END_MARK)
    except ir.MLIRError as error:
        first = from_structured(error)[0]
        return first.span is not None and first.span.line == end_line
    return True


def walk(operation: Any) -> Iterator[Any]:
    """Yield every operation nested in one, outer before inner, in order."""
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op.operation
                yield from walk(op.operation)
