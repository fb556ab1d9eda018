"""``lhkit doctor``: the environment, and the commands that install what is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from lhkit.cli.options import folder_option, json_option
from lhkit.cli.terminal import say, write_json
from lhkit.draw.tables import Table, format_bytes, table_text
from lhkit.kernels.kernel import compile_kernel
from lhkit.kernels.verification import verify
from lhkit.lessons.lesson_list import shipped_notebooks
from lhkit.lessons.publishing import execute_notebook
from lhkit.load.loader import load_schedule
from lhkit.load.target_choice import VARIABLE as TARGET_VARIABLE
from lhkit.load.target_choice import cpu_name, find_target, vector_extensions
from lhkit.model.bindings_host import NEWEST_TRIED, newer_than_tried
from lhkit.model.errors import LhkitError
from lhkit.model.knob import THREADS_KNOB
from lhkit.model.printable import counted
from lhkit.model.target import available_cores
from lhkit.payloads import fc_relu
from lhkit.traces.opt.opt_runs import VARIABLE, opt_host
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.c_compiler import find_compiler
from lhkit.worker.client import shared_worker
from lhkit.worker.folders import homeless_note, state_folder
from lhkit.worker.limits import default_memory_bytes
from lhkit.worker.requests import Describe, TryDefences
from lhkit.worker.sandbox import SANDBOX_VARIABLE

_SCHEDULE = "fc_relu_tile_fuse_vectorize.mlir"
_TRACED, _COMPILED, _WRITTEN = "a schedule is traced", "a kernel is compiled, and right", "files can be written"
_RUN, _COPIED = "a cell of a notebook runs", "the notebooks can be copied"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: topic, observation, whether it is good (None: optional), and the command that fixes it."""

    what: str
    found: str
    ok: bool | None = True
    mend: str = ""


def _tried(what: str, attempt: Callable[[], Finding], mend: str = "") -> Finding:
    try:
        return attempt()
    except LhkitError as error:
        return Finding(what, error.failure.message, False, mend or error.failure.advice or "")
    except OSError as error:
        why = f"{error.filename}: {error.strerror}"
        return Finding(what, why, False, "set LHKIT_STATE_DIR to another folder")


def _lesson_findings(folder: Path) -> list[Finding]:
    """Try what a lesson needs: a trace, a correct kernel, JupyterLab, a cell that runs, writable folders."""
    lessons = len(shipped_notebooks())
    return [
        _tried(_TRACED, _trace),
        _tried(_COMPILED, _verify),
        _tried(_WRITTEN, _write),
        _found("JupyterLab", "is there", _is_there("jupyterlab"), "pip install jupyterlab"),
        _tried(_RUN, _run_cell),
        _found("lessons", f"{lessons} notebooks", lessons > 0, "install lhkit again"),
        _copied_to(folder.absolute()),
    ]


def _found(what: str, found: str, ok: bool, mend: str) -> Finding:
    return Finding(what, found) if ok else Finding(what, "not found", False, mend)


def _trace() -> Finding:
    trace = trace_schedule(fc_relu(64, 64, 64), load_schedule(_SCHEDULE))
    status = trace.outcome.status
    return Finding(_TRACED, f"{counted(len(trace.step_records), 'step')}, {status}", status == "ok")


def _verify() -> Finding:
    verdict = verify(compile_kernel(fc_relu(64, 64, 64), load_schedule(_SCHEDULE)))
    return Finding(_COMPILED, verdict.difference or f"max error {verdict.max_abs_error:.1e}", verdict.ok)


def _write() -> Finding:
    folder = state_folder()
    with tempfile.NamedTemporaryFile(dir=folder):
        return Finding(_WRITTEN, homeless_note() or str(folder))


def _run_cell() -> Finding:
    import nbformat

    cell = nbformat.v4.new_code_cell("import lhkit")  # type: ignore[no-untyped-call]
    notebook = nbformat.v4.new_notebook(cells=[cell])  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        execute_notebook(notebook, Path("a notebook"), Path(folder))
    return Finding(_RUN, cell.source)


