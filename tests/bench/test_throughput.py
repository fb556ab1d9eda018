"""Plots: what they draw is in a record, and files of one figure are the same bytes."""

import dataclasses
import itertools
import re

import pytest

from lhkit.bench.speed_charts import (
    draw_roofline,
    draw_speed_bars,
    draw_throughput,
    ratio_ticks,
    roofline,
    speed_bars,
    throughput_plot,
)
from lhkit.draw.figures import figure_html, figure_pdf, figure_png, figure_svg
from lhkit.draw.tables import comparison_lines, comparison_table, format_share
from lhkit.model.errors import UsageError
from lhkit.model.measurement import Comparison, CoreLimits, Measurement


def comparison(size=10, flops=1000, scale=1.0):
    rounds = range(8)
    return Comparison(
        payload=f"matmul {size}",
        payload_sha256="0" * 64,
        measurements=(
            Measurement("NumPy", tuple((r, scale * (20.0 + 0.1 * r)) for r in rounds), timed_by="Python"),
            Measurement("k", tuple((r, scale * (10.0 + 0.1 * r)) for r in rounds)),
        ),
        anchor="NumPy",
        rounds=8,
        seed=0,
        environment=(("cpu", "x"),),
        limits=CoreLimits(150.0, 75.0, 10.0),
        flops=flops,
        bytes=50,
        element_type="float32",
        core=1,
    )


def test_bars_hold_speed_interval_and_share_of_the_limit():
    anchor, bar = speed_bars(comparison())
    assert (anchor.is_anchor, anchor.value, anchor.text) == (True, 1.0, "1×  (20.4 ns, 33 % of FMA peak)")
    assert bar.low <= bar.value <= bar.high
    assert bar.text == "1.97×  (10.3 ns, 64 % of FMA peak)"


def test_a_bar_names_the_limit_that_is_nearer():
    assert "copy bandwidth" in speed_bars(comparison(flops=10))[0].text


def test_lines_and_rooflines_and_bars_agree_on_who_is_faster():
    """An entry that sat out the slow rounds has the lower median, though it loses each round that both ran."""
    slow = tuple((r, 10.0 if r < 3 else 30.0) for r in range(8))
    first = tuple((r, 0.9 * ns) for r, ns in slow)
    rest = Measurement("quick", first), Measurement("lucky", slow[:4])
    both = dataclasses.replace(comparison(), measurements=(Measurement("NumPy", slow), *rest))
    reached = {name: points[0].gflops for name, points in throughput_plot({10: both}).lines.items()}
    assert reached == {p.entry: pytest.approx(p.gflops) for p in roofline(both).points}
    bars = {bar.label: bar.value for bar in speed_bars(both)}
    assert reached["quick"] > reached["lucky"] and bars["quick"] > bars["lucky"]


def test_lines_hold_gflops_with_intervals_in_order_of_size():
    plot = throughput_plot({512: comparison(512, 8000, 4.0), 256: comparison(256, 1000)})
    assert list(plot.lines) == ["NumPy", "k"]
    points = plot.lines["k"]
    assert [p.size for p in points] == [256, 512]
    assert points[0].gflops == pytest.approx(1000 / 10.35, rel=1e-4)
    assert points[0].low < points[0].gflops < points[0].high
    assert points[0].of_peak == pytest.approx(1000 / 10.35 / 150, rel=1e-4)
    assert plot.peak == ((256, 150.0), (512, 150.0))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(UsageError, match="no comparison"):
        throughput_plot({})
    with pytest.raises(UsageError, match="operations of matmul 10 cannot be counted"):
        throughput_plot({1: comparison(flops=None)})


@pytest.mark.parametrize(
    "draw", [lambda: draw_speed_bars(comparison()), lambda: draw_throughput({8: comparison()})]
)
def test_files_of_a_figure_are_what_they_say_and_always_the_same(draw):
    assert figure_svg(draw()).startswith("<svg") and figure_svg(draw()) == figure_svg(draw())
    assert figure_pdf(draw()).startswith(b"%PDF") and figure_pdf(draw()) == figure_pdf(draw())
    assert figure_png(draw()).startswith(b"\x89PNG")


def test_the_table_has_ranks_and_shares_where_they_are_known():
    table = comparison_table(comparison())
    assert table.header[3] == "rank"
    k = dict(zip(table.header, table.rows[1], strict=True))
    assert (k["rank"], k["GFLOP/s (of FMA peak)"], k["GB/s (of copy)"]) == ("1", "96.6 (64 %)", "4.83 (48 %)")
    assert "GFLOP/s (of FMA peak)" not in comparison_table(comparison(flops=None)).header


def test_table_bars_and_roofline_have_the_same_numbers():
    """Also where a slow entry sat out rounds in which the clock was another."""
    clock = [1.0] * 6 + [2.0] * 14
    entries = {"NumPy": (20.0, 20), "slow": (80.0, 6), "k": (10.0, 20)}
    measured = tuple(
        Measurement(name, tuple((r, ns * c) for r, c in enumerate(clock[:count])))
        for name, (ns, count) in entries.items()
    )
    run = dataclasses.replace(comparison(), measurements=measured)
    table = comparison_table(run)
    for row, bar, point in zip(table.rows, speed_bars(run), roofline(run).points, strict=True):
        cells = dict(zip(table.header, row, strict=True))
        rate, _, share = cells["GFLOP/s (of FMA peak)"].partition(" ")
        assert bar.text == f"{cells['speed vs NumPy']}  ({cells['time']}, {share.strip('()')} of FMA peak)"
        assert rate == f"{point.gflops:.3g}"
    assert [row[1] for row in table.rows] == ["40 ns", "160 ns", "20 ns"]


