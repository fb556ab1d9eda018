"""The gallery: every drawing answers a question, and its picture is what is drawn now."""

import sys
from pathlib import Path

import pytest

import lhkit

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import gallery  # noqa: E402 - the line above says where it is


def test_every_function_answers_a_question():
    functions = {function for _, _, function in gallery.questions()}
    drawing = {n for n in lhkit.show.__all__ if n not in ("Drawing", "Quantity", "page")}
    assert functions == drawing
    assert {call for _, call, _ in gallery.questions()} >= set(gallery.DRAWINGS)


def test_the_page_is_what_is_written_now():
    found = gallery.PAGE.read_text(encoding="utf-8")
    assert gallery.gallery_page() == found, "python docs/pictures.py writes it anew"


def test_pictures_are_what_is_drawn_now():
    drawn = gallery.pictures()
    assert {p.name for p in gallery.FOLDER.glob("*.svg")} == set(drawn)
    for name, picture in drawn.items():
        assert picture == (gallery.FOLDER / name).read_text(encoding="utf-8"), f"{name} is drawn otherwise now"


def test_a_graph_of_something_else_is_refused():
    with pytest.raises(lhkit.errors.UsageError, match="not of a Schedule"):
        lhkit.show.graph(lhkit.load_schedule("fc_relu_handles.mlir"))