def _copied_to(folder: Path) -> Finding:
    """Look whether a folder, or the one that it would be made in, can be written."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return Finding(_COPIED, str(folder))
    return Finding(_COPIED, f"{there} cannot be written", False, "lhkit lab --folder FOLDER")


SCHEMA = "lhkit.doctor/1"
# Extra → (module to look for, what it is for).
_EXTRAS = {
    "torch": ("torch", "models (lhkit.from_torch), and PyTorch beside our own kernels (lhkit bench --suite)"),
    "iree": ("iree.compiler", "IREE beside our own kernels (lhkit bench --suite)"),
    "optuna": ("optuna", "sweeps that learn, and files for its dashboard"),
    "predict": ("sklearn", "sweeps by a cost model (strategy predicted)"),
    "dask": ("distributed", "sweeps on several machines"),
    "arm": ("llvmlite", "the machine code of kernels for ARM, kernel.hot_loops(target='neon')"),
}
_CAPABILITIES = {
    "jit": "kernels can be compiled and run",
    "loads_from_file": "places in the IR name files",
    "passes": "the default lowering is there",
    "tune": "schedules can have knobs",
    "python_ops": "transform ops can be written in Python",
    "effects_takes_list": "effects of such ops are appended to a list (else returned)",
    "named_elementwise": "elementwise ops have names, linalg.add; else files are read with linalg.elementwise",
}
_NEEDED = ("jit", "loads_from_file", "passes", "tune")


@click.command("doctor", epilog="Example: lhkit doctor --json doctor.json")
@json_option("the findings")
@click.option(
    "--ready", "is_tried", is_flag=True, help="Also try what a lesson needs; the last line is then: ready."
)
@folder_option("With --ready: where lhkit lab will have its copy of the notebooks.")
def command(json_file: str | None, is_tried: bool, folder: Path) -> None:
    """Report the environment: bindings and their capabilities, CPU, limits, optional packages.

    Exits with 1 if something that lhkit needs is missing. With --ready, a schedule is applied, compiled and
    checked, a cell is run as JupyterLab runs it, and files are written where they will be; the last line is
    "ready", or names what is missing.
    """
    lines = [*_machine(), *_bindings(), *_sandbox(), _tried("compiler binary", _binary), *_optional()]
    if is_tried:
        lines += _lesson_findings(folder)
    findings = [{"what": x.what, "found": x.found, "ok": x.ok, "mend": x.mend or None} for x in lines]
    write_json(json_file, {"schema": SCHEMA, "findings": findings})
    if json_file != "-":
        marks = {True: "ok", False: "MISSING", None: "–"}
        rows = tuple((x.what, marks[x.ok], x.found, x.mend) for x in lines)
        say(_left_aligned(Table(("", "", "found", "to add it"), rows)))
    if missing := [x for x in lines if x.ok is False]:
        if is_tried and json_file != "-":
            say(f"not ready: {'; '.join(f'{x.what.strip()}: {x.mend or x.found}' for x in missing)}")
        raise click.exceptions.Exit(1)
    if is_tried and json_file != "-":
        say("ready")


def _left_aligned(table: Table) -> str:
    columns = zip(table.header, *table.rows, strict=True)
    padded = zip(*([c.ljust(max(map(len, column))) for c in column] for column in columns), strict=True)
    header, *rows = padded
    return table_text(Table(header, tuple(rows)))


def _machine() -> list[Finding]:
    extensions = " ".join(vector_extensions())
    return [
        Finding("lhkit", f"{importlib.metadata.version('lhkit')} on Python {platform.python_version()}"),
        Finding("CPU", f"{cpu_name()} ({platform.machine()})"),
        Finding("vector extensions", extensions or "not reported by this system", True if extensions else None),
        _tried("target", _target),
        Finding("cores", f"{available_cores()} available"),
        Finding("memory limit of a worker", f"{default_memory_bytes() / (1 << 30):.1f} GiB"),
    ]


def _target() -> Finding:
    target = find_target()
    vectors = f"{target.vector_registers} vector registers of {target.vector_bits} bits"
    caches = f"L1 {format_bytes(target.l1_bytes)}, L2 {format_bytes(target.l2_bytes)}"
    said = f", which {TARGET_VARIABLE} names" if os.environ.get(TARGET_VARIABLE) else ""
    return Finding(
        "target", f"{target.name}{said}: {vectors}, {caches}; defaults of knobs and machine code follow it"
    )


def _bindings() -> list[Finding]:
    try:
        found = shared_worker().ask(Describe())
    except LhkitError as error:
        return [Finding("MLIR bindings", error.failure.message, False, "pip install torch-mlir")]
    lines = [Finding("MLIR bindings", f"{found.host} {found.version}")]
    if newer_than_tried(found.version):
        said = f"newer than {NEWEST_TRIED}, the newest that lhkit was tried with: results may differ"
        lines.append(Finding("  version", said, None, f"pip install torch-mlir=={NEWEST_TRIED}"))
    for name, meaning in _CAPABILITIES.items():
        works = bool(found.capabilities[name])
        ok = works or (False if name in _NEEDED else None)
        lines.append(Finding(f"  {name}", meaning if works else f"no: {meaning}", ok))
    if found.openmp is None:
        return [*lines, Finding("threads of a kernel", "1", None, "pip install 'lhkit[openmp]'")]
    threads = f"up to {available_cores()}, by the knob {THREADS_KNOB} ({found.openmp})"
    return [*lines, Finding("threads of a kernel", threads)]


def _sandbox() -> list[Finding]:
    try:
        answer = shared_worker().ask(TryDefences())
    except LhkitError as error:
        return [Finding("sandbox of the worker", error.failure.message, False, error.failure.advice or "")]
    mend = f"unset {SANDBOX_VARIABLE}" if os.environ.get(SANDBOX_VARIABLE) == "off" else ""
    lines = []
    for defence in answer.value:
        found = "refused" if defence.holds else "warning: not refused"
        ok, command = (True, "") if defence.holds else (None, mend)
        lines.append(Finding(f"sandbox: {defence.what}", f"{found} ({defence.how})", ok, command))
    return lines


def _binary() -> Finding:
    host = opt_host()
    if host is None:
        return Finding("compiler binary", f"none; {VARIABLE}=PROGRAM traces with an mlir-opt of your own", None)
    return Finding("compiler binary", f"{host.name} {host.version}: lhkit trace uses it")


def _c_compiler() -> Finding:
    what = "compiler for C"
    try:
        return Finding(what, f"{find_compiler()}: for microkernels in C")
    except LhkitError as error:
        needed = "only microkernels in C need one"
        return Finding(what, f"{error.failure.message}; {needed}", None, "apt install gcc, or set CC")


def _optional() -> list[Finding]:
    findings = [_c_compiler()]
    for extra, (module, purpose) in _EXTRAS.items():
        ok, command = (True, "") if _is_there(module) else (None, f"pip install 'lhkit[{extra}]'")
        findings.append(Finding(f"extra {extra}", purpose, ok, command))
    return findings


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
