"""The roofline's record and its labels."""

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lhkit
from lhkit.bench.speed_charts import draw_roofline, label_places, roofline, speed_range
from lhkit.draw.figures import figure_svg, spaced
from lhkit.model.measurement import Comparison, CoreLimits, Measurement


def comparison(**times_ns):
    entries = tuple(
        Measurement(name, tuple(enumerate([t, t * 1.1, t * 0.9, t * 1.05, t * 0.95])))
        for name, t in times_ns.items()
    )
    return Comparison(
        payload="p.mlir",
        payload_sha256="abc",
        measurements=entries,
        anchor=next(iter(times_ns)),
        rounds=5,
        seed=0,
        environment=(("cpu", "x"),),
        limits=CoreLimits(fma_gflops=100, fma_f64_gflops=50, copy_gbytes=10),
        flops=1_000_000,
        bytes=50_000,
        element_type="float32",
    )


def test_points_lie_at_their_intensity_below_the_roof_they_meet():
    plot = roofline(comparison(numpy=20_000.0, slow=100_000.0))
    assert (plot.peak_gflops, plot.copy_gbytes, plot.ridge, plot.element_type) == (100, 10, 10, "float32")
    assert [(p.label, p.intensity, p.gflops) for p in plot.points] == [("numpy", 20, 50), ("slow", 20, 10)]
    assert [p.of_roof for p in plot.points] == [0.5, 0.1]
    assert plot.points[0].low < 50 < plot.points[0].high
    memory_bound = dataclasses.replace(comparison(copying=1_000_000.0), bytes=2_000_000)
    (point,) = roofline(memory_bound).points
    assert (point.intensity, point.gflops, point.of_roof) == (0.5, 1, 0.2)
    assert "compulsory traffic" in plot.note


def test_several_payloads_share_a_roof_only_if_it_is_theirs():
    one, other = comparison(a=20_000.0), dataclasses.replace(comparison(a=20_000.0), bytes=500_000)
    plot = roofline({"first": one, "second": other})
    assert [(p.label, p.intensity) for p in plot.points] == [("first: a", 20), ("second: a", 2)]
    doubles = dataclasses.replace(one, element_type="float64")
    with pytest.raises(lhkit.LhkitError, match="another machine or element type"):
        roofline({"first": one, "second": doubles})
    assert roofline(doubles).peak_gflops == 50


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"limits": None}, "limits of the core for float32 were not measured"),
        ({"element_type": None}, "limits of the core for its element types were not measured"),
        ({"flops": None}, "the operations of p.mlir cannot be counted"),
        ({"bytes": None}, "the bytes of p.mlir cannot be counted"),
    ],
)
def test_what_cannot_be_drawn_says_why(changes, message):
    with pytest.raises(lhkit.LhkitError, match=message):
        roofline(dataclasses.replace(comparison(a=1.0), **changes))


def test_labels_of_equal_points_stand_apart_and_inside():
    plot = roofline(comparison(**{f"entry {n}": 20_000.0 + n for n in range(8)}))
    places, (low, high) = sorted(label_places(plot)), speed_range(plot)
    ratios = [b / a for a, b in itertools.pairwise(places)]
    assert min(ratios) == pytest.approx(max(ratios)) and min(ratios) > 1.2
    assert low < places[0] and places[-1] < high


def test_no_label_is_above_its_entry_where_there_is_room_below():
    """A line up to a label would cross the roof, as if the entry were above it."""
    plot = roofline(comparison(first=12_500.0, second=14_000.0, third=15_000.0, last=900_000.0))
    reached = [points[-1].gflops for points in plot.entries.values()]
    places = label_places(plot)
    assert all(place <= gflops * 1.0001 for place, gflops in zip(places, reached, strict=True))
    assert list(places) == sorted(places, reverse=True)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=12), st.floats(0.01, 2))
def test_labels_are_moved_apart_in_order(places, least):
    found = spaced(places, least, (0, 10))
    room = min(least, 10 / max(len(places) - 1, 1))
    ordered = sorted(range(len(places)), key=lambda i: (places[i], i))
    assert all(found[b] - found[a] >= room - 1e-9 for a, b in itertools.pairwise(ordered))
    assert all(-1e-9 <= f <= 10 + 1e-9 for f in found)


def test_labels_with_room_stay_where_they_are():
    assert spaced([5.0, 1.0, 9.0], 1.0, (0, 10)) == (5.0, 1.0, 9.0)
    assert spaced([5.0, 5.0], 1.0, (0, 10)) == (4.5, 5.5)


def test_the_same_roofline_gives_the_same_svg():
    first, second = (figure_svg(draw_roofline(comparison(a=20_000.0, b=30_000.0))) for _ in range(2))
    assert first == second and "FMA peak, float32: 100 GFLOP/s" in first and "copy: 10 GB/s" in first


