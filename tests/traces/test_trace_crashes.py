"""What kills the compiler, through a trace: a typed outcome, the step that died, and a worker that lives on."""

import json
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lhkit
from lhkit.checks.schedule_check import check_schedule
from lhkit.model.errors import LhkitError, UsageError
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

ANY = "!transform.any_op"
SIZES = "!transform.param<i64>"


def matmul(n):
    t = f"tensor<{n}x{n}xf32>"
    return f"""func.func @matmul(%a: {t}, %b: {t}, %c: {t}) -> {t} {{
  %r = linalg.matmul ins(%a, %b : {t}, {t}) outs(%c : {t}) -> {t}
  return %r : {t}
}}"""


LOOP = """func.func @loop(%m: memref<100000000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100000000 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %m[%i] : memref<100000000xf32>
    %w = arith.addf %v, %one : f32
    memref.store %w, %m[%i] : memref<100000000xf32>
  }
  return
}"""
MATMUL = f'%op = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY}'
FOR = f'%op = transform.structured.match ops{{["scf.for"]}} in %root : ({ANY}) -> !transform.op<"scf.for">'

FUNCTION = f'%op = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}'
THREADS = f"%n = transform.param.constant -2 : i64 -> {SIZES}"
KILL = (
    f"%x, %y = transform.structured.tile_using_forall %op num_threads [%n] : ({ANY}, {SIZES}) -> ({ANY}, {ANY})"
)

# Each takes the process down on torch-mlir 20261001: payload, steps; the last step kills.
CRASHES = {"a negative number of threads that a parameter gives": (matmul(64), MATMUL, THREADS, KILL)}
PADS = "{padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1, 2]}"
THREE = f"({ANY}, {ANY}, {ANY})"
# Each would: payload, steps, of which the last is refused, what is said of it, and whether a check sees it.
REFUSED = {
    "sizes for a target of 0": (
        matmul(64),
        (
            MATMUL,
            f"%l, %h, %s = transform.structured.multitile_sizes %op {{dimension = 0, target_size = 0}} : ({ANY}) -> {SIZES}",
        ),
        "target_size = 0: the compiler divides by it and dies; write 1 or more",
        True,
    ),
    "sizes with a divisor of 0": (
        matmul(64),
        (
            MATMUL,
            f"%l, %h, %s = transform.structured.multitile_sizes %op {{dimension = 0, target_size = 4, divisor = 0}} : ({ANY}) -> {SIZES}",
        ),
        "divisor = 0: the compiler divides by it and dies; write 1 or more",
        True,
    ),
    "continuous sizes for a target of 0": (
        matmul(64),
        (
            MATMUL,
            f"%l, %h = transform.structured.continuous_tile_sizes %op {{dimension = 0, target_size = 0}} : ({ANY}) -> {SIZES}",
        ),
        "target_size = 0: the compiler divides by it and dies; write 1 or more",
        True,
    ),
    "padding to a multiple of 0": (
        matmul(64),
        (
            MATMUL,
            f"%p, %q, %r = transform.structured.pad %op pad_to_multiple_of [1, 0, 1] {PADS} : ({ANY}) -> {THREE}",
        ),
        "pad_to_multiple_of has a 0: the compiler divides by it and dies; 1 leaves a dimension as it is",
        True,
    ),
    "padding to a multiple of 0 that a parameter gives": (
        matmul(64),
        (
            MATMUL,
            f"%n = transform.param.constant 0 : i64 -> {SIZES}",
            f"%p, %q, %r = transform.structured.pad %op pad_to_multiple_of [%n, 1, 1] {PADS} : ({ANY}, {SIZES}) -> {THREE}",
        ),
        "pad_to_multiple_of has a 0: the compiler divides by it and dies; 1 leaves a dimension as it is",
        False,
    ),
    "a pipeline with interval 0": (
        LOOP,
        (
            FOR,
            f'%p = transform.loop.pipeline %op {{iteration_interval = 0 : i64, read_latency = 0 : i64}} : (!transform.op<"scf.for">) -> {ANY}',
        ),
        "iteration_interval = 0: the compiler divides by it and dies; write 1 or more",
        True,
    ),
    "a negative number of threads": (
        matmul(64),
        (
            MATMUL,
            f"%x, %y = transform.structured.tile_using_forall %op num_threads [-2] : ({ANY}) -> ({ANY}, {ANY})",
        ),
        "num_threads has -2: the compiler dies of it; write 1 or more, or 0 for no loop",
        True,
    ),
    "a split after nothing": (
        matmul(64),
        (MATMUL, f"%x = transform.structured.split %op after 0 {{dimension = 0}} : {ANY}"),
        "a split after 0 leaves no first part, and the compiler dies of it; split after 1 or more",
        True,
    ),
    "alternatives on the root": (
        matmul(64),
        (f"transform.alternatives %root : {ANY} {{\n^bb0(%in: {ANY}):\n}}",),
        "alternatives work on a copy of their scope, and the payload's root cannot be replaced by one: the compiler dies;"
        ' take a smaller scope, such as transform.structured.match ops{["func.func"]}',
        True,
    ),
    "unrolling by a hundred million": (
        LOOP,
        (FOR, 'transform.loop.unroll %op {factor = 100000000} : !transform.op<"scf.for">'),
        "this makes 100000000 copies of the loop's body, more than 1000000: the compiler runs out of time or memory;"
        " unroll by a factor such as 4",
        False,
    ),
}
# Each runs until it is stopped.
ENDLESS = {
    "unrolling the vectors of a large product": (
        matmul(512),
        MATMUL,
        f'%f = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}',
        f"transform.structured.vectorize %op {{create_named_contraction}} : {ANY}",
        "transform.apply_patterns to %f { transform.apply_patterns.vector.lower_contraction"
        f' lowering_strategy = "outerproduct" transform.apply_patterns.vector.lower_outerproduct }} : {ANY}',
    ),
}


