"""Live buffers over the program: the record, the figure, the table and the sentences."""

import dataclasses

import pytest

from lhkit.draw.figures import figure_pdf, figure_png, figure_svg
from lhkit.draw.tables import format_bytes, format_range
from lhkit.memory.kernel_memory import footprint_bundle, footprint_text
from lhkit.memory.live_buffers import BufferBar, buffer_bars, draw_live_buffers, find_peak
from lhkit.model.memory_footprint import (
    BufferSite,
    Footprint,
    HeapCount,
    LoopSpan,
    Origin,
    Prediction,
    ProgramPoint,
    Range,
)

FILL, SUM = Origin("%init", "linalg.fill", "p.mlir", 2), Origin("%sum", "linalg.add", "p.mlir", 4)
KINDS = ("alloc", "touch", "alloc", "copy", "touch", "free", "touch", "free")
LIVE = (1024, 1024, 3072, 3072, 3072, 2048, 2048, 0)


def known(number):
    return Range(number, number)


def site(name, first, last_use, last, size=1024, **more):
    fields = {"on_stack": False, "size_bytes": known(size), "origin": FILL, **more}
    return BufferSite(name=name, first=first, last=last, last_use=last_use, **fields)


PREDICTION = Prediction(
    allocations=known(2),
    total_bytes=known(3072),
    peak_bytes=known(3072),
    left_bytes=known(0),
    copies=known(4),
    copied_bytes=known(4096),
    stack_bytes=known(16),
    sites=(
        site("%<b>init", 0, 1, 5),
        site("%sum", 2, 6, 7, 2048),
        site("%small", 2, 4, 7, 16, on_stack=True),
    ),
    points=tuple(ProgramPoint(k, SUM, known(n)) for k, n in zip(KINDS, LIVE, strict=True)),
    loops=(LoopSpan(2, 6, 0, known(8), SUM), LoopSpan(3, 4, 1, Range(0, None), SUM)),
)
COUNT = HeapCount(allocations=2, frees=2, total_bytes=3072, peak_bytes=3072, left_bytes=0)
FOOTPRINT = Footprint("@f, <i>s.mlir", PREDICTION, COUNT)


def test_what_is_drawn():
    bars, folded = buffer_bars(PREDICTION)
    assert folded == "" and bars == [
        BufferBar("%<b>init", "1 KiB", "heap", 0, 1, 4),  # held while others are made and used
        BufferBar("%sum", "2 KiB", "heap", 2, 6, 6),
        BufferBar("%small", "16 B", "stack", 2, 4, 4),
    ]
    assert find_peak(PREDICTION.points) == (2, 3072)
    above, below = draw_live_buffers(FOOTPRINT).axes
    assert above.get_title(loc="left") == "@f, <i>s.mlir: peak 3 KiB"
    ticks = [
        (tick, text.get_text()) for tick, text in zip(below.get_xticks(), below.get_xticklabels(), strict=True)
    ]
    assert ticks == [(1, "add"), (3, "copy"), (4, "add"), (6, "add")]
    texts = [text.get_text() for text in below.texts]
    assert texts == ["1 KiB", "2 KiB", "16 B", "loop × 8", "loop × at least 0"]


def test_frees_in_a_row_hold_nothing_and_results_reach_the_end():
    sites = (site("%a", 0, 4, 5, is_returned=True), site("%b", 2, 6, 7))
    bars, _ = buffer_bars(dataclasses.replace(PREDICTION, sites=sites))
    assert [(b.kind, b.last_use, b.held_to) for b in bars] == [("returned", 5, 5), ("heap", 6, 6)]


def test_many_buffers_fold_and_the_largest_stay():
    sites = tuple(site(f"%{i}", 0, 1, 5, size=64 * (i + 1)) for i in range(100))
    points = PREDICTION.points * 20
    predicted = dataclasses.replace(PREDICTION, sites=sites, points=points)
    bars, folded = buffer_bars(predicted)
    assert {b.label for b in bars} == {f"%{i}" for i in range(76, 100)}
    assert folded == "and 76 smaller ones, 183 KiB if all lived at once"
    _, below = draw_live_buffers(dataclasses.replace(FOOTPRINT, predicted=predicted)).axes
    assert not below.get_xticks().size and folded in below.get_xlabel()


