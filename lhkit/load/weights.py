"""Weights of a payload: constants turned into arguments, and their data as arrays."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from lhkit.load.loader import application_of, payload_source
from lhkit.load.resource_data import array_of, uses_of, write_npz
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import usage_error
from lhkit.model.file_io import write_whole
from lhkit.model.payload import Payload
from lhkit.model.schedule import DEFAULT_ENTRY, NamedSequence, Schedule
from lhkit.model.signature import Function
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Apply
from lhkit.worker.shared_arrays import ArrayPlace, SharedFiles

Array = NDArray[Any]

_SCHEDULE = """\
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @{entry}(%root: !transform.any_op {{transform.readonly}}) {{
    %functions = "lhkit.convert_const_resources_to_args"(%root){options}
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }}
}}
"""


def constants_to_arguments(
    payload: Payload, *, append_untied: bool = False, worker: Worker | None = None, limits: Limits | None = None
) -> Payload:
    """Turn constants whose data is a resource into arguments, see `Payload`; the data is not copied.

    A payload without such constants is returned unchanged. The NumPy reference stays while the functions'
    signatures do.
    """
    text = _SCHEDULE.format(entry=DEFAULT_ENTRY, options=" {append_untied = true}" if append_untied else "")
    # Its sequences are stated, so that it need not be parsed.
    main = NamedSequence(DEFAULT_ENTRY, ("!transform.any_op",), 2)
    schedule = Schedule("<constants to arguments>", text, (main,), (), DEFAULT_ENTRY)
    return apply_to(payload, schedule, worker=worker, limits=limits)


def apply_to(
    payload: Payload, schedule: Schedule, *, worker: Worker | None = None, limits: Limits | None = None
) -> Payload:
    """Apply a schedule to a payload, see `Payload`; data of constants is not copied.

    The references stay while the functions' signatures do. A payload that nothing changes is returned itself.
    """
    request = Apply(payload_source(payload), application_of(schedule))
    answer = (worker or shared_worker()).ask(request, limits=limits, last_good_ir=payload.text)
    if answer.text is None:
        return payload
    functions = answer.functions
    blobs = {b.name: b for b in payload.blobs}
    signatures = {f.name: f.arguments for f in functions}
    same = all(signatures.get(f.name) == f.arguments for f in payload.functions)
    return dataclasses.replace(
        payload,
        text=answer.text,
        functions=functions,
        bytecode=None,
        reference=payload.reference if same else None,
        local_reference=payload.local_reference if same else None,
        sequences=(),
        blobs=tuple(blobs[name] for name in uses_of(functions, answer.resources) if name in blobs),
    )


def weights_of_payload(payload: Payload, function: str | None = None) -> dict[str, Array]:
    """Return the data of a payload's arguments that were constants, and of its constants, by name."""
    arrays = {blob.name: array_of(blob) for blob in payload.blobs}
    having = [f for f in payload.functions if f.weights]
    if not having and function is None:
        return arrays
    chosen = having[0] if function is None and len(having) == 1 else payload.function(function)
    named = {w.name: arrays[w.resource] for w in chosen.weights if w.resource in arrays}
    of_arguments = {w.resource for f in having for w in f.weights}
    return {**named, **{n: a for n, a in arrays.items() if n not in of_arguments}}


def with_weights(payload: Payload, function: Function, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments of a call; if those that were constants are left out, with them from the payload."""
    weights = {w.argument: w for w in function.weights}
    if not weights or len(arguments) != len(function.arguments) - len(weights):
        return tuple(arguments)
    blobs = {blob.name: blob for blob in payload.blobs}
    for _, weight in sorted(weights.items()):
        if weight.resource not in blobs:
            advice = "Give all arguments, or load the payload with weights=FILE.npz."
            raise usage_error(f"the data of {weight.name} (resource {weight.resource}) is not there", advice)
    given = iter(arguments)
    places = range(len(function.arguments))
    return tuple(array_of(blobs[weights[i].resource]) if i in weights else next(given) for i in places)


def resource_places(payload: Payload, files: SharedFiles) -> dict[str, ArrayPlace]:
    """Return where the blobs of a payload are, by name."""
    places = {}
    for blob in payload.blobs:
        array = array_of(blob)
        place = files.find(array) if array.size else ArrayPlace(array.shape, array.dtype.name, b"")
        if place is None:
            advice = "Load the payload with weights=…, which puts arrays where kernels can read them."
            raise usage_error(f"the data of {blob.name} is in no file that a worker can read", advice)
        places[blob.name] = place
    return places


# Payloads to files: the text, and the weights beside it.


_SHIPPED = "lhkit"


def save_payload(payload: Payload, path: str | os.PathLike[str]) -> Path:
    """Write a payload, and its blobs beside it; see `lhkit.model.payload`."""
    path = Path(path)
    if path.suffix != ".mlir":
        raise usage_error(f"{path} does not end in .mlir", "The weights are written beside it, as .npz.")
    beside = path.with_suffix(".npz")
    try:
        write_whole(path, payload.text)
        if payload.blobs:
            write_npz(beside, {b.name: array_of(b) for b in payload.blobs})
    except OSError as error:
        raise usage_error(f"{path} cannot be written: {error.strerror or error}") from None
    return path


def reference_to_keep(reference: str | None) -> str | None:
    """Return how a file names a payload's NumPy reference: one that comes with lhkit without its folder."""
    file, colon, function = (reference or "").rpartition(":")
    is_shipped = bool(colon) and Path(file).resolve() == _shipped_references().resolve()
    return f"{_SHIPPED}:{function}" if is_shipped else reference


def is_shipped_reference(kept: str | None) -> bool:
    """Return whether what a file names as a reference is none, or one that comes with lhkit."""
    return not kept or kept.rpartition(":")[0] == _SHIPPED


def reference_here(kept: str | None) -> str | None:
    """Return the reference that a file names; None where this machine has no such file."""
    file, _, function = (kept or "").rpartition(":")
    path = _shipped_references() if file == _SHIPPED else Path(file)
    return f"{path}:{function}" if file and path.is_file() else None


def _shipped_references() -> Path:
    return shipped_folder("data") / "references.py"
