"""Options that several subcommands share: schedules with knobs and bindings, and limits."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.session.loading import load_schedule
from lhkit.worker.limits import DEFAULT_SECONDS, Limits

F = TypeVar("F", bound=Callable[..., Any])


def schedule_options(function: F) -> F:
    """Add ``--entry``, ``--set``, ``--bind`` and ``--library``; see `scheduled`."""
    for option in (
        click.option(
            "--library", "libraries", multiple=True, metavar="FILE", help="Sequences to include from."
        ),
        click.option(
            "--bind",
            multiple=True,
            metavar="OPNAME",
            help="Bind the entry's next argument after the root to all payload ops of this name.",
        ),
        click.option("--set", "settings", multiple=True, metavar="KNOB=VALUE", help="Set a knob."),
        click.option("--entry", metavar="NAME", help="Named sequence to apply (default: @__transform_main)."),
    ):
        function = option(function)
    return function


def limit_options(function: F) -> F:
    """Add ``--timeout`` and ``--memory``; the command gets them as ``limits``."""

    @click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=DEFAULT_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="Time limit of a request to the compiler or a run of a kernel.",
    )
    @click.option(
        "--memory",
        type=click.IntRange(min=1 << 20),
        metavar="BYTES",
        help="Memory limit of the worker (default: a share of the machine or container).",
    )
    @functools.wraps(function)
    def with_limits(*args: Any, timeout: float, memory: int | None, **options: Any) -> Any:
        return function(*args, limits=Limits(timeout, memory or 0), **options)

    return with_limits  # type: ignore[return-value]


def load_scheduled(
    path: str | os.PathLike[str],
    *,
    entry: str | None,
    settings: tuple[str, ...],
    bind: tuple[str, ...],
    libraries: tuple[str, ...],
    limits: Limits,
) -> Schedule:
    """Return the schedule that a path and the shared options describe."""
    schedule = load_schedule(path, entry=entry, bind=bind, libraries=libraries, limits=limits)
    return schedule.with_knobs(_knob_values(schedule, settings)) if settings else schedule


def _knob_values(schedule: Schedule, settings: tuple[str, ...]) -> dict[str, KnobValue]:
    known = {knob.name: knob for knob in schedule.knobs}
    values: dict[str, KnobValue] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise usage_error(f"--set {setting}: expected KNOB=VALUE")
        values[name] = known[name].parse(text) if name in known else text
    return values