def test_an_entry_looks_the_same_in_all_payloads_and_markers_in_the_axes_are_measurements():
    one = comparison(numpy=20_000.0, mine=30_000.0)
    other = dataclasses.replace(comparison(mine=20_000.0), bytes=500_000)
    figure = draw_roofline({"first": one, "second": other})
    (axes,) = figure.axes
    right = axes.get_xlim()[1]
    points = [line for line in axes.lines if line.get_marker() not in (None, "None", "", "_", "|")]
    inside = [line for line in points if line.get_xdata()[0] <= right]
    assert [line.get_xdata()[0] for line in inside] == [20, 2, 20]
    assert all(line.get_xdata()[0] > right for line in points if line not in inside)
    looks = [(line.get_color(), line.get_marker()) for line in inside]
    assert looks[1] == looks[2] != looks[0]


def test_roofs_of_several_runs_are_said_to_be_and_shares_are_of_the_own_one():
    one = comparison(a=20_000.0)
    other = dataclasses.replace(one, limits=CoreLimits(fma_gflops=80, fma_f64_gflops=40, copy_gbytes=9))
    plot = roofline({"first": one, "second": other})
    assert (plot.peak_gflops, plot.copy_gbytes) == (100, 10)
    assert [p.of_roof for p in plot.points] == [0.5, 0.625]
    assert "highest of 2 runs (80 – 100 GFLOP/s, 9 – 10 GB/s)" in plot.note and "same run" not in plot.note
    assert "in the same run" in roofline(one).note


def test_several_runs_have_one_label_per_entry_and_their_names_above_the_axes():
    runs = {
        f"product of {n}": dataclasses.replace(
            comparison(numpy=20_000.0 + n, mine=30_000.0 - n), bytes=100_000 - n
        )
        for n in range(4)
    }
    figure = draw_roofline(runs)
    (axes,) = figure.axes
    figure.canvas.draw()
    said = [text for text in axes.texts if "of the roof" in text.get_text()]
    assert [text.get_text().partition("\n")[0] for text in said] == ["numpy", "mine"]
    assert "50 – 50 GFLOP/s" not in said[1].get_text() and "33.3 GFLOP/s" in said[1].get_text()
    names = [text for text in axes.texts if text.get_text() in runs]
    inside = axes.get_window_extent()
    places = sorted(tuple(axes.transData.transform(name.get_position())) for name in names)
    letters = 8 / 72 * figure.dpi  # turned names are as wide as their letters are high
    assert len(places) == 4 and all(b[0] - a[0] > letters for a, b in itertools.pairwise(places))
    assert all(y > inside.y1 and inside.x0 <= x <= inside.x1 for x, y in places)


def test_a_figure_grows_until_all_labels_have_room():
    plot = roofline(comparison(**{f"entry {n}": 20_000.0 for n in range(30)}))
    figure = draw_roofline(comparison(**{f"entry {n}": 20_000.0 for n in range(30)}))
    figure.canvas.draw()
    boxes = sorted(
        (t.get_window_extent() for t in figure.axes[0].texts if "of the roof" in t.get_text()),
        key=lambda b: b.y0,
    )
    assert len(boxes) == len(plot.points) == 30 and all(a.y1 <= b.y0 for a, b in itertools.pairwise(boxes))


def test_numbers_that_read_alike_are_said_once():
    one = comparison(a=20_000.0)
    plot = roofline({"first": one, "second": dataclasses.replace(one, bytes=49_000)})
    assert "highest of 2 runs (100 GFLOP/s, 10 GB/s)" in plot.note
    (axes,) = draw_roofline({"first": one, "second": one}).axes
    assert "a\n50 GFLOP/s, 50 % of the roof" in [text.get_text() for text in axes.texts]


def test_points_above_the_slope_are_explained():
    cached = dataclasses.replace(comparison(a=20_000.0), bytes=1_000_000)
    assert roofline(cached).points[0].of_roof == 5 and "stays in the caches" in roofline(cached).note
    assert "stays in the caches" not in roofline(comparison(a=20_000.0)).note


def test_the_label_of_the_slope_is_in_the_widest_gap_between_points():
    runs = {
        f"run {n}": dataclasses.replace(comparison(a=2_000_000.0), bytes=size)
        for n, size in enumerate((4_000_000, 2_000_000, 1_000_000))
    }
    (axes,) = draw_roofline(runs).axes
    (label,) = [text for text in axes.texts if text.get_text().startswith("copy")]
    intensities = sorted(p.intensity for p in roofline(runs).points)
    assert intensities[-1] < label.xy[0] < roofline(runs).ridge
