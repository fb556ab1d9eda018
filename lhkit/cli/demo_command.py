"""``lhkit demo``: compile, verify, time and sweep a shipped layer."""

from __future__ import annotations

import os
import shlex
from pathlib import Path, PurePath

import click

from lhkit.cli.bench_command import measure_with_bar, refuse_wrong_results, save_comparison
from lhkit.cli.options import limit_options
from lhkit.cli.sweep_command import refuse_failed_sweep, run_with_bars
from lhkit.cli.terminal import say, write_text
from lhkit.draw.figures import figure_png, figure_svg
from lhkit.draw.svg import with_theme
from lhkit.draw.tables import comparison_lines, comparison_table, table_text
from lhkit.kernels.kernel import Kernel, compile_kernel
from lhkit.load.catalogue_cache import known_help
from lhkit.load.loader import load_payload, load_schedule
from lhkit.load.target_choice import VARIABLE
from lhkit.model.file_io import write_file
from lhkit.model.knob import KnobValue
from lhkit.model.measurement import Comparison
from lhkit.model.schedule import Schedule
from lhkit.show.comparison_page import render_page
from lhkit.show.trace_view import detail_panes, trace_page
from lhkit.sweeps.live_sweep import sweep
from lhkit.sweeps.sweep_files import save_frame, store_frame
from lhkit.sweeps.sweep_summary import SweepResult
from lhkit.sweeps.sweep_table import draw_knobs, sweep_text
from lhkit.sweeps.sweep_task import SweepOptions
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.limits import Limits

_PAYLOAD = "fc_relu.mlir"
_SCHEDULES = {
    "tile": "fc_relu_tile.mlir",
    "tile + fuse + vectorize": "fc_relu_tile_fuse_vectorize.mlir",
    "the same, by strips": "fc_relu.mlir",
}
# The schedule whose tile sizes are swept, with the number of values per knob: the default and its neighbours.
_SWEPT = "the same, by strips"
_VALUES = {"tile_m": 3, "tile_n": 2}
_CONFIRM_SECONDS = 6.0
# What OpenBLAS calls a CPU with no more instructions than a target.
_OPENBLAS_CORES = {"sse": "Nehalem", "avx2": "Haswell", "avx512": "SkylakeX"}
_SUMMARY = (
    "A fully connected layer, max(lhs · rhs + bias, 0) on 512 x 512 matrices of float32, compiled for one"
    " thread of this CPU: without a schedule, with three schedules, and computed by NumPy."
    " Every result was checked."
)


@click.command("demo", epilog="Example: lhkit demo --out demo")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    help="Folder for the CSV, the plots and the page.",
)
@click.option("--rounds", type=click.IntRange(min=2), default=11, help="Limit on the samples of each entry.")
@limit_options
def command(out: Path, rounds: int, limits: Limits) -> None:
    """Compile, check and time a layer: unscheduled, with three schedules, and NumPy, in one run.

    Then the tile sizes of one schedule are swept, and the best few timed again. Prints the tables and writes
    CSV files, plots (PNG and SVG), the records of the sweep, a self-contained HTML page, and one beside it for
    each schedule that stands alone, to step through it.
    """
    out.mkdir(parents=True, exist_ok=True)
    payload = load_payload(_PAYLOAD, limits=limits)
    kernels = {"unscheduled": compile_kernel(payload, limits=limits)}
    for name, file in _SCHEDULES.items():
        kernels[name] = compile_kernel(payload, load_schedule(file, limits=limits), limits=limits)
    comparison = measure_with_bar(kernels, rounds=rounds, limits=limits)
    traces = _write_traces(out, kernels, limits)
    found = _sweep(out, kernels[_SWEPT], limits)
    files = _write(out, comparison, kernels, traces, found, f"lhkit demo --rounds {rounds}")
    lines = "\n".join(comparison_lines(comparison))
    say(f"\n{_summary(kernels[_SWEPT])}\n\n{table_text(comparison_table(comparison))}\n{lines}\n")
    say(f"{_swept_words(found)}\n\n{sweep_text(found)}\nTo time them longer: {_longer_sweep(out, found)}\n")
    say("Written: " + ", ".join(str(f) for f in files))
    refuse_wrong_results(comparison)


