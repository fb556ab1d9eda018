"""``lhkit trace``: apply a schedule step by step and report every handle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from lhkit.cli.options import json_option, limit_options, load_scheduled, schedule_options
from lhkit.cli.terminal import check_single_stdout, say, say_line, write_text
from lhkit.load.catalogue_cache import known_help
from lhkit.load.loader import load_payload
from lhkit.model.errors import Failure, LhkitError, ScheduleError, error_for, usage_error
from lhkit.model.explanation import Repair
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_json import trace_json_text
from lhkit.model.trace_record import Outcome, ScheduleRecord, SourceRecord, Toolchain, Trace
from lhkit.repairs.repair_trials import find_repairs, find_text_repairs
from lhkit.show.trace_view import detail_panes, trace_page
from lhkit.traces.diff.ir_html import ir_text
from lhkit.traces.diff.line_diff import IrDiff
from lhkit.traces.diff.op_diff import ir_diff
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.traces.opt.opt_runs import VARIABLE, opt_host
from lhkit.traces.opt.opt_trace import load_for_opt
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.traces.report.trace_text import trace_lines
from lhkit.traces.warnings.warning_list import WARNING_KINDS
from lhkit.worker.limits import Limits

_MOST_REPAIRS = 2
# Time limit of the search for repairs; those found until then are shown.
_SECONDS = 5.0
# Options that a compiler binary has no use for, and their parameters.
_BINDINGS_ONLY = {"set": "settings", "ops": "ops", "target": "target"}


def _with_repairs(failure: Failure, repairs: Sequence[Repair]) -> Failure:
    """Replace the advice of a failure by the repairs that were tried and help."""
    if not repairs:
        return failure
    lines = ["Repairs that were tried on a copy of the schedule:"]
    for number, repair in enumerate(repairs, 1):
        first, *diff = repair.describe().splitlines()
        lines += [f"{number}. {first}", *(f"   {line}".rstrip() for line in diff)]
    return dataclasses.replace(failure, advice="\n".join(lines))


@click.command("trace", epilog="Example: lhkit trace data/fc_relu.mlir schedules/fc_relu_handles.mlir")
@click.argument("payload")
@click.argument("schedule")
@json_option("the trace")
@click.option("--html", "html_file", metavar="FILE", help="Save a page that steps through it; - likewise.")
@click.option(
    "--markdown", "markdown_file", metavar="FILE", help="Save a report for an issue thread; - likewise."
)
@click.option(
    "--diff", "diff", metavar="STEP", help="Print what a step did to the payload, op by op; or `all`."
)
@click.option(
    "--reproducer", metavar="DIR", help="Save a folder that reproduces it: texts, commands, versions."
)
@click.option(
    "--why-not-fused", "two_ops", nargs=2, metavar="PRODUCER CONSUMER", help="Print why two ops are not fused."
)
@click.option("--explorer", is_flag=True, help="Print a link that opens it in Compiler Explorer.")
@click.option(
    "--no-warning",
    "no_warnings",
    multiple=True,
    type=click.Choice(sorted(WARNING_KINDS)),
    metavar="KIND",
    help="Leave out warnings of this kind.",
)
@click.option("--check-knobs", is_flag=True, help="Also look for knobs without effect (applies every option).")
@click.option("--no-repairs", is_flag=True, help="Do not look for repairs of a schedule that fails.")
@schedule_options
@limit_options
def command(
    payload: str,
    schedule: str,
    json_file: str | None,
    html_file: str | None,
    markdown_file: str | None,
    diff: str | None,
    reproducer: str | None,
    two_ops: tuple[str, str] | None,
    explorer: bool,
    no_warnings: tuple[str, ...],
    check_knobs: bool,
    no_repairs: bool,
    limits: Limits,
    **scheduling: Any,
) -> None:
    """Apply SCHEDULE to PAYLOAD step by step and record what each handle is.

    Prints one row per step, every invalidated handle with its cause, and the final handles; with --json,
    --html, --markdown, --diff, --reproducer or --explorer the trace takes that form instead. A schedule that
    fails is followed by repairs that were tried on a copy of it, and so is the answer of --why-not-fused. Its
    ops are named as linalg.matmul, linalg.generic#1 (of several, from 0), 12 (a line of the payload), %sum (a
    handle, or a value of the payload), or {tag} (an attribute that one op alone has).
    """
    repairs = not no_repairs and opt_host() is None
    found: tuple[Repair, ...] = ()

    def write_page(path: str, trace: Trace) -> None:
        write_text(path, trace_page(trace, known_help(), detail_panes(trace), repairs=found))

    writers = ((json_file, _write), (html_file, write_page))
    check_single_stdout(json_file, html_file, markdown_file, "-" if explorer else None, "-" if diff else None)
    try:
        loaded, scheduled = _loaded(payload, schedule, limits, repairs, **scheduling)
        trace = trace_schedule(
            loaded, scheduled, no_warnings=no_warnings, check_knobs=check_knobs, limits=limits
        )
    except LhkitError as error:
        for file, write in writers:
            if file is not None:
                write(file, _not_traced(payload, schedule, error.failure))
        raise
    if two_ops or not (json_file or html_file or markdown_file or diff or reproducer or explorer):
        _print(trace, two_ops, _MOST_REPAIRS if repairs else 0)
    failure = failure_of(trace)
    if failure is not None and repairs:
        found = tuple(find_repairs(loaded, scheduled, trace, limit=_MOST_REPAIRS, seconds=_SECONDS))
    for file, write in writers:
        if file is not None:
            write(file, trace)
    if markdown_file is not None:
        write_text(markdown_file, trace.to_markdown())
    if diff is not None:
        say(ir_text(_diff(trace, diff)), nl=False)
    if reproducer is not None:
        say(f"saved {trace.save_reproducer(reproducer)}", err=True)
    if explorer:
        say(trace.compiler_explorer_url())
    if failure is not None:
        raise error_for(_with_repairs(failure, found))


def _print(trace: Trace, two_ops: tuple[str, str] | None, limit: int) -> None:
    if two_ops is not None:
        say(trace.why_not_fused(*two_ops, limit=limit))
        return
    for line in trace_lines(trace):
        say_line(line)


def _diff(trace: Trace, step: str) -> IrDiff:
    if step == "all":
        return ir_diff(trace, len(trace.step_records) - 1, against=-1)
    try:
        return ir_diff(trace, int(step))
    except ValueError:
        raise usage_error(f"--diff {step[:40]} is not a step", "Give the number of a step, or `all`.") from None


def _loaded(
    payload: str, schedule: str, limits: Limits, repairs: bool, **scheduling: Any
) -> tuple[Payload, Schedule]:
    """Load both; an error of the schedule lists the repairs with which it passes the payload."""
    if opt_host() is None:
        loaded = load_payload(Path(payload), limits=limits)
        try:
            return loaded, load_scheduled(schedule, limits=limits, **scheduling)
        except ScheduleError as error:
            if not repairs:
                raise
            loading = {name: scheduling[name] for name in ("entry", "bind", "libraries")}
            found = find_text_repairs(loaded, error, **loading, limit=_MOST_REPAIRS, seconds=_SECONDS)
            raise error_for(_with_repairs(error.failure, found)) from None
    refused = {f"--{option}": scheduling.pop(name) for option, name in _BINDINGS_ONLY.items()}
    if asked := [option for option, given in refused.items() if given]:
        raise usage_error(
            f"{asked[0]} needs the bindings; {VARIABLE} names a compiler binary",
            f"Unset {VARIABLE}." if "--ops" in asked else "Write the values into the schedule.",
        )
    return load_for_opt(Path(payload), Path(schedule), **scheduling)


def _write(path: str, trace: Trace) -> None:
    # Without indentation: snapshots make it long.
    write_text(path, trace_json_text(trace))


def _not_traced(payload: str, schedule: str, failure: Failure) -> Trace:
    return Trace(
        payload=SourceRecord(payload, ""),
        schedule=ScheduleRecord(schedule, "", ""),
        toolchain=Toolchain("", "", ""),
        outcome=Outcome(failure.reaction.outcome, None, failure.kind, failure.describe()),
        handle_records=(),
        step_records=(),
        elided=(),
        op_records=(),
        snapshots=(),
    )
