"""What tracing costs in time, bytes and memory, run by hand: ``make heavy``. Each prints its figures.

Times are medians of runs that take turns with what they are compared to, after one of each that is not counted.
"""

import json
import statistics
import time
from pathlib import Path

import psutil
import pytest

import lhkit
from lhkit.compiler.interpreter.application import apply_schedule, parse_payload
from lhkit.compiler.interpreter.step_tracer import trace_application
from lhkit.compiler.ir.bindings import interpreter, new_context
from lhkit.compiler.ir.schedule_modules import find_entry, parse_schedule
from lhkit.kernels.argument_marshalling import kernel_spec
from lhkit.model.trace_json import trace_to_json
from lhkit.worker.client import Worker
from lhkit.worker.kernel_requests import Lower
from lhkit.worker.requests import Application, Source

pytestmark = pytest.mark.heavy
MIB = 1 << 20
PAIRS = {
    "fc_relu": ("fc_relu.mlir", "fc_relu_handles.mlir", 10, 60),
    "op_chain": ("op_chain.mlir", "op_chain_tile_fuse.mlir", 8, 9),
}
FAILING = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %a = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %a tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.loop.unroll %loop {factor = 2} : !transform.any_op
    transform.loop.unroll %loop {factor = 2} : !transform.any_op
    transform.yield
  }
}
"""


def medians_ms(*functions, rounds):
    """Return the median time of each function in milliseconds; they take turns."""
    times = [[] for _ in functions]
    for function in functions:
        function()
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            started = time.perf_counter()
            function()
            taken.append(1e3 * (time.perf_counter() - started))
    return [statistics.median(taken) for taken in times]


def check(name, where, traced, untraced):
    """Print the figures of a pair, and hold tracing to its limit."""
    print(
        f"\n{name} {where}: traced {traced:.1f} ms, untraced {untraced:.1f} ms, ratio {traced / untraced:.2f},"
        f" limit {2.5 * untraced + 10:.1f}, aim {1.5 * untraced + 5:.1f}"
    )
    assert traced <= 2.5 * untraced + 10


@pytest.mark.parametrize("name", PAIRS)
def test_inside_the_worker(name, tmp_path, monkeypatch):
    """The worker's own functions, without the way there and back; untraced: parse both, apply, verify."""
    payload_name, schedule_name, steps, rounds = PAIRS[name]
    folder = Path(lhkit.load_payload(payload_name).source).parent
    schedule_file = Path(lhkit.load_schedule(schedule_name).source)
    monkeypatch.chdir(tmp_path)  # texts pass through files in the current folder, as in the worker
    payload = Source("payload", "payload", payload_name, (folder / payload_name).read_bytes())
    schedule = Source("schedule", "schedule", schedule_name, schedule_file.read_bytes())
    application = Application((schedule,), "__transform_main", {})
    bare_ms = []

    def untraced():
        with new_context():
            apply_schedule(parse_payload(payload), payload, application)

    def traced():
        assert trace_application(payload, application, Path("journal")).failure is None

    def bare():
        with new_context():
            module, home = parse_payload(payload), parse_schedule(application.sources)
            entry = find_entry(home, application.entry)
            started = time.perf_counter()
            interpreter.apply_named_sequence(module.operation, entry, home)
            bare_ms.append(1e3 * (time.perf_counter() - started))

    traced_ms, untraced_ms, _ = medians_ms(traced, untraced, bare, rounds=rounds)
    check(name, f"in the worker, {steps} steps", traced_ms, untraced_ms)
    print(f"{name}: apply_named_sequence alone {statistics.median(bare_ms):.1f} ms")


