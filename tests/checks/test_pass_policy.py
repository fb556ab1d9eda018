"""Passes that a schedule may not run: refused before anything is applied, wherever the step is."""

import dataclasses
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from lhkit.checks.schedule_check import check_lines, check_schedule
from lhkit.compiler.interpreter.application import apply_by_pass
from lhkit.compiler.ir.bindings import host_module, ir, new_context, passmanager
from lhkit.kernels.kernel import compile_kernel
from lhkit.load.loader import load_payload, load_schedule, parse_text
from lhkit.load.schedule_export import apply_portable
from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import ScheduleError, UsageError
from lhkit.model.pass_policy import ALLOWED_PASSES, REFUSED_PASSES, refusal_of
from lhkit.model.schedule import Schedule
from lhkit.sweeps.live_sweep import sweep
from lhkit.sweeps.sweep_task import schedule_facts
from lhkit.traces.opt.opt_runs import opt_host, refused_in
from lhkit.traces.opt.opt_trace import load_for_opt, trace_with_opt
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.traces.report.trace_text import plain_text
from lhkit.worker.requests import Source

PAYLOAD = "func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {\n  return %x : tensor<8xf32>\n}\n"
ANY = "(!transform.any_op) -> !transform.any_op"
HEAD = "transform.named_sequence @{name}(%root: !transform.any_op {{transform.consumed}}) {{\n"


def schedule_text(*steps, name="__transform_main", more=""):
    body = "\n".join((HEAD.format(name=name), *steps, "transform.yield", "}", more))
    return f"module attributes {{transform.with_named_sequence}} {{\n{body}\n}}\n"


def snapshot(path, root="%root"):
    options = f'with options = {{"filename" = "{path}"}}'
    return f'%n = transform.apply_registered_pass "snapshot-op-locations" {options} to {root} : {ANY}'


def ways(path):
    """Return schedules that make the compiler write a file, each with its libraries."""
    inner = f"snapshot-op-locations{{filename={path}}}"
    library = schedule_text(snapshot(path), name="write")
    inline = f'%%n = transform.apply_registered_pass "inline" with options = {{%s}} to %%root : {ANY}'
    include = "transform.include @write failures(propagate) (%root) : (!transform.any_op) -> ()"
    declared = HEAD.format(name="write").replace("named_sequence", "named_sequence private")
    declared = declared.replace("%root: ", "").replace(" {\n", "\n")
    return {
        "plain": (schedule_text(snapshot(path)), ()),
        "included only": (schedule_text(include, more=library.split("\n", 1)[1].rsplit("}", 1)[0]), ()),
        "nested": (
            schedule_text(
                "transform.foreach %root : !transform.any_op {",
                "^bb0(%each: !transform.any_op):",
                snapshot(path, "%each"),
                "transform.yield",
                "}",
            ),
            (),
        ),
        "library": (schedule_text(include, more=declared), (library,)),
        "parameter": (
            schedule_text(
                f'%p = transform.param.constant "{path}" -> !transform.any_param',
                '%n = transform.apply_registered_pass "snapshot-op-locations" with options = '
                '{"filename" = %p} to %root : (!transform.any_op, !transform.any_param) -> !transform.any_op',
            ),
            (),
        ),
        "escaped": (
            schedule_text(
                '%n = "transform.apply_registered\\5Fpass"(%root) <{pass_name = "snapshot\\2Dop-locations", '
                f'options = {{filename = "{path}"}}}}> : {ANY}'
            ),
            (),
        ),
        "a pipeline": (schedule_text(inline % f'"op-pipelines" = "func.func({inner})"'), ()),
        "behind a number": (schedule_text(inline % f'"max-iterations" = "4 default-pipeline={inner}"'), ()),
        "in a key": (
            schedule_text(inline % f'"max-iterations=4 default-pipeline={inner} max-iterations" = 4'),
            (),
        ),
        "fixed point": (
            schedule_text(
                '%n = transform.apply_registered_pass "composite-fixed-point-pass" with options = '
                f'{{"name" = "x", "pipeline" = "{inner}"}} to %root : {ANY}'
            ),
            (),
        ),
    }


WAYS = tuple(ways("x"))


