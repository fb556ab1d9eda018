"""Views: the data for the script, the HTML without it, the page; from traces that are made by hand."""

import base64
import dataclasses
import json
import re
import zlib

from lhkit.draw.svg import svg
from lhkit.draw.viewer import Frame, Pane, View, ViewStep, packed, page_html, view_content, view_html, view_id
from lhkit.model.trace_record import (
    HandleChange,
    HandleRecord,
    Outcome,
    PayloadOp,
    ScheduleRecord,
    Snapshot,
    SourceRecord,
    Toolchain,
    Trace,
    TraceStep,
)
from lhkit.show.trace_view import trace_key, trace_page, trace_view, view_steps, whole_trace_view

HURT = "</script><script>window.hurt = 1</script>"
FRAMES = (Frame(-1, "<p>as given</p>"), Frame(0, "<p>after 0</p>"), Frame(2, "<p>after 2</p>"))
VIEW = View(
    "lhkey",
    (Pane("payload", "Payload <now>", frames=FRAMES), Pane("more", "More", "<p>more</p>", folded=True)),
    (ViewStep(-1, "before"), ViewStep(0, "step 0"), ViewStep(1, "step 1", "failed")),
    start=1,
)


def traced(*, status="ok", failed=None):
    """Two handles: h1 points to o1, then to o1 and o2; the second step lies in the first."""
    first, both = HandleChange("h1", "live", ("o1",)), HandleChange("h1", "live", ("o1", "o2"))
    steps = (
        TraceStep(0, "transform.sequence", None, changes=(both,)),
        TraceStep(1, "transform.x", None, depth=1, parent=0, results=("h1",), changes=(first,)),
        TraceStep(2, "transform.y", None, status="failed" if failed else "not-run"),
    )
    return Trace(
        payload=SourceRecord(f"dir/{HURT}", "aa"),
        schedule=ScheduleRecord("s.mlir", "bb", "main"),
        toolchain=Toolchain("bindings", "1", "cpu"),
        outcome=Outcome(status, failed, "definite" if failed else None, HURT if failed else None),
        handle_records=(HandleRecord("h1", HURT, "op", "@main", (), 1),),
        step_records=steps,
        elided=(),
        op_records=(
            PayloadOp("o1", "a.b", None, (), -1, None, None),
            PayloadOp("o2", "a.c", "o1", (), 0, None, None),
        ),
        snapshots=(Snapshot(-1, f"module {HURT}"),),
    )


def unpacked(part):
    return part if isinstance(part, str) else zlib.decompress(base64.b64decode(part["z"])).decode()


def test_long_parts_are_packed_and_short_ones_not():
    assert packed("short") == "short"
    text = "long ✕ " * 1000
    part = packed(text)
    assert unpacked(part) == text and len(json.dumps(part)) < len(text) / 10


def test_without_a_script_each_pane_shows_the_frame_of_the_first_step():
    html = view_html(VIEW)
    assert "after 0" in html and "as given" not in html and "after 2" not in html
    assert "Payload &lt;now&gt;" in html and "<now>" not in html
    assert re.search(r"<details[^>]*><summary>More</summary>", html) and "<script" not in html


def test_a_picture_has_an_image_for_readers_that_strip_styles():
    drawing = svg(10, 10, label="d", themed=False)
    html = view_html(View("k", (Pane("p", "P", drawing, picture=drawing),)))
    (data,) = re.findall(r'<img[^>]*src="data:image/svg\+xml;base64,([^"]*)"', html)
    assert base64.b64decode(data).decode() == drawing
    assert re.search(r'<div class="lh-picture" hidden="">\s*<svg', html)


def test_equal_views_have_one_id_and_others_another():
    assert view_id(VIEW) == view_id(dataclasses.replace(VIEW))
    assert view_id(VIEW) != view_id(dataclasses.replace(VIEW, panes=VIEW.panes[:1]))
    assert view_html(VIEW) == view_html(VIEW)


def test_the_history_of_handles_goes_by_the_end_of_steps():
    content = view_content(trace_view(traced(), ()))
    lookup = json.loads(unpacked(content["lookup"]))
    assert lookup["ends"] == {"1": 0, "0": 1, "2": 2}
    assert lookup["held"] == {"h1": [[0, "o1"], [1, "o1 o2"]]}
    assert lookup["names"]["h1"] == HURT


def test_the_slider_has_every_step_and_starts_where_it_matters():
    assert [s.label for s in view_steps(traced())] == [
        "before the first step",
        "step 0 · sequence",
        "step 1 · x",
        "step 2 · y · not run",
    ]
    assert trace_view(traced(), ()).start == 1
    assert trace_view(traced(status="failed", failed=2), ()).start == 2
    assert trace_key(traced()) != trace_key(traced(status="failed", failed=2))


def test_a_page_holds_its_data_and_text_stays_text():
    page = trace_page(traced(status="failed", failed=2), {}, command="lhkit trace <p> <s>")
    assert "window.hurt" in page and HURT not in page
    (data,) = re.findall(r'<script type="application/json" id="lh-data">(.*?)</script>', page, re.DOTALL)
    content = json.loads(data)["content"]
    assert [p["name"] for p in content["panes"]][:2] == ["failure", "timeline"]
    assert "lhkit trace &lt;p&gt; &lt;s&gt;" in page and "sha256 of the payload" in page
    assert not re.search(
        r"""\s(?:src|href)\s*=\s*["'](?!data:)|url\((?!#)|@import""",
        re.sub(r"<script.*?</script>", "", page, flags=re.S),
    )


def test_a_trace_of_nothing_has_a_page():
    nothing = dataclasses.replace(traced(), step_records=(), handle_records=(), snapshots=())
    assert "nothing ran" in page_html(whole_trace_view(nothing, {}), title="t", summary="s", facts=())
