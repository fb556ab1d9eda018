"""``lhkit bench``: time a payload beside its reference, or with ``--suite`` the benchmarks of a checkout."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from lhkit.bench.bench_file import bench_to_json, failed_bench_to_json
from lhkit.bench.side_by_side import DEFAULT_ROUNDS, DEFAULT_SECONDS, measure
from lhkit.bench.speed_charts import draw_speed_bars
from lhkit.cli.options import (
    NEED_A_SCHEDULE,
    SCHEDULING,
    SEED,
    benchmarks_module,
    function_option,
    json_option,
    limit_options,
    load_all_scheduled,
    microkernel_option,
    reference_option,
    schedule_options,
)
from lhkit.cli.positive_number import POSITIVE_NUMBER
from lhkit.cli.terminal import failures_as_json, say, write_json, write_text
from lhkit.draw.figures import figure_pdf, figure_png, figure_svg
from lhkit.draw.svg import with_theme
from lhkit.draw.tables import comparison_lines, comparison_table, samples_csv, table_text
from lhkit.kernels.kernel import Kernel, compile_kernel
from lhkit.load.loader import load_payload
from lhkit.model.errors import Failure, error_for, usage_error
from lhkit.model.file_io import write_file
from lhkit.model.measurement import Comparison
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Options of ``lhkit bench`` that apply to the suite too.
_SHARED = {"payload", "schedules", "json_file", "target", "rounds", "seconds", "seed", "timeout", "memory"}
# Options of the suite alone.
_OWN = ("rivals", "is_quick", "html_file", "table_file", "processes")


@dataclass(frozen=True, slots=True)
class SuiteAsked:
    """What the options of the suite ask for; ``seconds`` is None where the table decides."""

    rivals: tuple[str, ...]
    is_quick: bool
    html_file: str | None
    table_file: str | None
    processes: int
    seconds: float | None


def _suite_asked() -> SuiteAsked | None:
    """Return what the options of the suite ask for, or None without ``--suite``."""
    context = click.get_current_context()
    sources = {p: context.get_parameter_source(str(p.name)) for p in context.command.params}
    given = {str(p.name): p.opts[-1] for p, s in sources.items() if s is ParameterSource.COMMANDLINE}
    if not context.params["is_suite"]:
        if given.keys() & set(_OWN):
            raise usage_error("--rival, --quick, --html, --table and --processes go with --suite")
        return None
    if others := given.keys() - {"is_suite", *_OWN, *_SHARED}:
        raise usage_error(f"--suite does not go with {', '.join(sorted(given[name] for name in others))}")
    seconds = context.params["seconds"] if "seconds" in given else None
    return SuiteAsked(**{name: context.params[name] for name in _OWN}, seconds=seconds)


def measure_with_bar(kernels: Mapping[str, Kernel], **options: Any) -> Comparison:
    """Measure with a progress bar on standard error; see `lhkit.measure`."""
    with click.progressbar(length=1, label="measuring", file=sys.stderr) as bar:

        def show(_done: int, most: int) -> None:
            bar.length = most
            bar.update(1)

        comparison = measure(kernels, progress=show, **options)
        bar.update((bar.length or 1) - bar.pos)
    return comparison


def refuse_wrong_results(comparison: Comparison) -> None:
    """Raise for the first entry that differs from the reference."""
    for m in comparison.measurements:
        if m.verification is not None and not m.verification.ok:
            what = f"{m.name} differs from {m.verification.against}: {m.verification.difference}"
            raise error_for(Failure(kind="wrong-result", message=what))


_EXAMPLE = "lhkit bench data/fc_relu.mlir schedules/fc_relu_tile_fuse_vectorize.mlir --json bench.json"


@click.command("bench", epilog=f"Example: {_EXAMPLE}")
@click.argument("payload", required=False)
@click.argument("schedules", nargs=-1)
@click.option("--suite", "is_suite", is_flag=True, help="Time lhkit's families; arguments name some of them.")
@click.option(
    "--rival", "rivals", multiple=True, metavar="NAME", help="Compare with this rival only (with --suite)."
)
@click.option("--quick", "is_quick", is_flag=True, help="Small shapes only, as a smoke test (with --suite).")
@click.option("--html", "html_file", metavar="FILE", help="Save a page with the plots (with --suite).")
@click.option("--table", "table_file", metavar="FILE", help="Your own families, as TOML (with --suite).")
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=3,
    help="Fresh processes that share the time of each row (with --suite; one with --quick).",
)
@function_option
@click.option(
    "--unscheduled/--no-unscheduled",
    "with_unscheduled",
    default=True,
    help="Time the payload without a schedule too, which takes long where it is slow.",
)
@reference_option
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    help="Threads of the reference's libraries; more than one needs --no-pin to be of use. Kernels have the"
    " knob threads of their schedules: --set threads=2.",
)
@json_option("all samples")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for a CSV and plots.")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    help=f"Limit on the samples of each entry ({DEFAULT_ROUNDS}; with --seconds as many as fit).",
)
@click.option(
    "--seconds", type=POSITIVE_NUMBER, help=f"Sampling time, shared by the entries ({DEFAULT_SECONDS:g})."
)
@click.option(
    "--cache",
    type=click.Choice(["warm", "cold"]),
    default="warm",
    help="Find data in the caches, or empty them before each call.",
)
@click.option(
    "--alignment",
    "alignment_bytes",
    type=click.IntRange(min=1),
    default=64,
    metavar="BYTES",
    help="Start buffers at odd multiples of this power of two (4 is misaligned for vectors).",
)
@click.option("--pin/--no-pin", default=True, help="Stay on one core.")
@click.option("--seed", type=SEED, default=0, help="Seed of the order and the arguments.")
@schedule_options
@microkernel_option
@limit_options
def command(
    payload: str | None,
    schedules: tuple[str, ...],
    function: str | None,
    reference: str | None,
    with_unscheduled: bool,
    threads: int,
    json_file: str | None,
    out: Path | None,
    microkernels: dict[str, str],
    limits: Limits,
    seed: int,
    **options: Any,
) -> None:
    """Time PAYLOAD unscheduled and with each SCHEDULE, beside its NumPy reference, and rank them.

    All run in one process, interleaved in rounds of random order, each verified first. --entry, --set, --bind
    and --library go for every schedule, --set for those that have the knob, --microkernel for those that
    call it.

    lhkit bench --suite [FAMILY]… times lhkit's own schedules instead, beside NumPy, PyTorch and IREE.
    """
    suite = _suite_asked()
    for name in ("is_suite", *_OWN):
        options.pop(name)
    if suite is not None:
        options["rounds"] = options["rounds"] or DEFAULT_ROUNDS
        names = (payload, *schedules) if payload is not None else ()
        run_suite = benchmarks_module("suite_program").run_suite
        run_suite(names, suite, json_file, seed=seed, limits=limits, options=options)
        return
    if payload is None:
        raise usage_error("there is no payload to time", "Give one, or --suite for the families of lhkit.")
    scheduling = {name: options.pop(name) for name in SCHEDULING}
    failed = functools.partial(failed_bench_to_json, payload, seed)
    with closing(Worker(limits, threads=threads)) as worker, failures_as_json(json_file, failed):
        loaded = load_payload(Path(payload), reference=reference, worker=worker, limits=limits)
        kernels = _compile(loaded, schedules, function, microkernels, worker, limits, scheduling)
        if not with_unscheduled and len(kernels) > 1:
            del kernels["unscheduled"]
        comparison = measure_with_bar(kernels, seed=seed, limits=limits, **options)
    write_json(json_file, bench_to_json(comparison))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_file(out / "speed.pdf", figure_pdf(save_comparison(out, comparison)))
    if json_file != "-":
        say(table_text(comparison_table(comparison)))
        say("\n".join(comparison_lines(comparison)))
    refuse_wrong_results(comparison)


def _compile(
    payload: Payload,
    schedule_paths: tuple[str, ...],
    function: str | None,
    microkernels: dict[str, str],
    worker: Worker,
    limits: Limits,
    scheduling: dict[str, Any],
) -> dict[str, Kernel]:
    """Return the kernels by name: ``unscheduled``, then the stem of each schedule."""
    name = payload.function(function).name
    schedules = load_all_scheduled(schedule_paths, worker=worker, limits=limits, **scheduling)
    if microkernels and not schedules:
        raise usage_error(NEED_A_SCHEDULE)
    for microkernel in microkernels:
        if not any(_calls(schedule, microkernel) for schedule in schedules):
            raise usage_error(f"--microkernel {microkernel}: no schedule calls it")
    kernels = {"unscheduled": compile_kernel(payload, function=name, worker=worker, limits=limits)}
    for path, schedule in zip(schedule_paths, schedules, strict=True):
        called = {m: file for m, file in microkernels.items() if _calls(schedule, m)}
        kernel = compile_kernel(
            payload, schedule, function=name, microkernels=called, worker=worker, limits=limits
        )
        kernels[_unused(Path(path).stem, kernels)] = kernel
    return kernels


def _calls(schedule: Schedule, microkernel: str) -> bool:
    texts = (schedule.text, *(library.text for library in schedule.libraries))
    return any(f'"{microkernel}"' in text or f"@{microkernel}" in text for text in texts)


def _unused(name: str, taken: dict[str, Kernel]) -> str:
    """Return a unique name: one schedule may be given twice."""
    numbered = (f"{name} #{number}" for number in itertools.count(2))
    return next(candidate for candidate in itertools.chain([name], numbered) if candidate not in taken)


def save_comparison(out: Path, comparison: Comparison) -> Figure:
    """Write the samples as CSV and the plot of speeds as SVG and PNG; return the plot."""
    figure = draw_speed_bars(comparison)
    write_text(out / "samples.csv", samples_csv(comparison))
    write_text(out / "speed.svg", with_theme(figure_svg(figure)))
    write_file(out / "speed.png", figure_png(figure))
    return figure
