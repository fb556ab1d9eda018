"""The suite as drawings, tables and a page."""

import dataclasses
import re
import xml.etree.ElementTree as ET

from suite_samples import FAMILIES, RESULT, row

from benchmarks.suite import LeftOut
from benchmarks.suite_bars import (
    BarGroup,
    RatioBar,
    dots_svg,
    family_groups,
    ratio_svg,
    rivals_in_order,
    row_group,
)
from benchmarks.suite_page import suite_page
from benchmarks.suite_tables import family_table, result_lines, row_line

RIVALS = ("NumPy", "torch")


def bar(rival, value):
    return RatioBar("8x8", rival, value, 0.9 * value, 1.1 * value, f"{value}×")


def parts(drawing, tag):
    return [e.attrib for e in ET.fromstring(drawing).iter(f"{{http://www.w3.org/2000/svg}}{tag}")]


def colour(mark):
    return mark.get("style") or mark["fill"]


def test_bars_of_a_family_are_its_shapes_by_rivals():
    group = row_group("products", RESULT.rows[:2])
    assert [(b.label, b.rival, round(b.value, 3)) for b in group.bars] == [
        ("8x8", "NumPy", 1.0),
        ("", "torch", 2.0),
        ("16x16", "NumPy", 2.0),
    ]


def test_bars_of_all_families_are_means_with_their_range():
    products, rows = family_groups(RESULT, FAMILIES)
    assert (products.title, len(products.bars), len(rows.bars)) == ("products <of> matrices", 2, 2)
    assert products.bars[0].text == "1.41×  (2 shapes, 1 – 2)" and rows.bars[1].text == "0.5×  (1 shape)"


def test_slower_is_left_of_the_line_and_faster_right_of_it():
    drawing = ratio_svg([BarGroup("", (bar("NumPy", 0.5), bar("torch", 2.0)))], RIVALS, "speeds")
    slow, fast = parts(drawing, "rect")
    middle = float(slow["x"]) + float(slow["width"])
    assert middle == float(fast["x"]) and abs(float(slow["width"]) - float(fast["width"])) < 0.1


def test_rivals_are_told_apart_by_marks_and_colours_that_stay_the_same():
    drawing = ratio_svg([BarGroup("", (bar("NumPy", 1.0), bar("torch", 1.0)))], RIVALS, "speeds")
    first, second = parts(drawing, "polygon")
    assert (
        colour(first) != colour(second) and len(first["points"].split()) == len(second["points"].split()) == 4
    )
    assert first["points"].split()[0].split(",")[0] != second["points"].split()[0].split(",")[0]
    alone = parts(ratio_svg([BarGroup("", (bar("torch", 1.0),))], RIVALS, "speeds"), "polygon")[0]
    assert colour(alone) == colour(second)
    assert rivals_in_order(RESULT) == RIVALS


def test_what_is_beyond_the_axis_lies_at_its_end():
    drawing = ratio_svg([BarGroup("", (bar("NumPy", 1e6), bar("torch", 1e-6)))], RIVALS, "speeds")
    for rect in parts(drawing, "rect"):
        assert 0 <= float(rect["x"]) <= float(rect["x"]) + float(rect["width"]) <= 880


def test_a_bar_that_is_longer_than_the_axis_is_broken_and_others_are_not():
    drawing = ratio_svg([BarGroup("", (bar("NumPy", 75.0), bar("torch", 60.0)))], RIVALS, "speeds")
    assert drawing.count('class="break"') == 1 and "longer than the axis" in drawing
    small = ratio_svg([BarGroup("", (bar("NumPy", 1 / 20), bar("torch", 0.5)))], RIVALS, "speeds")
    assert small.count('class="break"') == 1


def test_a_summary_has_a_row_per_family_with_a_mark_per_rival_and_a_key():
    groups = [
        BarGroup("first", (bar("NumPy", 2.0), bar("torch", 0.5))),
        BarGroup("second", (bar("torch", 75.0),)),
    ]
    drawing = dots_svg(groups, RIVALS, "speeds")
    firsts = [p["points"].split()[0] for p in parts(drawing, "polygon")]
    marks = [[float(n) for n in first.split(",")] for first in firsts]
    key, (fast, slow, beyond) = marks[:2], marks[2:]
    assert len(key) == 2 and slow[0] < fast[0] < beyond[0] <= 880 and beyond[1] > fast[1]
    looks = [colour(p) for p in parts(drawing, "polygon")]
    assert looks[2:] == [looks[0], looks[1], looks[1]]
    assert drawing.count('class="break"') == 1 and "torch: 75.0×" in drawing and ">second<" in drawing


