"""Traces by a compiler binary, held against those of the bindings."""

import json
import os
import shutil
from importlib.resources import files

import jsonschema
import pytest

from lhkit.load.loader import load_payload, load_schedule
from lhkit.model.errors import ScheduleError, TimeLimitError, UsageError
from lhkit.model.trace_json import trace_from_json, trace_to_json
from lhkit.traces.opt.opt_runs import OptHost, opt_host
from lhkit.traces.opt.opt_trace import trace_with_opt
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.limits import Limits

SCHEMA = json.loads(files("lhkit").joinpath("schemas/trace-1.json").read_text(encoding="utf-8"))
PROGRAM = "mlir-opt-19"
TENSOR = "tensor<64x64xf32>"
PAYLOAD = f"""
func.func @layer(%x: {TENSOR}, %w: {TENSOR}, %b: {TENSOR}, %out: {TENSOR}) -> {TENSOR} {{
  %product = linalg.matmul ins(%x, %w : {TENSOR}, {TENSOR}) outs(%out : {TENSOR}) -> {TENSOR}
  %sum = linalg.add ins(%product, %b : {TENSOR}, {TENSOR}) outs(%out : {TENSOR}) -> {TENSOR}
  %top = linalg.max ins(%sum, %b : {TENSOR}, {TENSOR}) outs(%out : {TENSOR}) -> {TENSOR}
  return %top : {TENSOR}
}}
"""
MATCH = """
  %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
  %sum = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
  %top = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
"""
ONE, TWO = (
    "(!transform.any_op) -> !transform.any_op",
    "(!transform.any_op) -> (!transform.any_op, !transform.any_op)",
)
FUSE = "(!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)"
TILE = f"  %tiled, %loop = transform.structured.tile_using_forall %top tile_sizes [8, 32] : {TWO}\n"
CHAIN = TILE + (
    f"  %sum_in, %l0 = transform.structured.fuse_into_containing_op %sum into %loop : {FUSE}\n"
    f"  %product_in, %l1 = transform.structured.fuse_into_containing_op %product into %loop : {FUSE}\n"
    f"  %sum_2, %loop_2 = transform.structured.tile_using_forall %sum_in tile_sizes [4, 4] : {TWO}\n"
    f"  %product_2, %l2 = transform.structured.fuse_into_containing_op %product_in into %loop_2 : {FUSE}\n"
    f"  %one, %target = transform.structured.tile_using_forall %sum_2 tile_sizes [1] : {TWO}\n"
    f"  %product_1, %l3 = transform.structured.fuse_into_containing_op %product_2 into %target : {FUSE}\n"
    f'  %function, %call = transform.loop.outline %target {{func_name = "kernel"}} : {TWO}\n'
)
USE = '  transform.debug.emit_remark_at %{}, "used" : !transform.any_op\n'
CASES = {
    "tile": TILE,
    "chain": CHAIN,
    "direct": TILE + USE.format("top"),
    "alias": "  %other = transform.merge_handles %top, %sum : !transform.any_op\n" + TILE + USE.format("other"),
    "nested": CHAIN + USE.format("one"),
    "loops": "  %t, %l:2 = transform.structured.tile_using_for %product tile_sizes [8, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)\n"
    + "  transform.loop.unroll %l#1 {factor = 2} : !transform.any_op\n",
    "empty": f'  %none = transform.structured.match ops{{["linalg.exp"]}} in %root : {ONE}\n'
    f"  %t, %l = transform.structured.tile_using_forall %none tile_sizes [4] : {TWO}\n",
    "parameter": "  %size = transform.param.constant 8 : i64 -> !transform.param<i64>\n"
    "  %t, %l = transform.structured.tile_using_for %product tile_sizes [%size] : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)\n",
    "twice": f"  %both = transform.merge_handles %top, %top : !transform.any_op\n  %t, %l = transform.structured.tile_using_forall %both tile_sizes [4] : {TWO}\n",
    "silenceable": "  %a, %b = transform.split_handle %top : " + TWO + "\n",
    "cleanup": f"  %f = transform.get_parent_op %product {{isolated_from_above}} : {ONE}\n"
    + TILE
    + "  transform.apply_cse to %f : !transform.any_op\n  transform.apply_patterns to %f { transform.apply_patterns.canonicalization } : !transform.any_op\n",
}

