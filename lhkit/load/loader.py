"""Loading payloads and schedules from files and strings; the worker verifies them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from lhkit.load.old_spellings import as_bindings_spell, old_spellings_named, top_level_sequence
from lhkit.load.resource_data import MAGIC, Weights, collect_blobs, split_resources, uses_of
from lhkit.load.shipped_files import shipped_folder
from lhkit.load.source_texts import checked_content, read_libraries, read_module
from lhkit.load.target_choice import schedule_for
from lhkit.model.errors import UsageError, public, usage_error
from lhkit.model.ir_outline import WrittenOp
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Library, Schedule, choose_entry
from lhkit.text.expectations import expectations_of
from lhkit.text.knob_text import check_requirements, requirements_of
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Application, LoadPayload, LoadSchedule, Source


@runtime_checkable
class HasOperation(Protocol):
    """A module of MLIR's bindings, whichever package they are; its text is what is taken of it."""

    @property
    def operation(self) -> Any:
        """The operation."""


@public
def load_payload(
    source: str | os.PathLike[str],
    *,
    name: str | None = None,
    reference: str | None = None,
    weights: Weights | None = None,
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> Payload:
    """Return a payload from a file (``.mlir``, ``.mlirbc``) or from a string that holds MLIR.

    A payload may be any module; only what is compiled has to have a function. Ops of dialects that are not
    registered are taken in the generic form. StableHLO, as JAX writes it, becomes linalg on tensors, which is
    the payload's text.

    The data of resources (``dense_resource``) is taken out of the text; it goes to memory-mapped files that
    kernels read without a copy, see ``blobs`` of `Payload`. Where it is not in the text of a file, it is looked
    for in the file beside it that ends in ``.npz`` or ``.safetensors`` instead.

    Named sequences in the same module are left out when it is compiled; give the same file to
    `load_schedule` to apply them.

    Args:
        source: A path, or MLIR text (a string with a line break or a brace is text). The bare name of a
            payload that comes with lhkit finds it too.
        name: What to call a string in messages.
        reference: ``FILE.py:FUNCTION`` that computes the same with NumPy; shipped payloads have theirs.
        weights: The data of resources: such a file, or arrays by the names of the resources.
        worker: Another worker than the session's.
        limits: Time and memory for loading.

    Raises:
        UsageError: No such file, or nothing in it; weights that do not fit.
        PayloadError: It does not parse or does not verify; with file, line, column and carets.
    """
    shown, content, path, found = read_module(source, "data", name or "<payload>")
    content = as_bindings_spell(content, worker, limits)
    with old_spellings_named(shown, [content]):
        answer = (worker or shared_worker()).ask(LoadPayload(shown, content), limits=limits)
    text = answer.text or content.decode(errors="replace")
    if answer.is_converted:
        content = text.encode()
    if found and content.startswith(MAGIC):  # the resources of the bytecode are empty by now
        content = split_resources(text.encode())[0]
        text = content.decode()
    uses = uses_of(answer.functions, answer.resources)
    return Payload(
        source=shown,
        text=text,
        functions=answer.functions,
        bytecode=content if content.startswith(MAGIC) else None,
        reference=reference or _shipped_reference(path),
        sequences=tuple(s.name for s in answer.sequences),
        blobs=collect_blobs((shown, text, path), uses, found, weights),
    )


def as_payload(
    payload: Payload | str | os.PathLike[str], worker: Worker | None = None, *, limits: Limits | None = None
) -> Payload:
    """Return a payload as it is, or loaded where it is a path or text; see `load_payload`."""
    return payload if isinstance(payload, Payload) else load_payload(payload, worker=worker, limits=limits)


def as_schedule(
    schedule: Schedule | str | os.PathLike[str] | HasOperation, worker: Worker | None = None, **how: Any
) -> Schedule:
    """Return a schedule, loaded if it is a path, text or module, with the defaults of ``target`` if given."""
    if not isinstance(schedule, Schedule):
        return load_schedule(schedule, worker=worker, **how)
    target = how.get("target")
    return schedule if target is None else schedule_for(schedule, target)


@public
def load_schedule(
    source: str | os.PathLike[str] | HasOperation,
    *,
    entry: str | None = None,
    any_entry: bool = False,
    knobs: Mapping[str, KnobValue] | None = None,
    bind: Sequence[str] = (),
    libraries: Sequence[str | os.PathLike[str]] = (),
    name: str | None = None,
    target: str | None = None,
    allow_passes: Sequence[str] = (),
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> Schedule:
    """Return a schedule from a file or a string; a payload may be in the same module.

    Args:
        source: A path, or transform IR (a string with a line break or a brace is text), or a module of MLIR's
            bindings, such as lighthouse's schedule generators give.
        entry: The named sequence to apply; default ``__transform_main``, else the only public one.
        any_entry: Take the first sequence where it is not clear which is the entry.
        knobs: Values for its knobs; the others keep their defaults.
        bind: Op names; each binds the next argument of the entry after the root to all payload ops of that
            name, with ``^`` before it to their results; ``#8;16`` binds integers to a parameter.
        libraries: Files with named sequences that it includes, besides those that its comments name.
        name: What to call a string in messages.
        target: The target that defaults of knobs follow from, where its comments say so, and that kernels are
            compiled for, where this CPU has its instructions: ``avx512``, ``avx2``, ``neon``, ``sse`` or
            ``host``. Default: what ``LHKIT_TARGET`` names, else this CPU.
        allow_passes: Passes that ``transform.apply_registered_pass`` may run in it besides those that only
            change IR: others write files or start programs, so name them for schedules that you trust only.
            What the worker's sandbox refuses stays refused.
        worker: Another worker than the session's.
        limits: Time and memory for loading.

    Raises:
        UsageError: No such file, no named sequence, no such entry, knob or target.
        ScheduleError: It does not parse or does not verify; with file, line, column and carets.
    """
    if isinstance(source, HasOperation):
        source = str(source)
    # A payload in the same module may have resources; `load_payload` reads those.
    shown, content, _, _ = read_module(source, "schedules", name or "<schedule>")
    found = _respelled(read_libraries(shown, content, libraries), worker, limits)
    content = as_bindings_spell(content, worker, limits)
    schedule, _ = _read(shown, content, found, entry, bind, worker, limits, any_entry=any_entry, target=target)
    if allow_passes:
        schedule = dataclasses.replace(schedule, allowed_passes=tuple(sorted(set(allow_passes))))
    return schedule.with_knobs(knobs) if knobs else schedule


def parse_text(
    schedule: Schedule, text: str, *, worker: Worker | None = None, limits: Limits | None = None
) -> tuple[Schedule, tuple[WrittenOp, ...]]:
    """Return a schedule with another text, and its transform ops; name, entry, bindings and libraries stay.

    Settings stay of knobs that still allow them. A draft without sequences gets its entry and libraries now.
    """
    content = checked_content(text.encode(errors="replace"), schedule.source)
    libraries = schedule.libraries
    if not schedule.sequences:
        libraries = _respelled(read_libraries(schedule.source, content), worker, limits)
    content = as_bindings_spell(content, worker, limits)
    entry, target = schedule.entry or None, schedule.target or None
    changed, written = _read(
        schedule.source, content, libraries, entry, schedule.bind, worker, limits, target=target, with_ops=True
    )
    knobs = {knob.name: knob for knob in changed.knobs}
    kept = {n: v for n, v in schedule.settings if n in knobs and v in (knobs[n].options or (v,))}
    changed = dataclasses.replace(changed, allowed_passes=schedule.allowed_passes)
    return changed.with_knobs(kept), written


def _read(
    shown: str,
    content: bytes,
    libraries: tuple[Library, ...],
    entry: str | None,
    bind: Sequence[str],
    worker: Worker | None,
    limits: Limits | None,
    *,
    any_entry: bool = False,
    target: str | None = None,
    with_ops: bool = False,
) -> tuple[Schedule, tuple[WrittenOp, ...]]:
    """Return the schedule of a text, and its transform ops if they are asked for."""
    parts = [(shown, content), *((library.source, library.text.encode()) for library in libraries)]
    with old_spellings_named(shown, [part for _, part in parts], worker):
        answer = (worker or shared_worker()).ask(LoadSchedule(sources_of(parts), with_ops), limits=limits)
    if not answer.sequences:
        raise top_level_sequence(shown, content) or _no_sequence(shown, answer.functions)
    schedule = Schedule(
        source=shown,
        text=answer.text or content.decode(errors="replace"),
        sequences=answer.sequences,
        knobs=answer.knobs,
        entry=choose_entry(answer.sequences, entry, source=shown, take_first=any_entry),
        bind=tuple(bind),
        libraries=libraries,
    )
    # What cannot be read is said when it is loaded, not when it is applied.
    requirements_of(schedule)
    expectations_of(schedule)
    return schedule_for(schedule, target), answer.written


def _respelled(
    libraries: tuple[Library, ...], worker: Worker | None, limits: Limits | None
) -> tuple[Library, ...]:
    return tuple(
        dataclasses.replace(each, text=as_bindings_spell(each.text.encode(), worker, limits).decode())
        for each in libraries
    )


def sources_of(parts: Sequence[tuple[str, bytes]]) -> tuple[Source, ...]:
    """Return a schedule and its libraries, each as (name, content), as the sources of a request."""
    return tuple(
        Source("schedule", f"schedule{i or ''}", name, content) for i, (name, content) in enumerate(parts)
    )


def payload_source(payload: Payload) -> Source:
    """Return a payload as the source of a request."""
    return Source("payload", "payload", payload.source, payload.content)


def schedule_sources(schedule: Schedule) -> tuple[Source, ...]:
    """Return a schedule and its libraries as the sources of a request."""
    libraries = ((library.source, library.text.encode()) for library in schedule.libraries)
    return sources_of([(schedule.source, schedule.text.encode()), *libraries])


def application_of(schedule: Schedule) -> Application:
    """Return how a schedule is applied."""
    check_requirements(schedule)
    return Application(
        schedule_sources(schedule), schedule.entry, schedule.values, schedule.bind, schedule.allowed_passes
    )


def _shipped_reference(path: Path | None) -> str | None:
    """Return the NumPy reference of a shipped payload: the function of its name in ``references.py``."""
    if path is None:
        return None
    folder = shipped_folder("data")
    references = folder / "references.py"
    if path.resolve().parent != folder.resolve() or f"def {path.stem}(" not in references.read_text("utf-8"):
        return None
    return f"{references}:{path.stem}"


def _no_sequence(source: str, functions: Sequence[str]) -> UsageError:
    if functions:
        listed = ", ".join(f"@{f}" for f in functions)
        advice = "Give the payload first: lhkit run PAYLOAD SCHEDULE."
        return usage_error(f"{source} is a payload (it has {listed}), not a schedule", advice)
    return usage_error(
        f"{source} has no named sequence",
        "A schedule is a module with transform.with_named_sequence and a transform.named_sequence.",
    )
