"""Exports for other programs, held against judges that are not lhkit: the compiler's pass, and ``mlir-opt``."""

import dataclasses
import functools
import os
import re
import shutil
import subprocess

import pytest
from texts import ROOT, generated
from tutorial_cases import ANY, CASES, PAYLOADS, schedule_text

import lhkit
from lhkit.compiler.ir.bindings import ir, new_context, passmanager
from lhkit.compose.builder.builder_code import builder_code
from lhkit.compose.builder.schedule_builder import build
from lhkit.load.loader import load_payload, load_schedule
from lhkit.load.schedule_export import apply_portable, portable_text, prevents_portable, tunable_text
from lhkit.model.errors import ScheduleError, UsageError
from lhkit.model.knob import attribute_text
from lhkit.text.knob_text import portable_problems
from lhkit.traces.record.trace_run import trace_schedule

OPT = "mlir-opt-19"
# Schedules with steps that other programs do not have.
WITH_OWN_OPS = ("elementwise_chain.mlir", "layernorm.mlir", "softmax.mlir")
SHIPPED = sorted(p.name for p in (ROOT / "schedules").glob("*.mlir") if p.name not in WITH_OWN_OPS)
TUTORIAL = {p.id: p.values[0] for p in CASES}
APPLIES = sorted(name for name, case in TUTORIAL.items() if case.kind is None)


def same(text, *, clean=False):
    """Return a payload as the compiler prints it, the names of values forgotten."""
    with new_context():
        module = ir.Module.parse(text)
        if clean:
            passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
        return str(module)


def settled(text):
    """Return a payload without what two versions of the compiler do otherwise.

    That is where constants stand, and what reads inside the bounds are padded with: poison or 0.
    """
    text = same(text, clean=True)
    found = re.compile(r"^ *(%\w+) = ((?:arith\.constant|ub\.poison) .*)$\n", re.MULTILINE)
    constants = {
        name: value.replace("ub.poison", "arith.constant 0.000000e+00") for name, value in found.findall(text)
    }
    numbers = {}
    return re.sub(
        r"%\w+",
        lambda m: constants.get(m[0]) or f"%v{numbers.setdefault(m[0], len(numbers))}",
        found.sub("", text),
    )


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


# Without the steps that are optional it goes other ways.
OTHERWISE = ("cpu.mlir",)


@pytest.mark.parametrize("name", SHIPPED, ids=lambda n: f"pass transform-interpreter: {n}")
def test_the_compilers_pass_takes_every_shipped_schedule(name, worker):
    payload, schedule = shipped(name, worker)
    if name == "conv2d.mlir":
        schedule = schedule.with_knobs({"winograd": 0})  # exports go without
    text = portable_text(schedule, worker=worker)
    assert "transform.tune" not in text and not prevents_portable(schedule)
    exported = same(apply_portable(payload, schedule, worker=worker))
    assert (exported == same(applied(payload, schedule, worker))) == (name not in OTHERWISE)
    for knob in schedule.knobs[:1]:
        other = schedule.with_knobs({knob.name: next(o for o in knob.options if o != knob.default)})
        assert portable_text(other, worker=worker) != text


@pytest.mark.parametrize("name", WITH_OWN_OPS)
def test_a_schedule_with_steps_of_ours_is_not_portable_and_says_where(name, worker):
    schedule = load_schedule(name, worker=worker)
    with pytest.raises(UsageError, match="cannot be exported") as caught:
        portable_text(schedule, worker=worker)
    assert "rows.mlir:" in str(caught.value) and "lhkit.expand_math is an op of lhkit" in str(caught.value)


