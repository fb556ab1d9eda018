"""``lhkit run``: compile a payload, scheduled or not, and run it once."""

from __future__ import annotations

import functools
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from lhkit.cli.options import (
    NEED_A_SCHEDULE,
    SEED,
    function_option,
    json_option,
    limit_options,
    load_scheduled,
    microkernel_option,
    reference_option,
    schedule_options,
)
from lhkit.cli.terminal import check_single_stdout, failures_as_json, say, write_json
from lhkit.draw.tables import format_ns
from lhkit.kernels.kernel import Kernel, compile_kernel
from lhkit.kernels.verification import as_tuple, verify
from lhkit.load.loader import load_payload
from lhkit.load.random_inputs import DEFAULT_EXTENT, default_arguments
from lhkit.memory.kernel_memory import footprint_text
from lhkit.model.codec import to_json
from lhkit.model.errors import Failure, LhkitError, usage_error
from lhkit.model.file_io import open_input, write_file
from lhkit.model.measurement import Verification
from lhkit.model.signature import ArrayType
from lhkit.worker.limits import Limits
from lhkit.worker.shared_arrays import dtype_named, is_narrow

Array = NDArray[Any]
SCHEMA = "lhkit.run/1"


@dataclass(frozen=True, slots=True)
class _Run:
    """A finished run: kernel, arguments after the call, which of them changed, results, verification."""

    kernel: Kernel
    arguments: list[Array]
    written: tuple[int, ...]
    results: tuple[Array, ...]
    verification: Verification | None


@click.command("run", epilog="Example: lhkit run data/matmul.mlir schedules/matmul_tile.mlir --set tile_m=32")
@click.argument("payload")
@click.argument("schedule", required=False)
@function_option
@reference_option
@click.option(
    "--arg", "args", multiple=True, metavar="FILE.npy", help="The next argument; others are generated."
)
@click.option(
    "--size",
    type=click.IntRange(min=0),
    default=DEFAULT_EXTENT,
    metavar="N",
    help="Extent of every dynamic dimension of missing arguments.",
)
@click.option("--seed", type=SEED, default=0, help="Seed of missing arguments.")
@click.option("--out", metavar="FILE.npz", help="Save results (result0, …) and written arguments (arg0, …).")
@json_option("the outcome")
@click.option(
    "--footprint",
    "with_footprint",
    is_flag=True,
    help="Also print its memory: predicted, and counted in a second run.",
)
@schedule_options
@microkernel_option
@limit_options
def command(
    payload: str,
    schedule: str | None,
    out: str | None,
    json_file: str | None,
    with_footprint: bool,
    **options: Any,
) -> None:
    """Compile PAYLOAD for this CPU, with SCHEDULE applied if given, and run it once.

    Arguments that no --arg gives are generated from the signature and the seed. Where the payload has a
    NumPy reference, the results are checked against it.
    """
    check_single_stdout(out, json_file)
    with failures_as_json(json_file, functools.partial(_failed, payload, schedule)):
        run = _run(payload, schedule, **options)
        if (verdict := run.verification) is not None and not verdict.ok:
            message = f"the result differs from {verdict.against}: {verdict.difference}"
            error, tolerated = f"{verdict.max_abs_error:.3g}", f"{verdict.tolerance:.3g}"
            advice = f"The largest error is {error}, {tolerated} is tolerated."
            raise LhkitError(Failure(kind="wrong-result", message=message, advice=advice))
    if run.kernel.output:
        say(run.kernel.output.rstrip(), err=True)
    if run.kernel.printed:
        say(run.kernel.printed.rstrip(), err=True)
    if out is not None:
        _save(out, run)
    write_json(json_file, _succeeded(run))
    if "-" not in (json_file, out):
        say(_report(run))
        if with_footprint:
            say(footprint_text(run.kernel.footprint(*run.arguments)))


def _run(
    payload_path: str,
    schedule_path: str | None,
    *,
    function: str | None,
    reference: str | None,
    args: tuple[str, ...],
    size: int,
    seed: int,
    microkernels: dict[str, str],
    limits: Limits,
    **scheduling: Any,
) -> _Run:
    payload = load_payload(Path(payload_path), reference=reference, limits=limits)
    chosen = payload.function(function)
    if len(args) > len(chosen.arguments):
        raise usage_error(f"{len(args)} --arg given, {len(chosen.arguments)} taken by {chosen.describe()}")
    given = [_load_array(file, type_) for file, type_ in zip(args, chosen.arguments, strict=False)]
    schedule = None
    if schedule_path is not None:
        schedule = load_scheduled(schedule_path, limits=limits, **scheduling)
    elif any(scheduling.values()) or microkernels:
        raise usage_error(NEED_A_SCHEDULE, "lhkit run PAYLOAD SCHEDULE …")
    kernel = compile_kernel(payload, schedule, function=chosen.name, microkernels=microkernels, limits=limits)
    # Generated after compilation, which checks their types.
    arguments = [*given, *default_arguments(payload, chosen, seed, extent=size)[len(given) :]]
    is_memref = [t.kind == "memref" for t in chosen.arguments]
    inputs = [a.copy() if m or payload.reference else a for a, m in zip(arguments, is_memref, strict=True)]
    results = as_tuple(kernel(*arguments))
    written = tuple(i for i, m in enumerate(is_memref) if m and _differ(arguments[i], inputs[i]))
    verification = verify(kernel, inputs) if payload.reference else None
    return _Run(kernel, arguments, written, results, verification)


