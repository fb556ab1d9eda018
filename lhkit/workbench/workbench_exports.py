"""Saved state and exports of a workbench: schedule, code, report, page, bug report, the workbench itself."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from lhkit.compose.builder.builder_code import builder_code
from lhkit.compose.session import Session
from lhkit.compose.session_history import SavedSession, checked_session
from lhkit.load.catalogue_cache import known_help
from lhkit.load.schedule_export import portable_text, tunable_text
from lhkit.load.trust import Doubt, doubts_of, is_known, remember, schedule_content, workbench_content
from lhkit.load.weights import is_shipped_reference, reference_here, reference_to_keep
from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import usage_error
from lhkit.model.file_io import parse_json, read_text
from lhkit.model.payload import Blob, Payload
from lhkit.model.printable import one_line
from lhkit.show.trace_view import detail_panes, trace_page
from lhkit.traces.report.markdown_report import reproducer_files, trace_markdown
from lhkit.workbench.runs import Result
from lhkit.workbench.screen import Command, Screen
from lhkit.workbench.screen import text as text_field
from lhkit.workbench.workbench_core import WorkbenchCore

SCHEMA = "lhkit.workbench/1"
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class WorkbenchState:
    """The state of a workbench that cannot be derived.

    Attributes:
        doubts: The file that it was read from, unless that is trusted.
        reference: The NumPy reference that an untrusted file names, resolved when it is trusted.
    """

    payload: Payload
    session: SavedSession
    screen: Screen
    results: tuple[Result, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    reference: str | None = None

    @classmethod
    def of(cls, workbench: WorkbenchCore) -> WorkbenchState:
        """Return the state of a workbench."""
        session = workbench.session
        return cls(session.payload, session.saved, workbench.screen, workbench.runs.results)

    def open(self, **how: Any) -> Session:
        """Open the session; ``how`` are keywords of `Session`."""
        return Session.from_saved(self.session, self.payload, doubts=self.doubts, **how)

    def text(self) -> str:
        """Return the state as JSON, as ``schemas/workbench-1.json`` describes it."""
        bare = dataclasses.replace(self.payload, bytecode=None, blobs=())
        bytecode = self.payload.bytecode
        payload = {
            **to_json(bare),
            "reference": reference_to_keep(self.payload.reference),
            "bytecode": None if bytecode is None else base64.b64encode(bytecode).decode(),
            "blobs": [_blob_json(blob) for blob in self.payload.blobs],
        }
        parts = {"session": self.session, "screen": self.screen, "results": self.results}
        return json.dumps({"schema": SCHEMA, "payload": payload, **to_json(parts)}, indent=1) + "\n"


def _blob_json(blob: Blob) -> dict[str, Any]:
    data = base64.b64encode(blob.data).decode()
    described = {"name": blob.name, "dtype": blob.dtype, "shape": list(blob.shape)}
    return {**described, "sha256": blob.sha256, "data": data}


def read_state(path: str | os.PathLike[str], *, trust: bool = False) -> WorkbenchState:
    """Read the state from a file, which is trusted if this user has saved or trusted it before.

    A NumPy reference in a Python file is resolved only then, since it is executed; shipped ones always are.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise usage_error(f"{path} is not text in UTF-8") from None
    content = workbench_content(text)
    try:
        state = _state(parse_json(text), is_trusted=trust or is_known(content))
    except (ValueError, KeyError, TypeError) as error:
        advice = "A workbench is saved with widget.save(path)."
        why = f"its field {error} is missing" if isinstance(error, KeyError) else str(error)
        why = f"it is not JSON: {error}" if isinstance(error, json.JSONDecodeError) else why
        raise usage_error(f"{path} holds no workbench of {SCHEMA}: {why}", advice) from None
    if trust:
        remember([content])
    doubts = () if trust else doubts_of([Doubt(str(path), content)])
    return dataclasses.replace(state, doubts=doubts)


def _state(data: Any, *, is_trusted: bool) -> WorkbenchState:
    if not isinstance(data, dict):
        raise ValueError(f"it is a JSON {type(data).__name__}, not an object with a schema")
    if (schema := data.get("schema")) is None:
        raise ValueError("it names no schema")
    if schema != SCHEMA:
        raise ValueError(f"its schema is {one_line(str(schema), _LONGEST_NAME)}")
    if not isinstance(data.get("payload", {}), dict):
        raise ValueError("its payload is no object")
    given = dict(data["payload"])
    bytecode, blobs = given.pop("bytecode"), given.pop("blobs")
    named = given["reference"]
    is_taken = is_trusted or is_shipped_reference(named)
    payload = dataclasses.replace(
        from_json(Payload, {**given, "bytecode": None, "blobs": ()}),
        bytecode=None if bytecode is None else base64.b64decode(bytecode),
        reference=reference_here(named) if is_taken else None,
        blobs=tuple(
            Blob(b["name"], b["dtype"], tuple(b["shape"]), b["sha256"], memoryview(base64.b64decode(b["data"])))
            for b in blobs
        ),
    )
    return WorkbenchState(
        payload,
        checked_session(from_json(SavedSession, data["session"])),
        from_json(Screen, data["screen"]),
        tuple(from_json(Result, each) for each in data["results"]),
        reference=None if is_taken else named,
    )