def schedule_of(*steps):
    body = "\n".join(steps)
    head = "module attributes {transform.with_named_sequence} {\ntransform.named_sequence @__transform_main"
    return f"{head}(%root: {ANY} {{transform.consumed}}) {{\n{body}\ntransform.yield\n}}\n}}\n"


def traced(worker, payload, *steps, limits=None):
    loaded = lhkit.load_payload(payload, worker=worker)
    schedule = lhkit.load_schedule(schedule_of(*steps), worker=worker)
    return trace_schedule(loaded, schedule, worker=worker, limits=limits)


def check_death(trace, steps, worker):
    """The last of the steps is the one that died, and the same worker object traces again."""
    last = len(steps) - 1
    assert trace.outcome.failed_step == last
    assert [s.status for s in trace.step_records[: last + 1]] == ["ok"] * last + ["crashed"]
    assert trace.step_records[last].source.line == len(steps) + 2
    assert "func.func" in trace.last_snapshot_text()
    generation = worker.generation
    assert traced(worker, matmul(8), MATMUL).outcome.status == "ok"
    assert worker.generation == generation + 1


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_is_a_step(name, own_worker):
    payload, *steps = CRASHES[name]
    trace = traced(own_worker, payload, *steps)
    assert (trace.outcome.status, trace.outcome.kind) == ("crashed", "crash")
    check_death(trace, steps, own_worker)


@pytest.mark.parametrize("name", REFUSED)
def test_a_step_that_would_kill_is_refused_before_it_runs(name, own_worker):
    payload, steps, said, is_static = REFUSED[name]
    trace = traced(own_worker, payload, *steps)
    failure = failure_of(trace)
    last = trace.step_records[len(steps) - 1]
    assert (trace.outcome.status, trace.outcome.kind, trace.outcome.failed_step) == (
        "failed",
        "definite",
        last.index,
    )
    assert (
        failure.message
        == f"step {last.index} ({last.op}): {last.op.removeprefix('transform.')} would end the compiler"
    )
    assert [(d.message, d.span) for d in failure.diagnostics] == [(said, last.source)]
    schedule = lhkit.load_schedule(schedule_of(*steps), worker=own_worker)
    report = check_schedule(schedule, worker=own_worker)
    assert [(f.use.source, f.message) for f in report.fatal] == ([(last.source, said)] if is_static else [])
    assert (f"error: {last.op}: {said}" in str(report)) == is_static


