"""On generated schedules the static check and the interpreter agree on which handles are dead."""

import collections

import pytest
from schedule_generator import Generator, module
from schedule_payloads import PAYLOADS

import lhkit
from lhkit.checks.schedule_check import check_schedule


class Tally:
    """What was seen so far: handles by what they are and what the check says, and what it missed."""

    def __init__(self):
        self.handles = collections.Counter()
        self.failures = collections.Counter()
        self.false, self.missed, self.noisy = [], [], []

    def report(self):
        return (
            f"handles by state and verdict: {dict(self.handles)}; invalid uses found as {dict(self.failures)};"
            f" {len(self.false)} errors refuted, {len(self.missed)} deaths missed, {len(self.noisy)} warnings on"
            " handles that live"
        )


def generated(seed):
    """Return (name of a payload, lines of a schedule, the types of its handles by name)."""
    generator = Generator(seed)
    lines, handles = generator.schedule()
    return generator.payload, lines, {h.name: h.type for h in handles}


def load_payloads(worker):
    return {n: lhkit.load_payload(t, name=n, worker=worker) for n, (t, _) in PAYLOADS.items()}


def empty_handles(trace):
    return {c.handle for s in trace.step_records for c in s.changes if c.state == "empty"}


def top_line(trace):
    """Return the line of the schedule that failed; what failed may be inside of it or of a callee."""
    step = trace.step_records[trace.outcome.failed_step]
    while step.parent is not None:
        step = trace.step_records[step.parent]
    return step.source.line


def examine(seed, payloads, worker, tally):
    name, lines, handles = generated(seed)
    schedule = lhkit.load_schedule(module(lines), worker=worker)
    trace = lhkit.trace(payloads[name], schedule, worker=worker)
    if trace.outcome.kind == "invalidated-handle":
        examine_failure(seed, schedule, trace, worker, tally)
    if trace.outcome.kind is not None:  # what stands before the step that failed is a schedule too
        if trace.outcome.failed_step is None:
            return
        first = module(lines).splitlines().index(f"    {lines[0]}") + 1
        lines = lines[: top_line(trace) - first]
        trace = lhkit.trace(payloads[name], lhkit.load_schedule(module(lines), worker=worker), worker=worker)
    told = any(w.kind == "defect" for s in trace.step_records for w in s.warnings)
    if trace.outcome.kind is None and trace.step_records and not told:
        examine_handles(seed, lines, handles, trace, worker, tally)


def examine_failure(seed, schedule, trace, worker, tally):
    """The use that the interpreter refuses is among the findings."""
    line = trace.step_records[trace.outcome.failed_step].source.line
    severities = {
        f.severity
        for f in check_schedule(schedule, only_entry=True, worker=worker).findings
        if f.use.source.line == line
    }
    verdict = "error" if "error" in severities else "warning" if severities else "missed"
    tally.failures[verdict] += 1
    if verdict == "missed":
        tally.missed.append(f"seed {seed}: line {line} uses a dead handle")


def examine_handles(seed, lines, handles, trace, worker, tally):
    """Use every handle after the last step: the findings are the handles that are invalid then."""
    known = {h.name: h.id for h in trace.handle_records if not h.path}
    dead = {i.handle for s in trace.step_records for i in s.invalidated}
    empty = empty_handles(trace)
    used = [h for h, type_ in handles.items() if h in known and "param" not in type_]
    uses = [
        f"%use{i} = transform.num_associations {h} : ({handles[h]}) -> !transform.param<i64>"
        for i, h in enumerate(used)
    ]
    text = module([*lines, *uses])
    report = check_schedule(lhkit.load_schedule(text, worker=worker), only_entry=True, worker=worker)
    at = {
        line: h
        for h, use in zip(used, uses, strict=True)
        for line, t in enumerate(text.splitlines(), 1)
        if t == f"    {use}"
    }
    verdicts = {at[f.use.source.line]: f for f in report.findings if f.use.source.line in at}
    for h in used:
        verdict = verdicts[h].severity if h in verdicts else "none"
        state = "invalid" if known[h] in dead else "empty" if known[h] in empty else "live"
        tally.handles[f"{state}, {verdict}"] += 1
        story = "\n".join([f"seed {seed}: {h} is {state} and the check says {verdict}", *lines])
        if state == "invalid" and verdict == "none":
            tally.missed.append(story)
        if state == "live" and verdict == "error" and not empty:
            tally.false.append(story)
        if state == "live" and verdict == "warning":
            tally.noisy.append(story)


def examine_many(seeds, worker):
    payloads = load_payloads(worker)
    tally = Tally()
    for seed in seeds:
        examine(seed, payloads, worker, tally)
    print("\n" + tally.report())
    return tally


def assert_agreement(tally, dead_handles=80, live_handles=200, errors=20):
    """No error is refuted; what is missed depends on the payload, and is little."""
    assert not tally.false, "\n".join(tally.false[:10])
    dead = sum(n for what, n in tally.handles.items() if what.startswith("invalid"))
    live = sum(n for what, n in tally.handles.items() if what.startswith("live"))
    assert dead >= dead_handles and live >= live_handles and tally.failures["error"] >= errors
    assert len(tally.missed) * 25 <= dead, "\n".join(tally.missed[:10])
    assert len(tally.noisy) * 25 <= live, "\n".join(tally.noisy[:10])


def test_100_schedules_agree_with_the_interpreter(worker):
    assert_agreement(examine_many(range(100), worker), dead_handles=40, live_handles=100, errors=10)


@pytest.mark.heavy
@pytest.mark.timeout(3600)
def test_3000_schedules_agree_with_the_interpreter(worker):
    assert_agreement(examine_many(range(100, 3200), worker))
