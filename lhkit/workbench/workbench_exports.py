"""What a workbench can be exported as: a schedule, code, a report, a page, a bug report, itself."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lhkit.compose.builder.builder_code import builder_code
from lhkit.load.catalogue_cache import known_help
from lhkit.load.schedule_export import portable_text, tunable_text
from lhkit.load.trust import remember, schedule_content, workbench_content
from lhkit.model.errors import usage_error
from lhkit.model.trace_record import Trace
from lhkit.show.page_facts import page_facts
from lhkit.show.trace_view import trace_page
from lhkit.traces.report.markdown_report import trace_markdown
from lhkit.traces.report.reproducer_folder import reproducer_files
from lhkit.workbench.commands_trust import refuse_untrusted
from lhkit.workbench.fields import text as text_field
from lhkit.workbench.state import WorkbenchState

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

# Every file of a ZIP has a time; one that is always the same makes the same bytes of the same state.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Export:
    """Something that a workbench can be exported as.

    Attributes:
        title: What the menu says.
        suffix: How the file ends.
        media: Its media type.
        make: Makes its bytes.
    """

    title: str
    suffix: str
    media: str
    make: Callable[[Workbench], bytes]


def _trace_of(workbench: Workbench) -> Trace:
    refuse_untrusted(workbench)
    trace = workbench.trace
    if trace is None or workbench.session.is_stale:
        raise usage_error("the text does not parse as it stands", "Mend it first, or undo.")
    return trace


def _schedule(workbench: Workbench) -> bytes:
    session = workbench.session
    text = tunable_text(session.schedule)
    if session.is_trusted:
        remember([schedule_content(text, session.schedule.libraries), schedule_content(text)])
    return text.encode(errors="replace")


def _portable(workbench: Workbench) -> bytes:
    return portable_text(workbench.session.schedule, worker=workbench.worker).encode(errors="replace")


def _code(workbench: Workbench) -> bytes:
    return builder_code(workbench.session.schedule, worker=workbench.worker).encode(errors="replace")


def _markdown(workbench: Workbench) -> bytes:
    return trace_markdown(_trace_of(workbench)).encode(errors="replace")


def _page(workbench: Workbench) -> bytes:
    trace = _trace_of(workbench)
    return trace_page(trace, known_help(), page_facts(trace, worker=workbench.worker)).encode(errors="replace")


def _report(workbench: Workbench) -> bytes:
    """Return a ZIP of the reproducer's folder, and in it the workbench itself."""
    files = [
        *reproducer_files(_trace_of(workbench)),
        ("workbench.json", WorkbenchState.of(workbench).text()),
    ]
    folder = f"{_stem(workbench)}_report"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}", _NO_TIME), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _state(workbench: Workbench) -> bytes:
    text = WorkbenchState.of(workbench).text()
    if workbench.session.is_trusted:
        remember([workbench_content(text)])
    return text.encode(errors="replace")


EXPORTS: Mapping[str, Export] = {
    "schedule": Export("the schedule, with its knobs (.mlir)", ".mlir", "text/plain", _schedule),
    "portable": Export("the schedule for mlir-opt, knobs folded in (.mlir)", ".mlir", "text/plain", _portable),
    "code": Export("Python code that builds it (.py)", ".py", "text/x-python", _code),
    "markdown": Export("a report in Markdown (.md)", ".md", "text/markdown", _markdown),
    "page": Export("a page that opens without a kernel (.html)", ".html", "text/html", _page),
    "report": Export("a bug report: all that repeats it (.zip)", ".zip", "application/zip", _report),
    "state": Export("this workbench, to be opened again (.json)", ".json", "application/json", _state),
}


def export_kind(path: str) -> str:
    """Return the kind of export that a file's name stands for.

    Raises:
        UsageError: There is none with that suffix.
    """
    suffix = PurePath(path).suffix.lower()
    found = next((kind for kind, export in EXPORTS.items() if export.suffix == suffix), None)
    if found is None:
        known = ", ".join(dict.fromkeys(export.suffix for export in EXPORTS.values()))
        raise usage_error(f"{path} does not end like an export", f"A workbench is exported as {known}.")
    return found


def exported(workbench: Workbench, kind: str) -> bytes:
    """Return a workbench as a file of a kind.

    Raises:
        UsageError: There is no such kind, or this schedule cannot be exported so; the message says why.
    """
    export = EXPORTS.get(kind)
    if export is None:
        raise usage_error(f"there is no export {kind!r}", f"There are: {', '.join(EXPORTS)}.")
    return export.make(workbench)


def _stem(workbench: Workbench) -> str:
    return PurePath(workbench.session.schedule.source).stem.strip("<>") or "schedule"


def _export(workbench: Workbench, question: Mapping[str, Any]) -> dict[str, str]:
    """``{"kind": name}`` → the file: its name, its media type, its bytes in base64."""
    kind = text_field(question, "kind")
    data = exported(workbench, kind)
    export = EXPORTS[kind]
    between = "_portable" if kind == "portable" else "_workbench" if kind == "state" else ""
    name = f"{_stem(workbench)}{between}{export.suffix}"
    return {"name": name, "media": export.media, "base64": base64.b64encode(data).decode()}


QUESTIONS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], Any]] = {"export": _export}
