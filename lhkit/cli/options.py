"""Options that several subcommands share: schedules, microkernels and limits."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

import lhkit
from lhkit.cli.positive_number import POSITIVE_NUMBER
from lhkit.load.loader import load_schedule
from lhkit.load.target_choice import CHOICES, VARIABLE
from lhkit.load.user_code import load_own_ops
from lhkit.model.errors import usage_error
from lhkit.model.knob import parse_settings
from lhkit.model.schedule import Schedule
from lhkit.worker.client import Worker
from lhkit.worker.folders import home_folder
from lhkit.worker.limits import DEFAULT_SECONDS, Limits

NEED_A_SCHEDULE = (
    "--entry, --set, --target, --bind, --library, --ops, --allow-pass and --microkernel need a schedule"
)
# What `schedule_options` adds.
SCHEDULING = ("entry", "settings", "target", "bind", "libraries", "ops", "allow_passes")

F = TypeVar("F", bound=Callable[..., Any])


_NOTEBOOKS = "lhkit-notebooks"
SEED = click.IntRange(min=0)


function_option = click.option(
    "--function", metavar="NAME", help="Function to run; needed where the payload has several."
)


def _from_any_folder(_context: object, _option: object, given: str | None) -> str | None:
    """Return a reference whose file is found from the worker's folder too."""
    file, colon, name = (given or "").rpartition(":")
    return f"{Path(file).absolute()}{colon}{name}" if file else given


reference_option = click.option(
    "--reference",
    callback=_from_any_folder,
    metavar="FILE.py:NAME",
    help="NumPy function that computes the same, to check results by and to time beside; the file is run.",
)


def folder_option(message: str) -> Callable[[F], F]:
    """Return the option ``--folder``, of the private copy of the notebooks."""
    return click.option(
        "--folder",
        type=click.Path(path_type=Path),
        default=lambda: home_folder() / _NOTEBOOKS,
        show_default=f"~/{_NOTEBOOKS}",
        help=message,
    )


def json_option(what: str) -> Callable[[F], F]:
    """Return the option ``--json``; the command gets it as ``json_file``."""
    message = f"Save {what} as JSON; - is standard output."
    return click.option("--json", "json_file", metavar="FILE", help=message)


def schedule_options(function: F) -> F:
    """Add the options of a schedule, the names in ``SCHEDULING``; see `load_scheduled`."""
    for option in (
        click.option(
            "--ops",
            multiple=True,
            metavar="FILE.py",
            help="Load your own transform ops from this file (lhkit.own_ops).",
        ),
        click.option(
            "--library",
            "libraries",
            type=Path,
            multiple=True,
            metavar="FILE",
            help="File with sequences to include.",
        ),
        click.option(
            "--bind",
            multiple=True,
            metavar="OPNAME",
            help="Bind the entry's next argument after the root to all payload ops of this name "
            "(^OPNAME: to their results; #8;16: to integers).",
        ),
        click.option(
            "--target",
            type=click.Choice(CHOICES),
            help="Instruction set for the defaults of knobs and, if this CPU has it, for kernels "
            f"(default: {VARIABLE}, else this CPU).",
        ),
        click.option(
            "--allow-pass",
            "allow_passes",
            multiple=True,
            metavar="NAME",
            help="Allow the schedule to run this compiler pass, which may try to write files or start programs;"
            " the worker's sandbox still applies.",
        ),
        click.option("--set", "settings", multiple=True, metavar="KNOB=VALUE", help="Set a knob."),
        click.option("--entry", metavar="NAME", help="Named sequence to apply (default: @__transform_main)."),
    ):
        function = option(function)
    return function


def _read_microkernels(_context: object, _parameter: object, pairs: tuple[str, ...]) -> dict[str, str]:
    files: dict[str, str] = {}
    for pair in pairs:
        name, _, file = pair.partition("=")
        if not name or not file:
            raise usage_error(f"--microkernel {pair}: expected NAME=FILE")
        if name in files:
            raise usage_error(f"--microkernel {pair}: {name} is given twice", "Give it one implementation.")
        files[name] = file
    return files


microkernel_option = click.option(
    "--microkernel",
    "microkernels",
    multiple=True,
    metavar="NAME=FILE",
    callback=_read_microkernels,
    help="Implementation of a microkernel that the schedule calls: FILE.c or FILE.py:FUNCTION.",
)


def limit_options(function: F) -> F:
    """Add ``--timeout`` and ``--memory``; the command gets them as ``limits``."""

    @click.option(
        "--timeout",
        type=POSITIVE_NUMBER,
        default=DEFAULT_SECONDS,
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
    settings: tuple[str, ...],
    ops: tuple[str, ...],
    limits: Limits,
    worker: Worker | None = None,
    **options: Any,
) -> Schedule:
    """Return the schedule that a path and the shared options describe; its own ops are loaded first."""
    for file in ops:
        load_own_ops(file, worker=worker, limits=limits)
    # A string would be taken as the text of a schedule.
    schedule = load_schedule(Path(path), worker=worker, limits=limits, **options)
    return schedule.with_knobs(parse_settings(schedule.knobs, settings)) if settings else schedule


def load_all_scheduled(
    paths: Sequence[str], *, settings: tuple[str, ...], worker: Worker | None = None, **options: Any
) -> list[Schedule]:
    """Return several schedules with the shared options; each setting goes to those that have the knob."""
    if not paths and (settings or any(options[name] for name in SCHEDULING if name != "settings")):
        raise usage_error(NEED_A_SCHEDULE)
    schedules = []
    for path in paths:
        schedules.append(load_scheduled(path, settings=(), worker=worker, **options))
        options["ops"] = ()  # loaded with the first schedule
    named = [(setting.partition("=")[0], setting) for setting in settings]
    knobs = [{knob.name for knob in schedule.knobs} for schedule in schedules]
    known = set().union(*knobs)
    for name, setting in named:
        if name not in known:
            have = ", ".join(sorted(known)) or "none"
            raise usage_error(f"--set {setting}: no schedule has a knob {name!r}", f"Their knobs: {have}.")
    own = [[setting for name, setting in named if name in names] for names in knobs]
    return [s.with_knobs(parse_settings(s.knobs, o)) if o else s for s, o in zip(schedules, own, strict=True)]


def benchmarks_module(name: str) -> Any:
    """Import a module of ``benchmarks/``, which is in a checkout beside the package and in no wheel."""
    checkout = Path(lhkit.__file__).parents[1]
    if not (checkout / "benchmarks" / f"{name}.py").is_file():
        raise usage_error(
            "the suite is in no installed package: it needs a checkout of lhkit",
            "Clone the repository, run install.py in it, and use its lhkit.",
        )
    if str(checkout) not in sys.path:
        sys.path.append(str(checkout))
    return importlib.import_module(f"benchmarks.{name}")