def test_an_export_goes_without_steps_that_are_optional(worker):
    payload = lhkit.payloads.conv2d_nhwc(1, 12, 12, 16, 32, 3)
    schedule = load_schedule("conv2d.mlir", worker=worker, target="avx512")
    assert "lhkit.winograd_conv2d" in schedule.text and "tensor<16x" in applied(payload, schedule, worker)
    text = portable_text(schedule, worker=worker)
    assert "lhkit.winograd_conv2d" not in re.sub(r"(?<!: )//.*", "", text) and "optional" not in text
    direct = schedule.with_knobs({"winograd": 0})
    assert same(apply_portable(payload, schedule, worker=worker)) == same(applied(payload, direct, worker))


def test_a_step_that_is_not_called_optional_is_no_more_left_out(worker):
    schedule = load_schedule("conv2d.mlir", worker=worker)
    other = dataclasses.replace(
        schedule,
        text=schedule.text.replace("lhkit: optional lhkit.winograd_conv2d", "lhkit: optional lhkit.other"),
    )
    (problem,) = prevents_portable(other)
    assert "lhkit.winograd_conv2d is an op of lhkit" in problem


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


# What LLVM 19 does not know, with what it says.
UNKNOWN_IN_19 = {
    "conv2d.mlir": "transform.structured.fuse %shares tile_sizes",
    "cpu.mlir": "transform.apply_patterns.vector.reorder_multi_reduction_dims",
    "fc_relu.mlir": "transform.apply_patterns.vector.reorder_multi_reduction_dims",
    "matmul.mlir": "transform.structured.fuse %by_rows tile_sizes",
    "mlp.mlir": "transform.apply_patterns.vector.reorder_multi_reduction_dims",
    "op_chain_tile_fuse.mlir": "transform.structured.fuse %last tile_sizes",
    **{
        name: "custom op 'linalg.elementwise' is unknown"
        for name in APPLIES
        if TUTORIAL[name].payload == "layer"
    },
}
# What it does otherwise, with the difference.
OTHERWISE_IN_19 = {
    "0: a producer computed inside the loop of its consumer": "%v12 = tensor.extract_slice %v9[",
    "H: vectorize: one step of the reduction at a time": "tensor<1x1x5x1xf32> to tensor<5xf32>",
}


@pytest.fixture(scope="module")
def opt():
    """Path of the program; missing it is an error only if LHKIT_TESTS_NEED_OPT is set."""
    if shutil.which(OPT) is None:
        message = f"{OPT} is not installed (Debian: apt-get install mlir-19-tools)"
        if os.environ.get("LHKIT_TESTS_NEED_OPT"):
            pytest.fail(message)
        pytest.skip(message)
    return OPT


def by_opt(payload, schedule, folder, worker):
    """Return what ``mlir-opt`` does with an export."""
    (folder / "payload.mlir").write_text(payload.text)
    (folder / "schedule.mlir").write_text(portable_text(schedule, worker=worker))
    bound = f" debug-bind-trailing-args={','.join(schedule.bind)}" if schedule.bind else ""
    command = [
        OPT,
        "payload.mlir",
        "--transform-preload-library=transform-library-paths=schedule.mlir",
        f"--transform-interpreter=entry-point={schedule.entry}{bound}",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


KNOWN_IN_19 = [n for n in (*SHIPPED, *APPLIES) if n not in UNKNOWN_IN_19]


@pytest.mark.parametrize("name", KNOWN_IN_19, ids=lambda n: f"{OPT}: {n}")
def test_mlir_opt_takes_an_export(name, opt, worker, tmp_path):
    payload, schedule = (shipped if name in SHIPPED else listing)(name, worker)
    done = by_opt(payload, schedule, tmp_path, worker)
    assert done.returncode == 0, done.stderr
    ours, theirs = settled(applied(payload, schedule, worker)), settled(done.stdout)
    if name in OTHERWISE_IN_19:
        phrase = OTHERWISE_IN_19[name]
        assert phrase in ours and phrase not in theirs
    else:
        assert theirs == ours


@pytest.mark.parametrize("name", sorted(UNKNOWN_IN_19)[-2:], ids=lambda n: f"{OPT}: {n}")
def test_what_mlir_opt_does_not_know_is_said(name, opt, worker, tmp_path):
    payload, schedule = (shipped if name in SHIPPED else listing)(name, worker)
    done = by_opt(payload, schedule, tmp_path, worker)
    assert done.returncode == 1 and UNKNOWN_IN_19[name] in done.stderr


def marks_forgotten(text):
    """Return a schedule as the compiler prints it, without what is said of the effects on arguments."""
    return re.sub(r" \{transform\.(consumed|readonly)\}", "", same(text))


def check_code(schedule, worker, catalogue):
    code = builder_code(schedule, worker=worker)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lhkit, "build", functools.partial(build, catalogue=catalogue, worker=worker))
        made = {}
        exec(compile(code, "<code>", "exec"), made)
    built = made["schedule"]
    assert marks_forgotten(built.text) == marks_forgotten(schedule.text), code
    assert (built.entry, built.bind) == (schedule.entry, schedule.bind)
    values = dict(schedule.target_defaults)  # come from comments, which the code has none of
    assert [(k.name, values.get(k.name, k.default), k.options) for k in built.knobs] == [
        (k.name, k.default, k.options) for k in schedule.knobs
    ]


