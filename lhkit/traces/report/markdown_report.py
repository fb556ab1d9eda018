"""A trace to hand on: a Markdown report, a Compiler Explorer link, a folder and commands that reproduce it."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import secrets
import shlex
import shutil
import textwrap
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.payload import Payload
from lhkit.model.printable import counted
from lhkit.model.schedule import DEFAULT_ENTRY, Schedule
from lhkit.model.trace_record import Provenance, Trace
from lhkit.text.knob_text import with_knobs_set
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.traces.report.trace_text import plain_text, trace_lines

_ALIAS = re.compile(r"[#!][\w$.-]+\s*=")
_ROOT_TAG = "payload"


def provenance_of(trace: Trace) -> Provenance:
    """Return payload and schedule of a trace; UsageError if it was read from JSON, which does not hold them."""
    if trace.provenance is None:
        raise usage_error(
            "the texts of payload and schedule are not known: the JSON of a trace does not hold them",
            "Trace again, with lhkit.trace or lhkit trace.",
        )
    return trace.provenance


def short_names(trace: Trace) -> dict[str, str]:
    """Return file names without folders, by full name, since paths may be private."""
    names = [trace.payload.source, trace.schedule.source, *(name for name, _ in trace.texts)]
    return {name: name if name.startswith("<") else PurePath(name).name for name in names}


def shorten(text: str, names: Mapping[str, str]) -> str:
    """Return a text with short file names."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    return text


def trace_command(
    schedule: Schedule, payload_file: str, schedule_file: str, libraries: Sequence[str], ops: Sequence[str] = ()
) -> str:
    """Return the command line that reproduces a trace with these files."""
    words = ["lhkit", "trace", payload_file, schedule_file]
    if schedule.entry != DEFAULT_ENTRY:
        words += ["--entry", schedule.entry]
    for name, set_to in schedule.settings:
        words += ["--set", f"{name}={str(set_to).lower() if isinstance(set_to, bool) else set_to}"]
    if schedule.target:
        words += ["--target", schedule.target]
    for option, values in (("--bind", schedule.bind), ("--library", libraries), ("--ops", ops)):
        for value in values:
            words += [option, value]
    return shlex.join(words)


def interpreter_options(schedule: Schedule) -> str:
    """Return the ``mlir-opt`` option that applies the schedule of a `combined` module to its payload."""
    options = [f"debug-payload-root-tag={_ROOT_TAG}"]
    if schedule.entry != DEFAULT_ENTRY:
        options.append(f"entry-point={schedule.entry.rpartition('::')[2]}")
    if schedule.bind:
        options.append(f"debug-bind-trailing-args={','.join(schedule.bind)}")
    return f'--transform-interpreter="{" ".join(options)}"'


def combined(provenance: Provenance) -> str:
    """Return one module with payload and schedule in a module each, the knobs folded.

    The schedule comes first: of two entries of a name the first is applied. UsageError if the schedule has
    libraries, ops that only lhkit knows, or a knob that cannot be folded.
    """
    schedule = provenance.schedule
    if schedule.libraries:
        listed = ", ".join(library.source for library in schedule.libraries)
        raise usage_error(f"{schedule.source} includes from {listed}, which one module cannot hold")
    if provenance.own_ops or '"lhkit.' in schedule.text:
        owners = ", ".join(file for file, _ in provenance.own_ops) or "lhkit"
        raise usage_error(f"{schedule.source} may use ops of {owners}, which others do not have")
    aliases, payload = _without_aliases(provenance.payload.text)
    more, body = _without_aliases(with_knobs_set(schedule))
    for name, definition in more.items():
        if aliases.get(name, definition) != definition:
            renamed = f"{name[0]}schedule_{name[1:]}"
            body = _renamed(body, name, renamed)
            more = {n: _renamed(d, name, renamed) for n, d in more.items()}
    definitions = [*aliases.values(), *(d for n, d in more.items() if d != aliases.get(n))]
    body, payload = body.strip("\n"), payload.strip("\n")
    return (
        "".join(f"{definition}\n" for definition in definitions)
        + f"module attributes {{transform.with_named_sequence}} {{\n// The schedule.\n{body}\n// The payload.\n"
        + f'module attributes {{transform.target_tag = "{_ROOT_TAG}"}} {{\n{payload}\n}}\n}}\n'
    )


def _without_aliases(text: str) -> tuple[dict[str, str], str]:
    """Return the definitions of aliases, which cannot be in a module, and the text without them."""
    aliases: dict[str, str] = {}
    kept: list[str] = []
    name, depth = "", 0
    for line in text.split("\n"):
        if not depth:
            match = _ALIAS.match(line)
            name = match[0].removesuffix("=").strip() if match else ""
        if not name:
            kept.append(line)
            continue
        aliases[name] = f"{aliases[name]}\n{line}" if depth else line
        depth += sum(line.count(c) for c in "([{") - sum(line.count(c) for c in ")]}")
    return aliases, "\n".join(kept)