QUICK = ("nested", "empty", "parameter", "silenceable")


@pytest.fixture(scope="module")
def host():
    """The program; skipped if it is not installed and LHKIT_TESTS_NEED_OPT does not require it."""
    if shutil.which(PROGRAM) is None:
        message = f"{PROGRAM} is not installed (Debian: apt-get install mlir-19-tools)"
        if os.environ.get("LHKIT_TESTS_NEED_OPT"):
            pytest.fail(message)
        pytest.skip(message)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LHKIT_OPT", PROGRAM)
        found = opt_host()
    assert found.name == PROGRAM and found.version.startswith("19.")
    return found


def schedule_of(steps, worker, *, match=MATCH, arguments="", bind=()):
    text = (
        "module attributes {transform.with_named_sequence} {\n"
        f"transform.named_sequence @__transform_main(%root: !transform.any_op {{transform.readonly}}{arguments}) {{"
        f"{match}{steps}  transform.yield\n}}\n}}\n"
    )
    return load_schedule(text, worker=worker, bind=bind)


def essence(trace):
    """What both ways must agree on: steps, states by name, deaths with their causes, and the verdict."""
    names = {h.id: h.name for h in trace.handle_records}
    count = len(trace.step_records)
    return {
        "steps": [(s.op, s.source.line, s.source.column, s.status) for s in trace.step_records],
        "uses": [[(names[o.handle], o.effect) for o in s.operands] for s in trace.step_records],
        "results": [[names[r] for r in s.results] for s in trace.step_records],
        "deaths": [
            {(names[d.handle], d.cause, names[d.by]) for d in s.invalidated} for s in trace.step_records
        ],
        "states": [
            {names[h]: (c.state, len(c.payload)) for h, c in trace.states_after(i).items()}
            for i in range(count)
            if trace.step_records[i].status == "ok"
        ],
        "outcome": (trace.outcome.status, trace.outcome.kind, trace.outcome.failed_step),
    }


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.heavy) for n in CASES])
def test_a_binary_and_the_bindings_tell_the_same(name, host, worker):
    payload, schedule = load_payload(PAYLOAD, worker=worker), schedule_of(CASES[name], worker)
    by_bindings = trace_schedule(payload, schedule, worker=worker)
    by_binary = trace_with_opt(host, payload, schedule)
    ours, theirs = essence(by_binary), essence(by_bindings)
    if name == "twice":  # marks on payload ops do not say how often
        del theirs["states"]
    for part in theirs:
        assert ours[part] == theirs[part], part
    written = trace_to_json(by_binary)
    jsonschema.validate(written, SCHEMA)
    assert trace_from_json(written) == by_binary
    assert by_binary.toolchain.bindings == PROGRAM
    assert by_binary.step_records[0].warnings[0].kind == "binary-host"


def test_bound_arguments_and_a_payload_in_the_same_file(host, worker):
    arguments = ', %m: !transform.op<"linalg.matmul"> {transform.consumed}'
    step = '\n  %t, %l = transform.structured.tile_using_forall %m tile_sizes [4] : (!transform.op<"linalg.matmul">) -> (!transform.any_op, !transform.any_op)\n'
    schedule = schedule_of(step, worker, match="", arguments=arguments, bind=["linalg.matmul"])
    both = load_payload(PAYLOAD + schedule.text, worker=worker)
    trace = trace_with_opt(host, both, schedule)
    assert trace.outcome.status == "ok", trace.outcome.message
    assert essence(trace)["deaths"] == [{("%m", "direct", "%m")}]
    assert "scf.forall" in trace.last_snapshot_text() and "lhkit" not in trace.last_snapshot_text()


