"""Diffs of every step of generated schedules against what the trace says that the step did."""

import re
from html import unescape

import pytest
from schedule_generator import Generator, module
from schedule_payloads import PAYLOADS
from texts import new_side, old_side

import lhkit
from lhkit.traces.diff.ir_html import ir_html
from lhkit.traces.diff.op_diff import ir_diff, text_diff
from lhkit.traces.record.placed_ops import order_at, place_ops


def traces(seeds, worker):
    payloads = {n: lhkit.load_payload(t, name=n, worker=worker) for n, (t, _) in PAYLOADS.items()}
    for seed in seeds:
        generator = Generator(seed)
        lines, _ = generator.schedule()
        schedule = lhkit.load_schedule(module(lines), name=f"seed {seed}", worker=worker)
        yield seed, lhkit.trace(payloads[generator.payload], schedule, worker=worker)


def with_end(text):
    return text.rstrip("\n") + "\n"


def text_of(html):
    """Return the lines that copying takes from a diff's HTML: generated content and what is not selectable left out."""
    found = re.findall(r'<pre class="l(?: [axmr])?" [^>]*>(.*?)</pre>', html)
    bare = [re.sub(r'<span class="h.*</span>$', "", re.sub(r"<del>.*?</del>", "", line)) for line in found]
    return [unescape(re.sub(r"<[^>]*>", "", line)) for line in bare]


def signed(diff, signs):
    """Return the ids of the ops on lines with one of these signs, those that the text leaves out too."""
    return {i for line in diff.lines if line.sign and line.sign in signs for i in (line.op, *line.inside) if i}


def check_step(trace, step):
    """Return what the diff of a step gets wrong, in words."""
    snapshots = {s.step for s in trace.snapshots}
    diff = ir_diff(trace, step.index)
    if step.index not in snapshots:
        has_inner = any(s.parent == step.index for s in trace.step_records)
        assert (has_inner or old_side(diff) == new_side(diff)) and "; the payload is " in diff.title
        return
    before = snapshot_before(trace, step)
    assert new_side(diff) == with_end(trace.snapshot_text(step.index))
    assert old_side(diff) == with_end(trace.snapshot_text(before))
    assert sorted(text_of(ir_html(diff, folded=False, most_lines=10**6))) == sorted(
        line.text for line in diff.lines if line.new
    )
    delta = step.payload_delta
    has_inner = any(s.parent == step.index for s in trace.step_records)
    if diff.note and has_inner:
        return
    now, then = (set(order_at(trace, each)) for each in (step.index, before))
    if has_inner:
        counts, shown = dict(diff.counts), [place_ops(trace, each).ids for each in (step.index, before)]
        created, erased = len((now - then).intersection(shown[0])), len((then - now).intersection(shown[1]))
        assert (counts.get("+", 0), counts.get("−", 0)) == (created, erased)
        return
    if diff.note:
        return
    assert set(delta.created) & now <= signed(diff, "+↕~"), "created"
    assert set(delta.erased) & then <= signed(diff, "−↕~"), "erased"
    visible = {line.op for line in diff.lines if line.op and line.new and line.old}
    assert set(delta.changed) & visible <= signed(diff, "~↕"), "changed"
    assert set(delta.moved) & visible <= signed(diff, "↕"), "moved"
    # What MLIR's hashes do not call changed reads the same: a wrong match of an op and a line would not.
    by_text = [line for line in diff.lines if line.sign == "~" and line.parts and line.op not in delta.changed]
    assert all(reads_something_new(line, diff, delta) for line in by_text), "changed by the text alone"
    assert {line.op for line in diff.lines if line.sign == "+" and line.op} <= {*delta.created, *delta.moved}


def reads_something_new(line, diff, delta):
    """Return True for an op that takes an operand of a new op: it may stand at the address of the old one."""
    text = "\n".join(x.text for x in diff.lines if x.op in delta.created)
    made = set(re.findall(r"(%[\w.-]+)(?: =|:|,)", text))
    return any(p.kind == "operand" and line.text[p.start : p.end].partition("#")[0] in made for p in line.parts)


def snapshot_before(trace, step):
    """Return the step of the last snapshot of the same payload before a step, else of what a copy was made of."""
    names = [s.step for s in trace.snapshots]
    root = order_at(trace, step.index)[0]
    for each in reversed(names[: next(i for i, n in enumerate(names) if n >= step.index)]):
        if root in order_at(trace, each):
            return each
    return snapshot_before(trace, trace.step_records[step.parent])


def check_placement(trace, step):
    placed = place_ops(trace, step)
    assert None not in placed.ids
    names = [trace.op(i).name for i in placed.ids]
    printed = [op.name for op in placed.ir.ops]
    assert all(n == p or n.endswith(f".{p}") for n, p in zip(names, printed, strict=True))
    known = [*placed.ids, *(i for those in placed.inside.values() for i in those)]
    assert sorted(known) == sorted(order_at(trace, step))


def check_many(seeds, worker):
    wrong = []
    for seed, trace in traces(seeds, worker):
        for snapshot in trace.snapshots:
            try:
                check_placement(trace, snapshot.step)
            except AssertionError as error:
                wrong.append(f"seed {seed}, placement after step {snapshot.step}: {error}")
        for step in trace.step_records:
            try:
                check_step(trace, step)
            except AssertionError as error:
                wrong.append(f"seed {seed}, step {step.index} {step.op}: {error}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:20])


def test_diffs_of_generated_schedules_say_what_the_steps_did(worker):
    check_many(range(2000, 2016), worker)


@pytest.mark.heavy
@pytest.mark.timeout(3600)
def test_diffs_of_many_generated_schedules_say_what_the_steps_did(worker):
    check_many(range(3000, 4000), worker)


def test_texts_alone_are_matched_by_structure(worker):
    for _, trace in traces(range(2000, 2004), worker):
        first, last = (trace.snapshot_text(trace.snapshots[i].step) for i in (0, -1))
        diff = text_diff(first, last)
        assert (old_side(diff), new_side(diff)) == (with_end(first), with_end(last))
        assert diff.note and all(not line.sign for line in text_diff(last, last).lines)