def _write(
    out: Path,
    comparison: Comparison,
    kernels: dict[str, Kernel],
    traces: list[tuple[str, str]],
    found: SweepResult,
    command_line: str,
) -> list[Path]:
    page = render_page(
        title="fc_relu: one layer, three schedules",
        summary=_summary(kernels[_SWEPT]),
        comparison=comparison,
        texts=_texts(kernels),
        command=command_line,
        links=tuple((file, f"{name}: every step, and what each handle was") for name, file in traces),
        sweep=found,
    )
    save_comparison(out, comparison)
    write_text(out / "index.html", page)
    save_frame(store_frame(found.store), out / "sweep.csv")
    heat = draw_knobs(found)
    write_text(out / "sweep.svg", with_theme(figure_svg(heat)))
    write_file(out / "sweep.png", figure_png(heat))
    names = ["samples.csv", "speed.svg", "speed.png", "sweep.jsonl", "sweep.csv", "sweep.svg", "sweep.png"]
    return [out / name for name in (*names, "index.html", *(file for _, file in traces))]


def _sweep(out: Path, kernel: Kernel, limits: Limits) -> SweepResult:
    """Sweep the tile sizes of a kernel's schedule; a second demo in the same folder reuses the store."""
    schedule = load_schedule(_SCHEDULES[_SWEPT], limits=limits)
    knobs = swept_knobs(schedule)
    schedule = schedule.with_knobs({name: v for name, v in schedule.values.items() if name not in knobs})
    options = SweepOptions(limits=limits, confirm_seconds=_CONFIRM_SECONDS)
    store = out / "sweep.jsonl"
    found = sweep(kernel.payload, schedule, knobs=knobs, store=store, start=False, options=options)
    run_with_bars(found)
    result = found.result()
    refuse_failed_sweep(result)
    return result


def swept_knobs(schedule: Schedule) -> dict[str, list[KnobValue]]:
    """Return the tile sizes to sweep: the defaults of the target and their neighbours."""
    found = {}
    for name, count in _VALUES.items():
        options = list(next(knob.options for knob in schedule.knobs if knob.name == name))
        first = min(max(options.index(schedule.values[name]) - 1, 0), len(options) - count)
        found[name] = options[first : first + count]
    return found


def _summary(kernel: Kernel) -> str:
    if not kernel.target:
        return _SUMMARY
    if core := os.environ.get("OPENBLAS_CORETYPE"):
        rival = f"NumPy's product is OpenBLAS's for {core}, as OPENBLAS_CORETYPE says."
    else:
        core = _OPENBLAS_CORES[kernel.target]
        rival = f"NumPy's uses all that this CPU has; OPENBLAS_CORETYPE={core} gives it as little."
    return f"{_SUMMARY} Kernels use the instructions of {kernel.target} only, as {VARIABLE} asks for. {rival}"


def _swept_words(found: SweepResult) -> str:
    swept = swept_knobs(found.schedule).items()
    knobs = " and ".join(f"{name} of {', '.join(map(str, values))}" for name, values in swept)
    file = PurePath(found.schedule.source).name
    return f"A sweep over the tile sizes of the schedule {_SWEPT!r} ({file}): {knobs}."


def _longer_sweep(out: Path, found: SweepResult) -> str:
    knobs = " ".join(f"--knob {name}={','.join(map(str, values))}" for name, values in found.axes)
    store = shlex.quote(str(out / "sweep.jsonl"))
    return f"lhkit sweep {_PAYLOAD} {_SCHEDULES[_SWEPT]} {knobs} --store {store} --confirm-seconds 60"


def _write_traces(out: Path, kernels: dict[str, Kernel], limits: Limits) -> list[tuple[str, str]]:
    """Write a page per schedule; return (name, file). Library schedules have hundreds of steps: 3 MB."""
    written = []
    for name, kernel in kernels.items():
        if kernel.schedule is not None and not kernel.schedule.libraries:
            file = f"trace_{PurePath(kernel.schedule.source).stem}.html"
            trace = trace_schedule(kernel.payload, kernel.schedule, limits=limits)
            write_text(out / file, trace_page(trace, known_help(), detail_panes(trace)))
            written.append((name, file))
    return written


def _texts(kernels: dict[str, Kernel]) -> tuple[tuple[str, str], ...]:
    payload = next(iter(kernels.values())).payload
    texts = [("Payload", payload.text)]
    for name, kernel in kernels.items():
        if kernel.schedule is not None:
            texts.append((f"Schedule: {name}", kernel.schedule.text))
            texts.append((f"Payload after: {name}", kernel.ir("scheduled")))
    return tuple(texts)
