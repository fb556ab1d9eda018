"""A trace as a Markdown report for an issue thread, and as a Compiler Explorer link."""

from __future__ import annotations

import base64
import html
import json
import re
import zlib

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.payload import Payload
from lhkit.model.printable import counted
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Provenance, Trace
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.traces.report import reproducer_folder
from lhkit.traces.report.trace_text import plain_text, trace_lines

SITE = "https://godbolt.org"
COMPILER = "mliropttrunk"
# The site rejects longer ones.
LONGEST_URL = 8_000


def compiler_explorer_url(payload: Payload, schedule: Schedule) -> str:
    """Return a link that opens payload and schedule in Compiler Explorer's newest ``mlir-opt``.

    UsageError if it would be longer than `LONGEST_URL` characters, or if one module cannot hold both.
    """
    provenance = Provenance(payload, schedule)
    source = reproducer_folder.combined(provenance)
    compiler = {"id": COMPILER, "options": reproducer_folder.interpreter_options(schedule)}
    state = {"sessions": [{"id": 1, "language": "mlir", "source": source, "compilers": [compiler]}]}
    packed = zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 9)
    url = f"{SITE}/clientstate/{base64.urlsafe_b64encode(packed).decode()}"
    if len(url) > LONGEST_URL:
        over = len(url) - LONGEST_URL
        raise usage_error(
            f"the link would have {len(url):,} characters, {over:,} more than the {LONGEST_URL:,} that"
            " Compiler Explorer takes",
            "Make the payload smaller, or save a reproducer folder: its combined.mlir can be pasted there.",
        )
    return url


def trace_url(trace: Trace) -> str:
    """Return `compiler_explorer_url` of a trace; UsageError also if its texts are not known."""
    provenance = reproducer_folder.provenance_of(trace)
    return compiler_explorer_url(provenance.payload, provenance.schedule)


# A comment on an issue may have 65,536 characters; all parts together, with their headings, stay below.
MOST_BYTES = 60_000
_CAUSE, _STEPS, _SCHEDULE, _PAYLOAD, _BEFORE, _COMMAND = 5_000, 10_000, 15_000, 10_000, 8_000, 1_000
_LONGEST_NAME = 80


def trace_markdown(trace: Trace, *, command: str | None = None) -> str:
    """Return a trace as Markdown of less than 60,000 bytes; long texts are cut in the middle.

    ``command`` replaces the command line that reproduces the trace.
    """
    names = reproducer_folder.short_names(trace)
    parts = [_heading(trace, names), _cause(trace, names)]
    if trace.step_records:
        parts.append(
            _folded("Steps", "text", reproducer_folder.shorten(plain_text(trace_lines(trace)), names), _STEPS)
        )
    parts += _texts(trace, names)
    parts.append(_how(trace, names, command))
    return "\n\n".join(p for p in parts if p) + "\n"


def _heading(trace: Trace, names: dict[str, str]) -> str:
    outcome = trace.outcome
    schedule, payload = (code_span(_short(s, names)) for s in (trace.schedule.source, trace.payload.source))
    if outcome.kind is None:
        return f"### {schedule} applies to {payload}"
    step = None if outcome.failed_step is None else trace.step_records[outcome.failed_step]
    at = "" if step is None else f" at step {step.index}, {code_span(step.op)}"
    return f"### {schedule} on {payload}: {outcome.kind}{at}"


def _cause(trace: Trace, names: dict[str, str]) -> str:
    failure = failure_of(trace)
    if failure is None:
        ran = sum(s.status != "not-run" for s in trace.step_records)
        warned = [
            f"step {s.index} ({s.op}): {w.kind}: {w.message}" for s in trace.step_records for w in s.warnings
        ]
        listed = fenced("text", cut_middle("\n".join(warned), _CAUSE)) if warned else "No warnings."
        return f"{counted(ran, 'step')} ran.\n\n{reproducer_folder.shorten(listed, names)}"
    return fenced("text", cut_middle(reproducer_folder.shorten(failure.describe(), names), _CAUSE))


