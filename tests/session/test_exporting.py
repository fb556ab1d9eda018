"""Exports for other programs, held against judges that are not lhkit: the compiler's pass, and ``mlir-opt``."""

import pytest
from test_tutorial_sequences import CASES, PAYLOADS, schedule_text
from texts import ROOT

from lhkit.compiler.bindings import ir, new_context, passmanager
from lhkit.model.errors import ScheduleError
from lhkit.session.exporting import (
    apply_portable,
    portable_text,
    prevents_portable,
)
from lhkit.session.loading import load_payload, load_schedule
from lhkit.session.tracing import trace_schedule

OPT = "mlir-opt-19"
SHIPPED = sorted(p.name for p in (ROOT / "schedules").glob("*.mlir"))
TUTORIAL = {p.id: p.values[0] for p in CASES}
APPLIES = sorted(name for name, case in TUTORIAL.items() if case.kind is None)


def same(text, *, clean=False):
    """Return a payload as the compiler prints it, the names of values forgotten."""
    with new_context():
        module = ir.Module.parse(text)
        if clean:
            passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
        return str(module)


def shipped(name, worker):
    header = (ROOT / "schedules" / name).read_text().split("Payload:")[1].split(":")[0].strip()
    payload = load_payload(ROOT / header, worker=worker)
    return payload, load_schedule(name, worker=worker)


def listing(name, worker):
    case = TUTORIAL[name]
    return load_payload(PAYLOADS[case.payload], worker=worker), load_schedule(
        schedule_text(case), bind=case.bind, worker=worker
    )


def applied(payload, schedule, worker):
    trace = trace_schedule(payload, schedule, worker=worker)
    assert trace.outcome.status == "ok", trace.outcome
    return trace.last_snapshot_text()


@pytest.mark.parametrize("name", SHIPPED, ids=lambda n: f"pass transform-interpreter: {n}")
def test_the_compilers_pass_takes_every_shipped_schedule(name, worker):
    payload, schedule = shipped(name, worker)
    text = portable_text(schedule, worker=worker)
    assert "transform.tune" not in text and not prevents_portable(schedule)
    assert same(apply_portable(payload, schedule, worker=worker)) == same(applied(payload, schedule, worker))
    for knob in schedule.knobs[:1]:
        other = schedule.with_knobs({knob.name: next(o for o in knob.options if o != knob.default)})
        assert portable_text(other, worker=worker) != text


@pytest.mark.parametrize("name", APPLIES, ids=lambda n: f"pass transform-interpreter: {n}")
def test_the_compilers_pass_takes_every_listing_of_the_tutorial(name, worker):
    payload, schedule = listing(name, worker)
    assert same(apply_portable(payload, schedule, worker=worker)) == same(applied(payload, schedule, worker))


@pytest.mark.parametrize(
    "name", sorted(set(TUTORIAL) - set(APPLIES)), ids=lambda n: f"pass transform-interpreter: {n}"
)
def test_the_compilers_pass_refuses_what_lhkit_refuses(name, worker):
    with pytest.raises(ScheduleError, match="the pass transform-interpreter fails with <schedule>"):
        apply_portable(*listing(name, worker), worker=worker)
