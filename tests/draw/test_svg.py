"""Elements: what is text stays text, roles become colours, a drawing becomes a picture."""

import xml.etree.ElementTree as ET

from lhkit.draw.svg import drawing_id, element, escaped, fitted, marks, svg, svg_png, text_width
from lhkit.draw.theme import ROLES, theme_style


def test_text_and_attributes_are_escaped():
    hostile = "<script>alert('1')</script>\"&"
    drawn = svg(
        10, 10, element("text", escaped(hostile), x=1.0, class_="a b", aria_label=hostile), label=hostile
    )
    root = ET.fromstring(drawn)
    inner = root.find("{http://www.w3.org/2000/svg}text")
    assert inner.text == hostile and inner.get("aria-label") == hostile and inner.get("class") == "a b"
    assert root.get("aria-label") == hostile and "<script" not in drawn


def test_roles_are_a_light_colour_and_a_class():
    rect = ET.fromstring(element("rect", fill="live", stroke="#123456", rx=2.5, hidden=None))
    assert rect.attrib == {"class": "lh-f-live", "fill": ROLES["live"][0], "stroke": "#123456", "rx": "2.5"}
    assert ".lh-f-live{fill:var(--lh-live)}" in theme_style()


def test_marks_are_found_and_reached():
    rect = ET.fromstring(element("rect", **marks(step=3, handles=["h1", "h2"], label="step 3")))
    assert rect.get("data-step") == "3" and rect.get("data-handle") == "h1 h2" and rect.get("data-op") is None
    assert rect.get("tabindex") == "0" and rect.get("role") == "button" and rect.get("aria-label") == "step 3"
    assert marks(step=0)["data_step"] == 0 and "tabindex" not in marks(step=0)


def test_texts_are_fitted():
    assert fitted("transform.yield", 1000, 12) == "transform.yield"
    cut = fitted("transform.structured.match", 80, 12)
    assert cut.endswith("…") and text_width(cut, 12) <= 80


def test_a_drawing_is_a_png_in_light_colours_without_its_theme():
    body = element("rect", width=20, height=10, fill="live"), element("text", "◆○●✕", y=9, font_size=8)
    plain = svg(20, 10, *body, label="bars", themed=False)
    assert "<style" not in plain and "<style" in svg(20, 10, *body, label="bars")
    assert svg_png(plain).startswith(b"\x89PNG") and svg_png(plain) == svg_png(plain)


def test_ids_follow_from_content():
    assert drawing_id("a", "b") == drawing_id("a", "b") != drawing_id("ab")
