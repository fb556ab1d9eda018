"""The trace of generated schedules agrees with the interpreter: verdicts, and each handle as the next operand."""

import collections
import random

import pytest
from schedule_generator import PAYLOADS, Generator, module, templates

import lhkit
from lhkit.model.errors import LhkitError
from lhkit.session.loading import describe_schedule, describe_sources


class Tally:
    """What happened to the schedules so far."""

    def __init__(self):
        self.count = 0
        self.kinds = collections.Counter()
        self.causes = collections.Counter()
        self.applied = set()
        self.uses = 0
        self.differences = []

    def report(self):
        failed = self.count - self.kinds["ok"]
        return (
            f"{self.count} schedules, {failed} fail {dict(self.kinds)}, causes of invalid uses {dict(self.causes)},"
            f" {self.uses} uses of handles as the next step, {len(self.applied)} different ops applied,"
            f" {len(self.differences)} differences"
        )


def verdict_of(payload, schedule, worker):
    """Return how the interpreter takes a schedule without probes: ``ok`` or the kind of its failure."""
    described, body = describe_sources([(payload.source, payload.content)], role="payload")
    more, more_body, parts = describe_schedule(schedule)
    fields = {
        "function": "f",
        "opt_level": 0,
        "schedule": parts,
        "stage": "scheduled",
        "sources": described + more,
    }
    try:
        worker.request("lower", fields, body + more_body)
    except LhkitError as error:
        return error.failure.kind
    return "ok"


def cause_of(trace):
    """Return why the handle that the failed step used was invalid."""
    failed = trace.step_records[trace.outcome.failed_step]
    used = {o.handle for o in failed.operands}
    died = [i for s in trace.step_records for i in s.invalidated if i.handle in used]
    return died[0].cause if died else "within the step"


def examine(seed, payloads, worker, tally):
    """Trace one generated schedule and compare it with the interpreter."""
    draw = random.Random(seed)
    name = draw.choice(sorted(payloads))
    payload = payloads[name]
    lines, handles = Generator(seed, templates()).schedule()
    schedule = lhkit.load_schedule(module(lines), name=f"seed {seed}", worker=worker)
    trace = lhkit.trace(payload, schedule, worker=worker)
    ours, theirs = trace.outcome.kind or "ok", verdict_of(payload, schedule, worker)
    tally.count += 1
    tally.kinds[theirs] += 1
    tally.applied |= {s.op for s in trace.step_records if s.status == "ok"}
    # The interpreter does not verify the payload: a step that breaks it may be followed by others.
    if ours != theirs and ours != "invalid-payload":
        tally.differences.append(f"seed {seed} on {name}: traced {ours}, interpreter {theirs}")
    if any(w.kind == "defect" for s in trace.step_records for w in s.warnings):
        tally.differences.append(f"seed {seed} on {name}: {ours}, the rule disagrees with the interpreter")
    if ours == "invalidated-handle":
        tally.causes[cause_of(trace)] += 1
    if ours == "ok":
        examine_uses(seed, payload, lines, handles, trace, worker, tally)


def examine_uses(seed, payload, lines, handles, trace, worker, tally):
    """Use a handle as the next step: the interpreter must refuse exactly those that are invalid."""
    states = trace.states_after(trace.steps_by_end()[-1].index)
    ends = {h.name: states[h.id].state for h in trace.handle_records if not h.path and h.id in states}
    for handle, _ in random.Random(seed).sample(handles, min(2, len(handles))):
        use = (
            f"%n = transform.num_associations {handle} : ({type_of(handles, handle)}) -> !transform.param<i64>"
        )
        extended = lhkit.load_schedule(module([*lines, use]), name="next use", worker=worker)
        theirs = verdict_of(payload, extended, worker)
        expected = "invalidated-handle" if ends[handle] == "invalid" else "ok"
        tally.uses += 1
        if theirs != expected:
            tally.differences.append(f"seed {seed}: {handle} is {ends[handle]}, its use gives {theirs}")


def type_of(handles, handle):
    kind = dict(handles)[handle]
    return {"O": "!transform.any_op", "V": "!transform.any_value", "P": "!transform.param<i64>"}[kind]


def examine_many(seeds, worker):
    payloads = {n: lhkit.load_payload(t, name=n, worker=worker) for n, t in PAYLOADS.items()}
    tally = Tally()
    for seed in seeds:
        examine(seed, payloads, worker, tally)
    print("\n" + tally.report())
    return tally


def check(tally):
    assert not tally.differences, "\n".join(tally.differences[:20])
    assert tally.count - tally.kinds["ok"] >= tally.count / 4
    assert all(tally.causes[c] >= 20 for c in ("direct", "alias", "nested"))
    assert len(tally.applied) >= 60


# By hand for now: the rule still differs from the interpreter on a few schedules in a hundred, each of which
# its trace reports as a defect. It belongs into the quick suite once there is none.
@pytest.mark.heavy
def test_500_schedules_agree_with_the_interpreter(worker):
    check(examine_many(range(500), worker))


@pytest.mark.heavy
@pytest.mark.timeout(3600)
def test_10000_schedules_agree_with_the_interpreter(worker):
    check(examine_many(range(10_000), worker))