def test_a_worker_that_was_closed_says_so():
    worker = Worker()
    payload = lhkit.load_payload(matmul(8), worker=worker)
    schedule = lhkit.load_schedule(schedule_of(MATMUL), worker=worker)
    worker.close()
    with pytest.raises(UsageError, match="the worker's folder is gone"):
        trace_schedule(payload, schedule, worker=worker)


def test_a_kernel_that_kills_the_compiler_tells_what_the_trace_does(own_worker):
    payload, steps, said, _ = REFUSED["padding to a multiple of 0"]
    schedule = lhkit.load_schedule(schedule_of(*steps), worker=own_worker)
    with pytest.raises(LhkitError) as error:
        lhkit.compile(lhkit.load_payload(payload, worker=own_worker), schedule, worker=own_worker)
    assert [d.message for d in error.value.failure.diagnostics] == [said]
    assert error.value.failure.exit_code == 1


def test_a_step_that_would_kill_does_nothing_to_nothing(own_worker):
    none = f'%op = transform.structured.match ops{{["linalg.none"]}} in %root : ({ANY}) -> {ANY}'
    _, (_, kill), _, _ = REFUSED["padding to a multiple of 0"]
    assert traced(own_worker, matmul(8), none, kill).outcome.status == "ok" and own_worker.generation == 1


ERASES = f"""module attributes {{transform.with_named_sequence}} {{
transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
  %ops = transform.structured.match ops{{["linalg.exp"]}} in %root : ({ANY}) -> {ANY}
  transform.foreach %ops : {ANY} {{
  ^bb0(%each: {ANY}):
    %user = transform.get_consumers_of_result %each[0] : ({ANY}) -> {ANY}
    %tile, %loop = transform.structured.fuse %user tile_sizes [4] {{apply_cleanup}} : ({ANY}) -> ({ANY}, {ANY})
  }}
  transform.yield
}}
}}"""
EXPS = """func.func @f(%x: tensor<8x8xf32>, %e: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.exp ins(%0 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.abs ins(%1 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}"""


def test_a_foreach_that_goes_on_with_erased_ops_is_told_with_its_cause(own_worker):
    payload = lhkit.load_payload(EXPS, name="exps.mlir", worker=own_worker)
    schedule = lhkit.load_schedule(ERASES, name="erases.mlir", worker=own_worker)
    trace = trace_schedule(payload, schedule, worker=own_worker)
    failure = failure_of(trace)
    assert (trace.outcome.status, trace.outcome.kind) == ("failed", "definite") and own_worker.generation == 1
    eraser = next(s for s in trace.step_records if s.op == "transform.structured.fuse")
    assert failure.message == (
        f"step {trace.outcome.failed_step} (transform.get_consumers_of_result): foreach goes on with payload ops that"
        f" step {eraser.index} (transform.structured.fuse) erased: in iteration 1 over %ops, %each is the linalg.exp of"
        " exps.mlir:3:8, and that is gone, so that the interpreter would read freed memory"
    )
    (shown,) = failure.diagnostics
    assert (shown.span.line, [n.span.line for n in shown.notes]) == (6, [3, 7, 4])
    assert failure.advice.startswith(f"Keep step {eraser.index} from erasing later payload ops")


