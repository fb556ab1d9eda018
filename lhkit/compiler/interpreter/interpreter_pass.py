"""Schedules applied by the compiler's own passes, as ``mlir-opt`` applies them: a judge of what is exported."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lhkit.compiler.interpreter.application import parse_payload
from lhkit.compiler.interpreter.pass_checks import check_passes
from lhkit.compiler.ir.bindings import ir, new_context, passmanager
from lhkit.compiler.ir.diagnostics import from_structured, kind_of_application
from lhkit.compiler.ir.parsing import parse_module
from lhkit.compiler.ir.sources import Source, failure_in
from lhkit.model.errors import error_for, usage_error
from lhkit.model.pass_policy import is_plain_name


def apply_by_pass(
    payload: Source,
    schedules: Sequence[Source],
    entry: str,
    bind: Sequence[str],
    allowed_passes: Sequence[str] = (),
) -> str:
    """Return the text of a payload after ``transform-interpreter`` ran on it.

    Args:
        payload: The payload.
        schedules: Files with named sequences, as ``transform-preload-library`` reads them.
        entry: The sequence to apply.
        bind: What the entry's trailing arguments are bound to.
        allowed_passes: Passes that the schedules may run besides those of `lhkit.model.pass_policy`.

    Raises:
        ScheduleError: A pass fails, or is not allowed.
        UsageError: A name that cannot stand in the text of a pipeline.
    """
    symbol = entry.rpartition("::")[2]
    for name in (symbol, *bind):
        if not is_plain_name(name):
            raise usage_error(f"the name {name!r} cannot be an option of the pass transform-interpreter")
    with tempfile.TemporaryDirectory() as folder, new_context():
        files = [Path(folder) / f"{source.label}.mlir" for source in schedules]
        for file, source in zip(files, schedules, strict=True):
            file.write_bytes(source.content)
        for source in schedules:
            check_passes(parse_module(source), [source], allowed_passes)
        options = [f"entry-point={symbol}"]
        options += [f"debug-bind-trailing-args={','.join(bind)}"] if bind else []
        paths = ",".join(map(str, files))
        pipeline = (
            f"builtin.module(transform-preload-library{{transform-library-paths={paths}}},"
            f"transform-interpreter{{{' '.join(options)}}})"
        )
        module = parse_payload(payload)
        try:
            passmanager.PassManager.parse(pipeline).run(module.operation)
        except ir.MLIRError as error:
            diagnostics = from_structured(error)
            labelled = [dataclasses.replace(s, label=str(f)) for s, f in zip(schedules, files, strict=True)]
            kind = kind_of_application(diagnostics) or "definite"
            message = f"the pass transform-interpreter fails with {schedules[0].name} on {payload.name}"
            failure = failure_in((payload, *labelled), kind, message, diagnostics, stage="apply")
            raise error_for(failure) from None
        return str(module)
