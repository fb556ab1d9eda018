"""``lhkit check``: uses of invalidated handles, found without a payload."""

from __future__ import annotations

import functools
from typing import Any

import click

from lhkit.checks.schedule_check import check_lines, check_schedule
from lhkit.cli.options import json_option, limit_options, load_scheduled, schedule_options
from lhkit.cli.terminal import failures_as_json, say_line, write_json
from lhkit.model.check_report import check_to_json, unchecked_to_json
from lhkit.worker.limits import Limits


@click.command("check", epilog="Example: lhkit check schedules/fc_relu_tile_fuse.mlir")
@click.argument("schedule")
@click.option("--strict", is_flag=True, help="Exit with 1 on warnings too.")
@json_option("the findings")
@schedule_options
@limit_options
def command(
    schedule: str, strict: bool, json_file: str | None, entry: str | None, limits: Limits, **scheduling: Any
) -> int:
    """Look in SCHEDULE for uses of handles that are invalidated, without a payload.

    An error is a use that fails for every payload for which no handle is empty; a warning one that may fail. A
    step that runs a compiler pass which is not allowed, that enters a sequence which nothing defines, or that
    would end the compiler (a division by an attribute that is 0, and the like), is an error too. Without
    --entry all named sequences are checked, those that the entry does not reach by themselves. The exit code is
    1 if there is an error, or with --strict a warning.
    """
    with failures_as_json(json_file, functools.partial(unchecked_to_json, schedule)):
        loaded = load_scheduled(schedule, entry=entry, any_entry=True, limits=limits, **scheduling)
        report = check_schedule(loaded, only_entry=entry is not None, limits=limits)
    write_json(json_file, check_to_json(report))
    for line in check_lines(report):
        say_line(line, err=json_file == "-")
    return 1 if report.errors or report.refused or report.fatal or (strict and report.warnings) else 0