def _texts(trace: Trace, names: dict[str, str]) -> list[str]:
    """Return the folded texts: schedule, payload, and the payload before the failed step."""
    parts = []
    payload = trace.snapshot_text(-1)
    if trace.provenance is not None:
        payload, schedule = trace.provenance.payload.text, trace.provenance.schedule
        libraries = (f"\n// {_short(each.source, names)}\n{each.text}" for each in schedule.libraries)
        title = f"Schedule {html_code(_short(schedule.source, names))}"
        parts.append(_folded(title, "mlir", schedule.text + "".join(libraries), _SCHEDULE))
    else:
        parts.append("This trace does not hold the text of its schedule.")
    if payload:
        title = f"Payload {html_code(_short(trace.payload.source, names))}"
        parts.append(_folded(title, "mlir", payload, _PAYLOAD))
    last = trace.last_snapshot_text()
    if trace.outcome.kind is not None and last and last != trace.snapshot_text(-1):
        parts.append(_folded("Payload as the last step that ended well left it", "mlir", last, _BEFORE))
    return parts


def _how(trace: Trace, names: dict[str, str], command: str | None) -> str:
    given = trace.provenance
    lines = []
    if command is None and given is not None:
        files = [_short(name, names) for name, _ in given.texts]
        command = reproducer_folder.trace_command(given.schedule, files[0], files[1], files[2:])
    if command is not None:
        lines.append(fenced("sh", cut_middle(command, _COMMAND)))
    bindings = (trace.toolchain.bindings, trace.toolchain.version)
    versions = given.versions if given else (bindings,) if all(bindings) else ()
    versions = (*versions, ("CPU", trace.toolchain.cpu))
    if listed := ", ".join(f"{name} {version}" for name, version in versions if version):
        lines.append(code_span(listed, longest=400))
    if given is not None:
        try:
            lines.append(f"[Open in Compiler Explorer]({trace_url(trace)})")
        except UsageError as error:
            lines.append(f"No link to Compiler Explorer: {code_span(error.failure.message, longest=200)}")
    return "\n\n".join(lines)


def _short(name: str, names: dict[str, str]) -> str:
    return names.get(name, name)


def code_span(text: str, *, longest: int = _LONGEST_NAME) -> str:
    """Return text as inline code without active markup, mentions or HTML."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    shown = shown if len(shown) <= longest else shown[: longest - 1] + "…"
    ticks = _ticks(shown)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{ticks}{pad}{shown or ' '}{pad}{ticks}"


def _ticks(text: str, at_least: int = 1) -> str:
    """Return backticks, more than any run of them in a text."""
    return "`" * max(at_least, 1 + max((len(run) for run in re.findall("`+", text)), default=0))


def html_code(text: str) -> str:
    """Return text as HTML code, for places without Markdown."""
    shown = "".join(c if c.isprintable() else " " for c in text)[:_LONGEST_NAME]
    return f"<code>{html.escape(shown).replace('`', '&#96;')}</code>"


def fenced(language: str, text: str) -> str:
    """Return a code block with a fence longer than any run of backticks in it."""
    fence = _ticks(text, at_least=3)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _folded(title: str, language: str, text: str, most_bytes: int) -> str:
    body = fenced(language, cut_middle(text, most_bytes))
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def cut_middle(text: str, most_bytes: int) -> str:
    """Return a text of at most so many bytes, with a line for the part cut from the middle."""
    data = text.encode(errors="replace")
    if len(data) <= most_bytes:
        return text
    room = most_bytes - 80
    head = data[: room * 2 // 3].decode(errors="ignore")
    tail = data[len(data) - room // 3 :].decode(errors="ignore")
    head, tail = head[: head.rfind("\n") + 1] or head, tail[tail.find("\n") + 1 :]
    left = len(data) - len(head.encode(errors="replace")) - len(tail.encode(errors="replace"))
    return f"{head.rstrip()}\n// … {left:,} of {len(data):,} bytes omitted …\n{tail}"
