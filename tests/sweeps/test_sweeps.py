"""Drawings of sweeps: what they draw is in records, and files of one figure are the same bytes."""

import dataclasses
import re

import pytest
from matplotlib.colors import to_hex
from sweep_records import grid, record, result_of

from lhkit.draw.figures import figure_html, figure_pdf, figure_png, figure_svg
from lhkit.model.errors import UsageError
from lhkit.model.measurement import Interval
from lhkit.sweeps.confirmation import Ahead, Confirmation, Standing, Verdict, ahead_of, describe_confirmation
from lhkit.sweeps.parallel_coordinates import (
    curve_through,
    draw_parallel_coordinates,
    parallel_coordinates,
)
from lhkit.sweeps.sweep_charts import (
    MARKS,
    draw_heat_map,
    draw_history,
    draw_statuses,
    heat_map,
    status_bars,
    sweep_history,
)
from lhkit.sweeps.sweep_files import frame_of_records
from lhkit.sweeps.sweep_table import sweep_table, sweep_text


def cost(m, n, **others):
    if (m, n) == (1, 64):
        return "crashed"
    return 100 * (1 + abs(m - 2)) * (n // 16) * (1 + sum(others.values()))


def two():
    return grid(cost, m=(1, 2, 4), n=(16, 64))


def test_cells_hold_multiples_of_the_best_and_marks_of_failures():
    heat = heat_map(two())
    assert (heat.x_name, heat.x_values, heat.y_name, heat.y_values) == ("m", ("1", "2", "4"), "n", ("16", "64"))
    (facet,) = heat.facets
    cells = {(c.column, c.row): c for c in facet.cells}
    assert [cells[x, 0].text for x in range(3)] == ["2.00", "1.00", "3.00"]
    assert (cells[0, 1].text, cells[0, 1].level) == ("†", None)
    assert heat.legend == (("†", "crashed"),)
    assert [c.text for c in facet.cells if c.is_framed] == ["1.00"]
    assert (cells[1, 0].level, cells[2, 1].level) == (1.0, 0.0)
    assert (heat.best_ns, heat.worst) == (100, 12.0)


def test_the_winner_is_framed_where_there_is_one():
    records = two()
    heat = heat_map(records, ahead=Ahead(frozenset({records[0].key}), "winner when timed again"))
    assert "framed: winner when timed again" in draw_heat_map(heat).get_suptitle()
    assert [(c.column, c.row) for c in heat.facets[0].cells if c.is_framed] == [(0, 0)]


def test_the_knob_with_the_fewest_values_makes_the_facets():
    heat = heat_map(grid(cost, m=(1, 2, 4), b=(0, 1), n=(16, 32, 64)))
    assert [f.label for f in heat.facets] == ["b = 0", "b = 1"]
    assert sum(len(f.cells) for f in heat.facets) == 18


def test_a_map_under_way_has_room_for_what_is_to_come():
    heat = heat_map(two()[:2], values={"m": (1, 2, 4), "n": (16, 64)})
    assert heat.x_values == ("1", "2", "4") and len(heat.facets[0].cells) == 2
    assert ("no cell:", "not tried") in heat.legend
    assert heat_map([], values={"m": (1, 2), "n": (1, 2)}).facets[0].cells == ()


def test_one_knob_makes_one_row_and_four_make_no_map():
    assert heat_map(grid(lambda m: 10 * m, m=(1, 2))).y_values == ("",)
    many = grid(lambda **knobs: 1 + sum(knobs.values()), a=(0, 1), b=(0, 1), c=(0, 1), d=(0, 1))
    with pytest.raises(UsageError, match="two or three knobs, not 4: a, b, c, d"):
        heat_map(many)


def test_hopeless_and_equal_variants_have_cells():
    first = record({"m": 1}, 100)
    twin = record({"m": 2}, status="same-as", number=1, same_as=first.key)
    hopeless = record({"m": 4}, 950, status="stopped-early", number=2)
    dead = record({"m": 8}, status="crashed", number=3)
    dead_too = record({"m": 16}, status="same-as", number=4, same_as=dead.key)
    records = [first, twin, hopeless, dead, dead_too]
    texts = [c.text for c in heat_map(records).facets[0].cells]
    assert texts == ["1.00", "1.00", "≈9.50", "†", "†"]
    assert heat_map(records).legend == (("†", "crashed"), ("≈", "rough: stopped early"))
    history = sweep_history(records)
    assert (history.timed, history.early) == (((1, 1.0), (2, 1.0)), ((3, 9.5),))
    labels = [text.get_text() for text in draw_history(history).legends[0].get_texts()]
    assert labels == ["variants", "stopped early, rough (1)", "best so far", "failed (1)"]
    assert 'class="lh-narrow"' in figure_html(draw_history(history))
    assert history.failed == (4,)  # its equal never ran, and the outcomes count one
    assert sum(bar.count for bar in status_bars(records) if bar.status == "crashed") == 1


def test_what_is_missing_in_a_frame_is_written_in_one_way():
    written = frame_of_records(
        [record({"m": 1}, 100), record({"m": 2}, status="crashed", number=1)]
    ).to_string()
    assert "<NA>" in written and "NaN" not in written and "None" not in written


def test_marks_differ():
    assert len(set(MARKS.values())) == len(MARKS)


def test_who_is_ahead_is_seen_on_every_colour_of_the_map():
    plot = parallel_coordinates(grid(cost, m=(1, 2, 4), n=(16, 64, 256)))
    best = [line for line in draw_parallel_coordinates(plot).axes[0].lines if line.get_linewidth() > 3]
    framed = [patch for patch in draw_heat_map(heat_map(two())).axes[0].patches if patch.get_path_effects()]
    assert len(best) == 1 and best[0].get_zorder() == 4 and len(framed) == 1
    assert to_hex(framed[0].get_edgecolor()) == "#000000"
    assert framed[0].get_path_effects()


def test_numbers_in_cells_have_the_same_colour_on_every_paper():
    drawn = figure_svg(draw_heat_map(heat_map(two())))
    fills = {said: fill for fill, said in re.findall(r"fill: ([^;\"]+)[^>]*>([\d.]+)</text>", drawn)}
    assert fills["12"] == "#fdfdfd" and fills["1.00"] == "#101014"


def test_values_on_the_axes_can_be_read_on_dark_paper():
    drawn = figure_svg(
        draw_parallel_coordinates(parallel_coordinates(grid(cost, m=(1, 2, 4), n=(16, 64, 256))))
    )
    fills = {
        fill
        for fill, said in re.findall(r'<text fill="([^"]+)"[^>]*>([^<]*)<', drawn)
        if said.startswith("256 (")
    }
    assert fills == {"currentColor"}
    assert set(re.findall(r"fill: ?(#\w+)", drawn)).isdisjoint({"#1b1b1f", "#ffffff"})


def test_lines_cross_the_axes_at_their_values_and_the_best_lies_on_top():
    plot = parallel_coordinates(grid(cost, m=(1, 2, 4), n=(16, 64, 256)))
    assert [a.name for a in plot.axes] == ["n", "m"] and plot.axes[1].values == (1, 2, 4)
    best = plot.lines[-1]
    assert (best.places, best.is_best, best.level, best.ratio) == ((0, 1), True, 1.0, 1.0)
    assert [line.ratio for line in plot.lines] == sorted((line.ratio for line in plot.lines), reverse=True)
    assert (plot.variants, plot.failed, len(plot.lines)) == (9, 1, 8)
    assert plot.least == ((1.0, 4.0, 16.0), (2.0, 1.0, 3.0))
    with pytest.raises(UsageError, match="no knob was varied"):
        parallel_coordinates(two()[:1])


def test_colours_are_in_the_order_of_times_whoever_is_ahead():
    """A slow one may be ahead when timed again; the scale beside the lines still runs from slow to fast."""
    records = grid(lambda m, n: 100 * m * n, m=(1, 2, 4), n=(1, 2, 4))
    slow = next(r.key for r in records if r.values == {"m": 4, "n": 2})
    plot = parallel_coordinates(records, ahead=Ahead(frozenset({slow}), "ahead so far, undecided"))
    ratios = [line.ratio for line in sorted(plot.lines, key=lambda line: line.level)]
    assert ratios == sorted(ratios, reverse=True) and ratios[-1] == 1.0
    scale = draw_parallel_coordinates(plot).axes[-1]
    assert [label.get_text() for label in scale.get_yticklabels()] == ["16×", "1×"]


def test_of_hundreds_of_variants_the_fastest_are_lines_and_the_rest_is_a_net():
    plot = parallel_coordinates(grid(lambda a, b: 100 + a * b, a=range(50), b=range(50)))
    assert plot.variants == 2500 and len(plot.lines) == 10 and plot.lines[-1].is_best
    assert len(plot.rest) == 2500 and {part.share for part in plot.rest} == {1.0}
    axes = draw_parallel_coordinates(plot).axes[0]
    (net,) = axes.collections
    heights = {place / 49 for place in range(50)}
    assert {y for segment in net.get_segments() for _, y in segment} == heights
    assert all(line.get_zorder() > net.get_zorder() for line in axes.lines)


def test_the_history_holds_the_best_so_far_and_what_failed():
    history = sweep_history(two())
    assert history.timed[0] == (1, 2.0) and history.failed == (2,)
    assert history.best == {"": ((1, 2.0), (2, 2.0), (3, 1.0), (4, 1.0), (5, 1.0), (6, 1.0))}
    assert history.best_ns == 100
    assert sweep_history([]).best_ns is None


def test_lines_of_several_payloads_differ_in_more_than_their_colour():
    history = sweep_history(grid(lambda payload, n: 10 * n, payload="abcd", n=(1, 2)))
    lines = draw_history(history).axes[0].lines
    looks = [(line.get_linestyle(), line.get_marker()) for line in lines]
    assert len(looks) == len(set(looks)) == 4
    assert {(line.get_color(), line.get_linestyle()) for line in lines} == {
        (line.get_color(), line.get_linestyle()) for line in lines[:3]
    } | {(lines[0].get_color(), "--")}


def test_the_axis_of_a_history_reaches_the_last_variant_though_it_was_stopped_early():
    early = [record({"m": m}, 950, status="stopped-early", number=m) for m in (2, 3)]
    axes = draw_history(sweep_history([record({"m": 1}, 100, number=1), *early])).axes[0]
    assert max(axes.lines[0].get_xdata()) == 3 < axes.get_xlim()[1]


def test_words_for_a_value_that_was_never_timed_are_no_longer_than_its_time_would_be():
    records = grid(lambda m, n: "crashed" if m == 512 else 10 * m + n, m=(256, 512), n=(1, 2))
    said = [text.get_text() for text in draw_parallel_coordinates(parallel_coordinates(records)).axes[0].texts]
    (never,) = (words for words in said if words.startswith("512 ("))
    assert len(never) <= len("512 (1.00×)")


def test_failures_are_not_said_to_be_among_the_fastest():
    said = draw_parallel_coordinates(parallel_coordinates(two())).get_suptitle()
    assert "of 6 variants (1 failed);" in said.replace("\n", " ")


def test_bars_say_how_many_and_why():
    ok, crashed = status_bars(two())
    assert (ok.status, ok.count) == ("ok", 5)
    assert (crashed.status, crashed.count, crashed.text) == ("crashed", 1, "crashed at 1")


@pytest.mark.parametrize(
    "draw",
    [
        lambda: draw_heat_map(heat_map(two())),
        lambda: draw_parallel_coordinates(parallel_coordinates(two())),
        lambda: draw_history(sweep_history(two())),
        lambda: draw_statuses(status_bars(two())),
    ],
    ids=["heat", "parallel", "history", "statuses"],
)
def test_figures_are_files_and_always_the_same(draw):
    svg = figure_svg(draw())
    assert svg.startswith("<svg") and svg == figure_svg(draw())
    assert figure_pdf(draw()).startswith(b"%PDF") and figure_png(draw()).startswith(b"\x89PNG")


def test_numbers_of_cells_are_in_the_drawing_and_maps_of_nothing_can_be_drawn():
    svg = figure_svg(draw_heat_map(heat_map(two())))
    assert ">1.00<" in svg and ">†<" in svg and "† crashed" in svg
    assert "no variant was timed" in figure_svg(draw_heat_map(heat_map([], values={"m": (1, 2)})))
    assert figure_svg(draw_history(sweep_history([]))).startswith("<svg")


def test_a_result_shows_itself_with_its_drawing_and_what_failed():
    bundle = result_of(two(), m=(1, 2, 4), n=(16, 64))._repr_mimebundle_()
    drawn, narrow = (bundle["text/html"].count(each) for each in ("<svg", 'class="lh-narrow"'))
    assert (drawn, narrow) == (5, 3) and "image/png" in bundle  # two also for narrow columns, one fits
    assert "course and outcomes" in bundle["text/html"] and "crashed at 1" in bundle["text/plain"]
    alone = result_of(two()[1:2], m=(1,), n=(64,))._repr_mimebundle_()
    assert "image/png" not in alone


def confirmation(outcome, end, *states):
    """A confirmation of contenders a, b, … whose keys are k-a, k-b, …."""
    names = "abc"[: len(states)]
    one = Interval(1, 1, 1)
    standings = tuple(Standing(n, s, 4, 10.0, one) for n, s in zip(names, states, strict=True))
    verdict = Verdict(outcome, standings, 4, 0.95, "why")
    keys = tuple((n, f"k-{n}") for n in names)
    return Confirmation(verdict, tuple((n, ()) for n in names), keys, (), None, None, None, end, 1.0, ())


def test_one_rule_says_who_is_ahead_and_what_that_means():
    won = confirmation("winner", "decided", "leader", "slower")
    tied = confirmation("no difference", "out of processes", "leader", "open", "slower")
    under_way = confirmation("open", "out of time", "leader", "open")
    assert ahead_of([won], ["k-b"]) == Ahead(frozenset({"k-a"}), "winner when timed again")
    assert ahead_of([tied], []) == Ahead(frozenset({"k-a", "k-b"}), "not told apart when timed again")
    assert ahead_of([under_way], []) == Ahead(frozenset({"k-a"}), "ahead so far, undecided")
    assert ahead_of([], ["k-c"]) == Ahead(frozenset({"k-c"}), "fastest when timed alone, not confirmed")
    alone = confirmation("winner", "decided", "leader")
    assert ahead_of([alone], []) == Ahead(frozenset({"k-a"}), "the only contender")
    assert describe_confirmation(alone)[0] == "only contender: no other variant that was tried came near it"
    assert ahead_of([won, tied], []).words == "winner when timed again; not told apart when timed again"


def test_the_table_marks_who_is_ahead_as_the_drawings_do():
    times = {1: 100, 2: 101, 4: 300}
    records = grid(lambda m: times[m], m=(1, 2, 4))
    result = result_of(records, m=(1, 2, 4))
    assert [row[0] for row in sweep_table(result).rows] == ["▸", "", ""]
    assert "▸ fastest when timed alone, not confirmed" in sweep_text(result)
    found = confirmation("no difference", "out of processes", "leader", "open", "slower")
    keys = tuple((name, record.key) for name, record in zip("abc", records, strict=True))
    tied = dataclasses.replace(result, confirmations=(("", dataclasses.replace(found, keys=keys)),))
    assert [row[0] for row in sweep_table(tied).rows] == ["▸", "▸", ""]
    assert "▸ not told apart when timed again" in sweep_text(tied)
    framed = {
        c.text
        for c in heat_map(records, ahead=ahead_of([tied.confirmations[0][1]], [])).facets[0].cells
        if c.is_framed
    }
    assert framed == {"1.00", "1.01"}


def test_a_bar_of_failures_says_the_reason_and_not_the_place():
    said = "/a/b/tiles.mlir does not apply to <matmul 8x8 float32>: <matmul 8x8 float32>:6:14: Attempted to vectorize"
    failed = [record({"m": 1}, status="schedule-failed", message=said)]
    assert [bar.text for bar in status_bars(failed)] == ["Attempted to vectorize"]


def test_no_drawing_calls_best_what_is_undecided():
    records = grid(cost, m=(1, 2), n=(16, 32), b=(0, 1), c=(0, 1))
    for drawn in (draw_heat_map(heat_map(two())), draw_parallel_coordinates(parallel_coordinates(records))):
        svg = figure_svg(drawn)
        assert "fastest when timed alone, not confirmed" in svg and "the best" not in svg


def test_lines_meet_the_axes_at_values_that_exist_and_bend_between():
    xs, ys = curve_through([0.0, 1.0, 0.5], 0.1)
    assert {x: y for x, y in zip(xs, ys, strict=True) if x == int(x)} == {0: 0.0, 1: 1.0, 2: 0.5}
    assert curve_through([0.0, 1.0], 0.1)[1] != curve_through([0.0, 1.0], -0.1)[1]


def test_what_failed_is_counted_where_there_is_any():
    assert "(1 failed)" in figure_svg(draw_parallel_coordinates(parallel_coordinates(two())))
    whole = grid(lambda m, n: m * n, m=(1, 2), n=(3, 4))
    assert "failed" not in figure_svg(draw_parallel_coordinates(parallel_coordinates(whole)))


def test_each_payload_has_its_own_best_so_far_and_crosses_count_what_failed():
    times = {("a", 1): 10, ("a", 2): 5, ("b", 1): 1000, ("b", 2): 4000}
    history = sweep_history(
        grid(lambda payload, n: times.get((payload, n), "crashed"), payload="ab", n=(1, 2, 3))
    )
    assert history.best == {"a": ((1, 2), (2, 1), (3, 1)), "b": ((4, 1), (5, 1), (6, 1))}
    assert (history.failed, history.best_ns) == ((3, 6), None)
    figure = draw_history(history)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["variants", "best so far, a", "best so far, b", "failed (2)"]
    assert figure.axes[0].get_xlim()[0] == 0
    assert all(x > 0 for dots in figure.axes[0].collections for x, _ in dots.get_offsets())


def test_what_no_knob_explains_alone_is_said_where_it_has_no_bar():
    def drawn(records):
        axes = draw_parallel_coordinates(parallel_coordinates(records)).axes[1]
        return len(axes.patches), axes.get_xlabel()

    grown = [record({"a": n % 4, "b": n % 5}, 100 + n * n % 7, number=n) for n in range(19)]
    bars, said = drawn(grown)
    shares = [i.share for i in parallel_coordinates(grown).importance.knobs]
    rest = f"{100 * (1 - sum(shares)):.0f} % no knob explains alone:"
    assert bars == 2 and said.split("\n")[:2] == ["share of the variance of ranks", rest]
    bars, said = drawn(grid(lambda a, b: 100 + a * b, a=range(4), b=range(5)))
    assert bars == 3 and said == "share of the variance of log time"


def test_few_variants_have_no_shares_and_say_how_many_it_takes():
    few = [record({"a": n, "b": n % 3, "c": -n}, 10 + n, number=n) for n in range(6)]
    plot = parallel_coordinates(few)
    assert plot.importance.knobs == () and plot.importance.variants == 6
    assert plot.importance.too_few.endswith("what the knobs explain: 6, and it takes 19")
    svg = figure_svg(draw_parallel_coordinates(plot))
    assert "%" not in svg.split("variance")[0].split("too few")[-1]
