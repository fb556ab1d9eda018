"""The trace of generated schedules agrees with the interpreter: verdicts, and each handle as the next operand."""

import collections
import random

import pytest
from schedule_generator import ALL, Generator, module, name_of
from schedule_payloads import PAYLOADS

import lhkit
from lhkit.kernels.argument_marshalling import kernel_spec
from lhkit.model.errors import LhkitError
from lhkit.worker.kernel_requests import Lower

CAUSES = ("direct", "alias", "nested")


class Tally:
    """What happened to the schedules so far."""

    def __init__(self):
        self.count = 0
        self.kinds = collections.Counter()
        self.causes = collections.Counter()
        self.suppressed = 0
        self.applied = set()
        self.uses = 0
        self.differences = []

    @property
    def failed(self):
        return self.count - self.kinds["ok"]

    def report(self):
        return (
            f"{self.count} schedules, {self.failed} fail {dict(self.kinds)}; causes of invalid uses"
            f" {dict(self.causes)}; {self.suppressed} suppressed steps; {self.uses} uses of handles as the next"
            f" step; {len(self.applied)} different ops applied; {len(self.differences)} differences"
        )

    def missing(self):
        """Ops of the templates that never succeeded."""
        return sorted({op for t in ALL for op in t.ops} - self.applied)


def verdict_of(payload, schedule, worker):
    """Return (``ok`` or the kind of failure, the payload after it) of a schedule without probes."""
    try:
        return "ok", worker.ask(Lower(kernel_spec(payload, schedule, "f", 0, worker), "scheduled")).value
    except LhkitError as error:
        return error.failure.kind, None


def cause_of(trace):
    """Return why the handle that the failed step used was invalid."""
    failed = trace.step_records[trace.outcome.failed_step]
    used = {o.handle for o in failed.operands}
    died = [i for s in trace.step_records for i in s.invalidated if i.handle in used]
    return died[0].cause if died else "within the step"


def applied_ops(trace, lines):
    """Return the ops that succeeded; patterns are no steps and stand in the line of one."""
    done = [s for s in trace.step_records if s.status == "ok"]
    first = trace.step_records[0].source.line
    patterns = [lines[s.source.line - first] for s in done if s.depth == 0 and "patterns" in s.op]
    inside = {name_of(f"transform.{part}") for line in patterns for part in line.split(" transform.")[1:]}
    return {s.op for s in done} | inside


def examine(seed, payloads, worker, tally):
    """Trace one generated schedule and compare it with the interpreter."""
    generator = Generator(seed)
    lines, handles = generator.schedule()
    payload = payloads[generator.payload]
    schedule = lhkit.load_schedule(module(lines), name=f"seed {seed}", worker=worker)
    trace = lhkit.trace(payload, schedule, worker=worker)
    ours = trace.outcome.kind or "ok"
    theirs, text = verdict_of(payload, schedule, worker)
    tally.count += 1
    tally.kinds[theirs] += 1
    tally.suppressed += sum(s.status == "suppressed" for s in trace.step_records)
    tally.applied |= applied_ops(trace, lines)

    def differ(problem):
        tally.differences.append("\n".join([f"seed {seed} on {generator.payload}: {problem}", *lines]))

    # The interpreter does not verify the payload: a step that breaks it may be followed by others.
    # A step that ends the interpreter is refused.
    is_refused = theirs == "crash" and "would end the compiler" in (trace.outcome.message or "")
    if ours != theirs and ours != "invalid-payload" and not is_refused:
        differ(f"traced {ours}, interpreter {theirs}")
    if any(w.kind == "defect" for s in trace.step_records for w in s.warnings):
        differ(f"{ours}, the rule disagrees with the interpreter")
    if ours == "invalidated-handle":
        tally.causes[cause_of(trace)] += 1
    if ours == "ok":
        if text is not None and text.strip() != trace.last_snapshot_text().strip():
            differ("the traced run leaves another payload")
        if any("failures(suppress)" in line for line in lines):
            examine_suppression(payload, lines, trace, worker, differ)
        examine_uses(seed, payload, lines, handles, trace, worker, tally, differ)


def examine_suppression(payload, lines, trace, worker, differ):
    """Let failures propagate that are suppressed: the interpreter fails if and only if there were some."""
    telling = lhkit.load_schedule(
        module(lines).replace("failures(suppress)", "failures(propagate)"), worker=worker
    )
    theirs, _ = verdict_of(payload, telling, worker)
    first = trace.step_records[0].source.line
    found = False
    for step in trace.step_records:
        parent = step
        while parent.parent is not None:
            parent = trace.step_records[parent.parent]
        is_in = "failures(suppress)" in lines[parent.source.line - first]
        found = found or (step.status == "suppressed" and is_in)
    if found != (theirs != "ok"):
        differ(f"suppressed failures {'were' if found else 'were not'} traced; without suppression: {theirs}")


def examine_uses(seed, payload, lines, handles, trace, worker, tally, differ):
    """Use a handle as the next step: the interpreter must refuse exactly those that are invalid."""
    states = trace.states_after(trace.steps_by_end()[-1].index)
    ends = {h.name: states[h.id].state for h in trace.handle_records if not h.path and h.id in states}
    for handle in random.Random(seed).sample(handles, min(2, len(handles))):
        use = f"%n = transform.num_associations {handle.name} : ({handle.type}) -> !transform.param<i64>"
        extended = lhkit.load_schedule(module([*lines, use]), name="next use", worker=worker)
        theirs, _ = verdict_of(payload, extended, worker)
        expected = "invalidated-handle" if ends[handle.name] == "invalid" else "ok"
        tally.uses += 1
        if theirs != expected and not fails_before(extended, payload, theirs, worker):
            differ(f"{handle.name} is {ends[handle.name]}, its use gives {theirs}")


def fails_before(extended, payload, theirs, worker):
    """Return True if it is not the use at the end that fails.

    An op may fail for a use that is yet to come: one that replaces an op has to find what a handle to it is now.
    """
    trace = lhkit.trace(payload, extended, worker=worker)
    if trace.outcome.kind != theirs or trace.outcome.failed_step is None:
        return False
    last = max(s.source.line for s in trace.step_records if s.depth == 0)
    return trace.step_records[trace.outcome.failed_step].source.line != last


def examine_many(seeds, worker):
    payloads = {n: lhkit.load_payload(t, name=n, worker=worker) for n, (t, _) in PAYLOADS.items()}
    tally = Tally()
    for seed in seeds:
        examine(seed, payloads, worker, tally)
    print("\n" + tally.report())
    return tally


def check(tally, causes=20, applied=150):
    assert not tally.differences, "\n\n".join(tally.differences[:20])
    assert tally.failed >= tally.count / 4
    assert all(tally.causes[c] >= causes for c in CAUSES)
    assert len(tally.applied) >= applied, tally.missing()


@pytest.mark.timeout(900)
def test_200_schedules_agree_with_the_interpreter(worker):
    check(examine_many(range(500, 700), worker), causes=5, applied=120)


@pytest.mark.heavy
@pytest.mark.timeout(7200)
def test_10000_schedules_agree_with_the_interpreter(worker):
    tally = examine_many(range(10_000), worker)
    print("never applied:", tally.missing())
    check(tally)
