"""IR as HTML and text: signs, folds, links, and nothing of the user's that is not escaped."""

import html
import re
from html.parser import HTMLParser

import pytest
from small_trace import AFTER, small_trace

from lhkit.draw.theme import ROLES, TEXT_ROLES, ir_style, mlir_html
from lhkit.model.trace_record import DELTA_WORDS
from lhkit.traces.diff.ir_html import Fold, fold_lines, ir_html, ir_text, payload_html, sides_html
from lhkit.traces.diff.line_diff import HandleMark, IrDiff, IrLine
from lhkit.traces.diff.op_diff import ir_at, ir_diff, text_diff
from lhkit.traces.graph.schedule_graph import schedule_flow
from lhkit.traces.report.schedule_html import schedule_html, schedule_lines
from lhkit.traces.report.trace_text import DELTA_LEGEND, delta_text

EVIL = "<script>alert(1)</script>\"'&<img src=x onerror=y>"


class Elements(HTMLParser):
    """The elements of a fragment, with attributes; refuses what is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.found, self.text, self._open = [], "", []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("br", "img"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def with_attribute(self, name):
        return [attrs[name] for _, attrs in self.found if name in attrs]


def lines(count, sign="", context=False):
    return [
        IrLine(sign, None if sign == "+" else i, None if sign == "−" else i, f"  my.op{i}", is_context=context)
        for i in range(1, count + 1)
    ]


def test_a_diff_with_its_signs(golden):
    golden(ir_html(ir_diff(small_trace(), 1)).replace("<div", "\n<div").replace("<pre", "\n<pre"))


def test_a_diff_as_text(golden):
    golden(ir_text(ir_diff(small_trace(), 1)))


def test_lines_are_linked_to_ops_and_handles():
    page = Elements(ir_html(ir_diff(small_trace(), 1)))
    assert {i for ops in page.with_attribute("data-op") for i in ops.split()} == {f"o{n}" for n in range(10)}
    assert page.with_attribute("data-handle") == ["h1", "h0"]
    assert page.with_attribute("aria-label")[1:] == ["handle %v", "handle %c"]
    assert any("made by step 1 (my.step)" in title for title in page.with_attribute("title"))


def test_numbers_and_signs_are_not_in_the_text():
    page = Elements(payload_html(ir_at(small_trace(), 1)))
    bare = page.text.replace("after step 1, transform.my.step", "").replace("⟵ %v", "").replace("⟵ %c", "")
    assert bare == AFTER.replace("\n", "")
    style = ir_style()
    assert "user-select: none" in style and "attr(data-n)" in style
    assert set(re.findall(r"var\(--lh-([\w-]+)\)", style)) <= {*ROLES, *(f"{role}-text" for role in TEXT_ROLES)}


def test_what_did_not_change_is_folded_and_so_are_long_runs():
    some = [*lines(14), *lines(1, "~"), *lines(2), *lines(500, "+"), *lines(1, context=True)]
    parts = fold_lines(some)
    assert [p.label if isinstance(p, Fold) else p.sign for p in parts if isinstance(p, Fold) or p.sign == "~"] == [
        "14 unchanged lines", "~", "420 more created lines",
    ]  # fmt: skip
    assert sum(len(p.lines) if isinstance(p, Fold) else 1 for p in parts) == len(some)
    page = ir_html(IrDiff("", tuple(some)))
    assert page.count("<details>") == 2 and "⋯ 14 unchanged lines" in page and "⋯ 220 more lines" in page
    assert "<details" not in ir_html(IrDiff("", tuple(some)), folded=False)


def test_a_page_stays_small_whatever_changed():
    some = tuple(line for _ in range(5000) for line in (*lines(1, "−"), *lines(1, "~")))
    page = ir_html(IrDiff("", some), most_lines=100)
    assert page.count('class="l ') == 100 and "⋯ 9,900 more lines omitted" in page


def test_many_handles_share_a_label():
    marks = tuple(HandleMark(f"h{i}", f"%x{i // 2}", i == 0) for i in range(12))
    page = Elements(payload_html(IrDiff("", (IrLine("", 1, 1, "my.op", op="o1", handles=marks),))))
    assert page.with_attribute("data-handle") == ["h0 h1", "h2 h3", "h4 h5", "h6 h7 h8 h9 h10 h11"]
    assert "%x0%x1%x2+3" in page.text and "%x3, %x4, %x5" in page.with_attribute("title")


@pytest.mark.parametrize(
    "text", [EVIL, f'"{EVIL}"', f"@{EVIL}", f"%{EVIL}", f"// {EVIL}", f"!{EVIL}<", "\\\"'"]
)
def test_nothing_of_the_user_is_markup(text):
    old, new = f'module {{\n  "a.b"() {{x = "{text}"}}\n}}', f"module {{\n  a.b {text}\n}}"
    mark = HandleMark(text, text)
    hostile = IrDiff(text, (IrLine("~", 1, 1, text, text + "x", (), text, (text,), (mark,), text),), text)
    schedule = schedule_lines(new, None, {"a.b": text})
    for page in (
        ir_html(text_diff(old, new)),
        payload_html(new),
        ir_html(hostile),
        schedule_html(schedule, label=text),
    ):
        found = Elements(page).found
        assert {tag for tag, _ in found} <= {
            "div",
            "pre",
            "p",
            "b",
            "i",
            "span",
            "ins",
            "del",
            "details",
            "summary",
        }
        names = {name for _, attrs in found for name in attrs}
        assert names <= {
            "class", "title", "tabindex", "role", "aria-label", "data-n", "data-op", "data-handle", "data-step",
        }  # fmt: skip
    for line in (*old.split("\n"), *new.split("\n")):
        assert html.unescape(re.sub(r"</?i[^>]*>", "", mlir_html(line))) == line


def test_words_have_kinds():
    shown = mlir_html(
        '%4:2 = linalg.fill ins(%a#1 : f32) {m = #map, s = "x"} -> tensor<4xf32> ^bb1 @f !t.u // c'
    )
    kinds = dict(re.findall(r"<i class=(\w)>(.*?)</i>", shown))
    assert kinds == {
        "v": "%a#1", "o": "linalg.fill", "t": "!t.u", "g": "#map", "s": "&quot;x&quot;", "b": "^bb1", "y": "@f",
        "c": "// c",
    }  # fmt: skip


def test_a_schedule_is_linked_to_steps_and_handles():
    text = "%c = transform.structured.match\ntransform.my.step %c\ntransform.my.other\n// transform.my.step\n"
    shown = schedule_lines(text, small_trace(), {"transform.my.step": "Does it."})
    assert [(w.steps, w.handles) for line in shown for w in line.words] == [
        ((), ("h0",)), ((0,), ()), ((1,), ()), ((2,), ()),
    ]  # fmt: skip
    assert [line.status for line in shown] == ["ok", "ok", "failed", None]
    page = Elements(schedule_html(shown))
    assert page.with_attribute("data-step") == ["0", "0", "1", "1", "2", "2"]
    assert "step 1: Does it." in page.with_attribute("title") and "this step failed" in page.with_attribute(
        "title"
    )


def test_each_change_has_one_sign_in_diffs_graphs_and_texts():
    signs = dict(DELTA_WORDS)
    assert list(signs.values()) == ["created", "erased", "changed", "moved"]
    style, diff = ir_style(), ir_html(ir_diff(small_trace(), 1))
    for sign, word in signs.items():
        assert f'content: attr(data-n) " {sign}"' in style and f"{sign} {word}" in DELTA_LEGEND
    said = dict(ir_diff(small_trace(), 1).counts)
    assert set(said) == set(signs)
    assert delta_text(small_trace().step_records[1].payload_delta) == " ".join(
        f"{s}{n}" for s, n in said.items()
    )
    assert all(f"{sign} {count} {signs[sign]}" in diff for sign, count in said.items())
    node = next(n for n in schedule_flow(small_trace()).nodes if n.step == 1)
    assert all(f"{sign}{count}" in node.detail for sign, count in said.items())


def test_two_payloads_side_by_side_are_each_whole_in_their_column():
    diff = ir_diff(small_trace(), 1, against=-1)
    shown = sides_html(diff)
    body = shown[shown.index("<div class") :]
    cells = re.findall(r"<pre class=\"l[^>]*>(.*?)</pre>|<div></div>", body)
    rows = list(zip(cells[::2], cells[1::2], strict=True))
    plain = [
        [html.unescape(re.sub(r'<span class="h.*', "", re.sub("<(?!span).*?>", "", c))) for c in row]
        for row in rows
    ]
    assert len(rows) == len(diff.lines)
    assert [left.split("\n")[0] for left, _ in plain if left] == [
        line.old_text if line.old_text is not None else line.text for line in diff.lines if line.old
    ]
    assert sum(bool(right) for _, right in plain) == sum(1 for line in diff.lines if line.new)
    assert "against the payload as given" in shown
