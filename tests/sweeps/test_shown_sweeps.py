"""Pictures of sweeps as drawings, and as files in each format."""

import dataclasses
import itertools
import re
from types import SimpleNamespace

import pytest
from sweep_records import grid, record, result_of

import lhkit
from lhkit.model.errors import UsageError
from lhkit.sweeps.sweep_charts import draw_history, sweep_history
from lhkit.sweeps.sweep_summary import knob_values
from lhkit.sweeps.sweep_table import course_lines


def cost(**knobs):
    return "crashed" if knobs["a"] == 4 and knobs["b"] == 1 else 100 * (1 + sum(knobs.values()))


def found(count):
    """A sweep over so many knobs."""
    records = grid(cost, **dict.fromkeys("abcd"[:count], (0, 1, 4)))
    return result_of(records, **knob_values(records))


@pytest.mark.parametrize("kind", ["knobs", "history", "outcomes"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_sweep_is_drawn_and_saved(kind, count, tmp_path):
    drawing = lhkit.show.sweep(found(count), kind=kind)
    assert "speed vs first row" in drawing.text and "1 crashed" in drawing.text if count == 2 else drawing.text
    written = {s: drawing.save(tmp_path / f"{kind}{s}").read_bytes() for s in (".svg", ".png", ".pdf")}
    assert (
        written[".svg"].startswith(b"<svg")
        and written[".svg"]
        == lhkit.show.sweep(found(count), kind=kind).save(tmp_path / "again.svg").read_bytes()
    )
    assert written[".png"].startswith(b"\x89PNG") and written[".pdf"].startswith(b"%PDF")


def test_what_is_drawn_fits_the_number_of_knobs():
    two, three, four = (lhkit.show.sweep(found(n)).svg() for n in (2, 3, 4))
    assert ">c = 4<" in three and ">c = 4<" not in two
    assert "variance" in four and "variance" not in three


def test_the_title_of_a_heat_map_is_above_what_the_map_says():
    picture = lhkit.show.sweep(found(2)).picture()
    heights = {w: float(y) for y, w in re.findall(r'<text[^>]*y="([\d.]+)"[^>]*>([^<]*)</text>', picture)}
    heights |= {
        w: float(y) for y, w in re.findall(r"translate\([\d.]+ ([\d.]+)\)[^>]*>([^<]*)</text>", picture)
    }
    lines = [next(y for w, y in heights.items() if w.startswith(each)) for each in _LINES]
    assert all(a + 8 < b for a, b in itertools.pairwise(lines)), heights


_LINES = ("Time by the values", "p · s.mlir · 9 variants", "time as a multiple", "framed: ")


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(UsageError, match="There are: knobs, history, outcomes"):
        lhkit.show.sweep(found(2), kind="pie")
    with pytest.raises(UsageError, match=r"ends? like a picture"):
        lhkit.show.sweep(found(2)).save("x.gif")
    with pytest.raises(UsageError, match="no cost model"):
        lhkit.show.sweep(found(2), kind="prediction")


def test_a_sweep_without_a_time_says_so_in_every_picture():
    nothing, failed = result_of([], a=(0, 1)), result_of(grid(lambda a: "crashed", a=(0, 1)), a=(0, 1))
    words = {"knobs": "no variant was timed", "history": "no variant was timed"}
    for result in (nothing, failed):
        for kind, said in words.items():
            assert said in lhkit.show.sweep(result, kind=kind).svg(), kind
    assert "no variant was tried" in lhkit.show.sweep(nothing, kind="outcomes").svg()
    assert "no variant was tried" not in lhkit.show.sweep(failed, kind="outcomes").svg()
    axes = draw_history(sweep_history(failed.records)).axes[0]
    assert axes.get_xlim()[1] >= 2 and list(axes.get_yticks()) == []


def test_failures_alike_are_one_line_that_names_the_variants_and_no_folder():
    where = "/home/me/tiles.mlir does not apply to /data/p.mlir"
    tried = [record({"m": m}, status="schedule-failed", number=m, message=where) for m in range(8)]
    tried.append(record({"m": 8}, status="schedule-failed", number=8, message="no such loop"))
    schedule = SimpleNamespace(source="/home/me/tiles.mlir")
    result = dataclasses.replace(result_of(tried, schedule=schedule, m=range(9)), payloads=("/data/p.mlir",))
    failed = [line for line in course_lines(result) if line.startswith("  schedule-failed")]
    assert failed == [
        "  schedule-failed: m=0, m=1, m=2, 5 more: tiles.mlir does not apply to p.mlir",
        "  schedule-failed: m=8: no such loop",
    ]
