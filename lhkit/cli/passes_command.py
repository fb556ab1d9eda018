"""``lhkit passes``: a pass pipeline, pass by pass, or the log of another compiler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from lhkit.cli.options import function_option, json_option, limit_options, load_scheduled, schedule_options
from lhkit.cli.terminal import check_single_stdout, say, write_text
from lhkit.model.errors import LhkitError, error_for, usage_error
from lhkit.model.pass_trace import PassTrace
from lhkit.worker.limits import Limits


@click.command("passes", epilog="Example: lhkit passes data/fc_relu.mlir 'func.func(canonicalize,cse)'")
@click.argument("payload", required=False)
@click.argument("pipeline", required=False)
@click.option(
    "--log", metavar="FILE", help="Read what mlir-opt or iree-compile printed before and after passes."
)
@json_option("the passes")
@click.option("--html", "html_file", metavar="FILE", help="Save a page that walks through them; - likewise.")
@click.option("--diff", type=int, metavar="PASS", help="Print what a pass did, by its number.")
@click.option(
    "--find", metavar="TEXT", help="Print the passes that add or remove a text, such as an op's name."
)
@click.option("--reproducer", metavar="FILE", help="Save the IR before the pass that failed; - likewise.")
@click.option("--schedule", metavar="FILE", help="Apply a schedule before.")
@function_option
@schedule_options
@limit_options
def command(
    payload: str | None,
    pipeline: str | None,
    log: str | None,
    json_file: str | None,
    html_file: str | None,
    diff: int | None,
    find: str | None,
    reproducer: str | None,
    **running: Any,
) -> None:
    """Run PIPELINE on PAYLOAD pass by pass, and report what each pass did.

    PIPELINE is text as for mlir-opt's --pass-pipeline, @FILE a file with it, `lower` lhkit's own lowering to
    LLVM, and `iree` or `iree:flow` what IREE's compiler does, up to that phase.

    With --log the passes of another compiler are read from what it printed with --mlir-print-ir-before-all,
    --mlir-print-ir-after-all and --mlir-disable-threading. Prints one row per pass that had an effect; with
    --json, --html, --diff, --find or --reproducer that is printed or saved instead.
    """
    text = "-" if diff is not None or find is not None else None
    check_single_stdout(json_file, html_file, reproducer, text)
    if (log is None) == (payload is None) or (payload is None) != (pipeline is None):
        raise usage_error("give a payload and a pipeline, or --log FILE", "Example: lhkit passes --log opt.log")
    try:
        made = _read(log) if log is not None else _run(str(payload), str(pipeline), **running)
    except LhkitError as error:
        made = PassTrace(str(log or payload), pipeline or "", (), failure=error.failure)
    _write_files(made, json_file, html_file)
    if made.failure is not None and not made.steps:
        raise error_for(made.failure)
    if reproducer is not None:
        write_text(reproducer, made.reproducer())
    _print(made, diff, find, is_saved=bool(json_file or html_file or reproducer))
    if made.failure is not None:
        raise error_for(made.failure)


def _read(log: str) -> PassTrace:
    from lhkit.pipelines.print_ir_log import load_passes

    return load_passes(Path(log))


def _run(
    payload: str,
    pipeline: str,
    *,
    schedule: str | None,
    function: str | None,
    limits: Limits,
    **scheduling: Any,
) -> PassTrace:
    from lhkit.load.loader import load_payload
    from lhkit.pipelines.pass_run import run_passes

    loaded = load_payload(Path(payload), limits=limits)
    allowed = scheduling["allow_passes"]
    if schedule is None and any(v for name, v in scheduling.items() if name != "allow_passes"):
        raise usage_error("the options of a schedule need --schedule FILE")
    applied = None if schedule is None else load_scheduled(schedule, limits=limits, **scheduling)
    text = Path(pipeline[1:]) if pipeline.startswith("@") else pipeline
    return run_passes(loaded, text, schedule=applied, function=function, allow_passes=allowed, limits=limits)


def _write_files(made: PassTrace, json_file: str | None, html_file: str | None) -> None:
    """Write the files that were asked for."""
    if json_file is not None:
        write_text(json_file, json.dumps(made.to_json(), separators=(",", ":")) + "\n")
    if html_file is not None:
        from lhkit.pipelines.pass_page import passes_page

        write_text(html_file, passes_page(made))


def _print(made: PassTrace, diff: int | None, find: str | None, *, is_saved: bool) -> None:
    from lhkit.pipelines.pass_views import passes_text, step_diff
    from lhkit.traces.diff.ir_html import ir_text

    if diff is not None:
        say(ir_text(step_diff(made, diff)), nl=False)
    elif find is not None:
        for found in made.search(find):
            s = found.step
            say(f"{s.index}  {s.name}  {s.scope}  {found.before} → {found.after}")
    elif not is_saved:
        say(passes_text(made))