def test_the_reproducer_of_a_crash_dies_of_the_same(own_worker):
    payload, *steps = next(iter(CRASHES.values()))
    trace = traced(own_worker, payload, *steps)
    path = Path(re.search(r"A file that repeats this: (.*)", trace.outcome.message)[1])
    assert [r["request"] for r in json.loads(path.read_text())["requests"]] == ["trace"]
    again = subprocess.run(
        [sys.executable, "-m", "lhkit.worker", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert again.returncode < 0, again.stderr
    assert signal.Signals(-again.returncode).name in trace.outcome.message


@pytest.mark.parametrize("inside", ["sequence", "include", "foreach", "alternatives"])
def test_a_crash_inside_a_region_is_the_innermost_step(inside, own_worker):
    kill = f"{THREADS.replace('%n', '%m')}\n{KILL.replace('%n', '%m')}"
    body = f"{{\n^bb0(%in: {ANY}):\n{kill.replace('%op', '%in')}\n}}"
    anew = MATMUL.replace("%op", "%new").replace("%root", "%in")
    first = f"{{\n^bb0(%in: {ANY}):\n{anew}\n{kill.replace('%op', '%new')}\n}}"
    modes = {
        "sequence": f"transform.sequence %op : {ANY} failures(suppress) {body}",
        "include": f"transform.include @kill failures(suppress) (%op) : ({ANY}) -> ()",
        "foreach": f"transform.foreach %op : {ANY} {body}",
        "alternatives": f"%f = transform.get_parent_op %op {{isolated_from_above}} : ({ANY}) -> {ANY}\n"
        f"transform.alternatives %f : {ANY} {first}, {{\n^bb0(%in: {ANY}):\n}}",
    }
    callee = f"transform.named_sequence private @kill(%op: {ANY} {{transform.consumed}}) {{\n{kill}\ntransform.yield\n}}\n}}\n"
    text = schedule_of(MATMUL, modes[inside]).removesuffix("}\n") + callee
    loaded = lhkit.load_payload(matmul(64), worker=own_worker)
    trace = trace_schedule(loaded, lhkit.load_schedule(text, worker=own_worker), worker=own_worker)
    died = trace.step_records[trace.outcome.failed_step]
    assert (died.op, died.status) == ("transform.structured.tile_using_forall", "crashed")
    assert trace.step_records[died.parent].status == "crashed"
    assert "linalg.matmul" in trace.last_snapshot_text()


def test_an_op_that_is_erased_while_it_has_uses_is_an_invalid_payload(own_worker):
    """Printing such a payload kills the process: the trace keeps to the last one that was good."""
    payload = """func.func @f(%t: tensor<8xf32>, %z: f32) -> tensor<16xf32> {
  %p = tensor.pad %t low[0] high[8] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<8xf32> to tensor<16xf32>
  return %p : tensor<16xf32>
}"""
    pad = f'%op = transform.structured.match ops{{["tensor.pad"]}} in %root : ({ANY}) -> {ANY}'
    erase = f"%new = transform.tensor.make_loop_independent %op {{num_loops = 0 : i64}} : ({ANY}) -> {ANY}"
    trace = traced(own_worker, payload, pad, erase, f"transform.print %new : {ANY}")
    assert (trace.outcome.status, trace.outcome.kind, trace.outcome.failed_step) == (
        "failed",
        "invalid-payload",
        1,
    )
    assert [s.status for s in trace.step_records] == ["ok", "failed", "not-run"]
    assert trace.last_snapshot_text() == trace.snapshot_text(0) and "tensor.pad" in trace.last_snapshot_text()
    assert own_worker.generation == 1


@pytest.mark.parametrize("name", ENDLESS)
def test_a_step_without_end_is_stopped_by_a_limit(name, own_worker):
    payload, *steps = ENDLESS[name]
    trace = traced(own_worker, payload, *steps, limits=Limits(3.0, 2 << 30))
    assert (trace.outcome.status, trace.outcome.kind) in {("timeout", "timeout"), ("out-of-memory", "memory")}
    check_death(trace, steps, own_worker)


@pytest.mark.parametrize(
    "text",
    [
        "module {" * 8000 + "}" * 8000,
        "func.func @f(%a: " + "tuple<" * 50000 + "f32" + ">" * 50000 + ") { return }",
    ],
    ids=["8000 modules", "50000 brackets"],
)
def test_nesting_deeper_than_the_parsers_stack_is_an_error(text, own_worker):
    with pytest.raises(LhkitError) as error:
        lhkit.load_payload(text, worker=own_worker)
    assert error.value.failure.kind == "crash"
    assert traced(own_worker, matmul(8), MATMUL).outcome.status == "ok"


def test_an_op_erased_under_a_handle_does_not_kill_the_trace(own_worker):
    """Printing an op after it was erased kills the process: a trace shows an empty handle instead."""
    erase = f'%f = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}'
    dce = f"transform.apply_dce to %f : {ANY}"
    unused = matmul(8).replace("return %r", "return %c")
    trace = traced(own_worker, unused, MATMUL, erase, dce)
    assert trace.outcome.status == "ok" and own_worker.generation == 1
    last = {trace.handle(h).name: c.state for h, c in trace.states_after(3).items()}
    assert last["%op"] == "empty"


def test_threads_take_turns(own_worker):
    """Several threads at once in Python-defined ops kill the process; the client lets them in one by one."""
    with ThreadPoolExecutor(4) as threads:
        traces = list(threads.map(lambda _: traced(own_worker, matmul(8), MATMUL), range(8)))
    assert {t.outcome.status for t in traces} == {"ok"} and own_worker.generation == 1


UNROLLED = """func.func @f(%a: memref<3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    %v = memref.load %a[%i] : memref<3xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %a[%i] : memref<3xf32>
  }
  return
}
"""
OUTER_HANDLE = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
    %kept = transform.structured.match ops{{["MATCHED"]}} in %root : ({ANY}) -> {ANY}
    transform.include @inner failures(propagate) (%root) : ({ANY}) -> ()
    USE
    transform.yield
  }}
  transform.named_sequence @inner(%root: {ANY} {{transform.readonly}}) {{
    INNER
    %functions = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}
    transform.apply_cse to %functions : {ANY}
    transform.yield
  }}
}}
"""
UNTOLD = {
    "scf.for": f"""%loops = transform.structured.match ops{{["scf.for"]}} in %root : ({ANY}) -> {ANY}
    transform.loop.unroll %loops {{factor = 3}} : {ANY}""",
    "arith.addf": f"""%first = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}
    %done = transform.apply_registered_pass "convert-arith-to-llvm" to %first : ({ANY}) -> {ANY}""",
}


@pytest.mark.parametrize("matched", UNTOLD)
def test_a_handle_around_an_include_that_erases_its_ops_untold_is_not_asked_for_them(matched, worker):
    """The interpreter is not told and keeps the addresses: asking it for them, or using them, kills the process."""
    payload = lhkit.load_payload(UNROLLED, worker=worker)
    text = OUTER_HANDLE.replace("MATCHED", matched).replace("INNER", UNTOLD[matched])
    trace = trace_schedule(payload, lhkit.load_schedule(text.replace("USE", ""), worker=worker), worker=worker)
    assert trace.outcome.status == "ok"
    kept = next(h for h in trace.handle_records if h.name == "%kept")
    states = [c.state for s in trace.step_records for c in s.changes if c.handle == kept.id]
    assert states == ["live", "empty"]
    used = text.replace("USE", f'transform.annotate %kept "kept" : {ANY}')
    trace = trace_schedule(payload, lhkit.load_schedule(used, worker=worker), worker=worker)
    assert (trace.outcome.status, trace.outcome.kind) == ("failed", "definite")
    said = failure_of(trace).describe()
    assert "%kept points to a payload op that an earlier step erased" in said


def test_a_convolution_whose_channels_are_fewer_than_the_unrolling_is_traced(worker):
    payload = lhkit.payloads.conv2d_nhwc(2, 5, 7, 3, 4, 3)
    trace = trace_schedule(payload, lhkit.load_schedule("conv2d.mlir", worker=worker), worker=worker)
    assert trace.outcome.status == "ok", trace.outcome.message
    assert lhkit.verify(lhkit.compile(payload, "conv2d.mlir", worker=worker)).ok
