"""What is drawn: records, text, escaped HTML, deterministic SVG."""

import dataclasses
import re

import lhkit
from lhkit.bench.speed_charts import draw_speed_bars, speed_bars
from lhkit.draw.figures import figure_png, figure_svg
from lhkit.draw.tables import Table, comparison_table, format_ns, samples_csv, table_html, table_text
from lhkit.model.measurement import Comparison, Measurement, Verification
from lhkit.show.comparison_page import render_page

RIGHT = Verification(ok=True, max_abs_error=1e-6, tolerance=1e-5, against="NumPy")


def samples(*values):
    return tuple(enumerate(map(float, values)))


COMPARISON = Comparison(
    payload="p.mlir",
    payload_sha256="abc",
    measurements=(
        Measurement("NumPy", samples(2e6, 2e6, 2.2e6)),
        Measurement("<b>mine</b>", samples(1e6, 1e6, 1.1e6), (("m", 4),), "def", 5_000_000, RIGHT),
    ),
    anchor="NumPy",
    rounds=3,
    seed=0,
    environment=(("cpu", "a & b"),),
)


def test_the_table_of_a_comparison():
    assert table_text(comparison_table(COMPARISON)).splitlines() == [
        "             time  ± MAD  rank  speed vs NumPy  95 % interval  compile                      check",
        "───────────  ────  ─────  ────  ──────────────  ─────────────  ───────  ─────────────────────────",
        "NumPy        2 ms   0 ns     2              1×                                   is the reference",
        "<b>mine</b>  1 ms   0 ns     1              2×          2 – 2     5 ms  right (max error 1.0e-06)",
    ]


def test_a_wrong_result_is_not_overlooked():
    wrong = dataclasses.replace(RIGHT, ok=False, difference="result 0 at [1] is 2, expected 3")
    entry = dataclasses.replace(COMPARISON.measurements[1], verification=wrong)
    comparison = dataclasses.replace(COMPARISON, measurements=(COMPARISON.measurements[0], entry))
    assert "WRONG: result 0 at [1] is 2, expected 3" in table_text(comparison_table(comparison))


def test_times_have_the_unit_that_fits():
    assert [format_ns(t) for t in (3, 4500, 1.25e6, 2e9)] == ["3 ns", "4.5 µs", "1.25 ms", "2 s"]


def test_text_is_escaped_in_html():
    html = table_html(comparison_table(COMPARISON))
    assert "<b>" not in html and "&lt;b&gt;mine&lt;/b&gt;" in html
    page = render_page("<i>t</i>", "s & s", COMPARISON, (("h", "</pre><script>x</script>"),), "c")
    assert "<script" not in page and "<i>" not in page and "<b>" not in page and "a &amp; b" in page


def test_no_line_ends_between_a_number_and_its_unit():
    table = Table(("", "t"), (("a", "3.97 ms"), ("b", "0.63 (12 %)"), ("c", "2 samples")))
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", table_html(table))[1::2]
    assert cells == ["3.97\N{NO-BREAK SPACE}ms", "0.63 (12\N{NO-BREAK SPACE}%)", "2 samples"]


def test_bars_say_speed_interval_and_which_is_the_anchor():
    anchor, mine = speed_bars(COMPARISON)
    assert anchor.is_anchor and not mine.is_anchor
    assert (mine.low, mine.value, mine.high) == (2.0, 2.0, 2.0)
    assert mine.text == "2×  (1 ms)"


def test_the_same_figure_gives_the_same_svg():
    first, second = (figure_svg(draw_speed_bars(COMPARISON)) for _ in range(2))
    assert first == second and first.startswith("<svg") and "currentColor" in first
    assert figure_png(draw_speed_bars(COMPARISON)).startswith(b"\x89PNG")


def test_the_csv_has_every_sample():
    lines = samples_csv(COMPARISON).splitlines()
    assert lines[0] == "payload,entry,round,time_ns,compile_ns,max_abs_error,tolerance,ok,knobs"
    assert lines[4] == "p.mlir,<b>mine</b>,0,1000000.0,5000000,1e-06,1e-05,True,m=4"
    assert len(lines) == 7


def test_a_comparison_shows_itself_in_a_notebook():
    assert isinstance(COMPARISON, lhkit.Comparison)
    bundle = COMPARISON._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain", "image/png", "image/svg+xml"}
    assert "<svg" in bundle["text/html"]