def test_steps_inside_of_steps_are_one_and_said_to_be(host, worker):
    body = (
        "  transform.foreach %product : !transform.any_op {\n  ^bb0(%each: !transform.any_op):\n"
        + USE.format("each")
        + "  }\n"
    )
    trace = trace_with_opt(host, load_payload(PAYLOAD, worker=worker), schedule_of(body, worker))
    assert trace.outcome.status == "ok"
    assert [s.op for s in trace.step_records][-1] == "transform.foreach"
    assert "not seen" in trace.step_records[-1].warnings[-1].message


def test_a_crash_is_the_step_that_died(host, worker):
    steps = "  %a, %b, %c = transform.structured.multitile_sizes %product {dimension = 0, target_size = 0} : (!transform.any_op) -> !transform.param<i64>\n"
    trace = trace_with_opt(host, load_payload(PAYLOAD, worker=worker), schedule_of(steps, worker))
    assert (trace.outcome.status, trace.outcome.kind, trace.outcome.failed_step) == ("crashed", "crash", 3)


def test_a_time_limit_ends_it(host, worker, tmp_path):
    slow = tmp_path / "slow-opt"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    with pytest.raises(TimeLimitError, match="failed before the first step") as caught:
        trace_with_opt(
            OptHost(str(slow), "slow-opt", "0"),
            load_payload(PAYLOAD, worker=worker),
            schedule_of(TILE, worker),
            limits=Limits(seconds=0.2),
        )
    assert caught.value.failure.kind == "timeout"


def test_what_its_version_does_not_know_is_said(host, worker):
    steps = '  %k = transform.tune.knob<"k"> = 8 : i64 from options = [8] -> !transform.param<i64>\n'
    with pytest.raises(ScheduleError, match="without LHKIT_OPT the bindings trace it") as caught:
        trace_with_opt(host, load_payload(PAYLOAD, worker=worker), schedule_of(steps, worker))
    assert caught.value.failure.span.line == 6


@pytest.mark.parametrize("program", ["no-such-program", "true"])
def test_a_program_that_is_none_is_a_usage_error(program, monkeypatch):
    monkeypatch.setenv("LHKIT_OPT", program)
    with pytest.raises(UsageError, match=f"LHKIT_OPT={program}"):
        opt_host()


def test_the_command_takes_the_binary(host, lhkit_command, tmp_path, worker):
    (tmp_path / "p.mlir").write_text(PAYLOAD)
    (tmp_path / "s.mlir").write_text(schedule_of(CHAIN + USE.format("one"), worker).text)
    done = lhkit_command("trace", "p.mlir", "s.mlir", "--json", "t.json", env={"LHKIT_OPT": PROGRAM})
    assert done.returncode == 1 and "%one is invalidated" in done.stderr
    written = json.loads((tmp_path / "t.json").read_text())
    assert written["toolchain"]["bindings"] == PROGRAM
    doctor = lhkit_command("doctor", env={"LHKIT_OPT": PROGRAM})
    assert f"{PROGRAM} {host.version}" in doctor.stdout


def test_the_command_takes_what_only_the_binary_knows(host, lhkit_command, tmp_path):
    elementwise = PAYLOAD.replace(
        "linalg.max ins", "linalg.elemwise_binary {fun = #linalg.binary_fn<max_signed>} ins"
    )
    (tmp_path / "p.mlir").write_text(elementwise)
    (tmp_path / "s.mlir").write_text(
        "module attributes {transform.with_named_sequence} {\n"
        "transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {"
        + MATCH.replace("linalg.max", "linalg.elemwise_binary")
        + TILE
        + "  transform.yield\n}\n}\n"
    )
    assert lhkit_command("trace", "p.mlir", "s.mlir").returncode == 2
    done = lhkit_command("trace", "p.mlir", "s.mlir", env={"LHKIT_OPT": PROGRAM})
    assert done.returncode == 0, done.stderr
    assert "%top was invalidated: step 3 consumed it" in done.stdout
    set_knob = lhkit_command("trace", "p.mlir", "s.mlir", "--set", "x=1", env={"LHKIT_OPT": PROGRAM})
    assert set_knob.returncode == 2 and "needs the bindings" in set_knob.stderr
