"""Text and bytecode to verified modules, with errors that tell parsing from verifying."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.context_pool import note_parsed
from lhkit.model.errors import Diagnostic, Failure, FailureKind, UsageError, error_for, usage_error
from lhkit.model.span import Span
from lhkit.worker.requests import Source

# The texts that a request works on, and failures whose places point into them.


class Places:
    """Makes places that the compiler says those that people know: it has labels for files, and counts bytes."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = {s.label: s for s in sources}
        # Lines of texts in which bytes are not characters. They end where MLIR ends them, at line feeds only.
        self._lines = {
            s.label: s.content.split(b"\n")
            for s in self._sources.values()
            if not s.is_bytecode and not s.content.isascii()
        }

    def known(self, span: Span) -> Span:
        """Return a place with the file's name that people know and its column in characters."""
        source = self._sources.get(span.file)
        if source is None:
            return span
        lines = self._lines.get(span.file, [])
        column = span.column
        if 1 <= span.line <= len(lines):
            column = len(lines[span.line - 1][: span.column - 1].decode(errors="replace")) + 1
        return Span(source.name, span.line, column)

    def said(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a diagnostic with its places and those of its notes as people know them."""
        span = None if diagnostic.span is None else self.known(diagnostic.span)
        return dataclasses.replace(diagnostic, span=span, notes=tuple(map(self.said, diagnostic.notes)))


def failure_in(
    sources: Sequence[Source],
    kind: FailureKind,
    message: str,
    diagnostics: tuple[Diagnostic, ...] = (),
    **more: Any,
) -> Failure:
    """Return a failure whose places use the names people know, with the texts that carets need."""
    diagnostics = tuple(map(Places(sources).said, diagnostics))
    files = {span.file for d in diagnostics for span in _spans(d)}
    texts = tuple(
        (s.name, s.content.decode(errors="replace")) for s in sources if s.name in files and not s.is_bytecode
    )
    return Failure(kind=kind, message=message, diagnostics=diagnostics, texts=texts, **more)


def _spans(diagnostic: Diagnostic) -> list[Span]:
    own = [diagnostic.span] if diagnostic.span else []
    return own + [span for note in diagnostic.notes for span in _spans(note)]


# The parser and the verifier raise the same error. An unterminated string after a text tells them apart:
# if the text parses, the first error is now there. A text that only lacks its end is the exception, since
# its error was at the end before; a whole operation after it moves that error, and no verifier's.
# The whole operation comes first in both: the lexer looks one token ahead, and must not find the broken one.
_WHOLE_OPERATION = b'\n"builtin.module"() ({}) : () -> ()\n'
_BROKEN_END = _WHOLE_OPERATION + b'"end of the text'


_NO_TRANSFORM = "expected children ops to implement TransformOpInterface"
_UNKNOWN_OP = (
    "No loaded dialect defines this op. If it is one of your own, load its file first: lhkit.load_ops(FILE),"
    " --ops FILE on the command line."
)


def parse_module(source: Source) -> Any:
    """Return the verified module of a source, in the current context.

    The parser gives places a file name only for files, so the text passes through one, named by the source's
    label.

    Raises:
        PayloadError, ScheduleError: It does not parse (``…-parse``) or does not verify (``…-verify``).
    """
    try:
        return _parse(source.label, source.content)
    except ir.MLIRError as error:
        diagnostics = from_structured(error)
        verb = "verify" if not source.is_bytecode and _parses(source, diagnostics[0].span) else "parse"
        failure = failure_in(
            [source],
            f"{source.role}-{verb}",  # type: ignore[arg-type]
            f"{source.name} does not {verb}",
            diagnostics,
            stage="parse",
            advice=_UNKNOWN_OP if any(_NO_TRANSFORM in d.message for d in diagnostics) else None,
        )
        raise error_for(failure) from None


def whole_bytecode(module: Any) -> bytes:
    """Return a module as bytecode, with its places and the order of uses: parsed, it is what it was."""
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()


def _parse(label: str, content: bytes) -> Any:
    # The label is to be the whole file name; the working folder itself may be one where nothing can be written.
    with contextlib.chdir(_folder().name):
        path = Path(label)
        path.write_bytes(content)
        try:
            note_parsed(ir.Context.current, content)
            return ir.Module.parseFile(label)
        finally:
            path.unlink()


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="lhkit-parse-", ignore_cleanup_errors=True)


def _parses(source: Source, place: Span | None) -> bool:
    """Return True if a text that was refused at a place parses, so that it was the verifier that refused it."""
    end_line = source.content.count(b"\n") + 3
    broken = _place_of_error(source, _BROKEN_END)
    if broken is None or broken.line != end_line:
        return False
    return _place_of_error(source, _WHOLE_OPERATION) == place


def _place_of_error(source: Source, ending: bytes) -> Span | None:
    try:
        _parse(source.label, source.content + ending)
    except ir.MLIRError as error:
        return from_structured(error)[0].span
    return None


def walk(operation: Any) -> Iterator[Any]:
    """Yield every operation nested in one, outer before inner, in order."""
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op.operation
                yield from walk(op.operation)


def producer_of(value: Any) -> Any:
    """Return the op that computes a value, None for an argument of a block."""
    return value.owner.operation if isinstance(value.owner, ir.Operation | ir.OpView) else None


def op_names(operation: Any) -> frozenset[str]:
    """Return the names of all operations nested in one, in half the time of walking them."""
    names: set[str] = set()

    def take(op: Any) -> Any:
        names.add(op.name)
        return ir.WalkResult.ADVANCE

    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                op.operation.walk(take, ir.WalkOrder.PRE_ORDER)
    return frozenset(names)


def names_and_types(operation: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of an operation and all in it, and the types of their results and functions as text."""
    names: set[str] = set()
    types: set[Any] = set()

    def take(op: Any) -> Any:
        names.add(op.name)
        types.update(result.type for result in op.results)
        if op.name == "llvm.func":
            types.add(op.attributes["function_type"])
        return ir.WalkResult.ADVANCE

    operation.walk(take, ir.WalkOrder.PRE_ORDER)
    return frozenset(names), frozenset(str(type_) for type_ in types)


# What the compiler says, as values: from structured errors and from flattened text.

_FILE_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
# A note begins on a new line, a message wherever the one before it ends.
_FLAT = re.compile(r"(?:\nDiagnostic message |(?P<note>\n))?at (?P<at>loc\(.*?\)): ")
_CURRENT_OPERATION = "see current operation"


def span_of(location: object) -> Span | None:
    """Return the first file place that a location names (the innermost of a name or fused one)."""
    match = _FILE_LOCATION.search(str(location))
    if match is None or int(match[2]) == 0:
        return None
    return Span(file=match[1], line=int(match[2]), column=int(match[3]))


def from_structured(error: Any) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of an ``MLIRError``."""
    return tuple(convert(d) for d in error.error_diagnostics) or (Diagnostic("error", str(error)),)


def convert(info: Any) -> Diagnostic:
    """Return a diagnostic of the bindings as a value."""
    notes = tuple(convert(n) for n in info.notes if not n.message.startswith(_CURRENT_OPERATION))
    severity = str(info.severity).rpartition(".")[2].lower()
    return Diagnostic(severity=severity, message=info.message, span=span_of(info.location), notes=notes)


def is_text_conversion(error: RuntimeError | UnicodeDecodeError) -> bool:
    """Return whether the bindings could not make a string of Python's from one of the IR."""
    return isinstance(error, UnicodeDecodeError) or "str_from_cstr" in str(error)


def not_utf8() -> UsageError:
    """Return the error for IR with a name or string that is not UTF-8, as MLIR itself allows."""
    return usage_error(
        "a name or string in this IR is not UTF-8 text, so it cannot be shown",
        'Replace escapes of bytes above 7F ("\\FF") in the text; bytecode may be damaged: write it again.',
    )


def from_flattened(text: str) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of the text in which a failed application arrives.

    Its form: a headline, then ``Diagnostic message at loc(…): message``, ``at loc(…): note`` lines, and further
    messages at the end of the line before. What kind each message is, an error or a remark, is lost.
    """
    starts = list(_FLAT.finditer(text))
    messages: list[Diagnostic] = []
    for i, start in enumerate(starts):
        end = starts[i + 1].start() if i + 1 < len(starts) else len(text)
        message = text[start.end() : end].strip()
        is_note = start["note"] is not None
        entry = Diagnostic("note" if is_note else "error", message, span_of(start["at"]))
        if is_note and messages:
            if message.startswith(_CURRENT_OPERATION):
                continue
            head = messages[-1]
            messages[-1] = Diagnostic(head.severity, head.message, head.span, (*head.notes, entry))
        else:
            messages.append(entry)
    return tuple(messages)


def kind_of_application(diagnostics: tuple[Diagnostic, ...]) -> FailureKind | None:
    """Return the kind of a failed application where its message tells it, else None."""
    text = " ".join(d.message for d in diagnostics)
    if "invalidated by a previously executed transform op" in text:
        return "invalidated-handle"
    if "more than once" in text and "handle" in text:
        return "repeated-payload"
    return None