def _differ(one: Array, other: Array) -> bool:
    first, second = (np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in (one, other))
    return not np.array_equal(first, second)


def _load_array(file: str, type_: ArrayType) -> Array:
    try:
        with open_input(file) as opened:
            array = np.load(opened, allow_pickle=False)
    except FileNotFoundError:
        raise usage_error(f"no such file: {file}") from None
    except OSError as error:
        raise usage_error(f"{file} cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, SyntaxError, TokenError) as error:  # its head is a Python literal
        raise usage_error(f"{file} is not a .npy file: {error}") from None
    if not isinstance(array, np.ndarray):
        raise usage_error(f"{file} holds several arrays; --arg takes a .npy file with one")
    # What is narrower than NumPy's own types travels in files as float32.
    if is_narrow(type_.dtype) and array.dtype == np.float32:
        return array.astype(dtype_named(type_.dtype))
    return array


def _save(path: str, run: _Run) -> None:
    types = run.kernel.function.arguments
    named = {f"result{i}": r for i, r in enumerate(run.results)}
    named |= {f"arg{i}": a for i, a in enumerate(run.arguments) if types[i].kind == "memref"}
    dtypes = {name: np.asarray(a).dtype.name for name, a in named.items()}
    plain = {n: np.asarray(a).astype(np.float32) if is_narrow(dtypes[n]) else a for n, a in named.items()}
    if any(map(is_narrow, dtypes.values())):
        plain["dtypes"] = np.array([f"{n}={d}" for n, d in dtypes.items()])

    buffer = io.BytesIO()
    np.savez(buffer, **plain)  # type: ignore[arg-type, unused-ignore]
    if path == "-":
        sys.stdout.buffer.write(buffer.getvalue())
    else:
        write_file(path, buffer.getvalue())


def _succeeded(run: _Run) -> dict[str, Any]:
    kernel = run.kernel
    schedule: dict[str, Any] | None = None
    if (given := kernel.schedule) is not None:
        schedule = {name: getattr(given, name) for name in ("source", "sha256", "entry")}
        schedule["knobs"] = kernel.schedule_values
    return {
        "schema": SCHEMA,
        "outcome": {"status": "ok", "kind": None, "message": None},
        "payload": {"source": kernel.payload.source, "sha256": kernel.payload.sha256},
        "schedule": schedule,
        "function": kernel.function.describe(),
        "compile_ns": kernel.compile_ns,
        "results": [_type_of(r) for r in run.results],
        "written": [{"argument": i, **_type_of(run.arguments[i])} for i in run.written],
        "verify": None if run.verification is None else to_json(run.verification),
    }


def _type_of(array: Any) -> dict[str, Any]:
    return {"shape": list(np.shape(array)), "dtype": np.asarray(array).dtype.name}


def _failed(payload: str, schedule: str | None, failure: Failure) -> dict[str, Any]:
    status = failure.reaction.outcome
    return {
        "schema": SCHEMA,
        "outcome": {"status": status, "kind": failure.kind, "message": failure.message},
        "payload": {"source": payload},
        "schedule": None if schedule is None else {"source": schedule},
        "failure": to_json(failure),
    }


def _report(run: _Run) -> str:
    kernel = run.kernel
    lines = [f"{kernel.function.describe()}", f"schedule: {kernel.name}"]
    if kernel.schedule_values:
        lines.append("knobs:    " + ", ".join(f"{n}={v}" for n, v in kernel.schedule_values.items()))
    lines.append(f"compiled: {format_ns(kernel.compile_ns)}")
    lines += [f"result{i}:  {_describe(r)}" for i, r in enumerate(run.results)]
    lines += [f"arg{i}:     {_describe(run.arguments[i])} (written)" for i in run.written]
    if run.verification is not None:
        error, tolerance = run.verification.max_abs_error, run.verification.tolerance
        lines.append(
            f"check:    right, against {run.verification.against}"
            f" (max error {error:.2e}, tolerated {tolerance:.2e})"
        )
    elif kernel.schedule is not None:
        lines.append(
            "check:    none: there is no NumPy reference; lhkit.verify compares with the payload unscheduled"
        )
    return "\n".join(lines)


def _describe(result: Any) -> str:
    array = np.asarray(result)
    shape = "x".join(map(str, (*array.shape, array.dtype.name)))
    if array.size == 0:
        return f"{shape}, empty"
    name = array.dtype.name
    wide = array.astype(np.float64) if is_narrow(name) or name in ("float16", "bool") else array
    if array.ndim == 0:
        return f"{shape} = {array}"
    with np.errstate(invalid="ignore", over="ignore"):  # uninitialized memory may hold signalling NaNs
        return f"{shape}, min {wide.min():.6g}, mean {wide.mean():.6g}, max {wide.max():.6g}"
