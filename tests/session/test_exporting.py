"""Exports for other programs, held against judges that are not lhkit: the compiler's pass, and ``mlir-opt``."""

import functools
import os
import re
import shlex
import shutil
import subprocess

import pytest
from test_tutorial_sequences import CASES, PAYLOADS, schedule_text
from texts import ROOT

import lhkit
from lhkit.compiler.bindings import ir, new_context, passmanager
from lhkit.model.errors import ScheduleError, UsageError
from lhkit.schedule.exports import folded_text, lh_opt_command, lh_opt_problems, mlir_opt_command
from lhkit.session.building import building
from lhkit.session.exporting import (
    apply_portable,
    builder_code,
    portable_libraries,
    portable_text,
    prevents_portable,
    tunable_text,
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
    header = re.search(r"Payload: (data/\w+\.mlir)", (ROOT / "schedules" / name).read_text(encoding="utf-8"))
    payload = load_payload(ROOT / header[1], worker=worker)
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


# What LLVM 19 does not know or does otherwise, each with the reason.
NOT_IN_19 = {}


@pytest.fixture(scope="module")
def opt():
    """The program, which is only missed where nobody promised it."""
    if shutil.which(OPT) is None:
        message = f"{OPT} is not installed (Debian: apt-get install mlir-19-tools)"
        if os.environ.get("LHKIT_TESTS_NEED_OPT"):
            pytest.fail(message)
        pytest.skip(message)
    return OPT


def by_opt(payload, schedule, folder, worker):
    """Return what the command line that is given to people does."""
    (folder / "payload.mlir").write_text(payload.text)
    files = ["schedule.mlir", *(f"library{i}.mlir" for i, _ in enumerate(schedule.libraries))]
    texts = [portable_text(schedule, worker=worker), *(lib.text for lib in portable_libraries(schedule))]
    for file, text in zip(files, texts, strict=True):
        (folder / file).write_text(text)
    command = mlir_opt_command(schedule, "payload.mlir", files, program=OPT)
    return subprocess.run(
        shlex.split(command), cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "name", [n for n in (*SHIPPED, *APPLIES) if n not in NOT_IN_19], ids=lambda n: f"{OPT}: {n}"
)
def test_mlir_opt_takes_an_export(name, opt, worker, tmp_path):
    payload, schedule = (shipped if name in SHIPPED else listing)(name, worker)
    done = by_opt(payload, schedule, tmp_path, worker)
    assert done.returncode == 0, done.stderr
    assert same(done.stdout, clean=True) == same(applied(payload, schedule, worker), clean=True)


def marks_forgotten(text):
    """Return a schedule as the compiler prints it, without what is said of the effects on arguments."""
    return re.sub(r" \{transform\.(consumed|readonly)\}", "", same(text))


@pytest.mark.parametrize("name", [*SHIPPED, *TUTORIAL])
def test_the_code_of_a_schedule_builds_it_again(name, worker, catalogue):
    _, schedule = (shipped if name in SHIPPED else listing)(name, worker)
    code = builder_code(schedule, worker=worker)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lhkit, "building", functools.partial(building, catalogue=catalogue, worker=worker))
        made = {}
        exec(compile(code, "<code>", "exec"), made)
    built = made["schedule"]
    assert marks_forgotten(built.text) == marks_forgotten(schedule.text), code
    assert (built.entry, built.bind) == (schedule.entry, schedule.bind)
    assert [(k.name, k.default, k.options) for k in built.knobs] == [
        (k.name, k.default, k.options) for k in schedule.knobs
    ]
    assert builder_code(built, worker=worker) == code.replace("consumes=[]", "") or name in TUTORIAL
