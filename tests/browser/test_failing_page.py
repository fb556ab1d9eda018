"""The page of a schedule that fails: carets under what they point at, repairs, and the payload at every step."""

import pytest
from conftest import SCHEDULE_HEAD, SCHEDULE_TAIL

import lhkit

DEATH = """    transform.debug.emit_remark_at %tiled, "seen" : !transform.any_op
    %g = transform.structured.generalize %op : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %tiled, "never" : !transform.any_op
    %last = transform.structured.generalize %tiled : (!transform.any_op) -> !transform.any_op
"""
# The horizontal middle of each caret's character and of the one above it, and whether both are on the same text.
CARETS = """() => {
  const pre = document.querySelector('[data-pane="failure"] .lh-failure pre');
  const text = pre.firstChild, lines = text.data.split("\\n"), made = [];
  const middle = (at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    const box = range.getBoundingClientRect();
    return (box.left + box.right) / 2;
  };
  let start = 0;
  lines.forEach((line, n) => {
    const column = line.indexOf("^");
    const above = lines[n - 1];
    if (column >= 0 && !line.replaceAll(/[ ^~|]/g, "")) {
      made.push([middle(start + column), middle(start - above.length - 1 + column), above.slice(column)]);
    }
    start += line.length + 1;
  });
  return made;
}"""


@pytest.fixture(scope="module")
def trace():
    text = SCHEDULE_HEAD + DEATH + SCHEDULE_TAIL
    trace = lhkit.trace(lhkit.load_payload("fc_relu.mlir"), lhkit.load_schedule(text, name="dead.mlir"))
    assert trace.outcome.kind == "invalidated-handle"
    return trace


@pytest.fixture(scope="module")
def page_file(trace, tmp_path_factory):
    return trace.save_html(tmp_path_factory.mktemp("page") / "dead.html")


def opened(watched, path):
    page = watched()
    page.page.goto(path.as_uri())
    page.page.wait_for_selector(".lh-live .lh-frame")
    return page.page


def test_carets_are_under_what_they_point_at(watched, page_file):
    page = opened(watched, page_file)
    carets = page.evaluate(CARETS)
    assert len(carets) >= 2
    for caret, above, pointed in carets:
        assert abs(caret - above) < 1 and pointed.strip()
    said = page.locator('[data-pane="failure"]').inner_text()
    assert "%op" in said and "consum" in said


def test_repairs_are_on_the_page_as_on_the_command_line(watched, page_file, trace):
    page = opened(watched, page_file)
    (repair, *_) = trace.repairs()
    said = page.locator('[data-pane="repairs"]').inner_text()
    assert repair.title in said
    for line in repair.diff.splitlines():
        assert line.strip() in said


def shown_lines(page):
    return page.locator('[data-pane="payload"] .lh-ir > div > .l').all_inner_texts()


def test_steps_that_change_nothing_show_the_ops_of_their_operands(watched, page_file, trace):
    page = opened(watched, page_file)
    payload = page.locator('[data-pane="payload"]')
    failed = trace.outcome.failed_step
    assert f"step {failed}, " in payload.inner_text()
    assert "failed: " in payload.inner_text() and "%op" in payload.inner_text()
    page.get_by_role("button", name="step: back").click()
    quiet = failed - 1
    assert trace.step_records[quiet].op == "transform.debug.emit_remark_at"
    payload.get_by_text(f"after step {quiet}").wait_for()
    assert any("linalg.matmul" in line for line in shown_lines(page))


BAR = (
    """(line) => [getComputedStyle(line), getComputedStyle(line, "::before")].map((style) => style.boxShadow)"""
)


def test_the_line_of_the_step_has_a_bar_that_its_number_does_not_cover(watched, page_file):
    page = opened(watched, page_file)
    of_line, of_number = page.locator('[data-pane="schedule"] .lh-now').first.evaluate(BAR)
    assert of_line == of_number != "none"


EDGES = """(failed) => {
  const right = (node) => node.getBoundingClientRect().right;
  const columns = [...document.querySelectorAll(".lh-heads .lh-step[data-step]")];
  const column = columns.find((node) => Number(node.dataset.step) === failed).querySelector("rect");
  const bars = [...document.querySelectorAll(".lh-tl-tracks :is(rect, line)[data-handle]")];
  return { end: right(column), last: right(columns.at(-1)), bars: bars.map(right) };
}"""


def test_bars_of_handles_end_with_the_step_that_failed(watched, page_file, trace):
    page = opened(watched, page_file)
    edges = page.evaluate(EDGES, trace.outcome.failed_step)
    assert edges["last"] > edges["end"] + 10  # steps that never ran have columns
    assert len(edges["bars"]) >= 3 and max(edges["bars"]) <= edges["end"] + 1


def test_a_use_of_an_invalidated_handle_does_not_look_like_one_of_a_live_one(watched, page_file, trace):
    page = opened(watched, page_file)
    failed, uses = trace.outcome.failed_step, ".lh-tl-tracks :is(.lh-read, .lh-consumed)"
    (late,) = page.locator(f"{uses}[data-step='{failed}']").all()
    assert late.locator("title").text_content().endswith(", which is invalidated")
    alive = page.locator(f"{uses}:not([data-step='{failed}'])")
    shapes = [one.locator("circle, path").count() for one in alive.all()]
    assert late.locator("circle, path").count() == 2 and set(shapes) == {1}
    assert "used when invalidated" in page.locator('[data-pane="timeline"]').inner_text()


def test_the_marks_of_the_timeline_have_a_key(watched, page_file):
    page = opened(watched, page_file)
    key = page.locator(".lh-tl-key span")
    events = ["read", "consumed", "made", "invalidated here", "used when invalidated"]
    assert key.all_inner_texts() == [*events, "live", "invalidated"]
    assert key.locator("svg > *").count() == 7


def test_paper_has_no_headings_of_closed_sections_and_no_advice_for_a_pointer(watched, page_file):
    page = opened(watched, page_file)
    closed = page.locator(".lh-view :is(details.lh-pane, .lh-failure details):not([open]) > summary")
    hint = page.locator(".lh-hint")
    assert closed.count() > 2 and closed.first.is_visible() and "slider" in hint.inner_text()
    page.emulate_media(media="print")
    assert not any(summary.is_visible() for summary in closed.all()) and not hint.is_visible()