@pytest.fixture
def out(tmp_path):
    return tmp_path / "written"


@pytest.fixture(scope="module")
def payload():
    return load_payload(PAYLOAD)


@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_writing_a_file_is_applied(way, out, payload):
    text, libraries = ways(out)[way]
    schedule = load_schedule(text, libraries=libraries)  # to be looked at, it loads
    for apply in (trace_schedule, compile_kernel):
        with pytest.raises(ScheduleError) as caught:
            apply(payload, schedule)
        failure = caught.value.failure
        assert failure.kind == "schedule-verify"
        assert "is refused" in failure.diagnostics[0].message
        assert failure.span is not None and failure.span.line > 1
        assert "--allow-pass" in failure.advice
    assert not out.exists()
    assert check_schedule(schedule).refused


def test_bytecode_is_looked_at_like_text(out, payload, tmp_path):
    file = tmp_path / "schedule.mlirbc"
    with new_context():
        module = ir.Module.parse(schedule_text(snapshot(out)))
        with file.open("wb") as stream:
            module.operation.write_bytecode(stream)
    with pytest.raises(ScheduleError, match="snapshot-op-locations"):
        trace_schedule(payload, load_schedule(file))
    assert not out.exists()


def test_sequences_beside_the_payload_do_not_run_by_themselves(out, payload):
    both = schedule_text(snapshot(out), more=PAYLOAD)
    trace = trace_schedule(load_payload(both), load_schedule(schedule_text()))
    assert trace.outcome.status == "ok"
    assert not out.exists()


def test_a_sweep_refuses_too(out, payload):
    knob = '%k = transform.tune.knob<"k"> = 1 : i64 from options = [1 : i64, 2 : i64] -> !transform.param<i64>'
    schedule = load_schedule(schedule_text(knob, snapshot(out)))
    swept = sweep(payload, schedule, store=None, confirm=False)
    records = swept.result().records
    assert {r.status for r in records} == {"schedule-failed"}
    assert "not allowed" in records[0].message
    assert not out.exists()


def test_a_pass_that_the_user_allows_runs(payload):
    name = "composite-fixed-point-pass"  # it writes nothing, so that no sandbox is in its way
    options = '{"name" = "x", "pipeline" = "canonicalize"}'
    text = schedule_text(
        f'%n = transform.apply_registered_pass "{name}" with options = {options} to %root : {ANY}'
    )
    schedule = load_schedule(text, allow_passes=[name])
    assert trace_schedule(payload, schedule).outcome.status == "ok"
    assert check_schedule(schedule).refused == ()
    again, _ = parse_text(schedule, text.replace("%n", "%m"))  # an edit keeps what was allowed
    assert again.allowed_passes == (name,)


def test_no_file_says_what_is_allowed():
    schedule = load_schedule(schedule_text(), allow_passes=["snapshot-op-locations"])
    data = to_json(schedule)
    assert "allowed_passes" not in data
    assert from_json(Schedule, data).allowed_passes == ()
    with pytest.raises(ValueError, match="allowed_passes"):
        from_json(Schedule, {**data, "allowed_passes": ["snapshot-op-locations"]})


def test_records_of_a_refused_sweep_are_not_those_of_an_allowed_one():
    schedule = load_schedule(schedule_text())
    allowed = dataclasses.replace(schedule, allowed_passes=("snapshot-op-locations",))
    assert schedule_facts(schedule) != schedule_facts(allowed)
    assert "allowed_passes" not in schedule_facts(schedule)  # keys of earlier stores stay what they were


def test_the_check_says_where_without_a_payload(lhkit_here, tmp_path):
    file, report = tmp_path / "s.mlir", tmp_path / "check.json"
    file.write_text(schedule_text(snapshot("/tmp/x")))
    done = lhkit_here("check", str(file), "--json", str(report))
    assert done.returncode == 1
    line = next(i for i, row in enumerate(file.read_text().splitlines(), 1) if "snapshot" in row)
    assert f"{file}:{line}:6: error: the pass snapshot-op-locations is refused: it writes files" in done.stdout
    shown = done.stdout.splitlines()
    caret = next(i for i, row in enumerate(shown) if "^" in row)
    assert "snapshot-op-locations" in shown[caret - 1]
    assert "--allow-pass snapshot-op-locations" in done.stdout
    assert "1 error" in shown[-1]
    found = json.loads(report.read_text())["refused"]
    assert [(f["pass"], f["line"], f["column"]) for f in found] == [("snapshot-op-locations", line, 6)]
    allowed = lhkit_here("check", str(file), "--allow-pass", "snapshot-op-locations")
    assert allowed.returncode == 0