def test_the_figure_has_hatches_text_and_the_same_bytes_every_time():
    svgs = [figure_svg(draw_live_buffers(FOOTPRINT)) for _ in range(2)]
    assert svgs[0] == svgs[1]
    assert "<pattern" in svgs[0] and "peak 3 KiB" in svgs[0] and "loop × 8" in svgs[0]
    assert "held, not used any more" in svgs[0] and "on the stack" in svgs[0]
    assert "<b>" not in svgs[0] and "<i>" not in svgs[0]
    assert figure_png(draw_live_buffers(FOOTPRINT)).startswith(b"\x89PNG")
    assert figure_pdf(draw_live_buffers(FOOTPRINT)) == figure_pdf(draw_live_buffers(FOOTPRINT))


def test_nothing_to_draw_is_said():
    nothing = dataclasses.replace(PREDICTION, sites=(), peak_bytes=known(0), points=())
    footprint = dataclasses.replace(FOOTPRINT, predicted=nothing, counted=None)
    assert "no buffers but those of the caller" in figure_svg(draw_live_buffers(footprint))
    assert (
        "Nothing was run" in footprint_text(footprint)
        and "counted" not in footprint_text(footprint).split("\n")[1]
    )


def test_the_table_has_both_sides():
    assert footprint_text(FOOTPRINT).splitlines() == [
        "@f, <i>s.mlir",
        "                    predicted  counted",
        "──────────────────  ─────────  ───────",
        "heap buffers                2        2",
        "bytes of all            3,072    3,072",
        "most bytes at once      3,072    3,072",
        "bytes returned              0        0",
        "copies                      4",
        "bytes copied            4,096",
        "bytes on the stack         16",
        "What was counted is what was predicted.",
        "The peak is reached at %sum = linalg.add (p.mlir:4); then %<b>init (1 KiB), %sum (2 KiB) live.",
    ]


def test_a_disagreement_and_bounds_are_said():
    wrong = dataclasses.replace(FOOTPRINT, counted=dataclasses.replace(COUNT, peak_bytes=9))
    assert not wrong.agrees and "is not what was predicted" in footprint_text(wrong)
    bounded = dataclasses.replace(
        FOOTPRINT, predicted=dataclasses.replace(PREDICTION, allocations=Range(1, None))
    )
    assert bounded.agrees and not bounded.is_exact
    assert "at least 1" in footprint_text(bounded) and "within the bounds" in footprint_text(bounded)


def test_a_cell_shows_table_and_drawing_and_escapes_names():
    bundle = footprint_bundle(FOOTPRINT)
    assert bundle.keys() == {"text/html", "image/png", "text/plain"}
    html = bundle["text/html"]
    assert "<table" in html and "<svg" in html and "<b>init" not in html and "&lt;b&gt;init" in html


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1000 << 10, "1000 KiB"),
        (1536 << 10, "1.5 MiB"),
        (5 << 30, "5 GiB"),
    ],
)
def test_sizes_have_the_unit_that_fits(size, text):
    assert format_bytes(size) == text


def test_ranges_as_text():
    shown = [format_range(Range(*r), str) for r in ((3, 3), (1, 4), (2, None))]
    assert shown == ["3", "1 to 4", "at least 2"]


def test_no_peak_is_marked_where_nothing_is_on_the_heap():
    sites = (site("%small", 2, 4, 7, 16, on_stack=True),)
    points = tuple(ProgramPoint(k, SUM, known(0)) for k in KINDS)
    empty = dataclasses.replace(PREDICTION, sites=sites, points=points, peak_bytes=known(0), loops=())
    above, below = draw_live_buffers(dataclasses.replace(FOOTPRINT, predicted=empty)).axes
    assert above.get_title(loc="left") == "@f, <i>s.mlir: nothing on the heap"
    assert not above.lines and not below.lines
    assert draw_live_buffers(dataclasses.replace(FOOTPRINT)).axes[1].lines
