"""A folder of files that reproduces a trace."""

from __future__ import annotations

import os
import secrets
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.trace_record import Provenance, Trace
from lhkit.traces.record.trace_failure import failure_of
from lhkit.traces.report.upstream_module import (
    combined,
    interpreter_options,
    provenance_of,
    shorten,
    trace_command,
)

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
    said = (
        "" if failure is None else textwrap.indent(shorten(failure.describe(), names), "    ", lambda _: True)
    )
    versions = "\n".join(f"- {name} {version}" for name, version in provenance.versions)
    return (
        "# A schedule applied step by step\n\n"
        f"In this folder:\n\n    {command}\n\n"
        f"With `mlir-opt` of a version that has its ops:\n\n    {outside}\n\n"
        f"With these versions {went}:\n\n{versions}\n"
    ) + (f"\n{said}\n" if said else "")


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