# A constant time stamp, so that equal states give equal ZIP files.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Export:
    """An export format: menu title, file suffix, media type, and the function that makes the content."""

    title: str
    suffix: str
    media: str
    make: Callable[[WorkbenchCore], str | bytes]


def _schedule(workbench: WorkbenchCore) -> str:
    session = workbench.session
    text = tunable_text(session.schedule)
    if session.is_trusted:
        remember([schedule_content(text, session.schedule.libraries), schedule_content(text)])
    return text


def _portable(workbench: WorkbenchCore) -> str:
    return portable_text(workbench.session.schedule, worker=workbench.session.worker)


def _code(workbench: WorkbenchCore) -> str:
    return builder_code(workbench.session.schedule, worker=workbench.session.worker)


def _markdown(workbench: WorkbenchCore) -> str:
    return trace_markdown(workbench.current_trace())


def _page(workbench: WorkbenchCore) -> str:
    trace = workbench.current_trace()
    details = detail_panes(trace, worker=workbench.session.worker)
    return trace_page(trace, known_help(), details, repairs=workbench.repairs.found)


def _report(workbench: WorkbenchCore) -> bytes:
    """Return a ZIP of the reproducer's folder and the saved workbench."""
    files = [*reproducer_files(workbench.current_trace())]
    files.append(("workbench.json", WorkbenchState.of(workbench).text()))
    folder = f"{_stem(workbench)}_report"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}", _NO_TIME), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _saved_state(workbench: WorkbenchCore) -> str:
    text = WorkbenchState.of(workbench).text()
    if workbench.session.is_trusted:
        remember([workbench_content(text)])
    return text


EXPORTS: Mapping[str, Export] = {
    "schedule": Export("the schedule, with its knobs (.mlir)", ".mlir", "text/plain", _schedule),
    "portable": Export("the schedule for mlir-opt, knobs folded in (.mlir)", ".mlir", "text/plain", _portable),
    "code": Export("Python code that builds it (.py)", ".py", "text/x-python", _code),
    "markdown": Export("a report in Markdown (.md)", ".md", "text/markdown", _markdown),
    "page": Export("a page that opens without a kernel (.html)", ".html", "text/html", _page),
    "report": Export("a bug report: all that repeats it (.zip)", ".zip", "application/zip", _report),
    "state": Export("this workbench, to be opened again (.json)", ".json", "application/json", _saved_state),
}


def export_kind(path: str) -> str:
    """Return the kind of export for the suffix of a file name."""
    suffix = PurePath(path).suffix.lower()
    found = next((kind for kind, export in EXPORTS.items() if export.suffix == suffix), None)
    if found is None:
        known = ", ".join(dict.fromkeys(export.suffix for export in EXPORTS.values()))
        name = f"unknown export format {PurePath(path).suffix!r} of {path}"
        raise usage_error(name, f"A workbench is exported as {known}.")
    return found


def exported(workbench: WorkbenchCore, kind: str) -> bytes:
    """Return the content of an export file."""
    export = EXPORTS.get(kind)
    if export is None:
        raise usage_error(f"there is no export {kind!r}", f"There are: {', '.join(EXPORTS)}.")
    content = export.make(workbench)
    return content.encode(errors="replace") if isinstance(content, str) else content


def _stem(workbench: WorkbenchCore) -> str:
    return PurePath(workbench.session.schedule.source).stem.strip("<>") or "schedule"


def _export(workbench: WorkbenchCore, question: Command) -> dict[str, str]:
    """``{"kind": name}`` → the file: its name, its media type, its bytes in base64."""
    kind = text_field(question, "kind")
    data = exported(workbench, kind)
    export = EXPORTS[kind]
    between = "_portable" if kind == "portable" else "_workbench" if kind == "state" else ""
    name = f"{_stem(workbench)}{between}{export.suffix}"
    return {"name": name, "media": export.media, "base64": base64.b64encode(data).decode()}


QUESTIONS: Mapping[str, Callable[[WorkbenchCore, Command], Any]] = {"export": _export}