@pytest.mark.parametrize("name", [*SHIPPED, *TUTORIAL])
def test_the_code_of_a_schedule_builds_it_again(name, worker, catalogue):
    _, schedule = (shipped if name in SHIPPED else listing)(name, worker)
    if schedule.libraries:
        with pytest.raises(UsageError, match="includes from libraries"):
            builder_code(schedule, worker=worker)
    else:
        check_code(schedule, worker, catalogue)


def test_generated_schedules_are_built_again_and_exported(worker, catalogue):
    for text in generated(15):
        schedule = load_schedule(text, any_entry=True, worker=worker)
        check_code(schedule, worker, catalogue)
        assert same(portable_text(schedule, worker=worker))


TUNED = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
    %n = transform.tune.knob<"n"> = 8 : i64 from options = [4, 8] -> !transform.param<i64>
    %a = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY}
    %t, %l = transform.structured.tile_using_for %a tile_sizes [%n] // rows
      : ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY})
    %loud = transform.tune.knob<"loud"> = true from options = [true, false] -> !transform.any_param
    transform.debug.emit_param_as_remark %loud : !transform.any_param
    %r = transform.tune.alternatives<"order"> selected_region = 1 -> {ANY} {{
      transform.yield %t : {ANY}
    }}, {{
      // both
      %l_1 = transform.merge_handles %t, %l : {ANY}
      transform.yield %l_1 : {ANY}
    }}
    %l_1 = transform.merge_handles %r, %t : {ANY}
    transform.print %l_1 : {ANY}
    transform.yield
  }}
}}
"""


def test_knobs_are_folded_and_the_rest_stays(worker):
    schedule = load_schedule(TUNED, worker=worker)
    assert portable_text(schedule, worker=worker).splitlines()[3:-3] == [
        "    %t, %l = transform.structured.tile_using_for %a tile_sizes [8] // rows",
        f"      : ({ANY}) -> ({ANY}, {ANY})",
        "    %loud = transform.param.constant true -> !transform.any_param",
        "    transform.debug.emit_param_as_remark %loud : !transform.any_param",
        "    // both",
        f"    %l_2 = transform.merge_handles %t, %l : {ANY}",
        f"    %l_1 = transform.merge_handles %l_2, %t : {ANY}",
        f"    transform.print %l_1 : {ANY}",
    ]
    other = schedule.with_knobs({"order": 0, "n": 4, "loud": False})
    text = portable_text(other, worker=worker)
    assert (
        "tile_sizes [4]" in text
        and "constant false" in text
        and "%l_1 = transform.merge_handles %t, %t" in text
    )
    assert tunable_text(schedule) == TUNED
    assert 'knob<"n"> = 4 : i64 from options' in tunable_text(schedule.with_knobs({"n": 4}))


ODD_VALUES = ('a "b" c', "back\\slash \\1 \\g<1>", "two\nlines", "[x] from options", "tab\t é")


@pytest.mark.parametrize("value", ODD_VALUES)
def test_strings_of_knobs_come_back_as_they_were(value, worker):
    other = "plain"
    s = build(worker=worker)
    s.knob("name", other, options=[other, value])
    s.knob("odd", value, options=[value, other])
    schedule = load_schedule(s.text, worker=worker)
    assert [k.options for k in schedule.knobs] == [(other, value), (value, other)]
    assert schedule.values == {"name": other, "odd": value}
    changed = schedule.with_knobs({"name": value, "odd": other})
    again = load_schedule(tunable_text(changed), worker=worker)
    assert again.values == {"name": value, "odd": other}
    back = load_schedule(tunable_text(again.with_knobs({"name": other, "odd": value})), worker=worker)
    assert back.values == schedule.values
    folded = portable_text(changed, worker=worker)
    assert f"transform.param.constant {attribute_text(value)}" in folded, "it was parsed, too"


def test_what_prevents_an_export_is_listed(worker):
    open_knob = load_schedule(TUNED.replace("= 8 : i64 from options", "options"), worker=worker)
    assert "has no default" in prevents_portable(open_knob)[0]
    with pytest.raises(UsageError, match="cannot be exported to other programs"):
        portable_text(open_knob, worker=worker)
    chosen = TUNED.replace("selected_region = 1 ->", "selected_region = %n : !transform.param<i64> ->")
    (problem,) = prevents_portable(load_schedule(chosen, worker=worker))
    assert problem.startswith("<schedule>:9: transform.tune.alternatives<'order'> has no value")
    own = TUNED.replace(
        "    transform.print", '    "my.step"(%t) : (!transform.any_op) -> ()\n    transform.print'
    )
    (problem,) = portable_problems(own, "mine.mlir", {"n": 8, "loud": True, "order": 0})
    assert problem.startswith("mine.mlir:17: my.step is an op of lhkit or of your own")


def test_an_entry_with_a_library_is_applied_as_an_export(worker, tmp_path):
    (tmp_path / "lib.mlir").write_text(
        "module attributes {transform.with_named_sequence} {\n"
        f"  transform.named_sequence @clean(%f: {ANY} {{transform.readonly}}) {{\n"
        f"    transform.apply_cse to %f : {ANY}\n    transform.yield\n  }}\n}}\n"
    )
    text = (
        "module attributes {transform.with_named_sequence} {\n"
        f"  transform.named_sequence private @clean({ANY} {{transform.readonly}})\n"
        f'  transform.named_sequence @mine(%root: {ANY} {{transform.readonly}}, %m: !transform.op<"linalg.matmul"> {{transform.readonly}}) {{\n'
        f'    %f = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}\n'
        f"    transform.include @clean failures(propagate) (%f) : ({ANY}) -> ()\n    transform.yield\n  }}\n}}\n"
    )
    schedule = load_schedule(
        text, entry="mine", bind=["linalg.matmul"], libraries=[tmp_path / "lib.mlir"], worker=worker
    )
    payload = load_payload(PAYLOADS["primer"], worker=worker)
    assert same(apply_portable(payload, schedule, worker=worker)) == same(applied(payload, schedule, worker))
    assert "transform.apply_cse" in portable_text(schedule, worker=worker)
    with pytest.raises(UsageError, match="includes from libraries"):
        builder_code(schedule, worker=worker)


def test_a_module_of_the_bindings_is_a_schedule(worker):
    with new_context():
        schedule = load_schedule(ir.Module.parse(TUNED), worker=worker)
    assert [k.name for k in schedule.knobs] == ["n", "loud", "order"]
    assert schedule.with_knobs({"n": 4}).values["n"] == 4
