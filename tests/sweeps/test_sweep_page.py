"""The page of a sweep: whole while it runs and when it is over, with contenders and those predicted."""

import dataclasses
import re
import types

from sweep_records import grid, result_of

from lhkit.sweeps.engine import SweepEvent
from lhkit.sweeps.strategies.predicted import Prediction
from lhkit.sweeps.sweep_page import PageWriter, contenders_of, draw_contenders, sweep_page

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
        assert page.count("<svg") == 5 and not re.search(r"(src|href)=.http", page)
    assert 'http-equiv="refresh"' in running and 'http-equiv="refresh"' not in over
    assert "still running" in running and "still running" not in over


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
