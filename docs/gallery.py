"""The gallery: which picture answers which question, drawn from real values; ``docs/pictures.py`` writes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import lhkit
from lhkit.bench.bench_file import load_bench
from lhkit.draw.live_view import Drawing
from lhkit.draw.svg import with_theme
from lhkit.model.measurement import Comparison
from lhkit.model.trace_record import Trace
from lhkit.sweeps.sweep_files import load_records
from lhkit.sweeps.sweep_summary import SweepResult

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
FOLDER = ROOT / "docs" / "pictures" / "gallery"
_QUESTION = re.compile(r"^- (.+\?) ``((\w+)\(.*)``$", re.MULTILINE)
# What depends on the machine that draws it has no picture here.
_ELSEWHERE = {
    "code": "in the [workbench](tour.md) and lesson 06",
    "live_buffers": "in lesson 09",
    "throughput": "in lesson 06",
    "save_page": "[such a page](pictures/workbench_walk.html)",
}


@cache
def _trace() -> Trace:
    return lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")


@cache
def _bench() -> Comparison:
    return load_bench(ROOT / "docs" / "pictures" / "fc_relu_bench.json")


def _sweep() -> SweepResult:
    records = tuple(load_records(ROOT / "data" / "sweeps" / "matmul_512.jsonl"))
    names = list(records[0].values)
    axes = tuple((name, tuple(sorted({r.values[name] for r in records}))) for name in names)
    schedule = lhkit.load_schedule("matmul_block_tile_vectorize.mlir")
    best = max((r for r in records if r.status == "ok"), key=lambda r: r.gflops or 0.0)
    # Of its knobs two, for a map; the others as in the best variant.
    rest = [n for n in names if n not in ("tile_m", "tile_n")]
    records = tuple(r for r in records if all(r.values[n] == best.values[n] for n in rest))
    axes = tuple(axis for axis in axes if axis[0] not in rest)
    return SweepResult(("matmul 512",), schedule, axes, records, best, 0, None, (), "matmul_512.jsonl")


def _tiling() -> int:
    return next(s.index for s in _trace().step_records if s.op.endswith("tile_using_forall"))


# By the call in the list of questions.
DRAWINGS: Mapping[str, Callable[[], Drawing]] = {
    "diff(trace, step=5)": lambda: lhkit.show.diff(_trace(), step=_tiling()),
    "loops(trace)": lambda: lhkit.show.loops(_trace()),
    "op_counts(trace)": lambda: lhkit.show.op_counts(_trace()),
    "speed(comparison)": lambda: lhkit.show.speed(_bench()),
    "roofline(comparison)": lambda: lhkit.show.roofline(_bench()),
    "sweep(result)": lambda: lhkit.show.sweep(_sweep()),
}


# Pictures of the README and of other pages.
DRAWN = {
    "timeline(trace)": "timeline",
    "graph(trace, step=5)": "graph",
    "graph(trace)": "consumed",
    "tiles(trace)": "tiles",
}


def questions() -> list[tuple[str, str, str]]:
    """Return each question with the call that answers it, and the name of its function."""
    return _QUESTION.findall(lhkit.show.__doc__ or "")


def picture_name(call: str) -> str:
    """Return the name of the file of a call's picture."""
    return re.sub(r"\W+", "_", call).strip("_") + ".svg"


def picture_path(call: str) -> str | None:
    """Return the file of a call's picture, from the folder of pictures on; None without one."""
    if call in DRAWN:
        return f"{DRAWN[call]}.svg"
    return f"gallery/{picture_name(call)}" if call in DRAWINGS else None


def pictures() -> dict[str, str]:
    """Return the pictures of the gallery by the names of their files."""
    drawn = {picture_name(call): with_theme(draw().picture()) for call, draw in DRAWINGS.items()}
    return {name: picture.replace(f"{ROOT}/", "") + "\n" for name, picture in drawn.items()}


def gallery_page() -> str:
    """Return the page: each question, the call, and its picture."""
    parts = [
        "# Which picture answers which question",
        "The functions of `lhkit.show`. At the end of a cell each is a picture that answers to clicks and keys;"
        " `save` writes it as .svg, .png, .pdf or .html, with what it is of.",
    ]
    for question, call, function in questions():
        parts.append(f"## {question}")
        if path := picture_path(call):
            parts += [f"`lhkit.show.{call}`", f"![{question}](pictures/{path})"]
        else:
            parts.append(f"`lhkit.show.{call}`: {_ELSEWHERE[function]}.")
    return "\n\n".join(parts) + "\n"


def write() -> None:
    """Write the page and its pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
    PAGE.write_text(gallery_page(), encoding="utf-8")
