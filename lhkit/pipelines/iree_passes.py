"""IREE's pipeline on a payload, pass by pass: its compiler runs as a process with limits; its log is read."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import subprocess
import time
from pathlib import Path

import psutil

from lhkit.load.loader import load_schedule
from lhkit.load.weights import apply_to
from lhkit.model.errors import Failure, FailureKind, LhkitError, error_for, usage_error
from lhkit.model.file_io import read_bytes
from lhkit.model.pass_trace import PassTrace
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.pipelines.print_ir_log import read_log
from lhkit.worker.client import Worker
from lhkit.worker.folders import temporary_place
from lhkit.worker.limits import Limits, in_gib
from lhkit.worker.process_groups import end_group

IREE = "iree"  # In place of a pipeline; ``iree:flow`` ends with that phase
PHASES = (
    "input", "abi", "preprocessing", "global-optimization", "dispatch-creation", "flow", "stream",
    "executable-sources", "executable-targets", "hal", "vm", "end",
)  # fmt: skip
_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-opt-level=O3",
    "--iree-opt-data-tiling=true",
    "--mlir-print-ir-before-all",
    "--mlir-print-ir-after-all",
    "--mlir-disable-threading",
    "--mlir-elide-elementsattrs-if-larger=64",
)
_SPEC = "--iree-preprocessing-transform-spec-filename="
_SECONDS = 0.02
_ERROR = re.compile(rb"^(\S+?):(\d+):(\d+): error: (.*)$", re.MULTILINE)
_MOST_SAID = 2000
# Elementwise ops have names of another day there: they go as loops.
_GENERIC = """\
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %named = transform.structured.match ops{[
        "linalg.abs", "linalg.add", "linalg.ceil", "linalg.div", "linalg.div_unsigned", "linalg.elementwise",
        "linalg.erf", "linalg.exp", "linalg.floor", "linalg.log", "linalg.max", "linalg.min", "linalg.mul",
        "linalg.negf", "linalg.powf", "linalg.reciprocal", "linalg.round", "linalg.rsqrt", "linalg.select",
        "linalg.sqrt", "linalg.square", "linalg.sub", "linalg.tanh"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %loops = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""


def phase_of(pipeline: str) -> str | None:
    """Return the phase that a pipeline's text asks IREE for, None where it is no word for IREE.

    Raises:
        UsageError: IREE has no such phase.
    """
    word, _, phase = pipeline.strip().partition(":")
    if word != IREE:
        return None
    if phase and phase not in PHASES:
        raise usage_error(f"IREE has no phase {phase!r}", f"Its phases: {', '.join(PHASES)}.")
    return phase or PHASES[-1]


def run_iree(
    payload: Payload,
    pipeline: str,
    phase: str,
    schedule: Schedule | None,
    worker: Worker | None,
    limits: Limits,
) -> PassTrace:
    """Compile a payload with IREE up to a phase, and return its passes; see `lhkit.pipelines.pass_run`."""
    compiler = _compiler()
    text = _text_for_iree(payload, worker)
    with temporary_place("lhkit-iree-") as place:
        flags = [*_FLAGS, f"--compile-to={phase}"]
        if schedule is not None:
            # What the schedule may not run here, or does not apply, is refused before IREE sees it.
            apply_to(payload, schedule, worker=worker, limits=limits)
            (place / "spec.mlir").write_text(schedule.portable_text(), encoding="utf-8")
            flags.append(f"{_SPEC}{place / 'spec.mlir'}")
        (place / "payload.mlir").write_text(text, encoding="utf-8")
        command = [str(compiler), str(place / "payload.mlir"), *flags, "-o", str(place / "out")]
        failure = _run(command, place / "log", limits)
        log = read_bytes(place / "log")
        failure = failure or _said(log, place, payload)
    try:
        made = read_log(log, payload.source)
    except LhkitError:  # it had no passes to print
        raise error_for(failure or Failure("lowering", "IREE printed no passes")) from None
    return dataclasses.replace(made, pipeline=pipeline, failure=failure)


def _compiler() -> Path:
    found = importlib.util.find_spec("iree")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / "compiler" / "_mlir_libs" / "iree-compile"
        if path.is_file():
            return path
    raise usage_error("IREE's compiler is not installed", "Install it: pip install 'lhkit[iree]'.")


def _text_for_iree(payload: Payload, worker: Worker | None) -> str:
    """Return a payload as IREE's parser takes it, its large constants as arguments."""
    schedule = load_schedule(_GENERIC, name="<as loops>", worker=worker)
    return apply_to(payload.constants_to_arguments(append_untied=True), schedule, worker=worker).text


def _run(command: list[str], log: Path, limits: Limits) -> Failure | None:
    """Run a command with its errors in a file; return how it exceeded its limits or died."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
        )
        end = time.monotonic() + limits.seconds
        try:
            while True:
                try:
                    code = process.wait(_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    if (exceeded := _exceeded(process.pid, end, limits)) is not None:
                        kind, why = exceeded
                        return Failure(kind, f"IREE's compiler was stopped: {why}")
        finally:
            end_group(process)
    return Failure("crash", f"IREE's compiler died of signal {-code}") if code < 0 else None


def _exceeded(process: int, end: float, limits: Limits) -> tuple[FailureKind, str] | None:
    if limits.is_stopped:
        return "cancelled", "it is no longer wanted"
    if time.monotonic() > end:
        return "timeout", f"it took more than {limits.seconds:g} s"
    try:
        used = psutil.Process(process).memory_info().rss
    except psutil.Error:
        return None
    if used > limits.memory_bytes:
        return "memory", f"it took more than {in_gib(limits.memory_bytes)}"
    return None


def _said(log: bytes, place: Path, payload: Payload) -> Failure | None:
    """Return the first error that IREE printed, with the place in what it was given."""
    error = _ERROR.search(log)
    if error is None:
        return None
    file, line, column, message = (part.decode(errors="replace") for part in error.groups())
    where = "the schedule" if file.endswith("spec.mlir") else payload.source
    lines = log[error.start() : error.start() + _MOST_SAID].decode(errors="replace").splitlines()[1:3]
    shown = "\n".join(lines) if len(lines) > 1 and lines[1].strip() == "^" else ""
    advice = "Its MLIR is of another day: what was renamed since is unknown to it."
    at = f"line {line}, column {column} as given to it"
    return Failure(
        "lowering",
        f"IREE's compiler refuses {where}: {message} ({at})\n{shown}".rstrip(),
        advice=advice if re.search(r"unknown|unregistered|expected|custom op", message) else None,
        output=log[error.start() :][:_MOST_SAID].decode(errors="replace").replace(str(place), ""),
    )