@pytest.mark.parametrize("name", PAIRS)
def test_as_the_client_sees_it(name, own_worker):
    """``lhkit.trace`` to the finished value against the request for the scheduled payload's text."""
    payload_name, schedule_name, steps, rounds = PAIRS[name]
    payload = lhkit.load_payload(payload_name, worker=own_worker)
    schedule = lhkit.load_schedule(schedule_name, worker=own_worker)
    request = Lower(kernel_spec(payload, schedule, payload.function().name, 0, own_worker), "scheduled")
    traces = []

    def untraced():
        own_worker.ask(request)

    def traced():
        traces[:] = [lhkit.trace(payload, schedule, worker=own_worker)]

    traced_ms, untraced_ms = medians_ms(traced, untraced, rounds=rounds)
    (trace,) = traces
    assert trace.outcome.status == "ok" and len(trace.step_records) == steps
    check(name, "at the client", traced_ms, untraced_ms)
    (look_ms,) = medians_ms(lambda: lhkit.trace(payload, schedule, worker=own_worker).op_records[0], rounds=5)
    handles_ms, ops_ms, steps_ms = medians_ms(trace.handles, trace.ops, trace.steps, rounds=9)
    print(f"{name}: traced, and its {len(trace.op_records)} ops looked at {look_ms:.1f} ms")
    print(f"{name}: handles() {handles_ms:.1f} ms, ops() {ops_ms:.1f} ms, steps() {steps_ms:.1f} ms")


def test_the_json_of_a_thousand_ops_is_under_5_mb(own_worker):
    payload_name, schedule_name, *_ = PAIRS["op_chain"]
    payload = lhkit.load_payload(payload_name, worker=own_worker)
    schedule = lhkit.load_schedule(schedule_name, worker=own_worker)
    data = trace_to_json(lhkit.trace(payload, schedule, worker=own_worker))
    sizes = {part: len(json.dumps(value, separators=(",", ":"))) / 1e6 for part, value in data.items()}
    largest = ", ".join(f"{part} {size:.2f}" for part, size in sizes.items() if size > 0.01)
    total = len(json.dumps(data, separators=(",", ":"))) / 1e6
    print(f"\nJSON of {len(data['ops'])} ops: {total:.2f} MB ({largest})")
    assert total < 5


def cpu_ms(process):
    """Return the processor time of a process, which other processes hardly lengthen."""
    times = process.cpu_times()
    return 1e3 * (times.user + times.system)


def test_2000_traces_in_one_worker():
    """Neither memory nor time grows; every fourth trace is of a schedule that fails."""
    worker = Worker()
    payload = lhkit.load_payload("fc_relu.mlir", worker=worker)
    schedules = [
        *[lhkit.load_schedule("fc_relu_handles.mlir", worker=worker)] * 3,
        lhkit.load_schedule(FAILING, worker=worker),
    ]
    statuses = {lhkit.trace(payload, s, worker=worker).outcome.status for s in schedules}
    process = psutil.Process(worker.pid)
    cpu, resident = [cpu_ms(process)], [process.memory_info().rss]
    for i in range(2000):
        lhkit.trace(payload, schedules[i % 4], worker=worker)
        if i % 100 == 99:
            cpu.append(cpu_ms(process))
            resident.append(process.memory_info().rss)
    assert statuses == {"ok", "failed"} and process.pid == worker.pid
    worker.close()
    grown = resident[20] - resident[2]
    first, last = (cpu[1] - cpu[0]) / 100, (cpu[20] - cpu[19]) / 100
    print(
        f"\n2,000 traces: {resident[2] / MIB:.1f} MiB after 200, {grown / MIB:+.2f} MiB after 2,000;"
        f" CPU a trace {first:.1f} ms in the first 100, {last:.1f} ms in the last 100"
    )
    assert grown < 2 * MIB and last < 1.5 * first


def test_30_traces_of_a_thousand_ops_in_one_worker():
    worker = Worker()
    payload = lhkit.load_payload("op_chain.mlir", worker=worker)
    schedule = lhkit.load_schedule("op_chain_tile_fuse.mlir", worker=worker)
    lhkit.trace(payload, schedule, worker=worker)
    process = psutil.Process(worker.pid)
    cpu, resident = [cpu_ms(process)], []
    for _ in range(30):
        lhkit.trace(payload, schedule, worker=worker)
        cpu.append(cpu_ms(process))
        resident.append(process.memory_info().rss)
    worker.close()
    grown = resident[-1] - resident[9]
    first, last = (cpu[10] - cpu[0]) / 10, (cpu[30] - cpu[20]) / 10
    print(
        f"\n30 traces of op_chain: {resident[9] / MIB:.1f} MiB after 10, {grown / MIB:+.2f} MiB after 30;"
        f" CPU a trace {first:.0f} ms in the first 10, {last:.0f} ms in the last 10"
    )
    # One trace makes about 40 MB of objects; keeping any would show at once.
    assert grown < 8 * MIB and last < 1.5 * first