def test_a_quick_run_does_not_keep_the_titles_of_large_shapes():
    quick = dataclasses.replace(RESULT, is_quick=True)
    assert all("quick: small shapes" in group.title for group in family_groups(quick, FAMILIES))
    assert "quick: small shapes" in suite_page(quick, FAMILIES, "lhkit bench --suite --quick")
    assert not any("quick" in group.title for group in family_groups(RESULT, FAMILIES))


def test_a_rival_has_its_colour_whoever_else_was_measured():
    both = parts(ratio_svg([BarGroup("", (bar("torch", 2.0),))], RIVALS, "speeds"), "polygon")[0]
    alone = parts(ratio_svg([BarGroup("", (bar("torch", 2.0),))], ("IREE", "torch"), "speeds"), "polygon")[0]
    assert colour(both) == colour(alone)


def test_the_table_of_a_family():
    table = family_table(RESULT.rows[:2])
    assert table.header == ("", "time", "of FMA peak", "vs NumPy", "vs torch", "compile")
    assert table.rows[0] == ("8x8", "100 ns", "80 %", "1× (1 – 1)", "2× (2 – 2)", "90 ms")
    assert table.rows[1][4] == ""
    assert family_table([row((8, 8))]).rows == (("8x8", "not measured", "", ""),)


def test_what_is_not_there_is_said():
    lines = "\n".join(result_lines(dataclasses.replace(RESULT, is_complete=False, is_quick=True)))
    assert "INTERRUPTED" in lines and "Quick" in lines
    assert "IREE is NOT INSTALLED; to add it: pip install iree" in lines and "torch 2.13" in lines
    assert "product 16x16: torch left out (crash): the process of torch was ended by SIGABRT" in lines
    assert "Not in the suite: two threads: there are none." in lines
    assert row_line(row((8, 8))) == "not measured"


def test_what_several_rows_lack_for_the_same_reason_is_one_line_that_names_them():
    left = LeftOut("IREE", "usage", "no such op")
    rows = [row((n, n), left_out=[left]) for n in range(14)] + [
        row((99, 99), left_out=[LeftOut("torch", "x", "y")])
    ]
    lines = [line for line in result_lines(dataclasses.replace(RESULT, rows=tuple(rows))) if "left out" in line]
    named = ", ".join(f"product {n}x{n}" for n in range(12))
    assert lines == [
        f"{named}, 2 more: IREE left out (usage): no such op",
        "product 99x99: torch left out (x): y",
    ]


def test_rows_beside_other_timings_are_marked():
    quiet = RESULT.rows[0]
    loud = dataclasses.replace(quiet.comparison.measurements[1], disturbed_rounds=(0, 1))
    entries = (quiet.comparison.measurements[0], loud)
    marked = dataclasses.replace(quiet, comparison=dataclasses.replace(quiet.comparison, measurements=entries))
    assert family_table([quiet, marked]).rows[0][0] == "8x8" and family_table([marked]).rows[0][0] == "≈ 8x8"
    assert row_group("", [marked]).bars[0].label == "≈ 8x8"
    lines = "\n".join(result_lines(dataclasses.replace(RESULT, rows=(marked,))))
    assert "≈: sampled beside other timings" in lines and "≈" not in "\n".join(result_lines(RESULT))


def test_the_page_needs_no_network_and_says_how_it_was_made():
    page = suite_page(RESULT, FAMILIES, "lhkit bench --suite")
    assert page == suite_page(RESULT, FAMILIES, "lhkit bench --suite")
    assert page.count("<svg") == 3 and "products &lt;of&gt; matrices" in page and "<of>" not in page
    assert not re.search(r"<(script|link|img|iframe)|(src|href)=|url\(", page)
    assert "MISSES" in page and "Some CPU" in page and "lhkit bench --suite" in page
    quick = suite_page(dataclasses.replace(RESULT, is_quick=True), FAMILIES, "x")
    assert "Goals" not in quick