def test_the_lines_under_the_table_say_order_noise_limits_and_how():
    text = "\n".join(comparison_lines(comparison()))
    assert "order: k > NumPy" in text
    assert "noise: quiet" in text
    assert "FMA 150 GFLOP/s in float32, 75 in float64; copy 10 GB/s (read and written)" in text
    assert "8 rounds, core 1, warm caches, buffers at odd multiples of 64 bytes" in text
    assert "NumPy: called from Python" in text


@pytest.mark.parametrize(
    ("share", "text"), [(0.841, "84 %"), (0.0996, "10 %"), (0.0123, "1.2 %"), (1.2, "120 %")]
)
def test_shares_are_in_per_cent(share, text):
    assert format_share(share) == text


def test_speeds_are_dots_on_a_logarithmic_axis_and_ties_are_seen():
    tied = dataclasses.replace(comparison().measurements[1], name="also k")
    both = dataclasses.replace(comparison(), measurements=(*comparison().measurements, tied))
    assert [b.rank for b in speed_bars(both)] == ["3", "1=", "1="]
    figure = draw_speed_bars(both)
    axes, beside = figure.axes
    assert axes.get_xscale() == "log" and not axes.patches
    said = [label.get_text().split("\n") for label in beside.get_yticklabels()]
    assert [first.partition(", rank ")[2] for first, _ in said] == ["3", "1=", "1="]
    assert said[0] == ["1×, rank 3", "(20.4 ns, 33 % of FMA peak)"]
    assert "=  tied" in figure.get_supxlabel() and "tied" not in draw_speed_bars(comparison()).get_supxlabel()


def test_in_a_narrow_column_speeds_keep_the_tick_of_the_anchor():
    slow = tuple((r, 100 * ns) for r, ns in comparison().measurements[1].samples_ns)
    named = dataclasses.replace(
        comparison().measurements[1], name="a name of twenty-eight chars", samples_ns=slow
    )
    both = dataclasses.replace(comparison(), measurements=(*comparison().measurements, named))
    narrow = figure_html(draw_speed_bars(both)).partition('class="lh-narrow"')[2]
    said = re.findall(r"<text[^>]*>([^<]*)</text>", narrow)
    assert "1×" in said and "NumPy: 1×, rank 2 (20.4 ns, 33 % of FMA peak)" in said


@pytest.mark.parametrize(("low", "high"), [(0.9, 1.1), (0.01, 1.3), (0.5, 40), (1e-6, 1e6)])
def test_ticks_of_ratios_are_few_round_and_within(low, high):
    ticks = ratio_ticks(low, high)
    assert 1 <= len(ticks) <= 5 and all(low <= t <= high for t in ticks) and 1.0 in ticks


def test_a_long_name_of_one_word_keeps_its_beginning():
    long = dataclasses.replace(comparison().measurements[1], name="k" * 300)
    named = dataclasses.replace(comparison(), measurements=(comparison().measurements[0], long))
    for figure in (draw_throughput({8: named, 16: named}), draw_roofline(named)):
        figure.canvas.draw()  # a warning of the layout is an error
        texts = [
            *figure.axes[0].texts,
            *(legend.get_texts()[-1] for legend in [figure.axes[0].get_legend()] if legend),
        ]
        assert any(text.get_text().startswith("kkkk") and "…" in text.get_text() for text in texts)


def test_sizes_are_on_a_logarithmic_axis_with_ticks_where_something_was_measured():
    (axes,) = draw_throughput({512: comparison(512, 8000, 4.0), 256: comparison(256, 1000)}).axes
    assert axes.get_xscale() == "log" and list(axes.get_xticks()) == [256, 512]


def test_labels_of_sizes_and_ratios_do_not_run_into_one_another():
    sizes = (64, 128, 256, 512, 768, 1000, 1024, 2048)
    throughput = draw_throughput({size: comparison(size, size**3) for size in sizes})
    slow = dataclasses.replace(comparison().measurements[0], name="slow", samples_ns=((0, 2000.0), (1, 2010.0)))
    few = dataclasses.replace(comparison(), measurements=(*comparison().measurements, slow))
    for figure in (throughput, draw_speed_bars(few)):
        figure.canvas.draw()
        labels = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
        boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.x0)
        assert len(boxes) >= 3 and all(a.x1 + 2 < b.x0 for a, b in itertools.pairwise(boxes))
        assert all(label.get_rotation() == 0 for label in labels)
    assert list(throughput.axes[0].get_xticks()) == list(sizes)


def test_the_share_beside_a_time_is_that_of_this_time_also_where_the_clock_drifts():
    late = tuple((r, 20.0 if r < 8 else 10.0) for r in range(5, 13))  # it sat out the slow rounds
    anchor = tuple((r, 40.0 if r < 8 else 20.0) for r in range(13))
    entries = (Measurement("NumPy", anchor), Measurement("k", late))
    bars = speed_bars(dataclasses.replace(comparison(), measurements=entries))
    assert [bar.text for bar in bars] == [
        "1×  (40 ns, 17 % of FMA peak)",
        "2×  (20 ns, 33 % of FMA peak)",  # of its own median, 10 ns, it were 67 %
    ]


def test_lines_of_entries_in_the_same_colour_have_different_dashes():
    entries = tuple(dataclasses.replace(comparison().measurements[1], name=name) for name in "abcd")
    both = dataclasses.replace(comparison(), measurements=entries, anchor="a")
    (axes,) = draw_throughput({8: both, 16: both}).axes
    looks = [(c[0].get_color(), c[0].get_linestyle()) for c in axes.containers]
    assert len(looks) == 4 and len(set(looks)) == 4 and len({color for color, _ in looks}) < 4
