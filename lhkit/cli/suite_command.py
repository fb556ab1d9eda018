"""The options of ``lhkit bench --suite``, which runs the benchmarks of a checkout."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

import lhkit
from lhkit.model.errors import usage_error

# Options of ``lhkit bench`` that apply to the suite too.
_SHARED = frozenset(
    ("payload", "schedules", "json_file", "target", "rounds", "seconds", "seed", "timeout", "memory")
)
_OWN = frozenset(("is_suite", "rivals", "is_quick", "html_file", "table_file"))

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class SuiteAsked:
    """What the options of the suite ask for.

    Attributes:
        rivals: Names of rivals; none for all.
        is_quick: Whether small shapes are enough.
        html_file: File for a page, or None.
        table_file: Another table than the one that comes with lhkit, or None.
        seconds: How long to sample a row, or None: as the table says.
    """

    rivals: tuple[str, ...]
    is_quick: bool
    html_file: str | None
    table_file: str | None
    seconds: float | None


def suite_options(function: F) -> F:
    """Add ``--suite`` and what goes with it; the command gets a `SuiteAsked` as ``suite``, or None."""

    @click.option(
        "--suite", "is_suite", is_flag=True, help="Time lhkit's families; arguments name some of them."
    )
    @click.option(
        "--rival", "rivals", multiple=True, metavar="NAME", help="Compare with this rival only (with --suite)."
    )
    @click.option(
        "--quick", "is_quick", is_flag=True, help="Small shapes only, as a smoke test (with --suite)."
    )
    @click.option("--html", "html_file", metavar="FILE", help="Save a page with the plots (with --suite).")
    @click.option("--table", "table_file", metavar="FILE", help="Your own families, as TOML (with --suite).")
    @functools.wraps(function)
    def with_suite(
        *args: Any,
        is_suite: bool,
        rivals: tuple[str, ...],
        is_quick: bool,
        html_file: str | None,
        table_file: str | None,
        **options: Any,
    ) -> Any:
        given = _given_options()
        if not is_suite and given & _OWN:
            raise usage_error("--rival, --quick, --html and --table go with --suite")
        if is_suite and (others := given - _OWN - _SHARED):
            raise usage_error(f"--suite does not go with {', '.join(sorted(map(_spelled, others)))}")
        seconds = options["seconds"] if "seconds" in given else None
        asked = SuiteAsked(rivals, is_quick, html_file, table_file, seconds) if is_suite else None
        return function(*args, suite=asked, **options)

    return with_suite  # type: ignore[return-value]


def _given_options() -> frozenset[str]:
    """Return the names of the options that were given explicitly."""
    context = click.get_current_context()
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source is ParameterSource.COMMANDLINE)


def _spelled(name: str) -> str:
    command = click.get_current_context().command
    return next((p.opts[-1] for p in command.params if p.name == name and p.opts), name)


def benchmarks_module(name: str) -> Any:
    """Import a module of ``benchmarks/``, which is in a checkout beside the package and in no wheel.

    Raises:
        UsageError: This lhkit is not in a checkout.
    """
    checkout = Path(lhkit.__file__).parents[1]
    if not (checkout / "benchmarks" / f"{name}.py").is_file():
        raise usage_error(
            "the suite is in no installed package: it needs a checkout of lhkit",
            "Clone the repository, run install.py in it, and use its lhkit.",
        )
    if str(checkout) not in sys.path:
        sys.path.append(str(checkout))
    return importlib.import_module(f"benchmarks.{name}")
