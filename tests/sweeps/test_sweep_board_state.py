"""What the board of a sweep is sent, while variants are tried, while the best are confirmed, and at the end."""

import contextlib
import json
from types import SimpleNamespace

from sweep_records import comparison, grid, result_of

from lhkit.sweeps import sweep_board
from lhkit.sweeps.confirmation import Ahead, ConfirmingEvent, judge
from lhkit.sweeps.engine import SweepEvent
from lhkit.sweeps.sweep_board import SweepBoard, board_state

RECORDS = tuple(grid(lambda a, b: "crashed" if a == 1 else 100 * b, a=(0, 1), b=(1, 2)))


def sweep(**changes):
    axes = [SimpleNamespace(name="a", values=(0, 1)), SimpleNamespace(name="b", values=(1, 2))]
    known = {"records": RECORDS, "total": 4, "failure": None, "end": None, "best": RECORDS[0]}
    known |= {"space": SimpleNamespace(axes=axes), "confirming": None, "confirmations": {}}
    known["result"] = lambda: result_of(known["records"], a=(0, 1), b=(1, 2))
    return SimpleNamespace(**known | changes)


def test_variants_failures_best_and_map_are_shown():
    state = board_state(sweep())
    assert (state["done"], state["total"], state["end"], state["confirming"]) == (4, 4, None, None)
    assert state["best"] == "a = 0, b = 1: 100 ns" and state["failures"] == [["crashed", 2]]
    assert {cell["text"] for cell in state["heat"]["facets"][0]["cells"]} == {"1.00", "2.00", "†"}
    json.dumps(state, allow_nan=False)


def test_at_the_end_the_map_frames_who_is_ahead_as_the_charts_below_do(monkeypatch):
    monkeypatch.setattr(sweep_board, "leaders", lambda result: Ahead(frozenset({RECORDS[1].key}), "the winner"))
    for end, words, text in (
        (None, "fastest when timed alone, not confirmed", "1.00"),
        ("finished", "the winner", "2.00"),
    ):
        heat = board_state(sweep(end=end))["heat"]
        framed = [cell["text"] for facet in heat["facets"] for cell in facet["cells"] if cell["is_framed"]]
        assert (heat["framed"], framed) == (words, [text])


def test_a_confirmation_is_shown_while_it_runs_and_what_it_found_afterwards():
    state = board_state(sweep(confirming=ConfirmingEvent(3, 16, ("x", "y"), 30.0)))
    assert state["confirming"] == {"done": 3, "total": 16, "words": "2 in the race"}
    verdict = judge([comparison({"x": [1.0], "y": [2.0 + i / 100]}) for i in range(4)], ["x", "y"])
    found = {"": SimpleNamespace(verdict=verdict)}
    state = board_state(sweep(end="finished", confirmations=found))
    assert state["confirming"]["words"] == verdict.reason and "x is faster than y" in verdict.reason
    state = board_state(sweep(end="finished", confirmations={"64": found[""], "128": found[""]}))
    assert state["confirming"]["words"].startswith("64: x is faster")


def test_charts_of_the_page_are_drawn_in_turn_and_at_the_end_all(monkeypatch):
    monkeypatch.setattr(sweep_board, "_SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(sweep_board, "drawn", lambda figure: figure)
    monkeypatch.setattr(sweep_board, "page_charts", lambda result: {n: lambda n=n: n + result for n in NAMES})
    listeners = []
    running = sweep(subscribe=lambda show: listeners.append(show) or (lambda: None), result=lambda: "1")
    board = SweepBoard(running)
    board._loading.join(timeout=60)
    board._pace = SimpleNamespace(is_due=lambda: True, drawing=contextlib.nullcontext)
    shown = []
    for end, running.result in ((None, lambda: "1"), (None, lambda: "2"), ("finished", lambda: "3")):
        listeners[0](SweepEvent(None, False, 1, 4, None, end))
        shown.append(board.charts)
    assert shown == [
        {"Contenders": "Contenders1"},
        {"Contenders": "Contenders1", "History": "History2"},
        {"Contenders": "Contenders3", "History": "History3"},
    ]
    board.close()


NAMES = ("Contenders", "Knobs", "History", "Outcomes")
