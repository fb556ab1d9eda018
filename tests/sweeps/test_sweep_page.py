"""The page of a sweep: whole while it runs and when it is over, with contenders and those predicted."""

import dataclasses
import math
import re
import types

from sweep_records import comparison, grid, result_of

from lhkit.sweeps import sweep_page as sweep_page_module
from lhkit.sweeps.confirmation import Confirmation, judge
from lhkit.sweeps.engine import SweepEvent
from lhkit.sweeps.strategies.predicted import Prediction
from lhkit.sweeps.sweep_page import Contender, Pace, PageWriter, contenders_of, draw_contenders, sweep_page

SCHEDULE = types.SimpleNamespace(source="tiles.mlir")


def result(**more):
    records = grid(lambda m, n: 100 * (1 + abs(m - 2)) * n, m=(1, 2, 4), n=(1, 4, 16))
    more.setdefault("schedule", SCHEDULE)
    return dataclasses.replace(result_of(records, m=(1, 2, 4), n=(1, 4, 16)), **more)


def test_a_page_has_all_drawings_and_asks_for_itself_only_while_it_runs():
    over, running = sweep_page(result(end="finished")), sweep_page(result(end=None))
    for page in (over, running):
        headings = [part.split("</h2>")[0] for part in page.split("<h2>")[1:]]
        assert headings[0].startswith("Contenders") and headings[1:] == [
            "Knobs",
            "Fastest variants, and what each knob explains",
            "History",
            "Outcomes",
            "Course",
        ]
        assert page.count("<figure") == 5 and not re.search(r"(src|href)=.http", page)
    assert 'http-equiv="refresh"' in running and 'http-equiv="refresh"' not in over
    assert "still running" in running and "still running" not in over
    assert "not finished" not in running


def test_those_predicted_are_beside_those_timed_and_open():
    predicted = Prediction((), None, 0, 0, (((("m", 2), ("n", 8)), 150.0),))
    found = contenders_of(result(prediction=predicted))
    assert (found[0].name, found[0].ratio) == ("m = 2, n = 1", 1.0) and found[0].interval[0] <= 1.0
    assert found[-1] == dataclasses.replace(found[-1], name="m = 2, n = 8", ratio=1.5, interval=None)
    fills = [line.get_fillstyle() for line in draw_contenders(found).axes[0].lines]
    assert fills.count("none") == 1 and fills[-1] == "none"


class FakeSweep:
    def result(self):
        return result(end="finished")


def test_pages_are_written_now_and_then_and_at_the_end():
    pages = []
    write = PageWriter(FakeSweep(), pages.append)
    going, over = SweepEvent(None, False, 1, 9, None), SweepEvent(None, False, 9, 9, None, "finished")
    for event in (going, going, going, over):
        write(event)
    assert len(pages) == 2


def test_a_drawing_waits_for_nine_times_as_long_as_the_last_took_but_for_the_first(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(sweep_page_module.time, "monotonic", lambda: now[0])
    pace, due = Pace(), []
    for _ in range(2):
        with pace.drawing():
            now[0] += 3.0
        for wait in (4.0, 30.0):
            now[0] += wait
            due.append(pace.is_due())
    assert due == [True, True, False, True]


def two_payloads():
    """What was timed alone of two payloads, the second a hundred times larger."""
    records = grid(
        lambda payload, m: (1 if payload == "small" else 100) * 100 * m, payload=("small", "large"), m=(1, 4)
    )
    return result_of(records, payload=("small", "large"), m=(1, 4))


def test_each_payload_has_its_contenders_and_those_ahead_are_marked_by_more_than_a_colour():
    found = contenders_of(two_payloads())
    assert [(c.name, c.ratio, c.is_ahead) for c in found] == [
        ("payload = small, m = 1", 1.0, True),
        ("payload = small, m = 4", 4.0, False),
        ("payload = large, m = 1", 1.0, True),
        ("payload = large, m = 4", 4.0, False),
    ]
    figure = draw_contenders(found, "fastest when timed alone, not confirmed")
    (axes,) = figure.axes
    said = [label.get_text() for label in axes.get_yticklabels()]
    assert [words.startswith("▸") for words in said] == [True, False, True, False]
    assert len({line.get_color() for line in axes.lines}) == 1
    assert axes.get_xlabel() == "time as a multiple of that of ▸"  # which need not be the least
    assert figure.get_supxlabel() == "▸ fastest when timed alone, not confirmed · bar: interval of the ratio"


def test_an_interval_of_one_process_is_said_to_be_missing():
    open_ended = (Contender("a", 1.0, (1.0, 1.0), is_ahead=True), Contender("b", 2.0, (0.0, math.inf)))
    figure = draw_contenders(open_ended)
    assert len(figure.axes[0].lines) == 2  # two marks, and no bar
    assert figure.get_supxlabel() == "no bar: one process tells no interval"


def test_all_drawings_of_a_page_have_the_same_variants_ahead():
    records = two_payloads().records
    runs = (comparison({"a": [100.0], "b": [90.0]}),)
    undecided = Confirmation(
        verdict=judge(runs, ["a", "b"]),
        knobs=(("a", (("payload", "small"), ("m", 1))), ("b", (("payload", "small"), ("m", 4)))),
        keys=(("a", records[0].key), ("b", records[1].key)),
        speed_ups=(),
        gflops=None,
        of_peak=None,
        hot_loops=None,
        end="out of time",
        seconds=1.0,
        runs=runs,
    )
    result = dataclasses.replace(two_payloads(), confirmations=(("small", undecided),), schedule=SCHEDULE)
    page = sweep_page(result)
    # Three drawings, two of them in two widths.
    assert "not confirmed" not in page and page.count("ahead so far, undecided") == 5
    assert [(c.name, c.is_ahead) for c in contenders_of(result)] == [
        ("payload = small, m = 4", True),
        ("payload = small, m = 1", False),
    ]
