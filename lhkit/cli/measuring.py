"""What commands that measure share: options, a progress bar, and what becomes of wrong results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from lhkit.bench.side_by_side import DEFAULT_ROUNDS, DEFAULT_SECONDS, measure
from lhkit.cli.options import POSITIVE_NUMBER, SEED
from lhkit.kernels.kernel import Kernel
from lhkit.model.errors import error_for
from lhkit.model.failure import Failure
from lhkit.model.measurement import Comparison

F = TypeVar("F", bound=Callable[..., Any])


def measuring_options(function: F) -> F:
    """Add the options that `lhkit.measure` takes under the same names."""
    for option in (
        click.option(
            "--seed", type=SEED, default=0, show_default=True, help="What order and arguments follow."
        ),
        click.option("--pin/--no-pin", default=True, show_default=True, help="Stay on one core."),
        click.option(
            "--alignment",
            "alignment_bytes",
            type=click.IntRange(min=1),
            default=64,
            show_default=True,
            metavar="BYTES",
            help="Start buffers at odd multiples of this power of two (4 is misaligned for vectors).",
        ),
        click.option(
            "--cache",
            type=click.Choice(["warm", "cold"]),
            default="warm",
            show_default=True,
            help="Find data in the caches, or empty them before each call.",
        ),
        click.option(
            "--seconds",
            type=POSITIVE_NUMBER,
            default=DEFAULT_SECONDS,
            show_default=True,
            help="How long to sample; entries share it.",
        ),
        click.option(
            "--rounds",
            type=click.IntRange(min=1),
            default=DEFAULT_ROUNDS,
            show_default=True,
            help="Samples of each entry, at most.",
        ),
    ):
        function = option(function)
    return function


def measure_with_bar(kernels: Mapping[str, Kernel], *, rounds: int, **options: Any) -> Comparison:
    """Measure with a progress bar on standard error; see `lhkit.measure`."""
    with click.progressbar(length=rounds, label="measuring", file=sys.stderr) as bar:
        comparison = measure(kernels, rounds=rounds, progress=lambda _done, _most: bar.update(1), **options)
        bar.update(rounds - comparison.rounds)
    return comparison


def refuse_wrong_results(comparison: Comparison) -> None:
    """Raise if an entry computes something else than the reference.

    Raises:
        WrongResultError: One does; the message names it and the first element that differs.
    """
    for m in comparison.measurements:
        if m.verification is not None and not m.verification.ok:
            what = f"{m.name} differs from {m.verification.against}: {m.verification.difference}"
            raise error_for(Failure(kind="wrong-result", message=what))
