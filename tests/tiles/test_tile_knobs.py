"""Tile pictures that follow knobs, by their traits: no browser."""

import re

import pytest

import lhkit
from lhkit.draw.view_widgets import KnobView
from lhkit.draw.viewer import Pane, View
from lhkit.model.trace_json import trace_from_json, trace_to_json

TILED = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %size = transform.tune.knob<"tile_m"> = 8 : i64 from options = [4, 8, 16] -> !transform.param<i64>
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %matmul tile_sizes [%size]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""


@pytest.fixture(scope="module")
def trace():
    return lhkit.trace(lhkit.payloads.fc_relu(16, 32, 8), lhkit.load_schedule(TILED, name="tiled.mlir"))


def test_a_knob_that_moves_traces_again_and_draws_again(trace):
    drawing = lhkit.show.tiles(trace, knobs=True)
    (pane,) = drawing.view.panes
    assert pane.title == "Tiles of linalg.matmul: tile_m = 8" and len(pane.frames) == 2
    widget = drawing.widget
    assert 'data-knob="tile_m"' in widget.controls and 'data-values="[4, 8, 16]"' in widget.controls
    widget.knobs = {"tile_m": 4}
    (moved,) = widget.content["panes"]
    assert moved["title"] == "Tiles of linalg.matmul: tile_m = 4" and len(moved["frames"]) == 4
    assert widget.said == "" and widget.content["key"] == drawing.view.key


def test_a_value_that_is_refused_leaves_the_picture_and_says_why(trace):
    widget = lhkit.show.tiles(trace, knobs=True).widget
    before = widget.content
    widget.knobs = {"tile_m": 5}
    assert widget.content == before and "tile_m" in widget.said and "cannot be '5'" in widget.said
    assert widget.drawn == {"tile_m": 8}, "a page that loses the kernel shows what the picture does"
    widget.knobs = {"tile_m": 16}
    assert widget.content != before and widget.said == "" and widget.drawn == {"tile_m": 16}


def test_a_page_that_asks_is_told_that_the_kernel_is_there(trace, monkeypatch):
    sent, widget = [], lhkit.show.tiles(trace, knobs=True).widget
    monkeypatch.setattr(type(widget), "send", lambda _, content, buffers=None: sent.append(content))
    widget._handle_custom_msg({"do": "beat", "by": "k", "id": "k-beat-1"}, [])
    assert sent == [{"done": "k-beat-1"}]


def test_without_a_kernel_it_is_the_picture_alone(trace):
    drawing = lhkit.show.tiles(trace, knobs=True)
    html = drawing._repr_mimebundle_()["text/html"]
    assert "tile_m = 8" in html and "<input" not in html and "<script" not in html


def test_values_that_come_while_a_drawing_is_due_are_dropped():
    drawn, due = [], []

    def redraw(values):
        drawn.append(values["n"])
        return View("k", (Pane("p", str(values["n"]), ""),)), ""

    widget = KnobView(View("k", (Pane("p", "P"),)), "", {"n": 0}, redraw, due.append)
    for n in range(1, 9):
        widget.knobs = {"n": n}
    assert len(due) == 1 and drawn == []
    due.pop()()
    assert drawn == [8] and widget.content["panes"][0]["title"] == "8"
    widget.knobs = {"n": 9}
    due.pop()()
    assert drawn == [8, 9]


def test_a_picture_and_its_values_reach_the_page_in_one_message(monkeypatch):
    def redraw(values):
        return View("k", (Pane("p", str(values["n"]), ""),)), "slow"

    widget = KnobView(View("k", (Pane("p", "P"),)), "", {"n": 0}, redraw, lambda act: act())
    sent = []
    monkeypatch.setattr(KnobView, "comm", object())  # as in a kernel: without one nothing is sent
    monkeypatch.setattr(
        KnobView, "send_state", lambda self, key: sent.append({key} if isinstance(key, str) else {*key})
    )
    widget.knobs = {"n": 1}
    assert sent == [{"knobs"}, {"content", "drawn", "said"}]


def test_where_no_knob_can_move_it_says_so(trace):
    fixed = re.sub(
        r"transform\.tune\.knob.*", "transform.param.constant 8 : i64 -> !transform.param<i64>", TILED
    )
    no_knobs = lhkit.trace(lhkit.payloads.fc_relu(16, 32, 8), lhkit.load_schedule(fixed, name="fixed.mlir"))
    for shown, words in [
        (no_knobs, "no knob that lists its values"),
        (trace_from_json(trace_to_json(trace)), "no schedule whose knobs"),
        (lhkit.payloads.fc_relu(16, 32, 8), "no schedule whose knobs"),
    ]:
        with pytest.raises(lhkit.LhkitError, match=words):
            lhkit.show.tiles(shown, knobs=True)
