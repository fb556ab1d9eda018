"""Reports for issue threads: bounded, folded, and nothing in a name or text can break out of its place."""

import dataclasses
import re

import pytest

from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.model.trace_record import (
    HandleChange,
    HandleRecord,
    Invalidation,
    Operand,
    Outcome,
    Provenance,
    ScheduleRecord,
    Snapshot,
    SourceRecord,
    Toolchain,
    Trace,
    TraceStep,
)
from lhkit.traces.report.markdown_report import MOST_BYTES, code_span, cut_middle, fenced, html_code

EVIL = "/home/me/<img src=x onerror=alert(1)>`*_[a](b)@everyone.mlir"


def trace_of(*, payload="func.func @f() { return }\n", schedule="// s\n", source="/home/me/p.mlir", deaths=0):
    handles = tuple(HandleRecord(f"h{i}", f"%h{i}", "op", "@main", (), -1) for i in range(deaths + 1))
    dead = tuple(Invalidation(h.id, "direct", h.id, None, None) for h in handles)
    steps = (
        TraceStep(
            0,
            "transform.loop.unroll",
            Span("/home/me/s.mlir", 1, 1),
            operands=(Operand("h0", "consume"),),
            changes=tuple(HandleChange(h.id, "invalid") for h in handles),
            invalidated=dead,
        ),
        TraceStep(
            1,
            "transform.print",
            Span("/home/me/s.mlir", 1, 3),
            status="failed",
            operands=(Operand("h0", "read"),),
        ),
    )
    return Trace(
        payload=SourceRecord(source, "00"),
        schedule=ScheduleRecord("/home/me/s.mlir", "11", "__transform_main"),
        toolchain=Toolchain("torch_mlir", "20261001", "a CPU"),
        outcome=Outcome("failed", 1, "invalidated-handle", "used after its death"),
        handle_records=handles,
        step_records=steps,
        elided=(),
        op_records=(),
        snapshots=(Snapshot(-1, "module {\n}\n"), Snapshot(0, payload)),
        provenance=Provenance(
            Payload(source, payload, ()),
            Schedule("/home/me/s.mlir", schedule, (), (), "__transform_main"),
            (("lhkit", "0.1.0"), ("torch_mlir", "20261001")),
        ),
    )


def prose_of(report):
    """Return a report without its blocks of code and its code spans: what Markdown and HTML are read from."""
    blocks = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", report)
    return re.sub(r"(?s)(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", blocks)


def test_a_report_of_a_failure(golden):
    report = trace_of().to_markdown()
    # How well the link is compressed depends on the version of zlib.
    golden(re.sub(r"(clientstate/)[\w=-]+", r"\1…", report))


def test_texts_and_names_cannot_break_out():
    nasty = "// ```\n// </details><script>alert(1)</script>\n// ````mlir\nfunc.func @f() { return }\n"
    report = trace_of(payload=nasty, schedule=nasty, source=EVIL).to_markdown()
    prose = prose_of(report)
    assert (
        "<script" not in prose
        and "<img" not in prose
        and "@everyone" not in re.sub(r"<code>.*?</code>", "", prose)
    )
    assert prose.count("<details>") == prose.count("</details>") == report.count("<details><summary>") == 4
    assert nasty.strip() in report and "&lt;img src=x" in prose
    assert "/home/me" not in report


def test_a_report_stays_below_its_limit_and_says_what_is_left_out():
    long = "\n".join(f"%{i} = arith.constant {i} : index" for i in range(40_000))
    schedule = "\n".join(f"transform.print %h{i} : !transform.any_op // ä" for i in range(40_000))
    report = trace_of(payload=long, schedule=schedule, deaths=5000).to_markdown(command="x" * 100_000)
    assert len(report.encode()) < MOST_BYTES
    assert report.count("bytes omitted") == 4
    assert "%0 = arith" in report and "%39999 = arith" in report and "%h39999" in report
    assert prose_of(report).count("</details>") == 4


def test_one_line_that_is_too_long_is_cut_too():
    report = trace_of(payload="x" * 300_000, source="s" * 5000).to_markdown()
    assert len(report.encode()) < MOST_BYTES and "omitted" in report


def test_without_the_texts_a_report_says_so():
    report = dataclasses.replace(trace_of(), provenance=None).to_markdown()
    assert "does not hold the text of its schedule" in report and "Compiler Explorer" not in report
    assert "module {" in report and "torch_mlir 20261001" in report


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("%a", "`%a`"),
        ("a`b", "``a`b``"),
        ("`", "`` ` ``"),
        ("", "`   `"),
        ("a\nb\x1b", "`a b `"),
        ("``x", "``` ``x ```"),
    ],
)
def test_code_spans(text, span):
    assert code_span(text) == span


def test_fences_are_longer_than_what_they_hold():
    assert fenced("mlir", "a\n").splitlines() == ["```mlir", "a", "```"]
    assert fenced("text", "a ```` b").startswith("`````text\n")
    assert html_code("<b>&\n") == "<code>&lt;b&gt;&amp; </code>"


def test_the_middle_gives_way():
    text = "\n".join(f"line {i}" for i in range(1000))
    cut = cut_middle(text, 500)
    assert len(cut.encode()) <= 500 and cut.startswith("line 0\n") and cut.endswith("line 999")
    kept = sum(len(line) + 1 for line in cut.splitlines() if line.startswith("line"))
    (left, whole) = (int(n.replace(",", "")) for n in re.search(r"([\d,]+) of ([\d,]+) bytes", cut).groups())
    assert whole == len(text) and abs(whole - kept - left) <= 2
    assert cut_middle(text, 10**6) == text
