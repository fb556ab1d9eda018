"""The pane of machine code: shares of the time of calls where it was sampled, of instructions where it was not."""

import dataclasses
import html
import re

from lhkit.model.instructions import CodeSamples


def text_of(bench):
    return html.unescape(re.sub(r"<[^>]*>", " ", bench.part("code")["html"]))


def with_samples(bench, samples):
    code = bench.workbench.code
    code.made = dataclasses.replace(code.made, samples=samples)
    bench.workbench.refresh()


def test_lines_instructions_and_loops_have_their_share_of_the_time(bench):
    bench.do("look_at_code")
    loops = bench.workbench.code.made.listing.loops
    assert len(loops) > 1
    last = loops[-1].instructions
    with_samples(
        bench, CodeSamples(((last[0].instruction.address, 30), (last[1].instruction.address, 120)), 50, 10**6)
    )
    said = text_of(bench)
    assert "200 samples" in said and "one every 1 ms" in said and "25 % of them outside" in said
    # The loop that took most time comes first, whatever its instructions look like.
    assert said.index(f"loop at {loops[-1].loop.address:#x}") < said.index(
        f"loop at {loops[0].loop.address:#x}"
    )
    assert f"loop at {loops[-1].loop.address:#x} , 75 % of the time" in said
    assert "15 %" in said and "60 %" in said and bench.part("code")["bound"] == loops[-1].loop.bound
    summary = html.unescape(bench.part("code")["summary"])
    assert re.search(r"loop at 0x\w+ of [a-z]+\.[\w.]+, .*payload line \d+</span>, 75 % of the time", summary)


def test_without_samples_shares_are_of_instructions_and_the_reason_is_said(bench):
    bench.do("look_at_code")
    with_samples(bench, CodeSamples(reason="no timer samples code here"))
    said = text_of(bench)
    assert "of the instructions of one iteration: no timer samples code here." in said
    assert "of the time" not in said and re.search(r"\d+ of \d+ · ", said)
    with_samples(bench, CodeSamples(((0, 3),), 0, 10**6))
    assert "too few samples" in text_of(bench)