def test_the_advice_to_allow_a_pass_says_what_the_sandbox_does(payload, out):
    with pytest.raises(ScheduleError) as caught:
        compile_kernel(payload, load_schedule(schedule_text(snapshot(out))))
    assert "The worker's sandbox still holds" in caught.value.failure.advice


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("canonicalise", "does not exist in this compiler; did you mean canonicalize"),
        ("buffer-hoist", "did you mean buffer-hoisting"),
        ("qqqq", "the pass qqqq does not exist in this compiler"),
        ("cse,x{y}", "does not exist in this compiler"),
    ],
)
def test_a_pass_that_does_not_exist_cannot_be_allowed(name, said, payload):
    schedule = load_schedule(schedule_text(f'%n = transform.apply_registered_pass "{name}" to %root : {ANY}'))
    with pytest.raises(ScheduleError, match="runs a pass that does not exist") as caught:
        compile_kernel(payload, schedule)
    failure = caught.value.failure
    assert said in failure.diagnostics[0].message and failure.diagnostics[0].span.line > 1
    assert failure.advice is None and "the compiler printed" not in str(caught.value)
    shown = plain_text(check_lines(check_schedule(schedule)))
    assert said in shown and "--allow-pass" not in shown


def test_an_entry_does_not_write_pipelines(out, payload):
    name = f'"x}},snapshot-op-locations{{filename={out}"'
    text = schedule_text(name=name)
    schedule = load_schedule(text)
    with pytest.raises(UsageError, match="transform-interpreter"):
        apply_portable(payload, schedule)
    assert not out.exists()


