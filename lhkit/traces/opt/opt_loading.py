"""Payload and schedule as text, for a compiler binary whose MLIR the bindings need not understand."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lhkit.load.source_texts import read_libraries, read_module
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.schedule import NamedSequence, Schedule, choose_entry
from lhkit.traces.opt.probed_schedule import find_sequences_by_name


def load_for_opt(
    payload: str | os.PathLike[str],
    schedule: str | os.PathLike[str],
    *,
    entry: str | None = None,
    bind: Sequence[str] = (),
    libraries: Sequence[str | os.PathLike[str]] = (),
    allow_passes: Sequence[str] = (),
) -> tuple[Payload, Schedule]:
    """Return a payload and a schedule that nobody has parsed: the binary will, when it applies them.

    Args:
        payload: A path, or MLIR text.
        schedule: A path, or transform IR.
        entry: The named sequence to apply; default ``__transform_main``, else the only one.
        bind: Op names for the entry's arguments after the root.
        libraries: Files with named sequences that the schedule includes, besides those that its comments name.
        allow_passes: Passes that it may run besides those of `lhkit.model.pass_policy`.

    Raises:
        UsageError: No such file, bytecode, no named sequence, or no such entry.
    """
    source, content, _, _ = read_module(payload, "data", "<payload>")
    shown, written, _, _ = read_module(schedule, "schedules", "<schedule>")
    text = written.decode(errors="replace")
    sequences = tuple(NamedSequence(name, (), op.at.line) for name, op in find_sequences_by_name(text).items())
    if not sequences:
        raise usage_error(f"{shown} has no named sequence")
    return (
        Payload(source=source, text=content.decode(errors="replace"), functions=()),
        Schedule(
            source=shown,
            text=text,
            sequences=sequences,
            knobs=(),
            entry=choose_entry(sequences, entry, source=shown),
            bind=tuple(bind),
            libraries=read_libraries(shown, written, libraries),
            allowed_passes=tuple(allow_passes),
        ),
    )
