"""Files that reproduce a trace elsewhere: a folder, one module for mlir-opt, command lines."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.schedule import DEFAULT_ENTRY, Schedule
from lhkit.model.trace_record import Provenance, Trace
from lhkit.text.knob_text import with_knobs_set
from lhkit.traces.explain.handle_explanation import failure_of

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
    schedule: Schedule,
    payload_file: str,
    schedule_file: str,
    libraries: Sequence[str],
    ops: Sequence[str] = (),
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