def test_names_that_are_bound_do_not_write_pipelines(out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = Source("payload", "payload", "p.mlir", PAYLOAD.encode())
    schedule = Source("schedule", "schedule", "s.mlir", schedule_text().encode())
    bind = [f"func.func}},snapshot-op-locations{{filename={out}"]
    with pytest.raises(UsageError, match="transform-interpreter"):
        apply_by_pass(source, [schedule], "__transform_main", bind)
    assert not out.exists()


# The list.

_NAME = re.compile(rb"\0([a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?=\0)")


def registered_passes():
    """The bindings have no list of passes: every word of their libraries is tried as a pass's name."""
    words = {"canonicalize"}  # a linker may keep it as the end of another word only
    folder = Path(host_module("_mlir_libs").__path__[0])
    for library in (path for pattern in ("*.so", "*.dylib", "*.dll", "*.pyd") for path in folder.glob(pattern)):
        for match in set(_NAME.findall(library.read_bytes())):
            parts = match.decode().split("-") if len(match) <= 70 else []
            words |= {"-".join(parts[i:]) for i in range(len(parts))}
    return {word for word in words if is_registered(word)}


def is_registered(name):
    try:
        return bool(passmanager.PassManager.parse(f"any({name})"))
    except ValueError:
        return False


def test_every_registered_pass_is_allowed_or_refused_on_purpose():
    with new_context():
        names = registered_passes()
    assert names >= REFUSED_PASSES.keys()
    assert not ALLOWED_PASSES & REFUSED_PASSES.keys()
    assert names - ALLOWED_PASSES == REFUSED_PASSES.keys()


def test_a_pass_that_is_not_known_is_refused():
    assert "not on the list" in refusal_of("pass-of-tomorrow")
    assert refusal_of("pass-of-tomorrow", allowed=["pass-of-tomorrow"]) is None


# Options that name files, tools or pipelines; none of the allowed passes may have one, printed or not.
OPTIONS = (
    "filename", "file", "path", "paths", "output", "o", "l", "link-files", "toolkit", "opts", "cmd-options",
    "ptxas-cmd-options", "transform-library-paths", "library", "libraries", "plugin", "dump", "dump-dir",
    "pipeline", "pipelines", "op-pipelines", "default-pipeline", "pass-pipeline", "gpu-format", "cubin-format",
)  # fmt: skip
GUARDED = {"inline": {"op-pipelines", "default-pipeline"}, "sparsifier": {"gpu-format"}}


def test_no_allowed_pass_has_an_option_for_files_or_pipelines(capfd):
    with new_context():
        names = registered_passes() & ALLOWED_PASSES
        found = {}
        for name in sorted(names):
            for option in OPTIONS:
                try:
                    value = "any(cse)" if option == "op-pipelines" else "canonicalize"
                    passmanager.PassManager.parse(f"any({name}{{{option}={value}}})")
                except ValueError:
                    continue
                found.setdefault(name, set()).add(option)
    capfd.readouterr()  # each refusal is printed
    assert found == GUARDED


@pytest.mark.parametrize(
    ("name", "options", "refused"),
    [
        ("inline", [], False),
        ("inline", [("max-iterations", True)], False),
        ("inline", [("max-iterations", False)], True),
        ("inline", [("default-pipeline", False)], True),
        ("sparsifier", [("vl", True)], False),
        ("sparsifier", [("gpu-format", False)], True),
        ("canonicalize", [("max-iterations", False)], False),
    ],
)
def test_some_passes_take_numbers_only(name, options, refused):
    assert (refusal_of(name, options) is not None) == refused


# A compiler binary in place of the bindings.

PROGRAM = "mlir-opt-19"


@pytest.fixture
def host(monkeypatch):
    if shutil.which(PROGRAM) is None:
        message = f"{PROGRAM} is not installed (Debian: apt-get install mlir-19-tools)"
        if os.environ.get("LHKIT_TESTS_NEED_OPT"):
            pytest.fail(message)
        pytest.skip(message)
    monkeypatch.setenv("LHKIT_OPT", PROGRAM)
    return opt_host()


def old_spelling(text):
    """Return a schedule as LLVM 19 reads it: options were one string."""
    text = re.sub(
        r' with options = {"filename" = "(.*?)"} to (%\w+)', r' to \2 {options = "filename=\1"}', text
    )
    return re.sub(r'options = {filename = "(.*?)"}', r'options = "filename=\1"', text)


@pytest.mark.parametrize("way", ["plain", "escaped", "library"])
def test_a_compiler_binary_is_not_asked_to_write_files(way, host, out):
    text, libraries = ways(out)[way]
    payload, schedule = load_for_opt(PAYLOAD, old_spelling(text), libraries=map(old_spelling, libraries))
    with pytest.raises(
        ScheduleError, match=r"--allow-pass snapshot-op-locations.*\n?.*runs without lhkit's sandbox"
    ):
        trace_with_opt(host, payload, schedule)
    assert not out.exists()
    allowed = dataclasses.replace(schedule, allowed_passes=("snapshot-op-locations",))
    assert trace_with_opt(host, payload, allowed).outcome.status == "ok"
    assert out.exists()  # so that the refusal was what kept it from being written


def test_a_binary_is_given_no_entry_that_writes_pipelines(host, out):
    name = f'"x}},snapshot-op-locations{{filename={out}"'
    payload, schedule = load_for_opt(PAYLOAD, schedule_text(name=name))
    with pytest.raises(UsageError, match="transform-interpreter"):
        trace_with_opt(host, payload, schedule)
    assert not out.exists()


@pytest.mark.parametrize(
    ("attributes", "refused"),
    [
        ('{options = {}, pass_name = "canonicalize"}', False),
        ('{options = {"max-iterations" = 4}, pass_name = "canonicalize"}', False),
        ('{options = {"a}" = "pass_name = "}, pass_name = "inline"}', True),
        ('{options = {a = "{pass_name = \\22cse\\22}"}, pass_name = "snapshot-op-locations"}', True),
        ("{}", True),
    ],
)
def test_the_generic_form_is_read_whole(attributes, refused):
    printed = (
        f'%0 = "transform.apply_registered_pass"(%arg0) <{attributes}> : {ANY}\n"x"() {{pass_name = "cse"}}'
    )
    assert bool(refused_in(printed)) == refused