def _renamed(text: str, name: str, new: str) -> str:
    return re.sub(rf"(?<![\w$.]){re.escape(name)}(?![\w$.-])", new, text)


PAYLOAD, SCHEDULE, COMBINED = "payload.mlir", "schedule.mlir", "combined.mlir"


def reproducer_files(trace: Trace) -> tuple[tuple[str, str], ...]:
    """Return (name, text) of each file; UsageError if the texts are not known."""
    provenance = provenance_of(trace)
    schedule = provenance.schedule
    libraries = [b.declared or f"library{i}.mlir" for i, b in enumerate(schedule.libraries, start=1)]
    ops = [f"ops{i}.py" for i in range(1, len(provenance.own_ops) + 1)]
    given = [n for n, library in zip(libraries, schedule.libraries, strict=True) if not library.declared]
    command = trace_command(schedule, PAYLOAD, SCHEDULE, given, ops)
    parts = [(PAYLOAD, provenance.payload.text), (SCHEDULE, schedule.text)]
    parts += [(name, library.text) for name, library in zip(libraries, schedule.libraries, strict=True)]
    parts += [(name, text) for name, (_, text) in zip(ops, provenance.own_ops, strict=True)]
    try:
        parts.append((COMBINED, combined(provenance)))
        outside = f"mlir-opt {interpreter_options(schedule)} {COMBINED}"
    except UsageError as error:
        outside = f"# not with mlir-opt alone: {error.failure.message}"
    versions = "".join(f"{name} {version}\n" for name, version in provenance.versions)
    parts.append(("commands.txt", f"{command}\n{outside}\n"))
    parts.append(("versions.txt", versions))
    parts.append(("README.md", _readme(trace, provenance, (*libraries, *ops), command, outside)))
    return tuple(parts)


def _readme(trace: Trace, provenance: Provenance, others: Sequence[str], command: str, outside: str) -> str:
    files = (PAYLOAD, SCHEDULE, *others)
    names = {source: file for (source, _), file in zip(provenance.texts, files, strict=True)}
    failure = failure_of(trace)
    went = "it goes well" if failure is None else f"it ends like this ({failure.kind})"
    versions = "\n".join(f"- {name} {version}" for name, version in provenance.versions)
    said = "" if failure is None else shorten(failure.describe(), names)
    return (
        "# A schedule applied step by step\n\n"
        f"In this folder:\n\n    {command}\n\n"
        f"With `mlir-opt` of a version that has its ops:\n\n    {outside}\n\n"
        f"With these versions {went}:\n\n{versions}\n"
    ) + (f"\n{textwrap.indent(said, '    ', lambda _: True)}\n" if said else "")


def save_reproducer(trace: Trace, folder: str | os.PathLike[str]) -> Path:
    """Write a folder that reproduces a trace, atomically through a temporary one beside it.

    Raises:
        UsageError: The folder exists and is not empty or cannot be written, or the texts are not known.
    """
    files = reproducer_files(trace)
    path = Path(folder)
    partial = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise usage_error(f"{path} exists and is not empty", "Name a folder that does not exist yet.")
        partial.mkdir()
        for name, text in files:
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_text(text, encoding="utf-8")
        if path.exists():
            path.rmdir()
        partial.replace(path)
    except OSError as error:
        raise usage_error(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return path


SITE = "https://godbolt.org"
COMPILER = "mliropttrunk"
# The site rejects longer ones.
LONGEST_URL = 8_000


def compiler_explorer_url(payload: Payload, schedule: Schedule) -> str:
    """Return a link that opens payload and schedule in Compiler Explorer's newest ``mlir-opt``.

    UsageError if it would be longer than `LONGEST_URL` characters, or if one module cannot hold both.
    """
    provenance = Provenance(payload, schedule)
    source = combined(provenance)
    compiler = {"id": COMPILER, "options": interpreter_options(schedule)}
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
    provenance = provenance_of(trace)
    return compiler_explorer_url(provenance.payload, provenance.schedule)


# A comment on an issue may have 65,536 characters; all parts together, with their headings, stay below.
MOST_BYTES = 60_000
_CAUSE, _STEPS, _SCHEDULE, _PAYLOAD, _BEFORE, _COMMAND = 5_000, 10_000, 15_000, 10_000, 8_000, 1_000
_LONGEST_NAME = 80


def trace_markdown(trace: Trace, *, command: str | None = None) -> str:
    """Return a trace as Markdown of less than 60,000 bytes; long texts are cut in the middle.

    ``command`` replaces the command line that reproduces the trace.
    """
    names = short_names(trace)
    parts = [_heading(trace, names), _cause(trace, names)]
    if trace.step_records:
        parts.append(_folded("Steps", "text", shorten(plain_text(trace_lines(trace)), names), _STEPS))
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
        return f"{counted(ran, 'step')} ran.\n\n{shorten(listed, names)}"
    return fenced("text", cut_middle(shorten(failure.describe(), names), _CAUSE))


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
        command = trace_command(given.schedule, files[0], files[1], files[2:])
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
