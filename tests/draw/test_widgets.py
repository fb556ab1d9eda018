"""Widgets by their traits, without a browser: one selection for all views of a trace."""

import sys

import pytest
import traitlets

import lhkit
from lhkit.draw import live_view as drawing_module
from lhkit.draw.live_view import LIVE, Drawing, in_frames
from lhkit.draw.view_widgets import Selection, ViewWidget, make_live, selection_of
from lhkit.draw.viewer import Pane, View, ViewStep

STEPS = (ViewStep(-1, "before"), ViewStep(0, "step 0"))


def view(key, html="<p>x</p>"):
    return View(key, (Pane("p", "P", html),), STEPS)


def test_views_of_one_trace_share_what_is_selected_and_others_do_not():
    first, second, other = ViewWidget(view("a")), ViewWidget(view("a", "y")), ViewWidget(view("b"))
    first.selection = {"kind": "handle", "id": "h2"}
    first.step = 0
    assert second.selection == {"kind": "handle", "id": "h2"} and second.step == 0
    assert other.selection is None and other.step is None
    selection_of("a").clear()
    assert first.selection is None


def test_a_view_made_later_shows_what_is_selected():
    first = ViewWidget(view("later"))
    selection_of("later").select("op", "o1 o2")
    assert ViewWidget(view("later")).selection == {"kind": "op", "id": "o1 o2"} == first.selection


@pytest.mark.parametrize("value", [{"kind": "place", "id": "x"}, {"kind": "op"}, {"kind": "op", "id": 3}])
def test_what_is_no_selection_is_refused(value):
    with pytest.raises(traitlets.TraitError, match="a selection has a kind"):
        Selection().value = value


def test_equal_pictures_have_one_widget():
    assert make_live(view("same")) is make_live(view("same"))
    assert make_live(view("same")) is not make_live(view("same", "other"))


def test_a_drawing_is_live_only_with_a_kernel(monkeypatch):
    made = []
    picture = Drawing(view("k"), "text", lambda: lhkit.draw.svg.svg(9, 9, label="d", themed=False))
    monkeypatch.setattr("lhkit.draw.view_widgets.make_live", lambda view, _: made.append(view))
    static = picture._repr_mimebundle_()
    assert made == [] and set(static) == {"text/html", "text/plain", "image/svg+xml", "image/png"}
    monkeypatch.setattr("lhkit.draw.live_view.is_live", lambda: True)
    assert picture._repr_mimebundle_() == static and made == [picture.view]
    monkeypatch.setenv(drawing_module.LIVE, "0")
    picture._repr_mimebundle_()
    assert len(made) == 1 and repr(picture) == "text"


def test_outputs_are_framed_where_the_host_says_so(monkeypatch):
    monkeypatch.delenv(LIVE, raising=False)
    assert not in_frames()
    monkeypatch.setitem(sys.modules, "google.colab", object())
    assert not in_frames(), "no kernel"
    monkeypatch.setattr("lhkit.draw.live_view.is_live", lambda: True)
    assert in_frames()
    monkeypatch.setenv(LIVE, "0")
    assert not in_frames()
